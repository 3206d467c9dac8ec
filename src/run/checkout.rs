//! The revisions that the cells of a run are made from, each checked out once, as a git worktree in a folder of its
//! own. All of it goes when the run ends, however it ends: a keeper removes the folder of a runner that was killed,
//! and the next run makes the repository forget it.

use super::event::Event;
use super::making::make;
use super::repository::{OURS, Repository};
use super::runner::{Job, RunError, remaining};
use crate::process::Scratch;
use crate::server::build::BuildError;
use crate::server::cache::Cache;
use crate::spec::{Build, Planned, Spec, short_commit};
use crate::store::RunFolder;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of the cache that checkouts lie in.
const KIND: &str = "revisions";

/// One revision, checked out.
#[derive(Debug)]
pub(super) struct Checkout {
    /// What stands in the place of the suite's folder.
    pub(super) folder: PathBuf,
    /// Where its builds are noted, which go with it.
    pub(super) cache: Cache,
}

/// A folder of ours that a revision is checked out into.
#[derive(Debug)]
struct Room {
    tree: PathBuf,
    scratch: Scratch,
    /// That it is in use, where another run looks for what nobody uses.
    lock: Option<Lock>,
}

/// A lock's file, held.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    _file: File,
}

/// All that a run has checked out, by commit; a failure waits until its trials' turn.
#[derive(Debug, Default)]
pub(super) struct Checkouts {
    repository: Option<Repository>,
    rooms: Vec<Room>,
    all: BTreeMap<String, Result<Checkout, BuildError>>,
}

impl Checkouts {
    /// Checks out what the trials need that are left. Whoever gives up waiting must call [`Self::remove`] too.
    pub(super) async fn make(
        &mut self,
        records: &RunFolder,
        job: &Job,
        spec: &Spec,
        plan: &[Planned],
        listen: &mut (dyn FnMut(&Event) + Send),
    ) -> Result<(), RunError> {
        let mut wanted: BTreeMap<&str, String> = BTreeMap::new();
        for (_, cell) in remaining(records, spec, plan) {
            if let Some((revision, commit)) = cell.revision.as_ref().zip(cell.commit.as_ref()) {
                wanted.insert(commit, revision.to_string());
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let logs = records.path().join("logs/revisions");
        make(&logs)?;
        let repository = Repository::around(&job.folder, &logs, &job.program).await;
        if let Ok(repository) = &repository {
            sweep();
            repository.forget_lost().await;
        }
        for (commit, revision) in wanted {
            listen(&Event::CheckedOut {
                revision,
                commit: commit.to_owned(),
            });
            let checkout = match &repository {
                Ok(repository) => self.one(repository, commit, job).await,
                Err(reason) => Err(reason.clone()),
            };
            let checkout = checkout.map_err(|reason| BuildError {
                reason: format!(
                    "the revision {} could not be checked out: {reason}",
                    short_commit(commit)
                ),
                log_tail: Vec::new(),
            });
            self.all.insert(commit.to_owned(), checkout);
        }
        Ok(())
    }

    /// What stands in the place of the suite's folder for each commit.
    pub(super) fn folders(&self) -> BTreeMap<String, Result<PathBuf, BuildError>> {
        let folder = |made: &Result<Checkout, BuildError>| match made {
            Ok(checkout) => Ok(checkout.folder.clone()),
            Err(error) => Err(error.clone()),
        };
        let all = self.all.iter();
        all.map(|(commit, made)| (commit.clone(), folder(made)))
            .collect()
    }

    /// The checkout that a build is made in; none for one of the working tree.
    pub(super) fn of(&self, build: &Build) -> Option<&Checkout> {
        let commit = build.revision.as_ref()?.as_literal()?;
        self.all.get(commit)?.as_ref().ok()
    }

    async fn one(
        &mut self,
        repository: &Repository,
        commit: &str,
        job: &Job,
    ) -> Result<Checkout, String> {
        let parent = parent(repository.top()).map_err(|error| error.to_string())?;
        let name = format!("{OURS}{}-{:016x}", std::process::id(), fastrand::u64(..));
        let lock =
            hold(&parent, &name).map_err(|error| format!("{}: {error}", parent.display()))?;
        let scratch = Scratch::make_at(&job.program, parent.join(name)).await;
        let scratch = scratch.map_err(|error| error.to_string())?;
        let tree = scratch
            .path()
            .join(format!("{OURS}{}", short_commit(commit)));
        let cache = Cache::at(scratch.path().join("builds"));
        // It is to be removed from now on, also where git is cut off.
        self.repository = Some(repository.clone());
        self.rooms.push(Room {
            tree: tree.clone(),
            scratch,
            lock,
        });
        repository.add(commit, &tree).await?;
        let folder = tree.join(repository.inside());
        // A suite may be younger than the revision, and the folders of its servers are named from its own.
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Checkout { folder, cache })
    }

    /// Removes all of it. What stays is told in a sentence each.
    pub(super) async fn remove(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        for room in std::mem::take(&mut self.rooms) {
            let Some(repository) = &self.repository else {
                continue;
            };
            let known = repository.remove(&room.tree).await;
            if let Err(error) = room.scratch.remove() {
                left.push(error.to_string());
            }
            // Of one that was cut off git may know nothing, and of one that it could not remove it can forget now.
            if known.is_err() {
                repository.forget_lost().await;
            }
            // Nobody else ever wants this name.
            if let Some(lock) = room.lock {
                let _ = fs::remove_file(&lock.path);
            }
        }
        self.all.clear();
        left
    }
}

/// Where checkouts are put: into the cache, which is on a disk; but not into the repository itself, where programs
/// that look for what they need in the folders above would find that of the working tree.
fn parent(top: &Path) -> io::Result<PathBuf> {
    let cache = std::path::absolute(Cache::find().root())?.join(KIND);
    fs::create_dir_all(&cache)?;
    if !cache.canonicalize()?.starts_with(top) {
        return Ok(cache);
    }
    let _ = fs::remove_dir(&cache);
    std::path::absolute(std::env::temp_dir())
}

/// Says in the cache that a folder of it is in use. Nobody looks among the temporary ones.
fn hold(parent: &Path, name: &str) -> io::Result<Option<Lock>> {
    if parent.file_name() != Some(OsStr::new(KIND)) {
        return Ok(None);
    }
    let path = parent.join(format!("{name}.lock"));
    let file = File::create(&path)?;
    file.try_lock()?;
    Ok(Some(Lock { path, _file: file }))
}

/// The checkouts in the cache whose runner and keeper were killed.
pub fn abandoned() -> Vec<PathBuf> {
    let all = abandoned_locks().into_iter();
    all.map(|lock| lock.path.with_extension(""))
        .filter(|folder| folder.exists())
        .collect()
}

/// Removes these. Returns how many.
pub fn sweep() -> usize {
    let mut gone = 0;
    for lock in abandoned_locks() {
        let folder = lock.path.with_extension("");
        if folder.exists() && fs::remove_dir_all(&folder).is_ok() {
            gone += 1;
        }
        if !folder.exists() {
            let _ = fs::remove_file(&lock.path);
        }
    }
    gone
}

/// The locks that nobody holds, held as long as they are looked at.
fn abandoned_locks() -> Vec<Lock> {
    let parent = Cache::find().root().join(KIND);
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let path = entry.path();
            let is_lock = path.extension() == Some(OsStr::new("lock"));
            let file = is_lock.then(|| File::options().write(true).open(&path).ok())??;
            file.try_lock().ok()?;
            Some(Lock { path, _file: file })
        })
        .collect()
}
