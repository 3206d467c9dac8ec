//! Open loops and searches in whole runs: what a schedule offered is told beside what became of it.

use crate::fixture::Behaviour;
use crate::kit::{Suite, without_node};
use std::time::Duration;

/// A server that takes 5 ms for each request, one after the other.
const QUEUE: &str = "let free = 0; require('http').createServer((q, r) => { const now = performance.now(); free = Math.max(free, now) + 5; setTimeout(() => r.end('ok'), free - now) }).listen(process.env.PORT)";

#[test]
fn what_a_schedule_offers_is_told_beside_what_became_of_it() {
    if without_node() {
        return;
    }
    let outcome = Suite::new()
        .node("queue", QUEUE, "")
        .load("easy", "rate = 100\nduration = '1s'\nwarmup = '200ms'")
        .load(
            "hard",
            "stages = [{ rate = 100, duration = '500ms' }, { rate = 800, duration = '500ms', ramp = true }]\nconnections = 20\narrivals = 'poisson'\nwarmup = '100ms'",
        )
        .run()
        .exits(0);
    for trial in outcome.trials() {
        let load = trial.load.unwrap();
        let open = load.open.as_ref().unwrap();
        load.counts.check().unwrap();
        assert_eq!(open.response.as_ref().unwrap().count, load.counts.succeeded);
        if trial.trial.cell.names().ends_with("@easy") {
            assert_eq!((load.counts.planned, load.counts.unsent), (100, 0));
            assert_eq!(open.stages, []);
        } else {
            assert_eq!(open.stages.len(), 2);
            assert!(load.counts.unsent > 0, "{load:?}");
            assert!(open.queued > 0, "{open:?}");
            assert!(open.most_busy <= 20, "{open:?}");
        }
    }
    let report = outcome.markdown();
    for words in [
        "## Open loops",
        "| · stage 2 |",
        "It did not sustain what was offered",
        "waited until one of the 20 connections was free",
        "response time, from the instant",
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
    let cells = &outcome.json()["cells"];
    let hard = cells
        .as_array()
        .unwrap()
        .iter()
        .find(|cell| cell["load"]["name"] == "hard");
    let open = &hard.unwrap()["open_loop"];
    assert_eq!(open["sustained"], false, "{open}");
    assert_eq!(hard.unwrap()["latency_timing"], "response");
}

#[test]
fn the_same_seed_sends_the_same_arrivals() {
    if without_node() {
        return;
    }
    let planned = |seed: &str| {
        let outcome = Suite::new()
            .setting("seed", seed)
            .node(
                "plain",
                "require('http').createServer((q, r) => r.end('ok')).listen(process.env.PORT)",
                "",
            )
            .load(
                "some",
                "rate = 1000\nduration = '300ms'\narrivals = 'poisson'\nwarmup = '0s'",
            )
            .run()
            .exits(0);
        outcome.trials()[0].load.as_ref().unwrap().counts.planned
    };
    assert_eq!(planned("5"), planned("5"));
    assert_ne!(planned("5"), planned("6"));
}

#[test]
fn a_search_finds_the_rate_at_which_a_queue_begins_to_grow() {
    if without_node() {
        return;
    }
    let outcome = Suite::new()
        .setting("repetitions", "2")
        .node("queue", QUEUE, "")
        .load(
            "most",
            "search = { latency_p99 = '100ms', errors = '1%' }\nduration = '1s'\nwarmup = '0s'",
        )
        .run()
        .exits(0);
    let trials = outcome.trials();
    for trial in &trials {
        let load = trial.load.as_ref().unwrap();
        let search = load.search.as_ref().unwrap();
        // 200 a second are what it can; in a second a queue takes a while to be seen.
        assert!((150.0..260.0).contains(&search.held), "{search:?}");
        let failed = search.failed.unwrap();
        assert!(failed > search.held, "{search:?}");
        let last = search.steps.last().unwrap();
        assert!((last.rate - search.held).abs() < 1e-9 && last.broke.is_none());
        assert!(search.steps.iter().any(|step| step.broke.is_some()));
        // The figures of the trial are those of the rate that was found.
        assert!((load.offered_per_second().unwrap() / search.held - 1.0).abs() < 0.02);
    }
    // The second one begins near where the first one ended.
    let first = |at: usize| trials[at].load.as_ref().unwrap().search.as_ref().unwrap();
    let begins = first(1).steps[0].rate / first(0).held;
    assert!((0.98..1.02).contains(&begins), "{begins}");
    let cell = outcome.cell("queue");
    let held = cell["metrics"]["capacity"]["median"].as_f64().unwrap();
    assert!((150.0..260.0).contains(&held), "{cell}");
    let report = outcome.markdown();
    assert!(report.contains("## Capacity"), "{report}");
    assert!(report.contains("latency\\_p99 ≤ 100"), "{report}");
}

#[test]
fn a_search_that_nothing_meets_ends_soon_and_says_why() {
    let outcome = Suite::new()
        .setting("warmup", "'0s'")
        .setting("cooldown", "'0s'")
        .fixture("still", &Behaviour::good().taking(Duration::from_millis(2)))
        .load(
            "highest",
            "search = { latency_p99 = '1us' }\nduration = '100ms'\nwarmup = '0s'",
        )
        .run()
        .exits(1);
    assert!(
        outcome.markdown().contains(
            "no rate of at least 1/s holds what the search asks for: at 1/s latency\\_p99 was"
        ) || outcome.markdown().contains(
            "no rate of at least 1/s holds what the search asks for: at 1/s latency_p99 was"
        ),
        "{}",
        outcome.markdown()
    );
}
