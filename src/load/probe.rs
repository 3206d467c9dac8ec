//! The parts of a generator thread as a benchmark sees them: a recorder with one success after the other, and a schedule with one
//! request after the other.

use super::recorder::Recorder;
use super::schedule::Schedule;
use crate::spec::{Amount, Arrivals, LoadSpec, Pace};
use std::time::{Duration, Instant};

/// Counts successes as a generator thread does.
pub struct Probe {
    recorder: Recorder,
    start: Instant,
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probe").finish_non_exhaustive()
    }
}

impl Default for Probe {
    fn default() -> Self {
        Self::new()
    }
}

impl Probe {
    /// A recorder of a load of 10 s that measures.
    pub fn new() -> Self {
        let start = Instant::now();
        let mut recorder = Recorder::new(Duration::from_secs(10), Some(10), &[], None);
        recorder.measure(start);
        Self { recorder, start }
    }

    /// A request that ended `at` this time of the load and took so long: all that is counted of it.
    pub fn success(&mut self, at: Duration, took: Duration) {
        let now = self.start + at + took;
        self.recorder.begin();
        self.recorder.status(200);
        self.recorder.success(self.start + at, None, now, 4);
    }

    /// Successes so far.
    pub fn succeeded(&self) -> u64 {
        self.recorder.tally().0
    }
}

/// When the requests of an open loop at 1000 a second are due, one after the other and for days: nanoseconds from its beginning.
pub fn schedule(arrivals: Arrivals) -> impl Iterator<Item = u128> {
    let work = LoadSpec {
        pace: Some(Pace::Rate(1000.0)),
        amount: Amount::Duration(Duration::from_hours(240)),
        arrivals,
        ..LoadSpec::default()
    };
    let part = Schedule::of(&work, 1).map(|schedule| schedule.part(0, 1, Instant::now()));
    part.into_iter().flatten().map(|due| due.after.as_nanos())
}
