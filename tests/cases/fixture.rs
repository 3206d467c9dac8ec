//! A server that misbehaves as its environment tells it. It is this test program itself, started
//! again with the name of one ignored test, so that nothing else has to be built.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A good answer.
pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The same for whoever speaks HTTP/1.0 and wants to be told that the connection stays.
pub(crate) const KEPT: &str =
    "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok";

/// An answer with this status.
pub(crate) fn status(code: u16) -> String {
    format!("HTTP/1.1 {code} Some Reason\r\nContent-Length: 2\r\n\r\nno")
}

/// What the server does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Behaviour {
    vars: Vec<(String, String)>,
}

impl Behaviour {
    /// Answers each request well, and counts them.
    pub(crate) fn good() -> Self {
        Self::default()
    }

    /// Answers each request with these bytes.
    pub(crate) fn answers(bytes: &str) -> Self {
        Self::default().with("FX_ANSWER", &bytes)
    }

    fn with(mut self, name: &str, value: &dyn ToString) -> Self {
        self.vars.push((name.to_owned(), value.to_string()));
        self
    }

    /// From this request on, counted from 1, the answer is another; an empty one never comes.
    pub(crate) fn from(self, request: u64, bytes: &str) -> Self {
        self.with("FX_FROM", &request).with("FX_OTHER", &bytes)
    }

    /// Before this request the answer is the usual one again.
    pub(crate) fn until(self, request: u64) -> Self {
        self.with("FX_UNTIL", &request)
    }

    /// Closes the connection after each answer that is another.
    pub(crate) fn breaking(self) -> Self {
        self.with("FX_BREAK", &1)
    }

    /// Closes these connections, counted from 1, as soon as anything came.
    pub(crate) fn hanging_up(self, from: u64, until: u64) -> Self {
        self.with("FX_DEAF_FROM", &from)
            .with("FX_DEAF_UNTIL", &until)
    }

    /// Closes connections whose client wants it, or does not say in HTTP/1.0 that it should stay.
    pub(crate) fn polite(self) -> Self {
        self.with("FX_POLITE", &1)
    }

    /// Writes the number of connections so far into this file.
    pub(crate) fn counting_connections_in(self, file: &str) -> Self {
        self.with("FX_CONNECTIONS", &file)
    }

    /// Adds its process to this file when it starts.
    pub(crate) fn starting_in(self, file: &str) -> Self {
        self.with("FX_STARTS", &file)
    }

    /// Adds each request that is not as an earlier one to this file, with an empty byte behind it.
    pub(crate) fn recording_in(self, file: &str) -> Self {
        self.with("FX_RECORD", &file)
    }

    /// Every so many requests the answer is another; an empty one never comes.
    pub(crate) fn every(self, requests: u64, bytes: &str) -> Self {
        self.with("FX_EVERY", &requests).with("FX_OTHER", &bytes)
    }

    /// Closes the connection after each answer.
    pub(crate) fn closing(self) -> Self {
        self.with("FX_CLOSE", &1)
    }

    /// Ends itself at this request: an exit code, or `abort`.
    pub(crate) fn ends_at(self, request: u64, how: &str) -> Self {
        self.with("FX_END_AT", &request).with("FX_END", &how)
    }

    /// Touches so much memory before it listens.
    pub(crate) fn holding(self, bytes: u64) -> Self {
        self.with("FX_HOLD", &bytes)
    }

    /// Keeps another MiB after every so many requests.
    pub(crate) fn leaking_every(self, requests: u64) -> Self {
        self.with("FX_LEAK_EVERY", &requests)
    }

    /// Listens only after a while.
    pub(crate) fn listening_after(self, time: Duration) -> Self {
        self.with("FX_WAIT_MS", &time.as_millis())
    }

    /// Listens there and not on 127.0.0.1.
    pub(crate) fn listening_on(self, address: &str) -> Self {
        self.with("FX_ADDRESS", &address)
    }

    /// Writes the number of requests so far into this file.
    pub(crate) fn counting_in(self, file: &str) -> Self {
        self.with("FX_COUNT", &file)
    }

    /// Takes so long for each answer.
    pub(crate) fn taking(self, time: Duration) -> Self {
        self.with("FX_TAKE_MS", &time.as_millis())
    }

