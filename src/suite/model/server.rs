//! What is started and what it stands on: servers, processes, services, runtimes, tools.

use super::{At, Command, Template};
use std::time::Duration;

/// `[tools.NAME]`.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The program.
    pub name: String,
    /// The command that prints its version.
    pub probe: Option<Vec<String>>,
    /// The line that installs it.
    pub install: Option<String>,
}

/// `[runtimes.NAME]`.
#[derive(Debug, Clone)]
pub struct Runtime {
    /// Its name, at its header.
    pub name: At<String>,
    /// Its versions.
    pub versions: Vec<At<String>>,
    /// What must be there to build it.
    pub requires: Vec<At<Requirement>>,
    /// What makes it.
    pub build: Option<At<Vec<Command>>>,
    /// Where its program may be.
    pub bin: Vec<Template>,
    /// What prints its version.
    pub probe: Option<Command>,
}

/// A server, or the defaults of all.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name, at its header.
    pub name: At<String>,
    /// How people see it.
    pub label: String,
    /// Its keys, which are the defaults of its processes.
    pub keys: ServerKeys,
    /// The process that is loaded.
    pub front: Option<At<String>>,
    /// Where it already runs, instead of being started.
    pub url: Option<At<String>>,
    /// Its processes; none where the server is one.
    pub processes: Vec<Process>,
}

/// `[servers.NAME.processes.NAME]`, and what a setting says of a process.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its name, at its header.
    pub name: At<String>,
    /// What it sets itself; the server's keys are not laid under yet.
    pub keys: ServerKeys,
    /// How many of it are started.
    pub count: Option<At<u32>>,
}

/// `[services.NAME]`.
#[derive(Debug, Clone)]
pub struct Service {
    /// Its name, at its header.
    pub name: At<String>,
    /// How people see it.
    pub label: String,
    /// Its keys.
    pub keys: ServerKeys,
    /// Commands before each start.
    pub setup: Vec<Command>,
    /// How long it lives.
    pub scope: Scope,
}

/// How long a service lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// As long as the run.
    Suite,
    /// As long as a trial.
    Trial,
}

/// What a process's folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scratch {
    /// Its `cwd`, with an empty scratch folder beside.
    None,
    /// A copy of its `cwd`.
    Copy,
}

/// The keys of a server, process or service; a toggle's value sets some of them too.
#[derive(Debug, Clone, Default)]
pub struct ServerKeys {
    /// Where it runs.
    pub cwd: Option<Template>,
    /// The runtime that `{{ runtime }}` stands for.
    pub runtime: Option<Template>,
    /// What must be there.
    pub requires: Option<Vec<At<Requirement>>>,
    /// What makes it.
    pub build: Option<At<Vec<Command>>>,
    /// What decides whether an earlier build serves.
    pub build_inputs: Option<Vec<At<String>>>,
    /// When making it has hung.
    pub build_timeout: Option<Duration>,
    /// What starts it.
    pub command: Option<Command>,
    /// Its environment.
    pub env: Vec<(At<String>, Template)>,
    /// What is taken out of its environment.
    pub unset_env: Option<Vec<At<String>>>,
    /// Variables of the caller that it gets.
    pub pass_env: Option<Vec<At<String>>>,
    /// Variables whose values are never recorded.
    pub secret: Option<Vec<At<String>>>,
    /// Files that are rendered into its scratch folder: name there, source in `cwd`.
    pub files: Vec<(At<String>, Template)>,
    /// What its folder is.
    pub scratch: Option<At<Scratch>>,
    /// Commands between ready and load.
    pub prepare: Option<At<Vec<Command>>>,
    /// What must be ready before it.
    pub needs: Option<Vec<At<String>>>,
    /// Its fixed port.
    pub port: Option<u16>,
    /// The address that it listens on.
    pub address: Option<String>,
    /// The path of the Unix-domain socket that it listens on instead.
    pub socket: Option<Template>,
    /// When it is ready.
    pub ready: ReadyKeys,
    /// How it is asked to end.
    pub stop_signal: Option<String>,
    /// How long that may take.
    pub stop_grace: Option<Duration>,
    /// What prints its version.
    pub probe: Option<Command>,
}

/// `ready`.
#[derive(Debug, Clone, Default)]
pub struct ReadyKeys {
    /// What tells it.
    pub way: Option<At<ReadyWay>>,
    /// What must be answered.
    pub status: Option<At<u16>>,
    /// When it is given up.
    pub timeout: Option<At<Duration>>,
}

/// What tells that something is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadyWay {
    /// A request for this path is answered.
    Path(Template),
    /// A command succeeds.
    Command(Command),
    /// Its port takes a connection.
    Tcp,
    /// It prints a text.
    Log(Template),
}

/// A requirement as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// `node >= 18`
    Tool {
        /// The program.
        name: String,
        /// The least version.
        at_least: Option<String>,
    },
    /// `env NAME`
    Env(String),
    /// `./data.json`
    File(String),
}
