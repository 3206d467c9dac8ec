//! With how many trials each cell begins: as many as it wants, the pilot where their number is found, and fewer of
//! each where a budget of time is shorter.

use crate::spec::{Cell, RunSettings};
use std::time::Duration;

/// Trials with which a cell begins whose number of trials is found: the least that have an interval of 95 %.
const PILOT: u32 = 6;

/// What a cell wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// The most trials that it may have; none where it is skipped.
    pub most: u32,
    /// Whether trials are added until its intervals are narrow enough.
    pub auto: bool,
    /// About what one of them takes, pauses included.
    pub time: Duration,
}

impl Demand {
    /// What a cell of a run wants.
    pub fn of(cell: &Cell, run: &RunSettings) -> Self {
        Self {
            most: if cell.skip.is_none() {
                cell.repetitions
            } else {
                0
            },
            auto: cell.auto,
            time: super::estimate(cell, run),
        }
    }

    fn first(self) -> u32 {
        if self.auto {
            self.most.min(PILOT)
        } else {
            self.most
        }
    }
}

/// The trials with which cells begin, one number for each. A budget takes the same share of each cell's trials, and
/// leaves each of them at least one.
pub fn allot(demands: &[Demand], budget: Option<Duration>) -> Vec<u32> {
    let all: Vec<u32> = demands.iter().map(|demand| demand.first()).collect();
    let highest = all.iter().copied().max().unwrap_or(0);
    let Some(budget) = budget.filter(|_| highest > 0) else {
        return all;
    };
    let cut = |rounds: u32| -> Vec<u32> {
        all.iter()
            .map(|own| match *own {
                0 => 0,
                own => shrunk(own, rounds, highest).max(1),
            })
            .collect()
    };
    // The most rounds that fit; what one more takes is never less.
    let (mut fits, mut over) = (1, highest + 1);
    while over - fits > 1 {
        let rounds = u32::midpoint(fits, over);
        if time(demands, &cut(rounds)) <= budget {
            fits = rounds;
        } else {
            over = rounds;
        }
    }
    cut(fits)
}

/// The part of `own` that `rounds` are of `highest`, whole.
fn shrunk(own: u32, rounds: u32, highest: u32) -> u32 {
    u32::try_from(u64::from(own) * u64::from(rounds) / u64::from(highest)).unwrap_or(own)
}

fn time(demands: &[Demand], trials: &[u32]) -> Duration {
    let each = demands.iter().zip(trials);
    each.fold(Duration::ZERO, |sum, (demand, trials)| {
        sum.saturating_add(demand.time.saturating_mul(*trials))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(most: u32, auto: bool, seconds: u64) -> Demand {
        Demand {
            most,
            auto,
            time: Duration::from_secs(seconds),
        }
    }

    #[test]
    fn without_a_budget_each_has_what_it_wants_and_a_pilot_where_that_is_found() {
        let demands = [
            demand(10, false, 5),
            demand(30, true, 5),
            demand(3, true, 5),
            demand(0, true, 5),
        ];
        assert_eq!(allot(&demands, None), [10, 6, 3, 0]);
    }

    #[test]
    fn a_budget_takes_the_same_share_of_each() {
        let demands = [
            demand(10, false, 10),
            demand(5, false, 20),
            demand(0, false, 9),
        ];
        let minutes = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(allot(&demands, minutes(200)), [10, 5, 0]);
        assert_eq!(allot(&demands, minutes(199)), [9, 4, 0]);
        assert_eq!(allot(&demands, minutes(100)), [5, 2, 0]);
        // Each has one, however short the time.
        assert_eq!(allot(&demands, minutes(1)), [1, 1, 0]);
        assert!(allot(&[], minutes(1)).is_empty());
    }
}
