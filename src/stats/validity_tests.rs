//! Loads that obey the laws, and loads that break one each.

use super::*;
use crate::record::{Connections, ErrorKind, Histogram};
use crate::spec::Amount;
use crate::stats::{Limit, limit};

fn work(connections: u32, amount: Amount) -> LoadSpec {
    LoadSpec {
        connections,
        amount,
        warmup: Duration::from_secs(1),
        timeout: Duration::from_secs(10),
        ..LoadSpec::default()
    }
}

fn ten_seconds(connections: u32) -> LoadSpec {
    work(connections, Amount::Duration(Duration::from_secs(10)))
}

fn histogram(count: u64, each: Duration) -> Histogram {
    let mut live = Histogram::empty(Duration::from_mins(1));
    live.record_n(each.as_nanos() as u64, count).unwrap();
    Histogram::store(&live, 0)
}

/// `succeeded` requests of `each`, in a window of ten seconds.
fn load(succeeded: u64, each: Duration) -> Load {
    Load {
        generator: "built-in".to_owned(),
        window_ns: 10_000_000_000,
        counts: Counts {
            planned: succeeded,
            sent: succeeded,
            succeeded,
            ..Counts::default()
        },
        statuses: [(200, succeeded)].into(),
        service: Some(histogram(succeeded, each)),
        ..Load::default()
    }
}

fn fail(load: &mut Load, kind: ErrorKind, times: u64) {
    load.counts.planned += times;
    load.counts.sent += times;
    load.counts.failed += times;
    *load.errors.entry(kind).or_default() += times;
}

/// Ten connections, 1 ms each: 100 000 requests in ten seconds.
fn honest() -> Load {
    load(100_000, Duration::from_millis(1))
}

#[test]
fn an_honest_load_has_no_reason_against_it() {
    assert_eq!(validity(&honest(), &ten_seconds(10), 0.001), [""; 0]);
}

#[test]
fn a_few_errors_below_the_limit_are_no_reason() {
    let mut load = honest();
    fail(&mut load, ErrorKind::Reset, 100);
    assert_eq!(validity(&load, &ten_seconds(10), 0.001), [""; 0]);
    assert_eq!(validity(&load, &ten_seconds(10), 0.000_5).len(), 1);
}

#[test]
fn counts_that_do_not_add_up_are_named() {
    let mut load = honest();
    load.counts.sent -= 1;
    assert!(
        validity(&load, &ten_seconds(10), 0.001)[0].starts_with("conservation: 100000 planned")
    );
    let mut load = honest();
    load.errors.insert(ErrorKind::Body, 3);
    assert!(validity(&load, &ten_seconds(10), 0.001)[0].contains("3 errors by kind"));
}

#[test]
fn only_wrong_statuses_say_which_and_what_was_expected() {
    let mut load = load(0, Duration::from_millis(1));
    fail(&mut load, ErrorKind::Status, 5000);
    load.statuses = [(404, 5000)].into();
    load.first_error_ns = Some(1_200_000);
    let reasons = validity(&load, &ten_seconds(10), 0.001);
    assert_eq!(
        reasons,
        [
            "no request succeeded of 5000 sent; 100 % of answers were 404, expected 200; \
          5000 × unexpected status; the first error came 1.20 ms into the load"
        ]
    );
}

#[test]
fn errors_above_the_limit_are_named_by_kind() {
    let mut load = honest();
    fail(&mut load, ErrorKind::ShortBody, 300);
    fail(&mut load, ErrorKind::Reset, 700);
    load.error_examples
        .insert(ErrorKind::Reset, "reset after 12 of 512 bytes".to_owned());
    let reasons = validity(&load, &ten_seconds(10), 0.001);
    assert_eq!(
        reasons,
        [
            "0.990 % of requests failed (1000 of 101000; the limit is 0.1 %); 700 × connection reset, \
          300 × short body (such as: reset after 12 of 512 bytes)"
        ]
    );
}

