//! One connection of the closed loop: it is opened, carries one request after
//! another, and is opened anew when it broke or the server closed it.

use super::slots::Signal;
use super::worker::Shared;
use crate::http::{Checker, Decoder, Ending, Fault, ProtocolError, Step};
use crate::record::ErrorKind;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The first pause after a failed connect; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How long bytes that nothing asked for are waited for when all is over, by all connections at once.
const SURPLUS_GRACE: Duration = Duration::from_millis(50);

/// Opens a connection for requests that are written in one piece.
pub(super) async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    // The kernel may give a closed port of the ephemeral range to the connecting
    // socket itself, which then talks to nobody but itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Why a request did not succeed.
enum Cause {
    Connect(io::Error),
    ConnectTimeout,
    Write(io::Error),
    Read(io::Error),
    Protocol(ProtocolError),
    Timeout,
    Fault(Fault),
    /// The load was stopped.
    Stopped,
}

impl From<ProtocolError> for Cause {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

pub(super) struct Connection {
    shared: Rc<Shared>,
    index: usize,
    stream: Option<TcpStream>,
    /// Whether this stream has carried a whole response.
    served: bool,
    /// Whether there was a stream before.
    opened: bool,
    decoder: Decoder,
    checker: Checker,
    written: usize,
    write_error: Option<io::Error>,
    pause: Duration,
}

impl Connection {
    pub(super) fn new(shared: Rc<Shared>, index: usize) -> Self {
        Self {
            index,
            stream: None,
            served: false,
            opened: false,
            decoder: Decoder::new(shared.job.head_request),
            checker: Checker::new(shared.reference.clone()),
            written: 0,
            write_error: None,
            pause: FIRST_PAUSE,
            shared,
        }
    }

    /// Opens the connection before it is needed. A failure shows again, and counts, at the first request.
    pub(super) async fn prepare(&mut self) {
        self.shared.slots.begin(self.index, Instant::now());
        let _ = self.open(false).await;
        self.shared.slots.end(self.index);
    }

    /// One request with everything that belongs to it, begun at `begun`. Gives the instant from
    /// which the next may be begun: its end, or the end of the pause behind it.
    pub(super) async fn request(&mut self, begun: Instant) -> Instant {
        let shared = Rc::clone(&self.shared);
        shared.recorder.borrow_mut().begin();
        shared.slots.begin(self.index, begun);
        self.checker.reset();
        let mut written = None;
        let outcome = self.attempts(begun, &mut written).await;
        shared.slots.end(self.index);
        let now = Instant::now();
        let failed_to_connect = matches!(outcome, Err(Cause::Connect(_) | Cause::ConnectTimeout));
        self.record(outcome, begun, written, now);
        if failed_to_connect {
            self.hold(now).await;
            return Instant::now();
        }
        now
    }

    /// Looks once more at a connection that carries no more requests: a server that sends more than it
    /// is asked for has its answers counted for other requests than they belong to.
    pub(super) async fn part(&mut self) {
        let shared = Rc::clone(&self.shared);
        let Some(stream) = self.stream.as_mut().filter(|_| self.served) else {
            return;
        };
        let look = poll_fn(|cx| poll_input(stream, cx, &mut shared.buffer.borrow_mut()));
        let look = tokio::time::timeout(SURPLUS_GRACE, look);
        if let Ok(Ok(Ok(1..))) = shared.slots.guard(self.index, look).await {
            shared.recorder.borrow_mut().connections.surplus += 1;
        }
        self.close();
    }

    fn record(
        &mut self,
        outcome: Result<(), Cause>,
        begun: Instant,
        written: Option<Instant>,
        now: Instant,
    ) {
        let shared = &self.shared;
        let mut recorder = shared.recorder.borrow_mut();
        recorder.status(self.checker.status());
        match outcome {
            Ok(()) => {
                recorder.success(written.unwrap_or(begun), now, self.checker.body_bytes());
                self.pause = FIRST_PAUSE;
            }
            Err(Cause::Stopped) => recorder.unfinished(now - begun),
            Err(cause) => {
                let explain = || shared.explain(&cause);
                recorder.failure(cause.kind(), written, now, explain);
            }
        }
        let (ok, errors) = recorder.tally();
        shared.progress.store(shared.thread, ok, errors);
    }

