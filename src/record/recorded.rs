//! The values of a stored histogram one after the other, without the histogram: one of a minute at three digits has 27 000
//! counters, of which a few hundred are not zero, and a report reads tens of thousands of histograms.
//!
//! The form is HdrHistogram's V2: a head, then a number for each counter in zigzag LEB128 with at most nine bytes; a negative
//! one is a run of so many zeros.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::bufread::ZlibDecoder;
use std::io::Read as _;

/// The first four bytes of what is deflated.
const DEFLATED: u32 = 0x1c84_9314;
/// The first four bytes of what is not.
const PLAIN: u32 = 0x1c84_9313;
/// Bytes of the head: cookie, length, offset, digits, lowest, highest, ratio.
const HEAD: usize = 40;

/// What a histogram recorded: the highest value of each counter that is not zero, with its count, in rising order.
pub(super) struct Recorded {
    values: Vec<(u64, u64)>,
    count: u64,
    /// The lowest value of the first of these counters.
    lowest: u64,
}

impl Recorded {
    /// Reads the stored form, deflated and in base64. None where it is not one.
    pub(super) fn read(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text).ok()?;
        let (cookie, rest) = number(&bytes)?;
        let (length, deflated) = number(rest)?;
        let deflated = deflated.get(..length as usize)?;
        let mut plain = Vec::with_capacity(2048);
        ZlibDecoder::new(deflated).read_to_end(&mut plain).ok()?;
        (cookie == DEFLATED).then(|| of_plain(&plain))?
    }

    /// The highest value of the counter in which a share of all values is reached, from the lowest on; of no share the lowest of the
    /// first; 0 where there are none.
    pub(super) fn at(&self, share: f64) -> u64 {
        if share <= 0.0 {
            return self.lowest;
        }
        let wanted = ((share.min(1.0) * self.count as f64).ceil() as u64).max(1);
        let mut passed = 0;
        let found = self.values.iter().find(|(_, count)| {
            passed += count;
            passed >= wanted
        });
        found.map_or(0, |(value, _)| *value)
    }
}

fn of_plain(plain: &[u8]) -> Option<Recorded> {
    let (cookie, rest) = number(plain)?;
    let (length, rest) = number(rest)?;
    let (offset, rest) = number(rest)?;
    let (digits, rest) = number(rest)?;
    let (lowest, rest) = rest.split_first_chunk()?;
    let (highest, rest) = rest.split_first_chunk()?;
    let (ratio, _) = rest.split_first_chunk()?;
    let whole =
        cookie == PLAIN && offset == 0 && f64::from_be_bytes(*ratio).to_bits() == 1f64.to_bits();
    let counters = Counters::of(
        u64::from_be_bytes(*lowest),
        u64::from_be_bytes(*highest),
        digits,
    )?;
    let mut payload = plain.get(HEAD..HEAD + length as usize).filter(|_| whole)?;
    let mut recorded = Recorded {
        values: Vec::with_capacity(payload.len()),
        count: 0,
        lowest: 0,
    };
    let mut at: u64 = 0;
    while !payload.is_empty() {
        let count = signed(&mut payload)?;
        if let Ok(count @ 1..) = u64::try_from(count) {
            let (lowest, highest) = counters.values(at)?;
            if recorded.values.is_empty() {
                recorded.lowest = lowest;
            }
            recorded.values.push((highest, count));
            recorded.count = recorded.count.checked_add(count)?;
        }
        at = at.checked_add(if count < 0 { count.unsigned_abs() } else { 1 })?;
    }
    Some(recorded)
}

/// A number of four bytes, and what follows it.
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

