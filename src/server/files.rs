//! Files that are rendered into a process's scratch folder: configuration that
//! must know a port or a folder which nobody knows before the start.

use crate::spec::{Cell, Fill, ProcessSpec, Service};
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Renders the files of a process from its folder into its scratch folder. An error is a sentence.
pub(super) fn write(
    process: &ProcessSpec,
    from: &Path,
    to: &Path,
    fill: &Fill,
    cell: Option<&Cell>,
) -> Result<(), String> {
    for (name, source) in &process.files {
        let source = from.join(source.fill(fill));
        let text = read(&source)?;
        let text = render(&source, &text, &Names::of(fill, cell))?;
        let target = to.join(name);
        let parent = target.parent().unwrap_or(to);
        put(parent, to, &target, &text)
            .map_err(|error| format!("the file {name} cannot be written: {error}"))?;
    }
    Ok(())
}

/// Writes a file into a folder that may be a copy: a link in it is replaced, and what it points to is left alone.
fn put(parent: &Path, to: &Path, target: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(parent)?;
    if !parent.canonicalize()?.starts_with(to.canonicalize()?) {
        return Err(io::Error::other("a link leads out of the scratch folder"));
    }
    match fs::remove_file(target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::write(target, text)
}

/// What is wrong with the templates of files, as far as it can be seen before anything is started, one sentence
/// each. A file that is not there may yet be made by a build.
pub fn problems(cells: &[Cell], services: &[Service], folder: &Path) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut judge = |process: &ProcessSpec, fill: &Fill, cell: Option<&Cell>| {
        let from = folder.join(process.cwd.fill(fill));
        for (_, source) in &process.files {
            let source = from.join(source.fill(fill));
            if !source.exists() {
                continue;
            }
            let rendered =
                read(&source).and_then(|text| render(&source, &text, &Names::of(fill, cell)));
            if let Err(problem) = rendered
                && !all.contains(&problem)
            {
                all.push(problem);
            }
        }
    };
    let fill = Fill {
        port: 1,
        cpus: 1,
        index: 1,
        env: super::place::caller(),
        services: services
            .iter()
            .map(|service| (service.process.role.clone(), 1))
            .collect(),
        ..Fill::default()
    };
    for cell in cells {
        let fill = Fill {
            ports: super::home::counts(cell)
                .map(|(process, count)| (process.role.clone(), vec![1; count as usize]))
                .collect(),
            ..fill.clone()
        };
        for process in &cell.processes {
            let fill = Fill {
                runtime: process.runtime.clone().unwrap_or_default(),
                ..fill.clone()
            };
            judge(process, &fill, Some(cell));
        }
    }
    for service in services {
        judge(&service.process, &fill, None);
    }
    all
}

fn read(source: &Path) -> Result<String, String> {
    let bytes = fs::read(source)
        .map_err(|error| format!("the file {} cannot be read: {error}", source.display()))?;
    String::from_utf8(bytes).map_err(|_| {
        format!(
            "the file {} is rendered as a template, and it is no UTF-8 text",
            source.display()
        )
    })
}

fn render(source: &Path, text: &str, names: &Names<'_>) -> Result<String, String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // What is made is configuration, not HTML.
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    let rendered = environment
        .render_str(text, Serde(names))
        .map_err(|error| {
            let line = error
                .line()
                .map_or_else(String::new, |line| format!(", line {line}"));
            let what = error.detail().map_or_else(
                || error.kind().to_string(),
                |detail| format!("{}: {detail}", error.kind()),
            );
            let shown = error
                .line()
                .and_then(|line| text.lines().nth(line - 1))
                .map_or_else(String::new, |line| format!(" in `{}`", line.trim()));
            format!("the template {}{line}: {what}{shown}", source.display())
        })?;
    // The engine takes the last line's end away.
    let end = if text.ends_with('\n') { "\n" } else { "" };
    Ok(rendered + end)
}

/// The names that a file may use: the same as every other template of its process.
#[derive(Serialize)]
struct Names<'a> {
    port: u16,
    dir: &'a str,
    cpus: usize,
    index: u32,
    ports: &'a BTreeMap<String, Vec<u16>>,
    services: BTreeMap<&'a str, ServicePort>,
    env: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    runtime: &'a str,
    // A service belongs to no cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    toggles: Option<BTreeMap<&'a str, &'a str>>,
}

#[derive(Serialize)]
struct ServicePort {
    port: u16,
}

impl<'a> Names<'a> {
    fn of(fill: &'a Fill, cell: Option<&'a Cell>) -> Self {
        let services = fill.services.iter();
        let toggles = cell.map(|cell| {
            let choices = cell.toggles.iter();
            choices
                .map(|choice| (choice.toggle.as_str(), choice.value.as_str()))
                .collect()
        });
        Self {
            port: fill.port,
            dir: &fill.dir,
            cpus: fill.cpus,
            index: fill.index,
            ports: &fill.ports,
            services: services
                .map(|(name, port)| (name.as_str(), ServicePort { port: *port }))
                .collect(),
            env: &fill.env,
            runtime: &fill.runtime,
            server: cell.map(|cell| cell.server.as_str()),
            load: cell.map(|cell| cell.load.as_str()),
            toggles,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Text;

    fn process(name: &str) -> ProcessSpec {
        ProcessSpec {
            files: vec![(name.to_owned(), Text::literal("app.conf.j2"))],
            ..ProcessSpec::default()
        }
    }

    fn fill() -> Fill {
        Fill {
            port: 8080,
            dir: "/scratch".to_owned(),
            ports: BTreeMap::from([("app".to_owned(), vec![8081, 8082])]),
            ..Fill::default()
        }
    }

    #[test]
    fn a_file_is_rendered_into_a_folder_of_the_scratch() {
        let folder = tempfile::tempdir().unwrap();
        let template = "listen {{ port }};\n{% for port in ports.app %}\nserver 127.0.0.1:{{ port }};\n{% endfor %}\nroot {{ dir }}/<&>;\n";
        fs::write(folder.path().join("app.conf.j2"), template).unwrap();
        write(
            &process("conf/app.conf"),
            folder.path(),
            folder.path(),
            &fill(),
            None,
        )
        .unwrap();
        let made = fs::read_to_string(folder.path().join("conf/app.conf")).unwrap();
        assert_eq!(
            made,
            "listen 8080;\n\nserver 127.0.0.1:8081;\n\nserver 127.0.0.1:8082;\n\nroot /scratch/<&>;\n"
        );
    }

    #[test]
    fn a_mistake_in_a_template_is_told_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("app.conf.j2"), "\nlisten {{ prot }};\n").unwrap();
        let problem = write(
            &process("app.conf"),
            folder.path(),
            folder.path(),
            &fill(),
            None,
        );
        let problem = problem.unwrap_err();
        assert!(problem.contains("line 2"), "{problem}");
        assert!(problem.contains("listen {{ prot }};"), "{problem}");
    }
}
