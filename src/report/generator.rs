//! What a report says of the generator itself: what it can do at all on its machine, and of every trial its CPU time, how busy
//! its connections were, and where each request went.

use super::caution::{among, loads};
use super::naming::Naming;
use super::rows::trial_name;
use super::{paced, show};
use crate::record::{Ceiling, Counts, Load, Run, Trial};
use crate::spec::LoadSpec;
use crate::stats::{CellSummary, Limit, OfCeiling, busy_share, limit, median, of_ceiling};
use crate::units::show_number;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// One trial, as shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GeneratorRow {
    /// The cell's names in a phrase.
    pub title: String,
    /// Its repetition, and what came of it where it is not valid.
    pub trial: String,
    /// Threads that made the load.
    pub threads: String,
    /// CPU time of these as a share of the time that they had; a dash for another generator.
    pub cpu: String,
    /// The time that requests took as a share of that of all connections (Little's law).
    pub busy: String,
    /// Requests that were begun.
    pub sent: String,
    /// Those that passed every check.
    pub succeeded: String,
    /// Those that failed otherwise than by time-out.
    pub failed: String,
    /// Those without a whole response in time.
    pub timed_out: String,
    /// Those that were in flight at the end.
    pub unfinished: String,
}

/// Every trial that has a load.
pub(super) fn rows(naming: &Naming<'_>, cells: &[CellSummary<'_>]) -> Vec<GeneratorRow> {
    let all = cells
        .iter()
        .flat_map(|cell| cell.trials.iter().map(move |trial| (cell, *trial)));
    all.filter_map(|(cell, trial)| {
        let load = trial.load.as_ref()?;
        let share = |share: Option<f64>| share.map_or_else(|| show::NONE.to_owned(), show::share);
        let count = |count: u64| show::count(count as f64);
        Some(GeneratorRow {
            title: naming.title(cell.cell),
            trial: trial_name(trial),
            threads: load.generator_threads.to_string(),
            cpu: share(cpu_share(load)),
            busy: share(busy_share(load, &cell.cell.work)),
            sent: count(load.counts.sent),
            succeeded: count(load.counts.succeeded),
            failed: count(load.counts.failed),
            timed_out: count(load.counts.timed_out),
            unfinished: count(load.counts.unfinished),
        })
    })
    .collect()
}

/// CPU time of the built-in generator's threads as a share of the time that they had. That of another program is of its whole
/// life, so it is no share of anything.
fn cpu_share(load: &Load) -> Option<f64> {
    let whole = load.generator_threads as f64 * load.window_ns as f64;
    let used = load.generator_cpu_ns.filter(|_| load.is_built_in())?;
    (whole > 0.0).then_some(used as f64 / whole)
}

/// What the ceilings are, for how it was measured; none where none was measured.
pub(super) fn fact(run: &Run) -> Option<String> {
    let one = |ceiling: &Ceiling| {
        let cpu = ceiling.cpu_share.map_or_else(String::new, |share| {
            format!(" at {} of its CPU time", show::share(share))
        });
        format!(
            "{} requests/s with {}{cpu}",
            show_number(ceiling.requests_per_second, 3),
            show::plural(ceiling.threads, "thread"),
        )
    };
    let connections = run.ceilings.first()?.connections;
    let all: Vec<String> = run.ceilings.iter().map(one).collect();
    Some(format!(
        "against the null server on this machine, over {}: {}",
        show::plural(connections as usize, "connection"),
        all.join(", ")
    ))
}

/// That a cell comes near to the ceiling.
pub(super) fn caution(cell: &CellSummary<'_>, run: &Run) -> Option<String> {
    let OfCeiling { share, ceiling } =
        of_ceiling(cell, &run.ceilings).filter(OfCeiling::is_near)?;
    let most = show_number(ceiling.requests_per_second, 3);
    let of = match ceiling.cpu_share {
        // The null server was the slower end, and the generator alone could send more.
        Some(cpu) if !ceiling.is_of_the_generator() => format!(
            "what the generator and the null server reach together on this machine ({most} requests/s, with {} of the \
             generator's CPU time)",
            show::share(cpu)
        ),
        _ => format!(
            "what the generator can send on this machine at all ({most} requests/s against the null server)"
        ),
    };
    Some(format!(
        "{} answered {} of {of}, so its figure may be the generator's and the machine's as much as its own.",
        cell.cell.server_label,
        show::share(share),
    ))
}

