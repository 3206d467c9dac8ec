//! What process trees used: figures of a trial, and the single readings from
//! which they come.

use serde::{Deserialize, Serialize};

/// What a process tree used. Memory in bytes, CPU in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Sum of RSS after readiness, before the load.
    pub rss_idle: Option<u64>,
    /// Mean of the sum of RSS over time in the measured phase; the drain, in which the last responses are
    /// waited for, belongs to it.
    pub rss_mean: Option<u64>,
    /// Highest sum of RSS in the measured phase.
    pub rss_peak: Option<u64>,
    /// Sum of RSS after the load and the rest.
    pub rss_after: Option<u64>,
    /// Sum of PSS after readiness.
    pub pss_idle: Option<u64>,
    /// Sum of PSS right after the load.
    pub pss_loaded: Option<u64>,
    /// Sum of PSS after the load and the rest.
    pub pss_after: Option<u64>,
    /// Sum of each process's own highest RSS (`VmHWM`), of the processes that live at the last reading: an upper
    /// bound of their peak together, while those that ended before are missing.
    pub rss_high_water: Option<u64>,
    /// CPU time in the measured phase, of children that ended as well.
    pub cpu_seconds: Option<f64>,
    /// Most processes at once.
    pub processes: u32,
    /// Most threads at once.
    pub threads: u32,
    /// Distinct processes over the whole trial.
    pub pids_seen: u32,
    /// CPU time that the sampler itself used in the measured phase.
    pub sampler_cpu_seconds: Option<f64>,
}

/// One row of `samples.csv`: one reading of the processes of one role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// From the start of the trial's first process.
    pub t_ns: u64,
    /// In which phase of the trial.
    pub phase: Phase,
    /// The role.
    pub role: String,
    /// Sum of RSS.
    pub rss_bytes: u64,
    /// Sum of PSS, at checkpoints only.
    pub pss_bytes: Option<u64>,
    /// CPU time of the tree so far, ended children included.
    pub cpu_seconds: f64,
    /// Processes.
    pub processes: u32,
    /// Threads.
    pub threads: u32,
}

/// The phases of a trial in which readings are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// From the first process to readiness.
    Start,
    /// Ready, not loaded.
    Idle,
    /// Loaded, not measured.
    Warmup,
    /// Loaded and measured.
    Measure,
    /// After the load.
    Rest,
}
