//! One role's tree, read again and again while processes come and go in it.
//!
//! CPU time is what the living have used and what they have waited for, and what
//! the guard has waited for: `utime + stime + cutime + cstime` of every
//! descendant and `cutime + cstime` of the guard. A child's time moves to its
//! parent when it is reaped, so that the order of reading matters: for each
//! process first its children are listed, then its own times are read, then
//! theirs. Then nothing can be counted twice, and what could be missed was
//! listed and is not there any more: such a reading is taken again.
//!
//! A parent that ignores SIGCHLD makes the kernel forget its children's time.
//! What they had used when they were last seen is kept here instead.

use super::Root;
use crate::process::{ProcessId, Stat, Walker};
use crate::record::Usage;
use rustix::param::{clock_ticks_per_second, page_size};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::io;

/// How often a reading is tried when processes vanish in the middle of it.
const TRIES: usize = 4;
/// User and system time are rounded to ticks apart from each other, so that
/// this many ticks of a child may seem to be missing from its parent's sum.
const ROUNDING: u64 = 2;

/// The moments at which PSS is read, outside of the measured phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Checkpoint {
    /// Ready, not yet loaded.
    Idle,
    /// Right after the load.
    Loaded,
    /// After the load and a rest.
    After,
}

/// What one reading of a tree gave.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) rss_bytes: u64,
    pub(super) cpu_seconds: f64,
    pub(super) processes: u32,
    pub(super) threads: u32,
}

/// Memory at a checkpoint, in bytes; none where a process did not let us look.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    rss: u64,
    pss: Option<u64>,
    high_water: Option<u64>,
}

/// A tree under a guard, with what has to be remembered from reading to reading.
#[derive(Debug)]
pub(super) struct RoleTree {
    root: Root,
    /// The tree as the last reading found it.
    now: HashMap<u32, Stat>,
    guard_reaped: u64,
    /// The tree of the last reading from which nothing was missing.
    then: HashMap<u32, Stat>,
    guard_reaped_then: u64,
    /// Ticks that the kernel forgot.
    forgotten: u64,
    /// The most ticks that were ever shown.
    shown: u64,
    ids: HashSet<ProcessId>,
    marks: BTreeMap<Checkpoint, Marks>,
    todo: Vec<u32>,
}

