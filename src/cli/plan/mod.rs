//! `hotlap plan`: what would run, in what order, how long it takes, what is
//! skipped and why. Starts no server. Cells are made twice, once to look at all of
//! them and once to show them, and never kept: a plan of any size takes little memory.

mod cell;
mod json;
mod tree;

use super::exit::Exit;
use super::requirements::{Machine, Needs};
use super::revisions;
use super::suites::{self, Mistakes, Read, Selection};
use super::terminal::{say_error, say_warning};
use crate::plan::{Demand, Options, Plan, allot, estimate_pilot};
use crate::run::beyond;
use crate::spec::{Cell, RunSettings, Spec};
use clap::Args;
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
    for (read, notes, options) in &reads {
        all.push(survey(read, notes, options, scratch.path())?);
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

/// The suites, when every mistake of every one of them has been shown, and what was noted of their cells.
fn readable(arguments: &PlanArgs, options: &Options) -> Result<Vec<(Read, Notes, Options)>, Exit> {
    let mut reads = Vec::new();
    let mut errors = Mistakes::default();
    for path in suites::files(&arguments.suites)? {
        match suites::read_to_plan(&path, &arguments.selection) {
            Ok(read) => {
                let mut notes = Notes::default();
                let mut options = options.clone();
                revisions::pin(&read, &mut options);
                match suites::look(&read, &options, |cell| notes.add(&cell)) {
                    Ok(looked) => {
                        for warning in &looked.warnings {
                            say_warning(warning);
                        }
                        notes.head = Some(looked.head);
                    }
                    Err(wrong) => errors += wrong.show(&read.source),
                }
                reads.push((read, notes, options));
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

/// What is kept of cells when they have been looked at.
#[derive(Default)]
struct Notes {
    /// The spec without its cells; none where something is wrong.
    head: Option<Spec>,
    /// What cells need, each once.
    needs: Vec<Needs>,
    loads: Vec<String>,
    cells: Vec<Noted>,
}

/// One of them.
struct Noted {
    /// Its place in `needs`.
    needs: usize,
    /// Its place in `loads`.
    load: usize,
    /// What it wants, with the usual pauses.
    demand: Demand,
    is_compared: bool,
    is_beyond: bool,
    finds_warmup: bool,
}

impl Notes {
    fn add(&mut self, cell: &Cell) {
        // Most cells need what the one before needed.
        let needs = self.needs.iter().rposition(|needs| needs.are_of(cell));
        let needs = needs.unwrap_or_else(|| {
            self.needs.push(Needs::of(cell));
            self.needs.len() - 1
        });
        let load = self.loads.iter().position(|load| *load == cell.load);
        let load = load.unwrap_or_else(|| {
            self.loads.push(cell.load.clone());
            self.loads.len() - 1
        });
        self.cells.push(Noted {
            needs,
            load,
            demand: Demand::of(cell, &RunSettings::default()),
            is_compared: cell.baseline.is_some(),
            is_beyond: beyond(cell).is_some(),
            finds_warmup: cell.work.find_warmup,
        });
    }
}

/// A suite of which everything but the cells themselves is known.
struct Survey<'a> {
    read: &'a Read,
    plan: Plan<'a>,
    /// The spec without its cells.
    head: &'a Spec,
    machine: Machine,
    /// With how many trials each cell begins; none where it is skipped.
    repetitions: Vec<u32>,
    /// What each load takes in all: cells, trials, time.
    loads: Vec<Share>,
    /// The most trials that a cell begins with where there is time for all.
    first: u32,
    /// The most trials that a cell may have.
    most: u32,
    /// Whether trials are added to any cell until its intervals are narrow enough.
    auto: bool,
    /// How many cells get a pilot, and what finding their warm-up takes.
    pilots: Pilots,
    /// How many cells are compared with another.
    comparisons: usize,
    /// How many cells a run would skip, since this version cannot carry them out.
    beyond: usize,
}

/// What finding the length of the warm-up takes of the run.
#[derive(Default)]
struct Pilots {
    /// Cells that get one.
    cells: usize,
    /// What they take at the least.
    least: Duration,
    /// What they take at the most.
    most: Duration,
    /// How much longer the trials take, where the longest warm-up is found.
    longer: Duration,
}

impl Pilots {
    /// The pilots of these cells, each with its number of trials.
    fn of<'n>(cells: impl Iterator<Item = (&'n Noted, u32)>, run: &RunSettings) -> Self {
        let (least, most) = estimate_pilot(run);
        let longer = run.max_warmup.saturating_sub(run.warmup_window());
        let mut all = Self::default();
        for (_, trials) in cells.filter(|(cell, _)| cell.finds_warmup) {
            all.cells += 1;
            all.least = all.least.saturating_add(least);
            all.most = all.most.saturating_add(most);
            all.longer = all.longer.saturating_add(longer.saturating_mul(trials));
        }
        all
    }
}

/// What one load takes of the run.
struct Share {
    load: String,
    cells: usize,
    trials: u64,
    time: Duration,
}

fn survey<'a>(
    read: &'a Read,
    notes: &'a Notes,
    options: &'a Options,
    scratch: &Path,
) -> Result<Survey<'a>, Exit> {
    // A plan that could be made to look for mistakes can be made again.
    let plan = Plan::new(&read.suite, options).map_err(|_| Exit::Usage)?;
    let head = notes.head.as_ref().ok_or(Exit::Usage)?;
    let machine = Machine::look(&notes.needs, &read.suite.folder, scratch)?;
    let runs: Vec<bool> = notes
        .needs
        .iter()
        .map(|needs| machine.missing(needs).is_none())
        .collect();
    // The settings of the run are known only after its cells.
    let usual = pauses(&RunSettings::default());
    let pauses = pauses(&head.run);
    let demands: Vec<Demand> = notes
        .cells
        .iter()
        .map(|cell| Demand {
            most: if runs[cell.needs] {
                cell.demand.most
            } else {
                0
            },
            time: (cell.demand.time.saturating_sub(usual)).saturating_add(pauses),
            ..cell.demand
        })
        .collect();
    let repetitions = allot(&demands, head.run.budget);
    let running = || {
        let all = notes.cells.iter().zip(&demands).zip(&repetitions);
        all.filter(|((cell, _), _)| runs[cell.needs])
    };
    let loads = notes.loads.iter().enumerate().map(|(at, load)| {
        let mut share = Share {
            load: load.clone(),
            cells: 0,
            trials: 0,
            time: Duration::ZERO,
        };
        for ((_, demand), trials) in running().filter(|((cell, _), _)| cell.load == at) {
            share.cells += 1;
            share.trials += u64::from(*trials);
            share.time = share
                .time
                .saturating_add(demand.time.saturating_mul(*trials));
        }
        share
    });
    let loads: Vec<Share> = loads.filter(|share| share.cells > 0).collect();
    let comparisons = running().filter(|((cell, _), _)| cell.is_compared).count();
    let beyond = running().filter(|((cell, _), _)| cell.is_beyond).count();
    let pilots = running()
        .map(|((cell, _), trials)| (cell, *trials))
        .filter(|(cell, _)| !cell.is_beyond);
    let pilots = Pilots::of(pilots, &head.run);
    let most = demands.iter().map(|demand| demand.most).max().unwrap_or(0);
    Ok(Survey {
        read,
        plan,
        head,
        loads,
        pilots,
        comparisons,
        beyond,
        most,
        first: allot(&demands, None).into_iter().max().unwrap_or(0),
        auto: demands.iter().any(|demand| demand.auto && demand.most > 0),
        repetitions,
        machine,
    })
}

fn pauses(run: &RunSettings) -> Duration {
    run.rest + run.cooldown
}

impl Survey<'_> {
    /// How long the whole run takes; with pilots, at the least.
    fn total(&self) -> Duration {
        self.loads.iter().fold(self.pilots.least, |sum, share| {
            sum.saturating_add(share.time)
        })
    }

    /// How long it takes where no server settles before `max_warmup`.
    fn most(&self) -> Duration {
        let more = self.pilots.most.saturating_sub(self.pilots.least);
        let more = more.saturating_add(self.pilots.longer);
        self.total().saturating_add(more)
    }
}
