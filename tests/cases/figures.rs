//! What is counted and measured is what there was: requests that the server counted itself,
//! memory that it is known to hold, processors that it may use.

use crate::fixture::Behaviour;
use crate::kit::{Suite, skipped, without_node, without_python};
use std::process::Command;
use std::time::Duration;

#[test]
fn the_server_counts_what_we_count() {
    // Each answer takes a while, so that a pause of a busy machine is a small part of the load.
    let counts = Behaviour::good().counting_in("count");
    let outcome = Suite::new()
        .fixture("counts", &counts.taking(Duration::from_millis(5)))
        .toml("[loads.timed]\nduration = '200ms'\nconnections = 3")
        .load("numbered", "requests = 101\nconnections = 3")
        .argument("--only=load=timed")
        .run()
        .exits(0);
    let served = |outcome: &crate::kit::Outcome| -> u64 {
        let text = std::fs::read_to_string(outcome.suite.path().join("count")).unwrap();
        text.trim().parse().unwrap()
    };
    let timed = outcome.valid("counts").load.unwrap();
    // One request found it ready, one was checked whole, one more told what varies.
    assert_eq!(
        served(&outcome),
        3 + timed.warmup_requests + timed.counts.sent
    );
    assert_eq!(timed.counts.sent, timed.counts.succeeded);

    std::fs::remove_dir_all(outcome.suite.path().join("reports")).unwrap();
    let outcome = outcome.again(&["--only=load=numbered"]).exits(0);
    let numbered = outcome.valid("counts").load.unwrap();
    assert_eq!(numbered.counts.sent, 101);
    assert_eq!(numbered.connections.opened, 3);
    assert_eq!(served(&outcome), 3 + numbered.warmup_requests + 101);
}

#[test]
fn memory_that_is_held_is_seen_to_one_percent() {
    const HELD: u64 = 96 << 20;
    let outcome = Suite::new()
        .fixture("base", &Behaviour::good())
        .fixture("holds", &Behaviour::good().holding(HELD))
        .run()
        .exits(0);
    let of = |server: &str| outcome.valid(server).usage["total"].clone();
    let (base, holds) = (of("base"), of("holds"));
    for (name, base, holds) in [
        ("idle", base.rss_idle, holds.rss_idle),
        ("peak", base.rss_peak, holds.rss_peak),
        ("after", base.rss_after, holds.rss_after),
    ] {
        let more = holds.unwrap() - base.unwrap();
        assert!(
            more.abs_diff(HELD) < HELD / 100,
            "{name}: {more} more, {HELD} held"
        );
    }
    assert!(holds.rss_high_water.unwrap() >= holds.rss_peak.unwrap());
}

#[test]
fn files_that_are_read_are_no_memory_and_shares_are_read_outside_of_the_load() {
    if without_python() {
        return;
    }
    let reads = "\
import os, http.server as h
f = './big'; open(f, 'ab').truncate(200 << 20)
with open(f, 'rb', 0) as x:
  while x.read(1 << 20): pass
class Q(h.BaseHTTPRequestHandler):
  protocol_version = 'HTTP/1.1'
  def do_GET(self):
    self.send_response(200); self.send_header('Content-Length', '2'); self.end_headers(); self.wfile.write(b'ok')
  def log_message(self, *a): pass
h.ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Q).serve_forever()
";
    let outcome = Suite::new()
        .setting("sample_interval", "'20ms'")
        .python("reads", reads, "")
        .load("steady", "duration = '300ms'")
        .run()
        .exits(0);
    let usage = outcome.valid("reads").usage["total"].clone();
    assert!(usage.rss_peak.unwrap() < 100 << 20, "{usage:?}");
    assert!(usage.sampler_cpu_seconds.is_some());
    for pss in [usage.pss_idle, usage.pss_loaded, usage.pss_after] {
        assert!(pss.unwrap() > 0);
    }
    let rows = outcome.csv("samples.csv");
    let measured: Vec<_> = rows
        .iter()
        .filter(|row| row["phase"] == "measure")
        .collect();
    assert!(measured.len() >= 3, "{measured:?}");
    assert!(
        measured.iter().all(|row| row["pss_bytes"].is_empty()),
        "{measured:?}"
    );
    assert!(rows.iter().any(|row| !row["pss_bytes"].is_empty()));
}

