//! A cell in the making: which layer's value of each key holds so far. Nothing is
//! rendered before it is known to hold, but where two toggles disagree.

use crate::diagnostic::Diagnostic;
use crate::suite::{At, Body, Command, Http, Pace, ReadyWay, Requirement, Scratch, Template, Tls};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// Whose settings are being laid on a cell.
#[derive(Clone, Copy)]
pub(super) enum Layer<'a> {
    /// The server's and the load's own.
    Own,
    /// A toggle's, by its name and value.
    Toggle(&'a str, &'a str),
    /// An override's.
    Override,
}

impl<'a> Layer<'a> {
    /// What `{{ value }}` is in this layer.
    pub(super) fn value(self) -> Option<&'a str> {
        match self {
            Self::Toggle(_, value) => Some(value),
            Self::Own | Self::Override => None,
        }
    }
}

/// The value of a key that holds, and whose it is.
pub(super) struct Chosen<'a, T> {
    pub(super) what: &'a At<T>,
    pub(super) layer: Layer<'a>,
}

impl<T> Clone for Chosen<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Chosen<'_, T> {}

/// A key that may have a value.
pub(super) type Slot<'a, T> = Option<Chosen<'a, T>>;

/// What is wanted of one name in a table that merges: a value, or that it is not there.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) name: &'a str,
    pub(super) set: Option<&'a Template>,
    pub(super) layer: Layer<'a>,
    pub(super) span: &'a Range<usize>,
}

/// A key by its name in a suite.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    /// The process whose key it is, where a setting names one.
    pub(super) process: Option<&'a str>,
    pub(super) table: &'static str,
    pub(super) name: &'a str,
}

impl Key<'_> {
    pub(super) fn plain(name: &'static str) -> Self {
        Self {
            process: None,
            table: "",
            name,
        }
    }

    /// Whether it is the same key of one draft, whichever way each of them names the process.
    pub(super) fn is(self, other: Key<'_>) -> bool {
        self.table == other.table
            && (self.name == other.name
                || (self.table == HEADERS && self.name.eq_ignore_ascii_case(other.name)))
    }
}

/// The table whose names are the same in any case.
pub(super) const HEADERS: &str = "headers.";

/// What two toggles disagree on.
pub(super) struct Conflict<'a> {
    /// The process whose draft it is in; none for the server and the load.
    pub(super) process: Option<&'a str>,
    pub(super) key: Key<'a>,
    pub(super) said: Diagnostic,
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(process) = self.process {
            write!(f, "processes.{process}.")?;
        }
        write!(f, "{}{}", self.table, self.name)
    }
}

/// What a process is made of.
#[derive(Default)]
pub(super) struct ProcessDraft<'a> {
    pub(super) cwd: Slot<'a, String>,
    pub(super) runtime: Slot<'a, String>,
    pub(super) requires: Vec<&'a Requirement>,
    pub(super) build: Slot<'a, Vec<Command>>,
    pub(super) build_inputs: Option<&'a [At<String>]>,
    pub(super) build_timeout: Option<Duration>,
    pub(super) command: Slot<'a, Vec<Template>>,
    pub(super) args: Vec<Chosen<'a, Vec<Template>>>,
    pub(super) env: Vec<Wish<'a>>,
    pub(super) pass_env: Option<&'a [At<String>]>,
    pub(super) secret: Option<&'a [At<String>]>,
    pub(super) files: Vec<Wish<'a>>,
    pub(super) scratch: Slot<'a, Scratch>,
    pub(super) prepare: Slot<'a, Vec<Command>>,
    pub(super) needs: Option<&'a [At<String>]>,
    pub(super) address: Option<&'a str>,
    pub(super) socket: Slot<'a, String>,
    pub(super) port: Option<u16>,
    pub(super) ready: ReadyDraft<'a>,
    pub(super) stop_signal: Option<&'a str>,
    pub(super) stop_grace: Option<Duration>,
    pub(super) probe: Slot<'a, Vec<Template>>,
    pub(super) count: Slot<'a, u32>,
}

/// When it is ready.
#[derive(Default, Clone, Copy)]
pub(super) struct ReadyDraft<'a> {
    pub(super) way: Slot<'a, ReadyWay>,
    pub(super) status: Slot<'a, u16>,
    pub(super) timeout: Slot<'a, Duration>,
}

/// What is sent and what must come back.
#[derive(Default)]
pub(super) struct LoadDraft<'a> {
    pub(super) method: Option<&'a str>,
    pub(super) path: Slot<'a, String>,
    pub(super) headers: Vec<Wish<'a>>,
    pub(super) body: Option<&'a At<Body>>,
    pub(super) template: bool,
    pub(super) connections: Slot<'a, u32>,
    pub(super) keep_alive: Slot<'a, bool>,
    pub(super) pace: Slot<'a, Pace>,
    pub(super) http: Slot<'a, Http>,
    pub(super) streams: Slot<'a, u32>,
    pub(super) tls: Slot<'a, Tls>,
    pub(super) status: Slot<'a, u16>,
    pub(super) expect_body: Slot<'a, String>,
    pub(super) contains: Slot<'a, String>,
    pub(super) min_size: Slot<'a, u64>,
    pub(super) expect_headers: Vec<Wish<'a>>,
}
