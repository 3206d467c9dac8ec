//! `hotlap run`: the matrix is run, records and reports are written. Several
//! suites are run one after the other.

mod session;
mod works;

use self::session::Sessions;
pub(super) use self::works::default_out;
use self::works::{Work, kept, planned};
use super::doctor::OTHER_DESCRIPTORS;
use super::exit::Exit;
use super::splice::Splice;
use super::suites::Selection;
use super::terminal::{say_error, say_line};
use super::{gates, sentence, signals, templates};
use crate::host;
use crate::run::Cancel;
use crate::store::{self, Lock, StoreError};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tokio::signal::unix::SignalKind;

/// Run suites: start every server, load it, watch it, write records and reports
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hotlap run suites/quickstart.toml
  hotlap run suites/node-http.toml --profile quick --only compression=gzip
  hotlap run suites/api.toml --compare-with origin/main
  hotlap run suites/quickstart.toml --resume
  hotlap run suites --budget 6h --if-changed --or-resume
  hotlap run suites/quickstart.toml --baseline latest
  hotlap run suites/quickstart.toml --gate")]
pub(super) struct RunArgs {
    /// Suite files, or folders of them
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) selection: Selection,
    /// Where records and reports go [default: reports/ beside the folder `suites`]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with an unfinished run (the profile's newest, or this one) by its stored plan
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, default_missing_value = "latest", conflicts_with_all = ["baseline", "only", "skip", "repetitions", "generator", "budget", "seed", "compare_with"])]
    resume: Option<String>,
    /// Do nothing, and say so, where the last run of this suite and profile came to its end with valid trials alone and
    /// nothing has changed since: the suite, the repository's files (those not committed too), machine, hotlap
    #[arg(long, conflicts_with = "resume")]
    pub(super) if_changed: bool,
    /// Go on with the last run of this suite and profile where it is unfinished and nothing has changed since it began,
    /// else begin
    #[arg(long, conflicts_with = "resume")]
    pub(super) or_resume: bool,
    /// Compare with this run in the report: its folder, its id, a file, or `latest`, the newest
    /// complete one of the suite and profile
    #[arg(long, value_name = "RUN")]
    pub(super) baseline: Option<String>,
    /// Cells that cannot run here and warnings are errors; of a run that begins
    #[arg(long)]
    pub(super) strict: bool,
    /// End the run at the first trial that fails
    #[arg(long)]
    fail_fast: bool,
    /// A gate of the suite that does not hold is exit code 3
    #[arg(long)]
    pub(super) gate: bool,
    /// Say nothing but errors, and where the report is
    #[arg(long, short)]
    quiet: bool,
    /// A plain line a trial, also on a terminal
    #[arg(long)]
    no_progress: bool,
    /// Write what happens to standard output, as one JSON object a line
    #[arg(long, value_name = "FORMAT", value_enum)]
    events: Option<EventFormat>,
    /// The template of the run's report: default, short, leaderboard, pull-request, or a file (docs/templates.md); the
    /// suite's page keeps the built-in one
    #[arg(long, value_name = "TEMPLATE")]
    template: Option<PathBuf>,
    /// Put the report of a complete run between the lines <!-- hotlap:begin --> and <!-- hotlap:end --> of this file (of
    /// several suites each has its own, with its name behind begin and end); with --template that one's
    #[arg(long, value_name = "FILE")]
    splice: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EventFormat {
    /// JSON lines
    Json,
}

