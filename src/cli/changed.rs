//! `--if-changed` and `--or-resume`: what there is to do for a suite, by its last run. Only a run that measured just
//! this (the files, the suite, the cells, the machine, the version) and came to its end with nothing but valid trials
//! needs no other; only one that began with just this is gone on with.

use super::run::RunArgs;
use super::suites::{Planned, counted};
use crate::ids::{CellId, hex};
use crate::record::{Outcome, Session};
use crate::store::{self, RunState, RunSummary, Stored};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What there is to do.
pub(super) enum Todo {
    /// To measure, from the beginning. Why, where that was asked.
    Begin(Option<String>),
    /// To go on with this run.
    GoOn(PathBuf),
    /// Nothing: the run in this folder measured it.
    Nothing(PathBuf, Box<Stored>),
}

/// A run that would begin now.
pub(super) struct New<'a> {
    /// Its suite.
    pub(super) planned: &'a Planned,
    /// The folder of reports.
    pub(super) out: &'a Path,
    /// What narrows it.
    pub(super) narrowed: &'a [String],
    /// Its first session.
    pub(super) session: &'a Session,
    /// Why it is not known what it measures, where it is not.
    pub(super) unknown: Option<&'a str>,
    /// What programs say of their versions.
    pub(super) versions: &'a BTreeMap<String, String>,
}

/// What there is to do, as `--if-changed` and `--or-resume` have it.
pub(super) fn todo(arguments: &RunArgs, new: &New<'_>) -> Todo {
    if !arguments.if_changed && !arguments.or_resume {
        return Todo::Begin(None);
    }
    match last(new) {
        Err(why) => Todo::Begin(Some(why)),
        Ok((run, stored)) if run.state == RunState::Complete => {
            if !arguments.if_changed {
                return Todo::Begin(None);
            }
            match bad(&stored).or_else(|| skipped(&stored, new.planned)) {
                Some(why) => Todo::Begin(Some(format!("of the last run {}, {why}", run.id))),
                None => Todo::Nothing(run.path, Box::new(stored)),
            }
        }
        Ok((run, _)) if arguments.or_resume => Todo::GoOn(run.path),
        Ok((run, _)) => Todo::Begin(Some(format!(
            "the last run {} did not come to its end ({} of {} trials)",
            run.id, run.done, run.planned
        ))),
    }
}

/// The last run, where it began with just what would begin now; else what is different, in a sentence without its end.
fn last(new: &New<'_>) -> Result<(RunSummary, Stored), String> {
    let spec = &new.planned.spec;
    let run = store::last(new.out, &spec.suite, spec.profile.as_deref(), new.narrowed)
        .map_err(|error| error.to_string())?
        .ok_or("it has not been run yet")?;
    if let RunState::Unreadable(reason) = &run.state {
        return Err(format!("the last run {} cannot be read: {reason}", run.id));
    }
    let stored = store::open(&run.path).map_err(|error| error.to_string())?;
    match different(&stored, new) {
        Some(what) => Err(format!("{what} since the run {}", run.id)),
        None => Ok((run, stored)),
    }
}

/// What has changed since a run, as the beginning of a sentence.
fn different(stored: &Stored, new: &New<'_>) -> Option<String> {
    let run = &stored.run;
    let text = Sha256::digest(new.planned.read.source.text.as_bytes());
    if run.suite.sha256 != hex(&text) {
        return Some("the suite file has changed".to_owned());
    }
    if let Some(why) = new.unknown {
        return Some(format!("it cannot be told what has changed ({why})"));
    }
    let of_all = |same: &dyn Fn(&Session) -> bool| run.sessions.iter().all(same);
    if !of_all(&|session| session.sources == new.session.sources) {
        let revision = new.session.revision.as_deref();
        return Some(format!(
            "files of the repository have changed (now {})",
            revision.unwrap_or("without a revision")
        ));
    }
    if !of_all(&|session| session.hotlap == new.session.hotlap) {
        return Some(format!("hotlap has changed (now {})", new.session.hotlap));
    }
    let machine = |session: &Session| {
        session.host.as_ref().unwrap_or(&run.host) == new.session.host.as_ref().unwrap_or(&run.host)
    };
    if !of_all(&machine) {
        return Some("the machine has changed".to_owned());
    }
    let ids = |cells: &[crate::spec::Cell]| -> BTreeSet<CellId> {
        cells.iter().map(|cell| cell.id.clone()).collect()
    };
    if ids(&run.spec.cells) != ids(&new.planned.spec.cells) {
        return Some("the cells have changed (another revision, say)".to_owned());
    }
    let other = new.versions.iter().find(|(name, version)| {
        let before = run.versions.get(*name);
        before.is_some_and(|before| before != *version)
    });
    other.map(|(name, version)| format!("{name} has changed (now {version})"))
}

/// What was not measured in a run that came to its end.
fn bad(stored: &Stored) -> Option<String> {
    let bad = stored
        .trials
        .iter()
        .filter(|trial| trial.outcome != Outcome::Valid)
        .count();
    (bad > 0).then(|| {
        format!(
            "{} failed or {} invalid",
            counted(bad, "trial"),
            if bad == 1 { "is" } else { "are" }
        )
    })
}

/// What a run had to leave out, and can be run now.
fn skipped(stored: &Stored, planned: &Planned) -> Option<String> {
    let skips = |cells: &[crate::spec::Cell]| -> BTreeSet<CellId> {
        let skipped = cells.iter().filter(|cell| cell.skip.is_some());
        skipped.map(|cell| cell.id.clone()).collect()
    };
    let then = skips(&stored.run.spec.cells);
    let now = skips(&planned.spec.cells);
    let more = then.difference(&now).count();
    (more > 0).then(|| {
        format!(
            "{} {} skipped that can run now",
            counted(more, "cell"),
            if more == 1 { "was" } else { "were" }
        )
    })
}
