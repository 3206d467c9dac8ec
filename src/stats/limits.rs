//! What bounds a valid trial's figure: a generator at its limit, and a load that had not yet settled.

use super::validity::idle;
use crate::record::Load;
use crate::record::OpenLoop;
use crate::spec::{LoadSpec, Pace};

/// With fewer whole seconds two halves say too little.
const ENOUGH_SECONDS: usize = 10;
/// From this share of its threads' time on, the generator is the limit.
const GENERATOR_FULL: f64 = 0.90;
/// Where more requests than this share fail, a generator that was idle or late says nothing.
const MANY_FAIL: f64 = 0.01;
/// In an open loop it is where more of its sends than this share are late,
const LATE_SHARE: f64 = 0.01;
/// of at least so many.
const ENOUGH_SENDS: u64 = 100;
/// An open loop whose successes are a smaller share of what was offered was too much for the server.
const SUSTAINED: f64 = 0.99;
/// And so was one that left more of what was due in its second half without an end,
const GROWING: f64 = 0.02;
/// if these are more than so many,
const LEAST_GROWN: f64 = 10.0;
/// and more than chance: so many standard deviations.
const STANDARD_DEVIATIONS: f64 = 4.0;
/// Parts of the measured phase that differ by less are alike,
pub(super) const DIFFER: f64 = 0.02;
/// and so are halves that differ by fewer standard errors.
const STANDARD_ERRORS: f64 = 3.0;
/// The fewer seconds, the less certain are the standard errors themselves: with n seconds it takes 1 + 4/n times as many.
/// That is within 4 % of the quantile of Student's t with n − 2 degrees of freedom that 3 is of the normal law.
const OF_FEW_SECONDS: f64 = 4.0;

/// By what the generator was the limit, so that the server's figure is a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Its threads used at least 90 % of the CPU time that they could have.
    Cpu,
    /// Its connections were idle for more than a tenth of the time: it was late with its requests.
    Idle,
    /// In an open loop: it sent more than one request in a hundred more than a millisecond late, though there was a connection.
    Late,
    /// In a search it could not offer more than what held: the lowest rate that did not hold failed with a generator that was late or had
    /// no CPU time left.
    Search,
}

/// Whether a generator at its limit spoils the figure of this metric: of a start and of an idle server there is no load yet.
pub fn is_made_under_load(metric: &str) -> bool {
    !matches!(metric, "startup" | "rss_idle" | "pss_idle")
}

/// By what the generator was the limit of a trial; none where it was not.
pub fn limit(load: &Load, work: &LoadSpec) -> Option<Limit> {
    let whole = load.generator_threads as f64 * load.window_ns as f64;
    let used = load.generator_cpu_ns.unwrap_or(0) as f64;
    if whole > 0.0 && used >= GENERATOR_FULL * whole {
        return Some(Limit::Cpu);
    }
    if load.search.as_ref().is_some_and(|search| search.limited) {
        return Some(Limit::Search);
    }
    // Whoever waits after a failed connect is idle, rightly.
    if load.counts.error_share().unwrap_or(0.0) > MANY_FAIL {
        return None;
    }
    match &load.open {
        Some(open) => late(open).then_some(Limit::Late),
        None => idle(load, work).then_some(Limit::Idle),
    }
}

/// Whether so many requests of a schedule were late by the generator's doing.
fn late(open: &OpenLoop) -> bool {
    let in_time = open.lag.as_ref().map_or(0, |lag| lag.count);
    in_time >= ENOUGH_SENDS && open.late as f64 > LATE_SHARE * in_time as f64
}

/// A load that did not get what its schedule offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unsustained {
    /// Requests per second that were to be sent.
    pub offered: f64,
    /// Successes per second; where a queue grew, requests that ended per second.
    pub achieved: f64,
    /// What most of the others met with.
    pub by: Shortfall,
}

