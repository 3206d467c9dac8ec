//! Reports from a stored run folder, byte for byte, and from runs with names that break tables.
//! `HOTLAP_BLESS=1 cargo test --test report_golden` writes the stored reports anew; the records
//! of a format are written once and stay.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its files has failed"
)]

#[path = "report_fixture/mod.rs"]
mod fixture;

use fixture::{Records, records};
use hotlap::record::{End, Outcome};
use hotlap::report::{Format, Input, Options, Output, ReportError, Template, render};
use pulldown_cmark::{Event, Options as Markdown, Parser, Tag, TagEnd};
use std::fs;
use std::path::{Path, PathBuf};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1")
}

fn blessing() -> bool {
    std::env::var_os("HOTLAP_BLESS").is_some()
}

fn read_records() -> Records {
    let stored = hotlap::store::open(&golden()).unwrap();
    assert_eq!(stored.notes, Vec::<String>::new());
    Records {
        run: stored.run,
        trials: stored.trials,
        readings: stored.readings,
    }
}

fn reports(records: &Records) -> Vec<Output> {
    render(&input(records), &Options::default()).unwrap()
}

fn input(records: &Records) -> Input<'_> {
    Input {
        run: &records.run,
        trials: &records.trials,
        readings: &records.readings,
        baseline: None,
        history: &[],
        notes: &[],
    }
}

fn text(outputs: &[Output], name: &str) -> String {
    let output = outputs
        .iter()
        .find(|output| output.file_name == name)
        .unwrap();
    String::from_utf8(output.bytes.clone()).unwrap()
}

#[test]
fn a_stored_run_gives_its_stored_reports() {
    let made = reports(&read_records());
    assert_eq!(made.len(), 8);
    for Output { file_name, bytes } in &made {
        let path = golden().join(file_name);
        if blessing() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
        }
        let stored = fs::read(&path).unwrap();
        let (made, stored) = (
            String::from_utf8_lossy(bytes),
            String::from_utf8_lossy(&stored),
        );
        for (number, (a, b)) in made.lines().zip(stored.lines()).enumerate() {
            assert_eq!(a, b, "{file_name}, line {}", number + 1);
        }
        assert_eq!(made, stored, "{file_name}");
    }
}

#[test]
fn the_order_of_records_changes_nothing() {
    let straight = records();
    let mut turned = records();
    turned.trials.reverse();
    assert_eq!(reports(&straight), reports(&turned));
}

/// The number of tables, and the text of each of their cells.
fn tables(markdown: &str) -> (usize, Vec<String>) {
    let (mut tables, mut cells) = (0, Vec::new());
    let mut text = None;
    for event in Parser::new_ext(
        markdown,
        Markdown::ENABLE_TABLES | Markdown::ENABLE_STRIKETHROUGH,
    ) {
        match event {
            Event::Start(Tag::Table(_)) => tables += 1,
            Event::Start(Tag::TableCell) => text = Some(String::new()),
            Event::End(TagEnd::TableCell) => cells.extend(text.take()),
            Event::Text(part) => {
                if let Some(text) = &mut text {
                    text.push_str(&part);
                }
            }
            _ => {}
        }
    }
    (tables, cells)
}

/// Every row of a table has as many cells as its head. The source is counted (bars that no backslash
/// escapes), since parsers fill short rows and cut long ones.
fn assert_even(markdown: &str) {
    let mut width = None;
    for line in markdown.lines() {
        if !line.starts_with('|') {
            width = None;
            continue;
        }
        let bars = line
            .replace("\\\\", "")
            .replace("\\|", "")
            .matches('|')
            .count();
        assert_eq!(*width.get_or_insert(bars), bars, "{line}");
    }
}

const NASTY: &str =
    "a|b `c` *d* _e_ <script>alert(1)</script> <!-- x\r\ny\\| [l](http://x) &lt; ~~z~~";

