//! What holds of a thread's phase, however its connections are driven: until when and how often requests are begun, how long a
//! pause may be, and when a connection's account is closed.

use super::tickets::{Hand, Ticket, Tickets};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Connections that a thread opens at the same time, so that a short accept queue does not overflow.
pub(super) const OPENING: usize = 32;
/// The first pause after a failed connect; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The term of a phase.
#[derive(Debug)]
pub(super) struct Term {
    /// Until when requests are begun; none counts tickets.
    pub(super) until: Option<Instant>,
    pub(super) stopped: bool,
    hand: Option<Hand>,
}

impl Term {
    /// One that is not stopped; with tickets, or else until some time.
    pub(super) fn new(tickets: Option<Arc<Tickets>>) -> Self {
        Self {
            until: None,
            stopped: false,
            hand: tickets.map(Hand::new),
        }
    }

    /// Whether one more request is begun at `now`, and whether it is known to be the last.
    pub(super) fn next(&mut self, now: Instant) -> Ticket {
        if self.stopped {
            return Ticket::None;
        }
        match self.until {
            Some(until) if now < until => Ticket::One,
            Some(_) => Ticket::None,
            None => self.hand.as_mut().map_or(Ticket::None, Hand::take),
        }
    }

    /// When a pause of this length ends, which is not beyond the phase.
    pub(super) fn pause_end(&self, now: Instant, pause: Duration) -> Instant {
        let end = now + pause;
        self.until.map_or(end, |until| end.min(until.max(now)))
    }

    /// Until when a connection counts that ended its last request at `last_end`: one that was stopped was busy until now, one that
    /// held back until the deadline.
    pub(super) fn account_end(&self, last_end: Instant) -> Instant {
        if self.stopped {
            return Instant::now();
        }
        self.until.map_or(last_end, |until| until.max(last_end))
    }
}

/// The pauses after failed connects: a dead server must not make a busy loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Self(FIRST_PAUSE)
    }
}

impl Pause {
    /// How long the next one is; the one after it is longer.
    pub(super) fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_begun_until_the_deadline_or_the_last_ticket() {
        let now = Instant::now();
        let mut timed = Term::new(None);
        timed.until = Some(now + FIRST_PAUSE);
        assert_eq!(timed.next(now), Ticket::One);
        assert_eq!(timed.next(now + FIRST_PAUSE), Ticket::None);
        let mut counted = Term::new(Some(Arc::new(Tickets::new(2, 1))));
        let all = [(); 3].map(|()| counted.next(now));
        assert_eq!(all, [Ticket::One, Ticket::Last, Ticket::None]);
        let mut stopped = Term::new(Some(Arc::new(Tickets::new(2, 1))));
        stopped.stopped = true;
        assert_eq!(stopped.next(now), Ticket::None);
    }

    #[test]
    fn pauses_grow_and_end_with_the_phase() {
        let now = Instant::now();
        let mut pause = Pause::default();
        let all = [(); 5].map(|()| pause.next().as_millis());
        assert_eq!(all, [10, 20, 40, 80, 100]);
        let mut term = Term::new(None);
        assert_eq!(term.pause_end(now, LONGEST_PAUSE), now + LONGEST_PAUSE);
        term.until = Some(now + FIRST_PAUSE);
        assert_eq!(term.pause_end(now, LONGEST_PAUSE), now + FIRST_PAUSE);
        assert_eq!(term.account_end(now), now + FIRST_PAUSE);
    }
}
