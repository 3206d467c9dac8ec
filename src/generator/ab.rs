//! `ApacheBench`. It speaks HTTP/1.0, counts failures among its complete requests, and prints its table in
//! whole milliseconds: percentiles are therefore read from the file that it writes with `-e`.

use super::adapter::{Adapter, Command, Said};
use super::heard::{Heard, nanoseconds};
use super::order::{Order, rounded_up, whole_seconds};
use crate::record::{ErrorKind, Quantile, Timing, Told};
use crate::spec::{Amount, LoadSpec};
use std::path::Path;

/// The file with the percentiles.
const PERCENTILES: &str = "percentiles.csv";
/// Its numbers are of 32 bits.
const MOST_COUNTED: u64 = i32::MAX as u64;
/// The file with the body.
const BODY: &str = "body";
/// Requests a second for which it makes room when time ends the load. It keeps 32 bytes for each.
const MOST_PER_SECOND: u64 = 200_000;
/// The most requests for which it makes room.
const MOST: u64 = 100_000_000;

pub(super) struct Ab;

impl Adapter for Ab {
    fn name(&self) -> &'static str {
        "ab"
    }

    fn install(&self) -> &'static str {
        "apt-get install apache2-utils"
    }

    fn asks(&self) -> &'static str {
        "-V"
    }

    fn recognise(&self, said: &str, _: &Path) -> Option<String> {
        let rest = said.split_once("This is ApacheBench, Version ")?.1;
        let version = rest.split_whitespace().next()?;
        Some(format!("ApacheBench {version}"))
    }

    fn cannot(&self, work: &LoadSpec) -> Vec<&'static str> {
        let mut what = Vec::new();
        if matches!(work.amount, Amount::Requests(requests) if requests < u64::from(work.connections))
        {
            what.push("it needs a request for each of its connections");
        }
        if matches!(work.amount, Amount::Requests(requests) if requests > MOST_COUNTED) {
            what.push("it counts to 2 147 483 647 requests at most");
        }
        if work.request.body.is_some() && !["POST", "PUT"].contains(&work.request.method.as_str()) {
            what.push("it sends a body with POST and PUT alone");
        }
        what
    }

    fn is_misled_by_interim(&self) -> bool {
        true
    }

    fn command(&self, order: &Order) -> Command {
        let mut command = Command::default();
        let add = |arguments: &mut Vec<String>, words: &[&str]| {
            arguments.extend(words.iter().map(|word| (*word).to_owned()));
        };
        let to = &mut command.arguments;
        // No progress; a length that varies is no failure; a socket that breaks ends no run.
        add(to, &["-q", "-l", "-r"]);
        match order.amount {
            Amount::Requests(requests) => add(to, &["-n", &requests.to_string()]),
            Amount::Duration(duration) => {
                let (seconds, note) = whole_seconds("ab", duration);
                command.notes.extend(note);
                // -t sets -n to 50 000, so -n comes after it.
                add(to, &["-t", &seconds.to_string()]);
                let most = seconds.saturating_mul(MOST_PER_SECOND).min(MOST);
                add(to, &["-n", &most.to_string()]);
            }
        }
        add(to, &["-c", &order.connections.to_string()]);
        add(to, &["-s", &rounded_up(order.timeout).to_string()]);
        add(to, &["-e", PERCENTILES]);
        if order.keep_alive {
            add(to, &["-k"]);
        }
        match (order.method.as_str(), &order.body) {
            ("GET", None) => {}
            ("HEAD", None) => add(to, &["-i"]),
            ("PUT", Some(_)) => add(to, &["-u", BODY]),
            (_, Some(_)) => add(to, &["-p", BODY]),
            (method, None) => add(to, &["-m", method]),
        }
        if let Some(body) = &order.body {
            command.files.push((BODY, body.clone()));
            if !order.has_header("content-type") {
                command.notes.push(
                    "ab sends \"Content-type: text/plain\" with the body, which the suite does not ask for"
                        .to_owned(),
                );
            }
        }
        for (name, value) in order.all_headers() {
            // Its requests are HTTP/1.0, whose connections close without being asked to.
            if name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close") {
                continue;
            }
            if name.eq_ignore_ascii_case("content-type") && order.body.is_some() {
                add(to, &["-T", value]);
            } else {
                add(to, &["-H", &format!("{name}: {value}")]);
            }
        }
        add(to, &[&order.url()]);
        command
    }

    fn read(&self, said: &Said<'_>, order: &Order) -> Result<Heard, String> {
        let percentiles = std::fs::read_to_string(said.folder.join(PERCENTILES));
        let mut heard = read(
            said.stdout,
            &percentiles.unwrap_or_default(),
            order.connections,
        )?;
        if order.keep_alive {
            // It speaks HTTP/1.0: without a length and an echo of "keep-alive" a connection ends with its answer.
            heard.reconnects = not_kept(said.stdout).unwrap_or(0);
        } else if let Some(told) = &mut heard.told {
            told.connect_mean_ns = connect_mean(said.stdout);
        }
        Ok(heard)
    }
}

