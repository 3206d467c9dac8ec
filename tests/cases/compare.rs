//! Two runs of a suite beside each other: what people ask for by name, file and folder, and what is refused.

use crate::fixture::Behaviour;
use crate::kit::{Outcome, Suite};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folders of the suite's runs, oldest first.
fn runs(outcome: &Suite) -> Vec<PathBuf> {
    let runs = fs::read_dir(outcome.path().join("reports/case/runs")).unwrap();
    let mut all: Vec<PathBuf> = runs.map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn name(run: &Path) -> &str {
    run.file_name().unwrap().to_str().unwrap()
}

/// Five short trials of two servers, which wait longer than a busy machine makes them.
fn suite() -> Suite {
    let waits = Behaviour::good().taking(Duration::from_millis(3));
    Suite::new()
        .setting("repetitions", "5")
        .setting("warmup", "'0s'")
        .fixture("still", &waits)
        .fixture("changing", &waits)
        .load("steady", "connections = 1\nrequests = 20")
}

/// The text of a command that must succeed.
#[track_caller]
fn says(suite: &Suite, arguments: &[&str]) -> String {
    let output = suite.hotlap(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a command says that must be refused.
#[track_caller]
fn refused(suite: &Suite, arguments: &[&str]) -> String {
    let output = suite.hotlap(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    stderr
}

fn json(suite: &Suite, old: &str, new: &str) -> serde_json::Value {
    serde_json::from_str(&says(suite, &["compare", old, new, "--format", "json"])).unwrap()
}

/// Changes a text of a file.
fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from:?} is not in {}", path.display());
    fs::write(path, text.replace(from, to)).unwrap();
}

/// A run, and before it the same run as if it had been made long ago.
fn twice() -> Suite {
    let suite = once(suite());
    let new = runs(&suite).remove(0);
    copy(&new, &new.with_file_name(OLD));
    suite
}

/// The id of the run that is a copy.
const OLD: &str = "2001-01-01T000000Z-ab12cd3";

fn copy(run: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in [
        "run.json",
        "trials.jsonl",
        "samples.csv",
        "trials.csv",
        "report.json",
    ] {
        fs::copy(run.join(file), to.join(file)).unwrap();
    }
    let id = |run: &Path| format!("\"id\": \"{}\"", name(run));
    edit(&to.join("run.json"), &id(run), &id(to));
}

/// Puts what `new` is compared with into its folder.
fn keep(old: &Path, new: &Path) {
    let old = hotlap::store::open(old).unwrap();
    let baseline = hotlap::report::baseline(&hotlap::report::Input {
        run: &old.run,
        trials: &old.trials,
        readings: &old.readings,
        baseline: None,
        history: &[],
        notes: &[],
    });
    hotlap::store::write_baseline(&new.join("baseline.json"), &baseline).unwrap();
}

/// A run, whatever became of its trials.
fn once(suite: Suite) -> Suite {
    let Outcome {
        exit,
        stderr,
        suite,
        ..
    } = suite.run();
    assert!(matches!(exit, Some(0 | 1)), "{stderr}");
    suite
}

fn run_again(suite: &Suite, arguments: &[&str]) {
    let words = ["run", "case.toml", "--out", "reports"];
    let output = suite.hotlap(&[&words, arguments].concat());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{stderr}");
}

#[test]
fn a_run_with_a_baseline_says_what_has_become_of_it() {
    let suite = once(suite());
    let first = runs(&suite).remove(0);
    run_again(&suite, &["--baseline", "latest"]);
    let second = runs(&suite).remove(1);
    let stored = hotlap::store::read_baseline(&second.join("baseline.json")).unwrap();
    assert_eq!(stored.run.0, name(&first));
    assert_eq!(stored.cells.len(), 2);
    for cell in &stored.cells {
        assert_eq!(cell.values("requests_per_second").len(), cell.valid);
    }
    let report = fs::read_to_string(second.join("report.md")).unwrap();
    let section = report.find(&format!("## Since {}", name(&first))).unwrap();
    assert!(section < report.find("## Throughput").unwrap(), "{report}");
    assert!(report.contains("### Requests/s"), "{report}");
    // Its report is made from its own folder alone.
    fs::remove_dir_all(&first).unwrap();
    fs::remove_file(second.join("report.md")).unwrap();
    says(&suite, &["report", second.to_str().unwrap()]);
    assert_eq!(
        fs::read_to_string(second.join("report.md")).unwrap(),
        report
    );
    let made: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(second.join("report.json")).unwrap()).unwrap();
    assert_eq!(made["since"]["old"]["run"], name(&first));
    assert_eq!(made["since"]["same_machine"], true);
}

#[test]
fn a_server_that_became_slower_is_named() {
    // The same command: what it serves has changed beneath it.
    let waits = "import time\nWAIT = 0.003\n";
    let program = "
import os, time
from http.server import BaseHTTPRequestHandler, HTTPServer
import pace
class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    wbufsize = 65536
    def do_GET(self):
        time.sleep(pace.WAIT)
        self.send_response(200)
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'ok')
    def log_message(self, *_):
        pass
class Server(HTTPServer):
    request_queue_size = 64
Server(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
";
    if crate::kit::without_python() {
        return;
    }
    let suite = Suite::new()
        .setting("repetitions", "5")
        .setting("warmup", "'0s'")
        .file("pace.py", waits)
        .python("plain", program, "env.PYTHONDONTWRITEBYTECODE = '1'")
        .load("steady", "connections = 1\nrequests = 30");
    let suite = once(suite);
    edit(
        &suite.path().join("pace.py"),
        "WAIT = 0.003",
        "WAIT = 0.012",
    );
    run_again(&suite, &["--baseline", "previous"]);
    let said = says(&suite, &["compare", "previous", "latest"]);
    assert!(said.contains("fewer** ("), "{said}");
    assert!(said.contains(": worse."), "{said}");
    assert!(said.contains("latency p50"), "{said}");
    let turned = json(&suite, "latest", name(&runs(&suite)[0]));
    let rate = &turned["cells"][0]["metrics"]["requests_per_second"];
    assert_eq!(rate["verdict"], "better");
    assert!(rate["ratio"].as_f64().unwrap() > 1.5, "{rate}");
    assert!(turned["cautions"].to_string().contains("began before"));
}

#[test]
fn a_run_is_meant_by_its_id_its_folder_and_its_files() {
    let suite = twice();
    let all = runs(&suite);
    let (old, new) = (&all[0], &all[1]);
    keep(old, new);
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    let wanted = json(&suite, name(old), name(new));
    for (a, b) in [
        (text(old.clone()), text(new.clone())),
        (text(old.join("run.json")), "latest".to_owned()),
        (text(new.join("baseline.json")), name(new).to_owned()),
        ("previous".to_owned(), "latest".to_owned()),
    ] {
        assert_eq!(json(&suite, &a, &b), wanted, "{a} {b}");
    }
    says(&suite, &["report", name(old), "--as-baseline", "kept.json"]);
    says(&suite, &["report", name(old), "--as-baseline", "kept.json"]);
    // What is no baseline is somebody's.
    fs::write(suite.path().join("notes.json"), "{}\n").unwrap();
    let refused = suite.hotlap(&["report", name(old), "--as-baseline", "notes.json"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(
        fs::read_to_string(suite.path().join("notes.json")).unwrap(),
        "{}\n"
    );
    assert_eq!(json(&suite, "kept.json", "latest"), wanted);
    // What is committed of a run are its tables; it is known by its id still.
    for file in ["run.json", "trials.jsonl", "samples.csv", "report.json"] {
        fs::remove_file(old.join(file)).unwrap();
    }
    for a in [
        name(old).to_owned(),
        text(old.clone()),
        text(old.join("trials.csv")),
    ] {
        let got = json(&suite, &a, "latest");
        assert_eq!(got["same_machine"], serde_json::Value::Null);
        for at in 0..2 {
            let (got, wanted) = (
                &got["cells"][at]["metrics"],
                &wanted["cells"][at]["metrics"],
            );
            let rate = &got["requests_per_second"];
            assert_eq!(rate["no_verdict"], "machine");
            for metric in ["requests_per_second", "rss_peak", "latency_p50"] {
                assert_eq!(got[metric]["ratio"], wanted[metric]["ratio"], "{metric}");
                assert_eq!(got[metric]["old"], wanted[metric]["old"], "{metric}");
            }
        }
    }
    let said = says(&suite, &["compare", name(old), "latest"]);
    assert!(said.contains("**Machine not known**"), "{said}");
}

#[test]
fn another_machine_and_a_changed_configuration_have_no_verdict() {
    let suite = twice();
    let all = runs(&suite);
    edit(
        &all[0].join("run.json"),
        "\"kernel\": \"Linux",
        "\"kernel\": \"Minix",
    );
    let got = json(&suite, name(&all[0]), name(&all[1]));
    assert_eq!(got["same_machine"], false);
    assert_eq!(got["machine_differs"][0]["name"], "kernel");
    assert_eq!(
        got["cells"][0]["metrics"]["rss_peak"]["no_verdict"],
        "machine"
    );
    let file = suite.path().join("case.toml");
    edit(
        &file,
        "[servers.changing]",
        "[servers.changing]\nenv.EXTRA = '1'",
    );
    run_again(&suite, &["--baseline", "latest"]);
    let said = says(&suite, &["compare", "previous", "latest"]);
    assert!(
        said.contains("- **changing**: the environment of server (EXTRA)"),
        "{said}"
    );
    assert!(said.contains("The suite file has changed"), "{said}");
    let got = json(&suite, "previous", "latest");
    let cells = got["cells"].as_array().unwrap();
    let changing = cells
        .iter()
        .find(|cell| cell["title"] == "changing")
        .unwrap();
    assert_eq!(changing["metrics"]["rss_peak"]["no_verdict"], "changed");
    let still = cells.iter().find(|cell| cell["title"] == "still").unwrap();
    assert_eq!(still["configuration_changed"], serde_json::Value::Null);
}

#[test]
fn cells_of_one_side_only_are_listed() {
    let suite = twice();
    edit(
        &suite.path().join("case.toml"),
        "[servers.changing]",
        "[servers.other]",
    );
    run_again(&suite, &["--baseline", "latest"]);
    let all = runs(&suite);
    let report = fs::read_to_string(all[2].join("report.md")).unwrap();
    let row = |title: &str, run: &Path| format!("| {title} | only in {} |", name(run));
    assert!(report.contains(&row("changing", &all[1])), "{report}");
    assert!(report.contains(&row("other", &all[2])), "{report}");
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_starts() {
    let suite = twice();
    let all = runs(&suite);
    let run = |word: &str| {
        let said = refused(
            &suite,
            &["run", "case.toml", "--out", "reports", "--baseline", word],
        );
        assert_eq!(runs(&suite).len(), all.len(), "{word}: a run was begun");
        said
    };
    assert!(run("2001-01-01T000000Z").contains("no run"));
    assert!(run("case.toml").contains("case.toml is no run"));
    assert!(run("tmp").contains("neither run.json nor trials.csv"));
    fs::write(suite.path().join("newer.json"), "{\"format\": 99}").unwrap();
    assert!(run("newer.json").contains("a newer hotlap wrote it"));
    let report = all[0].join("report.json");
    assert!(run(report.to_str().unwrap()).contains("is not what hotlap wrote"));
    let other = suite.path().join("reports/other/runs/2026-01-01T000000Z");
    copy(&all[0], &other);
    edit(
        &other.join("run.json"),
        "\"suite\": \"case\"",
        "\"suite\": \"other\"",
    );
    let said = run(other.to_str().unwrap());
    assert!(
        said.contains("only runs of one suite are compared"),
        "{said}"
    );
    let said = refused(&suite, &["compare", other.to_str().unwrap(), name(&all[0])]);
    assert!(said.contains("\"other\""), "{said}");
    let said = refused(
        &suite,
        &["run", "case.toml", "--resume", "--baseline", "latest"],
    );
    assert!(said.contains("--baseline"), "{said}");
}

#[test]
fn a_run_that_is_not_complete_is_never_the_latest_and_is_marked() {
    let suite = twice();
    let all = runs(&suite);
    edit(
        &all[1].join("run.json"),
        "\"end\": \"complete\"",
        "\"end\": \"interrupted\"",
    );
    run_again(&suite, &["--baseline", "latest"]);
    let newest = runs(&suite).remove(2);
    let stored = hotlap::store::read_baseline(&newest.join("baseline.json")).unwrap();
    assert_eq!(stored.run.0, name(&all[0]));
    let said = says(&suite, &["compare", name(&all[1]), "latest"]);
    assert!(said.contains("**Not complete**"), "{said}");
}

#[test]
fn a_metric_that_is_unknown_or_in_another_unit_is_refused() {
    let suite = twice();
    let all = runs(&suite);
    keep(&all[0], &all[1]);
    let file = all[1].join("baseline.json");
    let text = fs::read_to_string(&file).unwrap();
    for (from, to, wanted) in [
        (
            "\"rss_peak_bytes\"",
            "\"rss_peak_kib\"",
            "\"rss_peak_bytes\"",
        ),
        ("\"startup_ns\"", "\"startup_ms\"", "\"startup_ns\""),
        ("\"cpu_s\"", "\"goodness_count\"", "no metric"),
    ] {
        fs::write(suite.path().join("odd.json"), text.replace(from, to)).unwrap();
        let said = refused(&suite, &["compare", "odd.json", "latest"]);
        assert!(said.contains(wanted), "{said}");
    }
    // The folder's own is no better: a report of nonsense is not made.
    fs::write(&file, text.replace("\"startup_ns\"", "\"startup_ms\"")).unwrap();
    assert!(refused(&suite, &["report", "latest"]).contains("\"startup_ns\""));
}

#[test]
fn a_report_can_be_compared_for_once() {
    let suite = twice();
    let plain = says(&suite, &["report", "latest", "--format", "md", "--stdout"]);
    let with = [
        "report",
        "latest",
        "--format",
        "md",
        "--stdout",
        "--baseline",
        "previous",
    ];
    let compared = says(&suite, &with);
    assert!(
        !plain.contains("## Since") && compared.contains("## Since"),
        "{compared}"
    );
    assert!(!runs(&suite)[1].join("baseline.json").exists());
}

#[test]
fn a_resumed_run_keeps_what_it_is_compared_with() {
    let suite = twice();
    let all = runs(&suite);
    keep(&all[0], &all[1]);
    let file = all[1].join("trials.jsonl");
    let lines = fs::read_to_string(&file).unwrap();
    let kept: Vec<&str> = lines.lines().take(9).collect();
    fs::write(&file, format!("{}\n", kept.join("\n"))).unwrap();
    edit(
        &all[1].join("run.json"),
        "\"end\": \"complete\"",
        "\"end\": \"interrupted\"",
    );
    run_again(&suite, &["--resume"]);
    assert_eq!(runs(&suite).len(), 2);
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 10);
    let report = fs::read_to_string(all[1].join("report.md")).unwrap();
    assert!(report.contains(&format!("## Since {OLD}")), "{report}");
}
