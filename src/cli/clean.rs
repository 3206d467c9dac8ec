//! `hotlap clean`: ends what earlier runs left alive because their guards were
//! killed. Only processes that a guard wrote down, with pid, start time and the
//! boot that they belong to, are ended. Checkouts of revisions that nobody uses go too. With `--caches` it empties the folder of
//! runtimes and builds, but for what a run uses. With `--keep` old runs go (`thin`).

use super::exit::Exit;
use super::revisions;
use super::terminal::{say_error, say_line};
use super::thin::{Thinning, thin};
use crate::process::{end_leftover, leftovers};
use crate::run::{abandoned, sweep};
use crate::server::cache::Cache;
use clap::Args;
use std::path::{Path, PathBuf};

/// End what earlier runs left alive because their guards were killed; with --caches empty the cache, with --keep thin old runs
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hotlap clean --dry-run\n  hotlap clean --keep 30")]
pub(super) struct CleanArgs {
    /// The folder of reports
    #[arg(long, value_name = "DIR", default_value = "reports")]
    out: PathBuf,
    /// Say what would be ended and taken away, and where the cache is; end and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Take the runtimes and builds away that are kept for later runs
    #[arg(long)]
    caches: bool,
    /// Take old runs away with their logs, but for the newest N of each suite and profile; on a terminal it asks. The
    /// newest complete run, runs that a README page or a kept run's baseline names, history.csv and what is committed stay
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// Take them away without asking
    #[arg(long, requires = "keep")]
    yes: bool,
}

pub(super) fn main(arguments: &CleanArgs) -> Exit {
    let mut ended = 0;
    let mut failed = false;
    for folder in ledger_folders(&arguments.out) {
        let found = match leftovers(&folder) {
            Ok(found) => found,
            Err(error) => {
                say_error(&format!("cannot read {}: {error}", folder.display()));
                failed = true;
                continue;
            }
        };
        for left in found {
            if left.guarded {
                say_line(&format!(
                    "`{}` has a living guard (pid {}), which will end it with its run",
                    left.ledger.command, left.ledger.guard.pid
                ));
                continue;
            }
            let pids: Vec<String> = left
                .processes
                .iter()
                .map(|process| process.pid.to_string())
                .collect();
            if !pids.is_empty() {
                say_line(&format!(
                    "`{}`: pid {}",
                    left.ledger.command,
                    pids.join(", ")
                ));
            }
            if arguments.dry_run {
                continue;
            }
            match end_leftover(&left) {
                Ok(alive) if alive.is_empty() => ended += pids.len(),
                Ok(alive) => {
                    failed = true;
                    say_error(&format!("processes that did not end: {}", alive.len()));
                }
                Err(error) => {
                    failed = true;
                    say_error(&format!("{}: {error}", left.path.display()));
                }
            }
        }
    }
    if !arguments.dry_run {
        say_line(&format!("{ended} processes were ended"));
    }
    checkouts(&arguments.out, arguments.dry_run);
    if arguments.caches {
        failed |= !empty(&Cache::find(), arguments.dry_run);
    }
    let thinned = arguments.keep.map_or(Ok(()), |keep| {
        thin(&Thinning {
            out: &arguments.out,
            keep: keep as usize,
            yes: arguments.yes,
            dry_run: arguments.dry_run,
        })
    });
    match thinned {
        Err(exit) => exit,
        Ok(()) if failed => Exit::Machine,
        Ok(()) => Exit::Fine,
    }
}

/// Takes the checkouts of revisions away that runs left whose keepers were killed too, and makes the repository around
/// the reports forget those that are gone.
fn checkouts(out: &Path, dry_run: bool) {
    // Reports need not be there yet, and their folder is then beside this one.
    let folder = if out.is_dir() { out } else { Path::new(".") };
    if dry_run {
        for folder in abandoned()
            .into_iter()
            .chain(revisions::lost_checkouts(folder))
        {
            say_line(&format!(
                "a checkout of a revision that nobody uses: {}",
                folder.display()
            ));
        }
        return;
    }
    let gone = sweep();
    let forgotten = revisions::forget_lost(folder);
    if gone + forgotten > 0 {
        say_line(&format!(
            "checkouts of revisions that nobody uses, taken away: {}",
            gone.max(forgotten)
        ));
    }
}

/// Empties the cache; whether that went well.
fn empty(cache: &Cache, dry_run: bool) -> bool {
    let root = cache.root().display();
    if dry_run {
        say_line(&format!("the cache is {root}"));
        return true;
    }
    match cache.empty() {
        Ok((gone, used)) => {
            let used = if used.is_empty() {
                String::new()
            } else {
                format!("; in use by a run, and left: {}", used.join(", "))
            };
            say_line(&format!(
                "{gone} entries of the cache {root} were removed{used}"
            ));
            true
        }
        Err(error) => {
            say_error(&format!("the cache {root} could not be emptied: {error}"));
            false
        }
    }
}

/// The folders in which guards of runs below `out` wrote that they live.
pub(super) fn ledger_folders(out: &Path) -> Vec<PathBuf> {
    let folders = |parent: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(parent)
            .map(|entries| {
                entries
                    .filter_map(|entry| Some(entry.ok()?.path()))
                    .collect()
            })
            .unwrap_or_default()
    };
    folders(out)
        .iter()
        .flat_map(|suite| folders(&suite.join("runs")))
        .map(|run| run.join("guards"))
        .filter(|guards| guards.is_dir())
        .collect()
}