/// The next number of the payload.
fn signed(payload: &mut &[u8]) -> Option<i64> {
    let mut value: u64 = 0;
    for place in 0..9 {
        let (byte, rest) = payload.split_first()?;
        *payload = rest;
        // The ninth byte has all its bits for the number.
        let bits = if place == 8 { *byte } else { byte & 0x7f };
        value |= u64::from(bits) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

/// Which values share a counter. Counters lie in buckets: those of the first are one unit wide, those of each next one twice as
/// wide as before, and of all but the first only the upper half is needed.
struct Counters {
    /// The power of two that is a unit.
    unit: u32,
    /// The power of two that is half the counters of a bucket.
    half: u32,
    /// How many there are.
    length: u64,
}

impl Counters {
    fn of(lowest: u64, highest: u64, digits: u32) -> Option<Self> {
        let unit = lowest.checked_ilog2()?;
        // So many that two neighbours differ by less than the last digit.
        let needed = 2 * 10u64.pow(digits.clamp(1, 5));
        let magnitude = needed.next_power_of_two().ilog2();
        let half = magnitude - 1;
        if digits > 5 || unit + magnitude > 63 {
            return None;
        }
        // The highest value of a bucket is twice that of the bucket before.
        let above_first = highest.checked_ilog2()?.saturating_sub(unit + half);
        Some(Self {
            unit,
            half,
            length: u64::from(above_first + 2) << half,
        })
    }

    /// The lowest and the highest value of the counter at this place.
    fn values(&self, at: u64) -> Option<(u64, u64)> {
        if at >= self.length {
            return None;
        }
        let bucket = u32::try_from(at >> self.half).ok()?.saturating_sub(1);
        let within = if at >> self.half == 0 {
            at
        } else {
            (at & ((1 << self.half) - 1)) | (1 << self.half)
        };
        let width = bucket + self.unit;
        let lowest = within << width;
        Some((lowest, lowest + ((1 << width) - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Histogram;
    use super::*;
    use hdrhistogram::Histogram as Hdr;
    use proptest::prelude::*;

    fn same(live: &Hdr<u64>) -> Result<(), TestCaseError> {
        let read = Recorded::read(&Histogram::store(live, 0).v2_deflate);
        let read = read.ok_or_else(|| TestCaseError::fail("it does not read"))?;
        prop_assert_eq!(read.count, live.len());
        for share in [
            0.0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0,
        ] {
            prop_assert_eq!(read.at(share), live.value_at_quantile(share), "{}", share);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn values_are_those_of_the_histogram(
            low in prop_oneof![Just(1u64), 1..5000u64],
            span in 2..1_000_000_000_000u64,
            digits in 1..=5u8,
            values in prop::collection::vec((0.0..1.0f64, 1..100_000u64), 0..200),
        ) {
            let high = low * 2 + span;
            let mut live = Hdr::new_with_bounds(low, high, digits).unwrap();
            for (share, times) in values {
                // More of them at the short end, as times are.
                let value = low + ((high - low) as f64 * share.powi(6)) as u64;
                live.record_n(value.min(high), times).unwrap();
            }
            same(&live)?;
        }

        #[test]
        fn any_bytes_behind_a_good_head_are_read_as_by_the_histogram(
            payload in prop::collection::vec(any::<u8>(), 0..60),
            digits in 1..=5u32,
        ) {
            let mut plain = PLAIN.to_be_bytes().to_vec();
            plain.extend((payload.len() as u32).to_be_bytes());
            plain.extend(0u32.to_be_bytes());
            plain.extend(digits.to_be_bytes());
            plain.extend(1u64.to_be_bytes());
            plain.extend(60_000_000_000u64.to_be_bytes());
            plain.extend(1f64.to_be_bytes());
            plain.extend(&payload);
            let read = of_plain(&plain);
            // One that would overflow its sums is a panic there.
            prop_assume!(read.is_some());
            let theirs = hdrhistogram::serialization::Deserializer::new().deserialize::<u64, _>(&mut plain.as_slice());
            let theirs = theirs.map_err(|error| TestCaseError::fail(error.to_string()))?;
            let read = read.unwrap();
            prop_assert_eq!(read.count, theirs.len());
            prop_assert_eq!(read.at(0.5), theirs.value_at_quantile(0.5));
        }

        #[test]
        fn bytes_that_are_none_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Recorded::read(&STANDARD.encode(&bytes)).is_none());
            prop_assert!(of_plain(&bytes).is_none());
        }
    }

    #[test]
    fn the_ends_are_read() {
        let mut live = Hdr::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        same(&live).unwrap();
        live.record(1).unwrap();
        live.record(60_000_000_000).unwrap();
        live.record_n(2047, u64::from(u32::MAX) * 5).unwrap();
        same(&live).unwrap();
    }

    #[test]
    fn a_part_of_one_is_refused() {
        let mut live = Hdr::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        live.record_n(7_000, 900).unwrap();
        let stored = Histogram::store(&live, 0).v2_deflate;
        let bytes = STANDARD.decode(&stored).unwrap();
        for end in 0..bytes.len() {
            assert!(
                Recorded::read(&STANDARD.encode(&bytes[..end])).is_none(),
                "{end}"
            );
        }
    }
}
