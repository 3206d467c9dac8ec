//! What is sent, made ready: a request whose bytes are the same each time, or the parts that each one is put together
//! from. The parts are what a `path_file`, a counter and numbers by chance need; who has none of them costs nothing.

use super::files::{Files, FilesError, Paths};
use crate::http::{Expectation, HeadPart, Request, RequestError};
use crate::spec::{self, Expect, Fill, MixRequest, Piece, Text};
use std::fmt;
use std::io::Write as _;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A body of at most so many bytes is copied behind its head where the head is put together, so that both are written at once.
const COPIED: usize = 16 * 1024;

/// Why a load can't be sent as it is written.
#[derive(Debug)]
pub enum JobError {
    /// A request is none.
    Request(RequestError),
    /// A file that it is made from can't be had.
    Files(FilesError),
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(f),
            Self::Files(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for JobError {}

impl From<RequestError> for JobError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl From<FilesError> for JobError {
    fn from(error: FilesError) -> Self {
        Self::Files(error)
    }
}

/// Methods of which a request may come twice (RFC 9110, section 9.2.2).
const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"];

/// One request of a load, as it is sent and judged.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    /// What people call it: `GET /items`.
    pub(super) name: String,
    /// How often it is sent, compared with the others.
    pub(super) weight: u32,
    pub(super) head_request: bool,
    /// Whether it means the same to the server if it comes twice.
    pub(super) idempotent: bool,
    pub(super) expect: Expectation,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// The same bytes each time.
    Fixed(Arc<[u8]>),
    /// Put together each time.
    Made(Arc<Made>),
}

/// What a request is put together from.
#[derive(Debug)]
struct Made {
    /// All bytes that stand in it each time.
    bytes: Vec<u8>,
    parts: Vec<Part>,
    /// Where the body begins among the parts, if its length differs from one to the next.
    body_from: usize,
    /// A body that is too large to be copied.
    body: Vec<u8>,
    paths: Option<Paths>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// These of the bytes.
    Bytes(Range<usize>),
    Path,
    Counter,
    Random(u64, u64),
    /// The length of the body, in digits.
    Length,
}

/// Where the requests of a trial are counted, those of the verification and the warm-up too: every thread and every
/// round goes on from here.
#[derive(Debug)]
pub(super) struct Numbers {
    sent: AtomicU64,
    seed: u64,
}

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            sent: AtomicU64::new(0),
            seed,
        }
    }
}

/// What is put together by one connection, in room that it uses again.
#[derive(Debug, Default)]
pub(super) struct Room {
    bytes: Vec<u8>,
    body: Vec<u8>,
}

impl Prepared {
    /// The request of a load that has one.
    pub(super) fn single(
        request: &spec::Request,
        expect: &Expect,
        with: &With<'_>,
    ) -> Result<Self, JobError> {
        Self::new(request, None, 1, expect, with)
    }

    /// A request of a mix.
    pub(super) fn of_mix(one: &MixRequest, with: &With<'_>) -> Result<Self, JobError> {
        let paths = match &one.path_file {
            Some(file) => Some(with.files.paths(file)?),
            None => None,
        };
        let mut prepared = Self::new(&one.request, paths, one.weight, &one.expect, with)?;
        if let Some(file) = &one.path_file {
            prepared.name = format!("{} {}", one.request.method, file.path);
        }
        Ok(prepared)
    }

