//! Latency by percentile: both axes logarithmic, to five nines, and no further than the samples
//! carry. A point is the median over trials of each trial's percentile; percentiles with fewer than ten values above
//! them in any trial are not drawn.

use super::super::naming::Naming;
use super::super::{show, timing};
use super::Drawing;
use super::lines::{self, Axes, MOST_PANELS, Panel, Series};
use super::scale::{Scale, tick};
use super::scene::Scene;
use crate::record::{Histogram, Load, Unit};
use crate::stats::{CellSummary, State, median};
use std::fmt::Write as _;

/// The percentiles that are marked and told, with how they are written.
const TOLD: [(f64, &str); 7] = [
    (0.0, "0"),
    (0.5, "50"),
    (0.9, "90"),
    (0.99, "99"),
    (0.999, "99.9"),
    (0.9999, "99.99"),
    (0.99999, "99.999"),
];
/// The axis ends at so many nines.
const NINES: f64 = 5.0;
/// Points of a curve for each nine.
const POINTS: usize = 8;
/// Cells whose curves are drawn.
const MOST: usize = 60;

/// The plot; none where no cell has more than one percentile.
pub(super) fn draw(naming: &Naming<'_>, cells: &[CellSummary<'_>]) -> Option<Drawing> {
    let measured: Vec<&CellSummary<'_>> = cells
        .iter()
        .filter(|cell| cell.state == State::Measured)
        .collect();
    let drawn = &measured[..measured.len().min(MOST)];
    let words: Vec<Option<&str>> = drawn.iter().map(|cell| timing::word_of(cell)).collect();
    let one_word = words.windows(2).all(|two| two[0] == two[1]);
    let mut panels = Vec::new();
    let mut shown = 0;
    for (title, group) in lines::grouped(drawn) {
        let curves = group
            .iter()
            .filter_map(|cell| series(naming, cell, one_word));
        let series: Vec<Series> = curves.collect();
        if !series.is_empty() && panels.len() < MOST_PANELS {
            shown += series.len();
            panels.push(Panel { title, series });
        }
    }
    let times = || {
        let all = panels.iter().flat_map(|panel| &panel.series);
        all.flat_map(|series| &series.points).map(|point| point.1)
    };
    let (least, most) = (
        times().fold(f64::INFINITY, f64::min),
        times().fold(0.0, f64::max),
    );
    if most <= 0.0 {
        return None;
    }
    let what = match words.first().copied().flatten().filter(|_| one_word) {
        Some("service") => "Service time",
        Some("response") => "Response time",
        _ => "Latency",
    };
    let mut scene = Scene::new("latency", &format!("{what} by percentile"));
    let mut notes = vec![
        "Both axes are logarithmic. A percentile is drawn where every trial has ten values above it; a point is the median over \
         the trials."
            .to_owned(),
    ];
    if shown < measured.len() {
        notes.push(format!(
            "{} without a curve here.",
            show::plural(measured.len() - shown, "more cell")
        ));
    }
    let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
    let top = scene.head(&notes);
    let axes = axes(least, most);
    let end = lines::draw(&mut scene, top, &panels, &axes);
    scene.end_at(end);
    scene.say(&said(&panels));
    let alt = alt(what, &panels);
    Some(Drawing { scene, alt })
}

fn axes(least: f64, most: f64) -> Axes {
    let up = Scale::log(least, most);
    let ticks = up
        .ticks
        .iter()
        .map(|value| (*value, tick(Unit::Nanoseconds, *value)));
    let up_ticks = ticks.collect();
    let across = TOLD
        .iter()
        .map(|(share, text)| (nines(*share), format!("{text}\u{a0}%")))
        .collect();
    Axes {
        across: (Scale::linear(NINES, 1.0, NINES as usize), across),
        up: (up, up_ticks),
        name: "share of requests that took no longer".to_owned(),
    }
}

/// Where a share lies on the axis: 90 % at 1, 99 % at 2.
fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

fn series(naming: &Naming<'_>, cell: &CellSummary<'_>, one_word: bool) -> Option<Series> {
    let (points, told) = points(cell)?;
    if points.len() < 2 {
        return None;
    }
    let mut label = naming.title_without_load(cell.cell);
    if timing::is_external(cell) {
        let _ = write!(label, " ({})", timing::generator(cell));
    } else if !one_word {
        let _ = write!(
            label,
            " ({} time)",
            timing::word_of(cell).unwrap_or("some other")
        );
    }
    let tip = |(share, ns): (f64, f64)| {
        let shown = show::in_unit(Unit::Nanoseconds, ns, 3);
        (
            (nines(share), ns),
            format!("{label}, {}: {shown}", name(share)),
        )
    };
    Some(Series {
        points,
        marked: told.into_iter().map(tip).collect(),
        label,
    })
}

