//! The runner: makes what must be made, takes the trials in their order, and
//! keeps each on disk before the next begins.

use super::ceiling::{ceilings, generator_threads};
use super::checkout::Checkouts;
use super::event::{Event, Live};
use super::loading::Running;
use super::making::{Workpieces, make, make_all, versions};
use super::pilot::{self, Search};
use super::rounds::Rounds;
use super::search;
use super::tools::{Tools, tools};
use super::trial::{self, Ended, Seen, Stage};
use crate::load::Cancel;
use crate::plan::{estimate, estimate_pilot};
use crate::process::{GuardProgram, hide};
use crate::record::{End, Outcome, Step, Trial, metric};
use crate::server::build::BuildError;
use crate::server::{Place, ServerError, Services, secrets};
use crate::spec::{Cell, Planned, RunSettings, Spec};
use crate::store::{RunFolder, StoreError};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    let mut checkouts = Checkouts::default();
    let ended = measure(records, job, cancel, &mut checkouts, listen, &spec, &plan).await;
    // However it ended, nothing of them may stay.
    for what in checkouts.remove().await {
        listen(&Event::LeftBehind { what });
    }
    let end = ended?;
    records.finish(end)?;
    listen(&Event::RunFinished { end });
    Ok(end)
}

/// Makes what the trials need, and takes them.
async fn measure(
    records: &mut RunFolder,
    job: &Job,
    cancel: &Cancel,
    checkouts: &mut Checkouts,
    listen: &mut (dyn FnMut(&Event) + Send),
    spec: &Spec,
    plan: &[Planned],
) -> Result<End, RunError> {
    let began = Instant::now();
    tokio::select! {
        checked_out = checkouts.make(records, job, spec, plan, listen) => checked_out?,
        () = cancel.cancelled() => return Ok(End::Interrupted),
    }
    let made = tokio::select! {
        made = make_all(records, job, spec, plan, checkouts, listen) => made?,
        () = cancel.cancelled() => return Ok(End::Interrupted),
    };
    let asked = async {
        versions(records, job, spec, &made).await?;
        tools(records, job, spec, plan).await
    };
    let tools = tokio::select! {
        asked = asked => asked?,
        () = cancel.cancelled() => Tools::default(),
    };
    if let Some(end) = ceilings(records, job, cancel, spec, plan, listen).await? {
        return Ok(end);
    }
    let means = Means {
        job,
        cancel,
        began,
        made: &made,
        tools: &tools,
    };
    trials(records, &means, listen, spec).await
}

fn announce(
    records: &RunFolder,
    spec: &Spec,
    plan: &[Planned],
    listen: &mut (dyn FnMut(&Event) + Send),
) {
    let left = remaining(records, spec, plan);
    let pilots = pilot::wanting(records, spec, plan).len();
    let of_pilots = estimate_pilot(&spec.run).0 * u32::try_from(pilots).unwrap_or(u32::MAX);
    let of_trials: Duration = left.iter().map(|(_, cell)| estimate(cell, &spec.run)).sum();
    listen(&Event::RunStarted {
        run: records.run().id.clone(),
        title: spec.title.clone(),
        folder: records.path().to_owned(),
        trials: plan.len(),
        finished: plan.len() - left.len(),
        pilots,
        estimated: of_pilots + of_trials,
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
pub(super) fn remaining<'a>(
    records: &RunFolder,
    spec: &'a Spec,
    plan: &'a [Planned],
) -> Vec<(&'a Planned, &'a Cell)> {
    plan.iter()
        .filter(|planned| !records.finished().contains(&planned.trial))
        .filter_map(|planned| Some((planned, spec.cell(&planned.trial.cell)?)))
        .collect()
}

/// What every trial of a run finds ready.
pub(super) struct Means<'a> {
    pub(super) job: &'a Job,
    pub(super) cancel: &'a Cancel,
    pub(super) began: Instant,
    pub(super) made: &'a Workpieces,
    pub(super) tools: &'a Tools,
}

async fn trials(
    records: &mut RunFolder,
    means: &Means<'_>,
    listen: &mut (dyn FnMut(&Event) + Send),
    spec: &Spec,
) -> Result<End, RunError> {
    let mut services = Services::new(&spec.services);
    let end = Box::pin(measured(records, means, &mut services, listen, spec)).await;
    // Whatever has happened, nothing may be left of them.
    match services.stop().await {
        Ok(killed) => {
            for what in killed {
                listen(&Event::Killed { what });
            }
            end
        }
        Err(error) => {
            listen(&Event::LeftBehind {
                what: error.to_string(),
            });
            end.map(|_| End::Aborted)
        }
    }
}

/// The pilots, where a warm-up is to be found, and then the trials.
async fn measured(
    records: &mut RunFolder,
    means: &Means<'_>,
    services: &mut Services,
    listen: &mut (dyn FnMut(&Event) + Send),
    spec: &Spec,
) -> Result<End, RunError> {
    let plan = records.run().plan.clone();
    make(&records.path().join("guards"))?;
    let mut session = Session {
        records,
        means,
        spec,
        plan: &plan,
    };
    if let Some(end) = session.pilots(services, listen).await? {
        return Ok(end);
    }
    // The record has the warm-up that was found.
    let spec = session.records.run().spec.clone();
    let mut session = Session {
        records: session.records,
        means,
        spec: &spec,
        plan: &plan,
    };
    session.trials(services, listen).await
}

/// The trials that are left, taken one after the other.
pub(super) struct Session<'a> {
    pub(super) records: &'a mut RunFolder,
    pub(super) means: &'a Means<'a>,
    pub(super) spec: &'a Spec,
    pub(super) plan: &'a [Planned],
}

