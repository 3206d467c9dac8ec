//! Which runs there are, how far each came, and which one is meant by a word.

use super::read::{Named, read_run, read_trials};
use super::{RUN_FILE, StoreError, TRIALS_FILE, plain_name, runs_folder};
use crate::ids::{RunId, TrialId};
use crate::record::{End, Outcome};
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A run on disk, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The run: the name of its folder.
    pub id: RunId,
    /// Its suite: the name of the folder above.
    pub suite: String,
    /// Its profile; none is the default.
    pub profile: Option<String>,
    /// The `--only` and `--skip` that narrowed it.
    pub selection: Vec<String>,
    /// How far it came.
    pub state: RunState,
    /// Trials with a record.
    pub done: usize,
    /// Trials of its plan.
    pub planned: usize,
    /// Trials that failed.
    pub failed: usize,
    /// Trials that are invalid.
    pub invalid: usize,
    /// Its folder.
    pub path: PathBuf,
}

/// How far a run came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// Every planned trial has a record.
    Complete,
    /// It was stopped.
    Interrupted,
    /// It was given up.
    Aborted,
    /// It is still running, or its runner was killed.
    Unfinished,
    /// Its files cannot be read, and why.
    Unreadable(String),
}

impl RunState {
    /// Whether `--resume` may go on with it.
    pub fn is_resumable(&self) -> bool {
        matches!(self, Self::Interrupted | Self::Aborted | Self::Unfinished)
    }
}

/// Every run of every suite, by suite and then by id, which is by time. A run that
/// cannot be read is in the list with the reason; a folder in which no run began is not.
pub fn list(out: &Path) -> Result<Vec<RunSummary>, StoreError> {
    let mut all = Vec::new();
    for suite in folders(out)? {
        all.extend(of_suite(out, &suite)?);
    }
    Ok(all)
}

/// The folder of a run: an id, or `latest`, which is the newest that can be read,
/// whether it is complete or not. Without a suite an id is looked for in all.
pub fn find(out: &Path, suite: Option<&str>, wanted: &str) -> Result<PathBuf, StoreError> {
    plain_name(wanted)?;
    let all = match suite {
        Some(suite) => of_suite(out, suite)?,
        None => list(out)?,
    };
    let mut matching: Vec<RunSummary> = if wanted == "latest" {
        all.into_iter()
            .filter(|run| !matches!(run.state, RunState::Unreadable(_)))
            .max_by(|a, b| a.id.cmp(&b.id))
            .into_iter()
            .collect()
    } else {
        all.into_iter().filter(|run| run.id.0 == wanted).collect()
    };
    if matching.len() > 1 {
        return Err(StoreError::Ambiguous {
            wanted: wanted.to_owned(),
            suites: matching.into_iter().map(|run| run.suite).collect(),
        });
    }
    let folder = match suite {
        Some(suite) => runs_folder(out, suite)?,
        None => out.to_owned(),
    };
    matching
        .pop()
        .map(|run| run.path)
        .ok_or_else(|| StoreError::NoRun {
            wanted: wanted.to_owned(),
            folder,
        })
}

/// The newest complete run of this suite and profile, of those before the run `before` where there is one. A run that was
/// narrowed counts only where it was narrowed in the same way.
pub fn newest(
    out: &Path,
    suite: &str,
    profile: Option<&str>,
    narrowed: &[String],
    before: Option<&RunId>,
) -> Result<Option<RunSummary>, StoreError> {
    let found = of_suite(out, suite)?.into_iter().rfind(|run| {
        run.state == RunState::Complete
            && run.profile.as_deref() == profile
            && (run.selection.is_empty() || run.selection == narrowed)
            && before.is_none_or(|before| run.id < *before)
    });
    Ok(found)
}

/// The newest run of this suite and profile that was narrowed in just this way, however far it came; one that cannot be
/// read may be of any.
pub fn last(
    out: &Path,
    suite: &str,
    profile: Option<&str>,
    narrowed: &[String],
) -> Result<Option<RunSummary>, StoreError> {
    let found = of_suite(out, suite)?.into_iter().rfind(|run| {
        matches!(run.state, RunState::Unreadable(_))
            || run.profile.as_deref() == profile && run.selection == narrowed
    });
    Ok(found)
}

/// The newest run of this suite and profile that `--resume` may go on with.
pub fn unfinished(
    out: &Path,
    suite: &str,
    profile: Option<&str>,
) -> Result<Option<RunSummary>, StoreError> {
    let newest = of_suite(out, suite)?
        .into_iter()
        .rfind(|run| run.state.is_resumable() && run.profile.as_deref() == profile);
    Ok(newest)
}

fn of_suite(out: &Path, suite: &str) -> Result<Vec<RunSummary>, StoreError> {
    let runs = runs_folder(out, suite)?;
    let summaries = folders(&runs)?
        .into_iter()
        .map(|id| (runs.join(&id), id))
        // A folder without run.json is of a run that was cut off before it began.
        .filter(|(path, _)| path.join(RUN_FILE).exists())
        .map(|(path, id)| summary(suite, id, path))
        .collect();
    Ok(summaries)
}

/// The names of the folders in a folder, sorted; none where it does not exist.
pub(super) fn folders(parent: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(StoreError::io("read", parent))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(StoreError::io("read", parent))?;
        // Names that are not text were not made by hotlap; hidden ones are no runs yet.
        if entry.path().is_dir()
            && let Ok(name) = entry.file_name().into_string()
            && plain_name(&name).is_ok()
            && !name.starts_with('.')
        {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// As much of a trial's line as is counted.
#[derive(Deserialize)]
struct Counted {
    trial: TrialId,
    outcome: Outcome,
}

impl Named for Counted {
    fn trial(&self) -> &TrialId {
        &self.trial
    }
}

fn summary(suite: &str, id: String, path: PathBuf) -> RunSummary {
    let mut summary = RunSummary {
        id: RunId(id),
        suite: suite.to_owned(),
        profile: None,
        selection: Vec::new(),
        state: RunState::Unfinished,
        done: 0,
        planned: 0,
        failed: 0,
        invalid: 0,
        path,
    };
    if let Err(error) = fill(&mut summary) {
        summary.state = RunState::Unreadable(error.to_string());
    }
    summary
}

fn fill(summary: &mut RunSummary) -> Result<(), StoreError> {
    let run = read_run(&summary.path.join(RUN_FILE))?;
    summary.planned = run.plan.len();
    summary.profile = run.spec.profile;
    summary.selection = run.selection;
    summary.state = match run.end {
        Some(End::Complete) => RunState::Complete,
        Some(End::Interrupted) => RunState::Interrupted,
        Some(End::Aborted) => RunState::Aborted,
        None => RunState::Unfinished,
    };
    let trials = read_trials::<Counted>(&summary.path.join(TRIALS_FILE))?.trials;
    summary.done = trials.len();
    for trial in trials {
        match trial.outcome {
            Outcome::Valid => {}
            Outcome::Invalid { .. } => summary.invalid += 1,
            Outcome::Failed { .. } => summary.failed += 1,
        }
    }
    Ok(())
}
