//! Why records cannot be kept or read, for people.

use crate::ids::TrialId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Who holds a lock, as the lock file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// The suite that it runs.
    pub suite: String,
    /// Since when, RFC 3339 in UTC.
    pub since: String,
}

/// Why a record cannot be kept or read.
#[derive(Debug)]
pub enum StoreError {
    /// The system refused.
    Io {
        /// What was being done, such as `write`.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file was written by another version of hotlap than this one can read.
    Format {
        /// The file.
        path: PathBuf,
        /// The line, where it is a file of lines.
        line: Option<usize>,
        /// Its format.
        found: u64,
        /// The format that this hotlap knows.
        known: u32,
    },
    /// The file is not what hotlap wrote.
    Broken {
        /// The file.
        path: PathBuf,
        /// The line, where it is a file of lines, from 1.
        line: Option<usize>,
        /// What is wrong with it.
        reason: String,
    },
    /// A trial would have, or has, two records.
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The trial.
        trial: TrialId,
    },
    /// Another run is under way.
    Locked {
        /// What is locked: `this machine` or `the output folder …`.
        what: String,
        /// The lock file.
        path: PathBuf,
        /// Who holds it, where that can be read.
        holder: Option<Holder>,
    },
    /// What should be a suite's or a run's name cannot be one.
    BadName(String),
    /// There is no such run.
    NoRun {
        /// What was asked for.
        wanted: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// More than one suite has a run with this id.
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// The suites.
        suites: Vec<String>,
    },
}

impl StoreError {
    /// For `map_err`: what was being done to which file.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }

    /// Whether there is no space left, by the disk, a quota or a limit on file sizes.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if full(source))
    }
}

fn full(source: &io::Error) -> bool {
    matches!(
        source.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io {
                doing,
                path,
                source,
            } => {
                write!(f, "cannot {doing} {}: {source}", path.display())?;
                if full(source) {
                    f.write_str("; make room and go on with --resume: what is finished is kept")?;
                }
                Ok(())
            }
            Self::Format {
                path,
                line,
                found,
                known,
            } => write!(
                f,
                "{} is in format {found}, and this hotlap reads format {known}; {}",
                Place(path, *line),
                if *found > u64::from(*known) {
                    "a newer hotlap wrote it: use that one"
                } else {
                    "no hotlap ever wrote that"
                }
            ),
            Self::Broken { path, line, reason } => {
                write!(
                    f,
                    "{} is not what hotlap wrote: {reason}",
                    Place(path, *line)
                )
            }
            Self::Duplicate { path, trial } => {
                write!(
                    f,
                    "{} has a record of the trial {trial} already; a trial has one",
                    path.display()
                )
            }
            Self::Locked { what, path, holder } => {
                write!(f, "another run holds {what}: ")?;
                match holder {
                    Some(Holder { pid, suite, since }) => {
                        write!(f, "pid {pid} (suite {suite}, since {since})")?;
                    }
                    None => f.write_str("a process that has not written its name")?,
                }
                write!(f, "; wait for its end ({})", path.display())
            }
            Self::BadName(name) => write!(f, "{name:?} cannot be the name of a suite or a run"),
            Self::NoRun { wanted, folder } => write!(
                f,
                "there is no run {wanted:?} in {}; `hotlap list` shows what there is",
                folder.display()
            ),
            Self::Ambiguous { wanted, suites } => write!(
                f,
                "the suites {} all have a run {wanted}; name the suite too",
                suites.join(", ")
            ),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// A file, and a line in it.
struct Place<'a>(&'a Path, Option<usize>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.display())?;
        self.1.map_or(Ok(()), |line| write!(f, ", line {line},"))
    }
}
