//! bombardier. Its report has a client side's view of an answer's class of status; rates and
//! deviations that it averages itself are not used.

use super::adapter::{Adapter, Command, Said};
use super::heard::{Heard, nanoseconds};
use super::order::{Order, literal_path};
use crate::record::{ErrorKind, Quantile, Timing, Told};
use crate::spec::{Amount, LoadSpec};
use crate::units::show_duration;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const BODY: &str = "body";
/// The shortest duration that it takes.
const SHORTEST: Duration = Duration::from_secs(1);
/// The line of a Go program that names its module and its version.
const MODULE: &[u8] = b"mod\tgithub.com/codesenberg/bombardier\t";

pub(super) struct Bombardier;

impl Adapter for Bombardier {
    fn name(&self) -> &'static str {
        "bombardier"
    }

    fn install(&self) -> &'static str {
        "go install github.com/codesenberg/bombardier@v1.2.6"
    }

    fn folders(&self) -> &'static [&'static str] {
        &["go/bin"]
    }

    fn asks(&self) -> &'static str {
        "--version"
    }

    fn recognise(&self, said: &str, program: &Path) -> Option<String> {
        // A game has the same name.
        let rest = said.split_once("bombardier version ")?.1;
        let said = rest.split_whitespace().next()?.to_owned();
        let version = if said == "unspecified" {
            module_version(program).unwrap_or(said)
        } else {
            said
        };
        Some(format!("bombardier {}", version.trim_start_matches('v')))
    }

    fn cannot(&self, work: &LoadSpec) -> Vec<&'static str> {
        let mut what = Vec::new();
        let mut headers = work.request.headers.iter();
        if headers.any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            what.push("it connects to whom `Host` names, and not to the server");
        }
        if rewritten(literal_path(work)) {
            what.push("it sends the path in another spelling");
        }
        what
    }

    fn threads(&self, order: &Order) -> usize {
        order.threads.min(order.connections as usize).max(1)
    }

    fn command(&self, order: &Order) -> Command {
        let mut command = Command {
            env: vec![("GOMAXPROCS", self.threads(order).to_string())],
            ..Command::default()
        };
        let amount = match order.amount {
            Amount::Requests(requests) => ["-n".to_owned(), requests.to_string()],
            Amount::Duration(duration) => {
                let least = duration.max(SHORTEST);
                command.notes.extend((least != duration).then(|| {
                    format!(
                        "bombardier takes at least {}, so it was not run for {}",
                        show_duration(least),
                        show_duration(duration)
                    )
                }));
                ["-d".to_owned(), format!("{}ms", least.as_millis())]
            }
        };
        let words = [
            "-c".to_owned(),
            order.connections.to_string(),
            "-t".to_owned(),
            format!("{}ms", order.timeout.as_millis().max(1)),
            "-m".to_owned(),
            order.method.clone(),
            "--latencies".to_owned(),
            // With its progress the report would not be JSON alone.
            "--print".to_owned(),
            "r".to_owned(),
            "--format".to_owned(),
            "json".to_owned(),
        ];
        command.arguments.extend(amount.into_iter().chain(words));
        if let Some(body) = &order.body {
            command.arguments.extend(["-f".to_owned(), BODY.to_owned()]);
            command.files.push((BODY, body.clone()));
            if !order.has_header("content-type") {
                command.notes.push(
                    "bombardier sends \"Content-Type: application/octet-stream\" with the body, which the suite does \
                     not ask for"
                        .to_owned(),
                );
            }
        }
        if let Some(host) = &order.host {
            command.notes.push(format!(
                "bombardier connects to whom Host names, so it was given the address instead of {host}"
            ));
        }
        let headers = order.all_headers();
        for (name, value) in headers.filter(|(name, _)| !name.eq_ignore_ascii_case("host")) {
            command
                .arguments
                .extend(["-H".to_owned(), format!("{name}: {value}")]);
        }
        command.arguments.push(order.url());
        command
    }

    fn read(&self, said: &Said<'_>, order: &Order) -> Result<Heard, String> {
        read(said.stdout, order.keep_alive)
    }
}

/// Whether a path is sent in another spelling: without dots and doubled slashes, or with other characters
/// percent-encoded than it has. A query stays as it is.
fn rewritten(path: &str) -> bool {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/@,:&=+$;".contains(&byte);
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let doubled = segment.is_empty() && segments.peek().is_some();
        if doubled || [".", ".."].contains(&segment) {
            return true;
        }
    }
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            if !plain(byte) {
                return true;
            }
            continue;
        }
        let digits = [bytes.next(), bytes.next()].map(|digit| digit.unwrap_or(0));
        let digits = std::str::from_utf8(&digits).unwrap_or_default();
        let decoded = u8::from_str_radix(digits, 16);
        if digits.contains(|c: char| c.is_ascii_lowercase()) || !decoded.is_ok_and(|b| !plain(b)) {
            return true;
        }
    }
    false
}