    fn new(
        request: &spec::Request,
        paths: Option<Paths>,
        weight: u32,
        expect: &Expect,
        with: &With<'_>,
    ) -> Result<Self, JobError> {
        let fill = with.fill;
        let headers: Vec<(String, String)> = request
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.fill(fill)))
            .collect();
        let body = match (&request.body_file, &request.body) {
            (Some(file), _) => Some(with.files.read(file)?),
            (None, Some(text)) => Some(text.fill(fill).into_bytes()),
            (None, None) => None,
        };
        let first = paths.as_ref().map(|paths| paths.get(0));
        let target = match first {
            Some(path) => String::from_utf8_lossy(path).into_owned(),
            None => request.path.fill(fill),
        };
        let whole = Request {
            method: &request.method,
            target: &target,
            headers: &headers,
            body: body.as_deref(),
            authority: with.authority,
            keep_alive: with.keep_alive,
        };
        let form = if request.varies() || paths.is_some() {
            Form::Made(Arc::new(Made::new(request, &whole, paths, fill)?))
        } else {
            Form::Fixed(whole.to_bytes()?.into())
        };
        Ok(Self {
            name: format!("{} {}", request.method, request.path),
            weight,
            head_request: request.method == "HEAD",
            idempotent: IDEMPOTENT.contains(&request.method.as_str()),
            expect: expectation(expect),
            form,
        })
    }

    /// Whether its bytes are the same each time.
    pub(super) fn is_fixed(&self) -> bool {
        matches!(self.form, Form::Fixed(_))
    }

    /// Makes the next one. What has the same bytes each time is there already.
    #[inline]
    pub(super) fn make(&self, room: &mut Room, numbers: &Numbers) {
        if let Form::Made(made) = &self.form {
            let number = numbers.sent.fetch_add(1, Ordering::Relaxed) + 1;
            let path = made.paths.as_ref().map(Paths::take);
            made.lay(room, number, path, numbers.seed);
        }
    }

    /// What is to be written after `written` bytes of the one that was made last; empty at its end.
    #[inline]
    pub(super) fn unwritten<'r>(&'r self, room: &'r Room, written: usize) -> &'r [u8] {
        match &self.form {
            Form::Fixed(bytes) => &bytes[written.min(bytes.len())..],
            Form::Made(made) => match room.bytes.get(written..) {
                Some(rest) if !rest.is_empty() => rest,
                _ => &made.body[(written - room.bytes.len()).min(made.body.len())..],
            },
        }
    }

    /// Some whole requests for the verification: one, or of a `path_file` `most` that lie evenly in it, its first among them.
    pub(super) fn samples(&self, most: usize, numbers: &Numbers) -> Vec<Vec<u8>> {
        let Form::Made(made) = &self.form else {
            return vec![self.unwritten(&Room::default(), 0).to_vec()];
        };
        let count = made.paths.as_ref().map_or(1, Paths::len);
        let asked = count.min(most);
        let sample = |index: usize| {
            let mut room = Room::default();
            let number = numbers.sent.fetch_add(1, Ordering::Relaxed) + 1;
            made.lay(&mut room, number, Some(index * count / asked), numbers.seed);
            let mut whole = room.bytes;
            whole.extend_from_slice(&made.body);
            whole
        };
        (0..asked).map(sample).collect()
    }
}

/// What requests are filled with.
pub(super) struct With<'a> {
    pub(super) fill: &'a Fill,
    pub(super) authority: &'a str,
    pub(super) keep_alive: bool,
    pub(super) files: &'a Files,
}

impl Made {
    fn new(
        request: &spec::Request,
        whole: &Request<'_>,
        paths: Option<Paths>,
        fill: &Fill,
    ) -> Result<Self, RequestError> {
        let mut made = Self {
            bytes: Vec::new(),
            parts: Vec::new(),
            body_from: usize::MAX,
            body: Vec::new(),
            paths,
        };
        let body = request.body.as_ref().filter(|body| body.varies());
        let size = whole.body.map_or(0, <[u8]>::len);
        whole.head(|part| match part {
            HeadPart::Text(text) => made.push(text.as_bytes()),
            HeadPart::Target if made.paths.is_some() => made.parts.push(Part::Path),
            HeadPart::Target => made.push_text(&request.path, fill),
            HeadPart::Value(index) => made.push_text(&request.headers[index].1, fill),
            HeadPart::Length if body.is_some() => made.parts.push(Part::Length),
            HeadPart::Length => made.push(size.to_string().as_bytes()),
        })?;
        match (body, whole.body) {
            (Some(body), _) => {
                // A part of its own, so that the head can be laid without it.
                made.body_from = made.parts.len();
                made.push_text(body, fill);
            }
            (None, Some(body)) if body.len() > COPIED => made.body = body.to_vec(),
            (None, Some(body)) => made.push(body),
            (None, None) => {}
        }
        Ok(made)
    }

    fn push(&mut self, bytes: &[u8]) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let to = self.bytes.len();
        let in_body = self.parts.len() == self.body_from;
        match self.parts.last_mut() {
            Some(Part::Bytes(range)) if range.end == from && !in_body => range.end = to,
            _ => self.parts.push(Part::Bytes(from..to)),
        }
    }

    fn push_text(&mut self, text: &Text, fill: &Fill) {
        for piece in text.pieces(fill) {
            match piece {
                Piece::Text(text) => self.push(text.as_bytes()),
                Piece::Counter => self.parts.push(Part::Counter),
                Piece::Random(low, high) => self.parts.push(Part::Random(low, high)),
            }
        }
    }

    /// Puts the request with this number together, with the path that has this index.
    fn lay(&self, room: &mut Room, number: u64, path: Option<usize>, seed: u64) {
        room.bytes.clear();
        room.body.clear();
        let (head, body) = self.parts.split_at(self.body_from.min(self.parts.len()));
        let mut draws = Draws::new(seed, number);
        for part in body {
            self.put(part, &mut room.body, number, None, &mut draws);
        }
        let length = room.body.len();
        for part in head {
            if *part == Part::Length {
                // Writing to a Vec can't fail.
                let _ = write!(room.bytes, "{length}");
            } else {
                self.put(part, &mut room.bytes, number, path, &mut draws);
            }
        }
        room.bytes.extend_from_slice(&room.body);
    }

    fn put(
        &self,
        part: &Part,
        out: &mut Vec<u8>,
        number: u64,
        path: Option<usize>,
        draws: &mut Draws,
    ) {
        // Writing to a Vec can't fail.
        match part {
            Part::Bytes(range) => out.extend_from_slice(&self.bytes[range.clone()]),
            Part::Path => {
                if let (Some(paths), Some(index)) = (&self.paths, path) {
                    out.extend_from_slice(paths.get(index));
                }
            }
            Part::Counter => {
                let _ = write!(out, "{number}");
            }
            Part::Random(low, high) => {
                let _ = write!(out, "{}", draws.between(*low, *high));
            }
            Part::Length => {}
        }
    }
}

