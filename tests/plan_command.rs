//! What `check` and `plan` show of a suite, and what a run says of cells that ask for more than this
//! version carries out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const SUITE: &str = r#"
title = "A tree"
[run]
repetitions = 2
warmup = "0s"
rest = "0s"
cooldown = "0s"
seed = 7
[tools.no-such-tool]
install = "make no-such-tool"
[servers.demo]
label = "The demo"
command = "hotlap serve"
env = { WHO = "{{ server }}", TOKEN = "{{ env.HOME }}" }
[servers.absent]
command = "true"
requires = ["no-such-tool"]
[servers.many]
front = "proxy"
[servers.many.processes.app]
command = "app --port {{ port }}"
count = 2
[servers.many.processes.proxy]
command = "proxy {{ ports['app'] | join(' ') }}"
needs = ["app"]
[toggles.mode]
servers = ["demo"]
values = ["on", "off"]
args = "--delay={{ '1ms' if value == 'on' else '0ms' }}"
[[overrides]]
when = { server = "many" }
set.http = "2"
set.keep_alive = false
[loads.steady]
requests = 100
connections = 2
[loads.paced]
rate = 50
duration = "300ms"
generator = "vegeta"
headers.Accept = "text/plain"
[[gates]]
latency_p99 = { max = "20ms" }
errors = { max = "0.1%" }
"#;

struct Case(TempDir);

impl Case {
    fn new(suite: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("case.toml"), suite).unwrap();
        Self(folder)
    }

    fn hotlap(&self, arguments: &[&str]) -> (Output, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_hotlap"))
            .args(arguments)
            .current_dir(self.0.path())
            .env("HOTLAP_LOCK_DIR", self.0.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let out = String::from_utf8(output.stdout.clone()).unwrap();
        let err = String::from_utf8(output.stderr.clone()).unwrap();
        (output, out, err)
    }
}

#[track_caller]
fn has(text: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(text.contains(piece), "{piece}\nis not in\n{text}");
    }
}

#[test]
fn a_plan_is_a_tree_with_times_skips_and_the_order() {
    let case = Case::new(SUITE);
    let (output, text, _) = case.hotlap(&["plan", "case.toml"]);
    assert_eq!(output.status.code(), Some(0));
    has(
        &text,
        &[
            "A tree\ncase: 6 cells (2 more skipped), 12 trials, about ",
            "4 of these will be skipped: this version of hotlap does not carry out all",
            "The demo\n│  $ hotlap serve --delay=1ms\n├─ mode=on\n│  ├─ @steady 2 × 100 requests on 2 connections, about ",
            "│  └─ @paced 2 × 300ms at 50/s on up to 1000 connections by vegeta, about ",
            "  (baseline)  [1]\n└─ mode=off\n   ├─ @steady ",
            "absent\n│  $ true\n└─ @steady @paced skipped: no-such-tool is not on the PATH; make no-such-tool\n",
            "[1] this version of hotlap does not carry out loads by `vegeta`\n",
            "[2] this version of hotlap does not carry out connections of HTTP/2 for one request each (`keep_alive = false`)\n",
            "steady: 3 cells, 6 trials, about ",
            "need at least 8 trials a cell to name one difference; there are cells with 2",
            "8 trials a cell would find a change of 4.0 %",
            "Order (rounds, each shuffled; seed 7):\n    1  ",
        ],
    );
    let turns = text.lines().filter(|line| line.starts_with("    ")).count();
    assert_eq!(turns, 12, "{text}");
    assert!(!case.0.path().join("reports").exists());
}

