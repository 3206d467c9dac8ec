//! What can be said of a template before anything is known to fill it: that it
//! parses, and that every name in it is one that hotlap defines.

use super::recover::{nearest, there_are};
use minijinja::{Environment, UndefinedBehavior};

/// Names that every template may use.
const NAMES: &[&str] = &["port", "dir", "cpus", "server", "load", "toggles", "env"];
/// Names of format 1 that a later version of hotlap defines.
const LATER: &[&str] = &[
    "ports", "index", "cache", "version", "bin", "runtime", "services",
];

/// What is wrong with a template.
pub(super) enum Fault {
    /// It does not parse.
    Syntax {
        message: String,
        help: Option<&'static str>,
    },
    /// It uses a name that is not defined.
    Name { message: String, help: String },
    /// It uses a name of format 1 that is not there yet.
    Later(String),
}

/// Checks one template. `value` says whether `{{ value }}` has a meaning there.
pub(super) fn check(text: &str, toggles: &[String], value: bool) -> Vec<Fault> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let template = match environment.template_from_str(text) {
        Ok(template) => template,
        Err(error) => return vec![syntax(text, &error)],
    };
    if compares_env(text) {
        return vec![Fault::Syntax {
            message: "`env` is compared with something".to_owned(),
            help: Some(
                "a variable's value is known when a process starts: it can be inserted, not compared",
            ),
        }];
    }
    let mut names: Vec<String> = template.undeclared_variables(true).into_iter().collect();
    names.sort();
    names
        .iter()
        .filter_map(|name| fault(name, toggles, value))
        .collect()
}

/// Whether the value of a variable decides anything. What stands for it until a process starts
/// would be compared in its place, and always differ.
fn compares_env(text: &str) -> bool {
    let blocks = text
        .split("{%")
        .skip(1)
        .filter_map(|rest| rest.split("%}").next());
    let values = text
        .split("{{")
        .skip(1)
        .filter_map(|rest| rest.split("}}").next());
    let decides = |inside: &&str| {
        ["==", "!=", "<", ">", " in ", " is ", " if "]
            .iter()
            .any(|word| inside.contains(word))
    };
    let uses = |inside: &str| inside.contains("env.") || inside.contains("env[");
    blocks.chain(values.filter(decides)).any(uses)
}

fn fault(name: &str, toggles: &[String], value: bool) -> Option<Fault> {
    let (root, rest) = name
        .split_once('.')
        .map_or((name, None), |(root, rest)| (root, Some(rest)));
    if LATER.contains(&root) {
        return Some(Fault::Later(root.to_owned()));
    }
    if root == "value" && !value {
        return Some(Fault::Name {
            message: "`value` has a meaning only in the settings of a toggle".to_owned(),
            help: "elsewhere, write `{{ toggles.NAME }}`".to_owned(),
        });
    }
    let toggle = rest.map(|rest| rest.split('.').next().unwrap_or(rest));
    if let ("toggles", Some(toggle)) = (root, toggle)
        && !toggles.iter().any(|known| known == toggle)
    {
        let known: Vec<&str> = toggles.iter().map(String::as_str).collect();
        return Some(Fault::Name {
            message: format!("there is no toggle `{toggle}`"),
            help: suggestion(toggle, &known),
        });
    }
    let known: Vec<&str> = NAMES
        .iter()
        .copied()
        .chain(value.then_some("value"))
        .collect();
    if known.contains(&root) {
        return None;
    }
    Some(Fault::Name {
        message: format!("a template has no name `{root}`"),
        help: suggestion(root, &known),
    })
}

fn suggestion(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(right) => format!("did you mean `{right}`?"),
        None => there_are(known),
    }
}

fn syntax(text: &str, error: &minijinja::Error) -> Fault {
    let help = if text.contains("{#") && !text.contains("#}") {
        Some("`{#` opens a comment; write `{{ '{#' }}` where you mean the characters")
    } else if text.contains("{%") || text.contains("{{") {
        Some("`{{` and `{%` open a template; write `{{ '{{' }}` where you mean the characters")
    } else {
        None
    };
    let message = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned);
    Fault::Syntax { message, help }
}
