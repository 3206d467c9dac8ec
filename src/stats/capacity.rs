//! The search for the highest rate that holds: which rate to try next, and what a step says.

use super::limits::{Limit, Shortfall, limit, unsustained};
use crate::record::{Load, Trial, Unit, metric, unit};
use crate::spec::{Bound, LoadSpec, SearchLimit};
use crate::units::{show_number, show_seconds};
use crate::{ids::TrialId, record::Histogram};

/// Where a search begins that knows nothing, in requests per second.
const FIRST: f64 = 100.0;
/// It goes up and down by this factor until one rate holds and another does not,
const STRIDE: f64 = 2.0;
/// or by this one where it begins at what an earlier trial found.
const SHORT_STRIDE: f64 = 1.05;
/// It ends where the highest rate that holds and the lowest that does not are so close.
const CLOSE: f64 = 1.02;
/// What is left of a rate that does not hold when it is tried again.
const STEP_DOWN: f64 = 0.95;
/// So often what was found is measured, each time at less, before there is no more reason to think that anything holds for so long.
const CONFIRMATIONS: u32 = 8;
/// Lower rates are not tried, in requests per second,
const LEAST: f64 = 1.0;
/// nor higher ones.
const MOST: f64 = 1e7;
/// A request in a thousand may fail where the suite says nothing of errors.
const ERRORS: f64 = 0.001;

/// A search that is under way: rates are doubled (or halved) until one holds and another does not, and then the middle of the two,
/// as a ratio, is tried until they are within 2 % of each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Seek {
    stride: f64,
    next: f64,
    held: Option<f64>,
    failed: Option<f64>,
    /// Whether it went down by the whole stride, and that did not hold either.
    halved: bool,
    /// Confirmations that are left.
    left: u32,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Turn {
    /// Try this rate.
    Try(f64),
    /// Confirm this one; it held, if a rate was tried at all.
    Confirm(f64),
    /// No rate holds.
    GiveUp,
}

impl Seek {
    /// A search that begins at a rate that an earlier one found, where there was one.
    /// `chance`, from 0 to 1, moves the beginning within the width that the result will have, so that results of several
    /// searches do not all lie on the same steps.
    pub fn from(earlier: Option<f64>, chance: f64) -> Self {
        Self {
            stride: earlier.map_or(STRIDE, |_| SHORT_STRIDE),
            next: rounded(earlier.unwrap_or(FIRST) * CLOSE.powf(chance - 0.5)),
            held: None,
            failed: None,
            halved: false,
            left: CONFIRMATIONS,
        }
    }

    /// What to do next.
    pub fn turn(&self) -> Turn {
        match (self.held, self.failed) {
            (Some(held), Some(failed)) if failed / held <= CLOSE => Turn::Confirm(held),
            (Some(held), None) if self.next > MOST => Turn::Confirm(held),
            (None, _) if self.next < LEAST => Turn::GiveUp,
            _ => Turn::Try(self.next),
        }
    }

    /// Whether the rate that was tried held.
    pub fn told(&mut self, rate: f64, held: bool) {
        if held {
            self.held = Some(self.held.map_or(rate, |before| before.max(rate)));
        } else {
            self.failed = Some(self.failed.map_or(rate, |before| before.min(rate)));
        }
        self.next = rounded(match (self.held, self.failed) {
            (Some(held), Some(failed)) => (held * failed).sqrt(),
            (Some(held), None) => held * self.longer_stride(),
            // What holds neither at half the rate may hold at none: that is seen at the lowest one.
            (None, Some(failed)) if failed > LEAST && self.halved => LEAST,
            (None, Some(failed)) if failed > LEAST => (failed / self.longer_stride()).max(LEAST),
            (None, Some(failed)) => failed / self.stride,
            (None, None) => self.next,
        });
    }

    /// This stride; the next one is longer, up to doubling, for what an earlier trial found may be far away.
    fn longer_stride(&mut self) -> f64 {
        let stride = self.stride;
        self.halved = self.held.is_none() && self.failed.is_some() && stride >= STRIDE;
        self.stride = stride.powi(2).min(STRIDE);
        stride
    }

    /// What was to be confirmed did not hold: something less may.
    pub fn unconfirmed(&mut self, rate: f64) {
        self.failed = Some(rate);
        let less = rounded(rate * STEP_DOWN);
        self.left = self.left.saturating_sub(1);
        self.held = (less >= LEAST && self.left > 0).then_some(less);
        self.next = less;
    }

