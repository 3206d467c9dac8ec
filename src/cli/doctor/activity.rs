//! What a machine did while it was watched, and what that means for figures. Pure: facts in, findings out. docs/doctor.md
//! has the reason of each level.

use super::finding::Finding;
use super::limits;
use crate::host::{Machine, Noise, share_of};
use crate::record::{Ceiling, Surroundings};
use crate::stats::{Disturbance, TAKEN, disturbances, needed_trials};
use crate::units::show_duration;
use std::time::Duration;

/// A pause that is longer than the longest tick of the kernel's clock, 10 ms at 100 a second, is no tick.
const PAUSE: Duration = Duration::from_millis(10);
/// From this variation of half-seconds on, even trials of 10 s that average over twenty of them vary so much that
/// 30 trials, the most that `repetitions = "auto"` takes, do not show a difference of 10 %: 10 % × √(28 ÷ 15.7) × √20.
const HOPELESS: f64 = 0.60;
/// A load average of this many for each processor is a machine that works for somebody.
const LOADED: f64 = 0.5;

/// What was seen while the machine was watched.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Watched {
    /// A second in which nothing was asked of it.
    pub(super) idle: Surroundings,
    /// The share of the time of all processors that was worked in it, by anybody.
    pub(super) idle_busy: Option<f64>,
    /// The loop, and what happened beside it; none where it was not done.
    pub(super) noise: Option<(Noise, Surroundings)>,
}

impl Watched {
    /// What was seen while most was asked of the machine.
    fn hardest(&self) -> &Surroundings {
        self.noise.as_ref().map_or(&self.idle, |(_, seen)| seen)
    }

    /// The size of a disturbance while it worked hardest.
    fn found(&self, which: impl Fn(Disturbance) -> Option<f64>) -> Option<f64> {
        disturbances(self.hardest()).into_iter().find_map(which)
    }
}

