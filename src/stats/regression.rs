//! Regression gates: whether a metric is worse than it was, by more than what is let pass. All regression gates of a
//! report are one family of questions.

use super::comparison::{LEVEL, variance};
use super::exact::{Interval, holm, paired_p, unpaired, unpaired_p};
use super::gate::{Why, spread, unsound};
use super::power::{at_least, least_trials, least_unpaired, paired_change, unpaired_change};
use super::summary::logs_of;
use super::{CellSummary, ENOUGH_TRIALS, Spread, ratio};
use crate::ids::CellId;
use crate::record::{Direction, Run, metric};
use crate::spec::{Choice, Order};

/// The values that a cell had of a metric in an earlier run; where it has none that may be compared, why.
pub type Old<'o> = dyn Fn(&CellId, &str) -> Result<Spread, String> + 'o;

/// With fewer trials on either side two runs are not compared.
const ENOUGH_UNPAIRED: usize = 4;

/// One question of the family: is it worse?
#[derive(Debug, Clone)]
pub(super) struct Question {
    /// The multiple of the old figure, with its exact interval.
    pub(super) interval: Interval,
    /// The two-sided p of its exact test.
    p: f64,
    /// The smallest p that so many trials can have.
    least_p: f64,
    /// Which way is better.
    better: Direction,
    /// The share that it may be worse by.
    let_pass: f64,
    /// The relative spread of single trials.
    spread: f64,
    /// Trials on the side that has fewer.
    n: usize,
    /// Whether the trials are paired by round.
    paired: bool,
}

impl Question {
    /// The regression that is found in four of five runs, by the whole rule, where so many are asked after.
    fn could_have_seen(&self, all: usize) -> f64 {
        let seen = if self.paired {
            paired_change(self.spread, self.n, all)
        } else {
            unpaired_change(self.spread, self.n, all)
        };
        seen.max(at_least(self.let_pass, self.spread, self.n))
    }

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
        if looks_worse && asked.least_p * all as f64 > LEVEL {
            let needed = if asked.paired {
                least_trials(all)
            } else {
                u32::try_from(least_unpaired(all)).unwrap_or(u32::MAX)
            };
            return Why::TooFewForAll { needed };
        }
        Why::NotShown {
            could_have_seen: asked.could_have_seen(all),
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
    let by_load = is_of_load(name);
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
        return across(mine, &old, limit);
    };
    if unsound(run, base).is_some() {
        return Err(Why::NoBaseValue);
    }
    let theirs = spread(base, name).map_err(|_| Why::NoBaseValue)?;
    if by_load && base.is_limited() {
        return Err(Why::Limited);
    }
    within(mine, theirs, limit, settings.order)
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
        least_p: 2.0 * 0.5_f64.powi(i32::try_from(logs.len()).unwrap_or(i32::MAX)),
        better: limit.better,
        let_pass: limit.let_pass,
        // The logarithm of a ratio has the spread of both its sides.
        spread: (variance(&logs) / 2.0).sqrt(),
        n: logs.len(),
        paired: true,
    })
}

/// A cell of this run and of an earlier one, which have no rounds in common.
fn across(mine: &Spread, old: &Spread, limit: Limit) -> Result<Question, Why> {
    if let Some(same) = of_nothing(mine, old, limit)? {
        return Ok(same);
    }
    let needed = ENOUGH_UNPAIRED;
    let interval = unpaired(&logs_of(mine), &logs_of(old)).ok_or(Why::TooFew { needed })?;
    Ok(unpaired_question(mine, old, interval.map(f64::exp), limit))
}

fn unpaired_question(mine: &Spread, old: &Spread, interval: Interval, limit: Limit) -> Question {
    let (mine, old) = (logs_of(mine), logs_of(old));
    Question {
        interval,
        p: unpaired_p(&mine, &old),
        least_p: 2.0 / choices(mine.len() + old.len(), old.len()),
        better: limit.better,
        let_pass: limit.let_pass,
        spread: f64::midpoint(variance(&mine), variance(&old)).sqrt(),
        n: mine.len().min(old.len()),
        paired: false,
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
            least_p: 0.0,
            better: limit.better,
            let_pass: limit.let_pass,
            spread: 0.0,
            n: a.min(b).max(ENOUGH_UNPAIRED),
            paired: false,
        })),
        _ => Err(Why::NoRatio),
    }
}

/// The ways to choose `k` of `n`.
fn choices(n: usize, k: usize) -> f64 {
    (1..=k).fold(1.0, |ways, i| ways * (n - k + i) as f64 / i as f64)
}

/// The cell's baseline, where that is the same cell at another revision.
fn old_side<'c, 'a>(
    cell: &CellSummary<'_>,
    cells: &'c [CellSummary<'a>],
) -> Option<&'c CellSummary<'a>> {
    let id = cell.cell.baseline.as_ref()?;
    let base = cells.iter().find(|other| other.cell.id == *id)?;
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

/// Whether a generator at its limit makes the figure of this metric.
fn is_of_load(name: &str) -> bool {
    const RATES: [&str; 3] = ["requests_per_second", "transfer", "connect_mean"];
    const TIMES: [&str; 3] = ["latency_", "service_", "response_"];
    RATES.contains(&name) || TIMES.iter().any(|family| name.starts_with(family))
}

#[cfg(test)]
#[path = "regression_tests.rs"]
mod tests;
