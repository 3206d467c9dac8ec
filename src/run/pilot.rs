//! Pilots: before the first trial, each cell whose suite writes no warm-up is loaded once to see when it settles. Servers
//! are started, verified and stopped as in a trial; nothing of a pilot is in any figure. The longest warm-up that
//! one finds is that of all these cells, so that every trial is warmed alike.

use super::event::{Event, Live};
use super::runner::{RunError, Session, Turn, remaining, unequipped};
use super::trial::{Ended, Seen};
use crate::ids::TrialId;
use crate::load::{LoadPhase, Progress};
use crate::plan::{estimate, estimate_pilot};
use crate::record::{End, Outcome, Pilot, Step, Trial};
use crate::server::Services;
use crate::spec::{Amount, Cell, Pace, Planned, RunSettings, Spec};
use crate::stats::settled;
use crate::store::RunFolder;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, interval, sleep_until};

/// How often a load is asked whether its connections are open.
const LOOK: Duration = Duration::from_millis(5);
/// A pilot is no trial: those are counted from 1.
const NO_REPETITION: u32 = 0;

/// How a pilot looks for the moment from which a server is steady.
#[derive(Debug)]
pub(super) struct Search {
    /// The length of a window.
    window: Duration,
    /// The most windows.
    most: u32,
}

impl Search {
    fn of(run: &RunSettings) -> Self {
        Self {
            window: run.warmup_window(),
            most: run.warmup_windows(),
        }
    }

    /// Counts successes window after window, and ends when two neighbours are alike or the last has passed.
    pub(super) async fn windows(&self, progress: &Progress, per_second: &mut Vec<f64>) {
        let mut look = interval(LOOK);
        while progress.phase() != Some(LoadPhase::Measure) {
            look.tick().await;
        }
        let began = Instant::now();
        let (mut since, mut before) = (began, progress.succeeded());
        for number in 1..=self.most {
            sleep_until(began + self.window * number).await;
            // A busy machine wakes us late, and then the window is longer.
            let (now, count) = (Instant::now(), progress.succeeded());
            per_second.push((count - before) as f64 / (now - since).as_secs_f64());
            (since, before) = (now, count);
            if settled(per_second).is_some() {
                return;
            }
        }
    }
}

/// The cells that need a pilot and have none yet, in file order; nothing where the length has been found.
pub(super) fn wanting<'a>(records: &RunFolder, spec: &'a Spec, plan: &[Planned]) -> Vec<&'a Cell> {
    let run = records.run();
    if run.warmup.is_some() {
        return Vec::new();
    }
    let piloted = |cell: &Cell| run.pilots.iter().any(|pilot| pilot.cell == cell.id);
    let planned = |cell: &Cell| plan.iter().any(|planned| planned.trial.cell == cell.id);
    let cells = spec.cells.iter();
    cells
        .filter(|cell| cell.work.find_warmup && planned(cell) && !piloted(cell))
        .collect()
}

/// The warm-up of all cells that were to find it: the longest that was found, and the least there is where no pilot
/// found any.
fn longest(pilots: &[Pilot], run: &RunSettings) -> Duration {
    let found = pilots.iter().filter_map(|pilot| pilot.warmup);
    found.max().unwrap_or_else(|| run.warmup_window())
}

