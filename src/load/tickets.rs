//! The requests of a load by number, handed out so that exactly so many are sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The requests that are left, for all threads.
#[derive(Debug)]
pub(super) struct Tickets {
    left: AtomicU64,
    batch: u64,
}

impl Tickets {
    /// `total` requests for so many connections.
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

/// What a request gets from a [`Hand`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ticket {
    /// There is none left.
    None,
    /// One of many.
    One,
    /// The last of all.
    Last,
}

/// The tickets that one thread holds.
#[derive(Debug)]
pub(super) struct Hand {
    tickets: Arc<Tickets>,
    held: u64,
    last: bool,
}

impl Hand {
    /// An empty hand.
    pub(super) fn new(tickets: Arc<Tickets>) -> Self {
        Self {
            tickets,
            held: 0,
            last: false,
        }
    }

    /// Takes one ticket.
    pub(super) fn take(&mut self) -> Ticket {
        if self.held == 0 {
            (self.held, self.last) = self.tickets.take();
        }
        let Some(left) = self.held.checked_sub(1) else {
            return Ticket::None;
        };
        self.held = left;
        if left == 0 && self.last {
            Ticket::Last
        } else {
            Ticket::One
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_handed_out_once_and_one_is_the_last() {
        for (total, connections) in [(1, 4), (200, 4), (10_001, 2), (0, 1)] {
            let tickets = Arc::new(Tickets::new(total, connections));
            let mut hands = [
                Hand::new(Arc::clone(&tickets)),
                Hand::new(Arc::clone(&tickets)),
            ];
            let (mut taken, mut last) = (0, 0);
            loop {
                let got = hands.each_mut().map(Hand::take);
                taken += got.iter().filter(|got| **got != Ticket::None).count() as u64;
                last += got.iter().filter(|got| **got == Ticket::Last).count() as u64;
                if got == [Ticket::None; 2] {
                    break;
                }
            }
            assert_eq!((taken, last), (total, u64::from(total > 0)));
        }
    }
}
