//! The first response, checked whole before anything is measured.

use super::job::{Job, Target};
use super::reach::{Duplex, reach};
use super::request::Prepared;
use crate::http::{
    BodyFault, CodingError, Exchange, ExchangeError, Expectation, Fault, Http2, Http2Request,
    Reference, exchange,
};
use crate::record::Answer;
use crate::spec::{Address, Http};
use crate::units::show_duration;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt as _;

/// The largest body that is verified, in bytes.
const MAX_BODY: u64 = 64 * 1024 * 1024;
/// The most paths of a file that are asked for before the load.
const SAMPLES: usize = 8;
/// How long bytes that nothing asked for are waited for.
const LISTEN: Duration = Duration::from_millis(50);

/// A response that is as expected, against which those of the load are checked.
#[derive(Debug, Clone)]
pub struct Verified {
    /// What the responses to each request are held against.
    pub(super) references: Vec<Arc<Reference>>,
    /// The whole response to the first request.
    pub response: Exchange,
}

impl Verified {
    /// The size of the body as it came, in bytes.
    pub fn wire_size(&self) -> u64 {
        self.response.wire.len() as u64
    }

    /// The size of the body without its content-encoding; none where that can't be taken off.
    pub fn decoded_size(&self) -> Option<u64> {
        let body = self.response.decoded.as_ref().ok()?;
        Some(body.len() as u64)
    }

    /// The same, and from now on every response must have this body, decoded.
    pub fn holding_to_its_body(mut self) -> Result<Self, VerifyError> {
        let body = match &self.response.decoded {
            Ok(body) => body.clone(),
            Err(error) => return Err(VerifyError::Coding(error.clone())),
        };
        if let Some(first) = self.references.first_mut() {
            Arc::make_mut(first).expect.body = Some(body);
        }
        Ok(self)
    }
}

/// Why the first response can't stand for the load.
#[derive(Debug)]
pub enum VerifyError {
    /// No connection.
    Connect(Address, io::Error),
    /// No TLS on the connection, and why.
    Tls(Address, String),
    /// No connection with TLS within the time-out.
    NoTls(Address, Duration),
    /// No whole response within the time-out.
    Timeout(Duration),
    /// The exchange broke.
    Exchange(ExchangeError),
    /// The body can't be decoded, so it can't be checked.
    Coding(CodingError),
    /// The status is not the expected one.
    Status {
        /// The status that came.
        got: u16,
        /// The status that was expected.
        expected: u16,
    },
    /// The response is not as expected.
    Unexpected {
        /// In a sentence.
        reason: String,
        /// The beginning of the body.
        body: String,
    },
    /// There is nothing to send.
    Nothing,
    /// One request of a mix.
    Of {
        /// What it is called.
        request: String,
        /// What became of it.
        error: Box<Self>,
    },
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(address, error) => write!(f, "connecting to {address} failed: {error}"),
            Self::Tls(address, reason) => {
                write!(f, "the TLS handshake with {address} failed: {reason}")
            }
            Self::NoTls(address, timeout) => write!(
                f,
                "there was no connection with TLS to {address} within {}",
                show_duration(*timeout)
            ),
            Self::Timeout(timeout) => write!(
                f,
                "the first request had no whole response within {}",
                show_duration(*timeout)
            ),
            Self::Nothing => f.write_str("there is no request"),
            Self::Of { request, error } => write!(f, "{request}: {error}"),
            Self::Exchange(error) => write!(f, "the first request failed: {error}"),
            Self::Coding(error) => write!(
                f,
                "the body of the first response can't be checked: {error}"
            ),
            Self::Status { got, expected } => {
                write!(
                    f,
                    "the first response has status {got}, expected {expected}"
                )
            }
            Self::Unexpected { reason, body } => {
                write!(
                    f,
                    "the first response is not as expected: {reason}; its body begins with {body:?}"
                )
            }
        }
    }
}

impl std::error::Error for VerifyError {}

/// Sends each request of the job once, on a connection of its own, and checks the responses whole. Of a file of paths it
/// asks for some, its first among them.
pub async fn verify(job: &Job, target: &Target) -> Result<Verified, VerifyError> {
    let mut references = Vec::new();
    let mut first = None;
    for one in job.requests.iter() {
        let response = verified(one, job, target).await.map_err(|error| {
            if job.requests.len() == 1 {
                return error;
            }
            VerifyError::Of {
                request: one.name.clone(),
                error: Box::new(error),
            }
        })?;
        references.push(Arc::new(Reference {
            expect: one.expect.clone(),
            wire: response.wire.clone(),
            coding: response.coding.clone(),
        }));
        first.get_or_insert(response);
    }
    match first {
        Some(response) => Ok(Verified {
            references,
            response,
        }),
        None => Err(VerifyError::Nothing),
    }
}

/// Gives the response to the first sample of a request.
async fn verified(one: &Prepared, job: &Job, target: &Target) -> Result<Exchange, VerifyError> {
    if let Some(request) = &job.http2 {
        let response = asked_two(request, job.timeout, target).await?;
        check(&one.expect, &response)?;
        return Ok(response);
    }
    let mut first = None;
    for bytes in one.samples(SAMPLES, &job.numbers) {
        let response = asked(&bytes, one, job, target).await?.0;
        check(&one.expect, &response)?;
        first.get_or_insert(response);
    }
    first.ok_or(VerifyError::Nothing)
}

