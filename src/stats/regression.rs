//! Regression gates: whether a metric is worse than it was, by more than what is let pass. All regression gates of a
//! report are one family of questions.

use super::exact::{Interval, LEAST_UNPAIRED, holm, paired_p, unpaired, unpaired_p};
use super::gate::{Why, spread, unsound};
use super::grounds::{Grounds, LEVEL};
use super::limits::is_made_under_load;
use super::summary::logs_of;
use super::{CellSummary, ENOUGH_TRIALS, Spread, ratio};
use crate::ids::CellId;
use crate::record::{Direction, Run, metric};
use crate::spec::{Choice, Order};

/// The values that a cell had of a metric in an earlier run; where it has none that may be compared, why.
pub type Old<'o> = dyn Fn(&CellId, &str) -> Result<Spread, String> + 'o;

/// One question of the family: is it worse?
#[derive(Debug, Clone)]
pub(super) struct Question {
    /// The multiple of the old figure, with its exact interval.
    pub(super) interval: Interval,
    /// The two-sided p of its exact test.
    p: f64,
    /// What that is made of.
    grounds: Grounds,
    /// Which way is better.
    better: Direction,
    /// The share that it may be worse by.
    let_pass: f64,
}

impl Question {
    /// Whether the whole interval is within what is let pass.
    fn is_within(&self) -> bool {
        match self.better {
            Direction::Higher => 1.0 - self.interval.low < self.let_pass,
            Direction::Lower => self.interval.high - 1.0 < self.let_pass,
        }
    }

    /// By which share it is worse, where the interval shows that it is.
    fn worse_by(&self) -> Option<f64> {
        let Interval {
            estimate,
            low,
            high,
        } = self.interval;
        let (by, shown) = match self.better {
            Direction::Higher => (1.0 - estimate, high < 1.0),
            Direction::Lower => (estimate - 1.0, low > 1.0),
        };
        shown.then_some(by)
    }
}

/// The answers to all regression gates of a report, taken together (Holm). A regression is shown where it is at least
/// what is not let pass, the interval excludes 1 and the corrected p is at most 5 %. Where it looks so and not even the smallest p
/// that so many trials can have would do, the trials are too few, and the gate falls too.
pub(super) fn together(questions: &[&Question]) -> Vec<Why> {
    let p: Vec<f64> = questions.iter().map(|asked| asked.p).collect();
    let all = questions.len();
    let answer = |(asked, p): (&&Question, f64)| {
        let worse_by = asked.worse_by();
        let looks_worse = worse_by.is_some_and(|by| by >= asked.let_pass);
        if looks_worse && p <= LEVEL {
            return Why::Regressed;
        }
        if worse_by.is_some() && !looks_worse && p <= LEVEL && asked.is_within() {
            return Why::Smaller;
        }
        match asked.grounds.too_few_for(all) {
            Some(needed) if looks_worse => Why::TooFewForAll { needed },
            _ => Why::NotShown {
                could_have_seen: asked.grounds.could_have_seen(all, asked.let_pass),
            },
        }
    };
    questions.iter().zip(holm(&p)).map(answer).collect()
}

