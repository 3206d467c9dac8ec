//! `--template`: one of the built-in templates by its name, or a file with those that it includes. All of it is read and checked before
//! anything starts.

use super::exit::Exit;
use super::reports::say_report_error;
use super::terminal::say_error;
use crate::report::Template;
use std::fs;
use std::path::{Component, Path};

/// More files than a template has that does not go round in circles.
const MOST_FILES: usize = 100;

/// The template that was asked for, checked; the name in errors is the one that was typed.
pub(super) fn template(path: Option<&Path>) -> Result<Option<Template>, Exit> {
    let Some(path) = path else { return Ok(None) };
    let built_in = path.to_str().and_then(Template::built_in);
    if let Some(template) = built_in {
        return Ok(Some(template));
    }
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| {
        let names: Vec<&str> = Template::names().collect();
        refuse(&format!(
            "cannot read the template {name}: {error}; the built-in ones are {}",
            names.join(", ")
        ))
    })?;
    let mut template = Template::new(&name, &text);
    let folder = path.parent().unwrap_or(Path::new(""));
    add_files(&mut template, folder)?;
    template.check().map_err(|error| say_report_error(&error))?;
    Ok(Some(template))
}

/// Adds the files that a template names, and those that they name.
fn add_files(template: &mut Template, folder: &Path) -> Result<(), Exit> {
    let mut missing: Vec<String> = Vec::new();
    for _ in 0..MOST_FILES {
        let wanted = template
            .wanted()
            .map_err(|error| say_report_error(&error))?;
        let next = wanted.into_iter().find(|(name, _)| !missing.contains(name));
        let Some((name, optional)) = next else {
            return Ok(());
        };
        if !is_below(&name) {
            return Err(refuse(&format!(
                "the template names the file {name:?}; a file must be beside the template or below its folder"
            )));
        }
        let file = folder.join(&name);
        match fs::read_to_string(&file) {
            Ok(text) => template.add(&name, &file.display().to_string(), &text),
            Err(_) if optional => missing.push(name),
            Err(error) => {
                return Err(refuse(&format!(
                    "cannot read {}, which the template names: {error}",
                    file.display()
                )));
            }
        }
    }
    Err(refuse(&format!(
        "the template names more than {MOST_FILES} files"
    )))
}

/// Whether a name leads nowhere but below the folder.
fn is_below(name: &str) -> bool {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    !name.is_empty() && Path::new(name).components().all(plain)
}

fn refuse(message: &str) -> Exit {
    say_error(message);
    Exit::Usage
}
