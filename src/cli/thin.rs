//! `hotlap clean --keep N`: old runs are taken away, their records, logs and reports. Never `history.csv` and the pages,
//! never the newest complete run, one that a page or a kept run's baseline refers to, or what is committed.

use super::exit::Exit;
use super::history;
use super::reports::{add_gap, add_to_history, open};
use super::revisions::ask;
use super::run::stored;
use super::suites::counted;
use super::terminal::{say, say_error, say_line};
use crate::run::Repository;
use crate::store::{self, RunState, RunSummary};
use crate::units::show_bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};

/// The record of a run, which goes last: what has one is still a run, and the next time is thinned again.
const RUN_FILE: &str = "run.json";

/// How old runs are thinned.
pub(super) struct Thinning<'a> {
    /// The folder of reports.
    pub(super) out: &'a Path,
    /// So many of the newest runs of each suite and profile stay.
    pub(super) keep: usize,
    /// Nobody is asked.
    pub(super) yes: bool,
    /// Nothing is taken away.
    pub(super) dry_run: bool,
}

/// Thins old runs. Of a folder in which a run is under way nothing is touched.
pub(super) fn thin(thinning: &Thinning<'_>) -> Result<(), Exit> {
    let out = thinning.out;
    if !out.is_dir() {
        say_line(&format!("there is no run in {}", out.display()));
        return Ok(());
    }
    let _lock = store::lock_output(out, "hotlap clean").map_err(|error| stored(&error))?;
    let committed = committed(out)?;
    let runs = store::list(out).map_err(|error| stored(&error))?;
    let gone = too_old(&runs, thinning.keep, &Referred::by(out, &runs));
    let gone: Vec<(&RunSummary, Contents)> = gone
        .into_iter()
        .map(|run| (run, Contents::of(&run.path, &committed)))
        .filter(|(_, contents)| !contents.files.is_empty())
        .collect();
    let bytes: u64 = gone.iter().map(|(_, contents)| contents.bytes).sum();
    let all = format!(
        "{} ({})",
        counted(gone.len(), "old run"),
        show_bytes(bytes as f64)
    );
    if gone.is_empty() {
        say_line("no run is too old");
        return Ok(());
    }
    if thinning.dry_run {
        for (run, contents) in &gone {
            say_line(&line(run, contents));
        }
        say_line(&format!("{all} would be taken away"));
        return Ok(());
    }
    let asks = !thinning.yes && io::stdin().is_terminal() && io::stderr().is_terminal();
    if asks && !agreed(&gone, &all) {
        say_line("nothing was taken away");
        return Ok(());
    }
    for (run, contents) in &gone {
        keep_its_night(run, out)?;
        contents.remove(&run.path).map_err(|error| {
            say_error(&format!("{}: {error}", run.path.display()));
            Exit::Machine
        })?;
    }
    say_line(&format!("taken away: {all}"));
    Ok(())
}

/// Puts a run that is about to go into its suite's history, where that does not have it yet.
fn keep_its_night(run: &RunSummary, out: &Path) -> Result<(), Exit> {
    if !run.selection.is_empty() {
        return Ok(());
    }
    let records = open(&run.path)?;
    let added = match history::lost(run) {
        Some(lost) => add_gap(&records, &lost.reason, out),
        None => add_to_history(&records, out),
    };
    if added.map_err(|error| stored(&error))? {
        say_line(&format!("{}: the history has it now", run.id));
    }
    Ok(())
}

fn line(run: &RunSummary, contents: &Contents) -> String {
    let profile = run
        .profile
        .as_ref()
        .map_or_else(String::new, |name| format!(" ({name})"));
    let kept = match contents.committed {
        0 => String::new(),
        number => format!(", but for {}", counted(number, "committed file")),
    };
    format!(
        "{}  {}{profile}  {}{kept}",
        run.id,
        run.suite,
        show_bytes(contents.bytes as f64)
    )
}

/// Asks whoever sits at the terminal.
fn agreed(gone: &[(&RunSummary, Contents)], all: &str) -> bool {
    for (run, contents) in gone {
        say_line(&line(run, contents));
    }
    say(&format!("take {all} away? [y/N] "));
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// The runs that are to go.
fn too_old<'r>(runs: &'r [RunSummary], keep: usize, referred: &Referred) -> Vec<&'r RunSummary> {
    let mut groups: BTreeMap<(&str, Option<&str>), Vec<&RunSummary>> = BTreeMap::new();
    for run in runs {
        // One that cannot be read may be of a newer hotlap.
        if !matches!(run.state, RunState::Unreadable(_)) {
            let group = (run.suite.as_str(), run.profile.as_deref());
            groups.entry(group).or_default().push(run);
        }
    }
    let mut kept: BTreeSet<&Path> = BTreeSet::new();
    for group in groups.values_mut() {
        group.sort_by(|a, b| b.id.cmp(&a.id));
        kept.extend(group.iter().take(keep).map(|run| run.path.as_path()));
        let complete = |run: &&&RunSummary| run.state == RunState::Complete;
        let newest = group.iter().find(complete);
        let whole = group
            .iter()
            .find(|run| complete(run) && run.selection.is_empty());
        kept.extend(
            newest
                .into_iter()
                .chain(whole)
                .map(|run| run.path.as_path()),
        );
        kept.extend(
            group
                .iter()
                .filter(|run| referred.on_pages.contains(&run.id.0) || is_held(&run.path))
                .map(|run| run.path.as_path()),
        );
    }
    // What a kept run was compared with; not what that one was, or each night would hold all before it.
    let earlier: BTreeSet<&String> = kept
        .iter()
        .filter_map(|path| referred.by_baselines.get(*path))
        .collect();
    groups
        .into_values()
        .flatten()
        .filter(|run| !kept.contains(run.path.as_path()) && !earlier.contains(&run.id.0))
        .collect()
}

