//! One request and its response, whole, on a stream that the caller opened and
//! whose patience the caller bounds. Readiness and verification use it; a load never does, since it
//! keeps the body.

use super::coding::{Coding, CodingError, Inflater};
use super::decoder::{Decoder, ProtocolError, Sink, Step};
use super::head::Head;
use super::two::{Answered, Broken};
use std::fmt;
use std::io::{self, Write};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

/// A whole response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The status.
    pub status: u16,
    /// The headers as they came.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body as it came, without framing.
    pub wire: Vec<u8>,
    /// Its content-encoding.
    pub coding: Coding,
    /// The body without its content-encoding, where that can be taken off.
    pub decoded: Result<Vec<u8>, CodingError>,
    /// Whether the connection can carry another request.
    pub reusable: bool,
    /// Interim responses (1xx) that came before it.
    pub interim: u8,
}

impl Exchange {
    /// The first value of a header, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(given, _)| given.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(&found.1).ok()
    }
}

/// Where an exchange failed.
#[derive(Debug)]
pub enum ExchangeError {
    /// The request could not be written.
    Write(io::Error),
    /// The response could not be read.
    Read(io::Error),
    /// The response is not HTTP/1.1.
    Protocol(ProtocolError),
    /// Over HTTP/2, and what the other end had sent first.
    Http2(Broken, Answered),
    /// The body is larger than may be kept.
    TooLarge {
        /// The status of the response, which came all the same.
        status: u16,
        /// The most that may be kept, in bytes.
        limit: u64,
    },
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(error) => write!(f, "the request could not be written: {error}"),
            Self::Read(error) => write!(f, "the response could not be read: {error}"),
            Self::Protocol(error) => write!(f, "{error}"),
            Self::Http2(broken, Answered::Http2) => write!(f, "{broken}"),
            Self::Http2(_, Answered::Http1) => {
                f.write_str("the server does not speak HTTP/2: it answers in HTTP/1")
            }
            Self::Http2(broken, Answered::Nothing | Answered::Other) => {
                write!(f, "the server does not speak HTTP/2 ({broken})")
            }
            Self::TooLarge { limit, .. } => write!(
                f,
                "the body is larger than {}, which is the most that is verified",
                crate::units::show_bytes(*limit as f64)
            ),
        }
    }
}

impl std::error::Error for ExchangeError {}

/// Writes `request` and reads one response with at most `cap` bytes of body.
pub async fn exchange<S>(
    stream: &mut S,
    request: &[u8],
    head_request: bool,
    cap: u64,
) -> Result<Exchange, ExchangeError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut reader, mut writer) = split(stream);
    let mut decoder = Decoder::new(head_request);
    let mut kept = Kept::new(cap);
    let mut buffer = vec![0; 16 * 1024];
    let mut failed = None;
    let mut written = false;
    let write = async { writer.write_all(request).await };
    tokio::pin!(write);
    loop {
        // A server may answer before it has read the whole request, so both go on at once.
        let got = tokio::select! {
            biased;
            result = &mut write, if !written => {
                written = true;
                failed = result.err();
                continue;
            }
            got = reader.read(&mut buffer) => got,
        };
        let step = match got {
            Ok(0) => match (decoder.end(), failed) {
                (Ok(_), _) => return Ok(kept.finish(false, decoder.interim())),
                (Err(ProtocolError::ClosedEarly), Some(error)) => {
                    return Err(ExchangeError::Write(error));
                }
                (Err(error), _) => return Err(ExchangeError::Protocol(error)),
            },
            Ok(size) => (decoder.feed(&buffer[..size], &mut kept), size),
            Err(error) => {
                return Err(failed.map_or(ExchangeError::Read(error), ExchangeError::Write));
            }
        };
        if kept.overflowed {
            return Err(ExchangeError::TooLarge {
                status: kept.status,
                limit: cap,
            });
        }
        match step {
            (Ok(Step::More), _) => {}
            (Ok(Step::Done(ending)), size) if ending.consumed == size => {
                let reusable = ending.reusable && written && failed.is_none();
                return Ok(kept.finish(reusable, decoder.interim()));
            }
            (Ok(Step::Done(_)), _) => {
                return Err(ExchangeError::Protocol(ProtocolError::UnaskedBytes));
            }
            (Err(error), _) => return Err(ExchangeError::Protocol(error)),
        }
    }
}

/// Keeps what is told of a response.
pub(super) struct Kept {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    wire: Vec<u8>,
    cap: u64,
    overflowed: bool,
}

impl Kept {
    /// Keeps so many bytes of a body.
    pub(super) fn new(cap: u64) -> Self {
        Self {
            status: 0,
            headers: Vec::new(),
            wire: Vec::new(),
            cap,
            overflowed: false,
        }
    }

    /// Takes a head.
    pub(super) fn begin<'a>(
        &mut self,
        status: u16,
        headers: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) {
        self.status = status;
        self.headers = headers
            .map(|(name, value)| (name.to_owned(), value.to_vec()))
            .collect();
    }

    /// Takes a piece of the body.
    pub(super) fn keep(&mut self, piece: &[u8]) {
        self.overflowed |= (self.wire.len() + piece.len()) as u64 > self.cap;
        if !self.overflowed {
            self.wire.extend_from_slice(piece);
        }
    }

    /// How much of the body came, in bytes.
    pub(super) fn received(&self) -> u64 {
        self.wire.len() as u64
    }

    /// Whether the body is larger than may be kept.
    pub(super) fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// What was kept.
    pub(super) fn finish(self, reusable: bool, interim: u8) -> Exchange {
        let encodings = self
            .headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"))
            .map(|(_, value)| value.as_slice());
        let coding = Coding::of(encodings);
        let decoded = decode(&coding, &self.wire, self.cap);
        Exchange {
            status: self.status,
            headers: self.headers,
            wire: self.wire,
            coding,
            decoded,
            reusable,
            interim,
        }
    }
}

impl Sink for Kept {
    fn head(&mut self, head: &Head<'_>) {
        let headers = head.headers.iter();
        self.begin(
            head.status,
            headers.map(|header| (header.name, header.value)),
        );
    }

    fn body(&mut self, piece: &[u8]) {
        self.keep(piece);
    }
}

fn decode(coding: &Coding, wire: &[u8], cap: u64) -> Result<Vec<u8>, CodingError> {
    let out = Capped {
        bytes: Vec::new(),
        cap,
    };
    let mut inflater = Inflater::new(coding, out)?;
    // The writer fails in one way only, and flate2 hands its error through as it is.
    let too_large = |error: CodingError| match error {
        CodingError::Corrupt(reason) if reason == FULL => CodingError::TooLarge(cap),
        other => other,
    };
    inflater.write(wire).map_err(too_large)?;
    Ok(inflater.finish().map_err(too_large)?.bytes)
}

const FULL: &str = "the decoded body is too large";

struct Capped {
    bytes: Vec<u8>,
    cap: u64,
}

impl Write for Capped {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if (self.bytes.len() + piece.len()) as u64 > self.cap {
            return Err(io::Error::other(FULL));
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