fn renamed(label: &str) -> Records {
    let mut records = records();
    label.clone_into(&mut records.run.spec.title);
    for cell in &mut records.run.spec.cells {
        if cell.server == "go" {
            label.clone_into(&mut cell.server_label);
        }
        for choice in &mut cell.toggles {
            if choice.value == "gzip" {
                label.clone_into(&mut choice.label);
            }
        }
        if let Some(skip) = &mut cell.skip {
            label.clone_into(&mut skip.reason);
            skip.install = Some(label.to_owned());
        }
    }
    for trial in &mut records.trials {
        trial.warnings.push(label.to_owned());
        if let Outcome::Failed { log_tail, .. } = &mut trial.outcome {
            log_tail.push("```".to_owned());
            log_tail.push(label.to_owned());
        }
    }
    records
        .run
        .suite
        .text
        .push_str("````\n</details><script>\n");
    records
}

#[test]
fn names_with_markup_show_literally_in_even_tables() {
    let markdown = text(&reports(&renamed(NASTY)), "report.md");
    assert_even(&markdown);
    let (tables, cells) = tables(&markdown);
    assert_eq!(tables, 7, "a name broke a table");
    let shown = "a|b `c` *d* _e_ <script>alert(1)</script> <!-- x y\\| [l](http://x) &lt; ~~z~~";
    assert!(
        cells.iter().filter(|cell| *cell == shown).count() >= 4,
        "{cells:#?}"
    );
}

#[test]
fn names_cannot_bring_html() {
    let markdown = text(&reports(&renamed(NASTY)), "report.md");
    let mut inside = 0;
    for event in Parser::new_ext(&markdown, Markdown::ENABLE_TABLES) {
        let (Event::Html(html) | Event::InlineHtml(html)) = event else {
            continue;
        };
        inside += 1;
        let line = html.trim();
        let allowed = [
            "<details>",
            "</details>",
            "<summary>",
            "</summary>",
            "<code>",
            "</code>",
        ];
        let rest = allowed
            .iter()
            .fold(line.to_owned(), |rest, tag| rest.replace(tag, ""));
        assert!(!rest.contains('<'), "{line}");
    }
    assert!(inside > 0);
}

#[test]
fn a_cell_without_figures_keeps_its_row_and_errors_are_counted() {
    let markdown = text(&reports(&records()), "report.md");
    let last = markdown.find("## Without figures").unwrap();
    assert!(
        markdown[last..].contains(
            "| Go net/http · compression gzip | failed | failed to become ready: no answer"
        )
    );
    assert!(markdown[last..].contains(
        "| bun | skipped | bun is not on the PATH; to install: `npm install --global bun` |"
    ));
    assert!(markdown.contains("17 × unexpected status"));
    assert!(markdown.contains("| 2 of 3 |"));
    assert!(markdown.contains("Not in its figures: 5.84 % of requests failed"));
}

#[test]
fn an_interrupted_run_says_so_first() {
    let mut records = records();
    records.run.end = Some(End::Interrupted);
    records.run.selection = vec!["--only server=go".to_owned()];
    records.run.spec.profile = Some("quick".to_owned());
    records
        .trials
        .retain(|trial| trial.trial.repetition == 1 || trial.trial.cell.names().starts_with("go"));
    records
        .trials
        .retain(|trial| trial.trial.cell.names() != "node/compression=gzip@steady");
    let markdown = text(&reports(&records), "report.md");
    let banner = markdown
        .find("**Interrupted**: 7 of 12 planned trials have a record")
        .unwrap();
    assert!(banner < markdown.find("##").unwrap());
    assert!(markdown.contains("**A part of the suite**: narrowed by --only server=go"));
    assert!(markdown.contains(
        "| Node.js · compression gzip | not run | the run ended before its first trial |"
    ));
    assert!(markdown.contains("--seed 1848 --profile quick --only server=go"));
}

