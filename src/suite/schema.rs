//! The suite file as it is written: a private mirror of its tables, with a
//! span at everything that can be wrong. Nothing is required here and nothing
//! is interpreted; [`super::resolve`] does both, so that every mistake of a
//! file is found at once. What may stand here and what it means is one page of
//! the documentation, `docs/suite-format.md` being made from it later on.

use super::written::{Commands, Entries, Repetitions, Scalar, Values, Words};
use serde::Deserialize;
use toml::Spanned;

/// A key that may be left out, with its place.
pub(super) type Opt<T> = Option<Spanned<T>>;

/// A whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) title: Opt<String>,
    pub(super) description: Opt<String>,
    pub(super) run: Opt<Run>,
    pub(super) defaults: Option<Defaults>,
    #[serde(default)]
    pub(super) tools: Entries<Tool>,
    #[serde(default)]
    pub(super) servers: Entries<Server>,
    #[serde(default)]
    pub(super) toggles: Entries<Toggle>,
    pub(super) overrides: Option<Vec<Override>>,
    pub(super) matrix: Option<Matrix>,
    #[serde(default)]
    pub(super) loads: Entries<Load>,
    #[serde(default)]
    pub(super) profiles: Entries<Profile>,
}

/// `[run]`, and `run` of a profile.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    pub(super) repetitions: Opt<Repetitions>,
    pub(super) order: Opt<String>,
    pub(super) seed: Opt<u64>,
    pub(super) warmup: Opt<String>,
    pub(super) cooldown: Opt<String>,
    pub(super) rest: Opt<String>,
    pub(super) sample_interval: Opt<String>,
    pub(super) baseline: Opt<Selector>,
    pub(super) max_errors: Opt<String>,
    pub(super) allow_public: Opt<bool>,
}

/// `[defaults]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Defaults {
    pub(super) server: Option<Server>,
    pub(super) load: Option<Load>,
}

/// `[tools.NAME]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub(super) probe: Opt<Words>,
    pub(super) install: Opt<String>,
}

/// `[servers.NAME]` and `[defaults.server]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Server {
    pub(super) label: Opt<String>,
    pub(super) cwd: Opt<String>,
    pub(super) requires: Option<Vec<Spanned<String>>>,
    pub(super) build: Opt<Commands>,
    pub(super) build_timeout: Opt<String>,
    pub(super) command: Opt<Words>,
    #[serde(default)]
    pub(super) env: Entries<Spanned<String>>,
    pub(super) unset_env: Option<Vec<Spanned<String>>>,
    pub(super) port: Opt<u16>,
    pub(super) address: Opt<String>,
    pub(super) ready: Opt<Ready>,
    pub(super) stop: Opt<Stop>,
    pub(super) probe: Opt<Words>,
}

/// `ready`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ready {
    pub(super) path: Opt<String>,
    pub(super) status: Opt<u16>,
    pub(super) timeout: Opt<String>,
}

/// `stop`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stop {
    pub(super) signal: Opt<String>,
    pub(super) grace: Opt<String>,
}

/// Defines a table that holds the keys of a setting, and perhaps more. (serde's
/// `flatten` would lose the spans.)
macro_rules! with_setting_keys {
    ($(#[$doc:meta])* $name:ident { $($more:tt)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            $($more)*
            pub(super) label: Opt<String>,
            #[serde(default)]
            pub(super) env: Entries<Spanned<String>>,
            pub(super) unset_env: Option<Vec<Spanned<String>>>,
            pub(super) args: Opt<Words>,
            pub(super) command: Opt<Words>,
            pub(super) cwd: Opt<String>,
            pub(super) build: Opt<Commands>,
            pub(super) ready: Opt<Ready>,
            pub(super) requires: Option<Vec<Spanned<String>>>,
            #[serde(default)]
            pub(super) headers: Entries<Spanned<String>>,
            pub(super) path: Opt<String>,
            pub(super) connections: Opt<u32>,
            pub(super) keep_alive: Opt<bool>,
            pub(super) expect: Opt<Expect>,
        }
    };
}

with_setting_keys! {
    /// What a toggle's value sets.
    Setting {}
}

with_setting_keys! {
    /// `[toggles.NAME]`: the keys of a setting stand beside `values`.
    Toggle {
        pub(super) servers: Option<Vec<Spanned<String>>>,
        pub(super) loads: Option<Vec<Spanned<String>>>,
        pub(super) values: Opt<Values<Setting>>,
    }
}

