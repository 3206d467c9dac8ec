//! What reports say of the generator itself: how near a cell comes to what it can send at all, its CPU, its connections, and
//! where each request went.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its reports has failed"
)]

#[path = "report_fixture/mod.rs"]
mod fixture;

use fixture::{Records, records};
use hotlap::record::{Ceiling, Run};
use hotlap::report::{Input, Options, render};
use serde_json::Value;

fn report(records: &Records, name: &str) -> String {
    let input = Input {
        run: &records.run,
        trials: &records.trials,
        readings: &records.readings,
        history: &[],
        notes: &[],
        baseline: None,
    };
    let outputs = render(&input, &Options::default()).unwrap();
    let output = outputs.iter().find(|output| output.file_name == name);
    String::from_utf8(output.unwrap().bytes.clone()).unwrap()
}

fn json(records: &Records) -> Value {
    serde_json::from_str(&report(records, "report.json")).unwrap()
}

/// The cell of a report that has figures and comes first, with its median rate and the threads of its load.
fn first(records: &Records) -> (String, f64, usize) {
    let told = json(records);
    let cells = told["cells"].as_array().unwrap();
    let cell = cells
        .iter()
        .find(|cell| cell["state"] == "measured")
        .unwrap();
    let rate = cell["metrics"]["requests_per_second"]["median"].as_f64();
    let threads = cell["generator_use"]["threads"].as_u64().unwrap();
    let id = cell["id"].as_str().unwrap().to_owned();
    (id, rate.unwrap(), threads as usize)
}

fn ceiling(threads: usize, requests_per_second: f64) -> Ceiling {
    Ceiling {
        threads,
        connections: 64,
        requests_per_second,
        cpu_share: Some(0.98),
        measured: "2026-11-30T19:05:00Z".to_owned(),
    }
}

fn with(ceiling: Ceiling) -> Records {
    let mut records = records();
    records.run.ceilings = vec![ceiling];
    records
}

#[test]
fn a_cell_near_the_ceiling_is_marked_and_one_below_is_not() {
    let (id, rate, threads) = first(&records());
    let of_cell = |records: &Records| {
        let told = json(records);
        let cells = told["cells"].as_array().unwrap().clone();
        cells
            .into_iter()
            .find(|cell| cell["id"] == id.as_str())
            .unwrap()["generator_use"]["ceiling"]
            .clone()
    };
    let near = with(ceiling(threads, rate / 0.71));
    let told = of_cell(&near);
    assert!(
        (told["share"].as_f64().unwrap() - 0.71).abs() < 1e-9,
        "{told}"
    );
    assert_eq!(told["near"], true);
    let page = report(&near, "report.md");
    assert!(
        page.contains("answered 71\u{a0}% of what the generator can send on this machine at all"),
        "{page}"
    );
    assert!(page.contains("at 98\u{a0}% of its CPU time"), "{page}");

    // Against a null server that was slower it is not the generator's own.
    let mut slower = ceiling(threads, rate / 0.71);
    slower.cpu_share = Some(0.5);
    let page = report(&with(slower), "report.md");
    assert!(
        page.contains(
            "answered 71\u{a0}% of what the generator and the null server reach together"
        ),
        "{page}"
    );

    let below = with(ceiling(threads, rate / 0.69));
    assert_eq!(of_cell(&below)["near"], false);
    assert!(!report(&below, "report.md").contains("answered 69"));
    // Of another number of threads it says nothing.
    assert_eq!(of_cell(&with(ceiling(threads + 1, rate))), Value::Null);
    assert_eq!(of_cell(&records()), Value::Null);
}

#[test]
fn requests_add_up_and_are_told_for_each_trial() {
    let records = records();
    let told = json(&records);
    let mut seen = 0;
    for cell in told["cells"].as_array().unwrap() {
        let used = &cell["generator_use"];
        if used.is_null() {
            continue;
        }
        seen += 1;
        let of = |key: &str| used["requests"][key].as_u64().unwrap();
        let ends = of("succeeded") + of("failed") + of("timed_out") + of("unfinished");
        assert_eq!(
            (of("sent"), of("planned")),
            (ends, of("sent") + of("unsent")),
            "{used}"
        );
    }
    assert!(seen > 0, "{told}");
    let page = report(&records, "report.md");
    let table = page.split("The generator in every trial").nth(1).unwrap();
    let table = table.split("</details>").next().unwrap();
    let loads = records.trials.iter().filter(|trial| trial.load.is_some());
    let rows = table.lines().filter(|line| line.starts_with("| ")).count();
    assert_eq!(rows, loads.count() + 1, "{table}");
}

#[test]
fn a_record_without_ceilings_reads_as_before() {
    let run = records().run;
    let text = serde_json::to_string(&run).unwrap();
    assert!(!text.contains("ceilings"), "{text}");
    let again: Run = serde_json::from_str(&text).unwrap();
    assert!(again.ceilings.is_empty());
}
