//! One tree, read again and again while processes come and go in it.
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

use super::Tree;
use super::memory::{kilobytes, rss};
use super::work::Work;
use crate::process::{ProcessId, Stat, Walker};
use rustix::param::clock_ticks_per_second;
use std::collections::HashMap;

/// How often a reading is tried when processes vanish in the middle of it.
const TRIES: usize = 4;
/// User and system time are rounded to ticks apart from each other, so that
/// this many ticks of a child may seem to be missing from its parent's sum.
const ROUNDING: u64 = 2;
/// No process: the heir of those that leave nobody behind.
const NOBODY: u32 = 0;

/// What one reading of a tree gave.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) rss_bytes: u64,
    pub(super) cpu_seconds: f64,
    pub(super) processes: u32,
    pub(super) threads: u32,
}

/// Where a tree begins.
#[derive(Debug, Clone, Copy)]
enum Top {
    /// Below this guard, itself left out.
    Guard(u32),
    /// At this process; none where there was none when the watch began.
    Process(ProcessId),
}

/// A tree, with what has to be remembered from reading to reading.
#[derive(Debug)]
pub(super) struct Watched {
    top: Top,
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
    /// Ticks from before the first whole reading that are not to be counted; none until then.
    before: Option<u64>,
    todo: Vec<u32>,
    pub(super) work: Work,
}

impl Watched {
    /// Begins to watch.
    pub(super) fn new(tree: Tree) -> Self {
        let top = match tree {
            Tree::UnderGuard(pid) => Top::Guard(pid),
            Tree::From(process) => Top::Process(process),
        };
        Self {
            top,
            now: HashMap::new(),
            guard_reaped: 0,
            then: HashMap::new(),
            guard_reaped_then: 0,
            forgotten: 0,
            shown: 0,
            before: matches!(top, Top::Guard(_)).then_some(0),
            todo: Vec::new(),
            work: Work::default(),
        }
    }

    /// Reads the tree. Of one that is gone, the CPU time stays what it was. `counts` tells whether
    /// the time since the reading before belongs to the measured phase.
    pub(super) fn read(&mut self, walker: &mut Walker, counts: bool) -> Seen {
        // Whoever was there before the watch began has its time from before.
        let counts = counts && self.before.is_some();
        let complete = (0..TRIES).any(|_| self.walk(walker));
        let ticks = self.account(complete);
        if self.before.is_none() && complete {
            self.before = Some(ticks);
        }
        let lives = |id: ProcessId| walker.stat(id.pid).is_some_and(|stat| stat.id == id);
        self.work.follow(&self.now, counts, lives);
        let ticks = ticks - self.before.unwrap_or(ticks);
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
        self.now.clear();
        self.todo.clear();
        walker.refresh();
        let there = match self.top {
            Top::Guard(pid) => self.start_below(walker, pid),
            Top::Process(id) => self.start_at(walker, id),
        };
        if !there {
            self.todo.clear();
            return true;
        }
        let complete = self.descend(walker);
        let none_missed = self.find_missed(walker);
        match self.top {
            Top::Guard(_) => complete && none_missed,
            // Who has lost its parent is nobody's child here for good, and found in this way only.
            Top::Process(_) => complete,
        }
    }

    /// Begins with a guard's children; false where it has ended, and so have all of its descendants.
    fn start_below(&mut self, walker: &mut Walker, guard: u32) -> bool {
        walker.children(guard, &mut self.todo);
        let Some(stat) = walker.stat(guard) else {
            return false;
        };
        self.guard_reaped = stat.reaped_ticks.max(self.guard_reaped_then);
        true
    }

    /// Begins with a process; false where it is gone. Its pid may be another's by then.
    fn start_at(&mut self, walker: &mut Walker, id: ProcessId) -> bool {
        walker.children(id.pid, &mut self.todo);
        match walker.stat(id.pid) {
            Some(stat) if stat.id == id => self.now.insert(id.pid, stat).is_none(),
            _ => false,
        }
    }

    /// Goes through all that is to be done; whether nothing vanished meanwhile.
    fn descend(&mut self, walker: &mut Walker) -> bool {
        let guard = self.guard();
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
        complete
    }

    /// The pid of the guard, which nobody has where there is none.
    fn guard(&self) -> u32 {
        match self.top {
            Top::Guard(pid) => pid,
            Top::Process(_) => NOBODY,
        }
    }

    /// Adds the processes of the last whole reading that are still there but were not come across, since they
    /// changed parents meanwhile, and what descends from them; whether there are none.
    fn find_missed(&mut self, walker: &mut Walker) -> bool {
        let missed = |before: &&Stat| !self.is_here(before);
        let pids: Vec<ProcessId> = self.then.values().filter(missed).map(|s| s.id).collect();
        let mut none = true;
        for id in pids {
            if self.now.get(&id.pid).is_some_and(|stat| stat.id == id) {
                continue;
            }
            walker.children(id.pid, &mut self.todo);
            match walker.stat(id.pid) {
                Some(stat) if stat.id == id => {
                    self.now.insert(id.pid, stat);
                    none = false;
                }
                _ => self.todo.clear(),
            }
            self.descend(walker);
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
        self.guard()
    }

    /// PSS and the high-water marks of the tree as the last reading found it, in bytes; none
    /// where a process does not let us look.
    pub(super) fn mark(&self, walker: &mut Walker) -> (Option<u64>, Option<u64>) {
        let (mut sum, mut peaks) = (Some(0), Some(0));
        for stat in self.now.values().filter(|stat| !stat.is_dead()) {
            let pid = stat.id.pid;
            let pss = kilobytes(
                walker.read(format_args!("/proc/{pid}/smaps_rollup")),
                "Pss:",
            );
            let high = kilobytes(walker.read(format_args!("/proc/{pid}/status")), "VmHWM:");
            // The kernel shows these through the first thread only.
            let [pss, high] = [pss, high].map(|bytes| bytes.filter(|_| !stat.is_headless()));
            sum = sum.zip(pss).map(|(sum, pss)| sum + pss);
            peaks = peaks.zip(high).map(|(peaks, high)| peaks + high);
        }
        (sum, peaks)
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
        let mut tree = Watched::new(Tree::UnderGuard(1));
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
    fn a_pid_that_is_used_again_takes_nothing_over() {
        let before = [stat(2, 1, 10, 0), stat(3, 2, 500, 0)];
        let mut stranger = stat(3, 2, 40, 0);
        stranger.id.start = 9;
        // The parent has waited for the first one, and the kernel has given its pid away again.
        let credited = [stat(2, 1, 10, 500), stranger];
        assert_eq!(
            shown(&[(0, true, &before), (0, true, &credited)]),
            [510, 550]
        );
        // The same, but nobody has waited: what the first one used is not lost.
        let forgotten = [stat(2, 1, 10, 0), stranger];
        assert_eq!(
            shown(&[(0, true, &before), (0, true, &forgotten)]),
            [510, 550]
        );
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
}