/// The question of a regression gate, or why it cannot be asked.
pub(super) fn question(
    run: &Run,
    cell: &CellSummary<'_>,
    cells: &[CellSummary<'_>],
    name: &str,
    max_regression: f64,
    old: Option<&Old<'_>>,
) -> Result<Question, Why> {
    if let Some(why) = unsound(run, cell) {
        return Err(why);
    }
    let mine = spread(cell, name)?;
    let by_load = is_made_under_load(name);
    if by_load && cell.is_limited() {
        return Err(Why::Limited);
    }
    let settings = &run.spec.run;
    let limit = Limit {
        better: metric(name).map_or(Direction::Lower, |metric| metric.direction),
        let_pass: max_regression.max(settings.min_effect),
    };
    let base = old_side(cell, cells);
    // What was measured in the same rounds says more than another time's run.
    let Some(base) = base else {
        let old = old.ok_or(Why::NothingToCompare)?;
        let old = old(&cell.cell.id, name).map_err(Why::NoOldValue)?;
        return across(&mine, &old, limit);
    };
    if unsound(run, base).is_some() {
        return Err(Why::NoBaseValue);
    }
    let theirs = spread(base, name).map_err(|_| Why::NoBaseValue)?;
    if by_load && base.is_limited() {
        return Err(Why::Limited);
    }
    within(&mine, &theirs, limit, settings.order)
}

/// What is let pass.
#[derive(Debug, Clone, Copy)]
struct Limit {
    better: Direction,
    let_pass: f64,
}

/// Two cells of one run: paired by round where rounds are close in time.
fn within(mine: &Spread, old: &Spread, limit: Limit, order: Order) -> Result<Question, Why> {
    if let Some(same) = of_nothing(mine, old, limit)? {
        return Ok(same);
    }
    let ratio = ratio(mine, old, order).ok_or(Why::NoRatio)?;
    let interval = ratio.interval.ok_or(Why::TooFew {
        needed: ENOUGH_TRIALS,
    })?;
    if ratio.by_round.is_empty() {
        return Ok(unpaired_question(mine, old, interval, limit));
    }
    let logs: Vec<f64> = ratio.by_round.iter().map(|one| one.ln()).collect();
    Ok(Question {
        interval,
        p: paired_p(&logs),
        grounds: Grounds::of_rounds(&logs),
        better: limit.better,
        let_pass: limit.let_pass,
    })
}

/// A cell of this run and of an earlier one, which have no rounds in common.
fn across(mine: &Spread, old: &Spread, limit: Limit) -> Result<Question, Why> {
    if let Some(same) = of_nothing(mine, old, limit)? {
        return Ok(same);
    }
    let needed = LEAST_UNPAIRED;
    let interval = unpaired(&logs_of(mine), &logs_of(old)).ok_or(Why::TooFew { needed })?;
    Ok(unpaired_question(mine, old, interval.map(f64::exp), limit))
}

fn unpaired_question(mine: &Spread, old: &Spread, interval: Interval, limit: Limit) -> Question {
    let (mine, old) = (logs_of(mine), logs_of(old));
    Question {
        interval,
        p: unpaired_p(&mine, &old),
        grounds: Grounds::of_sides(&mine, &old),
        better: limit.better,
        let_pass: limit.let_pass,
    }
}

/// Figures of 0 have no ratio; but where all of both sides are 0, nothing has changed.
fn of_nothing(mine: &Spread, old: &Spread, limit: Limit) -> Result<Option<Question>, Why> {
    let zeros = |spread: &Spread| spread.values.iter().filter(|one| one.value <= 0.0).count();
    match (zeros(mine), zeros(old)) {
        (0, 0) => Ok(None),
        (a, b) if a == mine.values.len() && b == old.values.len() => Ok(Some(Question {
            interval: Interval {
                estimate: 1.0,
                low: 1.0,
                high: 1.0,
            },
            p: 1.0,
            grounds: Grounds::of_sides(&vec![0.0; a], &vec![0.0; b]),
            better: limit.better,
            let_pass: limit.let_pass,
        })),
        _ => Err(Why::NoRatio),
    }
}

/// The cell's baseline, where that is the same cell at another revision.
fn old_side<'c, 'a>(
    cell: &CellSummary<'_>,
    cells: &'c [CellSummary<'a>],
) -> Option<&'c CellSummary<'a>> {
    let base = cell.baseline_in(cells)?;
    let (a, b) = (cell.cell, base.cell);
    let toggled = |choice: &Choice| (choice.toggle.clone(), choice.value.clone());
    let others: Vec<_> = b.toggles.iter().map(toggled).collect();
    let departures = a
        .toggles
        .iter()
        .filter(|choice| !others.contains(&toggled(choice)))
        .count();
    // The one toggle that they may differ in is the one that has revisions.
    let same = a.server == b.server
        && a.load == b.load
        && a.toggles.len() == b.toggles.len()
        && departures <= 1;
    (a.revision != b.revision && same).then_some(base)
}

/// Whether another cell is judged against this one, as what was before.
pub(super) fn is_old_side(cell: &CellSummary<'_>, cells: &[CellSummary<'_>]) -> bool {
    cells
        .iter()
        .any(|other| old_side(other, cells).is_some_and(|base| base.cell.id == cell.cell.id))
}

#[cfg(test)]
#[path = "regression_tests.rs"]
mod tests;
