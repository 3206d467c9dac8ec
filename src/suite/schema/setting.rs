//! What a toggle's value or an override sets, and toggles themselves.

use super::{Expect, List, Opt, Process, Ready, Tls};
use crate::suite::describe::shapes;
use crate::suite::written::{CommandList, Entries, Number, Spanned, Values, Words};
use schemars::JsonSchema;
use serde::Deserialize;

/// Defines a table that holds the keys of a setting, and perhaps more.
macro_rules! with_setting_keys {
    ($(#[$doc:meta])* $name:ident { $($more:tt)* }) => {
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$doc])*
        pub(in crate::suite) struct $name {
            $($more)*
            /// How people see the value. Default: its name.
            #[schemars(extend("pattern" = shapes::LABEL))]
            #[schemars(extend("examples" = ["gzip, level 6"]))]
            pub(in crate::suite) label: Opt<String>,
            /// Variables of the server's environment; they merge by name.
            #[schemars(extend("examples" = [{"NODE_ENV": "production"}]))]
            #[schemars(extend("propertyNames" = shapes::variables()))]
            #[serde(default)]
            pub(in crate::suite) env: Entries<Spanned<String>>,
            /// Variables that are taken out of the server's environment.
            #[schemars(with = "Option<Vec<shapes::Variable>>")]
            #[schemars(extend("examples" = [["TMPDIR"]]))]
            pub(in crate::suite) unset_env: List<String>,
            /// Arguments behind the command; those of several toggles add up.
            #[schemars(example = &"--workers 4")]
            #[schemars(with = "Option<shapes::Arguments>")]
            pub(in crate::suite) args: Opt<Words>,
            /// The command that starts it.
            #[schemars(extend("examples" = [["node", "--harmony", "index.js"]]))]
            pub(in crate::suite) command: Opt<Words>,
            /// Where it runs.
            #[schemars(extend("examples" = ["apps/{{ toggles.node }}"]))]
            pub(in crate::suite) cwd: Opt<String>,
            /// Commands that are run before its first trial.
            #[schemars(extend("examples" = [["make release"]]))]
            pub(in crate::suite) build: Opt<CommandList>,
            /// The `NAME-VERSION` of `[runtimes]`.
            #[schemars(extend("examples" = ["{{ value }}"]))]
            pub(in crate::suite) runtime: Opt<String>,
            /// When it counts as ready.
            pub(in crate::suite) ready: Opt<Ready>,
            /// The process that is loaded.
            #[schemars(extend("examples" = ["proxy"]))]
            pub(in crate::suite) front: Opt<String>,
            /// Keys of single processes of the server.
            #[schemars(extend("propertyNames" = shapes::names()))]
            #[serde(default)]
            pub(in crate::suite) processes: Entries<Process>,
            /// What must be on the machine, beside what the server requires.
            #[schemars(with = "Option<Vec<shapes::Requirement>>")]
            #[schemars(extend("examples" = [["nginx"]]))]
            pub(in crate::suite) requires: List<String>,
            /// The revision of the repository that it is built from; `"worktree"` is what lies there.
            #[schemars(example = &"origin/main")]
            pub(in crate::suite) revision: Opt<String>,
            /// Request headers; they merge by name.
            #[schemars(extend("examples" = [{"accept-encoding": "gzip"}]))]
            #[schemars(extend("propertyNames" = shapes::sent_headers()))]
            #[serde(default)]
            pub(in crate::suite) headers: Entries<Spanned<String>>,
            /// The request target.
            #[schemars(extend("pattern" = shapes::TARGET))]
            #[schemars(extend("examples" = ["/{{ value }}"]))]
            pub(in crate::suite) path: Opt<String>,
            /// Requests per second.
            #[schemars(extend("examples" = [500]))]
            pub(in crate::suite) rate: Opt<Number>,
            /// Connections.
            #[schemars(range(min = 1, max = 100_000))]
            #[schemars(extend("examples" = [256]))]
            pub(in crate::suite) connections: Opt<u32>,
            /// The version of HTTP.
            #[schemars(extend("enum" = ["1.1", "2"]))]
            pub(in crate::suite) http: Opt<String>,
            /// Requests in flight on each connection of HTTP/2.
            #[schemars(range(min = 1))]
            #[schemars(extend("examples" = [8]))]
            pub(in crate::suite) streams: Opt<u32>,
            /// TLS.
            pub(in crate::suite) tls: Opt<Tls>,
            /// Whether a connection carries more than one request.
            pub(in crate::suite) keep_alive: Opt<bool>,
            /// What must come back.
            pub(in crate::suite) expect: Opt<Expect>,
        }
    };
}

/// Takes these keys out of a table that holds more.
macro_rules! taken_setting_keys {
    ($($name:ident),+) => {$(
        impl $name {
            /// The keys of a setting, taken out.
            pub(in crate::suite) fn take_setting(&mut self) -> Setting {
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
        pub(in crate::suite) servers: List<String>,
        /// The loads that have it. Default: all.
        #[schemars(extend("examples" = [["steady"]]))]
        pub(in crate::suite) loads: List<String>,
        /// Its values: scalars, or a table of settings by name.
        #[schemars(extend("examples" = [[1, 2, 4], {"off": {}, "on": {"env": {"NODE_ENV": "production"}}}]))]
        pub(in crate::suite) values: Opt<Values<Setting>>,
    }
}
