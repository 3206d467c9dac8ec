//! Whether two cells differ: the ratio of their figures with its interval, and what may be said of it.

use super::exact::{holm, paired_p, unpaired_p};
use super::power::constant;
use super::summary::{Ratio, State, logs_of, ratio};
use super::{CellSummary, ENOUGH_TRIALS, effect};
use crate::record::Run;
use crate::spec::RunSettings;

/// The share of comparisons of equal cells that may name a difference, over all comparisons of a report.
pub(super) const LEVEL: f64 = 0.05;

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
    /// No difference is shown. One of this share of the figure would have been found in four of five runs.
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
    /// The figure of the one as a multiple of the other's.
    pub ratio: Ratio,
    /// What may be said of it.
    pub verdict: Verdict,
}

/// The comparison of every measured cell with its baseline, in requests per second. Cells whose toggles do nothing
/// are compared with none.
pub fn comparisons<'c, 'a>(run: &Run, cells: &'c [CellSummary<'a>]) -> Vec<Comparison<'c, 'a>> {
    let settings = &run.spec.run;
    let mut found: Vec<(Comparison<'c, 'a>, Option<f64>)> = cells
        .iter()
        .filter_map(|cell| compare(settings, cell, cells))
        .collect();
    // Only what a test was made of is a question.
    let asked: Vec<f64> = found.iter().filter_map(|(_, p)| *p).collect();
    let mut corrected = holm(&asked).into_iter();
    for (comparison, p) in &mut found {
        if p.is_none() {
            continue;
        }
        let sure = corrected.next().is_some_and(|p| p <= LEVEL);
        if sure && is_apart(&comparison.ratio, settings.min_effect) {
            comparison.verdict = Verdict::Differ;
        }
    }
    found
        .into_iter()
        .map(|(comparison, _)| comparison)
        .collect()
}

/// Whether the interval excludes 1, and the ratio is as far from it as matters.
fn is_apart(ratio: &Ratio, min_effect: f64) -> bool {
    let excluded = ratio
        .interval
        .is_some_and(|interval| interval.excludes(1.0));
    excluded && (ratio.value - 1.0).abs() >= min_effect
}

/// One comparison, as it stands before all are taken together, and the p of its test where there is one.
fn compare<'c, 'a>(
    settings: &RunSettings,
    of: &'c CellSummary<'a>,
    cells: &'c [CellSummary<'a>],
) -> Option<(Comparison<'c, 'a>, Option<f64>)> {
    let baseline = of.cell.baseline.as_ref()?;
    let to = cells.iter().find(|other| other.cell.id == *baseline)?;
    if of.state != State::Measured || to.state != State::Measured || effect(of, to).is_nothing() {
        return None;
    }
    let rate = "requests_per_second";
    let (mine, other) = (of.metrics.get(rate)?, to.metrics.get(rate)?);
    let ratio = ratio(mine, other, settings.order)?;
    let (verdict, p) = if of.is_limited() || to.is_limited() {
        (Verdict::Limited, None)
    } else if ratio.interval.is_none() || !of.enough() || !to.enough() {
        (Verdict::TooFew, None)
    } else {
        let (mine, other) = (logs_of(mine), logs_of(other));
        let logs: Vec<f64> = ratio.by_round.iter().map(|one| one.ln()).collect();
        let (p, variance, n) = if logs.len() >= ENOUGH_TRIALS {
            // The logarithm of a ratio has the spread of both its sides.
            (paired_p(&logs), variance(&logs) / 2.0, logs.len())
        } else {
            let both = f64::midpoint(variance(&mine), variance(&other));
            (unpaired_p(&mine, &other), both, mine.len().min(other.len()))
        };
        let seen = could_have_seen(variance.sqrt(), n, 1);
        let verdict = Verdict::NotShown {
            could_have_seen: seen.max(settings.min_effect),
        };
        (verdict, Some(p))
    };
    let comparison = Comparison {
        of,
        to,
        ratio,
        verdict,
    };
    Some((comparison, p))
}

/// The smallest change that is found in four of five runs of `n` trials that spread so much, where so many
/// `questions` are asked at once and each stands alone.
pub(super) fn could_have_seen(spread: f64, n: usize, questions: usize) -> f64 {
    spread * (constant(questions) / (n as f64 - 2.0)).sqrt()
}

pub(super) fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (n - 1.0)
}

#[cfg(test)]
#[path = "comparison_tests.rs"]
mod tests;
