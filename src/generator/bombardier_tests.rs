//! Reports of bombardier 1.2.6 as it printed them here.

use super::super::fixture::{after, order, quantiles, with_headers, work};
use super::*;
use crate::spec::Text;

const GOOD: &str = include_str!("../../tests/generators/bombardier.json");
const NOT_FOUND: &str = include_str!("../../tests/generators/bombardier-404.json");
const CUT: &str = include_str!("../../tests/generators/bombardier-cut.json");
const REFUSED: &str = include_str!("../../tests/generators/bombardier-refused.json");

#[test]
fn a_report_is_read_in_hotlaps_units() {
    let heard = read(GOOD, true).unwrap();
    assert_eq!(heard.succeeded, 3000);
    assert_eq!(heard.window_ns, 797_286_828);
    assert_eq!((heard.received, heard.written), (61_773_000, 189_000));
    let told = heard.told.unwrap();
    assert_eq!((told.timing, told.count), (Timing::Service, 3000));
    assert!((told.mean_ns.unwrap() - 1_055_920.333).abs() < 1.0);
    assert_eq!((told.min_ns, told.max_ns), (None, Some(42_897_000)));
    let mut all = quantiles(&told);
    all.sort_by_key(|(_, ns)| *ns);
    assert_eq!(
        all,
        [
            (50.0, 292_000),
            (75.0, 633_000),
            (90.0, 3_284_000),
            (95.0, 4_565_000),
            (99.0, 8_578_000)
        ]
    );
    let single = read(GOOD, false).unwrap().told.unwrap();
    assert_eq!(single.timing, Timing::WithConnect);
}

#[test]
fn what_it_may_leave_out_is_not_missed() {
    let begin = GOOD.find(",\"latency\"").unwrap();
    let bare = format!("{}}}}}", &GOOD[..begin]);
    let heard = read(&bare, true).unwrap();
    assert_eq!((heard.succeeded, heard.told), (3000, None));
    let begin = GOOD.find(",\"percentiles\"").unwrap();
    let few = format!("{}}}}}}}", &GOOD[..begin]);
    let told = read(&few, true).unwrap().told.unwrap();
    assert!(told.quantiles.is_empty() && told.max_ns.is_some());
    // A line of its progress comes before it where somebody asks for that.
    let after = format!("Bombarding http://127.0.0.1/ with 9 request(s)\n{GOOD}");
    assert_eq!(read(&after, true).unwrap().succeeded, 3000);
}

#[test]
fn classes_of_status_are_failures_but_for_one() {
    let heard = read(NOT_FOUND, true).unwrap();
    assert_eq!(heard.succeeded, 0);
    assert_eq!(heard.errors, [(ErrorKind::Status, 200)].into());
    assert_eq!(heard.examples[&ErrorKind::Status], "200 were 4xx");
    let mixed = GOOD
        .replace("\"req1xx\":0", "\"req1xx\":1")
        .replace("\"req3xx\":0", "\"req3xx\":2");
    let heard = read(&mixed, true).unwrap();
    assert_eq!(
        (heard.succeeded, heard.errors[&ErrorKind::Status]),
        (3000, 3)
    );
    assert_eq!(heard.told, None);
}

#[test]
fn others_are_failures_by_what_they_are_called() {
    let heard = read(CUT, true).unwrap();
    assert_eq!(heard.errors, [(ErrorKind::ShortBody, 200)].into());
    let heard = read(REFUSED, true).unwrap();
    assert_eq!(heard.errors, [(ErrorKind::ConnectRefused, 20)].into());
    assert_eq!((heard.succeeded, heard.told), (0, None));
    // Some that it does not name, and more that it names than there are.
    let unnamed = GOOD.replace("\"others\":0", "\"others\":3");
    let heard = read(&unnamed, true).unwrap();
    assert_eq!(heard.errors, [(ErrorKind::ClosedEarly, 3)].into());
    let many = CUT.replace("\"count\":200", "\"count\":900");
    assert_eq!(read(&many, true).unwrap().errors.values().sum::<u64>(), 200);
}

#[test]
fn an_error_has_its_kind() {
    for (said, expected) in [
        (
            "dial tcp 127.0.0.1:1: connect: connection refused",
            ErrorKind::ConnectRefused,
        ),
        (
            "dial tcp4 127.0.0.1:1: connect: cannot assign requested address",
            ErrorKind::NoLocalPort,
        ),
        (
            "dial tcp: socket: too many open files",
            ErrorKind::NoDescriptor,
        ),
        (
            "dialing to the given TCP address timed out",
            ErrorKind::Timeout,
        ),
        ("timeout", ErrorKind::Timeout),
        (
            "read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer",
            ErrorKind::Reset,
        ),
        ("dial tcp: lookup nowhere: no such host", ErrorKind::Connect),
        ("unexpected EOF", ErrorKind::ShortBody),
        (
            "the server closed connection before returning the first response byte",
            ErrorKind::ClosedEarly,
        ),
    ] {
        assert_eq!(kind(said), expected, "{said}");
    }
}

