//! A load's figures as people read them: a few lines, a table of latencies, and a histogram in characters. Nothing
//! is wider than 60 columns but what others have written, such as the URL and the example of an error.

use super::buckets::Bucket;
use super::summary::{Route, Summary};
use crate::cli::terminal::shown;
use crate::stats::Shortfall;
use crate::units::{show_bytes, show_number, show_seconds};
use std::fmt::Write as _;

/// The widest bar of the histogram, in characters.
const BAR: usize = 30;
/// Where sentences are broken.
const WIDTH: usize = 60;
/// Where no figure is.
const NONE: &str = "–";
/// With fewer whole seconds their spread says nothing.
const ENOUGH_SECONDS: usize = 3;

/// How it may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// Whether more than ASCII can be shown.
    pub(super) unicode: bool,
    /// Whether colours may be used.
    pub(super) colors: bool,
}

impl Look {
    /// As the locale says, which is the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set. Without one it is C: ASCII.
    pub(super) fn of_environment(colors: bool) -> Self {
        let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
        Self {
            unicode: locale.is_some_and(|locale| is_utf8(&locale)),
            colors,
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colors {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }
}

fn is_utf8(locale: &str) -> bool {
    let lower = locale.to_ascii_lowercase();
    lower.contains("utf-8") || lower.contains("utf8")
}

/// All that is said of a load.
pub(super) fn text(summary: &Summary, look: Look) -> String {
    let mut out = String::new();
    head(&mut out, summary, look);
    latencies(&mut out, summary, look);
    schedule(&mut out, summary, look);
    histogram(&mut out, &summary.histogram, look);
    troubles(&mut out, summary, look);
    // A space that does not break is of no use to `awk`.
    let out = out.replace('\u{a0}', " ");
    if look.unicode { out } else { ascii(&out) }
}

// Writing to a String can't fail.
macro_rules! line {
    ($out:expr, $($rest:tt)*) => { let _ = writeln!($out, $($rest)*); };
}

fn route(route: &Route) -> String {
    let mut words = String::new();
    if let Some(socket) = &route.unix_socket {
        words.push_str(", over the socket ");
        words.push_str(&shown(socket));
    }
    if route.certificate_checked == Some(false) {
        words.push_str(", its certificate not checked");
    }
    words
}

fn head(out: &mut String, summary: &Summary, look: Look) {
    line!(out, "{}{}", shown(&summary.url), route(&summary.route));
    line!(
        out,
        "{}{}, {}, {}\n",
        plural(summary.connections, "connection"),
        streams(summary),
        plural(summary.threads as u64, "thread"),
        nanos(summary.window_ns as f64),
    );
    let bound = if summary.limited.is_some() {
        "≥ "
    } else {
        ""
    };
    let rate = format!("{bound}{}", show_number(summary.requests_per_second, 4));
    line!(out, "  Requests/s  {}", look.strong(&rate));
    if let Some(spread) = spread(summary.whole_seconds()) {
        line!(out, "  Per second  {spread}");
    }
    line!(
        out,
        "  Succeeded   {} of {}",
        whole(summary.succeeded),
        whole(summary.sent)
    );
    if !summary.statuses.is_empty() {
        let each = summary.statuses.iter();
        let each: Vec<String> = each
            .map(|(status, count)| format!("{status}: {}", whole(*count)))
            .collect();
        line!(out, "  Statuses    {}", each.join(", "));
    }
    line!(
        out,
        "  Received    {}, {}/s",
        show_bytes(summary.bytes_received as f64),
        show_bytes(summary.bytes_per_second)
    );
    line!(out, "  Connecting  {}", connecting(summary));
    if let (Some(cpu), Some(share)) = (summary.generator_cpu_ns, summary.generator_share()) {
        line!(
            out,
            "  Generator   {} of CPU, {} % of {}",
            nanos(cpu as f64),
            show_number(share * 100.0, 2),
            plural(summary.threads as u64, "thread"),
        );
    }
}

/// What is carried on each connection of HTTP/2.
fn streams(summary: &Summary) -> String {
    let Some(http2) = summary.http2 else {
        return String::new();
    };
    let fewer = http2.fewer().map_or_else(String::new, |allowed| {
        format!(" (the server allows {allowed})")
    });
    format!(" of HTTP/2 with {} streams each{fewer}", http2.streams)
}

/// The seconds of a load: lowest, highest, and their standard deviation as a share of the mean.
fn spread(seconds: &[u64]) -> Option<String> {
    let (least, most) = (seconds.iter().min()?, seconds.iter().max()?);
    let n = seconds.len() as f64;
    let mean = seconds.iter().sum::<u64>() as f64 / n;
    if seconds.len() < ENOUGH_SECONDS || mean == 0.0 {
        return None;
    }
    let squares: f64 = seconds.iter().map(|s| (*s as f64 - mean).powi(2)).sum();
    let share = (squares / (n - 1.0)).sqrt() / mean;
    Some(format!(
        "{} to {}, stdev {} %",
        show_number(*least as f64, 4),
        show_number(*most as f64, 4),
        show_number(share * 100.0, 2)
    ))
}

fn connecting(summary: &Summary) -> String {
    let connect = &summary.connect_ns;
    let mut words = Vec::new();
    match connect.p50 {
        Some(p50) => words.push(format!("p50 {}", nanos(p50 as f64))),
        None => words.extend(connect.mean.map(|mean| format!("mean {}", nanos(mean)))),
    }
    words.extend(connect.max.map(|max| format!("max {}", nanos(max as f64))));
    let anew = match summary.reconnects {
        0 => String::new(),
        anew => format!(", {} anew", whole(anew)),
    };
    let again = match summary.retried {
        0 => String::new(),
        1 => ", 1 request sent again".to_owned(),
        again => format!(", {} requests sent again", whole(again)),
    };
    words.push(format!("{} opened{anew}{again}", whole(connect.count)));
    words.join(", ")
}

fn latencies(out: &mut String, summary: &Summary, look: Look) {
    let latency = &summary.latency_ns;
    let time = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), nanos);
    let at = |value: Option<u64>| time(value.map(|ns| ns as f64));
    let from = match summary.open_loop {
        Some(_) => "response time: from when it was due to its last byte",
        None => "first byte written to last byte read",
    };
    line!(out, "\n{} ({from})", look.strong("Latency"));
    for ((left, low), (right, high)) in [
        (("p50", at(latency.p50)), ("p99.9", at(latency.p99_9))),
        (("p75", at(latency.p75)), ("max", at(latency.max))),
        (("p90", at(latency.p90)), ("mean", time(latency.mean))),
        (("p99", at(latency.p99)), ("stdev", time(latency.stdev))),
    ] {
        line!(out, "  {left:<6}{low:>9}    {right:<6}{high:>9}");
    }
}

