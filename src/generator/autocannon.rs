//! autocannon. Its latencies are whole milliseconds; its rates are averages of samples of a second, and
//! are made again from counts and time.

use super::adapter::{Adapter, Command, Said};
use super::heard::{Heard, nanoseconds};
use super::order::{Order, literal_path, rounded_up, whole_seconds};
use crate::record::{ErrorKind, Quantile, Timing, Told};
use crate::spec::{Amount, LoadSpec};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

const BODY: &str = "body";
/// It notices the end of a load, and takes the time, when it takes a sample: every second unless it is told
/// otherwise, which would make of a hundred requests a load of one second. In milliseconds.
const SAMPLE_BY_NUMBER: u64 = 10;
const SAMPLE_BY_TIME: u64 = 100;
/// Characters that it percent-encodes or turns into others.
const REWRITTEN: [char; 10] = ['"', '\'', '<', '>', '\\', '^', '`', '{', '|', '}'];

pub(super) struct Autocannon;

impl Adapter for Autocannon {
    fn name(&self) -> &'static str {
        "autocannon"
    }

    fn install(&self) -> &'static str {
        "npm install --global autocannon"
    }

    fn asks(&self) -> &'static str {
        "--version"
    }

    fn recognise(&self, said: &str, _: &Path) -> Option<String> {
        let line = said.lines().find(|line| line.starts_with("autocannon v"))?;
        Some(line.trim().replacen("autocannon v", "autocannon ", 1))
    }

    fn cannot(&self, work: &LoadSpec) -> Vec<&'static str> {
        let mut what = Vec::new();
        if !work.keep_alive {
            what.push(
                "it loses requests where a connection carries only one (`keep_alive = false`)",
            );
        }
        if work.request.method == "HEAD" {
            what.push("it waits for the body of an answer to HEAD");
        }
        if matches!(work.amount, Amount::Requests(requests) if requests < u64::from(work.connections))
        {
            what.push("it needs a request for each of its connections");
        }
        if literal_path(work).contains(REWRITTEN) {
            what.push(
                "it sends a path with one of `\"'<>\\^{|}` or a backtick in another spelling",
            );
        }
        let mut headers = work.request.headers.iter();
        if headers.any(|(_, value)| value.as_literal().is_some_and(|text| text.ends_with(']'))) {
            what.push("it cannot read a header that ends with a square bracket");
        }
        what
    }

    fn is_misled_by_interim(&self) -> bool {
        true
    }

    fn command(&self, order: &Order) -> Command {
        let mut command = Command {
            // With a port in its environment it writes its address anew, and the path in another spelling.
            env: vec![("PORT", String::new())],
            ..Command::default()
        };
        let (amount, sample) = match order.amount {
            Amount::Requests(requests) => {
                (["-a".to_owned(), requests.to_string()], SAMPLE_BY_NUMBER)
            }
            Amount::Duration(duration) => {
                let (seconds, note) = whole_seconds("autocannon", duration);
                command.notes.extend(note);
                (["-d".to_owned(), seconds.to_string()], SAMPLE_BY_TIME)
            }
        };
        let words = [
            "--json".to_owned(),
            "-c".to_owned(),
            order.connections.to_string(),
            "-t".to_owned(),
            rounded_up(order.timeout).to_string(),
            "-m".to_owned(),
            order.method.clone(),
            "-L".to_owned(),
            sample.to_string(),
        ];
        command.arguments.extend(words.into_iter().chain(amount));
        if let Some(body) = &order.body {
            command.arguments.extend(["-i".to_owned(), BODY.to_owned()]);
            command.files.push((BODY, body.clone()));
        }
        for (name, value) in order.all_headers() {
            command
                .arguments
                .extend(["-H".to_owned(), format!("{name}={value}")]);
        }
        let mut url = order.url();
        if url.ends_with(']') {
            // A word that ends so closes a group of words; what comes after `#` is not sent.
            url.push('#');
        }
        command.arguments.push(url);
        command
    }

    fn read(&self, said: &Said<'_>, _: &Order) -> Result<Heard, String> {
        read(said.stdout)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    duration: f64,
    start: String,
    finish: String,
    errors: u64,
    timeouts: u64,
    #[serde(rename = "2xx")]
    good: u64,
    non2xx: u64,
    #[serde(default)]
    status_code_stats: BTreeMap<String, Times>,
    latency: Map<String, Value>,
    requests: Sent,
    throughput: Total,
}

#[derive(Debug, Deserialize)]
struct Times {
    count: u64,
}

#[derive(Debug, Deserialize)]
struct Sent {
    sent: u64,
}

#[derive(Debug, Deserialize)]
struct Total {
    total: f64,
}

/// What its JSON says. Times of requests are in whole milliseconds.
fn read(stdout: &str) -> Result<Heard, String> {
    let line = stdout
        .lines()
        .find(|line| line.starts_with('{'))
        .ok_or("it printed no report")?;
    let report: Report = serde_json::from_str(line)
        .map_err(|error| format!("its report cannot be read: {error}"))?;
    // `duration` is the same, in hundredths of a second.
    let at = |text: &str| text.parse::<jiff::Timestamp>().ok();
    let between = at(&report.start).zip(at(&report.finish));
    let between = between.map(|(start, finish)| start.duration_until(finish).as_secs_f64());
    let mut heard = Heard {
        window_ns: nanoseconds(
            between
                .filter(|seconds| *seconds > 0.0)
                .unwrap_or(report.duration),
        ),
        sent: Some(report.requests.sent),
        succeeded: report.good,
        received: report.throughput.total as u64,
        statuses: report
            .status_code_stats
            .iter()
            .filter_map(|(status, times)| Some((status.parse().ok()?, times.count)))
            .collect(),
        ..Heard::default()
    };
    heard.fail(ErrorKind::Status, report.non2xx, "non2xx");
    heard.fail(
        ErrorKind::Timeout,
        report.timeouts.min(report.errors),
        "timeouts",
    );
    heard.fail(
        ErrorKind::Reset,
        report.errors.saturating_sub(report.timeouts),
        "errors",
    );
    let ms = |key: &str| {
        report
            .latency
            .get(key)
            .and_then(Value::as_f64)
            .filter(|ms| *ms >= 1.0)
    };
    // Its correction and its failures make no times of their own, and neither does a request below a millisecond.
    heard.told = (heard.errors.is_empty() && heard.succeeded > 0).then(|| Told {
        timing: Timing::WholeMilliseconds,
        count: heard.succeeded,
        mean_ns: ms("mean").map(|ms| ms * 1e6),
        mean_derived: false,
        min_ns: None,
        max_ns: ms("max").map(|ms| (ms * 1e6) as u64),
        quantiles: [
            ("p50", 0.5),
            ("p75", 0.75),
            ("p90", 0.9),
            ("p99", 0.99),
            ("p99_9", 0.999),
        ]
        .into_iter()
        .filter_map(|(key, share)| {
            Some(Quantile {
                share,
                ns: (ms(key)? * 1e6) as u64,
            })
        })
        .collect(),
        connect_mean_ns: None,
    });
    Ok(heard)
}

#[cfg(test)]
#[path = "autocannon_tests.rs"]
mod tests;
