//! The head of a response: status line and headers, parsed by httparse, and what
//! they say about the framing of the body (RFC 9112, section 6.3) and the life of the connection.

use super::decoder::ProtocolError;
use httparse::{Header, ParserConfig, Status};
use std::mem::MaybeUninit;

/// The longest head that is read, in bytes.
pub const MAX_HEAD: usize = 64 * 1024;
/// The most headers that a response may have.
pub const MAX_HEADERS: usize = 128;

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is none: HEAD, 204, 304.
    None,
    /// By its size in bytes.
    Length(u64),
    /// By its last chunk.
    Chunked,
    /// By the end of the connection.
    ToEnd,
}

/// The head of a final response.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// The status.
    pub status: u16,
    /// The minor version: 0 for HTTP/1.0, 1 for HTTP/1.1.
    pub minor: u8,
    /// The headers as they came.
    pub headers: &'a [Header<'a>],
    /// How the body ends.
    pub framing: Framing,
    /// Whether the connection stays open, by version, Connection and framing.
    pub keep_alive: bool,
}

impl<'a> Head<'a> {
    /// Every value of the header with this name, in any case.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        values(self.headers, name)
    }
}

fn values<'a>(headers: &'a [Header<'a>], name: &str) -> impl Iterator<Item = &'a [u8]> {
    headers
        .iter()
        .filter(move |header| header.name.eq_ignore_ascii_case(name))
        .map(|header| header.value)
}

/// Parses one head at the start of `input` and hands it on. None where the
/// head is not complete yet; else its length and what `then` made of it.
pub(super) fn parse<T>(
    input: &[u8],
    head_request: bool,
    then: impl FnOnce(&Head<'_>) -> T,
) -> Result<Option<(usize, T)>, ProtocolError> {
    let mut headers = [const { MaybeUninit::<Header<'_>>::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let parsed = ParserConfig::default()
        .parse_response_with_uninit_headers(&mut response, input, &mut headers)
        .map_err(|error| ProtocolError::BadHead(reason(error)))?;
    let Status::Complete(length) = parsed else {
        return Ok(None);
    };
    let (Some(status), Some(minor)) = (response.code, response.version) else {
        return Err(ProtocolError::BadHead("the status line is incomplete"));
    };
    let headers: &[Header<'_>] = response.headers;
    if status < 100 {
        return Err(ProtocolError::BadHead("the status is below 100"));
    }
    let framing = framing(status, minor, headers, head_request)?;
    let head = Head {
        status,
        minor,
        headers,
        framing,
        keep_alive: framing != Framing::ToEnd && stays_open(minor, headers),
    };
    Ok(Some((length, then(&head))))
}

fn reason(error: httparse::Error) -> &'static str {
    match error {
        httparse::Error::HeaderName => "a header's name is malformed",
        httparse::Error::HeaderValue => "a header's value is malformed",
        httparse::Error::NewLine => "a line does not end as it must",
        httparse::Error::Status => "the status line is malformed",
        httparse::Error::Token => "there is a character where none may be",
        httparse::Error::TooManyHeaders => "it has more than 128 headers",
        httparse::Error::Version => "it does not begin with HTTP/1.0 or HTTP/1.1",
    }
}

/// RFC 9112, section 6.3. Where both are given, Transfer-Encoding wins over Content-Length.
fn framing(
    status: u16,
    minor: u8,
    headers: &[Header<'_>],
    head_request: bool,
) -> Result<Framing, ProtocolError> {
    if head_request || status < 200 || status == 204 || status == 304 {
        return Ok(Framing::None);
    }
    let mut length: Option<u64> = None;
    let mut coding: Option<&[u8]> = None;
    for header in headers {
        if header.name.eq_ignore_ascii_case("content-length") {
            for part in header.value.split(|byte| *byte == b',') {
                let value = digits(part.trim_ascii())
                    .ok_or(ProtocolError::BadHead("its Content-Length is not a size"))?;
                if length.is_some_and(|first| first != value) {
                    return Err(ProtocolError::BadHead(
                        "it has several Content-Lengths that differ",
                    ));
                }
                length = Some(value);
            }
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            coding = header.value.rsplit(|byte| *byte == b',').next();
        }
    }
    match coding {
        // Section 6.1: such framing is faulty whatever else is given.
        Some(_) if minor == 0 => Err(ProtocolError::BadHead(
            "HTTP/1.0 has no Transfer-Encoding, but it gives one",
        )),
        Some(last) if last.trim_ascii().eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
        Some(_) => Ok(Framing::ToEnd),
        None => Ok(length.map_or(Framing::ToEnd, Framing::Length)),
    }
}

fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

fn stays_open(minor: u8, headers: &[Header<'_>]) -> bool {
    let mut keep = false;
    for value in values(headers, "connection") {
        for token in value.split(|byte| *byte == b',') {
            let token = token.trim_ascii();
            if token.eq_ignore_ascii_case(b"close") {
                return false;
            }
            keep |= token.eq_ignore_ascii_case(b"keep-alive");
        }
    }
    minor == 1 || keep
}
