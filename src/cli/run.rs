//! `hotlap run`: the matrix is run, records and reports are written. Several
//! suites are run one after the other.

use super::baseline::{Whose, older};
use super::begin::{begin, narrowing, resume, warn_of_leftovers};
use super::changed::{self, New, Todo};
use super::doctor::OTHER_DESCRIPTORS;
use super::exit::Exit;
use super::gates;
use super::progress::Listener;
use super::reports::{self, Written};
use super::requirements;
use super::revisions;
use super::scratch::Scratch;
use super::sentence::{self, Fate};
use super::signals;
use super::splice::Splice;
use super::suites::{self, Mistakes, Planned, Selection, counted};
use super::templates;
use super::terminal::{is_interactive, say_error, say_line, say_warning};
use crate::host;
use crate::process::GuardProgram;
use crate::record::{Baseline, End, Session};
use crate::report::{GateLines, Template};
use crate::run::{self, Cancel, Job, RunError};
use crate::spec::Spec;
use crate::store::{self, Lock, RunState, StoreError, Stored};
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
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

/// One suite to run, or one run to go on with.
struct Work {
    suite: String,
    /// The suite's folder.
    folder: PathBuf,
    /// The folder of reports.
    out: PathBuf,
    task: Task,
}

enum Task {
    /// A run from its beginning, with what it is compared with.
    Begin(Box<Planned>, Option<Box<Baseline>>),
    /// The run in this folder, of which this much is known.
    GoOn(PathBuf, Box<Spec>),
}

impl Work {
    fn spec(&self) -> &Spec {
        match &self.task {
            Task::Begin(planned, _) => &planned.spec,
            Task::GoOn(_, spec) => spec,
        }
    }
}

/// The suites, planned.
fn planned(arguments: &RunArgs) -> Result<Vec<Work>, Exit> {
    let all = suites::plan(&arguments.suites, &arguments.selection)?;
    let warnings: usize = all.iter().map(|suite| suite.read.warnings).sum();
    if arguments.strict && warnings > 0 {
        say_line("with --strict a warning is an error; nothing was started");
        return Err(Exit::Usage);
    }
    let mut wrong = Mistakes::default();
    for planned in &all {
        wrong += revisions::mistakes(planned).show(&planned.read.source);
    }
    if wrong.any() {
        wrong.sum_up("; nothing was started");
        return Err(Exit::Usage);
    }
    let mut missing: Vec<String> = all
        .iter()
        .flat_map(|planned| {
            requirements::missing_folders(&planned.spec, &planned.read.suite.folder)
        })
        .collect();
    missing.sort();
    missing.dedup();
    if !missing.is_empty() {
        for message in &missing {
            say_error(message);
        }
        say_line(&format!(
            "{}; nothing was started",
            counted(missing.len(), "error")
        ));
        return Err(Exit::Usage);
    }
    all.into_iter()
        .map(|planned| work(arguments, planned))
        .collect()
}

/// A suite with what its run is compared with, which is read now: a run must not end in the news that it was not there.
fn work(arguments: &RunArgs, planned: Planned) -> Result<Work, Exit> {
    let out = out_folder(arguments, &planned.read.suite.folder);
    let spec = &planned.spec;
    let narrowed = narrowing(arguments, spec);
    let whose = Whose {
        out: &out,
        suite: &spec.suite,
        profile: spec.profile.as_deref(),
        selection: &narrowed,
        before: None,
    };
    let older = |word: &String| older(word, &whose).map(Box::new);
    let baseline = arguments.baseline.as_ref().map(older).transpose()?;
    Ok(Work {
        suite: spec.suite.clone(),
        folder: planned.read.suite.folder.clone(),
        out,
        task: Task::Begin(Box::new(planned), baseline),
    })
}

