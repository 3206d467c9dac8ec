//! The load generator against servers that misbehave on purpose: what each
//! does, what has to be counted, and that the server's own count agrees.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

#[path = "load_matrix/rows.rs"]
mod rows;

use hotlap::load::{Cancel, Control, Job, LoadPhase, Target, TargetError, run, verify};
use hotlap::record::{ErrorKind, Load};
use hotlap::spec::{Address, Amount, Expect, Fill, LoadSpec, MixRequest, Request, Text};
use hotlap::stats::validity;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What a server does with the n-th request, from 1; false closes the connection.
type Answer = dyn Fn(u64, &mut TcpStream) -> bool + Send + Sync;

struct Server {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Server {
    fn start(answer: impl Fn(u64, &mut TcpStream) -> bool + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            requests: Arc::default(),
            ended: Arc::default(),
        };
        let (requests, ended) = (Arc::clone(&server.requests), Arc::clone(&server.ended));
        let answer: Arc<Answer> = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let (answer, requests) = (Arc::clone(&answer), Arc::clone(&requests));
                let Ok(stream) = stream else { continue };
                thread::spawn(move || serve(stream, &*answer, &requests));
            }
        });
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(mut stream: TcpStream, answer: &Answer, requests: &AtomicU64) {
    let _ = stream.set_nodelay(true);
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let end = loop {
            if let Some(at) = head.windows(4).position(|end| end == b"\r\n\r\n") {
                break at + 4;
            }
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(size) => head.extend_from_slice(&buffer[..size]),
            }
        };
        // What lies behind is the next request, of a client that was answered too early.
        head.drain(..end);
        let number = requests.fetch_add(1, Ordering::Relaxed) + 1;
        if !answer(number, &mut stream) {
            return;
        }
    }
}

/// Writes the same bytes to every request.
fn always(bytes: &'static [u8], keep: bool) -> Server {
    Server::start(move |_, stream| stream.write_all(bytes).is_ok() && keep)
}

