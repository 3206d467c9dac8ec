//! The rounds of a run: which trial is next, whether another round is wanted where the number of trials is found, and whether it
//! still fits into the time that the run may take. A round is run whole or not at all, so that every cell has as much.

use super::event::Event;
use super::runner::{RunError, remaining};
use crate::ids::CellId;
use crate::plan::{estimate, further};
use crate::record::{Run, Trial};
use crate::spec::{Order, Planned};
use crate::stats::{summarise, wanting};
use crate::store::RunFolder;
use std::time::{Duration, Instant};

/// How far the run is.
pub(super) struct Rounds {
    /// The session's beginning.
    began: Instant,
    /// What earlier sessions took.
    before: Duration,
    /// The round that is under way; 0 before the first.
    current: u32,
    /// Whether the time is used up.
    is_over: bool,
}

impl Rounds {
    /// The rounds of a session that began then, after whatever earlier ones have finished.
    pub(super) fn new(records: &RunFolder, began: Instant) -> Result<Self, RunError> {
        let run = records.run();
        let mut rounds = Self {
            began,
            before: Duration::ZERO,
            current: 0,
            is_over: false,
        };
        let planned = run.plan.iter();
        let finished = planned.filter(|planned| records.finished().contains(&planned.trial));
        rounds.current = finished.map(|planned| planned.round).max().unwrap_or(0);
        if run.spec.run.budget.is_some() {
            let trials = records.trials()?;
            let took = trials
                .iter()
                .map(|trial| Duration::from_nanos(trial.took_ns));
            rounds.before = took.map(|took| took + run.spec.run.cooldown).sum();
        }
        Ok(rounds)
    }

    /// The next trial; none where all is done that is wanted and fits.
    pub(super) fn next(
        &mut self,
        records: &mut RunFolder,
        listen: &mut (dyn FnMut(&Event) + Send),
    ) -> Result<Option<Planned>, RunError> {
        if let Some(next) = first(records) {
            if next.round <= self.current || self.fits(records, &round_of(records, next.round))? {
                self.current = self.current.max(next.round);
                return Ok(Some(next));
            }
            self.end(records, listen)?;
            return Ok(None);
        }
        if self.is_over {
            return Ok(None);
        }
        let more = Self::wanted(records)?;
        if more.is_empty() {
            return Ok(None);
        }
        if !self.fits(records, &more)? {
            self.end(records, listen)?;
            return Ok(None);
        }
        let round = more.first().map_or(0, |planned| planned.round);
        let cells = more.len();
        records.update(|run| run.plan.extend(more))?;
        self.current = round;
        listen(&Event::RoundAdded {
            round,
            cells,
            trials: records.run().plan.len(),
        });
        Ok(first(records))
    }

    /// The trials of another round: of cells whose intervals are too wide, and of those that a budget gave fewer trials
    /// at first than they may have.
    fn wanted(records: &RunFolder) -> Result<Vec<Planned>, RunError> {
        let run = records.run();
        let settings = &run.spec.run;
        let any_auto = run.spec.cells.iter().any(|cell| cell.auto);
        if !any_auto && settings.budget.is_none() {
            return Ok(Vec::new());
        }
        let trials = records.trials()?;
        let cells = summarise(run, &trials);
        let open = wanting(run, &cells);
        let wants = |cell: &CellId| {
            let Some(cell) = cells.iter().find(|one| one.cell.id == *cell) else {
                return false;
            };
            if cell.cell.auto {
                return open.contains(&cell.cell.id);
            }
            cell.cell.skip.is_none() && cell.planned < cell.cell.repetitions as usize
        };
        let ids: Vec<&CellId> = run.spec.cells.iter().map(|cell| &cell.id).collect();
        let ids: Vec<&CellId> = ids.into_iter().filter(|id| wants(id)).collect();
        Ok(further(&run.plan, &ids, settings))
    }

    /// Whether these trials end before the run must. The first round is run whatever it takes.
    fn fits(&self, records: &RunFolder, trials: &[Planned]) -> Result<bool, RunError> {
        let run = records.run();
        let settings = &run.spec.run;
        let Some(budget) = settings.budget.filter(|_| self.current > 0) else {
            return Ok(true);
        };
        // Trials in one random order know no rounds.
        if settings.order == Order::Random && first(records).is_some() {
            return Ok(true);
        }
        let seen = records.trials()?;
        let time: Duration = trials
            .iter()
            .map(|planned| takes(run, &seen, planned))
            .sum();
        Ok(self.before + self.began.elapsed() + time <= budget)
    }

    /// Takes what is left out of the plan: the time is used up.
    fn end(
        &mut self,
        records: &mut RunFolder,
        listen: &mut (dyn FnMut(&Event) + Send),
    ) -> Result<(), RunError> {
        self.is_over = true;
        let finished = records.finished().clone();
        records.update(|run| run.plan.retain(|planned| finished.contains(&planned.trial)))?;
        listen(&Event::BudgetSpent {
            rounds: self.current,
            trials: records.run().plan.len(),
        });
        Ok(())
    }
}

/// The first planned trial without a record.
fn first(records: &RunFolder) -> Option<Planned> {
    let run = records.run();
    remaining(records, &run.spec, &run.plan)
        .first()
        .map(|(planned, _)| (*planned).clone())
}

/// What is left of a round.
fn round_of(records: &RunFolder, round: u32) -> Vec<Planned> {
    let run = records.run();
    remaining(records, &run.spec, &run.plan)
        .into_iter()
        .filter(|(planned, _)| planned.round == round)
        .map(|(planned, _)| planned.clone())
        .collect()
}

/// What a trial takes: the mean of its cell's so far, else the estimate.
fn takes(run: &Run, seen: &[Trial], planned: &Planned) -> Duration {
    let own = seen
        .iter()
        .filter(|trial| trial.trial.cell == planned.trial.cell);
    let took: Vec<u64> = own.map(|trial| trial.took_ns).collect();
    if took.is_empty() {
        let cell = run.spec.cell(&planned.trial.cell);
        return cell.map_or(Duration::ZERO, |cell| estimate(cell, &run.spec.run));
    }
    let mean = took.iter().sum::<u64>() / took.len() as u64;
    Duration::from_nanos(mean) + run.spec.run.cooldown
}
