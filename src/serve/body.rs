//! The body of the demo server: valid JSON of exactly the size that was asked
//! for, the same on every machine, and about as compressible as what real
//! services send.

use std::fmt::Write as _;

/// JSON of exactly `size` bytes: an array of records, filled up with spaces.
/// Nothing at all for 0, since no JSON is that short.
pub(super) fn json(size: u64) -> Vec<u8> {
    let size = size as usize;
    match size {
        0 => return Vec::new(),
        1 => return b"0".to_vec(),
        _ => {}
    }
    let mut text = String::with_capacity(size);
    text.push('[');
    let mut item = String::new();
    for id in 1_u32.. {
        item.clear();
        record(&mut item, id);
        let comma = usize::from(id > 1);
        if text.len() + comma + item.len() + 1 > size {
            break;
        }
        if id > 1 {
            text.push(',');
        }
        text.push_str(&item);
    }
    text.push(']');
    let mut bytes = text.into_bytes();
    bytes.resize(size, b' ');
    bytes
}

/// One record: names that repeat, numbers that do not.
fn record(into: &mut String, id: u32) {
    const CITIES: [&str; 5] = ["Lisbon", "Osaka", "Tromsø", "Quito", "Nairobi"];
    // Knuth's multiplicative hash, so that numbers differ without a seed.
    let number = id.wrapping_mul(2_654_435_761);
    let city = CITIES[(number >> 8) as usize % CITIES.len()];
    let written = write!(
        into,
        r#"{{"id":{id},"name":"Customer {id}","city":"{city}","balance":{}.{:02},"active":{},"key":"{number:08x}"}}"#,
        number % 100_000,
        number % 97,
        number.is_multiple_of(3),
    );
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_exact_and_valid_json() {
        for size in (1..600).chain([20_480, 1_000_003]) {
            let bytes = json(size);
            assert_eq!(bytes.len() as u64, size);
            serde_json::from_slice::<serde_json::Value>(&bytes)
                .unwrap_or_else(|error| panic!("{size}: {error}"));
        }
        assert!(json(0).is_empty());
    }

    #[test]
    fn it_is_the_same_each_time() {
        assert_eq!(json(5000), json(5000));
    }
}
