//! Gates in every report: the stored one in `tests/golden/gates`, byte for byte, and what holds of any.
//! `HOTLAP_BLESS=1 cargo test --test report_gates` writes it anew.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its reports has failed"
)]

#[path = "report_fixture/mod.rs"]
mod fixture;

use fixture::{Records, records};
use hotlap::ids::{CellId, TrialId};
use hotlap::record::{End, Outcome};
use hotlap::report::{Digest, GateLines, Input, Options, Output, render};
use hotlap::spec::{Bound, Choice, Limit, Planned};
use std::fs;
use std::path::Path;

fn input(records: &Records) -> Input<'_> {
    Input {
        run: &records.run,
        trials: &records.trials,
        readings: &records.readings,
        history: &[],
        notes: &[],
        baseline: None,
    }
}

fn reports(records: &Records) -> Vec<Output> {
    render(&input(records), &Options::default()).unwrap()
}

fn text(outputs: &[Output], name: &str) -> String {
    let output = outputs.iter().find(|output| output.file_name == name);
    String::from_utf8(output.unwrap().bytes.clone()).unwrap()
}

fn limit(metric: &str) -> Limit {
    Limit {
        metric: metric.to_owned(),
        max: None,
        min: None,
        max_regression: None,
        history: false,
    }
}

fn at_most(metric: &str, max: f64) -> Limit {
    Limit {
        max: Some(Bound::Value(max)),
        ..limit(metric)
    }
}

fn at_least(metric: &str, min: f64) -> Limit {
    Limit {
        min: Some(Bound::Value(min)),
        ..limit(metric)
    }
}

fn at_most_worse(metric: &str, share: f64) -> Limit {
    Limit {
        max_regression: Some(share),
        ..limit(metric)
    }
}

/// The run of the fixture with nine rounds instead of three, and with limits of every kind. The trial that is invalid is so
/// three times; Go is built from two revisions, the older of which is faster.
fn gated() -> Records {
    let mut records = records();
    let first = records.trials.clone();
    for turn in 1..3 {
        for trial in &first {
            let mut trial = trial.clone();
            trial.trial.repetition += 3 * turn;
            trial.round += 3 * turn;
            // A machine that slows down by 1 % in each turn.
            if let Some(load) = &mut trial.load {
                load.window_ns += u64::from(turn) * 100_000_000;
            }
            let planned = Planned {
                trial: trial.trial.clone(),
                round: trial.round,
            };
            records.run.plan.push(planned);
            records.trials.push(trial);
        }
    }
    with_old_revision(&mut records);
    let everywhere = [
        at_most("errors", 0.0),
        at_least("requests_per_second", 9200.0),
    ];
    for cell in &mut records.run.spec.cells {
        cell.gates = everywhere.to_vec();
    }
    let own = &mut records.run.spec.cells[0].gates;
    own.push(Limit {
        max: Some(Bound::Share(0.001)),
        ..limit("errors")
    });
    own.extend([
        at_most("latency_p99", 17_850_000.0),
        at_most("rss_peak", 96.0 * 1024.0 * 1024.0),
        at_most("response_p99", 1e9),
        at_most_worse("startup", 0.05),
        at_least("requests_per_cpu_second", 9500.5),
    ]);
    let go = records.run.spec.cells.iter_mut();
    let go = go.filter(|cell| cell.id.names().starts_with("go/compression=off"));
    for cell in go {
        cell.gates.push(at_most_worse("requests_per_second", 0.05));
        cell.gates.push(at_most_worse("rss_peak", 0.10));
        cell.gates.push(at_most_worse("latency_p99", 0.0001));
    }
    records
}

/// The plain Go cell has a sibling at another revision, which is its baseline.
fn with_old_revision(records: &mut Records) {
    let cells = &mut records.run.spec.cells;
    let at = cells
        .iter()
        .position(|cell| cell.id.names() == "go/compression=off@steady")
        .unwrap();
    let mut old = cells[at].clone();
    let choice = |value: &str| Choice {
        toggle: "revision".to_owned(),
        value: value.to_owned(),
        label: value.to_owned(),
    };
    old.id = CellId("go/compression=off/revision=base@steady#112233445566".to_owned());
    old.revision = Some("origin/main".into());
    old.toggles.push(choice("base"));
    cells[at].toggles.push(choice("head"));
    cells[at].baseline = Some(old.id.clone());
    let (head, base) = (cells[at].id.clone(), old.id.clone());
    cells.insert(at, old);
    let as_old = |id: &TrialId| TrialId {
        cell: base.clone(),
        repetition: id.repetition,
    };
    let trials: Vec<_> = records
        .trials
        .iter()
        .filter(|one| one.trial.cell == head)
        .cloned()
        .collect();
    for mut trial in trials {
        trial.trial = as_old(&trial.trial);
        records.run.plan.push(Planned {
            trial: trial.trial.clone(),
            round: trial.round,
        });
        let load = trial.load.as_mut().unwrap();
        load.window_ns = load.window_ns * 92 / 100 + u64::from(trial.round % 4) * 1_000_000;
        records.trials.push(trial);
    }
    records.run.spec.axes.insert(
        2,
        hotlap::spec::Axis {
            name: "revision".to_owned(),
            values: ["base", "head"]
                .map(|name| (name.to_owned(), name.to_owned()))
                .to_vec(),
        },
    );
}