/// The version that the Go linker wrote into a program.
fn module_version(program: &Path) -> Option<String> {
    let bytes = std::fs::read(program).ok()?;
    let at = bytes
        .windows(MODULE.len())
        .position(|window| window == MODULE)?;
    let rest = &bytes[at + MODULE.len()..];
    let end = rest.iter().position(|byte| matches!(byte, b'\t' | b'\n'))?;
    let version = std::str::from_utf8(&rest[..end]).ok()?;
    (version != "(devel)").then(|| version.to_owned())
}

#[derive(Debug, Deserialize)]
struct Report {
    result: Figures,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    bytes_read: u64,
    bytes_written: u64,
    time_taken_seconds: f64,
    req1xx: u64,
    req2xx: u64,
    req3xx: u64,
    req4xx: u64,
    req5xx: u64,
    others: u64,
    #[serde(default)]
    errors: Vec<Described>,
    latency: Option<Latency>,
}

#[derive(Debug, Deserialize)]
struct Described {
    description: String,
    count: u64,
}

#[derive(Debug, Deserialize)]
struct Latency {
    mean: f64,
    max: f64,
    #[serde(default)]
    percentiles: BTreeMap<String, f64>,
}

/// What its JSON says. Times of requests are in microseconds.
fn read(stdout: &str, keep_alive: bool) -> Result<Heard, String> {
    let begin = stdout.find('{').ok_or("it printed no report")?;
    let report: Report = serde_json::from_str(&stdout[begin..])
        .map_err(|error| format!("its report cannot be read: {error}"))?;
    let figures = report.result;
    let mut heard = Heard {
        window_ns: nanoseconds(figures.time_taken_seconds),
        succeeded: figures.req2xx,
        received: figures.bytes_read,
        written: figures.bytes_written,
        ..Heard::default()
    };
    let classes = [
        ("1xx", figures.req1xx),
        ("3xx", figures.req3xx),
        ("4xx", figures.req4xx),
        ("5xx", figures.req5xx),
    ];
    let named: Vec<String> = classes
        .iter()
        .filter(|(_, times)| *times > 0)
        .map(|(class, times)| format!("{times} were {class}"))
        .collect();
    let other: u64 = classes.iter().map(|(_, times)| times).sum();
    heard.fail(ErrorKind::Status, other, named.join(", "));
    let mut unexplained = figures.others;
    for one in figures.errors {
        let times = one.count.min(unexplained);
        unexplained -= times;
        heard.fail(kind(&one.description), times, one.description);
    }
    heard.fail(ErrorKind::ClosedEarly, unexplained, "others");
    // The times of failures are among these.
    let clean = heard.errors.is_empty();
    heard.told = figures
        .latency
        .filter(|_| clean && heard.succeeded > 0)
        .map(|latency| Told {
            timing: if keep_alive {
                Timing::Service
            } else {
                Timing::WithConnect
            },
            count: heard.succeeded,
            mean_ns: Some(latency.mean * 1e3),
            mean_derived: false,
            min_ns: None,
            max_ns: Some((latency.max * 1e3) as u64),
            quantiles: latency
                .percentiles
                .iter()
                .filter_map(|(percent, us)| {
                    let share = percent.parse::<f64>().ok()? / 100.0;
                    Some(Quantile {
                        share,
                        ns: (us * 1e3) as u64,
                    })
                })
                .collect(),
            connect_mean_ns: None,
        });
    Ok(heard)
}

/// The kind of a failure by what it is called; the words are those of Go and of fasthttp.
fn kind(description: &str) -> ErrorKind {
    let has = |words: &str| description.contains(words);
    if has("connection refused") {
        ErrorKind::ConnectRefused
    } else if has("cannot assign requested address") {
        ErrorKind::NoLocalPort
    } else if has("too many open files") {
        ErrorKind::NoDescriptor
    } else if has("timeout") || has("timed out") {
        ErrorKind::Timeout
    } else if has("connection reset") || has("broken pipe") {
        ErrorKind::Reset
    } else if has("dial ") {
        ErrorKind::Connect
    } else if has("unexpected EOF") {
        ErrorKind::ShortBody
    } else {
        ErrorKind::ClosedEarly
    }
}

#[cfg(test)]
#[path = "bombardier_tests.rs"]
mod tests;
