//! Gates: whether a cell stayed within the limits of its suite. A gate fails closed: what has no figure to
//! judge has fallen, with the reason.

use super::exact::{Interval, around_median};
use super::regression::{self, Old, Question, together};
use super::{CellSummary, NightChange, Rules, Series, Spread, State};
use crate::ids::CellId;
use crate::record::{End, Run, Trial, Unit, metric};
use crate::spec::{Bound, Cell};
use std::collections::HashMap;

/// What a limit asks of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is at most this.
    Max,
    /// It is at least this.
    Min,
    /// It is at most by this share worse than it was.
    Regression,
    /// The nights show no change for the worse that is new.
    History,
}

impl Kind {
    /// The kind as a word of JSON: the key of a suite that asks for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::Min => "min",
            Self::Regression => "max_regression",
            Self::History => "history",
        }
    }
}

/// Why a gate held or fell.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// Held: the value is within the limit, and so is its interval.
    Within,
    /// Held: the limit lies inside the interval, so that chance decides on which side the value is.
    Noise,
    /// Held: the generator was the limit, and what it reached is already enough.
    Enough,
    /// Held: no regression is shown that is worse than what is let pass.
    NotShown {
        /// A regression of this share would have been found in four of five runs.
        could_have_seen: f64,
    },
    /// Held: it is worse than it was, by less than what is let pass.
    Smaller,
    /// Held: the nights show no change for the worse that is new in this one.
    NoChange,
    /// Held: there are too few nights with figures to look for changes.
    TooFewNights {
        /// How many there are.
        nights: usize,
        /// How many it takes.
        needed: usize,
    },
    /// Held: this run is no night, since it is not the whole suite.
    NoNight,
    /// Fell: a change for the worse is new in this night, in words.
    Changed(String),
    /// Fell: the value is beyond the limit, and its interval wholly so.
    Beyond,
    /// Fell: a regression is shown that is at least as large as what is let pass.
    Regressed,
    /// Fell: it looks like a regression, and there are too few trials to tell any from chance among all regression
    /// gates of the report.
    TooFewForAll {
        /// How many trials a cell needs.
        needed: u32,
    },
    /// Fell: there are too few trials on one side for an interval of the ratio.
    TooFew {
        /// How many trials each side needs.
        needed: usize,
    },
    /// Fell: the run did not come to its end.
    Ended,
    /// Fell: not every planned trial of the cell is valid, or none was made.
    Trials,
    /// Fell: the metric has no figure in so many of the valid trials.
    NoValue {
        /// Valid trials without it; all of them where nothing reads such a metric.
        trials: usize,
    },
    /// Fell: the generator was the limit, so that the figure is a bound of the server's.
    Limited,
    /// Fell: there is nothing to compare with.
    NothingToCompare,
    /// Fell: the baseline run has no figure to compare with, in its own words.
    NoOldValue(String),
    /// Fell: the cell at the other revision has no figure to compare with.
    NoBaseValue,
    /// Fell: a figure is 0 on one side, and nothing is a share of nothing.
    NoRatio,
}

impl Why {
    /// Whether the gate fell.
    pub fn fell(&self) -> bool {
        !matches!(
            self,
            Self::Within
                | Self::Noise
                | Self::Enough
                | Self::NotShown { .. }
                | Self::Smaller
                | Self::NoChange
                | Self::TooFewNights { .. }
                | Self::NoNight
        )
    }

    /// Whether the gate fell since there was nothing to judge, and not since a figure was beyond its limit.
    pub fn is_unjudged(&self) -> bool {
        self.fell() && !matches!(self, Self::Beyond | Self::Regressed | Self::Changed(_))
    }
}

/// One limit of one cell, judged.
#[derive(Debug, Clone)]
pub struct Judgement<'c, 'a> {
    /// The cell.
    pub cell: &'c CellSummary<'a>,
    /// The metric's name.
    pub metric: &'a str,
    /// What is asked of it.
    pub kind: Kind,
    /// The limit: in the metric's unit, or a share of 1.
    pub limit: Bound,
    /// The median over valid trials, in the unit of the limit; of errors the worst trial; of a regression the multiple of
    /// the old figure.
    pub value: Option<f64>,
    /// Its interval of 95 %, where there are trials enough; errors have none.
    pub interval: Option<Interval>,
    /// Why it held or fell.
    pub why: Why,
}

impl Judgement<'_, '_> {
    /// Whether it fell.
    pub fn fell(&self) -> bool {
        self.why.fell()
    }

    /// `held` or `fell`: a word of CSV, JSON and templates.
    pub fn word(&self) -> &'static str {
        if self.fell() { "fell" } else { "held" }
    }
}

