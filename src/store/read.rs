//! Reading of a run's folder. It depends on nothing but the files: a report can be
//! made again on another machine, years later.

use super::history::{History, history_path, read_history};
use super::{RUN_FILE, SAMPLES_FILE, StoreError, TRIALS_FILE, baseline, samples};
use crate::ids::TrialId;
use crate::record::{Baseline, FORMAT, Readings, Run, Trial};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Cursor};
use std::panic::resume_unwind;
use std::path::Path;

/// Everything that a run's folder holds, but the logs.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// `run.json`.
    pub run: Run,
    /// `trials.jsonl`, in the order in which the trials ended.
    pub trials: Vec<Trial>,
    /// `samples.csv`: the readings of each trial that has a record, in their order.
    pub readings: Readings,
    /// `baseline.json`: what the run is compared with; none where it was made without.
    pub baseline: Option<Baseline>,
    /// `history.csv` of its suite and profile: the rows of the runs before it, and its own. Empty where the folder does not lie
    /// among the runs of a suite.
    pub history: History,
    /// What was ignored of the run's own files, in a sentence each, for people to see.
    pub notes: Vec<String>,
    /// Whether the files must be written anew before more is appended: they end in something that must go, or lack a
    /// column.
    pub(super) needs_mending: bool,
}

/// Reads a run's folder. A last line that was cut off while it was written is
/// ignored with a note, as are readings of trials without a record; anything else
/// that hotlap did not write is an error, two records of one trial too.
pub fn open(folder: &Path) -> Result<Stored, StoreError> {
    let mut run = read_run(&folder.join(RUN_FILE))?;
    for cell in &mut run.spec.cells {
        // A list that grows while it is read has room for more than it gets.
        cell.processes.shrink_to_fit();
    }
    let path = folder.join(SAMPLES_FILE);
    let table = || match file_if_there(&path)? {
        Some(file) => samples::read(&path, file),
        None => samples::read(&path, Cursor::new([])),
    };
    // The two are large, and have nothing to do with each other.
    let (lines, samples) = std::thread::scope(|threads| {
        let samples = threads.spawn(table);
        let lines = read_trials(&folder.join(TRIALS_FILE));
        let samples = samples.join();
        (lines, samples.unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let lines: Lines<Trial> = lines?;
    let samples = samples?.of(lines.trials.iter().map(|trial| &trial.trial));
    let mut notes = Vec::new();
    if lines.torn {
        notes.push(format!(
            "the last line of {TRIALS_FILE} was cut off while it was written; its trial counts as not run"
        ));
    }
    if samples.has_orphans {
        notes.push(format!(
            "{SAMPLES_FILE} has readings of a trial that was cut off; they are left out"
        ));
    }
    for trial in &lines.trials {
        let counts = trial.load.as_ref().map(|load| load.counts);
        if let Some(Err(broken)) = counts.map(|counts| counts.check()) {
            notes.push(format!(
                "the record of {} contradicts itself: {broken}",
                trial.trial
            ));
        }
    }
    // The records are whole without it.
    let history = history_until(folder, &run).unwrap_or_else(|error| History {
        rows: Vec::new(),
        notes: vec![format!("the history of nights is left out: {error}")],
    });
    Ok(Stored {
        history,
        run,
        baseline: baseline::of_folder(folder)?,
        needs_mending: lines.unended || samples.has_orphans || samples.is_earlier,
        trials: lines.trials,
        readings: samples.readings,
        notes,
    })
}

/// The nights up to a run, by where its folder lies: `<out>/<suite>/runs/<run>`.
fn history_until(folder: &Path, run: &Run) -> Result<History, StoreError> {
    let absolute = std::path::absolute(folder).map_err(StoreError::io("find", folder))?;
    let runs = absolute.parent().filter(|runs| runs.ends_with("runs"));
    let Some((out, suite)) = runs.and_then(Path::parent).and_then(|suite| {
        let name = suite.file_name()?.to_str()?;
        Some((suite.parent()?, name))
    }) else {
        return Ok(History::default());
    };
    let Ok(path) = history_path(out, suite, run.spec.profile.as_deref()) else {
        return Ok(History::default());
    };
    let started = run.sessions.first().map_or("", |session| &session.started);
    let mut history = read_history(&path)?;
    let until = (started, &run.id);
    history
        .rows
        .retain(|row| (row.time.as_str(), &row.run) <= until);
    Ok(history)
}

/// `run.json` alone.
pub(super) fn read_run(path: &Path) -> Result<Run, StoreError> {
    let bytes = fs::read(path).map_err(StoreError::io("read", path))?;
    parse(path, None, &bytes)
}

/// The lines of `trials.jsonl`.
pub(super) struct Lines<T> {
    pub(super) trials: Vec<T>,
    /// The last line was cut off.
    torn: bool,
    /// The file does not end in a line end, whether its last line is whole or not.
    unended: bool,
}

/// A record that names its trial, whole or as far as a list needs it.
pub(super) trait Named: DeserializeOwned {
    fn trial(&self) -> &TrialId;
}

impl Named for Trial {
    fn trial(&self) -> &TrialId {
        &self.trial
    }
}

pub(super) fn read_trials<T: Named>(path: &Path) -> Result<Lines<T>, StoreError> {
    let mut lines = Lines {
        trials: Vec::new(),
        torn: false,
        unended: false,
    };
    let Some(file) = file_if_there(path)? else {
        return Ok(lines);
    };
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    let mut seen = HashSet::new();
    for number in 1.. {
        line.clear();
        let length = file.read_until(b'\n', &mut line);
        if length.map_err(StoreError::io("read", path))? == 0 {
            break;
        }
        lines.unended = !line.ends_with(b"\n");
        let trial: T = match parse(path, Some(number), &line) {
            Ok(trial) => trial,
            // A record that lacks only its line end is whole. A cut is no newer format.
            Err(StoreError::Broken { .. }) if lines.unended => {
                lines.torn = true;
                break;
            }
            Err(error) => return Err(error),
        };
        if !seen.insert(trial.trial().clone()) {
            return Err(StoreError::Duplicate {
                path: path.to_owned(),
                trial: trial.trial().clone(),
            });
        }
        lines.trials.push(trial);
    }
    Ok(lines)
}

/// The version is looked at first: a newer file may not have the shape of ours.
pub(super) fn parse<T: DeserializeOwned>(
    path: &Path,
    line: Option<usize>,
    bytes: &[u8],
) -> Result<T, StoreError> {
    #[derive(Deserialize)]
    struct Version {
        format: u64,
    }
    let broken = |error: serde_json::Error| StoreError::Broken {
        path: path.to_owned(),
        line,
        reason: error.to_string(),
    };
    // What hotlap writes begins with it, so that a file of many megabytes is not read twice.
    if bytes.starts_with(format!("{{\"format\":{FORMAT},").as_bytes()) {
        return serde_json::from_slice(bytes).map_err(broken);
    }
    let Version { format } = serde_json::from_slice(bytes).map_err(broken)?;
    if format != u64::from(FORMAT) {
        return Err(StoreError::Format {
            path: path.to_owned(),
            line,
            found: format,
            known: FORMAT,
        });
    }
    serde_json::from_slice(bytes).map_err(broken)
}

/// A run that was cut off early has no trials and no samples yet.
fn file_if_there(path: &Path) -> Result<Option<File>, StoreError> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(StoreError::io("read", path)),
    }
}
