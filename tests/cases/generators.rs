//! Loads by programs that other people wrote: what is recorded is what the server counted itself, and
//! what such a program keeps quiet about is said all the same.

use crate::fixture::{Behaviour, KEPT, status};
use crate::kit::{Outcome, PATIENCE, Suite, missing, skipped, until};
use hotlap::generator::{Missing, Tool, find};
use hotlap::process::GuardProgram;
use hotlap::record::{Load, Outcome as Verdict, Step, Trial};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All of them, with the arguments that make them name themselves.
const TOOLS: [(&str, &str); 4] = [
    ("ab", "-V"),
    ("bombardier", "--version"),
    ("autocannon", "--version"),
    ("wrk", "-v"),
];

/// Those that can be asked for a number of requests.
const BY_NUMBER: [&str; 3] = ["ab", "bombardier", "autocannon"];

/// Requests of hotlap's own before a load by another generator: it is ready, it is right, it sends nothing unasked,
/// and it answers the same again.
const BEFORE: u64 = 4;
/// And one after it.
const OWN: u64 = BEFORE + 1;

/// Whether a generator is missing, said aloud.
fn without(tool: &str) -> bool {
    let (_, asks) = TOOLS.iter().find(|(name, _)| *name == tool).unwrap();
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let installed = home.join("go/bin").join(tool);
    let there = [PathBuf::from(tool), installed]
        .into_iter()
        .any(|program| Command::new(program).arg(asks).output().is_ok());
    !there && missing(&format!("there is no {tool} on the PATH"))
}

/// A server that keeps connections as each of them likes it.
fn good() -> Behaviour {
    Behaviour::answers(KEPT).polite()
}

/// The same answer with another body, or none.
fn kept(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nConnection: keep-alive\r\n\r\n{body}")
}

/// One server under one load by a tool, whose processes are known by the suite's mark.
fn suite(tool: &str, behaviour: &Behaviour, lines: &str) -> Suite {
    let suite = Suite::new();
    let folder = suite.path().display().to_string();
    suite
        .env("HOTLAP_CASE", &folder)
        .fixture("server", behaviour)
        .load("by-tool", &format!("generator = '{tool}'\n{lines}"))
}

/// So many requests without a warm-up, on four connections.
fn number(requests: u64) -> String {
    format!("requests = {requests}\nconnections = 4\nwarmup = '0s'")
}

const SECOND: &str = "duration = '1s'\nconnections = 4\nwarmup = '0s'";

/// A load that each of them can make.
fn any(tool: &str, requests: u64) -> String {
    if tool == "wrk" {
        SECOND.to_owned()
    } else {
        number(requests)
    }
}

/// A number that the server wrote.
fn counted(outcome: &Outcome, file: &str) -> u64 {
    let text = fs::read_to_string(outcome.suite.path().join(file)).unwrap();
    text.trim().parse().unwrap()
}

fn load(outcome: &Outcome) -> Load {
    outcome.valid("server").load.unwrap()
}

/// Why the only trial has no figure that counts.
#[track_caller]
fn reason(outcome: &Outcome) -> String {
    match outcome.trial("server").outcome {
        Verdict::Valid => panic!("it is valid: {:?}", outcome.trial("server").load),
        Verdict::Invalid { reasons } => reasons.join("\n"),
        Verdict::Failed { reason, .. } => reason,
    }
}

/// What a cell was skipped for.
#[track_caller]
fn skip(outcome: &Outcome) -> String {
    assert!(outcome.suite.run_folder().is_none());
    outcome.stderr.clone()
}

fn requests_are_the_servers(tool: &str) {
    if without(tool) {
        return;
    }
    let outcome = suite(tool, &good().counting_in("count"), &number(200))
        .run()
        .exits(0);
    let load = load(&outcome);
    assert_eq!(load.counts.succeeded, 200, "{load:?}");
    assert_eq!(load.counts.sent, 200);
    assert_eq!(counted(&outcome, "count"), OWN + 200);
    assert!(load.window_ns > 0 && load.service.is_none());
    assert!(load.generator.to_lowercase().starts_with(match tool {
        "ab" => "apachebench 2",
        other => other,
    }));
    let row = &outcome.csv("trials.csv")[0];
    let rate: f64 = row["requests_per_second"].parse().unwrap();
    assert!((rate * load.window_ns as f64 / 1e9 - 200.0).abs() < 1e-3);
}

