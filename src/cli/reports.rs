//! Reports are made from a run's folder, by `hotlap run` at its end and by
//! `hotlap report` at any time: the same records give the same bytes.

use super::exit::Exit;
use super::splice::Splice;
use super::terminal::{say, say_error, say_warning};
use crate::ids::CellId;
use crate::publish::{Pages, Published, places, publish, shown};
use crate::record::{Baseline, End, Outcome, Trial};
use crate::report::{
    Digest, GateLines, Input, Options, Pending, ReportError, Reporter, Template, history_gap,
    history_rows,
};
use crate::stats::summarise;
use crate::store::{self, StoreError, Stored, write_whole_by};
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// Makes every report of a run and puts it in its folder, and on the suite's
/// page where the run is complete. What was measured is not lost to a template
/// that turns out to be wrong: then the built-in one is used.
pub(super) fn write(
    folder: &Path,
    out: &Path,
    template: Option<&Template>,
    into: Option<&Splice>,
) -> Result<Written, Exit> {
    let stored = open(folder).map_err(|_| Exit::Machine)?;
    if let Err(error) = add_to_history(&stored, out) {
        say_warning(&format!(
            "the history does not have this run: {error}; `hotlap history {} --add` adds it",
            stored.run.spec.suite
        ));
    }
    with_input(&stored, None, |input| {
        let cells = summarise(input.run, input.trials);
        let made = Made {
            reporter: Reporter::new(*input, &cells),
            stored: &stored,
            folder,
        };
        made.write(out, template, into)
    })
}

/// Whether a run has its report, its page and its rows in the history.
pub(super) fn are_written(stored: &Stored, folder: &Path, out: &Path) -> bool {
    let digest = with_input(stored, None, Digest::of);
    let is_shown = || shown(out, &digest).is_some_and(|shown| shown.run >= digest.run);
    let is_night = || is_in_history(stored, out);
    folder.join("report.md").is_file() && (!digest.whole || (is_shown() && is_night()))
}

/// Whether the history has every row of a run.
fn is_in_history(stored: &Stored, out: &Path) -> bool {
    let rows = with_input(stored, None, history_rows);
    let spec = &stored.run.spec;
    store::history_path(out, &spec.suite, spec.profile.as_deref())
        .and_then(|path| store::has_history(&path, &rows))
        .unwrap_or(false)
}

/// A run whose reports are made.
struct Made<'a> {
    reporter: Reporter<'a, 'a>,
    stored: &'a Stored,
    folder: &'a Path,
}

impl Made<'_> {
    fn write(
        &self,
        out: &Path,
        template: Option<&Template>,
        into: Option<&Splice>,
    ) -> Result<Written, Exit> {
        let outputs = self.reporter.files(&Options::default());
        let outputs = outputs.map_err(|error| {
            say_report_error(&error);
            Exit::Machine
        })?;
        save_all(self.folder, &outputs.iter().collect::<Vec<_>>())?;
        let markdown = outputs
            .iter()
            .find(|output| output.file_name == "report.md");
        // The page is the suite's own, so it is never in somebody's template.
        if let Some(markdown) = markdown {
            let plots = outputs.iter().filter(|output| output.is_plot());
            let plots: Vec<(&str, &[u8])> = plots
                .map(|plot| (plot.file_name.as_str(), plot.bytes()))
                .collect();
            self.publish(out, &String::from_utf8_lossy(markdown.bytes()), &plots);
        }
        let own = template.and_then(|template| self.own(template));
        let mut report = self.folder.join("report.md");
        if let Some(into) = into {
            if let Some(text) = own.as_ref().or(markdown)
                && self.stored.run.end == Some(End::Complete)
            {
                let suite = &self.stored.run.spec.suite;
                let places = places(out, &self.reporter.digest(), self.folder);
                into.put(suite, &String::from_utf8_lossy(text.bytes()), &places)?;
            } else {
                into.keep();
            }
        } else if let Some(own) = &own {
            report = self.folder.join(&own.file_name);
            save_all(self.folder, &[own])?;
        }
        Ok(self.written(report))
    }

    fn written(&self, report: PathBuf) -> Written {
        let Stored { run, trials, .. } = self.stored;
        let bad = |trial: &&Trial| !matches!(trial.outcome, Outcome::Valid);
        let bad: Vec<&CellId> = trials
            .iter()
            .filter(bad)
            .map(|trial| &trial.trial.cell)
            .collect();
        let cells = run.spec.cells.iter();
        Written {
            report,
            gates: self.reporter.gates(),
            bad_trials: bad.len(),
            bad_cells: cells
                .clone()
                .filter(|cell| bad.contains(&&cell.id))
                .map(|cell| cell.id.names().to_owned())
                .collect(),
            trials: (trials.len(), run.plan.len()),
            skipped: cells.filter(|cell| cell.skip.is_some()).count(),
            profile: run.spec.profile.clone(),
        }
    }

    /// The report of somebody's template; none where it fails in spite of having been checked.
    fn own(&self, template: &Template) -> Option<Pending<'_>> {
        let options = Options {
            formats: Vec::new(),
            template: Some(template.clone()),
        };
        match self.reporter.files(&options) {
            Ok(outputs) => outputs.into_iter().next(),
            Err(error) => {
                say_report_error(&error);
                say_warning("the report is made with the built-in template instead");
                None
            }
        }
    }

    /// Puts the run's report on its suite's page, where it is a whole run, and makes the index anew.
    fn publish(&self, out: &Path, report: &str, plots: &[(&str, &[u8])]) {
        let digest = self.reporter.digest();
        if !digest.whole {
            return;
        }
        let badge = match self.reporter.badge() {
            Ok(badge) => badge,
            Err(error) => {
                say_report_error(&error);
                return;
            }
        };
        let pages = Pages {
            folder: self.folder,
            report,
            plots,
            badge: &badge,
        };
        match publish(out, &digest, pages) {
            Ok(Published::Written { .. } | Published::NotWhole | Published::Older { .. }) => {}
            Err(error) => say_warning(&format!("the suite's page was not written: {error}")),
        }
    }
}

