//! Revisions of a suite's repository, before anything starts: which commits they are, and whether what cells run in
//! is there. Of a suite that names none, git is not asked.

use super::suites::{Mistakes, Planned, Read, Selection, Wrong};
use super::terminal::say_error;
use crate::diagnostic::Diagnostic;
use crate::plan::{Options, Plan};
use crate::process::GuardProgram;
use crate::run::{Kind, Repository, asked};
use crate::spec::{Cell, Requirement, Spec, Text, WORKTREE, short_commit};
use crate::suite::{self, Suite};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Puts a question to git, in a folder where it may print.
pub(super) fn ask<T>(question: impl AsyncFnOnce(&Path, &GuardProgram) -> T) -> Result<T, String> {
    let cannot = |error: std::io::Error| format!("git cannot be asked: {error}");
    let scratch = tempfile::tempdir().map_err(cannot)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(cannot)?;
    let program = GuardProgram::current();
    Ok(runtime.block_on(question(scratch.path(), &program)))
}

/// Gives a suite the axis of `--compare-with`, where that was typed.
pub(super) fn compare(read: &mut Read, selection: &Selection) -> Result<(), Mistakes> {
    let Some(typed) = &selection.compare_with else {
        return Ok(());
    };
    let folder = &read.suite.folder;
    let commit = ask(async |scratch, program| {
        let repository = Repository::around(folder, scratch, program).await?;
        repository.commit(typed).await
    });
    let compared = commit.and_then(|commit| commit).and_then(|commit| {
        let label = format!("{typed} ({})", short_commit(&commit));
        read.suite.compared_with(typed, &label)
    });
    match compared {
        Ok(suite) => {
            read.suite = suite;
            Ok(())
        }
        Err(reason) => {
            say_error(&format!("--compare-with {typed}: {reason}"));
            Err(Mistakes::without_a_code(1))
        }
    }
}

/// Finds the commits of the revisions that the cells of a suite are made from. Those that are none stay without.
pub(super) fn pin(read: &Read, options: &mut Options) {
    if read.suite.revisions().next().is_none() {
        return;
    }
    let mut wanted: BTreeMap<String, Text> = BTreeMap::new();
    // What is wrong with the suite is said when its cells are made again, with the commits.
    if let Ok(mut plan) = Plan::new(&read.suite, options) {
        for revision in plan.cells().filter_map(|cell| cell.revision) {
            wanted.insert(revision.to_string(), revision);
        }
    }
    if wanted.is_empty() {
        return;
    }
    let found = ask(async |scratch, program| {
        let mut commits = BTreeMap::new();
        let repository = Repository::around(&read.suite.folder, scratch, program).await?;
        for (shown, revision) in wanted {
            if let Ok(commit) = repository.commit(&asked(&revision)).await {
                commits.insert(shown, commit);
            }
        }
        if let Ok(commit) = repository.worktree().await {
            commits.insert(WORKTREE.to_owned(), commit);
        }
        Ok::<_, String>(commits)
    });
    // Why there is none is said of the cells that lack it.
    if let Ok(Ok(commits)) = found {
        options.commits = commits;
    }
}

/// What a cell needs to lie in its revision.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Needed {
    /// The revision, as the suite shows it and as git is asked.
    shown: String,
    asked: String,
    commit: Option<String>,
    /// Folders that its processes and builds run in, relative to the suite's.
    folders: Vec<String>,
    /// Files that the suite reads there.
    sources: Vec<String>,
    /// Files that it requires.
    required: Vec<String>,
}

impl Needed {
    /// What a cell needs; none where it is of no revision.
    pub(super) fn of(cell: &Cell) -> Option<Self> {
        let revision = cell.revision.as_ref()?;
        let cwd = |text: &Text| {
            let known = text.symbols().count() == text.variables().count();
            known.then(|| asked(text))
        };
        let mut folders: Vec<String> = Vec::new();
        let mut sources = Vec::new();
        for process in &cell.processes {
            let Some(folder) = cwd(&process.cwd) else {
                continue;
            };
            let files = process.files.iter().filter_map(|(_, source)| cwd(source));
            sources.extend(files.map(|source| format!("{folder}/{source}")));
            folders.push(folder);
        }
        folders.extend(cell.builds.iter().map(|build| build.cwd.clone()));
        folders.sort();
        folders.dedup();
        let required = cell.requires.iter().filter_map(|one| match one {
            Requirement::File { path } => Some(path.clone()),
            _ => None,
        });
        Some(Self {
            shown: revision.to_string(),
            asked: asked(revision),
            commit: cell.commit.clone(),
            folders,
            sources,
            required: required.collect(),
        })
    }

