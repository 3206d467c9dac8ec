//! One cell after the other is resolved: the server's keys, what its toggles
//! set, what overrides set, the load, with every template rendered. What is
//! known only when a process starts stays symbolic. Two toggles that want
//! different things of one key are found here, and both are named.

use super::matrix::Names;
use super::{Options, tools};
use crate::diagnostic::Diagnostic;
use crate::spec::{self, Cell, Expect, Symbol, Text};
use crate::suite::{self, Command, LoadKeys, Profile, Run, ServerKeys, Setting, Suite};
use minijinja::{Environment, UndefinedBehavior, context};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// Every cell, or every mistake.
pub(super) fn cells(
    suite: &Suite,
    profile: Option<&Profile>,
    run: &Run,
    options: &Options,
    names: &[Names<'_>],
) -> Result<Vec<Cell>, Vec<Diagnostic>> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut cells = Vec::new();
    let mut mistakes: Vec<Diagnostic> = Vec::new();
    for at in names {
        let mut expansion = Expansion {
            suite,
            names: at,
            environment: &environment,
            context: context_of(at, options),
            layer: Layer::Own,
            conflicts: Vec::new(),
            owners: BTreeMap::new(),
            mistakes: Vec::new(),
        };
        let cell = expansion.cell(profile, run, options);
        // The same mistake shows in many cells; it is said of the first.
        for mistake in expansion.mistakes {
            let known =
                |other: &Diagnostic| other.code == mistake.code && other.labels == mistake.labels;
            if !mistakes.iter().any(known) {
                mistakes.push(mistake);
            }
        }
        cells.push(cell);
    }
    if mistakes.is_empty() {
        Ok(cells)
    } else {
        Err(mistakes)
    }
}

fn context_of(names: &Names<'_>, options: &Options) -> minijinja::Value {
    let toggles: BTreeMap<String, String> = names
        .toggles
        .iter()
        .map(|(toggle, value)| (toggle.name.value.clone(), value.name.value.clone()))
        .collect();
    let env: BTreeMap<String, String> = options
        .env
        .keys()
        .map(|name| (name.clone(), Text::mark(&Symbol::Env(name.clone()))))
        .collect();
    context! {
        server => names.server.name.value.clone(),
        load => names.load.name.value.clone(),
        toggles,
        env,
        port => Text::mark(&Symbol::Port),
        dir => Text::mark(&Symbol::Dir),
        cpus => Text::mark(&Symbol::Cpus),
    }
}

/// The toggle that set a key of this cell, where, and to what.
pub(super) struct Owner {
    toggle: String,
    span: Range<usize>,
    value: String,
}

pub(super) struct Expansion<'a> {
    pub(super) suite: &'a Suite,
    pub(super) names: &'a Names<'a>,
    pub(super) environment: &'a Environment<'a>,
    pub(super) context: minijinja::Value,
    /// Whose settings are being laid on.
    pub(super) layer: Layer<'a>,
    pub(super) owners: BTreeMap<String, Owner>,
    /// Conflicts of toggles by key, until it is known that no override settles them.
    pub(super) conflicts: Vec<(String, Diagnostic)>,
    pub(super) mistakes: Vec<Diagnostic>,
}

/// Whose settings are being laid on a cell.
#[derive(Clone, Copy)]
pub(super) enum Layer<'a> {
    /// The server's and the load's own.
    Own,
    /// A toggle's, by its name and value.
    Toggle(&'a str, &'a str),
    /// An override's.
    Override,
}

/// A cell in the making: what has been laid on so far.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) cwd: Option<Text>,
    pub(super) requires: Vec<spec::Requirement>,
    pub(super) build: Vec<Vec<Text>>,
    pub(super) command: Vec<Text>,
    pub(super) args: Vec<Text>,
    pub(super) env: Vec<(String, Text)>,
    pub(super) unset_env: Vec<String>,
    pub(super) ready_path: Option<Text>,
    pub(super) ready_status: Option<u16>,
    pub(super) ready_timeout: Option<Duration>,
    pub(super) path: Option<Text>,
    pub(super) headers: Vec<(String, Text)>,
    pub(super) connections: Option<u32>,
    pub(super) keep_alive: Option<bool>,
    pub(super) expect: Expect,
}