/// Why a rate was not sustained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortfall {
    /// Requests that were due were never sent, since every connection was busy.
    Unsent,
    /// Requests failed.
    Failed,
    /// More and more requests waited for their response.
    Queue,
}

/// That less than 99 % of an open loop's requests were answered well; or that at the end of a constant rate more were due and had not
/// ended than half-way: by 2 % of what was due in the second half, by 4 standard deviations of the difference of two Poisson numbers,
/// and by 10 requests. Such a load's latencies are those of a queue that grew, and longer loads would have longer ones.
pub fn unsustained(load: &Load) -> Option<Unsustained> {
    let (offered, open) = (load.offered_per_second()?, load.open.as_ref()?);
    let counts = load.counts;
    if counts.planned == 0 {
        return None;
    }
    let answered = counts.succeeded as f64 / counts.planned.max(1) as f64;
    if answered < SUSTAINED {
        return Some(Unsustained {
            offered,
            achieved: offered * answered,
            by: if counts.unsent > counts.errors() {
                Shortfall::Unsent
            } else {
                Shortfall::Failed
            },
        });
    }
    // Stages may ask for more and more.
    if !open.stages.is_empty() {
        return None;
    }
    let due = open.second_half_due as f64;
    let ended = open.second_half_ended as f64;
    let first = counts.planned.saturating_sub(open.second_half_due);
    let halfway = first as f64 - open.first_half_ended as f64;
    let grew = due - ended;
    let chance = STANDARD_DEVIATIONS * (2.0 * halfway + grew).max(0.0).sqrt();
    let half = open.schedule_ns as f64 / 2e9;
    (grew > (GROWING * due).max(chance).max(LEAST_GROWN)).then(|| Unsustained {
        offered: due / half,
        achieved: ended / half,
        by: Shortfall::Queue,
    })
}

/// Successes in each whole second of a measured phase; none where that is too little to be judged: fewer than 10 seconds,
/// several rounds, or stages.
pub(super) fn whole_seconds<'l>(load: &'l Load, work: &LoadSpec) -> Option<&'l [u64]> {
    // Between two rounds there is a pause, and each ends in a part of a second.
    if load.rounds.len() > 1 {
        return None;
    }
    // Stages are not meant to be alike.
    if matches!(work.pace, Some(Pace::Stages(_))) {
        return None;
    }
    let lasted = match work.ends() {
        Some(planned) => planned.as_secs(),
        None => load.window_ns / 1_000_000_000,
    };
    let whole = load.per_second.len().min(lasted as usize);
    load.per_second
        .get(..whole)
        .filter(|seconds| seconds.len() >= ENOUGH_SECONDS)
}

/// By which share of the mean the halves of the measured phase differ, where that is more than 2 % and
/// more than 3 standard errors of the difference (more where there are few seconds): the load was in no steady state. Looks
/// at whole seconds of a single round, and only where there are at least 10; of an odd number the middle one is left out.
pub(super) fn unsteady(load: &Load, work: &LoadSpec) -> Option<f64> {
    let seconds = whole_seconds(load, work)?;
    let (whole, half) = (seconds.len(), seconds.len() / 2);
    let (first, first_var) = moments(&seconds[..half]);
    let (second, second_var) = moments(&seconds[whole - half..]);
    let middle = f64::midpoint(first, second);
    let apart = (second - first).abs();
    let error = ((first_var + second_var) / half as f64).sqrt();
    let errors = STANDARD_ERRORS * (1.0 + OF_FEW_SECONDS / whole as f64);
    let differ = apart > DIFFER * middle && apart > errors * error;
    differ.then(|| apart / middle)
}

