//! A report of so many cells that nobody would read all their rows.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot make its records has failed"
)]

#[path = "report_fixture/mod.rs"]
mod fixture;

use fixture::{Records, records};
use hotlap::ids::{CellId, VariantId};
use hotlap::record::{Baseline, Outcome, Step};
use hotlap::report::{Format, Input, Options, Output, baseline, render};
use hotlap::spec::{Bound, Limit};

/// Cells of the run, all of one load.
const CELLS: usize = 450;

fn text(outputs: &[Output], name: &str) -> String {
    let output = outputs.iter().find(|output| output.file_name == name);
    String::from_utf8(output.unwrap().bytes.clone()).unwrap()
}

fn id(at: usize) -> CellId {
    CellId(format!("s{at:03}@steady#{at:012}"))
}

/// A run of so many servers, each loaded once: the later in the file, the faster.
fn many() -> Records {
    let mut records = records();
    let one = records.run.spec.cells[0].clone();
    let trial = records
        .trials
        .iter()
        .find(|trial| trial.trial.cell == one.id);
    let trial = trial.unwrap().clone();
    let planned = records.run.plan[0].clone();
    records.run.spec.cells = (0..CELLS)
        .map(|at| {
            let mut cell = one.clone();
            cell.id = id(at);
            cell.variant = VariantId(format!("s{at:03}"));
            cell.server = format!("s{at:03}");
            cell.server_label = format!("Server {at:03}");
            cell.baseline = (at > 0).then(|| id(0));
            cell
        })
        .collect();
    records.run.spec.axes.retain(|axis| axis.name == "server");
    records.run.plan.clear();
    records.trials.clear();
    for at in 0..CELLS {
        let mut planned = planned.clone();
        planned.trial.cell = id(at);
        planned.trial.repetition = 1;
        records.run.plan.push(planned.clone());
        let mut trial = trial.clone();
        trial.trial = planned.trial;
        trial.load.as_mut().unwrap().window_ns += (CELLS - at) as u64 * 10_000_000;
        records.trials.push(trial);
    }
    records
}

fn input<'a>(records: &'a Records, baseline: Option<&'a Baseline>) -> Input<'a> {
    Input {
        run: &records.run,
        trials: &records.trials,
        readings: &records.readings,
        baseline,
        history: &[],
        notes: &[],
    }
}

fn reports(input: &Input<'_>) -> Vec<Output> {
    render(input, &Options::default()).unwrap()
}

#[test]
fn pages_have_the_best_of_very_many_cells_and_files_have_all() {
    let records = many();
    let outputs = reports(&input(&records, None));
    for page in ["report.md", "report.html"] {
        let page = text(&outputs, page);
        assert!(page.contains("Not every cell is shown"), "{page}");
        assert!(page.contains("Server 449") && page.contains("Server 070"));
        // The one that all are compared with is there, though it was the slowest.
        assert!(page.contains("Server 000"));
        assert!(!page.contains("| Server 040 |") && !page.contains("<td>Server 040</td>"));
    }
    let report = text(&outputs, "report.md");
    assert!(report.contains("tables have 401 of 450 cells"), "{report}");
    assert!(report.contains("60 of 449 comparisons (the largest)"));
    assert!(report.len() < 512 * 1024, "{} bytes", report.len());
    assert_eq!(text(&outputs, "summary.csv").lines().count(), CELLS + 1);
    assert_eq!(text(&outputs, "trials.csv").lines().count(), CELLS + 1);
    let value: serde_json::Value = serde_json::from_str(&text(&outputs, "report.json")).unwrap();
    let cells = value["cells"].as_array().unwrap();
    assert_eq!(cells.len(), CELLS);
    for (at, cell) in cells.iter().enumerate() {
        assert_eq!(cell["id"], id(at).0);
    }
}

#[test]
fn what_is_cut_of_failed_cells_and_gates_is_said_with_how_many_there_are() {
    let mut records = many();
    for (cell, trial) in records.run.spec.cells.iter_mut().zip(&mut records.trials) {
        cell.gates.push(Limit {
            metric: "errors".to_owned(),
            max: Some(Bound::Value(0.0)),
            min: None,
            max_regression: None,
            history: false,
        });
        trial.outcome = Outcome::Failed {
            step: Step::Ready,
            reason: format!("no answer from {}", cell.server),
            log_tail: Vec::new(),
        };
    }
    let outputs = reports(&input(&records, None));
    let report = text(&outputs, "report.md");
    assert!(
        report.contains("400 of 450 cells without figures"),
        "{report}"
    );
    assert!(report.contains("400 of 450 gates that fell"), "{report}");
    assert!(report.contains("450 of 450 gates fell"), "{report}");
    assert!(!report.contains("tables have"), "{report}");
    assert!(report.len() < 512 * 1024, "{} bytes", report.len());
    let summary = text(&outputs, "summary.csv");
    assert_eq!(summary.matches("no answer from").count(), CELLS);
    let options = Options {
        formats: vec![Format::Badge],
        template: None,
    };
    let badge = render(&input(&records, None), &options).unwrap();
    assert!(text(&badge, "badge.svg").contains("450 gates fell"));
}

#[test]
fn what_became_of_very_many_cells_since_an_earlier_run_is_cut_too() {
    let old = baseline(&input(&many(), None));
    let mut records = many();
    let anew = |id: &CellId| CellId(id.0.replace("#0", "#1"));
    for at in 0..CELLS {
        // Another configuration, at half the rate.
        let trial = &mut records.trials[at];
        trial.trial.cell = anew(&trial.trial.cell);
        trial.load.as_mut().unwrap().window_ns *= 2;
        records.run.plan[at].trial = trial.trial.clone();
        let cell = &mut records.run.spec.cells[at];
        cell.id = anew(&cell.id);
        cell.baseline = cell.baseline.as_ref().map(anew);
    }
    let outputs = reports(&input(&records, Some(&old)));
    let report = text(&outputs, "report.md");
    let cut = [
        "400 of 450 cells beside the earlier run",
        "400 of 450 changed configurations",
    ];
    for cut in cut {
        assert!(report.contains(cut), "{report}");
    }
    assert!(report.len() < 768 * 1024, "{} bytes", report.len());
}
