//! What is started: servers, their processes and services, when each is ready and how it ends.

use super::{List, Opt};
use crate::suite::describe::shapes;
use crate::suite::written::{CommandList, DurationText, Entries, Spanned, Words};
use schemars::JsonSchema;
use serde::Deserialize;

/// Defines a table that holds the keys of whatever is started, and perhaps more. (serde's
/// `flatten` would lose the spans.)
macro_rules! with_server_keys {
    ($(#[$doc:meta])* $name:ident { $($more:tt)* }) => {
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$doc])*
        pub(in crate::suite) struct $name {
            $($more)*
            /// Where it runs, relative to the suite's folder.
            #[schemars(extend("default" = "."))]
            pub(in crate::suite) cwd: Opt<String>,
            /// The `NAME-VERSION` of `[runtimes]` that `{{ runtime }}` stands for.
            #[schemars(example = &"node-20.18.0")]
            pub(in crate::suite) runtime: Opt<String>,
            /// What must be on the machine, or its cells are skipped: a program, a program in a version at least this, `env NAME`, or a file.
            #[schemars(extend("examples" = [["node >= 18", "npm", "env TOKEN", "./data.json"]]))]
            #[schemars(with = "Option<Vec<shapes::Requirement>>")]
            pub(in crate::suite) requires: List<String>,
            /// Commands that are run in `cwd` once before its first trial.
            #[schemars(extend("examples" = [["npm ci", "npm run build"]]))]
            pub(in crate::suite) build: Opt<CommandList>,
            /// Files and folders that decide whether an earlier build still serves. Default: all of `cwd`.
            #[schemars(extend("examples" = [["package.json", "package-lock.json"]]))]
            pub(in crate::suite) build_inputs: List<String>,
            /// When a build has hung.
            #[schemars(extend("default" = "15m"))]
            #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
            pub(in crate::suite) build_timeout: Opt<DurationText>,
            /// The command that starts it: a string, split like a shell would with no shell started, or the arguments.
            #[schemars(example = &"node index.js")]
            pub(in crate::suite) command: Opt<Words>,
            /// Variables of its environment, which is clean but for PATH, HOME, LANG, TMPDIR and PORT.
            #[schemars(extend("examples" = [{"NODE_ENV": "production"}]))]
            #[schemars(extend("propertyNames" = shapes::variables()))]
            #[serde(default)]
            pub(in crate::suite) env: Entries<Spanned<String>>,
            /// Variables that are taken out of its environment.
            #[schemars(with = "Option<Vec<shapes::Variable>>")]
            #[schemars(extend("examples" = [["TMPDIR"]]))]
            pub(in crate::suite) unset_env: List<String>,
            /// Variables of the caller that it gets.
            #[schemars(extend("examples" = [["SSH_AUTH_SOCK"]]))]
            #[schemars(with = "Option<Vec<shapes::Variable>>")]
            pub(in crate::suite) pass_env: List<String>,
            /// Variables whose values are taken out of everything that is recorded or shown.
            #[schemars(extend("examples" = [["API_TOKEN"]]))]
            #[schemars(with = "Option<Vec<shapes::Variable>>")]
            pub(in crate::suite) secret: List<String>,
            /// A fixed port. Default: a free one for each trial, as `{{ port }}` and in PORT.
            #[schemars(example = 8080, range(min = 1))]
            pub(in crate::suite) port: Opt<u16>,
            /// The address that it listens on, and that is loaded.
            #[schemars(extend("default" = "127.0.0.1"))]
            #[schemars(extend("pattern" = shapes::ADDRESS))]
            pub(in crate::suite) address: Opt<String>,
            /// The path of the Unix-domain socket that it listens on, and that is loaded instead of an address.
            #[schemars(example = &"{{ dir }}/app.sock")]
            #[schemars(length(min = 1))]
            pub(in crate::suite) socket: Opt<String>,
            /// Files that are rendered into `{{ dir }}` before it starts: name there, template in `cwd`.
            #[schemars(extend("examples" = [{"nginx.conf": "nginx.conf.j2"}]))]
            #[schemars(extend("propertyNames" = shapes::files()))]
            #[serde(default)]
            pub(in crate::suite) files: Entries<Spanned<String>>,
            /// `"copy"` makes `{{ dir }}` a copy of `cwd` and runs there.
            #[schemars(extend("default" = "none", "enum" = ["none", "copy"]))]
            pub(in crate::suite) scratch: Opt<String>,
            /// When it counts as ready.
            pub(in crate::suite) ready: Opt<Ready>,
            /// Commands that are run in each trial after it is ready and before the load.
            #[schemars(extend("examples" = [["psql -f reset.sql"]]))]
            pub(in crate::suite) prepare: Opt<CommandList>,
            /// How it is asked to end.
            pub(in crate::suite) stop: Opt<Stop>,
            /// Processes of the same server, and services, that must be ready before it starts.
            #[schemars(extend("examples" = [["postgres"]]))]
            pub(in crate::suite) needs: List<String>,
            /// The command that prints its version for the report.
            #[schemars(example = &"node --version")]
            pub(in crate::suite) probe: Opt<Words>,
        }
    };
}

