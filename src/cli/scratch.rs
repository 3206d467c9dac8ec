//! Where programs that are only asked something (git, `--version`) print. It is a
//! hidden folder of the output folder, which is locked: what a run that was
//! killed left in it is taken away by the next.

use std::io;
use std::path::{Path, PathBuf};

/// The folder, which goes when this is dropped.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Makes it, empty, in the locked folder `out`.
    pub(super) fn new(out: &Path) -> io::Result<Self> {
        let path = std::path::absolute(out)?.join(".asked");
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Its path, absolute.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is taken away by the next run.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