#[test]
fn few_requests_show_no_high_percentile_and_say_why() {
    let mut records = records();
    for trial in &mut records.trials {
        if let Some(service) = trial.load.as_mut().and_then(|load| load.service.as_mut()) {
            service.count = 999;
        }
    }
    let made = reports(&records);
    assert!(text(&made, "report.md").contains("| too few samples |"));
    let json: serde_json::Value = serde_json::from_str(&text(&made, "report.json")).unwrap();
    let p99 = &json["cells"][0]["metrics"]["latency_p99"];
    assert!(p99["median"].is_null());
    assert_eq!(p99["reason"], "too few samples");
}

#[test]
fn what_bounds_a_figure_is_said() {
    let mut records = records();
    records.run.host.cpus = 16;
    let mut varied = 0;
    for trial in &mut records.trials {
        let Some(load) = &mut trial.load else {
            continue;
        };
        if trial.trial.cell.names() == "go/compression=off@steady" {
            varied += 1;
            load.generator_cpu_ns = Some(9_900_000_000);
            load.bytes.body = load.bytes.body.map(|body| body + body / 10);
            load.per_second[..5].fill(25_000);
            trial.usage.get_mut("total").unwrap().pids_seen = 70;
        }
    }
    assert_eq!(varied, 3);
    let markdown = text(&reports(&records), "report.md");
    for words in [
        "**Generator shares cores**: generator and servers are not pinned to cores of their own.",
        "| **≥32",
        "in 3 of 3 valid trials: its figure is a lower bound (≥)",
        "Still warming up in 3 of 3 valid trials: at the worst the first 5 s of the measured phase were slower by",
        "Bodies vary in size: 52.8 KiB on the wire",
        "| 52.8 KiB | 48.0 KiB | 100 % |",
        "Processes came and went: up to 70 different ones in a trial, 1 at once",
    ] {
        assert!(markdown.contains(words), "{words} is not in {markdown}");
    }
    assert_eq!(markdown.matches("**≥").count(), 1, "only that row");
}

#[test]
fn a_baseline_without_figures_is_the_reason_for_a_missing_ratio() {
    let mut records = records();
    records
        .trials
        .retain(|trial| trial.trial.cell.names() != "node/compression=off@steady");
    let markdown = text(&reports(&records), "report.md");
    assert!(markdown.contains(
        "No ratio, since its baseline (Node.js · compression off) has no figures: not run."
    ));
}

#[test]
fn an_open_fence_in_the_description_swallows_nothing() {
    let mut records = records();
    records.run.spec.description = Some("Started like this:\n\n```sh\nnode x".to_owned());
    let markdown = text(&reports(&records), "report.md");
    assert_eq!(tables(&markdown).0, 7);
}

#[test]
fn commands_are_quoted_only_where_a_shell_would_change_them() {
    let mut records = records();
    let process = &mut records.run.spec.cells[0].processes[0];
    process.command = ["node", "--workers=1", "a b", "$HOME", "{{ port }}"]
        .map(Into::into)
        .to_vec();
    let markdown = text(&reports(&records), "report.md");
    assert!(markdown.contains("node --workers=1 'a b' '$HOME' {{ port }}\n"));
}

#[test]
fn csv_reads_back_and_runs_no_formula() {
    let mut records = records();
    for trial in &mut records.trials {
        trial.warnings = vec!["=cmd|' /C calc'!A0, \"quoted\"\nline".to_owned()];
    }
    let made = reports(&records);
    let csv_text = text(&made, "trials.csv");
    assert!(!csv_text.contains('\r'));
    let mut reader = csv::Reader::from_reader(csv_text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let column = |name: &str| head.iter().position(|column| column == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), records.trials.len());
    for row in &rows {
        assert_eq!(
            &row[column("warnings")],
            "'=cmd|' /C calc'!A0, \"quoted\"\nline"
        );
        assert_eq!(
            &row[column("toggle_compression")],
            row[0].split(['=', '@']).nth(1).unwrap()
        );
    }
    let spoilt = rows
        .iter()
        .find(|row| &row[column("outcome")] == "invalid")
        .unwrap();
    assert_eq!(&spoilt[column("status_5xx_count")], "900");
    assert_eq!(&spoilt[column("error_status_count")], "900");
    let trial = records
        .trials
        .iter()
        .find(|t| t.trial.cell.0 == rows[0][0] && t.trial.repetition == 1);
    let rate = hotlap::record::metric("requests_per_second")
        .unwrap()
        .of(trial.unwrap())
        .unwrap();
    assert_eq!(
        rows[0][column("requests_per_second")]
            .parse::<f64>()
            .unwrap()
            .to_bits(),
        rate.to_bits()
    );
}

