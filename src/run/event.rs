//! What happens in a run, as it happens. The runner tells it; the progress
//! display, the plain log and the JSON stream listen.

use crate::ids::{RunId, TrialId};
use crate::load::Progress;
use crate::record::{Counts, End, Outcome, Pilot};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Something that happened.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// A run begins, or goes on.
    RunStarted {
        /// The run.
        run: RunId,
        /// The suite's title.
        title: String,
        /// Its folder.
        folder: PathBuf,
        /// Trials of the plan.
        trials: usize,
        /// Of these, finished by an earlier session.
        finished: usize,
        /// Pilots that come before the trials that are left.
        pilots: usize,
        /// About how long the rest takes; with pilots the least that it can take.
        #[serde(rename = "estimated_ns", with = "crate::units::nanos")]
        estimated: Duration,
    },
    /// A cell cannot run on this machine.
    Skipped {
        /// Its names.
        cell: String,
        /// Why.
        reason: String,
        /// The line that mends it.
        install: Option<String>,
    },
    /// A revision is checked out.
    CheckedOut {
        /// As the suite calls it.
        revision: String,
        /// Its full commit.
        commit: String,
    },
    /// A server is made from its sources.
    BuildStarted {
        /// The commands.
        commands: Vec<String>,
    },
    /// A server had been made from the same sources before.
    BuildKept {
        /// The commands that were not run again.
        commands: Vec<String>,
    },
    /// Another run makes a runtime at this moment, and is waited for.
    RuntimeAwaited {
        /// Its name.
        name: String,
    },
    /// What the generator itself can do is measured, which it is once for a machine.
    CeilingStarted {
        /// The threads that make the load.
        threads: usize,
    },
    /// It could not be measured, or not be kept.
    CeilingUnknown {
        /// Why, in a sentence without its full stop.
        why: String,
    },
    /// Another round is wanted: the number of trials is found, or a budget has time left.
    RoundAdded {
        /// Its number, from 1.
        round: u32,
        /// The cells that have a trial in it.
        cells: usize,
        /// How many trials there are now in all.
        trials: usize,
    },
    /// Another round does not fit into the time that the run may take, so there is none.
    BudgetSpent {
        /// The rounds that were run.
        rounds: u32,
        /// How many trials there are in all.
        trials: usize,
    },
    /// A cell is loaded to see how long it has to be warmed up.
    PilotStarted {
        /// Its names.
        cell: String,
        /// Which of all pilots it is, from 1.
        number: usize,
        /// How many there are.
        pilots: usize,
        /// What can be seen of it while it runs.
        #[serde(skip)]
        live: Arc<Live>,
    },
    /// A pilot has ended and is on disk.
    PilotFinished {
        /// Which of all pilots it is, from 1.
        number: usize,
        /// How many there are.
        pilots: usize,
        /// What came of it.
        pilot: Pilot,
        /// About how long the rest takes, at the least.
        #[serde(rename = "left_ns", with = "crate::units::nanos")]
        left: Duration,
    },
    /// Every pilot has ended: so long are all cells warmed up that were to find it.
    WarmUpFound {
        /// The longest that a pilot found.
        #[serde(rename = "warmup_ns", with = "crate::units::nanos")]
        warmup: Duration,
        /// About how long the trials take with it.
        #[serde(rename = "left_ns", with = "crate::units::nanos")]
        left: Duration,
    },
    /// A trial begins.
    TrialStarted {
        /// The trial.
        trial: TrialId,
        /// Which of all it is, from 1.
        number: usize,
        /// How many there are.
        trials: usize,
        /// Trials of this cell.
        repetitions: u32,
        /// What can be seen of it while it runs.
        #[serde(skip)]
        live: Arc<Live>,
    },
    /// A trial has ended and is on disk.
    TrialFinished {
        /// The trial.
        trial: TrialId,
        /// Which of all it is, from 1.
        number: usize,
        /// How many there are.
        trials: usize,
        /// What came of it.
        outcome: Outcome,
        /// Successes a second.
        requests_per_second: Option<f64>,
        /// Service time.
        latency_p50_ns: Option<f64>,
        /// Service time.
        latency_p99_ns: Option<f64>,
        /// What was sent and how it ended.
        counts: Option<Counts>,
        /// Highest sum of RSS under load.
        rss_peak_bytes: Option<f64>,
        /// What a reader must know of it.
        warnings: Vec<String>,
        /// How long it took.
        took_ns: u64,
        /// About how long the rest takes.
        #[serde(rename = "left_ns", with = "crate::units::nanos")]
        left: Duration,
    },
    /// A service of the suite had to be killed.
    Killed {
        /// Which, in a sentence.
        what: String,
    },
    /// A cancelled trial has left something that could not be ended, or a run a folder that could not be removed.
    LeftBehind {
        /// What, in a sentence.
        what: String,
    },
    /// The run has ended.
    RunFinished {
        /// How.
        end: End,
    },
}

/// What a trial is doing right now, for display only: stored and read without
/// any order, since nothing is computed from it.
#[derive(Debug, Default)]
pub struct Live {
    step: AtomicU64,
    rss: AtomicU64,
    processes: AtomicU64,
    load: OnceLock<Arc<Progress>>,
}

const STEPS: [&str; 7] = [
    "starting",
    "verifying",
    "warming up",
    "searching",
    "measuring",
    "resting",
    "stopping",
];

impl Live {
    /// What the generator publishes, once it runs.
    pub fn load(&self) -> Option<&Progress> {
        self.load.get().map(Arc::as_ref)
    }

    pub(super) fn set_load(&self, progress: Arc<Progress>) {
        // A trial loads once.
        let _ = self.load.set(progress);
    }

    pub(super) fn set_step(&self, step: &str) {
        let at = STEPS.iter().position(|known| *known == step).unwrap_or(0);
        self.step.store(at as u64, Ordering::Relaxed);
    }

    pub(super) fn set_memory(&self, rss: u64, processes: u64) {
        self.rss.store(rss, Ordering::Relaxed);
        self.processes.store(processes, Ordering::Relaxed);
    }

    /// The step in a word or two.
    pub fn step(&self) -> &'static str {
        STEPS
            .get(self.step.load(Ordering::Relaxed) as usize)
            .unwrap_or(&"starting")
    }

    /// The last reading of the tree: sum of RSS in bytes, and processes.
    pub fn memory(&self) -> (u64, u64) {
        (
            self.rss.load(Ordering::Relaxed),
            self.processes.load(Ordering::Relaxed),
        )
    }
}
