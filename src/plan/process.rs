//! What a cell starts: which processes of its server, in what order, with which
//! settings, and the services that they lean on.

use super::draft::{Chosen, Key, Layer, ProcessDraft, ReadyDraft, Slot};
use super::expand::Expansion;
use crate::diagnostic::Diagnostic;
use crate::suite::{self, Process, Server, Setting};

/// The role of a server that is one process.
pub(super) const ONLY: &str = "server";

/// The processes of a cell, before they are rendered.
pub(super) struct Started<'a> {
    /// What the server says for all of it: readiness, preparation, version.
    pub(super) whole: ProcessDraft<'a>,
    /// Each after what it needs.
    pub(super) processes: Vec<(&'a str, ProcessDraft<'a>)>,
    pub(super) front: &'a str,
    pub(super) services: Vec<String>,
}

type Settings<'s, 'a> = &'s [(Layer<'a>, &'a Setting)];

impl<'a> Expansion<'_, 'a> {
    /// Finds what is started, and which settings hold for each process.
    pub(super) fn started(&mut self, settings: Settings<'_, 'a>) -> Started<'a> {
        let server = self.names.server;
        let of_the_load = self.conflicts.len();
        let whole = self.whole_server(server, settings);
        self.known_processes(server, settings);
        if server.processes.is_empty() {
            let services = self.services(&whole);
            return Started {
                front: ONLY,
                processes: Vec::new(),
                whole,
                services,
            };
        }
        // What toggles set for all processes is judged in the draft of each.
        self.conflicts.truncate(of_the_load);
        let front = self.front(server, settings);
        let mut all: Vec<(&'a str, ProcessDraft<'a>)> = server
            .processes
            .iter()
            .map(|process| {
                let is_front = process.name.value == front;
                let draft = self.process_draft(server, process, settings, is_front);
                (process.name.value.as_str(), draft)
            })
            .collect();
        let mut order: Vec<&str> = Vec::new();
        let mut services = self.services(&whole);
        self.order(front, &all, &mut order, &mut services);
        // What is not started may be as contradictory as it likes.
        self.conflicts
            .retain(|one| one.process.is_none_or(|process| order.contains(&process)));
        let mut processes = Vec::new();
        for name in order {
            if let Some(at) = all.iter().position(|(known, _)| *known == name) {
                processes.push(all.remove(at));
            }
        }
        self.one_front(front, &processes);
        Started {
            whole,
            processes,
            front,
            services,
        }
    }

    /// The server's own keys with what settings say of the server.
    fn whole_server(&mut self, server: &'a Server, settings: Settings<'_, 'a>) -> ProcessDraft<'a> {
        let mut draft = ProcessDraft::default();
        self.layer = Layer::Own;
        self.lay_process(&mut draft, &server.keys, None);
        for (layer, setting) in settings {
            self.layer = *layer;
            self.lay_process(&mut draft, &setting.server, None);
            self.lay_args(&mut draft, setting);
        }
        draft
    }

    /// Arguments of several toggles all count: they are put one behind the other.
    fn lay_args(&mut self, draft: &mut ProcessDraft<'a>, setting: &'a Setting) {
        let Some(args) = &setting.args else {
            return;
        };
        if matches!(self.layer, Layer::Override) {
            draft.args.clear();
        }
        draft.args.push(Chosen {
            what: args,
            layer: self.layer,
        });
    }

    /// A process: the server's keys below, its own on top, then what settings say of either.
    fn process_draft(
        &mut self,
        server: &'a Server,
        process: &'a Process,
        settings: Settings<'_, 'a>,
        is_front: bool,
    ) -> ProcessDraft<'a> {
        let mut draft = ProcessDraft::default();
        self.process = Some(&process.name.value);
        self.layer = Layer::Own;
        self.lay_process(&mut draft, &server.keys, None);
        // The server is prepared, and asked for its version, once; its port and its readiness are its front's.
        draft.prepare = None;
        draft.probe = None;
        if !is_front {
            draft.ready = ReadyDraft::default();
            draft.port = None;
        }
        self.lay_process(&mut draft, &process.keys, None);
        self.lay(
            &mut draft.count,
            process.count.as_ref(),
            Key::plain("count"),
        );
        for (layer, setting) in settings {
            self.layer = *layer;
            let ready = draft.ready;
            self.lay_process(&mut draft, &setting.server, None);
            if !is_front {
                draft.ready = ready;
            }
            self.lay_args(&mut draft, setting);
            self.alone(server, setting);
            let own = setting
                .processes
                .iter()
                .find(|own| own.name.value == process.name.value);
            if let Some(own) = own {
                let name = own.name.value.as_str();
                self.lay_process(&mut draft, &own.keys, Some(name));
                let key = Key {
                    process: Some(name),
                    table: "",
                    name: "count",
                };
                self.lay(&mut draft.count, own.count.as_ref(), key);
            }
        }
        self.process = None;
        draft
    }

    /// A setting that replaces what only one process can mean must name the process.
    fn alone(&mut self, server: &Server, setting: &Setting) {
        if server.processes.len() < 2 {
            return;
        }
        let keys = &setting.server;
        let spans = [
            ("command", keys.command.as_ref().map(|at| &at.span)),
            ("args", setting.args.as_ref().map(|at| &at.span)),
            ("cwd", keys.cwd.as_ref().map(|at| &at.span)),
            ("build", keys.build.as_ref().map(|at| &at.span)),
        ];
        for (key, span) in spans {
            let Some(span) = span else {
                continue;
            };
            self.mistakes.push(
                Diagnostic::error(
                    suite::CONFLICT,
                    format!(
                        "`{key}` would be set for every process of the server `{}`",
                        server.name.value
                    ),
                    span.clone(),
                )
                .label("for which process?")
                .and(
                    server.name.span.clone(),
                    format!("it has {} processes", server.processes.len()),
                )
                .help(if key == "args" {
                    "set the `command` of one: processes.NAME.command = …".to_owned()
                } else {
                    format!("say it of one: processes.NAME.{key} = …")
                }),
            );
        }
    }

    /// That settings name processes which this server has.
    fn known_processes(&mut self, server: &Server, settings: Settings<'_, 'a>) {
        let has = |name: &str| {
            server
                .processes
                .iter()
                .any(|process| process.name.value == name)
        };
        for (_, setting) in settings {
            let named = setting
                .processes
                .iter()
                .map(|process| &process.name)
                .chain(setting.front.as_ref());
            for name in named {
                if has(&name.value) {
                    continue;
                }
                self.mistakes.push(
                    Diagnostic::error(
                        suite::UNKNOWN_NAME,
                        format!(
                            "the server `{}` has no process `{}`",
                            server.name.value, name.value
                        ),
                        name.span.clone(),
                    )
                    .and(server.name.span.clone(), "this server gets the setting too")
                    .help("give the toggle `servers = […]` with those that have it"),
                );
            }
        }
    }

    fn front(&mut self, server: &'a Server, settings: Settings<'_, 'a>) -> &'a str {
        let own: Slot<'a, String> = server.front.as_ref().map(|front| Chosen {
            what: front,
            layer: Layer::Own,
        });
        let set = self.last(settings, "front", |setting| setting.front.as_ref());
        set.or(own).map_or_else(
            || {
                server
                    .processes
                    .first()
                    .map_or(ONLY, |process| process.name.value.as_str())
            },
            |front| front.what.value.as_str(),
        )
    }

    /// The services that something needs, each after those that it needs itself.
    fn services(&mut self, draft: &ProcessDraft<'a>) -> Vec<String> {
        let mut all = Vec::new();
        for need in draft.needs.into_iter().flatten() {
            self.service(&need.value, &mut all);
        }
        all
    }

    fn service(&self, name: &str, all: &mut Vec<String>) {
        let services = &self.common.suite.services;
        let Some(service) = services.iter().find(|service| service.name.value == name) else {
            return;
        };
        if all.iter().any(|known| known == name) {
            return;
        }
        for need in service.keys.needs.iter().flatten() {
            // Circles have been complained of when the suite was read.
            if need.value != name {
                self.service(&need.value, all);
            }
        }
        all.push(name.to_owned());
    }

    /// The processes that must run for this one to run, each after those that it needs.
    fn order(
        &self,
        name: &'a str,
        all: &[(&'a str, ProcessDraft<'a>)],
        order: &mut Vec<&'a str>,
        services: &mut Vec<String>,
    ) {
        if order.contains(&name) {
            return;
        }
        let Some((_, draft)) = all.iter().find(|(known, _)| *known == name) else {
            return;
        };
        for need in draft.needs.into_iter().flatten() {
            self.service(&need.value, services);
            if need.value != name {
                self.order(&need.value, all, order, services);
            }
        }
        if !order.contains(&name) {
            order.push(name);
        }
    }

    /// Only one process can be loaded, and only one can have a fixed port.
    fn one_front(&mut self, front: &str, processes: &[(&'a str, ProcessDraft<'a>)]) {
        for (name, draft) in processes {
            let Some(count) = draft.count.filter(|count| count.what.value > 1) else {
                continue;
            };
            let problem = if *name == front {
                format!("`{name}` is the process that is loaded, and only one can be")
            } else if draft.port.is_some() {
                format!("several processes `{name}` cannot share one fixed port")
            } else {
                continue;
            };
            self.mistakes.push(
                Diagnostic::error(suite::CONFLICT, problem, count.what.span.clone()).help(
                    "put a process that spreads the load in front, or leave `port` to be found",
                ),
            );
        }
    }
}
