//! A server that is never the bottleneck: one thread that never sleeps, and counts.

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

/// What the answers to a path are like.
pub(crate) fn describe(path: &str) -> &'static str {
    match path {
        "k" => "of 1 KiB",
        "c" => "of 1 KiB in chunks",
        "L" => "of 100 KB",
        _ => "of 4 bytes",
    }
}

fn answer(path: &str) -> Vec<u8> {
    let size = match path {
        "k" | "c" => 1024,
        "L" => 100_000,
        _ => 4,
    };
    let body = "x".repeat(size);
    if path == "c" {
        let (first, second) = body.split_at(size / 2);
        return format!(
            "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n{0:x}\r\n{first}\r\n{0:x}\r\n{second}\r\n0\r\n\r\n",
            size / 2
        )
        .into_bytes();
    }
    // Clients that speak HTTP/1.0 must be told that the connection stays open.
    format!("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: {size}\r\n\r\n{body}")
        .into_bytes()
}

#[derive(Default)]
struct Common {
    /// Requests whose path ends with 1, and with anything else.
    counts: [AtomicU64; 2],
    ended: AtomicBool,
}

/// The server; its end is the end of its thread.
pub(crate) struct Server {
    port: u16,
    common: Arc<Common>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(path: &str, core: usize) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let common = Arc::new(Common::default());
        let (shared, answer) = (Arc::clone(&common), answer(path));
        let thread = thread::spawn(move || {
            let mut cores = CpuSet::new();
            cores.set(core);
            let _ = sched_setaffinity(None, &cores);
            serve(&listener, &answer, &shared);
        });
        Self {
            port,
            common,
            thread: Some(thread),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn counts(&self) -> [u64; 2] {
        self.common
            .counts
            .each_ref()
            .map(|count| count.load(Ordering::Relaxed))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.common.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One connection, with what of its answer is not written yet.
struct Client {
    stream: TcpStream,
    left: usize,
}

fn serve(listener: &TcpListener, answer: &[u8], common: &Common) {
    listener.set_nonblocking(true).unwrap();
    let queue = epoll::create(CreateFlags::CLOEXEC).unwrap();
    epoll::add(&queue, listener, EventData::new_u64(0), EventFlags::IN).unwrap();
    let mut clients: HashMap<u64, Client> = HashMap::new();
    let mut next = 1;
    let mut events = Vec::with_capacity(1024);
    let mut buffer = [0; 4096];
    while !common.ended.load(Ordering::Relaxed) {
        events.clear();
        let room = rustix::buffer::spare_capacity(&mut events);
        let _ = epoll::wait(&queue, room, Some(&Timespec::default()));
        for event in &events {
            let token = event.data.u64();
            if let Some(client) = clients.get_mut(&token) {
                if !client.go_on(answer, &mut buffer, common) {
                    clients.remove(&token);
                }
                continue;
            }
            while let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(true).unwrap();
                stream.set_nodelay(true).unwrap();
                let flags = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
                epoll::add(&queue, &stream, EventData::new_u64(next), flags).unwrap();
                clients.insert(next, Client { stream, left: 0 });
                next += 1;
            }
        }
    }
}

impl Client {
    /// Reads requests and writes answers; false where the connection has ended.
    fn go_on(&mut self, answer: &[u8], buffer: &mut [u8], common: &Common) -> bool {
        loop {
            while self.left > 0 {
                match self.stream.write(&answer[answer.len() - self.left..]) {
                    Ok(size) => self.left -= size,
                    Err(error) => return error.kind() == ErrorKind::WouldBlock,
                }
            }
            // A request of a load generator is small and comes in one piece.
            match self.stream.read(buffer) {
                Ok(0) => return false,
                Ok(size) => {
                    let line = buffer[..size].split(|byte| *byte == b'\r').next();
                    let version = b" HTTP/1.1".len();
                    let target = line.and_then(|line| line.get(..line.len().checked_sub(version)?));
                    let first = target.is_some_and(|target| target.ends_with(b"1"));
                    common.counts[usize::from(!first)].fetch_add(1, Ordering::Relaxed);
                    self.left = answer.len();
                    let written = self.stream.write(answer);
                    self.left -= written.unwrap_or(0);
                    // Less than there was room for is all there is; to ask once more would make this the slower end.
                    if self.left == 0 && size < buffer.len() {
                        return true;
                    }
                }
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }
}
