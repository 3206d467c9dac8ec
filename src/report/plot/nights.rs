//! Which of a run's nights are drawn, and what is said of them there.

use super::history::{HistorySeries, Mark, Night};
use crate::report::naming::Naming;
use crate::report::{Input, nights};
use crate::stats::{Night as Seen, NightChange, Seen as What, Series};

/// Panels of a plot: a page is not made to hold more.
const MOST_PANELS: usize = 12;
/// The metric that is drawn of every cell, changed or not.
const ALWAYS: &str = "requests_per_second";

/// What is drawn of these series: those that have changed, then the throughput of the other cells, as long as there is room.
pub(super) fn panels(input: &Input<'_>, naming: &Naming<'_>, all: &[Series]) -> Vec<HistorySeries> {
    let is_drawn = |one: &&Series| one.nights.len() > 1;
    let is_told = |one: &&Series| one.told_by(&input.run.id).next().is_some();
    let told = all.iter().filter(is_told);
    let changed = told.chain(
        all.iter()
            .filter(|one| !one.changes.is_empty() && !is_told(one)),
    );
    let others = all
        .iter()
        .filter(|one| one.changes.is_empty() && one.metric.name == ALWAYS);
    let chosen = changed.chain(others).filter(is_drawn).take(MOST_PANELS);
    chosen.map(|one| panel(input, naming, one)).collect()
}

fn panel(input: &Input<'_>, naming: &Naming<'_>, of: &Series) -> HistorySeries {
    let cell = input.run.spec.cell(&of.cell);
    let mut nights: Vec<Night> = of.nights.iter().map(night).collect();
    if let Some(first) = nights.first_mut() {
        first.anew = of.begins.words().map(str::to_owned);
    }
    HistorySeries {
        title: cell.map_or_else(|| of.cell.names().to_owned(), |cell| naming.title(cell)),
        metric: of.metric.label.to_owned(),
        unit: of.metric.unit,
        nights,
        marks: of.changes.iter().map(|change| mark(of, change)).collect(),
    }
}

fn night(night: &Seen) -> Night {
    let (value, interval) = match &night.seen {
        What::Figure {
            median, interval, ..
        } => (Ok(*median), interval.map(|(low, high)| [low, high])),
        What::Gap { state, reason } => (Err(format!("{state}: {reason}")), None),
    };
    Night {
        date: night.date().to_owned(),
        value,
        interval,
        anew: None,
    }
}

fn mark(of: &Series, change: &NightChange) -> Mark {
    Mark {
        night: change.after,
        text: nights::change_words(of, change),
        worse: change.worse,
    }
}
