//! Which cells a page has rows for, where there are too many for anybody to read. Files for programs always have all.

use super::show;
use super::view::Finding;
use crate::record::{Direction, metric};
use crate::stats::{CellSummary, State, own_headline};
use std::collections::{BTreeMap, BTreeSet};

/// More cells than this are not all shown.
pub(super) const MOST_CELLS: usize = 400;
/// Of more findings than this the largest are told.
pub(super) const MOST_FINDINGS: usize = 60;
/// Rows of tables that have one for each trial.
pub(super) const MOST_TRIALS: usize = 1000;
/// Cells that are named in one sentence.
pub(super) const MOST_NAMES: usize = 20;

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

/// Leaves the findings of the largest ratios, in their order. How many there were.
pub(super) fn largest(findings: &mut Vec<Finding>) -> usize {
    let all = findings.len();
    if all > MOST_FINDINGS {
        let size = |finding: &Finding| finding.ratio_raw.ln().abs();
        let mut sizes: Vec<f64> = findings.iter().map(size).collect();
        sizes.sort_by(|a, b| b.total_cmp(a));
        let least = sizes[MOST_FINDINGS - 1];
        findings.retain(|finding| size(finding) >= least);
        findings.truncate(MOST_FINDINGS);
    }
    all
}

/// What a reader must know of what is left out.
pub(super) fn left_out(shown: usize, cells: usize, findings: (usize, usize)) -> (String, String) {
    let (told, all) = findings;
    let told = if told < all {
        format!(
            "; of {} comparisons the {told} largest are told",
            show::count(all as f64)
        )
    } else {
        String::new()
    };
    let why = format!(
        "tables have {} of {}, of each load those that did best and what they are compared with{told}; summary.csv, trials.csv \
         and report.json have all",
        show::count(shown as f64),
        show::plural(cells, "cell"),
    );
    ("Not every cell is shown".to_owned(), why)
}

/// Cuts a list of names short, with a word for how many are left out.
pub(super) fn few_names(names: &mut Vec<String>) {
    let more = names.len().saturating_sub(MOST_NAMES);
    if more > 0 {
        names.truncate(MOST_NAMES);
        names.push(format!("{} more", show::count(more as f64)));
    }
}
