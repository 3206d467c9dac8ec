//! One generator thread: a runtime of its own, a task for each of its connections, and the state
//! that these share. The engine tells the phases; the thread tells when all its connections rest.

use super::connection::Connection;
use super::control::{Cancel, Progress};
use super::job::Job;
use super::recorder::Recorder;
use super::slots::Slots;
use crate::http::Reference;
use rustix::time::{ClockId, clock_gettime};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// Bytes that are read at once; one buffer serves all connections of a thread.
const READ_BUFFER: usize = 64 * 1024;
/// Connections that a thread opens at the same time, so that a short accept queue does not overflow.
const OPENING: usize = 32;

/// What the connections shall do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Open.
    Open,
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
    /// The last ticket is taken; one thread tells it.
    AllBegun,
    /// A thread can't go on.
    Failed(String),
}

/// The requests of a load by number, handed out to the threads in small batches.
#[derive(Debug)]
pub(super) struct Tickets {
    left: AtomicU64,
    batch: u64,
}

impl Tickets {
    pub(super) fn new(total: u64, connections: u32) -> Self {
        Self {
            left: AtomicU64::new(total),
            batch: (total / (u64::from(connections.max(1)) * 64)).clamp(1, 64),
        }
    }

    /// Takes up to a batch; gives how many, and whether these were the last.
    fn take(&self) -> (u64, bool) {
        let take = |left: u64| Some(left.saturating_sub(self.batch));
        let before = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .unwrap_or_default();
        let taken = before.min(self.batch);
        (taken, taken > 0 && taken == before)
    }
}

/// What a thread is given.
pub(super) struct Duty {
    pub(super) thread: usize,
    pub(super) connections: usize,
    pub(super) job: Job,
    pub(super) reference: Arc<Reference>,
    pub(super) address: SocketAddr,
    pub(super) tickets: Option<Arc<Tickets>>,
    pub(super) seconds: Option<usize>,
    pub(super) progress: Arc<Progress>,
    pub(super) cancel: Cancel,
    pub(super) orders: watch::Receiver<Order>,
    pub(super) events: Sender<Event>,
}

/// What the connections of one thread share.
pub(super) struct Shared {
    pub(super) thread: usize,
    pub(super) job: Job,
    pub(super) reference: Arc<Reference>,
    pub(super) address: SocketAddr,
    pub(super) progress: Arc<Progress>,
    pub(super) slots: Slots,
    pub(super) recorder: RefCell<Recorder>,
    pub(super) buffer: RefCell<Vec<u8>>,
    /// Until when requests are begun; none counts tickets.
    pub(super) until: Cell<Option<Instant>>,
    tickets: Option<Arc<Tickets>>,
    in_hand: Cell<u64>,
    last_in_hand: Cell<bool>,
    opening: Semaphore,
    events: Sender<Event>,
    order: Cell<Order>,
    /// Connections that have not yet done what they were ordered.
    busy: Cell<usize>,
    connections: usize,
    cpu_before: Cell<Duration>,
}

/// The life of a generator thread; gives what it counted.
pub(super) fn work(duty: Duty) -> Result<Recorder, String> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .map_err(|error| format!("a generator thread can't have its event loop: {error}"))?;
    let orders = duty.orders;
    let cancel = duty.cancel;
    let shared = Rc::new(Shared {
        thread: duty.thread,
        slots: Slots::new(duty.connections, duty.job.timeout),
        recorder: RefCell::new(Recorder::new(duty.job.timeout, duty.seconds)),
        job: duty.job,
        reference: duty.reference,
        address: duty.address,
        progress: duty.progress,
        buffer: RefCell::new(vec![0; READ_BUFFER]),
        until: Cell::new(None),
        tickets: duty.tickets,
        in_hand: Cell::new(0),
        last_in_hand: Cell::new(false),
        opening: Semaphore::new(OPENING),
        events: duty.events,
        order: Cell::new(Order::Open),
        busy: Cell::new(duty.connections),
        connections: duty.connections,
        cpu_before: Cell::new(Duration::ZERO),
    });
    let ended: Result<(), String> = runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for index in 0..shared.connections {
            tasks.spawn_local(live(Rc::clone(&shared), index, orders.clone()));
        }
        let stop = async {
            cancel.cancelled().await;
            shared.slots.stop();
            std::future::pending::<()>().await;
        };
        let all = async {
            while let Some(ended) = tasks.join_next().await {
                ended.map_err(|error| format!("a generator task broke: {error}"))?;
            }
            Ok(())
        };
        tokio::select! {
            ended = all => ended,
            () = shared.slots.keep() => Ok(()),
            () = stop => Ok(()),
        }
    });
    drop(runtime);
    ended?;
    let shared = Rc::into_inner(shared).ok_or("a generator task outlived its thread")?;
    Ok(shared.recorder.into_inner())
}

/// The life of a connection.
async fn live(shared: Rc<Shared>, index: usize, mut orders: watch::Receiver<Order>) {
    let mut connection = Connection::new(Rc::clone(&shared), index);
    if let Ok(Ok(_permit)) = shared.slots.guard(index, shared.opening.acquire()).await {
        connection.prepare().await;
    }
    shared.rest();
    while orders.changed().await.is_ok() {
        let order = *orders.borrow_and_update();
        if order == Order::Finish {
            connection.part().await;
            return;
        }
        shared.obey(order);
        let mut now = Instant::now();
        while shared.may_begin(now) {
            now = connection.request(now).await;
        }
        shared.close_account(now);
        shared.rest();
    }
}

impl Shared {
    /// Enters a phase; the first connection that hears of it does so for all.
    fn obey(&self, order: Order) {
        if self.order.replace(order) == order {
            return;
        }
        self.busy.set(self.connections);
        match order {
            Order::WarmUp(until) => self.until.set(Some(until)),
            Order::Measure(start, until) => {
                self.until.set(until);
                self.cpu_before.set(cpu_time());
                self.recorder.borrow_mut().measure(start);
            }
            Order::Open | Order::Finish => {}
        }
    }

    fn may_begin(&self, now: Instant) -> bool {
        if self.slots.stopped() {
            return false;
        }
        if let Some(until) = self.until.get() {
            return now < until;
        }
        self.take_ticket()
    }

    fn take_ticket(&self) -> bool {
        let Some(tickets) = &self.tickets else {
            return false;
        };
        if self.in_hand.get() == 0 {
            let (taken, last) = tickets.take();
            self.in_hand.set(taken);
            self.last_in_hand.set(last);
        }
        let Some(left) = self.in_hand.get().checked_sub(1) else {
            return false;
        };
        self.in_hand.set(left);
        if left == 0 && self.last_in_hand.get() {
            self.tell(Event::AllBegun);
        }
        true
    }

    fn close_account(&self, last_end: Instant) {
        // A connection that was stopped was busy until now, one that held back until the deadline.
        let end = if self.slots.stopped() {
            Instant::now()
        } else {
            self.until
                .get()
                .map_or(last_end, |until| until.max(last_end))
        };
        self.recorder.borrow_mut().rest(end);
    }

    fn rest(&self) {
        self.busy.set(self.busy.get() - 1);
        if self.busy.get() == 0 {
            let used = cpu_time().saturating_sub(self.cpu_before.get());
            self.recorder.borrow_mut().cpu = used;
            self.tell(Event::Rest);
        }
    }

    fn tell(&self, event: Event) {
        // The engine listens until every thread has ended, or has given the load up.
        let _ = self.events.send(event);
    }
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
