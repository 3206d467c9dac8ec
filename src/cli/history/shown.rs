//! A history as text: a small line of blocks a metric, gaps and changes marked, the reasons of gaps and the changes in words.

use crate::record::{Metric, Unit};
use crate::report::{change_sentence, in_sentence};
use crate::stats::{Night, Rules, Seen, Series};
use crate::units::{show_bytes, show_number, show_seconds};
use std::fmt::Write as _;

/// From the lowest to the highest.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A night without a figure.
const GAP: char = '·';
/// Between the nights before and after a change.
const CHANGE: char = '|';
/// Figures that differ by less than this share of their middle are not drawn as high as they could be.
const LEAST_HEIGHT: f64 = 0.1;
/// The width of a metric's name.
const WIDTH: usize = 16;

/// `quickstart: 30 nights, 2026-11-01 to 2026-11-30`.
pub(super) fn head(suite: &str, profile: Option<&str>, all: &[Series]) -> String {
    let mut runs: Vec<(&str, &str)> = all
        .iter()
        .flat_map(|one| &one.nights)
        .map(|night| (night.run.0.as_str(), night.date()))
        .collect();
    runs.sort_unstable();
    runs.dedup();
    let dates = || runs.iter().map(|(_, date)| *date);
    let profile = profile.map_or_else(String::new, |profile| format!(" of the profile {profile}"));
    let nights = match runs.len() {
        1 => format!("1 night{profile}"),
        number => format!("{number} nights{profile}"),
    };
    match (dates().min(), dates().max()) {
        (Some(first), Some(last)) if first != last => {
            format!("{suite}: {nights}, {first} to {last}\n")
        }
        (Some(only), _) => format!("{suite}: {nights}, {only}\n"),
        _ => format!("{suite}: {nights}\n"),
    }
}

/// Every cell with its series.
pub(super) fn cells(all: &[&Series], most: usize) -> String {
    let mut out = String::new();
    let mut rest = all;
    while let Some(first) = rest.first() {
        let is_same = |one: &&&Series| one.cell == first.cell && one.machine == first.machine;
        let length = rest.iter().take_while(is_same).count();
        let (own, others) = rest.split_at(length);
        out.push_str(&series(own, most));
        rest = others;
    }
    out
}

/// The metrics of one cell on one machine.
fn series(all: &[&Series], most: usize) -> String {
    let Some(first) = all.first() else {
        return String::new();
    };
    let mut out = format!("\n{}", first.cell.names());
    if let Some(why) = first.begins.words() {
        let since = first.nights.first().map_or("", Night::date);
        let _ = write!(out, "  (new series from {since} on: {why})");
    }
    out.push('\n');
    for one in all {
        let _ = writeln!(
            out,
            "  {:<WIDTH$}  {}  {}",
            in_sentence(one.metric),
            line(one, most),
            newest(one)
        );
    }
    let least = Rules::NIGHTS.least_values;
    let most_figures = all.iter().map(|one| one.figures()).max().unwrap_or(0);
    if most_figures < least {
        let _ = writeln!(
            out,
            "  {most_figures} of the {least} nights with figures that it takes to look for changes"
        );
    }
    for one in all {
        for change in &one.changes {
            let date = one.nights[change.after].date();
            let _ = writeln!(out, "  {date}  {}", change_sentence(one, change));
        }
    }
    out.push_str(&gaps(all, most));
    out
}

/// The nights without figures, each once, of those that are shown.
fn gaps(all: &[&Series], most: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for one in all {
        for night in shown(one, most) {
            if let Seen::Gap { state, reason } = &night.seen {
                // What only one metric lacks is its own.
                let whose = match state.as_str() {
                    "no figure" => format!("{}: ", in_sentence(one.metric)),
                    _ => String::new(),
                };
                let told = if reason.is_empty() {
                    state.clone()
                } else {
                    format!("{state}: {reason}")
                };
                let line = format!("  {}  {GAP} {whose}{told} ({})\n", night.date(), night.run);
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
    }
    lines.sort();
    lines.concat()
}

fn shown(one: &Series, most: usize) -> &[Night] {
    &one.nights[one.nights.len().saturating_sub(most)..]
}

/// The newest nights as blocks.
fn line(one: &Series, most: usize) -> String {
    let nights = shown(one, most);
    let skipped = one.nights.len() - nights.len();
    let figures: Vec<f64> = nights.iter().filter_map(Night::figure).collect();
    let low = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let high = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let middle = f64::midpoint(low, high);
    let height = (high - low).max(LEAST_HEIGHT * middle);
    let block = |value: f64| {
        let share = if height > 0.0 {
            (value - middle) / height + 0.5
        } else {
            0.5
        };
        BLOCKS[((share * 8.0) as usize).min(BLOCKS.len() - 1)]
    };
    let mut out = String::new();
    if skipped > 0 {
        out.push('…');
    }
    for (at, night) in nights.iter().enumerate() {
        if one
            .changes
            .iter()
            .any(|change| change.after == at + skipped)
        {
            out.push(CHANGE);
        }
        out.push(night.figure().map_or(GAP, block));
    }
    out
}

/// The newest figure.
fn newest(one: &Series) -> String {
    let newest = one.nights.iter().rev().find_map(Night::figure);
    newest.map_or_else(|| "no figure".to_owned(), |value| figure(one.metric, value))
}

fn figure(metric: &Metric, value: f64) -> String {
    match metric.unit {
        Unit::Nanoseconds => show_seconds(value / 1e9),
        Unit::CpuSeconds => show_seconds(value),
        Unit::Bytes => show_bytes(value),
        Unit::BytesPerSecond => format!("{}/s", show_bytes(value)),
        Unit::PerSecond | Unit::PerCpuSecond | Unit::Count => show_number(value, 4),
    }
    .replace('\u{a0}', " ")
}
