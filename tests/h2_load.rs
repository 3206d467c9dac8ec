//! The load generator over HTTP/2 against servers that are made of frames, and misbehave on purpose: what each does, what
//! has to be counted, and that the server's own count agrees.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use hotlap::load::{Cancel, Control, Job, LoadPhase, Target, VerifyError, run, unasked, verify};
use hotlap::record::{ErrorKind, Http2, Load};
use hotlap::spec::{Amount, Fill, Http, LoadSpec, Text};
use hotlap::stats::validity;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// `:status: 200` and `:status: 404` of the static table (RFC 7541, appendix A).
const OK: &[u8] = &[0x88];
const NOT_FOUND: &[u8] = &[0x8d];
/// `content-length: 10`, a literal whose name is the 28th of that table.
const TEN_BYTES: &[u8] = &[0x0f, 0x0d, 2, b'1', b'0'];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
    out
}

/// A whole response on a stream.
fn response(stream: u32, head: &[u8], body: &[u8]) -> Vec<u8> {
    let mut out = frame(HEADERS, END_HEADERS, stream, head);
    out.extend(frame(DATA, END_STREAM, stream, body));
    out
}

fn ok(stream: u32) -> Vec<u8> {
    response(stream, OK, b"ok")
}

/// A request as a server sees it.
#[derive(Clone, Copy)]
struct Seen {
    /// From 1, of all requests.
    number: u64,
    /// From 1, of those on its connection.
    on_connection: u64,
    /// Its stream.
    stream: u32,
}

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    connections: AtomicU64,
    resets: AtomicU64,
    open: AtomicU64,
    ended: AtomicBool,
}

/// What a server does with a request; none closes the connection.
type Answer = dyn Fn(Seen) -> Option<Vec<u8>> + Send + Sync;

struct Server {
    address: SocketAddr,
    counts: Arc<Counts>,
}

