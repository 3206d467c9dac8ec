//! What other files say of how a server is started: `web:` of a Procfile, and the last command of a Dockerfile, which
//! is only told, since its folder and packages are those of the image.

use super::clue::{self, Port};
use super::{Language, Server, folder, name_of, read, shown};
use std::path::Path;

/// Gives a folder's only server the command of its Procfile; where there is none, makes one of it.
pub(super) fn apply(root: &Path, folder: &Path, servers: &mut Vec<Server>) {
    let here = root.join(folder);
    let Some(text) = read(&here.join("Procfile")) else {
        return;
    };
    let web = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("web:"));
    let Some(line) = web.map(str::trim).filter(|line| !line.is_empty()) else {
        return;
    };
    let seen = format!("{}, web: {line}", folder.join("Procfile").display());
    // What npm starts is known better from package.json.
    if line.starts_with("npm ") && !servers.is_empty() {
        return;
    }
    let (command, takes_port) = command(line);
    if let [server] = &mut servers[..] {
        server.seen = seen;
        server.command = command;
        server.notes.clear();
        if takes_port {
            server.port = Port::Variable("PORT".to_owned());
        }
        return;
    }
    if !servers.is_empty() {
        return;
    }
    let sources = folder::sources(&here, &["py", "rb"], "");
    let is_python = ["requirements.txt", "pyproject.toml", "Pipfile"]
        .iter()
        .any(|file| here.join(file).is_file())
        || line.starts_with("python");
    let program = command
        .split_whitespace()
        .next()
        .filter(|word| !word.contains(['/', '"', '[']));
    let mut notes = Vec::new();
    if is_python && here.join("requirements.txt").is_file() {
        notes.push(
            "its packages must be there: `pip install -r requirements.txt` before a run, or a `build` that makes an environment of its own"
                .to_owned(),
        );
    }
    servers.push(Server {
        name: name_of(&here),
        folder: folder.to_owned(),
        language: is_python.then_some(Language::Python),
        requires: program.map(str::to_owned).into_iter().collect(),
        build: Vec::new(),
        build_inputs: Vec::new(),
        port: if takes_port {
            Port::Variable("PORT".to_owned())
        } else {
            clue::port(&sources)
        },
        command,
        env: Vec::new(),
        seen,
        notes,
        paths: clue::paths(&sources),
    });
}

/// A line of a shell as a command of a suite, and whether its port stands in it.
fn command(line: &str) -> (String, bool) {
    let mut text = line.to_owned();
    // ${PORT:-8000} has a default, which a trial does not need.
    while let Some(at) = text.find("${PORT:-") {
        let Some(end) = text[at..].find('}') else {
            break;
        };
        text.replace_range(at..=at + end, "{{ port }}");
    }
    let text = text
        .replace("${PORT}", "{{ port }}")
        .replace("$PORT", "{{ port }}");
    let takes_port = text.contains("{{ port }}");
    let plain = text.replace("{{ port }}", "");
    let needs_shell = plain.contains(['|', '&', ';', '<', '>', '$', '`', '*', '(', '{'])
        || shell_words::split(&text).is_err()
        || text
            .split_whitespace()
            .next()
            .is_some_and(|word| word.contains('='));
    if needs_shell {
        // A shell that stays would be one more process that is measured.
        let exec = if plain.contains(['|', '&', ';']) {
            ""
        } else {
            "exec "
        };
        let script = format!("{exec}{line}");
        return (
            format!("sh -c {}", shell_words::quote(&script)),
            line.contains("PORT"),
        );
    }
    (text, takes_port)
}

/// The last command of a Dockerfile, told.
pub(super) fn docker(root: &Path, folder: &Path) -> Option<String> {
    let text = read(&root.join(folder).join("Dockerfile"))?;
    let starts = |line: &&str| {
        let word = line.split_whitespace().next().unwrap_or_default();
        word.eq_ignore_ascii_case("CMD") || word.eq_ignore_ascii_case("ENTRYPOINT")
    };
    let last = text.lines().map(str::trim).rfind(starts)?;
    Some(format!(
        "the Dockerfile of {} ends with {last}",
        shown(folder)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_procfile_is_a_command() {
        let same =
            |line: &str, is: &str, takes: bool| assert_eq!(command(line), (is.to_owned(), takes));
        same(
            "gunicorn app:app -b 0.0.0.0:$PORT",
            "gunicorn app:app -b 0.0.0.0:{{ port }}",
            true,
        );
        same(
            "bin/web --port ${PORT:-80}",
            "bin/web --port {{ port }}",
            true,
        );
        same("python app.py", "python app.py", false);
        same(
            "./migrate && ./web -p $PORT",
            "sh -c './migrate && ./web -p $PORT'",
            true,
        );
        same("./web -h $HOST", "sh -c 'exec ./web -h $HOST'", false);
    }
}
