//! A load by a generator, from its warm-up to its record.

use super::adapter::Said;
use super::find::Tool;
use super::order::{Order, Place};
use crate::process::{
    Exit, Guard, Launch, Scratch, ScratchError, StartError, StopError, Walker, tail,
};
use crate::record::Load;
use crate::spec::Amount;
use crate::units::show_duration;
use rustix::param::clock_ticks_per_second;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How long a generator may take beyond what it was asked for.
const SLACK: Duration = Duration::from_secs(30);
/// How many lines of what it printed an error carries.
const TAIL_LINES: usize = 20;

/// The phases of a load, told at their beginnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Requests go out that do not count.
    WarmUp,
    /// Requests go out that count.
    Measure,
}

/// What came of a load.
#[derive(Debug)]
pub struct Made {
    /// The record.
    pub load: Load,
    /// What is not quite as the suite asks, in sentences.
    pub notes: Vec<String>,
}

/// Why there is no load.
#[derive(Debug)]
pub enum GeneratorError {
    /// Its folder could not be made.
    Folder(ScratchError),
    /// Its files could not be made.
    Files(io::Error),
    /// It could not be started.
    Start(StartError),
    /// What it left could not be ended.
    Stop(StopError),
    /// It ran much longer than it was asked to, and was killed.
    Endless {
        /// The generator.
        name: &'static str,
        /// How long it was given.
        after: Duration,
    },
    /// It told nothing that can be used.
    Useless {
        /// The generator.
        name: &'static str,
        /// How it ended.
        exit: Exit,
        /// Why, in a sentence without its full stop.
        reason: String,
        /// The last lines that it printed.
        tail: Vec<String>,
    },
    /// Whoever waited for it has given up.
    GivenUp,
}

impl fmt::Display for GeneratorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(error) => error.fmt(f),
            Self::Files(error) => write!(
                f,
                "the files of the load generator could not be written: {error}"
            ),
            Self::Start(error) => error.fmt(f),
            Self::Stop(error) => error.fmt(f),
            Self::Endless { name, after } => {
                write!(
                    f,
                    "{name} did not end within {} and was killed",
                    show_duration(*after)
                )
            }
            Self::Useless {
                name,
                exit,
                reason,
                tail,
            } => {
                write!(f, "{name} {exit}, and {reason}")?;
                match tail.last() {
                    Some(line) => write!(f, "; it said: {line}"),
                    None => Ok(()),
                }
            }
            Self::GivenUp => f.write_str("the load generator was ended"),
        }
    }
}

impl std::error::Error for GeneratorError {}

impl Tool {
    /// Its name in suites.
    pub fn name(&self) -> &'static str {
        self.adapter.name()
    }

    /// Whether it takes an interim response (1xx) for the answer.
    pub fn counts_interim(&self) -> bool {
        self.adapter.counts_interim()
    }
}

/// Makes the load: a warm-up by the same generator, then each round. Ends it when `given_up` resolves.
pub async fn run(
    tool: &Tool,
    order: &Order,
    place: &Place,
    given_up: impl Future<Output = ()>,
    enter: impl Fn(Phase),
) -> Result<Made, GeneratorError> {
    tokio::select! {
        made = rounds(tool, order, place, enter) => made,
        () = given_up => Err(GeneratorError::GivenUp),
    }
}

async fn rounds(
    tool: &Tool,
    order: &Order,
    place: &Place,
    enter: impl Fn(Phase),
) -> Result<Made, GeneratorError> {
    let mut notes = Vec::new();
    let mut warmup_requests = 0;
    let order = &Order {
        threads: place.threads.max(1),
        ..order.clone()
    };
    if let Some(warm_up) = order.to_warm_up() {
        enter(Phase::WarmUp);
        let made = once(tool, &warm_up, place, "warm-up").await?;
        warmup_requests = made.load.counts.succeeded + made.load.counts.errors();
    }
    enter(Phase::Measure);
    let mut all: Option<Load> = None;
    for round in 1..=order.rounds.max(1) {
        let name = if order.rounds > 1 {
            format!("round-{round}")
        } else {
            "load".to_owned()
        };
        let made = once(tool, order, place, &name).await?;
        notes = made.notes;
        all = Some(match all {
            None => made.load,
            Some(before) => before.join(made.load),
        });
    }
    let mut load = all.ok_or(GeneratorError::GivenUp)?;
    load.warmup_requests = warmup_requests;
    Ok(Made { load, notes })
}

