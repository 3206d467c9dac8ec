//! What is made and asked before the first trial: runtimes, each distinct build,
//! and the version of each server and service.

use super::event::Event;
use super::runner::{Job, RunError, remaining};
use crate::server::build::{self, BuildError, Built, Workshop};
use crate::server::cache::Cache;
use crate::server::requirement::probe;
use crate::server::{runtime, secrets};
use crate::spec::{self, Build, Cell, Choice, Fill, Planned, Runtime, Service, Spec, Text};
use crate::store::{RunFolder, StoreError};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The services that a cell needs.
fn services_of<'a>(cell: &'a Cell, spec: &'a Spec) -> impl Iterator<Item = &'a Service> {
    spec.services
        .iter()
        .filter(|service| cell.services.contains(&service.process.role))
}

/// What is made for a cell: its services, and its server.
fn builds_of<'a>(cell: &'a Cell, spec: &'a Spec) -> impl Iterator<Item = &'a Build> {
    services_of(cell, spec)
        .flat_map(|service| &service.builds)
        .chain(&cell.builds)
}

/// The runtimes that a cell needs, by name.
fn runtimes_of<'a>(cell: &'a Cell, spec: &'a Spec) -> impl Iterator<Item = &'a String> {
    let of_services =
        services_of(cell, spec).filter_map(|service| service.process.runtime.as_ref());
    let of_builds = builds_of(cell, spec).filter_map(|build| build.runtime.as_ref());
    let of_processes = cell
        .processes
        .iter()
        .filter_map(|process| process.runtime.as_ref());
    of_services.chain(of_builds).chain(of_processes)
}

/// What was made for a run; a failure waits until its trials' turn. As long as this lives, no other run makes any of it
/// anew.
#[derive(Debug, Default)]
pub(super) struct Workpieces {
    runtimes: HashMap<String, Result<runtime::Made, BuildError>>,
    builds: HashMap<Build, Result<Built, BuildError>>,
}

impl Workpieces {
    /// Why a cell cannot run, where something that it needs could not be made.
    pub(super) fn lacking<'a>(&'a self, cell: &Cell, spec: &Spec) -> Option<&'a BuildError> {
        let runtime = |name: &String| self.runtimes.get(name)?.as_ref().err();
        runtimes_of(cell, spec).find_map(runtime).or_else(|| {
            builds_of(cell, spec).find_map(|build| self.builds.get(build)?.as_ref().err())
        })
    }

    /// The programs of the runtimes.
    pub(super) fn runtimes(&self) -> BTreeMap<String, String> {
        let there = self.runtimes.iter();
        there
            .filter_map(|(name, made)| {
                let bin = &made.as_ref().ok()?.bin;
                Some((name.clone(), bin.display().to_string()))
            })
            .collect()
    }

    /// Where the folders are that a cell's builds were made in, by what the suite calls them.
    pub(super) fn folders(&self, cell: &Cell, spec: &Spec) -> BTreeMap<String, PathBuf> {
        builds_of(cell, spec)
            .filter_map(|build| {
                let built = self.builds.get(build)?.as_ref().ok()?;
                Some((build.cwd.clone(), built.folder.clone()))
            })
            .collect()
    }
}

/// Makes what the trials need that are left.
pub(super) async fn make_all(
    records: &RunFolder,
    job: &Job,
    spec: &Spec,
    plan: &[Planned],
    listen: &mut (dyn FnMut(&Event) + Send),
) -> Result<Workpieces, RunError> {
    let mut made = Workpieces::default();
    let cache = Cache::find();
    let ledgers = records.path().join("guards");
    make(&ledgers)?;
    let tools = tools(&records.run().versions);
    let left = remaining(records, spec, plan);
    for (_, cell) in &left {
        for name in runtimes_of(cell, spec) {
            let Some(wanted) = spec.runtimes.iter().find(|known| known.name == *name) else {
                continue;
            };
            if made.runtimes.contains_key(name) {
                continue;
            }
            let logs = records.path().join("logs").join(format!("runtime-{name}"));
            make(&logs)?;
            let hidden = secrets(cell, &spec.services);
            let workshop = workshop(job, &logs, &ledgers, &hidden);
            let tell = |step| listen(&told(wanted, step));
            let runtime = runtime::make(wanted, &cache, &workshop, tell).await;
            made.runtimes.insert(name.clone(), runtime);
        }
    }
    let bins = made.runtimes();
    for (_, cell) in &left {
        for wanted in builds_of(cell, spec) {
            if made.builds.contains_key(wanted) || made.lacking(cell, spec).is_some() {
                continue;
            }
            let logs = records
                .path()
                .join("logs")
                .join(format!("build-{}", made.builds.len() + 1));
            make(&logs)?;
            let mut others = left.iter().flat_map(|(_, cell)| builds_of(cell, spec));
            let is_alone = !others.any(|other| other.cwd == wanted.cwd && other != wanted);
            let commands = || {
                wanted
                    .commands
                    .iter()
                    .map(|words| spec::line(words))
                    .collect()
            };
            let runtime = wanted.runtime.as_ref().and_then(|name| bins.get(name));
            let runtime = runtime.map_or("", String::as_str);
            let hidden = secrets(cell, &spec.services);
            let workshop = workshop(job, &logs, &ledgers, &hidden);
            let tell = || {
                listen(&Event::BuildStarted {
                    commands: commands(),
                });
            };
            let built =
                build::make(wanted, &cache, &workshop, (runtime, &tools), is_alone, tell).await;
            if built.as_ref().is_ok_and(|built| built.kept) {
                listen(&Event::BuildKept {
                    commands: commands(),
                });
            }
            made.builds.insert(wanted.clone(), built);
        }
    }
    Ok(made)
}