    /// The revision as people read it.
    fn name(&self, commit: &str) -> String {
        format!("{} ({})", self.asked, short_commit(commit))
    }

    fn paths(&self) -> impl Iterator<Item = &String> {
        let files = self.sources.iter().chain(&self.required);
        self.folders.iter().chain(files)
    }
}

/// What git told of all that is needed.
#[derive(Debug, Default)]
pub(super) struct Found {
    repository: Option<Repository>,
    /// Why a revision is none, by how the suite shows it.
    unknown: BTreeMap<String, String>,
    /// What lies at paths, counted from the top, of commits.
    kinds: BTreeMap<(String, PathBuf), Option<Kind>>,
}

impl Found {
    /// Asks git for all that is needed, from a suite's folder.
    pub(super) async fn look<'n>(
        needs: impl Iterator<Item = &'n Needed>,
        folder: &Path,
        scratch: &Path,
        program: &GuardProgram,
    ) -> Self {
        let mut found = Self::default();
        let needs: Vec<&Needed> = needs.collect();
        if needs.is_empty() {
            return found;
        }
        let repository = match Repository::around(folder, scratch, program).await {
            Ok(repository) => repository,
            Err(reason) => {
                let unknown = |needed: &&Needed| (needed.shown.clone(), reason.clone());
                found.unknown = needs.iter().map(unknown).collect();
                return found;
            }
        };
        for needed in needs {
            let Some(commit) = &needed.commit else {
                let reason = repository.commit(&needed.asked).await.err();
                found
                    .unknown
                    .extend(reason.map(|reason| (needed.shown.clone(), reason)));
                continue;
            };
            for path in needed.paths().filter_map(|path| repository.within(path)) {
                if let Entry::Vacant(unknown) = found.kinds.entry((commit.clone(), path)) {
                    let kind = repository.look(commit, &unknown.key().1).await;
                    unknown.insert(kind);
                }
            }
        }
        found.repository = Some(repository);
        found
    }

    /// What is no revision, or does not lie in it, in a sentence without its end.
    pub(super) fn wrong(&self, needed: &Needed) -> Option<String> {
        let Some(commit) = &needed.commit else {
            let reason = self.unknown.get(&needed.shown).cloned();
            return Some(
                reason.unwrap_or_else(|| format!("there is no revision {}", needed.asked)),
            );
        };
        let folder = |path: &String| self.lacks(needed, commit, path, Kind::Folder);
        let source = |path: &String| self.lacks(needed, commit, path, Kind::File);
        let mut folders = needed.folders.iter();
        folders
            .find_map(folder)
            .or_else(|| needed.sources.iter().find_map(source))
    }

    /// What is required and does not lie in a revision.
    pub(super) fn unmet(&self, needed: &Needed) -> Option<String> {
        let commit = needed.commit.as_ref()?;
        needed.required.iter().find_map(|path| {
            let is = |kind| self.lacks(needed, commit, path, kind);
            is(Kind::File).and_then(|_| is(Kind::Folder)).map(|_| {
                let name = needed.name(commit);
                format!("there is no {path} in the revision {name}")
            })
        })
    }

    fn lacks(&self, needed: &Needed, commit: &str, path: &str, kind: Kind) -> Option<String> {
        let what = match kind {
            Kind::Folder => "folder",
            Kind::File => "file",
        };
        let repository = self.repository.as_ref()?;
        let Some(at) = repository.within(path) else {
            return Some(format!(
                "the {what} {path} lies outside of the repository {}, and is in no revision of it",
                repository.top().display()
            ));
        };
        let lies = self.kinds.get(&(commit.to_owned(), at)).copied().flatten();
        let name = needed.name(commit);
        (lies != Some(kind)).then(|| format!("there is no {what} {path} in the revision {name}"))
    }
}