#[test]
fn ab_counts_what_the_server_counts() {
    requests_are_the_servers("ab");
}

#[test]
fn bombardier_counts_what_the_server_counts() {
    requests_are_the_servers("bombardier");
}

#[test]
fn autocannon_counts_what_the_server_counts() {
    requests_are_the_servers("autocannon");
}

fn seconds_are_the_servers(tool: &str) {
    if without(tool) {
        return;
    }
    let lines = "duration = '1s'\nconnections = 4\nwarmup = '1s'";
    let outcome = suite(tool, &good().counting_in("count"), lines)
        .run()
        .exits(0);
    let load = load(&outcome);
    let told = OWN + load.warmup_requests + load.counts.succeeded;
    let served = counted(&outcome, "count");
    // Each connection of the warm-up and of the load may have a request whose end nobody waited for.
    assert!(
        (told..=told + 8).contains(&served),
        "{served} served, {told} told: {load:?}"
    );
    assert!(load.warmup_requests > 0);
    assert!(load.window_ns >= 950_000_000, "{load:?}");
}

#[test]
fn ab_by_time_counts_what_the_server_counts() {
    seconds_are_the_servers("ab");
}

#[test]
fn bombardier_by_time_counts_what_the_server_counts() {
    seconds_are_the_servers("bombardier");
}

#[test]
fn autocannon_by_time_counts_what_the_server_counts() {
    seconds_are_the_servers("autocannon");
}

#[test]
fn wrk_by_time_counts_what_the_server_counts() {
    seconds_are_the_servers("wrk");
}

#[test]
fn autocannon_is_timed_to_its_last_answer() {
    // It looks for its end at every sample: of a second each, whatever the load took.
    if without("autocannon") {
        return;
    }
    let server = good().taking(std::time::Duration::from_millis(1));
    let outcome = suite("autocannon", &server, &number(8)).run().exits(0);
    let load = load(&outcome);
    let beginning = fs::read_to_string(log(&outcome, "autocannon.load.out")).unwrap();
    assert!(beginning.contains("\"sampleInt\":10,"), "{beginning}");
    assert_eq!(load.counts.succeeded, 8);
}

/// A file that a generator's output went to.
fn log(outcome: &Outcome, name: &str) -> PathBuf {
    let mut folders = vec![outcome.suite.run_folder().unwrap().join("logs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if entry.file_name() == name {
                return entry.path();
            }
        }
    }
    panic!("there is no {name}")
}

#[test]
fn a_server_that_turns_to_404_has_no_figure() {
    for tool in BY_NUMBER {
        if without(tool) {
            continue;
        }
        // Right before and after, so that only what the generator counts can tell.
        let server = good()
            .from(
                BEFORE + 21,
                &status(404).replace("\r\n\r\n", "\r\nConnection: keep-alive\r\n\r\n"),
            )
            .until(BEFORE + 51);
        let outcome = suite(tool, &server, &number(200)).run().exits(1);
        let (trial, reasons) = outcome.invalid("server");
        let load = trial.load.unwrap();
        assert_eq!(
            (load.counts.succeeded, load.counts.failed),
            (170, 30),
            "{tool}: {load:?}"
        );
        assert!(reasons.contains("30 of 200"), "{tool}: {reasons}");
        assert!(load.told.is_none(), "times of failures are no latencies");
    }
}

#[test]
fn a_server_that_stays_at_404_has_no_figure() {
    for (tool, _) in TOOLS {
        if without(tool) {
            continue;
        }
        let server = good().from(BEFORE + 1, &status(404)).breaking();
        let outcome = suite(tool, &server, &any(tool, 100)).run().exits(1);
        let reason = reason(&outcome);
        assert!(
            reason.contains("no request succeeded") && reason.contains("unexpected status"),
            "{tool}: {reason}"
        );
        assert!(outcome.cell("server")["metrics"]["requests_per_second"]["median"].is_null());
    }
}

