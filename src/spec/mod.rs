//! What is to be done, fully resolved: every cell with its commands,
//! environment, request, load and readiness, every skip with its reason.
//! A spec is data only. It is written into the run's record, so a run can be
//! resumed and its report made again without the suite file. Paths are relative
//! to the suite's folder, and what is known only when a process starts
//! (its port, its scratch folder) is left symbolic in [`Text`].

mod address;
mod gate;
mod load;
mod process;
mod text;

pub use address::{Address, LONGEST_SOCKET_PATH};
pub use gate::{Bound, Figure, Limit, Published};
pub use load::{
    Amount, Arrivals, Expect, FileRef, Http, LoadSpec, MixRequest, Pace, Request, SearchLimit,
    Stage, Tls,
};
pub use process::{
    Build, ProcessSpec, Ready, ReadyBy, Requirement, Runtime, Scope, Service, Skip, StopPolicy,
};
pub use text::{Fill, Piece, Symbol, Text};

use crate::ids::{CellId, TrialId, VariantId};
use crate::units::{nanos, optional_nanos};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A whole suite, resolved for one profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The suite's name: its file's stem, by which its reports are filed.
    pub suite: String,
    /// The title of its report.
    pub title: String,
    /// What it asks, in Markdown.
    pub description: Option<String>,
    /// The profile that shaped this spec; none is the default.
    pub profile: Option<String>,
    /// How the run is done.
    pub run: RunSettings,
    /// The axes in file order: first the servers, then the toggles, then the loads.
    pub axes: Vec<Axis>,
    /// The runtimes that cells use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runtimes: Vec<Runtime>,
    /// The services that cells need, each before those that need it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<Service>,
    /// The reports whose figures stand beside those of cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// Every cell, in file order. Also those that are skipped.
    pub cells: Vec<Cell>,
}

impl Spec {
    /// Whether another cell is compared with this one.
    pub fn is_baseline(&self, cell: &Cell) -> bool {
        self.cells
            .iter()
            .any(|other| other.baseline.as_ref() == Some(&cell.id))
    }

    /// The cell with this id.
    pub fn cell(&self, id: &CellId) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.id == *id)
    }
}

/// One dimension of the matrix, for reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// `server`, `load`, or the toggle's name.
    pub name: String,
    /// What it may be, in file order, as (name, label).
    pub values: Vec<(String, String)>,
}

/// The suite's `[run]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// Trials of each cell, unless its load says otherwise.
    pub repetitions: u32,
    /// The order of trials.
    pub order: Order,
    /// Where the shuffle starts; recorded, so the order can be had again.
    pub seed: u64,
    /// Pause between two trials.
    #[serde(rename = "cooldown_ns", with = "nanos")]
    pub cooldown: Duration,
    /// Wait after the load before the last memory reading.
    #[serde(rename = "rest_ns", with = "nanos")]
    pub rest: Duration,
    /// Between two readings of a process tree.
    #[serde(rename = "sample_interval_ns", with = "nanos")]
    pub sample_interval: Duration,
    /// A trial with a larger share of errors is invalid.
    pub max_errors: f64,
    /// Whether addresses that are neither loopback nor private may be loaded.
    pub allow_public: bool,
    /// Whether trials are added until the intervals are narrow enough; `repetitions` is then the most.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto: bool,
    /// The half width of an interval that is narrow enough, a share of 1.
    #[serde(default = "two_per_cent", skip_serializing_if = "is_two_per_cent")]
    pub target: f64,
    /// The smallest change that is called one, a share of 1.
    #[serde(default = "two_per_cent", skip_serializing_if = "is_two_per_cent")]
    pub min_effect: f64,
    /// The longest warm-up that pilots may find.
    #[serde(
        rename = "max_warmup_ns",
        with = "nanos",
        default = "a_minute",
        skip_serializing_if = "is_a_minute"
    )]
    pub max_warmup: Duration,
    /// The time that the whole run may take.
    #[serde(
        rename = "budget_ns",
        with = "optional_nanos",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub budget: Option<Duration>,
    /// CPUs of servers and of the generator; none is found for the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuShares>,
}

fn two_per_cent() -> f64 {
    0.02
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_two_per_cent(share: &f64) -> bool {
    share.total_cmp(&two_per_cent()).is_eq()
}

fn a_minute() -> Duration {
    Duration::from_mins(1)
}

fn is_a_minute(duration: &Duration) -> bool {
    *duration == a_minute()
}

/// The longest window of a pilot.
const LONGEST_WINDOW: Duration = Duration::from_secs(5);
/// A pilot has at least so many windows.
const LEAST_WINDOWS: u32 = 4;

impl RunSettings {
    /// How long a window of a pilot is: 5 s, or a quarter of `max_warmup` where that is less. A server has settled when two
    /// neighbouring windows are alike, so this is also the shortest warm-up that is found.
    pub fn warmup_window(&self) -> Duration {
        LONGEST_WINDOW.min(self.max_warmup / LEAST_WINDOWS)
    }

    /// The most windows that a pilot has: as many as `max_warmup` holds.
    pub fn warmup_windows(&self) -> u32 {
        let window = self.warmup_window().as_nanos().max(1);
        u32::try_from(self.max_warmup.as_nanos() / window).unwrap_or(u32::MAX)
    }
}

/// How many CPUs each side gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuShares {
    /// Of a server's processes; none is what is left.
    pub server: Option<u32>,
    /// Of the load generator; none is what is left.
    pub generator: Option<u32>,
}

