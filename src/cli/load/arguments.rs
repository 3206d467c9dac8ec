//! The command line of `hotlap load`, in the groups of its help: what is sent, how much, over which connections, and
//! what is shown of it.

use crate::host;
use crate::spec::{Amount, Arrivals, Http, LoadSpec, Pace, Request, Text};
use crate::units::parse_duration;
use clap::Args;
use std::io::Read as _;
use std::time::Duration;

/// How long a load lasts where nothing is said.
const USUAL: Duration = Duration::from_secs(10);
/// No machine sends more.
const MOST_PER_SECOND: f64 = 1e7;

/// What is sent, and what must come back.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(super) struct RequestArgs {
    /// A header, such as "Accept: text/html"; may be given more than once
    #[arg(short = 'H', long, value_name = "HEADER", value_parser = header)]
    header: Vec<(String, String)>,
    /// The method [default: GET, or POST with a body]
    #[arg(short, long, value_name = "METHOD")]
    method: Option<String>,
    /// The body of each request; @FILE reads it from a file, @- from standard input; it must be text (UTF-8)
    #[arg(short, long, value_name = "TEXT")]
    body: Option<String>,
    /// The status that every response must have
    #[arg(long, default_value_t = 200, value_name = "STATUS", value_parser = clap::value_parser!(u16).range(200..=999))]
    status: u16,
    /// Every response must have the body of the first
    #[arg(long)]
    pub(super) same_body: bool,
}

/// How much is sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(super) struct AmountArgs {
    /// Connections, each with one request in flight (of HTTP/2, one on each stream); with --rate the most there may be [default: 64, with --rate 1000]
    #[arg(short, long, value_name = "N", value_parser = connections)]
    connections: Option<u32>,
    /// An open loop: send so many requests per second, whatever becomes of those before
    #[arg(short, long, value_name = "PER_SECOND", value_parser = rate)]
    rate: Option<f64>,
    /// With --rate: exponential times between two requests instead of equal ones
    #[arg(long, requires = "rate")]
    poisson: bool,
    /// How long the load lasts: 10, 10s, 1m, 500ms [default: 10s]
    #[arg(short, long, value_parser = lasting, value_name = "TIME", conflicts_with = "requests")]
    duration: Option<Duration>,
    /// Send exactly so many requests instead
    #[arg(short = 'n', long, value_name = "N", value_parser = requests)]
    requests: Option<u64>,
    /// Threads that make the load [default: half of this machine's CPUs]
    #[arg(short, long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// Load that is not counted, before the load
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "TIME")]
    warmup: Duration,
}

/// The connections.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(super) struct ConnectionArgs {
    /// After this a request has failed
    #[arg(long, default_value = "10s", value_parser = timeout, value_name = "TIME")]
    timeout: Duration,
    /// Open a connection for each request
    #[arg(long)]
    no_keep_alive: bool,
    /// Requests that a connection sends ahead of their responses; 1 waits for each
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), conflicts_with_all = ["no_keep_alive", "rate", "h2"])]
    pipelining: u32,
    /// Speak HTTP/2: over https as agreed in its handshake, else with prior knowledge (h2c)
    #[arg(long, conflicts_with_all = ["no_keep_alive", "rate"])]
    h2: bool,
    /// Requests in flight on each connection of HTTP/2
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536), requires = "h2")]
    streams: u32,
}

impl ConnectionArgs {
    /// The version of HTTP that is spoken.
    pub(super) fn version(&self) -> Http {
        if self.h2 { Http::Two } else { Http::One }
    }
}

/// What is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// Print the result as one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// No line that changes while the load runs
    #[arg(long)]
    pub(super) no_progress: bool,
}

impl AmountArgs {
    pub(super) fn threads(&self) -> usize {
        self.threads
            .unwrap_or_else(|| (host::effective_cpus() / 2).max(1))
    }

    fn connections(&self) -> u32 {
        let usual = if self.rate.is_some() { 1000 } else { 64 };
        self.connections.unwrap_or(usual)
    }

    fn amount(&self) -> Amount {
        match self.requests {
            Some(requests) => Amount::Requests(requests),
            None => Amount::Duration(self.duration.unwrap_or(USUAL)),
        }
    }
}

