//! What is published keeps its shape, whatever people call their servers and wherever they live.

use crate::fixture::Behaviour;
use crate::kit::{Suite, quote};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::BTreeSet;
use std::time::Duration;

const LABELS: [(&str, &str); 6] = [
    ("pipe", "a|b`c*d_e <f> [g](h) \\ & &amp;"),
    ("lines", "two\nlines"),
    ("formula", "=HYPERLINK(\"http://x\")"),
    ("at", "@SUM(A1), \"quoted\""),
    ("minus", "-3.5"),
    ("heading", "# 1. no heading ~~gone~~ | $x$"),
];

/// Every table of a page: a row is its cells' texts.
fn tables(markdown: &str) -> Vec<Vec<Vec<String>>> {
    let mut tables = Vec::new();
    let mut cell: Option<String> = None;
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Table(_)) => tables.push(Vec::new()),
            Event::Start(Tag::TableHead | Tag::TableRow) => {
                tables.last_mut().unwrap().push(Vec::new());
            }
            Event::Start(Tag::TableCell) => cell = Some(String::new()),
            Event::End(TagEnd::TableCell) => {
                tables
                    .last_mut()
                    .unwrap()
                    .last_mut()
                    .unwrap()
                    .push(cell.take().unwrap());
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(cell) = &mut cell {
                    cell.push_str(&text);
                }
            }
            _ => {}
        }
    }
    tables
}

/// Columns of a row as GitHub splits it: at every pipe that is not escaped.
fn columns(line: &str) -> usize {
    let mut columns = 0;
    let mut escaped = false;
    for c in line.chars() {
        columns += usize::from(c == '|' && !escaped);
        escaped = c == '\\' && !escaped;
    }
    columns
}

#[test]
fn names_of_every_kind_keep_the_tables() {
    let mut suite = Suite::new().server(
        "absent",
        &["=no, such \"thing\"\nhere|", "@x"],
        "label = '| absent |'",
    );
    for (name, label) in LABELS {
        suite = suite.fixture_with(
            name,
            &Behaviour::good(),
            &format!("label = {}", quote(label)),
        );
    }
    let outcome = suite
        .load("few", "requests = 20\nwarmup = '0s'\nlabel = 'a|b\\\\'")
        .run()
        .exits(1);
    let markdown = outcome.markdown();
    for block in markdown
        .split("\n\n")
        .filter(|block| block.starts_with("| "))
    {
        let widths: BTreeSet<usize> = block
            .lines()
            .take_while(|line| line.starts_with('|'))
            .map(columns)
            .collect();
        assert_eq!(widths.len(), 1, "{block}");
    }
    let tables = tables(&markdown);
    assert!(tables.len() >= 3);
    for (name, label) in LABELS {
        let shown = label.replace('\n', " ");
        assert!(
            tables
                .iter()
                .flatten()
                .any(|row| row.first().is_some_and(|cell| *cell == shown)),
            "{shown:?} is in no table\n{markdown}"
        );
        assert_eq!(outcome.cell(name)["server"]["label"], label);
    }
    for file in ["summary.csv", "trials.csv", "samples.csv"] {
        // The reader refuses rows of another length than the first.
        for row in outcome.csv(file) {
            for (column, value) in row {
                let number = value.parse::<f64>().is_ok();
                assert!(
                    number || !value.starts_with(['=', '+', '-', '@', '\t', '\r']),
                    "{file} {column}: {value:?}"
                );
            }
        }
    }
    let failed = outcome
        .csv("trials.csv")
        .into_iter()
        .find(|row| row["server"] == "absent")
        .unwrap();
    assert_eq!(failed["outcome"], "failed");
    assert!(failed["reason"].contains("=no, such"), "{failed:?}");
}