    /// Whether there is a rate left to confirm after one was not.
    pub fn may_confirm(&self) -> Option<f64> {
        self.held
    }

    /// The lowest rate that did not hold.
    pub fn failed(&self) -> Option<f64> {
        self.failed
    }
}

/// Four digits are enough for whoever reads it.
fn rounded(rate: f64) -> f64 {
    let whole_digits = rate.max(f64::MIN_POSITIVE).log10().floor() as i32 + 1;
    let unit = 10_f64.powi((4 - whole_digits).abs());
    // Dividing by a whole power of ten gives the number that is written so.
    if whole_digits < 4 {
        (rate * unit).round() / unit
    } else {
        (rate / unit).round() * unit
    }
}

/// What does not hold of a step, in words, and whether that may be the generator's doing; none where all holds. A generator that
/// was late and a server that held all the same is no failure, since what waited for the generator is in the response times.
pub fn broken(load: &Load, work: &LoadSpec, limits: &[SearchLimit]) -> Option<(String, bool)> {
    let what = failing(load, limits)
        .or_else(|| slow(load))
        .or_else(|| limits.iter().find_map(|limit| over(load, limit)))?;
    Some(match limit(load, work) {
        None => (what, false),
        Some(Limit::Cpu) => (format!("{what}; the generator had no CPU time left"), true),
        Some(Limit::Idle | Limit::Late | Limit::Search) => (
            format!("{what}; the generator sent its requests late"),
            true,
        ),
    })
}

fn failing(load: &Load, limits: &[SearchLimit]) -> Option<String> {
    let share = load.counts.error_share().unwrap_or(1.0);
    let most = limits.iter().find(|limit| limit.metric == "errors");
    let allowed = match most.map(|limit| limit.max) {
        Some(Bound::Share(share)) => share,
        Some(Bound::Value(count)) => count / (load.counts.sent as f64).max(1.0),
        None => ERRORS,
    };
    (share > allowed).then(|| format!("{} % of requests failed", show_number(share * 100.0, 2)))
}

fn slow(load: &Load) -> Option<String> {
    let slow = unsustained(load)?;
    let achieved = show_number(slow.achieved, 4);
    Some(match slow.by {
        Shortfall::Queue => "a queue grew".to_owned(),
        Shortfall::Unsent | Shortfall::Failed => {
            format!("only {achieved} requests/s were answered")
        }
    })
}

fn over(load: &Load, limit: &SearchLimit) -> Option<String> {
    let Bound::Value(most) = limit.max else {
        return None;
    };
    let got = figure(&limit.metric, load).filter(|_| limit.metric != "errors")?;
    (got > most).then(|| format!("{} was {}", limit.metric, shown(&limit.metric, got)))
}

/// A figure of a step. Of a short one percentiles are taken too that a report would not show.
fn figure(name: &str, load: &Load) -> Option<f64> {
    let open = load.open.as_ref()?;
    let (family, part) = name.split_once('_')?;
    let times: Option<&Histogram> = match family {
        "service" => load.service.as_ref(),
        _ => open.response.as_ref(),
    };
    let share = match part {
        "p50" => 0.5,
        "p90" => 0.9,
        "p95" => 0.95,
        "p99" => 0.99,
        "p99_9" => 0.999,
        _ => return whole(name, load),
    };
    let live = times?.load().ok()?;
    Some(live.value_at_quantile(share) as f64)
}

/// A figure that needs no least number of requests.
fn whole(name: &str, load: &Load) -> Option<f64> {
    let id = TrialId {
        cell: crate::ids::CellId(String::new()),
        repetition: 1,
    };
    let mut trial = Trial::new(id, 1, 0);
    trial.load = Some(load.clone());
    metric(name)?.of(&trial)
}

