//! The arithmetic of single figures: the median, and how many digits of it mean something.

use super::exact::around_median;
use crate::units::significant;

/// Digits that are shown where nothing is known of the spread.
const USUAL: usize = 3;
/// With fewer values their range says too little to earn a fourth digit.
const ENOUGH_FOR_FOUR: usize = 6;

/// The median; of an even number of values the mean of the two in the middle.
/// None where there is no value.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// How many significant digits a figure carries whose repetitions gave these values: one digit
/// beyond the place where the ends of its interval begin to differ, two at the least and four at the most. The interval is
/// that of the median by order statistics; with fewer than six values it is their range, which earns three digits at the
/// most. A single value, or equal ends, get three.
pub fn digits(values: &[f64]) -> usize {
    let (low, high) = around_median(values).map_or_else(
        || {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (low, high)
        },
        |interval| (interval.low, interval.high),
    );
    let Some(middle) = median(values) else {
        return USUAL;
    };
    let spread = (high - low) / middle.abs();
    if values.len() < 2 || !spread.is_finite() || spread <= 0.0 {
        return USUAL;
    }
    let most = if values.len() < ENOUGH_FOR_FOUR {
        USUAL
    } else {
        USUAL + 1
    };
    let wanted = (-spread.log10()).ceil().max(0.0) as usize + 1;
    wanted.clamp(2, most)
}

/// A share of one as a percentage for people: `0.62 %`, `100 %`, and never `100 %` of what is
/// less than all, or `0 %` of what is more than nothing.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let share = part as f64 / whole as f64 * 100.0;
    if part < whole && share > 99.9 {
        return "more than 99.9 %".to_owned();
    }
    format!("{} %", significant(share, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn digits_follow_the_spread() {
        assert_eq!(digits(&[418_004.94]), 3);
        assert_eq!(digits(&[100.0, 130.0, 160.0]), 2);
        assert_eq!(digits(&[100.0, 102.0, 105.0]), 3);
        assert_eq!(digits(&[100.0, 100.1, 100.2]), 3);
        assert_eq!(digits(&[100.0, 100.1, 100.2, 100.2, 100.1, 100.1]), 4);
        assert_eq!(digits(&[0.0, 0.0]), 3);
        assert_eq!(digits(&[]), 3);
    }

    #[test]
    fn one_of_ten_that_is_far_off_costs_no_digits() {
        let mut values = [
            1000.0, 1001.0, 1002.0, 1003.0, 1004.0, 1001.5, 1002.5, 1003.5, 1000.5, 1002.2,
        ];
        assert_eq!(digits(&values), 4);
        values[3] = 400.0;
        assert_eq!(digits(&values), 4);
        // Of six the interval is the whole range.
        assert_eq!(digits(&values[..6]), 2);
    }

    #[test]
    fn a_percentage_does_not_round_to_all() {
        assert_eq!(percent(99_999, 100_000), "more than 99.9 %");
        assert_eq!(percent(7, 7), "100 %");
        assert_eq!(percent(1, 3), "33.3 %");
    }
}
