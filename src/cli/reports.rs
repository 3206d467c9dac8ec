//! Reports are made from a run's folder, by `hotlap run` at its end and by
//! `hotlap report` at any time: the same records give the same bytes.

use super::exit::Exit;
use super::terminal::{say, say_error, say_warning};
use crate::ids::CellId;
use crate::publish::{Published, publish};
use crate::record::{Baseline, Outcome, Trial};
use crate::report::{
    Digest, Format, GateLines, Input, Options, Output, ReportError, check_template, render,
};
use crate::store::{self, Stored, write_whole};
use std::path::{Path, PathBuf};

/// What was written.
pub(super) struct Written {
    /// The report.
    pub(super) report: PathBuf,
    /// Trials that failed or are invalid.
    pub(super) bad_trials: usize,
    /// The names of their cells, each once, in file order.
    pub(super) bad_cells: Vec<String>,
    /// Trials with a record, and those of the plan.
    pub(super) trials: (usize, usize),
    /// Cells that could not run here.
    pub(super) skipped: usize,
    /// The profile; none is the default.
    pub(super) profile: Option<String>,
    /// What became of the suite's gates.
    pub(super) gates: GateLines,
}

/// What reports are made of.
pub(super) struct Made {
    /// Their files.
    pub(super) outputs: Vec<Output>,
    /// What the index needs of the run.
    pub(super) digest: Digest,
    /// What became of the suite's gates.
    pub(super) gates: GateLines,
}

/// Reads a template; the name in errors is the one that was typed.
pub(super) fn template(path: Option<&Path>) -> Result<Option<(String, String)>, Exit> {
    let Some(path) = path else { return Ok(None) };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        say_error(&format!("cannot read the template {name}: {error}"));
        Exit::Usage
    })?;
    check_template(&name, &text).map_err(|error| say_report_error(&error))?;
    Ok(Some((name, text)))
}

/// Makes every report of a run and puts it in its folder, and on the suite's
/// page where the run is complete. What was measured is not lost to a template
/// that turns out to be wrong: then the built-in one is used.
pub(super) fn write(
    folder: &Path,
    out: &Path,
    template: Option<&(String, String)>,
) -> Result<Written, Exit> {
    let unreadable = |_| Exit::Machine;
    let stored = open(folder).map_err(unreadable)?;
    let Made {
        outputs,
        digest,
        gates,
    } = make(&stored, None, &Options::default()).map_err(unreadable)?;
    for output in &outputs {
        save(&folder.join(output.file_name), &output.bytes)?;
    }
    let report = folder.join("report.md");
    // The page is the suite's own, so it is never in somebody's template.
    if let Some(markdown) = outputs
        .iter()
        .find(|output| output.file_name == "report.md")
    {
        let text = String::from_utf8_lossy(&markdown.bytes);
        match publish(out, &digest, &text) {
            Ok(Published::Written { .. } | Published::NotWhole | Published::Older { .. }) => {}
            Err(error) => say_warning(&format!("the suite's page was not written: {error}")),
        }
    }
    if template.is_some() {
        let options = Options {
            formats: vec![Format::Markdown],
            template: template.cloned(),
        };
        match make(&stored, None, &options) {
            Ok(own) => {
                for output in own.outputs {
                    save(&report, &output.bytes)?;
                }
            }
            Err(_) => say_warning("report.md is made with the built-in template instead"),
        }
    }
    let bad = |trial: &&Trial| !matches!(trial.outcome, Outcome::Valid);
    let bad: Vec<&CellId> = stored
        .trials
        .iter()
        .filter(bad)
        .map(|trial| &trial.trial.cell)
        .collect();
    let cells = stored.run.spec.cells.iter();
    Ok(Written {
        report,
        gates,
        bad_trials: bad.len(),
        bad_cells: cells
            .clone()
            .filter(|cell| bad.contains(&&cell.id))
            .map(|cell| cell.id.names().to_owned())
            .collect(),
        trials: (stored.trials.len(), stored.run.plan.len()),
        skipped: cells.filter(|cell| cell.skip.is_some()).count(),
        profile: stored.run.spec.profile.clone(),
    })
}

/// A template's mistake comes rendered, with its own head.
fn say_report_error(error: &ReportError) -> Exit {
    match error {
        ReportError::Template { rendered, .. } => say(rendered),
        ReportError::Serialise(_) => say_error(&error.to_string()),
    }
    Exit::Usage
}

/// A run's folder, or an error for people.
pub(super) fn open(folder: &Path) -> Result<Stored, Exit> {
    store::open(folder).map_err(|error| {
        say_error(&error.to_string());
        Exit::Usage
    })
}

/// What can be made of a run's records, compared with `baseline` instead of what they were compared with, where there is one.
pub(super) fn with_input<T>(
    stored: &Stored,
    baseline: Option<&Baseline>,
    make: impl FnOnce(&Input<'_>) -> T,
) -> T {
    let mut notes = stored.notes.clone();
    notes.extend(
        stored
            .run
            .sessions
            .iter()
            .flat_map(|session| session.notes.clone()),
    );
    make(&Input {
        run: &stored.run,
        trials: &stored.trials,
        readings: &stored.readings,
        baseline: baseline.or(stored.baseline.as_ref()),
        notes: &notes,
    })
}

/// The reports as bytes, and what else is to be known of them.
pub(super) fn make(
    stored: &Stored,
    baseline: Option<&Baseline>,
    options: &Options,
) -> Result<Made, Exit> {
    with_input(stored, baseline, |input| {
        let outputs = render(input, options).map_err(|error| say_report_error(&error))?;
        Ok(Made {
            outputs,
            digest: Digest::of(input),
            gates: GateLines::of(input),
        })
    })
}

/// Writes a file whole.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), Exit> {
    write_whole(path, bytes).map_err(|error| {
        say_error(&error.to_string());
        Exit::Machine
    })
}
