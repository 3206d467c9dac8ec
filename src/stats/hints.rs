//! What a trial's figures look like when something beside the program made them:
//! the kernel's timers, connections that are opened again and again, one worker
//! that does the work of all, a log that is written while it is measured. A hint
//! is a likeness, not a proof; each names the measure that made it look so.

use crate::record::{Histogram, Load, Trial, Usage};
use crate::spec::LoadSpec;
use hdrhistogram::Histogram as Hdr;
use std::time::Duration;

/// Where a delayed acknowledgement shows, which Linux sends after 40 ms or a tick of its clock later:
/// service times from this share of them to that lie within these bounds.
const DELAYED_ACK: (Duration, Duration) = (Duration::from_millis(38), Duration::from_millis(48));
/// The shares. Not the least time, since the first segments of a connection are acknowledged at once; and not the
/// longest quarter, which waits for its turn where the machine is busy.
const DELAYED_ACK_SHARES: (f64, f64) = (0.1, 0.75);
/// What has waited for the timer after which a SYN that was dropped is sent again, 1 s and then 2 s more, takes from
/// a little less to a little more.
const SYN_RETRY: [(Duration, Duration); 2] = [
    (Duration::from_millis(970), Duration::from_millis(1170)),
    (Duration::from_millis(2970), Duration::from_millis(3170)),
];
/// So many times make a cluster at the least, and they are more than lie within as long before and behind it.
const CLUSTER: u64 = 5;
/// From this share of the requests on, connections that are opened anew are a part of the throughput.
const RECONNECTS: f64 = 0.05;
/// One of several workers that used more than this share of their CPU time did the work of all.
const ONE_WORKER: f64 = 0.8;
/// What is printed faster than this, in bytes a second, is a part of what is measured.
const LOUD: f64 = 1e6;
/// A start that takes longer than this is told.
const SLOW_START: Duration = Duration::from_secs(10);
/// Watching that takes more than this share of one CPU is told.
const SAMPLER: f64 = 0.02;

/// Something that a trial's figures look like.
#[derive(Debug, Clone, PartialEq)]
pub enum Hint {
    /// Most responses waited for a delayed acknowledgement.
    DelayedAck,
    /// Connects and responses waited for the timer by which a SYN is sent again.
    SynRetries {
        /// Connects that took about 1 s or 3 s.
        connects: u64,
        /// Responses that did.
        responses: u64,
    },
    /// The server closes connections that were to be kept.
    Reconnects {
        /// Connections opened anew, as a share of the requests.
        share: f64,
    },
    /// One of several workers did nearly all of the work.
    OneWorker {
        /// Their role.
        role: String,
        /// How many there were.
        workers: u32,
        /// The share of their CPU time that one had.
        share: f64,
    },
    /// A process printed much while it was measured.
    Loud {
        /// Its role.
        role: String,
        /// Bytes a second.
        rate: f64,
    },
    /// It was long until the server answered.
    SlowStart {
        /// How long.
        after: Duration,
    },
    /// Reading memory and CPU took a part of what was measured.
    HeavySampler {
        /// Of one CPU, over the window.
        share: f64,
    },
}

/// What the figures of a trial look like, at most one hint of a kind and role.
pub fn hints(trial: &Trial, work: &LoadSpec) -> Vec<Hint> {
    let load = trial.load.as_ref();
    let mut hints = Vec::new();
    if let Some(load) = load {
        hints.extend(delayed_ack(load, work));
        hints.extend(syn_retries(load));
        hints.extend(reconnects(load, work));
        hints.extend(loud(trial, load, work));
        hints.extend(sampler(trial, load));
    }
    hints.extend(one_worker(trial));
    hints.extend(slow_start(trial));
    hints
}

fn delayed_ack(load: &Load, work: &LoadSpec) -> Option<Hint> {
    let service = load.service.as_ref()?;
    let at = |share| service.quantile(share).map(Duration::from_nanos);
    let (low, high) = (at(DELAYED_ACK_SHARES.0)?, at(DELAYED_ACK_SHARES.1)?);
    let within = low >= DELAYED_ACK.0 && high <= DELAYED_ACK.1;
    (work.keep_alive && within).then_some(Hint::DelayedAck)
}

