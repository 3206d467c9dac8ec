//! What is sent, how much of it, and what must come back.

use super::{List, Opt};
use crate::suite::describe::{figures, shapes};
use crate::suite::written::{DurationText, Entries, Json, Number, Quantity, SizeText, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

/// Defines a table that holds the keys of a request, and perhaps more.
macro_rules! with_request_keys {
    ($(#[$doc:meta])* $name:ident { $($more:tt)* }) => {
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$doc])*
        pub(in crate::suite) struct $name {
            $($more)*
            /// The method.
            #[schemars(extend("default" = "GET"))]
            #[schemars(extend("pattern" = shapes::METHOD))]
            pub(in crate::suite) method: Opt<String>,
            /// The request target, sent byte for byte.
            #[schemars(extend("default" = "/"))]
            #[schemars(extend("pattern" = shapes::TARGET))]
            pub(in crate::suite) path: Opt<String>,
            /// Request headers, in this order and case. Host and Content-Length are added.
            #[schemars(extend("examples" = [{"accept-encoding": "gzip"}]))]
            #[schemars(extend("propertyNames" = shapes::sent_headers()))]
            #[serde(default)]
            pub(in crate::suite) headers: Entries<Spanned<String>>,
            /// The body.
            #[schemars(extend("examples" = ["name=thing"]))]
            pub(in crate::suite) body: Opt<String>,
            /// A file that is the body, relative to the suite's folder.
            #[schemars(extend("examples" = ["data/order.json"]))]
            pub(in crate::suite) body_file: Opt<String>,
            /// A body that is written as JSON, with its Content-Type.
            #[schemars(extend("examples" = [{"name": "thing", "price": 3}]))]
            pub(in crate::suite) json: Opt<Json>,
            /// Whether the body is a template.
            #[schemars(extend("default" = false))]
            pub(in crate::suite) template: Opt<bool>,
            /// What must come back for a response to count.
            pub(in crate::suite) expect: Opt<Expect>,
        }
    };
}