/// One run of the program. What it prints is kept under `name`.
async fn once(
    tool: &Tool,
    order: &Order,
    place: &Place,
    name: &str,
) -> Result<Made, GeneratorError> {
    // It goes with the runner, even with one that is killed.
    let folder = Scratch::make(&place.program, None)
        .await
        .map_err(GeneratorError::Folder)?;
    let command = tool.adapter.command(order);
    for (file, content) in &command.files {
        std::fs::write(folder.path().join(file), content).map_err(GeneratorError::Files)?;
    }
    let launch = launch(tool, &command, place, folder.path(), name);
    let guard = Guard::start(&place.program, &launch)
        .await
        .map_err(GeneratorError::Start)?;
    let limit = match order.amount {
        Amount::Duration(duration) => Some(duration + order.timeout + SLACK),
        // The trial's own time-out ends it.
        Amount::Requests(_) => None,
    };
    let ended = async {
        match limit {
            Some(limit) => tokio::time::timeout(limit, guard.exited())
                .await
                .map_err(|_| limit),
            None => Ok(guard.exited().await),
        }
    };
    let ended = ended.await;
    // Its guard has taken over the CPU time of whoever has ended under it.
    let cpu_ns = Walker::new()
        .stat(guard.guard_pid())
        .map(|stat| nanoseconds(stat.reaped_ticks));
    if ended.is_err() {
        guard.kill_now();
    }
    guard.stop().await.map_err(GeneratorError::Stop)?;
    let exit = ended.map_err(|after| GeneratorError::Endless {
        name: tool.name(),
        after,
    })?;
    let stdout = read(launch.stdout.as_deref());
    let useless = |reason: String| GeneratorError::Useless {
        name: tool.name(),
        exit,
        reason,
        tail: last_lines(&launch),
    };
    if !exit.success() {
        return Err(useless("so nothing that it printed counts".to_owned()));
    }
    let said = Said {
        stdout: &stdout,
        folder: folder.path(),
    };
    let heard = tool.adapter.read(&said, order).map_err(useless)?;
    if heard.succeeded == 0 {
        let kinds: Vec<String> = heard
            .errors
            .iter()
            .map(|(kind, times)| format!("{times} × {}", kind.words()))
            .collect();
        let kinds = if kinds.is_empty() {
            "it names no errors".to_owned()
        } else {
            kinds.join(", ")
        };
        return Err(GeneratorError::Useless {
            name: tool.name(),
            exit,
            reason: format!("no request succeeded ({kinds})"),
            tail: Vec::new(),
        });
    }
    let threads = tool.adapter.threads(order);
    let mut notes = command.notes;
    if heard.told.is_none() && !heard.errors.is_empty() {
        notes.push(format!(
            "the times that {} tells include those of requests that failed, so none is given",
            tool.name()
        ));
    }
    let mut load = heard.into_load(&tool.version, threads, order.connections, order.amount);
    load.generator_cpu_ns = cpu_ns;
    if !order.keep_alive {
        load.connections.opened = load.connections.opened.max(load.counts.sent);
    }
    Ok(Made { load, notes })
}

fn launch(
    tool: &Tool,
    command: &super::adapter::Command,
    place: &Place,
    folder: &Path,
    name: &str,
) -> Launch {
    let mut env = place.env.clone();
    for (variable, value) in &command.env {
        env.retain(|(known, _)| known != variable);
        env.push(((*variable).to_owned(), value.clone()));
    }
    let kept = |ending: &str| place.logs.join(format!("{}.{name}.{ending}", tool.name()));
    Launch {
        role: tool.name().to_owned(),
        command: std::iter::once(tool.path.display().to_string())
            .chain(command.arguments.iter().cloned())
            .collect(),
        env,
        cwd: folder.to_owned(),
        log: kept("log"),
        log_cap: Launch::LOG_CAP,
        stdout: Some(kept("out")),
        stop_signal: "SIGTERM".to_owned(),
        grace: Duration::from_secs(2),
        nofile: None,
        affinity: None,
        ledger: Some(place.ledgers.join(format!("{}.json", tool.name()))),
        shown: None,
        secrets: place.secrets.clone(),
    }
}

fn read(path: Option<&Path>) -> String {
    path.and_then(|path| std::fs::read(path).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// What it printed last: to standard error, else to standard output.
fn last_lines(launch: &Launch) -> Vec<String> {
    let lines = tail(&launch.log, TAIL_LINES);
    match &launch.stdout {
        Some(stdout) if lines.is_empty() => tail(stdout, TAIL_LINES),
        _ => lines,
    }
}

/// Clock ticks of the kernel as nanoseconds.
fn nanoseconds(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000_000 / clock_ticks_per_second().max(1))
}
