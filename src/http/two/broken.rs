//! Why a request of HTTP/2 has no whole response.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a request has no whole response. Cheap, since failures come in floods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// The server has reset the stream.
    Reset(h2::Reason),
    /// The server has ended the connection (GOAWAY) and will not answer this request: it was not processed.
    GoAway(h2::Reason),
    /// The request was not sent, since the connection had ended.
    Unsent,
    /// The server has reset the stream without an error before the end of a response that it had begun.
    Cut,
    /// The server has closed the connection.
    Closed,
    /// The connection broke.
    Io(io::ErrorKind),
    /// What came is not HTTP/2 as RFC 9113 has it.
    Protocol(h2::Reason),
}

impl Broken {
    /// What hyper's error means.
    pub fn of(error: &hyper::Error) -> Self {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(one) = cause {
            if let Some(error) = one.downcast_ref::<h2::Error>() {
                return Self::of_frames(error);
            }
            if let Some(error) = one.downcast_ref::<io::Error>() {
                return Self::of_io(error);
            }
            cause = one.source();
        }
        // hyper itself refuses only what has not been handed to the connection.
        Self::Unsent
    }

    fn of_frames(error: &h2::Error) -> Self {
        if let Some(error) = error.get_io() {
            return Self::of_io(error);
        }
        let Some(reason) = error.reason() else {
            // No stream could be opened, such as after the last number that one can have.
            return Self::Unsent;
        };
        match (error.is_remote(), error.is_go_away()) {
            (true, true) => Self::GoAway(reason),
            (true, false) => Self::Reset(reason),
            (false, _) => Self::Protocol(reason),
        }
    }

    fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => Self::Closed,
            kind => Self::Io(kind),
        }
    }

    /// Whether the server says, or it is clear, that it has not processed the request (RFC 9113, section 8.7), because
    /// the connection ends.
    pub fn is_unprocessed(self) -> bool {
        matches!(self, Self::GoAway(_) | Self::Unsent)
    }

    /// Whether the connection carries no more requests. Of a stream alone it is still good.
    pub fn ends_connection(self) -> bool {
        matches!(
            self,
            Self::GoAway(_) | Self::Unsent | Self::Closed | Self::Io(_)
        )
    }

    /// Whether an idle connection that the server had closed would show so.
    pub fn may_be_an_idle_close(self) -> bool {
        matches!(self, Self::Closed | Self::Io(_))
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reset(reason) => {
                write!(f, "the server reset the stream ({reason:?}: {reason})")
            }
            Self::GoAway(reason) => write!(
                f,
                "the server ended the connection without processing the request (GOAWAY, {reason:?}: {reason})"
            ),
            Self::Unsent => f.write_str("the connection ended before the request was sent"),
            Self::Cut => f.write_str("the server reset the stream before the end of its response"),
            Self::Closed => f.write_str("the server closed the connection"),
            Self::Io(kind) => write!(f, "the connection broke: {kind}"),
            Self::Protocol(reason) => write!(
                f,
                "what the server sent is not HTTP/2 ({reason:?}: {reason})"
            ),
        }
    }
}
