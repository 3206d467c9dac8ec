//! One cell after the other is resolved: the server's keys, what its toggles
//! set, what overrides set, the load. [`super::draft`] finds which of them holds;
//! here that is rendered and becomes the cell. What is known only when a
//! process starts stays symbolic.

use super::axes::Names;
use super::base::Base;
use super::draft::{Conflict, Key, Layer, LoadDraft, Slot};
use super::process::Started;
use super::render::{Asker, Renderer, mistake};
use super::{Options, figure, tools};
use crate::diagnostic::Diagnostic;
use crate::spec::{self, Cell, Symbol, Text, WORKTREE};
use crate::suite::{self, At, Command, Profile, Run, Setting, Suite, Template};
use std::ops::Range;

/// What all cells of a plan have in common.
#[derive(Clone, Copy)]
pub(super) struct Common<'r, 'a> {
    pub(super) suite: &'a Suite,
    pub(super) profile: Option<&'a Profile>,
    pub(super) run: &'r Run,
    pub(super) options: &'r Options,
    pub(super) figures: &'r figure::Figures<'a>,
    pub(super) base: &'r Base,
}

/// One cell on its way.
pub(super) struct Expansion<'r, 'a> {
    pub(super) common: Common<'r, 'a>,
    pub(super) names: &'r Names<'a>,
    pub(super) renderer: &'r mut Renderer<'a>,
    /// Whose settings are being laid on.
    pub(super) layer: Layer<'a>,
    /// Whether the process whose texts are rendered has a runtime.
    pub(super) runtime: bool,
    /// The processes that are started, with their counts.
    pub(super) ports: Vec<(&'a str, u32)>,
    /// The services that are started for the cell.
    pub(super) services: Vec<String>,
    /// The process whose draft is being made; none for the server's and the load's.
    pub(super) process: Option<&'a str>,
    /// Conflicts of toggles, until it is known that no override settles them.
    pub(super) conflicts: Vec<Conflict<'a>>,
    pub(super) mistakes: Vec<Diagnostic>,
}

/// A cell, and what is wrong with it.
pub(super) fn cell<'a>(
    common: Common<'_, 'a>,
    names: &Names<'a>,
    renderer: &mut Renderer<'a>,
) -> (Cell, Vec<Diagnostic>) {
    let mut expansion = Expansion {
        common,
        names,
        renderer,
        layer: Layer::Own,
        runtime: false,
        ports: Vec::new(),
        services: Vec::new(),
        process: None,
        conflicts: Vec::new(),
        mistakes: Vec::new(),
    };
    let cell = expansion.cell();
    (cell, expansion.mistakes)
}

