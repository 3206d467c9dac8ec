//! A scratch folder that goes when its runner does. A small process of its own,
//! `hotlap guard`, makes it, perhaps as a copy of another folder, and removes it
//! at the end of its lifeline: when the runner has no more use for it, or has died.

use super::handle::GuardProgram;
use super::launch::{Order, line};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a folder may take to be removed while processes that are being ended still write to it.
const REMOVE_WITHIN: Duration = Duration::from_secs(10);
/// Between two tries to remove it.
const AGAIN: Duration = Duration::from_millis(20);

/// What a keeper is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Keep {
    /// The folder to make; it must not be there.
    path: PathBuf,
    /// The folder that it is a copy of.
    copy: Option<PathBuf>,
}

/// A folder, until this is dropped. Drop it after the processes that write to it have ended.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    lifeline: Option<ChildStdin>,
    keeper: Child,
}

/// Why a scratch folder could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchError(String);

impl fmt::Display for ScratchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScratchError {}

impl Scratch {
    /// A new folder among the temporary ones, for its owner alone; empty, or a copy of another. Given up
    /// meanwhile, nothing stays behind.
    pub async fn make(program: &GuardProgram, copy: Option<PathBuf>) -> Result<Self, ScratchError> {
        let name = format!("hotlap-{}-{:016x}", std::process::id(), fastrand::u64(..));
        let path = std::env::temp_dir().join(name);
        Self::kept(program, Keep { path, copy }).await
    }

    /// The same, empty, at a path of the caller's choice, which is not there yet.
    pub async fn make_at(program: &GuardProgram, path: PathBuf) -> Result<Self, ScratchError> {
        Self::kept(program, Keep { path, copy: None }).await
    }

    async fn kept(program: &GuardProgram, keep: Keep) -> Result<Self, ScratchError> {
        let program = program.clone();
        // Whoever gives up waiting drops what the thread gives back.
        tokio::task::spawn_blocking(move || Self::make_now(&program, &keep))
            .await
            .unwrap_or_else(|failure| Err(ScratchError(failure.to_string())))
    }

