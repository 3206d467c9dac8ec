//! A connection with several requests in flight. Their responses come in the order in which they were sent, so that each read
//! belongs to the oldest one, and what is left of it to the next.
//!
//! What becomes of those behind when the connection ends:
//! - After a response that announces the close, or where the connection ends before the first byte of a response and has
//!   carried one before, nothing was said of the requests that are left. They are sent again, on a new connection, and
//!   counted as retried. Where no close was announced, whoever was sent twice by then fails as closed early; and where one
//!   of them must not come twice, as a POST, all fail.
//! - Where it breaks in any other way (a malformed or cut response, a time-out, bytes that nothing asked for), all that were
//!   sent on it fail by what broke it: no answer to them can come any more.

use super::{Connection, MOST_READS, Phase, Shared};
use crate::http::{Ending, ProtocolError, Step};
use crate::load::cause::Cause;
use crate::load::lane::Lane;
use crate::load::poller::Seen;
use crate::load::request::Room;
use crate::load::schedule::Due;
use crate::load::stream::Stream;
use crate::load::term::Pause;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Requests are written together up to so many bytes, in bytes.
const TOGETHER: usize = 64 * 1024;

/// A request that was taken on.
struct Ahead {
    /// Which of the load's requests it is.
    which: usize,
    room: Room,
    begun: Instant,
    /// When its first byte was written, the first time if it is sent again.
    written: Option<Instant>,
    /// Whether it was sent again though a server may have processed it.
    retried: bool,
    /// Where it begins among all bytes that were laid down for the connection.
    from: u64,
}

/// One connection and the requests that it is at.
pub(in crate::load) struct Pipeline {
    link: Connection,
    depth: usize,
    /// In the order in which they are sent.
    queue: VecDeque<Ahead>,
    /// How many of them have been handed to the socket, or lie in `out`.
    sent: usize,
    /// Bytes that are being written.
    out: Vec<u8>,
    out_written: usize,
    /// How many bytes were written for the connection before those in `out`.
    before: u64,
    /// What of the thread's buffer is not looked at yet; empty whenever another connection has its turn.
    rest: Range<usize>,
    /// So many of the oldest ones fail by this.
    failing: Option<(Cause, usize)>,
    opened: Instant,
    /// Room of requests that are over.
    spare: Vec<Room>,
}

impl Pipeline {
    /// Makes ready for the response to the oldest request.
    fn aim(&mut self, shared: &Shared) {
        let link = &mut self.link;
        if let Some(first) = self.queue.front() {
            if first.which != link.which {
                link.which = first.which;
                let request = &shared.job.requests[first.which];
                link.decoder.set_head_request(request.head_request);
                link.checker.hold_to(&shared.references[first.which]);
            }
            link.checker.reset();
            link.decoder.reset();
        }
    }

    fn close(&mut self) {
        self.link.close();
        self.out.clear();
        self.out_written = 0;
        self.before = 0;
        self.rest = 0..0;
        self.sent = 0;
        self.link.phase = if self.queue.is_empty() {
            Phase::Idle
        } else {
            Phase::Asked
        };
    }

    /// The connection is over, though not by the fault of those that were sent behind the first `answered` ones: they are sent
    /// again. Where it is not `known` that the server has not processed them, those that were sent again before fail by `cause`.
    fn send_again(&mut self, answered: usize, known: bool, cause: Cause, shared: &mut Shared) {
        let mut failing = 0;
        let begun = self.begun();
        for (at, ahead) in self
            .queue
            .iter_mut()
            .take(self.sent)
            .enumerate()
            .skip(answered)
        {
            if at >= begun {
                // It only lay ready.
                if !ahead.retried {
                    ahead.written = None;
                }
                continue;
            }
            if ahead.retried && !known {
                // The older ones were sent again first, so these lie in front.
                failing += 1;
                continue;
            }
            ahead.retried |= !known;
            shared.recorder.retried();
        }
        self.close();
        if failing > 0 {
            self.failing = Some((cause, failing));
        }
    }