#[test]
fn what_is_no_report_is_said_to_be_none() {
    assert_eq!(read("", true).unwrap_err(), "it printed no report");
    assert_eq!(
        read("unknown flag", true).unwrap_err(),
        "it printed no report"
    );
    for text in [
        "{",
        "{}",
        "{\"result\":{}}",
        "{\"result\":{\"req2xx\":-1}}",
        &GOOD[..200],
    ] {
        let reason = read(text, true).unwrap_err();
        assert!(reason.starts_with("its report cannot be read"), "{reason}");
    }
}

#[test]
fn a_game_is_no_generator() {
    let who = |said: &str| Bombardier.recognise(said, Path::new("/nowhere/bombardier"));
    assert_eq!(
        who("bombardier version v1.2.6 linux/amd64\n").as_deref(),
        Some("bombardier 1.2.6")
    );
    // Where the program cannot be looked into, what it says stands.
    assert_eq!(
        who("bombardier version unspecified linux/amd64").as_deref(),
        Some("bombardier unspecified")
    );
    for other in [
        "",
        "bombardier version ",
        "Bombardier 0.8.3, bomb your enemies\n",
        "Error opening terminal: unknown.\n",
    ] {
        assert_eq!(who(other), None, "{other}");
    }
}

#[test]
fn its_version_is_read_from_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("bombardier");
    let with = |line: &str| {
        std::fs::write(
            &program,
            [b"\x7fELF\0\xff", line.as_bytes(), b"\0"].concat(),
        )
        .unwrap();
        Bombardier.recognise("bombardier version unspecified linux/amd64", &program)
    };
    let module = "path\tx\nmod\tgithub.com/codesenberg/bombardier\t";
    assert_eq!(
        with(&format!("{module}v1.2.6\th1:abc=\n")).as_deref(),
        Some("bombardier 1.2.6")
    );
    assert_eq!(
        with(&format!("{module}(devel)\t\n")).as_deref(),
        Some("bombardier unspecified")
    );
    assert_eq!(with(module).as_deref(), Some("bombardier unspecified"));
}

#[test]
fn a_path_that_it_would_write_anew_is_told() {
    for same in [
        "/",
        "/a/b",
        "/a/",
        "/caf%C3%A9/b%20c",
        "/~x;v=1,2@+$&=:",
        "/a?x=//..%2f\"|'",
        "/.a/..b/c.",
    ] {
        assert!(!rewritten(same), "{same}");
    }
    for other in [
        "//",
        "/a//b",
        "/./a",
        "/a/..",
        "/a/../b",
        "/%7Ex",
        "/a%2Fb",
        "/caf%c3%a9",
        "/it's",
        "/(a)",
        "/a|b",
        "/a%",
        "/a%2",
        "/a%zz",
    ] {
        assert!(rewritten(other), "{other}");
    }
}

#[test]
fn a_host_would_lead_it_elsewhere() {
    let mut named = work("/");
    assert!(Bombardier.cannot(&named).is_empty());
    named.request.headers = vec![("HOST".to_owned(), Text::literal("example.org"))];
    assert_eq!(Bombardier.cannot(&named).len(), 1);
    let order = Order {
        host: Some("localhost:8080".to_owned()),
        keep_alive: false,
        ..with_headers(&[("host", "example.org"), ("X", "y")])
    };
    let command = Bombardier.command(&order);
    assert_eq!(
        after(&command.arguments, "-H"),
        ["X: y", "Connection: close"]
    );
    assert!(command.notes[0].contains("localhost:8080"));
}

#[test]
fn it_is_told_all_that_it_must_be_told() {
    let command = Bombardier.command(&order());
    let given = &command.arguments;
    assert_eq!(after(given, "-n"), ["100"]);
    assert_eq!(after(given, "-t"), ["1500ms"]);
    assert_eq!(after(given, "--print"), ["r"]);
    assert_eq!(command.env, [("GOMAXPROCS", "3".to_owned())]);
    let short = Order {
        amount: Amount::Duration(Duration::from_millis(300)),
        method: "POST".to_owned(),
        body: Some("x".to_owned()),
        ..order()
    };
    let command = Bombardier.command(&short);
    assert_eq!(after(&command.arguments, "-d"), ["1000ms"]);
    assert_eq!(after(&command.arguments, "-f"), ["body"]);
    assert_eq!(command.notes.len(), 2, "{:?}", command.notes);
}
