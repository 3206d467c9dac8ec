//! The load: requests, how fast they are sent, and what must come back.

use super::Text;
use super::gate::Bound;
use super::process::{is_one, one};
use crate::units::nanos;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is sent, how much of it, and what must come back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSpec {
    /// The request.
    pub request: Request,
    /// What a response must be like to count.
    pub expect: Expect,
    /// Connections of the closed loop; each has one request in flight.
    pub connections: u32,
    /// How much is sent.
    pub amount: Amount,
    /// Load before the measured phase, on the same connections. Where it is to be found, the least that it can be until the
    /// pilots have run, and then what they found.
    #[serde(rename = "warmup_ns", with = "nanos")]
    pub warmup: Duration,
    /// Whether the suite writes no warm-up, so that pilots find it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub find_warmup: bool,
    /// After this a request has failed, and the longest that the drain waits.
    #[serde(rename = "timeout_ns", with = "nanos")]
    pub timeout: Duration,
    /// Whether a connection carries more than one request.
    pub keep_alive: bool,
    /// The program that makes the load; none is the built-in generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// The requests that are sent instead of `request`, by their weights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<MixRequest>,
    /// What makes it an open loop; `connections` is then the most of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// How the sends of an open loop are spread.
    #[serde(default, skip_serializing_if = "Arrivals::is_uniform")]
    pub arrivals: Arrivals,
    /// The version of HTTP.
    #[serde(default, skip_serializing_if = "Http::is_one")]
    pub http: Http,
    /// Requests in flight on each connection of HTTP/2.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub streams: u32,
    /// Requests that a connection of HTTP/1.1 sends ahead of their responses.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub pipelining: u32,
    /// How the server's certificate is judged; none is no TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Measured phases in one server process, averaged.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub rounds: u32,
}

impl Default for LoadSpec {
    /// What a suite gets that says nothing.
    fn default() -> Self {
        Self {
            request: Request::default(),
            expect: Expect::default(),
            connections: 64,
            amount: Amount::Duration(Duration::from_secs(30)),
            warmup: Duration::from_secs(5),
            find_warmup: false,
            timeout: Duration::from_secs(10),
            keep_alive: true,
            generator: None,
            mix: Vec::new(),
            pace: None,
            arrivals: Arrivals::Uniform,
            http: Http::One,
            streams: 1,
            pipelining: 1,
            tls: None,
            rounds: 1,
        }
    }
}

impl LoadSpec {
    /// Requests that a closed loop has in flight at once: one on each connection, of HTTP/2 one on each stream.
    pub fn lanes(&self) -> u64 {
        let streams = match self.http {
            Http::One => 1,
            Http::Two => self.streams.max(1),
        };
        u64::from(self.connections) * u64::from(streams)
    }

    /// How long one measured phase lasts; nothing where a number of requests ends it.
    pub fn length(&self) -> Duration {
        match (&self.pace, self.amount) {
            (Some(Pace::Stages(stages)), _) => stages.iter().map(|stage| stage.duration).sum(),
            (_, Amount::Duration(duration)) => duration,
            (_, Amount::Requests(_)) => Duration::ZERO,
        }
    }
}

/// One request of a mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixRequest {
    /// The request.
    pub request: Request,
    /// A file with its paths, one a line, sent in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_file: Option<FileRef>,
    /// How often it is sent, compared with the others.
    pub weight: u32,
    /// What must come back.
    pub expect: Expect,
}

/// A file of the suite's folder, as it was when the suite was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// Its path, relative to the suite's folder.
    pub path: String,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
}

/// The rate of an open loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// So many requests per second.
    Rate(f64),
    /// One rate after the other, instead of an amount.
    Stages(Vec<Stage>),
    /// The highest at which all of these hold.
    Search(Vec<SearchLimit>),
}

/// One stage of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Requests per second, at its end where it is a ramp.
    pub rate: f64,
    /// How long it lasts.
    #[serde(rename = "duration_ns", with = "nanos")]
    pub duration: Duration,
    /// Whether the rate goes there in a straight line from the stage before.
    pub ramp: bool,
}

/// What a search for the highest rate holds on to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchLimit {
    /// The metric's name.
    pub metric: String,
    /// The largest value that holds.
    pub max: Bound,
}

/// How the sends of an open loop are spread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// The same time between two.
    #[default]
    Uniform,
    /// Exponential times between two.
    Poisson,
}

impl Arrivals {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    fn is_uniform(&self) -> bool {
        *self == Self::Uniform
    }
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Http {
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2.
    #[serde(rename = "2")]
    Two,
}

impl Http {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    fn is_one(&self) -> bool {
        *self == Self::One
    }
}

/// How a server's certificate is judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// The certificate that signed it; none is the machine's.
    pub ca: Option<FileRef>,
    /// The name that it must have; none is the address.
    pub server_name: Option<String>,
    /// Whether any will do.
    pub insecure: bool,
}

/// How much load a trial makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// New requests are begun for this long.
    #[serde(rename = "duration_ns", with = "nanos")]
    Duration(Duration),
    /// Exactly this many requests are sent.
    Requests(u64),
}

/// One HTTP request, as bytes of the suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Such as `GET`.
    pub method: String,
    /// The request target, byte for byte as the suite writes it.
    pub path: Text,
    /// In the order and case of the suite. Host and Content-Length are added where they are missing.
    pub headers: Vec<(String, Text)>,
    /// The body; none sends none.
    pub body: Option<Text>,
    /// A file that is the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_file: Option<FileRef>,
}

impl Default for Request {
    /// `GET /`.
    fn default() -> Self {
        Self {
            method: "GET".to_owned(),
            path: Text::literal("/"),
            headers: Vec::new(),
            body: None,
            body_file: None,
        }
    }
}

/// What a response must be like. Names of headers are in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// The status.
    pub status: u16,
    /// The whole body, after decoding of its content-encoding.
    pub body: Option<String>,
    /// Words in the decoded body.
    pub contains: Option<String>,
    /// The least size of the decoded body, in bytes.
    pub min_size: Option<u64>,
    /// Headers that must be there, with this value.
    pub headers: Vec<(String, String)>,
    /// Headers that must not be there.
    pub no_headers: Vec<String>,
}

impl Default for Expect {
    fn default() -> Self {
        Self {
            status: 200,
            body: None,
            contains: None,
            min_size: None,
            headers: Vec::new(),
            no_headers: Vec::new(),
        }
    }
}
