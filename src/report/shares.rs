//! What became of each request of a mix: a table of its own, since all other figures are of all requests together.

use super::naming::Naming;
use super::show;
use crate::record::Share;
use crate::stats::CellSummary;
use crate::units::show_seconds;
use schemars::JsonSchema;
use serde::Serialize;

/// One request of a cell's mix.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShareView {
    /// The names of its cell, one a column.
    pub names: Vec<String>,
    /// Whether others are compared with its cell.
    pub baseline: bool,
    /// What the request is called.
    pub request: String,
    /// Its weight.
    pub weight: u32,
    /// How often it was sent, of all valid trials, as shown.
    pub sent: String,
    /// How often it failed, of all valid trials.
    pub errors: u64,
    /// Median service time, the middle of the trials, as shown.
    pub p50: String,
    /// 99th percentile, the middle of the trials, as shown.
    pub p99: String,
}

/// The requests of every mix, in the order of cells and of the suite.
pub(super) fn rows(naming: &Naming<'_>, cells: &[&CellSummary<'_>]) -> Vec<ShareView> {
    let is_baseline = |cell: &CellSummary<'_>| {
        let id = Some(&cell.cell.id);
        cells.iter().any(|c| c.cell.baseline.as_ref() == id)
    };
    cells
        .iter()
        .flat_map(|cell| of_cell(naming, cell, is_baseline(cell)))
        .collect()
}

fn of_cell(naming: &Naming<'_>, cell: &CellSummary<'_>, baseline: bool) -> Vec<ShareView> {
    let trials: Vec<&[Share]> = cell
        .valid()
        .filter_map(|trial| Some(trial.load.as_ref()?.shares.as_slice()))
        .collect();
    let requests = trials.first().copied().unwrap_or_default();
    let row = |(at, first): (usize, &Share)| {
        let same: Vec<&Share> = trials.iter().filter_map(|all| all.get(at)).collect();
        ShareView {
            names: naming.row(cell.cell),
            baseline,
            request: first.name.clone(),
            weight: first.weight,
            sent: show::count(same.iter().map(|one| one.counts.sent).sum::<u64>() as f64),
            errors: same.iter().map(|one| one.counts.errors()).sum(),
            p50: middle(&same, 0.5),
            p99: middle(&same, 0.99),
        }
    };
    requests.iter().enumerate().map(row).collect()
}

/// The median over trials of a quantile, as shown; a dash where a trial has too few requests for it.
fn middle(shares: &[&Share], q: f64) -> String {
    let all: Option<Vec<u64>> = shares
        .iter()
        .map(|share| share.service.as_ref()?.quantile(q))
        .collect();
    let Some(mut all) = all.filter(|all| !all.is_empty()) else {
        return show::NONE.to_owned();
    };
    all.sort_unstable();
    let half = all.len() / 2;
    let middle = f64::midpoint(all[(all.len() - 1) / 2] as f64, all[half] as f64);
    show_seconds(middle / 1e9)
}
