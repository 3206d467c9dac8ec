//! The runner: makes what must be made, takes the trials in their order, and
//! keeps each on disk before the next begins.

use super::event::{Event, Live};
use super::trial::{self, Ended, Seen, Stage};
use crate::load::Cancel;
use crate::plan::estimate;
use crate::process::GuardProgram;
use crate::record::{End, Outcome, Step, Trial, metric};
use crate::server::requirement::probe;
use crate::server::{Place, build};
use crate::spec::{self, Build, Cell, Planned, Spec};
use crate::store::{RunFolder, StoreError};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What a run needs beside its plan, which is in the folder's record.
#[derive(Debug)]
pub struct Job {
    /// The suite's folder, absolute.
    pub folder: PathBuf,
    /// The program that guards processes.
    pub program: GuardProgram,
    /// What the program name `hotlap` means.
    pub hotlap: PathBuf,
    /// The limit on open files that the caller had.
    pub nofile: Option<u64>,
    /// Whether the first trial that fails ends the run.
    pub fail_fast: bool,
}

/// Why a run could not go on.
#[derive(Debug)]
pub enum RunError {
    /// What was measured could not be kept.
    Store(StoreError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Runs every planned trial that has no record yet. What happens is told to
/// `listen`; how it ended is in the folder's record too.
pub async fn run(
    records: &mut RunFolder,
    job: &Job,
    cancel: &Cancel,
    listen: &mut (dyn FnMut(&Event) + Send),
) -> Result<End, RunError> {
    let spec = records.run().spec.clone();
    let plan = records.run().plan.clone();
    announce(records, &spec, &plan, listen);
    let builds = tokio::select! {
        builds = build_all(records, job, &spec, &plan, listen) => Some(builds?),
        () = cancel.cancelled() => None,
    };
    let end = match builds {
        Some(builds) => {
            tokio::select! {
                told = versions(records, job, &spec, &builds) => told?,
                () = cancel.cancelled() => {}
            }
            trials(records, job, cancel, listen, &spec, &plan, &builds).await?
        }
        None => End::Interrupted,
    };
    records.finish(end)?;
    listen(&Event::RunFinished { end });
    Ok(end)
}

fn announce(
    records: &RunFolder,
    spec: &Spec,
    plan: &[Planned],
    listen: &mut (dyn FnMut(&Event) + Send),
) {
    let left = remaining(records, spec, plan);
    listen(&Event::RunStarted {
        run: records.run().id.clone(),
        title: spec.title.clone(),
        folder: records.path().to_owned(),
        trials: plan.len(),
        finished: plan.len() - left.len(),
        estimated: left.iter().map(|(_, cell)| estimate(cell, &spec.run)).sum(),
    });
    for cell in &spec.cells {
        if let Some(skip) = &cell.skip {
            listen(&Event::Skipped {
                cell: cell.id.names().to_owned(),
                reason: skip.reason.clone(),
                install: skip.install.clone(),
            });
        }
    }
}

/// The planned trials without a record, each with its cell.
fn remaining<'a>(
    records: &RunFolder,
    spec: &'a Spec,
    plan: &'a [Planned],
) -> Vec<(&'a Planned, &'a Cell)> {
    plan.iter()
        .filter(|planned| !records.finished().contains(&planned.trial))
        .filter_map(|planned| Some((planned, spec.cell(&planned.trial.cell)?)))
        .collect()
}

/// What became of each distinct build; a failure waits until its trials' turn.
type Builds = HashMap<Build, Result<(), build::BuildError>>;

async fn build_all(
    records: &RunFolder,
    job: &Job,
    spec: &Spec,
    plan: &[Planned],
    listen: &mut (dyn FnMut(&Event) + Send),
) -> Result<Builds, RunError> {
    let mut builds = Builds::new();
    for (_, cell) in remaining(records, spec, plan) {
        for wanted in &cell.builds {
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
async fn versions(
    records: &mut RunFolder,
    job: &Job,
    spec: &Spec,
    builds: &Builds,
) -> Result<(), RunError> {
    let logs = records.path().join("logs");
    make(&logs)?;
    let mut told = BTreeMap::new();
    for cell in spec.cells.iter().filter(|cell| cell.skip.is_none()) {
        let key = format!("{} (server)", cell.server);
        let (Some(words), Some(process)) = (&cell.probe, cell.front_process()) else {
            continue;
        };
        if told.contains_key(&key) || not_built(cell, builds).is_some() {
            continue;
        }
        let cwd = job.folder.join(process.cwd.as_literal().unwrap_or("."));
        let version = probe(words, &cwd, &logs, &job.program).await;
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

fn make(folder: &std::path::Path) -> Result<(), RunError> {
    std::fs::create_dir_all(folder).map_err(|source| {
        RunError::Store(StoreError::Io {
            doing: "make the folder",
            path: folder.to_owned(),
            source,
        })
    })
}

async fn trials(
    records: &mut RunFolder,
    job: &Job,
    cancel: &Cancel,
    listen: &mut (dyn FnMut(&Event) + Send),
    spec: &Spec,
    plan: &[Planned],
    builds: &Builds,
) -> Result<End, RunError> {
    let session = records.run().sessions.len().saturating_sub(1);
    let cpus = records.run().host.cpus;
    let ledgers = records.path().join("guards");
    make(&ledgers)?;
    let left = remaining(records, spec, plan);
    let already = plan.len() - left.len();
    for (index, (planned, cell)) in left.iter().enumerate() {
        if cancel.is_cancelled() {
            return Ok(End::Interrupted);
        }
        records.ensure_room()?;
        let live = Arc::new(Live::default());
        let number = already + index + 1;
        listen(&Event::TrialStarted {
            trial: planned.trial.clone(),
            number,
            trials: plan.len(),
            repetitions: cell.repetitions,
            live: Arc::clone(&live),
        });
        let stage = Stage {
            cell,
            settings: &spec.run,
            planned,
            session,
            place: Place {
                program: job.program.clone(),
                hotlap: job.hotlap.clone(),
                folder: job.folder.clone(),
                logs: records.log_folder(&planned.trial)?,
                ledgers: ledgers.clone(),
                cpus,
                nofile: job.nofile,
            },
            generator_threads: generator_threads(cpus, cell),
            live,
            cancel,
        };
        let ended = match not_built(cell, builds) {
            Some(failure) => unbuilt(&stage, failure),
            None => trial::run(stage).await,
        };
        let seen = match ended {
            Ended::Done(seen) => seen,
            Ended::Cancelled { left } => {
                if let Some(what) = left {
                    listen(&Event::LeftBehind { what });
                }
                return Ok(End::Interrupted);
            }
        };
        records.append_trial(&seen.trial, &seen.readings)?;
        let rest: Duration = left[index + 1..]
            .iter()
            .map(|(_, cell)| estimate(cell, &spec.run))
            .sum();
        listen(&finished(&seen.trial, number, plan.len(), rest));
        if seen.leaves_something {
            return Ok(End::Aborted);
        }
        let failed = matches!(seen.trial.outcome, Outcome::Failed { .. });
        if failed && job.fail_fast {
            return Ok(End::Aborted);
        }
        if index + 1 < left.len() {
            tokio::select! {
                () = tokio::time::sleep(spec.run.cooldown) => {}
                () = cancel.cancelled() => return Ok(End::Interrupted),
            }
        }
    }
    Ok(End::Complete)
}

/// Half of the processors make load, so that the server has the other half; at
/// most one thread a connection.
fn generator_threads(cpus: usize, cell: &Cell) -> usize {
    (cpus / 2).clamp(1, cell.work.connections.max(1) as usize)
}

fn not_built<'a>(cell: &Cell, builds: &'a Builds) -> Option<&'a build::BuildError> {
    cell.builds
        .iter()
        .find_map(|wanted| builds.get(wanted)?.as_ref().err())
}

/// The record of a trial whose server could not be made.
fn unbuilt(stage: &Stage<'_>, failure: &build::BuildError) -> Ended {
    let mut trial = stage.blank();
    trial.started = rfc3339(jiff::Timestamp::now());
    trial.outcome = Outcome::Failed {
        step: Step::Build,
        reason: failure.reason.clone(),
        log_tail: failure.log_tail.clone(),
    };
    Ended::Done(Box::new(Seen {
        trial,
        readings: Vec::new(),
        leaves_something: false,
    }))
}

fn finished(trial: &Trial, number: usize, trials: usize, left: Duration) -> Event {
    let figure = |name: &str| metric(name)?.of(trial);
    Event::TrialFinished {
        trial: trial.trial.clone(),
        number,
        trials,
        outcome: trial.outcome.clone(),
        requests_per_second: figure("requests_per_second"),
        latency_p50_ns: figure("latency_p50"),
        latency_p99_ns: figure("latency_p99"),
        counts: trial.load.as_ref().map(|load| load.counts),
        rss_peak_bytes: figure("rss_peak"),
        warnings: notes(trial),
        took_ns: trial.took_ns,
        left,
    }
}

/// What whoever watches must know of a trial.
fn notes(trial: &Trial) -> Vec<String> {
    let mut notes = trial.warnings.clone();
    let killed = trial.stops.iter().filter(|(_, stop)| !stop.polite);
    notes.extend(killed.map(|(role, stop)| {
        let many = stop.killed;
        format!("{role} did not end when it was asked to; processes that had to be killed: {many}")
    }));
    notes
}

/// A time to the second, in UTC: `2026-11-30T19:05:00Z`.
pub(super) fn rfc3339(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
