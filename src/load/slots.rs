//! Deadlines and stops of one thread's connections. A request costs no timer: each connection
//! has at most one entry in the queue, and an entry that comes up is put back at the deadline of
//! the request that is in flight by then.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Why a wait was broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// The request's time is over.
    Expired,
    /// The load is stopped.
    Stopped,
}

#[derive(Default)]
struct Slot {
    waker: RefCell<Option<Waker>>,
    begun: Cell<Option<Instant>>,
    expired: Cell<bool>,
    queued: Cell<bool>,
}

/// The slots of all connections of one thread.
pub(super) struct Slots {
    all: Vec<Slot>,
    queue: RefCell<BinaryHeap<Reverse<(Instant, usize)>>>,
    stopped: Cell<bool>,
    timeout: Duration,
    /// Wakes [`Slots::keep`] when the queue is no longer empty.
    filled: Notify,
}

impl Slots {
    pub(super) fn new(count: usize, timeout: Duration) -> Self {
        let mut all = Vec::new();
        all.resize_with(count, Slot::default);
        Self {
            all,
            queue: RefCell::default(),
            stopped: Cell::new(false),
            timeout,
            filled: Notify::new(),
        }
    }

    /// The connection has a request in flight, begun at `now`.
    pub(super) fn begin(&self, index: usize, now: Instant) {
        let slot = &self.all[index];
        slot.begun.set(Some(now));
        slot.expired.set(false);
        if !slot.queued.replace(true) {
            let mut queue = self.queue.borrow_mut();
            queue.push(Reverse((now + self.timeout, index)));
            if queue.len() == 1 {
                self.filled.notify_one();
            }
        }
    }

    /// The request is over.
    pub(super) fn end(&self, index: usize) {
        self.all[index].begun.set(None);
        self.all[index].expired.set(false);
    }

    pub(super) fn stopped(&self) -> bool {
        self.stopped.get()
    }

    /// Breaks off every wait, now and later.
    pub(super) fn stop(&self) {
        self.stopped.set(true);
        for slot in &self.all {
            slot.wake();
        }
    }

    /// Waits for `work`, unless its connection's deadline or a stop comes first.
    pub(super) async fn guard<F: Future>(
        &self,
        index: usize,
        work: F,
    ) -> Result<F::Output, Signal> {
        let slot = &self.all[index];
        let mut work = pin!(work);
        poll_fn(|cx| {
            if self.stopped.get() {
                return Poll::Ready(Err(Signal::Stopped));
            }
            // What is there already wins over a deadline that has just passed.
            if let Poll::Ready(output) = work.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            if slot.expired.get() {
                return Poll::Ready(Err(Signal::Expired));
            }
            let mut waker = slot.waker.borrow_mut();
            if waker
                .as_ref()
                .is_none_or(|known| !known.will_wake(cx.waker()))
            {
                *waker = Some(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// Lets deadlines pass, for ever.
    pub(super) async fn keep(&self) {
        loop {
            let next = self.queue.borrow().peek().map(|Reverse((at, _))| *at);
            match next {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => self.filled.notified().await,
            }
            self.expire(Instant::now());
        }
    }

    fn expire(&self, now: Instant) {
        let mut queue = self.queue.borrow_mut();
        while let Some(Reverse((at, index))) = queue.peek().copied() {
            if at > now {
                return;
            }
            queue.pop();
            let slot = &self.all[index];
            match slot.begun.get() {
                Some(begun) if begun + self.timeout > now => {
                    queue.push(Reverse((begun + self.timeout, index)));
                }
                Some(_) => {
                    slot.queued.set(false);
                    slot.expired.set(true);
                    slot.wake();
                }
                None => slot.queued.set(false),
            }
        }
    }
}

impl Slot {
    fn wake(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }
}