fn schedule(out: &mut String, summary: &Summary, look: Look) {
    let Some(open) = &summary.open_loop else {
        return;
    };
    let at = |value: Option<u64>| value.map_or_else(|| NONE.to_owned(), |ns| nanos(ns as f64));
    line!(out, "\n{}", look.strong("Schedule"));
    line!(
        out,
        "  Offered     {} requests/s",
        show_number(open.offered_per_second, 4)
    );
    line!(out, "  Never sent  {}", whole(open.unsent));
    line!(out, "  Had to wait {} for a connection", whole(open.queued));
    line!(
        out,
        "  Service     p50 {}, p99 {}",
        at(open.service_p50_ns),
        at(open.service_p99_ns)
    );
    line!(
        out,
        "  Lag         p50 {}, p99 {}: the generator's own",
        at(open.lag_p50_ns),
        at(open.lag_p99_ns)
    );
    let why = match open.by {
        None => return,
        Some(Shortfall::Failed) => "requests failed",
        Some(Shortfall::Unsent | Shortfall::Queue) => {
            "a queue grew, and a longer load would have longer response times"
        }
    };
    let sentence = format!("The server did not sustain what was offered: {why}.");
    line!(out, "\n{}", wrapped(&sentence));
}

fn histogram(out: &mut String, buckets: &[Bucket], look: Look) {
    let all: u64 = buckets.iter().map(|bucket| bucket.count).sum();
    let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    if all == 0 {
        return;
    }
    line!(out, "");
    for bucket in buckets {
        let share = bucket.count as f64 / all as f64 * 100.0;
        let bar = bar(bucket.count as f64 / most as f64, look.unicode);
        let text = format!(
            "  ≤ {:>8} {:>6} % {}",
            nanos(bucket.up_to_ns as f64),
            percent(share, bucket.count),
            look.paint("36", &bar)
        );
        line!(out, "{}", text.trim_end());
    }
}

/// A share with two decimals; what is not nothing is never shown as if it were.
fn percent(share: f64, count: u64) -> String {
    match share {
        _ if count == 0 => "0".to_owned(),
        share if share < 0.005 => "<0.01".to_owned(),
        share => format!("{share:.2}"),
    }
}

/// A bar as long as a share of the longest; what is not nothing has a mark at least.
fn bar(share: f64, unicode: bool) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if share <= 0.0 {
        return String::new();
    }
    if !unicode {
        return "#".repeat(((share * BAR as f64).round() as usize).max(1));
    }
    let eighths = ((share * BAR as f64 * 8.0).round() as usize).max(1);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn troubles(out: &mut String, summary: &Summary, look: Look) {
    let errors = summary.errors();
    if errors > 0 {
        let many = format!("{} of {}", whole(errors), whole(summary.sent));
        line!(out, "\n{} {many} requests", look.bad("Failed"));
        for (kind, count) in &summary.errors {
            let example = summary.error_examples.get(kind).map_or("", String::as_str);
            line!(
                out,
                "  {} × {}: {}",
                whole(*count),
                kind.words(),
                shown(example)
            );
        }
    }
    if summary.unfinished > 0 {
        line!(
            out,
            "\n{} were not finished",
            plural(summary.unfinished, "request")
        );
    }
    let why = summary.limited.iter().map(|limited| limited.why.as_str());
    // What failed has been said.
    let invalid = summary.invalid.iter().filter(|_| errors == 0);
    for sentence in why.chain(invalid.map(String::as_str)) {
        line!(out, "\n{}", wrapped(&sentence_of(&shown(sentence))));
    }
}

