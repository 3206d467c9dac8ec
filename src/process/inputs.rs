//! What a guard waits for: signals, its runner's orders, and what its child prints.

use super::launch::Order;
use super::log::CappedLog;
use super::mask::Mask;
use signal_hook::consts as signals;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Signals that ask the guard to end its tree, and itself.
const STOPPING: [i32; 4] = [
    signals::SIGTERM,
    signals::SIGINT,
    signals::SIGHUP,
    signals::SIGQUIT,
];
/// Signals that do nothing to the guard. They are handled rather than ignored,
/// since the kernel resets what is handled, and only that, for the child.
const UNHEEDED: [i32; 15] = [
    signals::SIGPIPE,
    signals::SIGALRM,
    signals::SIGUSR1,
    signals::SIGUSR2,
    signals::SIGCONT,
    signals::SIGTSTP,
    signals::SIGTTIN,
    signals::SIGTTOU,
    signals::SIGURG,
    signals::SIGXCPU,
    signals::SIGXFSZ,
    signals::SIGVTALRM,
    signals::SIGPROF,
    signals::SIGWINCH,
    signals::SIGIO,
];

/// Signals as something to wait for.
pub(super) struct Wakes {
    pub(super) pipe: UnixStream,
    stop: Arc<AtomicBool>,
}

impl Wakes {
    pub(super) fn new() -> io::Result<Self> {
        let (pipe, write) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in STOPPING {
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        for &signal in STOPPING.iter().chain(&[signals::SIGCHLD]).chain(&UNHEEDED) {
            signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
        }
        Ok(Self { pipe, stop })
    }

    /// Whether a signal has asked for a stop since this was last called.
    pub(super) fn take_stop(&self) -> bool {
        self.stop.swap(false, Ordering::Relaxed)
    }

    /// Empties the pipe, so that the next signal wakes again.
    pub(super) fn clear(&self) {
        let mut bytes = [0; 64];
        while matches!((&self.pipe).read(&mut bytes), Ok(n) if n > 0) {}
    }
}

/// The runner's orders, as they come in.
#[derive(Default)]
pub(super) struct Orders {
    buffer: Vec<u8>,
}

impl Orders {
    /// Reads what there is, or waits for it; false is the end of the runner.
    pub(super) fn read(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 16 << 10];
        loop {
            match rustix::io::read(io::stdin().as_fd(), &mut bytes) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.buffer.extend_from_slice(&bytes[..count]);
                    return Ok(true);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next whole line, if there is one; an error is no order.
    pub(super) fn next(&mut self) -> Option<serde_json::Result<Order>> {
        let end = self.buffer.iter().position(|&byte| byte == b'\n')?;
        let line: Vec<u8> = self.buffer.drain(..=end).collect();
        Some(serde_json::from_slice(&line))
    }
}

/// A stream of the child and the file that keeps it.
pub(super) struct Drain {
    /// Where it comes from; none once nobody can write any more.
    pub(super) pipe: Option<PipeReader>,
    pub(super) log: CappedLog,
    mask: Mask,
    /// When the file was last brought up to date.
    pub(super) flushed: Instant,
}

impl Drain {
    pub(super) fn new(pipe: PipeReader, log: CappedLog, mask: Mask) -> Self {
        Self {
            pipe: Some(pipe),
            log,
            mask,
            flushed: Instant::now(),
        }
    }

    /// Reads what there is, up to `most` bytes.
    pub(super) fn read(&mut self, buffer: &mut [u8], most: usize) {
        let mut total = 0;
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(buffer) {
                Ok(0) => {
                    self.log.write(&self.mask.rest());
                    self.pipe = None;
                }
                Ok(count) => {
                    if self.mask.is_empty() {
                        self.log.write(&buffer[..count]);
                    } else {
                        self.log.write(&self.mask.pass(&buffer[..count]));
                    }
                    total += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
            if total >= most {
                return;
            }
        }
    }

    pub(super) fn flush(&mut self) {
        self.log.flush();
        self.flushed = Instant::now();
    }
}