#[test]
fn a_server_that_turns_bad_at_the_end_is_found_out_after_it() {
    // The last answer that a generator waits for is good, and the one after it is not.
    if without("ab") {
        return;
    }
    let server = good().from(BEFORE + 101, &status(500));
    let outcome = suite("ab", &server, &number(100)).run().exits(1);
    let (_, reason, _) = outcome.failed("server", Step::Load);
    assert!(
        reason.contains("after the load") && reason.contains("500"),
        "{reason}"
    );
}

#[test]
fn a_server_that_dies_under_load_is_told_as_that() {
    for (tool, _) in TOOLS {
        if without(tool) {
            continue;
        }
        let server = good().ends_at(BEFORE + 50, "3");
        let outcome = suite(tool, &server, &any(tool, 5000)).run().exits(1);
        let (_, reason, tail) = outcome.failed("server", Step::Load);
        assert!(reason.contains("exited with 3"), "{tool}: {reason}");
        assert!(tail.contains("the end has come"), "{tool}: {tail}");
    }
}

#[test]
fn a_server_that_is_dead_on_arrival_is_not_loaded() {
    if without("ab") {
        return;
    }
    let outcome = suite("ab", &good(), &number(10))
        .server(
            "dead",
            &["sh", "-c", "echo no configuration >&2; exit 7"],
            "",
        )
        .argument("--only=server=dead")
        .run()
        .exits(1);
    let (trial, reason, _) = outcome.failed("dead", Step::Ready);
    assert!(reason.contains("exited with 7"), "{reason}");
    assert!(trial.load.is_none());
}

#[test]
fn who_is_hung_up_on_has_no_figure() {
    for (tool, _) in TOOLS {
        if without(tool) {
            continue;
        }
        let server = good().hanging_up(BEFORE + 1, 1_000_000);
        let outcome = suite(tool, &server, &any(tool, 60)).run().exits(1);
        let reason = reason(&outcome);
        assert!(!reason.is_empty(), "{tool}");
        // ab takes a connection that is closed for an answer of no bytes.
        let said = match tool {
            "ab" => "after the load",
            _ => "no request succeeded",
        };
        assert!(reason.contains(said), "{tool}: {reason}");
    }
}

#[test]
fn ab_that_was_hung_up_on_for_a_while_counts_no_bytes_for_answers() {
    if without("ab") {
        return;
    }
    let server = good().hanging_up(BEFORE + 5, BEFORE + 25);
    let lines = format!("{}\nkeep_alive = false", number(60));
    let outcome = suite("ab", &server, &lines).run().exits(1);
    let (trial, reasons) = outcome.invalid("server");
    assert_eq!(trial.load.unwrap().counts.errors(), 0, "it names none");
    assert!(
        reasons.contains("read 80 bytes") && reasons.contains("have 120"),
        "{reasons}"
    );
}

#[test]
fn a_body_that_is_cut_short_for_a_while_is_no_answer() {
    if without("ab") {
        return;
    }
    let whole = kept("200 OK\r\nContent-Length: 10", "0123456789");
    let cut = kept("200 OK\r\nContent-Length: 10", "01234");
    for expect in ["", "\nexpect = { body = '0123456789' }"] {
        let server = Behaviour::answers(&whole)
            .polite()
            .from(BEFORE + 21, &cut)
            .until(BEFORE + 41)
            .breaking();
        let outcome = suite("ab", &server, &format!("{}{expect}", number(100)))
            .run()
            .exits(1);
        let (trial, reasons) = outcome.invalid("server");
        let load = trial.load.unwrap();
        assert_eq!(load.counts.succeeded, 100, "ab counts them: {load:?}");
        assert!(
            reasons.contains("read 900 bytes") && reasons.contains("have 1000"),
            "{reasons}"
        );
    }
}

#[test]
fn a_body_that_may_vary_is_not_missed() {
    if without("ab") {
        return;
    }
    // Its length is that of the path twice and another one every third time.
    let server = Behaviour::answers(&kept("200 OK\r\nContent-Length: 4", "long"))
        .polite()
        .every(2, &kept("200 OK\r\nContent-Length: 1", "s"));
    suite("ab", &server, &number(100)).run().exits(0);
}

