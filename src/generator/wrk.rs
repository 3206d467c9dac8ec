//! wrk. Its report is made by a script that asks nothing of it while the load runs. Its latencies are
//! always "corrected" for coordinated omission, and never tagged as anything else.

use super::adapter::{Adapter, Command, Said};
use super::heard::Heard;
use super::order::{Order, rounded_up, whole_seconds};
use crate::record::{ErrorKind, Quantile, Timing, Told};
use crate::spec::{Amount, LoadSpec};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::Path;

const SCRIPT: &str = "request.lua";
/// What begins the line of the script's report.
const MARK: &str = "hotlap ";

/// The figures that the script prints: a function that only `done` calls leaves the hot path alone.
const DONE: &str = r#"
function done(summary, latency, requests)
  local e, q = summary.errors, {}
  for _, p in ipairs({ 50, 75, 90, 95, 99, 99.9, 99.99 }) do
    q[#q + 1] = string.format('[%.6f,%d]', p / 100, latency:percentile(p))
  end
  io.write(string.format(
    'hotlap {"duration":%d,"requests":%d,"bytes":%d,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d,' ..
    '"min":%d,"max":%d,"mean":%.3f,"quantiles":[%s]}\n',
    summary.duration, summary.requests, summary.bytes, e.connect, e.read, e.write, e.status, e.timeout,
    latency.min, latency.max, latency.mean == latency.mean and latency.mean or 0, table.concat(q, ",")))
end
"#;

pub(super) struct Wrk;

impl Adapter for Wrk {
    fn name(&self) -> &'static str {
        "wrk"
    }

    fn install(&self) -> &'static str {
        "apt-get install wrk"
    }

    fn asks(&self) -> &'static str {
        "-v"
    }

    fn recognise(&self, said: &str, _: &Path) -> Option<String> {
        // wrk2 calls itself wrk too, and is told by the rate that it asks for.
        if said.contains("--rate") {
            return None;
        }
        let line = said.lines().find(|line| line.starts_with("wrk "))?;
        let version = line.split_whitespace().nth(1)?;
        // Distributions put their name before it and their own number after it.
        let upstream = version.rsplit('/').next()?.split('-').next()?;
        // Built without its repository it knows no version, and goes on with how it waits: `[epoll]`.
        Some(if upstream.starts_with('[') {
            "wrk of no version".to_owned()
        } else {
            format!("wrk {upstream}")
        })
    }

    fn cannot(&self, work: &LoadSpec) -> Vec<&'static str> {
        let mut what = Vec::new();
        if matches!(work.amount, Amount::Requests(_)) {
            what.push("it ends after a time and never after a number of requests");
        }
        if work.request.method == "HEAD" {
            what.push("it waits for the body of an answer to HEAD");
        }
        what
    }

    /// Each thread has as many connections as the others: it leaves out the rest.
    fn threads(&self, order: &Order) -> usize {
        let connections = order.connections as usize;
        let most = order.threads.min(connections).max(1);
        (1..=most)
            .rev()
            .find(|threads| connections.is_multiple_of(*threads))
            .unwrap_or(1)
    }

    fn is_misled_by_interim(&self) -> bool {
        true
    }

    fn command(&self, order: &Order) -> Command {
        let mut command = Command::default();
        let seconds = match order.amount {
            Amount::Duration(duration) => {
                let (seconds, note) = whole_seconds("wrk", duration);
                command.notes.extend(note);
                seconds
            }
            Amount::Requests(_) => 1,
        };
        let mut script = format!("wrk.method = {}\n", lua(&order.method));
        if let Some(body) = &order.body {
            let _ = writeln!(script, "wrk.body = {}", lua(body));
        }
        script.push_str(DONE);
        command.files.push((SCRIPT, script));
        let words = [
            "-c".to_owned(),
            order.connections.to_string(),
            "-t".to_owned(),
            self.threads(order).to_string(),
            "-d".to_owned(),
            format!("{seconds}s"),
            "--timeout".to_owned(),
            format!("{}s", rounded_up(order.timeout)),
            "-s".to_owned(),
            SCRIPT.to_owned(),
        ];
        command.arguments.extend(words);
        for (name, value) in order.all_headers() {
            // It looks for a Host in this spelling alone, and sends its own beside any other.
            let name = if name.eq_ignore_ascii_case("host") {
                "Host"
            } else {
                name
            };
            command
                .arguments
                .extend(["-H".to_owned(), format!("{name}: {value}")]);
        }
        command.arguments.push(order.url());
        command
    }

    fn read(&self, said: &Said<'_>, _: &Order) -> Result<Heard, String> {
        read(said.stdout)
    }
}

/// A text of Lua, byte by byte.
fn lua(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        let _ = write!(quoted, "\\{byte:03}");
    }
    quoted.push('"');
    quoted
}

#[derive(Debug, Deserialize)]
struct Report {
    duration: u64,
    requests: u64,
    bytes: u64,
    connect: u64,
    read: u64,
    write: u64,
    status: u64,
    timeout: u64,
    /// A huge negative number where nothing was timed.
    min: i64,
    max: i64,
    mean: f64,
    quantiles: Vec<(f64, u64)>,
}

/// What the script printed. Times are in microseconds.
fn read(stdout: &str) -> Result<Heard, String> {
    let line = stdout
        .lines()
        .find_map(|line| line.strip_prefix(MARK))
        .ok_or("it printed no report")?;
    let report: Report = serde_json::from_str(line)
        .map_err(|error| format!("its report cannot be read: {error}"))?;
    if report.connect > 0 {
        // It does not try again, and loads with those that it has.
        return Err(format!(
            "{} of its connections were never opened",
            report.connect
        ));
    }
    let mut heard = Heard {
        window_ns: report.duration * 1000,
        // What came after the time-out is among its requests.
        succeeded: report
            .requests
            .saturating_sub(report.status)
            .saturating_sub(report.timeout),
        received: report.bytes,
        ..Heard::default()
    };
    heard.fail(ErrorKind::Reset, report.read, "read");
    heard.fail(ErrorKind::Write, report.write, "write");
    heard.fail(ErrorKind::Timeout, report.timeout, "timeout");
    heard.fail(
        ErrorKind::Status,
        report.status.min(report.requests),
        "not 2xx or 3xx",
    );
    let us = |us: i64| u64::try_from(us).unwrap_or(0);
    let (min, max) = (us(report.min), us(report.max));
    let quantiles = report.quantiles.iter();
    // Its correction may add values below the lowest one; their percentiles are then printed as 0.
    let quantiles = quantiles.filter(|(_, us)| *us >= min.max(1));
    // Those of failures are among its times, and those after the time-out are not.
    let clean = heard.errors.is_empty();
    heard.told = (clean && report.mean > 0.0).then(|| Told {
        timing: Timing::Corrected,
        count: heard.succeeded,
        mean_ns: Some(report.mean * 1e3),
        mean_derived: false,
        min_ns: Some(min * 1000),
        max_ns: Some(max * 1000),
        quantiles: quantiles
            .map(|(share, us)| Quantile {
                share: *share,
                ns: us * 1000,
            })
            .collect(),
        connect_mean_ns: None,
    });
    Ok(heard)
}

#[cfg(test)]
#[path = "wrk_tests.rs"]
mod tests;
