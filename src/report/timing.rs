//! What a latency is where another generator than the built-in one timed it: a mark beside the figure,
//! and a note that says what the mark means.

use crate::record::{Load, Metric, Timing, Told};
use crate::stats::CellSummary;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a mark beside a figure means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimingNote {
    /// The mark.
    pub mark: &'static str,
    /// The generators whose figures have it.
    pub by: String,
    /// What it means.
    pub text: &'static str,
}

/// The marks in the order of typographers.
const ORDER: [&str; 4] = ["†", "‡", "§", "¶"];

/// A mean that nobody timed.
const DERIVED: (&str, &str) = (
    "¶",
    "a mean that is connections × time ÷ requests: nothing was timed for it",
);

/// Every mark that figures of these cells have, with what it means.
pub(super) fn notes(cells: &[&CellSummary<'_>]) -> Vec<TimingNote> {
    // No table but that of published figures has a mean.
    let mut published = cells.iter().flat_map(|cell| &cell.cell.published);
    let means = published.any(|figure| figure.metric == "latency_mean");
    let mut found: BTreeMap<(&'static str, &'static str), Vec<&str>> = BTreeMap::new();
    for load in cells.iter().flat_map(|cell| loads(cell)) {
        let Some(told) = &load.told else { continue };
        let derived = (told.mean_derived && means).then_some(DERIVED);
        for key in explained(told.timing).into_iter().chain(derived) {
            let by = found.entry(key).or_default();
            if !by.contains(&load.generator.as_str()) {
                by.push(&load.generator);
            }
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

/// The mark of a cell's figure; empty where it is what the built-in generator would have told.
pub(super) fn mark(metric: &str, cell: &CellSummary<'_>) -> &'static str {
    let of = |told: &Told| match metric {
        "latency_mean" if told.mean_derived => DERIVED.0,
        "connect_mean" => "",
        _ => explained(told.timing).map_or("", |(mark, _)| mark),
    };
    if !metric.starts_with("latency_") {
        return "";
    }
    let told = loads(cell).filter_map(|load| load.told.as_ref());
    told.map(of).max().unwrap_or_default()
}

/// What the latencies of a load are, in a word.
pub(super) fn word(load: &Load) -> Option<&'static str> {
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
