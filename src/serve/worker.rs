//! One worker: a single-threaded runtime that accepts connections until it is
//! told to stop by SIGTERM, SIGINT or the end of its master, and then lets what
//! is in flight finish for at most a second.

use super::{Options, ServeError, demo, null};
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::LocalSet;

/// How long requests in flight may take after the order to stop.
const GRACE: Duration = Duration::from_secs(1);

/// How long accepting pauses when the system has no descriptor left: the
/// connection stays queued, and trying at once again would only burn CPU.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The listening socket and the lifeline that the master passed as descriptors 0 and 1.
pub(super) fn inherited() -> io::Result<(TcpListener, UnixStream)> {
    let listener = TcpListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    listener.local_addr()?;
    let lifeline = UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
    lifeline.local_addr()?;
    Ok((listener, lifeline))
}

/// How each connection is answered.
enum Mode {
    Demo(Rc<demo::State>),
    Null,
}

/// Serves on `listener`; `ready` is called when stop signals are heard and
/// connections are accepted. On a lifeline one byte says the same.
pub(super) fn serve(
    options: &Options,
    listener: TcpListener,
    lifeline: Option<UnixStream>,
    ready: impl FnOnce(),
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ServeError::doing("cannot start the event loop"))?;
    let mode = if options.null {
        Mode::Null
    } else {
        Mode::Demo(Rc::new(demo::State::new(options)))
    };
    LocalSet::new().block_on(&runtime, async {
        let (stop, stopped) = watch::channel(false);
        let mut order = Order::listen(lifeline)?;
        listener
            .set_nonblocking(true)
            .and_then(|()| tokio::net::TcpListener::from_std(listener))
            .map_err(ServeError::doing("cannot watch the listening socket"))
            .map(|listener| {
                tokio::task::spawn_local(accept(listener, mode, stopped));
            })?;
        ready();
        order.wait().await;
        // The tasks hold the receivers; when all are gone nothing is in flight.
        let _ = stop.send(true);
        let _ = tokio::time::timeout(GRACE, stop.closed()).await;
        Ok(())
    })
}

/// Accepts until the order to stop; each connection is a task of its own.
async fn accept(listener: tokio::net::TcpListener, mode: Mode, mut stopped: watch::Receiver<bool>) {
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stopped.wait_for(|stop| *stop) => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Where it cannot be set the peer is gone already, which reading will show.
        let _ = stream.set_nodelay(true);
        match &mode {
            Mode::Demo(state) => connection(demo::serve(stream, Rc::clone(state), stopped.clone())),
            Mode::Null => connection(until_stopped(stream, stopped.clone())),
        }
    }
}

fn connection(task: impl Future<Output = ()> + 'static) {
    tokio::task::spawn_local(task);
}

/// A null connection has no answer that takes time, so it can be cut between two.
async fn until_stopped(stream: TcpStream, mut stopped: watch::Receiver<bool>) {
    tokio::select! {
        biased;
        () = null::serve(stream) => {}
        _ = stopped.wait_for(|stop| *stop) => {}
    }
}

/// What can order this process to stop.
struct Order {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    lifeline: Option<tokio::net::UnixStream>,
}

impl Order {
    /// From here on the signals no longer end the process by themselves.
    fn listen(lifeline: Option<UnixStream>) -> Result<Self, ServeError> {
        let hear = |kind| signal(kind).map_err(ServeError::doing("cannot listen for signals"));
        let terminate = hear(SignalKind::terminate())?;
        let interrupt = hear(SignalKind::interrupt())?;
        let lifeline = lifeline
            .map(|mut line| {
                line.write_all(&[1])?;
                line.set_nonblocking(true)?;
                tokio::net::UnixStream::from_std(line)
            })
            .transpose()
            .map_err(ServeError::doing("cannot reach the master"))?;
        Ok(Self {
            terminate,
            interrupt,
            lifeline,
        })
    }

    async fn wait(&mut self) {
        let master_ends = async {
            match &mut self.lifeline {
                // The master never writes: whatever comes, it is the end.
                Some(line) => drop(line.read(&mut [0]).await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = master_ends => {}
        }
    }
}
