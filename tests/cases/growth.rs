//! Memory that grows with the requests that are served: it is seen, in bytes a request, and a server is not called
//! heavier for having served more of them.

use crate::fixture::Behaviour;
use crate::kit::{Suite, without_node};

/// What 1 MiB each 100 requests is a request.
const LEAK: f64 = 1_048_576.0 / 100.0;

fn near(got: f64, wanted: f64, share: f64) -> bool {
    (got / wanted - 1.0).abs() <= share
}

#[test]
fn a_leak_of_a_mebibyte_each_100_requests_is_10_kib_a_request() {
    if without_node() {
        return;
    }
    let leaks = "const keep = []; let n = 0; require('http').createServer((q, r) => { if (++n % 100 == 0) keep.push(Buffer.alloc(1 << 20, 1)); r.end('ok') }).listen(process.env.PORT)";
    let outcome = Suite::new()
        .setting("sample_interval", "'10ms'")
        .setting("warmup", "'300ms'")
        .node("leaky", leaks, "")
        .load("steady", "requests = 12000\nconnections = 4")
        .run()
        .exits(0);
    let growth = &outcome.cell("leaky")["growth"];
    let slope = growth["bytes_per_request"].as_f64().unwrap();
    assert!(near(slope, LEAK, 0.2), "{growth}");
    assert_eq!(growth["growing"], true, "{growth}");
    assert_eq!(growth["requests_counted"], true, "{growth}");
    assert!(
        near(
            growth["added_bytes"].as_f64().unwrap(),
            12_000.0 * LEAK,
            0.2
        ),
        "{growth}"
    );
    let load = outcome.valid("leaky").load.unwrap();
    let served = load.warmup_requests + load.counts.succeeded;
    assert_eq!(growth["peak_requests"].as_f64().unwrap() as u64, served);
    let report = outcome.markdown();
    assert!(report.contains("Memory grows by "), "{report}");
    assert!(report.contains(" requests) | "), "{report}");
    assert_eq!(outcome.csv("summary.csv")[0]["growing"], "true");
}

#[test]
fn readings_count_the_requests_of_all_rounds() {
    let outcome = Suite::new()
        .setting("sample_interval", "'10ms'")
        .fixture("good", &Behaviour::good())
        .load("steady", "requests = 400\nrounds = 3")
        .run()
        .exits(0);
    let rows = outcome.csv("samples.csv");
    let counts = |phase: &str| -> Vec<Option<u64>> {
        let of_phase = rows.iter().filter(|row| row["phase"] == phase);
        of_phase
            .map(|row| row["completed_count"].parse().ok())
            .collect()
    };
    assert!(counts("idle").iter().all(Option::is_none));
    assert!(counts("warmup").iter().all(Option::is_none));
    let measured = counts("measure");
    assert!(measured.iter().all(Option::is_some), "{measured:?}");
    assert!(measured.is_sorted(), "{measured:?}");
    assert_eq!(counts("rest").last(), Some(&Some(1200)));
}

#[test]
fn a_faster_server_with_the_same_leak_is_not_called_heavier() {
    use std::time::Duration;
    let leaks = || Behaviour::good().leaking_every(100);
    let outcome = Suite::new()
        .setting("sample_interval", "'10ms'")
        .fixture("slow", &leaks().taking(Duration::from_millis(1)))
        .fixture("fast", &leaks())
        .load("steady", "duration = '1s'\nconnections = 2")
        .run()
        .exits(0);
    let peak = |server: &str| outcome.valid(server).usage["total"].rss_peak.unwrap() as f64;
    assert!(
        peak("fast") > 1.5 * peak("slow"),
        "{} and {}",
        peak("fast"),
        peak("slow")
    );
    let fast = outcome.cell("fast");
    let memory = &fast["ratios"]["rss_peak"];
    assert!(
        near(memory["ratio"].as_f64().unwrap(), 1.0, 0.15),
        "{memory}"
    );
    let load = outcome.valid("slow").load.unwrap();
    let served = load.warmup_requests + load.counts.succeeded;
    assert_eq!(memory["at_requests"], served);
    assert!(
        outcome
            .markdown()
            .contains(" × its peak memory at equal requests ("),
        "{}",
        outcome.markdown()
    );
}

#[test]
fn memory_that_is_only_held_does_not_grow() {
    let outcome = Suite::new()
        .setting("sample_interval", "'10ms'")
        .fixture("holds", &Behaviour::good().holding(32 << 20))
        .load("steady", "duration = '600ms'\nconnections = 2")
        .run()
        .exits(0);
    let growth = &outcome.cell("holds")["growth"];
    assert_eq!(growth["growing"], false, "{growth}");
    assert!(!outcome.markdown().contains("Memory grows"));
}
