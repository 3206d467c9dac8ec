//! Latency as an external generator tells it: a few figures instead of a histogram, and what they are.

use super::histogram::enough_above;
use serde::{Deserialize, Serialize};

/// What an external generator told of the times of its requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// What was timed.
    pub timing: Timing,
    /// How many times it is made of.
    pub count: u64,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Whether the mean is connections × time ÷ requests, so that nothing was timed for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mean_derived: bool,
    /// Lowest value.
    pub min_ns: Option<u64>,
    /// Highest value.
    pub max_ns: Option<u64>,
    /// Quantiles, by their shares.
    pub quantiles: Vec<Quantile>,
    /// The mean time to connect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_mean_ns: Option<f64>,
}

/// The value below which a share of all values lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    /// The share, between 0 and 1.
    pub share: f64,
    /// The value.
    pub ns: u64,
}

/// What a generator timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// From the first byte of the request to the last of its response, as the built-in generator does.
    Service,
    /// From the beginning of the connection, where the request has a new one.
    WithConnect,
    /// Service time, and for every time longer than expected further ones that were never measured
    /// ("corrected" for coordinated omission).
    Corrected,
    /// Service time in whole milliseconds.
    WholeMilliseconds,
}

impl Timing {
    /// The word in columns and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::WithConnect => "with_connect",
            Self::Corrected => "corrected",
            Self::WholeMilliseconds => "whole_milliseconds",
        }
    }
}

impl Told {
    /// A quantile, where it was told and at least ten values lie above it.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let told = self
            .quantiles
            .iter()
            .find(|one| (one.share - share).abs() < 1e-9)?;
        enough_above(share, self.count).then_some(told.ns)
    }

    /// What is still known when two measured phases are taken together: a quantile of both cannot
    /// be had from those of each.
    #[must_use]
    pub fn join(self, next: &Self) -> Self {
        let count = self.count + next.count;
        let mean = |a: Option<f64>, b: Option<f64>| {
            Some((a? * self.count as f64 + b? * next.count as f64) / (count.max(1) as f64))
        };
        Self {
            timing: self.timing.max(next.timing),
            count,
            mean_ns: mean(self.mean_ns, next.mean_ns),
            mean_derived: self.mean_derived || next.mean_derived,
            min_ns: self.min_ns.zip(next.min_ns).map(|(a, b)| a.min(b)),
            max_ns: self.max_ns.zip(next.max_ns).map(|(a, b)| a.max(b)),
            quantiles: Vec::new(),
            connect_mean_ns: mean(self.connect_mean_ns, next.connect_mean_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(count: u64, mean: f64, max: u64) -> Told {
        Told {
            timing: Timing::Service,
            count,
            mean_ns: Some(mean),
            mean_derived: false,
            min_ns: Some(1),
            max_ns: Some(max),
            quantiles: vec![Quantile {
                share: 0.99,
                ns: max,
            }],
            connect_mean_ns: None,
        }
    }

    #[test]
    fn a_quantile_needs_ten_values_above_it() {
        assert_eq!(told(1000, 5.0, 9).quantile(0.99), Some(9));
        assert_eq!(told(999, 5.0, 9).quantile(0.99), None);
        assert_eq!(told(1000, 5.0, 9).quantile(0.95), None, "it was not told");
    }

    #[test]
    fn what_was_stored_reads_back() {
        let stored = r#"{"timing":"with_connect","count":2000,"mean_ns":825000.0,"mean_derived":true,"min_ns":null,
            "max_ns":4860000,"quantiles":[{"share":0.5,"ns":829000}],"connect_mean_ns":1000000.0}"#;
        let told: Told = serde_json::from_str(stored).unwrap();
        assert_eq!(
            (told.timing, told.quantile(0.5)),
            (Timing::WithConnect, Some(829_000))
        );
        let names = [
            Timing::Service,
            Timing::WithConnect,
            Timing::Corrected,
            Timing::WholeMilliseconds,
        ];
        for timing in names {
            // The word in columns is the one in records.
            let word = serde_json::to_value(timing).unwrap();
            assert_eq!(word, timing.name());
        }
    }

    #[test]
    fn two_phases_have_a_mean_and_no_quantiles() {
        let both = told(100, 10.0, 7).join(&told(300, 20.0, 9));
        assert_eq!(both.mean_ns, Some(17.5));
        assert_eq!(both.max_ns, Some(9));
        assert_eq!(both.quantile(0.5), None);
    }
}
