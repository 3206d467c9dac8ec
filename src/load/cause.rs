//! Why a request did not succeed: as a kind that is counted, and in words for the first of its kind.

use super::job::Job;
use super::stream::{TlsFault, explain};
use crate::http::{Expectation, Fault, ProtocolError};
use crate::record::ErrorKind;
use crate::spec::Address;
use crate::units::show_duration;
use rustix::io::Errno;
use std::io;

/// Why a request did not succeed.
pub(super) enum Cause {
    Connect(io::Error),
    ConnectTimeout,
    /// The handshake of TLS failed.
    Handshake(Box<TlsFault>),
    /// TLS broke after its handshake.
    Tls(Box<rustls::Error>),
    /// A body without a length ended without TLS's word for it.
    Cut,
    Write(io::Error),
    Read(io::Error),
    Protocol(ProtocolError),
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
        Self::Handshake(Box::new(fault))
    }
}

impl Cause {
    /// That a response can't be read: the connection broke, or TLS on it.
    pub(super) fn of_reading(error: io::Error) -> Self {
        match error.downcast() {
            Ok(error) => Self::Tls(Box::new(error)),
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
            Self::Connect(_) | Self::ConnectTimeout | Self::Handshake(_)
        )
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
            Self::Tls(error) => format!("TLS broke: {}", explain(error)),
            Self::Cut => "the connection ended without TLS's close_notify: the body may be cut off"
                .to_owned(),
            Self::Write(error) => format!("the request could not be written: {error}"),
            Self::Read(error) => format!("the response could not be read: {error}"),
            Self::Protocol(error) => error.to_string(),
            Self::Timeout => format!("no whole response within {timeout}"),
            Self::Stopped => "the load was stopped".to_owned(),
            Self::Fault(fault) => expect.explain(*fault),
        }
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
