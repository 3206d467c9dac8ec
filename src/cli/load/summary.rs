//! The figures of one load, as `--json` prints them and as they are shown to people.

use super::buckets::{Bucket, buckets};
use crate::record::{ErrorKind, Histogram, Http2, Load};
use crate::spec::LoadSpec;
use crate::stats::{Limit, Shortfall, limit, unsustained, validity};
use crate::units::show_number;
use serde::Serialize;
use std::collections::BTreeMap;

/// The figures of one load; every key is documented in the command's help.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) url: String,
    #[serde(flatten)]
    pub(super) route: Route,
    pub(super) interrupted: bool,
    pub(super) requests_per_second: f64,
    pub(super) window_ns: u64,
    pub(super) sent: u64,
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    pub(super) timed_out: u64,
    pub(super) unfinished: u64,
    pub(super) errors: BTreeMap<ErrorKind, u64>,
    pub(super) error_examples: BTreeMap<ErrorKind, String>,
    pub(super) statuses: BTreeMap<u16, u64>,
    pub(super) latency_ns: Latency,
    pub(super) open_loop: Option<OpenFigures>,
    pub(super) histogram: Vec<Bucket>,
    pub(super) per_second: Vec<u64>,
    pub(super) bytes_received: u64,
    pub(super) bytes_sent: u64,
    pub(super) bytes_per_second: f64,
    pub(super) connections: u64,
    pub(super) threads: usize,
    pub(super) http2: Option<Http2>,
    pub(super) generator_cpu_ns: Option<u64>,
    pub(super) connect_ns: Connecting,
    pub(super) reconnects: u64,
    pub(super) retried: u64,
    pub(super) limited: Option<Limited>,
    pub(super) invalid: Vec<String>,
}

/// What a schedule offered, and what became of it.
#[derive(Debug, Serialize)]
pub(super) struct OpenFigures {
    pub(super) offered_per_second: f64,
    pub(super) unsent: u64,
    pub(super) queued: u64,
    pub(super) late: u64,
    pub(super) lag_p50_ns: Option<u64>,
    pub(super) lag_p99_ns: Option<u64>,
    pub(super) service_p50_ns: Option<u64>,
    pub(super) service_p99_ns: Option<u64>,
    pub(super) sustained: bool,
    #[serde(skip)]
    pub(super) by: Option<Shortfall>,
}

/// Service time of successes, or response time in an open loop; none where too few requests tell.
#[derive(Debug, Default, Serialize)]
pub(super) struct Latency {
    pub(super) mean: Option<f64>,
    pub(super) stdev: Option<f64>,
    pub(super) min: Option<u64>,
    pub(super) p50: Option<u64>,
    pub(super) p75: Option<u64>,
    pub(super) p90: Option<u64>,
    pub(super) p99: Option<u64>,
    pub(super) p99_9: Option<u64>,
    pub(super) max: Option<u64>,
}

/// Time to connect, of every connection that was opened.
#[derive(Debug, Serialize)]
pub(super) struct Connecting {
    pub(super) count: u64,
    pub(super) mean: Option<f64>,
    pub(super) p50: Option<u64>,
    pub(super) max: Option<u64>,
}

/// What a URL does not tell of the way to its server.
#[derive(Debug, Default, Serialize)]
pub(super) struct Route {
    /// The Unix-domain socket that was connected to.
    pub(super) unix_socket: Option<String>,
    /// Over TLS, whether certificates were checked.
    pub(super) certificate_checked: Option<bool>,
}

/// That the generator was the limit.
#[derive(Debug, Serialize)]
pub(super) struct Limited {
    /// `cpu`, `idle` or `late`.
    pub(super) by: &'static str,
    /// In a sentence.
    pub(super) why: String,
}

impl Summary {
    /// The figures of a load; `interrupted` says that it was ended before its time.
    pub(super) fn of(url: &str, spec: &LoadSpec, load: &Load, interrupted: bool) -> Self {
        // Latency is response time where there is one.
        let service = match &load.open {
            Some(open) => open.response.as_ref(),
            None => load.service.as_ref(),
        };
        let live = service.and_then(|series| series.load().ok());
        let counts = load.counts;
        // What was cut short obeys its laws only so far as it came.
        let invalid = if interrupted {
            Vec::new()
        } else {
            validity(load, spec, 1.0)
        };
        Self {
            url: url.to_owned(),
            route: Route::default(),
            interrupted,
            requests_per_second: per_second(counts.succeeded, load),
            window_ns: load.window_ns,
            sent: counts.sent,
            succeeded: counts.succeeded,
            failed: counts.failed,
            timed_out: counts.timed_out,
            unfinished: counts.unfinished,
            errors: load.errors.clone(),
            error_examples: load.error_examples.clone(),
            statuses: load.statuses.clone(),
            latency_ns: Latency {
                stdev: live.as_ref().map(hdrhistogram::Histogram::stdev),
                ..service.map(latency).unwrap_or_default()
            },
            open_loop: open_figures(load, interrupted),
            histogram: live.as_ref().map(buckets).unwrap_or_default(),
            per_second: seconds(load, interrupted),
            bytes_received: load.bytes.received,
            bytes_sent: load.bytes.sent,
            bytes_per_second: per_second(load.bytes.received, load),
            connections: load.connections.wanted,
            threads: load.generator_threads,
            http2: load.http2,
            generator_cpu_ns: load.generator_cpu_ns,
            connect_ns: Connecting {
                count: load.connections.opened,
                mean: load.connect.as_ref().and_then(|series| series.mean_ns),
                p50: load
                    .connect
                    .as_ref()
                    .and_then(|series| series.quantile(0.5)),
                max: load.connect.as_ref().and_then(|series| series.max_ns),
            },
            reconnects: load.connections.reconnects,
            retried: load.connections.retried,
            limited: limit(load, spec).map(|by| limited(by, load)),
            invalid,
        }
    }

