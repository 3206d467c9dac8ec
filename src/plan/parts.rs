//! What a cell starts, rendered: processes, builds, readiness, requirements.

use super::base::Base;
use super::draft::{Layer, ProcessDraft, ReadyDraft, Slot, Wish};
use super::expand::Expansion;
use super::identity::Identity;
use super::process::{ONLY, Started};
use crate::diagnostic::Diagnostic;
use crate::spec::{
    Build, CpuShares, LoadSpec, ProcessSpec, Ready, ReadyBy, Requirement, StopPolicy, Symbol, Text,
};
use crate::suite::{self, At, Command, ReadyWay, Scratch};
use std::ops::Range;
use std::time::Duration;

/// The processes of a cell, rendered.
pub(super) struct Parts {
    pub(super) requires: Vec<Requirement>,
    pub(super) builds: Vec<Build>,
    pub(super) services: Vec<String>,
    pub(super) url: Option<String>,
    pub(super) front: String,
    pub(super) processes: Vec<ProcessSpec>,
    pub(super) ready: Ready,
    pub(super) prepare: Vec<Vec<Text>>,
    pub(super) probe: Option<Vec<String>>,
}

impl Parts {
    /// Adds requirements that are not there yet.
    fn require(&mut self, requirements: impl Iterator<Item = Requirement>) {
        for requirement in requirements {
            if !self.requires.contains(&requirement) {
                self.requires.push(requirement);
            }
        }
    }

    /// Everything of them that could change a figure.
    pub(super) fn identity<'p>(
        &'p self,
        base: &'p Base,
        cpus: Option<CpuShares>,
        revision: Option<&'p Text>,
        work: &'p LoadSpec,
    ) -> Identity<'p> {
        Identity {
            cpus,
            revision,
            builds: &self.builds,
            services: &self.services,
            grounds: base.grounds(&self.processes, &self.services),
            url: self.url.as_deref(),
            processes: &self.processes,
            ready: &self.ready,
            prepare: &self.prepare,
            work,
        }
    }
}

