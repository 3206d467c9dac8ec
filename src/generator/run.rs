//! A load by a generator, from its warm-up to its record.

use super::adapter::Said;
use super::find::Tool;
use super::order::{Order, Place};
use crate::process::{
    Exit, Guard, Launch, Scratch, ScratchError, StartError, StopError, Walker, hide, tail,
};
use crate::record::Load;
use crate::spec::Amount;
use crate::units::show_duration;
use rustix::param::clock_ticks_per_second;
use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

/// How long a generator may take beyond what it was asked for.
const SLACK: Duration = Duration::from_secs(30);
/// Longer than any trial may take.
const FOREVER: Duration = Duration::from_hours(24 * 365);
/// The files for what it prints to standard error and to standard output, in its folder.
const PRINTED: (&str, &str) = ("printed.err", "printed.out");
/// How many lines of what it printed an error carries.
const TAIL_LINES: usize = 20;

/// The phases of a load, told at their beginnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Requests go out that do not count.
    WarmUp,
    /// Requests go out that count.
    Measure,
    /// A program has ended, and no request goes out.
    Pause,
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
    /// Whoever waited for it has given up, and it was ended.
    GivenUp,
    /// It could not be had in the warm-up, or in one of several rounds.
    During {
        /// In which.
        when: String,
        /// Why.
        error: Box<GeneratorError>,
    },
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
            Self::During { when, error } => write!(f, "in {when}, {error}"),
        }
    }
}

impl std::error::Error for GeneratorError {}

impl GeneratorError {
    /// The last lines that it printed.
    pub fn log_tail(&self) -> Vec<String> {
        match self {
            Self::Useless { tail, .. } => tail.clone(),
            Self::During { error, .. } => error.log_tail(),
            _ => Vec::new(),
        }
    }

    /// Whether something of it may still run.
    pub fn leaves_something(&self) -> bool {
        match self {
            Self::Stop(_) => true,
            Self::During { error, .. } => error.leaves_something(),
            _ => false,
        }
    }

    fn during(self, when: &str) -> Self {
        match self {
            Self::GivenUp => self,
            error => Self::During {
                when: when.to_owned(),
                error: Box::new(error),
            },
        }
    }
}

impl Tool {
    /// Its name in suites.
    pub fn name(&self) -> &'static str {
        self.adapter.name()
    }

    /// Whether an interim response (1xx) misleads it.
    pub fn is_misled_by_interim(&self) -> bool {
        self.adapter.is_misled_by_interim()
    }
}

/// Makes the load: a warm-up by the same generator, then each round. Ends it when `given_up` resolves, and proves
/// that it is gone.
pub async fn run(
    tool: &Tool,
    order: &Order,
    place: &Place,
    given_up: impl Future<Output = ()>,
    enter: impl Fn(Phase),
) -> Result<Made, GeneratorError> {
    tokio::pin!(given_up);
    let order = &Order {
        threads: place.threads.max(1),
        ..order.clone()
    };
    let mut notes = Vec::new();
    let mut warmup_requests = 0;
    if let Some(warm_up) = order.to_warm_up() {
        let name = "warm-up";
        let begun = || enter(Phase::WarmUp);
        let made = once(tool, &warm_up, place, name, &mut given_up, begun).await;
        let made = made.map_err(|error| error.during("the warm-up"))?;
        enter(Phase::Pause);
        let counts = &made.load.counts;
        warmup_requests = counts.succeeded + counts.errors();
        // Whether its times are told is nobody's concern.
        notes.extend(tool.adapter.command(&warm_up).notes);
    }
    let mut all: Option<Load> = None;
    for round in 1..=order.rounds.max(1) {
        let several = order.rounds > 1;
        let name = if several {
            format!("round-{round}")
        } else {
            "load".to_owned()
        };
        let begun = || enter(Phase::Measure);
        let made = once(tool, order, place, &name, &mut given_up, begun).await;
        let made = match made {
            Err(error) if several => return Err(error.during(&format!("round {round}"))),
            made => made?,
        };
        enter(Phase::Pause);
        notes.extend(made.notes);
        all = Some(match all {
            None => made.load,
            Some(before) => before.join(made.load),
        });
    }
    let mut load = all.ok_or(GeneratorError::GivenUp)?;
    load.warmup_requests = warmup_requests;
    let mut said = BTreeSet::new();
    notes.retain(|note| said.insert(note.clone()));
    Ok(Made { load, notes })
}