/// What is wrong with the revisions of a suite that is to be run, each where it is written.
pub(super) fn mistakes(planned: &Planned) -> Wrong {
    let mut wrong = Wrong::default();
    let cells = &planned.spec.cells;
    let needs: BTreeMap<Needed, &Cell> = cells
        .iter()
        .rev()
        .filter_map(|cell| Some((Needed::of(cell)?, cell)))
        .collect();
    if needs.is_empty() {
        return wrong;
    }
    let suite = &planned.read.suite;
    let found = ask(async |scratch, program| {
        Found::look(needs.keys(), &suite.folder, scratch, program).await
    });
    let found = match found {
        Ok(found) => found,
        Err(reason) => {
            wrong.messages.push(reason);
            return wrong;
        }
    };
    for (needed, cell) in &needs {
        let Some(reason) = found.wrong(needed) else {
            continue;
        };
        let mut one = Wrong::default();
        match place(suite, cell) {
            Some(span) => one.diagnostics.push(diagnostic(needed, &reason, span)),
            None => one.messages.push(format!(
                "--compare-with {}: {reason}; the server `{}` needs it",
                needed.asked, cell.server
            )),
        }
        wrong.merge(one);
    }
    wrong
}

fn diagnostic(needed: &Needed, reason: &str, span: Range<usize>) -> Diagnostic {
    match &needed.commit {
        None => Diagnostic::error(suite::BAD_VALUE, reason, span)
            .label(format!("this is {}", needed.asked))
            .help("write a branch, a tag or a commit that `git log` knows; what was not fetched is not there"),
        Some(_) => Diagnostic::error(suite::NO_SUCH_FILE, reason, span)
            .help("a server of a revision runs in its own folder of that revision"),
    }
}

/// Where the revision of a cell is written: in an override, else in a toggle; none where it was typed.
fn place(suite: &Suite, cell: &Cell) -> Option<Range<usize>> {
    let axis = |axis: &str| match axis {
        "server" => Some(cell.server.as_str()),
        "load" => Some(cell.load.as_str()),
        _ => {
            let choice = cell.toggles.iter().find(|choice| choice.toggle == axis);
            choice.map(|choice| choice.value.as_str())
        }
    };
    let of_override = suite.overrides.iter().rev().find_map(|one| {
        let revision = one.set.revision.as_ref()?;
        let holds = one.when.as_ref().is_none_or(|when| {
            let mut axes = when.value.axes.iter();
            axes.all(|(name, values)| values.iter().any(|value| axis(name) == Some(value)))
        });
        holds.then(|| revision.span.clone())
    });
    of_override.or_else(|| {
        let toggles = suite.toggles.iter().filter(|toggle| !toggle.is_comparison);
        toggles.rev().find_map(|toggle| {
            let chosen = axis(&toggle.name.value)?;
            let value = toggle
                .values
                .iter()
                .find(|value| value.name.value == chosen)?;
            let revision = value.setting.revision.as_ref()?;
            Some(revision.span.clone())
        })
    })
}

/// The commits of a run that its repository does not have any more, in a sentence each.
pub(super) fn lost(spec: &Spec, folder: &Path) -> Vec<String> {
    let cells = spec.cells.iter().filter(|cell| cell.skip.is_none());
    let wanted: BTreeMap<&String, String> = cells
        .filter_map(|cell| Some((cell.commit.as_ref()?, cell.revision.as_ref()?.to_string())))
        .collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let lost = ask(async |scratch, program| {
        let repository = Repository::around(folder, scratch, program).await?;
        let mut lost = Vec::new();
        for (commit, shown) in wanted {
            if repository.commit(commit).await.is_err() {
                lost.push(format!(
                    "the run began with the revision {shown} as the commit {}, which is not in the repository {} any more",
                    short_commit(commit),
                    repository.top().display()
                ));
            }
        }
        Ok::<_, String>(lost)
    });
    match lost {
        Ok(Ok(lost)) => lost,
        Ok(Err(reason)) | Err(reason) => vec![reason],
    }
}

/// The checkouts of runs that were killed that the repository around a folder still knows.
pub(super) fn lost_checkouts(folder: &Path) -> Vec<PathBuf> {
    let lost =
        ask(
            async |scratch, program| match Repository::around(folder, scratch, program).await {
                Ok(repository) => repository.lost().await,
                Err(_) => Vec::new(),
            },
        );
    lost.unwrap_or_default()
}

/// Makes the repository around a folder forget checkouts of runs that were killed. Returns how many.
pub(super) fn forget_lost(folder: &Path) -> usize {
    let forgotten =
        ask(
            async |scratch, program| match Repository::around(folder, scratch, program).await {
                Ok(repository) => repository.forget_lost().await,
                Err(_) => 0,
            },
        );
    forgotten.unwrap_or(0)
}
