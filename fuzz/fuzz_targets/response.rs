//! Any bytes, read as the response to a GET and to a HEAD, whole and in pieces, by our decoder and by hyper's client.

#![no_main]

#[path = "../../tests/fuzz_response/holds.rs"]
#[allow(
    dead_code,
    reason = "the table of differences has columns for the ordinary test"
)]
mod holds;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let broken = holds::broken(bytes);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
});
