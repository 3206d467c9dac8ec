//! What cells need, looked at on this machine: those that cannot run become skips
//! with a reason and the line that mends it.

use super::exit::Exit;
use super::revisions::{Found, Needed};
use super::terminal::{say_error, say_line};
use crate::generator::{self, Missing, Tool};
use crate::process::GuardProgram;
use crate::run::beyond;
use crate::server::caller;
use crate::server::requirement::{Findings, examine};
use crate::spec::{Cell, Requirement, Skip, Spec};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a cell needs of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Needs {
    requires: Vec<Requirement>,
    /// Folders that it runs in, relative to the suite's.
    folders: Vec<String>,
    /// The program that makes its load; none is the built-in generator.
    generator: Option<String>,
    /// What must lie in its revision, where it is of one; then nothing need lie here.
    revision: Option<Needed>,
}

impl Needs {
    pub(super) fn of(cell: &Cell) -> Self {
        Self {
            requires: cell.requires.clone(),
            folders: folders(cell).map(str::to_owned).collect(),
            generator: cell.work.generator.clone(),
            revision: Needed::of(cell),
        }
    }

    /// Whether a cell needs just this.
    pub(super) fn are_of(&self, cell: &Cell) -> bool {
        self.requires == cell.requires
            && self.generator == cell.work.generator
            && self.folders.iter().map(String::as_str).eq(folders(cell))
            && self.revision == Needed::of(cell)
    }
}

fn folders(cell: &Cell) -> impl Iterator<Item = &str> {
    cell.processes
        .iter()
        .filter_map(|process| process.cwd.as_literal())
}

/// What was found on this machine.
pub(super) struct Machine {
    findings: Findings,
    /// Load generators that are asked for.
    generators: BTreeMap<String, Result<Tool, Missing>>,
    /// What lies in revisions.
    revisions: Found,
    /// The suite's folder.
    folder: PathBuf,
}

impl Machine {
    /// Looks at what is needed. `folder` is the suite's; in `scratch` programs may print.
    pub(super) fn look<'n>(
        needs: impl IntoIterator<Item = &'n Needs>,
        folder: &Path,
        scratch: &Path,
    ) -> Result<Self, Exit> {
        let needs: Vec<&Needs> = needs.into_iter().collect();
        let requirements: BTreeSet<&Requirement> =
            needs.iter().flat_map(|needs| &needs.requires).collect();
        let names: BTreeSet<&String> = needs
            .iter()
            .filter_map(|needs| needs.generator.as_ref())
            .collect();
        let cannot = |error: std::io::Error| {
            say_error(&format!(
                "this machine cannot look at what the suite requires: {error}"
            ));
            Exit::Machine
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(cannot)?;
        let folder = std::path::absolute(folder).map_err(cannot)?;
        let program = GuardProgram::current();
        let findings = runtime.block_on(examine(requirements, &folder, scratch, &program));
        let env: Vec<(String, String)> = caller().into_iter().collect();
        let of_revisions = needs.iter().filter_map(|needs| needs.revision.as_ref());
        let revisions = Found::look(of_revisions, &folder, scratch, &program);
        let revisions = runtime.block_on(revisions);
        let mut generators = BTreeMap::new();
        for name in names {
            let found = runtime.block_on(generator::find(name, &env, scratch, &program));
            generators.insert(name.clone(), found);
        }
        Ok(Self {
            findings,
            generators,
            revisions,
            folder,
        })
    }

    /// Why what needs this cannot run on this machine, if so.
    pub(super) fn missing(&self, needs: &Needs) -> Option<Skip> {
        let skip = |reason| Skip {
            reason,
            install: None,
        };
        let is_file = |one: &Requirement| matches!(one, Requirement::File { .. });
        needs
            .requires
            .iter()
            .filter(|requirement| needs.revision.is_none() || !is_file(requirement))
            .find_map(|requirement| self.findings.get(requirement)?.as_ref().err().cloned())
            .or_else(|| self.ungenerated(needs))
            .or_else(|| {
                if let Some(needed) = &needs.revision {
                    let wrong = self.revisions.wrong(needed);
                    return wrong.or_else(|| self.revisions.unmet(needed)).map(skip);
                }
                let mut folders = needs.folders.iter();
                let folder = folders.find(|folder| !self.folder.join(folder).is_dir())?;
                Some(skip(format!("there is no folder {folder}")))
            })
    }

    /// Why nobody can make the load of what needs this. One that this version does not know is beyond it, which
    /// is said of the cell.
    fn ungenerated(&self, needs: &Needs) -> Option<Skip> {
        let name = needs.generator.as_ref()?;
        let missing = self.generators.get(name)?.as_ref().err()?;
        let install = missing.install.clone()?;
        Some(Skip {
            reason: missing.reason.clone(),
            install: Some(install),
        })
    }

    /// What programs said of their versions, by name.
    pub(super) fn versions(&self) -> BTreeMap<String, String> {
        let of = |(requirement, finding): (&Requirement, &Result<Option<String>, Skip>)| match (
            requirement,
            finding,
        ) {
            (Requirement::Tool { name, .. }, Ok(Some(version))) => {
                Some((name.clone(), version.clone()))
            }
            _ => None,
        };
        self.findings.iter().filter_map(of).collect()
    }
}