/// Unfinished runs of the suites. Their stored plans are used, so a suite file that has become
/// wrong since is no hindrance.
fn kept(arguments: &RunArgs, wanted: &str) -> Result<Vec<Work>, Exit> {
    let mut works = Vec::new();
    for file in suites::files(&arguments.suites)? {
        let (source, name, folder) = crate::suite::read(&file).map_err(|error| {
            say_error(&error.to_string());
            Exit::Usage
        })?;
        let out = out_folder(arguments, &folder);
        let run = find(arguments, &out, &name, wanted)?;
        let stored = store::open(&run).map_err(|error| stored(&error))?;
        if stored.run.end == Some(End::Complete) {
            say_error(&format!(
                "the run {} is complete; there is nothing to resume",
                stored.run.id
            ));
            return Err(Exit::Usage);
        }
        if stored.run.suite.text != source.text {
            say_warning(
                "the suite file has changed since this run began; the run goes on with what it began with",
            );
        }
        let lost = revisions::lost(&stored.run.spec, &folder);
        for reason in &lost {
            say_error(reason);
        }
        if !lost.is_empty() {
            say_line("the run cannot go on without what it compares; nothing was started");
            return Err(Exit::Usage);
        }
        works.push(Work {
            suite: name,
            folder,
            out,
            task: Task::GoOn(run, Box::new(stored.run.spec)),
        });
    }
    Ok(works)
}

/// The folder of the run that is meant.
fn find(arguments: &RunArgs, out: &Path, suite: &str, wanted: &str) -> Result<PathBuf, Exit> {
    if wanted != "latest" {
        return store::find(out, Some(suite), wanted).map_err(|error| stored(&error));
    }
    let profile = arguments.selection.profile.as_deref();
    let found = store::unfinished(out, suite, profile).map_err(|error| stored(&error))?;
    found.map(|run| run.path).ok_or_else(|| {
        for run in store::list(out).unwrap_or_default() {
            if let (true, RunState::Unreadable(reason)) = (run.suite == suite, &run.state) {
                say_warning(&format!("the run {} was passed over: {reason}", run.id));
            }
        }
        say_error(&format!(
            "the suite {suite} has no unfinished run in {}; run it without --resume",
            out.display()
        ));
        Exit::Usage
    })
}

fn cannot(error: &dyn std::fmt::Display) -> Exit {
    say_error(&format!("this machine cannot: {error}"));
    Exit::Machine
}

pub(super) fn stored(error: &StoreError) -> Exit {
    say_error(&error.to_string());
    match error {
        StoreError::NoRun { .. } | StoreError::BadName(_) | StoreError::Ambiguous { .. } => {
            Exit::Usage
        }
        _ => Exit::Machine,
    }
}

/// `reports` beside the folder `suites`; for a suite that lies elsewhere, beside the suite.
pub(super) fn default_out(suite_folder: &Path) -> PathBuf {
    let absolute = std::path::absolute(suite_folder).unwrap_or_else(|_| suite_folder.to_owned());
    let in_suites = absolute.file_name().is_some_and(|name| name == "suites");
    match suite_folder.parent() {
        Some(parent) if in_suites && !parent.as_os_str().is_empty() => parent.join("reports"),
        Some(_) if in_suites => PathBuf::from("reports"),
        _ if in_suites => absolute
            .parent()
            .map_or_else(|| "reports".into(), |parent| parent.join("reports")),
        _ => suite_folder.join("reports"),
    }
}

fn out_folder(arguments: &RunArgs, suite_folder: &Path) -> PathBuf {
    arguments
        .out
        .clone()
        .unwrap_or_else(|| default_out(suite_folder))
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

/// What all suites of an invocation have in common.
struct Sessions<'a> {
    arguments: &'a RunArgs,
    nofile: Option<u64>,
    template: Option<Template>,
    into: Option<Splice>,
    runtime: tokio::runtime::Runtime,
    cancel: Cancel,
}

