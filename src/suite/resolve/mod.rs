//! From what was written to what it means. Every rule about a single key lives
//! here; rules about cells live in `plan`. Nothing stops at a mistake: what is
//! wrong is said, and a harmless value stands in for it.

mod load;
mod quantity;
mod selector;
mod server;
mod toggle;

pub(crate) use load::check_target;

use super::code;
use super::model::{Override, Profile, Run, Suite, Tool};
use super::recover::{nearest, there_are};
use super::schema::{self, Opt};
use super::written::{Entries, Words};
use crate::diagnostic::Diagnostic;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Turns a file into a suite; what is wrong with it comes beside it.
pub(super) fn suite(file: schema::File, name: &str, folder: &Path) -> (Suite, Vec<Diagnostic>) {
    let mut resolver = Resolver {
        folder: folder.to_owned(),
        servers: names(&file.servers),
        loads: names(&file.loads),
        toggles: toggle::values_by_name(&file.toggles),
        out: Vec::new(),
    };
    let suite = resolver.suite(file, name);
    (suite, resolver.out)
}

fn names<T>(entries: &Entries<T>) -> Vec<String> {
    entries
        .0
        .iter()
        .map(|(name, _)| name.get_ref().clone())
        .collect()
}

struct Resolver {
    folder: PathBuf,
    servers: Vec<String>,
    loads: Vec<String>,
    /// Each toggle with the names of its values.
    toggles: Vec<(String, Vec<String>)>,
    out: Vec<Diagnostic>,
}

impl Resolver {
    fn suite(&mut self, file: schema::File, name: &str) -> Suite {
        self.required(&file);
        let run = file.run.map(Spanned::into_inner).unwrap_or_default();
        let defaults = file.defaults.unwrap_or_default();
        let matrix = file.matrix.unwrap_or_default();
        let under_servers = self.server_keys(defaults.server.unwrap_or_default());
        let under_loads = self.load_keys(defaults.load.unwrap_or_default());
        Suite {
            name: name.to_owned(),
            folder: self.folder.clone(),
            title: file
                .title
                .map_or_else(|| name.to_owned(), Spanned::into_inner),
            description: file.description.map(Spanned::into_inner),
            run: self.run(run),
            servers: self.servers(file.servers, &under_servers),
            toggles: self.toggles(file.toggles),
            overrides: self.overrides(file.overrides.unwrap_or_default()),
            matrix: self.matrix(matrix),
            loads: self.loads(file.loads, &under_loads),
            profiles: self.profiles(file.profiles),
            tools: self.tools(file.tools),
        }
    }

    /// Without these there is nothing to measure.
    fn required(&mut self, file: &schema::File) {
        let missing = |what: &str, help: &str| {
            Diagnostic::error(code::MISSING, format!("the suite has no {what}"), 0..0).help(help)
        };
        if file.servers.0.is_empty() {
            self.out.push(missing(
                "server",
                "add one: [servers.NAME] with `command = \"…\"` that starts it",
            ));
        }
        if file.loads.0.is_empty() {
            self.out
                .push(missing("load", "add one: [loads.NAME] with `path = \"/\"`"));
        }
    }

    fn say(&mut self, diagnostic: Diagnostic) {
        self.out.push(diagnostic);
    }

    fn run(&mut self, run: schema::Run) -> Run {
        Run {
            repetitions: self.repetitions(run.repetitions),
            order: self.order(run.order),
            seed: run.seed.map(Spanned::into_inner),
            warmup: self.duration(run.warmup),
            cooldown: self.duration(run.cooldown),
            rest: self.duration(run.rest),
            sample_interval: self.sample_interval(run.sample_interval),
            baseline: run
                .baseline
                .map(|selector| self.selector_at(selector, "baseline")),
            max_errors: self.share(run.max_errors),
            allow_public: run.allow_public.map(Spanned::into_inner),
        }
    }

    fn overrides(&mut self, overrides: Vec<schema::Override>) -> Vec<Override> {
        overrides
            .into_iter()
            .map(|one| {
                let when = one.when.map(|when| self.selector_at(when, "when"));
                let set = one.set.map(Spanned::into_inner).unwrap_or_default();
                Override {
                    when,
                    set: self.setting(set, false),
                }
            })
            .collect()
    }

    fn profiles(&mut self, profiles: Entries<schema::Profile>) -> Vec<Profile> {
        profiles
            .0
            .into_iter()
            .map(|(name, profile)| {
                self.name(&name, "profile");
                let load = profile.load.unwrap_or_default();
                Profile {
                    name: name.into_inner(),
                    run: self.run(profile.run.unwrap_or_default()),
                    max_duration: self.positive_duration(load.max_duration),
                    max_requests: self.at_least(load.max_requests, 1, "max_requests"),
                    connections: self.connections(load.connections).map(|at| at.value),
                    warmup: self.duration(load.warmup),
                    timeout: self.positive_duration(load.timeout),
                    matrix: self.matrix(profile.matrix.unwrap_or_default()),
                }
            })
            .collect()
    }

    fn tools(&mut self, tools: Entries<schema::Tool>) -> Vec<Tool> {
        tools
            .0
            .into_iter()
            .map(|(name, tool)| Tool {
                name: name.into_inner(),
                probe: tool.probe.map(|probe| self.plain_words(probe)),
                install: tool.install.map(Spanned::into_inner),
            })
            .collect()
    }

    /// A command without templates.
    fn plain_words(&mut self, words: Spanned<Words>) -> Vec<String> {
        let command = self.split(words);
        command.value.into_iter().map(|word| word.value).collect()
    }

    /// The name of a server, toggle, value, load or profile.
    fn name(&mut self, name: &Spanned<String>, what: &str) {
        let text = name.get_ref();
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        if !text.is_empty() && text.chars().all(good) && text != "." && text != ".." {
            return;
        }
        let proposal: String = text
            .to_lowercase()
            .chars()
            .map(|c| if good(c) { c } else { '-' })
            .collect();
        let proposal = proposal.trim_matches(['-', '.']);
        let diagnostic = Diagnostic::error(
            code::BAD_NAME,
            format!("\"{}\" cannot be the name of a {what}", text.escape_debug()),
            name.span(),
        )
        .label("lower-case letters, digits, `-`, `_` and `.` only");
        let help = if proposal.is_empty() {
            "`label` may be any text, and is what people see".to_owned()
        } else {
            format!(
                "name it `{proposal}`; `label = {}` is what people see",
                toml_string(text)
            )
        };
        self.say(diagnostic.help(help));
    }

    /// Says that nothing has this name.
    fn unknown(&mut self, what: &str, name: &str, span: Range<usize>, known: &[String]) {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let diagnostic = Diagnostic::error(
            code::UNKNOWN_NAME,
            format!("there is no {what} `{name}`"),
            span,
        );
        self.say(match nearest(name, &known) {
            Some(right) => diagnostic.label(format!("did you mean `{right}`?")),
            None => diagnostic.help(there_are(&known)),
        });
    }

    fn label(&mut self, label: Opt<String>, name: &str) -> String {
        match label {
            Some(label) if label.get_ref().trim().is_empty() => {
                self.say(Diagnostic::error(
                    code::BAD_VALUE,
                    "a label cannot be empty",
                    label.span(),
                ));
                name.to_owned()
            }
            Some(label) => label.into_inner(),
            None => name.to_owned(),
        }
    }
}

/// A text as TOML writes it.
fn toml_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // Writing to a String cannot fail.
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c)).unwrap_or(()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
