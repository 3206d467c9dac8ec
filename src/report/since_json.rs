//! A run beside an earlier one, for programs: every metric, not only those that a page shows.

use super::apart;
use super::since_words::because;
use crate::record::{Baseline, BaselineCell, Direction, FORMAT};
use crate::stats::{Across, Change, LEAST_UNPAIRED, Ruling, between};
use serde_json::{Map, Value, json};

/// The new run beside the old one.
pub(super) fn of(old: &Baseline, new: &Baseline) -> Value {
    let between = between(old, new);
    let machine = between.machine.as_ref().map(|fields| {
        let differ = fields
            .iter()
            .map(|field| json!({ "name": field.name, "old": field.old, "new": field.new }));
        differ.collect::<Vec<_>>()
    });
    json!({
        "format": FORMAT,
        "suite": new.suite,
        "old": side(old),
        "new": side(new),
        "same_machine": machine.as_ref().map(Vec::is_empty),
        "machine_differs": machine,
        "min_effect": between.min_effect,
        "verdict_needs_trials": LEAST_UNPAIRED,
        "banners": apart::banners(old, new, &between)
            .iter()
            .map(|(what, why)| format!("{what}: {why}"))
            .collect::<Vec<_>>(),
        "cautions": apart::cautions(old, new),
        "cells": between.cells.iter().map(cell).collect::<Vec<_>>(),
        "only_old": between.gone.iter().map(|cell| lone(cell)).collect::<Vec<_>>(),
        "only_new": between.added.iter().map(|cell| lone(cell)).collect::<Vec<_>>(),
    })
}

fn side(run: &Baseline) -> Value {
    json!({
        "run": run.run,
        "profile": run.profile,
        "started": run.started,
        "hotlap": run.hotlap,
        "revision": run.revision,
        "complete": run.complete,
        "selection": run.selection,
        "host": run.host,
        "versions": run.versions,
    })
}

fn lone(cell: &BaselineCell) -> Value {
    json!({ "id": cell.id, "title": cell.title, "state": cell.state, "reasons": cell.reasons })
}

fn cell(cell: &Across<'_>) -> Value {
    let metrics: Map<String, Value> = cell
        .changes
        .iter()
        .map(|change| (change.metric.name.to_owned(), metric(change)))
        .collect();
    let side = |cell: &BaselineCell| {
        json!({
            "id": cell.id,
            "state": cell.state,
            "reasons": cell.reasons,
            "valid": cell.valid,
            "planned": cell.planned,
            "generator_limited": cell.limited,
            "generators": cell.generators,
        })
    };
    json!({
        "title": cell.new.title,
        "old": side(cell.old),
        "new": side(cell.new),
        "configuration_changed": cell.changed,
        "metrics": metrics,
    })
}

fn metric(change: &Change) -> Value {
    let could_have_seen = match change.ruling {
        Ruling::NotShown { could_have_seen } => Some(could_have_seen),
        _ => None,
    };
    let reason = match change.ruling {
        Ruling::Open(open) => Some(because(open)),
        _ => None,
    };
    json!({
        "unit": change.metric.unit.suffix(),
        "better": match change.metric.direction {
            Direction::Higher => "higher",
            Direction::Lower => "lower",
        },
        "old": { "median": change.old_median, "values": change.old },
        "new": { "median": change.new_median, "values": change.new },
        "ratio": change.ratio,
        "interval": change.interval.map(|interval| [interval.low, interval.high]),
        "verdict": match change.ruling {
            Ruling::Open(_) => None,
            named => Some(named.word()),
        },
        "could_have_seen": could_have_seen,
        "no_verdict": match change.ruling {
            Ruling::Open(open) => Some(open.word()),
            _ => None,
        },
        "reason": reason,
    })
}
