//! Reports of autocannon 8.0.0 as it printed them here.

use super::super::fixture::{after, order, quantiles, with_headers, work};
use super::*;
use crate::spec::Text;
use std::time::Duration;

const GOOD: &str = include_str!("../../tests/generators/autocannon.json");
const NOT_FOUND: &str = include_str!("../../tests/generators/autocannon-404.json");
const RESET: &str = include_str!("../../tests/generators/autocannon-reset.json");
const REFUSED: &str = include_str!("../../tests/generators/autocannon-refused.json");
const CLOSED: &str = include_str!("../../tests/generators/autocannon-closed.json");

#[test]
fn a_report_is_read_in_hotlaps_units() {
    let heard = read(GOOD).unwrap();
    assert_eq!((heard.succeeded, heard.sent), (1040, Some(1044)));
    // From its start to its finish; it says 1.13 s.
    assert_eq!(heard.window_ns, 1_126_000_000);
    assert_eq!(heard.received, 21_414_640);
    assert_eq!(heard.statuses, [(200, 1040)].into());
    let told = heard.told.unwrap();
    assert_eq!(told.timing, Timing::WholeMilliseconds);
    assert_eq!((told.min_ns, told.max_ns), (None, Some(98_000_000)));
    assert_eq!(told.mean_ns, Some(3_360_000.0));
    assert_eq!(
        quantiles(&told),
        [
            (50.0, 1_000_000),
            (75.0, 4_000_000),
            (90.0, 9_000_000),
            (99.0, 22_000_000),
            (99.9, 65_000_000)
        ]
    );
    assert_eq!(told.quantile(0.95), None, "p97_5 is not p95");
}

#[test]
fn what_is_below_a_millisecond_is_none() {
    let fast = GOOD.replace("\"p50\":1,\"p75\":4", "\"p50\":0,\"p75\":0");
    let told = read(&fast).unwrap().told.unwrap();
    assert_eq!((told.quantile(0.5), told.quantile(0.75)), (None, None));
    assert_eq!(told.quantile(0.9), Some(9_000_000));
}

#[test]
fn what_was_sent_and_never_answered_is_not_lost() {
    let heard = read(CLOSED).unwrap();
    assert!(heard.errors.is_empty());
    assert_eq!((heard.succeeded, heard.sent), (0, Some(200)));
    let load = heard.into_load("autocannon", 1, 4, Amount::Requests(200));
    load.counts.check().unwrap();
    assert_eq!(load.counts.unfinished, 200);
}

#[test]
fn failures_have_their_kinds() {
    let heard = read(NOT_FOUND).unwrap();
    assert_eq!(heard.errors, [(ErrorKind::Status, 200)].into());
    assert_eq!(heard.statuses, [(404, 200)].into());
    assert_eq!((heard.succeeded, heard.told), (0, None));
    assert_eq!(
        read(RESET).unwrap().errors,
        [(ErrorKind::Reset, 200)].into()
    );
    assert_eq!(
        read(REFUSED).unwrap().errors,
        [(ErrorKind::Reset, 20)].into()
    );
    // Time-outs are among its errors.
    let late = RESET.replace("\"timeouts\":0", "\"timeouts\":150");
    assert_eq!(
        read(&late).unwrap().errors,
        [(ErrorKind::Timeout, 150), (ErrorKind::Reset, 50)].into()
    );
}

#[test]
fn what_is_no_report_is_said_to_be_none() {
    for text in ["", "Usage: autocannon [opts] URL\n", "\u{fffd}"] {
        assert_eq!(read(text).unwrap_err(), "it printed no report");
    }
    for text in ["{", "{}", "{\"duration\":\"long\"}", &GOOD[..300]] {
        let reason = read(text).unwrap_err();
        assert!(reason.starts_with("its report cannot be read"), "{reason}");
    }
    // Times that nobody can read leave the duration.
    let odd = GOOD.replace("\"start\":\"2026", "\"start\":\"never 2026");
    assert_eq!(read(&odd).unwrap().window_ns, 1_130_000_000);
}

#[test]
fn only_autocannon_is_autocannon() {
    let who = |said: &str| Autocannon.recognise(said, Path::new("/usr/bin/autocannon"));
    assert_eq!(
        who("autocannon v8.0.0\nnode v20.20.2\n").as_deref(),
        Some("autocannon 8.0.0")
    );
    for other in ["", "8.0.0\n", "autocannon: not found\n"] {
        assert_eq!(who(other), None, "{other}");
    }
}

#[test]
fn it_is_told_all_that_it_must_be_told() {
    let command = Autocannon.command(&with_headers(&[("x", "a=b: c")]));
    let given = &command.arguments;
    assert_eq!(after(given, "-a"), ["100"]);
    assert_eq!(after(given, "-L"), ["10"], "it ends at a sample");
    assert_eq!(after(given, "-t"), ["2"], "1.5 s, and never stricter");
    assert_eq!(after(given, "-H"), ["x=a=b: c"]);
    assert_eq!(command.env, [("PORT", String::new())]);
    let timed = Order {
        amount: Amount::Duration(Duration::from_secs(2)),
        path: "/a?b[]".to_owned(),
        ..order()
    };
    let command = Autocannon.command(&timed);
    assert_eq!(after(&command.arguments, "-d"), ["2"]);
    assert_eq!(
        command.arguments.last().unwrap(),
        "http://127.0.0.1:8080/a?b[]#"
    );
    assert!(command.notes.is_empty());
}

#[test]
fn what_it_cannot_do_is_said_of_each_load() {
    for path in ["/", "/a//b?x=%zz&y[]=+"] {
        assert!(Autocannon.cannot(&work(path)).is_empty(), "{path}");
    }
    for path in ["/a^b", "/a?x=\"", "/it's", "/a\\b", "/a?x=|", "/`", "/{a}"] {
        assert_eq!(Autocannon.cannot(&work(path)).len(), 1, "{path}");
    }
    let mut all = work("/a|b");
    all.amount = Amount::Requests(3);
    all.keep_alive = false;
    all.request.method = "HEAD".to_owned();
    all.request.headers = vec![("x".to_owned(), Text::literal("[1]"))];
    assert_eq!(Autocannon.cannot(&all).len(), 5);
}
