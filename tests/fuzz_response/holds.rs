//! What must hold for any bytes that come as a response: the decoder ends without a panic, gives the same however the
//! bytes are split, and agrees with hyper's client, or differs from it in a way that [`DIFFERENCES`] names.

use hotlap::http::{Decoder, Head, ProtocolError, Sink, Step};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::{Request, Response};
use std::cell::Cell;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What is known of a response that was read to its end.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    /// Names in small letters, sorted; those of one name in their order.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    /// Whether the connection can carry another request.
    pub(crate) reusable: bool,
    /// Bytes behind the response.
    pub(crate) left: usize,
}

impl Sink for Seen {
    fn head(&mut self, head: &Head<'_>) {
        assert_eq!(self.status, 0, "a second head was told");
        self.status = head.status;
        let headers = head.headers.iter();
        self.headers = headers
            .map(|header| (header.name.to_ascii_lowercase(), header.value.to_vec()))
            .collect();
        self.headers.sort_by(|one, other| one.0.cmp(&other.0));
    }

    fn body(&mut self, piece: &[u8]) {
        assert!(self.status > 0, "a body was told before its head");
        assert!(!piece.is_empty(), "an empty piece of a body was told");
        self.body.extend_from_slice(piece);
    }
}

/// Decodes the pieces; false where only the end of the connection tells how it ends.
fn before_the_end(
    pieces: &[&[u8]],
    decoder: &mut Decoder,
    seen: &mut Seen,
) -> Result<bool, ProtocolError> {
    let mut left: usize = pieces.iter().map(|piece| piece.len()).sum();
    for piece in pieces {
        left -= piece.len();
        if let Step::Done(ending) = decoder.feed(piece, seen)? {
            seen.reusable = ending.reusable;
            seen.left = left + piece.len() - ending.consumed;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Decodes the pieces and then the end of the connection; tells whether it had to be waited for.
fn by_ours(pieces: &[&[u8]], head_request: bool) -> (Result<Seen, ProtocolError>, bool) {
    let mut decoder = Decoder::new(head_request);
    let mut seen = Seen::default();
    match before_the_end(pieces, &mut decoder, &mut seen) {
        Ok(true) => (Ok(seen), false),
        Err(error) => (Err(error), false),
        Ok(false) => (decoder.end().map(|_| seen), true),
    }
}

/// A connection whose other end answers the first request with these bytes.
struct Wire {
    bytes: Vec<u8>,
    at: Rc<Cell<usize>>,
    asked: bool,
    /// Whether the end comes behind the bytes; until then nothing does.
    ends: Rc<Cell<bool>>,
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut room: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = &self.bytes[self.at.get()..];
        if !self.asked || rest.is_empty() && !self.ends.get() {
            return Poll::Pending;
        }
        let size = rest.len().min(room.remaining());
        room.put_slice(&rest[..size]);
        let at = self.at.get() + size;
        self.as_mut().at.set(at);
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.asked = true;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Turns without anything new after which nothing will come by itself.
const QUIET: u32 = 6;

/// The same by hyper's client, without sockets and without a runtime: all that takes part is asked in turn. The
/// connection ends only where the response does not end without that.
pub(crate) fn by_hyper(bytes: &[u8], head_request: bool) -> Result<Seen, String> {
    let (at, ends) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
    let wire = Wire {
        bytes: bytes.to_vec(),
        at: Rc::clone(&at),
        asked: false,
        ends: Rc::clone(&ends),
    };
    let context = &mut Context::from_waker(Waker::noop());
    let opened = pin!(http1::Builder::new().max_headers(128).handshake(wire));
    let Poll::Ready(Ok((mut sender, mut connection))) = opened.poll(context) else {
        return Err("hyper can't begin".to_owned());
    };
    let method = if head_request { "HEAD" } else { "GET" };
    let request = Request::builder()
        .method(method)
        .uri("/")
        .header("host", "x")
        .body(String::new())
        .map_err(|error| error.to_string())?;
    let mut answer = pin!(sender.send_request(request));
    let mut response: Option<Response<Incoming>> = None;
    let mut seen = Seen::default();
    let mut over = false;
    let mut quiet = 0;
    loop {
        let before = (at.get(), seen.body.len(), response.is_some());
        over = over || Pin::new(&mut connection).poll(context).is_ready();
        let whole = match &mut response {
            None => match answer.as_mut().poll(context) {
                Poll::Pending => false,
                Poll::Ready(Err(error)) => return Err(format!("{error:?}")),
                Poll::Ready(Ok(got)) => {
                    response = Some(got);
                    false
                }
            },
            Some(response) => match Pin::new(response.body_mut()).poll_frame(context) {
                Poll::Pending => false,
                Poll::Ready(Some(Err(error))) => return Err(format!("{error:?}")),
                Poll::Ready(Some(Ok(frame))) => {
                    if let Some(piece) = frame.data_ref() {
                        seen.body.extend_from_slice(piece);
                    }
                    quiet = 0;
                    false
                }
                Poll::Ready(None) => true,
            },
        };
        if whole {
            break;
        }
        quiet += 1;
        if before != (at.get(), seen.body.len(), response.is_some()) {
            quiet = 0;
        }
        if quiet > QUIET && ends.replace(true) {
            return Err("hyper waits though the connection has ended".to_owned());
        }
        if quiet > QUIET {
            quiet = 0;
        }
    }
    for _ in 0..QUIET {
        over = over || Pin::new(&mut connection).poll(context).is_ready();
    }
    let Some(response) = response else {
        return Err("a body came without a response".to_owned());
    };
    seen.status = response.status().as_u16();
    let headers = response.headers().iter();
    seen.headers = headers
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect();
    seen.headers.sort_by(|one, other| one.0.cmp(&other.0));
    seen.reusable = !over && sender.is_ready();
    Ok(seen)
}

type Outcome<'a, E> = &'a Result<Seen, E>;

/// Something in which we are not as hyper is, on purpose.
pub(crate) struct Difference {
    pub(crate) name: &'static str,
    /// Why, with the section of RFC 9112 or RFC 9110 that leaves it to us or asks for it.
    #[expect(dead_code, reason = "it is for whoever reads this table")]
    pub(crate) reason: &'static str,
    /// A response that shows it.
    pub(crate) example: &'static [u8],
    /// Whether two outcomes differ in this.
    pub(crate) is_it: fn(Outcome<'_, ProtocolError>, Outcome<'_, String>) -> bool,
}

fn refused(
    ours: Outcome<'_, ProtocolError>,
    theirs: Outcome<'_, String>,
    words: &[&'static str],
) -> bool {
    let Err(ProtocolError::BadHead(reason) | ProtocolError::BadChunk(reason)) = ours else {
        return false;
    };
    words.contains(reason) && theirs.is_ok()
}

fn has(seen: &Seen, name: &str) -> bool {
    seen.headers.iter().any(|(given, _)| given == name)
}

fn not_text(seen: &Seen, name: &str) -> bool {
    let mut values = seen.headers.iter().filter(|(given, _)| given == name);
    values.any(|(_, value)| !value.is_ascii())
}

/// In everything else both are the same.
pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        name: "empty lines before the status line",
        reason: "RFC 9112, 2.2 lets servers skip them before a request, nobody before a response: they are bytes that \
                 no request asked for",
        example: b"\r\nHTTP/1.1 204 No Content\r\n\r\n",
        is_it: |ours, theirs| *ours == Err(ProtocolError::UnaskedBytes) && theirs.is_ok(),
    },
    Difference {
        name: "another protocol",
        reason: "RFC 9110, 15.2.2: 101 answers an Upgrade, and no load asks for one",
        example: b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        is_it: |ours, theirs| {
            matches!(ours, Err(ProtocolError::BadHead(_)))
                && matches!(theirs, Ok(seen) if seen.status == 101)
        },
    },
    Difference {
        name: "a wrong Content-Length beside Transfer-Encoding",
        reason: "RFC 9112, 6.3 (3): the pair ought to be handled as an error; where the length is none, it is",
        example:
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n0\r\n\r\n",
        is_it: |ours, theirs| {
            let words = [
                "its Content-Length is not a size",
                "it has several Content-Lengths that differ",
            ];
            refused(ours, theirs, &words)
                && matches!(theirs, Ok(seen) if has(seen, "transfer-encoding"))
        },
    },
    Difference {
        name: "bytes beyond ASCII among the tokens of a header",
        reason: "RFC 9110, 5.5 and 5.6.1: each member of a list stands for itself; hyper does not look at a list with \
                 such bytes at all",
        example: b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: \xff, close\r\n\r\n",
        is_it: |_, theirs| matches!(theirs, Ok(seen) if not_text(seen, "connection") || not_text(seen, "transfer-encoding")),
    },
    Difference {
        name: "a bare line feed in a trailer",
        reason: "RFC 9112, 2.2 lets a recipient take it for a line end; within the chunked coding we never do, as \
                 hyper does not elsewhere in it",
        example: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: a\n\r\n\r\n",
        is_it: |ours, theirs| refused(ours, theirs, &["a trailer holds a bare line feed"]),
    },
    Difference {
        name: "more than 32 interim responses",
        reason: "RFC 9110, 15.2 sets no limit; a load must not hang on a server that never comes to an end",
        example: INTERIM,
        is_it: |ours, theirs| {
            refused(
                ours,
                theirs,
                &["more than 32 interim responses came before it"],
            )
        },
    },
];

const INTERIM: &[u8] = &many_interim();

/// 33 interim responses and a final one.
const fn many_interim() -> [u8; 33 * 16 + 27] {
    let (one, last) = (b"HTTP/1.1 100\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n");
    let mut all = [0; 33 * 16 + 27];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < 33 * 16 {
            one[at % 16]
        } else {
            last[at - 33 * 16]
        };
        at += 1;
    }
    all
}

/// Whether the two outcomes are not the same. With more bytes behind the response its connection is of no use to either.
pub(crate) fn differ(ours: Outcome<'_, ProtocolError>, theirs: Outcome<'_, String>) -> bool {
    match (ours, theirs) {
        (Err(_), Err(_)) => false,
        (Ok(ours), Ok(theirs)) => {
            (ours.status, &ours.headers, &ours.body)
                != (theirs.status, &theirs.headers, &theirs.body)
                || ours.left == 0 && ours.reusable != theirs.reusable
        }
        _ => true,
    }
}

/// What is wrong between the two, if anything.
fn disagreement(ours: Outcome<'_, ProtocolError>, theirs: Outcome<'_, String>) -> Option<String> {
    let named = DIFFERENCES
        .iter()
        .any(|difference| (difference.is_it)(ours, theirs));
    (differ(ours, theirs) && !named)
        .then(|| format!("hyper differs: ours is {ours:?}, theirs is {theirs:?}"))
}

/// How both take these bytes as the answer to a GET.
pub(crate) fn outcomes(bytes: &[u8]) -> (Result<Seen, ProtocolError>, Result<Seen, String>) {
    (by_ours(&[bytes], false).0, by_hyper(bytes, false))
}

/// A cheap source of numbers that the bytes themselves decide.
struct Numbers(u64);

impl Numbers {
    fn of(bytes: &[u8]) -> Self {
        let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix))
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Partitions of the bytes: into single ones, and some into pieces of odd sizes.
fn partitions(bytes: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut numbers = Numbers::of(bytes);
    let mut all = vec![bytes.chunks(1).collect()];
    for longest in [2, 5, 40, 200, bytes.len()] {
        let (mut pieces, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() {
            let (piece, more) = rest.split_at((1 + numbers.below(longest)).min(rest.len()));
            pieces.push(piece);
            rest = more;
        }
        all.push(pieces);
    }
    all
}

/// What does not hold for these bytes as the answer to a GET and to a HEAD.
pub(crate) fn broken(bytes: &[u8]) -> Vec<String> {
    let mut broken = Vec::new();
    for head_request in [false, true] {
        let (at_once, waited) = by_ours(&[bytes], head_request);
        for pieces in partitions(bytes) {
            let (parts, waited_too) = by_ours(&pieces, head_request);
            // In the middle of a line a fault may be seen later.
            let late = bytes.ends_with(b"\n") && waited != waited_too;
            if late || kind(&parts) != kind(&at_once) {
                let sizes: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
                broken.push(format!(
                    "pieces of {sizes:?} give {parts:?} ({waited_too}), all at once {at_once:?} ({waited})"
                ));
            }
        }
        broken.extend(disagreement(&at_once, &by_hyper(bytes, head_request)));
    }
    broken
}

/// An outcome without the words of its failure, which may be seen at different places.
fn kind(outcome: &Result<Seen, ProtocolError>) -> Result<&Seen, ProtocolError> {
    outcome.as_ref().map_err(|error| match error {
        ProtocolError::BadHead(_) => ProtocolError::BadHead(""),
        ProtocolError::BadChunk(_) => ProtocolError::BadChunk(""),
        other => *other,
    })
}
