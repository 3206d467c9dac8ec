//! What goes over a connection below HTTP/2: bytes, and whether the other end speaks it at all.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// The type of a SETTINGS frame, with which every server begins (RFC 9113, sections 3.4 and 6.5).
const SETTINGS: u8 = 4;

/// What came first from the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// Nothing.
    Nothing,
    /// HTTP/2.
    Http2,
    /// HTTP/1.
    Http1,
    /// Something else.
    Other,
}

/// Bytes of several connections together.
#[derive(Debug, Default)]
pub struct Traffic {
    sent: AtomicU64,
    received: AtomicU64,
}

impl Traffic {
    /// Bytes that were written to the transport, and that were read from it.
    pub fn bytes(&self) -> (u64, u64) {
        (
            self.sent.load(Ordering::Relaxed),
            self.received.load(Ordering::Relaxed),
        )
    }
}

/// Looks at what goes over one connection.
#[derive(Debug, Default)]
pub struct Meter {
    received: AtomicU64,
    all: Arc<Traffic>,
    first: AtomicU8,
    arrived: Notify,
}

impl Meter {
    /// A meter whose bytes count in `all`.
    pub fn within(all: Arc<Traffic>) -> Self {
        Self {
            all,
            ..Self::default()
        }
    }

    /// Bytes that were read from the transport.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// What came first.
    pub fn answered(&self) -> Answered {
        match self.first.load(Ordering::Relaxed) {
            0 => Answered::Nothing,
            1 => Answered::Http2,
            2 => Answered::Http1,
            _ => Answered::Other,
        }
    }

    /// Returns after the next bytes were read, or at once where some were since the last time.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    fn read(&self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let size = bytes.len() as u64;
        self.received.fetch_add(size, Ordering::Relaxed);
        self.all.received.fetch_add(size, Ordering::Relaxed);
        if self.answered() == Answered::Nothing {
            let first = match bytes {
                [_, _, _, SETTINGS, ..] => 1,
                _ if bytes.starts_with(b"HTTP/1") => 2,
                _ => 3,
            };
            self.first.store(first, Ordering::Relaxed);
        }
        self.arrived.notify_one();
    }
}

/// A stream with a meter.
#[derive(Debug)]
pub struct Metered<S> {
    stream: S,
    meter: Arc<Meter>,
}

impl<S> Metered<S> {
    /// Counts from here on.
    pub fn new(stream: S, meter: Arc<Meter>) -> Self {
        Self { stream, meter }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if polled.is_ready() {
            self.meter.read(&buffer.filled()[before..]);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.count(&polled);
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.count(&polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S> Metered<S> {
    fn count(&self, polled: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(size)) = polled {
            let sent = &self.meter.all.sent;
            sent.fetch_add(*size as u64, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_what_is_spoken() {
        let first = |bytes: &[u8]| {
            let meter = Meter::default();
            meter.read(bytes);
            meter.read(b"HTTP/1.1 200 OK");
            meter.answered()
        };
        assert_eq!(first(&[0, 0, 0, 4, 0, 0, 0, 0, 0]), Answered::Http2);
        assert_eq!(first(b"HTTP/1.1 400 Bad Request"), Answered::Http1);
        assert_eq!(first(b"SSH-2.0"), Answered::Other);
        assert_eq!(Meter::default().answered(), Answered::Nothing);
    }
}
