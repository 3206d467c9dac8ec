//! CSV as spreadsheets and programs read it: RFC 4180 with lines that end in LF (which version
//! control shows best and every reader takes), a unit in every column's name, `.` as the
//! point, no grouping, the shortest digits that read back the same, and nothing where there is no
//! value. Text that a spreadsheet would run as a formula gets an apostrophe in front; numbers never do.

use super::found::Found;
use super::roles::{FIELDS, Field, of_trial};
use super::rows::{bodies, effect_of, reasons};
use super::{Input, show, timing};
use crate::record::{ErrorKind, Load, METRICS, Outcome, Proof, Trial};
use crate::spec::{Cell, Spec};
use crate::stats::{CellSummary, Comparison, Growth, Spread, State, Steadiness, steadiness_of};
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::io::{self, Write};

/// `summary.csv`: a row a cell, in file order.
pub(super) fn summary(
    input: &Input<'_>,
    found: &Found<'_, '_>,
    to: &mut dyn Write,
) -> io::Result<()> {
    let (spec, cells) = (&input.run.spec, found.cells);
    let mut head = names_head(spec);
    head.extend(
        [
            "state",
            "reason",
            "valid_count",
            "invalid_count",
            "failed_count",
            "missing_count",
        ]
        .map(str::to_owned),
    );
    for metric in METRICS.iter() {
        let column = metric.column();
        head.extend(["median", "min", "max"].map(|what| format!("{column}_{what}")));
        if INTERVALS.contains(&metric.name) {
            head.extend(["low", "high"].map(|what| format!("{column}_{what}")));
        }
    }
    head.extend(
        [
            "body_wire_bytes",
            "body_decoded_bytes",
            RATIO,
            "requests_per_second_ratio_low",
            "requests_per_second_ratio_high",
            "verdict",
            "effect",
            "effect_reason",
            "generator",
            "latency_timing",
            "gates",
            "rss_growth_bytes_per_request",
            "rss_growth_bytes_per_request_low",
            "rss_growth_bytes_per_request_high",
            "growing",
        ]
        .map(str::to_owned),
    );
    let rows = cells.iter().map(|cell| {
        let mut row = names(spec, cell.cell);
        row.extend(counts(cell));
        for metric in METRICS.iter() {
            let spread = cell.metric(metric.name);
            let spread = spread.as_ref();
            row.push(number(spread.map(|spread| spread.median)));
            row.push(number(spread.map(|spread| spread.min)));
            row.push(number(spread.map(|spread| spread.max)));
            if INTERVALS.contains(&metric.name) {
                let interval = spread.and_then(Spread::interval);
                row.push(number(interval.map(|interval| interval.low)));
                row.push(number(interval.map(|interval| interval.high)));
            }
        }
        row.extend(compared(cell, cells, found.comparison(cell)));
        row.push(found.gates_word(cell).to_owned());
        row.extend(grown(found.growths.get(cell)));
        row
    });
    table(&head, rows, to)
}

/// The metrics whose medians have an interval here.
const INTERVALS: [&str; 4] = [
    "requests_per_second",
    "latency_p50",
    "latency_p99",
    "rss_peak",
];

/// How memory changes with the requests served; empty where there are too few readings.
fn grown(growth: Option<&Growth>) -> [String; 4] {
    let slope = growth.map(|growth| growth.slope);
    [
        number(slope.map(|slope| slope.estimate)),
        number(slope.map(|slope| slope.low)),
        number(slope.map(|slope| slope.high)),
        growth.map_or_else(String::new, |growth| growth.growing.to_string()),
    ]
}

/// The ratio of requests per second to the baseline's.
const RATIO: &str = "requests_per_second_ratio";

