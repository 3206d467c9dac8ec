//! One generator thread: an event loop of its own and its connections. A connection that becomes readable is read, its
//! response checked and its next request written in the same turn. The engine tells the phases; the thread tells when all
//! its connections rest.

mod due;

use super::cause::Cause;
use super::connection::{Connection, Phase, Pipeline, Shared};
use super::control::{Cancel, Progress};
use super::deadlines::Deadlines;
use super::dial::{Dialer, ROOM_PAUSE};
use super::job::{Job, Target};
use super::known::Known;
use super::lane::Lane;
use super::open::{Open, exactly};
use super::paced::Paced;
use super::poller::{Poller, Waker};
use super::recorder::Recorder;
use super::request::mix;
use super::schedule::Schedule;
use super::stream::CIPHERTEXT;
use super::term::{OPENING, Term};
use super::tickets::{Ticket, Tickets};
use super::urn::Urn;
use crate::http::Reference;
use rustix::time::{ClockId, clock_gettime};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

/// Bytes that are read at once; one buffer serves all connections of a thread.
const READ_BUFFER: usize = 64 * 1024;
/// Requests of one connection after which the others of the thread have their turn.
const MOST_TURNS: usize = 64;
/// How long bytes that nothing asked for are waited for when all is over, by all connections at once.
const SURPLUS_GRACE: Duration = Duration::from_millis(50);

/// What the connections shall do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Send what does not count, until then.
    WarmUp(Instant),
    /// Send what counts from the first instant on, until the second or while there are tickets.
    Measure(Instant, Option<Instant>),
    /// End.
    Finish,
}

/// What a thread tells the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// All connections of one thread have done what they were ordered.
    Rest,
    /// The last ticket is taken, which one thread tells; or the last request of a thread's schedule.
    AllBegun,
    /// A thread can't go on.
    Failed(String),
}

/// What a thread is given.
pub(super) struct Duty {
    pub(super) thread: usize,
    pub(super) connections: usize,
    pub(super) job: Job,
    /// What the responses to each request are held against.
    pub(super) references: Vec<Arc<Reference>>,
    pub(super) target: Target,
    /// Of an open loop, and how many threads share it.
    pub(super) schedule: Option<(Schedule, usize)>,
    pub(super) tickets: Option<Arc<Tickets>>,
    pub(super) seconds: Option<usize>,
    pub(super) progress: Arc<Progress>,
    pub(super) cancel: Cancel,
    pub(super) orders: Receiver<Order>,
    pub(super) waker: Arc<Waker>,
    pub(super) events: Sender<Event>,
}

/// The life of a generator thread; gives what it counted.
pub(super) fn work(duty: Duty) -> Result<Recorder, String> {
    if duty.job.pipelining > 1 {
        Worker::<Pipeline>::counted(duty)
    } else {
        Worker::<Connection>::counted(duty)
    }
}

struct Worker<L> {
    thread: usize,
    shared: Shared,
    connections: Vec<L>,
    deadlines: Deadlines,
    /// When connections are to be looked at that pause or had no room,
    holds: BinaryHeap<Reverse<(Instant, usize)>>,
    /// and of each connection which of these holds; the others are past.
    held_until: Vec<Option<Instant>>,
    /// Connections that have stopped reading for the sake of the others.
    hungry: Vec<usize>,
    /// The next connection that is to be opened before the load, and how many are being opened.
    unopened: usize,
    opening: usize,
    term: Term,
    /// Of an open loop.
    open: Option<Open>,
    /// Connections that have not yet done what they were ordered.
    busy: usize,
    cpu_before: Duration,
    progress: Arc<Progress>,
    cancel: Cancel,
    orders: Receiver<Order>,
    events: Sender<Event>,
    /// Kept, so that it can be called as long as there is a thread to wake.
    _waker: Arc<Waker>,
}

impl<L: Lane> Worker<L> {
    fn counted(duty: Duty) -> Result<Recorder, String> {
        let mut worker = Self::new(duty)?;
        worker.live()?;
        Ok(worker.shared.recorder)
    }