/// One lifecycle of a cell: a trial, or its pilot.
pub(super) struct Turn<'t> {
    pub(super) planned: &'t Planned,
    pub(super) cell: &'t Cell,
    pub(super) settings: &'t RunSettings,
    /// What a pilot looks for; none in a trial.
    pub(super) pilot: Option<&'t Search>,
    pub(super) live: Arc<Live>,
}

impl Session<'_> {
    async fn trials(
        &mut self,
        services: &mut Services,
        listen: &mut (dyn FnMut(&Event) + Send),
    ) -> Result<End, RunError> {
        let spec = self.spec;
        let mut rounds = Rounds::new(self.records, self.means.began)?;
        let mut next = rounds.next(self.records, listen)?;
        while let Some(planned) = next {
            let Some(cell) = spec.cell(&planned.trial.cell) else {
                return Ok(End::Complete);
            };
            if self.means.cancel.is_cancelled() {
                return Ok(End::Interrupted);
            }
            self.records.ensure_room()?;
            let live = Arc::new(Live::default());
            let number = self.records.finished().len() + 1;
            let trials = self.records.run().plan.len();
            listen(&Event::TrialStarted {
                trial: planned.trial.clone(),
                number,
                trials,
                repetitions: cell.repetitions,
                live: Arc::clone(&live),
            });
            // A trial is much to keep on the way.
            let turn = Turn {
                planned: &planned,
                cell,
                settings: &spec.run,
                pilot: None,
                live,
            };
            let ended = Box::pin(self.turn(turn, services)).await?;
            let seen = match ended {
                Ended::Done(seen) => seen,
                Ended::Cancelled { left } => {
                    if let Some(what) = left {
                        listen(&Event::LeftBehind { what });
                    }
                    return Ok(End::Interrupted);
                }
            };
            let seen = self.hidden(seen, cell);
            self.records.append_trial(&seen.trial, &seen.readings)?;
            let plan = &self.records.run().plan;
            let left = remaining(self.records, spec, plan);
            let rest = left.iter().map(|(_, cell)| estimate(cell, &spec.run)).sum();
            listen(&finished(&seen.trial, number, trials, rest));
            if seen.leaves_something {
                return Ok(End::Aborted);
            }
            let failed = matches!(seen.trial.outcome, Outcome::Failed { .. });
            if failed && self.means.job.fail_fast {
                return Ok(End::Aborted);
            }
            next = rounds.next(self.records, listen)?;
            if next.is_some() {
                tokio::select! {
                    () = tokio::time::sleep(spec.run.cooldown) => {}
                    () = self.means.cancel.cancelled() => return Ok(End::Interrupted),
                }
            }
        }
        Ok(End::Complete)
    }

    /// What was seen, without what nothing may keep.
    pub(super) fn hidden(&self, seen: Box<Seen>, cell: &Cell) -> Box<Seen> {
        hidden(seen, &secrets(cell, &self.spec.services))
    }

    /// One trial or pilot, with the services that it leans on.
    pub(super) async fn turn(
        &self,
        turn: Turn<'_>,
        services: &mut Services,
    ) -> Result<Ended, RunError> {
        let Turn {
            planned,
            cell,
            settings,
            pilot,
            live,
        } = turn;
        let cpus = self.records.run().host.cpus;
        let (made, folder) = (self.means.made, &self.means.job.folder);
        let place = Place {
            program: self.means.job.program.clone(),
            hotlap: self.means.job.hotlap.clone(),
            ground: made.ground(cell, self.spec, folder),
            of_services: made.ground_of_services(cell, self.spec, folder),
            logs: self.records.log_folder(&planned.trial)?,
            ledgers: self.records.path().join("guards"),
            cpus,
            nofile: self.means.job.nofile,
            secrets: secrets(cell, &self.spec.services),
            runtimes: self.means.made.runtimes(),
        };
        let unmade = self.means.made.lacking(cell, self.spec);
        let ready = if unmade.is_some() {
            Ok(Vec::new())
        } else {
            tokio::select! {
                ready = services.ensure(cell, &place) => ready,
                () = self.means.cancel.cancelled() => return Ok(Ended::Cancelled { left: None }),
            }
        };
        let tool = self.means.tools.of(cell);
        let stage = Stage {
            cell,
            settings,
            planned,
            session: self.records.run().sessions.len().saturating_sub(1),
            folder,
            place,
            services,
            generator_threads: generator_threads(cpus, cell),
            tool: tool.as_ref().ok().cloned().flatten(),
            running: Running::default(),
            pilot,
            earlier: search::found_before(cell, self.records)?,
            live,
            cancel: self.means.cancel,
        };
        if let Some(failure) = unmade {
            return Ok(unbuilt(&stage, failure));
        }
        if let Err(missing) = tool {
            return Ok(unequipped(stage.blank(), missing));
        }
        Ok(match ready {
            Ok(notes) => Box::pin(trial::run(stage, notes)).await,
            Err(error) => unserved(&stage, &error),
        })
    }
}

