//! Process trees, read from /proc. A process is known by its pid and its start
//! time, since pids are used again. Buffers are kept from one reading to the
//! next: a tree is read many times a second while a server is measured.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{self, Read};

/// A process, for as long as the machine is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its pid.
    pub pid: u32,
    /// When it started, in clock ticks since boot (field 22 of /proc/PID/stat).
    pub start: u64,
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pid)
    }
}

/// What /proc/PID/stat says of a process. CPU times are in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The process.
    pub id: ProcessId,
    /// Its parent's pid.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// The kernel's letter for its state: `R`, `S`, `T` stopped, `Z` zombie, …
    pub state: u8,
    /// CPU time of its own threads, also of ended ones.
    pub own_ticks: u64,
    /// CPU time of descendants that it, or one of them, has waited for.
    pub reaped_ticks: u64,
    /// Threads.
    pub threads: u32,
}

impl Stat {
    /// Whether the process has ended and only waits to be reaped. One whose
    /// first thread has ended shows `Z` too, but lives on in its other threads.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }

    /// Whether the process lives, but its first thread has ended: its memory
    /// is then seen through another thread only.
    pub fn is_headless(&self) -> bool {
        self.state == b'Z' && self.threads > 1
    }

    /// Whether a signal stopped the process.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }

    /// Reads the text of /proc/PID/stat. The program's name in it may hold any
    /// character, so that fields are counted from its last parenthesis.
    fn parse(text: &[u8]) -> Option<Self> {
        let close = text.iter().rposition(|&byte| byte == b')')?;
        let name = text.iter().position(|&byte| byte == b'(')?;
        let pid = std::str::from_utf8(&text[..name]).ok()?.trim();
        let rest = std::str::from_utf8(&text[close + 1..]).ok()?;
        let mut fields = [""; 20];
        let mut count = 0;
        for (slot, field) in fields.iter_mut().zip(rest.split_ascii_whitespace()) {
            *slot = field;
            count += 1;
        }
        if count < fields.len() {
            return None;
        }
        // The first of `fields` is field 3 of proc_pid_stat(5).
        let number = |field: usize| fields[field - 3].parse::<u64>().ok();
        let small = |field: usize| fields[field - 3].parse::<u32>().ok();
        // Waited-for times are signed in the kernel's format.
        let signed = |field: usize| {
            fields[field - 3]
                .parse::<i64>()
                .ok()
                .map(|n| n.max(0) as u64)
        };
        Some(Self {
            id: ProcessId {
                pid: pid.parse().ok()?,
                start: number(22)?,
            },
            parent: small(4)?,
            group: small(5)?,
            state: *fields[0].as_bytes().first()?,
            own_ticks: number(14)? + number(15)?,
            reaped_ticks: signed(16)? + signed(17)?,
            threads: small(20)?,
        })
    }
}

/// Reads processes and their children, keeping its buffers.
#[derive(Debug, Default)]
pub struct Walker {
    path: String,
    text: Vec<u8>,
    /// Children by parent, where the kernel does not list them itself.
    scanned: Option<HashMap<u32, Vec<u32>>>,
}

impl Walker {
    /// A walker that asks the kernel for the children of each thread where it
    /// lists them (`CONFIG_PROC_CHILDREN`), and else looks through all of /proc.
    pub fn new() -> Self {
        let lists = fs::exists("/proc/thread-self/children").unwrap_or(false);
        Self {
            scanned: (!lists).then(HashMap::new),
            ..Self::default()
        }
    }

    /// A walker that looks through all of /proc, for kernels that list no children.
    #[cfg(test)]
    fn scanning() -> Self {
        Self {
            scanned: Some(HashMap::new()),
            ..Self::default()
        }
    }

    /// A process as it is now; none if there is no such process.
    pub fn stat(&mut self, pid: u32) -> Option<Stat> {
        self.read(format_args!("/proc/{pid}/stat")).ok()?;
        Stat::parse(&self.text)
    }

    /// Reads a file of a process; the text is valid until the next reading.
    pub fn read(&mut self, path: fmt::Arguments<'_>) -> io::Result<&[u8]> {
        self.path.clear();
        self.path
            .write_fmt(path)
            .map_err(|_| io::ErrorKind::InvalidInput)?;
        self.text.clear();
        File::open(&self.path)?.read_to_end(&mut self.text)?;
        Ok(&self.text)
    }

