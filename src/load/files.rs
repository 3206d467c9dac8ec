//! The files that requests are made from, as they were when the suite was read: a body, or paths.

use crate::spec::FileRef;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where the files of a suite lie.
#[derive(Debug, Clone, Default)]
pub struct Files {
    folder: PathBuf,
}

/// Why a file can't be sent.
#[derive(Debug)]
pub enum FilesError {
    /// It can't be read.
    Read(String, io::Error),
    /// It is not what it was when the suite was read.
    Changed(String),
    /// It has no path.
    Empty(String),
    /// It has more than 4 GiB of paths.
    TooLarge(String),
}

impl fmt::Display for FilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "the file {path} cannot be read: {error}"),
            Self::Changed(path) => write!(
                f,
                "the file {path} has changed since the suite was read, so it would be another load: begin a new run"
            ),
            Self::Empty(path) => write!(f, "there is no path in {path}; write one a line"),
            Self::TooLarge(path) => write!(f, "the file {path} has more than 4 GiB of paths"),
        }
    }
}

impl std::error::Error for FilesError {}

impl Files {
    /// The files of a suite in this folder.
    pub fn of(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// A file's content.
    pub(super) fn read(&self, file: &FileRef) -> Result<Vec<u8>, FilesError> {
        let content = std::fs::read(self.folder.join(&file.path))
            .map_err(|error| FilesError::Read(file.path.clone(), error))?;
        let mut hash = String::new();
        for byte in Sha256::digest(&content) {
            // Writing to a String can't fail.
            let _ = write!(hash, "{byte:02x}");
        }
        if hash == file.sha256 {
            Ok(content)
        } else {
            Err(FilesError::Changed(file.path.clone()))
        }
    }

    /// A file's paths.
    pub(super) fn paths(&self, file: &FileRef) -> Result<Paths, FilesError> {
        let content = self.read(file)?;
        if u32::try_from(content.len()).is_err() {
            return Err(FilesError::TooLarge(file.path.clone()));
        }
        let paths = Paths::new(content);
        if paths.len() == 0 {
            return Err(FilesError::Empty(file.path.clone()));
        }
        Ok(paths)
    }
}

/// The paths of a file, one a line, without blank lines. They are taken in turn by all threads: the file is held once, with
/// eight bytes more for each path.
#[derive(Debug)]
pub(super) struct Paths {
    content: Vec<u8>,
    /// Where each begins and ends.
    places: Vec<(u32, u32)>,
    next: AtomicUsize,
}

impl Paths {
    fn new(content: Vec<u8>) -> Self {
        let mut places = Vec::new();
        let mut from = 0;
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            let path = line.strip_suffix(b"\n").unwrap_or(line);
            let path = path.strip_suffix(b"\r").unwrap_or(path);
            if !path.is_empty() {
                places.push((from as u32, (from + path.len()) as u32));
            }
            from += line.len();
        }
        Self {
            content,
            places,
            next: AtomicUsize::new(0),
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The path with this index.
    pub(super) fn get(&self, index: usize) -> &[u8] {
        let (from, to) = self.places[index];
        &self.content[from as usize..to as usize]
    }

    /// The index of the one whose turn it is.
    pub(super) fn take(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed) % self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_paths_byte_for_byte() {
        let paths = Paths::new(b"/a\r\n\n/b%2F//;x\n\r\n/c".to_vec());
        let all: Vec<&[u8]> = (0..paths.len()).map(|index| paths.get(index)).collect();
        assert_eq!(all, [b"/a".as_slice(), b"/b%2F//;x", b"/c"]);
        let turns: Vec<usize> = (0..7).map(|_| paths.take()).collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn a_file_that_is_gone_changed_or_empty_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::of(folder.path());
        let write = |text: &str| std::fs::write(folder.path().join("p.txt"), text).unwrap();
        let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let file = FileRef {
            path: "p.txt".to_owned(),
            sha256: sha256.to_owned(),
        };
        let told = || files.paths(&file).unwrap_err().to_string();
        assert!(told().contains("the file p.txt cannot be read"));
        write("/a\n");
        assert!(told().contains("p.txt has changed"));
        write("");
        assert!(told().contains("no path in p.txt"));
    }
}
