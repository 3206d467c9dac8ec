//! What is made and asked before the first trial: runtimes, each distinct build,
//! and the version of each server and service.

use super::checkout::Checkouts;
use super::event::Event;
use super::runner::{Job, RunError, remaining};
use crate::process::hide;
use crate::server::build::{self, BuildError, Built, Circumstances, Workshop};
use crate::server::cache::Cache;
use crate::server::requirement::probe;
use crate::server::{Ground, caller, runtime, secrets};
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
    /// What stands in the place of the suite's folder for each commit.
    revisions: BTreeMap<String, Result<PathBuf, BuildError>>,
}

impl Workpieces {
    /// Why a cell cannot run, where something that it needs could not be made.
    pub(super) fn lacking<'a>(&'a self, cell: &Cell, spec: &Spec) -> Option<&'a BuildError> {
        if let Some(Err(unmade)) = self.revision_of(cell) {
            return Some(unmade);
        }
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

    /// The checkout of a cell's revision; none where it has none.
    fn revision_of(&self, cell: &Cell) -> Option<&Result<PathBuf, BuildError>> {
        cell.revision.as_ref()?;
        self.revisions.get(cell.commit.as_ref()?)
    }

    /// Where the folders are that the processes of a cell's server run in; `folder` is the suite's.
    pub(super) fn ground(&self, cell: &Cell, spec: &Spec, folder: &Path) -> Ground {
        match self.revision_of(cell) {
            Some(Ok(checkout)) => Ground {
                folder: checkout.clone(),
                built: self.folders(cell.builds.iter()),
            },
            _ => Ground {
                folder: folder.to_owned(),
                built: self.folders(builds_of(cell, spec)),
            },
        }
    }

    /// The same of its services.
    pub(super) fn ground_of_services(&self, cell: &Cell, spec: &Spec, folder: &Path) -> Ground {
        if cell.revision.is_none() {
            return self.ground(cell, spec, folder);
        }
        let builds = services_of(cell, spec).flat_map(|service| &service.builds);
        Ground {
            folder: folder.to_owned(),
            built: self.folders(builds),
        }
    }

    /// Where builds were made, by what the suite calls their folders.
    fn folders<'a>(&self, builds: impl Iterator<Item = &'a Build>) -> BTreeMap<String, PathBuf> {
        builds
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
    checkouts: &Checkouts,
    listen: &mut (dyn FnMut(&Event) + Send),
) -> Result<Workpieces, RunError> {
    let ledgers = records.path().join("guards");
    make(&ledgers)?;
    let left = remaining(records, spec, plan);
    let mut making = Making {
        job,
        spec,
        cache: Cache::find(),
        tools: tools(&records.run().versions),
        logs: records.path().join("logs"),
        ledgers,
        cells: left.into_iter().map(|(_, cell)| cell).collect(),
        checkouts,
        made: Workpieces {
            revisions: checkouts.folders(),
            ..Workpieces::default()
        },
    };
    making.runtimes(listen).await?;
    making.builds(listen).await?;
    Ok(making.made)
}

struct Making<'a> {
    job: &'a Job,
    spec: &'a Spec,
    cache: Cache,
    tools: String,
    logs: PathBuf,
    ledgers: PathBuf,
    cells: Vec<&'a Cell>,
    checkouts: &'a Checkouts,
    made: Workpieces,
}

impl Making<'_> {
    async fn runtimes(&mut self, listen: &mut (dyn FnMut(&Event) + Send)) -> Result<(), RunError> {
        for cell in &self.cells {
            for name in runtimes_of(cell, self.spec) {
                let known = self.spec.runtimes.iter().find(|known| known.name == *name);
                let Some(wanted) = known.filter(|_| !self.made.runtimes.contains_key(name)) else {
                    continue;
                };
                let logs = self.logs.join(format!("runtime-{name}"));
                make(&logs)?;
                let hidden = secrets(cell, &self.spec.services);
                let workshop = workshop(self.job, &self.job.folder, &logs, &self.ledgers, &hidden);
                let tell = |step| listen(&told(wanted, step));
                let runtime = runtime::make(wanted, &self.cache, &workshop, tell).await;
                self.made.runtimes.insert(name.clone(), runtime);
            }
        }
        Ok(())
    }

    async fn builds(&mut self, listen: &mut (dyn FnMut(&Event) + Send)) -> Result<(), RunError> {
        let bins = self.made.runtimes();
        for cell in &self.cells {
            for wanted in builds_of(cell, self.spec) {
                if self.made.builds.contains_key(wanted)
                    || self.made.lacking(cell, self.spec).is_some()
                {
                    continue;
                }
                let number = self.made.builds.len() + 1;
                let logs = self.logs.join(format!("build-{number}"));
                make(&logs)?;
                let all = self.spec.cells.iter().filter(|cell| cell.skip.is_none());
                let mut others = all.flat_map(|cell| builds_of(cell, self.spec));
                let runtime = wanted.runtime.as_ref().and_then(|name| bins.get(name));
                let circumstances = Circumstances {
                    runtime: runtime.map_or("", String::as_str),
                    tools: &self.tools,
                    is_alone: !others.any(|other| {
                        other.cwd == wanted.cwd
                            && other.revision == wanted.revision
                            && other != wanted
                    }),
                };
                // What is built of a revision lies in its checkout, and goes with it.
                let checkout = self.checkouts.of(wanted);
                let folder = checkout.map_or(&self.job.folder, |checkout| &checkout.folder);
                let cache = checkout.map_or(&self.cache, |checkout| &checkout.cache);
                let lines = wanted.commands.iter().map(|words| spec::line(words));
                let commands: Vec<String> = lines.collect();
                let hidden = secrets(cell, &self.spec.services);
                let workshop = workshop(self.job, folder, &logs, &self.ledgers, &hidden);
                let tell = || {
                    listen(&Event::BuildStarted {
                        commands: commands.clone(),
                    });
                };
                let built = build::make(wanted, cache, &workshop, &circumstances, tell).await;
                if built.as_ref().is_ok_and(|built| built.kept) {
                    listen(&Event::BuildKept { commands });
                }
                self.made.builds.insert(wanted.clone(), built);
            }
        }
        Ok(())
    }
}

