//! `report.json`: the figures for programs. Units are canonical and named (`ns`, `bytes`),
//! names are raw, and where there is no value there is null, with a reason where one is known.

use super::baseline;
use super::found::Found;
use super::gate;
use super::generator;
use super::growth::Growths;
use super::lines::Lines;
use super::method::compared_revisions;
use super::nights;
use super::noise;
use super::published;
use super::roles;
use super::rows::{bodies, effect_of, reasons, why_absent};
use super::since_json;
use super::warmup;
use super::{Digest, Input, ReportError};
use super::{capacity, paced, timing};
use crate::record::{Direction, ErrorKind, FORMAT, METRICS, Metric, Run};
use crate::spec::DIRTY;
use crate::stats::{
    CellSummary, Comparison, ENOUGH_TRIALS, Effect, Series, Spread, Steadiness, Verdict, effect,
    least_steady, ratio,
};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io;

/// Why a high percentile is missing.
pub(super) const TOO_FEW: &str = "too few samples";

/// Why a percentile of another generator is missing: it tells others, or cannot tell it of these requests.
pub(super) const NOT_TOLD: &str = "not told by the generator";

/// The report.
pub(super) fn report(
    input: &Input<'_>,
    found: &Found<'_, '_>,
    nights: &[Series],
    to: &mut dyn io::Write,
) -> io::Result<()> {
    let (run, cells) = (input.run, found.cells);
    let mut value = json!({
        "format": FORMAT,
        "run": run.id,
        "suite": run.spec.suite,
        "title": run.spec.title,
        "profile": run.spec.profile,
        "selection": run.selection,
        "end": run.end,
        "digest": Digest::of_cells(input, cells),
        "seed": run.spec.run.seed,
        "order": run.spec.run.order,
        "host": run.host,
        "versions": run.versions,
        "warm_up": warmup::json(run),
        "ceilings": run.ceilings,
        "sessions": run.sessions,
        "suite_sha256": run.suite.sha256,
        "verdict_needs_trials": ENOUGH_TRIALS,
        "metrics": METRICS.iter().map(entry).collect::<Map<_, _>>(),
        "cells": null,
        "since": input.baseline.map(|old| since_json::of(old, &baseline::of(input))),
        "gates": gate::json(input, &found.judged),
        "notes": input.notes,
    });
    if let (Some(report), Some(revisions)) = (value.as_object_mut(), revisions(run)) {
        report.insert("revisions".to_owned(), revisions);
    }
    if let (Some(report), Some(nights)) = (value.as_object_mut(), nights::json(input, nights)) {
        report.insert("history".to_owned(), nights);
    }
    if let (Some(report), Some(noise)) = (value.as_object_mut(), noise::json(cells)) {
        report.insert("noise".to_owned(), noise);
    }
    value.sort_all_objects();
    let cells = move || cells.iter().map(move |cell| CellJson::of(run, cell, found));
    let whole = Whole {
        value: &value,
        cells,
    };
    write(&whole, to)
}

/// The report, of which the cells are made one at a time: ten thousand of them at once are gigabytes.
struct Whole<'v, F> {
    value: &'v Value,
    cells: F,
}

impl<F, I> Serialize for Whole<'_, F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.value.as_object().into_iter().flatten() {
            if name == "cells" {
                map.serialize_entry(name, &Each(&self.cells))?;
            } else {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// A list that is made while it is written.
struct Each<'f, F>(&'f F);

impl<F, I> Serialize for Each<'_, F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// The text of a file.
pub(super) fn bytes(value: &impl Serialize) -> Result<Vec<u8>, ReportError> {
    let mut bytes = Vec::new();
    write(value, &mut bytes).map_err(|error| ReportError::Serialise(error.to_string()))?;
    Ok(bytes)
}

/// Writes the text of a file.
fn write(value: &impl Serialize, to: &mut dyn io::Write) -> io::Result<()> {
    let lines = Lines::default();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *to, lines))?;
    to.write_all(b"\n")
}