/// Adds a run that has no end to its suite's history, as a gap with its reason. Says whether it was added.
pub(super) fn add_gap(stored: &Stored, reason: &str, out: &Path) -> Result<bool, StoreError> {
    let rows = with_input(stored, None, |input| history_gap(input, reason));
    let spec = &stored.run.spec;
    let path = store::history_path(out, &spec.suite, spec.profile.as_deref())?;
    store::append_history(&path, &rows)
}

/// Adds a run to its suite's history, where it is the whole suite and not there yet. Says whether it was added.
pub(super) fn add_to_history(stored: &Stored, out: &Path) -> Result<bool, StoreError> {
    let rows = with_input(stored, None, history_rows);
    if rows.is_empty() {
        return Ok(false);
    }
    let spec = &stored.run.spec;
    let path = store::history_path(out, &spec.suite, spec.profile.as_deref())?;
    for note in store::read_history(&path)?.notes {
        say_warning(&note);
    }
    store::append_history(&path, &rows)
}

/// A template's mistake comes rendered, with its own head.
pub(super) fn say_report_error(error: &ReportError) -> Exit {
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
    notes.extend(stored.history.notes.iter().cloned());
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
        history: &stored.history.rows,
        notes: &notes,
    })
}

/// What became of the gates of a run.
pub(super) fn gates(stored: &Stored) -> GateLines {
    with_input(stored, None, GateLines::of)
}

/// Writes the files of a report into a run's folder, two at a time: the tables of a large run take seconds to make.
pub(super) fn save_all(folder: &Path, files: &[&Pending<'_>]) -> Result<(), Exit> {
    let next = AtomicUsize::new(0);
    let work = || {
        // The largest is the last.
        while let Some(file) = files.iter().rev().nth(next.fetch_add(1, Ordering::Relaxed)) {
            save_file(&folder.join(&file.file_name), file)?;
        }
        Ok(())
    };
    std::thread::scope(|threads| {
        let other = threads.spawn(work);
        let own = work();
        let other = other.join().unwrap_or_else(|panic| resume_unwind(panic));
        own.and(other)
    })
}

/// Writes a file of a report whole, and the folder that it is to be in.
fn save_file(path: &Path, file: &Pending<'_>) -> Result<(), Exit> {
    save_by(path, |to| file.write(to))
}

/// The same of bytes that are there.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), Exit> {
    save_by(path, |to| to.write_all(bytes))
}

fn save_by(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Exit> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder).map_err(|error| {
            say_error(&format!("cannot make {}: {error}", folder.display()));
            Exit::Machine
        })?;
    }
    write_whole_by(path, write).map_err(|error| {
        say_error(&error.to_string());
        Exit::Machine
    })
}
