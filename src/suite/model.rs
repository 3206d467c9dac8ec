//! What a suite means: names are checked, units read, commands split, templates
//! known to parse. Everything that the plan may still have to complain about
//! keeps its place in the file.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// A value with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Bytes of the source text.
    pub span: Range<usize>,
}

impl<T> At<T> {
    /// A value at a place.
    pub fn new(value: T, span: Range<usize>) -> Self {
        Self { value, span }
    }
}

/// A text that is rendered for each cell, as it is written.
pub type Template = At<String>;

/// A command: its arguments, split before they are rendered.
pub type Command = At<Vec<Template>>;

/// A whole suite.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The file's stem.
    pub name: String,
    /// The folder that the file lies in; paths are relative to it.
    pub folder: PathBuf,
    /// The title, or the name.
    pub title: String,
    /// What the suite asks.
    pub description: Option<String>,
    /// `[run]`.
    pub run: Run,
    /// `[servers]` with the defaults laid under, in file order.
    pub servers: Vec<Server>,
    /// `[toggles]`, in file order.
    pub toggles: Vec<Toggle>,
    /// `[[overrides]]`, in file order.
    pub overrides: Vec<Override>,
    /// `[matrix]`.
    pub matrix: Matrix,
    /// `[loads]` with the defaults laid under, in file order.
    pub loads: Vec<Load>,
    /// `[profiles]`.
    pub profiles: Vec<Profile>,
    /// `[tools]`.
    pub tools: Vec<Tool>,
}

/// `[run]`; what is not written is none.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Trials of each cell.
    pub repetitions: Option<u32>,
    /// Order of trials.
    pub order: Option<Order>,
    /// Seed of the order.
    pub seed: Option<u64>,
    /// Warm-up of each load that does not name its own.
    pub warmup: Option<Duration>,
    /// Pause between trials.
    pub cooldown: Option<Duration>,
    /// Wait before the last memory reading.
    pub rest: Option<Duration>,
    /// Between two readings.
    pub sample_interval: Option<Duration>,
    /// The cells that the others are compared with.
    pub baseline: Option<At<Selector>>,
    /// Largest share of errors in a valid trial.
    pub max_errors: Option<f64>,
    /// Whether public addresses may be loaded.
    pub allow_public: Option<bool>,
}

impl Run {
    /// This table with what another one sets laid over it.
    #[must_use]
    pub fn overlaid(&self, over: &Self) -> Self {
        Self {
            repetitions: over.repetitions.or(self.repetitions),
            order: over.order.or(self.order),
            seed: over.seed.or(self.seed),
            warmup: over.warmup.or(self.warmup),
            cooldown: over.cooldown.or(self.cooldown),
            rest: over.rest.or(self.rest),
            sample_interval: over.sample_interval.or(self.sample_interval),
            baseline: over.baseline.clone().or_else(|| self.baseline.clone()),
            max_errors: over.max_errors.or(self.max_errors),
            allow_public: over.allow_public.or(self.allow_public),
        }
    }
}

/// The order of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Rounds, each in a fresh random order.
    Shuffled,
    /// Rounds, each in file order.
    Sequential,
    /// One random order of all.
    Random,
}

/// `[tools.NAME]`.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The program.
    pub name: String,
    /// The command that prints its version.
    pub probe: Option<Vec<String>>,
    /// The line that installs it.
    pub install: Option<String>,
}

/// A server, or the defaults of all.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name, at its header.
    pub name: At<String>,
    /// How people see it.
    pub label: String,
    /// Its keys.
    pub keys: ServerKeys,
}

/// The keys of a server; a toggle's value sets some of them too.
#[derive(Debug, Clone, Default)]
pub struct ServerKeys {
    /// Where it runs.
    pub cwd: Option<Template>,
    /// What must be there.
    pub requires: Option<Vec<At<Requirement>>>,
    /// What makes it.
    pub build: Option<At<Vec<Command>>>,
    /// When making it has hung.
    pub build_timeout: Option<Duration>,
    /// What starts it.
    pub command: Option<Command>,
    /// Its environment.
    pub env: Vec<(At<String>, Template)>,
    /// What is taken out of its environment.
    pub unset_env: Option<Vec<At<String>>>,
    /// Its fixed port.
    pub port: Option<u16>,
    /// The address that it listens on.
    pub address: Option<String>,
    /// When it is ready.
    pub ready: ReadyKeys,
    /// How it is asked to end.
    pub stop_signal: Option<String>,
    /// How long that may take.
    pub stop_grace: Option<Duration>,
    /// What prints its version.
    pub probe: Option<Command>,
}

/// `ready`.
#[derive(Debug, Clone, Default)]
pub struct ReadyKeys {
    /// What is asked for.
    pub path: Option<Template>,
    /// What must be answered.
    pub status: Option<At<u16>>,
    /// When it is given up.
    pub timeout: Option<At<Duration>>,
}

/// A requirement as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// `node >= 18`
    Tool {
        /// The program.
        name: String,
        /// The least version.
        at_least: Option<String>,
    },
    /// `env NAME`
    Env(String),
    /// `./data.json`
    File(String),
}

