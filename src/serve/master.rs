//! The master of several workers: it owns the listening sockets, starts this
//! program again once for each, restarts those that die, and ends them all.
//! Each worker holds one end of a socket pair: its end tells the master that the
//! worker died, and the master's end, which closes however the master dies, tells
//! the worker to stop.

use super::{Options, ServeError, listen};
use crate::units::write_duration;
use std::ffi::OsString;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// After this a worker that was told to stop is killed. It gives its requests one second.
const GRACE: Duration = Duration::from_secs(3);

/// A worker that ends sooner than this never worked.
const SHORT_LIFE: Duration = Duration::from_secs(1);

/// So many short lives in a row, and the master gives up.
const MOST_SHORT_LIVES: u32 = 5;

/// Pause before a restart, so that a worker that cannot start does not burn a core.
const RESTART_PAUSE: Duration = Duration::from_millis(50);

/// Runs the workers until a stop signal, or until they die too often.
pub(super) fn run(options: &Options, announce: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    let listeners = listen::shared(options.address, options.port, options.workers)?;
    let address = listeners[0]
        .local_addr()
        .map_err(ServeError::doing("cannot read the listening address"))?;
    let program =
        std::env::current_exe().map_err(ServeError::doing("cannot find this program's file"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ServeError::doing("cannot start the event loop"))?;
    runtime.block_on(supervise(&program, &arguments(options), listeners, || {
        announce(address);
    }))
}

async fn supervise(
    program: &Path,
    arguments: &[OsString],
    listeners: Vec<TcpListener>,
    announce: impl FnOnce(),
) -> Result<(), ServeError> {
    let hear = |kind| signal(kind).map_err(ServeError::doing("cannot listen for signals"));
    let mut terminate = hear(SignalKind::terminate())?;
    let mut interrupt = hear(SignalKind::interrupt())?;
    let (stop, stopped) = watch::channel(false);
    let (ready, mut readied) = mpsc::unbounded_channel();
    let mut missing = listeners.len();
    let mut announce = Some(announce);
    let mut slots = JoinSet::new();
    for listener in listeners {
        let slot = Slot {
            program: program.to_owned(),
            arguments: arguments.to_owned(),
            listener,
            ready: Some(ready.clone()),
            stopped: stopped.clone(),
        };
        slots.spawn(slot.keep_alive());
    }
    drop(ready);
    let mut result = Ok(());
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            Some(()) = readied.recv() => {
                missing -= 1;
                if missing == 0 && let Some(announce) = announce.take() {
                    announce();
                }
            }
            Some(ended) = slots.join_next() => {
                result = flatten(ended);
                break;
            }
        }
    }
    let _ = stop.send(true);
    while let Some(ended) = slots.join_next().await {
        result = result.and(flatten(ended));
    }
    result
}

fn flatten(
    ended: Result<Result<(), ServeError>, tokio::task::JoinError>,
) -> Result<(), ServeError> {
    ended.unwrap_or_else(|error| {
        Err(ServeError::System {
            doing: "a worker's supervision broke",
            source: io::Error::other(error),
        })
    })
}

/// One of the workers, through all its restarts.
struct Slot {
    program: PathBuf,
    arguments: Vec<OsString>,
    listener: TcpListener,
    /// Told once, when the first worker of this slot answers.
    ready: Option<mpsc::UnboundedSender<()>>,
    stopped: watch::Receiver<bool>,
}

impl Slot {
    /// Starts a worker, waits for its end, starts it again; until the order to stop.
    async fn keep_alive(mut self) -> Result<(), ServeError> {
        let mut short_lives = 0;
        loop {
            let born = Instant::now();
            let status = self
                .one_life()
                .await
                .map_err(ServeError::doing("cannot start a worker"))?;
            if *self.stopped.borrow() {
                return Ok(());
            }
            short_lives = if born.elapsed() < SHORT_LIFE {
                short_lives + 1
            } else {
                0
            };
            if short_lives == MOST_SHORT_LIVES {
                return Err(ServeError::WorkersDie {
                    last: words(status),
                });
            }
            let mut stopped = self.stopped.clone();
            if tokio::time::timeout(RESTART_PAUSE, ordered(&mut stopped))
                .await
                .is_ok()
            {
                return Ok(());
            }
        }
    }

    async fn one_life(&mut self) -> io::Result<ExitStatus> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut line = tokio::net::UnixStream::from_std(ours)?;
        let mut child = self.start(theirs)?;
        let mut stopped = self.stopped.clone();
        tokio::select! {
            () = self.until_end(&mut line) => {}
            () = ordered(&mut stopped) => end(line, &mut child).await?,
        }
        child.wait()
    }

    fn start(&self, lifeline: UnixStream) -> io::Result<Child> {
        Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::from(OwnedFd::from(self.listener.try_clone()?)))
            .stdout(Stdio::from(OwnedFd::from(lifeline)))
            .spawn()
    }

    /// Reads the worker's word that it answers, and then on until it has ended.
    async fn until_end(&mut self, line: &mut tokio::net::UnixStream) {
        while line.read(&mut [0; 16]).await.is_ok_and(|read| read > 0) {
            if let Some(ready) = self.ready.take() {
                // Where nobody listens any more the master is stopping.
                let _ = ready.send(());
            }
        }
    }
}

/// Waits for the order to stop, which the end of its sender is too.
async fn ordered(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stop| *stop).await;
}

/// Tells a worker to stop by ending what it can read; kills it where it does not.
async fn end(mut line: tokio::net::UnixStream, child: &mut Child) -> io::Result<()> {
    use tokio::io::AsyncWriteExt as _;
    // It fails only where the worker has ended already.
    let _ = line.shutdown().await;
    let gone = async { while line.read(&mut [0; 16]).await.is_ok_and(|read| read > 0) {} };
    if tokio::time::timeout(GRACE, gone).await.is_err() {
        child.kill()?;
    }
    Ok(())
}

fn words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The command line of a worker.
fn arguments(options: &Options) -> Vec<OsString> {
    let mut all = vec![
        "serve".to_owned(),
        "--worker".to_owned(),
        // It has its socket already; PORT may be set to anything.
        "--port=0".to_owned(),
        format!("--body-bytes={}", options.body_bytes),
        format!("--delay={}", write_duration(options.delay)),
        format!(
            "--leak-bytes-per-request={}",
            options.leak_bytes_per_request
        ),
        format!("--hashes={}", options.hashes),
    ];
    for (flag, set) in [("--gzip", options.gzip), ("--null", options.null)] {
        if set {
            all.push(flag.to_owned());
        }
    }
    all.into_iter().map(OsString::from).collect()
}
