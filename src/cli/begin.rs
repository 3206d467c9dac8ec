//! How a run begins or goes on: what stands in its way, what its record says of it, and its folder.

use super::exit::Exit;
use super::gates;
use super::requirements;
use super::run::{RunArgs, stored};
use super::suites::Planned;
use super::terminal::{say_error, say_line, say_warning};
use crate::ids::{RunId, hex};
use crate::plan::{estimate_pilot, one_round, schedule};
use crate::process::leftovers;
use crate::record::{Baseline, FORMAT, Run, Session, SuiteFile};
use crate::run::not_applied;
use crate::spec::Spec;
use crate::store::RunFolder;
use crate::units::{show_duration, write_duration};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// The folder of a run that begins, with what programs said of their `versions`, when everything that can stand in its way has been looked at.
pub(super) fn begin(
    arguments: &RunArgs,
    planned: &Planned,
    out: &Path,
    session: Session,
    versions: BTreeMap<String, String>,
    baseline: Option<&Baseline>,
) -> Result<RunFolder, Exit> {
    requirements::refuse_skips(&planned.spec, arguments.strict)?;
    refuse_budget(&planned.spec)?;
    for note in not_applied(&planned.spec.run) {
        say_line(&format!("note: {note}"));
    }
    if arguments.gate {
        gates::warn_of_regressions(&planned.spec, arguments.baseline.is_some());
    }
    let run = Run {
        format: FORMAT,
        id: RunId(String::new()),
        suite: suite_file(planned, out),
        spec: planned.spec.clone(),
        plan: schedule(&planned.spec),
        selection: narrowing(arguments, &planned.spec),
        host: session.host.clone().unwrap_or_default(),
        versions,
        pilots: Vec::new(),
        ceilings: Vec::new(),
        warmup: None,
        sessions: vec![session],
        end: None,
    };
    let revision = run
        .sessions
        .first()
        .and_then(|session| session.revision.clone());
    RunFolder::create(out, &planned.spec.suite, revision.as_deref(), run, baseline)
        .map_err(|error| stored(&error))
}

/// A budget in which not even one trial of each cell fits.
fn refuse_budget(spec: &Spec) -> Result<(), Exit> {
    let searched = spec
        .cells
        .iter()
        .filter(|cell| cell.work.find_warmup && cell.skip.is_none());
    let pilots = u32::try_from(searched.count()).unwrap_or(u32::MAX);
    let least = one_round(spec).saturating_add(estimate_pilot(&spec.run).0.saturating_mul(pilots));
    let Some(budget) = spec.run.budget.filter(|budget| least > *budget) else {
        return Ok(());
    };
    say_error(&format!(
        "the budget of {} is too small for the suite {}: one trial of each cell takes {} or more; give it more time, or \
         leave cells out (--only, --skip), or shorten loads in a profile",
        write_duration(budget),
        spec.suite,
        show_duration(least)
    ));
    Err(Exit::Usage)
}

/// The folder of a run that goes on.
pub(super) fn resume(run: &Path, mut session: Session) -> Result<RunFolder, Exit> {
    let (mut records, kept) = RunFolder::resume(run).map_err(|error| stored(&error))?;
    for note in &kept.notes {
        say_warning(note);
    }
    session.notes.clone_from(&kept.notes);
    if session
        .host
        .as_ref()
        .is_some_and(|host| *host != kept.run.host)
    {
        say_warning("this machine is not as it was when the run began; its trials may not compare");
    }
    let compares = kept
        .run
        .spec
        .cells
        .iter()
        .any(|cell| cell.revision.is_some());
    let last = kept.run.sessions.last();
    if compares && last.is_some_and(|last| last.revision != session.revision) {
        say_warning(
            "the working tree is not the revision that it was when the run began; its trials may not compare",
        );
    }
    records
        .add_session(session)
        .map_err(|error| stored(&error))?;
    Ok(records)
}

/// What makes this run less than the suite; such a run is no page of the suite.
pub(super) fn narrowing(arguments: &RunArgs, spec: &Spec) -> Vec<String> {
    let mut all = arguments.selection.narrowing();
    if arguments.selection.repetitions.is_some() {
        all.push(format!("--repetitions {}", spec.run.repetitions));
    }
    all
}

fn suite_file(planned: &Planned, out: &Path) -> SuiteFile {
    let hash = Sha256::digest(planned.read.source.text.as_bytes());
    SuiteFile {
        path: relative(&planned.read.path, out),
        sha256: hex(&hash),
        text: planned.read.source.text.clone(),
    }
}

/// The suite's path from the folder that holds the reports, where it lies below
/// that, so that a report does not tell where on a machine it was made.
fn relative(path: &Path, out: &Path) -> String {
    let absolute = std::path::absolute(path).ok();
    let base = std::path::absolute(out)
        .ok()
        .and_then(|out| out.parent().map(Path::to_owned));
    absolute
        .zip(base)
        .and_then(|(path, base)| path.strip_prefix(base).ok().map(Path::to_owned))
        .unwrap_or_else(|| path.to_owned())
        .display()
        .to_string()
}

/// Guards of earlier runs that were killed, and what they left alive.
pub(super) fn warn_of_leftovers(out: &Path) {
    let count: usize = super::clean::ledger_folders(out)
        .iter()
        .filter_map(|folder| leftovers(folder).ok())
        .flatten()
        .map(|left| left.processes.len())
        .sum();
    if count > 0 {
        say_warning(&format!(
            "an earlier run left {count} processes alive, which take part in whatever is measured; `hotlap clean` ends them"
        ));
    }
}
