//! Open loops: what a schedule offered, what became of it, and how late the generator itself was.

use super::naming::Naming;
use super::show;
use crate::record::{Histogram, Load, StageLoad, Unit};
use crate::spec::Pace;
use crate::stats::{CellSummary, Shortfall, State, Unsustained, median, unsustained};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// What a schedule offered a cell, as medians over its valid trials, or one stage of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PacedView {
    /// The cell's names in a phrase; of a stage its number.
    pub title: String,
    /// Whether it is one stage of the cell above.
    pub stage: bool,
    /// Requests per second that were to be sent.
    pub offered: String,
    /// Successes per second.
    pub achieved: String,
    /// Requests that were never sent, of all valid trials.
    pub unsent: String,
    /// Response times.
    pub response_p50: String,
    /// The same for one in a hundred.
    pub response_p99: String,
    /// The longest.
    pub response_max: String,
    /// Service times of one in a hundred; nothing for a stage.
    pub service_p99: String,
    /// How late the generator was; nothing for a stage.
    pub lag_p50: String,
    /// The same for one in a hundred.
    pub lag_p99: String,
}

/// The rows of all open loops.
pub(super) fn rows(naming: &Naming<'_>, cells: &[CellSummary<'_>]) -> Vec<PacedView> {
    let measured = cells.iter().filter(|cell| cell.state == State::Measured);
    measured
        .filter(|cell| loads(cell).any(|load| load.open.is_some()))
        .flat_map(|cell| {
            let whole = whole(naming.title(cell.cell), cell);
            std::iter::once(whole).chain(stages(cell))
        })
        .collect()
}

/// The same of one cell for programs; null for a closed loop.
pub(super) fn json(cell: &CellSummary<'_>) -> Value {
    let opens: Vec<_> = loads(cell).filter_map(|load| load.open.as_ref()).collect();
    if opens.is_empty() {
        return Value::Null;
    }
    let of =
        |read: fn(&Load) -> Option<f64>| median(&loads(cell).filter_map(read).collect::<Vec<_>>());
    let lag = |share| {
        quantile(
            loads(cell).map(|load| load.open.as_ref()?.lag.as_ref()),
            share,
        )
    };
    json!({
        "offered_per_second": of(Load::offered_per_second),
        "achieved_per_second": of(Load::requests_per_second),
        "unsent": loads(cell).map(|load| load.counts.unsent).sum::<u64>(),
        "queued": opens.iter().map(|open| open.queued).sum::<u64>(),
        "late": opens.iter().map(|open| open.late).sum::<u64>(),
        "most_busy_connections": opens.iter().map(|open| open.most_busy).max(),
        "lag_p50_ns": lag(0.5),
        "lag_p99_ns": lag(0.99),
        "sustained": !loads(cell).any(|load| unsustained(load).is_some()),
    })
}

/// Whether the suite gives the rate of a cell.
pub(super) fn has_its_rate(cell: &CellSummary<'_>) -> bool {
    matches!(cell.cell.work.pace, Some(Pace::Rate(_) | Pace::Stages(_)))
}

/// That the server did not answer what was offered, and that requests waited for connections, in sentences.
pub(super) fn cautions(cell: &CellSummary<'_>) -> Vec<String> {
    let mut said = Vec::new();
    for by in [Shortfall::Unsent, Shortfall::Failed, Shortfall::Queue] {
        let all = loads(cell).filter_map(unsustained);
        let such: Vec<Unsustained> = all.filter(|one| one.by == by).collect();
        said.extend(unsustained_by(cell, by, &such));
    }
    let opens = || loads(cell).filter_map(|load| load.open.as_ref());
    let queued: u64 = opens().map(|open| open.queued).sum();
    if queued > 0 {
        said.push(format!(
            "{} requests waited until one of the {} connections was free; that time is in their response time.",
            show::count(queued as f64),
            cell.cell.work.connections,
        ));
    }
    said
}