impl RoleTree {
    pub(super) fn new(root: Root) -> Self {
        Self {
            root,
            now: HashMap::new(),
            guard_reaped: 0,
            then: HashMap::new(),
            guard_reaped_then: 0,
            forgotten: 0,
            shown: 0,
            ids: HashSet::new(),
            marks: BTreeMap::new(),
            todo: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.root.role
    }

    /// Reads the tree. Of a guard that is gone, the CPU time stays what it was.
    pub(super) fn read(&mut self, walker: &mut Walker) -> Seen {
        let complete = (0..TRIES).any(|_| self.walk(walker));
        self.ids.extend(self.now.values().map(|stat| stat.id));
        let ticks = self.account(complete);
        let mut seen = Seen {
            cpu_seconds: ticks as f64 / clock_ticks_per_second() as f64,
            ..Seen::default()
        };
        for stat in self.now.values().filter(|stat| !stat.is_dead()) {
            seen.processes += 1;
            seen.threads += stat.threads;
            seen.rss_bytes += rss(walker, stat);
        }
        seen
    }

    /// One walk through the tree; whether nothing vanished from it meanwhile.
    fn walk(&mut self, walker: &mut Walker) -> bool {
        let guard = self.root.guard_pid;
        self.now.clear();
        self.todo.clear();
        walker.refresh();
        walker.children(guard, &mut self.todo);
        match walker.stat(guard) {
            Some(stat) => self.guard_reaped = stat.reaped_ticks.max(self.guard_reaped_then),
            // The guard has ended, and so have all of its descendants.
            None => return true,
        }
        let mut complete = true;
        while let Some(pid) = self.todo.pop() {
            if self.now.contains_key(&pid) {
                continue;
            }
            walker.children(pid, &mut self.todo);
            match walker.stat(pid) {
                Some(stat) if stat.parent == guard || self.now.contains_key(&stat.parent) => {
                    self.now.insert(pid, stat);
                }
                // Gone, or gone and its pid a stranger's.
                _ => complete = false,
            }
        }
        self.find_missed(walker) && complete
    }

    /// Adds the processes of the last whole reading that are still there but were
    /// not come across, since they changed parents meanwhile; whether there are none.
    fn find_missed(&mut self, walker: &mut Walker) -> bool {
        let mut none = true;
        for before in self.then.values() {
            if self
                .now
                .get(&before.id.pid)
                .is_none_or(|stat| stat.id != before.id)
                && let Some(stat) = walker.stat(before.id.pid)
                && stat.id == before.id
            {
                self.now.insert(stat.id.pid, stat);
                none = false;
            }
        }
        none
    }

    /// The ticks of the tree so far. They never fall.
    fn account(&mut self, complete: bool) -> u64 {
        let living: u64 = self
            .now
            .values()
            .map(|stat| stat.own_ticks + stat.reaped_ticks)
            .sum();
        if complete {
            self.forgotten += self.missing();
            std::mem::swap(&mut self.now, &mut self.then);
            self.now.clone_from(&self.then);
            self.guard_reaped_then = self.guard_reaped;
        }
        self.shown = self.shown.max(self.guard_reaped + living + self.forgotten);
        self.shown
    }

    /// Ticks of processes that have vanished since the last whole reading and that
    /// their nearest living ancestor has not been credited with.
    fn missing(&self) -> u64 {
        let mut due: HashMap<u32, (u64, u64)> = HashMap::new();
        for gone in self.then.values().filter(|stat| !self.is_here(stat)) {
            let heir = self.heir(gone);
            let (ticks, count) = due.entry(heir).or_default();
            *ticks += gone.own_ticks + gone.reaped_ticks;
            *count += 1;
        }
        due.into_iter()
            .map(|(heir, (ticks, count))| {
                let credited = match (self.now.get(&heir), self.then.get(&heir)) {
                    (Some(now), Some(then)) => now.reaped_ticks.saturating_sub(then.reaped_ticks),
                    _ => self.guard_reaped.saturating_sub(self.guard_reaped_then),
                };
                let missing = ticks.saturating_sub(credited);
                if missing > ROUNDING * count {
                    missing
                } else {
                    0
                }
            })
            .sum()
    }

    fn is_here(&self, stat: &Stat) -> bool {
        self.now
            .get(&stat.id.pid)
            .is_some_and(|now| now.id == stat.id)
    }

    /// The nearest ancestor, as ancestors were, that is still there.
    fn heir(&self, gone: &Stat) -> u32 {
        let mut parent = gone.parent;
        // Bounded, since pids that were used again could make a circle.
        for _ in 0..self.then.len() {
            match self.then.get(&parent) {
                Some(stat) if self.is_here(stat) => return parent,
                Some(stat) => parent = stat.parent,
                None => break,
            }
        }
        self.root.guard_pid
    }

    /// Reads PSS and the high-water marks of the tree as the last reading found
    /// it; gives back the sum of PSS.
    pub(super) fn mark(
        &mut self,
        walker: &mut Walker,
        checkpoint: Checkpoint,
        rss: u64,
    ) -> Option<u64> {
        let mut marks = Marks {
            rss,
            pss: Some(0),
            high_water: Some(0),
        };
        for stat in self.now.values().filter(|stat| !stat.is_dead()) {
            let pid = stat.id.pid;
            let pss = kilobytes(
                walker.read(format_args!("/proc/{pid}/smaps_rollup")),
                "Pss:",
            );
            let high = kilobytes(walker.read(format_args!("/proc/{pid}/status")), "VmHWM:");
            // The kernel shows these through the first thread only.
            let [pss, high] = [pss, high].map(|bytes| bytes.filter(|_| !stat.is_headless()));
            marks.pss = marks.pss.zip(pss).map(|(sum, pss)| sum + pss);
            marks.high_water = marks.high_water.zip(high).map(|(sum, high)| sum + high);
        }
        self.marks.insert(checkpoint, marks);
        marks.pss
    }

    /// What only the tree knows: its memory at the checkpoints and how many
    /// processes it ever had.
    pub(super) fn usage(&self) -> Usage {
        let at = |checkpoint| self.marks.get(&checkpoint);
        let pss = |checkpoint| at(checkpoint).and_then(|marks| marks.pss);
        let rss = |checkpoint| at(checkpoint).map(|marks| marks.rss);
        let last = self.marks.values().next_back();
        Usage {
            rss_idle: rss(Checkpoint::Idle),
            rss_after: rss(Checkpoint::After),
            pss_idle: pss(Checkpoint::Idle),
            pss_loaded: pss(Checkpoint::Loaded),
            pss_after: pss(Checkpoint::After),
            rss_high_water: last.and_then(|marks| marks.high_water),
            pids_seen: u32::try_from(self.ids.len()).unwrap_or(u32::MAX),
            ..Usage::default()
        }
    }
}

/// Resident memory in bytes, from statm: newer kernels sum its counters up
/// exactly, those of stat only nearly. A process that is gone has none.
fn rss(walker: &mut Walker, stat: &Stat) -> u64 {
    let pid = stat.id.pid;
    if !stat.is_headless() {
        return statm(walker, format_args!("/proc/{pid}/statm"));
    }
    let mut threads = Vec::new();
    walker.threads(pid, &mut threads);
    let each = threads.iter();
    // The threads share one memory; those that have ended show none.
    each.map(|thread| statm(walker, format_args!("/proc/{pid}/task/{thread}/statm")))
        .max()
        .unwrap_or(0)
}

/// The resident part of a statm file, in bytes.
fn statm(walker: &mut Walker, path: fmt::Arguments<'_>) -> u64 {
    let pages = walker.read(path).ok().and_then(|text| {
        std::str::from_utf8(text)
            .ok()?
            .split(' ')
            .nth(1)?
            .parse::<u64>()
            .ok()
    });
    pages.unwrap_or(0) * page_size() as u64
}

/// A line `Name:   123 kB` in bytes. A process that is gone has 0; none is a
/// file that may not be read.
fn kilobytes(text: io::Result<&[u8]>, name: &str) -> Option<u64> {
    const GONE: i32 = rustix::io::Errno::SRCH.raw_os_error();
    match text {
        Ok(text) => {
            let line = std::str::from_utf8(text)
                .ok()?
                .lines()
                .find(|line| line.starts_with(name));
            // A process without memory of its own has no such line.
            let Some(line) = line else { return Some(0) };
            let number = line[name.len()..].trim().strip_suffix("kB")?.trim();
            number.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(0),
        Err(error) if error.raw_os_error() == Some(GONE) => Some(0),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, parent: u32, own: u64, reaped: u64) -> Stat {
        Stat {
            id: ProcessId { pid, start: 1 },
            parent,
            group: pid,
            state: b'S',
            own_ticks: own,
            reaped_ticks: reaped,
            threads: 1,
        }
    }

    /// The ticks that are shown when the tree is read in these states, of which
    /// each has the guard's sum, whether nothing was missing, and its processes.
    fn shown(states: &[(u64, bool, &[Stat])]) -> Vec<u64> {
        let mut tree = RoleTree::new(Root {
            role: "server".into(),
            guard_pid: 1,
        });
        let mut all = Vec::new();
        for (reaped, complete, stats) in states {
            tree.guard_reaped = *reaped;
            tree.now = stats.iter().map(|stat| (stat.id.pid, *stat)).collect();
            all.push(tree.account(*complete));
        }
        all
    }

    #[test]
    fn time_moves_to_the_parent_and_is_counted_once() {
        let before = [stat(2, 1, 10, 0), stat(3, 2, 50, 0)];
        let after = [stat(2, 1, 12, 55)];
        assert_eq!(
            shown(&[(0, true, &before), (0, true, &after), (70, true, &[])]),
            [60, 67, 70]
        );
    }

    #[test]
    fn a_chain_that_ends_at_once_is_credited_to_who_is_left() {
        let before = [stat(2, 1, 1, 0), stat(3, 2, 20, 5), stat(4, 3, 30, 0)];
        let after = [stat(2, 1, 1, 60)];
        assert_eq!(shown(&[(0, true, &before), (0, true, &after)]), [56, 61]);
    }

    #[test]
    fn time_that_the_kernel_forgot_is_kept() {
        let before = [stat(2, 1, 10, 0), stat(3, 2, 500, 0)];
        let after = [stat(2, 1, 15, 0)];
        let later = [stat(2, 1, 25, 0)];
        let states: [(u64, bool, &[Stat]); 3] =
            [(0, true, &before), (0, true, &after), (0, true, &later)];
        assert_eq!(shown(&states), [510, 515, 525]);
    }

    #[test]
    fn a_reading_with_gaps_never_falls_and_adds_nothing_for_good() {
        let whole = [stat(2, 1, 10, 0), stat(3, 2, 50, 0)];
        let gap = [stat(2, 1, 11, 0)];
        let after = [stat(2, 1, 12, 50)];
        let states: [(u64, bool, &[Stat]); 3] =
            [(0, true, &whole), (0, false, &gap), (0, true, &after)];
        assert_eq!(shown(&states), [60, 60, 62]);
    }

    #[test]
    fn kilobytes_are_bytes_and_the_unreadable_is_none() {
        assert_eq!(
            kilobytes(Ok(b"Rss:  9 kB\nPss:    12 kB\n"), "Pss:"),
            Some(12288)
        );
        assert_eq!(kilobytes(Ok(b""), "Pss:"), Some(0));
        assert_eq!(
            kilobytes(Err(io::ErrorKind::NotFound.into()), "Pss:"),
            Some(0)
        );
        assert_eq!(
            kilobytes(Err(io::ErrorKind::PermissionDenied.into()), "Pss:"),
            None
        );
    }
}
