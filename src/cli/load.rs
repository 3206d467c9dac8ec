//! `hotlap load`: the built-in generator alone, against a server that runs already.

mod address;
mod arguments;
mod buckets;
mod progress;
mod shown;
mod summary;
mod way;

use super::exit::Exit;
use super::signals;
use super::terminal::{is_interactive, paints_output, print, say_error, say_line};
use crate::host;
use crate::load::{self, Cancel, Control, Job, Target, Verified, VerifyError};
use crate::record::Load;
use crate::spec::{Fill, LoadSpec};
use address::Url;
use arguments::{AmountArgs, ConnectionArgs, OutputArgs, RequestArgs};
use clap::Args;
use progress::Live;
use shown::Look;
use summary::Summary;
use tokio::runtime::Runtime;
use tokio::signal::unix::SignalKind;
use way::WayArgs;

/// Descriptors that are needed beside those of the connections.
const OTHER_DESCRIPTORS: u64 = 64;

/// Load one URL of a server that runs already
///
/// A closed loop: each connection sends its next request when the last one is answered. With --rate an open one: requests are sent when they are due, and
/// latency is response time, from that instant on. The first response is checked before the load, and every
/// response of the load must be whole and have its status. What was found goes to standard output, everything else to standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
The same load, as others are asked for it:
  wrk -t2 -c64 -d30s -H 'A: b' URL         hotlap load -t2 -c64 -d30s -H 'A: b' URL
  oha -c 64 -z 30s -m POST -d TEXT URL     hotlap load -c 64 -d 30s -b TEXT URL
  bombardier -c 64 -n 100000 -l URL        hotlap load -c 64 -n 100000 URL
  wrk2 -t2 -c100 -d30s -R 2000 URL         hotlap load -t2 -c100 -d30s -r 2000 URL
  h2load -c 8 -m 8 -n 100000 URL           hotlap load -c 8 --h2 --streams 8 -n 100000 URL
  ab -k -c 64 -n 100000 -p FILE URL        hotlap load -c 64 -n 100000 -b @FILE URL
  ab -c 64 -n 100000 URL                   hotlap load -c 64 -n 100000 --no-keep-alive URL

Keys of --json (times in nanoseconds, null where too few requests tell):
  url, interrupted     what was loaded, and whether a signal ended it early
  requests_per_second  responses that passed every check, per second of the window
  window_ns            how long the load lasted
  sent, succeeded, failed, timed_out, unfinished
  errors               failures by kind
  error_examples       the first of each kind, in words
  statuses             responses by status
  latency_ns           mean, stdev, min, p50, p75, p90, p99, p99_9, max of
                       successes: first byte written to last byte read; with
                       --rate from the instant at which each was due
  open_loop            null without --rate: offered_per_second, unsent,
                       queued (waited for a connection), late (sent more than
                       1 ms late by the generator), lag_p50_ns, lag_p99_ns,
                       service_p50_ns, service_p99_ns, sustained
  unix_socket          null, or the socket that was connected to
  certificate_checked  null without TLS; false with --insecure
  histogram            successes by latency: up_to_ns, count of each bucket
  per_second           successes in each second, those of the drain in none; the
                       last may be a part of one
  bytes_received, bytes_sent, bytes_per_second
                       heads and framing included; the rate is of what came
  connections, threads, generator_cpu_ns
  http2                null, or streams, and streams_allowed by the server
  connect_ns           count, mean, p50, max of all connections opened
  reconnects           connections opened anew during the load
  retried              requests sent once more, since the server had closed their
                       connection without a word; never one such as a POST that
                       may have been read
  limited              null, or why the generator was the limit, so that
                       requests_per_second is a lower bound: by (cpu, idle, late), why
  invalid              why the figures contradict each other; mostly empty

Exit codes: 1 requests failed, or the first response was not as expected; 2 bad command line;
4 this machine cannot; 130 interrupted

Examples:
  hotlap load :8080
  hotlap load http://127.0.0.1:8080/ -c 256 -d 30s -t 2
  hotlap load :8080 -c 8 --h2 --streams 8
  hotlap load https://127.0.0.1:8443/ --cacert ca.pem
  hotlap load http://127.0.0.1:8080/ -n 100000 --json")]
