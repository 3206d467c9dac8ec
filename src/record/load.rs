//! What the generator saw: counts and the laws that hold for them, errors by
//! kind, bytes, connections, histograms.

use super::round::Round;
use super::{Histogram, OpenLoop, Search, Share, Told};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Add;

/// What the generator saw of one trial's measured phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// `built-in`, or the external generator's name and version.
    pub generator: String,
    /// How long the load lasted, which rates divide by. Of a load by duration it is the mean over its
    /// connections of the time until each had ended the last request that it began before the deadline; of
    /// a load by number, the time from its beginning to its last response.
    pub window_ns: u64,
    /// Conservation: planned = sent + unsent; sent = succeeded + failed + timed out + unfinished.
    pub counts: Counts,
    /// Failures by kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// The first failure of each kind, in words.
    pub error_examples: BTreeMap<ErrorKind, String>,
    /// Responses by status, whatever became of them.
    pub statuses: BTreeMap<u16, u64>,
    /// When the first failure came, from the start of the window.
    pub first_error_ns: Option<u64>,
    /// Bytes of the measured phase.
    pub bytes: ByteCounts,
    /// Connections.
    pub connections: Connections,
    /// The schedule of an open loop; none is a closed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Box<OpenLoop>>,
    /// How its rate was found; none where the suite gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Box<Search>>,
    /// What was agreed on with the server, where HTTP/2 was spoken on all connections; none is HTTP/1.1, or not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2: Option<Http2>,
    /// Service time of successes: first byte written to last byte read.
    pub service: Option<Histogram>,
    /// What an external generator told instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Box<Told>>,
    /// Service time of responses that failed a check, or of failures until they were seen.
    pub service_failed: Option<Histogram>,
    /// Time to connect, of every connection of the trial.
    pub connect: Option<Histogram>,
    /// Time that requests of the measured phase waited for a new connection, added up; none where
    /// the generator does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connecting_ns: Option<u64>,
    /// Successes in each second of the window; the last may be a part of one.
    pub per_second: Vec<u64>,
    /// CPU time of the generator's threads in the window; of another program that of its whole life.
    pub generator_cpu_ns: Option<u64>,
    /// Threads that made the load.
    pub generator_threads: usize,
    /// Age of each request that was unfinished at the end.
    pub unfinished_ages_ns: Vec<u64>,
    /// Requests that the warm-up completed, well or badly.
    pub warmup_requests: u64,
    /// Each measured phase, where there was more than one; all other figures are of all together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// Each request of a mix; all other figures are of all together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
}

/// Connections of HTTP/2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http2 {
    /// Requests that were in flight on each connection, as far as the server let them.
    pub streams: u32,
    /// The fewest streams that the server allowed on a connection; none is no limit, or that no connection was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams_allowed: Option<u32>,
}

impl Http2 {
    /// Two rounds of one load.
    pub(super) fn join(self, next: Self) -> Self {
        let allowed = self.streams_allowed.into_iter().chain(next.streams_allowed);
        Self {
            streams: self.streams,
            streams_allowed: allowed.min(),
        }
    }

    /// How many streams a server allowed, where that is fewer than were to be in flight.
    pub fn fewer(&self) -> Option<u32> {
        self.streams_allowed
            .filter(|allowed| *allowed < self.streams)
    }
}

/// How many requests went which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests that were to be sent; in a closed loop by time, those that were begun.
    pub planned: u64,
    /// Requests of which at least one byte was handed to the kernel, or whose connection failed.
    pub sent: u64,
    /// Planned, but never begun.
    pub unsent: u64,
    /// Complete responses that passed every check.
    pub succeeded: u64,
    /// Failures of every kind but time-outs.
    pub failed: u64,
    /// No complete response within the time-out.
    pub timed_out: u64,
    /// In flight when the trial ended.
    pub unfinished: u64,
}

impl Add for Counts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            planned: self.planned + other.planned,
            sent: self.sent + other.sent,
            unsent: self.unsent + other.unsent,
            succeeded: self.succeeded + other.succeeded,
            failed: self.failed + other.failed,
            timed_out: self.timed_out + other.timed_out,
            unfinished: self.unfinished + other.unfinished,
        }
    }
}

impl Counts {
    /// The laws that hold for every trial; the first that does not is named.
    pub fn check(&self) -> Result<(), String> {
        if self.planned != self.sent + self.unsent {
            return Err(format!(
                "conservation: {} planned is not {} sent and {} unsent",
                self.planned, self.sent, self.unsent
            ));
        }
        let ends = self.succeeded + self.failed + self.timed_out + self.unfinished;
        if self.sent != ends {
            return Err(format!(
                "conservation: {} sent is not {} succeeded, {} failed, {} timed out and {} unfinished",
                self.sent, self.succeeded, self.failed, self.timed_out, self.unfinished
            ));
        }
        Ok(())
    }

    /// Failures and time-outs.
    pub fn errors(&self) -> u64 {
        self.failed + self.timed_out
    }

    /// The share of finished requests that did not succeed.
    pub fn error_share(&self) -> Option<f64> {
        let finished = self.succeeded + self.errors();
        (finished > 0).then(|| self.errors() as f64 / finished as f64)
    }
}

/// Bytes of complete responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteCounts {
    /// Everything written.
    pub sent: u64,
    /// Everything read, heads and framing included.
    pub received: u64,
    /// Bodies as they came, without framing, of successes; none where the generator does not tell.
    pub body: Option<u64>,
    /// The size of the body of the first verified response as it came (still compressed).
    pub body_wire: Option<u64>,
    /// The same after its content-encoding was taken off.
    pub body_decoded: Option<u64>,
}