/// The same, but the first request gets a good answer, so that the load is begun at all.
fn after_first(bytes: &'static [u8], keep: bool) -> Server {
    Server::start(move |number, stream| match number {
        1 => stream.write_all(OK).is_ok(),
        _ => stream.write_all(bytes).is_ok() && keep,
    })
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn spec(amount: Amount) -> LoadSpec {
    LoadSpec {
        connections: 4,
        amount,
        warmup: Duration::ZERO,
        timeout: Duration::from_secs(10),
        ..LoadSpec::default()
    }
}

fn requests(total: u64) -> LoadSpec {
    spec(Amount::Requests(total))
}

fn load_with(server: SocketAddr, spec: &LoadSpec, control: &Control) -> Load {
    let target = Target::new(server, server.to_string(), false).unwrap();
    let fill = Fill {
        port: server.port(),
        cpus: 1,
        ..Fill::default()
    };
    load_of(&target, &fill, spec, control)
}

fn load_of(target: &Target, fill: &Fill, spec: &LoadSpec, control: &Control) -> Load {
    let job = Job::new(spec, fill, target).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let verified = runtime.block_on(verify(&job, target)).unwrap();
    let load = run(&job, &verified, target, control).unwrap();
    load.counts.check().unwrap();
    assert_eq!(load.errors.values().sum::<u64>(), load.counts.errors());
    assert!(load.errors.keys().eq(load.error_examples.keys()));
    assert_eq!(load.first_error_ns.is_some(), load.counts.errors() > 0);
    load
}

fn load(server: &Server, spec: &LoadSpec) -> Load {
    let before = server.requests.load(Ordering::Relaxed);
    let load = load_with(
        server.address,
        spec,
        &Control::new(2, Cancel::new(), |_, _| {}),
    );
    // One request was the verification's.
    if load.counts.unfinished == 0 && !load.errors.contains_key(&ErrorKind::ConnectRefused) {
        let counted = server.requests.load(Ordering::Relaxed) - before;
        assert_eq!(
            counted,
            load.counts.sent + load.warmup_requests + 1,
            "{load:?}"
        );
    }
    load
}

/// A mix of these paths with these weights.
fn mix(parts: &[(&str, u32)]) -> Vec<MixRequest> {
    parts
        .iter()
        .map(|(path, weight)| MixRequest {
            request: Request {
                path: Text::from(*path),
                ..Request::default()
            },
            path_file: None,
            weight: *weight,
            expect: Expect::default(),
        })
        .collect()
}

fn all_succeed(load: &Load, total: u64) {
    assert_eq!(load.counts.succeeded, total, "{load:?}");
    assert_eq!(load.counts.sent, total);
    assert_eq!(load.service.as_ref().unwrap().count, total);
    assert_eq!(load.service_failed, None);
}

fn all_fail(load: &Load, total: u64, kind: ErrorKind) {
    assert_eq!(load.counts.succeeded, 0, "{load:?}");
    assert_eq!(load.counts.sent, total);
    assert_eq!(load.errors.get(&kind), Some(&total), "{load:?}");
    assert_eq!(load.service, None);
}

#[test]
fn exactly_so_many_requests_are_sent() {
    for (total, connections, threads) in [(1, 4, 2), (3, 64, 2), (200, 4, 2), (101, 7, 3)] {
        let server = always(OK, true);
        let mut spec = requests(total);
        spec.connections = connections;
        let control = Control::new(threads, Cancel::new(), |_, _| {});
        let load = load_with(server.address, &spec, &control);
        all_succeed(&load, total);
        assert_eq!(load.counts.planned, total);
        assert_eq!(load.connections.reconnects, 0);
        assert_eq!(server.requests.load(Ordering::Relaxed), total + 1);
        assert_eq!(load.per_second.iter().sum::<u64>(), total);
        assert_eq!(load.bytes.body, Some(2 * total));
        assert_eq!(load.bytes.received, OK.len() as u64 * total);
        assert_eq!(control.progress().succeeded(), total);
        assert_eq!(control.progress().phase(), Some(LoadPhase::Done));
    }
}

#[test]
fn good_responses_of_every_framing_succeed() {
    let chunked: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n\
        5\r\nhello\r\n5;e=1\r\nworld\r\n0\r\nX: 1\r\n\r\n";
    let interim: &[u8] =
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for (bytes, body) in [(chunked, 10), (interim, 2), (OK, 2)] {
        let server = always(bytes, true);
        let load = load(&server, &requests(200));
        all_succeed(&load, 200);
        assert_eq!(load.connections.reconnects, 0);
        assert_eq!(load.bytes.body, Some(200 * body));
        assert_eq!(load.bytes.body_decoded, Some(body));
        assert!(load.statuses.keys().eq([&200]));
    }
}

#[test]
fn bodiless_responses_end_with_their_head() {
    for (status, bytes) in [
        (
            304,
            b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n".as_slice(),
        ),
        (204, b"HTTP/1.1 204 No Content\r\n\r\n"),
    ] {
        let server = always(bytes, true);
        let mut spec = requests(50);
        spec.expect.status = status;
        all_succeed(&load(&server, &spec), 50);
    }
    let server = always(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", true);
    let mut spec = requests(50);
    spec.request.method = "HEAD".to_owned();
    all_succeed(&load(&server, &spec), 50);
}

#[test]
fn announced_closes_are_successes_and_reconnects() {
    for bytes in [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello".as_slice(),
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
    ] {
        let server = always(bytes, false);
        let load = load(&server, &requests(60));
        all_succeed(&load, 60);
        assert_eq!(load.connections.closed_by_server, 60);
        // Those that were opened before are not reconnects.
        assert_eq!(load.connections.opened, load.connections.reconnects + 4);
        assert!((56..=60).contains(&load.connections.reconnects), "{load:?}");
        assert_eq!(load.bytes.body, Some(300));
    }
}

#[test]
fn a_close_behind_a_response_is_met_with_one_more_try() {
    let server = always(OK, false);
    let load = load(&server, &requests(60));
    all_succeed(&load, 60);
    assert!(load.connections.retried >= 50, "{load:?}");
    assert_eq!(load.connections.retried, load.connections.reconnects);
}

#[test]
fn a_connection_for_each_request() {
    let server = always(OK, true);
    let mut spec = requests(40);
    spec.keep_alive = false;
    let load = load(&server, &spec);
    all_succeed(&load, 40);
    assert_eq!(load.connections.closed_by_server, 0);
    assert_eq!(load.connections.reconnects, 0);
    assert!(load.connections.opened >= 40);
}

#[test]
fn what_is_not_http_is_an_error_of_its_kind() {
    for (bytes, keep, kind) in [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12345".as_slice(), false, ErrorKind::ShortBody),
        (b"garbage\r\n\r\n", true, ErrorKind::BadHead),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", true, ErrorKind::BadHead),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", true, ErrorKind::BadChunk),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true, ErrorKind::UnaskedBytes),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", true, ErrorKind::Status),
    ] {
        let server = after_first(bytes, keep);
        let load = load(&server, &requests(40));
        all_fail(&load, 40, kind);
    }
    // Fresh connections that are closed at once: nobody may take that for an idle close.
    let server = after_first(b"", false);
    all_fail(&load(&server, &requests(40)), 40, ErrorKind::ClosedEarly);
}

#[test]
fn a_reset_is_an_error() {
    let server = Server::start(|number, stream| {
        if number == 1 {
            return stream.write_all(OK).is_ok();
        }
        let linger = Some(Duration::ZERO);
        rustix::net::sockopt::set_socket_linger(&*stream, linger).unwrap();
        false
    });
    all_fail(&load(&server, &requests(40)), 40, ErrorKind::Reset);
}

