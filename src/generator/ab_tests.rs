//! Reports of ab 2.3 as it printed them here, and lines that other versions have.

use super::super::fixture::{after, order, quantiles, with_headers, work};
use super::*;
use std::time::Duration;

const GOOD: &str = include_str!("../../tests/generators/ab.txt");
const PERCENT: &str = include_str!("../../tests/generators/ab.csv");
const CLOSING: &str = include_str!("../../tests/generators/ab-closing.txt");
const NOT_FOUND: &str = include_str!("../../tests/generators/ab-404.txt");
const RESET: &str = include_str!("../../tests/generators/ab-reset.txt");
const REFUSED: &str = include_str!("../../tests/generators/ab-refused.txt");
const CUT: &str = include_str!("../../tests/generators/ab-cut.txt");

#[test]
fn a_report_is_read_in_hotlaps_units() {
    let heard = read(GOOD, PERCENT, 4).unwrap();
    assert_eq!(heard.succeeded, 3000);
    assert!(heard.errors.is_empty() && heard.statuses.is_empty());
    assert_eq!((heard.received, heard.body), (61_845_000, Some(61_440_000)));
    // 3000 requests at 16527.01 a second, where the time alone says 0.182 s.
    assert_eq!(heard.window_ns, 181_521_037);
    let told = heard.told.unwrap();
    assert_eq!((told.timing, told.count), (Timing::WithConnect, 3000));
    assert_eq!((told.min_ns, told.max_ns), (Some(87_000), Some(8_183_000)));
    assert!(told.mean_derived);
    let mean = 4.0 * 181_521_037.0 / 3000.0;
    assert!((told.mean_ns.unwrap() - mean).abs() < 1.0, "{told:?}");
    assert_eq!(told.connect_mean_ns, None, "below a millisecond it is none");
    assert_eq!(told.quantile(0.5).unwrap() / 1000, {
        let row = PERCENT.lines().find_map(|line| line.strip_prefix("50,"));
        (row.unwrap().parse::<f64>().unwrap() * 1000.0).round() as u64
    });
    assert_eq!(told.quantile(0.99), Some(405_000));
    assert_eq!(told.quantile(0.999), None);
    assert_eq!(quantiles(&told).len(), 99);
}

#[test]
fn what_is_not_printed_is_not_missed() {
    // Without -k there is no line for connections that were kept.
    let heard = read(CLOSING, "", 1).unwrap();
    assert_eq!((heard.succeeded, heard.body), (50, Some(1_024_000)));
    assert_eq!(heard.written, 0);
    let told = heard.told.unwrap();
    assert!(told.quantiles.is_empty() && told.min_ns.is_none() && told.max_ns.is_none());

    let posted = GOOD.replace(
        "Total transferred:",
        "Total body sent:        4711\nTotal transferred:",
    );
    assert_eq!(read(&posted, PERCENT, 4).unwrap().written, 4711);
}

#[test]
fn lines_of_a_later_version_change_nothing() {
    let later = GOOD
        .replace(
            "Time taken for tests:",
            "Number of workers:      1\nConcurrency achieved:   4\nRampup delay:           0 [ms]\nTime taken for tests:",
        )
        .replace(
            "Keep-Alive requests:",
            "Number of requests:     3000 (window)\nKeep-Alive aborts:      2\nKeep-Alive requests:",
        );
    assert_ne!(later, GOOD);
    assert_eq!(read(&later, PERCENT, 4), read(GOOD, PERCENT, 4));
    let warned = GOOD.replace(
        "\nPercentage of",
        "WARNING: The median and mean for the total time are not within a normal deviation\n\nPercentage of",
    );
    assert_eq!(read(&warned, PERCENT, 4), read(GOOD, PERCENT, 4));
}

#[test]
fn another_status_is_complete_and_no_success() {
    let heard = read(NOT_FOUND, PERCENT, 4).unwrap();
    assert_eq!(heard.succeeded, 50);
    assert_eq!(heard.errors, [(ErrorKind::Status, 150)].into());
    assert_eq!(heard.told, None, "its times are those of failures too");
}

#[test]
fn a_connection_that_breaks_is_counted_once() {
    // It says "Failed requests: 400" of 200.
    let heard = read(RESET, "", 4).unwrap();
    assert_eq!(heard.succeeded, 0);
    assert_eq!(heard.errors, [(ErrorKind::Reset, 200)].into());
    // And 30 of 20 where nobody listens.
    let heard = read(REFUSED, "", 4).unwrap();
    assert_eq!(heard.succeeded, 0);
    assert_eq!(heard.errors, [(ErrorKind::Reset, 20)].into());
}

