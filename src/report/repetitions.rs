//! How many trials there are, where the suite does not simply say it: how the number was found, what a budget left of it,
//! and which cells would have needed more.

use super::caution::Caution;
use super::naming::Naming;
use super::show;
use crate::ids::CellId;
use crate::record::Run;
use crate::spec::Cell;
use crate::stats::{CellSummary, ENOUGH_TRIALS, still_wide};
use crate::units::write_duration;

/// How the number of trials was found, where the suite does not say it.
pub(super) fn fact(run: &Run) -> Option<String> {
    let settings = &run.spec.run;
    let most = |auto: bool| {
        let cells = run.spec.cells.iter().filter(|cell| cell.auto == auto);
        cells.map(|cell| cell.repetitions).max()
    };
    let found = most(true).map(|most| {
        format!(
            "rounds were added until half of an interval was at most {} of its middle, and a third more; at most {most} a cell",
            show::share(settings.target)
        )
    });
    let budget = settings.budget.map(|budget| {
        format!(
            "the run had a budget of {}; a round is run whole or not at all",
            write_duration(budget)
        )
    });
    let parts: Vec<String> = found.into_iter().chain(budget).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What a budget took from the number of trials.
pub(super) fn of_budget(run: &Run) -> Option<String> {
    let budget = run.spec.run.budget?;
    let cells = run.spec.cells.iter().filter(|cell| cell.skip.is_none());
    // Where their number is found, so many are the least that it begins with.
    let wanted = |cell: &Cell| {
        let all = cell.repetitions as usize;
        if cell.auto {
            all.min(ENOUGH_TRIALS)
        } else {
            all
        }
    };
    let planned = |id: &CellId| run.plan.iter().filter(|one| one.trial.cell == *id).count();
    let short = cells.filter(|cell| planned(&cell.id) < wanted(cell));
    let (left, of) = short
        .map(|cell| (planned(&cell.id), wanted(cell)))
        .max_by_key(|(_, of)| *of)?;
    let verdict = if left < ENOUGH_TRIALS {
        ", which is too few for a verdict"
    } else {
        ""
    };
    Some(format!(
        "The budget of {} left {left} of up to {of} trials a cell{verdict}.",
        write_duration(budget)
    ))
}

/// Cells whose number of trials was found, and whose intervals are wider than was wanted.
pub(super) fn wide(run: &Run, naming: &Naming<'_>, cells: &[CellSummary<'_>]) -> Vec<Caution> {
    let target = show::share(run.spec.run.target);
    let why = |cell: &CellSummary<'_>| {
        if cell.planned < cell.cell.repetitions as usize {
            "as many as there were"
        } else {
            "the most that it may have"
        }
    };
    still_wide(run, cells)
        .into_iter()
        .map(|(cell, half)| Caution {
            cells: vec![naming.title(cell.cell)],
            text: format!(
                "After {}, {}, its interval is still ±{}, where ±{target} was wanted.",
                show::plural(cell.planned, "trial"),
                why(cell),
                show::share(half)
            ),
        })
        .collect()
}
