//! The built-in templates on a stored run, byte for byte, and the reference page of what templates may name.
//! `HOTLAP_BLESS=1 cargo test --test templates` writes them anew.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its files has failed"
)]

#[path = "report_fixture/mod.rs"]
mod fixture;

use fixture::{Records, records};
use hotlap::ids::CellId;
use hotlap::record::{Baseline, End, HistoryRow, Trial};
use hotlap::report::{
    Format, Input, Options, Reporter, Template, View, history_rows, render, template_reference,
};
use hotlap::spec::{Bound, Limit};
use hotlap::stats::summarise;
use std::fs;
use std::path::{Path, PathBuf};

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// That a committed file is what is made now.
fn committed(path: &Path, made: &str) {
    if std::env::var_os("HOTLAP_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, made).unwrap();
    }
    let stored = fs::read_to_string(path).unwrap_or_default();
    for (number, (a, b)) in made.lines().zip(stored.lines()).enumerate() {
        assert_eq!(a, b, "{}, line {}", path.display(), number + 1);
    }
    assert_eq!(made, stored, "{}", path.display());
}

fn input<'a>(records: &'a Records, old: Option<&'a Baseline>) -> Input<'a> {
    Input {
        run: &records.run,
        trials: &records.trials,
        readings: &records.readings,
        baseline: old,
        history: &[],
        notes: &[],
    }
}

/// What a built-in template makes.
fn made(name: &str, input: &Input<'_>) -> String {
    let options = Options {
        formats: Vec::new(),
        template: Template::built_in(name),
    };
    let mut outputs = render(input, &options).unwrap();
    outputs.retain(|output| !output.is_plot());
    assert_eq!(
        outputs.len(),
        1,
        "with a template there is its report alone"
    );
    String::from_utf8(outputs.pop().unwrap().bytes).unwrap()
}

/// The records of the fixture with so many trials of each cell that has some, each a little slower than the one before.
fn many(times: u32) -> Records {
    let mut records = records();
    let first: Vec<Trial> = records
        .trials
        .iter()
        .filter(|trial| trial.trial.repetition == 1)
        .cloned()
        .collect();
    records.trials = (0..times)
        .flat_map(|again| {
            first.iter().cloned().map(move |mut trial| {
                trial.trial.repetition = again + 1;
                trial.round = again + 1;
                if let Some(load) = &mut trial.load {
                    load.window_ns += u64::from(again) * load.window_ns / 1000;
                }
                trial
            })
        })
        .collect();
    for cell in &mut records.run.spec.cells {
        cell.repetitions = times;
    }
    records.run.end = Some(End::Complete);
    records
}

fn stored_old() -> Baseline {
    hotlap::store::read_baseline(&project().join("tests/golden/compare/baseline.json")).unwrap()
}

/// The badge of these records.
fn badge(input: Input<'_>) -> String {
    let cells = summarise(input.run, input.trials);
    let bytes = Reporter::new(input, &cells).badge().unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_templates_of_hotlap_give_their_stored_reports() {
    let eight = many(8);
    let old = stored_old();
    for name in Template::names().filter(|name| *name != "default") {
        let path = project().join("tests/golden/templates");
        committed(
            &path.join(format!("{name}.md")),
            &made(name, &input(&eight, None)),
        );
    }
    committed(
        &project().join("tests/golden/templates/pull-request-since.md"),
        &made("pull-request", &input(&eight, Some(&old))),
    );
    let options = Options {
        formats: vec![Format::Badge],
        template: None,
    };
    let badge = render(&input(&eight, None), &options).unwrap().remove(0);
    assert_eq!(badge.file_name, "badge.svg");
    committed(
        &project().join("tests/golden/templates/badge.svg"),
        &String::from_utf8(badge.bytes).unwrap(),
    );
}

#[test]
fn the_page_of_names_is_made_from_the_types() {
    committed(&project().join("docs/templates.md"), &template_reference());
}

#[test]
fn every_name_of_a_view_is_on_the_page() {
    let page = template_reference();
    let eight = many(8);
    let view = View::of(&input(&eight, Some(&stored_old())));
    let value = serde_json::to_value(&view).unwrap();
    let mut names = Vec::new();
    collect(&value, &mut names);
    assert!(names.len() > 120, "{}", names.len());
    for name in names {
        assert!(
            page.contains(&format!("| `{name}` |")),
            "{name} is not on the page"
        );
    }
}

fn collect(value: &serde_json::Value, names: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, inner) in fields {
                if !names.contains(name) {
                    names.push(name.clone());
                }
                collect(inner, names);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        _ => {}
    }
}

