//! The folder of a run that is under way: made new or taken up again, one trial
//! after the other, and closed with how it ended.

use super::read::{Stored, open, read_trials};
use super::whole::sync_folder;
use super::{
    BASELINE_FILE, RUN_FILE, SAMPLES_FILE, StoreError, TRIALS_FILE, append, runs_folder, samples,
    write_baseline, write_whole,
};
use crate::ids::{RunId, TrialId};
use crate::record::{Baseline, End, Reading, Run, Session, Trial};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A run's folder that is being written. One process has it at a time: hold the
/// lock of the output folder.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    run: Run,
    finished: BTreeSet<TrialId>,
}

/// Written and removed again to see whether there is room.
const ROOM_FILE: &str = ".room";
/// Bytes that a trial may leave beside the logs of its server.
const ROOM: usize = 512 * 1024;
/// The name of a run's folder until its record is in it.
const UNBORN: &str = ".unborn";
/// So many runs of one revision in one second, and something else is wrong.
const MOST_SUFFIXES: u32 = 1000;

impl RunFolder {
    /// Makes the folder of a new run and writes its `run.json`. The id in `run` is
    /// replaced by a unique one: the time in UTC to the second, and `revision`
    /// (short, `-dirty` where there were changes) where there is one. `baseline` is what its reports compare it with.
    pub fn create(
        out: &Path,
        suite: &str,
        revision: Option<&str>,
        mut run: Run,
        baseline: Option<&Baseline>,
    ) -> Result<Self, StoreError> {
        let runs = runs_folder(out, suite)?;
        fs::create_dir_all(&runs).map_err(StoreError::io("create the folder", &runs))?;
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H%M%SZ");
        let base = match revision {
            Some(revision) => format!("{time}-{}", super::plain_name(revision)?),
            None => time.to_string(),
        };
        // A folder without its record would be a run that nobody can read, so the folder
        // gets its name when the record is in it.
        let unborn = runs.join(UNBORN);
        remove(&unborn)?;
        fs::create_dir(&unborn).map_err(StoreError::io("create the folder", &unborn))?;
        let (id, path) = free_name(&runs, &base)?;
        run.id = id;
        let mut folder = Self {
            path: unborn,
            run,
            finished: BTreeSet::new(),
        };
        let kept = baseline.map_or(Ok(()), |baseline| {
            write_baseline(&folder.path.join(BASELINE_FILE), baseline)
        });
        if let Err(error) = kept.and_then(|()| folder.write_run()) {
            let _ = fs::remove_dir_all(&folder.path);
            return Err(error);
        }
        fs::rename(&folder.path, &path).map_err(StoreError::io("create the folder", &path))?;
        sync_folder(&runs)?;
        folder.path = path;
        Ok(folder)
    }