#[test]
fn no_answer_is_a_timeout() {
    let server = Server::start(|number, stream| number > 1 || stream.write_all(OK).is_ok());
    let mut spec = spec(Amount::Duration(Duration::from_millis(150)));
    spec.timeout = Duration::from_millis(100);
    let load = load(&server, &spec);
    assert!(load.counts.timed_out >= 4, "{load:?}");
    assert_eq!(load.counts.timed_out, load.counts.sent);
    assert_eq!(
        load.errors.keys().copied().collect::<Vec<_>>(),
        [ErrorKind::Timeout]
    );
}

#[test]
fn a_body_without_end_is_a_timeout_and_keeps_nobody_waiting() {
    let server = Server::start(|number, stream| {
        if number != 2 {
            return stream.write_all(OK).is_ok();
        }
        let piece = vec![b'x'; 64 * 1024];
        let mut written = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while written.is_ok() {
            written = stream.write_all(&piece);
        }
        false
    });
    let mut spec = requests(50);
    spec.timeout = Duration::from_millis(300);
    let control = Control::new(1, Cancel::new(), |_, _| {});
    let load = load_with(server.address, &spec, &control);
    assert_eq!(load.counts.timed_out, 1, "{load:?}");
    assert_eq!(load.counts.succeeded, 49);
    // The three other connections of the thread did not wait for it.
    let longest = load.service.unwrap().max_ns.unwrap();
    assert!(longest < 300_000_000, "{longest}");
}

#[test]
fn a_server_that_is_gone_refuses_every_request() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let once = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
        stream.write_all(OK).unwrap();
        drop(listener);
    });
    let control = Control::new(2, Cancel::new(), |_, _| {});
    let load = load_with(address, &requests(20), &control);
    once.join().unwrap();
    assert_eq!(load.counts.succeeded, 0);
    assert_eq!(load.counts.failed, 20);
    assert!(
        load.errors.contains_key(&ErrorKind::ConnectRefused),
        "{load:?}"
    );
}

#[test]
fn failures_stay_out_of_the_latency_of_successes() {
    let server = Server::start(|number, stream| {
        let bytes = if number <= 101 {
            OK
        } else {
            b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\noh".as_slice()
        };
        stream.write_all(bytes).is_ok()
    });
    let load = load(&server, &requests(150));
    assert_eq!(load.counts.succeeded, 100);
    assert_eq!(load.errors[&ErrorKind::Status], 50);
    assert_eq!((load.statuses[&200], load.statuses[&500]), (100, 50));
    assert_eq!(load.service.unwrap().count, 100);
    assert_eq!(load.service_failed.unwrap().count, 50);
    assert!(load.error_examples[&ErrorKind::Status].contains("500"));
}

#[test]
fn a_load_by_time_obeys_littles_law() {
    // What the machine does else is small beside the time that an answer takes.
    let server = Server::start(|_, stream| {
        thread::sleep(Duration::from_millis(5));
        stream.write_all(OK).is_ok()
    });
    let phases = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&phases);
    let control = Control::new(2, Cancel::new(), move |phase, at| {
        seen.lock().unwrap().push((phase, at));
    });
    let mut spec = spec(Amount::Duration(Duration::from_millis(300)));
    spec.warmup = Duration::from_millis(50);
    let load = load_with(server.address, &spec, &control);
    assert!(load.warmup_requests > 0);
    assert_eq!(load.counts.succeeded, load.counts.planned);
    assert!(load.window_ns >= 300_000_000);
    let served = server.requests.load(Ordering::Relaxed);
    assert_eq!(served, load.counts.sent + load.warmup_requests + 1);
    let busy = load.counts.succeeded as f64 * load.service.unwrap().mean_ns.unwrap();
    let little = busy / (4.0 * load.window_ns as f64);
    assert!((0.90..=1.02).contains(&little), "{little}");
    let phases = phases.lock().unwrap();
    let names: Vec<_> = phases.iter().map(|(phase, _)| *phase).collect();
    assert_eq!(
        names,
        [
            LoadPhase::WarmUp,
            LoadPhase::Measure,
            LoadPhase::Drain,
            LoadPhase::Done
        ]
    );
    assert!(phases[2].1 - phases[1].1 >= Duration::from_millis(300));
}

/// A server that answers twice, the second time when the first answer has long been read.
fn twice() -> Server {
    Server::start(|number, stream| {
        if stream.write_all(OK).is_err() {
            return false;
        }
        if number > 1 {
            thread::sleep(Duration::from_millis(2));
            return stream.write_all(OK).is_ok();
        }
        true
    })
}

#[test]
fn answers_that_come_twice_do_not_count_twice() {
    for work in [
        requests(200),
        spec(Amount::Duration(Duration::from_millis(300))),
    ] {
        // One each: its first answer, which is verified, comes once.
        let server = twice();
        let control = Control::new(2, Cancel::new(), |_, _| {});
        let load = load_with(server.address, &work, &control);
        let reasons = validity(&load, &work, 0.001);
        let told = |words: &str| reasons.iter().any(|reason| reason.contains(words));
        assert!(
            told("the server sends more than it is asked for")
                || told("bytes that nothing asked for"),
            "{load:?} {reasons:?}"
        );
    }
}

