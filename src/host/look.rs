//! Two looks at the machine, and what it did between them.

use super::kernel::{self, Task};
use super::{cgroup, facts, others, read};
use crate::record::{Busy, Surroundings};
use rustix::param::clock_ticks_per_second;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// From this share of one processor on, a process is busy enough to be named.
pub const NAMED_SHARE: f64 = 0.01;

/// One look. It takes a few milliseconds: a file for each process.
#[derive(Debug)]
pub struct Look {
    at: Instant,
    tasks: Vec<Task>,
    times: Option<kernel::CpuTimes>,
    throttled_ns: Option<u64>,
    overheated: Option<u64>,
    swapped_in: Option<u64>,
}

impl Look {
    /// Looks now.
    pub fn now() -> Self {
        Self {
            tasks: tasks(),
            times: read("/proc/stat").and_then(|text| kernel::cpu_times(&text)),
            throttled_ns: throttled(),
            overheated: overheated(),
            swapped_in: read("/proc/vmstat").and_then(|text| kernel::counter(&text, "pswpin")),
            at: Instant::now(),
        }
    }

    /// What happened from here to `later`. `ours` are the pids that are no others, with everything below them.
    pub fn until(&self, later: &Self, ours: &[u32]) -> Surroundings {
        let took = later.at.saturating_duration_since(self.at);
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let all = others::others(&self.tasks, &later.tasks, ours);
        let least = (took_ns as f64 * NAMED_SHARE) as u64;
        let ticks: u64 = all.iter().map(|(_, ticks)| ticks).sum();
        let stolen = between(
            self.times.and_then(|t| t.stolen),
            later.times.and_then(|t| t.stolen),
        );
        Surroundings {
            took_ns,
            cpus: online(),
            stolen_ns: stolen.map(|ticks| ticks.saturating_mul(tick_ns())),
            others_ns: (!later.tasks.is_empty()).then(|| ticks.saturating_mul(tick_ns())),
            busiest: others::busiest(&all, tick_ns(), least),
            throttled_ns: between(self.throttled_ns, later.throttled_ns),
            overheated_count: between(self.overheated, later.overheated),
            swapped_in_pages: between(self.swapped_in, later.swapped_in),
        }
    }

    /// Which share of the time of all processors was worked from here to `later`, by anybody: in a container also by those
    /// whose processes cannot be seen.
    pub fn busy_share(&self, later: &Self) -> Option<f64> {
        let busy = later.times?.busy.saturating_sub(self.times?.busy);
        let took = later.at.saturating_duration_since(self.at).as_nanos() as f64;
        Some(busy as f64 * tick_ns() as f64 / (took * online() as f64))
    }
}

/// The share of the time of all processors that a process took.
pub fn share_of(busy: &Busy, seen: &Surroundings) -> f64 {
    busy.cpu_ns as f64 / (seen.took_ns.max(1) as f64 * seen.cpus.max(1) as f64)
}

fn between(first: Option<u64>, last: Option<u64>) -> Option<u64> {
    Some(last?.saturating_sub(first?))
}

fn tick_ns() -> u64 {
    1_000_000_000 / clock_ticks_per_second().max(1)
}

fn online() -> usize {
    read("/sys/devices/system/cpu/online")
        .and_then(|list| facts::cpu_list(&list))
        .map_or_else(super::effective_cpus, |cpus| cpus.len())
}

/// Every process that can be seen.
fn tasks() -> Vec<Task> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let pid: u32 = name.to_str()?.parse().ok()?;
            kernel::task(&read(&format!("/proc/{pid}/stat"))?)
        })
        .collect()
}

/// How often processors were too hot since boot; none where they do not tell.
pub(super) fn overheated() -> Option<u64> {
    let cpus = facts::cpu_list(&read("/sys/devices/system/cpu/online")?)?;
    let number = |cpu: &usize, name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/{name}");
        read(&path)?.trim().parse::<u64>().ok()
    };
    let cores = cpus
        .iter()
        .filter_map(|cpu| number(cpu, "thermal_throttle/core_throttle_count"));
    // Each processor of a package tells of the whole package.
    let packages: BTreeMap<u64, u64> = cpus
        .iter()
        .filter_map(|cpu| {
            let package = number(cpu, "topology/physical_package_id").unwrap_or(0);
            Some((
                package,
                number(cpu, "thermal_throttle/package_throttle_count")?,
            ))
        })
        .collect();
    cores
        .chain(packages.into_values())
        .fold(None, |sum, count| Some(sum.unwrap_or(0) + count))
}

/// The folders of the cgroups around this process.
pub(super) fn groups() -> Vec<String> {
    let texts = (read("/proc/self/cgroup"), read("/proc/self/mountinfo"));
    match texts {
        (Some(cgroup), Some(mounts)) => cgroup::folders(&cgroup, &mounts),
        _ => Vec::new(),
    }
}

/// How long quotas around this process kept it waiting: that of the group that did most.
fn throttled() -> Option<u64> {
    groups()
        .iter()
        .filter_map(|folder| {
            let text = read(Path::new(folder).join("cpu.stat").to_str()?)?;
            kernel::throttled_ns(&text)
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn our_own_work_is_not_that_of_others() {
        let before = Look::now();
        let until = Instant::now() + Duration::from_millis(300);
        let mut turns = 0_u64;
        while Instant::now() < until {
            turns = std::hint::black_box(turns + 1);
        }
        let after = Look::now();
        let all = before.until(&after, &[]);
        let foreign = before.until(&after, &[std::process::id()]);
        assert!(all.took_ns >= 300_000_000);
        // This thread alone worked for most of the time, on a machine that may be busy with others.
        let ours = all.others_ns.unwrap() - foreign.others_ns.unwrap();
        assert!(ours >= 20_000_000, "{ours}");
        assert!(before.busy_share(&after).unwrap() > 0.0);
    }
}
