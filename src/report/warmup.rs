//! How long servers were warmed up, who found that length, and whether it was long enough.

use super::caution::among;
use super::naming::Naming;
use super::show;
use crate::record::{Outcome, Pilot, Run, Trial};
use crate::spec::Cell;
use crate::stats::{Beginning, CellSummary, Steadiness, steadiness_of, still_apart};
use crate::units::{show_duration, show_number};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// With more pilots only the shortest and the longest warm-up are named.
const MOST_NAMED: usize = 6;

/// What the seconds of a cell's valid trials look like, where that is not steady.
pub(super) fn cautions(cell: &CellSummary<'_>, trials: &[&Trial]) -> Vec<String> {
    let seen = |trial: &Trial| steadiness_of(trial, &cell.cell.work);
    let warming = |trial: &Trial| match seen(trial) {
        Some(Steadiness::Warming(beginning)) => Some(beginning),
        _ => None,
    };
    let fading = |trial: &Trial| match seen(trial) {
        Some(Steadiness::Fading(beginning)) => Some(beginning),
        _ => None,
    };
    let halves = |trial: &Trial| match seen(trial) {
        Some(Steadiness::Unsteady(apart)) => Some(apart),
        _ => None,
    };
    let mut said = Vec::new();
    if let Some((among, worst)) = worst(trials, warming) {
        said.push(format!(
            "Still warming up {among}: {}. Warm up for longer.",
            beginning(&worst, "slower", "higher")
        ));
    }
    if let Some((among, worst)) = worst(trials, fading) {
        said.push(format!(
            "Faster at first {among}: {}. Measure for longer.",
            beginning(&worst, "faster", "lower")
        ));
    }
    if let Some(among) = among(trials, |trial| halves(trial).is_some()) {
        let most = trials.iter().filter_map(|trial| halves(trial));
        said.push(format!(
            "No steady state {among}: requests per second differ between the halves of the measured phase by up to \
             {}, which is more than chance. Warm up or measure for longer.",
            per_cent(most.fold(0.0, f64::max))
        ));
    }
    said
}

/// In how many trials the beginning is unlike the rest, and the one that changes its figure most.
fn worst(
    trials: &[&Trial],
    seen: impl Fn(&Trial) -> Option<Beginning>,
) -> Option<(String, Beginning)> {
    let among = among(trials, |trial| seen(trial).is_some())?;
    let all = trials.iter().filter_map(|trial| seen(trial));
    let worst = all.max_by(|a, b| a.shift.abs().total_cmp(&b.shift.abs()))?;
    Some((among, worst))
}

fn beginning(worst: &Beginning, slower: &str, higher: &str) -> String {
    format!(
        "at the worst the first {} s of the measured phase were {slower} by {}, and without them the figure would be {} \
         {higher}",
        worst.seconds,
        per_cent(worst.apart),
        per_cent(worst.shift.abs())
    )
}

fn per_cent(share: f64) -> String {
    format!("{} %", show_number(share * 100.0, 2))
}

/// What is to be said of a cell whose pilot found no steady speed.
pub(super) fn unsettled(run: &Run, cell: &Cell) -> Option<String> {
    let pilot = run.pilots.iter().find(|pilot| pilot.cell == cell.id)?;
    let warmed = show_duration(cell.work.warmup);
    if let Outcome::Failed { reason, .. } = &pilot.outcome {
        return Some(format!(
            "Its pilot failed ({reason}), so it was warmed up as long as the other cells, for {warmed}."
        ));
    }
    if pilot.settled {
        return None;
    }
    let apart = still_apart(&pilot.per_second).map_or_else(String::new, |apart| {
        format!(
            ": its last two windows of {} differed by {}",
            show_duration(pilot.window),
            per_cent(apart)
        )
    });
    Some(format!(
        "Its pilot did not settle within {}{apart}. Trials were warmed up for {warmed}, and may not be steady even so.",
        show_duration(run.spec.run.max_warmup)
    ))
}

/// How long servers were warmed up, and who says so.
pub(super) fn fact(run: &Run) -> String {
    let cells = || run.spec.cells.iter().filter(|cell| cell.skip.is_none());
    let mut parts = Vec::new();
    if cells().any(|cell| cell.work.find_warmup) {
        parts.push(found(run));
    }
    let fixed: BTreeSet<Duration> = cells()
        .filter(|cell| !cell.work.find_warmup)
        .map(|cell| cell.work.warmup)
        .collect();
    if !fixed.is_empty() {
        let fixed: Vec<String> = fixed.into_iter().map(show_duration).collect();
        parts.push(format!("{}, as the suite says", fixed.join(" or ")));
    }
    if parts.is_empty() {
        return show::NONE.to_owned();
    }
    parts.join("; ")
}

fn found(run: &Run) -> String {
    let Some(warmup) = run.warmup else {
        return "not found, since the run ended before its last pilot".to_owned();
    };
    let naming = Naming::of(&run.spec);
    let named = |pilot: &Pilot| {
        let cell = run.spec.cell(&pilot.cell)?;
        let needs = pilot
            .warmup
            .map_or_else(|| "failed".to_owned(), show_duration);
        Some(format!("{} {needs}", naming.title(cell)))
    };
    let each = if run.pilots.len() <= MOST_NAMED {
        let each: Vec<String> = run.pilots.iter().filter_map(named).collect();
        each.join(", ")
    } else {
        let each = || run.pilots.iter().filter_map(|pilot| pilot.warmup);
        let least = each().min().unwrap_or_default();
        let most = each().max().unwrap_or_default();
        format!("{} to {}", show_duration(least), show_duration(most))
    };
    format!(
        "{}, the longest that a pilot of each cell found ({each})",
        show_duration(warmup)
    )
}

/// The length that was found and the pilots that found it; null where there were none.
pub(super) fn json(run: &Run) -> Value {
    if run.pilots.is_empty() {
        return Value::Null;
    }
    json!({
        "found_ns": run.warmup.and_then(|warmup| u64::try_from(warmup.as_nanos()).ok()),
        "pilots": run.pilots,
    })
}
