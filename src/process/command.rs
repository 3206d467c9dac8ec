//! Commands that are run to their end: probes, builds. They
//! have a guard as servers do, so that nothing of them outlives them.

use super::handle::{Guard, GuardProgram, StartError, StopError};
use super::launch::{Exit, Launch};
use super::log::tail;
use crate::units::show_duration;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How many lines of output an error carries.
const TAIL_LINES: usize = 20;

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub exit: Exit,
    /// What it printed to its log: both streams in order, or standard error
    /// alone where the launch gave standard output a file of its own. Head and
    /// tail where it was more than the cap.
    pub text: String,
    /// What it printed to standard output, where that has a file of its own.
    pub stdout: Option<String>,
    /// From its start to its end.
    pub took: Duration,
}

/// Why a command came to no end of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandError {
    /// It did not start.
    Start(StartError),
    /// It took too long and was killed with its tree.
    TimedOut {
        /// What it was for.
        role: String,
        /// The command as a person would type it.
        command: String,
        /// How long it was given.
        after: Duration,
        /// The last lines that it printed.
        log_tail: Vec<String>,
    },
    /// It ended, or its time was up, and what it left could not be ended.
    Stop(StopError),
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => error.fmt(f),
            Self::TimedOut {
                role,
                command,
                after,
                ..
            } => write!(
                f,
                "{role} `{command}` did not end within {} and was killed",
                show_duration(*after)
            ),
            Self::Stop(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CommandError {}

/// Runs a command to its end, or kills it with its whole tree when `timeout` is
/// over. What it leaves running is ended too. That it exits with an error is no
/// error here: see [`Output::exit`].
pub async fn command(
    program: &GuardProgram,
    launch: Launch,
    timeout: Duration,
) -> Result<Output, CommandError> {
    let began = Instant::now();
    let guard = Guard::start(program, &launch)
        .await
        .map_err(CommandError::Start)?;
    let in_time = tokio::time::timeout(timeout, guard.exited()).await;
    let took = began.elapsed();
    if in_time.is_err() {
        guard.kill_now();
    }
    let stopped = guard.stop().await.map_err(CommandError::Stop)?;
    match in_time {
        Ok(exit) => Ok(Output {
            exit,
            text: read(&launch.log),
            stdout: launch.stdout.as_deref().map(read),
            took,
        }),
        Err(_) if stopped.exit.success() => Ok(Output {
            // It ended by itself just when its time was up.
            exit: stopped.exit,
            text: read(&launch.log),
            stdout: launch.stdout.as_deref().map(read),
            took,
        }),
        Err(_) => Err(CommandError::TimedOut {
            role: launch.role.clone(),
            command: launch.command_line(),
            after: timeout,
            log_tail: tail(&launch.log, TAIL_LINES),
        }),
    }
}

/// The text of an output file; what is not UTF-8 is replaced.
fn read(path: &Path) -> String {
    std::fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}
