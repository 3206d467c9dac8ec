//! What the bytes of a connection go over: a socket, or TLS on it. Both are driven by the same edges: after an edge all
//! is read, until a read gives less than it could.

use super::job::Secure;
use crate::spec::Http;
use crate::tls;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};
use rustls::ClientConnection;
use std::fmt;
use std::io::{self, IoSlice, Read as _, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Bytes that are read at once of a connection with TLS. What they hold fits into the rest of the buffer,
/// together with a record of which a part was there already.
pub(super) const CIPHERTEXT: usize = 32 * 1024;

/// A connection's bytes.
pub(super) enum Stream {
    /// As they are.
    Plain(OwnedFd),
    /// In TLS.
    Tls(Box<Session>),
}

impl Stream {
    pub(super) fn new(socket: OwnedFd, secure: Option<&Secure>) -> Result<Self, TlsFault> {
        let Some(secure) = secure else {
            return Ok(Self::Plain(socket));
        };
        let tls = ClientConnection::new(Arc::clone(&secure.config), secure.name.clone())?;
        Ok(Self::Tls(Box::new(Session {
            socket,
            tls,
            connected: false,
            end: End::None,
            broken: None,
        })))
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(session) => &session.socket,
        }
    }

    /// Writes as much as the socket takes at once, and gives how much of it is on its way. Where `writable` is false
    /// afterwards, an edge will say when there is room again.
    #[inline]
    pub(super) fn send(&mut self, bytes: &[u8], writable: &mut bool) -> Result<usize, Errno> {
        let socket = match self {
            Self::Plain(socket) => socket,
            Self::Tls(session) => {
                let sent = session.send(bytes, writable);
                return sent.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
            }
        };
        loop {
            match send(&*socket, bytes, SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    *writable = false;
                    return Ok(0);
                }
                sent => return sent,
            }
        }
    }

    /// Reads what there is, as plain bytes at the beginning of the buffer. 0 is the end; none, nothing yet.
    #[inline]
    pub(super) fn receive(
        &mut self,
        buffer: &mut [u8],
        readable: &mut bool,
        ended: bool,
    ) -> Option<io::Result<usize>> {
        match self {
            Self::Plain(socket) => read(socket, buffer, readable, ended),
            Self::Tls(session) => session.receive(buffer, readable, ended),
        }
    }

    /// Whether it ended without TLS's word for it, so that something may be missing.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self, Self::Tls(session) if session.end == End::Cut)
    }

    /// Whether all that was taken has been sent.
    pub(super) fn is_flushed(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Tls(session) => !session.tls.wants_write(),
        }
    }

    /// Whether the socket is connected, and a handshake is under way.
    pub(super) fn is_shaking(&self) -> bool {
        matches!(self, Self::Tls(session) if session.connected)
    }

    /// Says that nothing more is sent, as far as that can be said at once.
    pub(super) fn part(self) {
        if let Self::Tls(mut session) = self
            && session.connected
        {
            session.tls.send_close_notify();
            let _ = session.flush(&mut true);
        }
    }
}

/// Why there is no TLS.
#[derive(Debug)]
pub(super) enum TlsFault {
    /// The server closed the connection before the handshake was over.
    Closed,
    /// It has not agreed to speak HTTP/2.
    OnlyHttp1,
    /// It sent something before it was asked.
    Early,
    /// The handshake was not over in time.
    Late,
    /// The connection broke.
    Io(io::Error),
    /// What the server says, or who it is.
    Tls(rustls::Error),
}

impl From<rustls::Error> for TlsFault {
    fn from(error: rustls::Error) -> Self {
        Self::Tls(error)
    }
}

impl TlsFault {
    /// What an error means that came while the handshake was waited for.
    pub(super) fn of(error: io::Error) -> Self {
        match error.downcast() {
            Ok(error) => Self::Tls(error),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Self::Closed,
            Err(error) => Self::Io(error),
        }
    }

    /// Whether the other end agreed to the version of HTTP.
    pub(super) fn unless_agreed(connection: &ClientConnection, http: Http) -> Result<(), Self> {
        if tls::speaks(connection, http) {
            Ok(())
        } else {
            Err(Self::OnlyHttp1)
        }
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the server closed the connection"),
            Self::OnlyHttp1 => f.write_str(
                "the server did not agree to speak HTTP/2, which is offered alone (ALPN)",
            ),
            Self::Early => f.write_str("the server sent something before it was asked"),
            Self::Late => f.write_str("it was not over in time"),
            Self::Io(error) => error.fmt(f),
            Self::Tls(error) => tls::explain(error).fmt(f),
        }
    }
}

/// How the other end's bytes ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// They go on.
    None,
    /// With `close_notify`.
    Told,
    /// Without.
    Cut,
}

/// TLS on a socket.
pub(super) struct Session {
    socket: OwnedFd,
    tls: ClientConnection,
    connected: bool,
    end: End,
    /// What went wrong behind bytes that were good.
    broken: Option<rustls::Error>,
}

