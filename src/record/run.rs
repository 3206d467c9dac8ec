//! `run.json`: the suite and what it resolved to, the machine, the sessions that
//! worked on the run, and how it ended.

use super::Outcome;
use crate::ids::{CellId, RunId};
use crate::spec::{Planned, Spec};
use crate::units::{nanos, optional_nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// `run.json`: what was to be done, on what machine, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The version of the files, [`super::FORMAT`].
    pub format: u32,
    /// The run.
    pub id: RunId,
    /// The suite file.
    pub suite: SuiteFile,
    /// What it resolved to, with skips.
    pub spec: Spec,
    /// The trials in their order.
    pub plan: Vec<Planned>,
    /// The `--only` and `--skip` that narrowed it; such a run is never published as the suite's.
    pub selection: Vec<String>,
    /// The machine.
    pub host: Host,
    /// What each tool and server said of its version, by the name of the tool or server.
    pub versions: BTreeMap<String, String>,
    /// The pilots that looked for the length of the warm-up, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pilots: Vec<Pilot>,
    /// The length that the pilots found, which all cells have that were to find one; none before the last pilot.
    #[serde(
        rename = "warmup_ns",
        with = "optional_nanos",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub warmup: Option<Duration>,
    /// What the built-in generator can send on this machine at all, by the number of its threads; empty where it was not
    /// measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<Ceiling>,
    /// The invocations that worked on this run: the first, then each `--resume`.
    pub sessions: Vec<Session>,
    /// How it ended; none while it runs, or after its runner was killed.
    pub end: Option<End>,
}

/// A server that was loaded once, before all trials, to see when it settles. Nothing of it is in any figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pilot {
    /// The cell.
    pub cell: CellId,
    /// The length of a window.
    #[serde(rename = "window_ns", with = "nanos")]
    pub window: Duration,
    /// Successes a second in each window, from the beginning of the load.
    pub per_second: Vec<f64>,
    /// Whether two neighbouring windows were alike.
    pub settled: bool,
    /// The warm-up that this cell needs; none where the pilot failed.
    #[serde(
        rename = "warmup_ns",
        with = "optional_nanos",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub warmup: Option<Duration>,
    /// What came of it.
    pub outcome: Outcome,
    /// How long it took, from the first process to the proof that all are gone.
    pub took_ns: u64,
}

/// What the built-in generator can send on a machine at all: a closed loop with the null server at its other end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Threads that made the load.
    pub threads: usize,
    /// Connections that they had, all together.
    pub connections: u32,
    /// Successes a second.
    pub requests_per_second: f64,
    /// CPU time of these threads as a share of the time that they had. Far below 1 the null server, or a lack of
    /// processors, was the limit, and the generator alone could send more.
    pub cpu_share: Option<f64>,
    /// When it was measured, RFC 3339 in UTC. A label.
    pub measured: String,
}

/// From this share of its threads' time on, the generator was the slower end.
const FULL: f64 = 0.90;

impl Ceiling {
    /// Whether the generator was the limit, so that it is its own ceiling; else it is that of the null server.
    pub fn is_of_the_generator(&self) -> bool {
        self.cpu_share.is_some_and(|share| share >= FULL)
    }
}

/// The suite file of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteFile {
    /// Its path relative to the folder that holds `reports`, or as it was given.
    pub path: String,
    /// SHA-256 of its text, hexadecimal.
    pub sha256: String,
    /// Its text.
    pub text: String,
}

/// One invocation that worked on a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// When it began, RFC 3339 in UTC. A label: durations never come from it.
    pub started: String,
    /// The version of hotlap.
    pub hotlap: String,
    /// Revision of the suite's repository, `-dirty` where it had changes.
    pub revision: Option<String>,
    /// SHA-256 of what it measured, hexadecimal: the commit that lies in the repository of the suite and of its
    /// servers, with what has changed there since, but for the reports. None where it could not be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<String>,
    /// Load average over one minute when it began.
    pub load_average: Option<f64>,
    /// The machine, as it was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// What it found odd about the files that it went on with, and mended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Every planned trial has a record.
    Complete,
    /// A person or the system stopped it.
    Interrupted,
    /// It was given up (`--fail-fast`, no space left).
    Aborted,
}

/// The machine, as hotlap found it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Processor model.
    pub cpu: Option<String>,
    /// Processors that this process may use, after affinity and quota.
    pub cpus: usize,
    /// Processors of the machine.
    pub cpus_online: usize,
    /// Memory of the machine, in bytes.
    pub memory_bytes: Option<u64>,
    /// `Linux 6.1.0 x86_64`.
    pub kernel: Option<String>,
    /// The distribution's name for itself.
    pub system: Option<String>,
    /// The frequency governor, where there is one.
    pub governor: Option<String>,
    /// Whether this is a virtual machine, where that can be seen.
    pub virtualized: Option<bool>,
}
