//! A report of so many cells that nobody would read all their rows.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot make its records has failed"
)]

#[path = "report_fixture/mod.rs"]
mod fixture;

use fixture::records;
use hotlap::ids::{CellId, VariantId};
use hotlap::report::{Input, Options, Output, render};

/// Cells of the run, all of one load.
const CELLS: usize = 450;

fn text(outputs: &[Output], name: &str) -> String {
    let output = outputs.iter().find(|output| output.file_name == name);
    String::from_utf8(output.unwrap().bytes.clone()).unwrap()
}

#[test]
fn pages_have_the_best_of_very_many_cells_and_files_have_all() {
    let mut records = records();
    let one = records.run.spec.cells[0].clone();
    let trial = records
        .trials
        .iter()
        .find(|trial| trial.trial.cell == one.id);
    let trial = trial.unwrap().clone();
    let planned = records.run.plan[0].clone();
    let id = |at: usize| CellId(format!("s{at:03}@steady#{at:012}"));
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
        // The later in the file, the faster.
        trial.load.as_mut().unwrap().window_ns += (CELLS - at) as u64 * 10_000_000;
        records.trials.push(trial);
    }
    let input = Input {
        run: &records.run,
        trials: &records.trials,
        readings: &records.readings,
        baseline: None,
        history: &[],
        notes: &[],
    };
    let outputs = render(&input, &Options::default()).unwrap();
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
    assert!(report.contains("of 449 comparisons the 60 largest are told"));
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
