//! What a guard leaves on disk while it has processes: who it is, and whom it
//! started. A guard takes its ledger away when all are gone, so that a ledger
//! found later belongs to a run that goes on, or to a guard that was killed.

use super::end::send;
use super::tree::{ProcessId, Walker, all_pids};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the processes of a killed guard may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// One guard and its processes, as a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The version of this file.
    pub format: u32,
    /// The boot in which these pids mean something.
    pub boot: String,
    /// The guard.
    pub guard: ProcessId,
    /// The child that it started; none if that was about to happen.
    pub leader: Option<ProcessId>,
    /// The inodes of the pipes into which its processes print.
    pub pipes: Vec<u64>,
    /// What the process is for.
    pub role: String,
    /// Its command, as a person would type it.
    pub command: String,
}

/// A ledger that was found, and who of it is still there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub ledger: Ledger,
    /// Whether the guard lives: it will end its processes by itself.
    pub guarded: bool,
    /// Its processes that are alive.
    pub processes: Vec<ProcessId>,
}

/// The kernel's name for this boot.
pub(super) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

impl Ledger {
    /// The version that this program writes.
    pub(super) const FORMAT: u32 = 1;

    /// Writes the ledger, whole or not at all.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new()
            .prefix(".ledger")
            .tempfile_in(folder)?;
        serde_json::to_writer(&mut file, self)?;
        file.flush()?;
        file.persist(path)?;
        Ok(())
    }

    /// Whether the guard lives, and the living processes that are its own: its
    /// descendants, or when it is dead, its child, whoever holds the pipes that
    /// it made, and the descendants of those.
    pub(super) fn alive(&self, walker: &mut Walker) -> (bool, Vec<ProcessId>) {
        if self.boot != boot() {
            return (false, Vec::new());
        }
        let mut roots = BTreeSet::new();
        let guarded = is_alive(walker, self.guard);
        if guarded {
            roots.insert(self.guard.pid);
        } else {
            roots.extend(
                self.leader
                    .filter(|&leader| is_alive(walker, leader))
                    .map(|id| id.pid),
            );
            roots.extend(all_pids().filter(|&pid| self.holds_pipe(pid)));
        }
        let mut found = BTreeSet::new();
        for root in roots {
            if !guarded {
                found.extend(
                    walker
                        .stat(root)
                        .filter(|stat| !stat.is_dead())
                        .map(|stat| stat.id),
                );
            }
            let descendants = walker.descendants(root);
            found.extend(
                descendants
                    .iter()
                    .filter(|stat| !stat.is_dead())
                    .map(|stat| stat.id),
            );
        }
        // Nobody is older than the guard that started it.
        found.retain(|process| process.start >= self.guard.start);
        (guarded, found.into_iter().collect())
    }

    /// Whether a process has one of the guard's pipes open.
    fn holds_pipe(&self, pid: u32) -> bool {
        let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            return false;
        };
        files
            .filter_map(|file| fs::read_link(file.ok()?.path()).ok())
            .any(|target| {
                target
                    .to_str()
                    .and_then(|target| {
                        target
                            .strip_prefix("pipe:[")?
                            .strip_suffix(']')?
                            .parse()
                            .ok()
                    })
                    .is_some_and(|inode: u64| self.pipes.contains(&inode))
            })
    }

    /// Ends the processes of a dead guard: frozen, then killed, until none is
    /// found. Gives back those that are left.
    pub(super) fn end(&self) -> Vec<ProcessId> {
        let mut walker = Walker::new();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (guarded, left) = self.alive(&mut walker);
            if guarded || left.is_empty() || Instant::now() >= deadline {
                return left;
            }
            for signal in [Signal::STOP, Signal::KILL] {
                for &process in &left {
                    send(process, signal, |process| is_alive(&mut walker, process));
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Whether the very process is there and has not ended.
fn is_alive(walker: &mut Walker, process: ProcessId) -> bool {
    walker
        .stat(process.pid)
        .is_some_and(|stat| stat.id == process && !stat.is_dead())
}

/// The ledgers in a folder, with what is still alive of each. Files that are
/// no ledgers are passed over; a folder that does not exist has none.
pub fn leftovers(folder: &Path) -> io::Result<Vec<Leftover>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut walker = Walker::new();
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let Ok(text) = fs::read(&path) else { continue };
        let Ok(ledger) = serde_json::from_slice::<Ledger>(&text) else {
            continue;
        };
        let (guarded, processes) = ledger.alive(&mut walker);
        found.push(Leftover {
            path,
            ledger,
            guarded,
            processes,
        });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Ends what is left of a guard that was killed and removes its ledger; gives
/// back the processes that could not be ended. A guard that lives keeps its
/// processes: they are a run's that goes on.
pub fn end_leftover(leftover: &Leftover) -> io::Result<Vec<ProcessId>> {
    let left = leftover.ledger.end();
    if left.is_empty() && !is_alive(&mut Walker::new(), leftover.ledger.guard) {
        fs::remove_file(&leftover.path)?;
    }
    Ok(left)
}