/// The load of these arguments on this path. The message says what is wrong with them.
pub(super) fn spec(
    request: &RequestArgs,
    amount: &AmountArgs,
    connection: &ConnectionArgs,
    path: &str,
) -> Result<LoadSpec, String> {
    let body = request.body.as_deref().map(body).transpose()?;
    let method = match (&request.method, &body) {
        (Some(method), _) => method,
        (None, Some(_)) => "POST",
        (None, None) => "GET",
    };
    let headers = request.header.iter();
    let headers = headers.map(|(name, value)| (name.clone(), Text::literal(value)));
    let mut spec = LoadSpec {
        request: Request {
            method: method.to_owned(),
            path: Text::literal(path),
            headers: headers.collect(),
            body: body.map(Text::literal),
            body_file: None,
        },
        connections: amount.connections(),
        amount: amount.amount(),
        pace: amount.rate.map(Pace::Rate),
        arrivals: if amount.poisson {
            Arrivals::Poisson
        } else {
            Arrivals::Uniform
        },
        pipelining: connection.pipelining,
        http: connection.version(),
        streams: connection.streams,
        warmup: amount.warmup,
        timeout: connection.timeout,
        keep_alive: !connection.no_keep_alive,
        ..LoadSpec::default()
    };
    spec.expect.status = request.status;
    Ok(spec)
}

/// The body that is meant: the text itself, or what `@FILE` and `@-` name.
fn body(text: &str) -> Result<String, String> {
    let Some(file) = text.strip_prefix('@') else {
        return Ok(text.to_owned());
    };
    let (name, read) = if file == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().read_to_end(&mut bytes);
        ("standard input", read.map(|_| bytes))
    } else {
        (file, std::fs::read(file))
    };
    let bytes = read.map_err(|error| format!("the body {name} can't be read: {error}"))?;
    String::from_utf8(bytes)
        .map_err(|_| format!("the body {name} is not UTF-8; only text is sent so far"))
}

/// A time. A bare number is seconds, as for other load generators.
fn duration(text: &str) -> Result<Duration, String> {
    let is_bare = text.parse::<f64>().is_ok();
    let parsed = if is_bare {
        parse_duration(&format!("{text}s"))
    } else {
        parse_duration(text)
    };
    parsed.map_err(|error| error.to_string())
}

fn lasting(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("a load of no time measures nothing; try 10s".to_owned()),
        time => Ok(time),
    }
}

fn timeout(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("a time-out must be longer than 0; try 10s".to_owned()),
        time => Ok(time),
    }
}

fn connections(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(connections @ 1..) => Ok(connections),
        Ok(0) => Err("a load needs at least 1 connection".to_owned()),
        _ => Err("a whole number of connections is needed, from 1 on".to_owned()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if f64::is_finite(rate) && rate > 0.0 && rate <= MOST_PER_SECOND => Ok(rate),
        Ok(rate) if f64::is_finite(rate) && rate > 0.0 => Err(format!(
            "no more than {MOST_PER_SECOND} requests per second can be asked for"
        )),
        _ => Err("a number of requests per second is needed, such as 500".to_owned()),
    }
}

fn requests(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(requests @ 1..) => Ok(requests),
        Ok(0) => Err("a load needs at least 1 request".to_owned()),
        _ => Err("a whole number of requests is needed, from 1 on".to_owned()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_for_other_generators_too() {
        for (text, seconds) in [("10", 10.0), ("10s", 10.0), ("1m", 60.0), ("500ms", 0.5)] {
            assert_eq!(
                lasting(text).unwrap(),
                Duration::from_secs_f64(seconds),
                "{text}"
            );
        }
        for text in ["0", "0s", "-1", "ten", "", "1.5.2"] {
            assert!(lasting(text).is_err(), "{text:?} was taken");
        }
        assert_eq!(duration("0").unwrap(), Duration::ZERO);
        assert_eq!(duration("0.3").unwrap(), Duration::from_millis(300));
        assert!(duration("9999999999").is_err());
        assert!(duration("-1").is_err());
    }

    #[test]
    fn a_body_comes_from_where_it_is_said() {
        assert_eq!(body("a=1\n").unwrap(), "a=1\n");
        let file = tempfile::NamedTempFile::new().unwrap();
        let name = format!("@{}", file.path().display());
        std::fs::write(file.path(), "line\r\n\n").unwrap();
        assert_eq!(body(&name).unwrap(), "line\r\n\n");
        std::fs::write(file.path(), [0xff, 0]).unwrap();
        assert!(body(&name).unwrap_err().contains("UTF-8"));
        assert!(body("@/nowhere/at/all").unwrap_err().contains("/nowhere"));
    }
}
