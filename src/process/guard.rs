//! The loop of `hotlap guard`: the parent of one child and, as child-subreaper,
//! of all that it leaves behind. One thread waits for four things at once: orders
//! from the runner and their end, which is the runner's end; signals; what the
//! child prints; and the grace that runs out. It prints nothing for people.

use super::end::{Children, kill_tree, reap, signal, to_pid};
use super::inputs::{Drain, Orders, Wakes};
use super::launch::{Exit, Launch, Order, Report, Started, Stopped, line};
use super::ledger::{Ledger, boot};
use super::log::CappedLog;
use super::mask::Mask;
use super::scratch;
use super::signal::parse;
use super::spawn::{Pipes, spawn};
use super::tree::{ProcessId, Walker};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Signal, WaitStatus, kill_process, kill_process_group, set_child_subreaper, setsid,
};
use std::collections::HashSet;
use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How often the tail of a flooded log is brought to disk.
const FLUSH_EVERY: Duration = Duration::from_millis(500);
/// How often a tree that is ending is looked at, beside each child's end.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The most that is read of one stream before the others get their turn.
const READ_AT_ONCE: usize = 64 << 10;
/// The most that is read of one stream at its end: more than any pipe holds.
const LAST_READ: usize = 4 << 20;

/// What `hotlap guard` does: reads the launch from standard input, starts it,
/// reports on standard output, and ends only when its tree has ended. Returns 2
/// where the input is not a runner's.
pub fn guard_main() -> ExitCode {
    // In a session without a terminal nothing can print on it, read from it or be
    // stopped by it. It fails only for who already leads a group, by hand from a shell.
    let _ = setsid();
    let Ok(wakes) = Wakes::new() else {
        return ExitCode::FAILURE;
    };
    if set_child_subreaper(to_pid(std::process::id())).is_err() {
        return ExitCode::FAILURE;
    }
    let mut orders = Orders::default();
    let launch = loop {
        match orders.read() {
            Ok(true) => {}
            Ok(false) | Err(_) => return ExitCode::from(2),
        }
        match orders.next() {
            Some(Ok(Order::Launch(launch))) => break *launch,
            Some(Ok(Order::Keep(keep))) => {
                // It is told nothing more: what can be read is the end.
                return scratch::keep(&keep, || orders.read().unwrap_or(false));
            }
            Some(_) => return ExitCode::from(2),
            None => {}
        }
    };
    // A guard that fails must not leave its children to the system.
    let ended = catch_unwind(AssertUnwindSafe(|| match Guarding::start(launch) {
        Ok(guarding) => guarding.run(orders, &wakes),
        Err(sentence) => report(&Report::Failed(sentence)),
    }));
    if ended.is_err() {
        kill_tree(&mut Walker::new(), |_, _| {});
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// A stop that has been ordered.
struct Stopping {
    until: Instant,
    /// Who has had the signal: nobody gets it twice, since for some programs
    /// the second one means "at once".
    asked: HashSet<ProcessId>,
}

/// What the loop is to do next.
#[derive(PartialEq)]
enum Next {
    Wait,
    /// Nobody is left, or nobody may be.
    End,
}

/// A child and its descendants, from start to end.
struct Guarding {
    launch: Launch,
    stop_signal: Signal,
    leader: ProcessId,
    exit: Option<Exit>,
    stopping: Option<Stopping>,
    drains: Vec<Drain>,
    walker: Walker,
    buffer: Vec<u8>,
}

impl Guarding {
    /// Starts the child and reports it; the sentence of an error is for people.
    fn start(launch: Launch) -> Result<Self, String> {
        let unopened = |path: &std::path::Path, error: &io::Error| {
            format!(
                "its output cannot be written to {}: {error}",
                path.display()
            )
        };
        let stop_signal = parse(&launch.stop_signal).ok_or_else(|| {
            format!(
                "`{}` is not a signal that ends a process",
                launch.stop_signal
            )
        })?;
        let log = CappedLog::create(&launch.log, launch.log_cap)
            .map_err(|error| unopened(&launch.log, &error))?;
        let stdout = launch.stdout.as_deref().map(|path| {
            CappedLog::create(path, launch.log_cap).map_err(|error| unopened(path, &error))
        });
        let stdout = stdout.transpose()?;
        let pipes = Pipes::new(stdout.is_some())
            .map_err(|error| format!("no pipe for its output: {error}"))?;
        let mut walker = Walker::new();
        let mut ledger = write_ledger(&launch, &mut walker, pipes.inodes())?;
        let spawned = spawn(&launch, pipes);
        let (pid, log_pipe, stdout_pipe) = spawned.inspect_err(|_| remove_ledger(&launch))?;
        // The child stays in /proc until it is reaped, which nobody has done.
        let start = walker.stat(pid).map_or(0, |stat| stat.id.start);
        let leader = ProcessId { pid, start };
        ledger.leader = Some(leader);
        if let Some(path) = &launch.ledger {
            // The earlier version is there and names the pipes, which is enough to find the child.
            let _ = ledger.write(path);
        }
        let mask = || Mask::new(&launch.secrets);
        let mut drains = vec![Drain::new(log_pipe, log, mask())];
        drains.extend(
            stdout_pipe
                .zip(stdout)
                .map(|(pipe, log)| Drain::new(pipe, log, mask())),
        );
        report(&Report::Started(Started {
            leader,
            pipes: ledger.pipes,
        }));
        Ok(Self {
            launch,
            stop_signal,
            leader,
            exit: None,
            stopping: None,
            drains,
            walker,
            buffer: vec![0; READ_AT_ONCE],
        })
    }

    /// Guards until the tree is gone, and says how it went.
    fn run(mut self, mut orders: Orders, wakes: &Wakes) {
        while self.turn(&mut orders, wakes) == Next::Wait {}
        let (leader, mut exit) = (self.leader, self.exit);
        let ended = kill_tree(&mut self.walker, |pid, status| {
            if pid == leader.pid {
                exit.get_or_insert(exit_of(status));
            }
        });
        for drain in &mut self.drains {
            // Bounded, since a stranger may have been given the pipe.
            drain.read(&mut self.buffer, LAST_READ);
            drain.flush();
        }
        if ended.survivors.is_empty() {
            remove_ledger(&self.launch);
        }
        report(&Report::Stopped(Stopped {
            exit: exit.unwrap_or(Exit::Unseen),
            polite: ended.killed.is_empty() && ended.survivors.is_empty(),
            killed: u32::try_from(ended.killed.len()).unwrap_or(u32::MAX),
            survivors: ended.survivors,
            printed: self.drains.iter().map(|drain| drain.log.printed()).sum(),
        }));
    }

    /// Waits for something to happen and does what it asks for.
    fn turn(&mut self, orders: &mut Orders, wakes: &Wakes) -> Next {
        let ready = self.wait(wakes);
        wakes.clear();
        if wakes.take_stop() {
            self.begin_stop();
        }
        if ready.orders {
            match orders.read() {
                Ok(true) => {}
                // The runner is gone: no grace, so that it can be started again at once.
                Ok(false) | Err(_) => return Next::End,
            }
            while let Some(order) = orders.next() {
                match order {
                    Ok(Order::Stop) => self.begin_stop(),
                    Ok(Order::Launch(_) | Order::Keep(_) | Order::Kill) | Err(_) => {
                        return Next::End;
                    }
                }
            }
        }
        for drain in &mut self.drains {
            drain.read(&mut self.buffer, READ_AT_ONCE);
            if drain.log.is_stale() && drain.flushed.elapsed() >= FLUSH_EVERY {
                drain.flush();
            }
        }
        let children = self.reap();
        self.go_on_stopping(children)
    }

    /// Waits until there is something to do.
    fn wait(&self, wakes: &Wakes) -> Ready {
        let stdin = io::stdin();
        let mut fds = vec![
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(&wakes.pipe, PollFlags::IN),
        ];
        fds.extend(
            self.drains
                .iter()
                .filter_map(|drain| Some(PollFd::new(drain.pipe.as_ref()?, PollFlags::IN))),
        );
        let timeout = if self.stopping.is_some() {
            Some(LOOK_EVERY)
        } else {
            let stale = self.drains.iter().any(|drain| drain.log.is_stale());
            stale.then_some(FLUSH_EVERY)
        };
        let timeout = timeout.map(|time| Timespec {
            tv_sec: 0,
            tv_nsec: time.subsec_nanos().into(),
        });
        // An interrupted wait has nothing ready; the signal is in its own pipe.
        let woken = poll(&mut fds, timeout.as_ref()).is_ok();
        Ready {
            orders: woken && !fds[0].revents().is_empty(),
        }
    }

    /// Reaps, and reports the leader's end when it comes.
    fn reap(&mut self) -> Children {
        let mut exit = None;
        let children = reap(|pid, status| {
            if pid == self.leader.pid {
                exit = Some(exit_of(status));
            }
        });
        // A descendant may have the leader's pid later on; only the first is the leader.
        if let (Some(exit), None) = (exit, self.exit) {
            self.exit = Some(exit);
            for drain in &mut self.drains {
                // Whoever hears of the end may look at the log at once.
                drain.read(&mut self.buffer, LAST_READ);
                drain.flush();
            }
            report(&Report::Exited(exit));
        }
        children
    }

    /// Sends the stop signal to the leader's group; those outside of it are asked
    /// when the leader has gone without them.
    fn begin_stop(&mut self) {
        if self.stopping.is_some() {
            return;
        }
        let mut asked = HashSet::new();
        if self.exit.is_none()
            && let Some(pid) = to_pid(self.leader.pid)
        {
            // The leader is not reaped, so that its pid and its group's are still its own.
            let me = std::process::id();
            let tree = self.walker.descendants(me);
            asked.extend(
                tree.iter()
                    .filter(|s| s.group == self.leader.pid)
                    .map(|s| s.id),
            );
            asked.insert(self.leader);
            for signal in [self.stop_signal, Signal::CONT] {
                if kill_process_group(pid, signal).is_err() {
                    // It has left its group for another one of its session.
                    let _ = kill_process(pid, signal);
                }
            }
        }
        self.stopping = Some(Stopping {
            until: Instant::now() + self.launch.grace,
            asked,
        });
    }

    /// Asks those whom the leader left behind, and ends when nobody is left or
    /// the grace is over.
    fn go_on_stopping(&mut self, children: Children) -> Next {
        let Some(stopping) = &mut self.stopping else {
            return Next::Wait;
        };
        if children == Children::None || Instant::now() >= stopping.until {
            return Next::End;
        }
        if self.exit.is_some() {
            let me = std::process::id();
            for stat in self.walker.descendants(me) {
                if !stat.is_dead() && stopping.asked.insert(stat.id) {
                    signal(&mut self.walker, me, stat.id, self.stop_signal);
                    signal(&mut self.walker, me, stat.id, Signal::CONT);
                }
            }
        }
        Next::Wait
    }
}

/// What a wait has brought.
struct Ready {
    orders: bool,
}

/// How a reaped child ended.
fn exit_of(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (_, Some(signal)) => Exit::Signal(signal),
        _ => Exit::Unseen,
    }
}

/// Writes a report; a runner that does not listen any more has ended, which
/// the orders tell too.
fn report(report: &Report) {
    let line = line(report);
    let mut rest = line.as_slice();
    while !rest.is_empty() {
        match rustix::io::write(io::stdout().as_fd(), rest) {
            Ok(count) => rest = &rest[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// The ledger of this guard, on disk if the launch names a file for it.
fn write_ledger(launch: &Launch, walker: &mut Walker, pipes: Vec<u64>) -> Result<Ledger, String> {
    let me = std::process::id();
    let ledger = Ledger {
        format: Ledger::FORMAT,
        boot: boot(),
        guard: walker
            .stat(me)
            .map(|stat| stat.id)
            .ok_or("/proc cannot be read")?,
        leader: None,
        pipes,
        role: launch.role.clone(),
        command: launch.command_line(),
    };
    if let Some(path) = &launch.ledger {
        ledger
            .write(path)
            .map_err(|error| format!("its ledger {} cannot be written: {error}", path.display()))?;
    }
    Ok(ledger)
}

/// Takes the ledger away: nothing is left to be found.
fn remove_ledger(launch: &Launch) {
    if let Some(path) = &launch.ledger {
        // One that stays is read as "nobody alive".
        let _ = std::fs::remove_file(path);
    }
}