impl<'a> Expansion<'_, 'a> {
    fn cell(&mut self) -> Cell {
        let settings = self.settings();
        let mut load = LoadDraft::default();
        self.lay_load(&mut load, &self.names.load.keys);
        for (layer, setting) in &settings {
            self.layer = *layer;
            self.lay_load(&mut load, &setting.load);
        }
        let started = self.started(&settings);
        self.services.clone_from(&started.services);
        let revision = self.last(&settings, "revision", |setting| setting.revision.as_ref());
        self.layer = Layer::Own;
        let conflicts = std::mem::take(&mut self.conflicts);
        for conflict in conflicts {
            // Each value of the one may disagree with each of the other: it is said once of the two.
            if self.renderer.told.insert(conflict.said.message.clone()) {
                self.mistakes.push(conflict.said);
            }
        }
        self.finish(started, &load, &settings, revision)
    }

    /// What is laid on the server's and the load's own keys, in this order.
    fn settings(&self) -> Vec<(Layer<'a>, &'a Setting)> {
        let names = self.names;
        let toggles = names.toggles.iter().map(|(toggle, value)| {
            let layer = Layer::Toggle(&toggle.name.value, &value.name.value);
            (layer, &value.setting)
        });
        let overrides = self
            .common
            .suite
            .overrides
            .iter()
            .filter(|one| {
                one.when
                    .as_ref()
                    .is_none_or(|when| names.matches(&when.value))
            })
            .map(|one| (Layer::Override, &one.set));
        toggles.chain(overrides).collect()
    }

    /// A key of settings alone, by precedence.
    pub(super) fn last(
        &mut self,
        settings: &[(Layer<'a>, &'a Setting)],
        key: &'static str,
        of: impl Fn(&'a Setting) -> Option<&'a At<String>>,
    ) -> Slot<'a, String> {
        let mut slot = None;
        for (layer, setting) in settings {
            self.layer = *layer;
            self.lay(&mut slot, of(setting), Key::plain(key));
        }
        slot
    }

    fn finish(
        &mut self,
        started: Started<'a>,
        load: &LoadDraft<'a>,
        settings: &[(Layer<'a>, &'a Setting)],
        revision: Slot<'a, String>,
    ) -> Cell {
        let names = self.names;
        if let Some(chosen) = revision {
            self.is_started(chosen.what);
        }
        let revision = revision.map(|chosen| self.text(chosen.what, chosen.layer));
        let revision = revision.filter(|text| text.as_literal() != Some(WORKTREE));
        let commits = &self.common.options.commits;
        let known = revision.as_ref().map_or_else(
            || commits.get(WORKTREE),
            |revision| commits.get(&revision.to_string()),
        );
        let commit = known.cloned();
        // A name may be another commit tomorrow, and the cell then is another one. What lies there has no commit.
        let pinned = revision.as_ref().zip(commit.as_ref());
        let pinned = pinned.map(|(_, commit)| Text::literal(commit));
        let made_of = pinned.as_ref().or(revision.as_ref());
        let work = self.work(load, settings);
        let parts = self.parts(started, made_of, &work);
        let identity = parts.identity(
            self.common.base,
            super::cpus(self.common.run),
            made_of,
            &work,
        );
        let (variant, id) = super::identity::ids(names, &identity, &mut self.renderer.room);
        Cell {
            id,
            variant,
            server: names.server.name.value.clone(),
            server_label: names.server.label.clone(),
            toggles: super::identity::choices(names),
            load: names.load.name.value.clone(),
            load_label: names.load.label.clone(),
            baseline: None,
            revision,
            commit,
            requires: parts.requires,
            builds: parts.builds,
            services: parts.services,
            url: parts.url,
            front: parts.front,
            processes: parts.processes,
            trial_timeout: self.trial_timeout(&parts.ready, &work),
            ready: parts.ready,
            prepare: parts.prepare,
            work,
            repetitions: self.repetitions(),
            auto: self.auto(),
            probe: parts.probe,
            gates: self.common.figures.gates(names),
            published: self.common.figures.published(names),
            skip: None,
        }
    }

    /// A server that already runs is of no revision.
    fn is_started(&mut self, revision: &Template) {
        let server = self.names.server;
        if server.url.is_none() || revision.value == WORKTREE {
            return;
        }
        self.mistakes.push(
            Diagnostic::error(
                suite::NO_EFFECT,
                "`revision` changes nothing for a server that already runs",
                revision.span.clone(),
            )
            .and(server.name.span.clone(), "this one has a `url`")
            .help("give the toggle `servers = […]` with those that are started"),
        );
    }

    /// Renders a template of this cell; what is wrong is the caller's to say.
    pub(super) fn try_text(
        &mut self,
        template: &'a Template,
        layer: Layer<'a>,
    ) -> Result<Text, (String, &'static str)> {
        let asker = Asker {
            names: Some(self.names),
            value: layer.value(),
            runtime: self.runtime,
            ports: &self.ports,
            version: None,
        };
        self.renderer.render(template, asker)
    }

    /// Renders a template of this cell.
    pub(super) fn text(&mut self, template: &'a Template, layer: Layer<'a>) -> Text {
        let text = self.try_text(template, layer).unwrap_or_else(|problem| {
            self.mistakes
                .push(mistake(template, Some(self.names), problem));
            Text::default()
        });
        self.services_are_needed(&text, template);
        text
    }

    /// That the services whose ports stand in a text are started for this cell.
    fn services_are_needed(&mut self, text: &Text, template: &Template) {
        let missing = text.symbols().find_map(|symbol| match symbol {
            Symbol::ServicePort(service) if !self.services.contains(service) => Some(service),
            _ => None,
        });
        if let Some(service) = missing {
            let server = &self.names.server.name.value;
            self.mistakes.push(
                Diagnostic::error(
                    suite::MISSING,
                    format!(
                        "`{server}` uses the port of the service `{service}` and does not need it"
                    ),
                    template.span.clone(),
                )
                .help(format!(
                    "add `needs = [\"{service}\"]` to the server, so that it is started"
                )),
            );
        }
    }

    pub(super) fn words(&mut self, command: &'a Command, layer: Layer<'a>) -> Vec<Text> {
        command
            .value
            .iter()
            .map(|word| self.text(word, layer))
            .collect()
    }

    /// A text that must be whole before any process starts.
    pub(super) fn whole(&mut self, text: &Text, span: &Range<usize>, what: &str) -> String {
        if let Some(text) = text.as_literal() {
            return text.to_owned();
        }
        self.mistakes.push(
            Diagnostic::error(
                suite::BAD_TEMPLATE,
                format!("what is known only when a process starts has no value yet in {what}"),
                span.clone(),
            )
            .help("`port`, `dir`, `runtime`, `cpus` and `env` are known when a trial starts its process"),
        );
        String::new()
    }

    /// A command that is run before there is a process with a port and a folder.
    pub(super) fn early(&mut self, words: &[Text], span: &Range<usize>, what: &str) {
        let of_a_process = |symbol: &Symbol| {
            matches!(
                symbol,
                Symbol::Port | Symbol::Dir | Symbol::Index | Symbol::Ports(..)
            )
        };
        if words.iter().any(|word| word.symbols().any(of_a_process)) {
            self.mistakes.push(
                Diagnostic::error(
                    suite::BAD_TEMPLATE,
                    format!("`port`, `ports`, `index` and `dir` have no value yet in {what}"),
                    span.clone(),
                )
                .help("they are known when a trial starts its process"),
            );
        }
    }

    pub(super) fn requirement(&self, requirement: &suite::Requirement) -> spec::Requirement {
        tools::requirement(self.common.suite, requirement)
    }
}
