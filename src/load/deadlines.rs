//! When the requests of one thread are over at the latest. A request costs no timer: each connection
//! has at most one entry in the queue, and an entry that comes up is put back at the deadline of
//! the request that is in flight by then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Default)]
struct Slot {
    begun: Option<Instant>,
    queued: bool,
}

/// The deadlines of all connections of one thread, by their index.
pub(super) struct Deadlines {
    slots: Vec<Slot>,
    queue: BinaryHeap<Reverse<(Instant, usize)>>,
    timeout: Duration,
}

impl Deadlines {
    pub(super) fn new(count: usize, timeout: Duration) -> Self {
        Self {
            slots: vec![Slot::default(); count],
            queue: BinaryHeap::new(),
            timeout,
        }
    }

    /// The connection has a request in flight, begun at `now`.
    pub(super) fn begin(&mut self, index: usize, now: Instant) {
        let slot = &mut self.slots[index];
        slot.begun = Some(now);
        if !slot.queued {
            slot.queued = true;
            self.queue.push(Reverse((now + self.timeout, index)));
        }
    }

    /// The request is over.
    pub(super) fn end(&mut self, index: usize) {
        self.slots[index].begun = None;
    }

    /// When to look again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.queue.peek().map(|Reverse((at, _))| *at)
    }

    /// A connection whose request's time is over; none where there is no other.
    pub(super) fn expired(&mut self, now: Instant) -> Option<usize> {
        while let Some(Reverse((at, index))) = self.queue.peek().copied() {
            if at > now {
                return None;
            }
            self.queue.pop();
            let slot = &mut self.slots[index];
            match slot.begun {
                Some(begun) if begun + self.timeout > now => {
                    self.queue.push(Reverse((begun + self.timeout, index)));
                }
                Some(_) => {
                    slot.queued = false;
                    return Some(index);
                }
                None => slot.queued = false,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_flight_for_too_long_expires() {
        let second = Duration::from_secs(1);
        let start = Instant::now();
        let mut deadlines = Deadlines::new(3, second * 10);
        assert_eq!(deadlines.next(), None);
        for index in 0..3 {
            deadlines.begin(index, start + second * index as u32);
        }
        // One ended, one ended and began anew, one goes on.
        deadlines.end(0);
        deadlines.end(1);
        deadlines.begin(1, start + second * 5);
        assert_eq!(deadlines.next(), Some(start + second * 10));
        assert_eq!(deadlines.expired(start + second * 9), None);
        assert_eq!(deadlines.expired(start + second * 11), None);
        assert_eq!(deadlines.expired(start + second * 12), Some(2));
        assert_eq!(deadlines.expired(start + second * 14), None);
        assert_eq!(deadlines.expired(start + second * 15), Some(1));
        assert_eq!(deadlines.next(), None);
        // After all that each still counts once.
        deadlines.begin(0, start + second * 20);
        deadlines.end(0);
        deadlines.begin(0, start + second * 21);
        assert_eq!(deadlines.expired(start + second * 30), None);
        assert_eq!(deadlines.expired(start + second * 31), Some(0));
        assert_eq!(deadlines.expired(start + second * 40), None);
    }
}