/// Takes these keys out of a table that holds more.
macro_rules! taken_request_keys {
    ($($name:ident),+) => {$(
        impl $name {
            /// The keys of the request, taken out.
            pub(in crate::suite) fn take_request(&mut self) -> Request {
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
        pub(in crate::suite) weight: Opt<u32>,
        /// A file with one path a line, sent in turn, relative to the suite's folder.
        #[schemars(extend("examples" = ["data/paths.txt"]))]
        pub(in crate::suite) path_file: Opt<String>,
    }
}

with_request_keys! {
    /// What is sent, how much of it, and what must come back.
    #[schemars(title = "[loads.NAME]")]
    Load {
        /// How people see it. Default: its name.
        #[schemars(extend("pattern" = shapes::LABEL))]
        #[schemars(extend("examples" = ["64 connections"]))]
        pub(in crate::suite) label: Opt<String>,
        /// The load generator: the built-in one, or a program.
        #[schemars(extend("default" = "built-in", "enum" = ["built-in", "ab", "bombardier", "autocannon", "wrk", "wrk2", "oha", "hey", "h2load", "k6", "vegeta"]))]
        pub(in crate::suite) generator: Opt<String>,
        /// The mix of requests that is sent, instead of one request.
        #[schemars(extend("examples" = ["shop"]))]
        pub(in crate::suite) mix: Opt<String>,
        /// Connections of a closed loop, each with one request in flight; with `rate` the most of them (then 1000 by default).
        #[schemars(extend("default" = 64), range(min = 1, max = 100_000))]
        pub(in crate::suite) connections: Opt<u32>,
        /// How long the measured phase lasts.
        #[schemars(extend("default" = "30s"))]
        #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
        pub(in crate::suite) duration: Opt<DurationText>,
        /// How many requests the measured phase has, instead of a duration.
        #[schemars(example = 1_000_000, range(min = 1))]
        pub(in crate::suite) requests: Opt<u64>,
        /// Requests per second, sent whether or not the server keeps up: an open loop.
        #[schemars(example = 500)]
        pub(in crate::suite) rate: Opt<Number>,
        /// How the sends of an open loop are spread: `"uniform"`, or at random (`"poisson"`).
        #[schemars(extend("default" = "uniform", "enum" = ["uniform", "poisson"]))]
        pub(in crate::suite) arrivals: Opt<String>,
        /// Rates one after the other, instead of `rate` and `duration`.
        #[schemars(extend("examples" = [[{"rate": 500, "duration": "30s"}, {"rate": 2000, "duration": "60s", "ramp": true}]], "minItems" = 1))]
        pub(in crate::suite) stages: Opt<Vec<Spanned<Stage>>>,
        /// Finds the highest rate at which these metrics stay below their limits.
        #[schemars(extend("examples" = [{"latency_p99": "50ms", "errors": "0.1%"}]))]
        #[schemars(with = "Option<figures::Search>")]
        pub(in crate::suite) search: Opt<Entries<Spanned<Quantity>>>,
        /// When a request has failed.
        #[schemars(extend("default" = "10s"))]
        #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
        pub(in crate::suite) timeout: Opt<DurationText>,
        /// Whether a connection carries more than one request.
        #[schemars(extend("default" = true))]
        pub(in crate::suite) keep_alive: Opt<bool>,
        /// The version of HTTP.
        #[schemars(extend("default" = "1.1", "enum" = ["1.1", "2"]))]
        pub(in crate::suite) http: Opt<String>,
        /// Requests in flight on each connection of HTTP/2.
        #[schemars(extend("default" = 1), range(min = 1))]
        pub(in crate::suite) streams: Opt<u32>,
        /// Requests that a connection of HTTP/1.1 sends ahead of their responses.
        #[schemars(extend("default" = 1), range(min = 1))]
        pub(in crate::suite) pipelining: Opt<u32>,
        /// TLS, where the server speaks it.
        pub(in crate::suite) tls: Opt<Tls>,
        /// Load before the measured phase. Default: the run's.
        #[schemars(extend("examples" = ["10s"]))]
        pub(in crate::suite) warmup: Opt<DurationText>,
        /// Trials of each of its cells. Default: the run's.
        #[schemars(range(min = 1))]
        #[schemars(extend("examples" = [3]))]
        pub(in crate::suite) repetitions: Opt<u32>,
        /// Measured phases in one server process, averaged.
        #[schemars(extend("default" = 1), range(min = 1))]
        pub(in crate::suite) rounds: Opt<u32>,
        /// When a trial has hung. Default: twice what it should take and a minute, or 30 minutes for a number of requests.
        #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
        #[schemars(extend("examples" = ["30m"]))]
        pub(in crate::suite) trial_timeout: Opt<DurationText>,
    }
}

/// One stage of an open loop.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "a stage", extend("required" = ["rate", "duration"]))]
pub(in crate::suite) struct Stage {
    /// Requests per second, at the end of the stage where it is a ramp.
    #[schemars(example = 500)]
    pub(in crate::suite) rate: Opt<Number>,
    /// How long it lasts.
    #[schemars(example = &"30s")]
    #[schemars(extend("pattern" = shapes::POSITIVE_DURATION))]
    pub(in crate::suite) duration: Opt<DurationText>,
    /// Whether the rate goes there in a straight line from the stage before, the first from zero.
    #[schemars(extend("default" = false))]
    pub(in crate::suite) ramp: Opt<bool>,
}

/// How a server's certificate is judged.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "tls")]
pub(in crate::suite) struct Tls {
    /// The certificate that signed the server's, or the server's own where it signed itself: a PEM file relative to the suite's folder. Default: the machine's.
    #[schemars(example = &"tls/ca.pem")]
    pub(in crate::suite) ca: Opt<String>,
    /// The name that the certificate must have. Default: the address.
    #[schemars(example = &"localhost")]
    #[schemars(extend("pattern" = shapes::SERVER_NAME))]
    pub(in crate::suite) server_name: Opt<String>,
    /// Whether any certificate will do; the report says so.
    #[schemars(extend("default" = false))]
    pub(in crate::suite) insecure: Opt<bool>,
}

/// What a response must be like to count.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "expect")]
pub(in crate::suite) struct Expect {
    /// The status.
    #[schemars(extend("default" = 200), range(min = 100, max = 599))]
    pub(in crate::suite) status: Opt<u16>,
    /// The whole body, after decoding.
    #[schemars(example = &"hello world")]
    pub(in crate::suite) body: Opt<String>,
    /// A text in the decoded body.
    #[schemars(extend("examples" = ["\"ok\":true"]))]
    pub(in crate::suite) contains: Opt<String>,
    /// The least size of the decoded body.
    #[schemars(example = &"500KiB")]
    pub(in crate::suite) min_size: Opt<SizeText>,
    /// Headers that must be there, with this value.
    #[schemars(extend("examples" = [{"content-encoding": "gzip"}]))]
    #[schemars(extend("propertyNames" = shapes::headers()))]
    #[serde(default)]
    pub(in crate::suite) headers: Entries<Spanned<String>>,
    /// Headers that must not be there.
    #[schemars(extend("examples" = [["content-encoding"]]))]
    #[schemars(with = "Option<Vec<shapes::Header>>")]
    pub(in crate::suite) no_headers: List<String>,
}