/// Whether a run's processes may live, or its folder is a link to one elsewhere.
fn is_held(run: &Path) -> bool {
    let guarded = fs::read_dir(run.join("guards")).is_ok_and(|mut guards| guards.next().is_some());
    guarded || run.is_symlink()
}

/// Who speaks of which run.
struct Referred {
    /// Runs that stand in a page: a suite's, the index, or the README beside the folder of reports.
    on_pages: BTreeSet<String>,
    /// The run that a run was compared with, by the folder of the later one.
    by_baselines: BTreeMap<PathBuf, String>,
}

impl Referred {
    fn by(out: &Path, runs: &[RunSummary]) -> Self {
        let suites: BTreeSet<&str> = runs.iter().map(|run| run.suite.as_str()).collect();
        let around = std::path::absolute(out).ok();
        let around = around.and_then(|out| out.parent().map(Path::to_owned));
        let folders = suites
            .into_iter()
            .map(|suite| out.join(suite))
            .chain([out.to_owned()])
            .chain(around);
        let text: String = folders.flat_map(|folder| pages(&folder)).collect();
        let spoken = |run: &&RunSummary| text.contains(&run.id.0);
        let baseline = |run: &RunSummary| {
            let file = run.path.join("baseline.json");
            let baseline = store::read_baseline(&file).ok()?;
            Some((run.path.clone(), baseline.run.0))
        };
        Self {
            on_pages: runs
                .iter()
                .filter(spoken)
                .map(|run| run.id.0.clone())
                .collect(),
            by_baselines: runs.iter().filter_map(baseline).collect(),
        }
    }
}

/// The texts of the files `README*.md` in a folder.
fn pages(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_page = |path: &PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("README"))
            && path.extension().is_some_and(|ending| ending == "md")
    };
    entries
        .map(|entry| entry.path())
        .filter(is_page)
        .filter_map(|page| fs::read(page).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect()
}

/// The files below the folder of reports that git has, by their real paths.
fn committed(out: &Path) -> Result<BTreeSet<PathBuf>, Exit> {
    let cannot = |error: &dyn std::fmt::Display| {
        say_error(&format!(
            "it cannot be told which reports are committed, so nothing was taken away: {error}"
        ));
        Exit::Machine
    };
    let out = out.canonicalize().map_err(|error| cannot(&error))?;
    if !out.ancestors().any(|folder| folder.join(".git").exists()) {
        return Ok(BTreeSet::new());
    }
    ask(async |scratch, program| {
        let repository = Repository::around(&out, scratch, program).await?;
        repository.tracked(&out).await
    })
    .and_then(|tracked| tracked)
    .map_err(|reason| cannot(&reason))
}

/// What of a run's folder can go.
struct Contents {
    /// Files, and folders behind what is in them; `run.json` behind everything else.
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    bytes: u64,
    committed: usize,
}

impl Contents {
    fn of(run: &Path, committed: &BTreeSet<PathBuf>) -> Self {
        let mut all = Self {
            files: Vec::new(),
            folders: Vec::new(),
            bytes: 0,
            committed: 0,
        };
        let real = run.canonicalize().unwrap_or_else(|_| run.to_owned());
        all.add(run, &real, committed);
        all.files.sort_by_key(|file| *file == run.join(RUN_FILE));
        all
    }

    fn add(&mut self, folder: &Path, real: &Path, committed: &BTreeSet<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, real) = (entry.path(), real.join(entry.file_name()));
            // Of a link it is the link that goes.
            let Ok(found) = entry.metadata() else {
                continue;
            };
            if found.is_dir() {
                self.add(&path, &real, committed);
            } else if committed.contains(&real) {
                self.committed += 1;
            } else {
                self.bytes += found.len();
                self.files.push(path);
            }
        }
        self.folders.push(folder.to_owned());
    }

    fn remove(&self, run: &Path) -> io::Result<()> {
        debug_assert!(self.files.iter().all(|file| file.starts_with(run)));
        for file in &self.files {
            fs::remove_file(file)?;
        }
        for folder in &self.folders {
            match fs::remove_dir(folder) {
                // Something committed is in it.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                other => other?,
            }
        }
        Ok(())
    }
}
