//! What is started and what it needs: requirements, runtimes, builds, processes, services.

use super::Text;
use crate::units::nanos;
use serde::{Deserialize, Serialize};
use std::time::Duration;

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
    /// The revision of the repository, as its full commit where that is known; none is what lies there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Text>,
    /// The runtime that `{{ runtime }}` stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Where it runs, relative to the suite's folder.
    pub cwd: String,
    /// The commands, split into arguments.
    pub commands: Vec<Vec<Text>>,
    /// What decides whether an earlier build serves; none is all of `cwd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<String>>,
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
    /// The path of the Unix-domain socket that it listens on, and that will be loaded instead of its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<Text>,
    /// How it is asked to end.
    pub stop: StopPolicy,
    /// The runtime that `{{ runtime }}` stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Variables of the caller that it gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// Variables whose values are never recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret: Vec<String>,
    /// Files that are rendered into its scratch folder: name there, source in `cwd`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<(String, Text)>,
    /// Whether its scratch folder is a copy of `cwd`, and it runs there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copy: bool,
    /// Processes of the same server, and services, that must be ready before it starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// How many of it are started.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// When it counts as ready, where it is not the one that is loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// Commands that are run after it is ready, in `cwd`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Vec<Text>>,
}

pub(super) fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(super) fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Default for ProcessSpec {
    /// The only process of a server that says nothing; its command is still to come.
    fn default() -> Self {
        Self {
            role: "server".to_owned(),
            command: Vec::new(),
            cwd: Text::literal("."),
            env: Vec::new(),
            unset_env: Vec::new(),
            address: "127.0.0.1".to_owned(),
            port: None,
            socket: None,
            stop: StopPolicy::default(),
            runtime: None,
            pass_env: Vec::new(),
            secret: Vec::new(),
            files: Vec::new(),
            copy: false,
            needs: Vec::new(),
            count: 1,
            ready: None,
            prepare: Vec::new(),
        }
    }
}

impl Default for StopPolicy {
    fn default() -> Self {
        Self {
            signal: "SIGTERM".to_owned(),
            grace: Duration::from_secs(5),
        }
    }
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
    /// What tells it instead of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<ReadyBy>,
    /// When it is given up.
    #[serde(rename = "timeout_ns", with = "nanos")]
    pub timeout: Duration,
}

/// What tells that something is ready, where it is not a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadyBy {
    /// A command succeeds.
    Command(Vec<Text>),
    /// Its port takes a connection.
    Tcp,
    /// It prints a text.
    Log(Text),
}

/// One version of a runtime, built once into a folder of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// `NAME-VERSION`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What must be on the machine to build it.
    pub requires: Vec<Requirement>,
    /// What makes it.
    pub build: Vec<Vec<Text>>,
    /// Where its program may be; the first that exists.
    pub bin: Vec<Text>,
    /// The command that prints its version.
    pub probe: Option<Vec<Text>>,
}

/// What servers lean on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// How people see it.
    pub label: String,
    /// How long it lives.
    pub scope: Scope,
    /// What must be on the machine.
    pub requires: Vec<Requirement>,
    /// What makes it.
    pub builds: Vec<Build>,
    /// Commands before each start, in its `cwd`.
    pub setup: Vec<Vec<Text>>,
    /// What is started; its role is the service's name.
    pub process: ProcessSpec,
    /// The command that prints its version.
    pub probe: Option<Vec<Text>>,
}

/// How long a service lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// As long as the run.
    Suite,
    /// As long as a trial.
    Trial,
}
