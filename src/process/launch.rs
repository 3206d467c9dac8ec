//! What is started, how it ended, and the lines in which the runner and a
//! guard talk: orders go to the guard's standard input, reports come from its
//! standard output, one JSON value a line. The end of the orders is the end of
//! the runner.

use super::scratch::Keep;
use super::signal::signal_name;
use super::tree::ProcessId;
use crate::units::nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// A process to start, with everything that it gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// What the process is for, such as `server`; a name for people.
    pub role: String,
    /// The program and its arguments. A program without a slash is looked for
    /// on the PATH of `env`, one with a slash relative to `cwd`.
    pub command: Vec<String>,
    /// The whole environment: nothing else is inherited.
    pub env: Vec<(String, String)>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// The file for what it prints, both streams in the order in which they were written.
    pub log: PathBuf,
    /// The most bytes kept of `log`, and of `stdout`: the head and the tail, a
    /// note in the middle says how many are left out.
    pub log_cap: u64,
    /// A file of its own for standard output, which then is not in `log`.
    #[serde(default)]
    pub stdout: Option<PathBuf>,
    /// The signal that asks it to end, such as `SIGTERM`.
    pub stop_signal: String,
    /// How long the whole tree may take to end after the signal.
    #[serde(rename = "grace_ns", with = "nanos")]
    pub grace: Duration,
    /// The limit of open files, soft and hard; none is the runner's own.
    pub nofile: Option<u64>,
    /// The processors it may use; none is those of the thread that starts it.
    pub affinity: Option<Vec<usize>>,
    /// Where the guard says that it lives, until all its processes are gone.
    pub ledger: Option<PathBuf>,
    /// The command as it is shown, where that is not what is run: without secrets, say.
    #[serde(default)]
    pub shown: Option<String>,
    /// Texts that are taken out of what it prints.
    #[serde(default)]
    pub secrets: Vec<String>,
}

impl Launch {
    /// The bytes of output that are kept unless a caller has a reason for another number.
    pub const LOG_CAP: u64 = 1 << 20;

    /// The command as a person would type it, for messages and files.
    pub fn command_line(&self) -> String {
        self.shown
            .clone()
            .unwrap_or_else(|| shell_words::join(&self.command))
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// It exited with this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// Its guard was killed, so that nobody saw its end.
    Unseen,
}

impl Exit {
    /// Whether it exited with 0.
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exited with {code}"),
            Self::Signal(number) => write!(f, "killed by {}", signal_name(number)),
            Self::Unseen => f.write_str("ended unseen, its guard was killed"),
        }
    }
}

/// How a tree was ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// How the leader ended, before or after the order to stop.
    pub exit: Exit,
    /// Whether the whole tree was gone within its grace, so that nothing had to be killed.
    pub polite: bool,
    /// Processes that had to be killed, also those that had left the group.
    pub killed: u32,
    /// Processes that did not even end when they were killed. Empty means that
    /// the guard has no descendant left: the kernel said so.
    pub survivors: Vec<ProcessId>,
    /// Bytes that the tree printed, also those beyond the cap of the log.
    #[serde(default)]
    pub printed: u64,
}

/// What a runner says to a guard.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Order {
    /// Start this; the first order, and only that.
    Launch(Box<Launch>),
    /// Start nothing and keep a folder until the orders end; the first order, and the only one.
    Keep(Keep),
    /// End the tree, with grace.
    Stop,
    /// End the tree at once.
    Kill,
}

/// What a guard says to its runner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Report {
    /// The program runs.
    Started(Started),
    /// It could not be started; the sentence says why.
    Failed(String),
    /// The leader has exited; descendants may live on.
    Exited(Exit),
    /// The tree is gone, or what is left of it cannot be ended. The last report.
    Stopped(Stopped),
}

/// A child that runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Started {
    /// The process.
    pub(super) leader: ProcessId,
    /// The inodes of the pipes into which it and its children print.
    pub(super) pipes: Vec<u64>,
}

/// A value as a line of the conversation.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value)
        .expect("orders and reports have text keys only, so that JSON can hold them");
    line.push(b'\n');
    line
}
