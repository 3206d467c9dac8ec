//! Whether a response counts: its status, headers and body against what is
//! expected. A body is compared in a stream with the wire body that was verified
//! first; where it differs, it is decoded on the fly and held against the expectation itself, so
//! that bodies that may differ do, and nothing is kept.

use super::coding::{Coding, Inflater};
use super::decoder::Sink;
use super::head::Head;
use std::io::{self, Write};
use std::sync::Arc;

/// Encoded bodies that differ from the first are decoded this often at first, then one in [`SAMPLE`].
const ALWAYS: u64 = 8;
/// Of so many encoded bodies that differ from the first, one is decoded. A wholly expected body always is.
const SAMPLE: u64 = 1000;

/// What a response must be like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectation {
    /// The status.
    pub status: u16,
    /// Headers that must be there, with this value; names in any case.
    pub headers: Vec<(String, String)>,
    /// Headers that must not be there.
    pub no_headers: Vec<String>,
    /// The whole body, decoded.
    pub body: Option<Vec<u8>>,
    /// Bytes somewhere in the decoded body.
    pub contains: Option<Vec<u8>>,
    /// The least size of the decoded body.
    pub min_size: Option<u64>,
}

/// Why a response does not count. Cheap, since failures come in floods;
/// [`Expectation::explain`] makes the sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Another status, this one.
    Status(u16),
    /// The header with this index among the expected ones is missing or different.
    Header(usize),
    /// The header with this index among the unwanted ones is there.
    Unwanted(usize),
    /// Another body.
    Body(BodyFault),
}

/// What is wrong with a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFault {
    /// The first byte that differs from the expected body.
    Differs(u64),
    /// It ends after so many bytes, and they are right.
    Short(u64),
    /// The expected words are not in it.
    Lacks,
    /// It is smaller than it must be; its size.
    Small(u64),
    /// Its content-encoding can't be taken off.
    Undecodable,
}

impl Expectation {
    /// Whether anything is said of the body.
    pub fn judges_body(&self) -> bool {
        self.body.is_some() || self.contains.is_some() || self.min_size.is_some()
    }

    /// Status and headers.
    pub fn check_head<'a, H>(&self, status: u16, headers: impl Fn() -> H) -> Result<(), Fault>
    where
        H: Iterator<Item = (&'a str, &'a [u8])>,
    {
        if status != self.status {
            return Err(Fault::Status(status));
        }
        let is = |given: &str, name: &str| given.eq_ignore_ascii_case(name);
        for (index, (name, value)) in self.headers.iter().enumerate() {
            let mut all = headers();
            if !all.any(|(given, got)| is(given, name) && got.trim_ascii() == value.as_bytes()) {
                return Err(Fault::Header(index));
            }
        }
        for (index, name) in self.no_headers.iter().enumerate() {
            if headers().any(|(given, _)| is(given, name)) {
                return Err(Fault::Unwanted(index));
            }
        }
        Ok(())
    }

    /// A whole decoded body.
    pub fn check_body(&self, body: &[u8]) -> Result<(), BodyFault> {
        let mut judge = Judge::new(self);
        judge.take(self, body);
        judge.verdict(self)
    }

    /// The fault in a sentence.
    pub fn explain(&self, fault: Fault) -> String {
        let show = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let cut: String = text.chars().take(80).collect();
            format!("{cut:?}")
        };
        match fault {
            Fault::Status(got) => format!("the status is {got}, expected {}", self.status),
            Fault::Header(index) => {
                let (name, value) = &self.headers[index];
                format!("the header {name:?} is not there with the expected value {value:?}")
            }
            Fault::Unwanted(index) => {
                format!(
                    "the header {:?} is there and should not be",
                    self.no_headers[index]
                )
            }
            Fault::Body(BodyFault::Differs(at)) => format!(
                "the body differs from the expected {} at byte {at}",
                show(self.body.as_deref().unwrap_or_default())
            ),
            Fault::Body(BodyFault::Short(size)) => format!(
                "the body ends after {size} bytes, expected {}",
                self.body.as_ref().map_or(0, Vec::len)
            ),
            Fault::Body(BodyFault::Lacks) => format!(
                "the body does not contain {}",
                show(self.contains.as_deref().unwrap_or_default())
            ),
            Fault::Body(BodyFault::Small(size)) => format!(
                "the body has {size} bytes, expected at least {}",
                self.min_size.unwrap_or_default()
            ),
            Fault::Body(BodyFault::Undecodable) => {
                "the body can't be decoded as its content-encoding says".to_owned()
            }
        }
    }
}

/// What every response of a load is held against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// What is expected.
    pub expect: Expectation,
    /// The body of the verified first response as it came; any body equal to it is right.
    pub wire: Vec<u8>,
    /// The content-encoding of that body.
    pub coding: Coding,
}

/// Judges one response after another of one connection.
pub struct Checker {
    against: Arc<Reference>,
    fault: Option<Fault>,
    status: u16,
    body_bytes: u64,
    body: Body,
    coding: Coding,
    varied: u64,
    /// The body differs from the reference and was not decoded, for only a sample is.
    unsampled: bool,
}

enum Body {
    /// Nothing is said of it, or the response has failed already.
    Free,
    /// So far equal to the reference.
    Equal,
    /// It differs from the reference, and is judged by what is expected.
    Judged(Box<Inflater<JudgeOut>>),
}

impl Checker {
    /// A checker against what was verified.
    pub fn new(against: Arc<Reference>) -> Self {
        Self {
            against,
            fault: None,
            status: 0,
            body_bytes: 0,
            body: Body::Free,
            coding: Coding::Identity,
            varied: 0,
            unsampled: false,
        }
    }