fn unsustained_by(cell: &CellSummary<'_>, by: Shortfall, such: &[Unsustained]) -> Option<String> {
    let of = |read: fn(&Unsustained) -> f64| median(&such.iter().map(read).collect::<Vec<_>>());
    let (offered, achieved) = (of(|one| one.offered)?, of(|one| one.achieved)?);
    let (offered, achieved) = (per_second(offered), per_second(achieved));
    let what = match by {
        Shortfall::Unsent => {
            let unsent: u64 = loads(cell).map(|load| load.counts.unsent).sum();
            format!(
                "{achieved} of {offered} requests/s were answered well, and {} were never sent. Its response times are those of a \
                 queue that grows: a longer load would have longer ones",
                show::count(unsent as f64)
            )
        }
        Shortfall::Failed => {
            format!("{achieved} of {offered} requests/s were answered well, and the others failed")
        }
        Shortfall::Queue => format!(
            "in the second half {achieved} of {offered} requests/s ended. Its response times are those of a queue that grows: a \
             longer load would have longer ones"
        ),
    };
    Some(format!(
        "It did not sustain what was offered in {} of {}: {what}.",
        such.len(),
        show::plural(cell.valid().count(), "trial"),
    ))
}

fn whole(title: String, cell: &CellSummary<'_>) -> PacedView {
    let of =
        |read: fn(&Load) -> Option<f64>| median(&loads(cell).filter_map(read).collect::<Vec<_>>());
    let rate = |read| of(read).map_or_else(|| show::NONE.to_owned(), per_second);
    let response = |share| {
        let times = loads(cell).map(|load| load.open.as_ref()?.response.as_ref());
        time(quantile(times, share))
    };
    let lag = |share| {
        time(quantile(
            loads(cell).map(|load| load.open.as_ref()?.lag.as_ref()),
            share,
        ))
    };
    let unsent: u64 = loads(cell).map(|load| load.counts.unsent).sum();
    PacedView {
        title,
        stage: false,
        offered: rate(Load::offered_per_second),
        achieved: rate(Load::requests_per_second),
        unsent: show::count(unsent as f64),
        response_p50: response(0.5),
        response_p99: response(0.99),
        response_max: response(1.0),
        service_p99: time(quantile(
            loads(cell).map(|load| load.service.as_ref()),
            0.99,
        )),
        lag_p50: lag(0.5),
        lag_p99: lag(0.99),
    }
}

fn stages(cell: &CellSummary<'_>) -> Vec<PacedView> {
    let most = loads(cell)
        .filter_map(|load| Some(load.open.as_ref()?.stages.len()))
        .max();
    let view = |at: usize| {
        let stages = || loads(cell).filter_map(move |load| load.open.as_ref()?.stages.get(at));
        let of = |read: fn(&StageLoad) -> Option<f64>| {
            let middle = median(&stages().filter_map(read).collect::<Vec<_>>());
            middle.map_or_else(|| show::NONE.to_owned(), per_second)
        };
        let response = |share| {
            time(quantile(
                stages().map(|stage| stage.response.as_ref()),
                share,
            ))
        };
        let unsent: u64 = stages().map(|stage| stage.planned - stage.sent).sum();
        PacedView {
            title: format!("stage {}", at + 1),
            stage: true,
            offered: of(StageLoad::offered_per_second),
            achieved: of(StageLoad::succeeded_per_second),
            unsent: show::count(unsent as f64),
            response_p50: response(0.5),
            response_p99: response(0.99),
            response_max: response(1.0),
            service_p99: String::new(),
            lag_p50: String::new(),
            lag_p99: String::new(),
        }
    };
    (0..most.unwrap_or(0)).map(view).collect()
}

/// The median over trials of a quantile, in nanoseconds; 1 is the longest. None where a trial has too few values for it.
fn quantile<'h>(times: impl Iterator<Item = Option<&'h Histogram>>, share: f64) -> Option<f64> {
    let of = |histogram: Option<&Histogram>| {
        let histogram = histogram?;
        let ns = if share < 1.0 {
            histogram.quantile(share)
        } else {
            histogram.max_ns
        };
        ns.map(|ns| ns as f64)
    };
    let all: Option<Vec<f64>> = times.map(of).collect();
    median(&all?)
}

fn time(nanos: Option<f64>) -> String {
    nanos.map_or_else(
        || show::NONE.to_owned(),
        |nanos| show::in_unit(Unit::Nanoseconds, nanos, 3),
    )
}

fn per_second(rate: f64) -> String {
    show::in_unit(Unit::PerSecond, rate, 4)
}

fn loads<'a>(cell: &'a CellSummary<'_>) -> impl Iterator<Item = &'a Load> {
    cell.valid().filter_map(|trial| trial.load.as_ref())
}