fn syn_retries(load: &Load) -> Option<Hint> {
    let of = |histogram: &Option<Histogram>| histogram.as_ref().map_or(0, clustered);
    let (connects, mut responses) = (of(&load.connect), of(&load.service));
    // What takes a second as a rule is the server's own doing.
    if responses * 2 > load.counts.succeeded {
        responses = 0;
    }
    (connects + responses > 0).then_some(Hint::SynRetries {
        connects,
        responses,
    })
}

/// How many values lie in clusters about the timer.
fn clustered(histogram: &Histogram) -> u64 {
    // Most have none that long, and need not be unpacked.
    let longest = histogram
        .max_ns
        .map_or(Duration::ZERO, Duration::from_nanos);
    if longest < SYN_RETRY[0].0 {
        return 0;
    }
    let Ok(live) = histogram.load() else { return 0 };
    let clusters = SYN_RETRY.iter().filter_map(|band| cluster(&live, *band));
    clusters.sum()
}

fn cluster(live: &Hdr<u64>, (from, to): (Duration, Duration)) -> Option<u64> {
    let as_long = to.saturating_sub(from);
    let inside = between(live, from, to);
    let beside =
        between(live, from.saturating_sub(as_long), from) + between(live, to, to + as_long);
    (inside >= CLUSTER && inside > beside).then_some(inside)
}

/// Values from one time to just below another.
fn between(live: &Hdr<u64>, from: Duration, to: Duration) -> u64 {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    if live.is_empty() || nanos(from) > live.max() {
        return 0;
    }
    live.iter_recorded()
        .map(|value| {
            (
                value.value_iterated_to(),
                value.count_since_last_iteration(),
            )
        })
        .filter(|(value, _)| (nanos(from)..nanos(to)).contains(value))
        .map(|(_, count)| count)
        .sum()
}

fn reconnects(load: &Load, work: &LoadSpec) -> Option<Hint> {
    let sent = load.counts.sent;
    if !work.keep_alive || sent == 0 {
        return None;
    }
    let share = load.connections.reconnects as f64 / sent as f64;
    (share >= RECONNECTS).then_some(Hint::Reconnects { share })
}

fn one_worker(trial: &Trial) -> Vec<Hint> {
    let hint = |(role, usage): (&String, &Usage)| {
        let workers = usage.workers.filter(|_| !usage.apart)?;
        let one = workers.processes > 1 && workers.busiest_share > ONE_WORKER;
        one.then(|| Hint::OneWorker {
            role: role.clone(),
            workers: workers.processes,
            share: workers.busiest_share,
        })
    };
    trial.usage.iter().filter_map(hint).collect()
}

/// What a process printed before and after the load is a part of the sum: little, where much was printed.
fn loud(trial: &Trial, load: &Load, work: &LoadSpec) -> Vec<Hint> {
    let loaded = work.warmup + Duration::from_nanos(load.window_ns);
    if loaded.is_zero() {
        return Vec::new();
    }
    let rates = trial.stops.iter().filter_map(|(role, stop)| {
        let rate = stop.printed_bytes? as f64 / loaded.as_secs_f64();
        (rate > LOUD).then(|| Hint::Loud {
            role: role.clone(),
            rate,
        })
    });
    rates.collect()
}

fn slow_start(trial: &Trial) -> Option<Hint> {
    let after = Duration::from_nanos(trial.startup_ns?);
    (after > SLOW_START).then_some(Hint::SlowStart { after })
}

fn sampler(trial: &Trial, load: &Load) -> Option<Hint> {
    let used = trial.usage.get("total")?.sampler_cpu_seconds?;
    let window = Duration::from_nanos(load.window_ns).as_secs_f64();
    let share = used / window;
    (window > 0.0 && share > SAMPLER).then_some(Hint::HeavySampler { share })
}

#[cfg(test)]
#[path = "hints_tests.rs"]
mod tests;
