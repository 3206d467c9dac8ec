//! Nights: what each whole run leaves for good, what the next morning's report opens with, what `hotlap history` shows, and when
//! a gate falls. The nights before are made up; the last ones are real.

use crate::fixture::Behaviour;
use crate::kit::Suite;
use hotlap::record::HistoryRow;
use hotlap::store;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const NO_CHANGE: &str = "[[gates]]\nrss_peak = { history = true }";

fn suite() -> Suite {
    let waits = Behaviour::good().taking(Duration::from_millis(3));
    Suite::new()
        .setting("warmup", "'0s'")
        .fixture("still", &waits)
        .load("steady", "connections = 1\nrequests = 20")
        .argument("--gate")
        .toml(NO_CHANGE)
}

fn path(suite: &Suite) -> PathBuf {
    suite.path().join("reports/case/history.csv")
}

fn rows(suite: &Suite) -> Vec<HistoryRow> {
    let history = store::read_history(&path(suite)).unwrap();
    assert!(history.notes.is_empty(), "{:?}", history.notes);
    history.rows
}

/// A run after the first one.
struct Morning {
    code: Option<i32>,
    stderr: String,
    folder: PathBuf,
}

impl Morning {
    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap()
    }

    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        self
    }
}

/// Runs the suite again.
fn again(suite: &Suite, arguments: &[&str]) -> Morning {
    let command = ["run", "case.toml", "--out", "reports", "--gate"];
    let output = suite.hotlap(&[&command, arguments].concat());
    let runs = fs::read_dir(suite.path().join("reports/case/runs")).unwrap();
    let folder = runs.map(|entry| entry.unwrap().path()).max().unwrap();
    Morning {
        code: output.status.code(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        folder,
    }
}

/// The text of a command that must succeed.
#[track_caller]
fn says(suite: &Suite, arguments: &[&str]) -> String {
    let output = suite.hotlap(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// The nights of November 2020, like the first of these rows, with this peak RSS.
fn november(like: &[HistoryRow], peak: impl Fn(u32) -> f64) -> Vec<HistoryRow> {
    let nights = (1..=30).flat_map(|day| {
        like.iter().map(move |row| HistoryRow {
            run: hotlap::ids::RunId(format!("2020-11-{day:02}T190500Z-00000{day:02}")),
            time: format!("2020-11-{day:02}T19:05:00Z"),
            revision: Some(format!("00000{day:02}")),
            ..row.clone()
        })
    });
    let mut rows: Vec<HistoryRow> = nights.collect();
    for row in &mut rows {
        let day = row.time[8..10].parse().unwrap();
        if let Some(figure) = row.figure.as_mut()
            && figure.column == "rss_peak_bytes"
        {
            // Less than a percent up and down.
            figure.median = peak(day) * (1.0 + f64::from(day % 3) / 400.0);
        }
    }
    rows
}

/// A suite with one real run, its rows, and made-up nights before it in the place of them.
fn after(peak: impl Fn(u32, f64) -> f64) -> Suite {
    let first = suite().run().exits(0).suite;
    let own = rows(&first);
    let seen = own.iter().find_map(|row| {
        let figure = row.figure.as_ref()?;
        (figure.column == "rss_peak_bytes").then_some(figure.median)
    });
    let seen = seen.unwrap();
    fs::remove_file(path(&first)).unwrap();
    let before = november(&own, |day| peak(day, seen));
    store::append_history(&path(&first), &before).unwrap();
    // The real one is no night of these tests.
    fs::remove_dir_all(first.run_folder().unwrap()).unwrap();
    first
}

#[test]
fn each_whole_run_adds_its_night_and_a_failed_cell_is_a_gap_with_its_reason() {
    let suite = suite().server("dies", &["false"], "").run().exits(3).suite;
    let own = rows(&suite);
    let failed: Vec<&HistoryRow> = own.iter().filter(|row| row.figure.is_none()).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].state, "failed");
    assert!(!failed[0].reason.is_empty());
    let columns: Vec<&str> = own
        .iter()
        .filter_map(|row| Some(row.figure.as_ref()?.column.as_str()))
        .collect();
    for wanted in [
        "requests_per_second",
        "latency_p50_ns",
        "rss_peak_bytes",
        "startup_ns",
    ] {
        assert!(columns.contains(&wanted), "{columns:?}");
    }
    let before = fs::read_to_string(path(&suite)).unwrap();
    let second = again(&suite, &[]).exits(3);
    let after = fs::read_to_string(path(&suite)).unwrap();
    assert!(after.starts_with(&before), "nothing is rewritten");
    assert_eq!(rows(&suite).len(), 2 * own.len());
    assert!(
        second
            .read("report.md")
            .contains("2 nights on this machine")
    );
    // Made again, a report adds nothing; and what is narrowed is no night.
    says(&suite, &["report", second.folder.to_str().unwrap()]);
    let narrowed = again(&suite, &["--only", "server=still"]).exits(0);
    assert_eq!(fs::read_to_string(path(&suite)).unwrap(), after);
    assert!(!narrowed.read("report.md").contains("Over the nights"));
    let held = "this run is no night of the history";
    assert!(narrowed.read("report.md").contains(held));

    let shown = says(&suite, &["history", "case"]);
    assert!(shown.starts_with("case: 2 nights, "), "{shown}");
    assert!(shown.contains("\ndies@steady\n"), "{shown}");
    assert!(shown.contains("· failed: "), "{shown}");
    assert!(shown.contains(&failed[0].reason), "{shown}");
    assert!(shown.contains("2 of the 10 nights"), "{shown}");
    let only = says(
        &suite,
        &["history", "reports/case", "--only", "server=still"],
    );
    assert!(!only.contains("dies"), "{only}");
    let csv = says(
        &suite,
        &["history", "case.toml", "--out", "reports", "--csv"],
    );
    assert_eq!(csv, after);
}

#[test]
fn memory_that_grew_opens_the_report_of_the_night_that_made_sure_and_fells_its_gate() {
    // The last three made-up nights are as this one is; those before had less.
    let suite = after(|day, seen| if day <= 27 { seen / 1.4 } else { seen });
    let second = again(&suite, &[]).exits(3);
    let markdown = second.read("report.md");
    let opening = markdown.split("\n## ").next().unwrap();
    assert!(opening.contains("New tonight"), "{opening}");
    let grew = Between::new("peak RSS grew **", " %**");
    assert!((37.0..44.0).contains(&grew.number(opening)), "{opening}");
    let between = "between 0000027 and an unknown revision";
    assert!(!opening.contains(between), "{opening}");
    let between = "between 0000027 and 0000028 (2020-11-27 to 2020-11-28): worse";
    assert!(opening.contains(between), "{opening}");
    let nights = "## Over the nights\n\n31 nights on this machine";
    assert!(markdown.contains(nights), "{markdown}");
    let line = "gate fell: still: rss_peak no new change for the worse: ×1.";
    assert!(second.stderr.contains(line), "{}", second.stderr);
    let json: serde_json::Value = serde_json::from_str(&second.read("report.json")).unwrap();
    let series = json["history"]["series"].as_array().unwrap();
    let memory = series
        .iter()
        .find(|one| one["metric"] == "rss_peak_bytes")
        .unwrap();
    assert_eq!(memory["changes"][0]["new"], true, "{memory}");
    assert_eq!(memory["changes"][0]["after"]["revision"], "0000028");

    // The next night finds it again, and it is not new.
    let third = again(&suite, &[]).exits(0);
    let later = third.read("report.md");
    let opening = later.split("\n## ").next().unwrap();
    assert!(!opening.contains("peak RSS grew"), "{opening}");
    assert!(later.contains("peak RSS grew **"), "{later}");
    // The report of the night before is made again without the night after it.
    says(&suite, &["report", second.folder.to_str().unwrap()]);
    assert_eq!(second.read("report.md"), markdown);

    let shown = says(&suite, &["history", "case"]);
    assert!(
        shown.starts_with("case: 32 nights, 2020-11-01 to "),
        "{shown}"
    );
    assert!(shown.contains("2020-11-28  peak RSS grew "), "{shown}");
    let line = shown
        .lines()
        .find(|line| line.contains("peak RSS  "))
        .unwrap();
    assert!(line.contains('|'), "{line}");
    let json = says(
        &suite,
        &["history", "case", "--json", "--metric", "rss_peak"],
    );
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["series"].as_array().unwrap().len(), 1);
    assert_eq!(json["series"][0]["nights"].as_array().unwrap().len(), 32);
    assert_eq!(json["series"][0]["changes"][0]["word"], "worse");
}

