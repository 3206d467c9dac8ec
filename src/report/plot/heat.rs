//! The matrix where two toggles cross: a field for each pair of values, the stronger its colour the more requests per
//! second, with the figure in it. The highest has a frame. A field without a figure says why.

use super::super::rows::reasons;
use super::super::{paced, show};
use super::Drawing;
use super::label::{shortened, width, wrapped};
use super::scene::{Area, MARGIN, Scene, WIDTH};
use crate::record::metric;
use crate::spec::{Axis, Cell, Spec};
use crate::stats::{CellSummary, State};
use std::collections::HashMap;

/// Pairs of toggles that are drawn.
const MOST_PAIRS: usize = 3;
/// Panels of a pair.
const MOST_PANELS: usize = 12;
/// Values of a toggle that are drawn.
const MOST_VALUES: usize = 8;
/// The height of a field.
const HEIGHT: f64 = 48.0;
/// The colour of the least and of the most: so weak that text stands out on both.
const STRENGTHS: (f64, f64) = (0.08, 0.6);

/// Cells that differ in the two toggles only.
struct Group<'c> {
    title: String,
    cells: Vec<&'c CellSummary<'c>>,
}

/// A plot for each pair of toggles that cross.
pub(super) fn draw<'c>(spec: &Spec, cells: &'c [CellSummary<'c>]) -> Vec<Drawing> {
    let toggles: Vec<&Axis> = spec
        .axes
        .iter()
        .filter(|axis| !matches!(axis.name.as_str(), "server" | "load") && axis.values.len() > 1)
        .collect();
    let pairs = toggles.iter().enumerate().flat_map(|(at, across)| {
        let later = toggles[at + 1..].iter();
        later.map(move |up| (*across, *up))
    });
    pairs
        .filter_map(|(across, up)| pair(spec, across, up, cells))
        .take(MOST_PAIRS)
        .collect()
}

fn pair<'c>(
    spec: &Spec,
    across: &Axis,
    up: &Axis,
    cells: &'c [CellSummary<'c>],
) -> Option<Drawing> {
    let mut groups = groups(spec, across, up, cells);
    groups.retain(|group| {
        crosses(group, across, up) && group.cells.iter().any(|cell| rate(cell).is_some())
    });
    groups.truncate(MOST_PANELS);
    let rates = || {
        groups
            .iter()
            .flat_map(|group| &group.cells)
            .filter_map(|cell| rate(cell))
    };
    let (least, most) = rates().fold((f64::INFINITY, 0.0f64), |(least, most), rate| {
        (least.min(rate), most.max(rate))
    });
    rates().next()?;
    let name = format!("heat-{}-{}", slug(&across.name), slug(&up.name));
    let title = format!("Requests per second by {} and {}", across.name, up.name);
    let mut scene = Scene::new(&name, &title);
    let mut y = scene.head(&["The stronger the colour, the more requests per second. The frame marks the most in its group."]);
    let mut said = Vec::new();
    for group in &groups {
        y = panel(&mut scene, y, group, (across, up), (least, most), &mut said) + 18.0;
    }
    scene.end_at(y);
    scene.say(&format!("{}.", said.join(". ")));
    let number =
        |rate: f64| show::count(crate::units::significant(rate, 3).parse().unwrap_or(rate));
    let alt = format!(
        "Heat map of requests per second by {} and {}: from {} to {}.",
        across.name,
        up.name,
        number(least),
        number(most)
    );
    Some(Drawing { scene, alt })
}

fn slug(name: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
            c
        } else {
            '-'
        }
    };
    name.chars().map(safe).collect()
}

fn value<'c>(cell: &'c Cell, toggle: &str) -> Option<&'c str> {
    let choice = cell.toggles.iter().find(|choice| choice.toggle == toggle)?;
    Some(choice.value.as_str())
}

fn rate(cell: &CellSummary<'_>) -> Option<f64> {
    let spread = cell.metric("requests_per_second")?;
    Some(spread.median)
}

/// Cells by all that is not one of the two toggles.
fn groups<'c>(
    spec: &Spec,
    across: &Axis,
    up: &Axis,
    cells: &'c [CellSummary<'c>],
) -> Vec<Group<'c>> {
    let mut groups: Vec<Group<'c>> = Vec::new();
    let mut places: HashMap<Vec<&str>, usize> = HashMap::new();
    let fit = cells.iter().filter(|cell| {
        let has = |axis: &Axis| value(cell.cell, &axis.name).is_some();
        has(across) && has(up) && !paced::has_its_rate(cell)
    });
    for cell in fit {
        let place = *places
            .entry(key(cell.cell, across, up))
            .or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.cells.push(cell),
            None => groups.push(Group {
                title: title(spec, cell.cell, across, up),
                cells: vec![cell],
            }),
        }
    }
    groups
}

fn key<'c>(cell: &'c Cell, across: &Axis, up: &Axis) -> Vec<&'c str> {
    let rest = cell
        .toggles
        .iter()
        .filter(|choice| choice.toggle != across.name && choice.toggle != up.name)
        .flat_map(|choice| [choice.toggle.as_str(), choice.value.as_str()]);
    let mut key = vec![cell.server.as_str(), cell.load.as_str()];
    key.extend(rest);
    key
}

/// What the cells of a group have in common, as far as it is not common to all.
fn title(spec: &Spec, cell: &Cell, across: &Axis, up: &Axis) -> String {
    let varies = |name: &str| {
        let axis = spec.axes.iter().find(|axis| axis.name == name);
        axis.is_some_and(|axis| axis.values.len() > 1)
    };
    let mut parts = Vec::new();
    if varies("server") {
        parts.push(cell.server_label.clone());
    }
    let rest = cell
        .toggles
        .iter()
        .filter(|choice| choice.toggle != across.name && choice.toggle != up.name)
        .filter(|choice| varies(&choice.toggle));
    parts.extend(rest.map(|choice| format!("{} {}", choice.toggle, choice.label)));
    if varies("load") {
        parts.push(cell.load_label.clone());
    }
    parts.join(" · ")
}