#[test]
fn the_processors_are_those_that_may_be_used() {
    let taskset = Command::new("taskset").args(["-c", "0", "true"]).output();
    if !taskset.is_ok_and(|output| output.status.success()) && skipped("taskset does not work here")
    {
        return;
    }
    let echo = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ncpus={{ cpus }}";
    let outcome = Suite::new()
        .under(&["taskset", "-c", "0"])
        .fixture("echo", &Behaviour::answers(echo))
        .load("few", "requests = 20\nexpect = { body = 'cpus=1' }")
        .run()
        .exits(0);
    assert_eq!(outcome.run().host.cpus, 1);
    assert!(
        outcome.markdown().contains("Generator shares cores"),
        "{}",
        outcome.markdown()
    );
}

#[test]
fn every_column_holds_its_own_quantile() {
    let outcome = Suite::new()
        .fixture(
            "varies",
            &Behaviour::good().every(7, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbye"),
        )
        .load("many", "requests = 3000\nconnections = 4")
        .setting("max_errors", "'100%'")
        .run()
        .exits(0);
    let live = outcome
        .valid("varies")
        .load
        .unwrap()
        .service
        .unwrap()
        .load()
        .unwrap();
    let row = &outcome.csv("trials.csv")[0];
    for (column, quantile) in [
        ("latency_p50_ns", 0.5),
        ("latency_p90_ns", 0.9),
        ("latency_p95_ns", 0.95),
        ("latency_p99_ns", 0.99),
    ] {
        let shown: f64 = row[column].parse().unwrap();
        assert!(
            (shown - live.value_at_quantile(quantile) as f64).abs() < 1.0,
            "{column} is {shown}"
        );
    }
    // Ten requests must lie above a quantile, and of 2572 only two and a half lie above this one.
    assert_eq!(row["latency_p99_9_ns"], "");
    let figure = &outcome.cell("varies")["metrics"]["latency_p99_9"];
    assert!(figure["median"].is_null(), "{figure}");
    assert_eq!(figure["reason"], "too few samples");
    let rate: f64 = row["requests_per_second"].parse().unwrap();
    let window: f64 = row["window_ns"].parse().unwrap();
    let succeeded: f64 = row["succeeded_count"].parse().unwrap();
    assert!((rate - succeeded / (window / 1e9)).abs() < 1e-6 * rate);
}

#[test]
fn the_environment_is_the_suites_and_nobody_elses() {
    if without_node() {
        return;
    }
    let program = "require('http').createServer((q, r) => r.end([process.env.NODE_ENV ?? 'unset', process.env.LEAK ?? 'unset'].join())).listen(process.env.PORT)";
    let outcome = Suite::new()
        .env("NODE_ENV", "production")
        .env("LEAK", "yes")
        .node("env", program, "")
        .toml("[toggles.mode]\nvalues.prod = { env.NODE_ENV = 'production', expect.body = 'production,unset' }\nvalues.dev = { unset_env = ['NODE_ENV'], expect.body = 'unset,unset' }\nvalues.bare = { expect.body = 'unset,unset' }")
        .load("few", "requests = 20\nwarmup = '0s'")
        .run()
        .exits(0);
    for mode in ["prod", "dev", "bare"] {
        outcome.valid(&format!("env/mode={mode}"));
    }
    let record = outcome.read("run.json");
    assert!(
        record.contains("NODE_ENV") && !record.contains("\"LEAK\""),
        "{record}"
    );
}
