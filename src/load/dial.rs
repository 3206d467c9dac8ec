//! Opening connections without waiting for them. Where every request has a connection of its own, local ports may run out; on
//! loopback there are other source addresses then, each with ports of its own.

use crate::spec::Address;
use rustix::io::Errno;
use rustix::net::sockopt::{set_tcp_congestion, set_tcp_nodelay, socket_error};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect as connect_to,
    getpeername, getsockname, ipproto, socket_with,
};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpStream;

/// Source addresses beside the usual one: 127.0.0.2 and those that follow it.
const MORE_SOURCES: u8 = 16;
/// Until a Unix-domain socket that had no room for a connection is tried again.
pub(super) const ROOM_PAUSE: Duration = Duration::from_millis(1);

/// Opens a connection for requests that are written in one piece, and waits for it.
pub(super) async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    refuse_oneself(&stream)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Whether a connection that was begun is there.
pub(super) fn established(socket: impl AsFd) -> io::Result<()> {
    socket_error(&socket)??;
    refuse_oneself(socket)
}

/// The kernel may give a closed port of the ephemeral range to the connecting
/// socket itself, which then talks to nobody but itself.
fn refuse_oneself(socket: impl AsFd) -> io::Result<()> {
    if Some(getsockname(&socket)?) == getpeername(&socket)? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(())
}

/// Begins connections to one address.
pub(super) struct Dialer {
    address: Address,
    /// How many more source addresses there are.
    more: u8,
    /// The one in use: 0 is the usual one. It is kept until its ports have run out, since to find that out takes long.
    source: u8,
}

impl Dialer {
    /// A dialer that takes other source addresses, where `many` connections are to be opened to loopback.
    pub(super) fn new(address: impl Into<Address>, many: bool) -> Self {
        let address = address.into();
        let loopback = matches!(
            &address,
            Address::Ip(SocketAddr::V4(v4)) if v4.ip().is_loopback()
        );
        Self {
            address,
            more: if many && loopback { MORE_SOURCES } else { 0 },
            source: 0,
        }
    }

    /// Where the connections lead.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Begins a connection. That no source address has a port left is `EADDRNOTAVAIL`; that a Unix-domain socket has
    /// no room for another one at the moment is `EAGAIN`.
    pub(super) fn begin(&mut self) -> io::Result<OwnedFd> {
        for _ in 0..self.more {
            match self.attempt() {
                Err(Errno::ADDRNOTAVAIL) => self.source = (self.source + 1) % (self.more + 1),
                begun => return Ok(begun?),
            }
        }
        Ok(self.attempt()?)
    }

    fn attempt(&self) -> Result<OwnedFd, Errno> {
        match &self.address {
            Address::Ip(address) => self.over_tcp(*address),
            Address::Unix(path) => over_unix(path),
        }
    }

    fn over_tcp(&self, address: SocketAddr) -> Result<OwnedFd, Errno> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        set_tcp_nodelay(&socket, true)?;
        if address.ip().is_loopback() {
            // There is no path that could be crowded. Where another one is the default, such as bbr with its timer for
            // each send, this one saves CPU; every kernel has it and lets everybody use it.
            let _ = set_tcp_congestion(&socket, "reno");
        }
        if self.source > 0 {
            let source = Ipv4Addr::new(127, 0, 0, 1 + self.source);
            // The kernel says in its own way that an address has no port left.
            bind(&socket, &SocketAddrV4::new(source, 0)).map_err(|error| match error {
                Errno::ADDRINUSE => Errno::ADDRNOTAVAIL,
                other => other,
            })?;
        }
        match connect_to(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error),
        }
    }
}

/// Such a connection is there at once, or not at all.
fn over_unix(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect_to(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, TcpListener};

    #[test]
    fn other_sources_are_of_loopback_and_for_many_connections_only() {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 80));
        assert_eq!(Dialer::new(loopback, true).more, MORE_SOURCES);
        assert_eq!(Dialer::new(loopback, false).more, 0);
        for other in ["10.0.0.1:80", "[::1]:80"] {
            assert_eq!(
                Dialer::new(other.parse::<SocketAddr>().unwrap(), true).more,
                0
            );
        }
    }

    #[test]
    fn every_source_reaches_the_server() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut dialer = Dialer::new(listener.local_addr().unwrap(), true);
        for source in 0..=MORE_SOURCES {
            dialer.source = source;
            let socket = dialer.begin().unwrap();
            let (_, peer) = listener.accept().unwrap();
            assert_eq!(peer.ip(), IpAddr::from([127, 0, 0, 1 + source]));
            established(&socket).unwrap();
        }
    }
}