    fn new(duty: Duty) -> Result<Self, String> {
        let poller = Poller::new(duty.connections, &duty.waker)
            .map_err(|error| format!("a generator thread can't have its event loop: {error}"))?;
        let secure = duty.target.secure().cloned();
        let of_tls = if secure.is_some() { CIPHERTEXT } else { 0 };
        let shared = Shared {
            recorder: Recorder::new(
                duty.job.timeout,
                duty.seconds,
                &duty.job.requests,
                duty.schedule
                    .as_ref()
                    .map(|(schedule, _)| Paced::new(schedule, duty.job.timeout)),
            ),
            dialer: Dialer::new(duty.target.address().clone(), !duty.job.keep_alive),
            urn: Urn::new(&duty.job.requests, duty.job.seed ^ mix(duty.thread as u64)),
            references: duty.references,
            poller,
            secure,
            buffer: vec![0; READ_BUFFER + of_tls],
            known: duty.job.requests.iter().map(|_| Known::default()).collect(),
            job: duty.job,
            sated: false,
        };
        Ok(Self {
            thread: duty.thread,
            connections: (0..duty.connections)
                .map(|index| L::new(index, &shared))
                .collect(),
            deadlines: Deadlines::new(duty.connections, shared.job.timeout),
            shared,
            holds: BinaryHeap::new(),
            held_until: vec![None; duty.connections],
            hungry: Vec::new(),
            unopened: 0,
            opening: 0,
            term: Term::new(duty.tickets),
            open: duty
                .schedule
                .map(|(schedule, threads)| Open::new(schedule, duty.thread, threads)),
            busy: duty.connections,
            cpu_before: Duration::ZERO,
            progress: duty.progress,
            cancel: duty.cancel,
            orders: duty.orders,
            events: duty.events,
            _waker: duty.waker,
        })
    }

    fn live(&mut self) -> Result<(), String> {
        if self.open.is_some() {
            self.need_no_connections_yet()?;
        }
        self.heed();
        self.open_more();
        loop {
            while self.busy == 0 {
                match self.orders.try_recv() {
                    Ok(Order::Finish) | Err(TryRecvError::Disconnected) => return self.part(),
                    Ok(order) => self.obey(order),
                    Err(TryRecvError::Empty) => break,
                }
            }
            let hungry = std::mem::take(&mut self.hungry);
            let seen = if hungry.is_empty() {
                self.wait(self.next_look())?
            } else {
                self.wait(Some(Instant::now()))?
            };
            for index in 0..seen {
                self.react(index);
            }
            for index in hungry {
                self.go_on(index);
            }
            self.let_time_pass();
            self.send_what_is_due();
        }
    }

    fn wait(&mut self, until: Option<Instant>) -> Result<usize, String> {
        let longest = until.map(|at| at.saturating_duration_since(Instant::now()));
        let poller = &mut self.shared.poller;
        let seen = match longest {
            Some(longest) if self.open.is_some() => poller.wait_exactly(exactly(longest)),
            longest => poller.wait(longest),
        };
        seen.map_err(|error| format!("the event loop of a generator thread failed: {error}"))
    }

    /// When something has to be done though nothing happens.
    fn next_look(&self) -> Option<Instant> {
        let hold = self.holds.peek().map(|Reverse((at, _))| *at);
        let due = self
            .open
            .as_ref()
            .and_then(|open| open.next_look(self.term.until));
        self.deadlines
            .next()
            .into_iter()
            .chain(hold)
            .chain(due)
            .min()
    }

    /// Does what follows from one event.
    fn react(&mut self, event: usize) {
        let Some(seen) = self.shared.poller.seen(event) else {
            self.heed();
            return;
        };
        let index = Connection::index_of(seen.token);
        if self.connections[index].notice(seen) {
            self.go_on(index);
        }
    }

