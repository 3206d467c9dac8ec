//! The ways in which servers lead generators astray, one test each: by number and by time, with connections that are
//! kept and with one for each request. What the server really got is held against what is reported of it.

use super::*;
use hotlap::load::VerifyError;
use std::time::Instant;

const CONNECTIONS: u64 = 4;

/// A load by number, which is exact, and one by time, each with connections that are kept and without.
fn loads() -> impl Iterator<Item = LoadSpec> {
    let amounts = [
        Amount::Requests(60),
        Amount::Duration(Duration::from_millis(120)),
    ];
    amounts.into_iter().flat_map(|amount| {
        [true, false].map(|keep_alive| LoadSpec {
            keep_alive,
            ..spec(amount)
        })
    })
}

/// What a server has got besides the verification, once it has got as much as was sent. It reads in its own time what a
/// client wrote that has gone.
fn got(server: &Server, load: &Load) -> u64 {
    let patience = Instant::now() + Duration::from_secs(20);
    let mut got = server.requests.load(Ordering::Relaxed) - 1;
    while got < load.counts.sent && Instant::now() < patience {
        thread::yield_now();
        got = server.requests.load(Ordering::Relaxed) - 1;
    }
    got
}

/// Loads a server of its own with each of the loads, and checks what holds whatever it does.
fn each(
    server: impl Fn() -> Server,
    change: impl Fn(&mut LoadSpec),
    check: impl Fn(&LoadSpec, &Load, u64),
) {
    for mut spec in loads() {
        change(&mut spec);
        let server = server();
        let control = Control::new(2, Cancel::new(), |_, _| {});
        let load = load_with(server.address, &spec, &control);
        let got = got(&server, &load);
        if let Amount::Requests(total) = spec.amount {
            assert_eq!(load.counts.planned, total);
        }
        assert_eq!(load.counts.unsent, 0, "{load:?}");
        assert_eq!(load.counts.unfinished, 0, "{load:?}");
        assert!(got >= CONNECTIONS, "{load:?}");
        assert_eq!(got, load.counts.sent, "{load:?}");
        check(&spec, &load, got);
    }
}

/// Every request that the server got is one success, in every figure.
fn succeeded(load: &Load, got: u64) {
    all_succeed(load, got);
    assert_eq!(load.errors.len(), 0);
    assert_eq!(load.counts.failed + load.counts.timed_out, 0);
    assert_eq!(load.statuses.values().sum::<u64>(), got);
}

/// No request that the server got is a success, and no figure makes one of it.
fn failed(load: &Load, got: u64, kind: ErrorKind) {
    all_fail(load, got, kind);
    assert_eq!(load.errors.len(), 1);
    assert_eq!(load.per_second.iter().sum::<u64>(), 0);
    assert_eq!(load.bytes.body, Some(0));
    assert_eq!(load.connections.retried, 0);
}

/// Connections that nobody closes are opened once, and where each request has its own, once for each.
fn kept(spec: &LoadSpec, load: &Load, got: u64) {
    let connections = &load.connections;
    assert_eq!((connections.retried, connections.closed_by_server), (0, 0));
    assert_eq!((connections.reconnects, connections.surplus), (0, 0));
    if spec.keep_alive {
        assert_eq!(connections.opened, CONNECTIONS);
    } else {
        assert!((got..=got + CONNECTIONS).contains(&connections.opened));
    }
}

/// A server that answers with these bytes and leaves the connection open.
fn answers_and_keeps(bytes: &'static [u8], status: u16, body: u64) {
    each(
        || always(bytes, true),
        |spec| spec.expect.status = status,
        |spec, load, got| {
            succeeded(load, got);
            kept(spec, load, got);
            assert!(load.statuses.keys().eq([&status]));
            assert_eq!(load.bytes.received, got * bytes.len() as u64);
            assert_eq!(load.bytes.body, Some(got * body));
        },
    );
}