#[test]
fn an_honest_server_leaves_nothing_behind() {
    let server = always(OK, true);
    assert_eq!(load(&server, &requests(400)).connections.surplus, 0);
}

#[test]
fn bytes_behind_the_last_answer_are_seen() {
    let server = Server::start(|number, stream| {
        let once = stream.write_all(OK).is_ok();
        if number == 2 {
            thread::sleep(Duration::from_millis(2));
            return stream.write_all(OK).is_ok();
        }
        once
    });
    let mut one = requests(1);
    one.connections = 1;
    let load = load_with(
        server.address,
        &one,
        &Control::new(1, Cancel::new(), |_, _| {}),
    );
    assert_eq!((load.counts.succeeded, load.connections.surplus), (1, 1));
}

#[test]
fn what_hangs_when_the_load_is_stopped_is_unfinished() {
    let cancel = Cancel::new();
    let stop = cancel.clone();
    // The first was the verification's; behind the tenth, each of the four connections hangs.
    let server = Server::start(move |number, stream| {
        if number == 14 {
            stop.cancel();
        }
        number > 10 || stream.write_all(OK).is_ok()
    });
    let control = Control::new(2, cancel, |_, _| {});
    let load = load_with(server.address, &requests(1000), &control);
    assert_eq!(load.counts.succeeded, 9, "{load:?}");
    assert_eq!(load.counts.unfinished, 4);
    assert_eq!(load.counts.unsent, 1000 - 13);
    assert_eq!(load.unfinished_ages_ns.len(), 4);
    assert_eq!(load.counts.errors(), 0);
}

#[test]
fn a_response_is_known_only_where_every_byte_is_the_same() {
    let other: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno";
    let longer: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!";
    let server = Server::start(move |number, stream| match number % 5 {
        // Another body of the same size, another status, and one byte more than was asked for.
        0 => stream.write_all(other).is_ok(),
        2 => stream.write_all(longer).is_ok(),
        3 => stream
            .write_all(b"HTTP/1.1 500 OK\r\nContent-Length: 2\r\n\r\nok")
            .is_ok(),
        _ => stream.write_all(OK).is_ok(),
    });
    let mut spec = requests(500);
    // One after the other, so that each kind meets the one that was kept.
    spec.connections = 1;
    spec.expect.body = Some("ok".to_owned());
    let load = load(&server, &spec);
    assert_eq!(load.counts.succeeded, 200, "{load:?}");
    assert_eq!(load.errors[&ErrorKind::Body], 100);
    assert_eq!(load.errors[&ErrorKind::UnaskedBytes], 100);
    assert_eq!(load.errors[&ErrorKind::Status], 100);
    assert_eq!((load.statuses[&200], load.statuses[&500]), (400, 100));
    assert_eq!(load.bytes.body, Some(400));
}

#[test]
fn a_response_in_two_pieces_is_not_one_that_is_known() {
    let server = Server::start(|number, stream| {
        let (head, tail) = OK.split_at(if number % 2 == 0 { OK.len() - 1 } else { 9 });
        // The client reads between the two, or it does not: what is counted is the same.
        let first = stream.write_all(if number % 3 == 0 { OK } else { head });
        first.is_ok() && (number % 3 == 0 || stream.write_all(tail).is_ok())
    });
    let load = load(&server, &requests(300));
    all_succeed(&load, 300);
    assert_eq!(load.bytes.body, Some(600));
}

fn gzip(level: u32, body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn an_encoded_body_is_checked_decoded_however_it_was_compressed() {
    let body = "the same words again and again, ".repeat(100);
    let wrong = body.replace("again, ", "again. ");
    let answers = [
        gzip(9, body.as_bytes()),
        gzip(1, body.as_bytes()),
        gzip(9, wrong.as_bytes()),
    ];
    let server = Server::start(move |number, stream| {
        let wire = &answers[(number % 3) as usize];
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            wire.len()
        );
        stream.write_all(head.as_bytes()).is_ok() && stream.write_all(wire).is_ok()
    });
    let mut spec = requests(300);
    spec.expect.body = Some(body.clone());
    spec.expect.headers = vec![("content-encoding".to_owned(), "gzip".to_owned())];
    let load = load(&server, &spec);
    assert_eq!(load.counts.succeeded, 200, "{load:?}");
    assert_eq!(load.errors[&ErrorKind::Body], 100);
    assert_eq!(load.bytes.body_decoded, Some(body.len() as u64));
    assert!(load.bytes.body_wire.unwrap() < 200);
}

#[test]
fn a_body_that_may_vary_does() {
    let server = Server::start(|number, stream| {
        let body = format!("count: {number}");
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).is_ok()
    });
    all_succeed(&load(&server, &requests(50)), 50);
    let mut spec = requests(50);
    spec.expect.contains = Some("count: ".to_owned());
    all_succeed(&load(&server, &spec), 50);
}

