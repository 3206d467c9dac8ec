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
    /// The share of `cpu_seconds` that the one process had which used most; none where all of them used too
    /// little for shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_cpu_share: Option<f64>,
    /// Processes of which each used at least 5 % of `cpu_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_processes: Option<u32>,
    /// Processes among which the work could be divided; of single roles only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<Workers>,
    /// Whether it is left out of `total`: what servers lean on, such as a database.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
}

/// Processes that stand beside each other: children of one parent, or several of one role. Where a tree has
/// more than one such group, the one that used most CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Workers {
    /// How many there were after the load.
    pub processes: u32,
    /// The share that the busiest had of their CPU time in the measured phase.
    pub busiest_share: f64,
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
    /// Requests that had succeeded in the measured phase until then, in all of its rounds; from its beginning on.
    /// None where nobody counted along: before the phase, under another generator, and in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<u64>,
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
