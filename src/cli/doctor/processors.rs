//! What the processors of a machine mean for figures. Pure: facts in, findings out. docs/doctor.md has the reason of each level.

use super::finding::Finding;
use crate::host::Machine;
use crate::units::show_duration;
use std::time::Duration;

/// With fewer, generator and server cannot have cores of their own.
const TO_SEPARATE: usize = 4;

pub(super) fn findings(machine: &Machine) -> Vec<Finding> {
    vec![
        processors(machine),
        siblings(machine),
        quota(machine),
        governor(machine),
        turbo(machine),
    ]
}

fn processors(machine: &Machine) -> Finding {
    let name = "processors";
    let host = &machine.host;
    let seen = format!("{} of {} may be used", host.cpus, host.cpus_online);
    match host.cpus {
        0 | 1 => Finding::warning(name, seen)
            .so("generator, server and all else take turns on it: a faster server starves its own load")
            .then("give this machine or container at least two processors, better four"),
        few if few < TO_SEPARATE => Finding::note(name, seen)
            .so("generator and server take turns on them: compare figures with each other, not with other machines'")
            .then("use a machine with four processors or more, where that matters"),
        _ => Finding::ok(name, seen),
    }
}

fn siblings(machine: &Machine) -> Finding {
    let name = "hyper-threads";
    let Some(cores) = &machine.cores else {
        return Finding::unknown(
            name,
            "the kernel does not tell which processors share a core",
        );
    };
    let processors: usize = cores.iter().map(Vec::len).sum();
    if cores.iter().all(|core| core.len() < 2) {
        return Finding::ok(name, "no two processors share a core");
    }
    Finding::note(name, format!("{processors} processors on {} cores", cores.len()))
        .so("two threads on one core slow each other down, and where the kernel puts them differs from trial to trial")
        .then("turn siblings off until the next boot, where figures of equal trials differ")
        .by("echo off | sudo tee /sys/devices/system/cpu/smt/control")
}

fn quota(machine: &Machine) -> Finding {
    let name = "CPU quota";
    let Some(quota) = machine.quota else {
        return Finding::ok(name, "none");
    };
    let period = show_duration(Duration::from_nanos(quota.period_ns));
    let seen = format!("{:.2} processors, in periods of {period}", quota.cpus);
    let all = machine.affinity_cpus.unwrap_or(machine.host.cpus_online);
    if quota.cpus >= all as f64 {
        return Finding::ok(name, seen);
    }
    Finding::warning(name, seen)
        .so(format!(
            "when it is used up, every thread waits for the next period: pauses of up to {period} in high percentiles, and a \
             rate that is the quota's"
        ))
        .then("give the container processors of its own instead (`docker run --cpuset-cpus=0-3` in the place of `--cpus`)")
}

/// Drivers whose `powersave` goes up with the load (the kernel's `intel_pstate.rst` and `amd-pstate.rst`).
const ADAPTIVE: [&str; 2] = ["intel_pstate", "amd-pstate-epp"];

fn governor(machine: &Machine) -> Finding {
    let name = "governor";
    let Some(governor) = &machine.host.governor else {
        return Finding::unknown(name, "the kernel tells none, as in most virtual machines");
    };
    let driver = machine.frequency_driver.as_deref().unwrap_or_default();
    if governor == "performance" {
        return Finding::ok(name, governor.clone());
    }
    let finding = if governor == "powersave" && !ADAPTIVE.contains(&driver) {
        Finding::warning(name, format!("{governor} ({driver})"))
            .so("the clock stays at its lowest frequency")
    } else {
        let seen = if driver.is_empty() {
            governor.clone()
        } else {
            format!("{governor} ({driver})")
        };
        Finding::note(name, seen)
            .so("the clock follows the load with a delay: short loads and low rates are measured at a lower frequency")
    };
    finding
        .then("set it to performance until the next boot")
        .by("echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor")
}

fn turbo(machine: &Machine) -> Finding {
    let name = "turbo";
    let driver = machine.frequency_driver.as_deref().unwrap_or_default();
    match machine.turbo {
        None => Finding::unknown(name, "the kernel does not tell"),
        Some(false) => Finding::ok(name, "off"),
        Some(true) => Finding::note(name, "on")
            .so("the clock depends on how many cores work and how warm they are, so that it changes within a run")
            .then("turn it off until the next boot, for figures that repeat on another day")
            .by(if driver.starts_with("intel") {
                "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
            } else {
                "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
            }),
    }
}
