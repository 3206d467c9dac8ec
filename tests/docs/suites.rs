//! The suites that the documentation shows are suites. A block of TOML is whole; a block marked
//! `toml fragment` is some tables of one, and takes their places in the last whole suite of its page.

use crate::commands::lines;
use crate::page::{Item, pages, root};
use hotlap::diagnostic::{Severity, SourceText, Style, render};
use hotlap::plan::{Options, spec};
use hotlap::suite::{Suite, check, json_schema};
use std::fs;
use std::process::Command;

/// What a page shows.
fn items(page: &str) -> Vec<Item> {
    let pages = pages();
    let page = pages.iter().find(|known| known.name == page).unwrap();
    page.items()
}

/// Its blocks of TOML, each with whether it is some tables of a suite only.
fn blocks(items: Vec<Item>) -> Vec<(bool, String)> {
    let suites = items.into_iter().filter_map(|item| {
        let words: Vec<&str> = item.language.split(' ').collect();
        if words[0] != "toml" {
            return None;
        }
        assert!(words.len() == 1 || words[1..] == ["fragment"], "{words:?}");
        Some((words.len() == 2, item.text))
    });
    suites.collect()
}

/// A suite by its headers, each with the lines up to the next; what stands before the first has none.
fn tables(text: &str) -> Vec<(String, String)> {
    let mut all = vec![(String::new(), String::new())];
    for line in text.lines() {
        if line.starts_with('[') {
            all.push((line.to_owned(), String::new()));
        }
        let (_, lines) = all.last_mut().unwrap();
        lines.push_str(line);
        lines.push('\n');
    }
    all.retain(|(_, lines)| !lines.trim().is_empty());
    all
}

/// A suite with some of its tables replaced, and others added.
fn laid_over(under: &str, over: &str) -> String {
    let mut all = tables(under);
    for (header, lines) in tables(over) {
        match all.iter_mut().find(|(known, _)| *known == header) {
            Some(entry) => entry.1 = lines,
            None if header.is_empty() => all.insert(0, (header, lines)),
            None => all.push((header, lines)),
        }
    }
    all.into_iter().map(|(_, lines)| lines).collect()
}

/// Reads a suite that must be right, by `check` and by the schema.
fn read(text: &str) -> Suite {
    let source = SourceText {
        name: "shown.toml".to_owned(),
        text: text.to_owned(),
    };
    let checked = check(&source, "frameworks", &root().join("suites"));
    let errors: Vec<_> = checked
        .diagnostics
        .into_iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .collect();
    assert!(
        errors.is_empty(),
        "{text}\n{}",
        render(&source, &errors, Style::Plain)
    );
    let table: toml::Table = text.parse().unwrap();
    let validator = jsonschema::validator_for(&json_schema()).unwrap();
    let found: Vec<String> = validator
        .iter_errors(&serde_json::to_value(table).unwrap())
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(found, Vec::<String>::new(), "{text}");
    checked.suite.unwrap()
}

#[test]
fn every_suite_that_is_shown_is_one() {
    let mut number = 0;
    for page in pages() {
        let blocks = blocks(page.items());
        let whole = blocks.iter().rfind(|(fragment, _)| !fragment);
        for (fragment, text) in &blocks {
            if *fragment {
                let (_, whole) = whole.expect("a page with fragments has a whole suite");
                read(&laid_over(whole, text));
            } else {
                read(text);
            }
            number += 1;
        }
    }
    assert!(number > 20, "{number}");
}

/// What is shown of a plan is what `hotlap plan` says of the suite that a page has built so far.
#[test]
fn the_plans_of_the_guide_are_those_of_its_steps() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("suites");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(root().join("suites/apps"), folder.join("apps")).unwrap();
    let mut suite = String::new();
    let mut plans = 0;
    for item in items("docs/guide.md") {
        if item.language.starts_with("toml") {
            suite = laid_over(&suite, &item.text);
            fs::write(folder.join("frameworks.toml"), &suite).unwrap();
        }
        if item.way != "steps" {
            continue;
        }
        let typed = lines(&item.language, &item.text);
        let arguments: Vec<&str> = typed[0].split(' ').skip(1).collect();
        let output = Command::new(env!("CARGO_BIN_EXE_hotlap"))
            .args(&arguments)
            .current_dir(scratch.path())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let (_, shown) = item.text.split_once('\n').unwrap();
        // On a machine without Node or npm its servers are skipped, and the plan says so.
        if !printed.contains("not found") {
            assert!(printed.contains(shown), "{shown}\nand printed:\n{printed}");
            plans += 1;
        }
    }
    let strict = std::env::var_os("HOTLAP_TEST_STRICT").is_some_and(|value| value == "1");
    assert!(plans >= 5 || !strict, "{plans}");
}

#[test]
fn the_steps_of_the_guide_make_its_last_suite() {
    let blocks = blocks(items("docs/guide.md"));
    let (last, steps) = blocks.split_last().unwrap();
    let mut suite = String::new();
    for (_, step) in steps {
        suite = laid_over(&suite, step);
        read(&suite);
    }
    let sorted = |text: &str| {
        let mut all: Vec<String> = tables(text)
            .into_iter()
            .map(|(_, lines)| lines.trim().to_owned())
            .collect();
        all.sort();
        all
    };
    assert_eq!(sorted(&suite), sorted(&last.1));
    let first = steps[0].1.lines().count();
    let lines = last.1.lines().count();
    assert!(
        first <= 10 && (35..=45).contains(&lines),
        "{first} to {lines}"
    );
    // Its servers are in this repository, so the plan that it shows can be had.
    let spec = spec(&read(&last.1), &Options::default()).unwrap();
    let page = fs::read_to_string(root().join("docs/guide.md")).unwrap();
    assert_eq!(spec.cells.len(), 8);
    assert!(page.contains("frameworks: 8 cells, 80 trials"));
    for cell in &spec.cells {
        let folder = cell.processes[0].cwd.to_string();
        assert!(root().join("suites").join(&folder).is_dir(), "{folder}");
    }
}
