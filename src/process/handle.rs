//! The runner's side of a guard: what to start, how to wait for its end, how to
//! bring it about, and the errors of both.

use super::attendant::{Attendant, End, State};
use super::launch::{Exit, Launch, Order, Stopped, line};
use super::tree::{ProcessId, Walker};
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::ChildStdin;
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// How long a guard may take, beyond the grace, until it has said how a stop went.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// How long a dropped handle waits for its tree to be gone.
const DROP_WITHIN: Duration = Duration::from_secs(3);

/// Which program is run as `PROGRAM guard`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardProgram(pub PathBuf);

impl GuardProgram {
    /// The program that is running, also after its file was replaced or removed.
    pub fn current() -> Self {
        Self(PathBuf::from("/proc/self/exe"))
    }
}

/// Why a process does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartError {
    /// The process itself could not be started.
    Command {
        /// What it is for.
        role: String,
        /// The command as a person would type it.
        command: String,
        /// Why, in a sentence without its full stop.
        reason: String,
    },
    /// Its guard could not be started or did not talk.
    Guard {
        /// The program that was run as guard.
        program: PathBuf,
        /// Why, in a sentence without its full stop.
        reason: String,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command {
                role,
                command,
                reason,
            } => write!(f, "{role} `{command}` could not be started: {reason}"),
            Self::Guard { program, reason } => {
                write!(
                    f,
                    "the guard `{} guard` could not be started: {reason}",
                    program.display()
                )
            }
        }
    }
}

impl StartError {
    /// Why, in a sentence without its full stop.
    pub fn reason(&self) -> &str {
        match self {
            Self::Command { reason, .. } | Self::Guard { reason, .. } => reason,
        }
    }
}

impl std::error::Error for StartError {}

/// Why a stop is not proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopError {
    /// Processes that did not end even when they were killed.
    Survivors {
        /// What they were for.
        role: String,
        /// Who they are.
        processes: Vec<ProcessId>,
    },
    /// The guard was killed. What could be found of its tree was ended.
    GuardLost {
        /// What the guard was for.
        role: String,
        /// Found, but not ended.
        processes: Vec<ProcessId>,
    },
    /// The guard lives and says nothing.
    Silent {
        /// What the guard was for.
        role: String,
        /// Its pid.
        guard: u32,
    },
}

impl fmt::Display for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Survivors { role, processes } => write!(
                f,
                "{role}: could not be stopped, not even by SIGKILL: {}; end them before measuring again",
                pids(processes)
            ),
            Self::GuardLost { role, processes } if processes.is_empty() => write!(
                f,
                "{role}: its guard was killed; what was found of its processes was ended, \
                 but nothing proves that it was all"
            ),
            Self::GuardLost { role, processes } => write!(
                f,
                "{role}: its guard was killed and these processes could not be ended: {}",
                pids(processes)
            ),
            Self::Silent { role, guard } => write!(
                f,
                "{role}: its guard (pid {guard}) does not answer; it may have been stopped by SIGSTOP"
            ),
        }
    }
}

impl std::error::Error for StopError {}

fn pids(processes: &[ProcessId]) -> String {
    let list: Vec<String> = processes
        .iter()
        .map(|process| format!("pid {process}"))
        .collect();
    list.join(", ")
}

/// A process that was started, with its guard and all of its descendants.
/// Dropping it kills them at once and waits until they are gone.
#[derive(Debug)]
pub struct Guard {
    role: String,
    grace: Duration,
    pid: u32,
    leader: ProcessId,
    /// Its closing is the order to kill: the same as the end of the runner.
    lifeline: Mutex<Option<ChildStdin>>,
    state: watch::Receiver<State>,
    /// Disconnected when the guard has been reaped.
    ended: Mutex<mpsc::Receiver<()>>,
}

