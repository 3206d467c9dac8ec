//! What process trees use while a server is measured: the sum of RSS, PSS at
//! checkpoints, CPU time with that of ended children, processes and threads.
//! One thread reads the trees of all roles at a fixed interval and once more at
//! every edge of a phase, so that a window's figures are the window's own.
//!
//! `tree` reads one tree so that its CPU time never falls and nothing is counted
//! twice, with `memory` for what one process holds and `work` for who used the
//! CPU; `role` sums trees under a name; `usage` makes figures of readings.

mod memory;
mod role;
mod tree;
mod usage;
mod work;

use crate::process::{ProcessId, Walker};
use crate::record::{ByRole, Phase, Reading, Usage};
use role::Role;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use usage::Tick;

/// A tree to watch. Several of one role are summed under it, in one row a reading and one [`Usage`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The name under which its figures are kept; not `total`.
    pub role: String,
    /// Which processes belong to it.
    pub tree: Tree,
    /// Whether it is a part of `total`; what servers lean on is not. The first root of a role decides.
    pub counted: bool,
}

/// Which processes belong to a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tree {
    /// All descendants of the guard with this pid, itself left out.
    UnderGuard(u32),
    /// The process with this pid, which was not started for this, and all of its descendants. Its CPU time counts from
    /// the first reading. When the process is gone the tree is, whoever is left of it or has its pid.
    From(ProcessId),
}

/// The moments at which PSS is read, outside of the measured phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Checkpoint {
    /// Ready, not yet loaded.
    Idle,
    /// Right after the load.
    Loaded,
    /// After the load and a rest.
    After,
}

/// The newest reading, all roles that count together, for a progress display.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Sum of RSS in bytes.
    pub rss_bytes: u64,
    /// Processes.
    pub processes: u32,
}

/// Everything that a sampler saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// The readings in the order of their time; those of one moment have one `t_ns`.
    pub readings: Vec<Reading>,
    /// Figures by role, and of all that count together under `total`. RSS means are
    /// weighted by time: the area under the straight lines between readings,
    /// divided by the window.
    pub usage: ByRole<Usage>,
}

/// Reads process trees on a thread of its own until it is finished or dropped.
#[derive(Debug)]
pub struct Sampler {
    messages: Sender<Message>,
    latest: Arc<Latest>,
    thread: JoinHandle<Series>,
}

