//! What a generator thread asks of a connection, whether it has one request in flight or several. The thread's loop is
//! made once for each kind, so that the one with a single request pays nothing for the other.

use super::cause::Cause;
use super::connection::{Connection, Phase, Shared};
use super::poller::Seen;
use super::schedule::Due;
use std::time::{Duration, Instant};

/// A connection, as the thread's loop sees it.
pub(super) trait Lane {
    /// A connection that is not open.
    fn new(index: usize, shared: &Shared) -> Self;
    /// What it is at.
    fn phase(&self) -> Phase;
    /// When the oldest request was begun that it is at; none where it is at none.
    fn oldest(&self) -> Option<Instant>;
    /// Whether it can take on one more request.
    fn has_room(&self) -> bool;
    /// Whether bytes that it has read and not looked at are still in the thread's buffer, which it shares with the others.
    fn holds_bytes(&self) -> bool;
    /// Whether it has stopped reading for the sake of the others.
    fn is_hungry(&self) -> bool;
    /// Takes note of an event. False where it is of a socket that is closed by now.
    fn notice(&mut self, seen: Seen) -> bool;
    /// Begins to open the connection before it is needed.
    fn prepare(&mut self, shared: &mut Shared) -> Result<(), Cause>;
    /// Takes on a request, begun at `begun`; in an open loop it was `due` before.
    fn ask(&mut self, begun: Instant, due: Option<Due>, shared: &mut Shared);
    /// Goes on until there is nothing to do but to wait. Gives the outcome where that is the end of its oldest request, or
    /// of the opening before it.
    fn step(&mut self, shared: &mut Shared) -> Option<Result<(), Cause>>;
    /// Breaks off its oldest request.
    fn break_off(&mut self, expired: bool, shared: &mut Shared) -> Result<(), Cause>;
    /// Records how its oldest request ended.
    fn record(&mut self, outcome: Result<(), Cause>, now: Instant, shared: &mut Shared);
    /// Pauses, and gives for how long.
    fn hold(&mut self) -> Duration;
    /// The pause is over.
    fn release(&mut self);
    /// Whether there was no room for it, so that no event will come and it has to be tried again.
    fn lacks_room(&self) -> bool;
    /// There may be room now.
    fn try_again(&mut self);
    /// Whether there may come something that nothing asked for.
    fn is_listening(&self) -> bool;
    /// Looks once more whether something came that nothing asked for.
    fn look(&mut self, shared: &mut Shared);

    /// Whether it is at a request. While a connection is opened before the load it is not.
    fn is_asked(&self) -> bool {
        self.oldest().is_some()
    }
}

impl Lane for Connection {
    fn new(index: usize, shared: &Shared) -> Self {
        Self::new(index, shared)
    }

    fn holds_bytes(&self) -> bool {
        false
    }

    fn phase(&self) -> Phase {
        self.phase()
    }

    #[inline]
    fn oldest(&self) -> Option<Instant> {
        self.begun()
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.begun().is_none()
    }

    fn is_hungry(&self) -> bool {
        self.is_hungry()
    }

    fn notice(&mut self, seen: Seen) -> bool {
        self.notice(seen)
    }

    fn prepare(&mut self, shared: &mut Shared) -> Result<(), Cause> {
        self.prepare(shared)
    }

    fn ask(&mut self, begun: Instant, due: Option<Due>, shared: &mut Shared) {
        self.ask(begun, due, shared);
    }

    fn step(&mut self, shared: &mut Shared) -> Option<Result<(), Cause>> {
        self.step(shared)
    }

    fn break_off(&mut self, expired: bool, shared: &mut Shared) -> Result<(), Cause> {
        self.break_off(expired, shared)
    }

    fn record(&mut self, outcome: Result<(), Cause>, now: Instant, shared: &mut Shared) {
        self.record(outcome, now, shared);
    }

    fn hold(&mut self) -> Duration {
        self.hold()
    }

    fn release(&mut self) {
        self.release();
    }

    fn lacks_room(&self) -> bool {
        self.lacks_room()
    }

    fn try_again(&mut self) {
        self.try_again();
    }

    fn is_listening(&self) -> bool {
        self.is_listening()
    }

    fn look(&mut self, shared: &mut Shared) {
        self.look(shared);
    }
}