    /// Makes the view of /proc new where this kernel has to be looked through.
    /// Call it at the start of each walk that uses [`Walker::children`].
    pub fn refresh(&mut self) {
        let Some(mut scanned) = self.scanned.take() else {
            return;
        };
        scanned.clear();
        for pid in pids_in("/proc") {
            if let Some(stat) = self.stat(pid) {
                scanned.entry(stat.parent).or_default().push(pid);
            }
        }
        self.scanned = Some(scanned);
    }

    /// Adds the pids of the children of a process to a list. A process that
    /// is gone has none.
    pub fn children(&mut self, pid: u32, found: &mut Vec<u32>) {
        if let Some(scanned) = &self.scanned {
            found.extend(scanned.get(&pid).into_iter().flatten());
            return;
        }
        self.path.clear();
        if write!(self.path, "/proc/{pid}/task").is_err() {
            return;
        }
        // A child belongs to the thread that forked it.
        for thread in pids_in(&self.path) {
            let children = format_args!("/proc/{pid}/task/{thread}/children");
            let Ok(text) = self.read(children) else {
                continue;
            };
            let text = std::str::from_utf8(text).unwrap_or_default();
            found.extend(
                text.split_ascii_whitespace()
                    .filter_map(|n| n.parse::<u32>().ok()),
            );
        }
    }

    /// Adds the ids of the threads of a process to a list.
    pub fn threads(&mut self, pid: u32, found: &mut Vec<u32>) {
        found.extend(pids_in(&format!("/proc/{pid}/task")));
    }

    /// Every descendant of a process, parents first, zombies included. A
    /// process that comes or goes meanwhile may be missed.
    pub fn descendants(&mut self, root: u32) -> Vec<Stat> {
        self.refresh();
        let mut found = Vec::new();
        let mut seen = HashSet::from([root]);
        let mut todo = Vec::new();
        self.children(root, &mut todo);
        while let Some(pid) = todo.pop() {
            if !seen.insert(pid) {
                continue;
            }
            if let Some(stat) = self.stat(pid) {
                found.push(stat);
                self.children(pid, &mut todo);
            }
        }
        found
    }

    /// Whether the process is, right now, a descendant of `root`.
    pub fn descends_from(&mut self, process: ProcessId, root: u32) -> bool {
        let mut current = match self.stat(process.pid) {
            Some(stat) if stat.id == process => stat,
            _ => return false,
        };
        // A chain longer than this is a pid that was used again in the middle of it.
        for _ in 0..4096 {
            if current.parent == root {
                return true;
            }
            match self.stat(current.parent) {
                // A parent is older than its child, or it is not its parent any more.
                Some(parent) if parent.id.start <= current.id.start => current = parent,
                _ => return false,
            }
        }
        false
    }
}

/// The names in a folder of /proc that are numbers.
fn pids_in(folder: &str) -> impl Iterator<Item = u32> + use<> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Every pid of the machine.
pub(super) fn all_pids() -> impl Iterator<Item = u32> {
    pids_in("/proc")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A child that waits for the end of its input.
    fn waiting() -> Child {
        Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    #[test]
    fn a_name_may_hold_spaces_and_parentheses() {
        let text =
            b"42 (a) b (c)) S 7 42 42 0 -1 4194560 1 2 3 4 10 20 -1 40 20 0 3 0 999 1000 55 1";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(
            stat.id,
            ProcessId {
                pid: 42,
                start: 999
            }
        );
        assert_eq!((stat.parent, stat.group, stat.state), (7, 42, b'S'));
        assert_eq!((stat.own_ticks, stat.reaped_ticks), (30, 40));
        assert_eq!(stat.threads, 3);
        assert_eq!(Stat::parse(b"42 (cat"), None);
        assert_eq!(Stat::parse(b"42 (cat) S 1 2 3"), None);
    }

    #[test]
    fn both_ways_to_walk_find_the_same_children() {
        let mut child = waiting();
        let me = std::process::id();
        for mut walker in [Walker::new(), Walker::scanning()] {
            let found = walker.descendants(me);
            let stat = found.iter().find(|stat| stat.id.pid == child.id());
            let id = stat.expect("the child is ours").id;
            assert!(walker.descends_from(id, me));
            let other = ProcessId {
                start: id.start + 1,
                ..id
            };
            assert!(
                !walker.descends_from(other, me),
                "another start time is another process"
            );
        }
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn init_is_nobodys_descendant() {
        let mut walker = Walker::new();
        let init = walker.stat(1).unwrap().id;
        assert!(!walker.descends_from(init, std::process::id()));
        assert!(walker.stat(u32::MAX).is_none());
    }
}