/// The id of a copy of a cell, under a server of another name.
fn renamed(id: &CellId, copy: u32) -> CellId {
    CellId(id.0.replacen('/', &format!("-{copy}/"), 1))
}

#[test]
fn a_comment_fits_into_what_github_takes() {
    let mut many = many(6);
    let (cells, trials) = (many.run.spec.cells.clone(), many.trials.clone());
    // Names as long as they come, of letters that are several bytes each.
    let long = "größer|<b>".repeat(40);
    for copy in 0..60 {
        for cell in &cells {
            let mut other = cell.clone();
            other.id = renamed(&cell.id, copy);
            other.baseline = cell.baseline.as_ref().map(|id| renamed(id, copy));
            other.server = format!("{}-{copy}", cell.server);
            other.server_label = format!("{} {copy} {long}", cell.server_label);
            for trial in trials.iter().filter(|trial| trial.trial.cell == cell.id) {
                let mut trial = trial.clone();
                trial.trial.cell = other.id.clone();
                many.trials.push(trial);
            }
            many.run.spec.cells.push(other);
        }
    }
    let comment = made("pull-request", &input(&many, None));
    assert!(comment.len() < 65_536, "{}", comment.len());
    assert!(comment.contains(" more."), "{comment}");
    assert_eq!(
        comment.matches("<details>").count(),
        comment.matches("</details>").count()
    );
    // Another template is never cut.
    assert!(made("leaderboard", &input(&many, None)).len() > 65_536);
}

#[test]
fn a_badge_stands_alone_whatever_the_suite_is_called() {
    let mut records = many(8);
    for label in [
        "<script>&\"'",
        "日本語のサーバー",
        "a\u{1}b\nc",
        &"long ".repeat(50),
        "",
    ] {
        label.clone_into(&mut records.run.spec.cells[0].server_label);
        let text = badge(input(&records, None));
        assert!(!text.contains("<script"), "{text}");
        assert!(
            text.chars().all(|c| c == '\n' || !c.is_control()),
            "{text:?}"
        );
        assert!(
            text.contains("role=\"img\"") && text.contains("<title>"),
            "{text}"
        );
        // Nothing is fetched.
        assert_eq!(text.matches("http").count(), 1, "{text}");
        let width = text.split("width=\"").nth(1).unwrap();
        let width: u32 = width.split('"').next().unwrap().parse().unwrap();
        assert!(width < 700, "{text}");
    }
}

/// Nights of January 2020 before this run, like it but for what `change` makes of a row of a day.
fn january(records: &Records, days: u32, change: &dyn Fn(u32, &mut HistoryRow)) -> Vec<HistoryRow> {
    let own = history_rows(&input(records, None));
    assert!(!own.is_empty(), "the run is a night");
    let night = |day: u32| {
        own.iter().cloned().map(move |mut row| {
            row.run.0 = format!("2020-01-{day:02}T190500Z-00000{day:02}");
            row.time = format!("2020-01-{day:02}T19:05:00Z");
            row.revision = Some(format!("00000{day:02}"));
            if let Some(figure) = &mut row.figure {
                figure.median *= 1.0 + f64::from(day % 3) / 400.0;
            }
            change(day, &mut row);
            row
        })
    };
    (1..=days).flat_map(night).collect()
}

/// Multiplies a figure of one cell up to a day.
fn until(last: u32, cell: usize, column: &'static str, by: f64) -> impl Fn(u32, &mut HistoryRow) {
    let names = records().run.spec.cells[cell].id.names().to_owned();
    move |day, row| {
        if let Some(figure) = row.figure.as_mut()
            && day <= last
            && row.cell.names() == names
            && figure.column == column
        {
            figure.median *= by;
        }
    }
}

/// What a run with these nights before it tells the index: since when, and why.
fn unchanged(records: &Records, history: &[HistoryRow]) -> (String, String) {
    let input = Input {
        history,
        ..input(records, None)
    };
    let cells = summarise(input.run, input.trials);
    let digest = Reporter::new(input, &cells).digest();
    let since = digest.unchanged_since.unwrap();
    (since[..10].to_owned(), digest.unchanged_why.unwrap())
}

