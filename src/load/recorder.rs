//! What one generator thread counts, and how the counts of all threads become one record. Nothing
//! here is shared between threads, and recording allocates nothing but the first example of an error.

use super::paced::Paced;
use super::request::Prepared;
use super::schedule::Due;
use super::share::Share;
use crate::record::{ByteCounts, Connections, Counts, ErrorKind, Histogram, Load};
use hdrhistogram::Histogram as Hdr;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The most ages of unfinished requests that are kept.
const MAX_AGES: usize = 1000;
/// One more than the highest status that three digits can give.
const STATUSES: usize = 1000;

/// A histogram with fixed bounds that counts what it had to clamp.
pub(super) struct Series {
    live: Hdr<u64>,
    clamped: u64,
}

impl Series {
    pub(super) fn new(longest: Duration) -> Self {
        Self {
            live: Histogram::empty(longest),
            clamped: 0,
        }
    }

    pub(super) fn record(&mut self, took: Duration) {
        let nanos = nanos(took).max(1);
        if nanos > self.live.high() {
            self.clamped += 1;
        }
        self.live.saturating_record(nanos);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let added = self.live.add(&other.live);
        debug_assert!(added.is_ok(), "all threads have the same bounds");
        self.clamped += other.clamped;
    }

    pub(super) fn count(&self) -> u64 {
        self.live.len()
    }

    pub(super) fn store(&self) -> Option<Histogram> {
        (!self.live.is_empty()).then(|| Histogram::store(&self.live, self.clamped))
    }
}

struct Errors {
    count: u64,
    first_ns: u64,
    example: String,
}

/// The counts of one thread.
pub(super) struct Recorder {
    measuring: bool,
    start: Instant,
    begun: u64,
    counts: Counts,
    errors: BTreeMap<ErrorKind, Errors>,
    statuses: Vec<u64>,
    pub(super) bytes: ByteCounts,
    /// Bytes of the bodies of successes.
    body: u64,
    pub(super) connections: Connections,
    /// Of each request, where there are several.
    shares: Vec<Share>,
    /// Which of them the next outcome is of.
    pub(super) which: usize,
    service: Series,
    failed: Series,
    connect: Series,
    /// What requests of the measured phase waited for a connection.
    connecting: Duration,
    seconds: Option<usize>,
    per_second: Vec<u64>,
    ages: Vec<u64>,
    warmup_requests: u64,
    pub(super) cpu: Duration,
    /// The fewest streams that a server of HTTP/2 allowed on a connection.
    pub(super) streams_allowed: Option<u64>,
    /// Sum over the connections of the time until each had ended its last request.
    busy: Duration,
    last_end: Duration,
    /// Of an open loop.
    paced: Option<Box<Paced>>,
}

impl Recorder {
    /// A recorder for requests that end within `timeout`. With a known number of seconds, successes
    /// of the drain are in none of them, so that a drain does not look like a slow second.
    pub(super) fn new(
        timeout: Duration,
        seconds: Option<usize>,
        requests: &[Prepared],
        paced: Option<Paced>,
    ) -> Self {
        // A request whose time is over is noticed a little later.
        let longest = timeout * 2 + Duration::from_secs(1);
        Self {
            measuring: false,
            start: Instant::now(),
            begun: 0,
            counts: Counts::default(),
            errors: BTreeMap::new(),
            statuses: vec![0; STATUSES],
            bytes: ByteCounts::default(),
            body: 0,
            connections: Connections::default(),
            shares: Share::of(requests, longest),
            which: 0,
            service: Series::new(longest),
            failed: Series::new(longest),
            connect: Series::new(longest),
            connecting: Duration::ZERO,
            seconds,
            per_second: vec![0; seconds.unwrap_or(0)],
            ages: Vec::new(),
            warmup_requests: 0,
            cpu: Duration::ZERO,
            streams_allowed: None,
            busy: Duration::ZERO,
            last_end: Duration::ZERO,
            paced: paced.map(Box::new),
        }
    }

    /// From here on everything counts.
    pub(super) fn measure(&mut self, start: Instant) {
        self.measuring = true;
        self.start = start;
        self.bytes = ByteCounts::default();
        self.body = 0;
    }

    /// Whether what happens counts.
    pub(super) fn is_measuring(&self) -> bool {
        self.measuring
    }

