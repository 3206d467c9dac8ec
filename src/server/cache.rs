//! The folder in which hotlap keeps what takes long to make: runtimes, copies of
//! sources that are built in several ways, and notes of what was built where.
//! Everything in it can be made again; `hotlap clean --caches` empties it.

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Between two looks at a lock that another run holds.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// So many folders of others may have the name of ours.
const MOST_FOREIGN: u32 = 100;

/// The cache of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

/// Something that was found out once, and that holds as long as nothing that it depends on changes: one file of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding(PathBuf);

/// That an entry of the cache is in use, until it is dropped.
#[derive(Debug)]
pub struct Hold {
    file: File,
}

/// How an entry is held.
#[derive(Debug)]
pub(super) enum Held {
    /// It is made, and others may use it too.
    Made(Hold),
    /// It is not, and nobody else may use it.
    Alone(Hold),
}

impl Cache {
    /// Where the environment says: `HOTLAP_CACHE_DIR`, else `hotlap` in `XDG_CACHE_HOME` or in `~/.cache`. Without a home
    /// that is there, as under some cron, `/var/tmp/hotlap-UID`.
    pub fn find() -> Self {
        let folder = |name: &str| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
            Some(PathBuf::from(value))
        };
        let root = folder("HOTLAP_CACHE_DIR")
            .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("hotlap")))
            .or_else(|| {
                let home = folder("HOME").filter(|home| home.is_dir())?;
                Some(home.join(".cache/hotlap"))
            });
        Self {
            root: root.unwrap_or_else(|| own_folder(Path::new("/var/tmp"))),
        }
    }

    /// Another one, in a folder that need not be there yet.
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// An entry of a kind, by what people may call it and by what it is made of.
    pub(super) fn entry(&self, kind: &str, name: &str, of: &impl Serialize) -> PathBuf {
        // Nothing of it is other than strings, numbers and lists.
        let text = serde_json::to_vec(of).unwrap_or_default();
        self.root.join(kind).join(format!("{name}-{}", hash(&text)))
    }

    /// Where a finding of a kind is kept that holds for `of` only.
    pub fn finding(&self, kind: &str, of: &impl Serialize) -> Finding {
        Finding(self.entry(kind, kind, of))
    }

    /// Waits until nobody else uses an entry, and holds it alone. `wait` is told once, where it must be waited for.
    pub(super) async fn alone(&self, entry: &Path, wait: impl FnOnce()) -> io::Result<Hold> {
        let file = lock_file(entry)?;
        let mut wait = Some(wait);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Hold { file }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
            if let Some(tell) = wait.take() {
                tell();
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Holds an entry that is made, together with others; else alone, so that it can be made. `wait` is told once, where
    /// somebody makes it and must be waited for. Whoever waits holds nothing that the other could wait for, since an
    /// entry that is made is never waited for.
    pub(super) async fn made_or_alone(
        &self,
        entry: &Path,
        is_made: impl Fn() -> bool,
        wait: impl FnOnce(),
    ) -> io::Result<Held> {
        let file = lock_file(entry)?;
        let mut wait = Some(wait);
        let free = |tried: Result<(), TryLockError>| match tried {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        };
        loop {
            if free(file.try_lock_shared())? {
                if is_made() {
                    return Ok(Held::Made(Hold { file }));
                }
                file.unlock()?;
            }
            if free(file.try_lock())? {
                let hold = Hold { file };
                return if is_made() {
                    hold.share().map(Held::Made)
                } else {
                    Ok(Held::Alone(hold))
                };
            }
            if let Some(tell) = wait.take() {
                tell();
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Takes away everything that no run uses at this moment. Returns how many entries went, and the names of those
    /// that are in use.
    pub fn empty(&self) -> io::Result<(usize, Vec<String>)> {
        let (mut gone, mut used) = (0, Vec::new());
        for kind in folders(&self.root)? {
            for entry in folders(&kind)? {
                let name = entry
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                let Ok(()) = lock_file(&entry)?.try_lock() else {
                    used.push(name);
                    continue;
                };
                fs::remove_dir_all(&entry)?;
                // The lock's own file stays: taking it away would let two in.
                gone += 1;
            }
        }
        Ok((gone, used))
    }
}

impl Finding {
    /// Waits until nobody else finds it out at this moment, and keeps others waiting until the hold is dropped.
    pub async fn alone(&self) -> io::Result<Hold> {
        Cache::at(PathBuf::new()).alone(&self.0, || {}).await
    }

    /// The bytes that are kept; none where there are none that can be read.
    pub fn kept(&self) -> Option<Vec<u8>> {
        fs::read(self.file()).ok()
    }

    /// Keeps these bytes in the place of others. A reader sees either, never a part.
    pub fn keep(&self, bytes: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.0)?;
        file.write_all(bytes)?;
        file.persist(self.file())?;
        Ok(())
    }

    fn file(&self) -> PathBuf {
        self.0.join("finding.json")
    }
}

impl Hold {
    /// Lets others use the entry too, but not change it.
    pub(super) fn share(self) -> io::Result<Self> {
        self.file.unlock()?;
        self.file.lock_shared()?;
        Ok(self)
    }
}

fn lock_file(entry: &Path) -> io::Result<File> {
    let mut name = entry.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let path = entry.with_file_name(name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
}

fn folders(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(parent) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut all: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    all.sort();
    Ok(all)
}

/// The first bytes of a digest as a name.
pub(super) fn hash(text: &[u8]) -> String {
    let digest = Sha256::digest(text);
    digest[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .concat()
}

/// A folder in one that everybody may write to, which nobody else can write to: programs of the cache are run. One of
/// that name that is somebody else's is passed over.
fn own_folder(parent: &Path) -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    let name = |number: u32| match number {
        0 => parent.join(format!("hotlap-{user}")),
        _ => parent.join(format!("hotlap-{user}.{number}")),
    };
    (0..MOST_FOREIGN)
        .map(name)
        .find(|path| {
            let made = fs::DirBuilder::new().mode(0o700).create(path);
            made.is_ok()
                || fs::symlink_metadata(path).is_ok_and(|found| {
                    found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0
                })
        })
        // Nobody can make a folder here; whoever wants to keep something says so.
        .unwrap_or_else(|| name(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_others_could_fill_is_passed_over() {
        let parent = tempfile::tempdir().unwrap();
        let first = own_folder(parent.path());
        assert_eq!(fs::metadata(&first).unwrap().mode() & 0o777, 0o700);
        assert_eq!(own_folder(parent.path()), first);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&first, open).unwrap();
        let second = own_folder(parent.path());
        assert_ne!(second, first);
        fs::remove_dir(&second).unwrap();
        std::os::unix::fs::symlink(&first, &second).unwrap();
        assert!(
            own_folder(parent.path())
                .ends_with(format!("hotlap-{}.2", rustix::process::geteuid().as_raw()))
        );
    }

    #[test]
    fn a_finding_holds_for_what_it_was_found_of() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("new"));
        let one = cache.finding("kind", &("a", 1));
        assert_eq!(one.kept(), None);
        one.keep(b"first").unwrap();
        one.keep(b"second").unwrap();
        assert_eq!(one.kept().unwrap(), b"second");
        assert_eq!(cache.finding("kind", &("a", 2)).kept(), None);
        assert_eq!(cache.empty().unwrap(), (1, Vec::new()));
        assert_eq!(one.kept(), None);
    }
}
