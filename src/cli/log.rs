//! `hotlap log`: what a cell's processes printed.

use super::exit::Exit;
use super::reports::open;
use super::terminal::{print, say_error};
use crate::process::plain;
use clap::Args;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

/// Show what a cell's processes printed
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hotlap log latest compression=gzip --repetition 2")]
pub(super) struct LogArgs {
    /// A run's folder, its id, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// A part of the cell's name in `hotlap plan`, such as compression=gzip or @steady
    #[arg(value_name = "CELL")]
    cell: String,
    /// Which of its trials; all unless given
    #[arg(long, value_name = "N")]
    repetition: Option<u32>,
    /// The folder of reports in which an id is looked for
    #[arg(long, value_name = "DIR", default_value = "reports")]
    out: PathBuf,
    /// The suite whose run is meant
    #[arg(long, value_name = "NAME")]
    suite: Option<String>,
}

pub(super) fn main(arguments: &LogArgs) -> Exit {
    match show(arguments) {
        Ok(()) => Exit::Fine,
        Err(exit) => exit,
    }
}

fn show(arguments: &LogArgs) -> Result<(), Exit> {
    let folder = super::report::find(&arguments.run, &arguments.out, arguments.suite.as_deref())?;
    let stored = open(&folder)?;
    let mut found = 0;
    for planned in &stored.run.plan {
        let trial = &planned.trial;
        let wanted = trial.cell.0.contains(&arguments.cell)
            && arguments
                .repetition
                .is_none_or(|number| number == trial.repetition);
        let logs = folder.join("logs").join(trial.slug());
        if !wanted || !logs.is_dir() {
            continue;
        }
        for log in files(&logs) {
            found += 1;
            let bytes = std::fs::read(&log).unwrap_or_default();
            print(&format!(
                "── {} repetition {} {}\n",
                trial.cell.names(),
                trial.repetition,
                title(&log)
            ));
            let text = shown(&String::from_utf8_lossy(&bytes));
            print(&text);
            if !text.is_empty() && !text.ends_with('\n') {
                print("\n");
            }
        }
    }
    if found > 0 {
        return Ok(());
    }
    say_error(&format!(
        "no cell of the run {} is called like `{}` and has logs; its report names the cells",
        stored.run.id, arguments.cell
    ));
    Err(Exit::Usage)
}

/// What a log is of: `server`; `ab.load (standard output)` where that was kept apart.
fn title(log: &Path) -> String {
    let stem = log.file_stem().unwrap_or_default().to_string_lossy();
    if log.extension().is_some_and(|ending| ending == "out") {
        format!("{stem} (standard output)")
    } else {
        stem.into_owned()
    }
}

/// On a terminal, what a process printed is stripped of what would change the terminal.
fn shown(text: &str) -> String {
    if !std::io::stdout().is_terminal() {
        return text.to_owned();
    }
    text.lines().map(|line| plain(line) + "\n").collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|entries| {
            entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .collect()
        })
        .unwrap_or_default();
    all.sort();
    all
}
