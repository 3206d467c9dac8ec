//! One connection of the closed loop: it is opened, carries one request after
//! another, and is opened anew when it broke or the server closed it. It never waits: [`Connection::step`]
//! goes as far as the socket lets it, and is called again when the thread's [`Poller`] has seen something.

mod pipeline;

pub(super) use pipeline::Pipeline;

use super::cause::Cause;
use super::dial::{Dialer, established};
use super::job::{Job, Secure};
use super::known::Known;
use super::poller::{Poller, Seen};
use super::recorder::Recorder;
use super::request::Room;
use super::schedule::Due;
use super::stream::{Edges, Stream, TlsFault};
use super::term::Pause;
use super::urn::Urn;
use crate::http::{Checker, Decoder, Ending, ProtocolError, Reference, Step};
use rustix::io::Errno;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Reads after which the other connections of the thread have their turn.
const MOST_READS: usize = 16;

/// What the connections of one thread share.
pub(super) struct Shared {
    pub(super) job: Job,
    /// What the responses to each request are held against.
    pub(super) references: Vec<Arc<Reference>>,
    pub(super) urn: Urn,
    pub(super) recorder: Recorder,
    pub(super) poller: Poller,
    pub(super) dialer: Dialer,
    pub(super) secure: Option<Secure>,
    /// What is read; one buffer serves all connections.
    pub(super) buffer: Vec<u8>,
    /// Of each request.
    pub(super) known: Vec<Known>,
    /// Whether a connection has had its turn: it looks at what it has read, and reads no more.
    pub(super) sated: bool,
}

/// What a connection is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing, for as long as nobody asks.
    Idle,
    /// A request is to be sent.
    Asked,
    /// The connection is being opened since then.
    Opening(Instant),
    /// A request is being written, or its response read.
    InFlight,
    /// It pauses after a failed connect.
    Held,
}

/// The request that a connection is at.
#[derive(Debug, Clone, Copy)]
struct Asking {
    begun: Instant,
    /// When its first byte was written, the first time if it is sent again.
    written: Option<Instant>,
    retried: bool,
    /// When the schedule of an open loop wanted it.
    due: Option<Due>,
}

/// One connection.
pub(super) struct Connection {
    index: u32,
    /// Tells the events of this socket from those of the ones before it.
    generation: u32,
    socket: Option<Stream>,
    /// Whether it may be tried again to open one, where there was no room.
    vacant: bool,
    phase: Phase,
    /// A read may give something. After an edge all is read, until a read gives less than it could.
    readable: bool,
    writable: bool,
    /// The other end sends no more, or the connection broke: the end is still to be read.
    ended: bool,
    /// Whether this socket has carried a whole response.
    served: bool,
    /// Whether there was a socket before.
    was_opened: bool,
    asking: Option<Asking>,
    /// Which of the load's requests it is at.
    which: usize,
    /// The bytes of that one, where they are its own.
    room: Room,
    decoder: Decoder,
    checker: Checker,
    /// Bytes of the request that are written.
    written: usize,
    write_error: Option<Errno>,
    /// The size of the response where it lies whole in the buffer and is not known.
    fresh: Option<usize>,
    pause: Pause,
}

