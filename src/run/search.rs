//! The search for the highest rate that holds: steps at one rate after the other in one server process, and the measured phase
//! at the rate that was found.

use crate::generator::Made;
use crate::load::{self, Control, Job, Target, Verified};
use crate::record::{Load, Search, SearchStep};
use crate::spec::{Amount, Cell, LoadSpec, Pace, SearchLimit};
use crate::stats::{Seek, Turn, broken};
use crate::store::{RunFolder, StoreError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A step lasts at least so long,
const STEP: Duration = Duration::from_secs(10);
/// and long enough for so many requests, but no longer than the measured phase.
const REQUESTS: f64 = 2000.0;
/// A step that a short measured phase would make shorter than this many requests take says nothing of one in a hundred.
const LEAST_REQUESTS: f64 = 100.0;

/// A search that is to be made.
pub(super) struct Quest {
    /// The load, which says how long the measured phase is.
    pub(super) work: LoadSpec,
    /// What an earlier trial of the cell found.
    pub(super) earlier: Option<f64>,
    /// Where within the width of a result it begins, from 0 to 1.
    pub(super) chance: f64,
    /// The pause between two steps.
    pub(super) pause: Duration,
}

/// What the last trial of a cell found that searched for the highest rate: the next one begins there.
pub(super) fn found_before(cell: &Cell, records: &RunFolder) -> Result<Option<f64>, StoreError> {
    if !matches!(cell.work.pace, Some(Pace::Search(_))) {
        return Ok(None);
    }
    let trials = records.trials()?;
    let mut own = trials
        .iter()
        .rev()
        .filter(|trial| trial.trial.cell == cell.id);
    Ok(own.find_map(|trial| trial.load.as_ref()?.capacity()))
}

impl Quest {
    /// Searches, and measures what was found. `searching` is true as long as nothing counts.
    pub(super) fn run(
        &self,
        job: &Job,
        verified: &Verified,
        target: &Target,
        control: &Control,
        searching: &AtomicBool,
    ) -> Result<Made, String> {
        let whole = |load| Made {
            load,
            notes: Vec::new(),
        };
        let limits = match &self.work.pace {
            Some(Pace::Search(limits)) => limits.as_slice(),
            _ => &[],
        };
        let mut found = Found {
            quest: self,
            limits,
            job: job.clone(),
            steps: Vec::new(),
            limited: false,
        };
        let mut seek = Seek::from(self.earlier, self.chance);
        let mut notes = Vec::new();
        loop {
            match seek.turn() {
                Turn::Try(rate) => {
                    let step = self.step(rate);
                    let (mut load, mut held) =
                        found.attempt(rate, step, verified, target, control)?;
                    if !held && !control.is_cancelled() {
                        // A moment's stall must not decide a search.
                        (load, held) = found.attempt(rate, step, verified, target, control)?;
                    }
                    if control.is_cancelled() {
                        return Ok(whole(load));
                    }
                    seek.told(rate, held);
                }
                Turn::GiveUp => return Err(found.nothing()),
                Turn::Confirm(_) => break,
            }
        }
        searching.store(false, Ordering::Relaxed);
        while let Some(rate) = seek.may_confirm() {
            let length = self.work.length().max(self.step(rate));
            let (mut load, held) = found.attempt(rate, length, verified, target, control)?;
            if held || control.is_cancelled() {
                load.search = Some(Box::new(Search {
                    held: rate,
                    failed: seek.failed(),
                    limited: found.limited,
                    steps: found.steps,
                }));
                return Ok(Made { load, notes });
            }
            notes.push(format!(
                "what {rate} requests/s held in the search did not hold when it was measured, so memory and CPU are those of more than \
                 one measured phase"
            ));
            seek.unconfirmed(rate);
        }
        Err(found.nothing())
    }

    fn step(&self, rate: f64) -> Duration {
        let of =
            |requests: f64| Duration::try_from_secs_f64(requests / rate).unwrap_or(Duration::MAX);
        let usual = of(REQUESTS).max(STEP).min(self.work.length());
        usual.max(of(LEAST_REQUESTS).min(STEP))
    }
}

/// What a search has seen so far.
struct Found<'q> {
    quest: &'q Quest,
    limits: &'q [SearchLimit],
    job: Job,
    steps: Vec<SearchStep>,
    /// Whether the lowest rate that did not hold failed by the generator's doing.
    limited: bool,
}

impl Found<'_> {
    /// Loads the server at one rate. Gives what was seen and whether all held.
    fn attempt(
        &mut self,
        rate: f64,
        time: Duration,
        verified: &Verified,
        target: &Target,
        control: &Control,
    ) -> Result<(Load, bool), String> {
        if !self.steps.is_empty() {
            std::thread::sleep(self.quest.pause);
        }
        let work = LoadSpec {
            pace: Some(Pace::Rate(rate)),
            amount: Amount::Duration(time),
            ..self.quest.work.clone()
        };
        let job = self.job.clone().paced_as(&work);
        let load = load::run(&job, verified, target, control).map_err(|error| error.to_string())?;
        // Only the first step finds a cold server.
        self.job = self.job.clone().without_warm_up();
        let broke = broken(&load, &work, self.limits);
        let held = broke.is_none();
        if let Some((_, by_generator)) = &broke {
            self.limited = *by_generator;
        }
        self.steps.push(SearchStep {
            rate,
            achieved: load.requests_per_second().unwrap_or(0.0),
            broke: broke.map(|(what, _)| what),
        });
        Ok((load, held))
    }

    fn nothing(&self) -> String {
        nothing(&self.steps)
    }
}

/// Why a search ended without a rate: the lowest that was tried, and what did not hold there at last.
fn nothing(steps: &[SearchStep]) -> String {
    let failed = steps.iter().filter(|step| step.broke.is_some());
    let lowest = failed
        .rev()
        .min_by(|one, other| one.rate.total_cmp(&other.rate));
    match lowest.and_then(|step| Some((step.rate, step.broke.as_ref()?))) {
        Some((rate, broke)) => format!(
            "no rate of at least {rate}/s holds what the search asks for: at {rate}/s {broke}"
        ),
        None => "no rate holds what the search asks for".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_without_a_rate_says_why() {
        let step = |rate: f64, broke: Option<&str>| SearchStep {
            rate,
            achieved: rate,
            broke: broke.map(str::to_owned),
        };
        let steps = [
            step(100.0, Some("a queue grew")),
            step(1.0, Some("latency_p99 was 3.0 s")),
            step(1.0, Some("latency_p99 was 2.0 s")),
        ];
        assert_eq!(
            nothing(&steps),
            "no rate of at least 1/s holds what the search asks for: at 1/s latency_p99 was 2.0 s"
        );
        // Of a rate that held and was not confirmed the failure is told.
        let steps = [step(50.0, None), step(50.0, Some("a queue grew"))];
        assert!(nothing(&steps).ends_with("at 50/s a queue grew"));
        assert_eq!(nothing(&[]), "no rate holds what the search asks for");
    }
}
