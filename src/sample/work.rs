//! Which processes of a tree did the work: what each used of the CPU in the
//! measured phase. Of those that live one entry each is kept, of those that have
//! ended only as many as can ever have had a share that is worth counting.

use crate::process::{ProcessId, Stat};
use crate::record::{Usage, Workers};
use rustix::param::clock_ticks_per_second;
use std::collections::{BTreeMap, HashMap};

/// From this share of the CPU time on a process is one that worked.
const WORKING_SHARE: f64 = 0.05;
/// So many processes at most can have had that share.
const MOST_WORKING: usize = 20;
/// With less CPU time in all, in seconds, shares of it are the rounding of ticks.
const ENOUGH_CPU: f64 = 0.2;
/// The parent of those that have none in the tree.
const NOBODY: u32 = 0;

/// What one process has used.
#[derive(Debug, Clone, Copy)]
struct Own {
    parent: u32,
    is_dead: bool,
    /// Its ticks at the last reading.
    seen: u64,
    /// Its ticks in the measured phase.
    used: u64,
}

/// The work of one tree's processes.
#[derive(Debug, Default)]
pub(super) struct Work {
    living: HashMap<ProcessId, Own>,
    /// Ticks in the measured phase of those that used most among the ended.
    ended: Vec<u64>,
    /// Distinct processes so far.
    pub(super) pids_seen: u32,
}

impl Work {
    /// Takes a reading. `counts` tells whether the time since the one before belongs to the measured phase,
    /// `lives` whether a process that this reading lacks is there all the same.
    pub(super) fn follow(
        &mut self,
        now: &HashMap<u32, Stat>,
        counts: bool,
        mut lives: impl FnMut(ProcessId) -> bool,
    ) {
        for stat in now.values() {
            let known = self.living.get(&stat.id);
            if known.is_none() {
                self.pids_seen = self.pids_seen.saturating_add(1);
            }
            // All that a new process used, it used since the reading before.
            let (seen, used) = known.map_or((0, 0), |own| (own.seen, own.used));
            let more = if counts {
                stat.own_ticks.saturating_sub(seen)
            } else {
                0
            };
            let own = Own {
                parent: if now.contains_key(&stat.parent) {
                    stat.parent
                } else {
                    NOBODY
                },
                is_dead: stat.is_dead(),
                seen: stat.own_ticks,
                used: used + more,
            };
            self.living.insert(stat.id, own);
        }
        let ended = &mut self.ended;
        self.living.retain(|id, own| {
            let here = now.get(&id.pid).is_some_and(|stat| stat.id == *id) || lives(*id);
            if !here && own.used > 0 {
                ended.push(own.used);
            }
            here
        });
        if ended.len() > MOST_WORKING {
            ended.sort_unstable_by_key(|used| std::cmp::Reverse(*used));
            ended.truncate(MOST_WORKING);
        }
    }

    /// Ticks in the measured phase of each process that matters.
    pub(super) fn used(&self) -> impl Iterator<Item = u64> {
        let living = self.living.values().map(|own| own.used);
        living.chain(self.ended.iter().copied())
    }
}

/// Of the processes in these trees that stand beside each other, having one parent, those that worked most together.
/// The first processes of trees of one role stand beside each other too.
pub(super) fn workers<'a>(trees: impl Iterator<Item = &'a Work>) -> Option<Workers> {
    let mut groups: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for own in trees.flat_map(|work| work.living.values()) {
        if !own.is_dead {
            groups.entry(own.parent).or_default().push(own.used);
        }
    }
    let (sum, group) = groups
        .into_values()
        .filter(|group| group.len() > 1)
        .map(|group| (group.iter().sum::<u64>(), group))
        .max_by_key(|(sum, _)| *sum)?;
    if sum as f64 / clock_ticks_per_second() as f64 <= ENOUGH_CPU {
        return None;
    }
    let most = group.iter().copied().max().unwrap_or(0);
    Some(Workers {
        processes: u32::try_from(group.len()).unwrap_or(u32::MAX),
        busiest_share: most as f64 / sum as f64,
    })
}

