//! Why a request did not succeed: as a kind that is counted, and in words for the first of its kind.

use super::job::Job;
use super::stream::TlsFault;
use crate::http::{Answered, Broken, ExchangeError, Expectation, Fault, ProtocolError};
use crate::record::ErrorKind;
use crate::spec::Address;
use crate::tls;
use crate::units::show_duration;
use rustix::io::Errno;
use std::io;
use std::sync::Arc;

/// Why a request did not succeed.
pub(super) enum Cause {
    Connect(io::Error),
    ConnectTimeout,
    /// The handshake of TLS failed.
    Handshake(Arc<TlsFault>),
    /// TLS broke after its handshake.
    Tls(Arc<rustls::Error>),
    /// A body without a length ended without TLS's word for it.
    Cut,
    Write(io::Error),
    Read(io::Error),
    Protocol(ProtocolError),
    /// A request over HTTP/2.
    Http2(Broken),
    /// A connection that did not come to HTTP/2, and what the other end had sent first.
    Preface(Broken, Answered),
    Timeout,
    Fault(Fault),
    /// The load was stopped.
    Stopped,
}

impl From<ProtocolError> for Cause {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

impl From<TlsFault> for Cause {
    fn from(fault: TlsFault) -> Self {
        Self::Handshake(Arc::new(fault))
    }
}

impl Cause {
    /// The same for another request that the same thing befell.
    pub(super) fn again(&self) -> Self {
        let same = |error: &io::Error| {
            let number = error.raw_os_error();
            number.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
        };
        match self {
            Self::Connect(error) => Self::Connect(same(error)),
            Self::ConnectTimeout => Self::ConnectTimeout,
            Self::Write(error) => Self::Write(same(error)),
            Self::Read(error) => Self::Read(same(error)),
            Self::Protocol(error) => Self::Protocol(*error),
            Self::Http2(broken) => Self::Http2(*broken),
            Self::Preface(broken, answered) => Self::Preface(*broken, *answered),
            Self::Handshake(fault) => Self::Handshake(Arc::clone(fault)),
            Self::Tls(error) => Self::Tls(Arc::clone(error)),
            Self::Cut => Self::Cut,
            Self::Timeout => Self::Timeout,
            Self::Fault(fault) => Self::Fault(*fault),
            Self::Stopped => Self::Stopped,
        }
    }

    /// That a response can't be read: the connection broke, or TLS on it.
    pub(super) fn of_reading(error: io::Error) -> Self {
        match error.downcast() {
            Ok(error) => Self::Tls(Arc::new(error)),
            Err(error) => Self::Read(error),
        }
    }

    /// The kind that it counts as.
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            Self::Connect(error) => connect_kind(error),
            Self::ConnectTimeout => ErrorKind::ConnectTimeout,
            Self::Handshake(_) | Self::Tls(_) => ErrorKind::Tls,
            Self::Write(_) => ErrorKind::Write,
            Self::Read(_) => ErrorKind::Reset,
            Self::Protocol(ProtocolError::BadHead(_)) => ErrorKind::BadHead,
            Self::Protocol(ProtocolError::BadChunk(_)) => ErrorKind::BadChunk,
            Self::Protocol(ProtocolError::ShortBody) | Self::Cut => ErrorKind::ShortBody,
            Self::Protocol(ProtocolError::ClosedEarly) => ErrorKind::ClosedEarly,
            Self::Protocol(ProtocolError::UnaskedBytes) => ErrorKind::UnaskedBytes,
            Self::Http2(broken) | Self::Preface(broken, _) => broken_kind(*broken),
            Self::Timeout | Self::Stopped => ErrorKind::Timeout,
            Self::Fault(Fault::Status(_)) => ErrorKind::Status,
            Self::Fault(Fault::Header(_) | Fault::Unwanted(_)) => ErrorKind::Header,
            Self::Fault(Fault::Body(_)) => ErrorKind::Body,
        }
    }

    /// Whether there was no connection at all.
    pub(super) fn is_of_connecting(&self) -> bool {
        matches!(
            self,
            Self::Connect(_) | Self::ConnectTimeout | Self::Handshake(_) | Self::Preface(..)
        )
    }

    /// Whether there was no connection in time: nobody took it, or nobody spoke TLS on it.
    pub(super) fn is_late_connecting(&self) -> bool {
        match self {
            Self::ConnectTimeout => true,
            Self::Handshake(fault) => matches!(**fault, TlsFault::Late),
            _ => false,
        }
    }

    /// Whether an idle connection that the server had closed would show so.
    pub(super) fn may_be_an_idle_close(&self) -> bool {
        matches!(
            self,
            Self::Write(_) | Self::Read(_) | Self::Protocol(ProtocolError::ClosedEarly)
        )
    }

    /// The cause in a sentence.
    pub(super) fn explain(&self, job: &Job, expect: &Expectation, address: &Address) -> String {
        let timeout = show_duration(job.timeout);
        match self {
            Self::Connect(error) => format!("connecting to {address} failed: {error}"),
            Self::ConnectTimeout => format!("{address} did not accept within {timeout}"),
            Self::Handshake(fault) => format!("the TLS handshake with {address} failed: {fault}"),
            Self::Tls(error) => format!("TLS broke: {}", tls::explain(error)),
            Self::Cut => "the connection ended without TLS's close_notify: the body may be cut off"
                .to_owned(),
            Self::Write(error) => format!("the request could not be written: {error}"),
            Self::Read(error) => format!("the response could not be read: {error}"),
            Self::Protocol(error) => error.to_string(),
            Self::Http2(broken) => broken.to_string(),
            Self::Preface(broken, answered) => ExchangeError::Http2(*broken, *answered).to_string(),
            Self::Timeout => format!("no whole response within {timeout}"),
            Self::Stopped => "the load was stopped".to_owned(),
            Self::Fault(fault) => expect.explain(*fault),
        }
    }
}

fn broken_kind(broken: Broken) -> ErrorKind {
    match broken {
        Broken::Reset(_) => ErrorKind::StreamReset,
        Broken::GoAway(_) | Broken::Unsent => ErrorKind::GoAway,
        Broken::Cut => ErrorKind::ShortBody,
        Broken::Closed => ErrorKind::ClosedEarly,
        // What TLS finds to be wrong comes so; a plain socket has no data that are invalid.
        Broken::Io(io::ErrorKind::InvalidData) => ErrorKind::Tls,
        Broken::Io(_) => ErrorKind::Reset,
        Broken::Protocol(_) => ErrorKind::BadFrame,
    }
}

fn connect_kind(error: &io::Error) -> ErrorKind {
    match Errno::from_io_error(error) {
        Some(Errno::CONNREFUSED) => ErrorKind::ConnectRefused,
        Some(Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN) => {
            ErrorKind::ConnectUnreachable
        }
        Some(Errno::TIMEDOUT) => ErrorKind::ConnectTimeout,
        Some(Errno::ADDRNOTAVAIL) => ErrorKind::NoLocalPort,
        Some(Errno::MFILE | Errno::NFILE) => ErrorKind::NoDescriptor,
        None if error.kind() == io::ErrorKind::ConnectionRefused => ErrorKind::ConnectRefused,
        _ => ErrorKind::Connect,
    }
}
