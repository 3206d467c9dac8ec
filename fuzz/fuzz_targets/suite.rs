//! Any bytes that are UTF-8, checked and planned as a suite.

#![no_main]

#[path = "../../tests/fuzz_suite/holds.rs"]
mod holds;

use std::sync::LazyLock;

/// Beginnings of what is known to be broken, parted by `;`: one fault that every
/// other text shows would hide the rest.
static KNOWN: LazyLock<Vec<String>> = LazyLock::new(|| {
    let known = std::env::var("HOTLAP_FUZZ_KNOWN").unwrap_or_default();
    let beginnings = known.split(';').map(str::to_owned);
    beginnings.filter(|one| !one.is_empty()).collect()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut broken = holds::broken(text);
    broken.retain(|one| !KNOWN.iter().any(|known| one.starts_with(known.as_str())));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
});
