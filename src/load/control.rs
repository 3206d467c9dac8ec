//! How the runner follows and stops a load: phases, progress, cancellation.

use super::poller::Waker;
use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;
use tokio::sync::watch;

/// The phases of a load, told at their edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadPhase {
    /// Connections are open; requests go out that do not count.
    WarmUp,
    /// Requests go out that count.
    Measure,
    /// Nothing new is begun; what is in flight is waited for.
    Drain,
    /// All is counted.
    Done,
}

/// Stops a load from another thread; clones stop the same one.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<Switch>);

#[derive(Debug)]
struct Switch {
    stopped: watch::Sender<bool>,
    /// The generator threads that have to hear of it at once.
    wakers: Mutex<Vec<Weak<Waker>>>,
}

impl Default for Cancel {
    fn default() -> Self {
        Self(Arc::new(Switch {
            stopped: watch::Sender::new(false),
            wakers: Mutex::default(),
        }))
    }
}

impl Cancel {
    /// A switch that is off.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the load; for good.
    pub fn cancel(&self) {
        self.0.stopped.send_replace(true);
        for waker in self.wakers().iter().filter_map(Weak::upgrade) {
            waker.wake();
        }
    }

    /// Whether it was stopped.
    pub fn is_cancelled(&self) -> bool {
        *self.0.stopped.borrow()
    }

    /// Returns once it is stopped.
    pub async fn cancelled(&self) {
        // The sender lives in self, so waiting can't fail.
        let _ = self
            .0
            .stopped
            .subscribe()
            .wait_for(|stopped| *stopped)
            .await;
    }

    /// Has a thread woken when the load is stopped. It must look once itself, for it may have been stopped before.
    pub(super) fn wakes(&self, waker: &Arc<Waker>) {
        let mut wakers = self.wakers();
        wakers.retain(|known| known.strong_count() > 0);
        wakers.push(Arc::downgrade(waker));
    }

    fn wakers(&self) -> MutexGuard<'_, Vec<Weak<Waker>>> {
        // A list of wakers is whole at any time.
        self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One generator thread's counts, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Tally {
    ok: AtomicU64,
    errors: AtomicU64,
}

/// How far a load is, readable at any time: relaxed stores, so a moment old.
#[derive(Debug)]
pub struct Progress {
    phase: AtomicU8,
    /// Successes and errors of the loads before this one.
    earlier: Tally,
    tallies: Vec<Tally>,
}

impl Progress {
    fn new(threads: usize) -> Self {
        let mut tallies = Vec::new();
        tallies.resize_with(threads, Tally::default);
        Self {
            phase: AtomicU8::new(0),
            earlier: Tally::default(),
            tallies,
        }
    }

    /// The phase; none while connections are opened.
    pub fn phase(&self) -> Option<LoadPhase> {
        match self.phase.load(Ordering::Relaxed) {
            1 => Some(LoadPhase::WarmUp),
            2 => Some(LoadPhase::Measure),
            3 => Some(LoadPhase::Drain),
            4 => Some(LoadPhase::Done),
            _ => None,
        }
    }

    /// Successes of the measured phase so far, of all loads with this control. Each thread tells its own after
    /// every request; between two loads it can be too low for a moment.
    pub fn succeeded(&self) -> u64 {
        let load = |tally: &Tally| tally.ok.load(Ordering::Relaxed);
        load(&self.earlier) + self.tallies.iter().map(load).sum::<u64>()
    }

    /// Failures and time-outs, as [`Self::succeeded`].
    pub fn errors(&self) -> u64 {
        let load = |tally: &Tally| tally.errors.load(Ordering::Relaxed);
        load(&self.earlier) + self.tallies.iter().map(load).sum::<u64>()
    }

    /// Begins another load: its threads count from 0 again. No thread of the one before runs any more.
    pub(super) fn begin(&self) {
        for tally in &self.tallies {
            let (ok, errors) = (
                tally.ok.swap(0, Ordering::Relaxed),
                tally.errors.swap(0, Ordering::Relaxed),
            );
            self.earlier.ok.fetch_add(ok, Ordering::Relaxed);
            self.earlier.errors.fetch_add(errors, Ordering::Relaxed);
        }
    }

    pub(super) fn store(&self, thread: usize, ok: u64, errors: u64) {
        self.tallies[thread].ok.store(ok, Ordering::Relaxed);
        self.tallies[thread].errors.store(errors, Ordering::Relaxed);
    }
}

/// What the caller has to do with a running load.
pub struct Control {
    pub(super) progress: Arc<Progress>,
    pub(super) cancel: Cancel,
    pub(super) threads: usize,
    on_phase: Box<dyn Fn(LoadPhase, Instant) + Send + Sync>,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl Control {
    /// A load by `threads` threads. `on_phase` is called at the edge of each phase, by the thread that called
    /// [`super::run`], with the instant of the edge.
    pub fn new(
        threads: usize,
        cancel: Cancel,
        on_phase: impl Fn(LoadPhase, Instant) + Send + Sync + 'static,
    ) -> Self {
        let threads = threads.max(1);
        Self {
            progress: Arc::new(Progress::new(threads)),
            cancel,
            threads,
            on_phase: Box::new(on_phase),
        }
    }

    /// Whether the load was stopped.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// The progress, for whoever shows it.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    pub(super) fn enter(&self, phase: LoadPhase, at: Instant) {
        self.progress
            .phase
            .store(phase as u8 + 1, Ordering::Relaxed);
        (self.on_phase)(phase, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_with_one_control_are_counted_together() {
        let progress = Progress::new(2);
        progress.begin();
        progress.store(0, 5, 1);
        progress.store(1, 7, 0);
        assert_eq!((progress.succeeded(), progress.errors()), (12, 1));
        progress.begin();
        assert_eq!((progress.succeeded(), progress.errors()), (12, 1));
        progress.store(1, 2, 2);
        assert_eq!((progress.succeeded(), progress.errors()), (14, 3));
    }
}
