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
use hotlap::record::{Baseline, End, Trial};
use hotlap::report::{
    Format, Input, Options, Reporter, Standing, Template, View, baseline, render, standing,
    template_reference,
};
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
        let badge = Reporter::new(input(&records, None)).badge().unwrap();
        let text = String::from_utf8(badge).unwrap();
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

#[test]
fn two_runs_stand_apart_only_where_a_verdict_says_so() {
    let of = |records: &Records| baseline(&input(records, None));
    let before = of(&many(8));
    let after = |change: &dyn Fn(&mut Records)| {
        let mut records = many(8);
        records.run.id.0.push_str("-later");
        change(&mut records);
        standing(&before, &of(&records))
    };
    let mut nothing = before.clone();
    nothing.cells.clear();
    let slower = |records: &mut Records| {
        for load in records
            .trials
            .iter_mut()
            .filter_map(|trial| trial.load.as_mut())
        {
            load.window_ns += load.window_ns / 5;
        }
    };
    let same = |records: &mut Records| {
        // Start-ups and CPU times that are the same as before in every trial.
        let trials = &mut records.trials;
        trials.reverse();
    };
    let fewer = |records: &mut Records| {
        records.trials.retain(|trial| trial.trial.repetition < 3);
    };
    let elsewhere = |records: &mut Records| records.run.host.cpu = Some("another".to_owned());
    let gone = |records: &mut Records| {
        records.run.spec.cells.remove(0);
    };
    assert_eq!(standing(&before, &before), Standing::Unchanged);
    assert_eq!(after(&same), Standing::Unchanged);
    assert_eq!(after(&slower), Standing::Changed);
    assert_eq!(after(&gone), Standing::Changed);
    assert_eq!(after(&fewer), Standing::Unknown);
    assert_eq!(after(&elsewhere), Standing::Unknown);
    assert_eq!(standing(&nothing, &before), Standing::Changed);
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
