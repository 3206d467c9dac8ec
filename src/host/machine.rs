//! What a machine is and how it is set, as far as figures depend on it.

use super::cgroup::{self, Quota};
use super::{Nofile, facts, fingerprint, kernel, load_average, look, nofile, read};
use crate::record::Host;
use serde::Serialize;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// Readings of the clock whose time is taken.
const CLOCK_READINGS: u32 = 20_000;

/// The machine. What it does not tell is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    /// What a run's record has of it.
    pub host: Host,
    /// Processors that this process may use by its affinity mask.
    pub affinity_cpus: Option<usize>,
    /// The processors of each core, by their numbers.
    pub cores: Option<Vec<Vec<usize>>>,
    /// The tightest CPU quota around this process.
    pub quota: Option<Quota>,
    /// Whether the processors may run faster than their base frequency for a while.
    pub turbo: Option<bool>,
    /// The driver that sets the frequency.
    pub frequency_driver: Option<String>,
    /// Memory that can still be had, in bytes.
    pub available_bytes: Option<u64>,
    /// Swap space, in bytes.
    pub swap_bytes: Option<u64>,
    /// How much of it is used, in bytes.
    pub swap_used_bytes: Option<u64>,
    /// Load average over one minute.
    pub load_average: Option<f64>,
    /// Limits on open files; none is unlimited.
    pub open_files: Nofile,
    /// The first and the last port of outgoing connections.
    pub ports: Option<(u64, u64)>,
    /// Connections in `TIME_WAIT`, each of which keeps its port for a minute.
    pub time_wait_count: Option<u64>,
    /// The longest queue of connections that wait to be accepted.
    pub somaxconn: Option<u64>,
    /// What the kernel reads the time from.
    pub clock: Option<String>,
    /// What one reading of the clock takes, in nanoseconds.
    pub clock_read_ns: f64,
    /// Who runs this machine, where it is a virtual one and says so.
    pub hypervisor: Option<String>,
    /// How often a processor was slowed down since it was too hot, since boot.
    pub overheated_count: Option<u64>,
    /// When the kernel gives large pages to whoever did not ask: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// How addresses of processes are randomised: 2 is all of it.
    pub address_randomisation: Option<u64>,
}

/// This machine as it is now.
pub fn machine() -> Machine {
    let meminfo = read("/proc/meminfo").unwrap_or_default();
    let memory = |name| kernel::memory(&meminfo, name);
    let swap = memory("SwapTotal");
    let text = |path: &str| {
        read(path)
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
    };
    let number = |path: &str| text(path)?.parse().ok();
    Machine {
        host: fingerprint(),
        affinity_cpus: affinity(),
        cores: cores(),
        quota: quota(),
        turbo: turbo(),
        frequency_driver: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"),
        available_bytes: memory("MemAvailable"),
        swap_bytes: swap,
        swap_used_bytes: swap
            .zip(memory("SwapFree"))
            .map(|(all, free)| all.saturating_sub(free)),
        load_average: load_average(),
        open_files: nofile(),
        ports: read("/proc/sys/net/ipv4/ip_local_port_range").and_then(|text| kernel::pair(&text)),
        time_wait_count: read("/proc/net/sockstat").and_then(|text| kernel::time_wait(&text)),
        somaxconn: number("/proc/sys/net/core/somaxconn"),
        clock: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        clock_read_ns: clock_read_ns(),
        hypervisor: hypervisor(&text),
        overheated_count: look::overheated(),
        huge_pages: read("/sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|text| kernel::chosen(&text)),
        address_randomisation: number("/proc/sys/kernel/randomize_va_space"),
    }
}

fn affinity() -> Option<usize> {
    let set = rustix::thread::sched_getaffinity(None).ok()?;
    usize::try_from(set.count()).ok()
}

/// The processors that are online, by core.
fn cores() -> Option<Vec<Vec<usize>>> {
    let online = facts::cpu_list(&read("/sys/devices/system/cpu/online")?)?;
    let lists = online.iter().map(|cpu| {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
        read(&format!("{folder}/core_cpus_list"))
            .or_else(|| read(&format!("{folder}/thread_siblings_list")))
            .and_then(|list| facts::cpu_list(&list))
    });
    Some(each_once(lists.collect::<Option<Vec<_>>>()?))
}

fn each_once(mut lists: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    lists.sort();
    lists.dedup();
    lists
}

/// The least of the quotas of the groups around this process.
fn quota() -> Option<Quota> {
    let quotas = look::groups().into_iter().filter_map(|folder| {
        let of = |name: &str| read(Path::new(&folder).join(name).to_str()?);
        of("cpu.max").map_or_else(
            || cgroup::of_first(&of("cpu.cfs_quota_us")?, &of("cpu.cfs_period_us")?),
            |text| cgroup::of_second(&text),
        )
    });
    quotas.min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

/// The two places in which a driver tells whether it may go beyond the base frequency.
fn turbo() -> Option<bool> {
    let is = |path: &str| Some(read(path)?.trim() == "1");
    is("/sys/devices/system/cpu/intel_pstate/no_turbo")
        .map(|off| !off)
        .or_else(|| is("/sys/devices/system/cpu/cpufreq/boost"))
}

fn hypervisor(text: &impl Fn(&str) -> Option<String>) -> Option<String> {
    text("/sys/hypervisor/type").or_else(|| {
        let maker = text("/sys/class/dmi/id/sys_vendor")?;
        let product = text("/sys/class/dmi/id/product_name")?;
        Some(format!("{maker} {product}"))
    })
}

fn clock_read_ns() -> f64 {
    let began = Instant::now();
    for _ in 0..CLOCK_READINGS {
        black_box(Instant::now());
    }
    began.elapsed().as_nanos() as f64 / f64::from(CLOCK_READINGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_are_named_once() {
        let lists = vec![vec![0, 4], vec![1, 5], vec![0, 4], vec![1, 5]];
        assert_eq!(each_once(lists), [[0, 4], [1, 5]]);
    }

    #[test]
    fn this_machine_is_seen() {
        let machine = machine();
        assert!(machine.clock_read_ns > 0.0);
        assert!(machine.affinity_cpus.unwrap() >= 1);
        let (first, last) = machine.ports.unwrap();
        assert!(first < last);
        assert!(machine.swap_bytes.is_some());
    }
}
