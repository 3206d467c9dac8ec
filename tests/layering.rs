//! Which room may use which: the table of ARCHITECTURE.md, enforced. Also what
//! only one room may do: print, and do I/O.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its files has failed"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each room in the order of the flow, with the rooms that it may import.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("ids", &[]),
    ("diagnostic", &[]),
    ("metric", &[]),
    ("spec", &["units", "ids"]),
    ("tls", &["spec"]),
    ("suite", &["tls", "units", "diagnostic", "metric"]),
    ("plan", &["suite", "spec", "units", "ids", "diagnostic"]),
    ("record", &["spec", "units", "ids", "metric"]),
    ("http", &["units"]),
    ("process", &["units"]),
    (
        "server",
        &["process", "http", "tls", "spec", "record", "units"],
    ),
    ("load", &["http", "tls", "spec", "record", "units"]),
    ("generator", &["process", "spec", "record", "units"]),
    ("sample", &["process", "record", "units"]),
    ("host", &["record", "units"]),
    ("stats", &["record", "spec", "units", "ids"]),
    ("store", &["record", "spec", "ids"]),
    (
        "run",
        &[
            "plan",
            "spec",
            "record",
            "http",
            "process",
            "server",
            "load",
            "generator",
            "sample",
            "host",
            "stats",
            "store",
            "units",
            "ids",
            "diagnostic",
        ],
    ),
    (
        "report",
        &["stats", "record", "spec", "diagnostic", "units", "ids"],
    ),
    ("publish", &["report", "store"]),
    ("serve", &["http", "units"]),
    ("init", &[]),
];

/// The room that may use every other.
const TOP: &str = "cli";

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every Rust file below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Every file with the room that it belongs to.
fn rooms() -> BTreeMap<PathBuf, String> {
    let mut all = Vec::new();
    files(&source(), &mut all);
    all.into_iter()
        .map(|path| {
            let inside = path.strip_prefix(source()).unwrap();
            let first = inside
                .components()
                .next()
                .unwrap()
                .as_os_str()
                .to_str()
                .unwrap();
            let room = first.trim_end_matches(".rs").to_owned();
            (path, room)
        })
        .filter(|(_, room)| !["lib", "main"].contains(&room.as_str()))
        .collect()
}

/// Code without its comments, so that words about a room are no import.
fn code(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The rooms that a piece of code names: `crate::room…` and `use crate::{room…`.
fn named(code: &str) -> Vec<String> {
    code.split("crate::")
        .skip(1)
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(group) => parts(group),
            None => vec![first_word(rest)],
        })
        .collect()
}

/// The first word of each part of a group, whose opening brace is left out, to its closing one.
fn parts(group: &str) -> Vec<String> {
    let (mut depth, mut begin, mut found) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.push(first_word(&group[begin..at]));
                begin = at + 1;
            }
            _ => {}
        }
        if c == '}' && begin > at {
            break;
        }
    }
    found
}

fn first_word(text: &str) -> String {
    let word = text.trim_start();
    let end = word.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    word[..end.unwrap_or(word.len())].to_owned()
}

#[test]
fn every_room_of_a_nested_group_is_named() {
    let code =
        "use crate::{http::{Head, check::{A, B}}, load, record::Run}; x, y; crate::units::z()";
    assert_eq!(named(code), ["http", "load", "record", "units"]);
}

#[test]
fn rooms_import_only_what_the_table_allows() {
    let mut wrong = Vec::new();
    for (path, room) in rooms() {
        if room == TOP {
            continue;
        }
        let allowed = MAY_IMPORT.iter().find(|(name, _)| *name == room);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("the room {room} is not in the table"));
        for other in named(&code(&path)) {
            let is_room = MAY_IMPORT.iter().any(|(name, _)| *name == other) || other == TOP;
            if is_room && other != room && !allowed.contains(&other.as_str()) {
                wrong.push(format!("{} uses {other}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_library_lists_its_rooms_in_the_order_of_the_flow() {
    let lib = fs::read_to_string(source().join("lib.rs")).unwrap();
    let listed: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .collect();
    let table: Vec<&str> = MAY_IMPORT
        .iter()
        .map(|(name, _)| *name)
        .chain([TOP])
        .filter(|name| listed.contains(name))
        .collect();
    assert_eq!(listed, table);
}

#[test]
fn the_table_is_the_one_in_the_architecture() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    let page = fs::read_to_string(page).unwrap();
    for (room, allowed) in MAY_IMPORT {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{room}` |")))
            .unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for {room}"));
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap();
        let mut said: Vec<&str> = cell
            .split_whitespace()
            .filter(|word| *word != "–")
            .collect();
        let mut meant = allowed.to_vec();
        said.sort_unstable();
        meant.sort_unstable();
        assert_eq!(said, meant, "the row of {room}");
    }
}

#[test]
fn pure_rooms_do_no_input_or_output() {
    const IO: &[&str] = &[
        "std::fs",
        "TcpStream",
        "TcpListener",
        "std::process",
        "tokio",
        "std::env::var",
        "Instant::now",
        "Timestamp::now",
    ];
    for (path, room) in rooms() {
        if ![
            "units",
            "ids",
            "diagnostic",
            "spec",
            "plan",
            "record",
            "stats",
            "report",
        ]
        .contains(&room.as_str())
        {
            continue;
        }
        let code = code(&path);
        for word in IO {
            assert!(!code.contains(word), "{} uses {word}", path.display());
        }
    }
}

/// Files that may ask what time it is: for the name of a run, for when something began, and for a line of a log, to be read by people.
const MAY_KNOW_THE_DATE: &[&str] = &[
    "cli/progress.rs",
    "cli/run/session.rs",
    "run/ceiling.rs",
    "run/runner.rs",
    "run/trial.rs",
    "store/folder.rs",
    "store/lock.rs",
];

#[test]
fn the_wall_clock_only_labels() {
    // Whoever sets it during a run changes no figure: what took how long is of the monotonic clock everywhere.
    let asks = [
        "SystemTime",
        "Timestamp::now",
        "Zoned::now",
        "ClockId::Realtime",
    ];
    let mut knowing: Vec<String> = rooms()
        .into_keys()
        .filter(|path| asks.iter().any(|ask| code(path).contains(ask)))
        .map(|path| path.strip_prefix(source()).unwrap().display().to_string())
        .collect();
    knowing.sort();
    assert_eq!(knowing, MAY_KNOW_THE_DATE);
    for file in &knowing {
        let code = code(&source().join(file));
        for counts in [
            "duration_since(jiff",
            ".since(",
            ".until(",
            "duration_until(",
        ] {
            assert!(
                !code.contains(counts),
                "{file} takes {counts} of the wall clock"
            );
        }
    }
}

#[test]
fn only_the_command_line_prints() {
    for (path, room) in rooms() {
        if room == TOP {
            continue;
        }
        let code = code(&path);
        for word in ["println!", "eprintln!", "print!(", "stderr()", "stdout()"] {
            // A guard and a worker speak with their parents on their standard output.
            let to_parent = ["process", "serve"].contains(&room.as_str()) && word == "stdout()";
            assert!(
                to_parent || !code.contains(word),
                "{} uses {word}",
                path.display()
            );
        }
    }
}

#[test]
fn every_file_says_what_it_owns() {
    for path in rooms().into_keys() {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//!"), "{} does not", path.display());
    }
}
