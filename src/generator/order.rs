//! What a generator is asked for: a load's spec with its symbols filled in.

use crate::process::GuardProgram;
use crate::spec::{Amount, Fill, LoadSpec};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What surrounds a generator.
#[derive(Debug, Clone)]
pub struct Place {
    /// The program that guards it.
    pub program: GuardProgram,
    /// Where what it prints is kept.
    pub logs: PathBuf,
    /// Where its guard says that it lives.
    pub ledgers: PathBuf,
    /// Its environment.
    pub env: Vec<(String, String)>,
    /// Texts that are taken out of what it prints.
    pub secrets: Vec<String>,
    /// The most threads that make load.
    pub threads: usize,
}

/// One load, as a generator is asked for it.
#[derive(Debug, Clone)]
pub struct Order {
    pub(super) address: SocketAddr,
    /// What Host says, where that is not the address.
    pub(super) host: Option<String>,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
    pub(super) connections: u32,
    pub(super) amount: Amount,
    pub(super) warmup: Duration,
    pub(super) timeout: Duration,
    pub(super) keep_alive: bool,
    pub(super) rounds: u32,
    /// The most threads that make it.
    pub(super) threads: usize,
}

impl Order {
    /// Fills the symbols in. `authority` is what Host says.
    pub fn new(work: &LoadSpec, fill: &Fill, address: SocketAddr, authority: &str) -> Self {
        let headers = work
            .request
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.fill(fill)));
        Self {
            address,
            host: (authority != address.to_string()).then(|| authority.to_owned()),
            method: work.request.method.clone(),
            path: work.request.path.fill(fill),
            headers: headers.collect(),
            body: work.request.body.as_ref().map(|body| body.fill(fill)),
            connections: work.connections,
            amount: work.amount,
            warmup: work.warmup,
            timeout: work.timeout,
            keep_alive: work.keep_alive,
            rounds: work.rounds,
            threads: 1,
        }
    }

    /// The address of the request.
    pub(super) fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    /// The headers, with Host where it is not the address, and with the order to close where a
    /// connection carries one request. The length of a body is left to the generator: each sends it of its own accord.
    pub(super) fn all_headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let host = self.host.as_deref().map(|host| ("Host", host));
        let host = host.filter(|_| !self.has_header("host"));
        let close = (!self.keep_alive).then_some(("Connection", "close"));
        let close = close.filter(|_| !self.has_header("connection"));
        let own = self
            .headers
            .iter()
            .filter(|(name, _)| self.body.is_none() || !name.eq_ignore_ascii_case("content-length"))
            .map(|(name, value)| (name.as_str(), value.as_str()));
        host.into_iter().chain(own).chain(close)
    }

    pub(super) fn has_header(&self, wanted: &str) -> bool {
        self.headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(wanted))
    }

    /// The same for the warm-up; none where there is none.
    pub(super) fn to_warm_up(&self) -> Option<Self> {
        (!self.warmup.is_zero()).then(|| Self {
            amount: Amount::Duration(self.warmup),
            ..self.clone()
        })
    }
}

/// The path of a load's requests, as far as it is known before a server starts.
pub(super) fn literal_path(work: &LoadSpec) -> &str {
    work.request.path.as_literal().unwrap_or("/")
}

/// The least number of whole seconds that is not shorter, at least one.
pub(super) fn rounded_up(time: Duration) -> u64 {
    (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1)
}

/// The same, and what to say of it.
pub(super) fn whole_seconds(generator: &str, duration: Duration) -> (u64, Option<String>) {
    let seconds = rounded_up(duration);
    let note = (Duration::from_secs(seconds) != duration).then(|| {
        format!(
            "{generator} counts whole seconds, so it was run for {seconds} s and not for {}",
            crate::units::show_duration(duration)
        )
    });
    (seconds, note)
}
