//! How a tree is ended against its will: every descendant is frozen, again and
//! again until none shows that was not frozen, then killed; the guard reaps
//! until the kernel says that it has no child, which is the proof. Whatever
//! loses its parent meanwhile becomes the guard's child, so that nothing leaves.
//!
//! A child of the guard keeps its pid until the guard reaps it, so that its pid
//! is a safe name for it. Every other process is signalled through a pidfd, after
//! a check of its start time and its ancestors.

use super::tree::{ProcessId, Walker};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, pidfd_send_signal,
    wait,
};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long a kill may take before those that are left are named.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait for killed processes to end before looking again.
const PAUSE: Duration = Duration::from_millis(1);

/// What became of a tree.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Processes that were killed.
    pub(super) killed: HashSet<ProcessId>,
    /// Processes that are left all the same.
    pub(super) survivors: Vec<ProcessId>,
}

/// What the guard has for children after it has reaped those that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Children {
    /// None: the proof that the tree is gone.
    None,
    /// Some that live.
    Some,
}

/// Reaps every child that has ended and shows each to `seen`.
pub(super) fn reap(mut seen: impl FnMut(u32, WaitStatus)) -> Children {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => seen(pid.as_raw_pid().cast_unsigned(), status),
            Err(rustix::io::Errno::CHILD) => return Children::None,
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return Children::Some,
        }
    }
}

/// Freezes and kills every descendant of this process. `seen` gets what is reaped.
pub(super) fn kill_tree(walker: &mut Walker, mut seen: impl FnMut(u32, WaitStatus)) -> Ended {
    let me = std::process::id();
    let deadline = Instant::now() + PATIENCE;
    let mut ended = Ended::default();
    loop {
        let mut frozen = HashSet::new();
        while freeze_new(walker, me, &mut frozen) && Instant::now() < deadline {
            if reap(&mut seen) == Children::None {
                return ended;
            }
        }
        for &process in &frozen {
            if signal(walker, me, process, Signal::KILL) {
                ended.killed.insert(process);
            }
        }
        if reap_those(walker, &frozen, &mut seen) == Children::None {
            return ended;
        }
        if Instant::now() >= deadline {
            let left = walker.descendants(me);
            ended.survivors = left
                .iter()
                .filter(|stat| !stat.is_dead())
                .map(|stat| stat.id)
                .collect();
            return ended;
        }
    }
}

/// One walk that stops every descendant that is not in `frozen`; whether there was one.
fn freeze_new(walker: &mut Walker, me: u32, frozen: &mut HashSet<ProcessId>) -> bool {
    let mut children = Vec::new();
    walker.refresh();
    walker.children(me, &mut children);
    // Stopped at once and looked at later: a chain of processes that fork and
    // exit is only caught by who is faster than one of its links.
    for &pid in &children {
        signal_child(pid, Signal::STOP);
    }
    let mut found = false;
    for stat in walker.descendants(me) {
        if stat.is_dead() || !frozen.insert(stat.id) {
            continue;
        }
        found = true;
        signal(walker, me, stat.id, Signal::STOP);
    }
    found
}

/// Reaps until none of `killed` is left, or for a moment.
fn reap_those(
    walker: &mut Walker,
    killed: &HashSet<ProcessId>,
    mut seen: impl FnMut(u32, WaitStatus),
) -> Children {
    let until = Instant::now() + PAUSE * 200;
    loop {
        if reap(&mut seen) == Children::None {
            return Children::None;
        }
        let left = killed.iter().any(|process| {
            walker
                .stat(process.pid)
                .is_some_and(|stat| stat.id == *process && !stat.is_dead())
        });
        if !left || Instant::now() >= until {
            return Children::Some;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Signals a descendant of `root`, if it still is the same process and still
/// descends from it; whether the kernel took the signal.
pub(super) fn signal(walker: &mut Walker, root: u32, process: ProcessId, signal: Signal) -> bool {
    send(process, signal, |process| {
        walker.descends_from(process, root)
    })
}

/// Signals a process through a pidfd that is opened before `check` looks at it,
/// so that what was checked is what is signalled.
pub(super) fn send(
    process: ProcessId,
    signal: Signal,
    check: impl FnOnce(ProcessId) -> bool,
) -> bool {
    let Some(pid) = to_pid(process.pid) else {
        return false;
    };
    let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    check(process) && pidfd_send_signal(&fd, signal).is_ok()
}

/// Signals a child of this process that has not been reaped.
fn signal_child(pid: u32, signal: Signal) {
    if let Some(pid) = to_pid(pid) {
        // A child that has ended, or is another user's: the walk behind this one sees it.
        let _ = kill_process(pid, signal);
    }
}

/// The pid as the kernel's calls take it; 0 and -1 would mean many processes.
pub(super) fn to_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}
