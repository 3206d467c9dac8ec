//! HTTP/1.1 as a measuring client needs it, without sockets: requests written
//! byte for byte as they were given, responses framed exactly as RFC 9112 says
//! (bodies are handed on in slices, never kept), content-encodings taken off, and the checks
//! that decide whether a response counts. What does I/O here is [`exchange`], a single request and response on
//! a stream that the caller opened, and [`Http2`], the same over HTTP/2.

mod check;
mod chunked;
mod coding;
mod decoder;
mod exchange;
mod head;
mod request;
mod two;

pub use check::{BodyFault, Checker, Expectation, Fault, Reference};
pub use coding::{Coding, CodingError};
pub use decoder::{Decoder, Ending, ProtocolError, Sink, Step};
pub use exchange::{Exchange, ExchangeError, exchange};
pub use head::{Framing, Head, MAX_HEAD, MAX_HEADERS};
pub use request::{HeadPart, Request, RequestError};
pub use two::{
    Answered, Body, Broken, Http2, Http2Request, Meter, Metered, Traffic, announced, is_cut,
    settings,
};
