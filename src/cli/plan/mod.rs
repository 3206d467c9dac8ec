//! `hotlap plan`: what would run, in what order, how long it takes, what is
//! skipped and why. Starts no server. Cells are made twice, once to look at all of
//! them and once to show them, and never kept: a plan of any size takes little memory.

mod cell;
mod json;
mod tree;

use super::exit::Exit;
use super::requirements::Machine;
use super::suites::{self, Disk, Mistakes, Read, Selection, Wrong, nothing_selected};
use super::terminal::{say_error, say_warning};
use crate::plan::{Options, Plan, PlanError, estimate};
use crate::spec::{Cell, Spec};
use clap::Args;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Show what would run, in what order, how long it takes and what is skipped
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hotlap plan suites/quickstart.toml --only compression=gzip\n  \
                  hotlap plan suites/quickstart.toml --cell server=demo,compression=gzip"
)]
pub(super) struct PlanArgs {
    /// Suite files, or folders of them
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    /// Show everything of one cell: its name as the plan shows it, or AXIS=VALUE,…
    #[arg(long, value_name = "CELL", conflicts_with = "json")]
    cell: Option<String>,
    /// Print the whole resolved plan as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn main(arguments: &PlanArgs) -> Exit {
    match plan(arguments) {
        Ok(()) => Exit::Fine,
        Err(exit) => exit,
    }
}

fn plan(arguments: &PlanArgs) -> Result<(), Exit> {
    let scratch = tempfile::tempdir().map_err(|error| {
        say_error(&format!("no temporary folder can be made: {error}"));
        Exit::Machine
    })?;
    let options = arguments.selection.options();
    let reads = readable(arguments, &options)?;
    let mut all = Vec::new();
    for read in &reads {
        all.push(survey(read, &options, scratch.path())?);
    }
    if let Some(wanted) = &arguments.cell {
        return cell::show(&mut all, wanted);
    }
    if arguments.json {
        json::print(&mut all);
        return Ok(());
    }
    for survey in &mut all {
        tree::print(survey);
    }
    Ok(())
}

/// The suites, when every mistake of every one of them has been shown.
fn readable(arguments: &PlanArgs, options: &Options) -> Result<Vec<Read>, Exit> {
    let mut reads = Vec::new();
    let mut errors = Mistakes::default();
    for path in suites::files(&arguments.suites)? {
        match suites::read(&path) {
            Ok(read) => {
                let wrong = wrong(&read, options);
                errors += wrong.show(&read.source);
                reads.push(read);
            }
            Err(count) => errors += count,
        }
    }
    if !errors.any() {
        return Ok(reads);
    }
    errors.sum_up("; nothing was planned");
    Err(Exit::Usage)
}

/// What is wrong with the cells of a suite.
fn wrong(read: &Read, options: &Options) -> Wrong {
    let mut plan = match Plan::new(&read.suite, options) {
        Ok(plan) => plan,
        Err(PlanError::Suite(diagnostics)) => {
            return Wrong {
                diagnostics,
                messages: Vec::new(),
            };
        }
        Err(PlanError::Option(message)) => {
            return Wrong {
                diagnostics: Vec::new(),
                messages: vec![message],
            };
        }
    };
    let mut disk = Disk::default();
    plan.cells().for_each(|cell| disk.add(&cell));
    plan.head();
    let mut messages = disk.missing_files(&read.suite.folder);
    if plan.is_empty() {
        messages.push(nothing_selected(&read.suite.name));
    }
    if plan.mistakes.is_empty() && messages.is_empty() {
        for warning in disk.missing_folders(read) {
            say_warning(&warning);
        }
    }
    Wrong {
        diagnostics: plan.mistakes,
        messages,
    }
}

/// A suite of which everything but the cells themselves is known.
struct Survey<'a> {
    read: &'a Read,
    plan: Plan<'a>,
    /// The spec without its cells.
    head: Spec,
    machine: Machine,
    /// How many trials each cell has; none where it is skipped.
    repetitions: Vec<u32>,
    /// What each load takes in all: cells, trials, time.
    loads: Vec<Share>,
    /// How many cells are compared with another.
    comparisons: usize,
    /// How many cells a run would skip, since this version cannot carry them out.
    beyond: usize,
}

/// What one load takes of the run.
struct Share {
    load: String,
    cells: usize,
    trials: u64,
    time: Duration,
}

fn survey<'a>(read: &'a Read, options: &'a Options, scratch: &Path) -> Result<Survey<'a>, Exit> {
    // A plan that could be made to look for mistakes can be made again.
    let mut plan = Plan::new(&read.suite, options).map_err(|_| Exit::Usage)?;
    let head = plan.head();
    let mut requirements = BTreeSet::new();
    for cell in plan.cells() {
        for requirement in cell.requires {
            if !requirements.contains(&requirement) {
                requirements.insert(requirement);
            }
        }
    }
    let mut machine = Machine::look(&requirements, &read.suite.folder, scratch)?;
    let mut repetitions = Vec::with_capacity(plan.len());
    let mut loads: Vec<Share> = Vec::new();
    let (mut comparisons, mut beyond) = (0, 0);
    for cell in plan.cells() {
        if machine.missing(&cell).is_some() {
            repetitions.push(0);
            continue;
        }
        repetitions.push(cell.repetitions);
        beyond += usize::from(machine.beyond(&cell).is_some());
        comparisons += usize::from(cell.baseline.is_some());
        add(&mut loads, &cell, &head);
    }
    machine.begin_again();
    Ok(Survey {
        read,
        plan,
        head,
        machine,
        repetitions,
        loads,
        comparisons,
        beyond,
    })
}

fn add(loads: &mut Vec<Share>, cell: &Cell, head: &Spec) {
    let time = estimate(cell, &head.run).saturating_mul(cell.repetitions);
    let at = loads.iter().position(|share| share.load == cell.load);
    let at = at.unwrap_or_else(|| {
        loads.push(Share {
            load: cell.load.clone(),
            cells: 0,
            trials: 0,
            time: Duration::ZERO,
        });
        loads.len() - 1
    });
    let share = &mut loads[at];
    share.cells += 1;
    share.trials += u64::from(cell.repetitions);
    share.time = share.time.saturating_add(time);
}

impl Survey<'_> {
    /// How long the whole run takes.
    fn total(&self) -> Duration {
        self.loads
            .iter()
            .fold(Duration::ZERO, |sum, share| sum.saturating_add(share.time))
    }
}