pub(super) fn findings(machine: &Machine, watched: &Watched) -> Vec<Finding> {
    let reads_back = disturbances(&watched.idle)
        .iter()
        .any(|one| matches!(one, Disturbance::Swap(_)));
    let mut all = vec![
        load(machine),
        others(watched),
        limits::swap(machine, reads_back),
        heat(machine, watched),
        virtualised(machine, watched),
    ];
    all.extend(watched.noise.as_ref().map(|(noise, _)| evenness(noise)));
    all
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn load(machine: &Machine) -> Finding {
    let name = "load average";
    let Some(load) = machine.load_average else {
        return Finding::unknown(name, "the kernel does not tell");
    };
    let seen = format!("{load:.2} over the last minute");
    if load < LOADED * machine.host.cpus_online as f64 {
        return Finding::ok(name, seen);
    }
    Finding::note(name, seen)
        .so("the machine works, or worked a moment ago, for somebody else")
        .then("see which processes below, or wait a minute")
}

fn others(watched: &Watched) -> Finding {
    let name = "other processes";
    let idle = &watched.idle;
    let whole = idle.took_ns.max(1) as f64 * idle.cpus.max(1) as f64;
    let named = idle.others_ns.map(|ns| ns as f64 / whole);
    let Some(share) = named.into_iter().chain(watched.idle_busy).reduce(f64::max) else {
        return Finding::unknown(name, "/proc does not tell");
    };
    let names: Vec<String> = idle
        .busiest
        .iter()
        .map(|busy| format!("{} {}", busy.name, percent(share_of(busy, idle))))
        .collect();
    let by = if names.is_empty() {
        String::new()
    } else {
        format!(": {}", names.join(", "))
    };
    let seen = format!("{} of the processors' time in a second{by}", percent(share));
    if share < TAKEN {
        return Finding::ok(name, seen);
    }
    let remedy = if names.is_empty() {
        "they cannot be seen from here, as in a container: look on the machine itself"
    } else {
        "end them, or measure when they rest"
    };
    Finding::warning(name, seen)
        .so("they take that from some trials and not from others, which looks like a difference")
        .then(remedy)
}

fn heat(machine: &Machine, watched: &Watched) -> Finding {
    let name = "heat";
    let Some(count) = machine.overheated_count else {
        return Finding::unknown(name, "the processors do not tell");
    };
    let seen = format!("slowed down {count} times since boot");
    let does =
        "a processor that is too hot is slowed down: later trials are slower than earlier ones";
    let remedy = "cool it, rest longer between trials (`cooldown`), or turn turbo off";
    let now = watched.found(|one| match one {
        Disturbance::Heat(count) => Some(count as f64),
        _ => None,
    });
    match (now, count) {
        (Some(now), _) => Finding::warning(name, format!("{seen}, {now:.0} of them just now"))
            .so(does)
            .then(remedy),
        (None, 0) => Finding::ok(name, seen),
        (None, _) => Finding::note(name, seen).so(does).then(remedy),
    }
}

fn virtualised(machine: &Machine, watched: &Watched) -> Finding {
    let name = "virtual machine";
    let hard = watched.hardest();
    let stolen = hard
        .stolen_ns
        .map(|ns| ns as f64 / (hard.took_ns.max(1) as f64 * hard.cpus.max(1) as f64));
    let share = stolen.map_or_else(
        || "steal time unknown".to_owned(),
        |share| format!("{} stolen", percent(share)),
    );
    let who = machine.hypervisor.as_deref();
    let seen = match (machine.host.virtualized, who) {
        (Some(false), _) => return Finding::ok(name, "no"),
        (None, None) => return Finding::unknown(name, "the processor does not tell"),
        (Some(true), Some(who)) => format!("yes ({who}), {share}"),
        (None, Some(who)) => format!("perhaps ({who}), {share}"),
        (Some(true), None) => format!("yes, {share}"),
    };
    let taken = watched.found(|one| match one {
        Disturbance::Stolen(share) => Some(share),
        _ => None,
    });
    if taken.is_some() {
        return Finding::warning(name, seen)
            .so("the hypervisor ran others in that time: figures are too low, by another amount in each trial")
            .then("use a machine with processors of its own, or more repetitions");
    }
    Finding::note(name, seen)
        .so("neighbours share caches, memory and clock speed, which nothing in here shows")
        .then("compare cells of one run, and trust no single night")
}

fn evenness(noise: &Noise) -> Finding {
    let name = "evenness";
    let pause = Duration::from_nanos(noise.longest_pause_ns);
    let seen = format!(
        "speed varies by {} from half-second to half-second, equal work by {}; longest pause {}",
        percent(noise.speed_variation),
        percent(noise.piece_variation),
        show_duration(pause)
    );
    if noise.speed_variation >= HOPELESS {
        return Finding::cannot(name, seen)
            .so("not even 30 trials would show a difference of 10 %")
            .then("find out who else uses the machine, or use another one");
    }
    if noise.speed_variation >= TAKEN {
        let trials = needed_trials(noise.speed_variation, 0.05);
        return Finding::warning(name, seen)
            .so(format!(
                "trials that vary as much need {trials} repetitions to show a difference of 5 %; longer loads vary less"
            ))
            .then("make the machine quiet, or take longer loads and more repetitions");
    }
    if pause >= PAUSE {
        return Finding::note(name, seen)
            .so("a request that falls into such a pause has its length as its latency: the maximum and the highest percentiles")
            .then("read p99 rather than the maximum");
    }
    Finding::ok(name, seen)
}

/// What the generator itself can send here.
pub(super) fn ceiling(ceiling: &Ceiling) -> Finding {
    let slower = if ceiling.is_of_the_generator() {
        ""
    } else {
        "; the null server, or the processors, were the slower end"
    };
    let threads = if ceiling.threads == 1 {
        "thread"
    } else {
        "threads"
    };
    Finding::ok(
        CEILING,
        format!(
            "{:.0} requests/s with {} {threads} on {} connections, measured {}{slower}",
            ceiling.requests_per_second, ceiling.threads, ceiling.connections, ceiling.measured
        ),
    )
}

/// The same where it could not be measured.
pub(super) fn no_ceiling(why: &str) -> Finding {
    Finding::cannot(
        CEILING,
        format!("hotlap's own null server could not be loaded: {why}"),
    )
    .so("what does not work with the fastest server works with no other")
    .then("start it by hand, and see what it says")
    .by("hotlap serve --null --port 8080")
}

const CEILING: &str = "generator";
