//! `hotlap serve` as people start it: the real binary, real sockets, real processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Long enough for the slowest machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(20);

struct Server {
    child: Child,
    address: SocketAddr,
    _stderr: BufReader<ChildStderr>,
}

impl Server {
    fn start(flags: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hotlap"))
            .arg("serve")
            .args(flags)
            .env_remove("PORT")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .unwrap_or_else(|| panic!("it printed {line:?}"))
            .parse()
            .unwrap();
        Self {
            child,
            address,
            _stderr: stderr,
        }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn get(&self, path: &str, headers: &str) -> (String, Vec<u8>) {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{headers}\r\n"
        ))
    }

    fn ask(&self, request: &str) -> (String, Vec<u8>) {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let end = all.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(all[..end].to_vec()).unwrap();
        (head.to_ascii_lowercase(), all[end + 4..].to_vec())
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn signal(&self, signal: rustix::process::Signal) {
        send(self.pid(), signal);
    }

    fn ended(&mut self) -> ExitStatus {
        eventually("the server ends", || self.child.try_wait().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Asks again until there is an answer; a machine that is too slow fails with words.
fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: not in {PATIENCE:?}");
        std::thread::yield_now();
    }
}

fn children(pid: u32) -> BTreeSet<u32> {
    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
        .unwrap_or_default()
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

/// Whether the process is no more; one that only waits to be reaped has ended.
fn is_gone(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| {
        stat.rsplit(") ").next().unwrap().starts_with('Z')
    })
}

/// CPU time in user mode, in ticks.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1;
    fields.split_whitespace().nth(11).unwrap().parse().unwrap()
}

fn rss_bytes(pid: u32) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as u64
}

#[test]
fn the_body_has_the_size_that_was_asked_for_and_is_json() {
    let server = Server::start(&["--body-bytes", "10KiB"]);
    let (head, body) = server.get("/", "Accept-Encoding: gzip\r\n");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert!(!head.contains("content-encoding"), "{head}");
    assert!(head.contains("content-length: 10240"), "{head}");
    serde_json::from_slice::<serde_json::Value>(&body).unwrap();
    assert_eq!(server.get("/health", "").1, b"ok");
    assert!(server.get("/none", "").0.starts_with("http/1.1 404"));
}

#[test]
fn gzip_is_there_for_those_who_accept_it() {
    let server = Server::start(&["--gzip", "--body-bytes", "20480"]);
    let (head, packed) = server.get("/", "Accept-Encoding: br, gzip;q=0.8\r\n");
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(head.contains("vary: accept-encoding"), "{head}");
    assert!(packed.len() < 10_000, "{} bytes", packed.len());
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice())
        .read_to_end(&mut unpacked)
        .unwrap();
    for headers in ["", "Accept-Encoding: gzip;q=0\r\n"] {
        let (head, plain) = server.get("/", headers);
        assert!(!head.contains("content-encoding"), "{head}");
        assert!(head.contains("vary: accept-encoding"), "{head}");
        assert_eq!(plain, unpacked);
    }
}