#[test]
fn more_than_three_axes_share_a_column_of_departures() {
    let mut records = records();
    let names = ["production", "workers", "front"];
    for (index, cell) in records.run.spec.cells.iter_mut().enumerate() {
        for (at, name) in names.iter().enumerate() {
            let value = if index == at + 1 { "on" } else { "off" };
            cell.toggles.push(hotlap::spec::Choice {
                toggle: (*name).to_owned(),
                value: value.to_owned(),
                label: value.to_owned(),
            });
        }
    }
    for name in names {
        records.run.spec.axes.insert(
            2,
            hotlap::spec::Axis {
                name: name.to_owned(),
                values: vec![
                    ("off".to_owned(), "off".to_owned()),
                    ("on".to_owned(), "on".to_owned()),
                ],
            },
        );
    }
    let markdown = text(&reports(&records), "report.md");
    assert!(markdown.contains("| Variant | Requests/s"));
    assert!(
        markdown.contains("| Go net/http · workers on | **"),
        "{markdown}"
    );
    assert_even(&markdown);
}

#[test]
fn what_baselines_differ_in_is_named_with_each_departure() {
    let mut records = records();
    // Two baselines, on two runtimes; a departure of each.
    let ids: Vec<_> = records
        .run
        .spec
        .cells
        .iter()
        .map(|cell| cell.id.clone())
        .collect();
    for (index, cell) in records.run.spec.cells.iter_mut().enumerate() {
        let runtime = if index < 2 { "old" } else { "new" };
        cell.server = "node".to_owned();
        cell.server_label = "Node.js".to_owned();
        cell.toggles.push(hotlap::spec::Choice {
            toggle: "runtime".to_owned(),
            value: runtime.to_owned(),
            label: runtime.to_owned(),
        });
        cell.baseline = Some(ids[index / 2 * 2].clone());
    }
    let values = ["old", "new"].map(|value| (value.to_owned(), value.to_owned()));
    records.run.spec.axes.push(hotlap::spec::Axis {
        name: "runtime".to_owned(),
        values: values.to_vec(),
    });
    let markdown = text(&reports(&records), "report.md");
    assert!(
        markdown.contains("- runtime old: **compression gzip** serves"),
        "{markdown}"
    );
}

#[test]
fn a_template_of_ones_own_is_used_and_its_mistakes_are_shown() {
    let records = records();
    let with = |text: &str| {
        let template = Some(Template::new("mine.md.j2", text));
        render(
            &input(&records),
            &Options {
                formats: vec![Format::Markdown],
                template,
            },
        )
    };
    let made =
        with("{% for c in cells %}{{ c.names[0] }} {{ c.metrics.errors.median }}\n{% endfor %}")
            .unwrap();
    assert_eq!(
        text(&made, "report.md"),
        "Node.js 0.0\nNode.js 0.0\nGo net/http 0.0\n"
    );
    let Err(ReportError::Template { line, rendered, .. }) = with("ok\n{{ cels }}\n") else {
        panic!("an unknown name was taken")
    };
    assert_eq!(line, Some(2));
    assert!(
        rendered.contains("mine.md.j2:2:1") && rendered.contains("undefined"),
        "{rendered}"
    );
    assert!(with("{% for %}").is_err());
}

