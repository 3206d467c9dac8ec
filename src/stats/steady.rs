//! Whether the measured phase of a valid trial was steady: its beginning is cut off where that makes the mean most certain
//! (MSER), and its halves are compared.

use super::limits::{DIFFER, unsteady, whole_seconds};
use crate::record::{Load, Outcome, Trial};
use crate::spec::LoadSpec;

/// A beginning that is as far from the rest as so many standard errors is not chance. The cut is where the beginning looks
/// most unlike the rest, so that this is more than a single comparison would need.
const STANDARD_ERRORS: f64 = 6.0;

/// What the whole seconds of a measured phase look like. With steady seconds that spread by 2 to 5 % at most 1 % of
/// trials are called anything but steady; the tests below prove it by simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steadiness {
    /// Nothing beyond chance.
    Steady,
    /// Its beginning was slower than the rest.
    Warming(Beginning),
    /// Its beginning was faster than the rest.
    Fading(Beginning),
    /// Its halves differ by this share of their mean.
    Unsteady(f64),
}

/// The beginning of a measured phase that is unlike the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beginning {
    /// How long it is, in whole seconds.
    pub seconds: usize,
    /// By which share of the rest's rate its own differs.
    pub apart: f64,
    /// By which share of the figure the rest's rate differs from it.
    pub shift: f64,
}

impl Steadiness {
    /// The word for it in files: `steady`, `warming`, `unsteady`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Warming(_) => "warming",
            Self::Fading(_) | Self::Unsteady(_) => "unsteady",
        }
    }

    /// How bad it is, beside others.
    fn rank(self) -> u8 {
        match self {
            Self::Steady => 0,
            Self::Warming(_) => 1,
            Self::Fading(_) | Self::Unsteady(_) => 2,
        }
    }
}

/// What a load looks like; none where there is too little to look at: fewer than 10 whole seconds, several rounds, or
/// a generator that does not tell seconds.
pub fn steadiness(load: &Load, work: &LoadSpec) -> Option<Steadiness> {
    let seconds = whole_seconds(load, work)?;
    if let Some(beginning) = beginning(seconds) {
        return Some(if beginning.shift > 0.0 {
            Steadiness::Warming(beginning)
        } else {
            Steadiness::Fading(beginning)
        });
    }
    Some(unsteady(load, work).map_or(Steadiness::Steady, Steadiness::Unsteady))
}

/// The same for a trial; none where it is not valid.
pub fn steadiness_of(trial: &Trial, work: &LoadSpec) -> Option<Steadiness> {
    if trial.outcome != Outcome::Valid {
        return None;
    }
    steadiness(trial.load.as_ref()?, work)
}

/// The worst that any of these trials looks like.
pub fn least_steady<'t>(
    trials: impl Iterator<Item = &'t Trial>,
    work: &LoadSpec,
) -> Option<Steadiness> {
    trials
        .filter_map(|trial| steadiness_of(trial, work))
        .max_by_key(|seen| seen.rank())
}

/// The beginning that MSER cuts off, where the mean of the rest differs from the whole mean by more than 2 %, and from the
/// beginning's by more than 6 standard errors.
fn beginning(seconds: &[u64]) -> Option<Beginning> {
    let cut = truncation(seconds);
    if cut == 0 {
        return None;
    }
    let (first, rest) = seconds.split_at(cut);
    let (whole, before, after) = (mean(seconds), mean(first), mean(rest));
    if whole <= 0.0 || after <= 0.0 {
        return None;
    }
    let shift = after / whole - 1.0;
    let variance = squares(rest, after) / (rest.len() as f64 - 1.0);
    let error = (variance * (1.0 / first.len() as f64 + 1.0 / rest.len() as f64)).sqrt();
    let unlike = shift.abs() > DIFFER && (after - before).abs() > STANDARD_ERRORS * error;
    unlike.then(|| Beginning {
        seconds: cut,
        apart: (before / after - 1.0).abs(),
        shift,
    })
}

/// How many of n values to leave out at the beginning: the d ≤ n/2 that makes Σ (x − mean)² / (n − d)² of the rest least, the
/// marginal standard error rule (MSER; K. P. White, "An effective truncation heuristic for bias reduction in
/// simulation output", Simulation 69, 1997).
fn truncation(values: &[u64]) -> usize {
    let score = |cut: usize| {
        let rest = &values[cut..];
        squares(rest, mean(rest)) / (rest.len() as f64).powi(2)
    };
    (0..=values.len() / 2)
        .map(|cut| (cut, score(cut)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or(0, |(cut, _)| cut)
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len() as f64
}

/// The sum of squares about a mean.
fn squares(values: &[u64], mean: f64) -> f64 {
    values.iter().map(|x| (*x as f64 - mean).powi(2)).sum()
}

#[cfg(test)]
#[path = "steady_tests.rs"]
mod tests;