/// How many bytes come unasked after the response to the job's request, on a connection of its own. A
/// generator that does not look counts them as the answer to the next one.
/// HTTP/2 knows of every byte what it answers.
pub async fn unasked(job: &Job, target: &Target) -> Result<usize, VerifyError> {
    if job.http2.is_some() {
        return Ok(0);
    }
    let (response, mut stream) = ask_first(job, target).await?;
    if !response.reusable {
        return Ok(0);
    }
    let mut surplus = [0; 4096];
    let read = tokio::time::timeout(LISTEN, stream.read(&mut surplus)).await;
    Ok(read.ok().and_then(Result::ok).unwrap_or(0))
}

/// Sends the job's first request once, on a connection of its own. The response may be any.
pub async fn ask(job: &Job, target: &Target) -> Result<Exchange, VerifyError> {
    match &job.http2 {
        None => Ok(ask_first(job, target).await?.0),
        Some(request) => asked_two(request, job.timeout, target).await,
    }
}

/// A connection to the target, and what is left of the time.
async fn reached(
    target: &Target,
    http: Http,
    timeout: Duration,
) -> Result<(Box<dyn Duplex>, Duration), VerifyError> {
    let begun = Instant::now();
    let reached = tokio::time::timeout(timeout, reach(target, http)).await;
    let stream = reached.map_err(|_| match target.secure() {
        Some(_) => VerifyError::NoTls(target.address().clone(), timeout),
        None => VerifyError::Timeout(timeout),
    })??;
    Ok((stream, timeout.saturating_sub(begun.elapsed())))
}

async fn asked_two(
    request: &Http2Request,
    timeout: Duration,
    target: &Target,
) -> Result<Exchange, VerifyError> {
    let (stream, left) = reached(target, Http::Two, timeout).await?;
    let work = async {
        let mut connection = Http2::open(stream).await.map_err(VerifyError::Exchange)?;
        let response = connection.exchange(request, MAX_BODY).await;
        response.map_err(VerifyError::Exchange)
    };
    tokio::time::timeout(left, work)
        .await
        .map_err(|_| VerifyError::Timeout(timeout))?
}

/// A response, and the connection that it came on.
type Answered = (Exchange, Box<dyn Duplex>);

async fn ask_first(job: &Job, target: &Target) -> Result<Answered, VerifyError> {
    let first = job.requests.first().ok_or(VerifyError::Nothing)?;
    let bytes = first.samples(1, &job.numbers);
    asked(&bytes[0], first, job, target).await
}

async fn asked(
    bytes: &[u8],
    one: &Prepared,
    job: &Job,
    target: &Target,
) -> Result<Answered, VerifyError> {
    let (mut stream, left) = reached(target, Http::One, job.timeout).await?;
    let work = async {
        let response = exchange(&mut stream, bytes, one.head_request, MAX_BODY)
            .await
            .map_err(VerifyError::Exchange)?;
        Ok((response, stream))
    };
    tokio::time::timeout(left, work)
        .await
        .map_err(|_| VerifyError::Timeout(job.timeout))?
}

/// A response as a record looks at it.
pub fn answer(response: &Exchange) -> Answer<'_> {
    Answer {
        status: response.status,
        headers: &response.headers,
        wire: &response.wire,
        decoded: response.decoded.as_deref().ok(),
    }
}

fn check(expect: &Expectation, response: &Exchange) -> Result<(), VerifyError> {
    if response.status != expect.status {
        return Err(VerifyError::Status {
            got: response.status,
            expected: expect.status,
        });
    }
    let headers = || {
        let all = response.headers.iter();
        all.map(|(name, value)| (name.as_str(), value.as_slice()))
    };
    let fault = expect.check_head(response.status, headers).err();
    let fault = fault.or_else(|| {
        if !expect.judges_body() {
            return None;
        }
        let body = response.decoded.as_ref().ok()?;
        expect.check_body(body).err().map(Fault::Body)
    });
    if let Some(fault) = fault {
        let body = response.decoded.as_ref().unwrap_or(&response.wire);
        let begin = &body[..body.len().min(200)];
        return Err(VerifyError::Unexpected {
            reason: expect.explain(fault),
            body: String::from_utf8_lossy(begin).into_owned(),
        });
    }
    match &response.decoded {
        Err(error) if expect.judges_body() => Err(VerifyError::Coding(error.clone())),
        Err(error @ CodingError::Corrupt(_)) => {
            // Not even asked for, but a body that nobody can read is nothing to publish figures of.
            Err(VerifyError::Unexpected {
                reason: format!(
                    "{} ({error})",
                    expect.explain(Fault::Body(BodyFault::Undecodable))
                ),
                body: String::from_utf8_lossy(&response.wire[..response.wire.len().min(40)])
                    .into_owned(),
            })
        }
        _ => Ok(()),
    }
}
