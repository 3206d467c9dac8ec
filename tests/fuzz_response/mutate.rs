//! Bytes that were a response, changed: what lies in the folders of this test is taken apart and put together again.

use fastrand::Rng;

/// What framing is made of.
const WORDS: &[&[u8]] = &[
    b"HTTP/1.1 ",
    b"HTTP/1.0 ",
    b"100",
    b"200",
    b"204",
    b"304",
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\r",
    b": ",
    b":",
    b", ",
    b";",
    b" ",
    b"\t",
    b"\0",
    b"\x7f",
    b"\xff",
    b"Content-Length: ",
    b"Transfer-Encoding: ",
    b"chunked",
    b"gzip",
    b"identity",
    b"Connection: ",
    b"close",
    b"keep-alive",
    b"0\r\n\r\n",
    b"0",
    b"1",
    b"5",
    b"A",
    b"-",
    b"18446744073709551615",
    b"FFFFFFFFFFFFFFFF",
];

/// One of `seeds`, changed in one to six places.
pub(crate) fn mutated(seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = seeds[rng.usize(..seeds.len())].clone();
    for _ in 0..rng.usize(1..=6) {
        change(&mut bytes, seeds, rng);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.usize(..=bytes.len());
    let end = (at + rng.usize(0..=16)).min(bytes.len());
    match rng.u8(..8) {
        0 if at < bytes.len() => bytes[at] ^= 1 << rng.u8(..8),
        1 if at < bytes.len() => bytes[at] = rng.u8(..),
        2 => drop(bytes.drain(at..end)),
        3 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(end..end, again);
        }
        4 if rng.u8(..4) == 0 => bytes.truncate(at),
        5 => {
            let other = &seeds[rng.usize(..seeds.len())];
            let from = rng.usize(..=other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        6 => {
            let word = WORDS[rng.usize(..WORDS.len())];
            bytes.splice(at..end, word.iter().copied());
        }
        _ => {
            let word = WORDS[rng.usize(..WORDS.len())];
            bytes.splice(at..at, word.iter().copied());
        }
    }
}
