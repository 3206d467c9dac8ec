//! The order of trials. By default rounds: each runs every cell once, in a fresh
//! random order, so that whatever changes during the session falls on all alike
//! and a run that is cut short has as many trials of each cell.

use crate::ids::TrialId;
use crate::spec::{Amount, Cell, Order, Planned, RunSettings, Spec};
use std::time::Duration;

/// Every trial of the cells that are not skipped, in the order of the run.
pub fn schedule(spec: &Spec) -> Vec<Planned> {
    let cells: Vec<&Cell> = spec
        .cells
        .iter()
        .filter(|cell| cell.skip.is_none())
        .collect();
    let rounds = cells.iter().map(|cell| cell.repetitions).max().unwrap_or(0);
    let mut dice = fastrand::Rng::with_seed(spec.run.seed);
    let mut all = Vec::new();
    for round in 1..=rounds {
        let mut of_round: Vec<Planned> = cells
            .iter()
            .filter(|cell| cell.repetitions >= round)
            .map(|cell| Planned {
                trial: TrialId {
                    cell: cell.id.clone(),
                    repetition: round,
                },
                round,
            })
            .collect();
        if spec.run.order == Order::Shuffled {
            dice.shuffle(&mut of_round);
        }
        all.append(&mut of_round);
    }
    if spec.run.order == Order::Random {
        dice.shuffle(&mut all);
    }
    all
}

/// Requests a second that a load by requests is assumed to reach, when its time is estimated.
const ASSUMED_RATE: u64 = 10_000;
/// What starting, verifying and stopping a server is assumed to take.
const ASSUMED_START_AND_STOP: Duration = Duration::from_millis(700);

/// About how long one trial of a cell takes, pauses included.
pub fn estimate(cell: &Cell, run: &RunSettings) -> Duration {
    let load = match cell.work.amount {
        Amount::Duration(duration) => duration,
        Amount::Requests(requests) => {
            Duration::from_millis(requests.saturating_mul(1000) / ASSUMED_RATE)
        }
    };
    ASSUMED_START_AND_STOP + cell.work.warmup + load + run.rest + run.cooldown
}
