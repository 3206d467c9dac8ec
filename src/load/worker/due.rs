//! What a thread does of an open loop: it sends the requests that are due, where there are connections for them.

use super::{Event, Worker};
use crate::load::lane::Lane;
use crate::load::open::Taken;
use rustix::thread::set_current_timer_slack;
use std::num::NonZeroU64;
use std::time::Instant;

impl<L: Lane> Worker<L> {
    /// In an open loop connections are opened when a request needs one.
    pub(super) fn need_no_connections_yet(&mut self) -> Result<(), String> {
        // A thread waits as exactly as the kernel can.
        set_current_timer_slack(NonZeroU64::new(1))
            .map_err(|error| format!("a generator thread can't wait exactly: {error}"))?;
        self.unopened = self.connections.len();
        self.busy = 0;
        self.tell(Event::Rest);
        Ok(())
    }

    /// Sends the requests of an open loop that are due and for which there are connections.
    pub(super) fn send_what_is_due(&mut self) {
        loop {
            let now = Instant::now();
            let Some(open) = &mut self.open else {
                return;
            };
            // What is due before the end and has a connection is sent, also where this thread is late.
            let taken = if self.term.stopped {
                None
            } else {
                open.take_both(now)
            };
            if let Some((index, taken)) = taken {
                self.ask(index, now, Some(taken));
                self.go_on(index);
                continue;
            }
            if self.term.stopped || !open.goes_on(now, self.term.until) {
                self.close_schedule();
            }
            return;
        }
    }

    /// Sends no more of an open loop's requests: what is left is unsent, and what has nothing to do rests.
    pub(super) fn close_schedule(&mut self) {
        let Some(open) = self.open.as_mut().filter(|open| open.is_under_way()) else {
            return;
        };
        let now = self.term.stopped.then(Instant::now);
        let free = open.end(self.shared.recorder.paced(), now);
        if self.shared.recorder.is_measuring() {
            self.tell(Event::AllBegun);
        }
        // They would have gone on until the end, however late this thread has seen it.
        let end = self.term.until.unwrap_or_else(Instant::now);
        for _ in free {
            self.close_account(end);
            self.rest();
        }
    }

    fn ask(&mut self, index: usize, now: Instant, taken: Option<Taken>) {
        let recorder = &mut self.shared.recorder;
        recorder.begin();
        if let (Some(Taken { due, waited }), Some(paced)) = (taken, recorder.paced()) {
            if waited {
                paced.sent_from_queue(due);
            } else {
                paced.sent_in_time(due, now.saturating_duration_since(due.at));
            }
        }
        self.deadlines.begin(index, now);
        let due = taken.map(|taken| taken.due);
        self.connections[index].ask(now, due, &mut self.shared);
    }

    /// Whether a schedule goes on at `now`.
    pub(super) fn is_paced(&self, now: Instant) -> bool {
        let open = self.open.as_ref();
        !self.term.stopped && open.is_some_and(|open| open.goes_on(now, self.term.until))
    }

    /// Begins the next request on a connection that has just become free, if it is due. Else the connection has nothing to do.
    pub(super) fn begin_due(&mut self, index: usize, now: Instant) -> bool {
        let Some(open) = &mut self.open else {
            return false;
        };
        let taken = open.take(now);
        if taken.is_none() {
            open.rest(index);
            return false;
        }
        self.ask(index, now, taken);
        true
    }
}
