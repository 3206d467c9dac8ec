//! A latency histogram as it is stored: counts of nanoseconds at three
//! significant digits, serialised as HdrHistogram V2, deflated, in base64. The
//! whole histogram is kept with each trial, so that quantiles can be read and
//! trials merged later.

use super::recorded::Recorded;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

/// A stored histogram with the figures that are read most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// How many values it holds.
    pub count: u64,
    /// Values above the highest trackable one, counted as that.
    pub clamped: u64,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Lowest value.
    pub min_ns: Option<u64>,
    /// Highest value.
    pub max_ns: Option<u64>,
    /// HdrHistogram V2 with deflate, in base64.
    pub v2_deflate: String,
    /// What was read from it before.
    #[serde(skip)]
    read: Usual,
}

/// The quantiles that every report asks for, again and again; the first two are those of a hint (`stats/hints.rs`).
const USUAL: [f64; 7] = [0.1, 0.75, 0.5, 0.9, 0.95, 0.99, 0.999];

/// These quantiles, read once: reading one is reading the whole histogram. No part of what a histogram is.
#[derive(Clone, Default)]
struct Usual(OnceLock<Option<Box<[u64; USUAL.len()]>>>);

impl PartialEq for Usual {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Usual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Usual")
    }
}

/// A stored histogram that does not read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramError(String);

impl fmt::Display for HistogramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the stored histogram cannot be read: {}", self.0)
    }
}

impl std::error::Error for HistogramError {}

/// A quantile is shown only with at least this many values above it.
const LEAST_ABOVE: f64 = 10.0;

impl Histogram {
    /// An empty histogram that tracks 1 ns to `longest`, with three digits.
    /// Its bounds are fixed: recording never allocates.
    pub fn empty(longest: Duration) -> Hdr<u64> {
        let high = u64::try_from(longest.as_nanos())
            .unwrap_or(u64::MAX / 2)
            .max(2);
        Hdr::new_with_bounds(1, high, 3).unwrap_or_else(|_| {
            unreachable!("1 and at least 2 are valid bounds, and 3 digits are valid")
        })
    }

    /// The same with two digits, for figures of which there are many.
    pub fn coarse(longest: Duration) -> Hdr<u64> {
        let high = u64::try_from(longest.as_nanos())
            .unwrap_or(u64::MAX / 2)
            .max(2);
        Hdr::new_with_bounds(1, high, 2).unwrap_or_else(|_| {
            unreachable!("1 and at least 2 are valid bounds, and 2 digits are valid")
        })
    }

    /// Stores a live histogram.
    pub fn store(live: &Hdr<u64>, clamped: u64) -> Self {
        let mut bytes = Vec::new();
        // Writing to a Vec fails only when out of memory.
        let stored = V2DeflateSerializer::new().serialize(live, &mut bytes);
        debug_assert!(stored.is_ok(), "a histogram serialises");
        let any = !live.is_empty();
        Self {
            count: live.len(),
            clamped,
            mean_ns: any.then(|| live.mean()),
            min_ns: any.then(|| live.min()),
            max_ns: any.then(|| live.max()),
            v2_deflate: STANDARD.encode(bytes),
            read: Usual::default(),
        }
    }

    /// The live histogram again.
    pub fn load(&self) -> Result<Hdr<u64>, HistogramError> {
        let bytes = STANDARD
            .decode(&self.v2_deflate)
            .map_err(|error| HistogramError(error.to_string()))?;
        Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| HistogramError(error.to_string()))
    }

    /// The value below which a share `q` of all values lies, in nanoseconds. None where fewer
    /// than ten values lie above it: p99 needs 1000 values, p99.9 needs 10 000.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        if !enough_above(q, self.count) {
            return None;
        }
        match USUAL
            .iter()
            .position(|usual| (usual - q).abs() < f64::EPSILON)
        {
            Some(at) => {
                let read = || {
                    self.recorded()
                        .map(|all| Box::new(USUAL.map(|q| all.at(q))))
                };
                self.read.0.get_or_init(read).as_ref().map(|all| all[at])
            }
            None => Some(self.recorded()?.at(q)),
        }
    }

    /// Several quantiles at once, as [`Histogram::quantile`] gives each: the stored form is read only once.
    pub fn quantiles(&self, shares: &[f64]) -> Vec<Option<u64>> {
        let recorded = self.recorded();
        let one = |share: &f64| {
            let recorded = recorded.as_ref();
            let enough = recorded.filter(|_| enough_above(*share, self.count));
            enough.map(|recorded| recorded.at(*share))
        };
        shares.iter().map(one).collect()
    }

    fn recorded(&self) -> Option<Recorded> {
        Recorded::read(&self.v2_deflate)
    }

    /// Both together. One that does not read back takes the other with it.
    pub fn join(&self, other: &Self) -> Result<Self, HistogramError> {
        let mut live = self.load()?;
        live.add(other.load()?)
            .map_err(|error| HistogramError(error.to_string()))?;
        Ok(Self::store(&live, self.clamped + other.clamped))
    }
}

/// Whether enough of `count` values lie above the quantile `q` for it to be shown.
pub(super) fn enough_above(q: f64, count: u64) -> bool {
    // A little tolerance, since (1 - 0.99) × 1000 is 9.99… in binary.
    (1.0 - q) * (count as f64) >= LEAST_ABOVE - 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_read_after_merging() {
        let mut a = Histogram::empty(Duration::from_mins(1));
        let mut b = Histogram::empty(Duration::from_mins(1));
        a.record_n(1_000_000, 1000).unwrap();
        b.record_n(100_000_000, 10).unwrap();
        a.add(&b).unwrap();
        let stored = Histogram::store(&a, 0);
        assert_eq!(stored.count, 1010);
        let near = |ns: u64, ms: f64| (ns as f64 / 1e6 / ms - 1.0).abs() < 0.001;
        assert!(near(stored.quantile(0.99).unwrap(), 1.0));
        // What was read before is the same again, and the same as what is read anew.
        let live = stored.load().unwrap();
        for q in [0.5, 0.9, 0.95, 0.99] {
            assert_eq!(stored.quantile(q), Some(live.value_at_quantile(q)));
        }
        assert_eq!(stored.quantile(0.25), Some(live.value_at_quantile(0.25)));
        assert!(near(stored.load().unwrap().value_at_quantile(0.995), 100.0));
    }

    #[test]
    fn a_quantile_needs_ten_values_above_it() {
        let mut live = Histogram::empty(Duration::from_secs(1));
        live.record_n(5, 999).unwrap();
        assert_eq!(Histogram::store(&live, 0).quantile(0.99), None);
        live.record_n(5, 1).unwrap();
        let stored = Histogram::store(&live, 0);
        assert_eq!(stored.quantile(0.99), Some(5));
        assert_eq!(stored.quantile(0.999), None);
        assert_eq!(stored.quantiles(&[0.99, 0.999]), [Some(5), None]);
    }

    #[test]
    fn a_broken_histogram_is_an_error() {
        let mut stored = Histogram::store(&Histogram::empty(Duration::from_secs(1)), 0);
        assert_eq!(stored.mean_ns, None);
        stored.v2_deflate = "AAAA".to_owned();
        assert!(stored.load().is_err());
        stored.count = 1000;
        assert_eq!(stored.quantile(0.5), None);
    }
}
