//! What the lanes of one thread share: the recorder, the deadlines, what is ordered, and how a lane is broken off.

use super::lane;
use super::link::Link;
use crate::http::{Http2Request, Reference, Traffic};
use crate::load::control::{Cancel, Progress};
use crate::load::deadlines::Deadlines;
use crate::load::dial::Dialer;
use crate::load::job::{Job, Secure};
use crate::load::poller::Waker;
use crate::load::recorder::Recorder;
use crate::load::term::Term;
use crate::load::tickets::Ticket;
use crate::load::worker::{Duty, Event, Order, cpu_time};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::task::{Poll, Waker as TaskWaker};
use std::time::{Duration, Instant};

/// Why a lane is broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The time of its request is over.
    Expired,
    /// The load was stopped.
    Stopped,
}

/// How a lane hears that it is to break off.
#[derive(Default)]
struct Signal {
    end: Cell<Option<End>>,
    waiting: RefCell<Option<TaskWaker>>,
}

impl Signal {
    fn raise(&self, end: End) {
        self.end.set(Some(end));
        if let Some(waker) = self.waiting.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// One generator thread.
pub(super) struct Floor {
    pub(super) job: Job,
    pub(super) request: Option<Http2Request>,
    /// What the responses are held against: of the only request.
    pub(super) references: Vec<Arc<Reference>>,
    pub(super) recorder: RefCell<Recorder>,
    pub(super) dialer: RefCell<Dialer>,
    pub(super) secure: Option<Secure>,
    /// What all connections have sent and received, and how much of it before the phase.
    pub(super) traffic: Arc<Traffic>,
    traffic_before: Cell<(u64, u64)>,
    /// The fewest streams that a server allowed on a connection.
    pub(super) allowed: Cell<Option<usize>>,
    links: Vec<Rc<Link>>,
    /// A signal for each lane; lane `i` is on link `i / streams`.
    signals: Vec<Signal>,
    deadlines: RefCell<Deadlines>,
    /// Links that nobody has begun to open yet, before the load.
    unopened: Cell<usize>,
    term: RefCell<Term>,
    /// Lanes (before the load, links) that have not yet done what they were ordered.
    busy: Cell<usize>,
    cpu_before: Cell<Duration>,
    thread: usize,
    progress: Arc<Progress>,
    cancel: Cancel,
    events: Sender<Event>,
}

impl Floor {
    pub(super) fn new(duty: Duty) -> (Rc<Self>, Receiver<Order>, Arc<Waker>) {
        let lanes = duty.connections * duty.job.streams as usize;
        let mut signals = Vec::new();
        signals.resize_with(lanes, Signal::default);
        let floor = Self {
            recorder: RefCell::new(Recorder::new(
                duty.job.timeout,
                duty.seconds,
                &duty.job.requests,
                None,
            )),
            dialer: RefCell::new(Dialer::new(duty.target.address().clone(), false)),
            secure: duty.target.secure().cloned(),
            traffic: Arc::default(),
            traffic_before: Cell::default(),
            allowed: Cell::new(None),
            links: (0..duty.connections).map(|_| Rc::default()).collect(),
            signals,
            deadlines: RefCell::new(Deadlines::new(lanes, duty.job.timeout)),
            unopened: Cell::new(0),
            term: RefCell::new(Term::new(duty.tickets)),
            busy: Cell::new(duty.connections),
            cpu_before: Cell::new(Duration::ZERO),
            thread: duty.thread,
            progress: duty.progress,
            cancel: duty.cancel,
            events: duty.events,
            request: duty.job.http2.clone(),
            job: duty.job,
            references: duty.references,
        };
        (Rc::new(floor), duty.orders, duty.waker)
    }

    /// Whether all has been done that was ordered.
    pub(super) fn rests(&self) -> bool {
        self.busy.get() == 0
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.term.borrow().stopped
    }

    /// When something has to be done though nothing happens. A request that is begun later ends later than this.
    pub(super) fn next_look(&self) -> Instant {
        let next = self.deadlines.borrow().next();
        next.unwrap_or_else(|| Instant::now() + self.job.timeout)
    }

    /// Opens one more connection before the load; the one after it follows when it is there. A failure shows again,
    /// and counts, at the first request.
    pub(super) fn open_next(self: &Rc<Self>) {
        if self.is_stopped() {
            return;
        }
        let Some(link) = self.links.get(self.unopened.get()) else {
            return;
        };
        self.unopened.set(self.unopened.get() + 1);
        let attempt = link.open(self);
        let floor = Rc::clone(self);
        tokio::task::spawn_local(async move {
            // Of those that are stopped nothing is counted that was not counted before.
            let outcome = attempt.outcome().await;
            floor.rest();
            if matches!(&outcome, Err(cause) if cause.is_late_connecting()) {
                // Nobody takes them. To wait so long for each would take for ever.
                floor.open_no_more();
            }
            floor.open_next();
        });
    }

    /// What is not being opened yet before the load won't be.
    fn open_no_more(&self) {
        for _ in self.unopened.get()..self.links.len() {
            self.rest();
        }
        self.unopened.set(self.links.len());
    }

    /// Enters a phase.
    pub(super) fn obey(self: &Rc<Self>, order: Order) {
        match order {
            Order::WarmUp(until) => self.term.borrow_mut().until = Some(until),
            Order::Measure(start, until) => {
                self.term.borrow_mut().until = until;
                self.cpu_before.set(cpu_time());
                self.traffic_before.set(self.traffic.bytes());
                self.recorder.borrow_mut().measure(start);
            }
            Order::Finish => return,
        }
        self.busy.set(self.signals.len());
        let streams = self.job.streams as usize;
        for index in 0..self.signals.len() {
            let link = Rc::clone(&self.links[index / streams]);
            tokio::task::spawn_local(lane::live(Rc::clone(self), link, index));
        }
    }

    /// Looks whether the load was stopped; if so, everything is broken off.
    pub(super) fn heed(&self) {
        if self.is_stopped() || !self.cancel.is_cancelled() {
            return;
        }
        self.term.borrow_mut().stopped = true;
        self.open_no_more();
        for link in &self.links {
            link.stop();
        }
        for signal in &self.signals {
            signal.raise(End::Stopped);
        }
    }

    /// Breaks off what has taken too long.
    pub(super) fn expire(&self, now: Instant) {
        while let Some(lane) = self.deadlines.borrow_mut().expired(now) {
            self.signals[lane].raise(End::Expired);
        }
    }

    /// Begins a request at `now`, where there is one.
    pub(super) fn begin(&self, lane: usize, now: Instant) -> bool {
        if !self.may_begin(now) {
            return false;
        }
        self.signals[lane].end.set(None);
        self.recorder.borrow_mut().begin();
        self.deadlines.borrow_mut().begin(lane, now);
        true
    }

    fn may_begin(&self, now: Instant) -> bool {
        let ticket = self.term.borrow_mut().next(now);
        if ticket == Ticket::Last {
            self.tell(Event::AllBegun);
        }
        ticket != Ticket::None
    }

    /// Does what a lane is at, until it is broken off. What is there already wins over a deadline that has just passed.
    pub(super) async fn attend<T>(
        &self,
        lane: usize,
        work: impl Future<Output = T>,
    ) -> Result<T, End> {
        let signal = &self.signals[lane];
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(done) = work.as_mut().poll(cx) {
                return Poll::Ready(Ok(done));
            }
            if let Some(end) = signal.end.get() {
                return Poll::Ready(Err(end));
            }
            let mut waiting = signal.waiting.borrow_mut();
            if !waiting
                .as_ref()
                .is_some_and(|old| old.will_wake(cx.waker()))
            {
                *waiting = Some(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// The request of a lane has ended.
    pub(super) fn end(&self, lane: usize) {
        self.deadlines.borrow_mut().end(lane);
        let (ok, errors) = self.recorder.borrow().tally();
        self.progress.store(self.thread, ok, errors);
    }

    /// Pauses after a failed connect, but not beyond the phase.
    pub(super) async fn hold(&self, lane: usize, now: Instant, pause: Duration) {
        let end = self.term.borrow().pause_end(now, pause);
        if !self.is_stopped() {
            // What ended the request does not end the pause.
            self.signals[lane].end.set(None);
        }
        let _ = self
            .attend(lane, tokio::time::sleep_until(end.into()))
            .await;
    }

    /// A lane has no other request.
    pub(super) fn leave(&self, last_end: Instant) {
        let end = self.term.borrow().account_end(last_end);
        self.recorder.borrow_mut().rest(end);
        self.rest();
    }

    fn rest(&self) {
        self.busy.set(self.busy.get() - 1);
        if self.rests() {
            self.take_stock();
            self.tell(Event::Rest);
        }
    }

    /// What the phase has used so far.
    fn take_stock(&self) {
        let mut recorder = self.recorder.borrow_mut();
        recorder.cpu = cpu_time().saturating_sub(self.cpu_before.get());
        let (before, now) = (self.traffic_before.get(), self.traffic.bytes());
        recorder.bytes.sent = now.0 - before.0;
        recorder.bytes.received = now.1 - before.1;
        recorder.streams_allowed = self.allowed.get().map(|most| most as u64);
    }

    /// Lets go of all connections, which then end.
    pub(super) fn part(&self) {
        for link in &self.links {
            link.close();
        }
    }

    /// What was counted.
    pub(super) fn counted(&self) -> Recorder {
        let empty = Recorder::new(Duration::from_secs(1), None, &[], None);
        self.recorder.replace(empty)
    }

    fn tell(&self, event: Event) {
        // The engine listens until every thread has ended, or has given the load up.
        let _ = self.events.send(event);
    }
}
