//! Memory that grows with the requests that are served: its slope in bytes a request, and the peaks of two cells until
//! both had served as many.
//!
//! The slope of a trial is that of Theil and Sen through its readings of RSS against completed requests. The first quarter
//! of the measured phase is left out, in which caches fill and code is compiled. Readings of one trial are like their
//! neighbours, so a trial's own interval is widened by their autocorrelation. A memory that rises and falls fewer than about three
//! times in the measured phase, or that would settle later than this, cannot be told from one that grows.

use super::CellSummary;
use super::exact::{Interval, paired};
use super::figures::median;
use super::served::Served;
use super::summary::{ENOUGH_TRIALS, Ratio, Spread, Value, ratio};
use super::theil_sen::{inflation, slope, slope_alone};
use crate::record::Readings;
use crate::spec::Order;

/// With fewer readings behind the first quarter a trial has no slope.
const LEAST_READINGS: usize = 15;
/// More readings are thinned to so many, evenly: pairs grow with the square.
const MOST_READINGS: usize = 150;
/// The first 1 / so much of the readings is left out.
const SETTLING: usize = 4;
/// What adds no more than this share of the RSS over the measured phase is no growth to speak of.
const SHARE: f64 = 0.05;
/// The later half must rise by at least this share of the slope of all, or memory is about to settle.
const LATE: f64 = 0.5;

/// What the interval of a slope rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The slopes of the trials, from 6 on: their middle (Hodges–Lehmann) with the exact interval of the signed-rank test.
    Trials,
    /// The readings within trials: the median of the slopes, from the lowest to the highest end of the intervals of the
    /// single trials.
    Readings,
}

impl Basis {
    /// The basis as a word of JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Trials => "trials",
            Self::Readings => "readings",
        }
    }
}

/// How a cell's RSS changes with the requests that it serves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Bytes a request, with an interval of 95 %.
    pub slope: Interval,
    /// What the interval rests on.
    pub basis: Basis,
    /// Bytes that the slope makes over all requests of the measured phase; the median over trials.
    pub added: f64,
    /// The same as a share of the RSS at the beginning of that phase.
    pub share: f64,
    /// Whether requests were counted with the readings, in all trials; else they are taken as even over the measured
    /// phase.
    pub counted: bool,
    /// Requests that a trial had served at the end of its load, the warm-up included: its peak belongs to these. The
    /// median over trials.
    pub requests: f64,
    /// Whether it grows: the interval lies above 0, as in most trials their own does; it adds more than 5 % of the RSS;
    /// and the later half of the readings still rises at least half as fast as all.
    pub growing: bool,
}

/// How the memory of a cell changes, from its valid trials. None where one of them has too few readings or requests for a
/// slope.
pub fn growth(cell: &CellSummary<'_>, readings: &Readings) -> Option<Growth> {
    of_trials(&served(cell, readings)?)
}

/// The ratio of the memory of two cells.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryRatio {
    /// The ratio of peaks of RSS.
    pub ratio: Ratio,
    /// Where one of the two grows: the peaks are those until each trial had served so many requests, the warm-up
    /// included.
    pub at_requests: Option<u64>,
}

/// The peak RSS of `of` as a multiple of that of `to`. Where one of them `grows`, both peaks are taken until the smallest
/// number of requests that every valid trial of both had served, or a faster server would seem heavier.
pub fn memory_ratio(
    of: &CellSummary<'_>,
    to: &CellSummary<'_>,
    readings: &Readings,
    order: Order,
    grows: bool,
) -> Option<MemoryRatio> {
    if !grows {
        let (mine, other) = (of.metric("rss_peak")?, to.metric("rss_peak")?);
        return Some(MemoryRatio {
            ratio: ratio(&mine, &other, order)?,
            at_requests: None,
        });
    }
    let (mine, other) = (served(of, readings)?, served(to, readings)?);
    let all = mine.iter().chain(&other);
    let requests = all.map(|one| one.served.requests()).reduce(f64::min)?;
    Some(MemoryRatio {
        ratio: ratio(&peaks(&mine, requests)?, &peaks(&other, requests)?, order)?,
        at_requests: Some(requests as u64),
    })
}

