//! What is sent to whom: a load's spec with its symbols filled in and its requests made into bytes.

use super::files::Files;
use super::request::{JobError, Numbers, Prepared, With};
use super::schedule::Schedule;
use crate::http::{Http2Request, Request};
use crate::spec::{Address, Amount, Fill, Http, LoadSpec};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// How connections speak TLS.
#[derive(Debug, Clone)]
pub struct Secure {
    /// Whom they trust and what they offer.
    pub config: Arc<ClientConfig>,
    /// The name that the server's certificate must have.
    pub name: ServerName<'static>,
}

/// The server that is loaded.
#[derive(Debug, Clone)]
pub struct Target {
    address: Address,
    authority: String,
    secure: Option<Secure>,
}

/// An address that may not be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetError(SocketAddr);

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is neither a loopback nor a private address; if it is yours to load, set allow_public = true in [run]",
            self.0
        )
    }
}

impl std::error::Error for TargetError {}

impl Target {
    /// A target at `address`, without TLS; `authority` is what Host says. Public addresses need `allow_public`.
    pub fn new(
        address: impl Into<Address>,
        authority: impl Into<String>,
        allow_public: bool,
    ) -> Result<Self, TargetError> {
        let address = address.into();
        if let Address::Ip(ip) = address
            && !allowed(ip.ip(), allow_public)
        {
            return Err(TargetError(ip));
        }
        Ok(Self {
            address,
            authority: authority.into(),
            secure: None,
        })
    }

    /// The same, reached over TLS where `secure` says how.
    #[must_use]
    pub fn over(self, secure: Option<Secure>) -> Self {
        Self { secure, ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// How it is spoken to in TLS; none is without.
    pub fn secure(&self) -> Option<&Secure> {
        self.secure.as_ref()
    }

    /// What Host says.
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

/// Whether an address may be loaded: loopback, private and link-local ones always.
pub fn allowed(address: IpAddr, allow_public: bool) -> bool {
    if allow_public {
        return true;
    }
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// The request of a load over HTTP/2; none where HTTP/1.1 is spoken.
fn http2(spec: &LoadSpec, fill: &Fill, target: &Target) -> Result<Option<Http2Request>, JobError> {
    if spec.http == Http::One {
        return Ok(None);
    }
    let one = &spec.request;
    let headers = one.headers.iter();
    let headers: Vec<(String, String)> = headers
        .map(|(name, value)| (name.clone(), value.fill(fill)))
        .collect();
    let body = one.body.as_ref().map(|body| body.fill(fill));
    let request = Request {
        method: &one.method,
        target: &one.path.fill(fill),
        headers: &headers,
        body: body.as_deref().map(str::as_bytes),
        authority: &target.authority,
        keep_alive: spec.keep_alive,
    };
    let scheme = if target.secure.is_some() {
        "https"
    } else {
        "http"
    };
    Ok(Some(Http2Request::new(&request, scheme)?))
}

/// A load, ready to be sent.
#[derive(Debug, Clone)]
pub struct Job {
    /// What is sent: one request, or those of a mix.
    pub(super) requests: Arc<[Prepared]>,
    pub(super) numbers: Arc<Numbers>,
    /// What the order of a mix follows from.
    pub(super) seed: u64,
    /// The same for HTTP/2, where that is what will be spoken.
    pub(super) http2: Option<Http2Request>,
    /// Requests in flight on each connection of HTTP/2.
    pub(super) streams: u32,
    pub(super) connections: u32,
    /// Requests in flight on each connection.
    pub(super) pipelining: u32,
    pub(super) amount: Amount,
    pub(super) warmup: Duration,
    pub(super) timeout: Duration,
    pub(super) keep_alive: bool,
    /// Of an open loop.
    pub(super) schedule: Option<Schedule>,
}

impl Job {
    /// Requests that can be in flight at once.
    pub(super) fn lanes(&self) -> u32 {
        self.connections.saturating_mul(self.streams)
    }

    /// The same load for a server that is warm.
    #[must_use]
    pub fn without_warm_up(self) -> Self {
        Self {
            warmup: Duration::ZERO,
            ..self
        }
    }

    /// The same load with the pace of `work` and for as long.
    #[must_use]
    pub fn paced_as(self, work: &LoadSpec) -> Self {
        Self {
            schedule: Schedule::of(work, self.seed),
            amount: work.amount,
            ..self
        }
    }

    /// How long requests are begun, where time ends the load.
    pub(super) fn planned(&self) -> Option<Duration> {
        match (&self.schedule, self.amount) {
            (Some(schedule), _) => schedule.ends(),
            (None, Amount::Duration(time)) => Some(time),
            (None, Amount::Requests(_)) => None,
        }
    }

    /// Fills the symbols in and makes the request's bytes. For loads that need no files; chance begins at 0.
    pub fn new(spec: &LoadSpec, fill: &Fill, target: &Target) -> Result<Self, JobError> {
        Self::with(spec, fill, target, &Files::default(), 0)
    }

    /// The same, with the suite's files, and with what chance follows from.
    pub fn with(
        spec: &LoadSpec,
        fill: &Fill,
        target: &Target,
        files: &Files,
        seed: u64,
    ) -> Result<Self, JobError> {
        let with = With {
            fill,
            authority: &target.authority,
            keep_alive: spec.keep_alive,
            files,
        };
        let mut requests = Vec::new();
        for one in &spec.mix {
            requests.push(Prepared::of_mix(one, &with)?);
        }
        if requests.is_empty() {
            requests.push(Prepared::single(&spec.request, &spec.expect, &with)?);
        }
        tell_apart(&mut requests);
        Ok(Self {
            requests: requests.into(),
            numbers: Arc::new(Numbers::new(seed)),
            seed,
            http2: http2(spec, fill, target)?,
            streams: match spec.http {
                Http::One => 1,
                Http::Two => spec.streams.max(1),
            },
            connections: spec.connections,
            pipelining: spec.pipelining.max(1),
            amount: spec.amount,
            warmup: spec.warmup,
            timeout: spec.timeout,
            keep_alive: spec.keep_alive,
            schedule: Schedule::of(spec, seed),
        })
    }
}

/// Numbers the requests that are called alike.
fn tell_apart(requests: &mut [Prepared]) {
    let names: Vec<String> = requests.iter().map(|one| one.name.clone()).collect();
    for (index, one) in requests.iter_mut().enumerate() {
        let before = names[..index].iter().filter(|name| **name == one.name);
        let before = before.count();
        if before > 0 {
            one.name = format!("{} ({})", one.name, before + 1);
        }
    }
}