/// `p99.9`.
fn name(share: f64) -> String {
    let known = TOLD.iter().find(|(told, _)| (told - share).abs() < 1e-9);
    match known {
        Some((0.0, _)) => "shortest".to_owned(),
        Some((_, text)) => format!("p{text}"),
        None => format!("p{}", (share * 1e5).round() / 1e3),
    }
}

type Points = Vec<(f64, f64)>;

/// A cell's curve as (nines, nanoseconds), and those of its points that are marked as (share, nanoseconds).
fn points(cell: &CellSummary<'_>) -> Option<(Points, Points)> {
    let loads: Vec<&Load> = cell
        .valid()
        .filter_map(|trial| trial.load.as_ref())
        .collect();
    if loads.iter().any(|load| load.told.is_some()) {
        return told(&loads);
    }
    let times: Option<Vec<&Histogram>> = loads.iter().map(|load| times(load)).collect();
    let times = times.filter(|times| !times.is_empty())?;
    let marked: Vec<f64> = TOLD.iter().map(|(share, _)| *share).collect();
    let steps =
        (1..NINES as usize * POINTS).map(|at| 1.0 - 10f64.powf(-(at as f64) / POINTS as f64));
    let mut shares: Vec<f64> = marked.iter().copied().chain(steps).collect();
    shares.sort_by(f64::total_cmp);
    shares.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    let by_trial: Vec<Vec<Option<u64>>> =
        times.iter().map(|times| times.quantiles(&shares)).collect();
    let middle = |at: usize| {
        let all: Option<Vec<f64>> = by_trial
            .iter()
            .map(|trial| trial.get(at).copied().flatten().map(|ns| ns as f64))
            .collect();
        median(&all?)
    };
    let known: Points = shares
        .iter()
        .enumerate()
        .filter_map(|(at, share)| Some((*share, middle(at)?)))
        .filter(|(_, ns)| *ns > 0.0)
        .collect();
    let is_marked = |share: f64| marked.iter().any(|told| (told - share).abs() < 1e-9);
    Some((
        known
            .iter()
            .map(|(share, ns)| (nines(*share), *ns))
            .collect(),
        known
            .iter()
            .copied()
            .filter(|(share, _)| is_marked(*share))
            .collect(),
    ))
}

/// The times that are the latency of a load: response times of an open loop, service times of a closed one.
fn times(load: &Load) -> Option<&Histogram> {
    match &load.open {
        Some(open) => open.response.as_ref(),
        None => load.service.as_ref(),
    }
}

/// What an external generator told: the few percentiles that all trials have.
fn told(loads: &[&Load]) -> Option<(Points, Points)> {
    let told: Option<Vec<_>> = loads.iter().map(|load| load.told.as_ref()).collect();
    let told = told?;
    let mut shares: Vec<f64> = told
        .first()?
        .quantiles
        .iter()
        .map(|one| one.share)
        .collect();
    shares.retain(|share| *share >= 0.0 && *share < 1.0);
    shares.sort_by(f64::total_cmp);
    let known: Points = shares
        .iter()
        .filter_map(|share| {
            let all: Option<Vec<f64>> = told
                .iter()
                .map(|told| told.quantile(*share).map(|ns| ns as f64))
                .collect();
            Some((*share, median(&all?)?))
        })
        .filter(|(_, ns)| *ns > 0.0)
        .collect();
    Some((
        known
            .iter()
            .map(|(share, ns)| (nines(*share), *ns))
            .collect(),
        known,
    ))
}

/// Every marked point in words.
fn said(panels: &[Panel]) -> String {
    let mut said = String::new();
    for panel in panels {
        if !panel.title.is_empty() {
            let _ = write!(said, "{}. ", panel.title);
        }
        for series in &panel.series {
            let tips: Vec<&str> = series
                .marked
                .iter()
                .map(|(_, tip)| tip.strip_prefix(&series.label).unwrap_or(tip))
                .map(|tip| tip.trim_start_matches(", "))
                .collect();
            let _ = write!(said, "{}: {}. ", series.label, tips.join(", "));
        }
    }
    said.trim_end().to_owned()
}

fn alt(what: &str, panels: &[Panel]) -> String {
    let all = || panels.iter().flat_map(|panel| &panel.series);
    let at_99 = all().filter_map(|series| {
        let point = series
            .marked
            .iter()
            .find(|((x, _), _)| (x - 2.0).abs() < 1e-6)?;
        Some((point.0.1, series.label.as_str()))
    });
    let mut at_99: Vec<(f64, &str)> = at_99.collect();
    at_99.sort_by(|a, b| a.0.total_cmp(&b.0));
    let one = |(ns, label): &(f64, &str)| {
        format!("{} ({label})", show::in_unit(Unit::Nanoseconds, *ns, 3))
    };
    let said = match at_99.as_slice() {
        [] => format!("of {}", show::plural(all().count(), "cell")),
        [only] => format!("p99 {}", one(only)),
        [least, .., most] => format!("p99 from {} to {}", one(least), one(most)),
    };
    format!("Plot of {} by percentile: {said}.", what.to_lowercase())
}
