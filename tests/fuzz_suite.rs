//! Texts that nobody would write, many of them: whatever stands in a suite
//! file, the check ends, says sound things about it, and plans what is left.
//! The texts come from a fixed seed. `HOTLAP_FUZZ_SEED` and `HOTLAP_FUZZ_CASES`
//! ask for others and for more. What was found once lies in `fuzz_suite/found`
//! and is tried first. A text that ends the whole process, as a stack that is too
//! small does, is left in the folder that cargo keeps for this test's files.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot read its files has failed"
)]

#[path = "fuzz_suite/holds.rs"]
mod holds;
#[path = "fuzz_suite/mutate.rs"]
mod mutate;

use fastrand::Rng;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// As many as take some seconds on a small machine.
const CASES: u64 = 1500;
const SEED: u64 = 0x686f_746c_6170;
/// A text that takes longer hangs. No case takes a hundredth of it.
const PATIENCE: Duration = Duration::from_mins(1);
/// So many different failures are enough for one run.
const MOST_FAILURES: usize = 8;
/// Attempts at making a failing text smaller.
const ATTEMPTS: usize = 600;

thread_local! {
    /// Where this thread's last panic was and what it said.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn number<T: FromStr>(variable: &str, otherwise: T) -> T {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={text} is no number")),
        Err(_) => otherwise,
    }
}

/// The suites of a folder, by name.
fn suites(folder: &str) -> Vec<(PathBuf, String)> {
    let Ok(entries) = fs::read_dir(here().join(folder)) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

/// What is wrong with a text.
fn wrong(text: &str) -> Vec<String> {
    panic::catch_unwind(AssertUnwindSafe(|| holds::broken(text)))
        .unwrap_or_else(|_| vec![PANIC.take()])
}

/// Failures with the same beginning have one cause: a panic's begins with its
/// place, the others with what does not hold.
fn kind(wrong: &str) -> String {
    let end = wrong.find(": ").unwrap_or(wrong.len());
    wrong[..end].to_owned()
}

/// A smaller text that fails in the same way: runs of lines are taken out, then
/// runs of characters, each time half as long.
fn smaller(text: &str, kind_of_it: &str) -> String {
    let mut attempts = 0;
    let mut parts: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for by_character in [false, true] {
        if by_character {
            parts = parts.concat().chars().map(String::from).collect();
        }
        let mut run = (parts.len() / 2).max(1);
        loop {
            let mut at = 0;
            while at < parts.len() && attempts < ATTEMPTS {
                attempts += 1;
                let end = (at + run).min(parts.len());
                let rest = [&parts[..at], &parts[end..]].concat();
                if wrong(&rest.concat())
                    .iter()
                    .any(|one| kind(one) == kind_of_it)
                {
                    parts = rest;
                } else {
                    at = end;
                }
            }
            if run == 1 || attempts >= ATTEMPTS {
                break;
            }
            run /= 2;
        }
        // Characters get as many attempts as lines had.
        attempts = 0;
    }
    parts.concat()
}

/// Of which texts a test is told.
#[derive(Clone, Copy, PartialEq)]
enum Tell {
    /// Each that fails, as it is.
    All,
    /// One of each kind of failure, made smaller.
    Kinds,
}

/// Tries texts on a thread of its own, so that one that hangs can be named.
fn failures(
    tell: Tell,
    texts: impl Iterator<Item = (String, String)> + Send + 'static,
) -> Vec<String> {
    // What panics here is told at the end, once.
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if thread::current().name() != Some("fuzz") {
            usual(info);
        }
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let words = info.payload_as_str().unwrap_or("a panic");
        PANIC.set(format!("{place}: {words}"));
    }));
    let current = Path::new(env!("CARGO_TARGET_TMPDIR")).join(match tell {
        Tell::All => "fuzz_suite_found.toml",
        Tell::Kinds => "fuzz_suite_changed.toml",
    });
    let (begun, begins) = mpsc::channel();
    let work = move || {
        let mut found = BTreeMap::new();
        for (name, text) in texts {
            fs::write(&current, &text).unwrap();
            let _ = begun.send((name.clone(), text.clone()));
            for reason in wrong(&text) {
                let kind = kind(&reason);
                if tell == Tell::All {
                    found.insert(format!("{name} {kind}"), format!("{name}: {reason}"));
                    continue;
                }
                found.entry(kind).or_insert_with_key(|kind| {
                    // Written so that what cannot be seen can be read.
                    let small = smaller(&text, kind);
                    format!("{name}: {reason}\nA smaller text: {small:?}")
                });
            }
            if tell == Tell::Kinds && found.len() >= MOST_FAILURES {
                break;
            }
        }
        found.into_values().collect()
    };
    let worker = thread::Builder::new().name("fuzz".to_owned());
    let worker = worker.spawn(work).unwrap();
    let mut last = (String::new(), String::new());
    loop {
        match begins.recv_timeout(PATIENCE) {
            Ok(next) => last = next,
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                panic!("{} takes more than {PATIENCE:?}:\n{}", last.0, last.1)
            }
        }
    }
    worker.join().unwrap()
}

fn expect_none(failures: &[String]) {
    let mut all = String::new();
    for failure in failures {
        writeln!(all, "\n{failure}").unwrap();
    }
    assert!(failures.is_empty(), "{} failures:{all}", failures.len());
}

#[test]
fn what_was_found_once_holds() {
    let texts = suites("tests/fuzz_suite/found");
    assert!(!texts.is_empty(), "the folder of what was found is gone");
    let named = |(path, text): (PathBuf, String)| (path.display().to_string(), text);
    expect_none(&failures(Tell::All, texts.into_iter().map(named)));
}

#[test]
fn any_text_is_checked_and_planned() {
    let seed = number("HOTLAP_FUZZ_SEED", SEED);
    let cases = number("HOTLAP_FUZZ_CASES", CASES);
    let corpus: Vec<String> = ["suites", "tests/diagnostics", "tests/suites"]
        .into_iter()
        .flat_map(suites)
        .map(|(_, text)| text)
        .collect();
    assert!(corpus.len() > 20, "the suites to start from are gone");
    let whole = corpus.clone().into_iter().enumerate();
    let whole = whole.map(|(at, text)| (format!("unchanged suite {at}"), text));
    let changed = (0..cases).map(move |case| {
        // Each case has a seed of its own, so that it can be had again alone.
        let seed = seed.wrapping_add(case);
        let text = mutate::text(&mut Rng::with_seed(seed), &corpus);
        (format!("HOTLAP_FUZZ_SEED={seed} HOTLAP_FUZZ_CASES=1"), text)
    });
    expect_none(&failures(Tell::Kinds, whole.chain(changed)));
}
