//! What can go wrong in the life of a server, in words for the report's row.

use super::place::Purpose;
use super::ports::PortError;
use crate::process::{StartError, StopError};
use crate::record::Step;
use crate::spec::Address;
use crate::units::show_duration;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// Of whom an error speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// The server, where it is one process.
    Server,
    /// One of its processes, by name.
    Process(String),
    /// A service, by name.
    Service(String),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => f.write_str("the server"),
            Self::Process(name) => write!(f, "the process `{name}`"),
            Self::Service(name) => write!(f, "the service `{name}`"),
        }
    }
}

/// What ended while it was needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallen {
    /// Who.
    pub who: Who,
    /// How, in words: `exited with 1`.
    pub exit: String,
    /// The last lines that it printed.
    pub log_tail: Vec<String>,
}

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
    /// Its folder could not be made.
    Scratch {
        /// Whose.
        who: Who,
        /// Why, in a sentence.
        reason: String,
    },
    /// A command that is run for it failed.
    Command {
        /// For whom.
        who: Who,
        /// What the command was for.
        purpose: Purpose,
        /// The command.
        line: String,
        /// How it ended, in words.
        reason: String,
        /// The last lines that it printed.
        log_tail: Vec<String>,
    },
    /// The place where it should run already is no address.
    Url(String),
    /// It cannot have the socket that it should listen on, and why.
    Socket(String),
    /// Its process does not run.
    Start(StartError),
    /// It ended before it was ready, or while others were waited for.
    ExitedEarly {
        /// Who, and how.
        fallen: Fallen,
        /// When, from its start.
        after: Duration,
        /// Whether it had been ready.
        was_ready: bool,
    },
    /// A variable of the caller's environment that it needs is not set.
    NotSet(String),
    /// It did not become ready, and what it left could not be ended.
    LeftBehind {
        /// Why it did not.
        first: Box<ServerError>,
        /// What is left.
        left: Box<ServerError>,
    },
    /// It did not answer in time.
    NotReady(Box<NotReady>),
    /// Somebody else answers on its port.
    Foreign {
        /// Where.
        address: Address,
        /// Who, as far as the kernel tells.
        holder: Option<(u32, String)>,
    },
    /// Whoever wanted it does no more.
    GivenUp,
    /// Its processes could not be ended.
    Stop(StopError),
    /// All its processes ended, and somebody still listens.
    StillListens {
        /// Where.
        address: Address,
        /// Who, as far as the kernel tells.
        holder: Option<(u32, String)>,
    },
}

/// What is known of a server that did not answer in time.
#[derive(Debug)]
pub struct NotReady {
    /// Who.
    pub who: Who,
    /// The command that started it; none where it ran already.
    pub command: Option<String>,
    /// What was waited for.
    pub wanted: Wanted,
    /// What was asked.
    pub addresses: Vec<Address>,
    /// For how long.
    pub after: Duration,
    /// The last failure, in words.
    pub last: Option<String>,
    /// Where its processes listen instead.
    pub elsewhere: Vec<SocketAddr>,
    /// The last lines that it printed.
    pub log_tail: Vec<String>,
}

/// What shows that something is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// An answer.
    Answer,
    /// That it takes a connection.
    Connection,
    /// That this command succeeds.
    Command(String),
    /// That it prints this.
    Log(String),
}

impl ServerError {
    /// The step that failed.
    pub fn step(&self) -> Step {
        match self {
            Self::NoProcess
            | Self::Resolve { .. }
            | Self::Port(_)
            | Self::NotSet(_)
            | Self::Url(_)
            | Self::Socket(_)
            | Self::GivenUp
            | Self::Scratch { .. }
            | Self::Command {
                purpose: Purpose::Setup,
                ..
            }
            | Self::Start(_) => Step::Start,
            Self::LeftBehind { first, .. } => first.step(),
            Self::ExitedEarly { .. }
            | Self::NotReady(_)
            | Self::Command { .. }
            | Self::Foreign { .. } => Step::Ready,
            Self::Stop(_) | Self::StillListens { .. } => Step::Stop,
        }
    }

    /// The last lines that the server printed, where they help.
    pub fn log_tail(&self) -> Vec<String> {
        match self {
            Self::ExitedEarly { fallen, .. } => fallen.log_tail.clone(),
            Self::Command { log_tail, .. } => log_tail.clone(),
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
        let Self::ExitedEarly { fallen, .. } = self else {
            return false;
        };
        fallen.log_tail.iter().any(|line| {
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
            Self::Scratch { who, reason } => write!(f, "{who} has no folder to run in: {reason}"),
            Self::Command {
                who,
                purpose,
                line,
                reason,
                ..
            } => write!(f, "`{}` of {who} failed: `{line}` {reason}", purpose.name()),
            Self::Url(reason) | Self::Socket(reason) => f.write_str(reason),
            Self::GivenUp => f.write_str("its start was given up"),
            Self::ExitedEarly {
                fallen,
                after,
                was_ready,
            } => {
                let Fallen { who, exit, .. } = fallen;
                let when = show_duration(*after);
                if *was_ready {
                    write!(
                        f,
                        "{who} {exit} {when} after its start, while others were waited for"
                    )
                } else {
                    let (Who::Server | Who::Process(_)) = who else {
                        return write!(
                            f,
                            "{who} {exit} before it was ready, {when} after its start"
                        );
                    };
                    write!(f, "{who} {exit} before it answered, {when} after its start")
                }
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
        match (&self.who, &self.command) {
            (Who::Server, Some(command)) => write!(f, "`{command}`")?,
            (who, Some(command)) => write!(f, "{who}, `{command}`,")?,
            (who, None) => write!(f, "{who}, which should run already,")?,
        }
        let addresses = listed(&self.addresses, " or ");
        match &self.wanted {
            Wanted::Answer => write!(f, " did not answer on {addresses}")?,
            Wanted::Connection => write!(f, " did not listen on {addresses}")?,
            Wanted::Command(line) => write!(f, " was not ready: `{line}` did not succeed")?,
            Wanted::Log(text) => write!(f, " did not print {text:?}")?,
        }
        write!(f, " within {}", show_duration(self.after))?;
        if let Some(last) = &self.last {
            write!(f, "; last try: {last}")?;
        }
        if self.elsewhere.is_empty() {
            return Ok(());
        }
        let whose = if self.command.is_some() {
            "something of it"
        } else {
            "something"
        };
        write!(
            f,
            "; {whose} listens on {}",
            listed(&self.elsewhere, " and ")
        )?;
        let mut wanted = self.addresses.iter().filter_map(Address::ip);
        let on_our_port =
            wanted.any(|wanted| self.elsewhere.iter().any(|at| at.port() == wanted.port()));
        let on_a_socket = self.addresses.iter().all(|wanted| wanted.ip().is_none());
        f.write_str(if self.command.is_none() {
            ": set `url` to where it listens"
        } else if on_a_socket {
            ": it must listen on the path that `socket` says"
        } else if on_our_port {
            ": set `address` to where it listens"
        } else {
            ": it must listen on the port in the environment variable PORT, or `{{ port }}` in its command"
        })
    }
}

fn listed(addresses: &[impl ToString], between: &str) -> String {
    let words: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    words.join(between)
}

fn who(holder: Option<&(u32, String)>) -> String {
    holder.map_or_else(
        || "somebody".to_owned(),
        |(pid, name)| format!("pid {pid} ({name})"),
    )
}
