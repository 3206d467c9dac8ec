//! The pages of a run as their readers see them: plots as SVG, and `report.html` in a real browser.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot make its records has failed"
)]

mod browser;
#[path = "../report_fixture/mod.rs"]
mod fixture;
mod html;
mod matrix;
mod plots;

use fixture::Records;
use hotlap::report::{Input, Options, Output, render};

/// Every report of these records.
fn reports(records: &Records) -> Vec<Output> {
    let input = Input {
        run: &records.run,
        trials: &records.trials,
        readings: &records.readings,
        baseline: None,
        history: &[],
        notes: &[],
    };
    render(&input, &Options::default()).unwrap()
}

/// One of them as text.
fn text(outputs: &[Output], name: &str) -> String {
    let output = outputs.iter().find(|output| output.file_name == name);
    let output = output.unwrap_or_else(|| panic!("there is no {name}"));
    String::from_utf8(output.bytes.clone()).unwrap()
}