fn shown(name: &str, value: f64) -> String {
    match unit(name) {
        Some(Unit::Nanoseconds) => show_seconds(value / 1e9),
        _ => show_number(value, 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a server that holds up to `capacity`; gives what it found and how many steps it took.
    fn search(capacity: f64, earlier: Option<f64>) -> (Option<(f64, Option<f64>)>, usize) {
        search_from(capacity, earlier, 0.5)
    }

    fn search_from(
        capacity: f64,
        earlier: Option<f64>,
        chance: f64,
    ) -> (Option<(f64, Option<f64>)>, usize) {
        let mut seek = Seek::from(earlier, chance);
        for steps in 0..100 {
            match seek.turn() {
                Turn::Try(rate) => seek.told(rate, rate <= capacity),
                Turn::Confirm(held) => return (Some((held, seek.failed())), steps),
                Turn::GiveUp => return (None, steps),
            }
        }
        panic!("a search without end");
    }

    #[test]
    fn the_highest_rate_is_found_within_2_percent() {
        for capacity in [1.0, 7.3, 99.0, 100.0, 3217.0, 48_000.0, 1_234_567.0] {
            for earlier in [None, Some(capacity * 0.9), Some(capacity * 1.2)] {
                let (found, steps) = search(capacity, earlier.map(|rate: f64| rate.max(1.0)));
                let (held, failed) = found.unwrap();
                assert!(
                    held <= capacity && capacity < failed.unwrap(),
                    "{capacity}: {found:?}"
                );
                assert!(failed.unwrap() / held <= CLOSE, "{capacity}: {found:?}");
                assert!(steps <= 24, "{capacity} {earlier:?}: {steps} steps");
            }
        }
    }

    #[test]
    fn rates_have_four_digits() {
        for (rate, text) in [
            (70.710_678, "70.71"),
            (1_234_567.0, "1235000"),
            (1.23456, "1.235"),
            (9999.6, "10000"),
        ] {
            assert_eq!(rounded(rate).to_string(), text);
        }
    }

    /// Where each search begins at another point, what several of them find lies evenly within the width of a result, and their
    /// mean is half of it below the truth, whatever that is.
    #[test]
    fn results_of_several_searches_do_not_lie_on_the_same_steps() {
        let mut rng = fastrand::Rng::with_seed(5);
        for capacity in [1003.0, 1009.0, 1015.0, 4321.0] {
            let mut earlier = None;
            let mut sum = 0.0;
            for _ in 0..400 {
                let (found, _) = search_from(capacity, earlier, rng.f64());
                let held = found.unwrap().0;
                sum += (held / capacity).ln();
                earlier = Some(held);
            }
            let mean = sum / 400.0;
            assert!((-0.0145..-0.0035).contains(&mean), "{capacity}: {mean}");
        }
    }

    #[test]
    fn what_an_earlier_trial_found_may_be_far_away() {
        let (found, steps) = search(50_000.0, Some(395.7));
        assert!(found.unwrap().0 > 48_000.0);
        assert!(steps < 24, "{steps} steps");
    }

    #[test]
    fn an_earlier_result_saves_steps() {
        assert!(search(5000.0, Some(4900.0)).1 < 7);
        assert!(search(5000.0, None).1 > 10);
    }

    #[test]
    fn what_holds_nothing_or_everything_ends_too() {
        assert_eq!(search(0.1, None).0, None);
        let (held, failed) = search(1e12, None).0.unwrap();
        assert!(held > MOST / 4.0);
        assert_eq!(failed, None);
    }

    #[test]
    fn where_nothing_holds_the_lowest_rate_is_tried_soon() {
        let mut seek = Seek::from(None, 0.5);
        let mut rates = Vec::new();
        while let Turn::Try(rate) = seek.turn() {
            rates.push(rate);
            seek.told(rate, false);
        }
        assert_eq!(rates, [100.0, 50.0, LEAST]);
        assert_eq!(seek.turn(), Turn::GiveUp);
    }

    #[test]
    fn what_is_never_confirmed_ends() {
        let mut seek = Seek::from(None, 0.5);
        seek.told(100.0, true);
        let mut rates = Vec::new();
        while let Some(rate) = seek.may_confirm() {
            rates.push(rate);
            seek.unconfirmed(rate);
        }
        assert_eq!(rates.len(), 8);
        assert!((69.0..71.0).contains(rates.last().unwrap()), "{rates:?}");
    }

    #[test]
    fn what_is_not_confirmed_is_tried_5_percent_lower() {
        let mut seek = Seek::from(None, 0.5);
        seek.told(100.0, true);
        seek.unconfirmed(100.0);
        assert_eq!(seek.may_confirm(), Some(95.0));
        assert_eq!(seek.failed(), Some(100.0));
        seek.unconfirmed(1.01);
        assert_eq!(seek.may_confirm(), None);
    }
}