/// The sizes of a cell's bodies, its ratio, and what is known of the effect of its toggles. A ratio that says nothing is
/// a dash, since a value that is only missing is nothing.
fn compared(
    cell: &CellSummary<'_>,
    cells: &[CellSummary<'_>],
    found: Option<&Comparison<'_, '_>>,
) -> Vec<String> {
    let body = bodies(cell);
    let size = |size: Option<u64>| size.map_or_else(String::new, |size| size.to_string());
    let effect = effect_of(cell, cells);
    let found = found.filter(|found| found.metric == "requests_per_second");
    let interval = found.and_then(|found| found.ratio.interval);
    vec![
        size(body.map(|body| body.wire)),
        size(body.map(|body| body.decoded)),
        if effect.is_nothing() {
            show::NONE.to_owned()
        } else {
            number(found.map(|found| found.ratio.value))
        },
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
        found.map_or_else(String::new, |found| found.verdict.word().to_owned()),
        text(effect.word().unwrap_or_default()),
        text(&effect.words().join("; ")),
        text(&timing::generator(cell)),
        timing::word_of(cell).unwrap_or_default().to_owned(),
    ]
}

fn counts(cell: &CellSummary<'_>) -> Vec<String> {
    let install = match cell.state {
        State::Skipped(skip) => skip.install.as_ref(),
        _ => None,
    };
    let mut reason = reasons(cell).join("; ");
    if let Some(install) = install {
        let _ = write!(reason, "; install: {install}");
    }
    vec![
        text(cell.state.word()),
        text(&reason),
        cell.valid().count().to_string(),
        cell.invalid().count().to_string(),
        cell.failed().count().to_string(),
        cell.missing().to_string(),
    ]
}

/// The columns of a trial's counts, and how each is read.
type Column = (&'static str, fn(&Trial) -> Option<u64>);

const COUNTS: &[Column] = &[
    ("window_ns", |t| Some(t.load.as_ref()?.window_ns)),
    ("planned_count", |t| Some(t.load.as_ref()?.counts.planned)),
    ("sent_count", |t| Some(t.load.as_ref()?.counts.sent)),
    ("unsent_count", |t| Some(t.load.as_ref()?.counts.unsent)),
    ("succeeded_count", |t| {
        Some(t.load.as_ref()?.counts.succeeded)
    }),
    ("failed_count", |t| Some(t.load.as_ref()?.counts.failed)),
    ("timed_out_count", |t| {
        Some(t.load.as_ref()?.counts.timed_out)
    }),
    ("unfinished_count", |t| {
        Some(t.load.as_ref()?.counts.unfinished)
    }),
    ("first_error_ns", |t| t.load.as_ref()?.first_error_ns),
    ("sent_bytes", |t| {
        // A request is never empty: nothing is what nobody told.
        Some(t.load.as_ref()?.bytes.sent).filter(|sent| *sent > 0)
    }),
    ("received_bytes", |t| Some(t.load.as_ref()?.bytes.received)),
    ("body_wire_bytes", |t| t.load.as_ref()?.bytes.body_wire),
    ("body_decoded_bytes", |t| {
        t.load.as_ref()?.bytes.body_decoded
    }),
    ("connections_opened_count", |t| {
        Some(looked(t)?.connections.opened)
    }),
    ("reconnects_count", |t| {
        Some(looked(t)?.connections.reconnects)
    }),
    ("retried_count", |t| Some(looked(t)?.connections.retried)),
    ("closed_by_server_count", |t| {
        Some(looked(t)?.connections.closed_by_server)
    }),
    ("surplus_count", |t| Some(looked(t)?.connections.surplus)),
    ("processes_count", |t| {
        Some(t.usage.get("total")?.processes.into())
    }),
    ("threads_count", |t| {
        Some(t.usage.get("total")?.threads.into())
    }),
    ("printed_bytes", |t| {
        let own = t.stops.values().filter(|stop| !stop.apart);
        let printed = own.map(|stop| stop.printed_bytes);
        printed.sum::<Option<u64>>().filter(|_| !t.stops.is_empty())
    }),
];

/// The load of a trial, where the built-in generator has looked at its connections.
fn looked(trial: &Trial) -> Option<&Load> {
    trial.load.as_ref().filter(|load| load.is_built_in())
}

/// `trials.csv`: a row a trial, by cell in file order and repetition.
pub(super) fn trials(
    input: &Input<'_>,
    cells: &[CellSummary<'_>],
    to: &mut dyn Write,
) -> io::Result<()> {
    let spec = &input.run.spec;
    let mut head = names_head(spec);
    head.extend(
        [
            "repetition",
            "round",
            "session",
            "started",
            "outcome",
            "step",
            "reason",
            "listener",
            "took_ns",
        ]
        .map(str::to_owned),
    );
    head.extend(METRICS.iter().map(|metric| metric.column()));
    head.extend(COUNTS.iter().map(|(name, _)| (*name).to_owned()));
    head.extend((1..=5).map(|class| format!("status_{class}xx_count")));
    head.extend(
        ErrorKind::ALL
            .iter()
            .map(|kind| format!("error_{}_count", kind.name())),
    );
    head.extend(
        [
            "generator",
            "generator_version",
            "latency_timing",
            "steady",
            "warnings",
        ]
        .map(str::to_owned),
    );
    let rows = cells.iter().flat_map(|cell| {
        cell.trials
            .iter()
            .map(|trial| trial_row(spec, cell.cell, trial))
    });
    table(&head, rows, to)
}

fn trial_row(spec: &Spec, cell: &Cell, trial: &Trial) -> Vec<String> {
    let mut row = names(spec, cell);
    row.extend([
        trial.trial.repetition.to_string(),
        trial.round.to_string(),
        trial.session.to_string(),
        text(&trial.started),
    ]);
    row.extend(outcome(&trial.outcome));
    row.push(text(proof(trial.listener)));
    row.push(trial.took_ns.to_string());
    row.extend(METRICS.iter().map(|metric| number(metric.of(trial))));
    let whole = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    row.extend(COUNTS.iter().map(|(_, read)| whole(read(trial))));
    let load = trial.load.as_ref();
    row.extend((1..=5).map(|class: u16| {
        whole(load.map(|load| {
            let of_class = load
                .statuses
                .iter()
                .filter(|(status, _)| **status / 100 == class);
            of_class.map(|(_, times)| times).sum()
        }))
    }));
    row.extend(
        ErrorKind::ALL
            .iter()
            .map(|kind| whole(load.map(|load| load.errors.get(kind).copied().unwrap_or(0)))),
    );
    let name = cell.work.generator.as_deref();
    row.push(name.unwrap_or("built-in").to_owned());
    row.push(load.map_or_else(String::new, |load| text(&load.generator)));
    row.push(load.and_then(timing::word).unwrap_or_default().to_owned());
    let steady = steadiness_of(trial, &cell.work).map(Steadiness::word);
    row.push(steady.unwrap_or_default().to_owned());
    row.push(text(&trial.warnings.join("; ")));
    row
}

/// `roles.csv`: a row for each role of each trial. It is made where a trial has more than one role, and else `trials.csv` tells
/// all.
pub(super) fn roles(
    input: &Input<'_>,
    cells: &[CellSummary<'_>],
    to: &mut dyn Write,
) -> io::Result<()> {
    let spec = &input.run.spec;
    let mut head = names_head(spec);
    head.extend(["repetition", "round", "outcome", "role", "in_total"].map(str::to_owned));
    head.extend(FIELDS.iter().map(Field::column));
    let rows = cells.iter().flat_map(|cell| {
        cell.trials.iter().flat_map(move |trial| {
            of_trial(trial).map(move |(role, usage)| {
                let mut row = names(spec, cell.cell);
                let [outcome, ..] = outcome(&trial.outcome);
                row.extend([
                    trial.trial.repetition.to_string(),
                    trial.round.to_string(),
                    outcome,
                    text(role),
                    (!usage.apart).to_string(),
                ]);
                row.extend(FIELDS.iter().map(|field| number((field.read)(usage))));
                row
            })
        })
    });
    table(&head, rows, to)
}

fn outcome(outcome: &Outcome) -> [String; 3] {
    match outcome {
        Outcome::Valid => ["valid".to_owned(), String::new(), String::new()],
        Outcome::Invalid { reasons } => [
            "invalid".to_owned(),
            String::new(),
            text(&reasons.join("; ")),
        ],
        Outcome::Failed { step, reason, .. } => {
            // The step's own name on disk is its name here.
            let step = match serde_json::to_value(step) {
                Ok(Json::String(step)) => step,
                _ => String::new(),
            };
            ["failed".to_owned(), step, text(reason)]
        }
    }
}

fn proof(proof: Proof) -> &'static str {
    match proof {
        Proof::Proved => "proved",
        Proof::Unproved => "unproved",
        Proof::Untested => "untested",
    }
}

fn toggles(spec: &Spec) -> impl Iterator<Item = &str> {
    let names = spec.axes.iter().map(|axis| axis.name.as_str());
    names.filter(|name| !matches!(*name, "server" | "load"))
}

/// The columns of names. A toggle's has a prefix, so that no toggle can take another's name.
fn names_head(spec: &Spec) -> Vec<String> {
    let mut head = ["cell", "suite", "server"].map(str::to_owned).to_vec();
    head.extend(toggles(spec).map(|name| format!("toggle_{name}")));
    head.push("load".to_owned());
    head
}

fn names(spec: &Spec, cell: &Cell) -> Vec<String> {
    let mut row = vec![text(&cell.id.0), text(&spec.suite), text(&cell.server)];
    row.extend(toggles(spec).map(|name| {
        let choice = cell.toggles.iter().find(|choice| choice.toggle == name);
        choice.map_or_else(String::new, |choice| text(&choice.value))
    }));
    row.push(text(&cell.load));
    row
}

/// A cell of text. One that a spreadsheet would take for a formula gets an apostrophe in front.
fn text(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

/// A number with the shortest digits that read back the same; empty where there is none.
fn number(value: Option<f64>) -> String {
    match value {
        Some(value) if value.is_finite() => value.to_string(),
        _ => String::new(),
    }
}

fn table(
    head: &[String],
    rows: impl Iterator<Item = Vec<String>>,
    to: &mut dyn Write,
) -> io::Result<()> {
    let mut writer = ::csv::WriterBuilder::new()
        .terminator(::csv::Terminator::Any(b'\n'))
        .from_writer(to);
    writer.write_record(head)?;
    for row in rows {
        writer.write_record(&row)?;
    }
    writer.flush()
}
