//! Requests per second: a row a cell with the median of its trials and its interval, by load. A cell without
//! figures keeps its row and says why.

use super::super::naming::Naming;
use super::super::rows::reasons;
use super::super::{paced, show};
use super::label::{self, LINE, shortened, wrapped};
use super::scale::{Scale, tick};
use super::scene::{MARGIN, Mark, Scene, WIDTH};
use super::{Drawing, loads};
use crate::record::{Metric, Unit, metric};
use crate::spec::Spec;
use crate::stats::{CellSummary, Spread, State};
use std::fmt::Write as _;

/// Cells that have a row; further ones are counted in a note.
const MOST: usize = 100;
/// The widest label.
const LABEL: f64 = 250.0;
/// The height of a row whose label has one line.
const ROW: f64 = 26.0;

struct Row<'c> {
    cell: &'c CellSummary<'c>,
    label: String,
    is_baseline: bool,
    value: Option<Value>,
}

struct Value {
    median: f64,
    low: f64,
    high: f64,
    /// `12 300`, with a mark where it is a lower bound.
    shown: String,
    range: String,
    limited: bool,
}

/// The plot; none where no cell has a rate of its own.
pub(super) fn draw<'c>(
    spec: &Spec,
    naming: &Naming<'_>,
    cells: &'c [CellSummary<'c>],
) -> Option<Drawing> {
    let metric = metric("requests_per_second")?;
    // Where the suite gives the rate, it says nothing of the server.
    let all: Vec<&CellSummary<'_>> = cells
        .iter()
        .filter(|cell| !paced::has_its_rate(cell))
        .collect();
    let rows: Vec<Row<'_>> = all
        .iter()
        .take(MOST)
        .map(|cell| row(spec, naming, metric, cell))
        .collect();
    let values = || rows.iter().filter_map(|row| row.value.as_ref());
    values().next()?;
    let mut scene = Scene::new("throughput", "Requests per second");
    let (scale, log) = Scale::of_rates(values().flat_map(|value| [value.low, value.high]), 5);
    let mut note = how(&rows).to_owned();
    if log {
        note.push_str(" Logarithmic axis.");
    }
    let left_out = all.len() - rows.len();
    if left_out > 0 {
        let _ = write!(
            note,
            " {} more cells are in the table only.",
            show::count(left_out as f64)
        );
    }
    let top = scene.head(&[&note]);
    let wide = values().map(|value| label::width(&value.shown));
    let wide = wide.fold(40.0, f64::max);
    let labels = rows.iter().map(|row| label::width(&row.label) + 12.0);
    let labels = labels.fold(60.0, f64::max).min(LABEL);
    let from = MARGIN + labels + 12.0;
    let to = WIDTH - MARGIN - wide - 16.0;
    let layout = Layout {
        scale: scale.between(from, to),
        from,
        to,
        labels,
    };
    let end = layout.rows(&mut scene, top, &rows);
    scene.end_at(end + 34.0);
    scene.say(&words(&rows));
    let alt = alt(&rows);
    Some(Drawing { scene, alt })
}

fn row<'c>(
    spec: &Spec,
    naming: &Naming<'_>,
    metric: &Metric,
    cell: &'c CellSummary<'c>,
) -> Row<'c> {
    let value = |spread: &Spread| {
        let interval = spread.interval();
        let (low, high) = interval.map_or((spread.min, spread.max), |interval| {
            (interval.low, interval.high)
        });
        let limited = cell.is_limited();
        let bound = if limited { "≥\u{a0}" } else { "" };
        Value {
            median: spread.median,
            low,
            high,
            shown: format!("{bound}{}", show::median(metric, spread)),
            range: show::range(metric, spread),
            limited,
        }
    };
    Row {
        label: naming.title_without_load(cell.cell),
        is_baseline: spec.is_baseline(cell.cell),
        value: cell.metric(metric.name).as_ref().map(value),
        cell,
    }
}

