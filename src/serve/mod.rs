//! The server that hotlap brings along. As the *demo* server it has toggles that
//! are real (compression, worker processes, body size, delay, a leak, work), so that a
//! first suite shows differences that are there; as the *null* server it gives the
//! fastest fixed answer it can, so that a generator's own ceiling can be measured.
//! Each worker is one process with one thread, so a number of workers means
//! something.

mod body;
mod demo;
mod encoding;
mod listen;
mod master;
mod null;
mod worker;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// What `hotlap serve` is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The address to listen on.
    pub address: IpAddr,
    /// The port; 0 takes one that is free.
    pub port: u16,
    /// Compress the body for each request whose client accepts gzip.
    pub gzip: bool,
    /// Worker processes; 1 is this process alone, more have a master that restarts them.
    pub workers: u32,
    /// Size of the body of `/`, in bytes, before compression.
    pub body_bytes: u64,
    /// Wait before each answer.
    pub delay: Duration,
    /// Memory that is taken, filled and kept for each request, in bytes.
    pub leak_bytes_per_request: u64,
    /// How many times the body is hashed (SHA-256) before each answer: work of a known size.
    pub hashes: u32,
    /// Answer every request with the same two bytes, as fast as can be.
    pub null: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: IpAddr::from([127, 0, 0, 1]),
            port: 0,
            gzip: false,
            workers: 1,
            body_bytes: 20_480,
            delay: Duration::ZERO,
            leak_bytes_per_request: 0,
            hashes: 0,
            null: false,
        }
    }
}

/// Why the server cannot serve.
#[derive(Debug)]
pub enum ServeError {
    /// The address or port cannot be had.
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// An option cannot be met together with another one, or at all.
    Options(String),
    /// The process that was started as a worker has no listening socket from a master.
    NotAWorker(io::Error),
    /// Workers end again as soon as they are started.
    WorkersDie {
        /// How the last one ended, in words.
        last: String,
    },
    /// The system refused something that a server needs.
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { address, source } if source.kind() == io::ErrorKind::AddrInUse => {
                write!(
                    f,
                    "{address} is in use by another process; take another --port, or 0 for a free one"
                )
            }
            Self::Listen { address, source } => write!(f, "cannot listen on {address}: {source}"),
            Self::Options(what) => f.write_str(what),
            Self::NotAWorker(source) => write!(
                f,
                "--worker is for the master's own use: standard input and output must be its sockets ({source})"
            ),
            Self::WorkersDie { last } => {
                write!(
                    f,
                    "workers end as soon as they are started; the last one {last}"
                )
            }
            Self::System { doing, source } => write!(f, "{doing}: {source}"),
        }
    }
}

impl std::error::Error for ServeError {}

impl ServeError {
    /// For `map_err`: what was being done when the system refused.
    fn doing(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}

/// Serves until SIGTERM or SIGINT, then ends promptly, with what is in flight
/// given a second to finish. `announce` is called once, with the address, when
/// every worker answers.
pub fn run(options: &Options, announce: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    check(options)?;
    if options.workers == 1 {
        let listener = listen::alone(options.address, options.port)?;
        let address = listener
            .local_addr()
            .map_err(ServeError::doing("cannot read the listening address"))?;
        return worker::serve(options, listener, None, || announce(address));
    }
    master::run(options, announce)
}

/// The body of a worker process: its master gave it the listening socket as
/// standard input and its lifeline as standard output.
pub fn run_worker(options: &Options) -> Result<(), ServeError> {
    let (listener, lifeline) = worker::inherited().map_err(ServeError::NotAWorker)?;
    worker::serve(options, listener, Some(lifeline), || ())
}

/// Most worker processes; nobody means more, and a mistyped number starts no thousands.
const MOST_WORKERS: u32 = 512;

/// Largest body, 1 GiB: it is kept in memory by every worker.
const LARGEST_BODY: u64 = 1 << 30;

fn check(options: &Options) -> Result<(), ServeError> {
    if options.workers == 0 || options.workers > MOST_WORKERS {
        return Err(ServeError::Options(format!(
            "--workers is {}; it must be 1 to {MOST_WORKERS}",
            options.workers
        )));
    }
    if options.body_bytes > LARGEST_BODY {
        return Err(ServeError::Options(format!(
            "--body-bytes is {}; the largest body is {LARGEST_BODY}",
            options.body_bytes
        )));
    }
    let plain = Options {
        address: options.address,
        port: options.port,
        workers: options.workers,
        body_bytes: options.body_bytes,
        null: true,
        ..Options::default()
    };
    if options.null && *options != plain {
        return Err(ServeError::Options(
            "--null always gives the same answer: it cannot be used with --gzip, --delay, --leak-bytes-per-request or --hashes".to_owned(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_cannot_be_met_are_refused() {
        let refused = |options: Options| check(&options).unwrap_err().to_string();
        let base = Options::default;
        assert!(
            refused(Options {
                workers: 0,
                ..base()
            })
            .contains("--workers")
        );
        assert!(
            refused(Options {
                body_bytes: u64::MAX,
                ..base()
            })
            .contains("--body-bytes")
        );
        assert!(
            refused(Options {
                null: true,
                gzip: true,
                ..base()
            })
            .contains("--null")
        );
        assert!(check(&base()).is_ok());
        assert!(
            check(&Options {
                null: true,
                workers: 2,
                ..base()
            })
            .is_ok()
        );
    }
}
