//! The kernel's event queue of one generator thread, edge-triggered, and what wakes the thread from outside.

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, write};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tokio::sync::Notify;

/// Events that are taken at once.
const MOST_EVENTS: usize = 1024;
/// The token of the waker; no socket has it.
const WAKER: u64 = u64::MAX;

/// Wakes a thread that waits for events, from any other thread.
#[derive(Debug)]
pub(super) struct Waker {
    counter: OwnedFd,
    /// For a thread that waits in a runtime.
    called: Notify,
}

impl Waker {
    pub(super) fn new() -> io::Result<Self> {
        let counter = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self {
            counter,
            called: Notify::new(),
        })
    }

    pub(super) fn wake(&self) {
        // It fails only where the counter is full, and then the thread has been woken often enough.
        let _ = write(&self.counter, &1u64.to_ne_bytes());
        self.called.notify_one();
    }

    /// Returns once it was called, also where that was before.
    pub(super) async fn called(&self) {
        self.called.notified().await;
    }
}

/// What happened to a socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// The token that the socket was added with.
    pub(super) token: u64,
    /// There may be something to read.
    pub(super) readable: bool,
    /// There may be room to write.
    pub(super) writable: bool,
    /// The other end sends no more, or the connection broke. It is not told again.
    pub(super) ended: bool,
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// The event queue of one thread.
pub(super) struct Poller {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Poller {
    /// A queue for so many sockets, which `waker` wakes.
    pub(super) fn new(sockets: usize, waker: &Waker) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        // Each write to the counter is an edge of its own, so that nobody has to read it.
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &waker.counter, EventData::new_u64(WAKER), flags)?;
        Ok(Self {
            epoll,
            events: Vec::with_capacity((sockets + 1).min(MOST_EVENTS)),
        })
    }

    /// Watches a socket until it is closed.
    pub(super) fn add(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(
            &self.epoll,
            socket,
            EventData::new_u64(token),
            flags,
        )?)
    }

    /// The same, for a time that is kept as exactly as the kernel can: the wait on an event queue knows whole milliseconds only, before
    /// Linux 5.11.
    pub(super) fn wait_exactly(&mut self, longest: Duration) -> io::Result<usize> {
        let mut queue = [PollFd::new(&self.epoll, PollFlags::IN)];
        match poll(&mut queue, Some(&timespec(longest))) {
            Ok(_) | Err(Errno::INTR) => self.wait(Some(Duration::ZERO)),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until something happens, `longest` at most, and gives how many events there are.
    pub(super) fn wait(&mut self, longest: Option<Duration>) -> io::Result<usize> {
        let longest = longest.map(timespec);
        self.events.clear();
        let room = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, room, longest.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(self.events.len()),
            Err(error) => Err(error.into()),
        }
    }

    /// The event with this index of those that were waited for; none is a call of the waker.
    pub(super) fn seen(&self, index: usize) -> Option<Seen> {
        let event = self.events[index];
        let (flags, token) = (event.flags, event.data.u64());
        if token == WAKER {
            return None;
        }
        let ends = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        let ended = flags.intersects(ends);
        Some(Seen {
            token,
            readable: ended || flags.contains(EventFlags::IN),
            writable: ended || flags.contains(EventFlags::OUT),
            ended,
        })
    }
}
