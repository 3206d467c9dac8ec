//! Axes: from values to pixels, with round ticks.

use super::super::show;
use crate::record::Unit;
use crate::units::show_number;

/// From this ratio of the largest to the smallest value on, an axis of rates is logarithmic: on a linear one the
/// smallest would lie on its edge.
pub(super) const WIDE: f64 = 30.0;

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
    /// The values at which it has a tick, from the lowest.
    pub(super) ticks: Vec<f64>,
}

impl Scale {
    /// From 0 to a round value that is at least `most`, in steps of a round number of `unit`, of which there are about `steps`.
    pub(super) fn linear(most: f64, unit: f64, steps: usize) -> Self {
        let most = if most > 0.0 && most.is_finite() {
            most
        } else {
            unit
        };
        let step = round_up(most / unit / steps as f64) * unit;
        let count = (most / step - 1e-9).ceil().max(1.0) as usize;
        Self {
            low: 0.0,
            high: step * count as f64,
            from: 0.0,
            to: 1.0,
            log: false,
            ticks: (0..=count).map(|at| step * at as f64).collect(),
        }
    }

    /// From a round value below `least` to one above `most`, for changes that would not be seen on an axis from 0.
    pub(super) fn span(least: f64, most: f64, unit: f64, steps: usize) -> Self {
        let wide = (most - least).max(most.abs() * 0.02);
        let step = Self::linear(wide, unit, steps)
            .ticks
            .get(1)
            .copied()
            .unwrap_or(unit);
        let first = (least / step - 1e-9).floor();
        let count = (most / step - first - 1e-9).ceil().max(1.0) as usize;
        Self {
            low: first * step,
            high: (first + count as f64) * step,
            from: 0.0,
            to: 1.0,
            log: false,
            ticks: (0..=count).map(|at| (first + at as f64) * step).collect(),
        }
    }

    /// By powers of ten, from a round value below `least` to one above `most`; both are above 0.
    pub(super) fn log(least: f64, most: f64) -> Self {
        let least = if least > 0.0 && least.is_finite() {
            least
        } else {
            1.0
        };
        let most = if most.is_finite() {
            most.max(least)
        } else {
            least
        };
        let low = round_down(least);
        let mut high = round_up(most);
        if high <= low * 1.01 {
            high = round_up(low * 1.5);
        }
        let decades = (high / low).log10();
        let parts: &[f64] = if decades <= 1.2 {
            &[1.0, 2.0, 3.0, 5.0, 7.0]
        } else if decades <= 3.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let all =
            (first..=last).flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)));
        Self {
            low,
            high,
            from: 0.0,
            to: 1.0,
            log: true,
            ticks: all
                .filter(|tick| *tick >= low * 0.999 && *tick <= high * 1.001)
                .collect(),
        }
    }

    /// From 0 on, or by powers of ten where the values are far apart. Gives also which.
    pub(super) fn of_rates(values: impl Iterator<Item = f64>, steps: usize) -> (Self, bool) {
        let (least, most) = values
            .filter(|value| *value > 0.0)
            .fold((f64::INFINITY, 0.0f64), |(least, most), value| {
                (least.min(value), most.max(value))
            });
        if most > 0.0 && most / least > WIDE {
            return (Self::log(least, most), true);
        }
        (Self::linear(most, 1.0, steps), false)
    }

    /// The same axis between two pixels.
    pub(super) fn between(mut self, from: f64, to: f64) -> Self {
        (self.from, self.to) = (from, to);
        self
    }

    /// The pixel of a value; what lies beyond an end is at that end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(f64::MIN_POSITIVE) / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }
}

/// The parts of a decade that are round.
const ROUND: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

fn parts(value: f64) -> (f64, f64) {
    let power = 10f64.powi(value.log10().floor() as i32);
    (value / power, power)
}

fn round_up(value: f64) -> f64 {
    let (part, power) = parts(value);
    let round = ROUND.into_iter().find(|round| part <= round * (1.0 + 1e-9));
    round.unwrap_or(10.0) * power
}

