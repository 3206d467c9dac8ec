//! The run that another is compared with, by whatever a person calls it: a folder, a file, an id, `latest`, `previous`.

use super::exit::Exit;
use super::reports::with_input;
use super::terminal::{say_error, say_warning};
use crate::ids::RunId;
use crate::record::Baseline;
use crate::report;
use crate::store::{self, RunState, StoreError};
use std::path::Path;

/// Whose run it must be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whose<'a> {
    /// The folder of reports in which an id is looked for.
    pub(super) out: &'a Path,
    /// The suite.
    pub(super) suite: &'a str,
    /// Its profile; none is the default.
    pub(super) profile: Option<&'a str>,
    /// What narrows the run that is compared.
    pub(super) selection: &'a [String],
    /// That run, where it has an id yet.
    pub(super) before: Option<&'a RunId>,
}

/// The old run for a new one: `latest` and `previous` are the newest complete run of its suite and profile before it.
pub(super) fn older(word: &str, whose: &Whose<'_>) -> Result<Baseline, Exit> {
    let old = if matches!(word, "latest" | "previous") {
        newest(whose)?
    } else {
        any(word, whose.out, Some(whose.suite))?
    };
    if old.suite != whose.suite {
        say_error(&format!(
            "{word} is of the suite {:?}, and this is {:?}; only runs of one suite are compared",
            old.suite, whose.suite
        ));
        return Err(Exit::Usage);
    }
    Ok(old)
}

fn newest(whose: &Whose<'_>) -> Result<Baseline, Exit> {
    let Whose {
        out,
        suite,
        profile,
        selection,
        before,
    } = *whose;
    let found =
        store::newest(out, suite, profile, selection, before).map_err(|error| refused(&error))?;
    if let Some(run) = found {
        return records(&run.path);
    }
    for run in store::list(out).unwrap_or_default() {
        if let (true, RunState::Unreadable(reason)) = (run.suite == suite, &run.state) {
            say_warning(&format!("the run {} was passed over: {reason}", run.id));
        }
    }
    let profile = profile.map_or_else(String::new, |profile| {
        format!(" with the profile {profile}")
    });
    let before = before.map_or_else(String::new, |before| format!(" before {before}"));
    say_error(&format!(
        "the suite {suite} has no complete run{profile}{before} in {} to compare with; `hotlap list` shows what there is",
        out.display()
    ));
    Err(Exit::Usage)
}

/// Any run: a folder, a file, an id, or `latest`, which is the newest that can be read.
pub(super) fn any(word: &str, out: &Path, suite: Option<&str>) -> Result<Baseline, Exit> {
    let path = Path::new(word);
    if path.is_file() {
        return file(path);
    }
    if path.is_dir() {
        return folder(path);
    }
    match store::find(out, suite, word) {
        Ok(found) => records(&found),
        // What is committed of a run are its tables.
        Err(StoreError::NoRun { wanted, folder }) => {
            let table = store::find_table(out, suite, word).map_err(|error| refused(&error))?;
            let Some(table) = table else {
                return Err(refused(&StoreError::NoRun { wanted, folder }));
            };
            store::read_table(&table).map_err(|error| refused(&error))
        }
        Err(error) => Err(refused(&error)),
    }
}

fn file(path: &Path) -> Result<Baseline, Exit> {
    let is = |name: &str| path.file_name().is_some_and(|file| file == name);
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if is("run.json") || is("trials.jsonl") {
        return records(parent.unwrap_or(Path::new(".")));
    }
    let ending = path.extension().and_then(|ending| ending.to_str());
    let read = match ending {
        Some("csv") => store::read_table(path),
        Some("json") => store::read_baseline(path),
        _ => {
            say_error(&format!(
                "{} is no run: give a run's folder or id, a baseline.json, or a trials.csv",
                path.display()
            ));
            return Err(Exit::Usage);
        }
    };
    read.map_err(|error| refused(&error))
}

fn folder(path: &Path) -> Result<Baseline, Exit> {
    if path.join("run.json").is_file() {
        return records(path);
    }
    let table = path.join("trials.csv");
    if table.is_file() {
        return store::read_table(&table).map_err(|error| refused(&error));
    }
    say_error(&format!(
        "{} is no run's folder: neither run.json nor trials.csv is in it",
        path.display()
    ));
    Err(Exit::Usage)
}

/// A run of which the records are there.
fn records(folder: &Path) -> Result<Baseline, Exit> {
    let stored = store::open(folder).map_err(|error| refused(&error))?;
    Ok(with_input(&stored, None, report::baseline))
}

fn refused(error: &StoreError) -> Exit {
    say_error(&error.to_string());
    Exit::Usage
}