impl Session {
    /// Goes on with the handshake, on a socket that is connected. None is more to wait for.
    pub(super) fn shake(
        &mut self,
        buffer: &mut [u8],
        edges: &mut Edges<'_>,
    ) -> Option<Result<(), TlsFault>> {
        self.connected = true;
        loop {
            if let Err(error) = self.flush(edges.writable) {
                return Some(Err(TlsFault::Io(error)));
            }
            if !self.tls.is_handshaking() {
                return Some(Ok(()));
            }
            let (plain, cipher) = parts(buffer);
            let size = match read(&self.socket, cipher, edges.readable, edges.ended)? {
                Ok(0) => return Some(Err(TlsFault::Closed)),
                Ok(size) => size,
                Err(error) => return Some(Err(TlsFault::Io(error))),
            };
            match self.decipher(&cipher[..size], plain) {
                Ok(0) if self.end != End::None => return Some(Err(TlsFault::Closed)),
                Ok(0) => {}
                Ok(_) => return Some(Err(TlsFault::Early)),
                Err(error) => {
                    // The server is told why, as far as it listens.
                    let _ = self.flush(edges.writable);
                    return Some(Err(error.into()));
                }
            }
        }
    }

    /// Reads what there is, as [`Stream::receive`]. What came of one read of the socket
    /// is always taken whole, so that nothing waits in here.
    fn receive(
        &mut self,
        buffer: &mut [u8],
        readable: &mut bool,
        ended: bool,
    ) -> Option<io::Result<usize>> {
        if let Some(error) = self.broken.take() {
            return Some(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        }
        if self.end != End::None {
            return Some(Ok(0));
        }
        loop {
            let (plain, cipher) = parts(buffer);
            let size = match read(&self.socket, cipher, readable, ended)? {
                Ok(0) => {
                    self.end = End::Cut;
                    return Some(Ok(0));
                }
                Ok(size) => size,
                Err(error) => return Some(Err(error)),
            };
            match self.decipher(&cipher[..size], plain) {
                // A part of a record, or something for TLS alone.
                Ok(0) if self.end == End::None => {}
                Ok(size) => {
                    // The end is still to be read.
                    *readable |= self.end != End::None || self.broken.is_some();
                    return Some(Ok(size));
                }
                Err(error) => {
                    return Some(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
                }
            }
        }
    }

    /// Sends bytes as far as the socket takes them, and gives how many of them are on their way.
    pub(super) fn send(&mut self, bytes: &[u8], writable: &mut bool) -> io::Result<usize> {
        let mut taken = 0;
        loop {
            taken += self.tls.writer().write(&bytes[taken..])?;
            match self.flush(writable) {
                // Some of it may be on its way; the error comes again with the next bytes.
                Err(error) if taken == 0 => return Err(error),
                flushed if flushed.is_err() || taken == bytes.len() || !*writable => {
                    return Ok(taken);
                }
                _ => {}
            }
        }
    }

    /// What the records hold.
    fn decipher(&mut self, mut cipher: &[u8], plain: &mut [u8]) -> Result<usize, rustls::Error> {
        let mut filled = 0;
        while !cipher.is_empty() {
            let taken = self
                .tls
                .read_tls(&mut cipher)
                .map_err(|error| rustls::Error::General(error.to_string()))?;
            let state = match self.tls.process_new_packets() {
                Ok(state) => state,
                Err(error) if filled > 0 => {
                    self.broken = Some(error);
                    return Ok(filled);
                }
                Err(error) => return Err(error),
            };
            let more = state.plaintext_bytes_to_read();
            let room = plain
                .get_mut(filled..filled + more)
                .ok_or_else(|| rustls::Error::General("a record is too large".to_owned()))?;
            self.tls
                .reader()
                .read_exact(room)
                .map_err(|error| rustls::Error::General(error.to_string()))?;
            filled += more;
            if state.peer_has_closed() {
                self.end = End::Told;
            }
            if taken == 0 || state.peer_has_closed() {
                break;
            }
        }
        Ok(filled)
    }

    fn flush(&mut self, writable: &mut bool) -> io::Result<()> {
        while *writable && self.tls.wants_write() {
            match self.tls.write_tls(&mut Wire(&self.socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => *writable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Reads what a socket has. 0 is the end; none, nothing yet.
#[inline]
fn read(
    socket: &OwnedFd,
    buffer: &mut [u8],
    readable: &mut bool,
    ended: bool,
) -> Option<io::Result<usize>> {
    while *readable {
        match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((size, _)) => {
                // After less than there was room for, the kernel tells of what comes, but not again of an end.
                *readable = size == buffer.len() || ended;
                return Some(Ok(size));
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => *readable = false,
            Err(error) => return Some(Err(error.into())),
        }
    }
    None
}

/// What is known of a socket's edges.
pub(super) struct Edges<'a> {
    pub(super) readable: &'a mut bool,
    pub(super) writable: &'a mut bool,
    pub(super) ended: bool,
}

/// The places for what is read of a connection with TLS: plain bytes, and those of the socket.
fn parts(buffer: &mut [u8]) -> (&mut [u8], &mut [u8]) {
    let plain = buffer.len().saturating_sub(CIPHERTEXT);
    buffer.split_at_mut(plain)
}

/// A socket that rustls writes to.
struct Wire<'a>(&'a OwnedFd);

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut nothing_beside = SendAncillaryBuffer::default();
        Ok(sendmsg(
            self.0,
            pieces,
            &mut nothing_beside,
            SendFlags::NOSIGNAL,
        )?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
