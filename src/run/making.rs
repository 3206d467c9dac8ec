//! What is made and asked before the first trial: each distinct build, and the
//! version of each server and service.

use super::event::Event;
use super::runner::{Job, RunError, remaining};
use crate::server::build;
use crate::server::requirement::probe;
use crate::spec::{self, Build, Cell, Planned, Service, Spec};
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
    let mut asked: Vec<(String, Vec<String>, PathBuf)> = Vec::new();
    let mut ask = |key: String, words: &[String], cwd: Option<&str>| {
        if !asked.iter().any(|(known, ..)| *known == key) {
            asked.push((key, words.to_vec(), job.folder.join(cwd.unwrap_or("."))));
        }
    };
    for cell in spec.cells.iter().filter(|cell| cell.skip.is_none()) {
        if not_built(cell, spec, builds).is_some() {
            continue;
        }
        if let Some(words) = &cell.probe {
            let cwd = cell
                .front_process()
                .and_then(|process| process.cwd.as_literal());
            ask(format!("{} (server)", cell.server), words, cwd);
        }
        for service in services_of(cell, spec) {
            if let Some(words) = &service.probe {
                let words: Vec<String> = words.iter().map(ToString::to_string).collect();
                let process = &service.process;
                ask(
                    format!("{} (service)", process.role),
                    &words,
                    process.cwd.as_literal(),
                );
            }
        }
    }
    let mut told = BTreeMap::new();
    for (key, words, cwd) in asked {
        let version = probe(&words, &cwd, &logs, &job.program).await;
        told.insert(
            key,
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