/// Marks the cells of `spec` that cannot run here. Returns what programs said of their versions.
pub(super) fn apply(
    spec: &mut Spec,
    folder: &Path,
    scratch: &Path,
) -> Result<BTreeMap<String, String>, Exit> {
    let needs: Vec<Needs> = spec.cells.iter().map(Needs::of).collect();
    let machine = Machine::look(&needs, folder, scratch)?;
    for (cell, needs) in spec.cells.iter_mut().zip(&needs) {
        cell.skip = machine.missing(needs).or_else(|| beyond(cell));
    }
    Ok(machine.versions())
}

/// Refuses to go on with a run whose load generators are not here: its trials would fail, and not be run again.
pub(super) fn refuse_lost_generators(
    spec: &Spec,
    folder: &Path,
    scratch: &Path,
) -> Result<(), Exit> {
    let cells = spec.cells.iter().filter(|cell| cell.skip.is_none());
    let needs: Vec<Needs> = cells
        .map(|cell| Needs {
            requires: Vec::new(),
            folders: Vec::new(),
            revision: None,
            ..Needs::of(cell)
        })
        .collect();
    let machine = Machine::look(&needs, folder, scratch)?;
    let lost: BTreeSet<String> = needs
        .iter()
        .filter_map(|needs| machine.missing(needs))
        .map(|skip| match skip.install {
            Some(install) => format!("{} ({install})", skip.reason),
            None => skip.reason,
        })
        .collect();
    for reason in &lost {
        say_error(reason);
    }
    if lost.is_empty() {
        return Ok(());
    }
    say_line("the run cannot go on without what made its loads; nothing was started");
    Err(Exit::Machine)
}

/// Folders that cells would run in and that are not there: a plan may skip what a run must not overlook. What
/// is checked out for a revision may well not lie here.
pub(super) fn missing_folders(spec: &Spec, folder: &Path) -> Vec<String> {
    let here = spec.cells.iter().filter(|cell| cell.revision.is_none());
    here.flat_map(|cell| folders(cell).map(move |cwd| (&cell.server, cwd)))
        .filter(|(_, cwd)| !folder.join(cwd).is_dir())
        .map(|(server, cwd)| {
            format!(
                "the server `{server}` runs in {cwd}, and there is no such folder in {}",
                folder.display()
            )
        })
        .collect()
}

/// With `--strict` a skip is an error, and a run of skips alone is one always.
pub(super) fn refuse_skips(spec: &Spec, strict: bool) -> Result<(), Exit> {
    let skips: Vec<(&str, &Skip)> = spec
        .cells
        .iter()
        .filter_map(|cell| Some((cell.server.as_str(), cell.skip.as_ref()?)))
        .collect();
    let all = skips.len() == spec.cells.len();
    if skips.is_empty() || !(all || strict) {
        return Ok(());
    }
    let mut reasons: Vec<String> = skips
        .into_iter()
        .map(|(server, skip)| {
            let install = skip
                .install
                .as_ref()
                .map_or_else(String::new, |line| format!(" ({line})"));
            format!("{server}: {}{install}", skip.reason)
        })
        .collect();
    reasons.sort();
    reasons.dedup();
    for reason in &reasons {
        say_error(reason);
    }
    say_line(if all {
        "no cell can run here; nothing was started"
    } else {
        "with --strict every requirement must be met; nothing was started"
    });
    Err(Exit::Machine)
}
