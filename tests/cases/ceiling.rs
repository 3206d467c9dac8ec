//! What the generator itself can send here: measured once, kept, and never the end of a run.

use super::fixture::Behaviour;
use super::kit::{Outcome, Suite};
use hotlap::record::Run;
use std::fs;
use std::path::Path;

const SAID: &str = "measuring what the generator itself can send here";

/// A run that has a cache of its own.
fn run(cache: &Path) -> Outcome {
    Suite::new()
        .fixture("one", &Behaviour::good())
        .env("HOTLAP_CACHE_DIR", &cache.display().to_string())
        .run()
        .exits(0)
}

fn record(outcome: &Outcome) -> Run {
    let file = outcome.suite.run_folder().unwrap().join("run.json");
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

/// The only finding that is kept.
fn kept(cache: &Path) -> std::path::PathBuf {
    let mut folders: Vec<_> = fs::read_dir(cache.join("ceilings"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders.remove(0).join("finding.json")
}

#[test]
fn it_is_measured_once_and_kept() {
    let cache = tempfile::tempdir().unwrap();
    let first = run(cache.path());
    assert_eq!(first.stderr.matches(SAID).count(), 1, "{}", first.stderr);
    let found = record(&first).ceilings;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].requests_per_second > 100.0, "{found:?}");
    assert!(found[0].cpu_share.unwrap() > 0.0, "{found:?}");
    let load = first.valid("one").load.unwrap();
    assert_eq!(found[0].threads, load.generator_threads);
    first.nothing_is_left();

    let second = run(cache.path());
    assert!(!second.stderr.contains(SAID), "{}", second.stderr);
    assert_eq!(record(&second).ceilings, found);

    // What does not read is measured anew.
    fs::write(kept(cache.path()), "{").unwrap();
    let third = run(cache.path());
    assert!(third.stderr.contains(SAID), "{}", third.stderr);
    assert_eq!(record(&third).ceilings.len(), 1);
}

#[test]
fn where_it_cannot_be_kept_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let no_folder = folder.path().join("file");
    fs::write(&no_folder, "").unwrap();
    let outcome = run(&no_folder);
    assert!(
        outcome.stderr.contains("can't be kept"),
        "{}",
        outcome.stderr
    );
    assert_eq!(record(&outcome).ceilings.len(), 1);
}

#[test]
fn loads_that_it_says_nothing_of_have_none() {
    let cache = tempfile::tempdir().unwrap();
    let outcome = Suite::new()
        .fixture("one", &Behaviour::good())
        .load("anew", "requests = 5\nkeep_alive = false")
        .env("HOTLAP_CACHE_DIR", &cache.path().display().to_string())
        .run()
        .exits(0);
    assert!(!outcome.stderr.contains(SAID), "{}", outcome.stderr);
    assert!(record(&outcome).ceilings.is_empty());
}
