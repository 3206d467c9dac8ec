//! Toggles: named axes with named values, and what each value sets.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{
    At, LoadKeys, Pace, Process, ServerKeys, Setting, Template, Toggle, Value,
};
use crate::suite::schema;
use crate::suite::template::Place;
use crate::suite::written::{Entries, Scalar, Spanned, Values};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Each toggle with the names of its values.
pub(super) fn values_by_name(toggles: &Entries<schema::Toggle>) -> Vec<(String, Vec<String>)> {
    toggles
        .0
        .iter()
        .map(|(name, toggle)| {
            let mut values: Vec<String> = match toggle.values.as_ref().map(Spanned::get_ref) {
                Some(Values::Scalars(list)) => {
                    list.iter().map(|value| value.get_ref().0.clone()).collect()
                }
                Some(Values::Named(entries)) => super::names(entries),
                None => Vec::new(),
            };
            // A value that is there twice is said elsewhere.
            let mut seen = HashSet::new();
            values.retain(|value| seen.insert(value.clone()));
            (name.get_ref().clone(), values)
        })
        .collect()
}

impl Resolver {
    pub(super) fn toggles(&mut self, toggles: Entries<schema::Toggle>) -> Vec<Toggle> {
        toggles
            .0
            .into_iter()
            .map(|(name, toggle)| self.toggle(name, toggle))
            .collect()
    }

    fn toggle(&mut self, name: Spanned<String>, mut toggle: schema::Toggle) -> Toggle {
        self.name(&name, "toggle");
        if matches!(name.get_ref().as_str(), "server" | "load") {
            self.say(
                Diagnostic::error(
                    code::RESERVED,
                    format!("`{}` is an axis of every suite", name.get_ref()),
                    name.span(),
                )
                .help("give the toggle another name"),
            );
        }
        let servers = self.scope(toggle.servers.take(), "server");
        let loads = self.scope(toggle.loads.take(), "load");
        if let Some(label) = toggle.label.take() {
            self.say(
                Diagnostic::error(
                    code::NO_EFFECT,
                    "a toggle has no label of its own",
                    label.span(),
                )
                .help("its values may have labels: values.NAME = { label = \"…\" }"),
            );
        }
        let values = self.values(&name, toggle);
        let span = name.span();
        Toggle {
            name: At::new(name.into_inner(), span),
            servers,
            loads,
            values,
            is_comparison: false,
        }
    }

    fn values(&mut self, name: &Spanned<String>, mut toggle: schema::Toggle) -> Vec<Value> {
        let written = toggle.values.take();
        let span = written.as_ref().map_or_else(|| name.span(), Spanned::span);
        let under = self.setting(toggle.take_setting(), Place::Toggle);
        let values = match written.map(Spanned::into_inner) {
            Some(Values::Scalars(list)) => self.scalars(list, &under),
            Some(Values::Named(entries)) => entries
                .0
                .into_iter()
                .map(|(name, setting)| {
                    self.name(&name, "value");
                    let mut setting = setting.into_inner();
                    let label = self.label(setting.label.take(), name.get_ref());
                    let at = At::new(name.get_ref().clone(), name.span());
                    Value {
                        name: at,
                        label,
                        setting: self.setting(setting, Place::Toggle).over(&under),
                    }
                })
                .collect(),
            None => Vec::new(),
        };
        if values.is_empty() {
            self.say(
                Diagnostic::error(
                    code::MISSING,
                    format!("the toggle `{}` has no values", name.get_ref()),
                    span,
                )
                .help("write `values = [1, 2, 4]`, or `values.off = {}` and `values.on = { … }`"),
            );
        }
        values
    }

