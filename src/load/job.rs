//! What is sent to whom: a load's spec with its symbols filled in and its request made into bytes.

use crate::http::{Expectation, Request, RequestError};
use crate::spec::{Address, Amount, Fill, LoadSpec};
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

/// A load, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub(super) request: Vec<u8>,
    pub(super) head_request: bool,
    pub(super) expect: Expectation,
    pub(super) connections: u32,
    pub(super) amount: Amount,
    pub(super) warmup: Duration,
    pub(super) timeout: Duration,
    pub(super) keep_alive: bool,
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
        })
    }
}
