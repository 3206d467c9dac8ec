//! What is to be done, fully resolved: every cell with its commands,
//! environment, request, load and readiness, every skip with its reason.
//! A spec is data only. It is written into the run's record, so a run can be
//! resumed and its report made again without the suite file. Paths are relative
//! to the suite's folder, and what is known only when a process starts
//! (its port, its scratch folder) is left symbolic in [`Text`].

mod text;

pub use text::{Fill, Symbol, Text};

use crate::ids::{CellId, TrialId, VariantId};
use crate::units::nanos;
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
    /// What must be on the machine.
    pub requires: Vec<Requirement>,
    /// Commands that are run before the first trial, in `processes[0].cwd`.
    pub builds: Vec<Build>,
    /// What is started. The one that listens is [`Cell::front`].
    pub processes: Vec<ProcessSpec>,
    /// The role of the process that is loaded.
    pub front: String,
    /// When the server counts as ready.
    pub ready: Ready,
    /// The load.
    pub work: LoadSpec,
    /// How many trials it has.
    pub repetitions: u32,
    /// When a trial has hung.
    #[serde(rename = "trial_timeout_ns", with = "nanos")]
    pub trial_timeout: Duration,
    /// The command that tells the version of what is measured.
    pub probe: Option<Vec<String>>,
    /// Why it cannot run on this machine, where that is so.
    pub skip: Option<Skip>,
}

impl Cell {
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

/// Why a cell does not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// What is missing.
    pub reason: String,
    /// The line that mends it, where one is known.
    pub install: Option<String>,
}

/// Something that must be on the machine, checked before anything starts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Requirement {
    /// A program on the PATH, perhaps in a version at least this.
    Tool {
        /// The program's name.
        name: String,
        /// The least version, dotted numbers.
        at_least: Option<String>,
        /// The command that prints its version.
        probe: Vec<String>,
        /// The line that installs it.
        install: Option<String>,
    },
    /// An environment variable that is set and not empty.
    Env {
        /// Its name.
        name: String,
    },
    /// A file, relative to the suite's folder.
    File {
        /// Its path.
        path: String,
    },
}

impl Requirement {
    /// The requirement as a suite writes it.
    pub fn text(&self) -> String {
        match self {
            Self::Tool {
                name,
                at_least: Some(version),
                ..
            } => format!("{name} >= {version}"),
            Self::Tool { name, .. } => name.clone(),
            Self::Env { name } => format!("env {name}"),
            Self::File { path } => path.clone(),
        }
    }
}

/// A list of commands that make a server ready to be started. It is run once
/// for all the cells in which it is the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Build {
    /// Where it runs, relative to the suite's folder.
    pub cwd: String,
    /// The commands, split into arguments.
    pub commands: Vec<Vec<String>>,
    /// When it has hung.
    #[serde(rename = "timeout_ns", with = "nanos")]
    pub timeout: Duration,
}

/// One process that a cell starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessSpec {
    /// Its name within the server; `server` where there is only one.
    pub role: String,
    /// The program and its arguments.
    pub command: Vec<Text>,
    /// Where it runs, relative to the suite's folder.
    pub cwd: Text,
    /// What the suite sets. PATH, HOME, LANG and TMPDIR come from the caller,
    /// PORT is always set, and nothing else is inherited.
    pub env: Vec<(String, Text)>,
    /// Which of the four inherited variables, and of those that the suite set, are taken away.
    pub unset_env: Vec<String>,
    /// The address that it listens on, and that will be loaded.
    pub address: String,
    /// A fixed port; none is an automatic one.
    pub port: Option<u16>,
    /// How it is asked to end.
    pub stop: StopPolicy,
}

/// How a process is asked to end, and how long it may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopPolicy {
    /// The signal's name, such as `SIGTERM`.
    pub signal: String,
    /// After this its whole tree is killed.
    #[serde(rename = "grace_ns", with = "nanos")]
    pub grace: Duration,
}

/// When a server counts as ready: a request to the address that will be loaded
/// gets this status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The path that is asked for.
    pub path: Text,
    /// The status that is waited for. None takes any answer but 502, 503 and
    /// 504, which a server gives while it still starts.
    pub status: Option<u16>,
    /// When it is given up.
    #[serde(rename = "timeout_ns", with = "nanos")]
    pub timeout: Duration,
}

/// What is sent, how much of it, and what must come back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSpec {
    /// The request.
    pub request: Request,
    /// What a response must be like to count.
    pub expect: Expect,
    /// Connections of the closed loop; each has one request in flight.
    pub connections: u32,
    /// How much is sent.
    pub amount: Amount,
    /// Load before the measured phase, on the same connections.
    #[serde(rename = "warmup_ns", with = "nanos")]
    pub warmup: Duration,
    /// After this a request has failed, and the longest that the drain waits.
    #[serde(rename = "timeout_ns", with = "nanos")]
    pub timeout: Duration,
    /// Whether a connection carries more than one request.
    pub keep_alive: bool,
}

/// How much load a trial makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// New requests are begun for this long.
    #[serde(rename = "duration_ns", with = "nanos")]
    Duration(Duration),
    /// Exactly this many requests are sent.
    Requests(u64),
}

/// One HTTP request, as bytes of the suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Such as `GET`.
    pub method: String,
    /// The request target, byte for byte as the suite writes it.
    pub path: Text,
    /// In the order and case of the suite. Host and Content-Length are added where they are missing.
    pub headers: Vec<(String, Text)>,
    /// The body; none sends none.
    pub body: Option<String>,
}

/// What a response must be like. Names of headers are in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// The status.
    pub status: u16,
    /// The whole body, after decoding of its content-encoding.
    pub body: Option<String>,
    /// Words in the decoded body.
    pub contains: Option<String>,
    /// The least size of the decoded body, in bytes.
    pub min_size: Option<u64>,
    /// Headers that must be there, with this value.
    pub headers: Vec<(String, String)>,
    /// Headers that must not be there.
    pub no_headers: Vec<String>,
}

impl Default for Expect {
    fn default() -> Self {
        Self {
            status: 200,
            body: None,
            contains: None,
            min_size: None,
            headers: Vec::new(),
            no_headers: Vec::new(),
        }
    }
}

/// One trial in the order of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The trial.
    pub trial: TrialId,
    /// Its round, from 1: trials of one round are compared with each other.
    pub round: u32,
}
