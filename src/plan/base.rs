//! What a suite's cells stand on and have in common: runtimes, services, published reports.

use super::identity::without_ports;
use super::render::{Asker, Renderer, mistake};
use super::tools;
use crate::diagnostic::Diagnostic;
use crate::ids::hex;
use crate::spec::{
    self, Build, ProcessSpec, Published, Ready, ReadyBy, Runtime, Scope, StopPolicy, Symbol, Text,
};
use crate::suite::{self, At, Command, ReadyKeys, ReadyWay, Scratch, ServerKeys, Suite, Template};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) struct Base {
    pub(super) runtimes: Vec<Runtime>,
    pub(super) services: Vec<spec::Service>,
    pub(super) published: Vec<Published>,
    /// By the names of runtimes, a hash of what each is made of.
    made: BTreeMap<String, String>,
    /// The same of services, by theirs.
    served: BTreeMap<String, String>,
}

impl Base {
    /// The hashes of everything that a cell stands on.
    pub(super) fn grounds(&self, processes: &[ProcessSpec], services: &[String]) -> Vec<&str> {
        let runtimes = processes
            .iter()
            .filter_map(|process| self.made.get(process.runtime.as_ref()?));
        let services = services.iter().filter_map(|name| self.served.get(name));
        runtimes.chain(services).map(String::as_str).collect()
    }
}

/// Everything of a service that could change a figure.
#[derive(Serialize)]
struct Ground<'a> {
    runtime: Option<&'a String>,
    scope: Scope,
    builds: &'a [Build],
    setup: &'a [Vec<Text>],
    #[serde(serialize_with = "without_ports")]
    process: &'a [ProcessSpec],
}

fn hash(of: &impl Serialize) -> String {
    // Nothing of it is other than strings, numbers and lists.
    let text = serde_json::to_vec(of);
    debug_assert!(text.is_ok());
    hex(&Sha256::digest(text.unwrap_or_default())[..6])
}

pub(super) fn of<'a>(
    suite: &'a Suite,
    renderer: &mut Renderer<'a>,
    mistakes: &mut Vec<Diagnostic>,
) -> Base {
    let mut base = Renderings {
        suite,
        renderer,
        mistakes,
        asker: Asker::NOBODY,
    };
    let runtimes: Vec<Runtime> = suite
        .runtimes
        .iter()
        .flat_map(|runtime| base.runtime(runtime))
        .collect();
    let services: Vec<spec::Service> = suite
        .services
        .iter()
        .map(|service| base.service(service))
        .collect();
    let made: BTreeMap<String, String> = runtimes
        .iter()
        .map(|runtime| {
            let parts = (&runtime.version, &runtime.build, &runtime.bin);
            (runtime.name.clone(), hash(&parts))
        })
        .collect();
    let served = services
        .iter()
        .map(|service| {
            let process = &service.process;
            let ground = Ground {
                runtime: process.runtime.as_ref().and_then(|name| made.get(name)),
                scope: service.scope,
                builds: &service.builds,
                setup: &service.setup,
                process: std::slice::from_ref(process),
            };
            (process.role.clone(), hash(&ground))
        })
        .collect();
    let published = suite
        .published
        .iter()
        .map(|report| Published {
            name: report.name.clone(),
            source: report.source.clone(),
            note: report.note.clone(),
        })
        .collect();
    Base {
        runtimes,
        services,
        published,
        made,
        served,
    }
}

/// Renders what belongs to no cell.
struct Renderings<'r, 'a> {
    suite: &'a Suite,
    renderer: &'r mut Renderer<'a>,
    mistakes: &'r mut Vec<Diagnostic>,
    asker: Asker<'a>,
}

