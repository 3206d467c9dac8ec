//! `hotlap plan`: what would run, in what order, how long it takes, what is
//! skipped and why. Starts no server. Cells are made twice, once to look at all of
//! them and once to show them, and never kept: a plan of any size takes little memory.

mod cell;
mod json;
mod tree;

use super::exit::Exit;
use super::requirements::Machine;
use super::suites::{self, Read, Selection, counted};
use super::terminal::{say_error, say_line, say_warning};
use crate::plan::{Options, Plan, estimate};
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
    let mut errors = 0;
    for path in suites::files(&arguments.suites)? {
        match suites::read(&path) {
            Ok(read) => {
                match suites::look(&read, options, drop) {
                    Ok(looked) => looked
                        .warnings
                        .iter()
                        .for_each(|warning| say_warning(warning)),
                    Err(wrong) => errors += wrong.show(&read.source),
                }
                reads.push(read);
            }
            Err(count) => errors += count,
        }
    }
    if errors == 0 {
        return Ok(reads);
    }
    say_line(&format!(
        "{}; nothing was planned",
        counted(errors, "error")
    ));
    Err(Exit::Usage)
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
    /// Whether any cell is held to a limit.
    gated: bool,
    /// Whether any cell stands beside a published figure.
    published: bool,
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
    let (mut gated, mut published) = (false, false);
    for cell in plan.cells() {
        if machine.missing(&cell).is_some() {
            repetitions.push(0);
            continue;
        }
        repetitions.push(cell.repetitions);
        beyond += usize::from(machine.beyond(&cell).is_some());
        gated |= !cell.gates.is_empty();
        published |= !cell.published.is_empty();
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
        gated,
        published,
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
