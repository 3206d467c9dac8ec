//! `hotlap load`, the generator alone, and what it does where this machine runs short.

use super::fixture::Behaviour;
use super::kit::{Suite, skipped};
use hotlap::record::ErrorKind;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

/// The null server on a free port.
struct Null {
    child: Child,
    url: String,
}

impl Null {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hotlap"))
            .args(["serve", "--null", "--port", "0"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let told = child.stderr.as_mut().unwrap();
        BufReader::new(told).read_line(&mut line).unwrap();
        let url = line.split_whitespace().last().unwrap().to_owned();
        assert!(url.starts_with("http://"), "{line}");
        Self { child, url }
    }
}

impl Drop for Null {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn load(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hotlap"))
        .arg("load")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn exactly_what_was_asked_for_is_sent_and_told() {
    let server = Null::start();
    let output = load(&[&server.url, "-c", "8", "-n", "2000", "-t", "2", "--json"]);
    let told = json(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    for key in ["sent", "succeeded"] {
        assert_eq!(told[key], 2000, "{told}");
    }
    for key in ["failed", "timed_out", "unfinished"] {
        assert_eq!(told[key], 0, "{told}");
    }
    let seconds = told["window_ns"].as_f64().unwrap() / 1e9;
    let rate = told["requests_per_second"].as_f64().unwrap();
    assert!((rate * seconds - 2000.0).abs() < 1e-3, "{told}");
    assert_eq!(
        (&told["connections"], &told["threads"]),
        (&8.into(), &2.into())
    );
    let at = |key: &str| told["latency_ns"][key].as_u64().unwrap();
    assert!(at("p50") <= at("p99") && at("p99") <= at("max"), "{told}");
    // Ten of two thousand are too few to tell of one in a thousand.
    assert_eq!(told["latency_ns"]["p99_9"], Value::Null);

    let output = load(&[&server.url, "-c", "2", "-d", "50ms", "-t", "1"]);
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    assert!(
        shown.contains("requests/s") && shown.contains("p50"),
        "{shown}"
    );
}

#[test]
fn failures_and_bad_command_lines_have_their_codes() {
    let server = Null::start();
    // The first response is not as expected, so that there is no load.
    let output = load(&[&server.url, "-n", "10", "--status", "404"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("expected 404"));
    for (arguments, words) in [
        (vec!["http://1.1.1.1/"], "--allow-public"),
        (vec!["ftp://127.0.0.1/"], "https://HOST:PORT/PATH"),
        (vec![server.url.as_str(), "-H", "nonsense"], "Name: value"),
        (vec![server.url.as_str(), "-m", "GE T"], "method"),
        (
            vec![server.url.as_str(), "-n", "1", "-d", "1s"],
            "cannot be used",
        ),
        (vec![server.url.as_str(), "--timeout", "0s"], "--timeout"),
    ] {
        let output = load(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let told = text(&output.stderr);
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
    let most = "4000000000";
    let output = load(&[&server.url, "-c", most]);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains(" open descriptors are needed, and the hard limit is "));
}

/// A network of its own with so many local ports; none where this machine can't have one.
fn few_ports(ports: u32) -> Option<[String; 7]> {
    let last = 40_000 + ports - 1;
    let prepare = format!(
        "ip link set lo up && echo 40000 {last} > /proc/sys/net/ipv4/ip_local_port_range && exec \"$@\""
    );
    let under = ["unshare", "-r", "-n", "sh", "-c", &prepare, "sh"].map(str::to_owned);
    let works = Command::new(&under[0])
        .args(&under[1..])
        .arg("true")
        .output();
    if works.is_ok_and(|output| output.status.success()) {
        return Some(under);
    }
    skipped("no network namespace with a port range of its own can be made here");
    None
}

#[test]
fn a_connection_for_each_request_takes_other_loopback_addresses() {
    let Some(under) = few_ports(30) else { return };
    let lines = "connections = 64\nrequests = 300\nwarmup = '0s'\nkeep_alive = false";
    let outcome = Suite::new()
        .under(&under.each_ref().map(String::as_str))
        .fixture("one", &Behaviour::good())
        .load("many", lines)
        .run()
        .exits(0);
    let load = outcome.valid("one").load.unwrap();
    assert_eq!(load.counts.succeeded, 300, "{load:?}");
}

#[test]
fn when_these_run_out_too_it_is_this_machine_s_limit() {
    let Some(under) = few_ports(10) else { return };
    let lines = "connections = 400\nrequests = 2000\nwarmup = '0s'\nkeep_alive = false";
    let outcome = Suite::new()
        .under(&under.each_ref().map(String::as_str))
        .fixture("one", &Behaviour::good())
        .load("many", lines)
        .run()
        .exits(1);
    let (trial, reasons) = outcome.invalid("one");
    assert!(reasons.contains("no local port left"), "{reasons}");
    assert!(trial.load.unwrap().errors[&ErrorKind::NoLocalPort] > 0);
}
