//! Searches for the highest rate: what held, what did not, and why.

use super::naming::Naming;
use super::show;
use crate::record::{Search, SearchStep, Unit, metric, unit};
use crate::spec::{Bound, Pace, SearchLimit};
use crate::stats::{CellSummary, State, median};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// What the searches of a cell's valid trials found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchView {
    /// The cell's names in a phrase.
    pub title: String,
    /// `≥` where the generator could not offer more.
    pub bound: &'static str,
    /// The median of the rates that held.
    pub held: String,
    /// Its interval, or from the lowest to the highest, in brackets; empty where there is one trial.
    pub range: String,
    /// The median of the lowest rates that did not.
    pub failed: String,
    /// What broke there, as the first trial that tells it has it.
    pub broke: Option<String>,
    /// How many trials there are.
    pub trials: usize,
}

/// The rows of all cells that searched.
pub(super) fn rows(naming: &Naming<'_>, cells: &[CellSummary<'_>]) -> Vec<SearchView> {
    let measured = cells.iter().filter(|cell| cell.state == State::Measured);
    measured
        .filter_map(|cell| {
            let of_rate = metric("capacity")?;
            let spread = cell.metric("capacity")?;
            let failed: Vec<f64> = searches(cell).filter_map(|search| search.failed).collect();
            let range = show::range(of_rate, &spread);
            Some(SearchView {
                title: naming.title(cell.cell),
                bound: if searches(cell).any(|search| search.limited) {
                    "≥\u{a0}"
                } else {
                    ""
                },
                held: show::median(of_rate, &spread),
                range: if spread.values.len() > 1 {
                    format!("({range})")
                } else {
                    String::new()
                },
                failed: median(&failed).map_or_else(
                    || show::NONE.to_owned(),
                    |rate| show::in_unit(Unit::PerSecond, rate, 4),
                ),
                broke: broke(cell),
                trials: searches(cell).count(),
            })
        })
        .collect()
}

/// The same of one cell for programs, with every step; null where the suite gives the rate.
pub(super) fn json(cell: &CellSummary<'_>) -> Value {
    let all: Vec<&Search> = searches(cell).collect();
    if all.is_empty() {
        return Value::Null;
    }
    json!(all)
}

/// What the searches held on to: `p99 stays within 50 ms and errors within 0.1 %`.
pub(super) fn limits(cells: &[CellSummary<'_>]) -> String {
    let mut all: Vec<String> = Vec::new();
    for cell in cells {
        if let Some(Pace::Search(limits)) = &cell.cell.work.pace {
            let words: Vec<String> = limits.iter().map(limit).collect();
            let words = words.join(" and ");
            if !all.contains(&words) {
                all.push(words);
            }
        }
    }
    format!(
        "{} held and 99 % of the requests were answered",
        all.join(", or ")
    )
}

fn limit(limit: &SearchLimit) -> String {
    let most = match limit.max {
        Bound::Share(share) => show::share(share),
        Bound::Value(value) => match unit(&limit.metric) {
            Some(unit) => show::in_unit(unit, value, 4),
            None => show::count(value),
        },
    };
    format!("{} ≤ {most}", limit.metric)
}

/// What broke at the lowest rate that did not hold, of the first trial that tells it.
fn broke(cell: &CellSummary<'_>) -> Option<String> {
    let of = |search: &Search| {
        let failed = search.failed?;
        let step = |step: &&SearchStep| step.broke.is_some() && (step.rate - failed).abs() < 1e-9;
        search.steps.iter().rev().find(step)?.broke.clone()
    };
    searches(cell).find_map(of)
}

fn searches<'a>(cell: &'a CellSummary<'_>) -> impl Iterator<Item = &'a Search> {
    cell.valid()
        .filter_map(|trial| trial.load.as_ref()?.search.as_deref())
}
