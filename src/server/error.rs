//! What can go wrong in the life of a server, in words for the report's row.

use super::ports::PortError;
use crate::process::{StartError, StopError};
use crate::record::Step;
use crate::units::show_duration;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a server could not be started, did not become ready, or could not be stopped.
#[derive(Debug)]
pub enum ServerError {
    /// The cell has no process to load.
    NoProcess,
    /// Its host name has no address.
    Resolve {
        /// The name.
        name: String,
        /// Why.
        reason: String,
    },
    /// It cannot have its port.
    Port(PortError),
    /// Its process does not run.
    Start(StartError),
    /// It ended before it answered.
    ExitedEarly {
        /// How, in words.
        exit: String,
        /// When, from its start.
        after: Duration,
        /// The last lines that it printed.
        log_tail: Vec<String>,
    },
    /// A variable of the caller's environment that it needs is not set.
    NotSet(String),
    /// It did not become ready, and what it left could not be ended.
    LeftBehind {
        /// Why it did not.
        first: Box<ServerError>,
        /// What is left.
        left: StopError,
    },
    /// It did not answer in time.
    NotReady(Box<NotReady>),
    /// Somebody else answers on its port.
    Foreign {
        /// Where.
        address: SocketAddr,
        /// Who, as far as the kernel tells.
        holder: Option<(u32, String)>,
    },
    /// Its processes could not be ended.
    Stop(StopError),
    /// All its processes ended, and somebody still listens.
    StillListens {
        /// Where.
        address: SocketAddr,
        /// Who, as far as the kernel tells.
        holder: Option<(u32, String)>,
    },
}

/// What is known of a server that did not answer in time.
#[derive(Debug)]
pub struct NotReady {
    /// The command that started it.
    pub command: String,
    /// What was asked.
    pub addresses: Vec<SocketAddr>,
    /// For how long.
    pub after: Duration,
    /// The last failure, in words.
    pub last: Option<String>,
    /// Where its processes listen instead.
    pub elsewhere: Vec<SocketAddr>,
    /// The last lines that it printed.
    pub log_tail: Vec<String>,
}

impl ServerError {
    /// The step that failed.
    pub fn step(&self) -> Step {
        match self {
            Self::NoProcess
            | Self::Resolve { .. }
            | Self::Port(_)
            | Self::NotSet(_)
            | Self::Start(_) => Step::Start,
            Self::LeftBehind { first, .. } => first.step(),
            Self::ExitedEarly { .. } | Self::NotReady(_) | Self::Foreign { .. } => Step::Ready,
            Self::Stop(_) | Self::StillListens { .. } => Step::Stop,
        }
    }

    /// The last lines that the server printed, where they help.
    pub fn log_tail(&self) -> Vec<String> {
        match self {
            Self::ExitedEarly { log_tail, .. } => log_tail.clone(),
            Self::NotReady(what) => what.log_tail.clone(),
            Self::LeftBehind { first, .. } => first.log_tail(),
            _ => Vec::new(),
        }
    }

    /// Whether something may be left that takes part in whatever is measured next.
    pub fn leaves_something(&self) -> bool {
        matches!(
            self,
            Self::LeftBehind { .. } | Self::Stop(_) | Self::StillListens { .. }
        )
    }

    /// Whether it ended because somebody was faster on its port.
    pub(super) fn is_port_taken(&self) -> bool {
        let Self::ExitedEarly { log_tail, .. } = self else {
            return false;
        };
        log_tail.iter().any(|line| {
            let line = line.to_ascii_lowercase();
            line.contains("eaddrinuse") || line.contains("address already in use")
        })
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProcess => f.write_str("the server has no process that could be loaded"),
            Self::Resolve { name, reason } => {
                write!(f, "the address {name} could not be found: {reason}")
            }
            Self::Port(error) => error.fmt(f),
            Self::Start(error) => error.fmt(f),
            Self::ExitedEarly { exit, after, .. } => {
                write!(
                    f,
                    "the server {exit} before it answered, {} after its start",
                    show_duration(*after)
                )
            }
            Self::NotSet(name) => {
                write!(
                    f,
                    "the environment variable {name} is not set, and the suite uses it"
                )
            }
            Self::LeftBehind { first, left } => write!(f, "{first}; and {left}"),
            Self::NotReady(what) => what.fmt(f),
            Self::Foreign { address, holder } => write!(
                f,
                "{address} is answered by {}, which is no process of this server",
                who(holder.as_ref())
            ),
            Self::Stop(error) => error.fmt(f),
            Self::StillListens { address, holder } => write!(
                f,
                "its processes are gone, and {} still listens on {address}",
                who(holder.as_ref())
            ),
        }
    }
}

impl std::error::Error for ServerError {}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` did not answer on {} within {}",
            self.command,
            listed(&self.addresses, " or "),
            show_duration(self.after)
        )?;
        if let Some(last) = &self.last {
            write!(f, "; last try: {last}")?;
        }
        if self.elsewhere.is_empty() {
            return Ok(());
        }
        write!(
            f,
            "; something of it listens on {}",
            listed(&self.elsewhere, " and ")
        )?;
        let port = |at: &SocketAddr| at.port();
        let on_our_port = self.addresses.iter().any(|wanted| {
            self.elsewhere
                .iter()
                .map(port)
                .any(|at| at == wanted.port())
        });
        f.write_str(if on_our_port {
            ": set `address` to where it listens"
        } else {
            ": it must listen on the port in the environment variable PORT, or `{{ port }}` in its command"
        })
    }
}

fn listed(addresses: &[SocketAddr], between: &str) -> String {
    let words: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    words.join(between)
}

fn who(holder: Option<&(u32, String)>) -> String {
    holder.map_or_else(
        || "somebody".to_owned(),
        |(pid, name)| format!("pid {pid} ({name})"),
    )
}
