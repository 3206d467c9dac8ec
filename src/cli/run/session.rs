//! The session of each suite of an invocation, from what is to be done to the exit code.

use super::super::begin::{begin, narrowing, resume, warn_of_leftovers};
use super::super::changed::{self, New, Todo};
use super::super::exit::Exit;
use super::super::progress::Listener;
use super::super::reports::{self, Written};
use super::super::scratch::Scratch;
use super::super::sentence::{self, Fate};
use super::super::splice::Splice;
use super::super::terminal::{is_interactive, say_error, say_line};
use super::super::{gates, requirements};
use super::works::{Task, Work};
use super::{RunArgs, cannot};
use crate::host;
use crate::process::GuardProgram;
use crate::record::{End, Session};
use crate::report::{GateLines, Template};
use crate::run::{self, Cancel, Job, RunError};
use crate::store::{RunFolder, Stored};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What all suites of an invocation have in common.
pub(super) struct Sessions<'a> {
    pub(super) arguments: &'a RunArgs,
    /// The soft limit on open files that servers get.
    pub(super) nofile: Option<u64>,
    pub(super) template: Option<Template>,
    pub(super) into: Option<Splice>,
    pub(super) runtime: tokio::runtime::Runtime,
    pub(super) cancel: Cancel,
}

impl Sessions<'_> {
    /// Runs a suite, or goes on with a run of it, and writes its reports.
    pub(super) fn one(&self, work: &mut Work) -> Result<Exit, Exit> {
        let folder = std::path::absolute(&work.folder).map_err(|error| cannot(&error))?;
        let scratch = Scratch::new(&work.out).map_err(|error| cannot(&error))?;
        let (session, unknown) = self.session(work, &folder, &scratch);
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
                    unknown: unknown.as_deref(),
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
        let job = self.job(folder.clone())?;
        let mut records = self.records(work, &folder, &scratch, session, versions)?;
        let ended = self.carry_out(&mut records, &job);
        let path = records.path().to_owned();
        drop(records);
        self.report(ended, &path, work)
    }

    /// Where and with what this session is, and why its sources cannot be told if so.
    fn session(&self, work: &Work, folder: &Path, scratch: &Scratch) -> (Session, Option<String>) {
        let program = GuardProgram::current();
        let revision = self.runtime.block_on(run::revision(
            work.spec(),
            folder,
            &work.out,
            scratch.path(),
            &program,
        ));
        let sources = self.runtime.block_on(run::sources(
            work.spec(),
            folder,
            &work.out,
            scratch.path(),
            &program,
        ));
        let (sources, unknown) = match sources {
            Ok(sources) => (Some(sources), None),
            Err(why) => (None, Some(why)),
        };
        let session = Session {
            started: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
            hotlap: env!("CARGO_PKG_VERSION").to_owned(),
            revision,
            sources,
            load_average: host::load_average(),
            host: Some(host::fingerprint()),
            notes: Vec::new(),
        };
        (session, unknown)
    }

    /// The records of a new run, or those of the run that goes on.
    fn records(
        &self,
        work: &Work,
        folder: &Path,
        scratch: &Scratch,
        session: Session,
        versions: BTreeMap<String, String>,
    ) -> Result<RunFolder, Exit> {
        match &work.task {
            Task::Begin(planned, baseline) => begin(
                self.arguments,
                planned,
                &work.out,
                session,
                versions,
                baseline.as_deref(),
            ),
            Task::GoOn(run, spec) => {
                requirements::refuse_lost_generators(spec, folder, scratch.path())?;
                resume(run, session)
            }
        }
    }

    /// What trials need to know of this machine and of what was asked.
    fn job(&self, folder: PathBuf) -> Result<Job, Exit> {
        Ok(Job {
            folder,
            program: GuardProgram::current(),
            hotlap: std::env::current_exe().map_err(|error| cannot(&error))?,
            nofile: self.nofile,
            fail_fast: self.arguments.fail_fast,
        })
    }

    /// Carries out the trials that the records lack, and says what happens meanwhile.
    fn carry_out(&self, records: &mut RunFolder, job: &Job) -> Result<End, RunError> {
        let mut listener = Listener::new(
            self.arguments.quiet,
            !self.arguments.no_progress && is_interactive(),
            self.arguments.events.is_some(),
        );
        self.runtime
            .block_on(run::run(records, job, &self.cancel, &mut |event| {
                listener.hear(event);
            }))
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
