//! What is sent to whom: a load's spec with its symbols filled in and its request made into bytes.

use crate::http::{Expectation, Http2Request, Request, RequestError};
use crate::spec::{Amount, Fill, Http, LoadSpec};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The server that is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    address: SocketAddr,
    authority: String,
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
    /// A target at `address`; `authority` is what Host says. Public addresses need `allow_public`.
    pub fn new(
        address: SocketAddr,
        authority: impl Into<String>,
        allow_public: bool,
    ) -> Result<Self, TargetError> {
        if !allowed(address.ip(), allow_public) {
            return Err(TargetError(address));
        }
        Ok(Self {
            address,
            authority: authority.into(),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
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

/// A load, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub(super) request: Vec<u8>,
    /// The same for HTTP/2, where that is what will be spoken.
    pub(super) http2: Option<Http2Request>,
    /// Requests in flight on each connection.
    pub(super) streams: u32,
    pub(super) head_request: bool,
    pub(super) expect: Expectation,
    pub(super) connections: u32,
    pub(super) amount: Amount,
    pub(super) warmup: Duration,
    pub(super) timeout: Duration,
    pub(super) keep_alive: bool,
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

    /// Fills the symbols in and makes the request's bytes.
    pub fn new(spec: &LoadSpec, fill: &Fill, target: &Target) -> Result<Self, RequestError> {
        let headers: Vec<(String, String)> = spec
            .request
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.fill(fill)))
            .collect();
        let body = spec.request.body.as_ref().map(|body| body.fill(fill));
        let request = Request {
            method: &spec.request.method,
            target: &spec.request.path.fill(fill),
            headers: &headers,
            body: body.as_deref().map(str::as_bytes),
            authority: &target.authority,
            keep_alive: spec.keep_alive,
        };
        let http2 = match spec.http {
            Http::One => None,
            Http::Two => Some(Http2Request::new(&request, "http")?),
        };
        let expect = &spec.expect;
        Ok(Self {
            request: request.to_bytes()?,
            streams: if http2.is_some() {
                spec.streams.max(1)
            } else {
                1
            },
            http2,
            head_request: spec.request.method == "HEAD",
            expect: Expectation {
                status: expect.status,
                headers: expect.headers.clone(),
                no_headers: expect.no_headers.clone(),
                body: expect.body.as_ref().map(|body| body.as_bytes().to_vec()),
                contains: expect
                    .contains
                    .as_ref()
                    .map(|text| text.as_bytes().to_vec()),
                min_size: expect.min_size,
            },
            connections: spec.connections,
            amount: spec.amount,
            warmup: spec.warmup,
            timeout: spec.timeout,
            keep_alive: spec.keep_alive,
        })
    }
}