#[test]
fn public_addresses_need_permission() {
    let public = SocketAddr::from(([1, 1, 1, 1], 80));
    let refused: Result<Target, TargetError> = Target::new(public, "x", false);
    assert!(refused.unwrap_err().to_string().contains("allow_public"));
    assert!(Target::new(public, "x", true).is_ok());
    for private in [
        "127.0.0.9:1",
        "10.1.2.3:1",
        "192.168.0.1:1",
        "[::1]:1",
        "[fd00::1]:1",
    ] {
        assert!(Target::new(private.parse::<SocketAddr>().unwrap(), "x", false).is_ok());
    }
}

/// A server that keeps the target of each request and answers 200, or 500 where the path begins with `/bad`, or is
/// `/turns` for the second time.
fn noting() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), all) = (stream, Arc::clone(&all)) else {
                return;
            };
            thread::spawn(move || {
                let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
                loop {
                    while let Some(at) = head.windows(4).position(|end| end == b"\r\n\r\n") {
                        let text = String::from_utf8(head.drain(..at + 4).collect()).unwrap();
                        let target = text.split(' ').nth(1).unwrap().to_owned();
                        let turned = target == "/turns" && all.lock().unwrap().contains(&target);
                        let answer = if turned || target.starts_with("/bad") {
                            b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno".as_slice()
                        } else {
                            OK
                        };
                        all.lock().unwrap().push(target);
                        if stream.write_all(answer).is_err() {
                            return;
                        }
                    }
                    match stream.read(&mut buffer) {
                        Ok(0) | Err(_) => return,
                        Ok(size) => head.extend_from_slice(&buffer[..size]),
                    }
                }
            });
        }
    });
    (address, seen)
}

fn counted(seen: &Mutex<Vec<String>>, path: &str) -> u64 {
    let seen = seen.lock().unwrap();
    seen.iter().filter(|target| *target == path).count() as u64
}

#[test]
fn a_mix_is_sent_by_its_weights_in_each_block() {
    for (threads, pipelining) in [(1, 1), (4, 1), (4, 8)] {
        let (address, seen) = noting();
        let mut spec = requests(1000);
        spec.pipelining = pipelining;
        // Blocks of ten: 7, 2 and 1.
        spec.mix = mix(&[("/a", 70), ("/b", 20), ("/c", 10)]);
        let control = Control::new(threads, Cancel::new(), |_, _| {});
        let load = load_with(address, &spec, &control);
        all_succeed(&load, 1000);
        load.check_shares().unwrap();
        for (share, expected) in load.shares.iter().zip([700u64, 200, 100]) {
            let path = share.name.strip_prefix("GET ").unwrap();
            // Each was verified once.
            assert_eq!(counted(&seen, path), share.counts.sent + 1);
            // No thread is more than a part of a block off.
            let off = share.counts.sent.abs_diff(expected);
            assert!(off <= 3 * threads as u64, "{path}: {share:?}");
            assert!(threads > 1 || off == 0, "{path}: {share:?}");
            assert_eq!(share.service.as_ref().unwrap().count, share.counts.sent);
        }
    }
}

#[test]
fn each_request_of_a_mix_has_its_own_expectation_and_row() {
    let (address, _) = noting();
    let mut spec = requests(400);
    spec.mix = mix(&[("/a", 3), ("/bad", 1)]);
    spec.mix[1].expect.status = 500;
    let control = Control::new(2, Cancel::new(), |_, _| {});
    all_succeed(&load_with(address, &spec, &control), 400);

    // Good when it is verified, and never again.
    let (address, _) = noting();
    let mut spec = requests(300);
    spec.mix = mix(&[("/a", 2), ("/turns", 1)]);
    let load = load_with(address, &spec, &Control::new(1, Cancel::new(), |_, _| {}));
    load.check_shares().unwrap();
    let failed: Vec<u64> = load.shares.iter().map(|one| one.counts.failed).collect();
    assert_eq!(failed, [0, 100], "{load:?}");
    assert_eq!(load.shares[1].errors.get(&ErrorKind::Status), Some(&100));
    assert_eq!(load.shares[1].service, None);
    let reasons = validity(&load, &spec, 0.001).join("; ");
    assert!(
        reasons.contains("of the mix failed 100 of 100 GET /turns"),
        "{reasons}"
    );
}

#[test]
fn a_counter_is_another_one_in_every_request() {
    for pipelining in [1, 4] {
        let (address, seen) = noting();
        let mut spec = requests(500);
        spec.pipelining = pipelining;
        spec.request.path = Text::from("/n/{{ counter }}?r={{ random(10, 99) }}");
        let control = Control::new(4, Cancel::new(), |_, _| {});
        all_succeed(&load_with(address, &spec, &control), 500);
        let seen = seen.lock().unwrap();
        let mut numbers: Vec<u64> = seen
            .iter()
            .map(|target| {
                let (number, chance) = target[3..].split_once("?r=").unwrap();
                assert_eq!(chance.len(), 2, "{target}");
                number.parse().unwrap()
            })
            .collect();
        numbers.sort_unstable();
        // The verification's is the first.
        assert!(numbers.iter().copied().eq(1..=501), "{numbers:?}");
        let chances: std::collections::BTreeSet<&str> =
            seen.iter().map(|t| t.split_once('=').unwrap().1).collect();
        assert!(chances.len() > 60, "{chances:?}");
    }
}

