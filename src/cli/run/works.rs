//! What a run is made of: suites that are planned, or unfinished runs with their stored plans.

use super::super::baseline::{Whose, older};
use super::super::begin::narrowing;
use super::super::suites::{self, Mistakes, Planned, counted};
use super::super::terminal::{say_error, say_line, say_warning};
use super::super::{requirements, revisions};
use super::{Exit, RunArgs, stored};
use crate::record::{Baseline, End};
use crate::spec::Spec;
use crate::store::{self, RunState};
use std::path::{Path, PathBuf};

/// One suite to run, or one run to go on with.
pub(super) struct Work {
    pub(super) suite: String,
    /// The suite's folder.
    pub(super) folder: PathBuf,
    /// The folder of reports.
    pub(super) out: PathBuf,
    pub(super) task: Task,
}

pub(super) enum Task {
    /// A run from its beginning, with what it is compared with.
    Begin(Box<Planned>, Option<Box<Baseline>>),
    /// The run in this folder, of which this much is known.
    GoOn(PathBuf, Box<Spec>),
}

impl Work {
    pub(super) fn spec(&self) -> &Spec {
        match &self.task {
            Task::Begin(planned, _) => &planned.spec,
            Task::GoOn(_, spec) => spec,
        }
    }
}

/// The suites, planned.
pub(super) fn planned(arguments: &RunArgs) -> Result<Vec<Work>, Exit> {
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
pub(super) fn kept(arguments: &RunArgs, wanted: &str) -> Result<Vec<Work>, Exit> {
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

/// `reports` beside the folder `suites`; for a suite that lies elsewhere, beside the suite.
pub(in crate::cli) fn default_out(suite_folder: &Path) -> PathBuf {
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