    /// The connection broke, or could not be had.
    fn broken(&mut self, cause: Cause, shared: &mut Shared) {
        let idle = self.link.served && !self.link.decoder.began() && cause.may_be_an_idle_close();
        let mut begun = self.queue.iter().take(self.begun());
        if idle && begun.all(|ahead| shared.job.requests[ahead.which].idempotent) {
            self.send_again(0, false, cause, shared);
        } else {
            self.fail_all(cause);
        }
    }

    /// How many requests the server may have seen something of.
    fn begun(&self) -> usize {
        let written = self.before + self.out_written as u64;
        let sent = self.queue.iter().take(self.sent);
        sent.take_while(|ahead| ahead.from < written).count()
    }

    /// All that were sent fail; where none was, the oldest one.
    fn fail_all(&mut self, cause: Cause) {
        let failing = self.sent.max(1);
        self.close();
        self.failing = Some((cause, failing));
    }

    /// The next failure that is to be told.
    fn next_failure(&mut self) -> Option<Cause> {
        let (cause, left) = self.failing.take()?;
        if left > 1 {
            self.failing = Some((cause.again(), left - 1));
        }
        Some(cause)
    }

    /// Reads on in what has come; gives the end of the oldest request's response.
    fn read_on(&mut self, shared: &mut Shared) -> Option<Result<Ending, Cause>> {
        if self.rest.is_empty() {
            return None;
        }
        if self.sent == 0 {
            return Some(Err(ProtocolError::UnaskedBytes.into()));
        }
        let link = &mut self.link;
        let input = &shared.buffer[self.rest.clone()];
        let whole = !link.decoder.began();
        let known = &shared.known[link.which];
        if let Some(size) = known.begins(input).filter(|_| whole) {
            link.checker.repeat(known.status, known.body_bytes);
            self.rest.start += size;
            return Some(Ok(Ending {
                consumed: size,
                reusable: true,
            }));
        }
        match link.decoder.feed(input, &mut link.checker) {
            Ok(Step::More) => {
                self.rest = 0..0;
                None
            }
            Ok(Step::Done(ending)) => {
                link.fresh = whole.then_some(ending.consumed);
                self.rest.start += ending.consumed;
                Some(Ok(ending))
            }
            Err(error) => Some(Err(error.into())),
        }
    }

    /// Writes what there is to write and reads what there is to read, until a response is whole.
    fn turn(&mut self, shared: &mut Shared) -> Option<Result<Ending, Cause>> {
        for _ in 0..MOST_READS {
            if let Some(end) = self.read_on(shared) {
                return Some(end);
            }
            if shared.sated {
                return None;
            }
            // What comes before anything is written was not asked for.
            let early = if self.sent == 0 && self.link.served {
                self.link.receive(&mut shared.buffer)
            } else {
                None
            };
            let got = early.or_else(|| {
                self.write(shared);
                self.link.receive(&mut shared.buffer)
            });
            let size = match got? {
                Ok(size) => size,
                Err(error) => {
                    let written = self.link.write_error.take();
                    return Some(Err(written.map_or_else(
                        || Cause::of_reading(error),
                        |error| Cause::Write(error.into()),
                    )));
                }
            };
            if size == 0 {
                let ended = self.link.decoder.end();
                return Some(match (ended, self.link.write_error.take()) {
                    (Err(ProtocolError::ClosedEarly), Some(error)) => {
                        Err(Cause::Write(error.into()))
                    }
                    (Ok(_), _) if self.link.socket.as_ref().is_some_and(Stream::is_cut) => {
                        Err(Cause::Cut)
                    }
                    (ended, _) => ended.map_err(Cause::from),
                });
            }
            if self.sent > 0 {
                shared.recorder.bytes.received += size as u64;
            }
            self.rest = 0..size;
        }
        // What was read last is looked at before another connection overwrites it.
        self.read_on(shared)
    }

