//! What a latency is where it is not service time: in an open loop, or where another generator than the built-in one timed it: a mark beside the figure,
//! and a note that says what the mark means.

use crate::record::{Load, Metric, Timing, Trial};
use crate::stats::CellSummary;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a mark beside a figure means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TimingNote {
    /// The mark.
    pub mark: &'static str,
    /// The generators whose figures have it.
    pub by: String,
    /// What it means.
    pub text: &'static str,
}

/// The marks in the order of typographers.
const ORDER: [&str; 4] = ["°", "†", "‡", "§"];

/// A mean that nobody timed.
const DERIVED: (&str, &str) = (
    "¶",
    "a mean that is connections × time ÷ requests: nothing was timed for it",
);

/// What an open loop times.
const RESPONSE: (&str, &str) = (
    "°",
    "response time, from the instant at which the schedule wants a request sent to the last byte of its response, so that all \
     that it waits is in it",
);

/// Every mark beside latencies of these cells' trials, with what it means.
pub(super) fn notes(cells: &[CellSummary<'_>]) -> Vec<TimingNote> {
    let mut found: BTreeMap<(&'static str, &'static str), Vec<&str>> = BTreeMap::new();
    for load in every(cells) {
        let told = load.told.as_ref();
        let (key, teller) = if load.open.is_some() {
            (RESPONSE, "an open loop")
        } else if let Some(key) = told.and_then(|told| explained(told.timing)) {
            (key, load.generator.as_str())
        } else {
            continue;
        };
        let by = found.entry(key).or_default();
        if !by.contains(&teller) {
            by.push(teller);
        }
    }
    let note = |((mark, text), by): ((&'static str, &'static str), Vec<&str>)| TimingNote {
        mark,
        by: by.join(", "),
        text,
    };
    let mut notes: Vec<TimingNote> = found.into_iter().map(note).collect();
    notes.sort_by_key(|note| ORDER.iter().position(|mark| *mark == note.mark));
    notes
}

/// The note on means that nobody timed, where any stands beside a published one.
pub(super) fn derived(cells: &[CellSummary<'_>]) -> Option<TimingNote> {
    let mut published = cells.iter().flat_map(|cell| &cell.cell.published);
    let means = published.any(|figure| figure.metric == "latency_mean");
    let derived = |load: &&Load| load.told.as_ref().is_some_and(|told| told.mean_derived);
    let load = every(cells).find(derived).filter(|_| means)?;
    Some(TimingNote {
        mark: DERIVED.0,
        by: load.generator.clone(),
        text: DERIVED.1,
    })
}

fn every<'a>(cells: &'a [CellSummary<'_>]) -> impl Iterator<Item = &'a Load> {
    cells
        .iter()
        .flat_map(|cell| &cell.trials)
        .filter_map(|trial| trial.load.as_ref())
}

/// The mark of a cell's figure; empty where it is what the built-in generator would have told.
pub(super) fn mark(metric: &str, cell: &CellSummary<'_>) -> &'static str {
    let marks = cell.valid().map(|trial| of_trial(metric, trial));
    marks.max().unwrap_or_default()
}

/// The mark of a trial's figure.
pub(super) fn of_trial(metric: &str, trial: &Trial) -> &'static str {
    let load = trial.load.as_ref();
    if metric.starts_with("latency_") && load.is_some_and(|load| load.open.is_some()) {
        return RESPONSE.0;
    }
    match load.and_then(|load| load.told.as_ref()) {
        Some(told) if metric == "latency_mean" && told.mean_derived => DERIVED.0,
        Some(told) if metric.starts_with("latency_") => {
            explained(told.timing).map_or("", |(mark, _)| mark)
        }
        _ => "",
    }
}

/// What the latencies of a load are, in a word.
pub(super) fn word(load: &Load) -> Option<&'static str> {
    if load.open.is_some() {
        return Some("response");
    }
    match (&load.told, &load.service) {
        (Some(told), _) => Some(told.timing.name()),
        (None, Some(_)) => Some(Timing::Service.name()),
        (None, None) => None,
    }
}

/// The same for a cell, where all of its trials agree.
pub(super) fn word_of(cell: &CellSummary<'_>) -> Option<&'static str> {
    let mut words = loads(cell).map(word);
    let first = words.next()??;
    words.all(|word| word == Some(first)).then_some(first)
}

/// Whether another generator made the load of a cell.
pub(super) fn is_external(cell: &CellSummary<'_>) -> bool {
    cell.cell.work.generator.is_some()
}

/// The generator of a cell, as suites name it.
pub(super) fn generator(cell: &CellSummary<'_>) -> String {
    let name = cell.cell.work.generator.as_deref();
    name.unwrap_or("built-in").to_owned()
}

/// A figure as shown, with its mark.
pub(super) fn marked(metric: &Metric, cell: &CellSummary<'_>, shown: &str) -> String {
    format!("{shown}{}", mark(metric.name, cell))
}

fn loads<'a>(cell: &'a CellSummary<'_>) -> impl Iterator<Item = &'a Load> {
    cell.valid().filter_map(|trial| trial.load.as_ref())
}

fn explained(timing: Timing) -> Option<(&'static str, &'static str)> {
    match timing {
        Timing::Service => None,
        Timing::WithConnect => Some((
            "†",
            "from the beginning of the request's connection, so that the time to connect is in it wherever a \
             request has a new one",
        )),
        Timing::Corrected => Some((
            "‡",
            "\"corrected\" for coordinated omission: for every time longer than expected it adds times that were \
             never measured. Not to be compared with any other figure",
        )),
        Timing::WholeMilliseconds => Some((
            "§",
            "in whole milliseconds, rounded down; where it tells less than 1 there is no figure",
        )),
    }
}
