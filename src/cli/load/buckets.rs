//! A latency histogram in a few buckets whose bounds grow by the same factor, for people and for JSON.

use hdrhistogram::Histogram as Hdr;
use serde::Serialize;

/// How many buckets there are, where the values are far enough apart for so many.
const BUCKETS: usize = 10;
/// Bounds that are nearer to each other than this factor are too alike to be told apart.
const LEAST_FACTOR: f64 = 1.05;

/// Values above the bucket before, up to and with `up_to_ns`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Bucket {
    /// The highest value that it holds, in nanoseconds.
    pub(super) up_to_ns: u64,
    /// How many values it holds.
    pub(super) count: u64,
}

/// All values of a histogram in buckets from its lowest to its highest, with bounds in geometric progression.
/// Empty where there are no values.
pub(super) fn buckets(live: &Hdr<u64>) -> Vec<Bucket> {
    if live.is_empty() {
        return Vec::new();
    }
    let mut all: Vec<Bucket> = bounds(live.min().max(1), live.max())
        .into_iter()
        .map(|up_to_ns| Bucket { up_to_ns, count: 0 })
        .collect();
    let last = all.len() - 1;
    for step in live.iter_recorded() {
        // A value stands for those that are alike to three digits, so the highest may lie above the last bound.
        let at = all.partition_point(|bucket| bucket.up_to_ns < step.value_iterated_to());
        all[at.min(last)].count += step.count_at_value();
    }
    all
}

/// The upper bounds, of which the last is `max`.
fn bounds(min: u64, max: u64) -> Vec<u64> {
    let span = max as f64 / min as f64;
    let fit = (span.ln() / LEAST_FACTOR.ln()).floor().max(1.0);
    let many = BUCKETS.min(fit as usize);
    let factor = span.powf(1.0 / many as f64);
    let mut all: Vec<u64> = (1..many)
        .map(|number| (min as f64 * factor.powi(number as i32)).round() as u64)
        .collect();
    all.push(max);
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Histogram;
    use std::time::Duration;

    fn of(values: impl IntoIterator<Item = u64>) -> Vec<Bucket> {
        let mut live = Histogram::empty(Duration::from_secs(20));
        for value in values {
            live.record(value).unwrap();
        }
        buckets(&live)
    }

    #[test]
    fn every_value_is_in_one_bucket() {
        let all = of((1..=10_000).map(|number| number * 997));
        assert_eq!(all.len(), BUCKETS);
        assert_eq!(all.iter().map(|bucket| bucket.count).sum::<u64>(), 10_000);
        assert!(all.is_sorted_by(|a, b| a.up_to_ns < b.up_to_ns));
        // Bounds grow by 10 000 ^ (1/10), and the values are even: so do counts.
        let factor = all[9].up_to_ns as f64 / all[8].up_to_ns as f64;
        assert!((factor - 2.512).abs() < 0.01, "{factor}");
        assert!((all[9].count as f64 / 6019.0 - 1.0).abs() < 0.01, "{all:?}");
    }

    #[test]
    fn values_that_are_alike_have_few_buckets() {
        assert_eq!(of([]), []);
        assert_eq!(of([500, 500]).len(), 1);
        assert_eq!(of([500, 500])[0].count, 2);
        let near = of([1000, 1100]);
        assert_eq!(near.iter().map(|bucket| bucket.count).sum::<u64>(), 2);
        assert!(near.len() <= 2, "{near:?}");
        assert_eq!(
            of([1, 2, 3]).iter().map(|bucket| bucket.count).sum::<u64>(),
            3
        );
    }
}