    pub(super) fn begin(&mut self) {
        self.begun += u64::from(self.measuring);
    }

    /// A connection was opened; `waited` says that a request waits for it whose service time has
    /// not begun. (Of one that is sent again it has.)
    pub(super) fn connected(&mut self, took: Duration, replaces: bool, waited: bool) {
        self.connect.record(took);
        self.connections.opened += 1;
        self.connections.reconnects += u64::from(self.measuring && replaces);
        if self.measuring && waited {
            self.connecting += took;
        }
    }

    /// One more request has waited so long for a connection.
    pub(super) fn waited(&mut self, took: Duration) {
        if self.measuring {
            self.connecting += took;
        }
    }

    pub(super) fn retried(&mut self) {
        self.connections.retried += u64::from(self.measuring);
    }

    pub(super) fn closed_by_server(&mut self) {
        self.connections.closed_by_server += u64::from(self.measuring);
    }

    pub(super) fn status(&mut self, status: u16) {
        if self.measuring && status > 0 {
            self.statuses[usize::from(status).min(STATUSES - 1)] += 1;
        }
    }

    /// The counts of an open loop's measured phase.
    pub(super) fn paced(&mut self) -> Option<&mut Paced> {
        self.paced.as_deref_mut().filter(|_| self.measuring)
    }

    /// A request of an open loop has ended, well or badly.
    pub(super) fn paced_ended(&mut self, due: Due, now: Instant) {
        if let Some(paced) = self.paced() {
            // The schedule began so long before the request was due.
            paced.ended(due.after + now.saturating_duration_since(due.at));
        }
    }

    /// A success whose first byte was written at `written`; in an open loop it was `due` before that.
    pub(super) fn success(&mut self, written: Instant, due: Option<Due>, now: Instant, body: u64) {
        if !self.measuring {
            self.warmup_requests += 1;
            return;
        }
        if let (Some(due), Some(paced)) = (due, &mut self.paced) {
            paced.succeeded(due, now.saturating_duration_since(due.at));
        }
        self.counts.succeeded += 1;
        self.body += body;
        self.service.record(now - written);
        if let Some(share) = self.shares.get_mut(self.which) {
            share.success(nanos(now - written).max(1));
        }
        self.last_end = now - self.start;
        let second = self.last_end.as_secs() as usize;
        if self.seconds.is_some_and(|limit| second >= limit) {
            return;
        }
        if second >= self.per_second.len() {
            self.per_second.resize(second + 1, 0);
        }
        self.per_second[second] += 1;
    }

    /// A failure of any kind, time-outs included; `written` is none where it did not come to that.
    pub(super) fn failure(
        &mut self,
        kind: ErrorKind,
        written: Option<Instant>,
        now: Instant,
        example: impl FnOnce() -> String,
    ) {
        if !self.measuring {
            self.warmup_requests += 1;
            return;
        }
        if let Some(share) = self.shares.get_mut(self.which) {
            share.failure(kind);
        }
        if kind == ErrorKind::Timeout {
            self.counts.timed_out += 1;
        } else {
            self.counts.failed += 1;
        }
        if let Some(written) = written {
            self.failed.record(now - written);
        }
        self.last_end = now - self.start;
        let first_ns = nanos(self.last_end);
        let errors = self.errors.entry(kind).or_insert_with(|| Errors {
            count: 0,
            first_ns,
            example: example(),
        });
        errors.count += 1;
    }

    /// A request that was in flight when the load was stopped.
    pub(super) fn unfinished(&mut self, age: Duration) {
        if !self.measuring {
            return;
        }
        self.counts.unfinished += 1;
        if let Some(share) = self.shares.get_mut(self.which) {
            share.unfinished();
        }
        if self.ages.len() < MAX_AGES {
            self.ages.push(nanos(age));
        }
    }

    /// A connection has ended its last request, or would have gone on until `end`.
    pub(super) fn rest(&mut self, end: Instant) {
        if self.measuring {
            self.busy += end.saturating_duration_since(self.start);
        }
    }

    /// Successes and errors so far.
    pub(super) fn tally(&self) -> (u64, u64) {
        (self.counts.succeeded, self.counts.errors())
    }

