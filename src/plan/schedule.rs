//! The order of trials. By default rounds: each runs every cell once, in a fresh
//! random order, so that whatever changes during the session falls on all alike
//! and a run that is cut short has as many trials of each cell.

use super::allot::{Demand, allot};
use crate::ids::{CellId, TrialId};
use crate::spec::{Amount, Cell, Order, Pace, Planned, RunSettings, Spec};
use std::time::Duration;

/// Every trial of the cells that are not skipped, in the order of the run.
pub fn schedule(spec: &Spec) -> Vec<Planned> {
    let cells: Vec<&Cell> = spec
        .cells
        .iter()
        .filter(|cell| cell.skip.is_none())
        .collect();
    let demands: Vec<Demand> = cells
        .iter()
        .map(|cell| Demand::of(cell, &spec.run))
        .collect();
    order(&allot(&demands, spec.run.budget), &spec.run)
        .map(|turn| Planned {
            trial: TrialId {
                cell: cells[turn.cell].id.clone(),
                repetition: turn.round,
            },
            round: turn.round,
        })
        .collect()
}

/// When a cell has its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The cell, by its position among those that run.
    pub cell: usize,
    /// The round, from 1; also the number of the cell's trial.
    pub round: u32,
}

/// The turns of cells that have so many repetitions each, in the order of the run. Rounds are made one
/// after the other, so that a long plan takes no more memory than one of them.
pub fn order(repetitions: &[u32], run: &RunSettings) -> impl Iterator<Item = Turn> {
    let rounds = repetitions.iter().copied().max().unwrap_or(0);
    let mut dice = fastrand::Rng::with_seed(run.seed);
    let shuffled = run.order == Order::Shuffled;
    let mut all = if run.order == Order::Random {
        let mut all: Vec<Turn> = (1..=rounds)
            .flat_map(|round| turns(repetitions, round))
            .collect();
        dice.shuffle(&mut all);
        Some(all)
    } else {
        None
    };
    let by_rounds = all.is_none();
    let rounds = if by_rounds { 1..=rounds } else { 1..=1 };
    rounds.flat_map(move |round| {
        let mut of_round = all
            .take()
            .unwrap_or_else(|| turns(repetitions, round).collect());
        if shuffled {
            dice.shuffle(&mut of_round);
        }
        of_round
    })
}

/// One more round, after `planned`, of these cells; each gets its next trial.
pub fn further(planned: &[Planned], cells: &[&CellId], run: &RunSettings) -> Vec<Planned> {
    let round = planned.iter().map(|planned| planned.round).max();
    let round = round.unwrap_or(0) + 1;
    let mut more: Vec<Planned> = cells
        .iter()
        .map(|cell| {
            let own = planned
                .iter()
                .filter(|planned| planned.trial.cell == **cell);
            let last = own.map(|planned| planned.trial.repetition).max();
            Planned {
                trial: TrialId {
                    cell: (*cell).clone(),
                    repetition: last.unwrap_or(0) + 1,
                },
                round,
            }
        })
        .collect();
    if run.order != Order::Sequential {
        // Another round, other dice, and the same ones for the same seed.
        let seed = run.seed.wrapping_add(u64::from(round) << 32);
        fastrand::Rng::with_seed(seed).shuffle(&mut more);
    }
    more
}

fn turns(repetitions: &[u32], round: u32) -> impl Iterator<Item = Turn> {
    repetitions
        .iter()
        .enumerate()
        .filter(move |(_, repetitions)| **repetitions >= round)
        .map(move |(cell, _)| Turn { cell, round })
}

/// Requests a second that a load by requests is assumed to reach, when its time is estimated.
const ASSUMED_RATE: u64 = 10_000;
/// What starting, verifying and stopping a server is assumed to take.
const ASSUMED_START_AND_STOP: Duration = Duration::from_millis(700);

/// So many steps a search for the highest rate is assumed to take, those that are tried once more among them,
const SEARCH_STEPS: u32 = 18;
/// and so long each, or as long as the measured phase.
const SEARCH_STEP: Duration = Duration::from_secs(10);

/// About how long the pilot of a cell takes, pauses included: two windows at the least, `max_warmup` at the most.
pub fn estimate_pilot(run: &RunSettings) -> (Duration, Duration) {
    let pauses = ASSUMED_START_AND_STOP + run.cooldown;
    (pauses + 2 * run.warmup_window(), pauses + run.max_warmup)
}

/// About how long one trial of a cell takes, pauses included; the least where its warm-up is still to be found.
pub fn estimate(cell: &Cell, run: &RunSettings) -> Duration {
    let work = &cell.work;
    let load = match (&work.pace, work.amount) {
        (Some(Pace::Search(_)), _) => {
            let step = work.length().min(SEARCH_STEP) + run.cooldown;
            (step * SEARCH_STEPS).saturating_add(work.length())
        }
        (Some(Pace::Rate(rate)), Amount::Requests(requests)) => {
            Duration::try_from_secs_f64(requests as f64 / rate).unwrap_or(Duration::MAX)
        }
        (_, Amount::Requests(requests)) => {
            Duration::from_millis(requests.saturating_mul(1000) / ASSUMED_RATE)
        }
        (_, Amount::Duration(_)) => work.length(),
    };
    let pauses = ASSUMED_START_AND_STOP + work.warmup + run.rest + run.cooldown;
    pauses.saturating_add(load.saturating_mul(work.rounds))
}

/// What one trial of each cell takes at the least that is not skipped. What a load by a number of requests takes nobody
/// knows before.
pub fn one_round(spec: &Spec) -> Duration {
    let running = spec.cells.iter().filter(|cell| cell.skip.is_none());
    running.fold(Duration::ZERO, |sum, cell| {
        let work = &cell.work;
        let pauses = work.warmup + spec.run.rest + spec.run.cooldown;
        sum.saturating_add(pauses)
            .saturating_add(work.length().saturating_mul(work.rounds))
    })
}