    /// Holds the next response to something else.
    pub fn hold_to(&mut self, against: &Arc<Reference>) {
        self.against = Arc::clone(against);
    }

    /// The status of the response that is being read; 0 before its head.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Body bytes of the response so far, as they came.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Makes ready for another response.
    pub fn reset(&mut self) {
        self.fault = None;
        self.status = 0;
        self.body_bytes = 0;
        self.body = Body::Free;
        self.unsampled = false;
    }

    /// Takes the head of a response, however it came.
    pub fn begin<'a, H>(&mut self, status: u16, headers: impl Fn() -> H)
    where
        H: Iterator<Item = (&'a str, &'a [u8])>,
    {
        self.status = status;
        self.fault = self.against.expect.check_head(status, &headers).err();
        if self.fault.is_some() || !self.against.expect.judges_body() {
            self.body = Body::Free;
            return;
        }
        let encodings = headers().filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
        self.coding = Coding::of(encodings.map(|(_, value)| value));
        self.body = Body::Equal;
        if self.coding != self.against.coding {
            self.differ(0);
        }
    }

    /// Takes a response as read and good whose bytes are those of one that was.
    pub fn repeat(&mut self, status: u16, body_bytes: u64) {
        self.reset();
        self.status = status;
        self.body_bytes = body_bytes;
    }

    /// Whether the verdict would be the same for every response with these bytes.
    pub fn is_final(&self) -> bool {
        !self.unsampled
    }

    /// The response is complete: does it count?
    pub fn verdict(&mut self) -> Result<(), Fault> {
        if let Body::Equal = self.body
            && self.body_bytes != self.against.wire.len() as u64
        {
            self.differ(self.body_bytes as usize);
        }
        if let Body::Judged(inflater) = std::mem::replace(&mut self.body, Body::Free) {
            let judged = match inflater.finish() {
                Ok(out) => out.judge.verdict(&self.against.expect),
                Err(_) => Err(BodyFault::Undecodable),
            };
            if let Err(fault) = judged {
                self.fault.get_or_insert(Fault::Body(fault));
            }
        }
        self.fault.map_or(Ok(()), Err)
    }

    /// From here on the body is not the reference, of which `same` bytes came first.
    fn differ(&mut self, same: usize) {
        let expect = &self.against.expect;
        let sampled = self.varied < ALWAYS || self.varied.is_multiple_of(SAMPLE);
        self.varied += 1;
        if expect.body.is_none() && self.coding != Coding::Identity && !sampled {
            self.body = Body::Free;
            self.unsampled = true;
            return;
        }
        let out = JudgeOut {
            judge: Judge::new(expect),
            against: Arc::clone(&self.against),
        };
        let judged = Inflater::new(&self.coding, out).and_then(|mut inflater| {
            inflater.write(&self.against.wire[..same])?;
            Ok(inflater)
        });
        if let Ok(inflater) = judged {
            self.body = Body::Judged(Box::new(inflater));
        } else {
            self.undecodable();
        }
    }

    fn undecodable(&mut self) {
        self.body = Body::Free;
        self.fault
            .get_or_insert(Fault::Body(BodyFault::Undecodable));
    }
}

impl Sink for Checker {
    fn head(&mut self, head: &Head<'_>) {
        let headers = || {
            let all = head.headers.iter();
            all.map(|header| (header.name, header.value))
        };
        self.begin(head.status, headers);
    }

    fn body(&mut self, piece: &[u8]) {
        let at = self.body_bytes as usize;
        self.body_bytes += piece.len() as u64;
        if let Body::Equal = self.body {
            if self.against.wire.get(at..at + piece.len()) == Some(piece) {
                return;
            }
            self.differ(at);
        }
        if let Body::Judged(inflater) = &mut self.body
            && inflater.write(piece).is_err()
        {
            self.undecodable();
        }
    }
}

/// Where the decoded bytes of a judged body go.
struct JudgeOut {
    judge: Judge,
    against: Arc<Reference>,
}

impl Write for JudgeOut {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.judge.take(&self.against.expect, piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Judges a decoded body in a stream.
struct Judge {
    size: u64,
    differs: Option<u64>,
    found: bool,
    /// The end of the last piece, in which the words may have begun.
    tail: Vec<u8>,
}

impl Judge {
    fn new(expect: &Expectation) -> Self {
        Self {
            size: 0,
            differs: None,
            found: expect.contains.as_ref().is_none_or(Vec::is_empty),
            tail: Vec::new(),
        }
    }

    fn take(&mut self, expect: &Expectation, piece: &[u8]) {
        if let Some(body) = &expect.body
            && self.differs.is_none()
        {
            let at = (self.size as usize).min(body.len());
            let rest = &body[at..];
            if !rest.starts_with(piece) {
                let same = rest.iter().zip(piece).take_while(|(a, b)| a == b).count();
                self.differs = Some(self.size + same as u64);
            }
        }
        self.size += piece.len() as u64;
        if let Some(words) = &expect.contains
            && !self.found
        {
            self.tail.extend_from_slice(piece);
            self.found = self.tail.windows(words.len()).any(|part| part == words);
            let keep = self.tail.len().saturating_sub(words.len() - 1);
            self.tail.drain(..keep);
        }
    }

    fn verdict(&self, expect: &Expectation) -> Result<(), BodyFault> {
        if let Some(at) = self.differs {
            return Err(BodyFault::Differs(at));
        }
        if let Some(body) = &expect.body
            && self.size < body.len() as u64
        {
            return Err(BodyFault::Short(self.size));
        }
        if !self.found {
            return Err(BodyFault::Lacks);
        }
        match expect.min_size {
            Some(least) if self.size < least => Err(BodyFault::Small(self.size)),
            _ => Ok(()),
        }
    }
}