#[test]
fn the_index_is_told_by_the_nights_since_when_nothing_has_changed() {
    let records = many(8);
    let told = |history: &[HistoryRow]| unchanged(&records, history);
    let said = |day: &str, why: &str| (day.to_owned(), why.to_owned());
    let own = &records.run.sessions[0].started[..10];
    assert_eq!(told(&[]), said(own, "first night"));
    let quiet = january(&records, 30, &|_, _| {});
    assert_eq!(told(&quiet), said("2020-01-01", "first night"));
    let grown = january(&records, 30, &until(12, 0, "rss_peak_bytes", 0.8));
    assert_eq!(told(&grown), said("2020-01-13", "change found"));
    let moved = january(&records, 30, &|day, row| {
        if day <= 20 {
            row.machine = Some("0123456789ab".to_owned());
        }
    });
    assert_eq!(told(&moved), said("2020-01-21", "another machine"));
    let mut added = january(&records, 30, &|_, _| {});
    let new = records.run.spec.cells[1].id.names();
    added.retain(|row| row.cell.names() != new || row.time.as_str() > "2020-01-05");
    assert_eq!(told(&added), said("2020-01-05", "new cell"));
    // What only one night has found is not told yet, so nothing has changed.
    let young = january(&records, 30, &until(28, 0, "rss_peak_bytes", 0.8));
    assert_eq!(told(&young), said("2020-01-01", "first night"));
}

/// A night that is the first to tell that the first cell lost a fifth of its requests/s and needs a bit more memory.
fn bad_night(records: &Records) -> Vec<HistoryRow> {
    let slower = until(27, 0, "requests_per_second", 1.25);
    let larger = until(27, 0, "rss_peak_bytes", 0.92);
    january(records, 30, &|day, row| {
        slower(day, row);
        larger(day, row);
    })
}

#[test]
fn pages_open_with_what_the_night_is_the_first_to_tell() {
    let records = many(8);
    let history = bad_night(&records);
    let night = Input {
        history: &history,
        ..input(&records, None)
    };
    let view = View::of(&night);
    let told = &view.nights.as_ref().unwrap().told;
    assert_eq!(told.len(), 1, "{told:?}");
    let opens = format!("{}: requests/s fell 20", told[0].title);
    assert!(view.headline.starts_with(&opens), "{}", view.headline);
    let ends = "between 0000027 and 0000028 (2020-01-27 to 2020-01-28): worse, and 1 more change.";
    assert!(view.headline.ends_with(ends), "{}", view.headline);
    let badge = badge(night);
    assert!(
        badge.contains(">2 figures worse<") && badge.contains("#b3261e"),
        "{badge}"
    );
    for name in ["short", "leaderboard", "pull-request"] {
        let text = made(name, &night);
        let at = text
            .find("peak RSS grew **8")
            .unwrap_or_else(|| panic!("{text}"));
        let table = text.find("|:--").unwrap();
        assert!(at < table, "{name}: {text}");
    }
}

#[test]
fn a_gate_that_fell_is_named_and_its_sentence_stands_once() {
    let mut records = many(8);
    for cell in &mut records.run.spec.cells {
        cell.gates.push(Limit {
            metric: "rss_peak".to_owned(),
            max: Some(Bound::Value(1.0)),
            min: None,
            max_regression: None,
            history: false,
        });
    }
    let view = View::of(&input(&records, None));
    let gates = view.gates.as_ref().unwrap();
    let first = &gates.fallen[0];
    let named = format!("({} of {}", first.metric, first.title);
    assert!(view.headline.contains(&named), "{}", view.headline);
    let comment = made("pull-request", &input(&records, None));
    assert_eq!(comment.matches("gates fell").count(), 1, "{comment}");
}

#[test]
fn one_change_for_the_better_is_on_the_badge_and_said_once() {
    let records = many(8);
    let history = january(&records, 30, &until(27, 0, "rss_peak_bytes", 1.25));
    let night = Input {
        history: &history,
        ..input(&records, None)
    };
    let badge = badge(night);
    assert!(
        badge.contains(">peak RSS shrank 20") && badge.contains("#1a6f3c"),
        "{badge}"
    );
    let text = made("short", &night);
    assert_eq!(text.matches("peak RSS shrank").count(), 1, "{text}");
}

#[test]
fn cells_that_the_trials_cannot_tell_apart_share_a_rank() {
    let ranks = |change: &dyn Fn(&mut Trial)| -> Vec<(usize, bool)> {
        let mut records = many(8);
        records.trials.iter_mut().for_each(change);
        let view = View::of(&input(&records, None));
        assert_eq!(view.boards.len(), 1);
        let rows = &view.boards[0].rows;
        rows.iter().map(|row| (row.rank, row.shared)).collect()
    };
    assert_eq!(ranks(&|_| {}), [(1, false), (2, false), (3, false)]);
    // Everybody needs the same time for the same requests.
    let level = |trial: &mut Trial| {
        if let Some(load) = &mut trial.load {
            load.window_ns = load.counts.succeeded * (100_000 + u64::from(trial.trial.repetition));
        }
    };
    assert_eq!(ranks(&level), [(1, true), (1, true), (1, true)]);
}