    fn scalars(&mut self, list: Vec<Spanned<Scalar>>, under: &Setting) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::new();
        let mut known: HashMap<String, Range<usize>> = HashMap::new();
        for scalar in list {
            let span = scalar.span();
            let text = scalar.into_inner().0;
            self.name(&Spanned::new(span.clone(), text.clone()), "value");
            if let Some(first) = known.get(&text) {
                let first = first.clone();
                self.say(
                    Diagnostic::error(
                        code::DUPLICATE,
                        format!("the value `{text}` is there twice"),
                        span,
                    )
                    .label("again here")
                    .and(first, "first here"),
                );
                continue;
            }
            known.insert(text.clone(), span.clone());
            values.push(Value {
                label: text.clone(),
                name: At::new(text, span),
                setting: under.clone(),
            });
        }
        values
    }

    /// The names in `servers` or `loads` of a toggle.
    fn scope(&mut self, names: schema::List<String>, what: &str) -> Option<Vec<String>> {
        let names = names?;
        let known = if what == "server" {
            self.servers.clone()
        } else {
            self.loads.clone()
        };
        for name in &names {
            if !known.contains(name.get_ref()) {
                self.unknown(what, name.get_ref(), name.span(), &known);
            }
        }
        Some(names.into_iter().map(Spanned::into_inner).collect())
    }

    pub(super) fn setting(&mut self, mut setting: schema::Setting, place: Place) -> Setting {
        if let Some(label) = setting.label.take() {
            self.say(Diagnostic::error(
                code::NO_EFFECT,
                "only a toggle's value has a label",
                label.span(),
            ));
        }
        let all: Vec<String> = self
            .processes
            .iter()
            .flat_map(|(_, processes)| processes.clone())
            .collect();
        for (name, process) in &mut setting.processes.0 {
            self.process_name(name, &all);
            if let Some(needs) = process.needs.take() {
                let span = needs.first().map_or_else(|| name.span(), Spanned::span);
                self.say(
                    Diagnostic::error(
                        code::NO_EFFECT,
                        "what a process needs is the same in every cell",
                        span,
                    )
                    .help("say it of the process in its server; `front` chooses what is started"),
                );
            }
        }
        Setting {
            server: ServerKeys {
                cwd: self.cwd(setting.cwd, place),
                runtime: self.runtime_name(setting.runtime, place),
                requires: self.requires(setting.requires),
                build: self.build(setting.build, place),
                command: setting.command.map(|command| self.command(command, place)),
                env: self.env(setting.env, place),
                unset_env: self.unset_env(setting.unset_env),
                ready: self.ready(setting.ready, place),
                ..ServerKeys::default()
            },
            processes: self.processes(setting.processes, place),
            front: setting.front.map(|front| {
                self.process_name(&front, &all);
                let span = front.span();
                At::new(front.into_inner(), span)
            }),
            revision: setting
                .revision
                .map(|revision| self.revision(revision, place)),
            args: setting.args.map(|args| self.arguments(args, place)),
            load: LoadKeys {
                path: setting
                    .path
                    .map(|path| self.request_path(path, place.of_a_request())),
                headers: self.sent_headers(setting.headers, place.of_a_request()),
                connections: self.connections(setting.connections),
                pace: self
                    .rate(setting.rate)
                    .map(|rate| At::new(Pace::Rate(rate.value), rate.span)),
                http: self.http(setting.http),
                streams: self.positive_at(setting.streams, "streams"),
                tls: self.tls(setting.tls),
                keep_alive: setting
                    .keep_alive
                    .map(|keep| At::new(*keep.get_ref(), keep.span())),
                expect: self.expect(setting.expect, place),
                ..LoadKeys::default()
            },
        }
    }
}

impl Resolver {
    /// A name that git looks up; an option is none.
    fn revision(&mut self, revision: Spanned<String>, place: Place) -> Template {
        let text = revision.get_ref();
        if text.trim().is_empty() || text.starts_with('-') {
            self.say(
                Diagnostic::error(
                    code::BAD_VALUE,
                    format!("\"{text}\" is not a revision"),
                    revision.span(),
                )
                .help("write a branch, a tag or a commit, or \"worktree\" for what lies there"),
            );
        }
        self.template(revision, place)
    }
}

impl Setting {
    /// A value's own settings laid over those that stand beside `values`.
    fn over(self, under: &Self) -> Self {
        let mut processes = under.processes.clone();
        for process in self.processes {
            let same = |known: &&mut Process| known.name.value == process.name.value;
            match processes.iter_mut().find(same) {
                Some(known) => {
                    known.count = process.count.or_else(|| known.count.take());
                    known.keys = process.keys.over(&known.keys);
                    known.name = process.name;
                }
                None => processes.push(process),
            }
        }
        Self {
            server: self.server.over(&under.server),
            processes,
            front: self.front.or_else(|| under.front.clone()),
            revision: self.revision.or_else(|| under.revision.clone()),
            args: self.args.or_else(|| under.args.clone()),
            load: self.load.over(&under.load),
        }
    }
}