/// One run of the program. What it prints is kept under `name`; `begun` is called when it runs.
async fn once(
    tool: &Tool,
    order: &Order,
    place: &Place,
    name: &str,
    given_up: &mut Pin<&mut impl Future<Output = ()>>,
    begun: impl Fn(),
) -> Result<Made, GeneratorError> {
    // It goes with the runner, even with one that is killed.
    let folder = Scratch::make(&place.program, None)
        .await
        .map_err(GeneratorError::Folder)?;
    let command = tool.adapter.command(order);
    for (file, content) in &command.files {
        std::fs::write(folder.path().join(file), content).map_err(GeneratorError::Files)?;
    }
    let launch = launch(tool, &command, place, folder.path());
    let guard = Guard::start(&place.program, &launch)
        .await
        .map_err(GeneratorError::Start)?;
    begun();
    let limit = match order.amount {
        Amount::Duration(duration) => duration + order.timeout + SLACK,
        // The trial's own time-out ends it.
        Amount::Requests(_) => FOREVER,
    };
    let ended = tokio::select! {
        ended = tokio::time::timeout(limit, guard.exited()) => Some(ended),
        () = given_up.as_mut() => None,
    };
    // Its guard has taken over the CPU time of whoever has ended under it.
    let cpu_ns = Walker::new()
        .stat(guard.guard_pid())
        .map(|stat| nanoseconds(stat.reaped_ticks));
    if !matches!(ended, Some(Ok(_))) {
        guard.kill_now();
    }
    guard.stop().await.map_err(GeneratorError::Stop)?;
    let ended = ended.ok_or(GeneratorError::GivenUp)?;
    let exit = ended.map_err(|_| GeneratorError::Endless {
        name: tool.name(),
        after: limit,
    })?;
    let stdout = read(launch.stdout.as_deref());
    keep(&launch, place, tool.name(), name).map_err(GeneratorError::Files)?;
    let useless = |reason: String| GeneratorError::Useless {
        name: tool.name(),
        exit,
        reason,
        tail: last_lines(&launch, &place.secrets),
    };
    if !exit.success() {
        return Err(useless("so nothing that it printed counts".to_owned()));
    }
    let said = Said {
        stdout: &stdout,
        folder: folder.path(),
    };
    let heard = tool.adapter.read(&said, order).map_err(useless)?;
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

fn launch(tool: &Tool, command: &super::adapter::Command, place: &Place, folder: &Path) -> Launch {
    let mut env = place.env.clone();
    for (variable, value) in &command.env {
        env.retain(|(known, _)| known != variable);
        env.push(((*variable).to_owned(), value.clone()));
    }
    let words: Vec<String> = std::iter::once(tool.path.display().to_string())
        .chain(command.arguments.iter().cloned())
        .collect();
    Launch {
        role: tool.name().to_owned(),
        command: words.clone(),
        env,
        cwd: folder.to_owned(),
        // Read as it is, and kept without secrets: a figure may have the digits of one.
        log: folder.join(PRINTED.0),
        log_cap: Launch::LOG_CAP,
        stdout: Some(folder.join(PRINTED.1)),
        stop_signal: "SIGTERM".to_owned(),
        grace: Duration::from_secs(2),
        nofile: None,
        affinity: None,
        ledger: Some(place.ledgers.join(format!("{}.json", tool.name()))),
        // A header may hold what nothing may keep.
        shown: Some(hide(&shell_words::join(&words), &place.secrets)),
        secrets: Vec::new(),
    }
}

fn read(path: Option<&Path>) -> String {
    path.and_then(|path| std::fs::read(path).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// What it printed last: to standard error, else to standard output.
fn last_lines(launch: &Launch, secrets: &[String]) -> Vec<String> {
    let lines = tail(&launch.log, TAIL_LINES);
    let lines = match &launch.stdout {
        Some(stdout) if lines.is_empty() => tail(stdout, TAIL_LINES),
        _ => lines,
    };
    lines.iter().map(|line| hide(line, secrets)).collect()
}

/// Keeps what it printed among the logs, without secrets.
fn keep(launch: &Launch, place: &Place, generator: &str, name: &str) -> io::Result<()> {
    let printed = [(Some(&launch.log), "log"), (launch.stdout.as_ref(), "out")];
    for (path, ending) in printed {
        let text = hide(&read(path.map(PathBuf::as_path)), &place.secrets);
        std::fs::write(
            place.logs.join(format!("{generator}.{name}.{ending}")),
            text,
        )?;
    }
    Ok(())
}

/// Clock ticks of the kernel as nanoseconds.
fn nanoseconds(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000_000 / clock_ticks_per_second().max(1))
}