/// Numbers by chance that follow from the seed and the number of the request alone, so that a request is the same
/// whichever thread sends it: `SplitMix64` (Steele, Lea, Flood 2014).
struct Draws(u64);

/// The golden gamma of `SplitMix64`.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draws {
    fn new(seed: u64, number: u64) -> Self {
        // Mixed, so that one request's second number is not the next one's first.
        Self(mix(seed ^ mix(number.wrapping_mul(GAMMA))))
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        let all = u128::from(high - low) + 1;
        // The high half of the product is even to 1 in 2⁶⁴ (Lemire 2019, without the rejection).
        low + ((u128::from(mix(self.0)) * all) >> 64) as u64
    }
}

/// The finaliser of `SplitMix64`.
pub(super) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn expectation(expect: &Expect) -> Expectation {
    let bytes = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
    Expectation {
        status: expect.status,
        headers: expect.headers.clone(),
        no_headers: expect.no_headers.clone(),
        body: bytes(&expect.body),
        contains: bytes(&expect.contains),
        min_size: expect.min_size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn prepared(request: &spec::Request) -> Prepared {
        let with = With {
            fill: &Fill::default(),
            authority: "h:1",
            keep_alive: true,
            files: &Files::default(),
        };
        Prepared::single(request, &Expect::default(), &with).unwrap()
    }

    fn next(prepared: &Prepared, room: &mut Room, numbers: &Numbers) -> String {
        prepared.make(room, numbers);
        let (mut out, mut written) = (Vec::new(), 0);
        loop {
            let rest = prepared.unwritten(room, written);
            if rest.is_empty() {
                return String::from_utf8(out).unwrap();
            }
            out.push(rest[0]);
            written += 1;
        }
    }

    #[test]
    fn what_varies_is_put_in_and_the_length_is_that_of_the_body() {
        let request = spec::Request {
            method: "POST".to_owned(),
            path: Text::from("/a{{ counter }}"),
            headers: vec![("X-N".to_owned(), Text::from("n{{ counter }}"))],
            body: Some(Text::from("{{ counter }}:{{ random(5, 5) }}")),
            body_file: None,
        };
        let (prepared, numbers) = (prepared(&request), Numbers::new(1));
        let mut room = Room::default();
        for number in 1..=10 {
            let body = format!("{number}:5");
            assert_eq!(
                next(&prepared, &mut room, &numbers),
                format!(
                    "POST /a{number} HTTP/1.1\r\nHost: h:1\r\nX-N: n{number}\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                )
            );
        }
    }

    #[test]
    fn what_is_fixed_stays_and_costs_no_number() {
        let (prepared, numbers) = (prepared(&spec::Request::default()), Numbers::new(1));
        let mut room = Room::default();
        for _ in 0..3 {
            let text = next(&prepared, &mut room, &numbers);
            assert_eq!(text, "GET / HTTP/1.1\r\nHost: h:1\r\n\r\n");
        }
        assert_eq!(numbers.sent.load(Ordering::Relaxed), 0);
        assert_eq!(room.bytes.capacity(), 0);
    }

    #[test]
    fn a_large_body_behind_a_made_head_is_not_copied() {
        let body = "x".repeat(COPIED + 1);
        let request = spec::Request {
            path: Text::from("/{{ counter }}"),
            body: Some(Text::literal(body.as_str())),
            ..spec::Request::default()
        };
        let (prepared, numbers) = (prepared(&request), Numbers::new(1));
        let mut room = Room::default();
        let text = next(&prepared, &mut room, &numbers);
        assert!(text.ends_with(&format!("Content-Length: {}\r\n\r\n{body}", body.len())));
        assert!(room.bytes.len() < 200);
    }

    #[test]
    fn chance_follows_from_seed_and_number_and_is_even() {
        let draw = |seed, number| Draws::new(seed, number).between(1, 6);
        assert_eq!(draw(7, 3), draw(7, 3));
        let of = |seed| (1..50).map(|n| draw(seed, n)).collect::<Vec<_>>();
        assert_ne!(of(1), of(2));
        let mut counts = [0u32; 7];
        for number in 0..60_000 {
            counts[draw(1, number) as usize] += 1;
        }
        // Five standard deviations of a binomial count.
        assert!(
            counts[1..].iter().all(|n| n.abs_diff(10_000) < 460),
            "{counts:?}"
        );
        assert_eq!(counts[0], 0);
        let wide: BTreeSet<u64> = (0..100)
            .map(|n| Draws::new(1, n).between(0, u64::MAX))
            .collect();
        assert_eq!(wide.len(), 100);
    }
}
