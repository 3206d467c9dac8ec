//! Whether a cell has trials enough: whether the interval of what it is there for is as narrow as the run wants.

use super::comparison::{Comparison, Verdict, comparisons, own_headline};
use super::exact::{Interval, around_median, paired, unpaired};
use super::summary::logs_of;
use super::{CellSummary, ENOUGH_TRIALS, Spread, State};
use crate::ids::CellId;
use crate::record::Run;
use std::collections::BTreeSet;

/// One more round is run for so many that gave a narrow interval.
const CONFIRM: usize = 3;

/// The cells whose number of trials is found and that need another one. What a cell is there for is its ratio to the
/// baseline, in requests per second, where it has one, else its own figure. It needs trials until half of that interval is at most
/// the run's `target`, and then a third more: an interval that is looked at after each round is narrow by chance at
/// some time, and one that stopped there would hold the truth in 93 to 94 % instead of 95 %. With a
/// cell goes its baseline, since rounds are compared in pairs. None where more would tell nothing: nothing valid so
/// far, a generator at its limit, or the most trials reached.
pub fn wanting(run: &Run, cells: &[CellSummary<'_>]) -> BTreeSet<CellId> {
    let compared = comparisons(run, cells);
    let target = run.spec.run.target;
    let may_have_more = |cell: &CellSummary<'_>| {
        cell.cell.auto
            && cell.state == State::Measured
            && cell.planned < cell.cell.repetitions as usize
    };
    let mut wanting = BTreeSet::new();
    for cell in cells.iter().filter(|cell| may_have_more(cell)) {
        match compared
            .iter()
            .find(|one| std::ptr::eq(one.of.cell, cell.cell))
        {
            Some(pair) if may_have_more(pair.to) => {
                if pair.verdict != Verdict::Limited && !is_settled(pair, target) {
                    wanting.insert(cell.cell.id.clone());
                    wanting.insert(pair.to.cell.id.clone());
                }
            }
            Some(_) => {}
            // A baseline has as many as those that lean on it.
            None if compared.iter().any(|one| one.to.cell.id == cell.cell.id) => {}
            None => {
                let values = rates(cell).map(|rates| rates.plain()).unwrap_or_default();
                if !settled(values.len(), |n| of_median(&values[..n], target)) {
                    wanting.insert(cell.cell.id.clone());
                }
            }
        }
    }
    wanting
}

fn is_settled(pair: &Comparison<'_, '_>, target: f64) -> bool {
    let rounds: Vec<f64> = pair.ratio.by_round.iter().map(|one| one.ln()).collect();
    if !rounds.is_empty() {
        return settled(rounds.len(), |n| is_narrow(paired(&rounds[..n]), target));
    }
    let (Some(of), Some(to)) = (rates(pair.of), rates(pair.to)) else {
        return false;
    };
    let (of, to) = (logs_of(&of), logs_of(&to));
    settled(of.len().min(to.len()), |n| {
        is_narrow(unpaired(&of[..n], &to[..n]), target)
    })
}

/// Whether the first of some number of trials were narrow, and a third more of them has been run since.
fn settled(trials: usize, narrow: impl Fn(usize) -> bool) -> bool {
    let first = (ENOUGH_TRIALS..=trials).find(|n| narrow(*n));
    first.is_some_and(|first| first + first.div_ceil(CONFIRM) <= trials)
}

fn is_narrow(logs: Option<Interval>, target: f64) -> bool {
    logs.is_some_and(|logs| half_of(&logs.map(f64::exp)) <= target)
}

fn of_median(values: &[f64], target: f64) -> bool {
    around_median(values).is_some_and(|interval| half_of(&interval) <= target)
}

fn rates(cell: &CellSummary<'_>) -> Option<Spread> {
    cell.metric(own_headline(cell)?)
}

/// Half of an interval around figures above 0, as a share of its middle.
pub fn half_of(interval: &Interval) -> f64 {
    ((interval.high / interval.low).ln() / 2.0).exp_m1()
}

/// The measured cells whose number of trials was found and whose interval is wider than the run wants even so, with half
/// of it as a share.
pub fn still_wide<'c, 'a>(
    run: &Run,
    cells: &'c [CellSummary<'a>],
) -> Vec<(&'c CellSummary<'a>, f64)> {
    let compared = comparisons(run, cells);
    let target = run.spec.run.target;
    let half = |cell: &CellSummary<'_>| {
        let own = compared
            .iter()
            .find(|one| std::ptr::eq(one.of.cell, cell.cell));
        match own {
            Some(pair) if pair.verdict == Verdict::Limited => None,
            Some(pair) => pair.ratio.interval.as_ref().map(half_of),
            // A baseline is there for those that lean on it.
            None if compared.iter().any(|one| one.to.cell.id == cell.cell.id) => None,
            None => around_median(&rates(cell)?.plain()).as_ref().map(half_of),
        }
    };
    let measured = cells
        .iter()
        .filter(|cell| cell.cell.auto && cell.state == State::Measured);
    measured
        .filter_map(|cell| Some((cell, half(cell).filter(|half| *half > target)?)))
        .collect()
}

/// How many rounds a comparison is given that may have so many.
#[cfg(test)]
pub(super) fn rounds_given(logs: &[f64], target: f64) -> usize {
    let first = (ENOUGH_TRIALS..logs.len()).find(|n| is_narrow(paired(&logs[..*n]), target));
    first.map_or(logs.len(), |first| {
        (first + first.div_ceil(CONFIRM)).min(logs.len())
    })
}