    fn make_now(program: &GuardProgram, keep: &Keep) -> Result<Self, ScratchError> {
        let failed = |error: &dyn fmt::Display| {
            let path = keep.path.display();
            ScratchError(format!(
                "the scratch folder {path} could not be made: {error}"
            ))
        };
        let mut keeper = Command::new(&program.0)
            .arg0("hotlap")
            .args(["guard", "scratch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(&error))?;
        let reports = keeper.stdout.take();
        let mut scratch = Self {
            path: keep.path.clone(),
            lifeline: keeper.stdin.take(),
            keeper,
        };
        if let Some(lifeline) = &mut scratch.lifeline {
            // A failure here shows when the answer is read.
            let _ = lifeline.write_all(&line(&Order::Keep(keep.clone())));
        }
        let mut answer = String::new();
        if let Some(reports) = reports {
            BufReader::new(reports)
                .read_line(&mut answer)
                .map_err(|error| failed(&error))?;
        }
        match serde_json::from_str::<Result<(), String>>(&answer) {
            Ok(Ok(())) => Ok(scratch),
            Ok(Err(reason)) => Err(ScratchError(reason)),
            Err(_) => Err(failed(&"its keeper is not a guard, or it failed")),
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it, and tells where it stays.
    pub fn remove(mut self) -> Result<(), ScratchError> {
        drop(self.lifeline.take());
        let gone = self.keeper.wait().is_ok_and(|status| status.success());
        if gone {
            return Ok(());
        }
        let path = self.path.display();
        Err(ScratchError(format!(
            "the scratch folder {path} could not be removed"
        )))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // It ends within `REMOVE_WITHIN`, or was killed.
        let _ = self.keeper.wait();
    }
}

/// What a keeper does: makes the folder, says so, waits for the end of `orders`, removes it.
pub(super) fn keep(keep: &Keep, mut wait: impl FnMut() -> bool) -> ExitCode {
    let made = keep.create();
    // What was there before is somebody else's.
    let is_ours = made.is_ok();
    let made = made.and_then(|()| keep.copy());
    let failed = made.is_err();
    // A runner that does not listen any more has ended, and so does this.
    let _ = io::stdout().write_all(&line(&made));
    let _ = io::stdout().flush();
    while !failed && wait() {}
    if !is_ours || keep.remove() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

impl Keep {
    fn create(&self) -> Result<(), String> {
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&self.path)
            .map_err(|error| {
                let path = self.path.display();
                format!("the scratch folder {path} cannot be made: {error}")
            })
    }

    /// Copies, until the runner is gone: nothing is told meanwhile, so that anything to read is the end.
    fn copy(&self) -> Result<(), String> {
        let Some(source) = &self.copy else {
            return Ok(());
        };
        copy_until(source, &self.path, &|| {
            let stdin = io::stdin();
            let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
            poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
        })
    }

    /// Removes the folder; processes that end at this moment may still put something into it. Whether it is gone.
    fn remove(&self) -> bool {
        let until = Instant::now() + REMOVE_WITHIN;
        while self.path.exists() && Instant::now() < until {
            if fs::remove_dir_all(&self.path).is_err() {
                open_up(&self.path);
                thread::sleep(AGAIN);
            }
        }
        !self.path.exists()
    }
}

/// Makes folders that a server closed to itself removable.
fn open_up(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        // What cannot be changed is somebody else's, and shows when it is removed.
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        todo.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
}

/// Copies what is in a folder into another one that is there. What could not be copied is told in a sentence.
pub fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    copy_until(from, to, &|| false)
}

fn copy_until(from: &Path, to: &Path, given_up: &dyn Fn() -> bool) -> Result<(), String> {
    copy(from, to, to, given_up).map_err(|(at, error)| {
        let (from, at) = (from.display(), at.display());
        format!("{from} could not be copied: {at}: {error}")
    })
}

/// Copies what is in a folder: files with their permissions, folders, links as links. What is neither, a
/// socket say, is left out, and so is `except`, which may lie within.
fn copy(
    from: &Path,
    to: &Path,
    except: &Path,
    given_up: &dyn Fn() -> bool,
) -> Result<(), (PathBuf, io::Error)> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| (path, error)
    };
    for entry in fs::read_dir(from).map_err(at(from))? {
        let entry = entry.map_err(at(from))?;
        if given_up() {
            return Err(at(from)(io::ErrorKind::Interrupted.into()));
        }
        let source = entry.path();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().map_err(at(&source))?;
        if kind.is_symlink() {
            let link = fs::read_link(&source).map_err(at(&source))?;
            std::os::unix::fs::symlink(link, &target).map_err(at(&target))?;
        } else if kind.is_dir() {
            if same(&source, except) {
                continue;
            }
            fs::create_dir(&target).map_err(at(&target))?;
            copy(&source, &target, except, given_up)?;
            let mode = fs::metadata(&source).map_err(at(&source))?.permissions();
            fs::set_permissions(&target, mode).map_err(at(&target))?;
        } else if kind.is_file() {
            fs::copy(&source, &target).map_err(at(&source))?;
        }
    }
    Ok(())
}

fn same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_files_links_and_permissions_and_not_itself() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().join("app");
        fs::create_dir_all(app.join("bin/deep")).unwrap();
        fs::write(app.join("bin/run"), "#!").unwrap();
        fs::set_permissions(app.join("bin/run"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("bin/run", app.join("link")).unwrap();
        let keep = Keep {
            path: app.join("scratch"),
            copy: Some(app.clone()),
        };
        keep.create().unwrap();
        copy_folder(&app, &keep.path).unwrap();
        let made = app.join("scratch");
        assert_eq!(fs::read_to_string(made.join("link")).unwrap(), "#!");
        let mode = fs::metadata(made.join("bin/run")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o755);
        assert!(made.join("bin/deep").is_dir());
        assert!(!made.join("scratch").exists());
        fs::set_permissions(made.join("bin"), fs::Permissions::from_mode(0o500)).unwrap();
        assert!(keep.remove());
        assert!(!made.exists());
        assert!(app.join("bin/run").exists());
    }

    #[test]
    fn a_folder_that_is_there_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let keep = Keep {
            path: folder.path().to_owned(),
            copy: None,
        };
        fs::write(folder.path().join("theirs"), "").unwrap();
        assert!(keep.create().unwrap_err().contains("cannot be made"));
        super::keep(&keep, || false);
        assert!(folder.path().join("theirs").exists());
    }
}