#[test]
fn the_server_sees_the_bytes_of_a_path_as_they_are_written() {
    let (address, seen) = noting();
    for path in ["/a%2Fb//c;d=1?x=%E2%82%AC&y=a+b&&z", "/%", "/?", "/..//./x"] {
        for pipelining in [1, 2] {
            let mut spec = requests(4);
            spec.pipelining = pipelining;
            spec.request.path = Text::literal(path);
            let control = Control::new(1, Cancel::new(), |_, _| {});
            all_succeed(&load_with(address, &spec, &control), 4);
        }
        assert_eq!(counted(&seen, path), 10);
    }
}

fn ahead(total: u64, pipelining: u32) -> LoadSpec {
    let mut spec = requests(total);
    spec.pipelining = pipelining;
    spec
}

#[test]
fn several_in_flight_are_answered_in_order_and_counted_exactly() {
    for (total, connections, threads, depth) in [
        (1, 4, 2, 16),
        (2000, 4, 2, 16),
        (101, 7, 3, 3),
        (5000, 1, 1, 64),
    ] {
        let server = always(OK, true);
        let mut spec = ahead(total, depth);
        spec.connections = connections;
        let control = Control::new(threads, Cancel::new(), |_, _| {});
        let load = load_with(server.address, &spec, &control);
        all_succeed(&load, total);
        assert_eq!(server.requests.load(Ordering::Relaxed), total + 1);
        assert_eq!(load.bytes.received, OK.len() as u64 * total);
        assert_eq!(load.bytes.body, Some(2 * total));
        assert_eq!((load.connections.retried, load.connections.surplus), (0, 0));
    }
}

#[test]
fn several_in_flight_really_are() {
    // Answers only when four have come.
    let waiting = AtomicU64::new(0);
    let server = Server::start(move |number, stream| {
        if number == 1 {
            return stream.write_all(OK).is_ok();
        }
        if waiting.fetch_add(1, Ordering::Relaxed) % 4 < 3 {
            return true;
        }
        stream.write_all(&OK.repeat(4)).is_ok()
    });
    let mut spec = ahead(400, 4);
    spec.connections = 1;
    let load = load(&server, &spec);
    all_succeed(&load, 400);
}

#[test]
fn a_slow_response_counts_for_the_request_that_it_answers() {
    // The first of each four is answered late, and the others at once after it.
    let server = Server::start(move |number, stream| {
        if number > 1 && number % 4 == 2 {
            thread::sleep(Duration::from_millis(50));
        }
        stream.write_all(OK).is_ok()
    });
    let mut spec = ahead(40, 4);
    spec.connections = 1;
    let load = load(&server, &spec);
    all_succeed(&load, 40);
    // Four at a time wait for one slow response: ten of them in a row, and each request for one of them at least.
    let service = load.service.unwrap();
    assert!(service.min_ns.unwrap() >= 40_000_000, "{service:?}");
    assert!(service.max_ns.unwrap() < 400_000_000, "{service:?}");
}

#[test]
fn responses_of_every_kind_may_lie_in_one_read() {
    let chunked: &[u8] =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let interim: &[u8] =
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let server = Server::start(move |number, stream| {
        let bytes = [OK, chunked, interim, OK][number as usize % 4];
        // In halves, so that reads end anywhere.
        let (first, second) = bytes.split_at(bytes.len() / 2);
        stream.write_all(first).is_ok() && stream.write_all(second).is_ok()
    });
    let load = load(&server, &ahead(3000, 8));
    all_succeed(&load, 3000);
    assert_eq!(load.bytes.body, Some(6000));
}

#[test]
fn those_behind_an_announced_close_are_sent_once_more() {
    let close: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    // Every tenth response is the last of its connection.
    let server = Server::start(move |number, stream| {
        if number.is_multiple_of(10) {
            let _ = stream.write_all(close);
            return false;
        }
        stream.write_all(OK).is_ok()
    });
    let mut spec = ahead(200, 4);
    spec.connections = 1;
    let control = Control::new(1, Cancel::new(), |_, _| {});
    let load = load_with(server.address, &spec, &control);
    all_succeed(&load, 200);
    // How many lie behind a close is a matter of time, and among 20 there are some.
    assert!(load.connections.retried > 0, "{load:?}");
    assert_eq!(load.connections.closed_by_server, 20);
    // The server answers what it reads; what lay behind a close it did not read.
    assert_eq!(server.requests.load(Ordering::Relaxed), 201);
}