#[test]
fn a_connection_that_is_closed_after_each_answer_is_counted_right_or_not_at_all() {
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    for (tool, _) in TOOLS {
        if without(tool) {
            continue;
        }
        let server = Behaviour::answers(closing).closing().counting_in("count");
        let outcome = suite(tool, &server, &any(tool, 100)).run();
        let trial = outcome.trial("server");
        let served = counted(&outcome, "count");
        if tool == "autocannon" {
            // It asks twice for each answer that it counts.
            assert_ne!(trial.outcome, Verdict::Valid, "{trial:?}");
            continue;
        }
        assert_eq!(trial.outcome, Verdict::Valid, "{tool}");
        let told = OWN + trial.load.unwrap().counts.succeeded;
        assert!(
            (told..=told + 4).contains(&served),
            "{tool}: {served} served, {told} told"
        );
    }
}

/// The requests that a server got, each once.
fn recorded(outcome: &Outcome) -> Vec<String> {
    let bytes = fs::read(outcome.suite.path().join("requests")).unwrap();
    let all = bytes.split(|byte| *byte == 0).filter(|one| !one.is_empty());
    all.map(|one| String::from_utf8(one.to_vec()).unwrap())
        .collect()
}

/// The request that is the tool's: hotlap's own came first, and may be the same.
#[track_caller]
fn theirs(outcome: &Outcome) -> String {
    recorded(outcome).pop().unwrap()
}

/// The value of a header, as it was written.
fn header<'r>(request: &'r str, name: &str) -> Vec<&'r str> {
    let head = request.split_once("\r\n\r\n").unwrap().0;
    let lines = head.split("\r\n").skip(1);
    lines
        .filter_map(|line| line.split_once(": "))
        .filter(|(given, _)| given.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
        .collect()
}

#[test]
fn a_body_and_headers_arrive_as_they_are_written() {
    let value = r#"a=b:c; "quoted" 'x' [1], \ é"#;
    let body = "{\"städte\": [\"Tromsø\", \"a\\b\"],\n\t\"id\": \"[<id>]\"}\n";
    for (tool, _) in TOOLS {
        if without(tool) {
            continue;
        }
        let lines = format!(
            "{}\nmethod = 'POST'\npath = '/p'\nbody = {}\nheaders.x-odd = {}\nheaders.content-type = 'application/json; charset=utf-8'",
            any(tool, 8),
            crate::kit::quote(body),
            crate::kit::quote(value),
        );
        let outcome = suite(tool, &good().recording_in("requests"), &lines)
            .run()
            .exits(0);
        let request = theirs(&outcome);
        assert!(request.starts_with("POST /p HTTP/1."), "{tool}: {request}");
        assert_eq!(header(&request, "x-odd"), [value], "{tool}");
        assert_eq!(
            header(&request, "content-type"),
            ["application/json; charset=utf-8"],
            "{tool}"
        );
        assert_eq!(
            header(&request, "content-length"),
            [body.len().to_string()],
            "{tool}"
        );
        assert_eq!(request.split_once("\r\n\r\n").unwrap().1, body, "{tool}");
    }
}

#[test]
fn a_type_that_the_suite_does_not_give_is_told() {
    for (tool, sends) in [
        ("ab", "text/plain"),
        ("bombardier", "application/octet-stream"),
    ] {
        if without(tool) {
            continue;
        }
        let lines = format!("{}\nmethod = 'POST'\nbody = 'x'", number(8));
        let outcome = suite(tool, &good().recording_in("requests"), &lines)
            .run()
            .exits(0);
        assert_eq!(header(&theirs(&outcome), "content-type"), [sends]);
        let warnings = outcome.valid("server").warnings.join("\n");
        assert!(warnings.contains(sends), "{warnings}");
    }
}

