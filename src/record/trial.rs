//! A line of `trials.jsonl`: one trial, what came of it, and how its processes
//! ended.

use super::{ByRole, Load, Observed, Surroundings, Usage};
use crate::ids::TrialId;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// One line of `trials.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The version of the files, [`super::FORMAT`].
    pub format: u32,
    /// The trial.
    pub trial: TrialId,
    /// Its round.
    pub round: u32,
    /// Which of the run's sessions made it, from 0.
    pub session: usize,
    /// When it began, RFC 3339 in UTC. A label.
    pub started: String,
    /// How long it took, from the first process to the proof that all are gone.
    pub took_ns: u64,
    /// What came of it.
    pub outcome: Outcome,
    /// The port that was loaded.
    pub port: Option<u16>,
    /// The address that answered, and that was loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// From the start of the process to the first good answer.
    pub startup_ns: Option<u64>,
    /// Whether the listener was proved to be ours.
    pub listener: Proof,
    /// What was seen of its answer and its processes before the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Box<Observed>>,
    /// What the generator saw; also of trials that failed under load, for diagnosis.
    pub load: Option<Load>,
    /// What the process tree used, by role; `total` is all of them.
    pub usage: ByRole<Usage>,
    /// How the processes ended, by role.
    pub stops: ByRole<Stop>,
    /// What happened on the machine beside its load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<Box<Surroundings>>,
    /// What a reader of the report must know about this trial.
    pub warnings: Vec<String>,
}

impl Trial {
    /// A trial of which nothing has happened yet.
    pub fn new(trial: TrialId, round: u32, session: usize) -> Self {
        Self {
            format: super::FORMAT,
            trial,
            round,
            session,
            started: String::new(),
            took_ns: 0,
            outcome: Outcome::Valid,
            port: None,
            address: None,
            startup_ns: None,
            listener: Proof::Untested,
            observed: None,
            load: None,
            usage: ByRole::new(),
            stops: ByRole::new(),
            surroundings: None,
            warnings: Vec::new(),
        }
    }
}

/// What came of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "state")]
pub enum Outcome {
    /// Its figures count.
    Valid,
    /// It ran to its end, but its figures must not be compared.
    Invalid {
        /// Each reason in a sentence.
        reasons: Vec<String>,
    },
    /// It did not run to its end.
    Failed {
        /// Which step failed.
        step: Step,
        /// Why, in a sentence.
        reason: String,
        /// The last lines that the server printed.
        log_tail: Vec<String>,
    },
}

/// A step of a trial, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Making the server from its sources.
    Build,
    /// Finding a port and starting the processes.
    Start,
    /// Waiting until the server answers.
    Ready,
    /// The first response, checked whole.
    Verify,
    /// Warm-up and measurement.
    Load,
    /// Ending the processes.
    Stop,
}

impl Step {
    /// The step as a word of a sentence: `failed to start`.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Start => "start",
            Self::Ready => "become ready",
            Self::Verify => "answer as expected",
            Self::Load => "stand the load",
            Self::Stop => "stop",
        }
    }
}

/// Whether what was loaded was the server that this trial started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Proof {
    /// Every listening socket and the accepted connection belong to our tree.
    Proved,
    /// The kernel did not let us look.
    Unproved,
    /// It did not come to that.
    Untested,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The leader's exit status or signal, in words: `exited with 0`, `killed by SIGKILL`.
    pub exit: String,
    /// Whether it ended within its grace after the stop signal.
    pub polite: bool,
    /// Processes that had to be killed, also those that had left the group.
    pub killed: u32,
    /// Whether it is a service, and in no total.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
    /// Bytes that it and its children printed, also those that were not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed_bytes: Option<u64>,
}