    /// Looks whether the load was stopped; if so, everything is broken off.
    fn heed(&mut self) {
        if self.term.stopped || !self.cancel.is_cancelled() {
            return;
        }
        self.term.stopped = true;
        self.holds.clear();
        self.held_until.fill(None);
        self.open_no_more();
        for index in 0..self.connections.len() {
            match self.connections[index].phase() {
                Phase::Idle => {}
                Phase::Held if !self.connections[index].is_asked() => self.release(index),
                Phase::Held | Phase::Asked | Phase::Opening(_) | Phase::InFlight => loop {
                    let outcome = self.connections[index].break_off(false, &mut self.shared);
                    self.settle(index, outcome);
                    if !self.connections[index].is_asked() {
                        break;
                    }
                },
            }
        }
        self.close_schedule();
    }

    /// Lets deadlines and pauses pass. What is there already wins over a deadline that has just passed.
    fn let_time_pass(&mut self) {
        let Some(at) = self.next_look() else {
            return;
        };
        let now = Instant::now();
        if at > now {
            return;
        }
        while let Some(index) = self.deadlines.expired(now) {
            let outcome = self.connections[index].break_off(true, &mut self.shared);
            if self.settle(index, outcome) {
                self.go_on(index);
            }
        }
        while let Some(Reverse((at, index))) = self.holds.peek().copied() {
            if at > now {
                break;
            }
            self.holds.pop();
            if self.held_until[index] == Some(at) {
                self.held_until[index] = None;
                self.release(index);
            }
        }
    }

    /// Opens connections before they are needed, some at a time. A failure shows again, and counts, at the first request.
    fn open_more(&mut self) {
        while self.opening < OPENING && self.unopened < self.connections.len() {
            let index = self.unopened;
            self.unopened += 1;
            if self.connections[index].prepare(&mut self.shared).is_ok() {
                self.deadlines.begin(index, Instant::now());
                self.opening += 1;
                self.look_for_room(index);
            } else {
                self.rest();
            }
        }
    }

    /// What is not being opened yet before the load won't be.
    fn open_no_more(&mut self) {
        for _ in self.unopened..self.connections.len() {
            self.rest();
        }
        self.unopened = self.connections.len();
    }

    /// Enters a phase.
    fn obey(&mut self, order: Order) {
        self.busy = self.connections.len();
        let now = Instant::now();
        match order {
            Order::WarmUp(until) => {
                self.term.until = Some(until);
                if let Some(open) = &mut self.open {
                    open.warm_up(now, until, self.connections.len());
                }
            }
            Order::Measure(start, until) => {
                self.term.until = until;
                self.cpu_before = cpu_time();
                self.shared.recorder.measure(start);
                if let Some(open) = &mut self.open {
                    open.measure(start, self.connections.len());
                }
            }
            Order::Finish => {}
        }
        if self.open.is_some() {
            self.send_what_is_due();
            return;
        }
        for index in 0..self.connections.len() {
            if self.begin(index, Instant::now()) {
                self.go_on(index);
            }
        }
    }

    /// Looks once more at all connections before they are closed.
    fn part(&mut self) -> Result<(), String> {
        if self.term.stopped {
            return Ok(());
        }
        let until = Instant::now() + SURPLUS_GRACE;
        for connection in &mut self.connections {
            if connection.is_listening() {
                connection.look(&mut self.shared);
            }
        }
        while !self.term.stopped
            && self.connections.iter().any(L::is_listening)
            && Instant::now() < until
        {
            let seen = self.wait(Some(until))?;
            for event in 0..seen {
                let Some(seen) = self.shared.poller.seen(event) else {
                    self.term.stopped |= self.cancel.is_cancelled();
                    continue;
                };
                let connection = &mut self.connections[Connection::index_of(seen.token)];
                if connection.notice(seen) && connection.is_listening() {
                    connection.look(&mut self.shared);
                }
            }
        }
        Ok(())
    }

    /// Goes on with a connection until it has to wait.
    fn go_on(&mut self, index: usize) {
        self.take_turn(index);
        // Whoever is looked at outside of a turn reads as it likes.
        self.shared.sated = false;
    }