fn how(rows: &[Row<'_>]) -> &'static str {
    let mut spreads = rows
        .iter()
        .filter_map(|row| row.cell.metric("requests_per_second"));
    let mut intervals = spreads.clone().map(|spread| spread.interval().is_some());
    if spreads.all(|spread| spread.values.len() == 1) {
        return "One trial of each cell.";
    }
    match (intervals.clone().any(|has| has), intervals.all(|has| has)) {
        (true, true) => "Median of the trials, with its interval of at least 95 %.",
        (true, false) => {
            "Median of the trials, with its interval of at least 95 %; with fewer than six trials from the lowest to the highest."
        }
        (false, _) => "Median of the trials, from the lowest to the highest.",
    }
}

struct Layout {
    scale: Scale,
    from: f64,
    to: f64,
    labels: f64,
}

impl Layout {
    /// All rows from `top` on, by load. Gives where they end.
    fn rows(&self, scene: &mut Scene, top: f64, rows: &[Row<'_>]) -> f64 {
        let cells: Vec<&CellSummary<'_>> = rows.iter().map(|row| row.cell).collect();
        let loads = loads(&cells);
        let mut y = top;
        if rows.len() > 20 {
            self.ticks(scene, y + 10.0);
            y += 18.0;
        }
        for load in &loads {
            let own: Vec<&Row<'_>> = rows
                .iter()
                .filter(|row| row.cell.cell.load == *load)
                .collect();
            if loads.len() > 1 {
                y += 20.0;
                let name = own
                    .first()
                    .map_or(*load, |row| row.cell.cell.load_label.as_str());
                let name = shortened(name, WIDTH - 2.0 * MARGIN);
                scene.text("head", (MARGIN, y), &name);
                y += 8.0;
            }
            y = self.panel(scene, y, &own);
        }
        self.ticks(scene, y + 16.0);
        scene.text(
            "soft middle",
            (f64::midpoint(self.from, self.to), y + 32.0),
            "requests/s",
        );
        y + 8.0
    }

    fn panel(&self, scene: &mut Scene, top: f64, rows: &[&Row<'_>]) -> f64 {
        let lines: Vec<Vec<String>> = rows
            .iter()
            .map(|row| wrapped(&row.label, self.labels, 3))
            .collect();
        let height = |lines: &Vec<String>| ROW + LINE * (lines.len() - 1) as f64;
        let bottom = top + lines.iter().map(height).sum::<f64>();
        for tick in &self.scale.ticks {
            let x = self.scale.at(*tick);
            scene.line("grid", (x, top), (x, bottom));
        }
        self.baseline(scene, top, bottom, rows);
        let mut y = top;
        for (row, lines) in rows.iter().zip(&lines) {
            let middle = y + height(lines) / 2.0;
            self.row(scene, middle, row, lines);
            y += height(lines);
        }
        bottom
    }

    /// A dashed line through the median of the baseline, where the panel has one only.
    fn baseline(&self, scene: &mut Scene, top: f64, bottom: f64, rows: &[&Row<'_>]) {
        let mut bases = rows.iter().filter(|row| row.is_baseline);
        let (first, None) = (bases.next(), bases.next()) else {
            return;
        };
        if let Some(value) = first.and_then(|row| row.value.as_ref()) {
            let x = self.scale.at(value.median);
            scene.line("base", (x, top), (x, bottom));
        }
    }

    fn row(&self, scene: &mut Scene, y: f64, row: &Row<'_>, lines: &[String]) {
        let strong = if row.is_baseline { " strong" } else { "" };
        let first = y + 4.5 - LINE * (lines.len() - 1) as f64 / 2.0;
        let x = self.from - 12.0;
        scene.lines(&format!("end{strong}"), (x, first), lines, &row.label);
        let Some(value) = &row.value else {
            let why = gone(row.cell);
            let room = WIDTH - MARGIN - self.from - 20.0;
            scene.mark("s4", Mark::Cross, (self.from + 8.0, y), &why);
            let text = [shortened(&why, room)];
            scene.lines("gone", (self.from + 20.0, y + 4.5), &text, &why);
            return;
        };
        let (low, high) = (self.scale.at(value.low), self.scale.at(value.high));
        if high - low > 0.5 {
            scene.line("bar s0", (low, y), (high, y));
            for end in [low, high] {
                scene.line("bar s0", (end, y - 4.0), (end, y + 4.0));
            }
        }
        let mark = match (value.limited, row.is_baseline) {
            (true, _) => Mark::More,
            (false, true) => Mark::Diamond,
            (false, false) => Mark::Circle,
        };
        let tip = phrase(row, value);
        scene.mark("s0", mark, (self.scale.at(value.median), y), &tip);
        let class = format!("end{strong}");
        scene.text(&class, (WIDTH - MARGIN, y + 4.5), &value.shown);
    }

    fn ticks(&self, scene: &mut Scene, y: f64) {
        for value in &self.scale.ticks {
            let text = tick(Unit::PerSecond, *value);
            scene.text("soft middle", (self.scale.at(*value), y), &text);
        }
    }
}

fn gone(cell: &CellSummary<'_>) -> String {
    let word = match cell.state {
        State::Measured => "no figure",
        state => state.word(),
    };
    let why = reasons(cell).join("; ");
    if why.is_empty() {
        word.to_owned()
    } else if why.starts_with(word) {
        why
    } else {
        format!("{word}: {why}")
    }
}

fn phrase(row: &Row<'_>, value: &Value) -> String {
    let mut said = format!("{}: {}", row.label, value.shown);
    if value.range != show::NONE {
        let _ = write!(said, " ({})", value.range);
    }
    said
}

/// Every row in words.
fn words(rows: &[Row<'_>]) -> String {
    let cells: Vec<&CellSummary<'_>> = rows.iter().map(|row| row.cell).collect();
    let several = loads(&cells).len() > 1;
    let said = rows.iter().map(|row| {
        let load = if several {
            format!("{}, ", row.cell.cell.load_label)
        } else {
            String::new()
        };
        match &row.value {
            Some(value) => format!("{load}{}", phrase(row, value)),
            None => format!("{load}{}: {}", row.label, gone(row.cell)),
        }
    });
    let said: Vec<String> = said.collect();
    format!("{}.", said.join(". "))
}

/// The extremes in a sentence.
fn alt(rows: &[Row<'_>]) -> String {
    let mut known: Vec<(&Row<'_>, &Value)> = rows
        .iter()
        .filter_map(|row| Some((row, row.value.as_ref()?)))
        .collect();
    known.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let one = |(row, value): &(&Row<'_>, &Value)| format!("{} ({})", value.shown, row.label);
    let gone = rows.len() - known.len();
    let gone = if gone > 0 {
        format!("; {} without a figure", show::plural(gone, "cell"))
    } else {
        String::new()
    };
    let said = match known.as_slice() {
        [] => String::new(),
        [only] => one(only),
        [least, .., most] => format!("from {} to {}", one(least), one(most)),
    };
    format!("Plot of requests per second: {said}{gone}.")
}
