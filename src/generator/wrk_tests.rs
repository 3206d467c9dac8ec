//! Reports of wrk 4.1.0 as it printed them here.

use super::super::fixture::{after, order, quantiles, with_headers, work};
use super::*;
use std::time::Duration;

const GOOD: &str = include_str!("../../tests/generators/wrk.txt");
const NOT_FOUND: &str = include_str!("../../tests/generators/wrk-404.txt");
const CLOSED: &str = include_str!("../../tests/generators/wrk-closed.txt");
const REFUSED: &str = include_str!("../../tests/generators/wrk-refused.txt");

#[test]
fn a_report_is_read_in_hotlaps_units() {
    let heard = read(GOOD).unwrap();
    assert_eq!((heard.succeeded, heard.sent), (6087, None));
    assert_eq!(
        (heard.window_ns, heard.received),
        (1_025_327_000, 125_337_417)
    );
    assert!(heard.errors.is_empty());
    let told = heard.told.unwrap();
    assert_eq!(told.timing, Timing::Corrected, "it is never anything else");
    assert_eq!(
        (told.min_ns, told.max_ns),
        (Some(68_000), Some(116_457_000))
    );
    assert_eq!(told.mean_ns, Some(6_462_369.0));
    assert_eq!(
        quantiles(&told),
        [
            (50.0, 266_000),
            (75.0, 2_717_000),
            (90.0, 13_673_000),
            (95.0, 44_972_000),
            (99.0, 100_914_000),
            (99.9, 115_068_000),
            (99.99, 116_457_000)
        ]
    );
}

#[test]
fn another_status_is_among_its_requests() {
    let heard = read(NOT_FOUND).unwrap();
    assert_eq!(heard.succeeded, 0);
    assert_eq!(heard.errors, [(ErrorKind::Status, 8178)].into());
    let half = NOT_FOUND.replace("\"status\":8178", "\"status\":8");
    let heard = read(&half).unwrap();
    assert_eq!(heard.succeeded, 8170);
}

#[test]
fn errors_of_sockets_are_beside_its_requests() {
    let broken = GOOD.replace(
        "\"connect\":0,\"read\":0,\"write\":0,\"status\":0,\"timeout\":0",
        "\"connect\":0,\"read\":2,\"write\":3,\"status\":4,\"timeout\":5",
    );
    let heard = read(&broken).unwrap();
    // What came after the time-out is among its requests.
    assert_eq!(heard.succeeded, 6078);
    assert_eq!(heard.told, None);
    let expected = [
        (ErrorKind::Reset, 2),
        (ErrorKind::Write, 3),
        (ErrorKind::Status, 4),
        (ErrorKind::Timeout, 5),
    ];
    assert_eq!(heard.errors, expected.into());
}

#[test]
fn connections_that_were_never_opened_are_no_load() {
    let fewer = GOOD.replace("\"connect\":0", "\"connect\":39");
    let error = read(&fewer).unwrap_err();
    assert_eq!(error, "39 of its connections were never opened");
}

#[test]
fn a_load_without_an_answer_is_read_too() {
    // Its own lines say -nan, and its lowest value is a huge negative number.
    assert!(CLOSED.contains("-nan%") && CLOSED.contains("-9223372036854775808"));
    let heard = read(CLOSED).unwrap();
    assert_eq!((heard.succeeded, heard.received), (0, 0));
    assert_eq!(heard.errors, [(ErrorKind::Reset, 329)].into());
    assert_eq!(heard.told, None);
}

#[test]
fn a_percentile_below_the_lowest_value_is_none() {
    let odd = GOOD.replace("[0.990000,100914]", "[0.990000,0]");
    let told = read(&odd).unwrap().told.unwrap();
    assert_eq!(told.quantile(0.99), None);
    assert_eq!(told.quantile(0.95), Some(44_972_000));
    let odd = GOOD.replace("[0.990000,100914]", "[0.990000,67]");
    assert_eq!(read(&odd).unwrap().told.unwrap().quantile(0.99), None);
}

#[test]
fn what_is_no_report_is_said_to_be_none() {
    for text in [REFUSED, "", "Running 1s test @ http://127.0.0.1/\n"] {
        assert_eq!(read(text).unwrap_err(), "it printed no report");
    }
    for text in [
        "hotlap ",
        "hotlap {}",
        "hotlap {\"duration\":nan}",
        "hotlap \u{fffd}",
    ] {
        let reason = read(text).unwrap_err();
        assert!(reason.starts_with("its report cannot be read"), "{reason}");
    }
}

#[test]
fn wrk2_is_not_wrk() {
    let who = |said: &str| Wrk.recognise(said, Path::new("/usr/bin/wrk"));
    for (said, version) in [
        (
            "wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer\nUsage: wrk",
            "wrk 4.1.0",
        ),
        (
            "wrk 4.2.0 [kqueue] Copyright (C) 2012 Will Glozer\n",
            "wrk 4.2.0",
        ),
        ("wrk 4.1.0-4-g0896020 [epoll] Copyright\n", "wrk 4.1.0"),
        (
            "wrk  [epoll] Copyright (C) 2012 Will Glozer\n",
            "wrk of no version",
        ),
    ] {
        assert_eq!(who(said).as_deref(), Some(version));
    }
    let two = "wrk 4.0.0 [epoll] Copyright (C) 2012 Will Glozer\nUsage: wrk <options> <url>\n    -R, --rate        <T>  work rate (throughput)\n";
    for other in ["", "wrk", "work 1.0\n", two] {
        assert_eq!(who(other), None, "{other}");
    }
}

#[test]
fn every_thread_has_as_many_connections() {
    let with = |connections, threads| {
        Wrk.threads(&Order {
            connections,
            threads,
            ..order()
        })
    };
    // Three threads would leave one of ten out.
    assert_eq!(with(10, 3), 2);
    assert_eq!(with(9, 3), 3);
    assert_eq!(with(7, 3), 1);
    assert_eq!(with(2, 8), 2);
}

#[test]
fn its_script_says_nothing_that_could_be_anything_but_text() {
    let order = Order {
        method: "POST".to_owned(),
        body: Some("\"]] .. os.exit() \\é\n".to_owned()),
        amount: Amount::Duration(Duration::from_millis(1100)),
        ..with_headers(&[("host", "example.org"), ("content-length", "20")])
    };
    let command = Wrk.command(&order);
    let (name, script) = &command.files[0];
    assert_eq!(*name, SCRIPT);
    assert!(!script.contains("os.exit"), "{script}");
    assert!(script.contains("\\034\\093\\093"), "{script}");
    // It would send a second one beside any other spelling.
    assert_eq!(after(&command.arguments, "-H"), ["Host: example.org"]);
    assert_eq!(after(&command.arguments, "-d"), ["2s"]);
    assert!(command.notes[0].contains("2 s"), "{:?}", command.notes);
}

#[test]
fn what_it_cannot_do_is_said_of_each_load() {
    assert!(Wrk.cannot(&work("/a?b[]=|")).is_empty());
    let mut all = work("/a");
    all.amount = Amount::Requests(100);
    all.request.method = "HEAD".to_owned();
    assert_eq!(Wrk.cannot(&all).len(), 2);
}