#[test]
fn it_counts_what_it_answered() {
    let server = Server::start(&[]);
    let mut stream = server.connect();
    for _ in 0..7 {
        stream
            .write_all(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc")
            .unwrap();
    }
    stream
        .write_all(b"GET /health HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert_eq!(server.get("/count", "").1, b"8");
    assert_eq!(server.get("/count", "").1, b"8");
}

#[test]
fn a_delay_is_waited_before_each_answer() {
    let server = Server::start(&["--delay", "60ms", "--body-bytes", "2"]);
    let begun = Instant::now();
    assert_eq!(server.get("/", "").1, b"[]");
    assert!(begun.elapsed() >= Duration::from_millis(60));
}

#[test]
fn a_leak_stays_in_memory() {
    const EACH: u64 = 1 << 20;
    let server = Server::start(&["--leak-bytes-per-request", "1MiB"]);
    server.get("/health", "");
    let before = rss_bytes(server.pid());
    for _ in 0..32 {
        server.get("/health", "");
    }
    let grown = rss_bytes(server.pid()) - before;
    assert!(
        (31 * EACH..40 * EACH).contains(&grown),
        "it grew by {grown} bytes"
    );
}

#[test]
fn hashes_are_work_and_change_no_answer() {
    let server = Server::start(&["--hashes", "100", "--body-bytes", "64KiB"]);
    let plain = Server::start(&["--body-bytes", "64KiB"]);
    assert_eq!(server.get("/", "").1, plain.get("/", "").1);
    // 200 MB of SHA-256 take longer than a few ticks of 10 ms on any machine.
    for _ in 0..30 {
        server.get("/", "");
    }
    assert!(cpu_ticks(server.pid()) >= 3, "it took no time");
}

#[test]
fn workers_are_processes_and_all_of_them_answer() {
    let server = Server::start(&["--workers", "3"]);
    assert_eq!(children(server.pid()).len(), 3);
    // Each process counts for itself, and the kernel deals connections out: after
    // enough of them the three counts differ.
    let all = eventually("all workers answer", || {
        server.get("/health", "");
        let counts: BTreeSet<_> = (0..50).map(|_| server.get("/count", "").1).collect();
        (counts.len() == 3).then_some(counts)
    });
    assert_eq!(all.len(), 3);
}

#[test]
fn a_worker_that_dies_is_started_again() {
    let server = Server::start(&["--workers", "2"]);
    let before = children(server.pid());
    let victim = *before.first().unwrap();
    send(victim, rustix::process::Signal::KILL);
    eventually("two workers again", || {
        let now = children(server.pid());
        (now.len() == 2 && !now.contains(&victim)).then_some(())
    });
    for _ in 0..20 {
        assert_eq!(server.get("/health", "").1, b"ok");
    }
}

#[test]
fn workers_do_not_outlive_a_master_that_is_killed() {
    let mut server = Server::start(&["--workers", "3"]);
    let workers = children(server.pid());
    assert_eq!(workers.len(), 3);
    // Kept open: a connection must not keep a worker alive.
    let _idle = server.connect();
    server.signal(rustix::process::Signal::KILL);
    server.ended();
    for worker in workers {
        eventually("a worker ends", || is_gone(worker).then_some(()));
    }
    assert!(TcpStream::connect(server.address).is_err());
}

#[test]
fn sigterm_ends_it_with_0_though_connections_are_open() {
    for flags in [
        &["--workers", "1"][..],
        &["--workers", "2"],
        &["--null"],
        &["--null", "--workers", "2"],
    ] {
        let mut server = Server::start(flags);
        let workers = children(server.pid());
        let mut idle = server.connect();
        idle.write_all(b"GET / HTTP/1.1\r\nHost: t\r\n\r\n")
            .unwrap();
        assert!(idle.read(&mut [0; 64]).unwrap() > 0);
        server.signal(rustix::process::Signal::TERM);
        assert_eq!(server.ended().code(), Some(0), "{flags:?}");
        assert!(workers.into_iter().all(is_gone), "{flags:?}");
    }
}

#[test]
fn a_request_in_flight_is_answered_before_the_end() {
    let mut server = Server::start(&["--delay", "200ms", "--body-bytes", "2"]);
    let mut stream = server.connect();
    stream
        .write_all(
            b"GET / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
        )
        .unwrap();
    // The interim answer proves that the request has been taken.
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    stream.write_all(b"x").unwrap();
    server.signal(rustix::process::Signal::TERM);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("\r\n\r\n[]"), "{rest}");
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn a_port_in_use_is_refused_with_4_also_by_workers() {
    let first = Server::start(&["--workers", "2"]);
    let port = first.address.port().to_string();
    for workers in ["1", "2"] {
        let refused = Command::new(env!("CARGO_BIN_EXE_hotlap"))
            .args(["serve", "--port", &port, "--workers", workers])
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(4));
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains("in use"), "{said}");
    }
}

#[test]
fn options_that_mean_nothing_together_are_a_bad_command_line() {
    for flags in [&["--null", "--gzip"][..], &["--workers", "0"]] {
        let refused = Command::new(env!("CARGO_BIN_EXE_hotlap"))
            .arg("serve")
            .args(flags)
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(2));
    }
    let refused = Command::new(env!("CARGO_BIN_EXE_hotlap"))
        .arg("serve")
        .env("PORT", "http")
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("PORT"));
}

#[test]
fn the_null_server_answers_pipelined_requests_one_by_one() {
    let server = Server::start(&["--null"]);
    let mut stream = server.connect();
    let request = b"GET /x HTTP/1.1\r\nHost: t\r\n\r\n".repeat(999);
    stream.write_all(&request).unwrap();
    stream
        .write_all(b"GET /x HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert_eq!(all.matches("HTTP/1.1 200 OK").count(), 1000);
    let (head, body) = server.get("/", "");
    assert!(head.contains("content-length: 2"), "{head}");
    assert_eq!(body, b"ok");
}
