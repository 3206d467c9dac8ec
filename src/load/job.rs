//! What is sent to whom: a load's spec with its symbols filled in and its request made into bytes.

use super::schedule::Schedule;
use crate::http::{Expectation, Request, RequestError};
use crate::spec::{Amount, Fill, LoadSpec};
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
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    pub(super) request: Vec<u8>,
    pub(super) head_request: bool,
    pub(super) expect: Expectation,
    pub(super) connections: u32,
    pub(super) amount: Amount,
    pub(super) warmup: Duration,
    pub(super) timeout: Duration,
    pub(super) keep_alive: bool,
    /// Of an open loop.
    pub(super) schedule: Option<Schedule>,
}

impl Job {
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
            schedule: Schedule::of(work, 0),
            amount: work.amount,
            ..self
        }
    }

    /// The same load; what is random in it is drawn from this seed.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Self {
        Self {
            schedule: self.schedule.map(|schedule| schedule.seeded(seed)),
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
        }
        .to_bytes()?;
        let expect = &spec.expect;
        Ok(Self {
            request,
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
            schedule: Schedule::of(spec, 0),
        })
    }
}