/// Whether two values of the one toggle were both run with the same two values of the other.
fn crosses(group: &Group<'_>, across: &Axis, up: &Axis) -> bool {
    let with = |of: &str| -> Vec<&str> {
        let cells = group
            .cells
            .iter()
            .filter(|cell| value(cell.cell, &across.name) == Some(of));
        cells
            .filter_map(|cell| value(cell.cell, &up.name))
            .collect()
    };
    let columns: Vec<Vec<&str>> = across.values.iter().map(|(of, _)| with(of)).collect();
    columns.iter().enumerate().any(|(at, one)| {
        let both = |other: &Vec<&str>| one.iter().filter(|value| other.contains(value)).count() > 1;
        columns[at + 1..].iter().any(both)
    })
}

fn panel(
    scene: &mut Scene,
    top: f64,
    group: &Group<'_>,
    (across, up): (&Axis, &Axis),
    (least, most): (f64, f64),
    said: &mut Vec<String>,
) -> f64 {
    let used = |axis: &Axis| -> Vec<(String, String)> {
        let has = |of: &str| {
            group
                .cells
                .iter()
                .any(|cell| value(cell.cell, &axis.name) == Some(of))
        };
        axis.values
            .iter()
            .filter(|(of, _)| has(of))
            .take(MOST_VALUES)
            .cloned()
            .collect()
    };
    let (columns, lines) = (used(across), used(up));
    let mut y = top;
    if !group.title.is_empty() {
        y += 14.0;
        let title = shortened(&group.title, WIDTH - 2.0 * MARGIN);
        scene.lines("head", (MARGIN, y), &[title], &group.title);
        y += 8.0;
    }
    let row_label = |label: &str| format!("{} {label}", up.name);
    let labels = lines
        .iter()
        .map(|(_, label)| width(&row_label(label)) + 14.0);
    let labels = labels.fold(60.0, f64::max).min(210.0);
    let left = MARGIN + labels;
    let wide = ((WIDTH - MARGIN - left) / columns.len() as f64).min(190.0);
    for (at, (_, label)) in columns.iter().enumerate() {
        let text = format!("{} {label}", across.name);
        let x = left + wide * (at as f64 + 0.5);
        let line = [shortened(&text, wide - 6.0)];
        scene.lines("middle", (x, y + 14.0), &line, &text);
    }
    y += 22.0;
    let best = group
        .cells
        .iter()
        .filter_map(|cell| rate(cell))
        .fold(0.0, f64::max);
    for (line, (row, label)) in lines.iter().enumerate() {
        let y = y + HEIGHT * line as f64;
        let text = row_label(label);
        let short = wrapped(&text, labels - 14.0, 2);
        let first = y + HEIGHT / 2.0 + 4.5 - 8.0 * (short.len() - 1) as f64;
        scene.lines("end", (left - 12.0, first), &short, &text);
        for (at, (column, column_label)) in columns.iter().enumerate() {
            let area = Area {
                x: left + wide * at as f64 + 2.0,
                y: y + 2.0,
                width: wide - 4.0,
                height: HEIGHT - 4.0,
            };
            let cell = group.cells.iter().find(|cell| {
                value(cell.cell, &across.name) == Some(column)
                    && value(cell.cell, &up.name) == Some(row)
            });
            let place = format!("{} {column_label}, {text}", across.name);
            let place = if group.title.is_empty() {
                place
            } else {
                format!("{}, {place}", group.title)
            };
            said.push(field(
                scene,
                area,
                cell.copied(),
                &place,
                (least, most, best),
            ));
        }
    }
    y + HEIGHT * lines.len() as f64
}

/// Draws one field, and says it.
fn field(
    scene: &mut Scene,
    area: Area,
    cell: Option<&CellSummary<'_>>,
    place: &str,
    (least, most, best): (f64, f64, f64),
) -> String {
    let middle = (area.x + area.width / 2.0, area.y + area.height / 2.0 + 4.5);
    let known = cell.and_then(|cell| {
        let spread = cell.metric("requests_per_second")?;
        let bound = if cell.is_limited() { "≥\u{a0}" } else { "" };
        Some((
            spread.median,
            format!(
                "{bound}{}",
                show::median(metric("requests_per_second")?, &spread)
            ),
        ))
    });
    let Some((rate, shown)) = known else {
        let (word, why) = match cell {
            None => ("not in the matrix", String::new()),
            Some(cell) if cell.state == State::Measured => ("no figure", String::new()),
            Some(cell) => (cell.state.word(), reasons(cell).join("; ")),
        };
        let full = if why.is_empty() {
            word.to_owned()
        } else {
            format!("{word}: {why}")
        };
        scene.rect("hole", area, None, &full);
        let text = [shortened(word, area.width - 8.0)];
        scene.lines("gone middle", middle, &text, &full);
        return format!("{place}: {full}");
    };
    let share = if most > least {
        (rate - least) / (most - least)
    } else {
        0.5
    };
    let strength = STRENGTHS.0 + share * (STRENGTHS.1 - STRENGTHS.0);
    let said = format!("{place}: {shown}");
    scene.rect("heat", area, Some(strength), &said);
    let is_best = rate >= best;
    if is_best {
        scene.rect("best", area, None, "");
    }
    scene.text(
        if is_best { "middle strong" } else { "middle" },
        middle,
        &shown,
    );
    said
}