impl Sessions<'_> {
    fn one(&self, work: &mut Work) -> Result<Exit, Exit> {
        let folder = std::path::absolute(&work.folder).map_err(|error| cannot(&error))?;
        let scratch = Scratch::new(&work.out).map_err(|error| cannot(&error))?;
        let program = GuardProgram::current();
        let revision = self
            .runtime
            .block_on(run::revision(&folder, scratch.path(), &program));
        let sources = self.runtime.block_on(run::sources(
            work.spec(),
            &folder,
            &work.out,
            scratch.path(),
            &program,
        ));
        let session = Session {
            started: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
            hotlap: env!("CARGO_PKG_VERSION").to_owned(),
            revision,
            sources: sources.as_ref().ok().cloned(),
            load_average: host::load_average(),
            host: Some(host::fingerprint()),
            notes: Vec::new(),
        };
        warn_of_leftovers(&work.out);
        let mut versions = BTreeMap::new();
        if let Task::Begin(planned, _) = &mut work.task {
            versions = requirements::apply(&mut planned.spec, &folder, scratch.path())?;
            let todo = changed::todo(
                self.arguments,
                &New {
                    planned,
                    out: &work.out,
                    narrowed: &narrowing(self.arguments, &planned.spec),
                    session: &session,
                    unknown: sources.as_ref().err().map(String::as_str),
                    versions: &versions,
                },
            );
            match todo {
                Todo::Nothing(run, stored) => return self.nothing(&run, &stored, &work.out),
                Todo::GoOn(run) => work.task = Task::GoOn(run, Box::new(planned.spec.clone())),
                Todo::Begin(Some(why)) if !self.arguments.quiet => {
                    say_line(&format!("{}: {why}, so it is run", work.suite));
                }
                Todo::Begin(_) => {}
            }
        }
        let mut records = match &work.task {
            Task::Begin(planned, baseline) => begin(
                self.arguments,
                planned,
                &work.out,
                session,
                versions,
                baseline.as_deref(),
            )?,
            Task::GoOn(run, spec) => {
                requirements::refuse_lost_generators(spec, &folder, scratch.path())?;
                resume(run, session)?
            }
        };
        let job = Job {
            folder,
            program,
            hotlap: std::env::current_exe().map_err(|error| cannot(&error))?,
            nofile: self.nofile,
            fail_fast: self.arguments.fail_fast,
        };
        let mut listener = Listener::new(
            self.arguments.quiet,
            !self.arguments.no_progress && is_interactive(),
            self.arguments.events.is_some(),
        );
        let ended =
            self.runtime
                .block_on(run::run(&mut records, &job, &self.cancel, &mut |event| {
                    listener.hear(event);
                }));
        drop(listener);
        let path = records.path().to_owned();
        drop(records);
        self.report(ended, &path, work)
    }

    /// Says that nothing was to be done, and what became of the gates of the run that stands. What its end was cut off from
    /// is made up for.
    fn nothing(&self, run: &Path, stored: &Stored, out: &Path) -> Result<Exit, Exit> {
        if !reports::are_written(stored, run, out) {
            reports::write(run, out, self.template.as_ref(), self.into.as_ref())?;
        }
        let gates = if self.arguments.gate {
            reports::gates(stored)
        } else {
            GateLines::default()
        };
        let exit = gates::tell(&gates, self.arguments.gate, self.arguments.quiet);
        let spec = &stored.run.spec;
        say_line(&format!(
            "{}: nothing has changed since the run {}, so it was not run again; report: {}",
            sentence::name(&spec.suite, spec.profile.as_deref()),
            stored.run.id,
            sentence::place(&run.join("report.md"))
        ));
        Ok(exit)
    }

    /// Writes the reports of what there is; the exit code says how it went.
    fn report(&self, ended: Result<End, RunError>, run: &Path, work: &Work) -> Result<Exit, Exit> {
        let out = &work.out;
        let end = match ended {
            Ok(end) => end,
            Err(error) => {
                say_error(&error.to_string());
                // What is on disk is whole, and worth a report where there is space for one.
                let into = self.into.as_ref();
                if let Ok(written) = reports::write(run, out, self.template.as_ref(), into) {
                    self.sum_up(&work.suite, None, &written);
                }
                return Err(Exit::Machine);
            }
        };
        let (template, into) = (self.template.as_ref(), self.into.as_ref());
        let written = reports::write(run, out, template, into).inspect_err(|_| {
            say_line(&format!(
                "{}: every trial is kept; when this is mended, `hotlap report {}` makes the reports",
                work.suite,
                sentence::place(run)
            ));
        })?;
        let gates = gates::tell(&written.gates, self.arguments.gate, self.arguments.quiet);
        self.sum_up(&work.suite, Some(end), &written);
        let trials = match end {
            End::Interrupted => Exit::Interrupted,
            End::Aborted => Exit::TrialFailed,
            End::Complete if written.bad_trials > 0 => Exit::TrialFailed,
            End::Complete => Exit::Fine,
        };
        Ok(trials.max(gates))
    }

    /// The last line of a run.
    fn sum_up(&self, suite: &str, end: Option<End>, written: &Written) {
        let fate = Fate {
            suite,
            profile: written.profile.as_deref(),
            end,
            done: written.trials.0,
            planned: written.trials.1,
            bad_trials: written.bad_trials,
            bad_cells: &written.bad_cells,
            skipped: written.skipped,
            gates: self.arguments.gate.then_some(&written.gates),
            report: &written.report,
        };
        say_line(&fate.sentence());
    }
}
