//! RSS over time, of the trial of each cell whose peak is in the middle: a curve a cell, or a curve a role where cells have
//! several. A long trial is drawn by the highest reading of each part of it, so that no peak is lost.

use super::super::naming::Naming;
use super::super::{roles, show};
use super::Drawing;
use super::lines::{self, Axes, MOST_PANELS, Panel, Series};
use super::scale::{Scale, tick, unit_of_bytes};
use super::scene::{SERIES, Scene};
use crate::record::{Phase, Reading, Readings, Trial, Unit};
use crate::stats::{CellSummary, State};
use std::fmt::Write as _;

/// Points of a curve.
const POINTS: usize = 120;
/// Cells whose curves are drawn.
const MOST: usize = 60;
/// The role of all together.
const TOTAL: &str = "total";

/// The plot; none where no trial has readings.
pub(super) fn draw(
    naming: &Naming<'_>,
    cells: &[CellSummary<'_>],
    readings: &Readings,
) -> Option<Drawing> {
    let known: Vec<&CellSummary<'_>> = cells
        .iter()
        .filter(|cell| cell.state == State::Measured && typical(cell, readings).is_some())
        .collect();
    let by_role = known.iter().any(|cell| roles::has_several(cell));
    let drawn = &known[..known.len().min(MOST)];
    let mut panels = if by_role {
        drawn
            .iter()
            .filter_map(|cell| role_panel(naming, cell, readings))
            .collect()
    } else {
        cell_panels(naming, drawn, readings)
    };
    panels.retain(|panel: &Panel| !panel.series.is_empty());
    panels.truncate(MOST_PANELS);
    let points = || {
        let all = panels.iter().flat_map(|panel| &panel.series);
        all.flat_map(|series| series.points.iter().copied())
    };
    let most = points().map(|point| point.1).fold(0.0, f64::max);
    let last = points().map(|point| point.0).fold(0.0, f64::max);
    if most <= 0.0 || last <= 0.0 {
        return None;
    }
    let title = if by_role {
        "RSS over time, by role"
    } else {
        "RSS over time"
    };
    let mut scene = Scene::new("memory", title);
    let note = "The trial of each cell whose peak is in the middle. The first mark is where the measured load begins, the second \
                where it ends.";
    let shown: usize = if by_role {
        panels.len()
    } else {
        panels.iter().map(|panel| panel.series.len()).sum()
    };
    let rest = known.len() - shown;
    let rest = format!("{} without a curve here.", show::plural(rest, "more cell"));
    let notes: &[&str] = if shown < known.len() {
        &[note, &rest]
    } else {
        &[note]
    };
    let top = scene.head(notes);
    let end = lines::draw(&mut scene, top, &panels, &axes(most, last));
    scene.end_at(end);
    scene.say(&said(&panels));
    let alt = alt(&panels, by_role);
    Some(Drawing { scene, alt })
}

fn axes(most: f64, last: f64) -> Axes {
    let up = Scale::linear(most, unit_of_bytes(most), 5);
    let across = Scale::linear(last, 1.0, 6);
    let written = |scale: &Scale, unit: Unit| {
        let ticks = scale.ticks.iter().map(|value| (*value, tick(unit, *value)));
        ticks.collect::<Vec<_>>()
    };
    let (up_ticks, across_ticks) = (
        written(&up, Unit::Bytes),
        written(&across, Unit::CpuSeconds),
    );
    Axes {
        across: (across, across_ticks),
        up: (up, up_ticks),
        name: "since the first process started".to_owned(),
    }
}

/// The valid trial with readings whose peak is in the middle; of an even number the lower of the two.
fn typical<'c>(cell: &CellSummary<'c>, readings: &Readings) -> Option<&'c Trial> {
    let peak = |trial: &Trial| trial.usage.get(TOTAL).and_then(|usage| usage.rss_peak);
    let has = |trial: &&Trial| readings.has(&trial.trial);
    let mut trials: Vec<&Trial> = cell.valid().filter(has).collect();
    trials.sort_by_key(|trial| (peak(trial), trial.trial.repetition));
    trials.get(trials.len().checked_sub(1)? / 2).copied()
}

fn cell_panels(naming: &Naming<'_>, cells: &[&CellSummary<'_>], readings: &Readings) -> Vec<Panel> {
    let panel = |(title, group): (String, Vec<&CellSummary<'_>>)| Panel {
        title,
        series: group
            .iter()
            .filter_map(|cell| {
                let trial = typical(cell, readings)?;
                let own = &readings.of(&trial.trial)?;
                // Older records have one role and no total.
                let role = if own.iter().any(|reading| reading.role == TOTAL) {
                    TOTAL
                } else {
                    own.first()?.role.as_str()
                };
                series(&naming.title_without_load(cell.cell), own, role)
            })
            .collect(),
    };
    lines::grouped(cells).into_iter().map(panel).collect()
}