impl Server {
    /// A server with these settings, as pairs of identifier and value.
    fn with(
        settings: &[(u16, u32)],
        answer: impl Fn(Seen) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let mut payload = Vec::new();
        for (identifier, value) in settings {
            payload.extend(identifier.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        let hello = frame(SETTINGS, 0, 0, &payload);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            counts: Arc::default(),
        };
        let counts = Arc::clone(&server.counts);
        let answer: Arc<Answer> = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if counts.ended.load(Relaxed) {
                    return;
                }
                let (answer, counts, hello) =
                    (Arc::clone(&answer), Arc::clone(&counts), hello.clone());
                let Ok(stream) = stream else { continue };
                counts.connections.fetch_add(1, Relaxed);
                counts.open.fetch_add(1, Relaxed);
                thread::spawn(move || {
                    let _ = serve(stream, &hello, &*answer, &counts);
                    counts.open.fetch_sub(1, Relaxed);
                });
            }
        });
        server
    }

    fn start(answer: impl Fn(Seen) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self::with(&[], answer)
    }

    /// The first request gets a good answer, so that the load is begun at all.
    fn after_first(answer: impl Fn(Seen) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self::start(move |seen| match seen.number {
            1 => Some(ok(seen.stream)),
            _ => answer(seen),
        })
    }

    fn requests(&self) -> u64 {
        self.counts.requests.load(Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.counts.ended.store(true, Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(
    mut socket: TcpStream,
    hello: &[u8],
    answer: &Answer,
    counts: &Counts,
) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let mut preface = [0; PREFACE.len()];
    socket.read_exact(&mut preface)?;
    assert_eq!(preface, PREFACE);
    socket.write_all(hello)?;
    let mut on_connection = 0;
    loop {
        let mut head = [0; 9];
        socket.read_exact(&mut head)?;
        let size = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut payload = vec![0; size as usize];
        socket.read_exact(&mut payload)?;
        let (kind, flags) = (head[3], head[4]);
        if kind == DATA && size > 0 {
            // What was read may be sent again, on the connection and on a stream that goes on.
            socket.write_all(&frame(WINDOW_UPDATE, 0, 0, &size.to_be_bytes()))?;
            if flags & END_STREAM == 0 {
                socket.write_all(&frame(WINDOW_UPDATE, 0, stream, &size.to_be_bytes()))?;
            }
        }
        let answered = match kind {
            SETTINGS if flags & ACK == 0 => Some(frame(SETTINGS, ACK, 0, &[])),
            PING if flags & ACK == 0 => Some(frame(PING, ACK, 0, &payload)),
            RST_STREAM => {
                counts.resets.fetch_add(1, Relaxed);
                None
            }
            HEADERS | DATA if flags & END_STREAM != 0 => {
                on_connection += 1;
                let number = counts.requests.fetch_add(1, Relaxed) + 1;
                let seen = Seen {
                    number,
                    on_connection,
                    stream,
                };
                let Some(bytes) = answer(seen) else {
                    return Ok(());
                };
                Some(bytes)
            }
            _ => None,
        };
        if let Some(bytes) = answered {
            socket.write_all(&bytes)?;
        }
    }
}

fn spec(amount: Amount) -> LoadSpec {
    LoadSpec {
        connections: 3,
        streams: 4,
        http: Http::Two,
        amount,
        warmup: Duration::ZERO,
        timeout: Duration::from_secs(10),
        ..LoadSpec::default()
    }
}

fn requests(total: u64) -> LoadSpec {
    spec(Amount::Requests(total))
}

fn job(address: SocketAddr, spec: &LoadSpec) -> (Job, Target) {
    let target = Target::new(address, address.to_string(), false).unwrap();
    let fill = Fill {
        port: address.port(),
        cpus: 1,
        ..Fill::default()
    };
    (Job::new(spec, &fill, &target).unwrap(), target)
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

fn load_with(address: SocketAddr, spec: &LoadSpec, control: &Control) -> Load {
    let (job, target) = job(address, spec);
    let verified = block_on(verify(&job, &target)).unwrap();
    assert_eq!(block_on(unasked(&job, &target)).unwrap(), 0);
    let load = run(&job, &verified, &target, control).unwrap();
    load.counts.check().unwrap();
    assert_eq!(load.errors.values().sum::<u64>(), load.counts.errors());
    assert!(load.errors.keys().eq(load.error_examples.keys()));
    load
}

fn load(server: &Server, spec: &LoadSpec) -> Load {
    load_with(
        server.address,
        spec,
        &Control::new(2, Cancel::new(), |_, _| {}),
    )
}

/// That all failed in one way, but for `good`, and that the server saw each once.
fn only(kind: ErrorKind, server: &Server, load: &Load, good: u64) -> String {
    let failed = load.counts.sent - good;
    assert_eq!(load.counts.succeeded, good, "{load:?}");
    assert_eq!(load.errors, [(kind, failed)].into(), "{load:?}");
    assert_eq!(server.requests(), load.counts.sent + 1, "{load:?}");
    load.error_examples[&kind].clone()
}

#[test]
fn a_load_by_number_sends_exactly_so_many() {
    for total in [1, 11, 12, 2000] {
        let server = Server::start(|seen| Some(ok(seen.stream)));
        let spec = requests(total);
        let load = load(&server, &spec);
        assert_eq!(load.counts.succeeded, total);
        assert_eq!(server.requests(), total + 1);
        assert_eq!(load.statuses, [(200, total)].into());
        assert_eq!(load.bytes.body, Some(2 * total));
        // A head of one byte and a body of two in two frames.
        assert!(load.bytes.received >= 21 * total, "{load:?}");
        assert!(load.bytes.sent >= 10 * total, "{load:?}");
        assert_eq!((load.connections.wanted, load.connections.opened), (3, 3));
        assert_eq!(load.connections.reconnects, 0);
        let agreed = Http2 {
            streams: 4,
            streams_allowed: None,
        };
        assert_eq!(load.http2, Some(agreed));
        assert_eq!(load.connect.as_ref().unwrap().count, 3);
        assert_eq!(validity(&load, &spec, 0.0), [""; 0]);
    }
}

#[test]
fn a_load_by_time_counts_all_that_it_began_and_is_warmed_up_on_the_same_connections() {
    let server = Server::start(|seen| Some(ok(seen.stream)));
    let spec = LoadSpec {
        warmup: Duration::from_millis(100),
        ..spec(Amount::Duration(Duration::from_millis(300)))
    };
    let (tell, phases) = mpsc::channel();
    let control = Control::new(2, Cancel::new(), move |phase, _| tell.send(phase).unwrap());
    let load = load_with(server.address, &spec, &control);
    let all = [
        LoadPhase::WarmUp,
        LoadPhase::Measure,
        LoadPhase::Drain,
        LoadPhase::Done,
    ];
    assert_eq!(phases.try_iter().collect::<Vec<_>>(), all);
    assert_eq!(load.counts.succeeded, load.counts.sent);
    assert!(load.warmup_requests > 0);
    let seen = server.requests();
    assert_eq!(seen, load.counts.sent + load.warmup_requests + 1);
    // One was the verification's.
    assert_eq!(server.counts.connections.load(Relaxed), 4);
    assert_eq!(validity(&load, &spec, 0.0), [""; 0]);
    assert_eq!(control.progress().succeeded(), load.counts.succeeded);
}

#[test]
fn a_request_is_sent_as_it_is_written() {
    let server = Server::start(|seen| Some(ok(seen.stream)));
    let mut spec = requests(50);
    spec.request.method = "POST".to_owned();
    spec.request.body = Some(Text::literal("x".repeat(100_000)));
    spec.request.headers = vec![("X-Test".to_owned(), Text::literal("1"))];
    let load = load(&server, &spec);
    assert_eq!(load.counts.succeeded, 50, "{load:?}");
    assert!(load.bytes.sent > 50 * 100_000, "{load:?}");
    assert_eq!(server.requests(), 51);
}

#[test]
fn another_status_is_a_failure() {
    let server = Server::after_first(|seen| Some(response(seen.stream, NOT_FOUND, b"no")));
    let load = load(&server, &requests(40));
    let told = only(ErrorKind::Status, &server, &load, 0);
    assert_eq!(told, "the status is 404, expected 200");
    assert_eq!(load.statuses, [(404, 40)].into());
}

#[test]
fn another_body_is_a_failure_where_one_is_expected() {
    let server = Server::start(|seen| {
        let body: &[u8] = if seen.number % 4 == 0 { b"oh" } else { b"ok" };
        Some(response(seen.stream, OK, body))
    });
    let mut spec = requests(40);
    spec.expect.body = Some("ok".to_owned());
    let load = load(&server, &spec);
    only(ErrorKind::Body, &server, &load, 30);
}

#[test]
fn a_body_that_is_shorter_than_it_says_is_a_failure() {
    let head: Vec<u8> = [OK, TEN_BYTES].concat();
    let server = Server::after_first(move |seen| Some(response(seen.stream, &head, b"ok")));
    let load = load(&server, &requests(40));
    only(ErrorKind::ShortBody, &server, &load, 0);
    assert_eq!(load.connections.reconnects, 0);
}

#[test]
fn a_connection_that_closes_within_a_body_gives_a_short_one() {
    let server = Server::after_first(|seen| {
        // The head and a piece of the body; what comes after it ends the connection.
        (seen.on_connection == 1).then(|| {
            let mut out = frame(HEADERS, END_HEADERS, seen.stream, OK);
            out.extend(frame(DATA, 0, seen.stream, b"o"));
            out
        })
    });
    let spec = LoadSpec {
        connections: 1,
        streams: 2,
        ..requests(2)
    };
    let load = load(&server, &spec);
    assert_eq!(load.counts.failed, 2, "{load:?}");
    assert_eq!(load.errors[&ErrorKind::ShortBody], 1, "{load:?}");
}

#[test]
fn trailers_are_read_and_count_for_nothing() {
    let server = Server::start(|seen| {
        let mut out = frame(HEADERS, END_HEADERS, seen.stream, OK);
        out.extend(frame(DATA, 0, seen.stream, b"ok"));
        let trailer = [&[0x00, 1, b'x', 1], b"1".as_slice()].concat();
        out.extend(frame(
            HEADERS,
            END_HEADERS | END_STREAM,
            seen.stream,
            &trailer,
        ));
        Some(out)
    });
    let load = load(&server, &requests(40));
    assert_eq!(load.counts.succeeded, 40, "{load:?}");
    assert_eq!(load.bytes.body, Some(80));
}

#[test]
fn streams_that_are_reset_fail_and_the_connection_goes_on() {
    for (code, words) in [(2u32, "INTERNAL_ERROR"), (7, "REFUSED_STREAM")] {
        let server = Server::start(move |seen| {
            Some(if seen.number % 4 == 0 {
                frame(RST_STREAM, 0, seen.stream, &code.to_be_bytes())
            } else {
                ok(seen.stream)
            })
        });
        let load = load(&server, &requests(100));
        let told = only(ErrorKind::StreamReset, &server, &load, 75);
        assert!(told.contains(words), "{told}");
        assert_eq!(load.connections.opened, 3);
        assert_eq!(load.connections.retried, 0);
    }
}

#[test]
fn what_is_never_answered_times_out_and_its_stream_is_reset() {
    let server = Server::after_first(|seen| {
        Some(if seen.number % 10 == 0 {
            Vec::new()
        } else {
            ok(seen.stream)
        })
    });
    let spec = LoadSpec {
        timeout: Duration::from_millis(150),
        ..requests(100)
    };
    let load = load(&server, &spec);
    let told = only(ErrorKind::Timeout, &server, &load, 90);
    assert_eq!(told, "no whole response within 150 ms");
    assert_eq!(load.counts.timed_out, 10);
    assert_eq!(
        (load.connections.opened, load.connections.reconnects),
        (3, 0)
    );
    wait_for(|| server.counts.open.load(Relaxed) == 0);
    assert_eq!(server.counts.resets.load(Relaxed), 10);
}

/// Waits for what another thread is about to do.
fn wait_for(holds: impl Fn() -> bool) {
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(std::time::Instant::now() < until, "it did not happen");
        thread::yield_now();
    }
}

#[test]
fn after_goaway_what_was_not_processed_is_sent_again() {
    const EACH: u64 = 25;
    let unprocessed = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&unprocessed);
    let server = Server::start(move |seen| match seen.on_connection {
        1..EACH => Some(ok(seen.stream)),
        EACH => {
            let mut last = seen.stream.to_be_bytes().to_vec();
            last.extend(0u32.to_be_bytes());
            let mut out = frame(GOAWAY, 0, 0, &last);
            out.extend(ok(seen.stream));
            Some(out)
        }
        // Above the last stream that it processes.
        _ => {
            counted.fetch_add(1, Relaxed);
            Some(Vec::new())
        }
    });
    let spec = requests(1000);
    let load = load(&server, &spec);
    assert_eq!(load.counts.succeeded, 1000, "{load:?}");
    let unprocessed = unprocessed.load(Relaxed);
    assert_eq!(server.requests() - unprocessed, 1001);
    // Some had not been written when the connection's end was known.
    assert!(load.connections.retried >= unprocessed, "{load:?}");
    let anew = load.connections.reconnects;
    assert!(
        (1000 / EACH - 3..=1000 / EACH + 3).contains(&anew),
        "{load:?}"
    );
    assert!(load.connections.closed_by_server >= anew, "{load:?}");
    assert_eq!(load.connections.opened, anew + 3);
    assert_eq!(validity(&load, &spec, 0.0), [""; 0]);
}

#[test]
fn a_server_that_processes_nothing_any_more_is_not_asked_for_ever() {
    let server = Server::after_first(|_| Some(frame(GOAWAY, 0, 0, &[0; 8])));
    let spec = LoadSpec {
        connections: 1,
        streams: 1,
        ..requests(5)
    };
    let load = load(&server, &spec);
    assert_eq!(load.errors, [(ErrorKind::GoAway, 5)].into(), "{load:?}");
    assert_eq!(load.connections.retried, 5 * 16);
    assert_eq!(server.requests(), 1 + 5 * 17);
}

#[test]
fn connections_that_carry_few_requests_fail_none_of_many() {
    // Those with the streams 1 to 13 are processed, of 40 that come at once.
    let server = Server::start(|seen| match seen.on_connection {
        1..7 => Some(ok(seen.stream)),
        7 => {
            let mut last = seen.stream.to_be_bytes().to_vec();
            last.extend(0u32.to_be_bytes());
            let mut out = frame(GOAWAY, 0, 0, &last);
            out.extend(ok(seen.stream));
            Some(out)
        }
        _ => Some(Vec::new()),
    });
    let spec = LoadSpec {
        connections: 1,
        streams: 40,
        ..requests(400)
    };
    let load = load(&server, &spec);
    assert_eq!(load.counts.succeeded, 400, "{load:?}");
}

#[test]
fn a_stream_that_is_reset_without_an_error_before_its_end_gives_a_short_body() {
    for head in [[OK, TEN_BYTES].concat(), OK.to_vec()] {
        let server = Server::after_first(move |seen| {
            let mut out = frame(HEADERS, END_HEADERS, seen.stream, &head);
            out.extend(frame(DATA, 0, seen.stream, b"ok"));
            out.extend(frame(RST_STREAM, 0, seen.stream, &[0; 4]));
            Some(out)
        });
        let load = load(&server, &requests(40));
        only(ErrorKind::ShortBody, &server, &load, 0);
        // The connection is as good as before.
        assert_eq!(
            (load.connections.opened, load.connections.reconnects),
            (3, 0)
        );
    }
    // And before the load.
    let server = Server::start(|seen| {
        let mut out = frame(HEADERS, END_HEADERS, seen.stream, OK);
        out.extend(frame(RST_STREAM, 0, seen.stream, &[0; 4]));
        Some(out)
    });
    let (job, target) = job(server.address, &requests(1));
    let error = block_on(verify(&job, &target)).unwrap_err().to_string();
    assert!(error.contains("body"), "{error}");
}

#[test]
fn a_reset_without_an_error_behind_a_whole_response_is_none() {
    let server = Server::start(|seen| {
        let mut out = ok(seen.stream);
        out.extend(frame(RST_STREAM, 0, seen.stream, &[0; 4]));
        Some(out)
    });
    let load = load(&server, &requests(40));
    assert_eq!(load.counts.succeeded, 40, "{load:?}");
}

#[test]
fn a_connection_that_breaks_fails_what_is_on_it() {
    let server = Server::start(|seen| (seen.on_connection <= 10).then(|| ok(seen.stream)));
    let spec = LoadSpec {
        connections: 1,
        streams: 1,
        ..requests(100)
    };
    let load = load(&server, &spec);
    // As over HTTP/1.1, where nothing has come since the request is sent once more.
    assert_eq!(load.counts.succeeded, 100, "{load:?}");
    assert_eq!(load.connections.retried, 9, "{load:?}");
    assert_eq!(load.connections.reconnects, 9);
}

#[test]
fn a_request_that_must_not_come_twice_fails_with_its_connection() {
    let server = Server::start(|seen| (seen.on_connection <= 10).then(|| ok(seen.stream)));
    let mut spec = LoadSpec {
        connections: 1,
        streams: 1,
        ..requests(100)
    };
    spec.request.method = "POST".to_owned();
    let load = load(&server, &spec);
    // Each connection answers ten and drops one.
    assert_eq!(load.connections.retried, 0, "{load:?}");
    assert_eq!(load.counts.errors(), 9, "{load:?}");
    assert_eq!(load.counts.succeeded, 91);
}

#[test]
fn fewer_streams_than_asked_for_are_enough() {
    // MAX_CONCURRENT_STREAMS is 1.
    let server = Server::with(&[(3, 1)], |seen| Some(ok(seen.stream)));
    let spec = LoadSpec {
        streams: 8,
        ..requests(500)
    };
    let load = load(&server, &spec);
    assert_eq!(load.counts.succeeded, 500, "{load:?}");
    assert_eq!(load.http2.unwrap().fewer(), Some(1));
    assert_eq!(validity(&load, &spec, 0.0), [""; 0]);
}

#[test]
fn a_load_that_is_stopped_leaves_nothing() {
    let server = Server::after_first(|seen| {
        Some(if seen.number < 100 {
            ok(seen.stream)
        } else {
            Vec::new()
        })
    });
    let cancel = Cancel::new();
    let control = Control::new(2, cancel.clone(), |_, _| {});
    let progress = control.progress();
    let stopper = thread::spawn(move || {
        wait_for(|| progress.succeeded() >= 98);
        cancel.cancel();
    });
    let spec = spec(Amount::Duration(Duration::from_mins(10)));
    let load = load_with(server.address, &spec, &control);
    stopper.join().unwrap();
    assert_eq!(load.counts.succeeded, 98, "{load:?}");
    assert_eq!(load.counts.unfinished, load.counts.sent - 98);
    assert!((1..=12).contains(&load.counts.unfinished), "{load:?}");
    wait_for(|| server.counts.open.load(Relaxed) == 0);
}

#[test]
fn nobody_who_listens_is_told_for_each_request() {
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = closed.local_addr().unwrap();
    let good = Server::start(|seen| Some(ok(seen.stream)));
    let spec = requests(30);
    let (job, _) = job(good.address, &spec);
    let (_, target) = self::job(address, &spec);
    let verified = block_on(verify(
        &job,
        &Target::new(good.address, "a", false).unwrap(),
    ))
    .unwrap();
    drop(closed);
    let control = Control::new(2, Cancel::new(), |_, _| {});
    let load = run(&job, &verified, &target, &control).unwrap();
    load.counts.check().unwrap();
    assert_eq!(load.errors, [(ErrorKind::ConnectRefused, 30)].into());
}

#[test]
fn a_server_of_http_1_is_told_before_the_load() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let _ = socket.read(&mut [0; 1024]);
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        // A close with bytes unread would be a reset, which may overtake the answer.
        while !matches!(socket.read(&mut [0; 1024]), Ok(0) | Err(_)) {}
    });
    let (job, target) = job(address, &requests(1));
    let refused = block_on(verify(&job, &target)).unwrap_err();
    assert!(matches!(refused, VerifyError::Exchange(_)), "{refused:?}");
    let told = refused.to_string();
    assert!(
        told.contains("does not speak HTTP/2: it answers in HTTP/1"),
        "{told}"
    );
    server.join().unwrap();
}
