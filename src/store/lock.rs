//! The two locks of a run: one on its output folder, since two runs must not write
//! there, and one on the machine, since two runs would measure each other. They are
//! `flock`s, which the kernel lets go when the holder ends, however it ends. The file
//! tells who holds it; it is never removed, as that would let two in.

use super::error::{Holder, StoreError};
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest text of a lock file that is read.
const LONGEST_NOTE: u64 = 4096;

/// A holder writes its name right after it has the lock: so often a name that is
/// missing or of a dead process is read again.
const NAME_ATTEMPTS: u32 = 10;

/// Between two of these attempts.
const NAME_PAUSE: Duration = Duration::from_millis(10);

/// A lock that is held, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Neither can fail in a way that matters: closing lets go all the same.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Locks the output folder, which is made where it is missing, for a run of `suite`.
pub fn lock_output(out: &Path, suite: &str) -> Result<Lock, StoreError> {
    fs::create_dir_all(out).map_err(StoreError::io("create the folder", out))?;
    let what = format!("the output folder {}", out.display());
    lock(&out.join(".lock"), what, suite)
}

/// Locks the machine for a run of `suite`. Where the file is depends on the
/// machine alone, not on who asks, so that runs of different users meet:
/// `/run/lock` where everybody may write there, else `/tmp`. The environment's
/// `HOTLAP_LOCK_DIR` names another folder.
pub fn lock_machine(suite: &str) -> Result<Lock, StoreError> {
    let folder = match std::env::var_os("HOTLAP_LOCK_DIR") {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => machine_folder(),
    };
    lock_machine_in(&folder, suite)
}

fn lock_machine_in(folder: &Path, suite: &str) -> Result<Lock, StoreError> {
    lock(
        &folder.join("hotlap.lock"),
        "this machine".to_owned(),
        suite,
    )
}

fn machine_folder() -> PathBuf {
    let run_lock = Path::new("/run/lock");
    let for_all = fs::metadata(run_lock)
        .is_ok_and(|folder| folder.is_dir() && folder.permissions().mode() & 0o002 != 0);
    // Not TMPDIR: it may be one user's or one job's own.
    if for_all {
        run_lock.to_owned()
    } else {
        PathBuf::from("/tmp")
    }
}

fn lock(path: &Path, what: String, suite: &str) -> Result<Lock, StoreError> {
    loop {
        let file = open(path).map_err(StoreError::io("open the lock", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked {
                    what,
                    path: path.to_owned(),
                    holder: holder(path),
                });
            }
            Err(TryLockError::Error(source)) => return Err(StoreError::io("lock", path)(source)),
        }
        // Someone who tidies /tmp may have removed the file since it was opened:
        // a lock that nobody else can find would keep nobody out.
        if !is_at(&file, path) {
            continue;
        }
        let mut lock = Lock {
            file,
            path: path.to_owned(),
        };
        sign(&mut lock.file, suite).map_err(StoreError::io("write", path))?;
        return Ok(lock);
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Opens the lock file, for any user to open again. In a folder that all may
/// write to, a link or a pipe of that name may be a trap, and a file that is there
/// already may not be opened with `O_CREAT` (`fs.protected_regular`).
fn open(path: &Path) -> io::Result<File> {
    let careful = || {
        let mut options = OpenOptions::new();
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options
            .read(true)
            .write(true)
            .custom_flags(flags.bits().cast_signed());
        options
    };
    let file = match careful().open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match careful().create_new(true).mode(0o666).open(path) {
                Ok(file) => {
                    // The umask took bits away.
                    file.set_permissions(Permissions::from_mode(0o666))?;
                    file
                }
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    careful().open(path)?
                }
                Err(error) => return Err(error),
            }
        }
        other => other?,
    };
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() > 1 {
        return Err(io::Error::other(
            "it is not a plain file of its own, as a lock must be",
        ));
    }
    Ok(file)
}

fn sign(file: &mut File, suite: &str) -> io::Result<()> {
    let holder = Holder {
        pid: std::process::id(),
        suite: suite.to_owned(),
        since: jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string(),
    };
    let mut text = serde_json::to_vec(&holder)?;
    text.push(b'\n');
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&text)
}

/// Who holds the lock. A name of a process that is no more is that of the holder before.
fn holder(path: &Path) -> Option<Holder> {
    for attempt in 0..NAME_ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(NAME_PAUSE);
        }
        let mut text = String::new();
        let read = open(path).and_then(|file| file.take(LONGEST_NOTE).read_to_string(&mut text));
        if read.is_ok()
            && let Ok(holder) = serde_json::from_str::<Holder>(&text)
            && Path::new(&format!("/proc/{}", holder.pid)).exists()
        {
            return Some(holder);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let first = lock_output(folder.path(), "alpha").unwrap();
        let refused = lock_output(folder.path(), "beta").unwrap_err().to_string();
        assert!(
            refused.contains(&format!("pid {} (suite alpha, since 2", std::process::id())),
            "{refused}"
        );
        drop(first);
        lock_output(folder.path(), "beta").unwrap();
    }

    #[test]
    fn the_machine_lock_is_open_to_all_users() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock_machine_in(folder.path(), "alpha").unwrap();
        let mode = fs::metadata(lock.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o666);
        assert!(machine_folder().is_absolute());
    }

    #[test]
    fn a_lock_file_that_was_removed_is_not_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hotlap.lock");
        let file = open(&path).unwrap();
        assert!(is_at(&file, &path));
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&file, &path));
        open(&path).unwrap();
        assert!(!is_at(&file, &path));
    }

    #[test]
    fn a_trap_is_not_walked_into() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let path = folder.path().join("hotlap.lock");
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        assert!(lock_machine_in(folder.path(), "alpha").is_err());
        fs::remove_file(&path).unwrap();
        fs::hard_link(&victim, &path).unwrap();
        assert!(lock_machine_in(folder.path(), "alpha").is_err());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }
}