pub(super) struct LoadArgs {
    /// The URL to load, such as `http://127.0.0.1:8080/`, `localhost:8080` or `:8080/path`
    url: String,
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    amount: AmountArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    way: WayArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// A message, and how the command ends with it.
type Failure = (Exit, String);

#[expect(
    clippy::needless_pass_by_value,
    reason = "it takes what `map_err` hands over"
)]
fn usage(message: impl ToString) -> Failure {
    (Exit::Usage, message.to_string())
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it takes what `map_err` hands over"
)]
fn cannot(error: impl ToString) -> Failure {
    (Exit::Machine, error.to_string())
}

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
    let url = Url::parse(&arguments.url).map_err(usage)?;
    let target = arguments
        .way
        .target(&url, arguments.connection.version())
        .map_err(usage)?;
    let spec = arguments::spec(
        &arguments.request,
        &arguments.amount,
        &arguments.connection,
        &url.path,
    )
    .map_err(usage)?;
    let job = Job::new(&spec, &Fill::default(), &target).map_err(usage)?;
    let threads = arguments.amount.threads();
    // Each thread has an event queue and what wakes it.
    let needed = u64::from(spec.connections) + 2 * threads as u64 + OTHER_DESCRIPTORS;
    host::raise_nofile(needed).map_err(cannot)?;
    let runtime = runtime()?;
    let cancel = Cancel::new();
    runtime
        .block_on(async {
            signals::listen(&[SignalKind::interrupt(), SignalKind::terminate()], &cancel)
        })
        .map_err(cannot)?;
    let Some(verified) = verified(arguments, &runtime, &cancel, &job, &target)? else {
        say_line("interrupted before the server had answered");
        return Ok(Exit::Interrupted);
    };
    let live = Live::new(
        !arguments.output.no_progress && is_interactive(),
        spec.amount,
        spec.warmup,
    );
    let control = Control::new(threads, cancel.clone(), live.follow());
    let painter = live.show(control.progress());
    let load = load::run(&job, &verified, &target, &control).map_err(cannot)?;
    drop(painter);
    Ok(tell(arguments, &url, &spec, &load, cancel.is_cancelled()))
}

fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(cannot)
}

/// The first response, checked whole; none where a signal came first.
fn verified(
    arguments: &LoadArgs,
    runtime: &Runtime,
    cancel: &Cancel,
    job: &Job,
    target: &Target,
) -> Result<Option<Verified>, Failure> {
    let refused = |error: VerifyError| {
        let hint = runtime.block_on(hint(&error, target));
        (Exit::TrialFailed, format!("{error}{hint}"))
    };
    let verified = runtime.block_on(async {
        tokio::select! {
            verified = load::verify(job, target) => Some(verified),
            () = cancel.cancelled() => None,
        }
    });
    let Some(verified) = verified.transpose().map_err(refused)? else {
        return Ok(None);
    };
    if arguments.request.same_body {
        return verified.holding_to_its_body().map(Some).map_err(refused);
    }
    Ok(Some(verified))
}

/// What may be meant instead, where the first response was not as expected; mostly empty.
async fn hint(error: &VerifyError, target: &Target) -> String {
    match error {
        VerifyError::Connect(..)
        | VerifyError::Tls(..)
        | VerifyError::NoTls(..)
        | VerifyError::Timeout(_) => String::new(),
        _ if target.secure().is_none() && load::speaks_tls(target).await => {
            "; TLS is spoken there: write https://".to_owned()
        }
        VerifyError::Status { got, .. } => {
            format!("; if that is what is to be loaded, add --status {got}")
        }
        _ => String::new(),
    }
}

/// Prints what was found; the exit code says how it went.
fn tell(arguments: &LoadArgs, url: &Url, spec: &LoadSpec, load: &Load, interrupted: bool) -> Exit {
    let mut summary = Summary::of(&url.shown(), spec, load, interrupted);
    summary.route = arguments.way.route(url);
    if arguments.output.json {
        print(&summary.json());
    } else {
        print(&shown::text(
            &summary,
            Look::of_environment(paints_output()),
        ));
    }
    if interrupted {
        say_line("interrupted; the figures are of what was done until then");
        return Exit::Interrupted;
    }
    if summary.is_good() {
        Exit::Fine
    } else {
        Exit::TrialFailed
    }
}
