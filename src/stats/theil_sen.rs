//! The slope of points by Theil and Sen: the median of the slopes between all pairs. A few points that are far off do
//! not move it.
//!
//! Sources: Sen, *Estimates of the regression coefficient based on Kendall's tau*, Journal of the American Statistical
//! Association 63 (1968), with the variance for ties; the effective number of correlated values after Bayley and Hammersley,
//! Supplement to the Journal of the Royal Statistical Society 8 (1946), as Yue and Wang, Water Resources Management 18 (2004), use
//! it with Kendall's tau; the bias of a first autocorrelation after Kendall, Biometrika 41 (1954).

use super::exact::Interval;

/// The quantile of the normal distribution that leaves 2.5 % above.
const NORMAL: f64 = 1.959_963_984_540_054;
/// The first autocorrelation is taken as this at the most, or nothing would be known of any slope.
const MOST_CORRELATED: f64 = 0.95;

/// The slope of points, each an x and a y, with its interval of 95 % by the normal approximation of Kendall's tau. Its
/// variance is multiplied by `inflation`: 1 for points that are independent of each other, [`inflation`] for neighbours in
/// time that are alike. None with fewer than two different x.
pub(super) fn slope(points: &[(f64, f64)], inflation: f64) -> Option<Interval> {
    let mut slopes = slopes(points);
    if slopes.is_empty() {
        return None;
    }
    let n = slopes.len();
    let variance = variance(points) * inflation;
    let half_width = NORMAL * variance.sqrt();
    let rank = |rank: f64| rank.round_ties_even().clamp(0.0, (n - 1) as f64) as usize;
    let low = rank((n as f64 - half_width) / 2.0).saturating_sub(1);
    let high = rank(f64::midpoint(n as f64, half_width));
    Some(Interval {
        estimate: middle(&mut slopes),
        low: nth(&mut slopes, low),
        high: nth(&mut slopes, high),
    })
}

/// The slope alone.
pub(super) fn slope_alone(points: &[(f64, f64)]) -> Option<f64> {
    let mut slopes = slopes(points);
    (!slopes.is_empty()).then(|| middle(&mut slopes))
}

/// By how much the variance of a slope grows because neighbouring points are alike: (1 + r) / (1 − r), where r is the
/// first autocorrelation of the ranks of what the `slope` leaves over, corrected for its bias.
pub(super) fn inflation(points: &[(f64, f64)], slope: f64) -> f64 {
    let n = points.len() as f64;
    let left: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    let mut ranks = ranks(&left);
    let mean = f64::midpoint(n, 1.0);
    for rank in &mut ranks {
        *rank -= mean;
    }
    let all: f64 = ranks.iter().map(|rank| rank * rank).sum();
    if all == 0.0 {
        return 1.0;
    }
    let beside: f64 = ranks.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let seen = beside / all;
    let r = (seen + (1.0 + 3.0 * seen) / n).clamp(0.0, MOST_CORRELATED);
    (1.0 + r) / (1.0 - r)
}

/// The slopes between every two points with different x.
fn slopes(points: &[(f64, f64)]) -> Vec<f64> {
    let mut all = Vec::with_capacity(points.len() * points.len() / 2);
    for (at, (x, y)) in points.iter().enumerate() {
        for (other_x, other_y) in &points[at + 1..] {
            let apart = other_x - x;
            if apart != 0.0 {
                all.push((other_y - y) / apart);
            }
        }
    }
    all
}

/// The variance of Kendall's S where nothing is known but how often values are equal.
fn variance(points: &[(f64, f64)]) -> f64 {
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let equal = |values: Vec<f64>| -> f64 { runs(values).into_iter().map(term).sum() };
    let x = equal(points.iter().map(|point| point.0).collect());
    let y = equal(points.iter().map(|point| point.1).collect());
    ((term(points.len() as f64) - x - y) / 18.0).max(0.0)
}

/// How often each value is there.
fn runs(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
        .chunk_by(|a, b| a.total_cmp(b).is_eq())
        .map(|run| run.len() as f64)
        .collect()
}

/// The rank of each value, from 1; equal ones share their mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for run in order.chunk_by(|a, b| values[*a].total_cmp(&values[*b]).is_eq()) {
        let shared = first as f64 + f64::midpoint(run.len() as f64, 1.0);
        for at in run {
            ranks[*at] = shared;
        }
        first += run.len();
    }
    ranks
}

fn middle(values: &mut [f64]) -> f64 {
    let n = values.len();
    let upper = nth(values, n / 2);
    if n % 2 == 1 {
        upper
    } else {
        f64::midpoint(nth(values, n / 2 - 1), upper)
    }
}

/// The value with this rank, from 0. Values may change places.
fn nth(values: &mut [f64], rank: usize) -> f64 {
    *values.select_nth_unstable_by(rank, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Golden {
        slopes: Vec<Wanted>,
    }

    #[derive(Deserialize)]
    struct Wanted {
        x: Vec<f64>,
        y: Vec<f64>,
        slope: f64,
        low: f64,
        high: f64,
    }

    #[test]
    fn slopes_are_those_of_scipy() {
        let text = include_str!("../../tests/golden/statistics/slopes.json");
        let golden: Golden = serde_json::from_str(text).unwrap();
        assert!(golden.slopes.len() >= 8);
        for wanted in golden.slopes {
            let points: Vec<(f64, f64)> = wanted.x.into_iter().zip(wanted.y).collect();
            let got = slope(&points, 1.0).unwrap();
            let pairs = [
                (got.estimate, wanted.slope),
                (got.low, wanted.low),
                (got.high, wanted.high),
            ];
            for (got, wanted) in pairs {
                assert!((got - wanted).abs() < 1e-9, "{got} is not {wanted}");
            }
            assert!((slope_alone(&points).unwrap() - wanted.slope).abs() < 1e-9);
        }
    }

    #[test]
    fn what_lies_at_one_place_has_no_slope() {
        assert_eq!(slope(&[(1.0, 2.0), (1.0, 3.0)], 1.0), None);
        assert_eq!(slope_alone(&[]), None);
    }

    #[test]
    fn neighbours_that_are_alike_widen_the_interval() {
        let wave = |at: f64| (at / 6.0).sin();
        let points: Vec<(f64, f64)> = (0..100)
            .map(f64::from)
            .map(|at| (at, wave(at) + at / 50.0))
            .collect();
        let inflation = inflation(&points, 0.02);
        assert!(inflation > 10.0, "{inflation}");
        let (narrow, wide) = (
            slope(&points, 1.0).unwrap(),
            slope(&points, inflation).unwrap(),
        );
        assert!(wide.low < narrow.low && wide.high > narrow.high);
    }
}