/// The figures of a report.
fn read(report: &str, percentiles: &str, connections: u32) -> Result<Heard, String> {
    let count = |label: &str| labelled(report, label).and_then(|value| value.parse::<u64>().ok());
    let number = |label: &str| labelled(report, label).and_then(|value| value.parse::<f64>().ok());
    let complete = count("Complete requests:").ok_or("it printed no report")?;
    let seconds = number("Time taken for tests:").ok_or("it printed no time")?;
    let seconds = finer(seconds, complete, number("Requests per second:"));
    let mut heard = Heard {
        window_ns: nanoseconds(seconds),
        received: count("Total transferred:").unwrap_or(0),
        written: count("Total body sent:")
            .or_else(|| count("Total POSTed:"))
            .unwrap_or(0),
        body: count("HTML transferred:"),
        ..Heard::default()
    };
    failures(
        &mut heard,
        report,
        count("Failed requests:").ok_or("it printed no number of failed requests")?,
        complete,
        count("Write errors:").unwrap_or(0),
    );
    let answers = complete.saturating_sub(heard.errors.values().sum());
    let other = count("Non-2xx responses:").unwrap_or(0).min(answers);
    heard.fail(ErrorKind::Status, other, "not 2xx");
    heard.succeeded = answers - other;
    if heard.succeeded == complete {
        // A time of a request that failed is in all of these.
        heard.told = Some(told(percentiles, complete, seconds, connections));
    }
    Ok(heard)
}

/// The time by the rate, which is printed with more digits, where both say the same.
fn finer(seconds: f64, complete: u64, rate: Option<f64>) -> f64 {
    let by_rate = rate
        .filter(|rate| *rate > 0.0)
        .map(|rate| complete as f64 / rate);
    by_rate
        .filter(|by_rate| (by_rate - seconds).abs() <= 0.0006)
        .unwrap_or(seconds)
}

/// `   (Connect: 0, Receive: 200, Length: 0, Exceptions: 200)`: a connection that breaks is counted as received badly and as an exception.
/// A request that could not be written is complete, and not among those that failed.
fn failures(heard: &mut Heard, report: &str, failed: u64, complete: u64, unwritten: u64) {
    let line = report
        .lines()
        .find(|line| line.trim_start().starts_with("(Connect:"));
    let of = |label: &str| -> u64 {
        let of = |line: &str| -> Option<u64> {
            let rest = line.split_once(label)?.1;
            rest.trim_start()
                .split([',', ')'])
                .next()?
                .trim()
                .parse()
                .ok()
        };
        line.and_then(of).unwrap_or(0)
    };
    let (connect, length) = (of("Connect:"), of("Length:"));
    let broken = of("Receive:").max(of("Exceptions:"));
    let mut left = complete;
    let mut take = |times: u64| {
        let times = times.min(left);
        left -= times;
        times
    };
    let (connect, broken, length) = (take(connect), take(broken), take(length));
    let other = take(if line.is_some() { 0 } else { failed });
    let unwritten = take(unwritten);
    heard.fail(ErrorKind::Connect, connect, "Connect");
    heard.fail(ErrorKind::Reset, broken, "Receive or Exceptions");
    heard.fail(ErrorKind::Body, length, "Length");
    heard.fail(ErrorKind::ClosedEarly, other, "Failed requests");
    heard.fail(ErrorKind::Write, unwritten, "Write errors");
}

fn told(percentiles: &str, complete: u64, seconds: f64, connections: u32) -> Told {
    let rows: Vec<(u32, u64)> = percentiles
        .lines()
        .filter_map(|line| {
            let (share, ms) = line.split_once(',')?;
            Some((
                share.trim().parse().ok()?,
                nanoseconds(ms.trim().parse::<f64>().ok()? / 1e3),
            ))
        })
        .collect();
    let at = |percent: u32| {
        rows.iter()
            .find(|(share, _)| *share == percent)
            .map(|(_, ns)| *ns)
    };
    Told {
        timing: Timing::WithConnect,
        count: complete,
        mean_ns: (complete > 0).then(|| f64::from(connections) * seconds * 1e9 / complete as f64),
        mean_derived: true,
        min_ns: at(0),
        max_ns: at(100),
        quantiles: rows
            .iter()
            .filter(|(percent, _)| (1..100).contains(percent))
            .map(|(percent, ns)| Quantile {
                share: f64::from(*percent) / 100.0,
                ns: *ns,
            })
            .collect(),
        connect_mean_ns: None,
    }
}

/// The mean time to connect where every request has a connection of its own, in whole milliseconds:
/// `Connect:        0   12  44.2     11    1020`.
fn connect_mean(report: &str) -> Option<f64> {
    let mean = report.lines().find_map(|line| {
        let mut columns = line.strip_prefix("Connect:")?.split_whitespace();
        columns.nth(1)?.parse::<f64>().ok()
    });
    mean.filter(|ms| *ms > 0.0).map(|ms| ms * 1e6)
}

/// Requests that had a new connection although it was asked to keep them.
fn not_kept(report: &str) -> Option<u64> {
    let kept = labelled(report, "Keep-Alive requests:")?
        .parse::<u64>()
        .ok()?;
    let complete = labelled(report, "Complete requests:")?
        .parse::<u64>()
        .ok()?;
    Some(complete.saturating_sub(kept))
}

/// The first word after a label. Every line is found by it: their number and order differ by version.
fn labelled<'r>(report: &'r str, label: &str) -> Option<&'r str> {
    let line = report
        .lines()
        .find(|line| line.trim_start().starts_with(label))?;
    let rest = line.trim_start().strip_prefix(label)?;
    rest.split_whitespace().next()
}

#[cfg(test)]
#[path = "ab_tests.rs"]
mod tests;