impl Guard {
    /// Starts a process under a guard. Returns when the program is executed, or
    /// with the reason why it is not; given up meanwhile, nothing stays behind.
    pub async fn start(program: &GuardProgram, launch: &Launch) -> Result<Self, StartError> {
        let (role, grace) = (launch.role.clone(), launch.grace);
        let (program, launch) = (program.clone(), launch.clone());
        let failed = |reason: String| StartError::Guard {
            program: program.0.clone(),
            reason,
        };
        let (tell, told) = oneshot::channel();
        let attendant = Attendant {
            program: program.clone(),
            launch,
        };
        thread::Builder::new()
            .name(format!("guard of {role}"))
            .spawn(move || attendant.serve(tell))
            .map_err(|error| failed(error.to_string()))?;
        let live = told
            .await
            .unwrap_or_else(|_| Err(failed("its attendant thread failed".to_owned())))?;
        Ok(Self {
            role,
            grace,
            pid: live.guard,
            leader: live.leader,
            lifeline: Mutex::new(Some(live.lifeline)),
            state: live.state,
            ended: Mutex::new(live.ended),
        })
    }

    /// The guard's pid: the root of the tree, itself no part of what is measured.
    pub fn guard_pid(&self) -> u32 {
        self.pid
    }

    /// The pid of the process that was asked for.
    pub fn leader_pid(&self) -> u32 {
        self.leader.pid
    }

    /// Waits until the leader has exited; its descendants may live on. Can be
    /// awaited by many, and given up.
    pub async fn exited(&self) -> Exit {
        let mut state = self.state.clone();
        let exit = state.wait_for(|state| state.exit.is_some()).await;
        exit.ok()
            .and_then(|state| state.exit)
            .unwrap_or(Exit::Unseen)
    }

    /// How the leader has exited, if it has.
    pub fn exit_now(&self) -> Option<Exit> {
        self.state.borrow().exit
    }

    /// Ends the tree: the stop signal, grace, then force. `Ok` is the proof that
    /// no descendant is left. Given up, it becomes a kill.
    pub async fn stop(self) -> Result<Stopped, StopError> {
        self.order(&Order::Stop);
        let mut state = self.state.clone();
        let answer = state.wait_for(|state| state.end.is_some());
        let answer = tokio::time::timeout(self.grace + ANSWER_WITHIN, answer).await;
        let end = match answer {
            Ok(Ok(state)) => state.end.clone(),
            Ok(Err(_)) => None,
            Err(_) => {
                return Err(StopError::Silent {
                    role: self.role.clone(),
                    guard: self.pid,
                });
            }
        };
        match end.unwrap_or(End::Lost(Vec::new())) {
            End::Stopped(stopped) if stopped.survivors.is_empty() => Ok(stopped),
            End::Stopped(stopped) => Err(StopError::Survivors {
                role: self.role.clone(),
                processes: stopped.survivors,
            }),
            End::Lost(processes) => Err(StopError::GuardLost {
                role: self.role.clone(),
                processes,
            }),
        }
    }

    /// Orders the end of the tree without grace; [`Guard::stop`] then tells how it went.
    pub fn kill_now(&self) {
        self.order(&Order::Kill);
    }

    /// The living descendants of the guard, itself not among them.
    pub fn tree(&self) -> Vec<ProcessId> {
        // A pid that is free again may be anybody's.
        if self.state.borrow().end.is_some() {
            return Vec::new();
        }
        let mut walker = Walker::new();
        let mut living = || -> Vec<ProcessId> {
            let tree = walker.descendants(self.pid);
            let living = tree.iter().filter(|stat| !stat.is_dead());
            living.map(|stat| stat.id).collect()
        };
        let tree = living();
        if !tree.is_empty() {
            return tree;
        }
        // A child whose parent ends between two steps of a walk has come to the guard, behind
        // the walker's back: the next walk meets it there.
        living()
    }

    fn order(&self, order: &Order) {
        let mut lifeline = self.lifeline.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipe) = lifeline.as_mut() {
            // A guard that does not read has ended; its last report says how.
            let _ = pipe.write_all(&line(order));
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let lifeline = self
            .lifeline
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        drop(lifeline.take());
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Nothing is ever sent: the wait ends when the guard is reaped, or too late.
        let _ = ended.recv_timeout(DROP_WITHIN);
    }
}
