//! What is sent, how fast and how much of it, and what must come back.

use super::{At, Bound, Template};
use crate::metric::Metric;
use std::time::Duration;

/// A load, or the defaults of all.
#[derive(Debug, Clone)]
pub struct Load {
    /// Its name, at its header.
    pub name: At<String>,
    /// How people see it.
    pub label: String,
    /// Its keys.
    pub keys: LoadKeys,
}

/// The keys of a load; a toggle's value sets some of them too.
#[derive(Debug, Clone, Default)]
pub struct LoadKeys {
    /// The method.
    pub method: Option<String>,
    /// The request target.
    pub path: Option<Template>,
    /// Request headers.
    pub headers: Vec<(At<String>, Template)>,
    /// The request's body.
    pub body: Option<At<Body>>,
    /// Whether the body is a template.
    pub template: Option<At<bool>>,
    /// The program that makes the load.
    pub generator: Option<At<String>>,
    /// The requests that are sent instead of one.
    pub mix: Option<At<String>>,
    /// Connections.
    pub connections: Option<At<u32>>,
    /// How much is sent.
    pub amount: Option<Amount>,
    /// What makes it an open loop.
    pub pace: Option<At<Pace>>,
    /// How the sends of an open loop are spread.
    pub arrivals: Option<At<Arrivals>>,
    /// The version of HTTP.
    pub http: Option<At<Http>>,
    /// Requests in flight on a connection of HTTP/2.
    pub streams: Option<At<u32>>,
    /// Requests ahead of their responses on a connection of HTTP/1.1.
    pub pipelining: Option<At<u32>>,
    /// How the server's certificate is judged; none is no TLS.
    pub tls: Option<At<Tls>>,
    /// Measured phases in one server process.
    pub rounds: Option<At<u32>>,
    /// When a request has failed.
    pub timeout: Option<Duration>,
    /// Whether connections are kept.
    pub keep_alive: Option<At<bool>>,
    /// What must come back.
    pub expect: ExpectKeys,
    /// Its warm-up.
    pub warmup: Option<Duration>,
    /// Its number of trials.
    pub repetitions: Option<u32>,
    /// When a trial has hung.
    pub trial_timeout: Option<Duration>,
}

/// How much a load sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// For so long.
    Duration(Duration),
    /// So many.
    Requests(u64),
}

/// A request's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// As it is written.
    Text(Template),
    /// JSON, as it is sent.
    Json(Template),
    /// A file's content.
    File(File),
}

/// A file that the suite reads, as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path, relative to the suite's folder.
    pub path: String,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
}

/// What the rate of an open loop is.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// So many requests per second.
    Rate(f64),
    /// One rate after the other.
    Stages(Vec<Stage>),
    /// The highest at which all of these hold.
    Search(Vec<(&'static Metric, Bound)>),
}

/// One stage of an open loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Requests per second.
    pub rate: f64,
    /// How long.
    pub duration: Duration,
    /// Whether the rate goes there in a straight line.
    pub ramp: bool,
}

/// How the sends of an open loop are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// The same time between two.
    Uniform,
    /// Exponential times between two.
    Poisson,
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.1.
    One,
    /// HTTP/2.
    Two,
}

/// How a server's certificate is judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// The certificate that signed it.
    pub ca: Option<File>,
    /// The name that it must have.
    pub server_name: Option<String>,
    /// Whether any will do.
    pub insecure: bool,
}

/// `[[mixes.NAME]]`.
#[derive(Debug, Clone)]
pub struct Mix {
    /// Its name.
    pub name: At<String>,
    /// Its requests.
    pub requests: Vec<MixRequest>,
}

/// One request of a mix.
#[derive(Debug, Clone)]
pub struct MixRequest {
    /// What it sets of a load's request.
    pub keys: LoadKeys,
    /// How often it is sent, compared with the others.
    pub weight: u32,
    /// A file with its paths, one a line.
    pub path_file: Option<At<File>>,
}

/// `expect`.
#[derive(Debug, Clone, Default)]
pub struct ExpectKeys {
    /// The status.
    pub status: Option<At<u16>>,
    /// The whole body.
    pub body: Option<Template>,
    /// Words in the body.
    pub contains: Option<Template>,
    /// Its least size.
    pub min_size: Option<At<u64>>,
    /// Headers that must be there.
    pub headers: Vec<(At<String>, Template)>,
    /// Headers that must not.
    pub no_headers: Option<Vec<At<String>>>,
}
