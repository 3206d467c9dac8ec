//! One connection of a load over HTTP/2: opened by the first lane that needs it, used by all, and opened anew when the
//! server has ended it.

use super::floor::Floor;
use crate::http::{Answered, Body, Broken, Meter, Metered, settings};
use crate::load::cause::Cause;
use crate::load::dial::{ROOM_PAUSE, established};
use crate::load::reach::{Duplex, secured};
use crate::load::stream::TlsFault;
use crate::load::term::Pause;
use crate::spec::{Address, Http};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Connection, SendRequest};
use hyper::rt::Executor;
use hyper_util::rt::TokioIo;
use std::cell::{Cell, OnceCell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// The streams of a connection whose server has not told its limit yet: none is opened before.
const UNTOLD: usize = 0;

/// Has hyper's tasks done by the thread that they are made on.
#[derive(Debug, Clone, Copy)]
struct Local;

impl<F: Future + 'static> Executor<F> for Local {
    fn execute(&self, work: F) {
        tokio::task::spawn_local(async move {
            work.await;
        });
    }
}

type Opening = Connection<TokioIo<Metered<Box<dyn Duplex>>>, Body, Local>;

/// A connection that is there.
pub(super) struct Live {
    sender: RefCell<SendRequest<Body>>,
    meter: Arc<Meter>,
    served: Cell<bool>,
}

impl Live {
    /// Hands a request to hyper.
    pub(super) fn send(
        &self,
        request: hyper::Request<Body>,
    ) -> impl Future<Output = hyper::Result<hyper::Response<Incoming>>> + use<> {
        self.sender.borrow_mut().send_request(request)
    }

    /// It has carried a whole response.
    pub(super) fn serve(&self) {
        self.served.set(true);
    }

    pub(super) fn has_served(&self) -> bool {
        self.served.get()
    }

    pub(super) fn received(&self) -> u64 {
        self.meter.received()
    }
}

/// Why a connection could not be opened, for each lane that waits for it.
#[derive(Debug, Clone)]
enum Refused {
    Errno(i32),
    Kind(io::ErrorKind),
    Timeout,
    Tls(Arc<TlsFault>),
    Preface(Broken, Answered),
    Stopped,
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        error
            .raw_os_error()
            .map_or(Self::Kind(error.kind()), Self::Errno)
    }
}

impl From<Refused> for Cause {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Errno(number) => Self::Connect(io::Error::from_raw_os_error(number)),
            Refused::Kind(kind) => Self::Connect(kind.into()),
            Refused::Timeout => Self::ConnectTimeout,
            Refused::Tls(fault) => Self::Handshake(fault),
            Refused::Preface(broken, answered) => Self::Preface(broken, answered),
            Refused::Stopped => Self::Stopped,
        }
    }
}

/// An attempt to open a connection, for all who wait.
#[derive(Default)]
pub(super) struct Attempt {
    outcome: OnceCell<Result<Rc<Live>, Refused>>,
    over: Notify,
}

impl Attempt {
    /// Waits for its outcome.
    pub(super) async fn outcome(&self) -> Result<Rc<Live>, Cause> {
        loop {
            if let Some(outcome) = self.outcome.get() {
                return outcome.clone().map_err(Cause::from);
            }
            self.over.notified().await;
        }
    }

    fn end(&self, outcome: Result<Rc<Live>, Refused>) {
        // The first outcome holds: after a stop nothing else counts.
        let _ = self.outcome.set(outcome);
        self.over.notify_waiters();
    }
}

enum State {
    Closed,
    Opening(Rc<Attempt>, Option<AbortHandle>),
    Open(Rc<Live>),
}

/// One connection, which may be opened anew.
pub(super) struct Link {
    state: RefCell<State>,
    opened: Cell<bool>,
    /// While TLS is being agreed on.
    shaking: Cell<bool>,
    pause: Cell<Pause>,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            state: RefCell::new(State::Closed),
            opened: Cell::new(false),
            shaking: Cell::new(false),
            pause: Cell::default(),
        }
    }
}

impl Link {
    /// The connection, where there is one that takes requests.
    pub(super) fn live(&self) -> Option<Rc<Live>> {
        match &*self.state.borrow() {
            State::Open(live) if !live.sender.borrow().is_closed() => Some(Rc::clone(live)),
            _ => None,
        }
    }

    /// Opens the connection, where that is not being done already.
    pub(super) fn open(self: &Rc<Self>, floor: &Rc<Floor>) -> Rc<Attempt> {
        let ended = match &*self.state.borrow() {
            State::Opening(attempt, _) => return Rc::clone(attempt),
            State::Open(live) => Some(Rc::clone(live)),
            State::Closed => None,
        };
        if let Some(live) = ended {
            self.retire(&live, floor);
        }
        let attempt = Rc::<Attempt>::default();
        if floor.is_stopped() {
            attempt.end(Err(Refused::Stopped));
            return attempt;
        }
        let (link, floor, outcome) = (Rc::clone(self), Rc::clone(floor), Rc::clone(&attempt));
        let work = tokio::task::spawn_local(async move {
            let opened = link.reach(&floor).await;
            link.state.replace(match &opened {
                Ok(live) => State::Open(Rc::clone(live)),
                Err(_) => State::Closed,
            });
            outcome.end(opened);
        });
        let state = State::Opening(Rc::clone(&attempt), Some(work.abort_handle()));
        self.state.replace(state);
        attempt
    }