    fn take_turn(&mut self, index: usize) {
        let mut turns = 0;
        // The thread's buffer holds what a connection has read and not yet looked at.
        while !self.shared.sated || self.connections[index].holds_bytes() {
            let Some(outcome) = self.connections[index].step(&mut self.shared) else {
                break;
            };
            if !self.settle(index, outcome) {
                return;
            }
            turns += 1;
            self.shared.sated = turns >= MOST_TURNS;
        }
        // The others have their turn.
        if self.shared.sated && !self.hungry.contains(&index) {
            self.hungry.push(index);
        }
        self.feed(index);
    }

    /// Comes back to a connection that has stopped reading.
    fn feed(&mut self, index: usize) {
        self.look_for_room(index);
        if self.connections[index].is_hungry() && !self.hungry.contains(&index) {
            self.hungry.push(index);
        }
    }

    /// Has a connection tried again for which there was no room.
    fn look_for_room(&mut self, index: usize) {
        if self.connections[index].lacks_room() && self.held_until[index].is_none() {
            self.hold(index, Instant::now() + ROOM_PAUSE);
        }
    }

    /// Comes back to a connection then, and not when it was to be before.
    fn hold(&mut self, index: usize, until: Instant) {
        self.held_until[index] = Some(until);
        self.holds.push(Reverse((until, index)));
    }

    /// What a connection was at is over. Whether it has something else to do at once.
    fn settle(&mut self, index: usize, outcome: Result<(), Cause>) -> bool {
        self.deadlines.end(index);
        if !self.connections[index].is_asked() {
            self.opening -= 1;
            self.rest();
            if matches!(&outcome, Err(cause) if cause.is_late_connecting()) {
                // Nobody takes them. To wait so long for each would take for ever.
                self.open_no_more();
            }
            self.open_more();
            return false;
        }
        let now = Instant::now();
        let unconnected = matches!(&outcome, Err(cause) if cause.is_of_connecting());
        self.connections[index].record(outcome, now, &mut self.shared);
        let (ok, errors) = self.shared.recorder.tally();
        self.progress.store(self.thread, ok, errors);
        if unconnected && !self.term.stopped {
            let pause = self.connections[index].hold();
            let end = self.term.pause_end(now, pause);
            self.hold(index, end);
            return false;
        }
        self.begin(index, now)
    }

    fn release(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if connection.lacks_room() {
            connection.try_again();
            self.go_on(index);
            return;
        }
        // It may have been at something else since there was no room for it.
        if connection.phase() != Phase::Held {
            return;
        }
        connection.release();
        if self.begin(index, Instant::now()) {
            self.go_on(index);
        }
    }

    /// Begins the next request at `now`, or as many as the connection has room for, where there are any. Without one the
    /// connection rests.
    fn begin(&mut self, index: usize, now: Instant) -> bool {
        if self.is_paced(now) {
            return self.begin_due(index, now);
        }
        while self.open.is_none() && self.connections[index].has_room() && self.may_begin(now) {
            self.shared.recorder.begin();
            self.connections[index].ask(now, None, &mut self.shared);
        }
        if let Some(begun) = self.connections[index].oldest() {
            self.deadlines.begin(index, begun);
            return true;
        }
        self.close_account(now);
        self.rest();
        false
    }

    fn may_begin(&mut self, now: Instant) -> bool {
        let ticket = self.term.next(now);
        if ticket == Ticket::Last {
            self.tell(Event::AllBegun);
        }
        ticket != Ticket::None
    }

    fn close_account(&mut self, last_end: Instant) {
        let end = self.term.account_end(last_end);
        self.shared.recorder.rest(end);
    }

    fn rest(&mut self) {
        self.busy -= 1;
        if self.busy == 0 {
            self.shared.recorder.cpu = cpu_time().saturating_sub(self.cpu_before);
            self.tell(Event::Rest);
        }
    }

    fn tell(&self, event: Event) {
        // The engine listens until every thread has ended, or has given the load up.
        let _ = self.events.send(event);
    }
}

/// CPU time of this thread.
pub(super) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
