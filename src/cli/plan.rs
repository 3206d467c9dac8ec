//! `hotlap plan`: what would run, in what order, how long it takes, what is
//! skipped and why. Starts no server.

use super::exit::Exit;
use super::suites::{self, Planned, Selection, counted};
use super::terminal::{print, say_error};
use crate::plan::{estimate, schedule};
use crate::spec::{Amount, Cell, Order, Spec};
use crate::units::{show_duration, write_duration};
use clap::Args;
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// Show what would run, in what order, how long it takes and what is skipped
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hotlap plan suites/quickstart.toml --only compression=gzip")]
pub(super) struct PlanArgs {
    /// Suite files, or folders of them
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    /// Print the whole resolved plan as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn main(arguments: &PlanArgs) -> Exit {
    let mut planned = match suites::plan(&arguments.suites, &arguments.selection) {
        Ok(planned) => planned,
        Err(exit) => return exit,
    };
    let scratch = match tempfile::tempdir() {
        Ok(scratch) => scratch,
        Err(error) => {
            say_error(&format!("no temporary folder can be made: {error}"));
            return Exit::Machine;
        }
    };
    for suite in &mut planned {
        let folder = &suite.read.suite.folder;
        if let Err(exit) = super::requirements::apply(&mut suite.spec, folder, scratch.path()) {
            return exit;
        }
    }
    if arguments.json {
        let all: Vec<serde_json::Value> = planned.iter().map(as_json).collect();
        let text = serde_json::to_string_pretty(&all).unwrap_or_default();
        print(&format!("{text}\n"));
    } else {
        for suite in &planned {
            print(&as_text(&suite.spec));
        }
    }
    Exit::Fine
}

fn as_json(planned: &Planned) -> serde_json::Value {
    let spec = &planned.spec;
    json!({
        "format": 1,
        "suite": planned.read.path.display().to_string(),
        "spec": spec,
        "trials": schedule(spec),
        "estimated_ns": u64::try_from(total(spec).as_nanos()).unwrap_or(u64::MAX),
    })
}

fn total(spec: &Spec) -> Duration {
    spec.cells
        .iter()
        .filter(|cell| cell.skip.is_none())
        .map(|cell| estimate(cell, &spec.run) * cell.repetitions)
        .sum()
}

fn as_text(spec: &Spec) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(out, "{}", spec.title);
    let profile = spec
        .profile
        .as_ref()
        .map_or_else(String::new, |name| format!(", profile {name}"));
    let runs: Vec<&Cell> = spec
        .cells
        .iter()
        .filter(|cell| cell.skip.is_none())
        .collect();
    let trials = schedule(spec);
    let _ = writeln!(
        out,
        "{}{profile}: {}, {}, about {}",
        spec.suite,
        counted(runs.len(), "cell"),
        counted(trials.len(), "trial"),
        show_duration(total(spec)),
    );
    let _ = writeln!(out);
    let mut server = "";
    for cell in &spec.cells {
        if cell.server != server {
            server = &cell.server;
            let _ = writeln!(out, "{}", cell.server_label);
            if let Some(process) = cell.front_process() {
                let words: Vec<String> = process.command.iter().map(ToString::to_string).collect();
                let _ = writeln!(out, "  $ {}", words.join(" "));
            }
        }
        let _ = writeln!(out, "  {}", line(cell, spec.is_baseline(cell)));
    }
    let _ = writeln!(out);
    let _ = writeln!(out, "{}", order(spec));
    for planned in &trials {
        let _ = writeln!(
            out,
            "  {:>3}  {}",
            planned.round,
            planned.trial.cell.names()
        );
    }
    out
}

/// One cell: toggles, load, trials, time; or why it is skipped.
fn line(cell: &Cell, is_baseline: bool) -> String {
    let mut words: Vec<String> = cell
        .toggles
        .iter()
        .map(|choice| format!("{}={}", choice.toggle, choice.value))
        .collect();
    words.push(format!("load={}", cell.load));
    let names = words.join(" ");
    if let Some(skip) = &cell.skip {
        let install = skip
            .install
            .as_ref()
            .map_or_else(String::new, |line| format!("; {line}"));
        return format!("{names}: skipped, {}{install}", skip.reason);
    }
    let amount = match cell.work.amount {
        Amount::Duration(duration) => write_duration(duration),
        Amount::Requests(requests) => format!("{requests} requests"),
    };
    let baseline = if is_baseline { " (baseline)" } else { "" };
    format!(
        "{names}: {} × {amount} on {}{baseline}",
        cell.repetitions,
        counted(cell.work.connections as usize, "connection"),
    )
}

fn order(spec: &Spec) -> String {
    match spec.run.order {
        Order::Shuffled => format!("Order (rounds, each shuffled; seed {}):", spec.run.seed),
        Order::Sequential => "Order (rounds, each in file order):".to_owned(),
        Order::Random => format!("Order (random; seed {}):", spec.run.seed),
    }
}