impl<'a> Renderings<'_, 'a> {
    fn runtime(&mut self, runtime: &'a suite::Runtime) -> Vec<Runtime> {
        runtime
            .versions
            .iter()
            .map(|version| {
                self.asker = Asker {
                    version: Some(&version.value),
                    ..Asker::NOBODY
                };
                let made = Runtime {
                    name: format!("{}-{}", runtime.name.value, version.value),
                    version: version.value.clone(),
                    requires: self.requires(&runtime.requires),
                    build: self.commands(runtime.build.as_ref()),
                    bin: runtime.bin.iter().map(|bin| self.text(bin)).collect(),
                    probe: runtime.probe.as_ref().map(|probe| self.words(probe)),
                };
                self.asker = Asker::NOBODY;
                made
            })
            .collect()
    }

    fn service(&mut self, service: &'a suite::Service) -> spec::Service {
        let keys = &service.keys;
        self.asker = Asker {
            runtime: keys.runtime.is_some(),
            ..Asker::NOBODY
        };
        let cwd = keys
            .cwd
            .as_ref()
            .map_or_else(|| Text::literal("."), |cwd| self.text(cwd));
        let runtime = keys.runtime.as_ref().map(|runtime| runtime.value.clone());
        let commands = self.commands(keys.build.as_ref());
        self.build_is_early(keys, &commands, &cwd);
        let builds = (!commands.is_empty()).then(|| Build {
            revision: None,
            runtime: runtime.clone(),
            cwd: cwd.to_string(),
            commands,
            inputs: keys.build_inputs.as_ref().map(|inputs| texts(inputs)),
            timeout: keys.build_timeout.unwrap_or(Duration::from_mins(15)),
        });
        spec::Service {
            label: service.label.clone(),
            scope: match service.scope {
                suite::Scope::Suite => Scope::Suite,
                suite::Scope::Trial => Scope::Trial,
            },
            requires: self.requires(keys.requires.as_deref().unwrap_or_default()),
            builds: builds.into_iter().collect(),
            setup: service
                .setup
                .iter()
                .map(|command| self.words(command))
                .collect(),
            process: self.process(&service.name.value, keys, cwd),
            probe: keys.probe.as_ref().map(|probe| self.words(probe)),
        }
    }

    /// A build is run before there is a process with a port and a folder.
    fn build_is_early(&mut self, keys: &'a ServerKeys, commands: &[Vec<Text>], cwd: &Text) {
        let Some(build) = keys.build.as_ref().filter(|_| !commands.is_empty()) else {
            return;
        };
        let of_a_process =
            |symbol: &Symbol| matches!(symbol, Symbol::Port | Symbol::Dir | Symbol::Index);
        let late = commands.iter().flatten().chain([cwd]);
        if late.flat_map(Text::symbols).any(of_a_process) {
            self.mistakes.push(
                Diagnostic::error(
                    suite::BAD_TEMPLATE,
                    "`port`, `index` and `dir` have no value yet in `build` and the folder that it runs in",
                    build.span.clone(),
                )
                .help("they are known when the service is started; `setup` runs before each start"),
            );
        }
    }

    fn process(&mut self, role: &str, keys: &'a ServerKeys, cwd: Text) -> ProcessSpec {
        let named = |names: &Option<Vec<At<String>>>| texts(names.as_deref().unwrap_or_default());
        ProcessSpec {
            role: role.to_owned(),
            command: keys
                .command
                .as_ref()
                .map_or_else(Vec::new, |command| self.words(command)),
            cwd,
            env: self.table(&keys.env),
            unset_env: named(&keys.unset_env),
            address: keys
                .address
                .clone()
                .unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: keys.port,
            socket: keys.socket.as_ref().map(|socket| self.text(socket)),
            stop: StopPolicy {
                signal: keys
                    .stop_signal
                    .clone()
                    .unwrap_or_else(|| "SIGTERM".to_owned()),
                grace: keys.stop_grace.unwrap_or(Duration::from_secs(5)),
            },
            runtime: keys.runtime.as_ref().map(|runtime| runtime.value.clone()),
            pass_env: named(&keys.pass_env),
            secret: named(&keys.secret),
            files: self.table(&keys.files),
            copy: keys
                .scratch
                .as_ref()
                .is_some_and(|scratch| scratch.value == Scratch::Copy),
            needs: named(&keys.needs),
            count: 1,
            ready: Some(self.ready(&keys.ready)),
            prepare: self.commands(keys.prepare.as_ref()),
        }
    }

    /// A service is ready when it says so, else when its port takes a connection.
    fn ready(&mut self, keys: &'a ReadyKeys) -> Ready {
        let way = keys.way.as_ref().map(|way| &way.value);
        let mut path = None;
        let by = match way {
            Some(ReadyWay::Path(asked)) => {
                path = Some(self.text(asked));
                None
            }
            Some(ReadyWay::Command(command)) => Some(ReadyBy::Command(self.words(command))),
            Some(ReadyWay::Log(log)) => Some(ReadyBy::Log(self.text(log))),
            Some(ReadyWay::Tcp) | None => Some(ReadyBy::Tcp),
        };
        Ready {
            status: keys
                .status
                .as_ref()
                .map(|status| status.value)
                .or(path.is_some().then_some(200)),
            by,
            path: path.unwrap_or_else(|| Text::literal("/")),
            timeout: keys
                .timeout
                .as_ref()
                .map_or(Duration::from_secs(30), |timeout| timeout.value),
        }
    }

    fn requires(&self, requires: &[At<suite::Requirement>]) -> Vec<spec::Requirement> {
        requires
            .iter()
            .map(|requirement| tools::requirement(self.suite, &requirement.value))
            .collect()
    }

    fn table(&mut self, table: &'a [(At<String>, Template)]) -> Vec<(String, Text)> {
        table
            .iter()
            .map(|(name, text)| (name.value.clone(), self.text(text)))
            .collect()
    }

    fn commands(&mut self, commands: Option<&'a At<Vec<Command>>>) -> Vec<Vec<Text>> {
        let commands = commands.map(|commands| &commands.value);
        commands
            .into_iter()
            .flatten()
            .map(|command| self.words(command))
            .collect()
    }

    fn words(&mut self, command: &'a Command) -> Vec<Text> {
        command.value.iter().map(|word| self.text(word)).collect()
    }

    fn text(&mut self, template: &'a Template) -> Text {
        self.renderer
            .render(template, self.asker)
            .unwrap_or_else(|problem| {
                let mistake = mistake(template, None, problem);
                let known = |other: &Diagnostic| other.labels == mistake.labels;
                if !self.mistakes.iter().any(known) {
                    self.mistakes.push(mistake);
                }
                Text::default()
            })
    }
}

fn texts(names: &[At<String>]) -> Vec<String> {
    names.iter().map(|name| name.value.clone()).collect()
}