    /// Takes a run up again. What was cut off at the end of its files is taken
    /// out first, so that what is appended follows something whole.
    pub fn resume(folder: &Path) -> Result<(Self, Stored), StoreError> {
        let stored = open(folder)?;
        if stored.needs_mending {
            mend(folder, &stored)?;
        }
        let folder = Self {
            path: folder.to_owned(),
            run: stored.run.clone(),
            finished: stored
                .trials
                .iter()
                .map(|trial| trial.trial.clone())
                .collect(),
        };
        Ok((folder, stored))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What `run.json` holds now.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The trials that have a record, valid or not.
    pub fn finished(&self) -> &BTreeSet<TrialId> {
        &self.finished
    }

    /// The records of the trials so far, in the order in which they ended.
    pub fn trials(&self) -> Result<Vec<Trial>, StoreError> {
        Ok(read_trials(&self.path.join(TRIALS_FILE))?.trials)
    }

    /// That there is room for what a trial leaves, before it begins: a disk that is full must not
    /// be taken for a server that fails.
    pub fn ensure_room(&self) -> Result<(), StoreError> {
        let path = self.path.join(ROOM_FILE);
        let tried = fs::write(&path, vec![b' '; ROOM]).map_err(StoreError::io("write", &path));
        let removed = remove_file(&path);
        tried.and(removed)
    }

    /// The folder for what a trial's processes print. It is made, and emptied of what a
    /// trial that was cut off left there.
    pub fn log_folder(&self, trial: &TrialId) -> Result<PathBuf, StoreError> {
        let path = self.path.join("logs").join(trial.slug());
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("empty", &path)(error));
            }
            _ => {}
        }
        fs::create_dir_all(&path).map_err(StoreError::io("create the folder", &path))?;
        Ok(path)
    }

    /// Keeps a trial: its readings first, its record last, both synced. After an
    /// error the trial counts as not run.
    pub fn append_trial(&mut self, trial: &Trial, readings: &[Reading]) -> Result<(), StoreError> {
        let trials = self.path.join(TRIALS_FILE);
        if self.finished.contains(&trial.trial) {
            return Err(StoreError::Duplicate {
                path: trials,
                trial: trial.trial.clone(),
            });
        }
        let mut line = serde_json::to_vec(trial)
            .map_err(|error| StoreError::io("write", &trials)(error.into()))?;
        line.push(b'\n');
        if !readings.is_empty() {
            let path = self.path.join(SAMPLES_FILE);
            append::append(&path, &sample_rows(&path, &trial.trial, readings)?)?;
        }
        append::append(&trials, &line)?;
        self.finished.insert(trial.trial.clone());
        Ok(())
    }

    /// Changes `run.json`: versions that were found, trials that were added to the plan.
    pub fn update(&mut self, change: impl FnOnce(&mut Run)) -> Result<(), StoreError> {
        change(&mut self.run);
        self.write_run()
    }

    /// Notes that another invocation works on this run, which so is not at its end.
    pub fn add_session(&mut self, session: Session) -> Result<(), StoreError> {
        self.update(|run| {
            run.sessions.push(session);
            run.end = None;
        })
    }

    /// Notes how the run ended.
    pub fn finish(&mut self, end: End) -> Result<(), StoreError> {
        self.update(|run| run.end = Some(end))
    }

    fn write_run(&self) -> Result<(), StoreError> {
        let path = self.path.join(RUN_FILE);
        let mut text = serde_json::to_vec_pretty(&self.run)
            .map_err(|error| StoreError::io("write", &path)(error.into()))?;
        text.push(b'\n');
        write_whole(&path, &text)
    }
}

/// The first of this name, and of this name with a number, that no run has. The lock of the
/// output folder keeps others from taking it meanwhile.
fn free_name(runs: &Path, base: &str) -> Result<(RunId, PathBuf), StoreError> {
    for attempt in 1..=MOST_SUFFIXES {
        let id = match attempt {
            1 => base.to_owned(),
            // So that names of one second sort in their order.
            _ => format!("{base}.{attempt:03}"),
        };
        let path = runs.join(&id);
        if fs::symlink_metadata(&path).is_err() {
            return Ok((RunId(id), path));
        }
    }
    Err(StoreError::io("find a free name in", runs)(
        io::ErrorKind::AlreadyExists.into(),
    ))
}

/// Takes a file away, where there is one.
fn remove_file(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Takes a folder away, where there is one.
fn remove(folder: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

fn sample_rows(path: &Path, trial: &TrialId, readings: &[Reading]) -> Result<Vec<u8>, StoreError> {
    // A file that was cut back to nothing needs its header again.
    let is_new = fs::metadata(path).map_or(true, |file| file.len() == 0);
    samples::rows(trial, readings, is_new)
        .map_err(|error| StoreError::io("write", path)(io::Error::other(error)))
}

/// Writes the files again with what is whole. The records go last, as always:
/// cut off in between, the folder is as readable as before.
fn mend(folder: &Path, stored: &Stored) -> Result<(), StoreError> {
    let path = folder.join(SAMPLES_FILE);
    let mut table = Vec::new();
    for trial in stored.trials.iter().map(|trial| &trial.trial) {
        let Some(readings) = stored.readings.of(trial) else {
            continue;
        };
        table.extend(
            samples::rows(trial, &readings, table.is_empty())
                .map_err(|error| StoreError::io("write", &path)(io::Error::other(error)))?,
        );
    }
    write_whole(&path, &table)?;
    let path = folder.join(TRIALS_FILE);
    let mut lines = Vec::new();
    for trial in &stored.trials {
        serde_json::to_writer(&mut lines, trial)
            .map_err(|error| StoreError::io("write", &path)(error.into()))?;
        lines.push(b'\n');
    }
    write_whole(&path, &lines)
}