/// That the generator was the limit, and how.
pub(super) fn limited(cell: &CellSummary<'_>, trials: &[&Trial]) -> Option<String> {
    let by = |by: Limit| {
        among(trials, |trial| {
            let load = trial.load.as_ref();
            load.and_then(|load| limit(load, &cell.cell.work)) == Some(by)
        })
    };
    let cpu = by(Limit::Cpu).map(|among| format!("nearly all of its CPU time used {among}"));
    let idle = by(Limit::Idle)
        .map(|among| format!("connections idle for more than a tenth of the time {among}"));
    let late = by(Limit::Late).map(|among| {
        format!(
            "more than one in a hundred of its requests sent more than a millisecond late {among}"
        )
    });
    let search = by(Limit::Search)
        .map(|among| format!("a search that ended where it was late itself {among}"));
    let how: Vec<String> = cpu
        .into_iter()
        .chain(idle)
        .chain(late)
        .chain(search)
        .collect();
    if paced::has_its_rate(cell) && !how.is_empty() {
        return Some(format!(
            "The generator was the limit, with {}: that is in its response times, which are upper bounds, and no verdict rests on them.",
            how.join(" and ")
        ));
    }
    (!how.is_empty()).then(|| {
        format!(
            "The generator was the limit, with {}: its figure is a lower bound (≥), and a ratio with it may be too \
             small or too large.",
            how.join(" and ")
        )
    })
}

/// That the server allowed fewer streams than were asked for.
pub(super) fn fewer_streams(trials: &[&Trial]) -> Option<String> {
    let fewer = |trial: &Trial| trial.load.as_ref()?.http2?.fewer();
    let among = among(trials, |trial| fewer(trial).is_some())?;
    let allowed = trials.iter().filter_map(|trial| fewer(trial)).min()?;
    let asked = loads(trials).find_map(|load| load.http2)?.streams;
    Some(format!(
        "The server allowed {} on a connection of HTTP/2 {among}, where {asked} were to be in flight: the requests beyond \
         waited for a stream, and that is in their latencies.",
        show::plural(allowed as usize, "stream"),
    ))
}

/// That requests were sent once more: what became of them the first time is not in the figures.
pub(super) fn sent_again(trials: &[&Trial]) -> Option<String> {
    let again = |load: &Load| load.connections.retried;
    let among = among(trials, |trial| {
        trial.load.as_ref().is_some_and(|load| again(load) > 0)
    })?;
    let all: u64 = loads(trials).map(again).sum();
    let sent: u64 = loads(trials).map(|load| load.counts.sent).sum();
    Some(format!(
        "Of {} requests {} were sent once more {among}, since the server had closed their connection before the first byte of \
         an answer: it may have been idle, or have dropped them, and only the second answer counts.",
        show::count(sent as f64),
        show::count(all as f64),
    ))
}

/// Of a cell's valid trials; null where none has a load.
pub(super) fn json(cell: &CellSummary<'_>, run: &Run) -> Value {
    let work: &LoadSpec = &cell.cell.work;
    let loads: Vec<&Load> = cell
        .valid()
        .filter_map(|trial| trial.load.as_ref())
        .collect();
    let Some(threads) = loads.iter().map(|load| load.generator_threads).max() else {
        return Value::Null;
    };
    let counts = loads
        .iter()
        .fold(Counts::default(), |sum, load| sum + load.counts);
    let limited = |by: Limit| cell.limits().filter(|limit| *limit == by).count();
    json!({
        "threads": threads,
        "cpu_share": spread(loads.iter().filter_map(|load| cpu_share(load))),
        "busy_share": spread(loads.iter().filter_map(|load| busy_share(load, work))),
        "limited_trials": { "cpu": limited(Limit::Cpu), "idle": limited(Limit::Idle), "late": limited(Limit::Late), "search": limited(Limit::Search) },
        "requests": counts,
        "ceiling": of_ceiling(cell, &run.ceilings).map(|of| json!({
            "requests_per_second": of.ceiling.requests_per_second,
            "share": of.share,
            "near": of.is_near(),
        })),
    })
}

/// Median, lowest and highest; null where there are no values.
fn spread(values: impl Iterator<Item = f64>) -> Value {
    let values: Vec<f64> = values.collect();
    median(&values).map_or(Value::Null, |middle| {
        json!({
            "median": middle,
            "min": values.iter().copied().fold(f64::INFINITY, f64::min),
            "max": values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    })
}
