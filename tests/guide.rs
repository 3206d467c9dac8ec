//! The suites that the documentation shows are suites. A block of TOML is whole; a block marked
//! `toml fragment` is some tables of one, and takes their places in the last whole suite of its page.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its files has failed"
)]

use hotlap::diagnostic::{Severity, SourceText, Style, render};
use hotlap::plan::{Options, spec};
use hotlap::suite::{Suite, check, json_schema};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use std::fs;
use std::path::Path;

/// A block of TOML on a page.
struct Block {
    fragment: bool,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn blocks(page: &str) -> Vec<Block> {
    let page = fs::read_to_string(root().join(page)).unwrap();
    let mut found: Vec<Block> = Vec::new();
    let mut inside = false;
    for event in Parser::new(&page) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                inside = info.split_whitespace().next() == Some("toml");
                if inside {
                    assert!(["toml", "toml fragment"].contains(&&*info), "{info}");
                    found.push(Block {
                        fragment: info.ends_with("fragment"),
                        text: String::new(),
                    });
                }
            }
            Event::End(TagEnd::CodeBlock) => inside = false,
            Event::Text(text) if inside => found.last_mut().unwrap().text.push_str(&text),
            _ => {}
        }
    }
    found
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
    let pages = [
        "README.md",
        "docs/guide.md",
        "docs/suite-format.md",
        "docs/generators.md",
    ];
    for page in pages {
        let blocks = blocks(page);
        let whole = blocks.iter().rfind(|block| !block.fragment).unwrap();
        for block in &blocks {
            if block.fragment {
                read(&laid_over(&whole.text, &block.text));
            } else {
                read(&block.text);
            }
        }
    }
}

#[test]
fn the_steps_of_the_guide_make_its_last_suite() {
    let blocks = blocks("docs/guide.md");
    let (last, steps) = blocks.split_last().unwrap();
    let mut suite = String::new();
    for step in steps {
        suite = laid_over(&suite, &step.text);
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
    assert_eq!(sorted(&suite), sorted(&last.text));
    let first = steps[0].text.lines().count();
    let lines = last.text.lines().count();
    assert!(
        first <= 10 && (35..=45).contains(&lines),
        "{first} to {lines}"
    );
    // Its servers are in this repository, so the plan that it shows can be had.
    let spec = spec(&read(&last.text), &Options::default()).unwrap();
    let page = fs::read_to_string(root().join("docs/guide.md")).unwrap();
    assert_eq!(spec.cells.len(), 8);
    assert!(page.contains("frameworks: 8 cells, 80 trials"));
    for cell in &spec.cells {
        let folder = cell.processes[0].cwd.to_string();
        assert!(root().join("suites").join(&folder).is_dir(), "{folder}");
    }
}
