//! What is made and asked before the first trial: each distinct build, and the
//! version of each server and service.

use super::event::Event;
use super::runner::{Job, RunError, remaining};
use crate::server::build;
use crate::server::requirement::probe;
use crate::spec::{self, Build, Cell, Choice, Planned, Service, Spec};
use crate::store::{RunFolder, StoreError};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

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

/// What became of each distinct build; a failure waits until its trials' turn.
pub(super) type Builds = HashMap<Build, Result<(), build::BuildError>>;

pub(super) async fn build_all(
    records: &RunFolder,
    job: &Job,
    spec: &Spec,
    plan: &[Planned],
    listen: &mut (dyn FnMut(&Event) + Send),
) -> Result<Builds, RunError> {
    let mut builds = Builds::new();
    for (_, cell) in remaining(records, spec, plan) {
        for wanted in builds_of(cell, spec) {
            if builds.contains_key(wanted) {
                continue;
            }
            listen(&Event::BuildStarted {
                commands: wanted
                    .commands
                    .iter()
                    .map(|words| spec::line(words))
                    .collect(),
            });
            let logs = records
                .path()
                .join("logs")
                .join(format!("build-{}", builds.len() + 1));
            let ledgers = records.path().join("guards");
            for folder in [&logs, &ledgers] {
                make(folder)?;
            }
            let made = build::build(wanted, &job.folder, &logs, &ledgers, &job.program).await;
            builds.insert(wanted.clone(), made);
        }
    }
    Ok(builds)
}

/// Asks each server that was made for its version: what it says before that may be of another.
pub(super) async fn versions(
    records: &mut RunFolder,
    job: &Job,
    spec: &Spec,
    builds: &Builds,
) -> Result<(), RunError> {
    let logs = records.path().join("logs");
    make(&logs)?;
    let mut told = BTreeMap::new();
    for question in questions(spec, builds) {
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

pub(super) fn not_built<'a>(
    cell: &Cell,
    spec: &Spec,
    builds: &'a Builds,
) -> Option<&'a build::BuildError> {
    builds_of(cell, spec).find_map(|wanted| builds.get(wanted)?.as_ref().err())
}

/// How something is asked for its version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Question {
    /// How the answer is called.
    whose: String,
    words: Vec<String>,
    cwd: String,
}

/// Each distinct question. Variants of a server that are asked differently are called by what tells them apart.
fn questions(spec: &Spec, builds: &Builds) -> Vec<Question> {
    let runs = |cell: &&Cell| cell.skip.is_none() && not_built(cell, spec, builds).is_none();
    let mut of_servers: Vec<(Question, &Cell)> = Vec::new();
    let mut all: Vec<Question> = Vec::new();
    for cell in spec.cells.iter().filter(runs) {
        if let Some(words) = &cell.probe {
            // What others need is started first: behind a proxy, that is what is measured.
            let cwd = cell
                .processes
                .first()
                .and_then(|process| process.cwd.as_literal());
            let question = Question {
                whose: cell.server.clone(),
                words: words.clone(),
                cwd: cwd.unwrap_or(".").to_owned(),
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
                words: words.iter().map(ToString::to_string).collect(),
                cwd: service.process.cwd.as_literal().unwrap_or(".").to_owned(),
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
