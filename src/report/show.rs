//! Figures as people read them: the unit scaled, thousands set apart, rates and ratios
//! with as many digits as the spread of the repetitions bears, times and sizes with three.

use crate::record::{Metric, Unit};
use crate::stats::{Spread, digits};
use crate::units::{show_bytes, show_number, show_seconds};

/// Where no figure is.
pub(super) const NONE: &str = "–";

/// One figure with its unit, which no line break parts from it.
pub(super) fn value(metric: &Metric, value: f64, digits: usize) -> String {
    let shown = match metric.unit {
        Unit::PerSecond | Unit::PerCpuSecond => show_number(value, digits),
        Unit::Nanoseconds => show_seconds(value / 1e9),
        Unit::CpuSeconds => show_seconds(value),
        Unit::Bytes => show_bytes(value),
        Unit::BytesPerSecond => format!("{}/s", show_bytes(value)),
        Unit::Count => count(value),
    };
    shown.replace(' ', "\u{a0}")
}

/// A plain number: every digit of a whole one, three of another.
pub(super) fn count(value: f64) -> String {
    let digits = if value.fract() == 0.0 {
        format!("{:.0}", value.abs()).len()
    } else {
        3
    };
    show_number(value, digits)
}

/// The median.
pub(super) fn median(metric: &Metric, spread: &Spread) -> String {
    value(metric, spread.median, digits(&spread.plain()))
}

/// `20 900–21 800`; nothing where there is one value only.
pub(super) fn range(metric: &Metric, spread: &Spread) -> String {
    if spread.values.len() < 2 {
        return NONE.to_owned();
    }
    // As many as the median has, or it could seem to lie outside.
    let digits = digits(&spread.plain());
    let low = value(metric, spread.min, digits);
    let high = value(metric, spread.max, digits);
    if low == high {
        return low;
    }
    format!("{low}–{high}")
}

/// A multiple: `0.62`, two or three digits.
pub(super) fn multiple(ratio: f64, by_round: &[f64]) -> String {
    show_number(ratio, digits(by_round).clamp(2, 3))
}

/// `1 trial`, `3 trials`.
pub(super) fn plural(number: usize, one: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {one}s")
    }
}
