//! What a suite means: names are checked, units read, commands split, templates
//! known to parse. Everything that the plan may still have to complain about
//! keeps its place in the file.

use crate::metric::Metric;
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
    /// The longest warm-up, where one is looked for.
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

/// `[runtimes.NAME]`.
#[derive(Debug, Clone)]
pub struct Runtime {
    /// Its name, at its header.
    pub name: At<String>,
    /// Its versions.
    pub versions: Vec<At<String>>,
    /// What must be there to build it.
    pub requires: Vec<At<Requirement>>,
    /// What makes it.
    pub build: Option<At<Vec<Command>>>,
    /// Where its program may be.
    pub bin: Vec<Template>,
    /// What prints its version.
    pub probe: Option<Command>,
}

/// A server, or the defaults of all.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name, at its header.
    pub name: At<String>,
    /// How people see it.
    pub label: String,
    /// Its keys, which are the defaults of its processes.
    pub keys: ServerKeys,
    /// The process that is loaded.
    pub front: Option<At<String>>,
    /// Where it already runs, instead of being started.
    pub url: Option<At<String>>,
    /// Its processes; none where the server is one.
    pub processes: Vec<Process>,
}

/// `[servers.NAME.processes.NAME]`, and what a setting says of a process.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its name, at its header.
    pub name: At<String>,
    /// What it sets itself; the server's keys are not laid under yet.
    pub keys: ServerKeys,
    /// How many of it are started.
    pub count: Option<At<u32>>,
}

/// `[services.NAME]`.
#[derive(Debug, Clone)]
pub struct Service {
    /// Its name, at its header.
    pub name: At<String>,
    /// How people see it.
    pub label: String,
    /// Its keys.
    pub keys: ServerKeys,
    /// Commands before each start.
    pub setup: Vec<Command>,
    /// How long it lives.
    pub scope: Scope,
}

/// How long a service lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// As long as the run.
    Suite,
    /// As long as a trial.
    Trial,
}

/// What a process's folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scratch {
    /// Its `cwd`, with an empty scratch folder beside.
    None,
    /// A copy of its `cwd`.
    Copy,
}

/// The keys of a server, process or service; a toggle's value sets some of them too.
#[derive(Debug, Clone, Default)]
pub struct ServerKeys {
    /// Where it runs.
    pub cwd: Option<Template>,
    /// The runtime that `{{ runtime }}` stands for.
    pub runtime: Option<Template>,
    /// What must be there.
    pub requires: Option<Vec<At<Requirement>>>,
    /// What makes it.
    pub build: Option<At<Vec<Command>>>,
    /// What decides whether an earlier build serves.
    pub build_inputs: Option<Vec<At<String>>>,
    /// When making it has hung.
    pub build_timeout: Option<Duration>,
    /// What starts it.
    pub command: Option<Command>,
    /// Its environment.
    pub env: Vec<(At<String>, Template)>,
    /// What is taken out of its environment.
    pub unset_env: Option<Vec<At<String>>>,
    /// Variables of the caller that it gets.
    pub pass_env: Option<Vec<At<String>>>,
    /// Variables whose values are never recorded.
    pub secret: Option<Vec<At<String>>>,
    /// Files that are rendered into its scratch folder: name there, source in `cwd`.
    pub files: Vec<(At<String>, Template)>,
    /// What its folder is.
    pub scratch: Option<At<Scratch>>,
    /// Commands between ready and load.
    pub prepare: Option<At<Vec<Command>>>,
    /// What must be ready before it.
    pub needs: Option<Vec<At<String>>>,
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
    /// A command that must succeed.
    pub command: Option<Command>,
    /// Whether a connection is enough.
    pub tcp: Option<At<bool>>,
    /// A text that must be printed.
    pub log: Option<Template>,
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
    pub body: Option<At<Body>>,
    /// Whether the body is a template.
    pub template: Option<At<bool>>,
    /// The program that makes the load.
    pub generator: Option<At<String>>,
    /// The requests that are sent instead of one.
    pub mix: Option<At<String>>,
    /// Connections.
    pub connections: Option<At<u32>>,
    /// How much is sent.
    pub amount: Option<Amount>,
    /// What makes it an open loop.
    pub pace: Option<At<Pace>>,
    /// How the sends of an open loop are spread.
    pub arrivals: Option<At<Arrivals>>,
    /// The version of HTTP.
    pub http: Option<At<Http>>,
    /// Requests in flight on a connection of HTTP/2.
    pub streams: Option<At<u32>>,
    /// Requests ahead of their responses on a connection of HTTP/1.1.
    pub pipelining: Option<At<u32>>,
    /// How the server's certificate is judged; none is no TLS.
    pub tls: Option<At<Tls>>,
    /// Measured phases in one server process.
    pub rounds: Option<At<u32>>,
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

/// A request's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// As it is written.
    Text(Template),
    /// JSON, as it is sent.
    Json(Template),
    /// A file's content.
    File(File),
}

/// A file that the suite reads, as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path, relative to the suite's folder.
    pub path: String,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
}

/// What the rate of an open loop is.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// So many requests per second.
    Rate(f64),
    /// One rate after the other.
    Stages(Vec<Stage>),
    /// The highest at which all of these hold.
    Search(Vec<(&'static Metric, Bound)>),
}

/// One stage of an open loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Requests per second.
    pub rate: f64,
    /// How long.
    pub duration: Duration,
    /// Whether the rate goes there in a straight line.
    pub ramp: bool,
}

/// How the sends of an open loop are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// The same time between two.
    Uniform,
    /// Exponential times between two.
    Poisson,
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.1.
    One,
    /// HTTP/2.
    Two,
}

/// How a server's certificate is judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// The certificate that signed it, relative to the suite's folder.
    pub ca: Option<String>,
    /// The name that it must have.
    pub server_name: Option<String>,
    /// Whether any will do.
    pub insecure: bool,
}

/// `[[mixes.NAME]]`.
#[derive(Debug, Clone)]
pub struct Mix {
    /// Its name.
    pub name: At<String>,
    /// Its requests.
    pub requests: Vec<MixRequest>,
}

/// One request of a mix.
#[derive(Debug, Clone)]
pub struct MixRequest {
    /// What it sets of a load's request.
    pub keys: LoadKeys,
    /// How often it is sent, compared with the others.
    pub weight: u32,
    /// A file with its paths, one a line.
    pub path_file: Option<At<File>>,
}

/// A value that a metric is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// In the metric's own unit.
    Value(f64),
    /// A share of 1 of all requests.
    Share(f64),
}

/// `[[gates]]`.
#[derive(Debug, Clone)]
pub struct Gate {
    /// The cells; none is all.
    pub cells: Option<At<Selector>>,
    /// What must hold there.
    pub limits: Vec<Limit>,
}

/// The limits of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The metric.
    pub metric: &'static Metric,
    /// The largest value that holds.
    pub max: Option<Bound>,
    /// The smallest value that holds.
    pub min: Option<Bound>,
    /// How much worse than the baseline run it may be, a share of 1.
    pub max_regression: Option<f64>,
}

/// `[published.NAME]`.
#[derive(Debug, Clone)]
pub struct Published {
    /// Its name.
    pub name: String,
    /// Where the figures stand.
    pub source: Option<String>,
    /// What must be known about them.
    pub note: Option<String>,
    /// The figures.
    pub rows: Vec<PublishedRow>,
}

/// The published figures of one cell.
#[derive(Debug, Clone)]
pub struct PublishedRow {
    /// The cell.
    pub cell: At<Selector>,
    /// The figures, each in its metric's unit.
    pub figures: Vec<(&'static Metric, f64)>,
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