impl Session<'_> {
    /// Runs the pilots that are still to be run and notes what they found. Gives how the run ended, where it did.
    pub(super) async fn pilots(
        &mut self,
        services: &mut Services,
        listen: &mut (dyn FnMut(&Event) + Send),
    ) -> Result<Option<End>, RunError> {
        let spec = self.spec;
        let cells = wanting(self.records, spec, self.plan);
        let already = self.records.run().pilots.len();
        let pilots = already + cells.len();
        if pilots == 0 || self.records.run().warmup.is_some() {
            return Ok(None);
        }
        for (index, cell) in cells.iter().enumerate() {
            if self.means.cancel.is_cancelled() {
                return Ok(Some(End::Interrupted));
            }
            self.records.ensure_room()?;
            let live = Arc::new(Live::default());
            let number = already + index + 1;
            listen(&Event::PilotStarted {
                cell: cell.id.names().to_owned(),
                number,
                pilots,
                live: Arc::clone(&live),
            });
            let seen = match self.pilot(cell, services, live).await? {
                Ended::Done(seen) => self.hidden(seen, cell),
                Ended::Cancelled { left } => {
                    listen_left(left, listen);
                    return Ok(Some(End::Interrupted));
                }
            };
            let leaves_something = seen.leaves_something;
            let pilot = found(cell, seen, &spec.run);
            self.records.update(|run| run.pilots.push(pilot.clone()))?;
            let to_come = u32::try_from(pilots - number).unwrap_or(u32::MAX);
            let left = self.time_of_trials(spec) + estimate_pilot(&spec.run).0 * to_come;
            let what = left_behind(&pilot, leaves_something);
            listen(&Event::PilotFinished {
                number,
                pilots,
                pilot,
                left,
            });
            if leaves_something {
                listen_left(what, listen);
                return Ok(Some(End::Aborted));
            }
            tokio::select! {
                () = tokio::time::sleep(spec.run.cooldown) => {}
                () = self.means.cancel.cancelled() => return Ok(Some(End::Interrupted)),
            }
        }
        self.note_warm_up(listen)?;
        Ok(None)
    }

    /// One pilot: the cell with nothing but a load by the built-in generator, until it has settled.
    async fn pilot(
        &self,
        cell: &Cell,
        services: &mut Services,
        live: Arc<Live>,
    ) -> Result<Ended, RunError> {
        let run = &self.spec.run;
        let planned = Planned {
            trial: TrialId {
                cell: cell.id.clone(),
                repetition: NO_REPETITION,
            },
            round: NO_REPETITION,
        };
        // Its trials will fail for this, so nothing is to be found.
        if let Err(missing) = self.means.tools.of(cell) {
            let blank = Trial::new(planned.trial, NO_REPETITION, 0);
            return Ok(unequipped(blank, missing));
        }
        let turn = Turn {
            planned: &planned,
            cell: &loaded_from_cold(cell, run),
            settings: &RunSettings {
                rest: Duration::ZERO,
                ..run.clone()
            },
            pilot: Some(&Search::of(run)),
            live,
        };
        Box::pin(self.turn(turn, services)).await
    }

    /// Writes down how long every cell is warmed up that was to find it.
    fn note_warm_up(&mut self, listen: &mut (dyn FnMut(&Event) + Send)) -> Result<(), RunError> {
        self.records.update(|run| {
            let warmup = longest(&run.pilots, &run.spec.run);
            run.warmup = Some(warmup);
            let cells = run.spec.cells.iter_mut();
            for cell in cells.filter(|cell| cell.work.find_warmup) {
                cell.work.warmup = warmup;
            }
        })?;
        let run = self.records.run();
        listen(&Event::WarmUpFound {
            warmup: longest(&run.pilots, &run.spec.run),
            left: self.time_of_trials(&run.spec),
        });
        Ok(())
    }

    /// About how long the trials take that are left.
    fn time_of_trials(&self, spec: &Spec) -> Duration {
        let left = remaining(self.records, spec, self.plan);
        left.iter().map(|(_, cell)| estimate(cell, &spec.run)).sum()
    }
}

fn listen_left(left: Option<String>, listen: &mut (dyn FnMut(&Event) + Send)) {
    if let Some(what) = left {
        listen(&Event::LeftBehind { what });
    }
}

/// What a pilot left running, in a sentence.
fn left_behind(pilot: &Pilot, leaves_something: bool) -> Option<String> {
    match &pilot.outcome {
        Outcome::Failed { reason, .. } if leaves_something => Some(reason.clone()),
        _ => None,
    }
}

/// A cell as its pilot loads it: by time, cold, once, and by the built-in generator. A load that lists or finds its own rates is
/// a closed loop here.
fn loaded_from_cold(cell: &Cell, run: &RunSettings) -> Cell {
    let mut cell = cell.clone();
    let work = &mut cell.work;
    work.generator = None;
    work.warmup = Duration::ZERO;
    work.rounds = 1;
    // Ended by whoever counts windows, which is before this time has passed.
    work.amount = Amount::Duration(run.max_warmup + run.warmup_window());
    if matches!(work.pace, Some(Pace::Stages(_) | Pace::Search(_))) {
        work.pace = None;
    }
    cell.trial_timeout = 2 * (cell.ready.timeout + run.max_warmup) + Duration::from_mins(1);
    cell
}

/// What a pilot found. One that failed finds nothing, and so does one in which no request succeeded.
fn found(cell: &Cell, seen: Box<Seen>, run: &RunSettings) -> Pilot {
    let Seen { trial, windows, .. } = *seen;
    let mut outcome = trial.outcome;
    if outcome == Outcome::Valid && !windows.iter().any(|rate| *rate > 0.0) {
        outcome = Outcome::Failed {
            step: Step::Load,
            reason: "no request succeeded".to_owned(),
            log_tail: Vec::new(),
        };
    }
    let valid = outcome == Outcome::Valid;
    let settled = settled(&windows).filter(|_| valid);
    let window = run.warmup_window();
    let until = |at: usize| window * u32::try_from(at).unwrap_or(u32::MAX);
    Pilot {
        cell: cell.id.clone(),
        window,
        per_second: windows,
        settled: settled.is_some(),
        warmup: valid.then(|| settled.map_or(run.max_warmup, until)),
        outcome,
        took_ns: trial.took_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::CellId;

    fn pilot(warmup: Option<u64>) -> Pilot {
        Pilot {
            cell: CellId("a@l#0".to_owned()),
            window: Duration::from_secs(5),
            per_second: Vec::new(),
            settled: true,
            warmup: warmup.map(Duration::from_secs),
            outcome: Outcome::Valid,
            took_ns: 0,
        }
    }

    #[test]
    fn the_longest_warm_up_is_that_of_all() {
        let run = RunSettings::default();
        let pilots = [pilot(Some(5)), pilot(None), pilot(Some(15))];
        assert_eq!(longest(&pilots, &run), Duration::from_secs(15));
        assert_eq!(longest(&[pilot(None)], &run), Duration::from_secs(5));
    }
}