impl Toggle {
    /// The settings beside `values`.
    pub(super) fn into_setting(self) -> Setting {
        Setting {
            label: None,
            env: self.env,
            unset_env: self.unset_env,
            args: self.args,
            command: self.command,
            cwd: self.cwd,
            build: self.build,
            ready: self.ready,
            requires: self.requires,
            headers: self.headers,
            path: self.path,
            connections: self.connections,
            keep_alive: self.keep_alive,
            expect: self.expect,
        }
    }
}

/// `[[overrides]]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Override {
    pub(super) when: Opt<Selector>,
    pub(super) set: Opt<Setting>,
}

/// `[matrix]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Matrix {
    pub(super) combine: Opt<String>,
    pub(super) include: Option<Vec<Spanned<Selector>>>,
    pub(super) exclude: Option<Vec<Spanned<Selector>>>,
}

/// Names of axes with the values that match.
pub(super) type Selector = Entries<Spanned<Choices>>;

/// One value or several.
pub(super) type Choices = super::written::OneOrMany<Scalar>;

/// `[loads.NAME]` and `[defaults.load]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Load {
    pub(super) label: Opt<String>,
    pub(super) method: Opt<String>,
    pub(super) path: Opt<String>,
    #[serde(default)]
    pub(super) headers: Entries<Spanned<String>>,
    pub(super) body: Opt<String>,
    pub(super) connections: Opt<u32>,
    pub(super) duration: Opt<String>,
    pub(super) requests: Opt<u64>,
    pub(super) timeout: Opt<String>,
    pub(super) keep_alive: Opt<bool>,
    pub(super) expect: Opt<Expect>,
    pub(super) warmup: Opt<String>,
    pub(super) repetitions: Opt<u32>,
    pub(super) trial_timeout: Opt<String>,
}

/// `expect`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) status: Opt<u16>,
    pub(super) body: Opt<String>,
    pub(super) contains: Opt<String>,
    pub(super) min_size: Opt<String>,
    #[serde(default)]
    pub(super) headers: Entries<Spanned<String>>,
    pub(super) no_headers: Option<Vec<Spanned<String>>>,
}

/// `[profiles.NAME]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    pub(super) run: Option<Run>,
    pub(super) load: Option<ProfileLoad>,
    pub(super) matrix: Option<Matrix>,
}

/// `load` of a profile: limits and replacements for every load of the suite.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileLoad {
    pub(super) max_duration: Opt<String>,
    pub(super) max_requests: Opt<u64>,
    pub(super) connections: Opt<u32>,
    pub(super) warmup: Opt<String>,
    pub(super) timeout: Opt<String>,
}

/// Keys of format 1 that a later version of hotlap carries out, by the table
/// that they stand in (`*` is any name).
pub(super) const LATER: &[(&str, &[&str])] = &[
    ("", &["runtimes", "services", "mixes", "gates", "published"]),
    (
        "run",
        &[
            "min_effect",
            "max_warmup",
            "target",
            "max_repetitions",
            "budget",
            "cpus",
        ],
    ),
    (
        "profiles.*.run",
        &[
            "min_effect",
            "max_warmup",
            "target",
            "max_repetitions",
            "budget",
            "cpus",
        ],
    ),
    ("servers.*", SERVER_LATER),
    ("defaults.server", SERVER_LATER),
    ("toggles.*", SETTING_LATER),
    ("toggles.*.values.*", SETTING_LATER),
    ("overrides.*.set", SETTING_LATER),
    ("loads.*", LOAD_LATER),
    ("defaults.load", LOAD_LATER),
    ("servers.*.ready", READY_LATER),
    ("defaults.server.ready", READY_LATER),
];

const SERVER_LATER: &[&str] = &[
    "runtime",
    "build_inputs",
    "pass_env",
    "secret",
    "files",
    "scratch",
    "prepare",
    "needs",
    "front",
    "url",
    "processes",
];
const SETTING_LATER: &[&str] = &[
    "runtime",
    "front",
    "processes",
    "revision",
    "rate",
    "http",
    "streams",
    "tls",
];
const LOAD_LATER: &[&str] = &[
    "generator",
    "body_file",
    "json",
    "mix",
    "rate",
    "arrivals",
    "stages",
    "search",
    "http",
    "streams",
    "pipelining",
    "tls",
    "rounds",
    "template",
];
const READY_LATER: &[&str] = &["command", "tcp", "log"];