/// A valid trial with what its readings say.
struct Seen {
    repetition: u32,
    round: u32,
    served: Served,
}

/// Every valid trial of a cell; none where one of them has no readings under load.
fn served(cell: &CellSummary<'_>, readings: &Readings) -> Option<Vec<Seen>> {
    let seen = cell.valid().map(|trial| {
        Some(Seen {
            repetition: trial.trial.repetition,
            round: trial.round,
            served: Served::of(trial, &readings.of(&trial.trial)?)?,
        })
    });
    seen.collect()
}

fn peaks(trials: &[Seen], requests: f64) -> Option<Spread> {
    let values: Option<Vec<Value>> = trials
        .iter()
        .map(|trial| {
            Some(Value {
                repetition: trial.repetition,
                round: trial.round,
                value: trial.served.peak_until(requests)?,
            })
        })
        .collect();
    Spread::of(values?)
}

fn of_trials(trials: &[Seen]) -> Option<Growth> {
    let fits: Vec<Fit> = trials
        .iter()
        .map(|trial| Fit::of(&trial.served))
        .collect::<Option<_>>()?;
    let middle = |read: fn(&Fit) -> f64| median(&fits.iter().map(read).collect::<Vec<_>>());
    let slopes: Vec<f64> = fits.iter().map(|fit| fit.slope.estimate).collect();
    let over_trials = (slopes.len() >= ENOUGH_TRIALS)
        .then(|| paired(&slopes))
        .flatten();
    let (slope, basis) = match over_trials {
        Some(interval) => (interval, Basis::Trials),
        None => (envelope(&fits, median(&slopes)?), Basis::Readings),
    };
    let (late, share) = (middle(|fit| fit.late)?, middle(|fit| fit.share)?);
    // Teeth of a saw of which two or three fit into each trial lean to the same side in all of them.
    let own_low = middle(|fit| fit.slope.low)?;
    let rises = slope.low > 0.0 && own_low > 0.0;
    let requests: Vec<f64> = trials.iter().map(|trial| trial.served.requests()).collect();
    Some(Growth {
        slope,
        basis,
        added: middle(|fit| fit.added)?,
        share,
        counted: trials.iter().all(|trial| trial.served.counted),
        requests: median(&requests)?,
        growing: rises && share > SHARE && late >= LATE * slope.estimate,
    })
}

/// From the lowest to the highest end: it excludes 0 where each interval does, all to the same side.
fn envelope(fits: &[Fit], estimate: f64) -> Interval {
    let ends = |read: fn(&Fit) -> f64| fits.iter().map(read);
    Interval {
        estimate,
        low: ends(|fit| fit.slope.low).fold(f64::INFINITY, f64::min),
        high: ends(|fit| fit.slope.high).fold(f64::NEG_INFINITY, f64::max),
    }
}

/// What a single trial says.
struct Fit {
    /// Bytes a request.
    slope: Interval,
    /// The slope of the later half alone.
    late: f64,
    /// Bytes over the measured phase.
    added: f64,
    /// The same as a share of the RSS at its beginning.
    share: f64,
}

impl Fit {
    fn of(served: &Served) -> Option<Self> {
        let (first, last) = (served.measured.first()?, served.measured.last()?);
        let settled = &served.measured[served.measured.len() / SETTLING..];
        if settled.len() < LEAST_READINGS || first.rss <= 0.0 {
            return None;
        }
        let points: Vec<(f64, f64)> = thinned(settled.len())
            .map(|at| (settled[at].requests, settled[at].rss))
            .collect();
        let plain = slope_alone(&points)?;
        let slope = slope(&points, inflation(&points, plain))?;
        let added = slope.estimate * last.requests;
        Some(Self {
            slope,
            late: slope_alone(&points[points.len() / 2..])?,
            added,
            share: added / first.rss,
        })
    }
}

/// The places of at most [`MOST_READINGS`] of so many readings, evenly, the first and the last among them.
fn thinned(readings: usize) -> impl Iterator<Item = usize> {
    let kept = readings.min(MOST_READINGS);
    (0..kept).map(move |at| at * (readings - 1) / (kept - 1).max(1))
}

#[cfg(test)]
#[path = "growth_tests.rs"]
mod tests;