    /// Tries, and once more where an idle connection turned out to be closed.
    async fn attempts(
        &mut self,
        begun: Instant,
        written: &mut Option<Instant>,
    ) -> Result<(), Cause> {
        let mut retried = false;
        loop {
            let reused = self.stream.is_some() && self.served;
            let mut from = begun;
            if self.stream.is_none() {
                self.open(written.is_none()).await?;
                from = Instant::now();
            }
            // A request that is sent again has been waited for since it was first sent.
            written.get_or_insert(from);
            let slots = &Rc::clone(&self.shared).slots;
            self.decoder.reset();
            self.written = 0;
            let index = self.index;
            let turn = slots.guard(index, poll_fn(|cx| self.poll_turn(cx))).await;
            let broken = match turn {
                Ok(Ok(ending)) => return self.complete(ending),
                Ok(Err(cause)) => cause,
                Err(Signal::Expired) => Cause::Timeout,
                Err(Signal::Stopped) => Cause::Stopped,
            };
            self.close();
            let idle_close = matches!(
                broken,
                Cause::Write(_) | Cause::Read(_) | Cause::Protocol(ProtocolError::ClosedEarly)
            );
            let fresh = !reused || retried || self.decoder.began();
            if fresh || !idle_close {
                return Err(broken);
            }
            retried = true;
            self.shared.recorder.borrow_mut().retried();
        }
    }

    fn complete(&mut self, ending: Ending) -> Result<(), Cause> {
        self.served = true;
        let keep_alive = self.shared.job.keep_alive;
        if !ending.reusable && keep_alive {
            self.shared.recorder.borrow_mut().closed_by_server();
        }
        let whole = self.written == self.shared.job.request.len();
        if !(ending.reusable && keep_alive && whole) {
            self.close();
        }
        self.checker.verdict().map_err(Cause::Fault)
    }

    fn close(&mut self) {
        self.stream = None;
        self.served = false;
        self.write_error = None;
    }

    async fn open(&mut self, waited: bool) -> Result<(), Cause> {
        let began = Instant::now();
        let shared = &self.shared;
        let connected = shared
            .slots
            .guard(self.index, connect(shared.address))
            .await;
        match connected {
            Ok(Ok(stream)) => {
                let replaces = self.opened && shared.job.keep_alive;
                let mut recorder = shared.recorder.borrow_mut();
                recorder.connected(began.elapsed(), replaces, waited);
                self.opened = true;
                self.stream = Some(stream);
                Ok(())
            }
            Ok(Err(error)) => Err(Cause::Connect(error)),
            Err(Signal::Expired) => Err(Cause::ConnectTimeout),
            Err(Signal::Stopped) => Err(Cause::Stopped),
        }
    }

    /// A dead server must not make a busy loop.
    async fn hold(&mut self, now: Instant) {
        let left = self
            .shared
            .until
            .get()
            .map(|until| until.saturating_duration_since(now));
        let pause = self.pause.min(left.unwrap_or(self.pause));
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        let _ = self
            .shared
            .slots
            .guard(self.index, tokio::time::sleep(pause))
            .await;
    }