    /// The oldest request has its response.
    fn complete(&mut self, ending: Ending, shared: &mut Shared) -> Result<(), Cause> {
        let end = self.rest.start;
        let fresh = self.link.fresh.take().filter(|_| ending.reusable);
        let verdict = self.link.checker.verdict().map_err(Cause::Fault);
        if let Some(size) = fresh.filter(|_| verdict.is_ok() && self.link.checker.is_final()) {
            let checker = &self.link.checker;
            let bytes = &shared.buffer[end - size..end];
            shared.known[self.link.which].learn(bytes, checker.status(), checker.body_bytes());
        }
        self.link.served = true;
        if !ending.reusable {
            shared.recorder.closed_by_server();
            self.send_again(1, true, ProtocolError::ClosedEarly.into(), shared);
        } else if self.sent == 1 && !self.rest.is_empty() {
            self.close();
            return Err(ProtocolError::UnaskedBytes.into());
        } else if self.sent == 1 && !self.is_all_written() {
            // It was answered before it was all written.
            self.close();
        }
        verdict
    }

    fn is_all_written(&self) -> bool {
        self.out_written == self.out.len()
            && self.link.socket.as_ref().is_some_and(Stream::is_flushed)
    }

    /// Lays requests behind one another and writes them together.
    fn write(&mut self, shared: &mut Shared) {
        let link = &mut self.link;
        loop {
            if self.out_written == self.out.len() {
                self.before += self.out.len() as u64;
                self.out.clear();
                self.out_written = 0;
                while self.out.len() < TOGETHER
                    && let Some(next) = self.queue.get_mut(self.sent)
                {
                    let request = &shared.job.requests[next.which];
                    let from = self.out.len();
                    next.from = self.before + from as u64;
                    loop {
                        let rest = request.unwritten(&next.room, self.out.len() - from);
                        if rest.is_empty() {
                            break;
                        }
                        self.out.extend_from_slice(rest);
                    }
                    // One that is sent again has been waited for since it was first sent.
                    next.written.get_or_insert(next.begun.max(self.opened));
                    self.sent += 1;
                }
            }
            let rest = &self.out[self.out_written..];
            let Some(stream) = &mut link.socket else {
                return;
            };
            let idle = rest.is_empty() && stream.is_flushed();
            if idle || link.write_error.is_some() || !link.writable {
                return;
            }
            match stream.send(rest, &mut link.writable) {
                Ok(size) => {
                    self.out_written += size;
                    shared.recorder.bytes.sent += size as u64;
                }
                // Responses may be there all the same.
                Err(error) => link.write_error = Some(error),
            }
        }
    }

    /// Looks how far the opening is; none is not at its end.
    fn reached(&mut self, since: Instant, shared: &mut Shared) -> Option<Result<(), Cause>> {
        if let Err(cause) = self.link.reached(since, shared)? {
            return Some(Err(cause));
        }
        self.opened = Instant::now();
        for ahead in &self.queue {
            if ahead.written.is_none() {
                shared.recorder.waited(self.opened - since.max(ahead.begun));
            }
        }
        Some(Ok(()))
    }
}

impl Lane for Pipeline {
    fn new(index: usize, shared: &Shared) -> Self {
        let depth = shared.job.pipelining as usize;
        Self {
            link: Connection::new(index, shared),
            depth,
            queue: VecDeque::with_capacity(depth.min(1024)),
            sent: 0,
            out: Vec::new(),
            out_written: 0,
            before: 0,
            rest: 0..0,
            failing: None,
            opened: Instant::now(),
            spare: Vec::new(),
        }
    }

    fn phase(&self) -> Phase {
        self.link.phase
    }

    fn oldest(&self) -> Option<Instant> {
        self.queue.front().map(|ahead| ahead.begun)
    }

    fn has_room(&self) -> bool {
        self.queue.len() < self.depth
    }

    fn holds_bytes(&self) -> bool {
        !self.rest.is_empty()
    }

    fn is_hungry(&self) -> bool {
        self.link.is_hungry()
    }

    fn notice(&mut self, seen: Seen) -> bool {
        self.link.notice(seen)
    }

    fn prepare(&mut self, shared: &mut Shared) -> Result<(), Cause> {
        self.link.prepare(shared)
    }

