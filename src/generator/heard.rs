//! What a generator told, in hotlap's units, and the record that is made of it.

use crate::record::{ByteCounts, Connections, Counts, ErrorKind, Load, Told};
use crate::spec::Amount;
use std::collections::BTreeMap;

/// What a generator told of one measured phase.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Heard {
    pub(super) window_ns: u64,
    /// Requests that it sent; where it does not tell, those of which the end is known.
    pub(super) sent: Option<u64>,
    pub(super) succeeded: u64,
    /// Failures by kind, time-outs among them.
    pub(super) errors: BTreeMap<ErrorKind, u64>,
    /// What the generator says of each kind.
    pub(super) examples: BTreeMap<ErrorKind, String>,
    /// Answers by status, where the generator tells single ones.
    pub(super) statuses: BTreeMap<u16, u64>,
    /// Everything that was read.
    pub(super) received: u64,
    /// Everything that was written.
    pub(super) written: u64,
    /// The bodies alone.
    pub(super) body: Option<u64>,
    pub(super) told: Option<Told>,
    /// Requests that had a new connection although it was to be kept.
    pub(super) reconnects: u64,
}

impl Heard {
    /// Counts failures of a kind, if there are any, with what the generator calls them.
    pub(super) fn fail(&mut self, kind: ErrorKind, times: u64, called: impl Into<String>) {
        if times > 0 {
            *self.errors.entry(kind).or_default() += times;
            self.examples.entry(kind).or_insert_with(|| called.into());
        }
    }

    /// The record of it. What became of a request that the generator says nothing of is unfinished.
    pub(super) fn into_load(
        self,
        generator: &str,
        threads: usize,
        connections: u32,
        amount: Amount,
    ) -> Load {
        let timed_out = self.errors.get(&ErrorKind::Timeout).copied().unwrap_or(0);
        let failed = self.errors.values().sum::<u64>() - timed_out;
        let ended = self.succeeded + failed + timed_out;
        let sent = self.sent.unwrap_or(ended).max(ended);
        let planned = match amount {
            Amount::Requests(requests) => requests.max(sent),
            Amount::Duration(_) => sent,
        };
        Load {
            generator: generator.to_owned(),
            window_ns: self.window_ns,
            counts: Counts {
                planned,
                sent,
                unsent: planned - sent,
                succeeded: self.succeeded,
                failed,
                timed_out,
                unfinished: sent - ended,
            },
            errors: self.errors,
            error_examples: self.examples,
            statuses: self.statuses,
            bytes: ByteCounts {
                sent: self.written,
                received: self.received,
                body: self.body,
                ..ByteCounts::default()
            },
            connections: Connections {
                wanted: u64::from(connections),
                opened: u64::from(connections) + self.reconnects,
                reconnects: self.reconnects,
                ..Connections::default()
            },
            told: self.told.map(Box::new),
            generator_threads: threads,
            ..Load::default()
        }
    }
}

/// Seconds as nanoseconds.
pub(super) fn nanoseconds(seconds: f64) -> u64 {
    // What is negative or no number becomes 0, and no window is none.
    (seconds * 1e9).round() as u64
}
