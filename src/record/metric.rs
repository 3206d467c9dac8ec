//! How each metric is read from a trial.

use super::{Histogram, Outcome, Timing, Told, Trial, Usage};
use crate::metric::{Metric as Facts, REGISTRY, Unit};
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

impl PartialEq for Metric {
    /// A name is one metric.
    fn eq(&self, other: &Self) -> bool {
        self.facts == other.facts
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
    EVERY_METRIC.iter().find(|metric| metric.name == name)
}

/// The unit of a metric of the registry, also of one that trials have no figure of.
pub fn unit(name: &str) -> Option<Unit> {
    crate::metric::find(name).map(|metric| metric.unit)
}

/// Every metric that trials have figures of, in the order of columns: each once. What a load has beside its latency, such as the
/// service time of an open loop, is not among them.
pub static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let columns = EVERY_METRIC
        .iter()
        .filter(|metric| !metric.name.starts_with(SERVICE) && !metric.name.starts_with(RESPONSE));
    columns.copied().collect()
});

/// The same, and the names of service and response time. In a closed loop the first are other names of what `latency_…` is, in an
/// open one the second.
pub static EVERY_METRIC: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    REGISTRY
        .iter()
        .filter_map(|facts| {
            let read = reader(facts.name)?;
            Some(Metric { facts, read })
        })
        .collect()
});

/// How the names of service time begin.
const SERVICE: &str = "service_";
/// How those of response time do.
const RESPONSE: &str = "response_";

/// Where the figure of a metric stands in a trial.
fn reader(name: &str) -> Option<Read> {
    let read: Read = match name {
        "requests_per_second" => |trial| trial.load.as_ref()?.requests_per_second(),
        "latency_mean" => |trial| times(trial)?.mean(),
        "latency_p50" => |trial| times(trial)?.quantile(0.5),
        "latency_p90" => |trial| times(trial)?.quantile(0.9),
        "latency_p95" => |trial| times(trial)?.quantile(0.95),
        "latency_p99" => |trial| times(trial)?.quantile(0.99),
        "latency_p99_9" => |trial| times(trial)?.quantile(0.999),
        "latency_max" => |trial| times(trial)?.max(),
        "service_mean" => |trial| service_times(trial)?.mean(),
        "service_p50" => |trial| service_times(trial)?.quantile(0.5),
        "service_p90" => |trial| service_times(trial)?.quantile(0.9),
        "service_p95" => |trial| service_times(trial)?.quantile(0.95),
        "service_p99" => |trial| service_times(trial)?.quantile(0.99),
        "service_p99_9" => |trial| service_times(trial)?.quantile(0.999),
        "service_max" => |trial| service_times(trial)?.max(),
        "response_mean" => |trial| response_times(trial)?.mean(),
        "response_p50" => |trial| response_times(trial)?.quantile(0.5),
        "response_p90" => |trial| response_times(trial)?.quantile(0.9),
        "response_p95" => |trial| response_times(trial)?.quantile(0.95),
        "response_p99" => |trial| response_times(trial)?.quantile(0.99),
        "response_p99_9" => |trial| response_times(trial)?.quantile(0.999),
        "response_max" => |trial| response_times(trial)?.max(),
        "capacity" => |trial| trial.load.as_ref()?.capacity(),
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

/// The times of a load's requests: seen one by one, or what an external generator told of them.
#[derive(Clone, Copy)]
enum Times<'t> {
    Seen(&'t Histogram),
    Told(&'t Told),
}

impl Times<'_> {
    fn mean(self) -> Option<f64> {
        match self {
            Self::Seen(seen) => seen.mean_ns,
            Self::Told(told) => told.mean_ns,
        }
    }

    fn max(self) -> Option<f64> {
        let max = match self {
            Self::Seen(seen) => seen.max_ns,
            Self::Told(told) => told.max_ns,
        };
        max.map(|ns| ns as f64)
    }

    fn quantile(self, share: f64) -> Option<f64> {
        let ns = match self {
            Self::Seen(seen) => seen.quantile(share),
            Self::Told(told) => told.quantile(share),
        };
        ns.map(|ns| ns as f64)
    }
}

/// What latency is: response time in an open loop, and else what the generator timed.
fn times(trial: &Trial) -> Option<Times<'_>> {
    match trial.load.as_ref()?.open {
        Some(_) => response_times(trial),
        None => timed(trial),
    }
}

fn response_times(trial: &Trial) -> Option<Times<'_>> {
    let open = trial.load.as_ref()?.open.as_ref()?;
    open.response.as_ref().map(Times::Seen)
}

fn timed(trial: &Trial) -> Option<Times<'_>> {
    let load = trial.load.as_ref()?;
    match &load.service {
        Some(seen) => Some(Times::Seen(seen)),
        None => load.told.as_deref().map(Times::Told),
    }
}

/// What the generator timed, where it is service time, whole or in milliseconds.
fn service_times(trial: &Trial) -> Option<Times<'_>> {
    timed(trial).filter(|times| match times {
        Times::Seen(_) => true,
        Times::Told(told) => matches!(told.timing, Timing::Service | Timing::WholeMilliseconds),
    })
}

/// What an external generator told.
fn told(trial: &Trial) -> Option<&Told> {
    trial.load.as_ref()?.told.as_deref()
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// A rate, where its divisor is more than nothing.
fn per(amount: f64, divisor: f64) -> Option<f64> {
    (divisor > 0.0).then(|| amount / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CellId, TrialId};
    use crate::record::{Load, Quantile};

    fn told_by(timing: Timing) -> Trial {
        let id = TrialId {
            cell: CellId("s@l#0".to_owned()),
            repetition: 1,
        };
        let told = Told {
            timing,
            count: 5000,
            mean_ns: Some(3.0),
            mean_derived: false,
            min_ns: None,
            max_ns: Some(9),
            quantiles: vec![Quantile { share: 0.99, ns: 7 }],
            connect_mean_ns: None,
        };
        let mut trial = Trial::new(id, 1, 0);
        trial.load = Some(Load {
            told: Some(Box::new(told)),
            ..Load::default()
        });
        trial
    }

    #[test]
    fn service_time_is_latency_where_that_is_what_was_timed() {
        let of = |name: &str, trial: &Trial| metric(name).unwrap().of(trial);
        let plain = told_by(Timing::Service);
        for part in ["mean", "p50", "p99", "max"] {
            let latency = of(&format!("latency_{part}"), &plain);
            assert_eq!(of(&format!("service_{part}"), &plain), latency, "{part}");
        }
        assert_eq!(of("service_p99", &plain), Some(7.0));
        let corrected = told_by(Timing::Corrected);
        assert_eq!(of("latency_p99", &corrected), Some(7.0));
        assert_eq!(of("service_p99", &corrected), None);
    }

    #[test]
    fn a_figure_has_one_column_and_nobody_reads_response_times_of_closed_loops() {
        assert!(METRICS.iter().all(|one| !one.name.starts_with("service_")));
        let closed = told_by(Timing::Service);
        assert_eq!(metric("response_p99").unwrap().of(&closed), None);
    }
}
