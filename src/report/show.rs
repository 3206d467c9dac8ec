//! Figures as people read them: the unit scaled, thousands set apart, rates and ratios
//! with as many digits as the spread of the repetitions bears, times and sizes with three.

use crate::record::{Metric, Unit};
use crate::stats::{Interval, Spread, digits};
use crate::units::{show_bytes, show_number, show_seconds};

/// No ratio is shown with more.
const MOST_DIGITS: usize = 6;

/// Where no figure is.
pub(super) const NONE: &str = "–";

/// One figure with its unit, which no line break parts from it.
pub(super) fn value(metric: &Metric, value: f64, digits: usize) -> String {
    in_unit(metric.unit, value, digits)
}

/// The same of a figure in a unit.
pub(super) fn in_unit(unit: Unit, value: f64, digits: usize) -> String {
    let shown = match unit {
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

/// `20 900–21 800`: the interval of the median, where there are values enough, else from the lowest to the highest; nothing
/// where there is one value only.
pub(super) fn range(metric: &Metric, spread: &Spread) -> String {
    if spread.values.len() < 2 {
        return NONE.to_owned();
    }
    let (low, high) = spread
        .interval()
        .map_or((spread.min, spread.max), |interval| {
            (interval.low, interval.high)
        });
    // As many as the median has, or it could seem to lie outside.
    let digits = digits(&spread.plain());
    let (low, high) = (value(metric, low, digits), value(metric, high, digits));
    if low == high {
        return low;
    }
    format!("{low}–{high}")
}

/// A multiple: `0.62`, two or three digits.
pub(super) fn multiple(ratio: f64, by_round: &[f64]) -> String {
    show_number(ratio, digits(by_round).clamp(2, 3))
}

/// A multiple and its interval: `0.62`, `0.6–0.64`, one digit beyond where the ends begin to differ.
pub(super) fn with_interval(interval: &Interval) -> (String, String) {
    let usual = digits(&[interval.low, interval.high]).max(2);
    // An interval that excludes 1 must not look as if it held it.
    let hides = |digits: usize| {
        let ends = [interval.low, interval.high];
        let near = |end: f64| show_number(end, digits) == show_number(1.0, digits);
        interval.excludes(1.0) && ends.into_iter().any(near)
    };
    let digits = (usual..MOST_DIGITS).find(|digits| !hides(*digits));
    let digits = digits.unwrap_or(usual);
    let shown = |value: f64| show_number(value, digits);
    let (low, high) = (shown(interval.low), shown(interval.high));
    let range = if low == high {
        low
    } else {
        format!("{low}–{high}")
    };
    (shown(interval.estimate), range)
}

/// A change as a percentage with its interval, from the smaller to the larger end: `38 %`, `35–40 %`.
pub(super) fn change(interval: &Interval) -> (String, String) {
    let ends = [interval.low, interval.high].map(|end| (end - 1.0).abs() * 100.0);
    let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
    let decimals = match high - low {
        wide if wide >= 2.0 => 0,
        wide if wide >= 0.2 => 1,
        _ => 2,
    };
    let shown = |share: f64| format!("{share:.decimals$}");
    let size = shown((interval.estimate - 1.0).abs() * 100.0);
    (
        format!("{size}\u{a0}%"),
        format!("{}–{}\u{a0}%", shown(low), shown(high)),
    )
}

/// A share as a percentage: two digits.
pub(super) fn share(share: f64) -> String {
    format!("{}\u{a0}%", show_number(share * 100.0, 2))
}

/// `1 trial`, `3 trials`.
pub(super) fn plural(number: usize, one: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {one}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_excludes_1_is_shown_so() {
        let interval = |low, high| Interval {
            estimate: 1.1,
            low,
            high,
        };
        assert_eq!(with_interval(&interval(1.02, 1.63)).1, "1.02–1.63");
        assert_eq!(with_interval(&interval(0.98, 1.63)).1, "0.98–1.6");
    }
}
