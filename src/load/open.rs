//! The open loop of one generator thread: which request is due next, and the connections that have nothing to do.

use super::paced::Paced;
use super::schedule::{Due, Part, Schedule};
use std::time::{Duration, Instant};

/// Waits that are longer end early, and are then waited out: the kernel lets a wait take up to a thousandth longer.
const EXACT: Duration = Duration::from_millis(1);
/// The share of these after which the thread looks again.
const NEARLY: f64 = 0.99;

/// The open loop of one thread.
pub(super) struct Open {
    schedule: Schedule,
    thread: usize,
    threads: usize,
    part: Option<Part>,
    /// The next request; none where there is no further one.
    due: Option<Due>,
    /// Connections that have nothing to do. The one that was used last is the next one, so that no more are opened than are needed.
    free: Vec<usize>,
}

/// A request that may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) due: Due,
    /// Whether it waited because every connection was busy.
    pub(super) waited: bool,
}

impl Open {
    /// The part that thread `thread` of `threads` has of a schedule.
    pub(super) fn new(schedule: Schedule, thread: usize, threads: usize) -> Self {
        Self {
            schedule,
            thread,
            threads,
            part: None,
            due: None,
            free: Vec::new(),
        }
    }

    /// Begins to warm up, with all of so many connections at rest.
    pub(super) fn warm_up(&mut self, start: Instant, until: Instant, connections: usize) {
        let warm = self
            .schedule
            .warm_up(until.saturating_duration_since(start));
        self.begin(warm.part(self.thread, self.threads, start), connections);
    }

    /// Begins the schedule itself.
    pub(super) fn measure(&mut self, start: Instant, connections: usize) {
        self.begin(
            self.schedule.part(self.thread, self.threads, start),
            connections,
        );
    }

    fn begin(&mut self, mut part: Part, connections: usize) {
        self.due = part.next();
        self.part = Some(part);
        self.free = (0..connections).rev().collect();
    }

    /// Whether the phase has begun and goes on at `now`, if it ends at `until` or else with its last request.
    pub(super) fn goes_on(&self, now: Instant, until: Option<Instant>) -> bool {
        self.part.is_some() && until.map_or(self.due.is_some(), |until| now < until)
    }

    /// When to look again: for a request that can be sent, and for the end.
    pub(super) fn next_look(&self, until: Option<Instant>) -> Option<Instant> {
        self.part.as_ref()?;
        let due = self.due.filter(|_| !self.free.is_empty());
        due.map(|due| due.at).into_iter().chain(until).min()
    }

    /// A connection has nothing to do.
    pub(super) fn rest(&mut self, connection: usize) {
        self.free.push(connection);
    }

    /// Takes the next request for a connection that has just become free, if it is due.
    pub(super) fn take(&mut self, now: Instant) -> Option<Taken> {
        let due = self.due.filter(|due| due.at <= now)?;
        self.due = self.part.as_mut().and_then(Iterator::next);
        Some(Taken {
            due,
            waited: self.free.is_empty(),
        })
    }

    /// Takes the next request and a connection for it, if it is due and there is one.
    pub(super) fn take_both(&mut self, now: Instant) -> Option<(usize, Taken)> {
        self.due.filter(|due| due.at <= now)?;
        // It did not wait for this connection.
        let connection = self.free.pop()?;
        let taken = self.take(now)?;
        let taken = Taken {
            waited: false,
            ..taken
        };
        Some((connection, taken))
    }

    /// Whether a phase has begun and not ended.
    pub(super) fn is_under_way(&self) -> bool {
        self.part.is_some()
    }

    /// Ends the phase, and tells of the requests that were not sent: all that are left, or where the load was stopped those that were
    /// due until `stopped`. Gives the connections that have nothing to do.
    pub(super) fn end(
        &mut self,
        paced: Option<&mut Paced>,
        stopped: Option<Instant>,
    ) -> Vec<usize> {
        let (due, part) = (self.due.take(), self.part.take());
        if let (Some(paced), Some(part)) = (paced, part) {
            let left = part.left().filter(|_| stopped.is_none());
            match left {
                Some(left) => {
                    if let Some(due) = due {
                        paced.gave_up(due);
                    }
                    paced.gave_up_all(left);
                }
                None => due
                    .into_iter()
                    .chain(part)
                    .take_while(|due| stopped.is_none_or(|stopped| due.at <= stopped))
                    .for_each(|due| paced.gave_up(due)),
            }
        }
        std::mem::take(&mut self.free)
    }
}

/// How long to wait for an instant that must not be missed: the whole time where it is short, and nearly all of it else.
pub(super) fn exactly(left: Duration) -> Duration {
    if left > EXACT {
        left.mul_f64(NEARLY)
    } else {
        left
    }
}