/// Every limit of every cell, in file order. A regression is judged against the figures of an earlier run where
/// `old` has them (not paired), else against the cell's baseline at another revision (paired by round); such a
/// baseline has no regression gate itself.
pub fn judge<'c, 'a>(
    run: &Run,
    cells: &'c [CellSummary<'a>],
    old: Option<&Old<'_>>,
) -> Vec<Judgement<'c, 'a>> {
    let mut found: Vec<(Judgement<'c, 'a>, Option<Question>)> = Vec::new();
    for cell in cells {
        let spec: &'a Cell = cell.cell;
        for limit in &spec.gates {
            let metric = limit.metric.as_str();
            let asked = [(Kind::Max, limit.max), (Kind::Min, limit.min)];
            for (kind, bound) in asked {
                found.extend(bound.map(|bound| (held_to(run, cell, metric, kind, bound), None)));
            }
            if let Some(share) = limit.max_regression
                && !regression::is_old_side(cell, cells)
            {
                let asked = regression::question(run, cell, cells, metric, share, old);
                found.push(regressed(cell, metric, share, asked));
            }
        }
    }
    let questions: Vec<&Question> = found
        .iter()
        .filter_map(|(_, asked)| asked.as_ref())
        .collect();
    let mut answers = together(&questions).into_iter();
    found
        .into_iter()
        .map(|(mut judgement, asked)| {
            if asked.is_some()
                && let Some(why) = answers.next()
            {
                judgement.why = why;
            }
            judgement
        })
        .collect()
}

/// A regression gate before all of them are taken together.
fn regressed<'c, 'a>(
    cell: &'c CellSummary<'a>,
    metric: &'a str,
    share: f64,
    asked: Result<Question, Why>,
) -> (Judgement<'c, 'a>, Option<Question>) {
    let (question, why) = match asked {
        // What it is until its answer is known.
        Ok(question) => (Some(question), Why::NothingToCompare),
        Err(why) => (None, why),
    };
    let judgement = Judgement {
        cell,
        metric,
        kind: Kind::Regression,
        limit: Bound::Share(share),
        value: question.as_ref().map(|asked| asked.interval.estimate),
        interval: question.as_ref().map(|asked| asked.interval),
        why,
    };
    (judgement, question)
}

/// A `max` or a `min`. What is beyond its limit is said so, whatever else is wrong.
fn held_to<'c, 'a>(
    run: &Run,
    cell: &'c CellSummary<'a>,
    metric: &'a str,
    kind: Kind,
    limit: Bound,
) -> Judgement<'c, 'a> {
    let found = value(cell, metric, kind, limit);
    let (value, interval) = match &found {
        Ok((value, interval)) => (Some(*value), *interval),
        Err(_) => (None, None),
    };
    let why = match found {
        Ok((value, interval)) => {
            let bound = match limit {
                Bound::Value(bound) | Bound::Share(bound) => bound,
            };
            beside(value, interval, kind, bound, is_bound(cell, metric))
        }
        Err(why) => why,
    };
    let why = match unsound(run, cell) {
        Some(_) if why == Why::Beyond => why,
        Some(unsound) => unsound,
        None => why,
    };
    Judgement {
        cell,
        metric,
        kind,
        limit,
        value,
        interval,
        why,
    }
}

/// A value beside its limit. `bounded` tells that the value is a lower bound of the real one.
fn beside(value: f64, interval: Option<Interval>, kind: Kind, limit: f64, bounded: bool) -> Why {
    let beyond = |value: f64| match kind {
        Kind::Min => value < limit,
        Kind::Max | Kind::Regression | Kind::History => value > limit,
    };
    if bounded && kind == Kind::Min {
        return if beyond(value) {
            Why::Limited
        } else {
            Why::Enough
        };
    }
    let ends = interval.map_or([value, value], |interval| [interval.low, interval.high]);
    match ends.map(beyond) {
        [true, true] if beyond(value) => Why::Beyond,
        // The real figure may be larger than all that was seen.
        _ if bounded => Why::Limited,
        [false, false] => Why::Within,
        _ => Why::Noise,
    }
}

/// The value that a limit is held against, with its interval.
fn value(
    cell: &CellSummary<'_>,
    metric: &str,
    kind: Kind,
    limit: Bound,
) -> Result<(f64, Option<Interval>), Why> {
    if metric == "errors" {
        return Ok((worst_errors(cell, kind, limit)?, None));
    }
    let spread = spread(cell, metric)?;
    match limit {
        Bound::Value(_) => Ok((spread.median, around_median(&spread.plain()))),
        // Only errors are a share of anything.
        Bound::Share(_) => Err(no_value(cell, metric)),
    }
}