#[test]
fn one_cell_is_shown_whole() {
    let case = Case::new(SUITE);
    let (output, text, _) = case.hotlap(&["plan", "case.toml", "--cell", "server=many,load=paced"]);
    assert_eq!(output.status.code(), Some(0));
    has(
        &text,
        &[
            "many@paced#",
            "skipped    this version of hotlap does not carry out connections of HTTP/2 for one request each (`keep_alive = false`), open loops over HTTP/2, loads by `vegeta`",
            "process    app, 2 of it, beside it",
            "command  app --port {{ port }}",
            "ready    its port takes a connection within 30s",
            "process    proxy, loaded",
            "command  proxy {{ ports[\"app\"][0] }} {{ ports[\"app\"][1] }}",
            "needs    app",
            "ready      GET / gives any answer but 502, 503 and 504 within 30s",
            "headers  Accept: text/plain",
            "sends      300ms at 50/s on up to 1000 connections by vegeta, warm-up 0s, time-out 10s",
            "gates      latency_p99 at most 20.0 ms\n             errors at most 0.1 %",
        ],
    );
    let (_, text, _) = case.hotlap(&["plan", "case.toml", "--cell", "demo/mode=off@steady"]);
    has(
        &text,
        &[
            "baseline   demo/mode=on@steady",
            "command  hotlap serve --delay=0ms",
            "env      PORT={{ port }}\n             WHO=demo\n             TOKEN={{ env.HOME }}\n",
        ],
    );
    let (output, _, error) = case.hotlap(&["plan", "case.toml", "--cell", "server=demo"]);
    assert_eq!(output.status.code(), Some(2));
    has(
        &error,
        &["`server=demo` is more than one cell", "demo/mode=off@paced"],
    );
    let (output, _, error) = case.hotlap(&["plan", "case.toml", "--cell", "server=dmo"]);
    assert_eq!(output.status.code(), Some(2));
    has(&error, &["no cell is `server=dmo`"]);
}

