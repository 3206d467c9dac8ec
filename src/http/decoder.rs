//! The response decoder: bytes go in as they are read, in any pieces, and the
//! head and the slices of the body come out at a [`Sink`]. Nothing of a body is
//! kept. A head that arrives in one read is parsed where it lies; one that is
//! split is collected (64 KiB at most) and parsed once more at each end of a line, of which there are
//! few.

use super::chunked::Chunked;
use super::head::{Framing, Head, MAX_HEAD, parse};
use std::fmt;

/// Interim responses that are skipped before one final response.
const MAX_INTERIM: u8 = 32;

/// What is told of a response while it is read.
pub trait Sink {
    /// The head of the final response; interim ones are never told.
    fn head(&mut self, head: &Head<'_>);
    /// The next slice of the body, without framing, still in its content-encoding.
    fn body(&mut self, piece: &[u8]);
}

/// What a server did that is not HTTP/1.1, with the reason in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolError {
    /// The head can't be understood.
    BadHead(&'static str),
    /// The chunked coding is broken.
    BadChunk(&'static str),
    /// The connection ended inside the body.
    ShortBody,
    /// The connection ended before the first byte of a final response.
    ClosedEarly,
    /// Bytes that no request asked for.
    UnaskedBytes,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadHead(reason) => write!(f, "the head of the response is malformed: {reason}"),
            Self::BadChunk(reason) => {
                write!(f, "the chunked body of the response is malformed: {reason}")
            }
            Self::ShortBody => {
                f.write_str("the server closed the connection before the end of the body")
            }
            Self::ClosedEarly => {
                f.write_str("the server closed the connection without sending a response")
            }
            Self::UnaskedBytes => f.write_str("the server sent bytes that no request asked for"),
        }
    }
}

impl std::error::Error for ProtocolError {}

/// What became of some input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It was used up; the response goes on.
    More,
    /// The response is complete.
    Done(Ending),
}

/// The end of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// Bytes of this input that belong to the response. What lies behind them was not asked for.
    pub consumed: usize,
    /// Whether the server leaves the connection open for another request.
    pub reusable: bool,
}

#[derive(Debug, Clone)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    ToEnd,
    Done,
}

/// Reads one response after another; [`Decoder::reset`] between them.
#[derive(Debug, Clone)]
pub struct Decoder {
    state: State,
    /// The head so far, where it did not come in one piece.
    partial: Vec<u8>,
    head_request: bool,
    interim: u8,
    began: bool,
    reusable: bool,
}

impl Decoder {
    /// A decoder of responses to requests that are, or are not, HEAD.
    pub fn new(head_request: bool) -> Self {
        Self {
            state: State::Head,
            partial: Vec::new(),
            head_request,
            interim: 0,
            began: false,
            reusable: false,
        }
    }

    /// Makes ready for the response to the next request.
    pub fn reset(&mut self) {
        self.state = State::Head;
        self.partial.clear();
        self.interim = 0;
        self.began = false;
        self.reusable = false;
    }

    /// From the next response on, whether they answer HEAD.
    pub fn set_head_request(&mut self, head_request: bool) {
        self.head_request = head_request;
    }

    /// Interim responses that have come before the final one.
    pub fn interim(&self) -> u8 {
        self.interim
    }

    /// Whether any byte of the response, an interim one included, has come.
    pub fn began(&self) -> bool {
        self.began
    }

