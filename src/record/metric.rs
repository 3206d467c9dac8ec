//! How each metric is read from a trial.

use super::{Histogram, Load, Outcome, Told, Trial, Usage};
use crate::metric::{Metric as Facts, REGISTRY};
use std::ops::Deref;
use std::sync::LazyLock;

type Read = fn(&Trial) -> Option<f64>;

/// A metric of the registry that a trial can have a figure of.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    facts: &'static Facts,
    read: Read,
}

impl Deref for Metric {
    type Target = Facts;
    fn deref(&self) -> &Facts {
        self.facts
    }
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
}

/// The metric with this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// Every metric that trials have figures of, in the order of columns.
pub static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    REGISTRY
        .iter()
        .filter_map(|facts| {
            let read = reader(facts.name)?;
            Some(Metric { facts, read })
        })
        .collect()
});

/// Where the figure of a metric stands in a trial.
fn reader(name: &str) -> Option<Read> {
    let read: Read = match name {
        "requests_per_second" => |trial| trial.load.as_ref()?.requests_per_second(),
        "latency_mean" => |trial| match service(trial) {
            Some(service) => service.mean_ns,
            None => told(trial)?.mean_ns,
        },
        "latency_p50" => |trial| quantile(trial, 0.5),
        "latency_p90" => |trial| quantile(trial, 0.9),
        "latency_p95" => |trial| quantile(trial, 0.95),
        "latency_p99" => |trial| quantile(trial, 0.99),
        "latency_p99_9" => |trial| quantile(trial, 0.999),
        "latency_max" => |trial| {
            let max = match service(trial) {
                Some(service) => service.max_ns,
                None => told(trial)?.max_ns,
            };
            Some(max? as f64)
        },
        "connect_mean" => |trial| match &trial.load.as_ref()?.connect {
            Some(connect) => connect.mean_ns,
            None => told(trial)?.connect_mean_ns,
        },
        "transfer" => |trial| {
            let load = trial.load.as_ref()?;
            per(load.bytes.received as f64, seconds(load.window_ns))
        },
        "errors" => |trial| Some(trial.load.as_ref()?.counts.errors() as f64),
        "rss_idle" => |trial| bytes(total(trial)?.rss_idle),
        "rss_mean" => |trial| bytes(total(trial)?.rss_mean),
        "rss_peak" => |trial| bytes(total(trial)?.rss_peak),
        "rss_after" => |trial| bytes(total(trial)?.rss_after),
        "rss_high_water" => |trial| bytes(total(trial)?.rss_high_water),
        "pss_idle" => |trial| bytes(total(trial)?.pss_idle),
        "pss_loaded" => |trial| bytes(total(trial)?.pss_loaded),
        "pss_after" => |trial| bytes(total(trial)?.pss_after),
        "cpu" => |trial| total(trial)?.cpu_seconds,
        "requests_per_cpu_second" => |trial| {
            let done = trial.load.as_ref()?.counts.succeeded;
            per(done as f64, total(trial)?.cpu_seconds?)
        },
        "startup" => |trial| Some(trial.startup_ns? as f64),
        _ => return None,
    };
    Some(read)
}

fn total(trial: &Trial) -> Option<&Usage> {
    trial.usage.get("total")
}

fn bytes(value: Option<u64>) -> Option<f64> {
    value.map(|bytes| bytes as f64)
}

fn service(trial: &Trial) -> Option<&Histogram> {
    trial
        .load
        .as_ref()
        .and_then(|load: &Load| load.service.as_ref())
}

/// What an external generator told.
fn told(trial: &Trial) -> Option<&Told> {
    trial.load.as_ref()?.told.as_ref()
}

fn quantile(trial: &Trial, q: f64) -> Option<f64> {
    let ns = match service(trial) {
        Some(service) => service.quantile(q),
        None => told(trial)?.quantile(q),
    };
    ns.map(|ns| ns as f64)
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// A rate, where its divisor is more than nothing.
fn per(amount: f64, divisor: f64) -> Option<f64> {
    (divisor > 0.0).then(|| amount / divisor)
}
