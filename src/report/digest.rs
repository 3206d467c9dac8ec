//! A run in a handful of figures: what an index needs to know of it. It is stored at the end of
//! each published report, since the records themselves are not committed.

use super::Input;
use super::gate::judged;
use crate::ids::RunId;
use crate::record::{End, Run};
use crate::stats::{CellSummary, State, complete, summarise};
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
    /// Whether this is the whole suite: it ended by itself, every planned trial has a record,
    /// and nothing was selected. Only such a run is published.
    pub whole: bool,
}

impl Digest {
    /// The run of these records in short.
    pub fn of(input: &Input<'_>) -> Self {
        let run = input.run;
        let cells = summarise(run, input.trials);
        let gates = judged(input, &cells);
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
            whole: whole(run, &cells),
        }
    }

    /// Whether these records are of the whole suite.
    pub(super) fn is_whole(input: &Input<'_>) -> bool {
        whole(input.run, &summarise(input.run, input.trials))
    }
}

fn whole(run: &Run, cells: &[CellSummary<'_>]) -> bool {
    run.end == Some(End::Complete) && run.selection.is_empty() && complete(cells)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}
