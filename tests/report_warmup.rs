//! How long servers were warmed up, and whether it was long enough, as every report says it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its reports has failed"
)]

#[path = "report_fixture/mod.rs"]
mod fixture;

use fixture::{Records, records};
use hotlap::record::{Outcome, Pilot, Step};
use hotlap::report::{Input, Options, render};
use std::time::Duration;

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

/// A run whose suite wrote no warm-up: the first cell settled, the second never did, the third failed.
fn piloted() -> Records {
    let mut records = records();
    let run = &mut records.run;
    let pilot = |at: usize, per_second: &[f64], warmup: Option<u64>, outcome| Pilot {
        cell: run.spec.cells[at].id.clone(),
        window: Duration::from_secs(5),
        per_second: per_second.to_vec(),
        settled: warmup == Some(10),
        warmup: warmup.map(Duration::from_secs),
        outcome,
        took_ns: 16_000_000_000,
    };
    let failed = Outcome::Failed {
        step: Step::Ready,
        reason: "nobody listens".to_owned(),
        log_tail: Vec::new(),
    };
    run.pilots = vec![
        pilot(0, &[70.0, 98.0, 99.0], Some(10), Outcome::Valid),
        pilot(1, &[90.0, 110.0], Some(60), Outcome::Valid),
        pilot(2, &[], None, failed),
    ];
    run.warmup = Some(Duration::from_mins(1));
    for cell in &mut run.spec.cells {
        cell.work.find_warmup = true;
        cell.work.warmup = Duration::from_mins(1);
    }
    records
}

#[test]
fn what_pilots_found_is_said_and_who_did_not_settle() {
    let markdown = report(&piloted(), "report.md");
    for words in [
        "- **Warm-up**: 60.0 s, the longest that a pilot of each cell found (Node.js · compression off 10.0 s, \
         Node.js · compression gzip 60.0 s, Go net/http · compression off failed)",
        "- **Node.js · compression gzip**: Its pilot did not settle within 60.0 s: its last two windows of 5.00 s differed \
         by 20 %.",
        "- **Go net/http · compression off**: Its pilot failed (nobody listens), so it was warmed up as long as the other \
         cells, for 60.0 s.",
        "after 60s of warm-up",
    ] {
        assert!(markdown.contains(words), "{words} is not in {markdown}");
    }
    let json: serde_json::Value = serde_json::from_str(&report(&piloted(), "report.json")).unwrap();
    assert_eq!(json["warm_up"]["found_ns"], 60_000_000_000_u64);
    assert_eq!(json["warm_up"]["pilots"].as_array().unwrap().len(), 3);
}

#[test]
fn a_run_that_ended_before_its_last_pilot_found_nothing() {
    let mut records = piloted();
    records.run.warmup = None;
    records.run.spec.cells[0].work.find_warmup = false;
    let markdown = report(&records, "report.md");
    let words = "- **Warm-up**: not found, since the run ended before its last pilot; 60.0 s, as the suite says";
    assert!(markdown.contains(words), "{markdown}");
}

/// The word of each measured cell, and the sentences on the first one.
fn judged(first: impl Fn(usize) -> u64) -> (String, Vec<String>) {
    let mut records = records();
    let id = records.run.spec.cells[0].id.clone();
    for trial in &mut records.trials {
        let Some(load) = &mut trial.load else {
            continue;
        };
        if trial.trial.cell == id {
            load.per_second = (0..10).map(&first).collect();
        }
    }
    let json: serde_json::Value = serde_json::from_str(&report(&records, "report.json")).unwrap();
    let word = json["cells"][0]["steady"].as_str().unwrap().to_owned();
    let csv = report(&records, "trials.csv");
    let rows = csv::Reader::from_reader(csv.as_bytes())
        .deserialize()
        .map(Result::unwrap)
        .collect::<Vec<std::collections::BTreeMap<String, String>>>();
    for row in rows.iter().filter(|row| row["cell"] == id.0) {
        assert_eq!(row["steady"], word);
    }
    // A trial that failed is not judged.
    assert!(rows.iter().any(|row| row["outcome"] == "failed"));
    for row in rows.iter().filter(|row| row["outcome"] == "failed") {
        assert_eq!(row["steady"], "");
    }
    let markdown = report(&records, "report.md");
    let said = markdown.lines().filter(|line| {
        ["Still warming", "Faster at first", "No steady"]
            .iter()
            .any(|words| line.contains(words))
    });
    (word, said.map(str::to_owned).collect())
}

#[test]
fn what_the_seconds_of_a_trial_look_like_is_said() {
    let (word, said) = judged(|_| 9400);
    assert_eq!((word.as_str(), said.len()), ("steady", 0));
    let (word, said) = judged(|second| if second < 3 { 8800 } else { 10_000 });
    assert_eq!(word, "warming");
    assert!(
        said[0].ends_with(
            "Still warming up in 3 of 3 valid trials: at the worst the first 3 s of the measured phase were slower by 12 %, \
             and without them the figure would be 3.7 % higher. Warm up for longer."
        ),
        "{said:?}"
    );
    let (word, said) = judged(|second| if second < 2 { 15_000 } else { 10_000 });
    assert_eq!(word, "unsteady");
    assert!(said[0].contains("Faster at first in 3 of 3"), "{said:?}");
    let (word, said) = judged(|second| 10_000 - 200 * second as u64);
    assert_eq!(word, "unsteady");
    assert!(said[0].contains("No steady state in 3 of 3"), "{said:?}");
    assert_eq!(said.len(), 1);
}