/// The errors of the worst of all trials that have a load, also of those that do not count: their number, or
/// their share of finished requests. For a `min` it is the trial with the fewest.
fn worst_errors(cell: &CellSummary<'_>, kind: Kind, limit: Bound) -> Result<f64, Why> {
    let of = |trial: &&Trial| {
        let counts = trial.load.as_ref()?.counts;
        match limit {
            Bound::Value(_) => Some(counts.errors() as f64),
            Bound::Share(_) => counts.error_share(),
        }
    };
    let loaded = || cell.trials.iter().filter(|trial| trial.load.is_some());
    let all: Vec<f64> = loaded().filter_map(of).collect();
    if all.is_empty() || all.len() < loaded().count() {
        return Err(no_value(cell, "errors"));
    }
    Ok(match kind {
        Kind::Min => all.into_iter().fold(f64::INFINITY, f64::min),
        Kind::Max | Kind::Regression | Kind::History => all.into_iter().fold(0.0, f64::max),
    })
}

/// A metric's values, of which every valid trial has one.
pub(super) fn spread(cell: &CellSummary<'_>, name: &str) -> Result<Spread, Why> {
    let found = cell.metric(name);
    found
        .filter(|spread| spread.values.len() >= cell.valid().count())
        .ok_or_else(|| no_value(cell, name))
}

fn no_value(cell: &CellSummary<'_>, name: &str) -> Why {
    let lacks = |trial: &&Trial| {
        let value = metric(name).and_then(|metric| metric.of(trial));
        !value.is_some_and(f64::is_finite)
    };
    Why::NoValue {
        trials: cell.valid().filter(lacks).count(),
    }
}

/// Why nothing of a cell can be let pass, whatever its figures are.
pub(super) fn unsound(run: &Run, cell: &CellSummary<'_>) -> Option<Why> {
    let bad = cell.failed().count() + cell.invalid().count() > 0;
    if bad || matches!(cell.state, State::Skipped(_)) {
        return Some(Why::Trials);
    }
    if run.end != Some(End::Complete) {
        return Some(Why::Ended);
    }
    (cell.state != State::Measured || cell.missing() > 0).then_some(Why::Trials)
}

/// Whether the metric is a rate that the generator limited: a lower bound of the server's.
fn is_bound(cell: &CellSummary<'_>, name: &str) -> bool {
    let is_rate = |unit| matches!(unit, Unit::PerSecond | Unit::BytesPerSecond);
    metric(name).is_some_and(|metric| is_rate(metric.unit)) && cell.is_limited()
}

/// Every gate on the history, in file order: each falls where a change for the worse is new in this night. `all` are the
/// series that end with this run, none where it is no night; `say` puts a change into words.
pub fn judge_nights<'c, 'a>(
    run: &Run,
    cells: &'c [CellSummary<'a>],
    all: &[Series],
    say: impl Fn(&Series, &NightChange) -> String,
) -> Vec<Judgement<'c, 'a>> {
    let mut found = Vec::new();
    let mut places: HashMap<(&CellId, &str), &Series> = HashMap::new();
    for one in all {
        places.entry((&one.cell, one.metric.name)).or_insert(one);
    }
    for cell in cells {
        let spec: &'a Cell = cell.cell;
        for limit in spec.gates.iter().filter(|limit| limit.history) {
            let own = places.get(&(&spec.id, limit.metric.as_str())).copied();
            let metric = limit.metric.as_str();
            let (value, why) = of_nights(run, cell, metric, own, !all.is_empty(), &say);
            found.push(Judgement {
                cell,
                metric,
                kind: Kind::History,
                limit: Bound::Value(0.0),
                value,
                interval: None,
                why,
            });
        }
    }
    found
}

/// What a night shows of one metric: the change as a multiple, where it is for the worse and new, and why the gate held or fell.
fn of_nights(
    run: &Run,
    cell: &CellSummary<'_>,
    metric: &str,
    own: Option<&Series>,
    is_night: bool,
    say: &dyn Fn(&Series, &NightChange) -> String,
) -> (Option<f64>, Why) {
    if let Some(own) = own
        && let Some(worse) = own.told_by(&run.id).find(|change| change.worse)
    {
        let ratio = Some(worse.to / worse.from).filter(|ratio| ratio.is_finite());
        return (ratio, Why::Changed(say(own, worse)));
    }
    if let Some(unsound) = unsound(run, cell) {
        return (None, unsound);
    }
    let nights = own.map_or(0, Series::figures);
    let needed = Rules::NIGHTS.least_values;
    let why = match own {
        _ if !is_night => Why::NoNight,
        None => no_value(cell, metric),
        Some(own)
            if own
                .nights
                .last()
                .is_none_or(|night| night.figure().is_none()) =>
        {
            no_value(cell, metric)
        }
        Some(_) if nights < needed => Why::TooFewNights { nights, needed },
        Some(_) => Why::NoChange,
    };
    (None, why)
}

#[cfg(test)]
#[path = "gate_tests.rs"]
pub(super) mod tests;