impl Connection {
    pub(super) fn new(index: usize, shared: &Shared) -> Self {
        Self {
            index: index as u32,
            generation: 0,
            socket: None,
            vacant: false,
            phase: Phase::Idle,
            readable: false,
            writable: false,
            ended: false,
            served: false,
            was_opened: false,
            asking: None,
            which: 0,
            room: Room::default(),
            decoder: Decoder::new(shared.job.requests[0].head_request),
            checker: Checker::new(Arc::clone(&shared.references[0])),
            written: 0,
            write_error: None,
            fresh: None,
            pause: Pause::default(),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// When the request was begun that it is at. While a connection is opened before the load it is at none.
    #[inline]
    pub(super) fn begun(&self) -> Option<Instant> {
        self.asking.map(|asking| asking.begun)
    }

    /// Whether it has stopped reading for the sake of the others. No event will say that there is more.
    pub(super) fn is_hungry(&self) -> bool {
        self.phase == Phase::InFlight && self.readable
    }

    /// The index of the connection that an event is of.
    pub(super) fn index_of(token: u64) -> usize {
        (token & u64::from(u32::MAX)) as usize
    }

    fn token(&self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// Takes note of an event. False where it is of a socket that is closed by now.
    pub(super) fn notice(&mut self, seen: Seen) -> bool {
        if seen.token != self.token() || self.socket.is_none() {
            return false;
        }
        self.readable |= seen.readable;
        self.writable |= seen.writable;
        self.ended |= seen.ended;
        true
    }

    /// Begins to open the connection before it is needed.
    pub(super) fn prepare(&mut self, shared: &mut Shared) -> Result<(), Cause> {
        self.asking = None;
        self.open(Instant::now(), shared)
    }

    /// Takes on a request, begun at `begun`; in an open loop it was `due` before.
    pub(super) fn ask(&mut self, begun: Instant, due: Option<Due>, shared: &mut Shared) {
        let which = shared.urn.draw();
        let request = &shared.job.requests[which];
        if which != self.which {
            self.which = which;
            self.decoder.set_head_request(request.head_request);
            self.checker.hold_to(&shared.references[which]);
        }
        request.make(&mut self.room, &shared.job.numbers);
        self.checker.reset();
        self.phase = Phase::Asked;
        self.asking = Some(Asking {
            begun,
            written: None,
            retried: false,
            due,
        });
    }

    /// Goes on until there is nothing to do but to wait. Gives the outcome where that is the end of a request,
    /// or of the opening before it.
    pub(super) fn step(&mut self, shared: &mut Shared) -> Option<Result<(), Cause>> {
        loop {
            let result = match self.phase {
                Phase::Idle | Phase::Held => return None,
                Phase::Asked if self.socket.is_none() => self.open(Instant::now(), shared),
                Phase::Asked => {
                    let begun = self.asking.map_or_else(Instant::now, |asking| asking.begun);
                    self.start(begun);
                    Ok(())
                }
                Phase::Opening(since) if self.socket.is_none() => {
                    if !std::mem::take(&mut self.vacant) {
                        return None;
                    }
                    self.open(since, shared)
                }
                Phase::Opening(since) => match self.reached(since, shared)? {
                    Ok(()) if self.asking.is_none() => {
                        self.phase = Phase::Idle;
                        return Some(Ok(()));
                    }
                    reached => reached,
                },
                Phase::InFlight => match self.turn(shared)? {
                    Ok(ending) => {
                        self.phase = Phase::Idle;
                        return Some(self.complete(ending, shared));
                    }
                    Err(cause) => self.broken(cause, shared),
                },
            };
            if let Err(cause) = result {
                self.close();
                self.phase = Phase::Idle;
                return Some(Err(cause));
            }
        }
    }

    /// Breaks off what the connection is at. What is there already is read first where its time is over.
    pub(super) fn break_off(&mut self, expired: bool, shared: &mut Shared) -> Result<(), Cause> {
        if expired {
            self.readable = true;
            if let Some(outcome) = self.step(shared) {
                return outcome;
            }
        }
        let cause = self.cause_of_end(expired);
        self.close();
        self.phase = Phase::Idle;
        Err(cause)
    }

    /// Why it is broken off, where its time is over or the load is stopped.
    fn cause_of_end(&self, expired: bool) -> Cause {
        let connecting = matches!(self.phase, Phase::Opening(_));
        let shaking = connecting && self.socket.as_ref().is_some_and(Stream::is_shaking);
        match (expired, connecting) {
            (false, _) => Cause::Stopped,
            (true, true) if shaking => TlsFault::Late.into(),
            (true, true) => Cause::ConnectTimeout,
            (true, false) => Cause::Timeout,
        }
    }

    /// Records how the request ended that the connection was at.
    pub(super) fn record(&mut self, outcome: Result<(), Cause>, now: Instant, shared: &mut Shared) {
        let Some(asking) = self.asking.take() else {
            return;
        };
        let recorder = &mut shared.recorder;
        recorder.which = self.which;
        recorder.status(self.checker.status());
        if let Some(due) = asking.due {
            recorder.paced_ended(due, now);
        }
        match outcome {
            Ok(()) => {
                let written = asking.written.unwrap_or(asking.begun);
                recorder.success(written, asking.due, now, self.checker.body_bytes());
                self.pause = Pause::default();
            }
            Err(Cause::Stopped) => recorder.unfinished(now - asking.begun),
            Err(cause) => {
                let (job, expect) = (&shared.job, &shared.references[self.which].expect);
                let explain = || cause.explain(job, expect, shared.dialer.address());
                recorder.failure(cause.kind(), asking.written, now, explain);
            }
        }
    }

    /// Pauses; a dead server must not make a busy loop. Gives for how long.
    pub(super) fn hold(&mut self) -> Duration {
        self.phase = Phase::Held;
        self.pause.next()
    }

    /// The pause is over.
    pub(super) fn release(&mut self) {
        self.phase = Phase::Idle;
    }

    /// Whether there was no room for it, so that no event will come and it has to be tried again.
    pub(super) fn lacks_room(&self) -> bool {
        matches!(self.phase, Phase::Opening(_)) && self.socket.is_none()
    }

    /// There may be room now.
    pub(super) fn try_again(&mut self) {
        self.vacant = true;
    }

    /// Whether there may come something that nothing asked for.
    pub(super) fn is_listening(&self) -> bool {
        self.socket.is_some() && self.served
    }

    /// Looks once more at a connection that carries no more requests: a server that sends more than it
    /// is asked for has its answers counted for other requests than they belong to.
    pub(super) fn look(&mut self, shared: &mut Shared) {
        match self.receive(&mut shared.buffer) {
            None => return,
            Some(Ok(1..)) => shared.recorder.connections.surplus += 1,
            Some(_) => {}
        }
        self.close();
    }

    fn close(&mut self) {
        if let Some(stream) = self.socket.take() {
            stream.part();
        }
        self.generation = self.generation.wrapping_add(1);
        self.served = false;
        self.write_error = None;
    }

    fn open(&mut self, since: Instant, shared: &mut Shared) -> Result<(), Cause> {
        let socket = match shared.dialer.begin() {
            Ok(socket) => socket,
            // No connection over TCP is refused so: the kernel waits by itself.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.phase = Phase::Opening(since);
                return Ok(());
            }
            Err(error) => return Err(Cause::Connect(error)),
        };
        (self.readable, self.writable, self.ended) = (false, false, false);
        let added = shared.poller.add(&socket, self.token());
        added.map_err(Cause::Connect)?;
        self.socket = Some(Stream::new(socket, shared.secure.as_ref())?);
        self.phase = Phase::Opening(since);
        Ok(())
    }

    /// Looks how far the opening is; none is not at its end. A handshake is a part of it.
    fn reached(&mut self, since: Instant, shared: &mut Shared) -> Option<Result<(), Cause>> {
        let stream = self.socket.as_mut()?;
        if !stream.is_shaking() {
            if !self.writable {
                return None;
            }
            if let Err(error) = established(stream.socket()) {
                return Some(Err(Cause::Connect(error)));
            }
        }
        if let Stream::Tls(session) = stream {
            let mut edges = Edges {
                readable: &mut self.readable,
                writable: &mut self.writable,
                ended: self.ended,
            };
            if let Err(fault) = session.shake(&mut shared.buffer, &mut edges)? {
                return Some(Err(fault.into()));
            }
        }
        self.opened(since, shared);
        Some(Ok(()))
    }

    /// The connection is there.
    fn opened(&mut self, since: Instant, shared: &mut Shared) {
        let now = Instant::now();
        let replaces = self.was_opened && shared.job.keep_alive;
        // Of a request that is sent again the service time has begun.
        let waited = self.asking.is_some_and(|asking| asking.written.is_none());
        shared.recorder.connected(now - since, replaces, waited);
        self.was_opened = true;
        if self.asking.is_some() {
            self.start(now);
        }
    }

    /// The first byte of the request is about to be written, at `now`.
    fn start(&mut self, now: Instant) {
        if let Some(asking) = &mut self.asking {
            // A request that is sent again has been waited for since it was first sent.
            asking.written.get_or_insert(now);
        }
        self.decoder.reset();
        self.written = 0;
        self.phase = Phase::InFlight;
    }

    /// Tries once more where an idle connection turned out to be closed. A request that must not come twice is tried again only
    /// if nothing of it was written.
    fn broken(&mut self, cause: Cause, shared: &mut Shared) -> Result<(), Cause> {
        let reused = self.served;
        let repeatable = self.written == 0 || shared.job.requests[self.which].idempotent;
        self.close();
        let Some(asking) = &mut self.asking else {
            return Err(cause);
        };
        let fresh = !reused || asking.retried || self.decoder.began();
        if fresh || !repeatable || !cause.may_be_an_idle_close() {
            return Err(cause);
        }
        asking.retried = true;
        shared.recorder.retried();
        self.phase = Phase::Asked;
        Ok(())
    }

    fn complete(&mut self, ending: Ending, shared: &mut Shared) -> Result<(), Cause> {
        self.served = true;
        let keep_alive = shared.job.keep_alive;
        if !ending.reusable && keep_alive {
            shared.recorder.closed_by_server();
        }
        let whole = self.unwritten(shared).is_empty()
            && self.socket.as_ref().is_some_and(Stream::is_flushed);
        let fresh = self.fresh.take().filter(|_| ending.reusable);
        if !(ending.reusable && keep_alive && whole) {
            self.close();
        }
        let checker = &mut self.checker;
        checker.verdict().map_err(Cause::Fault)?;
        if let Some(size) = fresh.filter(|_| checker.is_final()) {
            let bytes = &shared.buffer[..size];
            shared.known[self.which].learn(bytes, checker.status(), checker.body_bytes());
        }
        Ok(())
    }

    /// Writes what is left of the request and reads what there is of the response; none is more to wait for.
    fn turn(&mut self, shared: &mut Shared) -> Option<Result<Ending, Cause>> {
        if self.served && self.written == 0 && self.write_error.is_none() {
            // Asks the kernel only where something has been seen to arrive.
            match self.receive(&mut shared.buffer) {
                None => {}
                Some(Ok(0)) => return Some(Err(ProtocolError::ClosedEarly.into())),
                Some(Ok(_)) => return Some(Err(ProtocolError::UnaskedBytes.into())),
                Some(Err(error)) => return Some(Err(Cause::of_reading(error))),
            }
        }
        self.write(shared);
        for _ in 0..MOST_READS {
            let size = match self.receive(&mut shared.buffer)? {
                Ok(size) => size,
                Err(error) => {
                    let written = self.write_error.take();
                    return Some(Err(written.map_or_else(
                        || Cause::of_reading(error),
                        |error| Cause::Write(error.into()),
                    )));
                }
            };
            if size == 0 {
                let ended = self.decoder.end();
                return Some(match (ended, self.write_error.take()) {
                    (Err(ProtocolError::ClosedEarly), Some(error)) => {
                        Err(Cause::Write(error.into()))
                    }
                    (Ok(_), _) if self.socket.as_ref().is_some_and(Stream::is_cut) => {
                        Err(Cause::Cut)
                    }
                    (ended, _) => ended.map_err(Cause::from),
                });
            }
            shared.recorder.bytes.received += size as u64;
            let input = &shared.buffer[..size];
            let whole = !self.decoder.began();
            let known = &shared.known[self.which];
            if whole && known.is(input) {
                self.checker.repeat(known.status, known.body_bytes);
                return Some(Ok(Ending {
                    consumed: size,
                    reusable: true,
                }));
            }
            match self.decoder.feed(input, &mut self.checker) {
                Ok(Step::More) => {}
                Ok(Step::Done(ending)) if ending.consumed == size => {
                    self.fresh = whole.then_some(size);
                    return Some(Ok(ending));
                }
                Ok(Step::Done(_)) => return Some(Err(ProtocolError::UnaskedBytes.into())),
                Err(error) => return Some(Err(error.into())),
            }
        }
        None
    }

    /// What is left to be written of the request.
    fn unwritten<'s>(&'s self, shared: &'s Shared) -> &'s [u8] {
        shared.job.requests[self.which].unwritten(&self.room, self.written)
    }

    fn write(&mut self, shared: &mut Shared) {
        let Some(stream) = &mut self.socket else {
            return;
        };
        let request = &shared.job.requests[self.which];
        while self.write_error.is_none() && self.writable {
            let rest = request.unwritten(&self.room, self.written);
            if rest.is_empty() && stream.is_flushed() {
                return;
            }
            match stream.send(rest, &mut self.writable) {
                Ok(size) => {
                    self.written += size;
                    shared.recorder.bytes.sent += size as u64;
                }
                // The response may be there all the same.
                Err(error) => self.write_error = Some(error),
            }
        }
    }

    /// Reads what there is into the buffer. 0 is the end of the stream; none, nothing yet.
    fn receive(&mut self, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        let stream = self.socket.as_mut()?;
        stream.receive(buffer, &mut self.readable, self.ended)
    }
}