    /// Writes what is left of the request and reads what there is of the response.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Result<Ending, Cause>> {
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(Err(ProtocolError::ClosedEarly.into()));
        };
        let shared = &*self.shared;
        let request = &shared.job.request;
        if self.served && self.written == 0 && self.write_error.is_none() {
            // Asks the kernel only where the event loop has seen something arrive.
            match poll_input(stream, cx, &mut shared.buffer.borrow_mut()) {
                Poll::Pending => {}
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(ProtocolError::ClosedEarly.into())),
                Poll::Ready(Ok(_)) => return Poll::Ready(Err(ProtocolError::UnaskedBytes.into())),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Cause::Read(error))),
            }
        }
        while self.written < request.len() && self.write_error.is_none() {
            match Pin::new(&mut *stream).poll_write(cx, &request[self.written..]) {
                Poll::Ready(Ok(size)) => {
                    self.written += size;
                    shared.recorder.borrow_mut().bytes.sent += size as u64;
                }
                // The response may be there all the same.
                Poll::Ready(Err(error)) => self.write_error = Some(error),
                Poll::Pending => break,
            }
        }
        let mut buffer = shared.buffer.borrow_mut();
        loop {
            let size = match poll_input(stream, cx, &mut buffer) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(size)) => size,
                Poll::Ready(Err(error)) => {
                    let written = self.write_error.take();
                    return Poll::Ready(Err(written.map_or(Cause::Read(error), Cause::Write)));
                }
            };
            let input = &buffer[..size];
            if input.is_empty() {
                let ended = self.decoder.end();
                return Poll::Ready(match (ended, self.write_error.take()) {
                    (Err(ProtocolError::ClosedEarly), Some(error)) => Err(Cause::Write(error)),
                    (ended, _) => ended.map_err(Cause::from),
                });
            }
            shared.recorder.borrow_mut().bytes.received += input.len() as u64;
            match self.decoder.feed(input, &mut self.checker) {
                Ok(Step::More) => {}
                Ok(Step::Done(ending)) if ending.consumed == input.len() => {
                    return Poll::Ready(Ok(ending));
                }
                Ok(Step::Done(_)) => return Poll::Ready(Err(ProtocolError::UnaskedBytes.into())),
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

/// Reads what there is into the buffer; nothing is the end of the stream.
fn poll_input(
    stream: &mut TcpStream,
    cx: &mut Context<'_>,
    buffer: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut read = ReadBuf::new(buffer);
    Pin::new(stream)
        .poll_read(cx, &mut read)
        .map_ok(|()| read.filled().len())
}

impl Cause {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Connect(error) => connect_kind(error),
            Self::ConnectTimeout => ErrorKind::ConnectTimeout,
            Self::Write(_) => ErrorKind::Write,
            Self::Read(_) => ErrorKind::Reset,
            Self::Protocol(ProtocolError::BadHead(_)) => ErrorKind::BadHead,
            Self::Protocol(ProtocolError::BadChunk(_)) => ErrorKind::BadChunk,
            Self::Protocol(ProtocolError::ShortBody) => ErrorKind::ShortBody,
            Self::Protocol(ProtocolError::ClosedEarly) => ErrorKind::ClosedEarly,
            Self::Protocol(ProtocolError::UnaskedBytes) => ErrorKind::UnaskedBytes,
            Self::Timeout | Self::Stopped => ErrorKind::Timeout,
            Self::Fault(Fault::Status(_)) => ErrorKind::Status,
            Self::Fault(Fault::Header(_) | Fault::Unwanted(_)) => ErrorKind::Header,
            Self::Fault(Fault::Body(_)) => ErrorKind::Body,
        }
    }
}

fn connect_kind(error: &io::Error) -> ErrorKind {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::CONNREFUSED) => ErrorKind::ConnectRefused,
        Some(Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN) => {
            ErrorKind::ConnectUnreachable
        }
        Some(Errno::TIMEDOUT) => ErrorKind::ConnectTimeout,
        Some(Errno::ADDRNOTAVAIL) => ErrorKind::NoLocalPort,
        Some(Errno::MFILE | Errno::NFILE) => ErrorKind::NoDescriptor,
        None if error.kind() == io::ErrorKind::ConnectionRefused => ErrorKind::ConnectRefused,
        _ => ErrorKind::Connect,
    }
}

impl Shared {
    fn explain(&self, cause: &Cause) -> String {
        let address = self.address;
        let timeout = crate::units::show_duration(self.job.timeout);
        match cause {
            Cause::Connect(error) => format!("connecting to {address} failed: {error}"),
            Cause::ConnectTimeout => format!("{address} did not accept within {timeout}"),
            Cause::Write(error) => format!("the request could not be written: {error}"),
            Cause::Read(error) => format!("the response could not be read: {error}"),
            Cause::Protocol(error) => error.to_string(),
            Cause::Timeout => format!("no whole response within {timeout}"),
            Cause::Stopped => "the load was stopped".to_owned(),
            Cause::Fault(fault) => self.reference.expect.explain(*fault),
        }
    }
}
