//! `hotlap load`, the generator alone, and what it does where this machine runs short.

use super::fixture::{self, Behaviour};
use super::kit::{Suite, signal, skipped, until};
use hotlap::record::ErrorKind;
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
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

/// The server that misbehaves as it is told, on a port that was free; it counts its requests in a file.
struct Misbehaving {
    child: Child,
    folder: tempfile::TempDir,
    url: String,
}

impl Misbehaving {
    fn start(behaviour: Behaviour) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let count = folder.path().join("count").display().to_string();
        let port = free_port();
        let command = fixture::command();
        let child = Command::new(&command[0])
            .args(&command[1..])
            .envs(behaviour.counting_in(&count).env())
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("the server listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self {
            child,
            folder,
            url: format!("127.0.0.1:{port}"),
        }
    }

    /// How many requests it has seen.
    fn seen(&self) -> u64 {
        let text = fs::read_to_string(self.folder.path().join("count")).unwrap();
        text.trim().parse().unwrap_or(0)
    }
}

impl Drop for Misbehaving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port on which nobody listens.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotlap"));
    command
        .arg("load")
        .args(arguments)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null());
    command
}

fn load(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
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
        shown.contains("Requests/s") && shown.contains("p50"),
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
        (vec!["127.0.0.1:http"], "HOST:PORT"),
        (
            vec!["unix:///tmp/A.sock"],
            "--unix-socket /tmp/A.sock http://localhost/",
        ),
        (
            vec![server.url.as_str(), "-c", "0"],
            "at least 1 connection",
        ),
        (vec![server.url.as_str(), "-n", "0"], "at least 1 request"),
        (
            vec![server.url.as_str(), "-d", "0"],
            "no time measures nothing",
        ),
        (vec![server.url.as_str(), "-d", "soon"], "soon"),
        (vec![server.url.as_str(), "-t", "0"], "from 1 to 1024"),
        (vec![server.url.as_str(), "-b", "@/nowhere"], "/nowhere"),
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

#[test]
fn the_help_names_every_key_and_what_others_are_asked() {
    let help = text(&load(&["--help"]).stdout);
    let server = Null::start();
    let told = json(&load(&[&server.url, "-n", "20", "-c", "2", "--json"]));
    let words: Vec<&str> = help
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .collect();
    let told = told.as_object().unwrap();
    for key in told.keys() {
        assert!(words.contains(&key.as_str()), "{key}: {help}");
    }
    for key in told["latency_ns"].as_object().unwrap().keys() {
        assert!(words.contains(&key.as_str()), "{key}: {help}");
    }
    for other in ["wrk -t2", "oha -c", "bombardier -c", "ab -k"] {
        assert!(help.contains(other), "{other}: {help}");
    }
    for group in ["Request:", "Load:", "Connection:", "Output:"] {
        assert!(help.contains(group), "{group}: {help}");
    }
}

#[test]
fn both_ends_count_the_same_however_the_requests_are_shared_out() {
    let server = Misbehaving::start(Behaviour::good());
    let output = load(&[&server.url, "-c", "7", "-n", "1000", "-t", "2", "--json"]);
    let told = json(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert_eq!(
        (&told["sent"], &told["succeeded"]),
        (&1000.into(), &1000.into())
    );
    // One more was looked at before.
    assert_eq!(server.seen(), 1001);
    assert_eq!(told["statuses"], serde_json::json!({ "200": 1000 }));
    let buckets = told["histogram"].as_array().unwrap();
    let counts = buckets
        .iter()
        .map(|bucket| bucket["count"].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), 1000);
    assert_eq!(
        buckets.last().unwrap()["up_to_ns"],
        told["latency_ns"]["max"]
    );
    let seconds = told["per_second"].as_array().unwrap();
    let seconds = seconds.iter().map(|second| second.as_u64().unwrap());
    assert_eq!(seconds.sum::<u64>(), 1000);
    assert_eq!(told["connect_ns"]["count"], 7);
    assert_eq!(told["invalid"], serde_json::json!([]));
    assert_eq!(told["interrupted"], false);
    // The head and the two bytes of the answer, each time.
    let answer = fixture::OK.len() as u64;
    assert_eq!(told["bytes_received"], 1000 * answer);
}

#[test]
fn answers_with_another_status_have_failed() {
    let server = Misbehaving::start(Behaviour::good().every(10, &fixture::status(404)));
    let output = load(&[&server.url, "-c", "3", "-n", "999", "--json"]);
    let told = json(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    // The first of a thousand was looked at before; each tenth is another.
    assert_eq!(
        (&told["succeeded"], &told["failed"]),
        (&899.into(), &100.into())
    );
    assert_eq!(told["errors"], serde_json::json!({ "status": 100 }));
    assert_eq!(
        told["statuses"],
        serde_json::json!({ "200": 899, "404": 100 })
    );
    assert!(
        told["error_examples"]["status"]
            .as_str()
            .unwrap()
            .contains("404")
    );
    let shown = text(&load(&[&server.url, "-c", "3", "-n", "1000"]).stdout);
    for words in [
        "Failed 100 of 1 000 requests",
        "100 × unexpected status",
        "404: 100",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }

    let server = Misbehaving::start(Behaviour::answers(&fixture::status(404)));
    let output = load(&[&server.url, "-n", "10"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("add --status 404"));
    assert_eq!(
        load(&[&server.url, "-n", "10", "--status", "404"])
            .status
            .code(),
        Some(0)
    );
}

#[test]
fn where_nobody_listens_there_is_no_load() {
    let url = format!("127.0.0.1:{}/path", free_port());
    let output = load(&[&url, "-n", "10", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("refused"), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

#[test]
fn a_port_alone_is_one_of_this_machine() {
    let server = Misbehaving::start(Behaviour::good());
    let (_, port) = server.url.split_once(':').unwrap();
    let output = load(&[&format!(":{port}/a?b"), "-n", "10", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(json(&output)["url"], format!("http://localhost:{port}/a?b"));
}

#[test]
fn a_body_is_sent_as_it_lies_in_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("requests");
    let behaviour = Behaviour::good().recording_in(&record.display().to_string());
    let server = Misbehaving::start(behaviour);
    let body = "{\"name\": \"ä\"}\r\n\n";
    let file = folder.path().join("body.json");
    fs::write(&file, body).unwrap();
    let argument = format!("@{}", file.display());
    let headers = ["-H", "Content-Type: application/json", "-H", "X-Two:  b"];
    let output = load(
        &[
            &[server.url.as_str(), "-n", "5", "-b", &argument][..],
            &headers,
        ]
        .concat(),
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let mut child = command(&[&server.url, "-n", "5", "-b", "@-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"piped").unwrap();
    assert!(child.wait().unwrap().success());
    let requests = fs::read_to_string(record).unwrap();
    let requests: Vec<&str> = requests.split_terminator('\0').collect();
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert!(
        requests[0].starts_with("POST / HTTP/1.1\r\n"),
        "{requests:?}"
    );
    for line in ["Content-Type: application/json\r\n", "X-Two: b\r\n"] {
        assert!(requests[0].contains(line), "{requests:?}");
    }
    assert!(
        requests[0].ends_with(&format!("\r\n\r\n{body}")),
        "{requests:?}"
    );
    assert!(requests[1].ends_with("\r\n\r\npiped"), "{requests:?}");
}

#[test]
fn a_signal_ends_the_load_and_what_was_measured_is_told() {
    let server = Misbehaving::start(Behaviour::good());
    let child = command(&[&server.url, "-c", "2", "-d", "60s", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("the load runs", || server.seen() > 100);
    signal(child.id(), "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let told = json(&output);
    assert_eq!(told["interrupted"], true);
    let of = |key: &str| told[key].as_u64().unwrap();
    assert!(of("succeeded") >= 90, "{told}");
    assert_eq!(of("sent"), of("succeeded") + of("unfinished"), "{told}");
    assert!(of("window_ns") < 60_000_000_000, "{told}");
    assert!(told["requests_per_second"].as_f64().unwrap() > 0.0);
    // A server that does not answer is not waited for either.
    let server = Misbehaving::start(Behaviour::answers(""));
    let child = command(&[&server.url, "--timeout", "60s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("it was asked", || server.seen() > 0);
    signal(child.id(), "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty(), "{output:?}");
}

#[test]
fn results_are_on_standard_output_alone_and_in_the_letters_of_the_locale() {
    let server = Null::start();
    let output = load(&[&server.url, "-c", "2", "-n", "3000"]);
    let shown = text(&output.stdout);
    assert_eq!(text(&output.stderr), "", "{shown}");
    for words in [
        "Requests/s",
        "Succeeded   3 000 of 3 000",
        "p99.9         –",
        "█",
        "≤",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let plain = command(&[&server.url, "-c", "2", "-n", "3000"])
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let plain = text(&plain.stdout);
    assert!(plain.is_ascii() && plain.contains("###"), "{plain}");
    let colored = command(&[&server.url, "-n", "100", "--color", "always"]);
    let colored = { colored }.output().unwrap();
    assert!(text(&colored.stdout).contains("\u{1b}[1m"));
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
