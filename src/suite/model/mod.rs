//! What a suite means: names are checked, units read, commands split, templates
//! known to parse. Everything that the plan may still have to complain about
//! keeps its place in the file.

mod compare;
mod figure;
mod load;
mod server;

pub use figure::{Bound, Gate, Limit, Published, PublishedRow};
pub use load::{
    Amount, Arrivals, Body, ExpectKeys, File, Http, Load, LoadKeys, Mix, MixRequest, Pace, Stage,
    Tls,
};
pub use server::{
    Process, ReadyKeys, ReadyWay, Requirement, Runtime, Scope, Scratch, Server, ServerKeys,
    Service, Tool,
};

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
    /// `[runtimes]`.
    pub runtimes: Vec<Runtime>,
    /// `[services]`, in file order.
    pub services: Vec<Service>,
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
    /// `[[mixes]]`.
    pub mixes: Vec<Mix>,
    /// `[profiles]`.
    pub profiles: Vec<Profile>,
    /// `[tools]`.
    pub tools: Vec<Tool>,
    /// `[[gates]]`.
    pub gates: Vec<Gate>,
    /// `[published]`.
    pub published: Vec<Published>,
}

/// `[run]`; what is not written is none.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Trials of each cell.
    pub repetitions: Option<Repetitions>,
    /// Order of trials.
    pub order: Option<Order>,
    /// Seed of the order.
    pub seed: Option<u64>,
    /// Warm-up of each load that does not name its own.
    pub warmup: Option<Duration>,
    /// The longest warm-up that pilots may find.
    pub max_warmup: Option<Duration>,
    /// Pause between trials.
    pub cooldown: Option<Duration>,
    /// Wait before the last memory reading.
    pub rest: Option<Duration>,
    /// Between two readings.
    pub sample_interval: Option<Duration>,
    /// The cells that the others are compared with.
    pub baseline: Option<At<Selector>>,
    /// The smallest change that is called one, a share of 1.
    pub min_effect: Option<f64>,
    /// The half width of an interval that is narrow enough, a share of 1.
    pub target: Option<f64>,
    /// The most trials where their number is found.
    pub max_repetitions: Option<u32>,
    /// Largest share of errors in a valid trial.
    pub max_errors: Option<f64>,
    /// The time that the whole run may take.
    pub budget: Option<Duration>,
    /// CPUs of servers and of the generator.
    pub cpus: Option<CpuShares>,
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
            max_warmup: over.max_warmup.or(self.max_warmup),
            cooldown: over.cooldown.or(self.cooldown),
            rest: over.rest.or(self.rest),
            sample_interval: over.sample_interval.or(self.sample_interval),
            baseline: over.baseline.clone().or_else(|| self.baseline.clone()),
            min_effect: over.min_effect.or(self.min_effect),
            target: over.target.or(self.target),
            max_repetitions: over.max_repetitions.or(self.max_repetitions),
            max_errors: over.max_errors.or(self.max_errors),
            budget: over.budget.or(self.budget),
            cpus: over.cpus.or(self.cpus),
            allow_public: over.allow_public.or(self.allow_public),
        }
    }
}

/// How many trials a cell has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetitions {
    /// So many.
    Number(u32),
    /// As many as the interval needs.
    Auto,
}

/// `cpus`: how many CPUs each side gets; none is found for the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuShares {
    /// Of a server's processes.
    pub server: Option<u32>,
    /// Of the load generator.
    pub generator: Option<u32>,
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
    /// Whether each cell of the suite is made with each value, whatever `[matrix]` says, and compared with the same
    /// cell of the first: the axis of [`Suite::compared_with`].
    pub is_comparison: bool,
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
    /// Keys of single processes.
    pub processes: Vec<Process>,
    /// The process that is loaded.
    pub front: Option<At<String>>,
    /// The revision that it is built from.
    pub revision: Option<Template>,
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
    pub combine: Option<At<Combine>>,
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