    /// The connection carries no more requests.
    pub(super) fn retire(&self, live: &Rc<Live>, floor: &Floor) {
        let current = matches!(&*self.state.borrow(), State::Open(now) if Rc::ptr_eq(now, live));
        if current {
            self.state.replace(State::Closed);
            floor.recorder.borrow_mut().closed_by_server();
        }
    }

    /// Why a connection is not there in time, by what it is at.
    pub(super) fn late(&self) -> Cause {
        self.is_late().into()
    }

    fn is_late(&self) -> Refused {
        if self.shaking.get() {
            Refused::Tls(Arc::new(TlsFault::Late))
        } else {
            Refused::Timeout
        }
    }

    /// How long to pause after a failed connect; a dead server must not make a busy loop.
    pub(super) fn pause(&self) -> Duration {
        let mut pause = self.pause.get();
        let next = pause.next();
        self.pause.set(pause);
        next
    }

    /// Gives up what is being opened.
    pub(super) fn stop(&self) {
        let opening = matches!(&*self.state.borrow(), State::Opening(..));
        if opening && let State::Opening(attempt, work) = self.state.replace(State::Closed) {
            if let Some(work) = work {
                work.abort();
            }
            attempt.end(Err(Refused::Stopped));
        }
    }

    /// Lets go of the connection.
    pub(super) fn close(&self) {
        self.stop();
        self.state.replace(State::Closed);
    }

    async fn reach(&self, floor: &Floor) -> Result<Rc<Live>, Refused> {
        let since = Instant::now();
        let meter = Arc::new(Meter::within(Arc::clone(&floor.traffic)));
        self.shaking.set(false);
        let opened = agree(floor, &meter, &self.shaking);
        let opened = tokio::time::timeout(floor.job.timeout, opened).await;
        let (sender, connection) = opened.map_err(|_| self.is_late())??;
        let most = connection.current_max_send_streams();
        let fewest = floor.allowed.get().map_or(most, |before| before.min(most));
        floor.allowed.set(Some(fewest));
        tokio::task::spawn_local(async move {
            // Whoever waits for a response hears of it.
            let _ = connection.await;
        });
        let took = since.elapsed();
        let replaces = self.opened.replace(true);
        floor.recorder.borrow_mut().connected(took, replaces, false);
        self.pause.take();
        Ok(Rc::new(Live {
            sender: RefCell::new(sender),
            meter,
            served: Cell::new(false),
        }))
    }
}

/// A connection without a word on it yet.
async fn connected(floor: &Floor) -> io::Result<Box<dyn Duplex>> {
    let socket = loop {
        let begun = floor.dialer.borrow_mut().begin();
        match begun {
            // A Unix-domain socket has no room; over TCP the kernel waits by itself.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(ROOM_PAUSE).await;
            }
            begun => break begun?,
        }
    };
    let unix = matches!(floor.dialer.borrow().address(), Address::Unix(_));
    if unix {
        return Ok(Box::new(UnixStream::from_std(socket.into())?));
    }
    let stream = TcpStream::from_std(socket.into())?;
    stream.writable().await?;
    established(&stream)?;
    Ok(Box::new(stream))
}

/// Connects, and waits until the server has told its settings.
/// `shaking` is true while TLS is being agreed on.
async fn agree(
    floor: &Floor,
    meter: &Arc<Meter>,
    shaking: &Cell<bool>,
) -> Result<(SendRequest<Body>, Opening), Refused> {
    let stream = connected(floor).await?;
    shaking.set(floor.secure.is_some());
    let stream = secured(floor.secure.as_ref(), stream, Http::Two)
        .await
        .map_err(|fault| Refused::Tls(Arc::new(fault)))?;
    shaking.set(false);
    let refused = |error: &hyper::Error| Refused::Preface(Broken::of(error), meter.answered());
    let stream = TokioIo::new(Metered::new(stream, Arc::clone(meter)));
    let (sender, mut connection) = settings(Local, UNTOLD)
        .handshake(stream)
        .await
        .map_err(|error| refused(&error))?;
    while connection.current_max_send_streams() == UNTOLD {
        tokio::select! {
            ended = &mut connection => return Err(match ended {
                Err(error) => refused(&error),
                Ok(()) => Refused::Preface(Broken::Closed, meter.answered()),
            }),
            () = meter.arrived() => tokio::task::yield_now().await,
        }
    }
    Ok((sender, connection))
}
