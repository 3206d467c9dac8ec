//! A run in a handful of figures: what an index needs to know of it. It is stored at the end of
//! each published report, since the records themselves are not committed.

use super::anchor::encode;
use super::gate::judged;
use super::unchanged::unchanged;
use super::{Input, View};
use crate::ids::RunId;
use crate::record::{End, Run};
use crate::stats::{CellSummary, Series, State, complete, summarise};
use serde::{Deserialize, Serialize};

/// A run in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// The run.
    pub run: RunId,
    /// The suite's name, by which its reports are filed.
    pub suite: String,
    /// The title of its report.
    pub title: String,
    /// The profile; none is the default.
    pub profile: Option<String>,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// All cells of the suite.
    pub cells: usize,
    /// Cells with figures.
    pub measured: usize,
    /// Cells of which no trial is valid, and one failed.
    pub failed: usize,
    /// Cells that ran, and of which no trial is valid.
    pub invalid: usize,
    /// Cells that could not run on this machine.
    pub skipped: usize,
    /// Limits that cells are held to.
    #[serde(default, skip_serializing_if = "is_none")]
    pub gates: usize,
    /// Those that fell.
    #[serde(default, skip_serializing_if = "is_none")]
    pub gates_fell: usize,
    /// What the suite asks, as plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What it found, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// The machine in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// When the night began, RFC 3339 in UTC, since which no change was told of any metric of any cell. None where the run is no
    /// night.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_since: Option<String>,
    /// What was in that night: `change found`, `another machine`, `first night`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_why: Option<String>,
    /// Whether this is the whole suite: it ended by itself, every planned trial has a record,
    /// and nothing was selected. Only such a run is published.
    pub whole: bool,
}

impl Digest {
    /// The run of these records in short.
    pub fn of(input: &Input<'_>) -> Self {
        Self::of_cells(input, &summarise(input.run, input.trials))
    }

    /// The same of records that are summarised.
    pub(super) fn of_cells(input: &Input<'_>, cells: &[CellSummary<'_>]) -> Self {
        let run = input.run;
        let gates = judged(input, cells);
        let count = |test: fn(&CellSummary<'_>) -> bool| cells.iter().filter(|c| test(c)).count();
        Self {
            run: run.id.clone(),
            suite: run.spec.suite.clone(),
            title: run.spec.title.clone(),
            profile: run.spec.profile.clone(),
            started: run
                .sessions
                .first()
                .map_or_else(String::new, |session| session.started.clone()),
            cells: cells.len(),
            measured: count(|cell| cell.state == State::Measured),
            failed: count(|cell| cell.state == State::Failed),
            invalid: count(|cell| cell.state == State::Invalid),
            skipped: count(|cell| matches!(cell.state, State::Skipped(_))),
            gates: gates.len(),
            gates_fell: gates.iter().filter(|gate| gate.fell()).count(),
            question: None,
            headline: None,
            machine: None,
            unchanged_since: None,
            unchanged_why: None,
            whole: whole(run, cells),
        }
    }

    /// Whether these records are of the whole suite.
    pub(super) fn is_whole(input: &Input<'_>) -> bool {
        whole(input.run, &summarise(input.run, input.trials))
    }
}

/// Whether these cells are the whole suite, measured to the end.
fn whole(run: &Run, cells: &[CellSummary<'_>]) -> bool {
    run.end == Some(End::Complete) && run.selection.is_empty() && complete(cells)
}

impl Digest {
    /// The same with what the run's view tells in words, and since when nothing has changed over its nights.
    #[must_use]
    pub(super) fn told(mut self, view: &View, nights: &[Series]) -> Self {
        let unchanged = unchanged(&self, nights);
        self.unchanged_why = unchanged.as_ref().map(|one| one.why.to_owned());
        self.unchanged_since = unchanged.map(|one| one.since);
        self.question.clone_from(&view.question);
        self.headline = Some(view.headline.clone());
        self.machine.clone_from(&view.machine);
        self
    }

    /// The name of the suite's page in its folder: `README.md`, or `README.<profile>.md`.
    pub fn page_name(&self) -> String {
        page_name(self.profile.as_deref())
    }

    /// The name of the suite's badge beside its page: `badge.svg`, or `badge.<profile>.svg`.
    pub fn badge_name(&self) -> String {
        match &self.profile {
            None => "badge.svg".to_owned(),
            Some(profile) => format!("badge.{profile}.svg"),
        }
    }
}

fn page_name(profile: Option<&str>) -> String {
    match profile {
        None => "README.md".to_owned(),
        Some(profile) => format!("README.{profile}.md"),
    }
}

/// The suite's page as a link from the run's folder, where the run is on it.
pub(super) fn page_from_run(run: &Run, cells: &[CellSummary<'_>]) -> Option<String> {
    let page = || format!("../../{}", encode(&page_name(run.spec.profile.as_deref())));
    whole(run, cells).then(page)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}