    fn ask(&mut self, begun: Instant, _due: Option<Due>, shared: &mut Shared) {
        let which = shared.urn.draw();
        let mut room = self.spare.pop().unwrap_or_default();
        shared.job.requests[which].make(&mut room, &shared.job.numbers);
        self.queue.push_back(Ahead {
            which,
            room,
            begun,
            written: None,
            retried: false,
            from: 0,
        });
        if self.queue.len() == 1 {
            self.aim(shared);
        }
        if self.link.phase == Phase::Idle {
            self.link.phase = Phase::Asked;
        }
    }

    fn step(&mut self, shared: &mut Shared) -> Option<Result<(), Cause>> {
        loop {
            if let Some(cause) = self.next_failure() {
                return Some(Err(cause));
            }
            match self.link.phase {
                Phase::Idle | Phase::Held => return None,
                Phase::Asked if self.link.socket.is_none() => {
                    self.aim(shared);
                    if let Err(cause) = self.link.open(Instant::now(), shared) {
                        self.fail_all(cause);
                    }
                }
                Phase::Asked => self.link.phase = Phase::InFlight,
                Phase::Opening(since) if self.link.socket.is_none() => {
                    if !std::mem::take(&mut self.link.vacant) {
                        return None;
                    }
                    if let Err(cause) = self.link.open(since, shared) {
                        self.fail_all(cause);
                    }
                }
                Phase::Opening(since) => match self.reached(since, shared)? {
                    Ok(()) if self.queue.is_empty() => {
                        self.link.phase = Phase::Idle;
                        return Some(Ok(()));
                    }
                    Ok(()) => self.link.phase = Phase::InFlight,
                    Err(cause) if self.queue.is_empty() => {
                        self.close();
                        return Some(Err(cause));
                    }
                    Err(cause) => self.fail_all(cause),
                },
                Phase::InFlight => match self.turn(shared)? {
                    Ok(ending) => return Some(self.complete(ending, shared)),
                    Err(cause) => self.broken(cause, shared),
                },
            }
        }
    }

    fn break_off(&mut self, expired: bool, shared: &mut Shared) -> Result<(), Cause> {
        if expired {
            self.link.readable = true;
            if let Some(outcome) = self.step(shared) {
                return outcome;
            }
        }
        let cause = self.link.cause_of_end(expired);
        if self.queue.is_empty() || !expired {
            self.failing = None;
            self.close();
            return Err(cause);
        }
        self.fail_all(cause.again());
        Err(self.next_failure().unwrap_or(cause))
    }

    fn record(&mut self, outcome: Result<(), Cause>, now: Instant, shared: &mut Shared) {
        let Some(ahead) = self.queue.pop_front() else {
            return;
        };
        self.sent = self.sent.saturating_sub(1);
        let link = &mut self.link;
        let recorder = &mut shared.recorder;
        recorder.which = ahead.which;
        recorder.status(link.checker.status());
        match outcome {
            Ok(()) => {
                let written = ahead.written.unwrap_or(ahead.begun);
                recorder.success(written, None, now, link.checker.body_bytes());
                link.pause = Pause::default();
            }
            Err(Cause::Stopped) => recorder.unfinished(now - ahead.begun),
            Err(cause) => {
                let (job, expect) = (&shared.job, &shared.references[ahead.which].expect);
                let explain = || cause.explain(job, expect, shared.dialer.address());
                recorder.failure(cause.kind(), ahead.written, now, explain);
            }
        }
        self.spare.push(ahead.room);
        self.aim(shared);
        if self.queue.is_empty() {
            self.link.phase = Phase::Idle;
        }
    }

    fn hold(&mut self) -> Duration {
        self.link.hold()
    }

    fn release(&mut self) {
        // Its time may have run out in the pause, and it may be at something else by now.
        if self.link.phase == Phase::Held {
            self.link.phase = if self.queue.is_empty() {
                Phase::Idle
            } else {
                Phase::Asked
            };
        }
    }

    fn lacks_room(&self) -> bool {
        self.link.lacks_room()
    }

    fn try_again(&mut self) {
        self.link.try_again();
    }

    fn is_listening(&self) -> bool {
        self.link.is_listening()
    }

    fn look(&mut self, shared: &mut Shared) {
        self.link.look(shared);
    }
}