    /// Failures and time-outs.
    pub(super) fn errors(&self) -> u64 {
        self.failed + self.timed_out
    }

    /// Whether every request succeeded and the figures do not contradict each other.
    pub(super) fn is_good(&self) -> bool {
        self.errors() == 0 && self.invalid.is_empty()
    }

    /// One JSON object on one line.
    pub(super) fn json(&self) -> String {
        // Numbers and text only: there is nothing that could not be written.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }

    /// The CPU time of the generator as a share of the time of its threads.
    pub(super) fn generator_share(&self) -> Option<f64> {
        let whole = self.threads as f64 * self.window_ns as f64;
        (whole > 0.0).then_some(self.generator_cpu_ns? as f64 / whole)
    }

    /// The whole seconds of the load.
    pub(super) fn whole_seconds(&self) -> &[u64] {
        let whole = (self.window_ns / 1_000_000_000) as usize;
        &self.per_second[..whole.min(self.per_second.len())]
    }
}

fn per_second(count: u64, load: &Load) -> f64 {
    if load.window_ns == 0 {
        return 0.0;
    }
    count as f64 * 1e9 / load.window_ns as f64
}

fn latency(series: &Histogram) -> Latency {
    Latency {
        mean: series.mean_ns,
        stdev: None,
        min: series.min_ns,
        p50: series.quantile(0.5),
        p75: series.quantile(0.75),
        p90: series.quantile(0.9),
        p99: series.quantile(0.99),
        p99_9: series.quantile(0.999),
        max: series.max_ns,
    }
}

/// Successes in each second; of a load that was cut short only the seconds that there were.
fn seconds(load: &Load, interrupted: bool) -> Vec<u64> {
    let mut all = load.per_second.clone();
    if interrupted {
        all.truncate(load.window_ns.div_ceil(1_000_000_000) as usize);
    }
    all
}

fn open_figures(load: &Load, interrupted: bool) -> Option<OpenFigures> {
    let open = load.open.as_ref()?;
    let of = |series: &Option<Histogram>, share| series.as_ref()?.quantile(share);
    // Of what was cut short nobody knows.
    let by = unsustained(load).filter(|_| !interrupted).map(|one| one.by);
    Some(OpenFigures {
        offered_per_second: load.offered_per_second()?,
        unsent: load.counts.unsent,
        queued: open.queued,
        late: open.late,
        lag_p50_ns: of(&open.lag, 0.5),
        lag_p99_ns: of(&open.lag, 0.99),
        service_p50_ns: of(&load.service, 0.5),
        service_p99_ns: of(&load.service, 0.99),
        sustained: by.is_none(),
        by,
    })
}

fn limited(by: Limit, load: &Load) -> Limited {
    let cpu = load.generator_cpu_ns.unwrap_or(0) as f64;
    let whole = load.generator_threads as f64 * load.window_ns as f64;
    let (by, how) = match by {
        Limit::Cpu => (
            "cpu",
            format!(
                "it used {} % of the CPU time that {} can have",
                show_number(100.0 * cpu / whole, 2),
                match load.generator_threads {
                    1 => "its thread".to_owned(),
                    threads => format!("its {threads} threads"),
                }
            ),
        ),
        Limit::Idle => (
            "idle",
            "its connections were idle for more than a tenth of the time".to_owned(),
        ),
        Limit::Late | Limit::Search => (
            "late",
            "more than one in a hundred of its requests was sent more than a millisecond late"
                .to_owned(),
        ),
    };
    Limited {
        by,
        why: format!(
            "the generator was the limit ({how}), so the server can do more: give it more CPUs or more threads (-t)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Counts;
    use crate::spec::Amount;
    use std::time::Duration;

    fn load() -> (LoadSpec, Load) {
        let spec = LoadSpec {
            connections: 2,
            amount: Amount::Duration(Duration::from_secs(4)),
            ..LoadSpec::default()
        };
        let load = Load {
            generator: "built-in".to_owned(),
            window_ns: 4_000_000_000,
            counts: Counts {
                planned: 50,
                sent: 50,
                succeeded: 50,
                ..Counts::default()
            },
            per_second: vec![10, 10, 10, 10, 10],
            generator_threads: 1,
            generator_cpu_ns: Some(1_000_000_000),
            ..Load::default()
        };
        (spec, load)
    }

    #[test]
    fn a_generator_that_was_the_limit_says_by_what() {
        let (spec, mut load) = load();
        let summary = Summary::of("u", &spec, &load, false);
        assert!(
            summary.limited.is_none() && summary.is_good(),
            "{summary:?}"
        );
        assert!((summary.requests_per_second - 12.5).abs() < 1e-9);
        assert_eq!(summary.generator_share(), Some(0.25));
        assert_eq!(summary.whole_seconds(), [10; 4]);
        load.generator_cpu_ns = Some(3_800_000_000);
        let limited = Summary::of("u", &spec, &load, false).limited.unwrap();
        assert_eq!(limited.by, "cpu");
        assert!(limited.why.contains("95 %"), "{}", limited.why);
    }

    #[test]
    fn what_contradicts_itself_is_not_good_unless_it_was_interrupted() {
        let (spec, mut load) = load();
        load.window_ns = 1_000_000_000;
        assert!(!Summary::of("u", &spec, &load, false).is_good());
        assert!(Summary::of("u", &spec, &load, true).is_good());
    }
}