#[test]
fn failures_are_taken_from_what_is_complete() {
    let with = |failed: &str| GOOD.replace("Failed requests:        0", failed);
    let report = with(
        "Failed requests:        12\n   (Connect: 1, Receive: 2, Length: 6, Exceptions: 3)\nWrite errors:           5",
    );
    let heard = read(&report, PERCENT, 4).unwrap();
    let expected = [
        (ErrorKind::Connect, 1),
        (ErrorKind::Reset, 3),
        (ErrorKind::Body, 6),
        (ErrorKind::Write, 5),
    ];
    assert_eq!(heard.errors, expected.into());
    assert_eq!(heard.succeeded, 3000 - 15);
    // A version that does not say which.
    let heard = read(&with("Failed requests:        7"), PERCENT, 4).unwrap();
    assert_eq!(heard.errors, [(ErrorKind::ClosedEarly, 7)].into());
    // More than there were.
    let heard = read(&with("Failed requests:        9999"), PERCENT, 4).unwrap();
    assert_eq!((heard.succeeded, heard.errors.values().sum()), (0, 3000));
}

#[test]
fn a_body_that_was_cut_short_is_a_success_to_it_and_its_bytes_are_there() {
    // 100 answers of 12 bytes, and 100 of 5 that should have had 100.
    let heard = read(CUT, "", 4).unwrap();
    assert_eq!((heard.succeeded, heard.body), (200, Some(1700)));
}

#[test]
fn what_is_no_report_is_said_to_be_none() {
    for text in [
        "",
        "apr_pollset_poll: The timeout specified has expired (70007)\n",
        "\0\u{fffd}",
        "Complete requests:\n",
        "Complete requests: many\n",
    ] {
        assert_eq!(read(text, "", 1).unwrap_err(), "it printed no report");
    }
    assert_eq!(
        read("Complete requests: 5\n", "", 1).unwrap_err(),
        "it printed no time"
    );
    // Figures that nobody can mean are no reason to end.
    let odd = GOOD
        .replace("0.182 seconds", "-nan seconds")
        .replace("16527.01", "inf");
    let heard = read(&odd, "a,b\n50\n99,-1\n98,nan\n", 4).unwrap();
    assert_eq!((heard.window_ns, heard.succeeded), (0, 3000));
}

#[test]
fn only_apache_bench_is_ab() {
    let who = |said: &str| Ab.recognise(said, Path::new("/usr/bin/ab"));
    assert_eq!(
        who("This is ApacheBench, Version 2.3 <$Revision: 1913912 $>\nCopyright 1996 Adam Twiss\n"),
        Some("ApacheBench 2.3".to_owned())
    );
    for other in [
        "",
        "ab 1.0\n",
        "This is ApacheBench, Version ",
        "usage: ab FILE\n",
    ] {
        assert_eq!(who(other), None, "{other}");
    }
}

#[test]
fn it_is_told_all_that_it_must_be_told() {
    let command = Ab.command(&order());
    let given = &command.arguments;
    for flag in ["-q", "-l", "-r", "-k"] {
        assert!(given.iter().any(|word| word == flag), "{flag}");
    }
    assert_eq!(after(given, "-n"), ["100"]);
    assert_eq!(after(given, "-s"), ["2"], "1.5 s, and never stricter");
    assert_eq!(given.last().unwrap(), "http://127.0.0.1:8080/a");

    let timed = Order {
        amount: Amount::Duration(Duration::from_millis(2500)),
        keep_alive: false,
        ..order()
    };
    let command = Ab.command(&timed);
    let place = |flag: &str| command.arguments.iter().position(|word| word == flag);
    assert_eq!(after(&command.arguments, "-t"), ["3"]);
    assert!(place("-t") < place("-n") && place("-k").is_none());
    assert!(
        after(&command.arguments, "-H").is_empty(),
        "HTTP/1.0 closes"
    );
    assert!(command.notes[0].contains("3 s"), "{:?}", command.notes);
    let long = Order {
        amount: Amount::Duration(Duration::from_hours(24)),
        ..order()
    };
    assert_eq!(after(&Ab.command(&long).arguments, "-n"), ["100000000"]);
}

#[test]
fn a_body_has_the_type_that_it_is_given() {
    let posted = |headers: &[(&str, &str)]| {
        let order = Order {
            method: "POST".to_owned(),
            body: Some("xyz".to_owned()),
            ..with_headers(headers)
        };
        Ab.command(&order)
    };
    let command = posted(&[
        ("content-type", "a/b"),
        ("Content-Length", "3"),
        ("X", "y: z"),
    ]);
    assert_eq!(after(&command.arguments, "-T"), ["a/b"]);
    assert_eq!(after(&command.arguments, "-H"), ["X: y: z"]);
    assert_eq!(after(&command.arguments, "-p"), ["body"]);
    assert_eq!(command.files, [("body", "xyz".to_owned())]);
    assert!(command.notes.is_empty());
    assert!(posted(&[]).notes[0].contains("text/plain"));
    let put = Order {
        method: "PUT".to_owned(),
        body: Some(String::new()),
        ..order()
    };
    assert_eq!(after(&Ab.command(&put).arguments, "-u"), ["body"]);
}

#[test]
fn it_needs_a_request_for_each_connection() {
    let mut few = work("/");
    assert!(Ab.cannot(&few).is_empty());
    few.amount = Amount::Requests(3);
    assert_eq!(Ab.cannot(&few).len(), 1);
    few.amount = Amount::Requests(4);
    assert!(Ab.cannot(&few).is_empty());
}