impl Expansion<'_> {
    fn cell(&mut self, profile: Option<&Profile>, run: &Run, options: &Options) -> Cell {
        let names = self.names;
        let mut draft = Draft::default();
        self.lay_server(&mut draft, &names.server.keys);
        self.lay_load(&mut draft, &names.load.keys);
        // A profile is said of every load; a toggle, whose name stands in the report, knows better.
        let connections = profile.and_then(|profile| profile.connections);
        draft.connections = connections.or(draft.connections);
        for (toggle, value) in &names.toggles {
            self.layer = Layer::Toggle(&toggle.name.value, &value.name.value);
            self.lay_setting(&mut draft, &value.setting);
            // Arguments of several toggles all count: they are put one behind the other.
            let args = self.command(value.setting.args.as_ref());
            draft.args.extend(args.unwrap_or_default());
        }
        self.layer = Layer::Override;
        let matches = |one: &&suite::Override| {
            one.when
                .as_ref()
                .is_none_or(|when| names.matches(&when.value))
        };
        for one in self.suite.overrides.iter().filter(matches) {
            self.lay_setting(&mut draft, &one.set);
            if let Some(args) = self.command(one.set.args.as_ref()) {
                draft.args = args;
            }
        }
        self.layer = Layer::Own;
        let conflicts = std::mem::take(&mut self.conflicts);
        self.mistakes
            .extend(conflicts.into_iter().map(|(_, conflict)| conflict));
        self.finish(draft, profile, run, options)
    }

    fn lay_setting(&mut self, draft: &mut Draft, setting: &Setting) {
        self.lay_server(draft, &setting.server);
        self.lay_load(draft, &setting.load);
    }

    fn lay_server(&mut self, draft: &mut Draft, keys: &ServerKeys) {
        if let Some(cwd) = &keys.cwd {
            let text = self.text(cwd);
            self.own("cwd", &cwd.span, &text.to_string());
            draft.cwd = Some(text);
        }
        for requirement in keys.requires.iter().flatten() {
            let requirement = self.requirement(&requirement.value);
            if !draft.requires.contains(&requirement) {
                draft.requires.push(requirement);
            }
        }
        if let Some(build) = &keys.build {
            let commands: Vec<Vec<Text>> = build
                .value
                .iter()
                .filter_map(|command| self.command(Some(command)))
                .collect();
            self.own("build", &build.span, &format!("{commands:?}"));
            draft.build = commands;
        }
        if let Some(command) = &keys.command {
            let text = self.command(Some(command)).unwrap_or_default();
            self.own("command", &command.span, &format!("{text:?}"));
            draft.command = text;
        }
        for (name, template) in &keys.env {
            let text = self.text(template);
            self.own(
                &format!("env.{}", name.value),
                &template.span,
                &text.to_string(),
            );
            draft.unset_env.retain(|unset| *unset != name.value);
            put(&mut draft.env, &name.value, text, |a, b| a == b);
        }
        for name in keys.unset_env.iter().flatten() {
            self.own(&format!("env.{}", name.value), &name.span, "(unset)");
            draft.env.retain(|(known, _)| *known != name.value);
            if !draft.unset_env.contains(&name.value) {
                draft.unset_env.push(name.value.clone());
            }
        }
        if let Some(path) = &keys.ready.path {
            let text = self.text(path);
            self.own("ready.path", &path.span, &text.to_string());
            draft.ready_path = Some(text);
        }
        if let Some(status) = &keys.ready.status {
            self.own("ready.status", &status.span, &status.value.to_string());
            draft.ready_status = Some(status.value);
        }
        if let Some(timeout) = &keys.ready.timeout {
            self.own(
                "ready.timeout",
                &timeout.span,
                &format!("{:?}", timeout.value),
            );
            draft.ready_timeout = Some(timeout.value);
        }
    }

    fn lay_load(&mut self, draft: &mut Draft, keys: &LoadKeys) {
        if let Some(path) = &keys.path {
            let text = self.text(path);
            self.own("path", &path.span, &text.to_string());
            draft.path = Some(text);
        }
        for (name, template) in &keys.headers {
            let text = self.text(template);
            let key = format!("headers.{}", name.value.to_ascii_lowercase());
            self.own(&key, &template.span, &text.to_string());
            put(
                &mut draft.headers,
                &name.value,
                text,
                str::eq_ignore_ascii_case,
            );
        }
        if let Some(connections) = &keys.connections {
            self.own(
                "connections",
                &connections.span,
                &connections.value.to_string(),
            );
            draft.connections = Some(connections.value);
        }
        if let Some(keep) = &keys.keep_alive {
            self.own("keep_alive", &keep.span, &keep.value.to_string());
            draft.keep_alive = Some(keep.value);
        }
        self.lay_expect(&mut draft.expect, &keys.expect);
    }

    fn lay_expect(&mut self, expect: &mut Expect, keys: &suite::ExpectKeys) {
        if let Some(status) = &keys.status {
            self.own("expect.status", &status.span, &status.value.to_string());
            expect.status = status.value;
        }
        if let Some(body) = &keys.body {
            self.own("expect.body", &body.span, &body.value);
            expect.body = Some(body.value.clone());
        }
        if let Some(contains) = &keys.contains {
            self.own("expect.contains", &contains.span, &contains.value);
            expect.contains = Some(contains.value.clone());
        }
        if let Some(size) = &keys.min_size {
            self.own("expect.min_size", &size.span, &size.value.to_string());
            expect.min_size = Some(size.value);
        }
        for (name, value) in &keys.headers {
            self.own(
                &format!("expect.headers.{}", name.value),
                &value.span,
                &value.value,
            );
            expect.no_headers.retain(|unwanted| *unwanted != name.value);
            put(
                &mut expect.headers,
                &name.value,
                value.value.clone(),
                |a, b| a == b,
            );
        }
        if let Some(unwanted) = &keys.no_headers {
            for name in unwanted {
                self.own(
                    &format!("expect.headers.{}", name.value),
                    &name.span,
                    "(absent)",
                );
                expect.headers.retain(|(wanted, _)| *wanted != name.value);
                if !expect.no_headers.contains(&name.value) {
                    expect.no_headers.push(name.value.clone());
                }
            }
        }
    }

    /// Notes who set a key. Two toggles that want it differently are a mistake, unless an
    /// override says what holds.
    fn own(&mut self, key: &str, span: &Range<usize>, value: &str) {
        let toggle = match self.layer {
            Layer::Own => return,
            Layer::Override => {
                self.conflicts.retain(|(conflict, _)| conflict != key);
                return;
            }
            Layer::Toggle(toggle, _) => toggle,
        };
        if let Some(owner) = self.owners.get(key)
            && owner.toggle != toggle
            && owner.value != value
        {
            let first = &owner.toggle;
            let conflict = Diagnostic::error(
                suite::CONFLICT,
                format!("the toggles `{first}` and `{toggle}` both set `{key}`, and differently"),
                span.clone(),
            )
            .label(format!("set by `{toggle}`"))
            .and(owner.span.clone(), format!("set by `{first}`"))
            .help("exclude the cells where both apply, or say in [[overrides]] what holds there");
            self.conflicts.push((key.to_owned(), conflict));
        }
        self.owners.insert(
            key.to_owned(),
            Owner {
                toggle: toggle.to_owned(),
                span: span.clone(),
                value: value.to_owned(),
            },
        );
    }

    pub(super) fn command(&mut self, command: Option<&Command>) -> Option<Vec<Text>> {
        Some(command?.value.iter().map(|word| self.text(word)).collect())
    }

    fn requirement(&self, requirement: &suite::Requirement) -> spec::Requirement {
        match requirement {
            suite::Requirement::Env(name) => spec::Requirement::Env { name: name.clone() },
            suite::Requirement::File(path) => spec::Requirement::File { path: path.clone() },
            suite::Requirement::Tool { name, at_least } => {
                let tool = self.suite.tools.iter().find(|tool| tool.name == *name);
                let known = tools::known(name);
                let probe = tool
                    .and_then(|tool| tool.probe.clone())
                    .or_else(|| {
                        known.map(|known| known.probe.iter().map(ToString::to_string).collect())
                    })
                    .unwrap_or_else(|| vec![name.clone(), "--version".to_owned()]);
                let install = tool
                    .and_then(|tool| tool.install.clone())
                    .or_else(|| known.map(|known| known.install.to_owned()));
                spec::Requirement::Tool {
                    name: name.clone(),
                    at_least: at_least.clone(),
                    probe,
                    install,
                }
            }
        }
    }
}

/// Puts a value under a name, in the place of one that is there.
fn put<V>(list: &mut Vec<(String, V)>, name: &str, value: V, same: impl Fn(&str, &str) -> bool) {
    match list.iter_mut().find(|(known, _)| same(known, name)) {
        Some(entry) => entry.1 = value,
        None => list.push((name.to_owned(), value)),
    }
}