pub(super) fn main(arguments: &RunArgs) -> Exit {
    match run_all(arguments) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn run_all(arguments: &RunArgs) -> Result<Exit, Exit> {
    // Everything that can be wrong is found before anything starts.
    let mut works = match &arguments.resume {
        Some(wanted) => kept(arguments, wanted)?,
        None => planned(arguments)?,
    };
    refuse_same_names(&works)?;
    let template = templates::template(arguments.template.as_deref())?;
    let suites = works.iter().map(|work| work.suite.as_str());
    let into = arguments.splice.as_deref();
    let into = into.map(|file| Splice::into(file, suites)).transpose()?;
    if arguments.gate {
        gates::refuse_none(works.iter().map(Work::spec))?;
    }
    let _locks = locks(&works)?;
    let nofile = descriptors(&works)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| cannot(&error))?;
    let cancel = Cancel::default();
    runtime
        .block_on(async { listen_for_signals(&cancel) })
        .map_err(|error| cannot(&error))?;
    let session = Sessions {
        arguments,
        nofile,
        template,
        into,
        runtime,
        cancel,
    };
    let mut worst = Exit::Fine;
    let mut exits = Vec::new();
    for work in &mut works {
        // What an earlier suite has shown is not lost to a later one that cannot run.
        worst = match session.one(work) {
            Ok(exit) => {
                exits.push((work.suite.clone(), exit));
                worst.max(exit)
            }
            Err(exit) => {
                exits.push((work.suite.clone(), exit));
                if exits.len() > 1 && !arguments.quiet {
                    say_line(&sentence::of_all(&exits));
                }
                return Err(worst.max(exit));
            }
        };
        if session.cancel.is_cancelled() {
            return Ok(Exit::Interrupted);
        }
    }
    if exits.len() > 1 && !arguments.quiet {
        say_line(&sentence::of_all(&exits));
    }
    Ok(worst)
}

/// Two suites of one name would have one page, and their nights would be one history.
fn refuse_same_names(works: &[Work]) -> Result<(), Exit> {
    for (at, work) in works.iter().enumerate() {
        let same = |other: &&Work| other.suite == work.suite && other.out == work.out;
        if let Some(other) = works[..at].iter().find(same) {
            say_error(&format!(
                "two suites are called {}, in {} and in {}, and both would report to {}; rename the file of one, or give it \
                 another folder with --out",
                work.suite,
                other.folder.display(),
                work.folder.display(),
                work.out.display()
            ));
            return Err(Exit::Usage);
        }
    }
    Ok(())
}

fn cannot(error: &dyn std::fmt::Display) -> Exit {
    say_error(&format!("this machine cannot: {error}"));
    Exit::Machine
}

pub(in crate::cli) fn stored(error: &StoreError) -> Exit {
    say_error(&error.to_string());
    match error {
        StoreError::NoRun { .. } | StoreError::BadName(_) | StoreError::Ambiguous { .. } => {
            Exit::Usage
        }
        _ => Exit::Machine,
    }
}

/// One for the machine, one for each output folder: two runs would measure each other.
fn locks(works: &[Work]) -> Result<Vec<Lock>, Exit> {
    let Some(first) = works.first() else {
        return Ok(Vec::new());
    };
    let mut locks = vec![store::lock_machine(&first.suite).map_err(|error| stored(&error))?];
    let mut folders: Vec<&PathBuf> = works.iter().map(|work| &work.out).collect();
    folders.sort();
    folders.dedup();
    for folder in folders {
        locks.push(store::lock_output(folder, &first.suite).map_err(|error| stored(&error))?);
    }
    Ok(locks)
}

/// Raises the limit on open files for the largest load. Returns the one that was
/// there before, which is what servers get.
fn descriptors(works: &[Work]) -> Result<Option<u64>, Exit> {
    let before = host::nofile().soft;
    let cells = works.iter().flat_map(|work| &work.spec().cells);
    let most = cells
        .map(|cell| u64::from(cell.work.connections))
        .max()
        .unwrap_or(0);
    host::raise_nofile(most + OTHER_DESCRIPTORS).map_err(|error| cannot(&error))?;
    Ok(before)
}

/// The first signal ends the run with care, the second at once: the guards see
/// their runner's end and kill.
fn listen_for_signals(cancel: &Cancel) -> std::io::Result<()> {
    // A limit on file sizes is an error of the write, not the end of the run.
    let noted = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, noted)?;
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    signals::listen(&kinds, cancel)
}
