//! Servers of several processes, with a database beside them, in every report.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its reports has failed"
)]

#[path = "report_fixture/mod.rs"]
mod fixture;

use fixture::{Records, records};
use hotlap::record::Usage;
use hotlap::report::{Input, Options, Output, render};

fn reports(records: &Records) -> Vec<Output> {
    let input = Input {
        run: &records.run,
        trials: &records.trials,
        readings: &records.readings,
        baseline: None,
        history: &[],
        notes: &[],
    };
    render(&input, &Options::default()).unwrap()
}

fn text(outputs: &[Output], name: &str) -> String {
    let output = outputs.iter().find(|output| output.file_name == name);
    String::from_utf8(output.unwrap().bytes.clone()).unwrap()
}

/// The plain Go cell has a proxy in front and a database beside it.
fn with_roles() -> Records {
    let mut records = records();
    for trial in &mut records.trials {
        if trial.trial.cell.names() != "go/compression=off@steady" {
            continue;
        }
        let total = trial.usage["total"].clone();
        let quarter = |value: Option<u64>| value.map(|value| value / 4);
        let app = Usage {
            cpu_seconds: total.cpu_seconds.map(|cpu| cpu * 0.75),
            threads: 12,
            processes: 2,
            ..total.clone()
        };
        let proxy = Usage {
            rss_peak: quarter(total.rss_peak),
            cpu_seconds: total.cpu_seconds.map(|cpu| cpu * 0.25),
            ..total.clone()
        };
        let database = Usage {
            rss_peak: Some(512 << 20),
            apart: true,
            ..total
        };
        let roles = [("app", app), ("proxy", proxy), ("db", database)];
        let roles = roles.map(|(role, usage)| (role.to_owned(), usage));
        trial.usage.extend(roles);
    }
    records
}

/// The lines of the section with this heading.
fn section<'a>(markdown: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = markdown.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| !line.starts_with('#')).collect()
}

#[test]
fn each_role_has_its_row_and_services_are_marked() {
    let markdown = text(&reports(&with_roles()), "report.md");
    let lines = section(&markdown, "## Memory and CPU by role");
    let rows: Vec<Vec<&str>> = lines
        .iter()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert!(
        rows.iter().all(|row| row.len() == rows[0].len()),
        "{lines:#?}"
    );
    let of = |role: &str| rows.iter().find(|row| row.contains(&role)).unwrap();
    assert!(of("app").contains(&"75\u{a0}%") && of("app").contains(&"12"));
    assert!(of("proxy").contains(&"25\u{a0}%"));
    assert!(of("db\\*").contains(&"512\u{a0}MiB") && of("db\\*").contains(&"–"));
    let position = |role: &str| rows.iter().position(|row| row.contains(&role));
    assert!(position("proxy") < position("db\\*"), "services come last");
    assert!(
        lines
            .iter()
            .any(|line| line.contains("they are in no total above"))
    );
    let memory = section(&markdown, "## Memory").join("\n");
    assert!(!memory.contains("512"), "{memory}");
}

#[test]
fn where_a_cell_has_one_role_nothing_is_said_of_roles() {
    let mut records = records();
    for trial in &mut records.trials {
        if let Some(own) = trial.usage.get("total").cloned() {
            trial.usage.insert("server".to_owned(), own);
        }
    }
    let made = reports(&records);
    assert!(!text(&made, "report.md").contains("by role"));
    assert!(made.iter().all(|output| output.file_name != "roles.csv"));
}

#[test]
fn roles_are_rows_of_a_file_and_of_the_json() {
    let records = with_roles();
    let made = reports(&records);
    let table = text(&made, "roles.csv");
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let head = reader.headers().unwrap().clone();
    let column = |name: &str| head.iter().position(|column| column == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let own = |trial: &&hotlap::record::Trial| trial.usage.get("db").is_some();
    assert_eq!(rows.len(), 3 * records.trials.iter().filter(own).count());
    for row in &rows {
        assert_eq!(
            &row[column("in_total")],
            if &row[column("role")] == "db" {
                "false"
            } else {
                "true"
            }
        );
        assert_eq!(&row[column("toggle_compression")], "off");
    }
    let trial = records.trials.iter().find(own).unwrap();
    let app = rows
        .iter()
        .find(|row| {
            &row[column("role")] == "app"
                && row[column("repetition")] == *trial.trial.repetition.to_string()
        })
        .unwrap();
    let shown: f64 = app[column("cpu_s")].parse().unwrap();
    assert_eq!(
        shown.to_bits(),
        trial.usage["app"].cpu_seconds.unwrap().to_bits()
    );

    let json: serde_json::Value = serde_json::from_str(&text(&made, "report.json")).unwrap();
    let cells = json["cells"].as_array().unwrap();
    let go = cells
        .iter()
        .find(|cell| cell["variant"] == "go/compression=off")
        .unwrap();
    assert_eq!(go["roles"]["db"]["in_total"], false);
    assert_eq!(
        go["roles"]["db"]["rss_peak_bytes"]["median"],
        f64::from(512 << 20)
    );
    assert_eq!(go["roles"]["app"]["threads_count"]["max"], 12.0);
    assert!(go["roles"].get("total").is_none());
}

#[test]
fn shared_pages_are_explained_once_for_all_cells() {
    let mut records = records();
    let with = |share: f64, records: &mut Records| {
        for trial in &mut records.trials {
            let Some(total) = trial.usage.get_mut("total") else {
                continue;
            };
            let of = |rss: Option<u64>| rss.map(|rss| (rss as f64 * share).floor() as u64);
            (total.pss_idle, total.pss_after) = (of(total.rss_idle), of(total.rss_after));
        }
    };
    with(0.5, &mut records);
    let markdown = text(&reports(&records), "report.md");
    let words = "PSS is half of RSS or less";
    let said: Vec<&str> = markdown
        .lines()
        .filter(|line| line.contains(words))
        .collect();
    let [line] = said.as_slice() else {
        panic!("{said:#?}")
    };
    assert!(line.contains("**Node.js · compression off**, "), "{line}");
    with(0.52, &mut records);
    assert!(!text(&reports(&records), "report.md").contains(words));
}