    /// Reads on in what came from the server.
    pub fn feed(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<Step, ProtocolError> {
        let mut at = 0;
        self.began |= !input.is_empty();
        loop {
            let rest = &input[at..];
            match &mut self.state {
                State::Head => match self.head(rest, sink)? {
                    Some(used) => at += used,
                    None => return Ok(Step::More),
                },
                State::Length(left) => {
                    let take = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    if take > 0 {
                        sink.body(&rest[..take]);
                    }
                    *left -= take as u64;
                    at += take;
                    if *left > 0 {
                        return Ok(Step::More);
                    }
                    self.state = State::Done;
                }
                State::Chunked(chunked) => {
                    let (used, done) = chunked.feed(rest, |piece| sink.body(piece))?;
                    at += used;
                    if !done {
                        return Ok(Step::More);
                    }
                    self.state = State::Done;
                }
                State::ToEnd => {
                    if !rest.is_empty() {
                        sink.body(rest);
                    }
                    return Ok(Step::More);
                }
                State::Done => {
                    return Ok(Step::Done(Ending {
                        consumed: at,
                        reusable: self.reusable,
                    }));
                }
            }
        }
    }

    /// The server closed the connection: the end of a body that ends so, else an error.
    pub fn end(&mut self) -> Result<Ending, ProtocolError> {
        let ending = Ending {
            consumed: 0,
            reusable: false,
        };
        match self.state {
            State::ToEnd | State::Done => {
                self.state = State::Done;
                Ok(ending)
            }
            State::Head if self.partial.is_empty() => Err(ProtocolError::ClosedEarly),
            State::Head => Err(ProtocolError::BadHead(
                "the connection ended in the middle of it",
            )),
            State::Length(_) | State::Chunked(_) => Err(ProtocolError::ShortBody),
        }
    }

    /// Reads a head, or a part of one. Gives the bytes used once it is complete.
    fn head(&mut self, rest: &[u8], sink: &mut impl Sink) -> Result<Option<usize>, ProtocolError> {
        let too_long = ProtocolError::BadHead("it is longer than 64 KiB");
        if rest.is_empty() {
            return Ok(None);
        }
        if self.partial.is_empty() {
            // httparse would skip empty lines, which in front of a response nothing asked for.
            if matches!(rest[0], b'\r' | b'\n') {
                return Err(ProtocolError::UnaskedBytes);
            }
            let input = &rest[..rest.len().min(MAX_HEAD)];
            if let Some((used, next)) = parse(input, self.head_request, |head| tell(head, sink))? {
                self.enter(next)?;
                return Ok(Some(used));
            }
        }
        for (index, byte) in rest.iter().enumerate() {
            if self.partial.len() == MAX_HEAD {
                return Err(too_long);
            }
            self.partial.push(*byte);
            // At each line end, so that what is wrong with a line is known before the next one, if any, comes. There are
            // no more lines than headers may be.
            if *byte != b'\n' {
                continue;
            }
            let parsed = parse(&self.partial, self.head_request, |head| tell(head, sink))?;
            let Some((_, next)) = parsed else {
                continue;
            };
            self.partial.clear();
            self.enter(next)?;
            return Ok(Some(index + 1));
        }
        Ok(None)
    }

    /// Goes from a head to what follows it.
    fn enter(&mut self, next: Next) -> Result<(), ProtocolError> {
        match next {
            Next::Interim(101) => Err(ProtocolError::BadHead(
                "it switches protocols (101), which no request asked for",
            )),
            Next::Interim(_) if self.interim == MAX_INTERIM => Err(ProtocolError::BadHead(
                "more than 32 interim responses came before it",
            )),
            Next::Interim(_) => {
                self.interim += 1;
                Ok(())
            }
            Next::Body {
                framing,
                keep_alive,
            } => {
                self.reusable = keep_alive;
                self.state = match framing {
                    Framing::None => State::Done,
                    Framing::Length(size) => State::Length(size),
                    Framing::Chunked => State::Chunked(Chunked::new()),
                    Framing::ToEnd => State::ToEnd,
                };
                Ok(())
            }
        }
    }
}

/// What follows a head.
#[derive(Clone, Copy)]
enum Next {
    Interim(u16),
    Body { framing: Framing, keep_alive: bool },
}

fn tell(head: &Head<'_>, sink: &mut impl Sink) -> Next {
    if head.status < 200 {
        return Next::Interim(head.status);
    }
    sink.head(head);
    Next::Body {
        framing: head.framing,
        keep_alive: head.keep_alive,
    }
}