impl Sampler {
    /// Begins to read the trees, in phase [`Phase::Start`], at multiples of
    /// `interval`; a reading that would be late is left out. Times count from `began`.
    pub fn start(roots: Vec<Root>, interval: Duration, began: Instant) -> io::Result<Self> {
        let (messages, inbox) = mpsc::channel();
        let latest = Arc::new(Latest::default());
        let mut roles = Vec::new();
        for root in roots {
            Role::add(&mut roles, root);
        }
        let watcher = Watcher {
            began,
            phase: Phase::Start,
            roles,
            walker: Walker::new(),
            readings: Vec::new(),
            ticks: Vec::new(),
            counter: None,
            completed: None,
            latest: Arc::clone(&latest),
        };
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || watcher.run(&inbox, interval))?;
        Ok(Self {
            messages,
            latest,
            thread,
        })
    }

    /// Watches one more tree from now on.
    pub fn watch(&self, root: Root) {
        self.tell(Message::Watch(root));
    }

    /// Begins a phase now: a reading is taken, which ends the phase before as
    /// well. Returns at once.
    pub fn phase(&self, phase: Phase) {
        self.tell(Message::Phase(phase));
    }

    /// From now on a reading in the measured phase, and after it, tells how many requests have succeeded, as
    /// `completed` counts them.
    pub fn count(&self, completed: impl Fn() -> u64 + Send + 'static) {
        self.tell(Message::Count(Counter(Box::new(completed))));
    }

    /// Takes a reading with PSS and the high-water marks and returns when it is
    /// done. It walks page tables, tens of milliseconds a gigabyte: keep it out
    /// of the measured phase.
    pub fn checkpoint(&self, checkpoint: Checkpoint) {
        let (done, wait) = mpsc::sync_channel(1);
        self.tell(Message::Checkpoint(checkpoint, done));
        // The other end is dropped unanswered only if the thread failed, which `finish` tells.
        let _ = wait.recv();
    }

    /// The newest reading.
    pub fn latest(&self) -> Snapshot {
        Snapshot {
            rss_bytes: self.latest.rss_bytes.load(Ordering::Relaxed),
            processes: self.latest.processes.load(Ordering::Relaxed),
        }
    }

    /// Takes a last reading and gives back everything.
    ///
    /// # Panics
    /// If the sampler's thread panicked, with its panic.
    pub fn finish(self) -> Series {
        self.tell(Message::Finish);
        match self.thread.join() {
            Ok(series) => series,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn tell(&self, message: Message) {
        // Nobody listens only if the thread failed, which `finish` tells.
        let _ = self.messages.send(message);
    }
}

/// Whoever knows how many requests of the measured phase have succeeded so far.
struct Counter(Box<dyn Fn() -> u64 + Send>);

enum Message {
    Count(Counter),
    Watch(Root),
    Phase(Phase),
    Checkpoint(Checkpoint, SyncSender<()>),
    Finish,
}

#[derive(Debug, Default)]
struct Latest {
    rss_bytes: AtomicU64,
    processes: AtomicU32,
}

/// The sampler's thread.
struct Watcher {
    began: Instant,
    phase: Phase,
    roles: Vec<Role>,
    walker: Walker,
    readings: Vec<Reading>,
    ticks: Vec<Tick>,
    counter: Option<Counter>,
    /// What the counter said last.
    completed: Option<u64>,
    latest: Arc<Latest>,
}

impl Watcher {
    fn run(mut self, inbox: &Receiver<Message>, interval: Duration) -> Series {
        let start = Instant::now();
        let interval = interval.max(Duration::from_millis(1));
        let mut next = start;
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            match inbox.recv_timeout(wait) {
                Ok(Message::Watch(root)) => {
                    Role::add(&mut self.roles, root);
                }
                Ok(Message::Count(counter)) => self.counter = Some(counter),
                Ok(Message::Phase(phase)) => {
                    self.phase = phase;
                    self.read();
                }
                Ok(Message::Checkpoint(checkpoint, done)) => {
                    self.read_with_pss(checkpoint);
                    // A caller that went away does not need to know.
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.read();
                    let passed = start.elapsed().as_nanos() / interval.as_nanos();
                    // The schedule is absolute; moments that have passed are left out.
                    next = start + interval * u32::try_from(passed + 1).unwrap_or(u32::MAX);
                }
                Ok(Message::Finish) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.read();
        usage::series(self.readings, &self.ticks, &self.roles)
    }

    /// One reading of every role.
    fn read(&mut self) {
        let t_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut all = Snapshot::default();
        self.ask_counter();
        // What was used since the reading before belongs to that one's phase.
        let before = self.ticks.last();
        let counts = before.is_some_and(|tick| tick.phase == Phase::Measure);
        for role in &mut self.roles {
            let seen = role.read(&mut self.walker, counts);
            if role.counted {
                all.rss_bytes += seen.rss_bytes;
                all.processes += seen.processes;
            }
            self.readings.push(Reading {
                t_ns,
                phase: self.phase,
                role: role.name.clone(),
                rss_bytes: seen.rss_bytes,
                pss_bytes: None,
                cpu_seconds: seen.cpu_seconds,
                processes: seen.processes,
                threads: seen.threads,
                completed: self.completed,
            });
        }
        self.latest
            .rss_bytes
            .store(all.rss_bytes, Ordering::Relaxed);
        self.latest
            .processes
            .store(all.processes, Ordering::Relaxed);
        self.ticks.push(Tick {
            t_ns,
            phase: self.phase,
            own_cpu: own_cpu(),
        });
    }

    /// How many requests have succeeded, from the measured phase on. Another thread's count may be a moment
    /// old; it never falls.
    fn ask_counter(&mut self) {
        if matches!(self.phase, Phase::Measure | Phase::Rest) {
            let now = self.counter.as_ref().map(|counter| counter.0());
            self.completed = self.completed.max(now);
        }
    }

    /// One reading with PSS and the high-water marks.
    fn read_with_pss(&mut self, checkpoint: Checkpoint) {
        self.read();
        let first = self.readings.len() - self.roles.len();
        for (role, reading) in self.roles.iter_mut().zip(&mut self.readings[first..]) {
            reading.pss_bytes = role.mark(&mut self.walker, checkpoint, reading.rss_bytes);
        }
    }
}

/// CPU time of this thread so far.
fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
