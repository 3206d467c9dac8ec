//! What can be said of a template before anything is known to fill it: that it
//! parses, and that every name in it is one that hotlap defines.

use super::recover::{nearest, there_are};
use minijinja::{Environment, UndefinedBehavior};

/// Where a template stands, which decides the names that it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a server, a service, a load or an override.
    Own,
    /// In a request, which is sent many times.
    Request,
    /// In the settings of a toggle.
    Toggle,
    /// In a request as the settings of a toggle change it.
    ToggleRequest,
    /// In a runtime, which no cell is known to.
    Runtime,
    /// In what prints the version of a runtime, whose program is known.
    RuntimeProbe,
}

impl Place {
    /// The same for what is sent.
    pub(super) fn of_a_request(self) -> Self {
        match self {
            Self::Own => Self::Request,
            Self::Toggle => Self::ToggleRequest,
            other => other,
        }
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Own => &[
                "port", "ports", "index", "dir", "cpus", "runtime", "server", "load", "toggles",
                "services", "env",
            ],
            Self::Request => &[
                "port", "ports", "index", "dir", "cpus", "runtime", "server", "load", "toggles",
                "services", "env", "counter", "random",
            ],
            Self::ToggleRequest => &[
                "value", "port", "ports", "index", "dir", "cpus", "runtime", "server", "load",
                "toggles", "services", "env", "counter", "random",
            ],
            Self::Toggle => &[
                "value", "port", "ports", "index", "dir", "cpus", "runtime", "server", "load",
                "toggles", "services", "env",
            ],
            Self::Runtime => &["cache", "version", "env"],
            Self::RuntimeProbe => &["bin", "cache", "version", "env"],
        }
    }
}

/// What a template may name.
pub(super) struct Known<'a> {
    pub(super) toggles: Vec<&'a str>,
    pub(super) services: Vec<&'a str>,
}

/// What is wrong with a template.
pub(super) enum Fault {
    /// It does not parse.
    Syntax {
        message: String,
        help: Option<&'static str>,
    },
    /// It uses a name that is not defined.
    Name { message: String, help: String },
}

/// Checks one template.
pub(super) fn check(text: &str, known: &Known<'_>, place: Place) -> Vec<Fault> {
    if inside(text) > MOST_INSIDE {
        return vec![Fault::Syntax {
            message: format!(
                "more than {MOST_INSIDE} characters in one of its tags or all of them"
            ),
            help: Some("let the server compute what a suite need not"),
        }];
    }
    if let Some(table) = bare_table(text) {
        if table == "random" {
            return vec![Fault::Name {
                message: "`random` is told between which numbers".to_owned(),
                help: "write `{{ random(1, 1000) }}`".to_owned(),
            }];
        }
        return vec![Fault::Name {
            message: format!("`{table}` is a table, not a text"),
            help: format!("name what is wanted of it: `{{{{ {table}.NAME }}}}`"),
        }];
    }
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let template = match environment.template_from_str(text) {
        Ok(template) => template,
        Err(error) => return vec![syntax(text, &error)],
    };
    if let Some(name) = decides_by_request(text) {
        return vec![Fault::Syntax {
            message: format!("`{name}` decides something"),
            help: Some("each request has its own value of it: it can be inserted, not compared"),
        }];
    }
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
        .filter_map(|name| fault(name, known, place))
        .collect()
}

/// The parser goes one level deeper for each operator, and its stack ends somewhere.
const MOST_INSIDE: usize = 2000;

/// How many characters stand inside of tags.
fn inside(text: &str) -> usize {
    ["{{", "{%"]
        .iter()
        .zip(["}}", "%}"])
        .flat_map(|(open, close)| {
            text.split(open)
                .skip(1)
                .map(move |rest| rest.find(close).unwrap_or(rest.len()))
        })
        .sum()
}

/// A table that would be inserted whole.
fn bare_table(text: &str) -> Option<&'static str> {
    text.split("{{").skip(1).find_map(|rest| {
        let tag = rest.split("}}").next()?;
        let whole = |text: &str| text.trim().trim_matches('-').trim().to_owned();
        // A filter may make a text of a table, but not of what is not known yet.
        let (tag, value) = (whole(tag), whole(tag.split('|').next()?));
        let tables = ["toggles", "services", "ports", "random"];
        let bare = tables.into_iter().find(|table| *table == tag);
        bare.or((value == "env").then_some("env"))
    })
}

/// What differs from request to request and is asked for in an `if` or compared.
fn decides_by_request(text: &str) -> Option<&'static str> {
    let word = |inside: &str, name: &str| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        inside.split(|c| !is_part(c)).any(|word| word == name)
    };
    deciding(text).find_map(|inside| {
        ["counter", "random"]
            .into_iter()
            .find(|name| word(inside, name))
    })
}

/// Whether the value of a variable decides anything. What stands for it until a process starts
/// would be compared in its place, and always differ.
fn compares_env(text: &str) -> bool {
    deciding(text).any(|inside| inside.contains("env.") || inside.contains("env["))
}

/// The insides of blocks, and of values that compare.
fn deciding(text: &str) -> impl Iterator<Item = &str> {
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
    blocks.chain(values.filter(decides))
}

fn fault(name: &str, known: &Known<'_>, place: Place) -> Option<Fault> {
    let (root, rest) = name
        .split_once('.')
        .map_or((name, None), |(root, rest)| (root, Some(rest)));
    let part = rest.map(|rest| rest.split('.').next().unwrap_or(rest));
    let parts = match root {
        "toggles" => Some(("toggle", &known.toggles)),
        "services" => Some(("service", &known.services)),
        _ => None,
    };
    if !place.names().contains(&root) {
        return Some(unknown(root, place));
    }
    let (Some((what, names)), Some(part)) = (parts, part) else {
        return None;
    };
    (!names.contains(&part)).then(|| Fault::Name {
        message: format!("there is no {what} `{part}`"),
        help: suggestion(part, names),
    })
}

/// A name that is not defined here, though perhaps elsewhere.
fn unknown(root: &str, place: Place) -> Fault {
    let elsewhere = match root {
        "value" => Some((
            "`value` has a meaning only in the settings of a toggle",
            "elsewhere, write `{{ toggles.NAME }}`",
        )),
        "cache" | "version" => Some((
            if root == "cache" {
                "`cache` has a meaning only in `[runtimes]`"
            } else {
                "`version` has a meaning only in `[runtimes]`"
            },
            "in a server, `{{ runtime }}` is the program of its runtime",
        )),
        "counter" | "random" => Some((
            if root == "counter" {
                "`counter` has a meaning only in what is sent"
            } else {
                "`random` has a meaning only in what is sent"
            },
            "write it in `path`, `headers` or a `body` with `template = true` of a load or a mix",
        )),
        "bin" => Some((
            "`bin` has a meaning only in `probe` of a runtime",
            "in a server, `{{ runtime }}` is the program of its runtime",
        )),
        _ => None,
    };
    match elsewhere {
        Some((message, help)) => Fault::Name {
            message: message.to_owned(),
            help: help.to_owned(),
        },
        None => Fault::Name {
            message: format!("a template has no name `{root}` here"),
            help: suggestion(root, place.names()),
        },
    }
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