fn workshop<'a>(
    job: &'a Job,
    logs: &'a Path,
    ledgers: &'a Path,
    secrets: &'a [String],
) -> Workshop<'a> {
    Workshop {
        folder: &job.folder,
        logs,
        ledgers,
        program: &job.program,
        secrets,
    }
}

fn told(runtime: &Runtime, step: runtime::Step) -> Event {
    match step {
        runtime::Step::Waits => Event::RuntimeAwaited {
            name: runtime.name.clone(),
        },
        runtime::Step::Makes => Event::BuildStarted {
            commands: runtime
                .build
                .iter()
                .map(|words| spec::line(words))
                .collect(),
        },
    }
}

/// What tools said of their versions: with another compiler a build is another.
fn tools(versions: &BTreeMap<String, String>) -> String {
    let told: Vec<String> = versions
        .iter()
        .filter(|(name, _)| !name.ends_with(')'))
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    told.join("\n")
}

/// Asks each server that was made for its version: what it says before that may be of another.
pub(super) async fn versions(
    records: &mut RunFolder,
    job: &Job,
    spec: &Spec,
    made: &Workpieces,
) -> Result<(), RunError> {
    let logs = records.path().join("logs");
    make(&logs)?;
    let mut told = BTreeMap::new();
    for (name, runtime) in &made.runtimes {
        if let Ok(runtime::Made {
            version: Some(version),
            ..
        }) = runtime
        {
            told.insert(format!("{name} (runtime)"), version.clone());
        }
    }
    for question in questions(spec, made) {
        let cwd = job.folder.join(&question.cwd);
        let version = probe(&question.words, &cwd, &logs, &job.program).await;
        told.insert(
            question.whose,
            version.unwrap_or_else(|reason| format!("unknown: {reason}")),
        );
    }
    if !told.is_empty() {
        records.update(|run| run.versions.extend(told))?;
    }
    Ok(())
}

pub(super) fn make(folder: &Path) -> Result<(), RunError> {
    std::fs::create_dir_all(folder).map_err(|source| {
        RunError::Store(StoreError::Io {
            doing: "make the folder",
            path: folder.to_owned(),
            source,
        })
    })
}

/// How something is asked for its version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Question {
    /// How the answer is called.
    whose: String,
    words: Vec<String>,
    cwd: PathBuf,
}

/// Each distinct question. Variants of a server that are asked differently are called by what tells them apart.
fn questions(spec: &Spec, made: &Workpieces) -> Vec<Question> {
    let runs = |cell: &&Cell| cell.skip.is_none() && made.lacking(cell, spec).is_none();
    let bins = made.runtimes();
    // A runtime's program is known only now that it is there.
    let fill = |words: &[String], runtime: Option<&String>| -> Vec<String> {
        let fill = Fill {
            runtime: runtime
                .and_then(|name| bins.get(name))
                .cloned()
                .unwrap_or_default(),
            env: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
            ..Fill::default()
        };
        words
            .iter()
            .map(|word| Text::from(word.as_str()).fill(&fill))
            .collect()
    };
    let mut of_servers: Vec<(Question, &Cell)> = Vec::new();
    let mut all: Vec<Question> = Vec::new();
    for cell in spec.cells.iter().filter(runs) {
        if let Some(words) = &cell.probe {
            // What others need is started first: behind a proxy, that is what is measured.
            let first = cell.processes.first();
            let cwd = first
                .and_then(|process| process.cwd.as_literal())
                .unwrap_or(".");
            let folders = made.folders(cell, spec);
            let question = Question {
                whose: cell.server.clone(),
                words: fill(words, first.and_then(|process| process.runtime.as_ref())),
                cwd: folders
                    .get(cwd)
                    .map_or_else(|| PathBuf::from(cwd), Clone::clone),
            };
            if !of_servers.iter().any(|(known, _)| *known == question) {
                of_servers.push((question, cell));
            }
        }
        for service in services_of(cell, spec) {
            let Some(words) = &service.probe else {
                continue;
            };
            let question = Question {
                whose: format!("{} (service)", service.process.role),
                words: fill(
                    &words.iter().map(ToString::to_string).collect::<Vec<_>>(),
                    service.process.runtime.as_ref(),
                ),
                cwd: PathBuf::from(service.process.cwd.as_literal().unwrap_or(".")),
            };
            if !all.contains(&question) {
                all.push(question);
            }
        }
    }
    for (question, cell) in &of_servers {
        let others = || {
            of_servers
                .iter()
                .filter(|(other, _)| other.whose == question.whose && other != question)
        };
        let tells_apart =
            |toggle: &&Choice| others().any(|(_, other)| !other.toggles.contains(toggle));
        let names = std::iter::once(question.whose.clone()).chain(
            cell.toggles
                .iter()
                .filter(tells_apart)
                .map(|choice| format!("{}={}", choice.toggle, choice.value)),
        );
        let names: Vec<String> = names.collect();
        all.push(Question {
            whose: format!("{} (server)", names.join("/")),
            ..question.clone()
        });
    }
    all
}