/// Adds to a role's figures, or to those of all, how its CPU time was spread over processes.
pub(super) fn share(usage: &mut Usage, used: impl Iterator<Item = u64>) {
    let Some(cpu) = usage.cpu_seconds.filter(|cpu| *cpu > ENOUGH_CPU) else {
        return;
    };
    let (mut most, mut working) = (0.0_f64, 0);
    for ticks in used {
        let share = ticks as f64 / clock_ticks_per_second() as f64 / cpu;
        most = most.max(share);
        working += u32::from(share >= WORKING_SHARE);
    }
    // Ticks of a process and of its tree are rounded apart from each other.
    usage.busiest_cpu_share = Some(most.min(1.0));
    usage.working_processes = Some(working);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, start: u64, parent: u32, own_ticks: u64) -> Stat {
        Stat {
            id: ProcessId { pid, start },
            parent,
            group: pid,
            state: b'S',
            own_ticks,
            reaped_ticks: 0,
            threads: 1,
        }
    }

    fn follow(work: &mut Work, counts: bool, stats: &[Stat]) {
        let now = stats.iter().map(|stat| (stat.id.pid, *stat)).collect();
        work.follow(&now, counts, |_| false);
    }

    fn seconds(cpu: f64) -> Usage {
        Usage {
            cpu_seconds: Some(cpu),
            ..Usage::default()
        }
    }

    #[test]
    fn only_the_measured_phase_counts() {
        let mut work = Work::default();
        follow(&mut work, false, &[stat(2, 1, 1, 500)]);
        follow(&mut work, true, &[stat(2, 1, 1, 560), stat(3, 2, 2, 20)]);
        follow(&mut work, true, &[stat(2, 1, 1, 570), stat(3, 2, 2, 50)]);
        follow(&mut work, false, &[stat(2, 1, 1, 900), stat(3, 2, 2, 999)]);
        let mut used: Vec<u64> = work.used().collect();
        used.sort_unstable();
        assert_eq!(used, [50, 70]);
    }

    #[test]
    fn a_pid_that_is_used_again_is_another_process() {
        let mut work = Work::default();
        follow(&mut work, true, &[stat(2, 1, 1, 0), stat(3, 5, 2, 40)]);
        follow(&mut work, true, &[stat(2, 1, 1, 0), stat(3, 9, 2, 30)]);
        assert_eq!(work.pids_seen, 3);
        let mut used: Vec<u64> = work.used().collect();
        used.sort_unstable();
        assert_eq!(used, [0, 30, 40]);
    }

    #[test]
    fn who_is_missed_once_and_lives_is_not_counted_twice() {
        let mut work = Work::default();
        follow(&mut work, true, &[stat(2, 1, 1, 40)]);
        work.follow(&HashMap::new(), true, |id| id.pid == 2);
        follow(&mut work, true, &[stat(2, 1, 1, 50)]);
        assert_eq!(work.used().collect::<Vec<_>>(), [50]);
        assert_eq!(work.pids_seen, 1);
    }

    #[test]
    fn of_the_ended_only_those_that_can_matter_are_kept() {
        let mut work = Work::default();
        for pid in 2..1000 {
            let ticks = if pid % 100 == 0 { 90 } else { 1 };
            follow(&mut work, true, &[stat(pid, 1, 1, ticks)]);
        }
        assert_eq!(work.pids_seen, 998);
        assert_eq!(work.living.len(), 1);
        assert_eq!(work.ended.len(), MOST_WORKING);
        assert_eq!(work.used().filter(|used| *used == 90).count(), 9);
    }

    #[test]
    fn a_share_below_a_twentieth_is_no_work() {
        let per = clock_ticks_per_second();
        let mut usage = seconds(10.0);
        share(&mut usage, [per * 9, per / 2, per / 2 - 1].into_iter());
        assert_eq!(usage.busiest_cpu_share, Some(0.9));
        assert_eq!(usage.working_processes, Some(2));
        let mut idle = seconds(ENOUGH_CPU);
        share(&mut idle, [per].into_iter());
        assert_eq!(
            (idle.busiest_cpu_share, idle.working_processes),
            (None, None)
        );
    }

    #[test]
    fn workers_are_those_beside_each_other() {
        // A chain: each has one child, and only the last works.
        let mut chain = Work::default();
        let links = [stat(2, 1, 1, 0), stat(3, 1, 2, 0), stat(4, 1, 3, 900)];
        follow(&mut chain, true, &links);
        assert_eq!(workers([&chain].into_iter()), None);
        // Two trees of one role.
        let mut other = Work::default();
        follow(&mut other, true, &[stat(9, 1, 8, 100)]);
        let alone = workers([&chain, &other].into_iter()).unwrap();
        assert_eq!((alone.processes, alone.busiest_share), (2, 1.0));
        // A master with its workers; it works too, and is none of them.
        let mut cluster = Work::default();
        let mut processes = vec![stat(2, 1, 1, 5000), stat(3, 1, 2, 300), stat(4, 1, 2, 100)];
        processes.push(Stat {
            state: b'Z',
            ..stat(5, 1, 2, 700)
        });
        follow(&mut cluster, true, &processes);
        let found = workers([&cluster].into_iter()).unwrap();
        assert_eq!((found.processes, found.busiest_share), (2, 0.75));
    }
}