#[test]
fn an_exhausted_machine_is_never_charged_to_the_server() {
    let mut load = honest();
    fail(&mut load, ErrorKind::NoLocalPort, 1);
    fail(&mut load, ErrorKind::NoDescriptor, 2);
    let reasons = validity(&load, &ten_seconds(10), 0.001);
    assert_eq!(reasons.len(), 2);
    assert!(reasons[0].contains("ip_local_port_range") && reasons[0].contains("not the server's"));
    assert!(reasons[1].contains("ulimit -n"));
}

#[test]
fn a_server_that_never_answers_is_invalid() {
    let mut load = load(0, Duration::from_millis(1));
    load.counts.sent = 10;
    load.counts.planned = 10;
    load.counts.unfinished = 10;
    let reasons = validity(&load, &ten_seconds(10), 1.0);
    assert_eq!(
        reasons,
        ["no request succeeded of 10 sent, 10 were unfinished at the end"]
    );
    let nothing = Load::default();
    assert_eq!(
        validity(&nothing, &ten_seconds(10), 1.0),
        ["no request was sent"]
    );
}

#[test]
fn a_latency_that_needs_more_connections_than_there_were_is_rejected() {
    // 64 connections, 1624 requests/s at 7.2 s each: 11 700 in flight.
    let load = load(16_240, Duration::from_millis(7200));
    let reasons = validity(&load, &ten_seconds(64), 0.001);
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].contains("would fill 183 × the time of 64 connections"));
}

#[test]
fn idle_connections_are_found_but_not_while_draining() {
    let late = load(85_000, Duration::from_millis(1));
    assert_eq!(validity(&late, &ten_seconds(10), 0.001), [""; 0]);
    assert!(idle(&late, &ten_seconds(10)) && !idle(&honest(), &ten_seconds(10)));
    assert_eq!(limit(&late, &ten_seconds(10)), Some(Limit::Idle));
    // After a failed connect a connection pauses, which is no fault of the generator's.
    let mut refused = late.clone();
    refused.errors.insert(ErrorKind::ConnectRefused, 60);
    refused.counts.failed += 60;
    assert_eq!(limit(&refused, &ten_seconds(10)), None);
    let half = load(50_000, Duration::from_millis(1));
    assert!(validity(&half, &ten_seconds(10), 0.001)[0].contains("0.500 ×"));
    // The last response took five seconds more: nine connections were rightly idle.
    let mut drained = honest();
    drained.window_ns = 15_000_000_000;
    assert_eq!(validity(&drained, &ten_seconds(10), 0.001), [""; 0]);
}

#[test]
fn a_fixed_number_of_requests_may_leave_connections_idle() {
    let load = load(70_000, Duration::from_millis(1));
    let fixed = work(10, Amount::Requests(70_000));
    assert_eq!(validity(&load, &fixed, 0.001), [""; 0]);
}

#[test]
fn too_few_requests_are_not_judged_by_averages() {
    let load = load(99, Duration::from_millis(1));
    assert_eq!(validity(&load, &ten_seconds(10), 0.001), [""; 0]);
}

#[test]
fn bytes_that_nothing_asked_for_make_a_trial_invalid() {
    let mut load = honest();
    load.connections = Connections {
        wanted: 10,
        surplus: 1,
        ..Connections::default()
    };
    let reasons = validity(&load, &ten_seconds(10), 1.0);
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].starts_with("the server sends more than it is asked for: on 1 of 10"));
}

#[test]
fn connecting_anew_counts_as_busy() {
    let mut load = load(50_000, Duration::from_millis(1));
    load.connections = Connections {
        reconnects: 50_000,
        ..Connections::default()
    };
    load.connect = Some(histogram(50_000, Duration::from_millis(1)));
    assert_eq!(validity(&load, &ten_seconds(10), 0.001), [""; 0]);
}

#[test]
fn a_window_of_another_length_than_planned_is_rejected() {
    for window_ns in [1_250_000, 21_000_000_000] {
        let mut load = load(100_000, Duration::from_nanos(window_ns / 10_000));
        load.window_ns = window_ns;
        let reasons = validity(&load, &ten_seconds(10), 0.001);
        assert!(
            reasons[0].contains("but 10.0 s was planned"),
            "{window_ns}: {reasons:?}"
        );
    }
}