/// A panel of one cell, with a curve a role: those that count first, and the total behind them.
fn role_panel(naming: &Naming<'_>, cell: &CellSummary<'_>, readings: &Readings) -> Option<Panel> {
    let trial = typical(cell, readings)?;
    let own = &readings.of(&trial.trial)?;
    let mut names: Vec<(&str, String)> = roles::of_trial(trial)
        .map(|(role, usage)| {
            let label = if usage.apart {
                format!("{role} (service, in no total)")
            } else {
                role.to_owned()
            };
            (role, label)
        })
        .collect();
    names.truncate(SERIES - 1);
    let counted = roles::of_trial(trial).filter(|(_, usage)| !usage.apart);
    if counted.count() > 1 {
        names.push((TOTAL, TOTAL.to_owned()));
    }
    let series = names
        .into_iter()
        .filter_map(|(role, label)| series(&label, own, role))
        .collect();
    let title = format!(
        "{}, trial {}",
        naming.title(cell.cell),
        trial.trial.repetition
    );
    Some(Panel { title, series })
}

fn series(label: &str, readings: &[Reading], role: &str) -> Option<Series> {
    let mut own: Vec<&Reading> = readings
        .iter()
        .filter(|reading| reading.role == role)
        .collect();
    own.sort_by_key(|reading| reading.t_ns);
    let all: Vec<(f64, f64)> = own.iter().map(|reading| point(reading)).collect();
    let measured = || own.iter().filter(|reading| reading.phase == Phase::Measure);
    let mark = |reading: &&&Reading, what: &str| {
        let (t, rss) = point(reading);
        let shown = show::in_unit(Unit::Bytes, rss, 3);
        ((t, rss), format!("{label}: {shown} {what}"))
    };
    let first = measured()
        .next()
        .map(|reading| mark(&reading, "when the measured load began"));
    let last = measured()
        .next_back()
        .map(|reading| mark(&reading, "when it ended"));
    (all.len() > 1).then(|| Series {
        points: thinned(&all),
        marked: first.into_iter().chain(last).collect(),
        label: label.to_owned(),
    })
}

/// Seconds and bytes.
fn point(reading: &Reading) -> (f64, f64) {
    (reading.t_ns as f64 / 1e9, reading.rss_bytes as f64)
}

/// The highest point of each of [`POINTS`] parts, and both ends.
fn thinned(all: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if all.len() <= POINTS {
        return all.to_vec();
    }
    let (first, last) = (all[0], all[all.len() - 1]);
    let wide = (last.0 - first.0) / POINTS as f64;
    let part = |t: f64| (((t - first.0) / wide) as usize).min(POINTS - 1);
    let mut highest: Vec<Option<(f64, f64)>> = vec![None; POINTS];
    for point in all {
        let slot = &mut highest[part(point.0)];
        if slot.is_none_or(|known| point.1 > known.1) {
            *slot = Some(*point);
        }
    }
    let mut kept: Vec<(f64, f64)> = highest.into_iter().flatten().collect();
    if kept.first() != Some(&first) {
        kept.insert(0, first);
    }
    if kept.last() != Some(&last) {
        kept.push(last);
    }
    kept
}

fn peak(series: &Series) -> f64 {
    series
        .points
        .iter()
        .map(|point| point.1)
        .fold(0.0, f64::max)
}

fn bytes(value: f64) -> String {
    show::in_unit(Unit::Bytes, value, 3)
}

fn said(panels: &[Panel]) -> String {
    let mut said = String::new();
    for panel in panels {
        if !panel.title.is_empty() {
            let _ = write!(said, "{}. ", panel.title);
        }
        for series in &panel.series {
            let first = series.points.first().map_or(0.0, |point| point.1);
            let last = series.points.last().map_or(0.0, |point| point.1);
            let _ = write!(
                said,
                "{}: {} at first, at most {}, {} at last. ",
                series.label,
                bytes(first),
                bytes(peak(series)),
                bytes(last)
            );
        }
    }
    said.trim_end().to_owned()
}

fn alt(panels: &[Panel], by_role: bool) -> String {
    let series = panels
        .iter()
        .flat_map(|panel| panel.series.iter().map(move |one| (panel, one)));
    let mut peaks: Vec<(f64, String)> = series
        .map(|(panel, series)| {
            let name = if by_role {
                format!("{}, {}", panel.title, series.label)
            } else {
                series.label.clone()
            };
            (peak(series), name)
        })
        .collect();
    peaks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let one = |(value, name): &(f64, String)| format!("{} ({name})", bytes(*value));
    let said = match peaks.as_slice() {
        [] => String::new(),
        [only] => one(only),
        [least, .., most] => format!("from {} to {}", one(least), one(most)),
    };
    format!("Plot of memory over time: peaks {said}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_peak_and_its_ends() {
        let mut all: Vec<(f64, f64)> = (0..1000).map(|t| (f64::from(t), 10.0)).collect();
        all[333].1 = 99.0;
        all[999].1 = 1.0;
        let kept = thinned(&all);
        assert!(kept.len() <= POINTS + 2);
        assert!(kept.contains(&(333.0, 99.0)));
        assert_eq!((kept[0], kept[kept.len() - 1]), (all[0], all[999]));
        assert!(kept.windows(2).all(|two| two[0].0 < two[1].0));
        assert_eq!(thinned(&all[..5]), all[..5]);
    }
}
