//! Which cells a page has rows for, where there are too many for anybody to read. Files for programs always have all.

use super::show;
use super::since::SinceView;
use super::view::{Finding, View};
use crate::record::{Direction, metric};
use crate::stats::{CellSummary, State, own_headline};
use std::collections::{BTreeMap, BTreeSet};

/// More cells than this are not all shown.
pub(super) const MOST_CELLS: usize = 400;
/// Of more findings than this the largest are told.
const MOST_FINDINGS: usize = 60;
/// Rows of tables that have one for each trial.
const MOST_TRIALS: usize = 1000;
/// Cells that are named in one sentence.
const MOST_NAMES: usize = 20;

/// Of each load the cells that did best, as many of each, with those that they are compared with, in file order. None where all
/// can be shown.
pub(super) fn chosen<'a>(cells: &[CellSummary<'a>]) -> Option<Vec<CellSummary<'a>>> {
    if cells.len() <= MOST_CELLS {
        return None;
    }
    let mut of_loads: BTreeMap<&str, Vec<(f64, usize)>> = BTreeMap::new();
    for (at, cell) in cells.iter().enumerate() {
        if let Some(badness) = badness(cell) {
            let of_load = of_loads.entry(&cell.cell.load).or_default();
            of_load.push((badness, at));
        }
    }
    let each = MOST_CELLS / of_loads.len().max(1);
    let mut taken = BTreeSet::new();
    for of_load in of_loads.values_mut() {
        // A stable sort: those that are equal stay in the order of the file.
        of_load.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        taken.extend(of_load.iter().take(each.max(1)).map(|(_, at)| *at));
    }
    let bases: Vec<usize> = taken.iter().filter_map(|at| cells[*at].baseline).collect();
    taken.extend(bases);
    Some(taken.into_iter().map(|at| cells[at].clone()).collect())
}

/// The figure that a cell is judged by, less of which is better; none where it has none.
fn badness(cell: &CellSummary<'_>) -> Option<f64> {
    let metric = metric(own_headline(cell).filter(|_| cell.state == State::Measured)?)?;
    let median = cell.metric(metric.name)?.median;
    Some(match metric.direction {
        Direction::Higher => -median,
        Direction::Lower => median,
    })
}

/// Cuts a view of some cells down to what can be read. What is left out of which list is said on top.
pub(super) fn shorten(view: &mut View, shown: usize, cells: usize) {
    let mut cut = Cut::default();
    let comparisons = view.findings.len();
    if largest(&mut view.findings) {
        cut.say(
            view.findings.len(),
            comparisons,
            "comparisons (the largest)",
        );
    }
    cut.list(&mut view.others, MOST_CELLS, "cells without figures");
    cut.list(&mut view.trials, MOST_TRIALS, "trials of these cells");
    // It has a row for each of these trials.
    view.generator.truncate(MOST_TRIALS);
    if let Some(gates) = &mut view.gates {
        cut.list(&mut gates.fallen, MOST_CELLS, "gates that fell");
        cut.list(&mut gates.held, MOST_CELLS, "gates that held");
    }
    if let Some(nights) = &mut view.nights {
        cut.list(&mut nights.told, MOST_FINDINGS, "changes of this night");
        cut.list(&mut nights.begins, MOST_FINDINGS, "new series");
    }
    if let Some(since) = &mut view.since {
        cut.since(since);
    }
    cut.list(
        &mut view.cautions,
        MOST_CELLS,
        "remarks on what the run cannot say",
    );
    for caution in &mut view.cautions {
        few_names(&mut caution.cells);
    }
    view.banners.push(cut.banner(shown, cells));
}

/// What was cut.
#[derive(Default)]
struct Cut(Vec<String>);

impl Cut {
    fn list<T>(&mut self, list: &mut Vec<T>, most: usize, what: &str) {
        let all = list.len();
        if all > most {
            list.truncate(most);
            self.say(most, all, what);
        }
    }

    fn say(&mut self, left: usize, all: usize, what: &str) {
        let count = |number: usize| show::count(number as f64);
        self.0
            .push(format!("{} of {} {what}", count(left), count(all)));
    }

    /// What has become of cells since an earlier run.
    fn since(&mut self, since: &mut SinceView) {
        self.list(&mut since.lost, MOST_CELLS, "cells that lost their figures");
        self.list(&mut since.worse, MOST_FINDINGS, "cells that are worse");
        self.list(&mut since.better, MOST_FINDINGS, "cells that are better");
        self.list(&mut since.rows, MOST_CELLS, "cells beside the earlier run");
        for table in &mut since.tables {
            // Each has these cells.
            table.rows.truncate(MOST_CELLS);
        }
        self.list(&mut since.changed, MOST_CELLS, "changed configurations");
        self.list(&mut since.unmatched, MOST_CELLS, "cells without a ratio");
    }

    fn banner(self, shown: usize, cells: usize) -> (String, String) {
        let best = match shown {
            0 => String::new(),
            _ => format!(
                "tables have {} of {} cells, of each load those that did best and what they are compared with; ",
                show::count(shown as f64),
                show::count(cells as f64)
            ),
        };
        let lists = match self.0.as_slice() {
            [] => String::new(),
            lists => format!("lists are cut: {}; ", lists.join(", ")),
        };
        let why = format!("{best}{lists}summary.csv, trials.csv and report.json have all");
        ("Not every cell is shown".to_owned(), why)
    }
}

/// Leaves the findings of the largest ratios, in their order. Whether there were more.
fn largest(findings: &mut Vec<Finding>) -> bool {
    if findings.len() <= MOST_FINDINGS {
        return false;
    }
    let size = |finding: &Finding| finding.ratio_raw.ln().abs();
    let mut sizes: Vec<f64> = findings.iter().map(size).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let least = sizes[MOST_FINDINGS - 1];
    findings.retain(|finding| size(finding) >= least);
    findings.truncate(MOST_FINDINGS);
    true
}

/// Cuts a list of names short, with a word for how many are left out.
fn few_names(names: &mut Vec<String>) {
    let more = names.len().saturating_sub(MOST_NAMES);
    if more > 0 {
        names.truncate(MOST_NAMES);
        names.push(format!("{} more", show::count(more as f64)));
    }
}