impl<'a> Expansion<'_, 'a> {
    /// Renders what is started.
    pub(super) fn parts(
        &mut self,
        started: Started<'a>,
        revision: Option<&Text>,
        work: &LoadSpec,
    ) -> Parts {
        let server = self.names.server;
        let Started {
            whole,
            mut processes,
            front,
            services,
        } = started;
        let url = server.url.as_ref().map(|url| url.value.clone());
        self.ports = processes
            .iter()
            .map(|(name, draft)| (*name, draft.count.map_or(1, |count| count.what.value)))
            .collect();
        let loaded = processes
            .iter()
            .find(|(name, _)| *name == front)
            .map_or(&whole, |(_, draft)| draft);
        self.runtime = loaded.runtime.is_some();
        let ready = self.ready(&loaded.ready, Some(work));
        self.runtime = whole.runtime.is_some();
        let prepare = self.commands(whole.prepare);
        let probe = whole.probe.map(|probe| {
            let words = self.words(probe.what, probe.layer);
            words
                .iter()
                .map(|word| self.whole_probe(word, &probe.what.span))
                .collect()
        });
        let mut elsewhere = Vec::new();
        if url.is_some() {
            self.sets_nothing(&whole);
            elsewhere = whole.requires;
        } else if server.processes.is_empty() {
            processes = vec![(ONLY, whole)];
        }
        let mut parts = Parts {
            requires: Vec::new(),
            builds: Vec::new(),
            services,
            url,
            front: front.to_owned(),
            processes: Vec::new(),
            ready,
            prepare,
            probe,
        };
        parts.require(elsewhere.into_iter().map(|one| self.requirement(one)));
        for (name, draft) in &processes {
            self.runtime = draft.runtime.is_some();
            parts.require(draft.requires.iter().map(|one| self.requirement(one)));
            let is_front = *name == front;
            let process = self.process(name, draft, is_front);
            if let Some(build) = self.build(draft, &process, revision)
                && !parts.builds.contains(&build)
            {
                parts.builds.push(build);
            }
            self.runtime_requires(&process, &mut parts);
            parts.processes.push(process);
        }
        for service in &self.common.suite.services {
            if parts.services.contains(&service.name.value) {
                let requires = service.keys.requires.iter().flatten();
                parts.require(requires.map(|one| self.requirement(&one.value)));
            }
        }
        parts
    }

    /// What toggles and overrides set of a server that already runs has no effect on it.
    fn sets_nothing(&mut self, whole: &ProcessDraft<'a>) {
        fn set<T>(slot: Slot<'_, T>) -> Option<&Range<usize>> {
            slot.filter(|chosen| !matches!(chosen.layer, Layer::Own))
                .map(|chosen| &chosen.what.span)
        }
        let env = whole
            .env
            .iter()
            .find(|wish| !matches!(wish.layer, Layer::Own));
        let keys = [
            ("command", set(whole.command)),
            ("args", whole.args.first().map(|args| &args.what.span)),
            ("env", env.map(|wish| wish.span)),
            ("cwd", set(whole.cwd)),
            ("build", set(whole.build)),
            ("runtime", set(whole.runtime)),
        ];
        let server = &self.names.server.name;
        for (key, span) in keys {
            let Some(span) = span else {
                continue;
            };
            self.mistakes.push(
                Diagnostic::error(
                    suite::NO_EFFECT,
                    format!("`{key}` changes nothing for a server that already runs"),
                    span.clone(),
                )
                .and(server.span.clone(), "this one has a `url`")
                .help("give the toggle `servers = […]` with those that are started"),
            );
        }
    }

    /// A secret that is written into a suite is none.
    fn secrets(&mut self, draft: &ProcessDraft<'a>) {
        for name in draft.secret.into_iter().flatten() {
            let written = draft.env.iter().find(|wish| wish.name == name.value);
            let Some((template, layer)) = written.and_then(|wish| Some((wish.set?, wish.layer)))
            else {
                continue;
            };
            let text = self.try_text(template, layer).unwrap_or_default();
            if text.variables().next().is_none() {
                self.mistakes.push(
                    Diagnostic::error(
                        suite::CONFLICT,
                        format!("`{}` is a secret, and its value stands here", name.value),
                        template.span.clone(),
                    )
                    .label("everybody who reads the suite knows it")
                    .and(name.span.clone(), "called a secret here")
                    .help(format!(
                        "take it from the caller: pass_env = [\"{}\"]",
                        name.value
                    )),
                );
            }
        }
    }

    fn process(&mut self, role: &str, draft: &ProcessDraft<'a>, is_front: bool) -> ProcessSpec {
        self.secrets(draft);
        let mut command = draft
            .command
            .map_or_else(Vec::new, |command| self.words(command.what, command.layer));
        if command.is_empty() {
            self.no_command(role);
        }
        for args in &draft.args {
            let args = self.words(args.what, args.layer);
            command.extend(args);
        }
        let texts = |names: Option<&[At<String>]>| -> Vec<String> {
            names
                .into_iter()
                .flatten()
                .map(|name| name.value.clone())
                .collect()
        };
        let only = role == ONLY;
        ProcessSpec {
            role: role.to_owned(),
            cwd: draft
                .cwd
                .map_or_else(|| Text::literal("."), |cwd| self.text(cwd.what, cwd.layer)),
            env: self.wanted(&draft.env),
            unset_env: draft
                .env
                .iter()
                .filter(|wish| wish.set.is_none())
                .map(|wish| wish.name.to_owned())
                .collect(),
            address: draft.address.unwrap_or("127.0.0.1").to_owned(),
            port: draft.port,
            socket: draft
                .socket
                .map(|socket| self.text(socket.what, socket.layer)),
            stop: StopPolicy {
                signal: draft.stop_signal.unwrap_or("SIGTERM").to_owned(),
                grace: draft.stop_grace.unwrap_or(Duration::from_secs(5)),
            },
            runtime: self.runtime_name(draft.runtime),
            pass_env: texts(draft.pass_env),
            secret: texts(draft.secret),
            files: self.wanted(&draft.files),
            copy: draft
                .scratch
                .is_some_and(|scratch| scratch.what.value == Scratch::Copy),
            needs: if only { Vec::new() } else { texts(draft.needs) },
            count: draft.count.map_or(1, |count| count.what.value),
            ready: (!is_front).then(|| self.ready(&draft.ready, None)),
            prepare: if only {
                Vec::new()
            } else {
                self.commands(draft.prepare)
            },
            command,
        }
    }

    /// What the runtime of a process requires.
    fn runtime_requires(&self, process: &ProcessSpec, parts: &mut Parts) {
        let Some(name) = &process.runtime else {
            return;
        };
        if let Some(runtime) = self.runtime_of(name) {
            let requires = runtime.requires.iter();
            parts.require(requires.map(|one| self.requirement(&one.value)));
        }
    }

    /// The runtime that defines this `NAME-VERSION`.
    fn runtime_of(&self, name: &str) -> Option<&'a suite::Runtime> {
        self.common.suite.runtimes.iter().find(|runtime| {
            let version = name
                .strip_prefix(&runtime.name.value)
                .and_then(|rest| rest.strip_prefix('-'));
            runtime
                .versions
                .iter()
                .any(|known| Some(known.value.as_str()) == version)
        })
    }

    fn no_command(&mut self, role: &str) {
        let server = self.names.server;
        let process = server
            .processes
            .iter()
            .find(|process| process.name.value == role);
        let (what, span) = match process {
            Some(process) => (
                format!("the process `{role}` of the server `{}`", server.name.value),
                &process.name.span,
            ),
            None => (
                format!("the server `{}`", server.name.value),
                &server.name.span,
            ),
        };
        self.mistakes.push(
            Diagnostic::error(
                suite::MISSING,
                format!("{what} has no command"),
                span.clone(),
            )
            .help("add `command = \"…\"`, the line that starts it"),
        );
    }

    /// What is wanted in a table that merges, rendered.
    pub(super) fn wanted(&mut self, wishes: &[Wish<'a>]) -> Vec<(String, Text)> {
        wishes
            .iter()
            .filter_map(|wish| {
                let text = self.text(wish.set?, wish.layer);
                Some((wish.name.to_owned(), text))
            })
            .collect()
    }

    fn commands(&mut self, commands: Slot<'a, Vec<Command>>) -> Vec<Vec<Text>> {
        let Some(commands) = commands else {
            return Vec::new();
        };
        commands
            .what
            .value
            .iter()
            .map(|command| self.words(command, commands.layer))
            .collect()
    }

    fn runtime_name(&mut self, runtime: Slot<'a, String>) -> Option<String> {
        let runtime = runtime?;
        let text = self.text(runtime.what, runtime.layer);
        let span = &runtime.what.span;
        let name = self.whole(&text, span, "`runtime`");
        let known = self.runtime_of(&name).is_some();
        // What is written plainly has been complained of when the suite was read.
        if !known && super::render::is_template(&runtime.what.value) && !name.is_empty() {
            self.mistakes.push(
                Diagnostic::error(
                    suite::UNKNOWN_NAME,
                    format!("there is no runtime `{name}`"),
                    span.clone(),
                )
                .help("[runtimes.NAME] with `versions` defines `NAME-VERSION` each"),
            );
        }
        Some(name)
    }

    /// The build of a process, where it has one.
    fn build(
        &mut self,
        draft: &ProcessDraft<'a>,
        process: &ProcessSpec,
        revision: Option<&Text>,
    ) -> Option<Build> {
        let chosen = draft.build?;
        let commands = self.commands(draft.build);
        if commands.is_empty() {
            return None;
        }
        for (words, command) in commands.iter().zip(&chosen.what.value) {
            self.early(words, &command.span, "`build`");
        }
        let span: &Range<usize> = draft
            .cwd
            .map_or(&self.names.server.name.span, |cwd| &cwd.what.span);
        let cwd = self.whole(&process.cwd, span, "`cwd` of a server with `build`");
        Some(Build {
            revision: revision.cloned(),
            runtime: process.runtime.clone(),
            cwd,
            commands,
            inputs: draft
                .build_inputs
                .map(|inputs| inputs.iter().map(|input| input.value.clone()).collect()),
            timeout: draft.build_timeout.unwrap_or(Duration::from_mins(15)),
        })
    }

    fn whole_probe(&mut self, word: &Text, span: &Range<usize>) -> String {
        // The program of a runtime is filled in when it was built.
        if word.symbols().all(|symbol| *symbol == Symbol::Runtime) {
            return word.to_string();
        }
        self.whole(word, span, "`probe`")
    }

    /// When it is ready. A suite that names a path knows what it answers; else the load's own path is
    /// asked for, and any answer shows that the server is there. What is not loaded takes a connection.
    fn ready(&mut self, draft: &ReadyDraft<'a>, work: Option<&LoadSpec>) -> Ready {
        let mut asked = None;
        let by = draft.way.and_then(|way| match &way.what.value {
            ReadyWay::Path(path) => {
                asked = Some(self.text(path, way.layer));
                None
            }
            ReadyWay::Command(command) => Some(ReadyBy::Command(self.words(command, way.layer))),
            ReadyWay::Tcp => Some(ReadyBy::Tcp),
            ReadyWay::Log(log) => Some(ReadyBy::Log(self.text(log, way.layer))),
        });
        let nothing_said = draft.way.is_none() && work.is_none();
        Ready {
            status: draft
                .status
                .map(|status| status.what.value)
                .or(asked.is_some().then_some(200)),
            path: asked
                .or_else(|| work.map(|work| work.request.path.clone()))
                .unwrap_or_else(|| Text::literal("/")),
            by: by.or(nothing_said.then_some(ReadyBy::Tcp)),
            timeout: draft
                .timeout
                .map_or(Duration::from_secs(30), |timeout| timeout.what.value),
        }
    }
}
