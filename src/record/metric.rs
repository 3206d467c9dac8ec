//! The registry of metrics: every figure of a trial has one name, one unit,
//! one direction and one reader. Tables, CSV columns, gates and published rows
//! follow from it.

use super::{Load, Outcome, Trial, Usage};

/// What a metric is measured in. On disk and in columns it is this unit, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number each second.
    PerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Bytes each second.
    BytesPerSecond,
    /// A plain number.
    Count,
    /// Seconds of CPU time.
    CpuSeconds,
    /// A number for each second of CPU time.
    PerCpuSecond,
}

impl Unit {
    /// How the unit ends a column's name: `latency_p50_ns`.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::PerSecond => "per_s",
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes_per_s",
            Self::Count => "count",
            Self::CpuSeconds => "cpu_s",
            Self::PerCpuSecond => "per_cpu_s",
        }
    }
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// One entry of the registry.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name in suites, columns and JSON.
    pub name: &'static str,
    /// How people see it.
    pub label: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    read: fn(&Trial) -> Option<f64>,
}

impl Metric {
    /// The figure of one trial. None where there is none: the trial failed, or
    /// too few requests were made for a high percentile.
    pub fn of(&self, trial: &Trial) -> Option<f64> {
        match trial.outcome {
            Outcome::Failed { .. } => None,
            Outcome::Valid | Outcome::Invalid { .. } => (self.read)(trial),
        }
    }

    /// The name of its column, with the unit: `rss_peak_bytes`.
    pub fn column(&self) -> String {
        // The names of rates tell the unit already.
        match self.name {
            "cpu" => "cpu_s".to_owned(),
            "requests_per_second" | "requests_per_cpu_second" => self.name.to_owned(),
            _ => format!("{}_{}", self.name, self.unit.suffix()),
        }
    }
}

/// The metric with this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// Every metric, in the order of columns.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "requests_per_second",
        label: "Requests/s",
        unit: Unit::PerSecond,
        direction: Direction::Higher,
        read: |trial| {
            let load = trial.load.as_ref()?;
            per(load.counts.succeeded as f64, seconds(load.window_ns))
        },
    },
    latency("latency_mean", "Mean", |trial| service(trial)?.mean_ns),
    latency("latency_p50", "p50", |trial| quantile(trial, 0.5)),
    latency("latency_p90", "p90", |trial| quantile(trial, 0.9)),
    latency("latency_p95", "p95", |trial| quantile(trial, 0.95)),
    latency("latency_p99", "p99", |trial| quantile(trial, 0.99)),
    latency("latency_p99_9", "p99.9", |trial| quantile(trial, 0.999)),
    latency("latency_max", "Max", |trial| {
        Some(service(trial)?.max_ns? as f64)
    }),
    latency("connect_mean", "Connect", |trial| {
        trial.load.as_ref()?.connect.as_ref()?.mean_ns
    }),
    Metric {
        name: "transfer",
        label: "Transfer",
        unit: Unit::BytesPerSecond,
        direction: Direction::Higher,
        read: |trial| {
            let load = trial.load.as_ref()?;
            per(load.bytes.received as f64, seconds(load.window_ns))
        },
    },
    Metric {
        name: "errors",
        label: "Errors",
        unit: Unit::Count,
        direction: Direction::Lower,
        read: |trial| Some(trial.load.as_ref()?.counts.errors() as f64),
    },
    memory("rss_idle", "RSS idle", |trial| {
        bytes(total(trial)?.rss_idle)
    }),
    memory("rss_mean", "RSS mean", |trial| {
        bytes(total(trial)?.rss_mean)
    }),
    memory("rss_peak", "RSS peak", |trial| {
        bytes(total(trial)?.rss_peak)
    }),
    memory("rss_after", "RSS after", |trial| {
        bytes(total(trial)?.rss_after)
    }),
    memory("rss_high_water", "RSS high water", |trial| {
        bytes(total(trial)?.rss_high_water)
    }),
    memory("pss_idle", "PSS idle", |trial| {
        bytes(total(trial)?.pss_idle)
    }),
    memory("pss_loaded", "PSS loaded", |trial| {
        bytes(total(trial)?.pss_loaded)
    }),
    memory("pss_after", "PSS after", |trial| {
        bytes(total(trial)?.pss_after)
    }),
    Metric {
        name: "cpu",
        label: "CPU",
        unit: Unit::CpuSeconds,
        direction: Direction::Lower,
        read: |trial| total(trial)?.cpu_seconds,
    },
    Metric {
        name: "requests_per_cpu_second",
        label: "Requests/CPU-s",
        unit: Unit::PerCpuSecond,
        direction: Direction::Higher,
        read: |trial| {
            let done = trial.load.as_ref()?.counts.succeeded;
            per(done as f64, total(trial)?.cpu_seconds?)
        },
    },
    latency("startup", "Start-up", |trial| {
        Some(trial.startup_ns? as f64)
    }),
];

const fn latency(
    name: &'static str,
    label: &'static str,
    read: fn(&Trial) -> Option<f64>,
) -> Metric {
    Metric {
        name,
        label,
        unit: Unit::Nanoseconds,
        direction: Direction::Lower,
        read,
    }
}

const fn memory(
    name: &'static str,
    label: &'static str,
    read: fn(&Trial) -> Option<f64>,
) -> Metric {
    Metric {
        name,
        label,
        unit: Unit::Bytes,
        direction: Direction::Lower,
        read,
    }
}

fn total(trial: &Trial) -> Option<&Usage> {
    trial.usage.get("total")
}

fn bytes(value: Option<u64>) -> Option<f64> {
    value.map(|bytes| bytes as f64)
}

fn service(trial: &Trial) -> Option<&super::Histogram> {
    trial
        .load
        .as_ref()
        .and_then(|load: &Load| load.service.as_ref())
}

fn quantile(trial: &Trial, q: f64) -> Option<f64> {
    service(trial)?.quantile(q).map(|ns| ns as f64)
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// A rate, where its divisor is more than nothing.
fn per(amount: f64, divisor: f64) -> Option<f64> {
    (divisor > 0.0).then(|| amount / divisor)
}