/// Mean and variance.
fn moments(counts: &[u64]) -> (f64, f64) {
    let n = counts.len() as f64;
    let mean = counts.iter().sum::<u64>() as f64 / n;
    let squares: f64 = counts.iter().map(|c| (*c as f64 - mean).powi(2)).sum();
    (mean, squares / (n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Amount;
    use std::time::Duration;

    fn work(amount: Amount) -> LoadSpec {
        LoadSpec {
            connections: 1,
            amount,
            warmup: Duration::ZERO,
            timeout: Duration::from_secs(10),
            ..LoadSpec::default()
        }
    }

    fn seconds(per_second: &[u64]) -> Load {
        Load {
            window_ns: per_second.len() as u64 * 1_000_000_000,
            per_second: per_second.to_vec(),
            ..Load::default()
        }
    }

    /// A load at 100/s for 10 s, of which so many were waiting half-way and at the end.
    fn waiting(halfway: u64, end: u64) -> Load {
        Load {
            window_ns: 10_500_000_000,
            counts: crate::record::Counts {
                planned: 1000,
                sent: 1000,
                succeeded: 1000,
                ..crate::record::Counts::default()
            },
            open: Some(Box::new(OpenLoop {
                schedule_ns: 10_000_000_000,
                second_half_due: 500,
                first_half_ended: 500 - halfway,
                second_half_ended: 500 + halfway - end,
                ..OpenLoop::default()
            })),
            ..Load::default()
        }
    }

    #[test]
    fn a_queue_that_grows_is_no_sustained_rate_and_a_slow_server_is_one() {
        assert_eq!(unsustained(&waiting(0, 2)), None);
        // Every response takes a second: a hundred are always under way, give or take.
        assert_eq!(unsustained(&waiting(100, 115)), None);
        let queue = unsustained(&waiting(30, 90)).unwrap();
        assert_eq!(queue.by, Shortfall::Queue);
        assert!((queue.achieved - 88.0).abs() < 1e-9, "{queue:?}");
        let mut failing = waiting(0, 0);
        failing.counts.succeeded = 980;
        failing.counts.failed = 20;
        assert_eq!(unsustained(&failing).unwrap().by, Shortfall::Failed);
        failing.counts.failed = 0;
        failing.counts.unsent = 20;
        assert_eq!(unsustained(&failing).unwrap().by, Shortfall::Unsent);
    }

    #[test]
    fn a_generator_with_no_time_left_is_the_limit() {
        let mut load = seconds(&[1; 10]);
        load.generator_threads = 2;
        let ten = work(Amount::Duration(Duration::from_secs(10)));
        assert_eq!(limit(&load, &ten), None);
        load.generator_cpu_ns = Some(17_900_000_000);
        assert_eq!(limit(&load, &ten), None);
        load.generator_cpu_ns = Some(18_000_000_000);
        assert_eq!(limit(&load, &ten), Some(Limit::Cpu));
    }

    #[test]
    fn halves_that_differ_beyond_noise_are_no_steady_state() {
        let ten = work(Amount::Duration(Duration::from_secs(10)));
        let step = seconds(&[90, 91, 89, 90, 90, 100, 101, 99, 100, 100]);
        let apart = unsteady(&step, &ten).unwrap();
        assert!((apart - 10.0 / 95.0).abs() < 1e-9, "{apart}");
        // As far apart, but within the noise.
        let noisy = seconds(&[60, 120, 89, 40, 141, 100, 61, 139, 60, 140]);
        assert_eq!(unsteady(&noisy, &ten), None);
        let alike = seconds(&[100, 100, 100, 100, 100, 101, 101, 101, 101, 101]);
        assert_eq!(unsteady(&alike, &ten), None);
    }

    #[test]
    fn parts_of_a_second_and_short_loads_are_not_judged() {
        let step = seconds(&[90, 90, 90, 90, 90, 100, 100, 100, 100, 100]);
        let shorter = work(Amount::Duration(Duration::from_millis(9900)));
        assert_eq!(unsteady(&step, &shorter), None);
        // The eleventh is a part of a second.
        let whole = seconds(&[100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 5]);
        let work = work(Amount::Duration(Duration::from_millis(10_050)));
        assert_eq!(unsteady(&whole, &work), None);
    }
}
