//! The machine: what it is (for the record, so that figures are compared only
//! where they can be), how it is set and loaded, what it does beside a load, how evenly
//! it works, and how many descriptors may be open.
//! What cannot be read is none, never an error.

mod cgroup;
mod facts;
mod kernel;
mod limit;
mod look;
mod machine;
mod noise;
mod others;

pub use cgroup::Quota;
pub use limit::{Nofile, NofileError, nofile, raise_nofile};
pub use look::{Look, NAMED_SHARE, share_of};
pub use machine::{Machine, machine};
pub use noise::{Noise, noise};

use crate::record::Host;
use std::fs;
use std::path::Path;

/// This machine as it is now.
pub fn fingerprint() -> Host {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    Host {
        cpu: facts::cpu_model(&cpuinfo),
        cpus: effective_cpus(),
        cpus_online: read("/sys/devices/system/cpu/online")
            .and_then(|list| facts::cpu_list(&list))
            .map_or_else(effective_cpus, |cpus| cpus.len()),
        memory_bytes: read("/proc/meminfo").and_then(|text| facts::memory_bytes(&text)),
        kernel: kernel(),
        system: read("/etc/os-release")
            .or_else(|| read("/usr/lib/os-release"))
            .and_then(|text| facts::system_name(&text)),
        governor: governors(),
        virtualized: facts::virtualized(&cpuinfo)
            .or_else(|| Path::new("/sys/hypervisor/type").exists().then_some(true)),
    }
}

/// Processors that this process may use: the least of its affinity and of the CPU
/// quotas (cgroup v2 and v1) around it, at least 1. The standard library reads all three.
pub fn effective_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Load average over one minute.
pub fn load_average() -> Option<f64> {
    facts::first_number(&read("/proc/loadavg")?)
}

fn read(path: &str) -> Option<String> {
    // Not every file of /sys is UTF-8 on every machine.
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn kernel() -> Option<String> {
    let name = rustix::system::uname();
    let words = [name.sysname(), name.release(), name.machine()].map(|word| word.to_str().ok());
    Some(words.into_iter().collect::<Option<Vec<_>>>()?.join(" "))
}

/// The governor of each processor, each named once: mostly one word.
fn governors() -> Option<String> {
    let online = facts::cpu_list(&read("/sys/devices/system/cpu/online")?)?;
    let mut names: Vec<String> = online
        .iter()
        .filter_map(|cpu| {
            read(&format!(
                "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"
            ))
        })
        .map(|name| name.trim().to_owned())
        .collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_fingerprint() {
        let host = fingerprint();
        assert!(host.cpus >= 1);
        assert!(host.cpus <= host.cpus_online);
        assert!(host.kernel.unwrap().starts_with("Linux "));
        assert!(host.memory_bytes.unwrap() > 1 << 20);
        assert!(load_average().unwrap() >= 0.0);
    }
}