/// The revisions that cells are made from, where any is named: how the suite names it, its full commit, and whether
/// tracked files had changes.
fn revisions(run: &Run) -> Option<Value> {
    let all = compared_revisions(run);
    let one = |(name, commit): &(String, Option<String>)| {
        let clean = commit.as_ref().map(|commit| commit.trim_end_matches(DIRTY));
        let dirty = commit.as_ref().map(|commit| commit.ends_with(DIRTY));
        json!({ "name": name, "commit": clean, "dirty": dirty })
    };
    (!all.is_empty()).then(|| all.iter().map(one).collect())
}

fn entry(metric: &Metric) -> (String, Value) {
    let better = match metric.direction {
        Direction::Higher => "higher",
        Direction::Lower => "lower",
    };
    let about = json!({ "label": metric.label, "unit": metric.unit.suffix(), "better": better });
    (metric.name.to_owned(), about)
}

/// A cell. Its figures are most of a report, so they are no values first.
struct CellJson {
    /// Everything, with nothing where the figures are.
    value: Value,
    metrics: BTreeMap<&'static str, Figure>,
    ratios: Option<BTreeMap<&'static str, RatioFigure>>,
}

impl CellJson {
    fn of(run: &Run, cell: &CellSummary<'_>, found: &Found<'_, '_>) -> Self {
        let mut value = cell_json(run, cell, found);
        value.sort_all_objects();
        let all = METRICS.iter();
        Self {
            value,
            metrics: all
                .map(|metric| (metric.name, figure(metric, cell)))
                .collect(),
            ratios: ratios(run, cell, found.cells, &found.growths),
        }
    }
}