    /// Adds another thread's counts.
    pub(super) fn merge(&mut self, other: Self) {
        self.begun += other.begun;
        self.counts.succeeded += other.counts.succeeded;
        self.counts.failed += other.counts.failed;
        self.counts.timed_out += other.counts.timed_out;
        self.counts.unfinished += other.counts.unfinished;
        for (kind, theirs) in other.errors {
            match self.errors.get_mut(&kind) {
                Some(ours) => {
                    let count = ours.count + theirs.count;
                    if theirs.first_ns < ours.first_ns {
                        *ours = theirs;
                    }
                    ours.count = count;
                }
                None => {
                    self.errors.insert(kind, theirs);
                }
            }
        }
        add(&mut self.statuses, &other.statuses);
        add(&mut self.per_second, &other.per_second);
        self.bytes.sent += other.bytes.sent;
        self.bytes.received += other.bytes.received;
        self.body += other.body;
        self.connections.opened += other.connections.opened;
        self.connections.reconnects += other.connections.reconnects;
        self.connections.retried += other.connections.retried;
        self.connections.closed_by_server += other.connections.closed_by_server;
        self.connections.surplus += other.connections.surplus;
        for (share, theirs) in self.shares.iter_mut().zip(other.shares) {
            share.merge(theirs);
        }
        self.service.merge(&other.service);
        self.failed.merge(&other.failed);
        self.connect.merge(&other.connect);
        self.connecting += other.connecting;
        self.ages.extend(other.ages);
        self.ages.truncate(MAX_AGES);
        self.warmup_requests += other.warmup_requests;
        self.cpu += other.cpu;
        let allowed = self
            .streams_allowed
            .into_iter()
            .chain(other.streams_allowed);
        self.streams_allowed = allowed.min();
        self.busy += other.busy;
        self.last_end = self.last_end.max(other.last_end);
        if let (Some(ours), Some(theirs)) = (&mut self.paced, &other.paced) {
            ours.merge(theirs);
        }
    }

    /// The record of a load that had `planned` requests, or none that was known before.
    ///
    /// The window of a load by time is the mean over its connections of the time until each had ended the last
    /// request that it began before the deadline. All these requests count, so by Wald's identity
    /// successes / window is unbiased however long the last ones take, and Little's law holds.
    /// A load by number ends with its last response.
    pub(super) fn finish(mut self, planned: Option<u64>, wanted: u32, threads: usize) -> Load {
        let window = if planned.is_some() {
            self.last_end
        } else {
            self.busy / wanted.max(1)
        };
        self.counts.sent = self.begun;
        self.counts.planned = match &self.paced {
            Some(paced) => self.begun + paced.unsent,
            None => planned.unwrap_or(self.begun),
        };
        self.counts.unsent = self.counts.planned - self.begun;
        self.connections.wanted = u64::from(wanted);
        let statuses = (0u16..).zip(&self.statuses);
        Load {
            generator: "built-in".to_owned(),
            window_ns: nanos(window),
            counts: self.counts,
            first_error_ns: self.errors.values().map(|errors| errors.first_ns).min(),
            errors: self
                .errors
                .iter()
                .map(|(kind, errors)| (*kind, errors.count))
                .collect(),
            statuses: statuses
                .filter(|(_, count)| **count > 0)
                .map(|(status, count)| (status, *count))
                .collect(),
            error_examples: self
                .errors
                .into_iter()
                .map(|(kind, errors)| (kind, errors.example))
                .collect(),
            bytes: ByteCounts {
                body: Some(self.body),
                ..self.bytes
            },
            connections: self.connections,
            search: None,
            open: self.paced.as_ref().map(|paced| Box::new(paced.finish())),
            http2: None,
            service: self.service.store(),
            told: None,
            service_failed: self.failed.store(),
            connect: self.connect.store(),
            connecting_ns: Some(nanos(self.connecting)),
            per_second: self.per_second,
            generator_cpu_ns: Some(nanos(self.cpu)),
            generator_threads: threads,
            unfinished_ages_ns: self.ages,
            warmup_requests: self.warmup_requests,
            rounds: Vec::new(),
            shares: self.shares.into_iter().map(Share::finish).collect(),
        }
    }
}

fn add(to: &mut Vec<u64>, from: &[u64]) {
    if to.len() < from.len() {
        to.resize(from.len(), 0);
    }
    for (sum, count) in to.iter_mut().zip(from) {
        *sum += count;
    }
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
