//! Listening sockets. A server alone has one; workers have one each, on the same
//! port by `SO_REUSEPORT`, so that the kernel deals connections out evenly. The
//! master keeps them all: what waits in the queue of a worker that died is served
//! by its successor.

use super::ServeError;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};
use std::net::{IpAddr, SocketAddr, TcpListener};

/// Connections that may wait to be accepted; the kernel caps it at `somaxconn`.
const BACKLOG: i32 = 4096;

/// The socket of a server without workers.
pub(super) fn alone(address: IpAddr, port: u16) -> Result<TcpListener, ServeError> {
    open(SocketAddr::new(address, port), false)
}

/// One socket for each worker, all on the same port.
pub(super) fn shared(
    address: IpAddr,
    port: u16,
    count: u32,
) -> Result<Vec<TcpListener>, ServeError> {
    // SO_REUSEPORT would quietly join a server that a forgotten run left on the
    // port, and the two would share the requests: a plain socket finds it first.
    if port != 0 {
        drop(open(SocketAddr::new(address, port), false)?);
    }
    let first = open(SocketAddr::new(address, port), true)?;
    let bound = first
        .local_addr()
        .map_err(ServeError::doing("cannot read the listening address"))?;
    let mut all = vec![first];
    for _ in 1..count {
        all.push(open(bound, true)?);
    }
    Ok(all)
}

fn open(address: SocketAddr, reuse_port: bool) -> Result<TcpListener, ServeError> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let opened = || {
        // Without CLOEXEC every worker would inherit the sockets of all the others.
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        if reuse_port {
            sockopt::set_socket_reuseport(&socket, true)?;
        }
        bind(&socket, &address)?;
        listen(&socket, BACKLOG)?;
        Ok(TcpListener::from(socket))
    };
    opened().map_err(|error: rustix::io::Errno| ServeError::Listen {
        address,
        source: error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn workers_share_one_port() {
        let all = shared(LOOPBACK, 0, 3).unwrap();
        let ports: std::collections::BTreeSet<_> = all
            .iter()
            .map(|one| one.local_addr().unwrap().port())
            .collect();
        assert_eq!((all.len(), ports.len()), (3, 1));
    }

    #[test]
    fn a_port_with_another_server_is_refused_even_if_it_would_share() {
        let left_over = shared(LOOPBACK, 0, 1).unwrap();
        let port = left_over[0].local_addr().unwrap().port();
        let error = shared(LOOPBACK, port, 2).unwrap_err().to_string();
        assert!(error.contains("in use"), "{error}");
        assert!(alone(LOOPBACK, port).is_err());
    }
}
