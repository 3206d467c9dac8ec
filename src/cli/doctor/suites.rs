//! What suites ask of this machine, and whether it has it.

use super::finding::Finding;
use super::limits::Wanted;
use crate::cli::exit::Exit;
use crate::cli::requirements::{Machine, Needs};
use crate::cli::suites::{self, Mistakes, Read, Selection, counted};
use crate::run::beyond;
use crate::spec::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is kept of a suite's cells.
pub(super) struct Asked {
    read: Read,
    /// Cells with these needs, each kind once.
    needs: Vec<(Needs, usize)>,
    /// Cells that this version cannot carry out, by reason.
    beyond: BTreeMap<String, usize>,
    connections: u64,
}

/// Reads every suite. Each mistake of each file is shown; with one, nothing is returned.
pub(super) fn read(paths: &[PathBuf], profile: Option<&String>) -> Result<Vec<Asked>, Exit> {
    let selection = Selection {
        profile: profile.cloned(),
        ..Selection::default()
    };
    let mut all = Vec::new();
    let mut errors = Mistakes::default();
    if paths.is_empty() {
        return Ok(all);
    }
    for path in suites::files(paths)? {
        let read = match suites::read_to_plan(&path, &selection) {
            Ok(read) => read,
            Err(mistakes) => {
                errors += mistakes;
                continue;
            }
        };
        let mut kept = Kept::default();
        let mut options = selection.options();
        crate::cli::revisions::pin(&read, &mut options);
        match suites::look(&read, &options, |cell| kept.add(&cell)) {
            Ok(_) => all.push(Asked {
                read,
                needs: kept.needs,
                beyond: kept.beyond,
                connections: kept.connections,
            }),
            Err(wrong) => errors += wrong.show(&read.source),
        }
    }
    if errors.any() {
        errors.sum_up("; nothing was looked at");
        return Err(Exit::Usage);
    }
    Ok(all)
}

#[derive(Default)]
struct Kept {
    needs: Vec<(Needs, usize)>,
    beyond: BTreeMap<String, usize>,
    connections: u64,
}

impl Kept {
    fn add(&mut self, cell: &Cell) {
        self.connections = self.connections.max(u64::from(cell.work.connections));
        if let Some(skip) = beyond(cell) {
            *self.beyond.entry(skip.reason).or_default() += 1;
        }
        // Most cells need what the one before needed.
        let known = self.needs.iter().rposition(|(needs, _)| needs.are_of(cell));
        match known {
            Some(at) => self.needs[at].1 += 1,
            None => self.needs.push((Needs::of(cell), 1)),
        }
    }
}

/// What the limits of the machine must hold for.
pub(super) fn wanted(all: &[Asked]) -> Wanted {
    Wanted {
        connections: all.iter().map(|asked| asked.connections).max(),
    }
}

/// Whether the machine has what each suite needs.
pub(super) fn findings(all: &[Asked], scratch: &Path) -> Result<Vec<Finding>, Exit> {
    all.iter().map(|asked| finding(asked, scratch)).collect()
}

fn finding(asked: &Asked, scratch: &Path) -> Result<Finding, Exit> {
    let needs = asked.needs.iter().map(|(needs, _)| needs);
    let machine = Machine::look(needs, &asked.read.suite.folder, scratch)?;
    let cells: usize = asked.needs.iter().map(|(_, cells)| cells).sum();
    let mut lacking: BTreeMap<String, usize> = BTreeMap::new();
    let mut installs: Vec<String> = Vec::new();
    for (needs, cells) in &asked.needs {
        if let Some(skip) = machine.missing(needs) {
            *lacking.entry(skip.reason).or_default() += cells;
            installs.extend(skip.install);
        }
    }
    let skipped: usize = lacking.values().sum();
    for (reason, cells) in &asked.beyond {
        *lacking.entry(reason.clone()).or_default() += cells;
    }
    installs.sort();
    installs.dedup();
    Ok(judged(
        &asked.read.path,
        cells,
        skipped,
        &lacking,
        &installs,
    ))
}

/// `skipped` cells lack something here; `lacking` has their reasons, and those of cells that this version cannot run.
fn judged(
    path: &Path,
    cells: usize,
    skipped: usize,
    lacking: &BTreeMap<String, usize>,
    installs: &[String],
) -> Finding {
    let name = path.display().to_string();
    if lacking.is_empty() {
        return Finding::ok(
            &name,
            format!("{}, nothing is missing", counted(cells, "cell")),
        );
    }
    let reasons: Vec<String> = lacking
        .iter()
        .map(|(reason, cells)| format!("{reason} ({})", counted(*cells, "cell")))
        .collect();
    let seen = reasons.join("; ");
    let finding = if skipped == cells {
        Finding::cannot(&name, seen).so("no cell of the suite can run here")
    } else {
        Finding::warning(&name, seen).so(format!("these of {} are skipped", counted(cells, "cell")))
    };
    if installs.is_empty() {
        return finding;
    }
    finding
        .then("install what is missing")
        .by(installs.join(" && "))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn a_suite_that_cannot_run_at_all_is_not_one_that_lacks_something() {
        let path = Path::new("suites/x.toml");
        let lacking = |cells| BTreeMap::from([("bun is not on the PATH".to_owned(), cells)]);
        let nothing = judged(path, 4, 0, &BTreeMap::new(), &[]);
        assert_eq!(
            (nothing.level, nothing.name.as_str()),
            (Level::Ok, "suites/x.toml")
        );
        let some = judged(path, 4, 2, &lacking(2), &["npm install -g bun".to_owned()]);
        assert_eq!(some.level, Level::Warning);
        assert_eq!(some.command.unwrap(), "npm install -g bun");
        assert!(some.seen.contains("(2 cells)"), "{}", some.seen);
        assert_eq!(
            judged(path, 4, 4, &lacking(4), &[]).level,
            Level::CannotMeasure
        );
    }
}