#[test]
fn gates_stand_in_the_stored_report() {
    let made = text(&reports(&gated()), "report.md");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/gates");
    let path = folder.join("report.md");
    if std::env::var_os("HOTLAP_BLESS").is_some() {
        fs::create_dir_all(&folder).unwrap();
        fs::write(&path, &made).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap();
    for (number, (a, b)) in made.lines().zip(stored.lines()).enumerate() {
        assert_eq!(a, b, "line {}", number + 1);
    }
    assert_eq!(made, stored);
}

#[test]
fn every_report_tells_the_same_of_gates() {
    let records = gated();
    let made = reports(&records);
    let json: serde_json::Value = serde_json::from_str(&text(&made, "report.json")).unwrap();
    let gates = json["gates"].as_array().unwrap();
    let fell = |gate: &&serde_json::Value| gate["word"] == "fell";
    let fallen = gates.iter().filter(fell).count();
    let lines = GateLines::of(&input(&records));
    assert_eq!((lines.total, lines.fallen.len()), (gates.len(), fallen));
    let digest = Digest::of(&input(&records));
    assert_eq!((digest.gates, digest.gates_fell), (gates.len(), fallen));
    let markdown = text(&made, "report.md");
    let sentence = format!("{fallen} of {} gates fell", gates.len());
    assert!(markdown.contains(&sentence), "{markdown}");
    assert_eq!(lines.sentence(), Some(sentence));
    assert_eq!(markdown.matches("| **fell** |").count(), fallen);

    let csv = text(&made, "summary.csv");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let head = reader.headers().unwrap().clone();
    let column = head.iter().position(|name| name == "gates").unwrap();
    for row in reader.records().map(Result::unwrap) {
        let own = |gate: &&serde_json::Value| gate["cell"] == row[0];
        let word = if gates.iter().filter(own).any(|gate| gate["word"] == "fell") {
            "fell"
        } else {
            "held"
        };
        assert_eq!(&row[column], word, "{}", &row[0]);
    }
}

#[test]
fn a_fallen_gate_is_a_line_of_a_log() {
    let lines = GateLines::of(&input(&gated())).fallen;
    let has = |text: &str| lines.iter().any(|line| line == text);
    assert!(
        has("bun: errors at most 0: – (skipped: bun is not on the PATH)"),
        "{lines:#?}"
    );
    for line in &lines {
        assert!(!line.contains(['\n', '\u{a0}', '|', '*']), "{line}");
    }
}

#[test]
fn a_run_that_was_interrupted_has_no_gate_that_held() {
    let mut records = gated();
    records.run.end = Some(End::Interrupted);
    let lines = GateLines::of(&input(&records));
    assert_eq!(lines.fallen.len(), lines.total);
}

#[test]
fn a_run_without_gates_does_not_speak_of_any() {
    let records = records();
    let made = reports(&records);
    assert!(!text(&made, "report.md").contains("gate"));
    assert_eq!(GateLines::of(&input(&records)), GateLines::default());
    assert_eq!(GateLines::default().sentence(), None);
}

#[test]
fn many_gates_that_held_are_folded() {
    let mut records = records();
    records.run.spec.cells.truncate(1);
    records
        .run
        .plan
        .retain(|one| one.trial.cell == records.run.spec.cells[0].id);
    records.trials.retain(|one| one.outcome == Outcome::Valid);
    records.run.spec.cells[0].gates = vec![at_most("errors", 0.0); 9];
    let markdown = text(&reports(&records), "report.md");
    assert!(
        markdown.contains("All 9 gates held.\n\n<details>"),
        "{markdown}"
    );
    assert!(!markdown.contains("Gates fell"));
}
