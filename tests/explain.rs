//! `hotlap explain`: each text keeps what it promises. Its wrong examples have the
//! mistake and no other, its right ones have none.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot start the command or make its files has failed"
)]

use hotlap::diagnostic::{SourceText, Style, render};
use hotlap::metric::REGISTRY;
use hotlap::plan::{Options, PlanError, spec};
use hotlap::suite::{CODES, Part, check, explain};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A folder with all that right examples name.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("app")).unwrap();
    fs::write(folder.path().join("order.json"), "{}").unwrap();
    folder
}

/// An example as a whole suite.
fn whole(example: &str) -> String {
    let has = |table: &str| {
        example
            .lines()
            .any(|line| line.starts_with(&format!("[{table}.")))
    };
    let mut suite = example.to_owned();
    if !has("servers") {
        suite.push_str("\n[servers.app]\ncommand = \"node index.js\"\n");
    }
    if !has("loads") {
        suite.push_str("\n[loads.steady]\npath = \"/\"\n");
    }
    suite
}

/// The codes of what is said of a suite, and the text.
fn said_of(text: &str, folder: &Path) -> (BTreeSet<&'static str>, String) {
    let source = SourceText {
        name: "example.toml".to_owned(),
        text: text.to_owned(),
    };
    let checked = check(&source, "example", folder);
    let mut diagnostics = checked.diagnostics;
    if let Some(suite) = checked.suite
        && let Err(PlanError::Suite(more)) = spec(&suite, &Options::default())
    {
        diagnostics.extend(more);
    }
    let codes = diagnostics.iter().map(|one| one.code).collect();
    (codes, render(&source, &diagnostics, Style::Plain))
}

#[test]
fn each_example_has_the_mistake_or_none() {
    let folder = folder();
    for (code, _) in CODES {
        let (mut wrong, mut right) = (0, 0);
        for part in explain(code).unwrap().parts() {
            let (example, expected) = match part {
                Part::Prose(text) => {
                    assert!(!text.contains("```"), "{code}: a fence is open\n{text}");
                    continue;
                }
                Part::Wrong(example) => {
                    wrong += 1;
                    (example, BTreeSet::from([*code]))
                }
                Part::Right(example) => {
                    right += 1;
                    (example, BTreeSet::new())
                }
            };
            let suite = whole(example);
            let (codes, shown) = said_of(&suite, folder.path());
            assert_eq!(codes, expected, "{code}:\n{suite}\n{shown}");
        }
        assert!(
            wrong > 0 && right > 0,
            "{code} has {wrong} wrong and {right} right examples"
        );
    }
}

#[test]
fn every_metric_is_listed_where_a_message_says_so() {
    let listed: BTreeSet<&str> = explain("unknown-metric")
        .unwrap()
        .parts()
        .into_iter()
        .filter_map(|part| match part {
            Part::Prose(text) => Some(text),
            _ => None,
        })
        .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .collect();
    for metric in REGISTRY {
        assert!(
            listed.contains(metric.name),
            "{} is not listed",
            metric.name
        );
    }
}

fn hotlap(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hotlap"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn what_is_printed_fits_a_terminal() {
    let all = hotlap(&["explain"]);
    assert_eq!(all.status.code(), Some(0));
    let listed = text(&all.stdout);
    for (code, _) in CODES {
        assert!(
            listed
                .lines()
                .any(|line| line.starts_with(&format!("{code} "))),
            "{code} is not in\n{listed}"
        );
    }
    let mut printed = vec![listed];
    for (code, meaning) in CODES {
        let one = hotlap(&["explain", code]);
        assert_eq!(one.status.code(), Some(0), "{code}");
        assert!(one.stderr.is_empty(), "{code}: {}", text(&one.stderr));
        let explained = text(&one.stdout);
        assert!(
            explained.starts_with(&format!("{code}: {}", meaning.trim())),
            "{explained}"
        );
        // The first line is the meaning of the code, which is short enough on its own.
        printed.push(
            explained
                .lines()
                .skip(1)
                .map(|l| l.to_owned() + "\n")
                .collect(),
        );
    }
    for line in printed.iter().flat_map(|text| text.lines()) {
        assert!(line.chars().count() <= 80, "too wide: {line}");
        assert_eq!(line, line.trim_end());
    }
}

#[test]
fn a_code_may_be_copied_as_it_is_shown() {
    let plain = text(&hotlap(&["explain", "conflict"]).stdout);
    for copied in [
        "error[conflict]",
        "warning[conflict]",
        "[conflict]",
        "Conflict",
        "error[conflict]: a load ends after a duration",
    ] {
        let one = hotlap(&["explain", copied]);
        assert_eq!(one.status.code(), Some(0), "{copied}");
        assert_eq!(text(&one.stdout), plain, "{copied}");
    }
}

#[test]
fn a_code_that_is_none_is_named_with_the_nearest() {
    for (typed, hint) in [
        ("conflcit", "did you mean `conflict`?"),
        ("error[unknown_keys]", "did you mean `unknown-key`?"),
        ("weather", "`hotlap explain` lists them"),
        ("", "`hotlap explain` lists them"),
    ] {
        let one = hotlap(&["explain", typed]);
        assert_eq!(one.status.code(), Some(2), "{typed}");
        assert!(one.stdout.is_empty(), "{typed}");
        let said = text(&one.stderr);
        assert!(said.contains(hint), "{typed}: {said}");
    }
}

/// The line that points from an error to its explanation.
const MORE: &str = "for more about an error, try `hotlap explain ";

#[test]
fn errors_of_a_suite_point_to_the_explanation_of_the_first() {
    let folder = folder();
    let path = folder.path().join("suite.toml");
    // What is found first is the unknown key, which stands below the zero.
    let suite = "[loads.steady]\nconnections = 0\nconections = 5\n\
                 [servers.app]\ncommand = \"node index.js\"\n";
    fs::write(&path, suite).unwrap();
    let path = path.to_str().unwrap();
    for command in ["check", "plan", "run"] {
        let outcome = hotlap(&[command, path]);
        assert_eq!(outcome.status.code(), Some(2), "{command}");
        let said = text(&outcome.stderr);
        let last: Vec<&str> = said.lines().rev().take(2).collect();
        assert_eq!(last[0], format!("{MORE}bad-value`"), "{command}: {said}");
        assert!(last[1].starts_with("2 errors"), "{command}: {said}");
    }
}

#[test]
fn other_errors_and_warnings_point_nowhere() {
    let folder = folder();
    let suite = folder.path().join("suite.toml");
    let warned = "[servers.app]\ncwd = \"nowhere\"\ncommand = \"node index.js\"\n[loads.steady]\n";
    fs::write(&suite, warned).unwrap();
    let (suite, none) = (
        suite.to_str().unwrap().to_owned(),
        folder.path().join("none.toml"),
    );
    let cases: [(&[&str], i32); 4] = [
        (&["check", &suite], 0),
        (&["check", "--strict", &suite], 2),
        (&["plan", "--profile", "none", &suite], 2),
        (&["check", none.to_str().unwrap()], 2),
    ];
    for (arguments, exit) in cases {
        let outcome = hotlap(arguments);
        let said = text(&outcome.stderr);
        assert_eq!(outcome.status.code(), Some(exit), "{arguments:?}: {said}");
        assert!(!said.is_empty(), "{arguments:?}");
        assert!(!said.contains(MORE), "{arguments:?}: {said}");
    }
}
