//! What one thread counts of each request of a mix.

use super::request::Prepared;
use crate::record::{Counts, ErrorKind, Histogram, Share as Record};
use hdrhistogram::Histogram as Hdr;
use std::collections::BTreeMap;
use std::time::Duration;

/// The counts of one request. Its histogram has two digits, since a mix may have many requests: 27 KiB for 60 s.
pub(super) struct Share {
    name: String,
    weight: u32,
    counts: Counts,
    errors: BTreeMap<ErrorKind, u64>,
    service: Hdr<u64>,
}

impl Share {
    /// Those of a load's requests; none where there is one, of which all is counted anyway.
    pub(super) fn of(requests: &[Prepared], longest: Duration) -> Vec<Self> {
        let requests = if requests.len() > 1 { requests } else { &[] };
        requests
            .iter()
            .map(|one| Self {
                name: one.name.clone(),
                weight: one.weight,
                counts: Counts::default(),
                errors: BTreeMap::new(),
                service: Histogram::coarse(longest),
            })
            .collect()
    }

    pub(super) fn success(&mut self, nanos: u64) {
        self.counts.succeeded += 1;
        self.service.saturating_record(nanos);
    }

    pub(super) fn failure(&mut self, kind: ErrorKind) {
        if kind == ErrorKind::Timeout {
            self.counts.timed_out += 1;
        } else {
            self.counts.failed += 1;
        }
        *self.errors.entry(kind).or_default() += 1;
    }

    pub(super) fn unfinished(&mut self) {
        self.counts.unfinished += 1;
    }

    /// Adds another thread's counts of the same request.
    pub(super) fn merge(&mut self, other: Self) {
        self.counts = self.counts + other.counts;
        for (kind, times) in other.errors {
            *self.errors.entry(kind).or_default() += times;
        }
        let added = self.service.add(other.service);
        debug_assert!(added.is_ok(), "all threads have the same bounds");
    }

    /// The record.
    pub(super) fn finish(self) -> Record {
        let counts = self.counts;
        let sent = counts.succeeded + counts.errors() + counts.unfinished;
        Record {
            name: self.name,
            weight: self.weight,
            counts: Counts {
                planned: sent,
                sent,
                ..counts
            },
            errors: self.errors,
            service: (!self.service.is_empty()).then(|| Histogram::store(&self.service, 0)),
        }
    }
}
