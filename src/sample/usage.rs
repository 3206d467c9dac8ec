//! Figures from readings. A window is made of the stretches between two
//! neighbouring readings of which the first is in the measured phase: the
//! reading at its edge begins the next phase and ends this one.

use super::Series;
use super::role::Role;
use super::work;
use crate::record::{ByRole, Phase, Reading, Usage};
use std::time::Duration;

/// The name of all roles together.
const TOTAL: &str = "total";

/// One moment of reading.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tick {
    pub(super) t_ns: u64,
    pub(super) phase: Phase,
    /// CPU time of the sampler's own thread until then.
    pub(super) own_cpu: Duration,
}

/// All that was seen, as a caller gets it. Where no role counts there is no total.
pub(super) fn series(readings: Vec<Reading>, ticks: &[Tick], roles: &[Role]) -> Series {
    let mut usage = ByRole::new();
    let mut total: Option<Usage> = None;
    for role in roles {
        let own: Vec<&Reading> = readings.iter().filter(|r| r.role == role.name).collect();
        let mut figures = measured(&own, role.usage());
        work::share(&mut figures, role.used());
        if role.counted {
            total = Some(match total {
                None => figures.clone(),
                Some(sum) => added(&sum, &figures),
            });
        }
        usage.insert(role.name.clone(), figures);
    }
    if let Some(sums) = total {
        let counted = || roles.iter().filter(|role| role.counted);
        let is_counted = |name: &str| counted().any(|role| role.name == name);
        let together = together(&readings, ticks, is_counted);
        let mut total = measured(&together.iter().collect::<Vec<_>>(), sums);
        work::share(&mut total, counted().flat_map(Role::used));
        total.workers = None;
        total.sampler_cpu_seconds = sampler_cpu(ticks);
        usage.insert(TOTAL.to_owned(), total);
    }
    Series { readings, usage }
}

/// Adds what the readings of one role say to what its tree knows.
fn measured(readings: &[&Reading], mut usage: Usage) -> Usage {
    usage.processes = readings.iter().map(|r| r.processes).max().unwrap_or(0);
    usage.threads = readings.iter().map(|r| r.threads).max().unwrap_or(0);
    let (mut area, mut time, mut cpu) = (0.0, 0.0, 0.0);
    let mut peak = None;
    for pair in readings
        .windows(2)
        .filter(|pair| pair[0].phase == Phase::Measure)
    {
        let (from, to) = (pair[0], pair[1]);
        let lasted = to.t_ns.saturating_sub(from.t_ns) as f64;
        area += f64::midpoint(from.rss_bytes as f64, to.rss_bytes as f64) * lasted;
        time += lasted;
        cpu += to.cpu_seconds - from.cpu_seconds;
        peak = peak.max(Some(from.rss_bytes.max(to.rss_bytes)));
    }
    usage.rss_peak = peak;
    usage.rss_mean = (time > 0.0).then(|| (area / time).round() as u64);
    usage.cpu_seconds = peak.map(|_| cpu);
    usage
}

/// The readings of all roles that count at one moment, as one. Peaks of a sum are not sums of peaks.
fn together(
    readings: &[Reading],
    ticks: &[Tick],
    is_counted: impl Fn(&str) -> bool,
) -> Vec<Reading> {
    let mut rest = readings.iter().peekable();
    let mut all = Vec::with_capacity(ticks.len());
    for tick in ticks {
        let mut sum = Reading {
            t_ns: tick.t_ns,
            phase: tick.phase,
            role: TOTAL.to_owned(),
            rss_bytes: 0,
            pss_bytes: None,
            cpu_seconds: 0.0,
            processes: 0,
            threads: 0,
            completed: None,
        };
        while let Some(reading) = rest.next_if(|reading| reading.t_ns == tick.t_ns) {
            if !is_counted(&reading.role) {
                continue;
            }
            sum.rss_bytes += reading.rss_bytes;
            sum.cpu_seconds += reading.cpu_seconds;
            sum.processes += reading.processes;
            sum.threads += reading.threads;
        }
        all.push(sum);
    }
    all
}

/// The figures that may be added up; what one role lacks, the sum lacks.
fn added(a: &Usage, b: &Usage) -> Usage {
    let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b);
    Usage {
        rss_idle: sum(a.rss_idle, b.rss_idle),
        rss_after: sum(a.rss_after, b.rss_after),
        pss_idle: sum(a.pss_idle, b.pss_idle),
        pss_loaded: sum(a.pss_loaded, b.pss_loaded),
        pss_after: sum(a.pss_after, b.pss_after),
        rss_high_water: sum(a.rss_high_water, b.rss_high_water),
        pids_seen: a.pids_seen + b.pids_seen,
        ..Usage::default()
    }
}

/// What the sampler used in the measured phase, in seconds.
fn sampler_cpu(ticks: &[Tick]) -> Option<f64> {
    let measured = ticks
        .windows(2)
        .filter(|pair| pair[0].phase == Phase::Measure);
    measured
        .map(|pair| {
            pair[1]
                .own_cpu
                .saturating_sub(pair[0].own_cpu)
                .as_secs_f64()
        })
        .reduce(|sum, part| sum + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(t_ns: u64, phase: Phase, rss_bytes: u64, cpu_seconds: f64) -> Reading {
        Reading {
            t_ns,
            phase,
            role: "server".into(),
            rss_bytes,
            pss_bytes: None,
            cpu_seconds,
            processes: rss_bytes as u32,
            threads: 1,
            completed: None,
        }
    }

    #[test]
    fn only_the_measured_window_counts() {
        let readings = [
            reading(0, Phase::Warmup, 900, 0.0),
            reading(100, Phase::Measure, 10, 1.0),
            reading(200, Phase::Measure, 30, 2.0),
            reading(500, Phase::Rest, 30, 5.5),
            reading(600, Phase::Rest, 800, 9.0),
        ];
        let usage = measured(&readings.iter().collect::<Vec<_>>(), Usage::default());
        assert_eq!(usage.rss_peak, Some(30));
        // 20 for 100 ns and 30 for 300 ns.
        assert_eq!(usage.rss_mean, Some(28));
        assert_eq!(usage.cpu_seconds, Some(4.5));
        assert_eq!(usage.processes, 900);
    }

    #[test]
    fn without_a_measured_phase_there_are_no_figures() {
        let readings = [
            reading(0, Phase::Start, 1, 0.0),
            reading(1, Phase::Idle, 1, 0.0),
        ];
        let usage = measured(&readings.iter().collect::<Vec<_>>(), Usage::default());
        assert_eq!(
            (usage.rss_peak, usage.rss_mean, usage.cpu_seconds),
            (None, None, None)
        );
    }

    #[test]
    fn what_one_role_lacks_the_sum_lacks() {
        let some = Usage {
            pss_idle: Some(5),
            rss_idle: Some(7),
            pids_seen: 1,
            ..Usage::default()
        };
        let none = Usage {
            pss_idle: None,
            ..some.clone()
        };
        let sum = added(&some, &none);
        assert_eq!(
            (sum.pss_idle, sum.rss_idle, sum.pids_seen),
            (None, Some(14), 2)
        );
    }
}