/// With a capital and a full stop.
fn sentence_of(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        let long = word.chars().count();
        if width > 0 && width + 1 + long > WIDTH {
            out.push('\n');
            width = 0;
        } else if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += long;
    }
    out
}

fn nanos(nanos: f64) -> String {
    show_seconds(nanos / 1e9)
}

/// Every digit of a count, thousands set apart.
pub(super) fn whole(number: u64) -> String {
    show_number(number as f64, number.to_string().len())
}

fn plural(number: u64, one: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {one}{s}", whole(number))
}

/// The same in letters that every terminal has.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '–' => out.push('-'),
            '×' => out.push('x'),
            'µ' => out.push('u'),
            '≤' => out.push_str("<="),
            '≥' => out.push_str(">="),
            letter if letter.is_ascii() => out.push(letter),
            _ => out.push('?'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Counts, ErrorKind, Histogram, Load};
    use crate::spec::LoadSpec;
    use std::time::Duration;

    const PLAIN: Look = Look {
        unicode: true,
        colors: false,
    };

    /// 2000 requests of which 20 took ten times as long, in 4 s; 5 failed.
    fn summary() -> Summary {
        let mut live = Histogram::empty(Duration::from_secs(20));
        live.record_n(1_000_000, 1980).unwrap();
        live.record_n(10_000_000, 20).unwrap();
        let load = Load {
            generator: "built-in".to_owned(),
            window_ns: 4_000_000_000,
            counts: Counts {
                planned: 2005,
                sent: 2005,
                succeeded: 2000,
                failed: 5,
                ..Counts::default()
            },
            errors: [(ErrorKind::Status, 5)].into(),
            error_examples: [(ErrorKind::Status, "status \u{1b}[2J404".to_owned())].into(),
            statuses: [(200, 2000), (404, 5)].into(),
            service: Some(Histogram::store(&live, 0)),
            per_second: vec![490, 500, 510, 500],
            generator_threads: 1,
            generator_cpu_ns: Some(3_900_000_000),
            ..Load::default()
        };
        Summary::of("http://a/", &LoadSpec::default(), &load, false)
    }

    #[test]
    fn figures_stand_where_they_are_looked_for() {
        let text = text(&summary(), PLAIN);
        for line in [
            "  Requests/s  ≥ 500.0",
            "  Per second  490.0 to 510.0, stdev 1.6 %",
            "  Succeeded   2 000 of 2 005",
            "  Statuses    200: 2 000, 404: 5",
            "  p99     1.00 ms    stdev    895 µs",
            "Failed 5 of 2 005 requests",
        ] {
            assert!(text.lines().any(|have| have == line), "{line:?}: {text}");
        }
        // Two of 2000 would be too few to tell of one in a thousand.
        assert!(text.contains("p99.9         –"), "{text}");
        assert!(text.contains("The generator was the limit"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }

    #[test]
    fn bars_are_as_long_as_shares() {
        let text = text(&summary(), PLAIN);
        let bars: Vec<&str> = text.lines().filter(|line| line.contains('≤')).collect();
        assert_eq!(bars.len(), 10, "{text}");
        assert!(bars[0].ends_with(&"█".repeat(BAR)), "{text}");
        assert!(bars[0].contains("99.00 %"), "{text}");
        assert!(bars[9].contains(" 1.00 %"), "{text}");
        assert!(bars[5].ends_with("0 %"), "{text}");
        assert_eq!(bar(0.0, true), "");
        assert_eq!(bar(0.000_1, true), "▏");
        assert_eq!(bar(0.5, false), "#".repeat(BAR / 2));
    }

    #[test]
    fn other_locales_have_ascii_and_colours_come_where_they_may() {
        let look = Look {
            unicode: false,
            colors: false,
        };
        let plain = text(&summary(), look);
        assert!(plain.is_ascii(), "{plain}");
        assert!(
            plain.contains(">= 500.0") && plain.contains(" us"),
            "{plain}"
        );
        let look = Look {
            colors: true,
            ..PLAIN
        };
        assert!(text(&summary(), look).contains("\u{1b}[1m≥ 500.0\u{1b}[0m"));
        assert!(is_utf8("de_DE.UTF-8") && is_utf8("C.utf8"));
        assert!(!is_utf8("C") && !is_utf8("de_DE.ISO-8859-1"));
    }
}