/// `[toggles.NAME]`.
#[derive(Debug, Clone)]
pub struct Toggle {
    /// Its name, at its header.
    pub name: At<String>,
    /// The servers that have it; none for all.
    pub servers: Option<Vec<String>>,
    /// The loads that have it; none for all.
    pub loads: Option<Vec<String>>,
    /// Its values, in file order.
    pub values: Vec<Value>,
}

impl Toggle {
    /// Whether a server under a load has this toggle.
    pub fn applies(&self, server: &str, load: &str) -> bool {
        let has = |names: &Option<Vec<String>>, name: &str| {
            names
                .as_ref()
                .is_none_or(|names| names.iter().any(|known| known == name))
        };
        has(&self.servers, server) && has(&self.loads, load)
    }
}

/// One value of a toggle.
#[derive(Debug, Clone)]
pub struct Value {
    /// Its name.
    pub name: At<String>,
    /// How people see it.
    pub label: String,
    /// What it sets, the toggle's own settings laid under.
    pub setting: Setting,
}

/// What a toggle's value or an override sets.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    /// Keys of the server.
    pub server: ServerKeys,
    /// Arguments behind the command.
    pub args: Option<Command>,
    /// Keys of the load.
    pub load: LoadKeys,
}

/// `[[overrides]]`.
#[derive(Debug, Clone)]
pub struct Override {
    /// The cells; all where nothing is said.
    pub when: Option<At<Selector>>,
    /// What they get.
    pub set: Setting,
}

/// Which cells are meant: each axis with the values that match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// Axes by name, `server` and `load` among them.
    pub axes: Vec<(String, Vec<String>)>,
}

impl Selector {
    /// The values that an axis may have, where the selector names it.
    pub fn axis(&self, name: &str) -> Option<&[String]> {
        self.axes
            .iter()
            .find(|(axis, _)| axis == name)
            .map(|(_, values)| values.as_slice())
    }
}

/// `[matrix]`: which combinations of servers, toggles and loads are cells.
#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// How the values of toggles combine; none is [`Combine::All`].
    pub combine: Option<Combine>,
    /// Cells that are added. An axis that a selector does not name has the baseline's value, else
    /// its first; `load` has every value.
    pub include: Vec<At<Selector>>,
    /// Cells that are taken out before `include` adds.
    pub exclude: Vec<At<Selector>>,
}

/// How the values of toggles combine. Servers and loads always do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// Each with each.
    All,
    /// For each server the baseline, and each departure from it in one toggle alone.
    OneAtATime,
    /// Not at all: the cells are those of `include`.
    Listed,
}

/// A load, or the defaults of all.
#[derive(Debug, Clone)]
pub struct Load {
    /// Its name, at its header.
    pub name: At<String>,
    /// How people see it.
    pub label: String,
    /// Its keys.
    pub keys: LoadKeys,
}

/// The keys of a load; a toggle's value sets some of them too.
#[derive(Debug, Clone, Default)]
pub struct LoadKeys {
    /// The method.
    pub method: Option<String>,
    /// The request target.
    pub path: Option<Template>,
    /// Request headers.
    pub headers: Vec<(At<String>, Template)>,
    /// The request's body.
    pub body: Option<String>,
    /// Connections.
    pub connections: Option<At<u32>>,
    /// How much is sent.
    pub amount: Option<Amount>,
    /// When a request has failed.
    pub timeout: Option<Duration>,
    /// Whether connections are kept.
    pub keep_alive: Option<At<bool>>,
    /// What must come back.
    pub expect: ExpectKeys,
    /// Its warm-up.
    pub warmup: Option<Duration>,
    /// Its number of trials.
    pub repetitions: Option<u32>,
    /// When a trial has hung.
    pub trial_timeout: Option<Duration>,
}

/// How much a load sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// For so long.
    Duration(Duration),
    /// So many.
    Requests(u64),
}

/// `expect`.
#[derive(Debug, Clone, Default)]
pub struct ExpectKeys {
    /// The status.
    pub status: Option<At<u16>>,
    /// The whole body.
    pub body: Option<Template>,
    /// Words in the body.
    pub contains: Option<Template>,
    /// Its least size.
    pub min_size: Option<At<u64>>,
    /// Headers that must be there.
    pub headers: Vec<(At<String>, Template)>,
    /// Headers that must not.
    pub no_headers: Option<Vec<At<String>>>,
}

/// `[profiles.NAME]`.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it lays over `[run]`.
    pub run: Run,
    /// The longest measured phase.
    pub max_duration: Option<Duration>,
    /// The most requests.
    pub max_requests: Option<u64>,
    /// Connections of every load; a toggle may set other ones.
    pub connections: Option<u32>,
    /// Warm-up of every load.
    pub warmup: Option<Duration>,
    /// Time-out of every load.
    pub timeout: Option<Duration>,
    /// What it lays over `[matrix]`: `combine` and `include` replace, `exclude` adds.
    pub matrix: Matrix,
}
