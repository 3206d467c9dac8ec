//! Several measured phases in the same server process: each with its rate, and all of them together.

use super::{Histogram, Load, Share};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One of several measured phases in the same server process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// How long it lasted, which its rate divides by.
    pub window_ns: u64,
    /// Complete responses that passed every check.
    pub succeeded: u64,
}

impl Load {
    /// Whether the built-in generator made it.
    pub fn is_built_in(&self) -> bool {
        self.generator == "built-in"
    }

    /// Successes a second; of several rounds the mean of their rates, as whoever runs a generator in
    /// batches averages them.
    pub fn requests_per_second(&self) -> Option<f64> {
        let whole = Round {
            window_ns: self.window_ns,
            succeeded: self.counts.succeeded,
        };
        let rounds = if self.rounds.is_empty() {
            std::slice::from_ref(&whole)
        } else {
            &self.rounds
        };
        let rates: Option<Vec<f64>> = rounds.iter().map(Round::rate).collect();
        let rates = rates?;
        Some(rates.iter().sum::<f64>() / rates.len() as f64)
    }

    /// This phase and the next one in the same server process, together.
    #[must_use]
    pub fn join(self, next: Self) -> Self {
        let rounds = |load: &Self| {
            if !load.rounds.is_empty() {
                return load.rounds.clone();
            }
            vec![Round {
                window_ns: load.window_ns,
                succeeded: load.counts.succeeded,
            }]
        };
        let mut all_rounds = rounds(&self);
        all_rounds.extend(rounds(&next));
        Self {
            generator: self.generator,
            window_ns: self.window_ns + next.window_ns,
            counts: self.counts + next.counts,
            errors: added(self.errors, next.errors),
            error_examples: next
                .error_examples
                .into_iter()
                .chain(self.error_examples)
                .collect(),
            statuses: added(self.statuses, next.statuses),
            first_error_ns: self
                .first_error_ns
                .or_else(|| Some(self.window_ns + next.first_error_ns?)),
            bytes: self.bytes + next.bytes,
            connections: self.connections + next.connections,
            http2: self.http2.zip(next.http2).map(|(a, b)| a.join(b)),
            service: joined(self.service, next.service),
            told: self.told.zip(next.told).map(|(a, b)| Box::new(a.join(&b))),
            service_failed: joined(self.service_failed, next.service_failed),
            connect: joined(self.connect, next.connect),
            connecting_ns: self
                .connecting_ns
                .zip(next.connecting_ns)
                .map(|(a, b)| a + b),
            per_second: self.per_second.into_iter().chain(next.per_second).collect(),
            generator_cpu_ns: self
                .generator_cpu_ns
                .zip(next.generator_cpu_ns)
                .map(|(a, b)| a + b),
            generator_threads: self.generator_threads.max(next.generator_threads),
            unfinished_ages_ns: self
                .unfinished_ages_ns
                .into_iter()
                .chain(next.unfinished_ages_ns)
                .collect(),
            warmup_requests: self.warmup_requests + next.warmup_requests,
            search: next.search.or(self.search),
            open: self.open.zip(next.open).map(|(a, b)| Box::new(a.join(*b))),
            rounds: all_rounds,
            shares: join_shares(self.shares, next.shares),
        }
    }
}

impl Round {
    /// Successes a second; none where no time went by.
    pub fn rate(&self) -> Option<f64> {
        (self.window_ns > 0).then(|| self.succeeded as f64 / (self.window_ns as f64 / 1e9))
    }
}

fn added<K: Ord>(mut to: BTreeMap<K, u64>, more: BTreeMap<K, u64>) -> BTreeMap<K, u64> {
    for (key, times) in more {
        *to.entry(key).or_default() += times;
    }
    to
}

/// The requests of a mix, which are the same in every phase.
fn join_shares(a: Vec<Share>, b: Vec<Share>) -> Vec<Share> {
    let pairs = a.into_iter().zip(b);
    pairs.map(|(one, next)| one.join(next)).collect()
}

/// Two histograms as one; what stands alone stays, what does not read back is none.
pub(super) fn joined(a: Option<Histogram>, b: Option<Histogram>) -> Option<Histogram> {
    match (a, b) {
        (Some(a), Some(b)) => a.join(&b).ok(),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Counts, ErrorKind};

    fn phase(succeeded: u64, seconds: u64, failed: u64) -> Load {
        Load {
            window_ns: seconds * 1_000_000_000,
            counts: Counts {
                planned: succeeded + failed,
                sent: succeeded + failed,
                succeeded,
                failed,
                ..Counts::default()
            },
            errors: [(ErrorKind::Reset, failed)].into(),
            first_error_ns: (failed > 0).then_some(5),
            ..Load::default()
        }
    }

    #[test]
    fn the_rate_of_rounds_is_the_mean_of_their_rates() {
        // 100/s and 300/s: not the 120/s of all requests over all time.
        let both = phase(900, 9, 0).join(phase(300, 1, 2));
        assert_eq!(both.requests_per_second(), Some(200.0));
        assert_eq!(phase(900, 9, 0).requests_per_second(), Some(100.0));
        let three = both.clone().join(phase(200, 1, 0));
        assert_eq!(three.rounds.len(), 3);
        assert_eq!(three.requests_per_second(), Some(200.0));
        assert_eq!(phase(1, 0, 0).requests_per_second(), None);
    }

    #[test]
    fn counts_of_rounds_add_up() {
        let both = phase(900, 9, 0).join(phase(300, 1, 2));
        assert_eq!(both.counts.check(), Ok(()));
        assert_eq!((both.counts.succeeded, both.counts.failed), (1200, 2));
        assert_eq!(both.errors[&ErrorKind::Reset], 2);
        assert_eq!(both.first_error_ns, Some(9_000_000_005));
    }
}