fn workshop<'a>(
    job: &'a Job,
    folder: &'a Path,
    logs: &'a Path,
    ledgers: &'a Path,
    secrets: &'a [String],
) -> Workshop<'a> {
    Workshop {
        folder,
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
    let hidden: Vec<String> = spec
        .cells
        .iter()
        .flat_map(|cell| secrets(cell, &spec.services))
        .collect();
    for question in questions(spec, made, &job.folder) {
        let cwd = job.folder.join(&question.cwd);
        let version = probe(&question.words, &cwd, &logs, &job.program).await;
        let version = version.unwrap_or_else(|reason| format!("unknown: {reason}"));
        told.insert(question.whose, hide(&version, &hidden));
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

/// Each distinct question, to those that can run.
fn questions(spec: &Spec, made: &Workpieces, folder: &Path) -> Vec<Question> {
    let runs = |cell: &&Cell| cell.skip.is_none() && made.lacking(cell, spec).is_none();
    let cells: Vec<&Cell> = spec.cells.iter().filter(runs).collect();
    let mut all = to_services(spec, &cells, made);
    all.extend(to_servers(spec, &cells, made, folder));
    all
}

fn to_services(spec: &Spec, cells: &[&Cell], made: &Workpieces) -> Vec<Question> {
    let mut all = Vec::new();
    for service in cells.iter().flat_map(|cell| services_of(cell, spec)) {
        let Some(words) = &service.probe else {
            continue;
        };
        let question = Question {
            whose: format!("{} (service)", service.process.role),
            words: filled(words, service.process.runtime.as_ref(), made),
            cwd: PathBuf::from(service.process.cwd.as_literal().unwrap_or(".")),
        };
        if !all.contains(&question) {
            all.push(question);
        }
    }
    all
}

/// Variants of a server that are asked differently are called by what tells them apart.
fn to_servers(spec: &Spec, cells: &[&Cell], made: &Workpieces, folder: &Path) -> Vec<Question> {
    let mut asked: Vec<(Question, &Cell)> = Vec::new();
    for cell in cells {
        let Some(words) = &cell.probe else {
            continue;
        };
        // What others need is started first: behind a proxy, that is what is measured.
        let first = cell.processes.first();
        let cwd = first.and_then(|process| process.cwd.as_literal());
        let cwd = cwd.unwrap_or(".");
        let words: Vec<Text> = words.iter().map(|word| Text::from(word.as_str())).collect();
        let question = Question {
            whose: cell.server.clone(),
            words: filled(
                &words,
                first.and_then(|process| process.runtime.as_ref()),
                made,
            ),
            cwd: made.ground(cell, spec, folder).folder_of(cwd),
        };
        if !asked.iter().any(|(known, _)| *known == question) {
            asked.push((question, cell));
        }
    }
    let named = |(question, cell): &(Question, &Cell)| {
        let tells_apart = |toggle: &&Choice| {
            asked.iter().any(|(other, of)| {
                other.whose == question.whose && other != question && !of.toggles.contains(toggle)
            })
        };
        let toggles = cell.toggles.iter().filter(tells_apart);
        let names: Vec<String> = std::iter::once(question.whose.clone())
            .chain(toggles.map(|choice| format!("{}={}", choice.toggle, choice.value)))
            .collect();
        Question {
            whose: format!("{} (server)", names.join("/")),
            ..question.clone()
        }
    };
    asked.iter().map(named).collect()
}

/// The words of a probe; the program of a runtime is known only now that it is there.
fn filled(words: &[Text], runtime: Option<&String>, made: &Workpieces) -> Vec<String> {
    let fill = Fill {
        runtime: runtime
            .and_then(|name| made.runtimes().remove(name))
            .unwrap_or_default(),
        env: caller(),
        ..Fill::default()
    };
    words.iter().map(|word| word.fill(&fill)).collect()
}