impl Default for RunSettings {
    /// What a suite gets that says nothing, with the seed 1.
    fn default() -> Self {
        Self {
            repetitions: 10,
            order: Order::Shuffled,
            seed: 1,
            cooldown: Duration::from_secs(1),
            rest: Duration::from_secs(5),
            sample_interval: Duration::from_millis(100),
            max_errors: 0.001,
            allow_public: false,
            auto: false,
            target: two_per_cent(),
            min_effect: two_per_cent(),
            max_warmup: a_minute(),
            budget: None,
            cpus: None,
        }
    }
}

/// In which order the trials run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Rounds; each runs every cell once, in a fresh random order.
    Shuffled,
    /// Rounds; each runs every cell once, in file order.
    Sequential,
    /// All trials in one random order.
    Random,
}

/// One row of the report: a variant under a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Its names and the hash of everything below that could change a figure.
    pub id: CellId,
    /// The server with its toggles.
    pub variant: VariantId,
    /// The server's name.
    pub server: String,
    /// How people see the server.
    pub server_label: String,
    /// One value of each toggle that applies, in file order.
    pub toggles: Vec<Choice>,
    /// The load's name.
    pub load: String,
    /// How people see the load.
    pub load_label: String,
    /// The cell that its ratios refer to; none for the baseline itself.
    pub baseline: Option<CellId>,
    /// The revision of the repository that it is built from; none is what lies there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Text>,
    /// The full commit that the revision was when the run began. Of a cell without one, in a run that names
    /// revisions elsewhere: the commit that lay there, with `-dirty` behind it where tracked files had changes. None
    /// where nobody has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What must be on the machine.
    pub requires: Vec<Requirement>,
    /// Commands that are run before the first trial.
    pub builds: Vec<Build>,
    /// The services that it needs, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
    /// Where it already runs; then nothing is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What is started. The one that listens is [`Cell::front`].
    pub processes: Vec<ProcessSpec>,
    /// The role of the process that is loaded.
    pub front: String,
    /// When the server counts as ready.
    pub ready: Ready,
    /// Commands that are run in each trial between ready and load, in the front's `cwd`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Vec<Text>>,
    /// The load.
    pub work: LoadSpec,
    /// How many trials it has; with `auto` the most.
    pub repetitions: u32,
    /// Whether trials are added until its intervals are narrow enough.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto: bool,
    /// When a trial has hung.
    #[serde(rename = "trial_timeout_ns", with = "nanos")]
    pub trial_timeout: Duration,
    /// The command that tells the version of what is measured.
    pub probe: Option<Vec<String>>,
    /// The limits that it is held to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Limit>,
    /// What others published of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Figure>,
    /// Why it cannot run on this machine, where that is so.
    pub skip: Option<Skip>,
}

/// A command as people read it, its symbols as a suite writes them.
pub fn line(words: &[Text]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    words.join(" ")
}

/// What stands in the place of a revision for what lies in the working tree.
pub const WORKTREE: &str = "worktree";
/// What stands behind the commit of a working tree whose tracked files have changes.
pub const DIRTY: &str = "-dirty";

/// A commit as people read it: its first seven digits, `-dirty` behind them where it was so before.
pub fn short_commit(commit: &str) -> String {
    let (commit, dirty) = match commit.strip_suffix(DIRTY) {
        Some(commit) => (commit, DIRTY),
        None => (commit, ""),
    };
    format!("{}{dirty}", commit.get(..7).unwrap_or(commit))
}

impl Cell {
    /// Whether both are made from one revision: the same commit, without changes. None where it is not known, or
    /// where no revision tells them apart.
    pub fn is_same_revision(&self, other: &Self) -> Option<bool> {
        if self.revision == other.revision {
            return None;
        }
        let (own, others) = self.commit.as_ref().zip(other.commit.as_ref())?;
        Some(own == others && !own.ends_with(DIRTY))
    }

    /// The process that is loaded.
    pub fn front_process(&self) -> Option<&ProcessSpec> {
        self.processes
            .iter()
            .find(|process| process.role == self.front)
    }
}

/// The value that one toggle has in a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The toggle's name.
    pub toggle: String,
    /// The value's name.
    pub value: String,
    /// How people see the value.
    pub label: String,
}

/// One trial in the order of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The trial.
    pub trial: TrialId,
    /// Its round, from 1: trials of one round are compared with each other.
    pub round: u32,
}
