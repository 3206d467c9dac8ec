//! What `hotlap load` prints of a load: a few lines for people, or one JSON object.

use crate::record::{ErrorKind, Load};
use crate::units::{show_bytes, show_number, show_seconds};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The figures of one load; every key is documented in the command's help.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    requests_per_second: f64,
    window_ns: u64,
    sent: u64,
    succeeded: u64,
    failed: u64,
    timed_out: u64,
    unfinished: u64,
    errors: BTreeMap<ErrorKind, u64>,
    latency_ns: Latency,
    bytes_received: u64,
    connections: u64,
    threads: usize,
    generator_cpu_ns: Option<u64>,
}

/// Service time of successes; none where too few requests tell.
#[derive(Debug, Serialize)]
struct Latency {
    mean: Option<f64>,
    p50: Option<u64>,
    p90: Option<u64>,
    p99: Option<u64>,
    p99_9: Option<u64>,
    max: Option<u64>,
}

impl Summary {
    /// The figures of a load.
    pub(super) fn of(load: &Load) -> Self {
        let service = load.service.as_ref();
        let at = |q: f64| service.and_then(|series| series.quantile(q));
        let seconds = load.window_ns as f64 / 1e9;
        let counts = load.counts;
        Self {
            requests_per_second: if seconds > 0.0 {
                counts.succeeded as f64 / seconds
            } else {
                0.0
            },
            window_ns: load.window_ns,
            sent: counts.sent,
            succeeded: counts.succeeded,
            failed: counts.failed,
            timed_out: counts.timed_out,
            unfinished: counts.unfinished,
            errors: load.errors.clone(),
            latency_ns: Latency {
                mean: service.and_then(|series| series.mean_ns),
                p50: at(0.5),
                p90: at(0.9),
                p99: at(0.99),
                p99_9: at(0.999),
                max: service.and_then(|series| series.max_ns),
            },
            bytes_received: load.bytes.received,
            connections: load.connections.wanted,
            threads: load.generator_threads,
            generator_cpu_ns: load.generator_cpu_ns,
        }
    }

    /// One JSON object on one line.
    pub(super) fn json(&self) -> String {
        // Numbers and text only: there is nothing that could not be written.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }

    /// A few lines for people.
    pub(super) fn text(&self, load: &Load) -> String {
        let mut out = String::new();
        let seconds = self.window_ns as f64 / 1e9;
        // Writing to a String can't fail.
        let _ = writeln!(
            out,
            "{} requests/s, {} requests in {}, {} received",
            show_number(self.requests_per_second, 4),
            self.succeeded,
            show_seconds(seconds),
            show_bytes(self.bytes_received as f64),
        );
        let _ = writeln!(
            out,
            "{} connections{}, {} threads{}",
            self.connections,
            load.http2.map_or_else(String::new, |http2| {
                let fewer = http2.fewer().map_or_else(String::new, |allowed| {
                    format!(" (the server allows {allowed})")
                });
                format!(" of HTTP/2 with {} streams each{fewer}", http2.streams)
            }),
            self.threads,
            self.generator_cpu_ns
                .map_or_else(String::new, |cpu| format!(
                    ", {} of CPU",
                    show_seconds(cpu as f64 / 1e9)
                )),
        );
        let latency = &self.latency_ns;
        for (name, nanos) in [
            ("mean", latency.mean.map(|mean| mean as u64)),
            ("p50", latency.p50),
            ("p90", latency.p90),
            ("p99", latency.p99),
            ("p99.9", latency.p99_9),
            ("max", latency.max),
        ] {
            if let Some(nanos) = nanos {
                let _ = writeln!(out, "  {name:<6} {}", show_seconds(nanos as f64 / 1e9));
            }
        }
        for (kind, count) in &self.errors {
            let example = load.error_examples.get(kind).map_or("", String::as_str);
            let _ = writeln!(out, "  {count} × {}: {example}", kind.words());
        }
        if self.unfinished > 0 {
            let _ = writeln!(out, "  {} were not finished", self.unfinished);
        }
        out
    }
}
