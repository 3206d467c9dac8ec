//! Whether two cells differ: the ratio of their figures with its interval, and what may be said of it.

use super::exact::{holm, paired_p, unpaired_p};
use super::grounds::{Grounds, LEVEL};
use super::summary::{Ratio, State, logs_of, ratio};
use super::{CellSummary, effect};
use crate::record::Run;
use crate::spec::{Pace, RunSettings};

/// What may be said of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// One of the two has too few trials for any.
    TooFew,
    /// The generator was the limit of one of the two, so that its figure is a bound.
    Limited,
    /// They differ: the interval excludes 1, the exact test says so with all comparisons of the report taken together, and
    /// the difference is at least as large as the suite cares for.
    Differ,
    /// Not even the clearest difference could be named in so few trials, with so many comparisons in one report.
    TooFewForSoMany {
        /// The trials of each cell that it takes.
        needed: u32,
    },
    /// No difference is shown. One of this share of the figure would have been found in four of five runs, by the whole rule:
    /// with all comparisons of the report, and an estimate of at least what the suite cares for.
    NotShown {
        /// The share.
        could_have_seen: f64,
    },
}

impl Verdict {
    /// The verdict as a word of CSV, JSON and templates.
    pub fn word(self) -> &'static str {
        match self {
            Self::TooFew => "too_few",
            Self::TooFewForSoMany { .. } => "too_few_for_so_many",
            Self::Limited => "limited",
            Self::Differ => "differ",
            Self::NotShown { .. } => "not_shown",
        }
    }
}

/// A cell beside its baseline.
#[derive(Debug, Clone)]
pub struct Comparison<'c, 'a> {
    /// The cell.
    pub of: &'c CellSummary<'a>,
    /// The cell that it is compared with.
    pub to: &'c CellSummary<'a>,
    /// The metric that both are compared in: what the suite cannot set itself.
    pub metric: &'static str,
    /// The figure of the one as a multiple of the other's.
    pub ratio: Ratio,
    /// What may be said of it.
    pub verdict: Verdict,
}

/// The comparison of every measured cell with its baseline, in requests per second; where the suite gives the rate in response
/// times (p99, or p50 where there are too few for that), and where it searches in the rate that held. Cells whose toggles do nothing
/// are compared with none.
pub fn comparisons<'c, 'a>(run: &Run, cells: &'c [CellSummary<'a>]) -> Vec<Comparison<'c, 'a>> {
    let settings = &run.spec.run;
    let mut found: Vec<(Comparison<'c, 'a>, Option<Test>)> = cells
        .iter()
        .filter_map(|cell| compare(settings, cell, cells))
        .collect();
    // Only what a test was made of is a question.
    let asked: Vec<f64> = found
        .iter()
        .filter_map(|(_, test)| Some(test.as_ref()?.p))
        .collect();
    let all = asked.len();
    let mut corrected = holm(&asked).into_iter();
    for (comparison, test) in &mut found {
        let Some(test) = test else { continue };
        let sure = corrected.next().is_some_and(|p| p <= LEVEL);
        comparison.verdict = if sure && is_apart(&comparison.ratio, settings.min_effect) {
            Verdict::Differ
        } else {
            test.unsure(all, settings.min_effect)
        };
    }
    found
        .into_iter()
        .map(|(comparison, _)| comparison)
        .collect()
}

/// A test of two cells: its p, and what it is made of.
struct Test {
    p: f64,
    grounds: Grounds,
}

impl Test {
    /// Trials of one cell beside those of another, by their logarithms: in rounds, or all of the one against all of the other.
    fn of(rounds: &[f64], mine: &[f64], other: &[f64]) -> Self {
        let grounds = Grounds::of(rounds, mine, other);
        Self {
            p: if grounds.is_paired() {
                paired_p(rounds)
            } else {
                unpaired_p(mine, other)
            },
            grounds,
        }
    }

    /// The verdict where no difference is shown, among so many comparisons.
    fn unsure(&self, comparisons: usize, min_effect: f64) -> Verdict {
        match self.grounds.too_few_for(comparisons) {
            Some(needed) => Verdict::TooFewForSoMany { needed },
            None => Verdict::NotShown {
                could_have_seen: self.grounds.could_have_seen(comparisons, min_effect),
            },
        }
    }
}

/// Whether the interval excludes 1, and the ratio is as far from it as matters.
fn is_apart(ratio: &Ratio, min_effect: f64) -> bool {
    let excluded = ratio
        .interval
        .is_some_and(|interval| interval.excludes(1.0));
    excluded && (ratio.value - 1.0).abs() >= min_effect
}

/// What two cells are compared in; none where they have no such metric in common.
fn headline(of: &CellSummary<'_>, to: &CellSummary<'_>) -> Option<&'static str> {
    let both = |name: &&str| of.metric(name).is_some() && to.metric(name).is_some();
    let candidates: &[&'static str] = match (&of.cell.work.pace, &to.cell.work.pace) {
        (None, None) => &["requests_per_second"],
        (Some(Pace::Search(_)), Some(Pace::Search(_))) => &["capacity"],
        (Some(Pace::Rate(_) | Pace::Stages(_)), Some(Pace::Rate(_) | Pace::Stages(_))) => {
            &["response_p99", "response_p50"]
        }
        _ => &[],
    };
    candidates.iter().copied().find(|name| both(name))
}

/// What a cell is judged by that is compared with none: the number of its trials, its place among others.
pub fn own_headline(cell: &CellSummary<'_>) -> Option<&'static str> {
    headline(cell, cell)
}

/// One comparison, as it stands before all are taken together, and its test where there is one.
fn compare<'c, 'a>(
    settings: &RunSettings,
    of: &'c CellSummary<'a>,
    cells: &'c [CellSummary<'a>],
) -> Option<(Comparison<'c, 'a>, Option<Test>)> {
    let to = of.baseline_in(cells)?;
    if of.state != State::Measured || to.state != State::Measured || effect(of, to).is_nothing() {
        return None;
    }
    let metric = headline(of, to)?;
    let (mine, other) = (of.metric(metric)?, to.metric(metric)?);
    let ratio = ratio(&mine, &other, settings.order)?;
    let (verdict, test) = if of.is_limited() || to.is_limited() {
        (Verdict::Limited, None)
    } else if ratio.interval.is_none() || !of.enough() || !to.enough() {
        (Verdict::TooFew, None)
    } else {
        let rounds: Vec<f64> = ratio.by_round.iter().map(|one| one.ln()).collect();
        let test = Test::of(&rounds, &logs_of(&mine), &logs_of(&other));
        // What it says is known when all are taken together.
        (test.unsure(1, settings.min_effect), Some(test))
    };
    let comparison = Comparison {
        of,
        to,
        metric,
        ratio,
        verdict,
    };
    Some((comparison, test))
}

#[cfg(test)]
#[path = "comparison_tests.rs"]
mod tests;
