//! The thread behind a runner's handle: it starts the guard, reads its reports
//! and reaps it, so that neither needs an async runtime's signal handling, and
//! whoever waits for an end can be many and can give up waiting.

use super::handle::{GuardProgram, StartError};
use super::launch::{Exit, Launch, Order, Report, Started, Stopped, line};
use super::ledger::{Ledger, boot};
use super::tree::{ProcessId, Walker};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use tokio::sync::{oneshot, watch};

/// What is known of a guard's tree.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) exit: Option<Exit>,
    pub(super) end: Option<End>,
}

/// How the guard ended.
#[derive(Debug, Clone)]
pub(super) enum End {
    Stopped(Stopped),
    /// It was killed; these of its processes could be found, but not ended.
    Lost(Vec<ProcessId>),
}

/// What a start hands over. Dropped without an owner, it closes the lifeline.
pub(super) struct Live {
    pub(super) guard: u32,
    pub(super) leader: ProcessId,
    pub(super) lifeline: ChildStdin,
    pub(super) state: watch::Receiver<State>,
    pub(super) ended: mpsc::Receiver<()>,
}

/// The thread that starts a guard and attends to it until it has been reaped.
pub(super) struct Attendant {
    pub(super) program: GuardProgram,
    pub(super) launch: Launch,
}

pub(super) type Told = oneshot::Sender<Result<Live, StartError>>;

impl Attendant {
    pub(super) fn serve(self, tell: Told) {
        let (mut guard, lifeline, reports) = match self.spawn() {
            Ok(spawned) => spawned,
            Err(reason) => {
                let _ = tell.send(Err(self.failed(reason)));
                return;
            }
        };
        let mut reports = BufReader::new(reports);
        let started = match next(&mut reports) {
            Some(Report::Started(started)) => started,
            other => {
                drop(lifeline);
                let error = match other {
                    Some(Report::Failed(reason)) => self.refused(reason),
                    _ => self.failed("it is not a guard, or it failed".to_owned()),
                };
                // It has started nothing, so that it can be ended by force.
                let _ = guard.kill();
                let _ = guard.wait();
                let _ = tell.send(Err(error));
                return;
            }
        };
        let ledger = self.ledger(&guard, &started);
        let (state, watched) = watch::channel(State::default());
        let (alive, ended) = mpsc::channel();
        let live = Live {
            guard: guard.id(),
            leader: started.leader,
            lifeline,
            state: watched,
            ended,
        };
        // Where nobody waits any more, this drops the lifeline, and the tree ends.
        drop(tell.send(Ok(live)));
        let mut end = None;
        while let Some(report) = next(&mut reports) {
            match report {
                Report::Exited(exit) => {
                    state.send_modify(|state| state.exit = Some(exit));
                }
                Report::Stopped(stopped) => end = Some(stopped),
                Report::Started(_) | Report::Failed(_) => {}
            }
        }
        let _ = guard.wait();
        self.conclude(&state, end, &ledger);
        drop(alive);
    }

    /// Starts the guard and gives it the launch.
    fn spawn(&self) -> Result<(Child, ChildStdin, ChildStdout), String> {
        let mut guard = Command::new(&self.program.0)
            .arg0("hotlap")
            .arg("guard")
            // For who looks at a list of processes.
            .arg(&self.launch.role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let pipes = guard.stdin.take().zip(guard.stdout.take());
        let (mut lifeline, reports) = pipes.ok_or("it has no pipes")?;
        // A failure here shows when the first report is read.
        let _ = lifeline.write_all(&line(&Order::Launch(Box::new(self.launch.clone()))));
        Ok((guard, lifeline, reports))
    }

    /// Publishes the end. Of a guard that ended without a word, what can be
    /// found of its tree is ended here, since nobody else is left to do it.
    fn conclude(&self, state: &watch::Sender<State>, end: Option<Stopped>, ledger: &Ledger) {
        let end = if let Some(stopped) = end {
            End::Stopped(stopped)
        } else {
            let left = ledger.end();
            if let (Some(path), true) = (&self.launch.ledger, left.is_empty()) {
                let _ = std::fs::remove_file(path);
            }
            End::Lost(left)
        };
        state.send_modify(|state| {
            let exit = match &end {
                End::Stopped(stopped) => stopped.exit,
                End::Lost(_) => Exit::Unseen,
            };
            state.exit.get_or_insert(exit);
            state.end = Some(end);
        });
    }

    /// What the guard's ledger says, kept here too, since it may have no file.
    fn ledger(&self, guard: &Child, started: &Started) -> Ledger {
        let pid = guard.id();
        let stat = Walker::new().stat(pid);
        Ledger {
            format: Ledger::FORMAT,
            boot: boot(),
            guard: stat.map_or(ProcessId { pid, start: 0 }, |stat| stat.id),
            leader: Some(started.leader),
            pipes: started.pipes.clone(),
            role: self.launch.role.clone(),
            command: self.launch.command_line(),
        }
    }

    fn failed(&self, reason: String) -> StartError {
        StartError::Guard {
            program: self.program.0.clone(),
            reason,
        }
    }

    fn refused(&self, reason: String) -> StartError {
        StartError::Command {
            role: self.launch.role.clone(),
            command: self.launch.command_line(),
            reason,
        }
    }
}

/// The next report; none at the guard's end, or when it is not a guard that talks.
fn next(reports: &mut BufReader<ChildStdout>) -> Option<Report> {
    let mut text = String::new();
    reports.read_line(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}