#[test]
fn a_path_arrives_as_it_is_written_or_the_cell_is_skipped() {
    let plain = "/a/b%20c/caf%C3%A9;v=1?q=%2F&x=%zz+y&list[]=1&e[]";
    let odd = r#"/a/./b//c%2Fd?x="y"&z=|{}^`'<>\"#;
    let cases = [
        ("ab", plain, true),
        ("ab", odd, true),
        ("wrk", plain, true),
        ("wrk", odd, true),
        ("bombardier", plain, true),
        ("bombardier", r#"/a?x="y"&z=|{}^`'<>\&u=../../e//f"#, true),
        ("bombardier", odd, false),
        ("bombardier", "/a//b", false),
        ("bombardier", "/a/../b", false),
        ("bombardier", "/a%2fb", false),
        ("bombardier", "/it's", false),
        ("autocannon", plain, true),
        ("autocannon", odd, false),
    ];
    for (tool, path, can) in cases {
        if without(tool) {
            continue;
        }
        let lines = format!("{}\npath = {}", any(tool, 8), crate::kit::quote(path));
        let suite = suite(tool, &good().recording_in("requests"), &lines)
            // A port of the caller's is none of autocannon's business.
            .env("PORT", "1");
        let outcome = suite.run();
        if can {
            let request = theirs(&outcome.exits(0));
            let target = request.split(' ').nth(1).unwrap();
            assert_eq!(target, path, "{tool}");
        } else {
            let said = skip(&outcome.exits(4));
            assert!(
                said.contains(&format!("{tool} cannot make this load")),
                "{said}"
            );
        }
    }
}

#[test]
fn a_host_is_sent_once_and_leads_nowhere() {
    // A server that another one's name would lead to.
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let host = elsewhere.local_addr().unwrap().to_string();
    for (tool, _) in TOOLS {
        if without(tool) {
            continue;
        }
        let lines = format!("{}\nheaders.host = '{host}'", any(tool, 8));
        let outcome = suite(tool, &good().recording_in("requests"), &lines).run();
        if tool == "bombardier" {
            let said = skip(&outcome.exits(4));
            assert!(said.contains("whom `Host` names"), "{said}");
        } else {
            let request = theirs(&outcome.exits(0));
            assert_eq!(header(&request, "host"), [host.as_str()], "{tool}");
        }
        assert!(elsewhere.accept().is_err(), "{tool} went to the other one");
    }
}

#[test]
fn a_connection_carries_one_request_where_it_should() {
    for tool in ["ab", "wrk", "bombardier"] {
        if without(tool) {
            continue;
        }
        let server = good()
            .counting_in("count")
            .counting_connections_in("connections");
        let lines = format!("{}\nkeep_alive = false", any(tool, 100));
        let outcome = suite(tool, &server, &lines).run().exits(0);
        let load = load(&outcome);
        let (served, accepted) = (counted(&outcome, "count"), counted(&outcome, "connections"));
        assert!(
            // What is opened at an end and not asked any more, in each phase, and what looks whether it is ready.
            accepted.abs_diff(served) <= 8,
            "{tool}: {accepted} for {served}"
        );
        assert!(load.connections.opened >= load.counts.succeeded, "{load:?}");
    }
    if without("autocannon") {
        return;
    }
    let lines = format!("{}\nkeep_alive = false", number(8));
    let outcome = suite("autocannon", &good(), &lines).run().exits(4);
    assert!(skip(&outcome).contains("keep_alive = false"));
}

#[test]
fn connections_are_kept_where_they_should_be() {
    for (tool, _) in TOOLS {
        if without(tool) {
            continue;
        }
        let server = good().counting_connections_in("connections");
        let outcome = suite(tool, &server, &any(tool, 200)).run().exits(0);
        let accepted = counted(&outcome, "connections");
        // wrk opens one more, to see whether anybody is there.
        assert!(accepted <= OWN + 5, "{tool}: {accepted}");
    }
}

#[test]
fn three_rounds_are_made_in_one_process_and_their_mean_is_the_figure() {
    for (tool, key) in [("built-in", ""), ("ab", "generator = 'ab'\n")] {
        if tool == "ab" && without(tool) {
            continue;
        }
        let outcome = Suite::new()
            .fixture("server", &good().starting_in("starts").counting_in("count"))
            .load("thrice", &format!("{key}rounds = 3\n{}", number(50)))
            .run()
            .exits(0);
        let starts = fs::read_to_string(outcome.suite.path().join("starts")).unwrap();
        assert_eq!(starts.lines().count(), 1, "{tool}: {starts}");
        let load = load(&outcome);
        assert_eq!(load.counts.succeeded, 150);
        let rounds: Vec<u64> = load.rounds.iter().map(|round| round.succeeded).collect();
        assert_eq!(rounds, [50, 50, 50], "{tool}");
        let rates: Vec<f64> = load.rounds.iter().map(|one| one.rate().unwrap()).collect();
        let mean = rates.iter().sum::<f64>() / 3.0;
        let shown: f64 = outcome.csv("trials.csv")[0]["requests_per_second"]
            .parse()
            .unwrap();
        assert!((shown - mean).abs() < 1e-6 * mean, "{shown} is not {mean}");
        let own = if tool == "ab" { OWN } else { BEFORE - 1 };
        assert_eq!(counted(&outcome, "count"), own + 150, "{tool}");
        if tool == "ab" {
            for round in 1..=3 {
                log(&outcome, &format!("ab.round-{round}.out"));
            }
        }
    }
}

#[test]
fn a_whole_suite_is_made_by_another_generator() {
    if without("ab") || without("bombardier") {
        return;
    }
    let suite = || {
        Suite::new()
            .fixture("server", &good())
            .toml(&format!("[loads.plain]\n{}", number(40)))
            .load(
                "named",
                &format!("generator = 'bombardier'\n{}", number(40)),
            )
    };
    let generators = |outcome: &Outcome| -> Vec<String> {
        let name = |trial: Trial| trial.load.unwrap().generator;
        let mut all: Vec<String> = outcome.trials().into_iter().map(name).collect();
        all.sort();
        all
    };
    let as_written = generators(&suite().run().exits(0));
    assert!(as_written[0].starts_with("bombardier ") && as_written[1] == "built-in");
    let by_ab = suite().argument("--generator=ab").run().exits(0);
    for name in generators(&by_ab) {
        assert!(name.starts_with("ApacheBench 2"), "{name}");
    }
    let own = suite().argument("--generator=built-in").run().exits(0);
    assert_eq!(generators(&own), ["built-in", "built-in"]);
}

#[test]
fn a_generator_that_is_not_known_is_refused_before_anything_starts() {
    let suite = |name: &str| {
        Suite::new()
            .server("touch", &["touch", "started"], "")
            .load("few", &format!("generator = '{name}'\n{}", number(8)))
    };
    for outcome in [
        suite("ab").argument("--generator=abb").run().exits(2),
        suite("abb").run().exits(2),
        // One that suites may name and nobody carries out yet.
        suite("oha").run().exits(4),
    ] {
        assert!(outcome.suite.run_folder().is_none());
        assert!(!outcome.suite.path().join("started").exists());
        let named = ["abb", "`oha`"]
            .iter()
            .any(|name| outcome.stderr.contains(name));
        assert!(named, "{}", outcome.stderr);
    }
}

#[test]
fn a_generator_that_is_missing_skips_its_cells_with_the_line_that_installs_it() {
    for (tool, install) in [
        ("ab", "apt-get install apache2-utils"),
        ("wrk", "apt-get install wrk"),
        (
            "bombardier",
            "go install github.com/codesenberg/bombardier@",
        ),
        ("autocannon", "npm install --global autocannon"),
    ] {
        let suite = || {
            let suite = Suite::new();
            let nowhere = suite.path().display().to_string();
            suite
                .env("PATH", &nowhere)
                .env("HOME", &nowhere)
                .fixture("server", &good())
                .toml(&format!("[loads.own]\n{}", number(8)))
                .load(
                    "foreign",
                    &format!("generator = '{tool}'\n{}", any(tool, 8)),
                )
        };
        let outcome = suite().run().exits(0);
        assert_eq!(outcome.trials().len(), 1, "{tool}");
        let json = outcome.json();
        let cells = json["cells"].as_array().unwrap();
        let state = |load: &str| {
            let cell = cells.iter().find(|cell| cell["load"]["name"] == load);
            cell.unwrap_or_else(|| panic!("{cells:#?}"))["state"].clone()
        };
        assert_eq!(state("foreign"), "skipped");
        for text in [&outcome.stderr, &outcome.markdown()] {
            assert!(
                text.contains(&format!("{tool} is not on the PATH")) && text.contains(install),
                "{text}"
            );
        }
        let outcome = suite().argument("--strict").run().exits(4);
        assert!(outcome.stderr.contains(install), "{}", outcome.stderr);
        assert!(outcome.suite.run_folder().is_none());
    }
}

#[test]
fn what_a_generator_cannot_do_is_skipped_when_it_is_planned() {
    let post = "requests = 8\nmethod = 'PATCH'\nbody = 'x'";
    for (tool, lines, says) in [
        ("wrk", "requests = 8", "never after a number of requests"),
        ("wrk", "duration = '1s'\nmethod = 'HEAD'", "answer to HEAD"),
        (
            "ab",
            "requests = 1",
            "a request for each of its connections",
        ),
        ("ab", post, "POST and PUT alone"),
        (
            "autocannon",
            "requests = 1",
            "a request for each of its connections",
        ),
        (
            "autocannon",
            "requests = 8\nmethod = 'HEAD'",
            "answer to HEAD",
        ),
        (
            "autocannon",
            "requests = 8\nheaders.x-list = '[1]'",
            "square bracket",
        ),
        (
            "bombardier",
            "requests = 8\nexpect = { status = 404 }",
            "404 is expected",
        ),
    ] {
        if without(tool) {
            continue;
        }
        let outcome = suite(tool, &good(), lines).run().exits(4);
        let said = skip(&outcome);
        assert!(
            said.contains(&format!("{tool} cannot make this load")) && said.contains(says),
            "{said}"
        );
        let plan = outcome.suite.hotlap(&["plan", "case.toml"]);
        let plan = String::from_utf8(plan.stdout).unwrap();
        assert!(plan.contains(says), "{plan}");
    }
}

/// Starts a load by ab that lasts, and waits until it is well under way.
fn under_way() -> crate::kit::Running {
    let lines = "duration = '60s'\nconnections = 4\nwarmup = '0s'";
    let running = suite("ab", &good().counting_in("count"), lines).spawn();
    let count = running.suite.path().join("count");
    until("ab is at work", || {
        let text = fs::read_to_string(&count).unwrap_or_default();
        text.trim().parse::<u64>().is_ok_and(|count| count > 100)
    });
    running
}

#[test]
fn an_interrupt_under_load_leaves_no_generator() {
    if without("ab") {
        return;
    }
    let running = under_way();
    running.signal("INT");
    let outcome = running.wait().exits(130);
    assert_eq!(outcome.suite.processes(), Vec::<u32>::new());
    assert_eq!(outcome.suite.scratch(), Vec::<String>::new());
    assert!(outcome.trials().is_empty());
}

#[test]
fn a_runner_that_is_killed_under_load_leaves_no_generator_and_no_folder() {
    if without("ab") {
        return;
    }
    let running = under_way();
    running.signal("KILL");
    running.wait().nothing_is_left();
}

#[test]
fn a_trial_that_takes_too_long_is_ended_with_its_generator() {
    for tool in BY_NUMBER {
        if without(tool) {
            continue;
        }
        // From here on nothing is answered.
        let server = good().from(BEFORE + 21, "");
        let lines = format!("{}\ntimeout = '5m'\ntrial_timeout = '2s'", number(100));
        let outcome = suite(tool, &server, &lines).run().exits(1);
        let (trial, reason, _) = outcome.failed("server", Step::Load);
        assert!(
            reason.contains("did not end within 2.00 s"),
            "{tool}: {reason}"
        );
        assert!(trial.took_ns < PATIENCE.as_nanos() as u64);
    }
}

#[test]
fn a_server_of_ipv6_is_loaded_there() {
    if TcpListener::bind("[::1]:0").is_err() && skipped("this machine has no IPv6") {
        return;
    }
    for (tool, _) in TOOLS {
        if without(tool) {
            continue;
        }
        let server = good()
            .listening_on("::1")
            .counting_in("count")
            .recording_in("requests");
        let outcome = Suite::new()
            .fixture_with("server", &server, "address = '::1'")
            .load(
                "by-tool",
                &format!("generator = '{tool}'\n{}", any(tool, 40)),
            )
            .run()
            .exits(0);
        let load = load(&outcome);
        assert!(counted(&outcome, "count") >= OWN + load.counts.succeeded);
        let host = format!("[::1]:{}", outcome.valid("server").port.unwrap());
        assert_eq!(header(&theirs(&outcome), "host"), [host], "{tool}");
    }
}

/// A folder with a program that prints a text and ends with a code.
fn program(folder: &Path, name: &str, says: &str, code: i32) -> String {
    fs::create_dir_all(folder).unwrap();
    let file = folder.join(name);
    let says = says.replace('\'', "'\\''");
    fs::write(
        &file,
        format!("#!/bin/sh\nprintf '%s\\n' '{says}'\nexit {code}\n"),
    )
    .unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    folder.display().to_string()
}

/// Looks for a generator on a PATH of these folders, at home in `home`.
fn look(name: &str, path: &[&str], home: &Path) -> Result<Tool, Missing> {
    let env = [
        ("PATH".to_owned(), path.join(":")),
        ("HOME".to_owned(), home.display().to_string()),
    ];
    let guard = GuardProgram(PathBuf::from(env!("CARGO_BIN_EXE_hotlap")));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(find(name, &env, home, &guard))
}

const REAL: [(&str, &str, &str); 4] = [
    (
        "ab",
        "This is ApacheBench, Version 2.3 <$Revision: 1 $>",
        "ApacheBench 2.3",
    ),
    ("wrk", "wrk 4.2.0 [epoll] Copyright", "wrk 4.2.0"),
    (
        "bombardier",
        "bombardier version v1.2.6 linux/amd64",
        "bombardier 1.2.6",
    ),
    (
        "autocannon",
        "autocannon v8.0.0\nnode v20.1.0",
        "autocannon 8.0.0",
    ),
];

const WRONG: [(&str, &str); 4] = [
    ("ab", "ab: the alphabet, sorted"),
    (
        "wrk",
        "wrk 4.0.0 [epoll] Copyright\nUsage: wrk <options> <url>\n    -R, --rate  <T>  work rate",
    ),
    ("bombardier", "Bombardier: a game of bombs"),
    ("autocannon", "fires at will"),
];

#[test]
fn a_generator_is_who_says_so_and_not_who_comes_first() {
    let place = tempfile::tempdir().unwrap();
    let (wrong, right) = (place.path().join("wrong"), place.path().join("right"));
    for ((name, says, version), (_, lies)) in REAL.into_iter().zip(WRONG) {
        // Many of them end with an error when they are only asked who they are.
        let wrong = program(&wrong, name, lies, 0);
        let right = program(&right, name, says, 1);
        let nowhere = place.path().join("none").display().to_string();
        let tool = look(name, &[&nowhere, &wrong, &right], place.path()).unwrap();
        assert_eq!(tool.version, version);
        assert_eq!(tool.path, Path::new(&right).join(name));

        let missing = look(name, &[&wrong], place.path()).unwrap_err();
        let first = lies.lines().next().unwrap();
        for part in [
            wrong.as_str(),
            first,
            &format!("not the load generator {name}"),
        ] {
            assert!(missing.reason.contains(part), "{}", missing.reason);
        }
        assert!(
            missing
                .install
                .unwrap()
                .contains(name.trim_start_matches("ab"))
        );

        let missing = look(name, &[&nowhere, "right", "."], place.path()).unwrap_err();
        assert_eq!(missing.reason, format!("{name} is not on the PATH"));
    }
}

#[test]
fn a_generator_is_found_where_its_installer_puts_it() {
    let place = tempfile::tempdir().unwrap();
    let (name, says, version) = REAL[2];
    program(&place.path().join("go/bin"), name, says, 0);
    assert_eq!(look(name, &[], place.path()).unwrap().version, version);
    // What may not be run is no program.
    let file = place.path().join("go/bin").join(name);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(look(name, &[], place.path()).is_err());
}

#[test]
fn a_generator_that_nobody_knows_has_no_line_that_installs_it() {
    let place = tempfile::tempdir().unwrap();
    let missing = look("oha", &[], place.path()).unwrap_err();
    assert!(missing.reason.contains("`oha`"), "{}", missing.reason);
    assert_eq!(missing.install, None);
}

#[test]
fn a_program_without_a_word_is_none() {
    let place = tempfile::tempdir().unwrap();
    let folder = program(&place.path().join("bin"), "wrk", "", 0);
    let missing = look("wrk", &[&folder], place.path()).unwrap_err();
    assert!(
        missing.reason.ends_with("it says nothing"),
        "{}",
        missing.reason
    );
}