fn round_down(value: f64) -> f64 {
    let (part, power) = parts(value);
    let round = ROUND
        .into_iter()
        .rev()
        .find(|round| part >= round * (1.0 - 1e-9));
    round.unwrap_or(1.0) * power
}

/// The unit of memory in which a size is shown, in bytes.
pub(super) fn unit_of_bytes(bytes: f64) -> f64 {
    let units = [1u64 << 30, 1 << 20, 1 << 10];
    let fits = units.into_iter().map(|unit| unit as f64);
    fits.into_iter().find(|unit| bytes >= *unit).unwrap_or(1.0)
}

/// A tick as it is written: without digits that say nothing.
pub(super) fn tick(unit: Unit, value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let shown = match unit {
        Unit::PerSecond | Unit::PerCpuSecond | Unit::Count => show_number(value, 3),
        _ => show::in_unit(unit, value, 3),
    };
    // `2.00 ms` is `2 ms`.
    let Some((figure, rest)) = shown.split_once('.') else {
        return shown;
    };
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    let (fraction, unit) = rest.split_at(digits);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        format!("{figure}{unit}")
    } else {
        format!("{figure}.{fraction}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn a_linear_axis_ends_at_a_round_value() {
        let scale = Scale::linear(34_000.0, 1.0, 5).between(100.0, 200.0);
        assert_eq!(scale.ticks, [0.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0]);
        assert!(near(scale.at(20_000.0), 150.0));
        assert!(near(scale.at(-5.0), 100.0) && near(scale.at(1e9), 200.0));
        assert_eq!(Scale::linear(0.0, 1.0, 5).ticks.first(), Some(&0.0));
        assert!(Scale::linear(f64::NAN, 1.0, 5).at(1.0).is_finite());
    }

    #[test]
    fn a_part_of_an_axis_is_round_too() {
        let scale = Scale::span(9_310.0, 9_890.0, 1.0, 4);
        assert_eq!(scale.ticks, [9_200.0, 9_400.0, 9_600.0, 9_800.0, 10_000.0]);
        assert!(Scale::span(5.0, 5.0, 1.0, 4).at(5.0).is_finite());
    }

    #[test]
    fn memory_has_round_sizes() {
        let mib = 1024.0 * 1024.0;
        let scale = Scale::linear(94.0 * mib, unit_of_bytes(94.0 * mib), 5);
        let shown: Vec<String> = scale
            .ticks
            .iter()
            .map(|at| tick(Unit::Bytes, *at))
            .collect();
        assert_eq!(
            shown.join(" ").replace('\u{a0}', ""),
            "0 20MiB 40MiB 60MiB 80MiB 100MiB"
        );
    }

    #[test]
    fn a_logarithmic_axis_has_decades_or_their_parts() {
        let scale = Scale::log(0.3e6, 45e6).between(0.0, 1.0);
        assert!(near(scale.at(2e5), 0.0), "{scale:?}");
        let shown: Vec<String> = scale
            .ticks
            .iter()
            .map(|at| tick(Unit::Nanoseconds, *at))
            .collect();
        assert_eq!(
            shown.join(" ").replace('\u{a0}', ""),
            "200µs 500µs 1ms 2ms 5ms 10ms 20ms 50ms"
        );
        let wide = Scale::log(1.0, 1e6);
        assert_eq!(wide.ticks.len(), 7);
        assert!(Scale::log(5.0, 5.0).between(0.0, 1.0).at(5.0).is_finite());
    }

    #[test]
    fn rates_that_are_far_apart_have_a_logarithmic_axis() {
        assert!(!Scale::of_rates([100.0, 2900.0].into_iter(), 5).1);
        assert!(Scale::of_rates([100.0, 3100.0].into_iter(), 5).1);
        assert!(!Scale::of_rates([0.0].into_iter(), 5).1);
        assert!(!Scale::of_rates(std::iter::empty(), 5).1);
    }
}