#[test]
fn the_locale_changes_no_byte() {
    let outcome = Suite::new()
        .env("LC_ALL", "de_DE.ISO-8859-1")
        .env("LANG", "de_DE.UTF-8")
        .env("TZ", "Asia/Kathmandu")
        .fixture_with("good", &Behaviour::good(), "label = 'größer'")
        .run()
        .exits(0);
    let files = [
        "report.md",
        "report.html",
        "plots/throughput.svg",
        "report.json",
        "summary.csv",
        "trials.csv",
    ];
    let before = files.map(|file| outcome.read(file));
    let folder = outcome.suite.run_folder().unwrap();
    for file in files {
        std::fs::remove_file(folder.join(file)).unwrap();
    }
    let again = outcome.suite.hotlap(&["report", folder.to_str().unwrap()]);
    assert!(again.status.success());
    for (file, before) in files.iter().zip(&before) {
        assert!(
            outcome.read(file) == *before,
            "{file} is not the same again"
        );
    }
    let row = &outcome.csv("trials.csv")[0];
    assert!(row["started"].ends_with('Z'));
    for (column, value) in row {
        let of_number = ["_ns", "_bytes", "_count", "_per_second"]
            .iter()
            .any(|unit| column.ends_with(unit));
        if of_number && !value.is_empty() {
            value
                .parse::<f64>()
                .unwrap_or_else(|_| panic!("{column} is {value}"));
        }
    }
    assert!(before[0].contains("größer"));
}

#[test]
fn a_failure_is_a_row_with_its_reason_and_the_last_one() {
    let outcome = Suite::new()
        .server("fails", &["false"], "")
        .fixture("one", &Behaviour::good())
        .fixture("two", &Behaviour::good())
        .fixture("three", &Behaviour::good())
        .run()
        .exits(1);
    for server in ["one", "two", "three"] {
        outcome.valid(server);
        assert_eq!(outcome.cell(server)["state"], "measured");
    }
    let summary = outcome.csv("summary.csv");
    assert_eq!(summary.len(), 4);
    let row = summary.iter().find(|row| row["server"] == "fails").unwrap();
    assert!(
        row.values().any(|value| value.contains("exited with 1")),
        "{row:?}"
    );
    let tables = tables(&outcome.markdown());
    let row = tables
        .iter()
        .flatten()
        .find(|row| row[0] == "fails")
        .unwrap();
    assert!(
        row[1] == "failed" && row[2].contains("exited with 1"),
        "{row:?}"
    );
    // No figure stands beside its name.
    assert!(tables[0].iter().all(|row| row[0] != "fails"));
}

#[test]
fn what_others_published_stands_beside_what_was_measured() {
    let slow = Behaviour::good().taking(Duration::from_millis(20));
    let outcome = Suite::new()
        .fixture("quick", &Behaviour::good())
        .fixture("slow", &slow)
        .fixture(
            "absent",
            &Behaviour::answers("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
        )
        .toml(
            "[published.they]\nsource = 'a page'\nnote = 'On *their* machine.'\nrows = [\n\
             { cell = { server = 'quick' }, requests_per_second = 1000, latency_mean = '2ms' },\n\
             { cell = { server = 'slow' }, requests_per_second = 4000 },\n\
             { cell = { server = 'absent' }, requests_per_second = 500 },\n]",
        )
        .run()
        .exits(1);
    let markdown = outcome.markdown().replace('\u{a0}', " ");
    let row = |start: &str| {
        let found = markdown.lines().find(|line| line.starts_with(start));
        found
            .unwrap_or_else(|| panic!("{start} is not in\n{markdown}"))
            .to_owned()
    };
    assert!(
        markdown.contains("## Beside what others published"),
        "{markdown}"
    );
    assert!(markdown.contains("Source: a page"), "{markdown}");
    let quick = row("| quick | Requests/s | 1 000 |");
    assert!(quick.ends_with("| ×1.00 | ×1.00 |"), "{quick}");
    let slow = row("| slow | Requests/s | 4 000 |");
    assert!(slow.contains("| ×4.00 | ×0.0"), "{slow}");
    assert!(row("| absent | Requests/s | 500").contains("| failed | ×0.500 | – |"));
    assert!(
        markdown.contains("Theirs: slow, quick. Ours: quick, slow."),
        "{markdown}"
    );
    let json = outcome.cell("slow");
    assert_eq!(json["published"][0]["theirs"], 4000.0);
    assert!(json["published"][0]["ours"].as_f64().unwrap() < 1000.0);
}