impl Serialize for CellJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.value.as_object().into_iter().flatten() {
            match name.as_str() {
                "metrics" => map.serialize_entry(name, &self.metrics)?,
                "ratios" => map.serialize_entry(name, &self.ratios)?,
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

/// A metric of a cell. Fields of this and of what is in it are in the order of their names.
#[derive(Serialize)]
struct Figure {
    interval: Option<[f64; 2]>,
    max: Option<f64>,
    median: Option<f64>,
    min: Option<f64>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    values: Vec<OfTrial>,
}

#[derive(Serialize)]
struct OfTrial {
    repetition: u32,
    round: u32,
    value: f64,
}

/// A figure as a multiple of the baseline's.
#[derive(Serialize)]
struct RatioFigure {
    #[serde(skip_serializing_if = "Option::is_none")]
    at_requests: Option<u64>,
    by_round: Vec<f64>,
    interval: Option<[f64; 2]>,
    ratio: f64,
}

fn cell_json(run: &Run, cell: &CellSummary<'_>, found: &Found<'_, '_>) -> Value {
    let spec = cell.cell;
    let (all, growths) = (found.cells, &found.growths);
    let toggles: Map<String, Value> = spec
        .toggles
        .iter()
        .map(|choice| {
            (
                choice.toggle.clone(),
                json!({ "value": choice.value, "label": choice.label }),
            )
        })
        .collect();
    let mut value = json!({
        "id": spec.id,
        "variant": spec.variant,
        "server": { "name": spec.server, "label": spec.server_label },
        "toggles": toggles,
        "load": { "name": spec.load, "label": spec.load_label },
        "generator": spec.work.generator.as_deref().unwrap_or("built-in"),
        "latency_timing": timing::word_of(cell),
        "baseline": spec.baseline,
        "state": cell.state.word(),
        "reasons": reasons(cell),
        "install": spec.skip.as_ref().and_then(|skip| skip.install.as_ref()),
        "trials": {
            "planned": cell.planned,
            "valid": cell.valid().count(),
            "invalid": cell.invalid().count(),
            "failed": cell.failed().count(),
            "missing": cell.missing(),
        },
        "enough_for_a_verdict": cell.enough(),
        "errors": errors(cell),
        "steady": least_steady(cell.valid(), &spec.work).map(Steadiness::word),
        "metrics": null,
        "body": bodies(cell).map(|body| json!({
            "wire_bytes": body.wire,
            "wire_mean_bytes": body.mean_wire,
            "decoded_bytes": body.decoded,
        })),
        "generator_use": generator::json(cell, run),
        "effect": effect_json(&effect_of(cell, all)),
        "open_loop": paced::json(cell),
        "search": capacity::json(cell),
        "growth": growths.json(cell),
        "ratios": null,
        "verdict": verdict(found.comparison(cell)),
        "roles": roles::json(cell),
        "published": published::json(cell),
    });
    if let (Some(object), Some(commit)) = (value.as_object_mut(), &spec.commit) {
        object.insert("commit".to_owned(), json!(commit));
    }
    value
}

/// Failed requests of the valid trials, by kind.
fn errors(cell: &CellSummary<'_>) -> BTreeMap<&'static str, u64> {
    let mut kinds = BTreeMap::new();
    let loads = cell.valid().filter_map(|trial| trial.load.as_ref());
    for (kind, times) in loads.flat_map(|load| &load.errors) {
        *kinds.entry(ErrorKind::name(*kind)).or_default() += times;
    }
    kinds
}

fn figure(metric: &Metric, cell: &CellSummary<'_>) -> Figure {
    let Some(spread) = cell.metric(metric.name) else {
        return Figure {
            interval: None,
            max: None,
            median: None,
            min: None,
            reason: Some(missing(metric, cell)),
            values: Vec::new(),
        };
    };
    Figure {
        interval: spread
            .interval()
            .map(|interval| [interval.low, interval.high]),
        max: Some(spread.max),
        median: Some(spread.median),
        min: Some(spread.min),
        reason: None,
        values: values(&spread),
    }
}

fn missing(metric: &Metric, cell: &CellSummary<'_>) -> String {
    if cell.valid().count() == 0 {
        return format!("{}: no valid trial", cell.state.word());
    }
    why_absent(metric, cell.valid())
        .unwrap_or("not recorded")
        .to_owned()
}

fn values(spread: &Spread) -> Vec<OfTrial> {
    let of = |one: &crate::stats::Value| OfTrial {
        repetition: one.repetition,
        round: one.round,
        value: one.value,
    };
    spread.values.iter().map(of).collect()
}

/// What the toggles do by which a cell departs from its baseline; null where nothing is known.
fn effect_json(effect: &Effect) -> Value {
    match effect.word() {
        Some(word) => json!({ "kind": word, "what": effect.words() }),
        None => Value::Null,
    }
}

/// What may be said of the ratio in the metric that cells of this kind are compared in; null where there is none.
fn verdict(found: Option<&Comparison<'_, '_>>) -> Value {
    found.map_or(Value::Null, |found| {
        let could_have_seen = match found.verdict {
            Verdict::NotShown { could_have_seen } => Some(could_have_seen),
            _ => None,
        };
        json!({
            "metric": found.metric,
            "word": found.verdict.word(),
            "could_have_seen": could_have_seen,
        })
    })
}

/// The ratio to the baseline of every metric that both have. That of `rss_peak` says at how many requests, where memory grows.
fn ratios(
    run: &Run,
    cell: &CellSummary<'_>,
    all: &[CellSummary<'_>],
    growths: &Growths<'_>,
) -> Option<BTreeMap<&'static str, RatioFigure>> {
    let base = cell.baseline_in(all)?;
    if effect(cell, base).is_nothing() {
        return None;
    }
    let order = run.spec.run.order;
    let of = |metric: &Metric| {
        let (ratio, at_requests) = if metric.name == "rss_peak" {
            let memory = growths.ratio(cell, base, order)?;
            (memory.ratio, memory.at_requests)
        } else {
            let (mine, other) = (cell.metric(metric.name)?, base.metric(metric.name)?);
            (ratio(&mine, &other, order)?, None)
        };
        let figure = RatioFigure {
            at_requests,
            interval: ratio.interval.map(|interval| [interval.low, interval.high]),
            ratio: ratio.value,
            by_round: ratio.by_round,
        };
        Some((metric.name, figure))
    };
    Some(METRICS.iter().filter_map(of).collect())
}