#[test]
fn another_generator_may_take_the_next_whole_second() {
    let mut load = by_another(1000);
    load.window_ns = 2_000_000_000;
    let planned = LoadSpec {
        timeout: Duration::from_millis(500),
        ..work(10, Amount::Duration(Duration::from_millis(1100)))
    };
    assert_eq!(validity(&load, &planned, 0.001), Vec::<String>::new());
    load.window_ns = 4_000_000_000;
    assert!(validity(&load, &planned, 0.001)[0].contains("was planned"));
}

/// A load of 100 answers by another generator, of ten bytes each, of which so many were read.
fn by_another(read: u64) -> Load {
    let mut load = load(100, Duration::from_millis(1));
    load.service = None;
    load.generator = "ApacheBench 2.3".to_owned();
    load.bytes.body_wire = Some(10);
    load.bytes.body = Some(read);
    load
}

#[test]
fn bytes_that_another_generator_did_not_read_are_missed() {
    let mut exact = work(10, Amount::Requests(100));
    exact.expect.body = Some("0123456789".to_owned());
    let missed = |load: &Load| {
        let reasons = validity(load, &exact, 0.01);
        reasons.iter().any(|reason| reason.contains("but read 999"))
    };
    assert!(missed(&by_another(999)));
    assert!(!missed(&by_another(1000)));
    // Even where some failed, so that it tells no times.
    let mut some = by_another(999);
    fail(&mut some, ErrorKind::Status, 1);
    assert!(some.told.is_none() && missed(&some));
    // The built-in one looks at each body itself.
    let mut own = by_another(999);
    own.service = Some(histogram(100, Duration::from_millis(1)));
    assert!(!missed(&own));
}

#[test]
fn bytes_are_missed_where_the_answer_was_the_same_twice() {
    let any = work(10, Amount::Requests(100));
    let same = Observed {
        body_sha256: Some("ab".to_owned()),
        ..Observed::default()
    };
    let cut = |read, observed: Option<&Observed>| {
        cut_short(&by_another(read), &any, observed, 0.01).is_some()
    };
    assert!(cut(989, Some(&same)));
    assert!(!cut(990, Some(&same)), "as many may fail");
    assert!(!cut(989, Some(&Observed::default())), "it varies");
    assert!(!cut(989, None), "nobody knows");
}

#[test]
fn rounds_are_planned_one_after_the_other() {
    let three = honest().join(honest()).join(honest());
    assert_eq!(validity(&three, &ten_seconds(10), 0.001), [""; 0]);
    // A third of the time is missing, or more was taken than every time-out together allows.
    let mut short = three.clone();
    short.window_ns = 20_000_000_000;
    assert!(window(&short, &ten_seconds(10)).is_some());
    let mut long = three;
    long.window_ns = 60_600_000_000;
    assert!(window(&long, &ten_seconds(10)).is_some());
}

#[test]
fn short_rounds_are_not_held_against_littles_law() {
    let few = |succeeded| load(succeeded, Duration::from_millis(1));
    let of = |each| few(each).join(few(each)).join(few(each));
    let ten_connections = work(10, Amount::Requests(99));
    // Each is idle nearly all the time.
    assert!(little(&of(99), &ten_connections).is_none());
    assert!(little(&of(100), &ten_connections).is_some());
}

#[test]
fn one_pause_of_a_busy_machine_contradicts_nothing() {
    // 200 requests of 20 µs over 2 connections are 2 ms; the rest of the phase the machine did something else.
    let phase = |window: Duration| {
        let mut paused = load(200, Duration::from_micros(20));
        paused.window_ns = window.as_nanos() as u64;
        little(&paused, &work(2, Amount::Requests(200)))
    };
    assert_eq!(phase(Duration::from_millis(50)), None);
    let long = phase(Duration::from_millis(150)).unwrap();
    assert!(long.contains("Little's law"), "{long}");
}