impl Add for ByteCounts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            body: self.body.zip(other.body).map(|(a, b)| a + b),
            body_wire: self.body_wire.or(other.body_wire),
            body_decoded: self.body_decoded.or(other.body_decoded),
        }
    }
}

/// Connections of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Connections that the load asked for.
    pub wanted: u64,
    /// Opened before or in the measured phase.
    pub opened: u64,
    /// Opened in the measured phase to replace one that the server closed.
    pub reconnects: u64,
    /// Requests sent again because an idle connection was reset before the first byte.
    pub retried: u64,
    /// Responses after which the server announced that it closes.
    pub closed_by_server: u64,
    /// Connections on which bytes that nothing asked for came after the last response.
    #[serde(default, skip_serializing_if = "is_none")]
    pub surplus: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands the field by reference"
)]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Add for Connections {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            wanted: self.wanted.max(other.wanted),
            opened: self.opened + other.opened,
            reconnects: self.reconnects + other.reconnects,
            retried: self.retried + other.retried,
            closed_by_server: self.closed_by_server + other.closed_by_server,
            surplus: self.surplus + other.surplus,
        }
    }
}

/// Why a request failed, by phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Nobody listens.
    ConnectRefused,
    /// No way to the address.
    ConnectUnreachable,
    /// The connection was not there in time.
    ConnectTimeout,
    /// This machine has no local port left: the generator's limit, not the server's.
    NoLocalPort,
    /// This process has no descriptor left: the generator's limit, not the server's.
    NoDescriptor,
    /// Another failure to connect.
    Connect,
    /// The handshake of TLS failed, or TLS broke after it.
    Tls,
    /// The connection broke while the request was written.
    Write,
    /// The server reset the connection.
    Reset,
    /// The server closed before the first byte of a response.
    ClosedEarly,
    /// The body ended before its announced size.
    ShortBody,
    /// The head of the response is not HTTP/1.1.
    BadHead,
    /// A chunk is malformed.
    BadChunk,
    /// Bytes that nothing asked for.
    UnaskedBytes,
    /// The server reset the stream of HTTP/2.
    StreamReset,
    /// The server ended the connection of HTTP/2 before it processed the request.
    GoAway,
    /// What came is not HTTP/2.
    BadFrame,
    /// No complete response within the time-out.
    Timeout,
    /// Another status than expected.
    Status,
    /// Another body or size than expected.
    Body,
    /// A header that should be there is not, or the other way round.
    Header,
}

impl ErrorKind {
    /// Every kind, in the order of their columns.
    pub const ALL: [Self; 21] = [
        Self::ConnectRefused,
        Self::ConnectUnreachable,
        Self::ConnectTimeout,
        Self::NoLocalPort,
        Self::NoDescriptor,
        Self::Connect,
        Self::Tls,
        Self::Write,
        Self::Reset,
        Self::ClosedEarly,
        Self::ShortBody,
        Self::BadHead,
        Self::BadChunk,
        Self::UnaskedBytes,
        Self::StreamReset,
        Self::GoAway,
        Self::BadFrame,
        Self::Timeout,
        Self::Status,
        Self::Body,
        Self::Header,
    ];

    /// The kind as it is written in records and columns: `short_body`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connect_refused",
            Self::ConnectUnreachable => "connect_unreachable",
            Self::ConnectTimeout => "connect_timeout",
            Self::NoLocalPort => "no_local_port",
            Self::NoDescriptor => "no_descriptor",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Write => "write",
            Self::Reset => "reset",
            Self::ClosedEarly => "closed_early",
            Self::ShortBody => "short_body",
            Self::BadHead => "bad_head",
            Self::BadChunk => "bad_chunk",
            Self::UnaskedBytes => "unasked_bytes",
            Self::StreamReset => "stream_reset",
            Self::GoAway => "go_away",
            Self::BadFrame => "bad_frame",
            Self::Timeout => "timeout",
            Self::Status => "status",
            Self::Body => "body",
            Self::Header => "header",
        }
    }

    /// The kind in words, for tables: `short body`.
    pub fn words(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connection refused",
            Self::ConnectUnreachable => "address unreachable",
            Self::ConnectTimeout => "connect timed out",
            Self::NoLocalPort => "no local port left (this machine's limit)",
            Self::NoDescriptor => "no descriptor left (this machine's limit)",
            Self::Connect => "could not connect",
            Self::Tls => "TLS failed",
            Self::Write => "write failed",
            Self::Reset => "connection reset",
            Self::ClosedEarly => "closed before a response",
            Self::ShortBody => "short body",
            Self::BadHead => "malformed head",
            Self::BadChunk => "malformed chunk",
            Self::UnaskedBytes => "bytes that nothing asked for",
            Self::StreamReset => "stream reset",
            Self::GoAway => "connection ended by the server",
            Self::BadFrame => "malformed HTTP/2",
            Self::Timeout => "timed out",
            Self::Status => "unexpected status",
            Self::Body => "unexpected body",
            Self::Header => "unexpected headers",
        }
    }

    /// Whether there was no connection at all, after which the generator pauses.
    pub fn is_of_connecting(self) -> bool {
        matches!(
            self,
            Self::ConnectRefused
                | Self::ConnectUnreachable
                | Self::ConnectTimeout
                | Self::NoLocalPort
                | Self::NoDescriptor
                | Self::Connect
                | Self::Tls
        )
    }

    /// Whether the failure is the generator's or its machine's, never the server's.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::NoLocalPort | Self::NoDescriptor)
    }
}