#[test]
fn a_close_that_is_not_announced_is_met_with_one_more_try() {
    let server = Server::start(move |number, stream| {
        stream.write_all(OK).is_ok() && !number.is_multiple_of(10)
    });
    let mut spec = ahead(200, 4);
    spec.connections = 1;
    let control = Control::new(1, Cancel::new(), |_, _| {});
    let load = load_with(server.address, &spec, &control);
    all_succeed(&load, 200);
    assert!(load.connections.retried > 0, "{load:?}");
}

#[test]
fn what_breaks_a_connection_fails_all_that_it_carried() {
    for (bytes, kind) in [
        (b"nonsense\r\n\r\n".as_slice(), ErrorKind::BadHead),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
            ErrorKind::ShortBody,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            ErrorKind::BadChunk,
        ),
    ] {
        let server = after_first(bytes, false);
        let control = Control::new(2, Cancel::new(), |_, _| {});
        let load = load_with(server.address, &ahead(64, 4), &control);
        all_fail(&load, 64, kind);
    }
}

#[test]
fn a_wrong_response_fails_only_its_own_request() {
    let server = Server::start(|number, stream| {
        let wrong = number > 1 && number.is_multiple_of(5);
        let answer = if wrong {
            b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno".as_slice()
        } else {
            OK
        };
        stream.write_all(answer).is_ok()
    });
    let load = load(&server, &ahead(500, 8));
    assert_eq!(load.errors.get(&ErrorKind::Status), Some(&100), "{load:?}");
    assert_eq!(load.counts.succeeded, 400);
    assert_eq!(load.connections.reconnects, 0);
}

#[test]
fn two_responses_for_one_request_are_never_all_taken_for_good() {
    let server = Server::start(|number, stream| {
        let times = if number == 1 { 1 } else { 2 };
        stream.write_all(&OK.repeat(times)).is_ok()
    });
    let control = Control::new(1, Cancel::new(), |_, _| {});
    let load = load_with(server.address, &ahead(100, 4), &control);
    let unasked = load.errors.get(&ErrorKind::UnaskedBytes).copied();
    assert!(
        unasked.unwrap_or(0) + load.connections.surplus > 0,
        "{load:?}"
    );
}

#[test]
fn a_time_out_fails_what_waits_behind_it() {
    let server = Server::start(|number, stream| number > 1 || stream.write_all(OK).is_ok());
    let mut spec = ahead(12, 4);
    spec.timeout = Duration::from_millis(200);
    spec.connections = 1;
    let load = load(&server, &spec);
    assert_eq!(load.counts.timed_out, 12, "{load:?}");
}

#[test]
fn a_stopped_load_counts_all_in_flight_as_unfinished() {
    let server = Server::start(|number, stream| number > 1 || stream.write_all(OK).is_ok());
    let mut spec = ahead(1000, 4);
    spec.connections = 2;
    let cancel = Cancel::new();
    let requests = Arc::clone(&server.requests);
    let stop = cancel.clone();
    let stopper = thread::spawn(move || {
        while requests.load(Ordering::Relaxed) < 9 {
            thread::yield_now();
        }
        stop.cancel();
    });
    let load = load_with(server.address, &spec, &Control::new(2, cancel, |_, _| {}));
    stopper.join().unwrap();
    assert_eq!(load.counts.unfinished, 8, "{load:?}");
}

#[test]
fn a_dead_server_fails_what_is_ahead_too() {
    let server = Server::start(|number, stream| number == 1 && stream.write_all(OK).is_ok());
    let load = load_with(
        server.address,
        &ahead(40, 4),
        &Control::new(1, Cancel::new(), |_, _| {}),
    );
    assert_eq!(load.counts.succeeded, 0);
    assert_eq!(load.counts.failed, 40, "{load:?}");
}

#[test]
fn the_laws_hold_with_several_in_flight() {
    let server = always(OK, true);
    let mut spec = spec(Amount::Duration(Duration::from_millis(500)));
    spec.pipelining = 8;
    let load = load(&server, &spec);
    assert!(load.counts.succeeded > 100);
    assert_eq!(validity(&load, &spec, 0.001), Vec::<String>::new());
    // Without the depth the same figures would contradict each other.
    spec.pipelining = 1;
    assert!(validity(&load, &spec, 0.001)[0].contains("Little"));
}