#[test]
fn the_json_of_a_plan_has_every_cell_and_every_trial() {
    let case = Case::new(SUITE);
    let (_, text, _) = case.hotlap(&["plan", "case.toml", "--json", "--skip", "load=paced"]);
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let plan = &all[0];
    assert_eq!(plan["format"], 1);
    assert_eq!(plan["suite"], "case.toml");
    assert_eq!(plan["loads"][0]["load"], "steady");
    let cells = plan["spec"]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    assert_eq!(cells[2]["skip"]["install"], "make no-such-tool");
    assert_eq!(cells[0]["beyond"], serde_json::Value::Null);
    assert!(cells[3]["beyond"].as_str().unwrap().contains("HTTP/2"));
    let trials = plan["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 6);
    let known: Vec<&serde_json::Value> = cells.iter().map(|cell| &cell["id"]).collect();
    assert!(
        trials
            .iter()
            .all(|trial| known.contains(&&trial["trial"]["cell"]))
    );
    assert_eq!(trials[0]["round"], 1);
}

#[test]
fn a_run_skips_what_it_cannot_carry_out_and_says_so() {
    let case = Case::new(SUITE);
    let (output, _, error) = case.hotlap(&[
        "run",
        "case.toml",
        "--no-progress",
        "--skip",
        "server=absent",
    ]);
    assert_eq!(output.status.code(), Some(0), "{error}");
    has(
        &error,
        &[
            " gates fell; --gate makes that exit code 3",
            "skipped demo/mode=on@paced: this version of hotlap does not carry out loads by `vegeta`",
            "skipped many@steady: this version of hotlap does not carry out connections of HTTP/2 for one request each (`keep_alive = false`)",
        ],
    );
    let (output, _, error) = case.hotlap(&["run", "case.toml", "--only", "load=paced"]);
    assert_eq!(output.status.code(), Some(4), "{error}");
    has(
        &error,
        &[
            "demo: this version of hotlap",
            "no cell can run here; nothing was started",
        ],
    );
}

#[test]
fn a_long_order_is_shown_by_its_first_round() {
    let values: Vec<String> = (0..60).map(|value| value.to_string()).collect();
    let mut suite = String::from("[servers.a]\ncommand = \"true\"\n[loads.l]\n[toggles.t]\n");
    writeln!(suite, "values = [{}]", values.join(", ")).unwrap();
    let case = Case::new(&suite);
    let (_, text, _) = case.hotlap(&["plan", "case.toml"]);
    let turns = text
        .lines()
        .filter(|line| line.starts_with("    1  "))
        .count();
    assert_eq!(turns, 60, "{text}");
    has(
        &text,
        &["540 more trials in 10 rounds; --json has them all"],
    );
}

#[test]
fn a_folder_that_is_not_there_is_warned_of_skipped_and_refused() {
    let case = Case::new(
        "[servers.a]\ncommand = \"true\"\ncwd = \"apps/{{ toggles.t }}\"\n[servers.b]\ncommand = \"true\"\ncwd = \"apps/b\"\n\
         [toggles.t]\nservers = [\"a\"]\nvalues = [\"x\"]\n[loads.l]\n",
    );
    let (output, _, error) = case.hotlap(&["check", "case.toml"]);
    assert_eq!(output.status.code(), Some(0), "{error}");
    has(
        &error,
        &[
            "there is no folder apps/b",
            "case.toml:6:7",
            "`a` cannot run in apps/x",
            "2 cells, no errors",
        ],
    );
    let (output, _, _) = case.hotlap(&["check", "--strict", "case.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let (output, text, _) = case.hotlap(&["plan", "case.toml"]);
    assert_eq!(output.status.code(), Some(0));
    has(
        &text,
        &[
            "skipped: there is no folder apps/x",
            "skipped: there is no folder apps/b",
        ],
    );
    let (output, _, error) = case.hotlap(&["run", "case.toml"]);
    assert_eq!(output.status.code(), Some(2));
    has(
        &error,
        &[
            "the server `a` runs in apps/x",
            "2 errors; nothing was started",
        ],
    );
}

#[test]
fn no_word_of_a_suite_is_obeyed_by_the_terminal() {
    let case = Case::new(
        "title = \"a\\u001b]0;evil\\u0007\"\n[run]\nrepetitions = 1\nwarmup = \"0s\"\nrest = \"0s\"\ncooldown = \"0s\"\n\
         [servers.a]\ncommand = \"hotlap serve\"\nbuild = [\"true \\u001b[31mred \\u009b2J\"]\n[loads.l]\nrequests = 5\n",
    );
    for arguments in [
        &["check", "case.toml"][..],
        &["plan", "case.toml"],
        &["plan", "case.toml", "--cell", "server=a"],
        &["run", "case.toml", "--no-progress"],
        &["list"],
    ] {
        let (_, out, error) = case.hotlap(arguments);
        let obeyed = |c: char| c.is_control() && c != '\n';
        assert!(
            !out.contains(obeyed) && !error.contains(obeyed),
            "{out:?}\n{error:?}"
        );
    }
}

#[test]
fn pilots_are_shown_with_the_least_and_the_most_that_they_take() {
    let case = Case::new(
        "[run]\nrepetitions = 2\nrest = \"0s\"\ncooldown = \"0s\"\n[servers.a]\ncommand = \"true\"\n\
         [servers.b]\ncommand = \"true\"\n[loads.l]\nduration = \"10s\"\n[loads.m]\nduration = \"10s\"\nwarmup = \"0s\"\n",
    );
    let (output, out, _) = case.hotlap(&["plan", "case.toml"]);
    assert_eq!(output.status.code(), Some(0), "{out}");
    // Two pilots of 10.7 s, four trials of 15.7 s and four of 10.7 s; then of 60.7, 70.7 and 10.7 s.
    for line in [
        "case: 4 cells, 8 trials after 2 pilots, about 2 m 07 s, up to 7 m 27 s",
        "2 pilots, about 21.4 s, up to 2 m 01 s: how long to warm up is not written, and is found to be 5s to 60s",
    ] {
        assert!(out.contains(line), "{line} is not in {out}");
    }
    let (_, json, _) = case.hotlap(&["plan", "case.toml", "--json"]);
    let plan: serde_json::Value = serde_json::from_str(&json).unwrap();
    let pilots = &plan[0]["pilots"];
    assert_eq!(pilots["cells"], 2);
    assert_eq!(pilots["estimated_ns"], 21_400_000_000_u64);
    assert_eq!(pilots["most_ns"], 121_400_000_000_u64);
    assert_eq!(plan[0]["estimated_ns"], 127_000_000_000_u64);
    assert_eq!(plan[0]["most_ns"], 447_000_000_000_u64);
    let (_, cell, _) = case.hotlap(&["plan", "case.toml", "--cell", "a@l"]);
    assert!(cell.contains("a warm-up that pilots find"), "{cell}");
}