#[test]
fn keep_alive_without_its_header() {
    answers_and_keeps(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n4\r\nmore\r\n0\r\n\r\n",
        200,
        7,
    );
    answers_and_keeps(b"HTTP/1.1 204 No Content\r\n\r\n", 204, 0);
    answers_and_keeps(b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\noh", 500, 2);
}

#[test]
fn not_modified_with_a_content_length() {
    answers_and_keeps(
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\n\r\n",
        304,
        0,
    );
}

#[test]
fn interim_responses_before_the_answer() {
    answers_and_keeps(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        200,
        2,
    );
    answers_and_keeps(
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
            HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        200,
        2,
    );
}

#[test]
fn an_interim_response_that_comes_by_itself() {
    let early: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    each(
        || {
            Server::start(move |_, stream| {
                let begun = stream.write_all(early).is_ok();
                thread::sleep(Duration::from_micros(200));
                begun && stream.write_all(OK).is_ok()
            })
        },
        |_| {},
        |spec, load, got| {
            succeeded(load, got);
            kept(spec, load, got);
            assert!(load.statuses.keys().eq([&200]));
            let whole = early.len() + OK.len();
            assert_eq!(load.bytes.received, got * whole as u64);
        },
    );
}

/// A server that says, or lets see, that it closes, and does.
fn answers_and_closes(bytes: &'static [u8], body: u64) {
    each(
        || always(bytes, false),
        |_| {},
        |spec, load, got| {
            succeeded(load, got);
            let closed = if spec.keep_alive { got } else { 0 };
            let connections = &load.connections;
            assert_eq!(connections.closed_by_server, closed);
            assert_eq!((connections.retried, connections.surplus), (0, 0));
            assert!((got..=got + CONNECTIONS).contains(&connections.opened));
            assert_eq!(load.bytes.received, got * bytes.len() as u64);
            assert_eq!(load.bytes.body, Some(got * body));
        },
    );
}

#[test]
fn a_body_that_ends_with_its_connection() {
    answers_and_closes(b"HTTP/1.1 200 OK\r\n\r\nhello", 5);
    answers_and_closes(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", 5);
    answers_and_closes(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nhello",
        5,
    );
}

#[test]
fn a_body_that_is_cut_short() {
    each(
        || {
            after_first(
                b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12345",
                false,
            )
        },
        |_| {},
        |_, load, got| failed(load, got, ErrorKind::ShortBody),
    );
    each(
        || {
            after_first(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                false,
            )
        },
        |_| {},
        |_, load, got| failed(load, got, ErrorKind::ShortBody),
    );
}

#[test]
fn a_close_that_is_announced() {
    answers_and_closes(
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        5,
    );
    answers_and_closes(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", 5);
}

/// What a client makes of a connection that went away behind an answer: the request that it had not taken is sent again.
fn sent_again(spec: &LoadSpec, load: &Load, got: u64) {
    succeeded(load, got);
    let connections = &load.connections;
    assert_eq!(connections.retried, connections.reconnects);
    if spec.keep_alive {
        // All but the first of each connection.
        assert!((got - CONNECTIONS..=got).contains(&connections.retried));
        assert_eq!(connections.opened, CONNECTIONS + connections.reconnects);
    } else {
        assert_eq!(connections.retried, 0);
    }
    assert_eq!(load.bytes.received, got * OK.len() as u64);
}

#[test]
fn a_close_that_is_not_announced() {
    each(|| always(OK, false), |_| {}, sent_again);
}

/// Ends a connection so that the other side is told of an error.
fn reset(stream: &mut TcpStream) -> bool {
    let linger = Some(Duration::ZERO);
    rustix::net::sockopt::set_socket_linger(&*stream, linger).unwrap();
    false
}

#[test]
fn a_reset_behind_the_answer() {
    let server = || {
        Server::start(|_, stream| {
            let _ = stream.write_all(OK);
            reset(stream)
        })
    };
    each(server, |_| {}, sent_again);
}

#[test]
fn a_reset_instead_of_an_answer() {
    for begun in [
        b"".as_slice(),
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12345",
        // To the end of a connection that has none.
        b"HTTP/1.1 200 OK\r\n\r\nhello",
    ] {
        let server = || {
            Server::start(move |number, stream| {
                if number == 1 {
                    return stream.write_all(OK).is_ok();
                }
                let _ = stream.write_all(begun);
                reset(stream)
            })
        };
        each(
            server,
            |_| {},
            |_, load, got| failed(load, got, ErrorKind::Reset),
        );
    }
}

#[test]
fn two_answers_to_each_request() {
    each(
        || {
            after_first(
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                true,
            )
        },
        |_| {},
        |_, load, got| failed(load, got, ErrorKind::UnaskedBytes),
    );
}

#[test]
fn a_second_answer_that_comes_later() {
    for spec in loads() {
        let server = twice();
        let control = Control::new(2, Cancel::new(), |_, _| {});
        let load = load_with(server.address, &spec, &control);
        // An answer to nothing is nobody's success. It fails the request that is next on its connection, which this server
        // then does not read any more, or which is not even written.
        let got = if spec.keep_alive {
            server.requests.load(Ordering::Relaxed) - 1
        } else {
            got(&server, &load)
        };
        let (sent, failed) = (load.counts.sent, load.counts.failed);
        assert!(load.counts.succeeded <= got, "{got}: {load:?}");
        assert_eq!(load.counts.succeeded + failed, sent, "{load:?}");
        assert!(got <= sent && sent - got <= failed, "{got}: {load:?}");
        let unasked = load.errors.get(&ErrorKind::UnaskedBytes).copied();
        assert_eq!(unasked.unwrap_or(0), failed, "{load:?}");
        if spec.keep_alive {
            assert!(failed + load.connections.surplus > 0, "{load:?}");
        } else {
            // A connection of its own is closed behind the first answer; a second one fails it only where both were there.
            assert_eq!(got, sent, "{load:?}");
        }
    }
}

#[test]
fn no_answer_at_all() {
    let server = || Server::start(|number, stream| number > 1 || stream.write_all(OK).is_ok());
    let hasty = |spec: &mut LoadSpec| {
        spec.timeout = Duration::from_millis(200);
        if let Amount::Requests(total) = &mut spec.amount {
            *total = 8;
        }
    };
    each(server, hasty, |_, load, got| {
        failed(load, got, ErrorKind::Timeout);
        assert_eq!(load.counts.timed_out, got);
        assert_eq!(load.bytes.received, 0);
        // Each took the time that it was given, less what connecting took of it.
        let mean = load.service_failed.as_ref().unwrap().mean_ns.unwrap();
        assert!(mean >= 100e6, "{mean}");
    });
}

#[test]
fn head_with_a_content_length() {
    let bytes: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n";
    each(
        || always(bytes, true),
        |spec| spec.request.method = "HEAD".to_owned(),
        |spec, load, got| {
            succeeded(load, got);
            kept(spec, load, got);
            assert_eq!(load.bytes.received, got * bytes.len() as u64);
            assert_eq!(load.bytes.body, Some(0));
        },
    );
}

#[test]
fn a_closed_port() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for spec in loads() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let target = Target::new(address, address.to_string(), false).unwrap();
        let job = Job::new(&spec, &Fill::default(), &target).unwrap();
        let once = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
            stream.write_all(OK).unwrap();
        });
        let verified = runtime.block_on(verify(&job, &target)).unwrap();
        once.join().unwrap();
        // From here on nobody listens.
        let refused = runtime.block_on(verify(&job, &target)).unwrap_err();
        assert!(matches!(refused, VerifyError::Connect(..)), "{refused}");
        let control = Control::new(2, Cancel::new(), |_, _| {});
        let load = run(&job, &verified, &target, &control).unwrap();
        load.counts.check().unwrap();
        failed(&load, load.counts.sent, ErrorKind::ConnectRefused);
        match spec.amount {
            Amount::Requests(total) => assert_eq!(load.counts.sent, total),
            // It holds back: four connections, and at least 10, 20, 40 and 80 ms between their attempts.
            Amount::Duration(_) => assert!((4..=4 * 5).contains(&load.counts.sent), "{load:?}"),
        }
        assert_eq!((load.bytes.sent, load.connections.opened), (0, 0));
        assert!(load.statuses.is_empty());
    }
}