#[test]
fn a_server_that_takes_no_more_connections_is_not_waited_for_with_each_of_them() {
    // It answers on one connection, and leaves all others to its accept queue, which is short.
    let listener = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::STREAM,
        None,
    )
    .unwrap();
    rustix::net::bind(&listener, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    rustix::net::listen(&listener, 4).unwrap();
    let listener = TcpListener::from(listener);
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(OK);
        // The queue lives as long as the test.
        thread::park();
        drop(listener);
    });
    let spec = LoadSpec {
        connections: 3200,
        amount: Amount::Requests(3200),
        timeout: Duration::from_millis(200),
        ..LoadSpec::default()
    };
    let began = std::time::Instant::now();
    let control = Control::new(1, Cancel::new(), |_, _| {});
    let load = load_with(address, &spec, &control);
    assert_eq!(load.counts.errors(), 3200);
    assert!(load.errors[&ErrorKind::ConnectTimeout] > 3000, "{load:?}");
    // 32 at a time would have been 100 times 200 ms before the load had begun.
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn a_socket_that_is_gone_before_the_load_fails_its_requests_and_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let answers = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(OK);
    });
    let target = Target::new(Address::Unix(path.clone()), "localhost", false).unwrap();
    let spec = LoadSpec {
        connections: 4,
        amount: Amount::Requests(20),
        ..LoadSpec::default()
    };
    let job = Job::new(&spec, &Fill::default(), &target).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let verified = runtime.block_on(verify(&job, &target)).unwrap();
    answers.join().unwrap();
    std::fs::remove_file(&path).unwrap();
    for stopped in [false, true] {
        let cancel = Cancel::new();
        if stopped {
            cancel.cancel();
        }
        let control = Control::new(1, cancel, |_, _| {});
        let load = run(&job, &verified, &target, &control).unwrap();
        load.counts.check().unwrap();
        assert_eq!(load.counts.errors(), if stopped { 0 } else { 20 });
    }
}

/// Reads every fifth request of a connection, and closes without a word.
fn forgetful() -> (Server, Arc<AtomicU64>) {
    let dropped = Arc::<AtomicU64>::default();
    let counts = Arc::clone(&dropped);
    let server = Server::start(move |number, stream| {
        if number > 1 && number.is_multiple_of(5) {
            counts.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        stream.write_all(OK).is_ok()
    });
    (server, dropped)
}

#[test]
fn a_request_that_must_not_come_twice_fails_where_its_answer_never_came() {
    for pipelining in [1, 3] {
        for (method, again) in [
            ("GET", true),
            ("PUT", true),
            ("POST", false),
            ("PATCH", false),
        ] {
            let (server, dropped) = forgetful();
            let mut spec = ahead(100, pipelining);
            spec.connections = 1;
            spec.request.method = method.to_owned();
            let load = load_with(
                server.address,
                &spec,
                &Control::new(1, Cancel::new(), |_, _| {}),
            );
            let dropped = dropped.load(Ordering::Relaxed);
            assert!(dropped >= 10, "{dropped}");
            if again {
                all_succeed(&load, 100);
                assert!(load.connections.retried >= dropped, "{method}: {load:?}");
            } else {
                // Those that were sent behind it went down with it.
                assert!(load.counts.errors() >= dropped, "{method}: {load:?}");
                assert_eq!(load.connections.retried, 0, "{method}: {load:?}");
            }
        }
    }
}

#[test]
fn a_socket_whose_queue_is_full_is_tried_again_after_the_whole_pause() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let listener = rustix::net::socket(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::STREAM,
        None,
    )
    .unwrap();
    let address = rustix::net::SocketAddrUnix::new(&path).unwrap();
    rustix::net::bind(&listener, &address).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let listener = UnixListener::from(listener);
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(OK);
        // The queue is full with one connection, and lives as long as the test.
        thread::park();
        drop(listener);
    });
    let spec = LoadSpec {
        connections: 5,
        amount: Amount::Duration(Duration::from_secs(1)),
        timeout: Duration::from_millis(40),
        ..LoadSpec::default()
    };
    let target = Target::new(Address::Unix(path), "localhost", false).unwrap();
    let control = Control::new(1, Cancel::new(), |_, _| {});
    let load = load_of(&target, &Fill::default(), &spec, &control);
    assert_eq!(load.counts.succeeded, 0, "{load:?}");
    // Each waits 40 ms and then 10, 20, 40, 80 and 100 ms; without pauses 25 would fit.
    let refused = load.errors[&ErrorKind::ConnectTimeout];
    assert!((8..=5 * 11).contains(&refused), "{load:?}");
}

/// Answers everything that a read has brought in one write.
fn in_one_piece(mut stream: TcpStream) {
    let mut buffer = vec![0; 1 << 16];
    let mut carried = 0;
    while let Ok(size @ 1..) = stream.read(&mut buffer[carried..]) {
        let input = &buffer[..carried + size];
        let whole = input.windows(4).filter(|four| *four == b"\r\n\r\n").count();
        let end = input.windows(4).rposition(|four| four == b"\r\n\r\n");
        let rest = end.map_or(0, |at| at + 4);
        let left = input.len() - rest;
        if stream.write_all(&OK.repeat(whole)).is_err() {
            return;
        }
        buffer.copy_within(rest..rest + left, 0);
        carried = left;
    }
}

#[test]
fn many_responses_in_one_read_are_all_looked_at_before_another_connection_has_its_turn() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || in_one_piece(stream));
        }
    });
    let spec = LoadSpec {
        connections: 3,
        pipelining: 200,
        ..requests(30_000)
    };
    let load = load_with(address, &spec, &Control::new(1, Cancel::new(), |_, _| {}));
    all_succeed(&load, 30_000);
    assert_eq!(load.connections.opened, 3, "{load:?}");
}
