//! `hotlap load`: the built-in generator alone, against a server that runs already.

mod address;
mod summary;
mod way;

use super::exit::Exit;
use super::terminal::{print, say_error, say_line};
use crate::host;
use crate::load::{self, Cancel, Control, Job, VerifyError};
use crate::spec::{Amount, Fill, LoadSpec, Request, Text};
use crate::units::parse_duration;
use address::Url;
use clap::Args;
use std::time::Duration;
use summary::Summary;
use tokio::signal::unix::{SignalKind, signal};
use way::WayArgs;

/// Descriptors that are needed beside those of the connections.
const OTHER_DESCRIPTORS: u64 = 64;

/// Load one URL of a server that runs already
///
/// A closed loop: each connection sends its next request when the last one is answered. The first response is checked before the load, and every
/// response of the load must be whole and have its status.
#[derive(Debug, Args)]
#[command(after_help = "\
Keys of --json (times in nanoseconds, null where too few requests tell):
  requests_per_second  responses that passed every check, per second of the window
  window_ns            how long the load lasted
  sent, succeeded, failed, timed_out, unfinished
  errors               failures by kind
  latency_ns           mean, p50, p90, p99, p99_9, max of successes: first byte written to last byte read
  bytes_received       heads and framing included
  connections, threads, generator_cpu_ns

Exit codes: 1 requests failed, or the first response was not as expected; 2 bad command line; 4 this machine cannot; 130 interrupted

Examples:
  hotlap load http://127.0.0.1:8080/
  hotlap load http://127.0.0.1:8080/ -c 256 -d 30s -t 2        wrk -t2 -c256 -d30s http://127.0.0.1:8080/
  hotlap load https://127.0.0.1:8443/ --cacert ca.pem
  hotlap load http://127.0.0.1:8080/ -n 100000 --json")]
pub(super) struct LoadArgs {
    /// The URL to load, such as `http://127.0.0.1:8080/`
    url: String,
    /// Connections, each with one request in flight
    #[arg(short, long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// How long the load lasts [default: 10s]
    #[arg(short, long, value_parser = duration, value_name = "TIME", conflicts_with = "requests")]
    duration: Option<Duration>,
    /// Send exactly so many requests instead
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Threads that make the load [default: half of this machine's CPUs]
    #[arg(short, long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// Load that is not counted, before the load
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "TIME")]
    warmup: Duration,
    /// After this a request has failed
    #[arg(long, default_value = "10s", value_parser = duration, value_name = "TIME")]
    timeout: Duration,
    /// A header, such as "Accept: text/html"; may be given more than once
    #[arg(short = 'H', long, value_name = "HEADER", value_parser = header)]
    header: Vec<(String, String)>,
    /// The method [default: GET, or POST with a body]
    #[arg(short, long, value_name = "METHOD")]
    method: Option<String>,
    /// The body of each request
    #[arg(short, long, value_name = "TEXT")]
    body: Option<String>,
    /// The status that every response must have
    #[arg(long, default_value_t = 200, value_name = "STATUS", value_parser = clap::value_parser!(u16).range(200..=999))]
    status: u16,
    /// Every response must have the body of the first
    #[arg(long)]
    same_body: bool,
    /// Open a connection for each request
    #[arg(long)]
    no_keep_alive: bool,
    #[command(flatten)]
    way: WayArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    // A bare number is seconds, as for other load generators.
    match text.parse::<u64>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => parse_duration(text).map_err(|error| error.to_string()),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err("a number from 1 to 1024 is needed".to_owned()),
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or("a header is written as \"Name: value\"")?;
    Ok((name.to_owned(), value.trim().to_owned()))
}

impl LoadArgs {
    fn spec(&self, path: &str) -> LoadSpec {
        let method = match (&self.method, &self.body) {
            (Some(method), _) => method,
            (None, Some(_)) => "POST",
            (None, None) => "GET",
        };
        let headers = self
            .header
            .iter()
            .map(|(name, value)| (name.clone(), Text::literal(value)));
        let mut spec = LoadSpec {
            request: Request {
                method: method.to_owned(),
                path: Text::literal(path),
                headers: headers.collect(),
                body: self.body.as_ref().map(Text::literal),
                body_file: None,
            },
            connections: self.connections,
            amount: match self.requests {
                Some(requests) => Amount::Requests(requests),
                None => Amount::Duration(self.duration.unwrap_or(Duration::from_secs(10))),
            },
            warmup: self.warmup,
            timeout: self.timeout,
            keep_alive: !self.no_keep_alive,
            ..LoadSpec::default()
        };
        spec.expect.status = self.status;
        spec
    }

    fn threads(&self) -> usize {
        self.threads
            .unwrap_or_else(|| (host::effective_cpus() / 2).max(1))
    }
}

/// A message, and how the command ends with it.
type Failure = (Exit, String);

/// Loads until the amount is sent or a signal comes.
pub(super) fn main(arguments: &LoadArgs) -> Exit {
    match loaded(arguments) {
        Ok(exit) => exit,
        Err((exit, message)) => {
            say_error(&message);
            exit
        }
    }
}

fn loaded(arguments: &LoadArgs) -> Result<Exit, Failure> {
    let usage = |message: String| (Exit::Usage, message);
    let cannot = |error: &dyn std::fmt::Display| (Exit::Machine, error.to_string());
    if arguments.timeout.is_zero() {
        return Err(usage("--timeout must be longer than 0".to_owned()));
    }
    let url = Url::parse(&arguments.url).map_err(usage)?;
    let target = arguments.way.target(&url).map_err(usage)?;
    let spec = arguments.spec(&url.path);
    let job =
        Job::new(&spec, &Fill::default(), &target).map_err(|error| usage(error.to_string()))?;
    // Each thread has an event queue and what wakes it.
    let of_threads = 2 * arguments.threads() as u64;
    host::raise_nofile(u64::from(arguments.connections) + of_threads + OTHER_DESCRIPTORS)
        .map_err(|error| cannot(&error))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| cannot(&error))?;
    let cancel = Cancel::new();
    runtime
        .block_on(async { listen_for_signals(&cancel) })
        .map_err(|error| cannot(&error))?;
    let refused = |error: VerifyError| (Exit::TrialFailed, error.to_string());
    let mut verified = runtime
        .block_on(load::verify(&job, &target))
        .map_err(refused)?;
    if arguments.same_body {
        verified = verified.holding_to_its_body().map_err(refused)?;
    }
    let control = Control::new(arguments.threads(), cancel.clone(), |_, _| {});
    let load = load::run(&job, &verified, &target, &control).map_err(|error| cannot(&error))?;
    let summary = Summary::of(&load);
    if arguments.json {
        print(&summary.json());
    } else {
        print(&summary.text(&load));
    }
    if cancel.is_cancelled() {
        say_line("interrupted; the figures are of what was done until then");
        return Ok(Exit::Interrupted);
    }
    Ok(if load.counts.errors() > 0 {
        Exit::TrialFailed
    } else {
        Exit::Fine
    })
}

/// The first signal ends the load and its figures are printed, the second ends at once.
fn listen_for_signals(cancel: &Cancel) -> std::io::Result<()> {
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut signals = signal(kind)?;
        let cancel = cancel.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if cancel.is_cancelled() {
                    std::process::exit(Exit::Interrupted as i32);
                }
                cancel.cancel();
            }
        });
    }
    Ok(())
}
