//! Responses that nobody should send, many of them: whatever comes, the decoder gives the same however it was split,
//! and the same as hyper's client. The bytes come from fixed seeds; `HOTLAP_FUZZ_SEED` and `HOTLAP_FUZZ_CASES` ask for others
//! and for more. What was found once lies in `fuzz_response/found`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where something is not as it must be"
)]

#[path = "fuzz_response/grammar.rs"]
mod grammar;
#[path = "fuzz_response/holds.rs"]
mod holds;
#[path = "fuzz_response/mutate.rs"]
mod mutate;

use fastrand::Rng;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::fs;
use std::path::Path;
use std::str::FromStr;

/// As many as take some seconds on a small machine.
const CASES: u32 = 60_000;
const SEED: u64 = 0x686f_746c_6170;
/// So many different failures are enough for one run.
const MOST_FAILURES: usize = 5;

fn number<T: FromStr>(variable: &str, otherwise: T) -> T {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={text} is no number")),
        Err(_) => otherwise,
    }
}

/// The files of a folder beside this test, with their names.
fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz_response")
        .join(folder);
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let read = |path: &Path| (path.display().to_string(), fs::read(path).unwrap());
    paths.iter().map(|path| read(path)).collect()
}

fn all_files() -> Vec<(String, Vec<u8>)> {
    [files("seeds"), files("found")].concat()
}

#[test]
fn what_was_written_and_what_was_found_holds() {
    let all = all_files();
    assert!(all.len() > 20);
    for (name, bytes) in all {
        let broken = holds::broken(&bytes);
        assert!(broken.is_empty(), "{name}: {}", broken.join("\n"));
    }
}

#[test]
fn responses_that_servers_might_write_are_read_as_hyper_reads_them() {
    let mut runner = TestRunner::new(Config {
        cases: number("HOTLAP_FUZZ_CASES", CASES) / 4,
        rng_seed: RngSeed::Fixed(number("HOTLAP_FUZZ_SEED", SEED)),
        failure_persistence: None,
        ..Config::default()
    });
    let holds = |bytes: Vec<u8>| {
        let broken = holds::broken(&bytes);
        proptest::prop_assert!(
            broken.is_empty(),
            "{:?}: {}",
            bytes.escape_ascii().to_string(),
            broken.join("\n")
        );
        Ok(())
    };
    if let Err(error) = runner.run(&grammar::response(), holds) {
        panic!("{error}");
    }
}

#[test]
fn changed_responses_are_read_as_hyper_reads_them() {
    let seeds: Vec<Vec<u8>> = all_files().into_iter().map(|(_, bytes)| bytes).collect();
    let mut rng = Rng::with_seed(number("HOTLAP_FUZZ_SEED", SEED));
    let mut failures = Vec::new();
    for _ in 0..number("HOTLAP_FUZZ_CASES", CASES) {
        let bytes = mutate::mutated(&seeds, &mut rng);
        let broken = holds::broken(&bytes);
        if !broken.is_empty() {
            failures.push(format!("{}: {}", bytes.escape_ascii(), broken.join("\n")));
        }
        if failures.len() == MOST_FAILURES {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn each_difference_is_there() {
    for difference in holds::DIFFERENCES {
        let bytes = difference.example;
        let shown = holds::outcomes(bytes);
        assert!(holds::broken(bytes).is_empty(), "{}", difference.name);
        assert!(
            (difference.is_it)(&shown.0, &shown.1),
            "{}: {shown:?}",
            difference.name
        );
        assert!(
            holds::differ(&shown.0, &shown.1),
            "{}: {shown:?}",
            difference.name
        );
    }
}