/// Takes these keys out of a table that holds more.
macro_rules! taken_server_keys {
    ($($name:ident),+) => {$(
        impl $name {
            /// The keys that all that is started have in common, taken out.
            pub(in crate::suite) fn take_common(&mut self) -> Common {
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
        pub(in crate::suite) label: Opt<String>,
        /// The process that is loaded. Default: the only one.
        #[schemars(extend("examples" = ["proxy"]))]
        pub(in crate::suite) front: Opt<String>,
        /// A server that is already running, instead of one that is started; or `unix:` and the path of its socket.
        #[schemars(example = &"http://127.0.0.1:8080")]
        #[schemars(extend("pattern" = shapes::ORIGIN))]
        pub(in crate::suite) url: Opt<String>,
        /// Its processes, where there is more than one; the server's keys are their defaults.
        #[schemars(extend("propertyNames" = shapes::names()))]
        #[serde(default)]
        pub(in crate::suite) processes: Entries<Process>,
    }
}

with_server_keys! {
    /// One process of a server. The server's keys are its defaults.
    #[schemars(title = "[servers.NAME.processes.NAME]")]
    Process {
        /// How many of it are started, each with a port of its own and an `{{ index }}`.
        #[schemars(extend("default" = 1), range(min = 1, max = 1000))]
        pub(in crate::suite) count: Opt<u32>,
    }
}

with_server_keys! {
    /// What servers lean on, such as a database.
    #[schemars(title = "[services.NAME]", extend("required" = ["command"]))]
    Service {
        /// How people see it. Default: its name.
        #[schemars(extend("pattern" = shapes::LABEL))]
        #[schemars(extend("examples" = ["PostgreSQL 16"]))]
        pub(in crate::suite) label: Opt<String>,
        /// Commands that are run before each start.
        #[schemars(extend("examples" = [["initdb -D {{ dir }}/data"]]))]
        pub(in crate::suite) setup: Opt<CommandList>,
        /// Whether it runs for the whole `"suite"`, or anew for each `"trial"`.
        #[schemars(extend("default" = "suite", "enum" = ["suite", "trial"]))]
        pub(in crate::suite) scope: Opt<String>,
    }
}

/// When something counts as ready: a request is answered, a command succeeds, its port takes a
/// connection, or its output holds a text.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "ready")]
pub(in crate::suite) struct Ready {
    /// The path that is asked for. Default: the load's.
    #[schemars(example = &"/health")]
    #[schemars(extend("pattern" = shapes::TARGET))]
    pub(in crate::suite) path: Opt<String>,
    /// The status that is waited for. Default: 200 where `path` is given, else any but 502, 503 and 504.
    #[schemars(example = 200, range(min = 100, max = 599))]
    pub(in crate::suite) status: Opt<u16>,
    /// A command that is run until it succeeds.
    #[schemars(example = &"pg_isready -p {{ port }}")]
    pub(in crate::suite) command: Opt<Words>,
    /// Whether a connection to its port is enough.
    pub(in crate::suite) tcp: Opt<bool>,
    /// A text that it prints.
    #[schemars(example = &"ready to accept connections")]
    pub(in crate::suite) log: Opt<String>,
    /// When it is given up.
    #[schemars(extend("default" = "30s"))]
    #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
    pub(in crate::suite) timeout: Opt<DurationText>,
}

/// How a process is asked to end.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "stop")]
pub(in crate::suite) struct Stop {
    /// The signal.
    #[schemars(extend("default" = "SIGTERM", "enum" = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2"]))]
    pub(in crate::suite) signal: Opt<String>,
    /// After this its whole tree is killed.
    #[schemars(extend("default" = "5s"))]
    pub(in crate::suite) grace: Opt<DurationText>,
}
