//! `hotlap doctor` on this machine, whatever it is like, and what a run says of a noisy one.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The command with locks and a cache of its own, in a folder.
fn doctor(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hotlap"))
        .arg("doctor")
        .args(arguments)
        .current_dir(folder)
        .env("HOTLAP_LOCK_DIR", folder)
        .env("HOTLAP_CACHE_DIR", folder.join("cache"))
        .output()
        .unwrap()
}

fn finding<'a>(answer: &'a Value, name: &str) -> Option<&'a Value> {
    let mut all = answer["findings"].as_array().unwrap().iter();
    all.find(|one| one["name"] == name)
}

/// The answer, when its exit code is that of its findings.
fn answer(output: &Output) -> Value {
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["format"], 1);
    let mut levels = answer["findings"].as_array().unwrap().iter();
    let can = levels.all(|one| one["level"] != "cannot_measure");
    assert_eq!(answer["can_measure"], can);
    assert_eq!(output.status.code(), Some(if can { 0 } else { 4 }));
    answer
}

#[test]
fn a_whole_look_works_loads_and_keeps_what_it_found() {
    let folder = tempfile::tempdir().unwrap();
    let answer = answer(&doctor(folder.path(), &["--json"]));
    for name in [
        "processors",
        "clock",
        "other processes",
        "evenness",
        "generator",
    ] {
        assert!(finding(&answer, name).is_some(), "{name}: {answer:#}");
    }
    assert!(answer["noise"]["piece_ns"].as_u64().unwrap() > 0);
    assert!(answer["ceiling"]["requests_per_second"].as_f64().unwrap() > 100.0);
    assert!(folder.path().join("cache/ceilings").is_dir());
}

#[test]
fn a_quick_look_is_for_people_and_says_what_suites_lack() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "[servers.a]\ncommand = 'x'\nrequires = ['no-such-program']\n[loads.one]\nconnections = 8\n";
    fs::write(folder.path().join("s.toml"), suite).unwrap();
    let output = doctor(folder.path(), &["--quick", "s.toml"]);
    assert_eq!(output.status.code(), Some(4));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("cannot   s.toml"));
    assert!(line.unwrap().contains("no-such-program"), "{text}");
    assert!(!text.contains("evenness"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(!folder.path().join("cache").exists());
    assert!(!folder.path().join("hotlap.lock").exists());
}

#[test]
fn a_suite_that_is_wrong_is_found_before_anything_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), "[servers.a]\ncomand = 'x'\n").unwrap();
    let output = doctor(folder.path(), &["s.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
}

#[test]
fn who_measures_already_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::File::create(folder.path().join("hotlap.lock")).unwrap();
    file.lock().unwrap();
    let answer = answer(&doctor(folder.path(), &["--json"]));
    assert_eq!(
        finding(&answer, "another run").unwrap()["level"],
        "cannot_measure"
    );
    assert!(answer["noise"].is_null() && answer["ceiling"].is_null());
}

#[test]
fn a_lock_that_cannot_be_opened_is_not_another_run() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("hotlap.lock")).unwrap();
    let answer = answer(&doctor(folder.path(), &["--json"]));
    assert!(finding(&answer, "another run").is_none(), "{answer:#}");
    let lock = finding(&answer, "lock").unwrap();
    assert_eq!(lock["level"], "cannot_measure");
    assert!(lock.to_string().contains("HOTLAP_LOCK_DIR"), "{lock:#}");
}
