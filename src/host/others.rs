//! Who else used the processors between two looks at all processes. Pure.

use super::kernel::Task;
use crate::record::Busy;
use std::collections::{HashMap, HashSet};

/// CPU time of every process that is none of `ours` nor below one of them, kernel threads aside, in clock ticks by name; the
/// busiest first. The time of a child that ended is its parent's, less what it had used before.
pub(super) fn others(before: &[Task], after: &[Task], ours: &[u32]) -> Vec<(String, u64)> {
    let known: HashMap<(u32, u64), u64> = before
        .iter()
        .map(|task| ((task.pid, task.start), task.ticks))
        .collect();
    let alive: HashSet<(u32, u64)> = after.iter().map(|task| (task.pid, task.start)).collect();
    // What those that are gone had used before has come to their parents.
    let gone: HashMap<u32, u32> = before
        .iter()
        .filter(|task| !alive.contains(&(task.pid, task.start)))
        .map(|task| (task.pid, task.parent))
        .collect();
    let mut inherited: HashMap<u32, u64> = HashMap::new();
    for task in before.iter().filter(|task| gone.contains_key(&task.pid)) {
        // The nearest that is still there has it in the end.
        let mut heir = task.parent;
        for _ in 0..gone.len() {
            match gone.get(&heir) {
                Some(parent) => heir = *parent,
                None => break,
            }
        }
        *inherited.entry(heir).or_default() += task.ticks;
    }
    let own = family(after, ours);
    let mut by_name: HashMap<&str, u64> = HashMap::new();
    for task in after {
        if task.is_kernel || own.contains(&task.pid) {
            continue;
        }
        let earlier = known.get(&(task.pid, task.start)).copied().unwrap_or(0);
        let gone = inherited.get(&task.pid).copied().unwrap_or(0);
        *by_name.entry(&task.name).or_default() += task.ticks.saturating_sub(earlier + gone);
    }
    let mut all: Vec<(String, u64)> = by_name
        .into_iter()
        .filter(|(_, ticks)| *ticks > 0)
        .map(|(name, ticks)| (name.to_owned(), ticks))
        .collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all
}

/// The pids of `ours` and of everything below them.
fn family(tasks: &[Task], ours: &[u32]) -> HashSet<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for task in tasks {
        children.entry(task.parent).or_default().push(task.pid);
    }
    let mut family: HashSet<u32> = HashSet::new();
    let mut todo: Vec<u32> = ours.to_vec();
    while let Some(pid) = todo.pop() {
        if family.insert(pid) {
            todo.extend(children.get(&pid).into_iter().flatten());
        }
    }
    family
}

/// The busiest of these as a record keeps them: at most three, each with at least `least` nanoseconds.
pub(super) fn busiest(all: &[(String, u64)], tick_ns: u64, least: u64) -> Vec<Busy> {
    all.iter()
        .map(|(name, ticks)| Busy {
            name: name.clone(),
            cpu_ns: ticks.saturating_mul(tick_ns),
        })
        .filter(|busy| busy.cpu_ns >= least)
        .take(3)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(pid: u32, parent: u32, name: &str, ticks: u64) -> Task {
        Task {
            pid,
            parent,
            name: name.to_owned(),
            is_kernel: parent == 2,
            ticks,
            start: u64::from(pid),
        }
    }

    #[test]
    fn who_is_not_ours_and_not_the_kernel_is_another() {
        let before = [
            task(1, 0, "init", 10),
            task(5, 1, "hotlap", 4),
            task(8, 1, "browser", 100),
        ];
        let after = [
            task(1, 0, "init", 10),
            task(5, 1, "hotlap", 90),
            task(6, 5, "guard", 3),
            task(7, 6, "server", 80),
            task(8, 1, "browser", 130),
            task(9, 2, "kworker", 50),
            task(10, 1, "backup", 7),
            task(11, 10, "backup", 5),
        ];
        let found = others(&before, &after, &[5]);
        assert_eq!(
            found,
            [("browser".to_owned(), 30), ("backup".to_owned(), 12)]
        );
        let known = others(&before, &after, &[5, 8]);
        assert_eq!(known, [("backup".to_owned(), 12)]);
        assert_eq!(
            busiest(&found, 10, 200),
            [Busy {
                name: "browser".to_owned(),
                cpu_ns: 300
            }]
        );
    }

    #[test]
    fn children_that_end_leave_only_what_is_new() {
        let before = [task(3, 1, "make", 20), task(4, 3, "cc", 500)];
        let after = [task(3, 1, "make", 20 + 560)];
        assert_eq!(others(&before, &after, &[]), [("make".to_owned(), 60)]);
    }

    #[test]
    fn a_pid_that_is_used_again_is_another_process() {
        let before = [task(4, 1, "old", 500)];
        let again = Task {
            start: 77,
            ..task(4, 1, "new", 6)
        };
        assert_eq!(others(&before, &[again], &[]), [("new".to_owned(), 6)]);
    }

    #[test]
    fn a_child_that_nobody_waited_for_takes_nothing_away() {
        let before = [task(3, 1, "make", 20), task(4, 3, "cc", 500)];
        let after = [task(3, 1, "make", 25)];
        assert_eq!(others(&before, &after, &[]), []);
    }
}