/// The record of a trial whose server could not be made.
fn unbuilt(stage: &Stage<'_>, failure: &BuildError) -> Ended {
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
        windows: Vec::new(),
        leaves_something: false,
    }))
}

/// The record of a trial whose load generator is not there.
pub(super) fn unequipped(mut trial: Trial, missing: String) -> Ended {
    trial.started = rfc3339(jiff::Timestamp::now());
    trial.outcome = Outcome::Failed {
        step: Step::Load,
        reason: missing,
        log_tail: Vec::new(),
    };
    Ended::Done(Box::new(Seen {
        trial,
        readings: Vec::new(),
        windows: Vec::new(),
        leaves_something: false,
    }))
}

/// What was seen, without what nothing may keep.
fn hidden(mut seen: Box<Seen>, secrets: &[String]) -> Box<Seen> {
    let mask = |text: &mut String| {
        if !secrets.is_empty() {
            *text = hide(text, secrets);
        }
    };
    match &mut seen.trial.outcome {
        Outcome::Valid => {}
        Outcome::Invalid { reasons } => reasons.iter_mut().for_each(mask),
        Outcome::Failed {
            reason, log_tail, ..
        } => {
            mask(reason);
            log_tail.iter_mut().for_each(mask);
        }
    }
    seen.trial.warnings.iter_mut().for_each(mask);
    seen
}

/// The record of a trial that lacks a service.
fn unserved(stage: &Stage<'_>, error: &ServerError) -> Ended {
    let mut trial = stage.blank();
    trial.started = rfc3339(jiff::Timestamp::now());
    trial.outcome = Outcome::Failed {
        step: error.step(),
        reason: error.to_string(),
        log_tail: error.log_tail(),
    };
    Ended::Done(Box::new(Seen {
        trial,
        readings: Vec::new(),
        windows: Vec::new(),
        leaves_something: error.leaves_something(),
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