/// Each trial of a cell so many times over, in rounds of their own, the throughput of each a little less than of the one
/// before.
fn multiplied(cells: &[&str], times: u32) -> Records {
    let mut records = records();
    let of_cells = |trial: &hotlap::record::Trial| {
        let names = trial.trial.cell.names();
        cells.iter().any(|cell| names.starts_with(cell))
    };
    let first: Vec<_> = records
        .trials
        .iter()
        .filter(|trial| of_cells(trial) && trial.trial.repetition == 1)
        .cloned()
        .collect();
    for trial in first {
        for again in 0..times {
            let mut trial = trial.clone();
            trial.trial.repetition = 10 + again;
            trial.round = 10 + again;
            if let Some(load) = &mut trial.load {
                load.window_ns += u64::from(again) * load.window_ns / 1000;
            }
            records.trials.push(trial);
        }
    }
    records
}

#[test]
fn from_six_trials_on_the_interval_of_the_median_is_shown() {
    let everywhere = text(&reports(&multiplied(&["node", "go"], 7)), "report.md");
    assert!(
        everywhere.contains("| Requests/s | 95 % interval |"),
        "{everywhere}"
    );
    assert!(
        everywhere
            .contains("The interval is that of the median, by order statistics, at least 95 %. ")
    );
    assert_even(&everywhere);
    let made = reports(&multiplied(&["go"], 7));
    let mixed = text(&made, "report.md");
    assert!(
        mixed.contains("| Requests/s | 95 % interval or min–max |"),
        "{mixed}"
    );
    assert!(mixed.contains("with fewer than six trials the lowest and the highest stand there"));

    let json: serde_json::Value = serde_json::from_str(&text(&made, "report.json")).unwrap();
    let cell = |names: &str| {
        let cells = json["cells"].as_array().unwrap();
        let found = cells
            .iter()
            .find(|cell| cell["id"].as_str().unwrap().starts_with(names));
        found.unwrap()["metrics"]["requests_per_second"].clone()
    };
    assert!(cell("node/compression=off")["interval"].is_null());
    let rate = cell("go/compression=off");
    let mut values: Vec<f64> = rate["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value["value"].as_f64().unwrap())
        .collect();
    values.sort_by(f64::total_cmp);
    // Of ten values the second and the ninth.
    assert_eq!(values.len(), 10);
    assert_eq!(rate["interval"], serde_json::json!([values[1], values[8]]));
    let table = text(&made, "summary.csv");
    let row = table
        .lines()
        .find(|line| line.starts_with("go/compression=off"))
        .unwrap();
    assert!(
        row.contains(&format!(",{},{},", values[1], values[8])),
        "{row}"
    );
}

#[test]
fn what_the_machine_did_beside_loads_is_said_once_with_its_rows() {
    let mut records = records();
    let all = records.trials.len();
    for trial in &mut records.trials {
        let busy = trial.trial.cell.names() == "node/compression=off@steady";
        trial.surroundings = Some(Box::new(hotlap::record::Surroundings {
            took_ns: 15_000_000_000,
            cpus: 2,
            stolen_ns: Some(10_000_000),
            others_ns: Some(if busy { 1_500_000_000 } else { 30_000_000 }),
            busiest: vec![hotlap::record::Busy {
                name: "rustc".to_owned(),
                cpu_ns: 1_400_000_000,
            }],
            ..hotlap::record::Surroundings::default()
        }));
    }
    assert!(all > 3);
    let outputs = render(&input(&records), &Options::default()).unwrap();
    let text = |name: &str| {
        let output = outputs.iter().find(|output| output.file_name == name);
        String::from_utf8(output.unwrap().bytes.clone()).unwrap()
    };
    let report = text("report.md");
    let said = "processes that are no part of the run used up to 5.0";
    assert_eq!(report.matches(said).count(), 1, "{report}");
    assert!(report.contains(": rustc."), "{report}");
    assert!(!report.contains("hypervisor gave"), "{report}");
    let value: serde_json::Value = serde_json::from_str(&text("report.json")).unwrap();
    assert_eq!(value["noise"][0]["kind"], "others");
    assert_eq!(value["noise"][0]["trials"], 3);
    assert_eq!(value["noise"][0]["cells"].as_array().unwrap().len(), 1);
}