/// A number between two texts.
struct Between(&'static str, &'static str);

impl Between {
    fn new(before: &'static str, after: &'static str) -> Self {
        Self(before, after)
    }

    fn number(&self, text: &str) -> f64 {
        let text = text.replace('\u{a0}', " ");
        let (_, rest) = text.split_once(self.0).unwrap();
        rest.split_once(self.1).unwrap().0.parse().unwrap()
    }
}

#[test]
fn quiet_nights_hold_their_gate_and_another_configuration_is_a_new_series() {
    let suite = after(|_, seen| seen);
    let second = again(&suite, &[]).exits(0);
    assert!(
        second.stderr.contains("the only gate held"),
        "{}",
        second.stderr
    );
    assert!(
        second
            .read("report.md")
            .contains("31 nights on this machine, this one included")
    );
    // What git left at a conflict is no night, and whoever reads the page is told.
    let history = path(&suite);
    let nights = fs::read_to_string(&history).unwrap();
    fs::write(&history, format!("{nights}<<<<<<< HEAD\n")).unwrap();
    // The same cell with another configuration.
    let file = suite.path().join("case.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("requests = 20", "requests = 21")).unwrap();
    let third = again(&suite, &[]).exits(0);
    let begins = "a new series begins with this night (configuration changed)";
    let report = third.read("report.md");
    assert!(report.contains(begins), "{report}");
    assert!(
        report.contains("of history.csv is no row, and is left out: git left it"),
        "{report}"
    );
    let shown = says(&suite, &["history", "case"]);
    assert!(shown.contains(": configuration changed)"), "{shown}");
    assert!(!shown.contains("peak RSS grew"), "{shown}");
}

#[test]
fn a_union_of_two_branches_reads_and_its_order_is_that_of_time() {
    let git = |folder: &std::path::Path, arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@t"]);
        let output = command
            .args(arguments)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let history = folder.join("reports/case/history.csv");
    let night = |day: u32| {
        let mut text = String::new();
        for column in ["rss_peak_bytes", "requests_per_second"] {
            let _ = writeln!(
                text,
                "2020-11-{day:02}T190500Z-a,2020-11-{day:02}T19:05:00Z,a,m,1,s@l#1,measured,,{column},{day},,,"
            );
        }
        text
    };
    let add = |text: &str| {
        let before = fs::read_to_string(&history).unwrap_or_default();
        fs::write(&history, before + text).unwrap();
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-qm", "night"]);
    };
    git(folder, &["init", "-qb", "main"]);
    fs::create_dir_all(history.parent().unwrap()).unwrap();
    fs::write(folder.join(".gitattributes"), "history*.csv merge=union\n").unwrap();
    let head = "run,time,revision,machine,hotlap,cell,state,reason,metric,median,low,high,bound\n";
    add(&format!("{head}{}", night(1)));
    git(folder, &["switch", "-qc", "other"]);
    add(&night(2));
    add(&night(4));
    git(folder, &["switch", "-q", "main"]);
    add(&night(3));
    git(folder, &["merge", "-q", "other", "-m", "both"]);
    let merged = store::read_history(&history).unwrap();
    assert_eq!((merged.rows.len(), merged.notes.len()), (8, 0));
    let csv = store::history_csv(&merged.rows).unwrap();
    let wanted: String = (1..=4).map(night).collect();
    assert_eq!(String::from_utf8(csv).unwrap(), format!("{head}{wanted}"));
}

#[test]
fn a_night_that_was_cut_off_is_a_gap_and_one_that_is_missing_can_be_added() {
    let suite = suite().run().exits(0).suite;
    let second = again(&suite, &[]).exits(0);
    // As if the power had failed between the last trial and the history.
    let whole = fs::read_to_string(path(&suite)).unwrap();
    let id = second
        .folder
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let cut_off = || {
        let id = format!("{id},");
        let kept = whole
            .split_inclusive('\n')
            .filter(|line| !line.starts_with(&id));
        fs::write(path(&suite), kept.collect::<String>()).unwrap();
    };
    cut_off();
    let output = suite.hotlap(&["history", "case"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("--add"), "{said}");
    says(&suite, &["history", "case", "--add"]);
    assert_eq!(fs::read_to_string(path(&suite)).unwrap(), whole);
    // A runner that was killed leaves a run without an end.
    cut_off();
    let record = second.folder.join("run.json");
    let mut json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
    json["end"] = serde_json::Value::Null;
    fs::write(&record, json.to_string()).unwrap();
    let shown = says(&suite, &["history", "case"]);
    let gap = "· incomplete: it still runs, or its runner was killed: 1 of 1 trials";
    assert!(shown.contains(gap), "{shown}");
}

#[test]
fn what_has_no_history_is_said_with_what_to_do() {
    let mut suite = suite().setting("repetitions", "1");
    suite = suite.run().exits(0).suite;
    for (arguments, wanted) in [
        (vec!["history", "nothing"], "has no night"),
        (
            vec!["history", "case.toml", "--metric", "errors"],
            "has no metric",
        ),
        (
            vec!["history", "case", "--only", "server"],
            "write the axis",
        ),
        (
            vec!["history", "case", "--json", "--csv"],
            "cannot be used with",
        ),
    ] {
        let output = suite.hotlap(&arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(wanted), "{said}");
    }
    let wrong = suite
        .toml("[[gates]]\nerrors = { history = true }")
        .run()
        .exits(2);
    assert!(
        wrong.stderr.contains("no history is kept of `errors`"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn what_adds_to_a_history_waits_for_no_run_that_does() {
    let suite = suite().run().exits(0).suite;
    let lock = store::lock_output(&suite.path().join("reports"), "other").unwrap();
    let refused = suite.hotlap(&["history", "case.toml", "--add"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(4), "{said}");
    let holder = format!("pid {} (suite other", std::process::id());
    assert!(said.contains(&holder), "{said}");
    // Who only looks disturbs nobody.
    assert!(suite.hotlap(&["history", "case.toml"]).status.success());
    drop(lock);
    assert!(
        suite
            .hotlap(&["history", "case.toml", "--add"])
            .status
            .success()
    );
}

#[test]
fn a_night_is_not_added_to_a_file_of_other_columns_and_not_lost() {
    let suite = suite().run().exits(0).suite;
    let ours = fs::read_to_string(path(&suite)).unwrap();
    let other = ours.replacen("run,time,", "run,time,branch,", 1);
    let other = other.replace('\n', ",\n");
    fs::write(path(&suite), &other).unwrap();
    let morning = again(&suite, &[]);
    assert!(
        morning
            .stderr
            .contains("its columns are not those of a history")
            && morning
                .stderr
                .contains("`hotlap history case --add` adds it"),
        "{}",
        morning.stderr
    );
    assert_eq!(fs::read_to_string(path(&suite)).unwrap(), other);
    // Once the file is moved away both nights are there again.
    fs::remove_file(path(&suite)).unwrap();
    assert!(
        suite
            .hotlap(&["history", "case.toml", "--add"])
            .status
            .success()
    );
    let runs: std::collections::BTreeSet<String> =
        rows(&suite).into_iter().map(|row| row.run.0).collect();
    assert_eq!(runs.len(), 2);
}