    /// Takes so long for each of its first answers.
    pub(crate) fn slow_until(self, request: u64, time: Duration) -> Self {
        self.with("FX_SLOW_UNTIL", &request)
            .with("FX_SLOW_MS", &time.as_millis())
    }

    /// Grows slower and slower: after this time since its first request it takes twice as long, then five times, ten times.
    pub(crate) fn slowing_by(self, time: Duration) -> Self {
        self.with("FX_SLOWING_MS", &time.as_millis())
    }

    pub(crate) fn env(&self) -> Vec<(String, String)> {
        let mut all = self.vars.clone();
        all.push(("FX".to_owned(), "1".to_owned()));
        all
    }
}

/// The command line that starts it.
pub(crate) fn command() -> Vec<String> {
    let this = std::env::current_exe().unwrap().display().to_string();
    [
        this.as_str(),
        "--ignored",
        "--exact",
        "fixture::server",
        "--test-threads=1",
        "--nocapture",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn var(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn number(name: &str) -> Option<u64> {
    var(name)?.parse().ok()
}

struct Server {
    answer: String,
    other: String,
    from: Option<u64>,
    until: Option<u64>,
    every: Option<u64>,
    close: bool,
    breaks: bool,
    polite: bool,
    end_at: Option<u64>,
    take: Option<u64>,
    slow_until: Option<u64>,
    slow: Option<u64>,
    slowing: Option<u64>,
    first: OnceLock<Instant>,
    count: Option<std::fs::File>,
    record: Option<Mutex<(std::fs::File, HashSet<Vec<u8>>)>>,
    requests: AtomicU64,
    leak_every: Option<u64>,
    kept: Mutex<Vec<Vec<u8>>>,
}

/// Serves for ever; a test only in name.
#[test]
#[ignore = "a server that other tests start"]
fn server() {
    if var("FX").is_none() {
        return;
    }
    let held = vec![1u8; number("FX_HOLD").unwrap_or(0) as usize];
    if let Some(wait) = number("FX_WAIT_MS") {
        std::thread::sleep(Duration::from_millis(wait));
    }
    let address = var("FX_ADDRESS").unwrap_or_else(|| "127.0.0.1".to_owned());
    let port: u16 = var("PORT").unwrap().parse().unwrap();
    let listener = TcpListener::bind((address.as_str(), port)).unwrap();
    if let Some(file) = var("FX_STARTS") {
        let mut file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(file)
            .unwrap();
        file.write_all(format!("{}\n", std::process::id()).as_bytes())
            .unwrap();
    }
    let connections = var("FX_CONNECTIONS").map(|file| std::fs::File::create(file).unwrap());
    let deaf = number("FX_DEAF_FROM").unwrap_or(u64::MAX)..number("FX_DEAF_UNTIL").unwrap_or(0);
    let server = Arc::new(Server {
        answer: var("FX_ANSWER").unwrap_or_else(|| OK.to_owned()),
        other: var("FX_OTHER").unwrap_or_default(),
        from: number("FX_FROM"),
        until: number("FX_UNTIL"),
        every: number("FX_EVERY"),
        close: var("FX_CLOSE").is_some(),
        breaks: var("FX_BREAK").is_some(),
        polite: var("FX_POLITE").is_some(),
        end_at: number("FX_END_AT"),
        take: number("FX_TAKE_MS"),
        slow_until: number("FX_SLOW_UNTIL"),
        slow: number("FX_SLOW_MS"),
        slowing: number("FX_SLOWING_MS"),
        first: OnceLock::new(),
        count: var("FX_COUNT").map(|file| std::fs::File::create(file).unwrap()),
        record: var("FX_RECORD")
            .map(|file| Mutex::new((std::fs::File::create(file).unwrap(), HashSet::new()))),
        requests: AtomicU64::new(0),
        leak_every: number("FX_LEAK_EVERY"),
        kept: Mutex::default(),
    });
    for (stream, number) in listener.incoming().flatten().zip(1..) {
        if let Some(file) = &connections {
            write_number(file, number);
        }
        let hangs_up = deaf.contains(&number);
        let server = Arc::clone(&server);
        std::thread::spawn(move || {
            if hangs_up {
                hang_up(stream);
            } else {
                server.serve(stream);
            }
        });
    }
    drop(held);
}

/// Closes a connection after the first bytes, all of them read, so that it is not reset.
fn hang_up(mut stream: TcpStream) {
    let _ = stream.read(&mut [0; 4096]);
}

/// Writes a number over the one that is there.
fn write_number(file: &std::fs::File, number: u64) {
    use std::os::unix::fs::FileExt as _;
    file.write_all_at(format!("{number:>20}").as_bytes(), 0)
        .unwrap();
}

/// The first whole request, taken out of what has come.
fn taken(have: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = have.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&have[..end]).to_ascii_lowercase();
    let length = head
        .split_once("content-length:")
        .and_then(|(_, rest)| rest.split("\r\n").next()?.trim().parse().ok())
        .unwrap_or(0);
    (have.len() >= end + length).then(|| have.drain(..end + length).collect())
}

impl Server {
    fn serve(&self, mut stream: TcpStream) {
        stream.set_nodelay(true).unwrap();
        let mut buffer = [0; 4096];
        let mut have = Vec::new();
        loop {
            while let Some(request) = taken(&mut have) {
                if !self.answer(&mut stream, &request) {
                    return;
                }
            }
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(more) => have.extend_from_slice(&buffer[..more]),
            }
        }
    }

    fn record(&self, request: &[u8]) {
        let Some(record) = &self.record else { return };
        let mut record = record.lock().unwrap();
        if record.1.insert(request.to_vec()) {
            record.0.write_all(&[request, b"\0"].concat()).unwrap();
        }
    }

    /// Whether this client wants the connection to be closed.
    fn wants_close(&self, request: &str) -> bool {
        let has = |text: &str| request.contains(text);
        self.polite
            && (has("connection: close") || (has(" http/1.0") && !has("connection: keep-alive")))
    }

    #[expect(clippy::print_stdout, reason = "a server's last words, for its log")]
    /// Answers one request; false where the connection is to be closed.
    fn answer(&self, stream: &mut TcpStream, request: &[u8]) -> bool {
        self.record(request);
        let request = String::from_utf8_lossy(request);
        let target = request.split(' ').nth(1).unwrap_or("");
        let number = {
            // One at a time, or a slow thread would write its lower number over a higher one.
            static COUNTING: Mutex<()> = Mutex::new(());
            let _turn = COUNTING.lock().unwrap();
            let number = self.requests.fetch_add(1, Ordering::SeqCst) + 1;
            if let Some(file) = &self.count {
                write_number(file, number);
            }
            number
        };
        if self.end_at == Some(number) {
            println!("the end has come at request {number}");
            match var("FX_END").unwrap().parse() {
                Ok(code) => std::process::exit(code),
                Err(_) => std::process::abort(),
            }
        }
        if self
            .leak_every
            .is_some_and(|every| number.is_multiple_of(every))
        {
            self.kept.lock().unwrap().push(vec![1; 1 << 20]);
        }
        let slow = self.slow_until.filter(|until| number <= *until);
        if let Some(take) = slow.and(self.slow).or(self.take) {
            std::thread::sleep(Duration::from_millis(take));
        }
        if let Some(slowing) = self.slowing {
            let times = self.first.get_or_init(Instant::now).elapsed().as_secs_f64() * 1000.0
                / slowing as f64;
            std::thread::sleep(Duration::from_secs_f64(0.001 * (1.0 + times * times)));
        }
        let within = self.until.is_none_or(|until| number < until);
        let other = self.from.is_some_and(|from| number >= from && within)
            || self.every.is_some_and(|every| number.is_multiple_of(every));
        let bytes = if other { &self.other } else { &self.answer };
        if bytes.is_empty() {
            // Never answered, and the connection stays open as long as the client leaves it so.
            return true;
        }
        let mut bytes = bytes
            .replace("TARGET", target)
            .replace("LENGTH", &target.len().to_string());
        let leaves = self.wants_close(&request.to_ascii_lowercase());
        if leaves {
            bytes = bytes.replace("Connection: keep-alive", "Connection: close");
        }
        let closes = self.close || leaves || (other && self.breaks);
        stream.write_all(bytes.as_bytes()).is_ok() && !closes
    }
}
