//! Who listens where. A port is looked at before a server starts (nobody may
//! listen there), while it is loaded (everybody who listens must be ours) and
//! after it stopped. The kernel's tables of sockets say it; nothing is guessed
//! from an answer.

use crate::process::plain;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

/// A socket of the kernel's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Socket {
    /// This side.
    pub local: SocketAddr,
    /// The other side; port 0 where there is none.
    pub remote: SocketAddr,
    /// Its inode; 0 until it is accepted.
    pub inode: u64,
    /// Whether it listens.
    pub listens: bool,
}

/// Why a server cannot have a port.
#[derive(Debug)]
pub enum PortError {
    /// Somebody listens there.
    InUse {
        /// The port.
        port: u16,
        /// Who, as far as the kernel tells.
        holder: Option<(u32, String)>,
        /// On which address.
        address: SocketAddr,
    },
    /// The system refused it.
    Refused {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// No free port was found.
    NoneFree,
    /// The kernel's tables could not be read.
    Unreadable(io::Error),
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse {
                port,
                holder: Some((pid, name)),
                address,
            } => write!(
                f,
                "port {port} is in use by pid {pid} ({name}), which listens on {address}; end it, or leave `port` out"
            ),
            Self::InUse {
                port,
                holder: None,
                address,
            } => write!(
                f,
                "port {port} is in use: somebody listens on {address}, and who it is cannot be read; end it, or leave `port` out"
            ),
            Self::Refused { address, source } => {
                write!(f, "nothing can listen on {address}: {source}")
            }
            Self::NoneFree => f.write_str("no free port was found in 200 tries"),
            Self::Unreadable(error) => {
                write!(
                    f,
                    "the sockets of this machine cannot be read from /proc/net: {error}"
                )
            }
        }
    }
}

impl std::error::Error for PortError {}

/// A port on which nobody listens, in either family. It lies below the range
/// from which the kernel takes ports for outgoing connections: a connection to
/// a closed port of that range can meet itself, and then blocks the server.
pub fn free_port(address: IpAddr) -> Result<u16, PortError> {
    const LOWEST: u16 = 10_240;
    let below = local_range().unwrap_or(32_768);
    for _ in 0..200 {
        let port = if below > LOWEST + 1000 {
            fastrand::u16(LOWEST..below)
        } else {
            // There is no room below: take what the kernel gives.
            match TcpListener::bind((address, 0)).and_then(|socket| socket.local_addr()) {
                Ok(local) => local.port(),
                Err(source) => {
                    return Err(PortError::Refused {
                        address: SocketAddr::new(address, 0),
                        source,
                    });
                }
            }
        };
        match must_be_free(address, port) {
            Ok(()) => return Ok(port),
            Err(PortError::Refused { address, source })
                if source.kind() != io::ErrorKind::AddrInUse =>
            {
                return Err(PortError::Refused { address, source });
            }
            Err(PortError::Unreadable(error)) => return Err(PortError::Unreadable(error)),
            Err(_) => {}
        }
    }
    Err(PortError::NoneFree)
}

/// That nobody listens on a port, in either family, and that one could.
pub fn must_be_free(address: IpAddr, port: u16) -> Result<(), PortError> {
    let found = listeners(port).map_err(PortError::Unreadable)?;
    if let Some(socket) = found.first() {
        return Err(PortError::InUse {
            port,
            holder: holder(socket.inode),
            address: socket.local,
        });
    }
    let address = SocketAddr::new(address, port);
    TcpListener::bind(address)
        .map(drop)
        .map_err(|source| PortError::Refused { address, source })
}

/// The first port that the kernel gives to outgoing connections.
fn local_range() -> Option<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Every TCP socket of this machine's (network namespace's) two families.
pub fn sockets() -> io::Result<Vec<Socket>> {
    read(None)
}

/// Those sockets whose own port is this one, listening or not.
pub fn sockets_at(port: u16) -> io::Result<Vec<Socket>> {
    read(Some(port))
}

/// After a load that opened many connections the tables hold ten thousands of closed ones, so
/// what is not asked for is not read beyond its port.
fn read(port: Option<u16>) -> io::Result<Vec<Socket>> {
    let mut all = parse(&fs::read_to_string("/proc/net/tcp")?, port);
    match fs::read_to_string("/proc/net/tcp6") {
        Ok(text) => all.extend(parse(&text, port)),
        // A kernel without IPv6 has no such table.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(all)
}

/// Everything that listens on a port.
pub fn listeners(port: u16) -> io::Result<Vec<Socket>> {
    let all = sockets_at(port)?;
    Ok(all.into_iter().filter(|socket| socket.listens).collect())
}

/// The inodes of the sockets that processes hold, and whether all could be read.
pub fn inodes_of(pids: impl IntoIterator<Item = u32>) -> (HashSet<u64>, bool) {
    let mut all = HashSet::new();
    let mut complete = true;
    for pid in pids {
        match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(entries) => {
                all.extend(entries.filter_map(|entry| socket_inode(&entry.ok()?.path())));
            }
            // It ended meanwhile: it holds nothing.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => complete = false,
        }
    }
    (all, complete)
}

/// The process that holds a socket, with its name.
pub fn holder(inode: u64) -> Option<(u32, String)> {
    let pid = holders(inode).next()?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some((pid, plain(&name)))
}

/// All processes that hold a socket, as far as this user may see.
pub fn holders(inode: u64) -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(move |pid| inodes_of([*pid]).0.contains(&inode))
}

/// A port for a process on these addresses: the fixed one, where nobody listens, or one that is free.
pub fn take(addresses: &[IpAddr], fixed: Option<u16>) -> Result<u16, PortError> {
    let Some(port) = fixed else {
        let first = addresses.first().copied();
        return free_port(first.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    };
    for address in addresses {
        must_be_free(*address, port)?;
    }
    Ok(port)
}

fn socket_inode(fd: &std::path::Path) -> Option<u64> {
    let link = fs::read_link(fd).ok()?;
    link.to_str()?
        .strip_prefix("socket:[")?
        .strip_suffix(']')?
        .parse()
        .ok()
}

/// Reads `/proc/net/tcp` or `/proc/net/tcp6`; all of it, or the rows of one own port.
fn parse(table: &str, port: Option<u16>) -> Vec<Socket> {
    const LISTEN: &str = "0A";
    let ending = port.map(|port| format!(":{port:04X}"));
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let local = fields.next()?;
            if ending
                .as_ref()
                .is_some_and(|ending| !local.ends_with(ending))
            {
                return None;
            }
            let remote = fields.next()?;
            let state = fields.next()?;
            Some(Socket {
                local: endpoint(local)?,
                remote: endpoint(remote)?,
                listens: state == LISTEN,
                inode: fields.nth(5)?.parse().ok()?,
            })
        })
        .collect()
}

/// `0100007F:1F90`: an address in words of the machine's own byte order, and a port.
fn endpoint(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let words: Option<Vec<[u8; 4]>> = (0..address.len() / 8)
        .map(|at| {
            let word = u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok()?;
            Some(word.to_ne_bytes())
        })
        .collect();
    let address = match words?.as_slice() {
        [word] => IpAddr::V4(Ipv4Addr::from(*word)),
        words @ [_, _, _, _] => {
            let mut bytes = [0; 16];
            for (at, word) in words.iter().enumerate() {
                bytes[at * 4..at * 4 + 4].copy_from_slice(word);
            }
            // A connection of the other family through a dual socket is that family's.
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

/// Whether a listening socket would take a connection to `target`. A dual socket
/// on `::` takes both families.
pub fn takes(listener: SocketAddr, target: SocketAddr) -> bool {
    listener.port() == target.port()
        && (listener.ip() == target.ip()
            || match listener.ip() {
                IpAddr::V4(address) => address.is_unspecified() && target.is_ipv4(),
                IpAddr::V6(address) => address.is_unspecified(),
            })
}

/// The addresses on which a set of processes listens.
pub fn listens_where(pids: impl IntoIterator<Item = u32>) -> Vec<SocketAddr> {
    let (inodes, _) = inodes_of(pids);
    let by_inode: HashMap<u64, SocketAddr> = sockets()
        .unwrap_or_default()
        .into_iter()
        .filter(|socket| socket.listens)
        .map(|socket| (socket.inode, socket.local))
        .collect();
    let mut all: Vec<SocketAddr> = inodes
        .iter()
        .filter_map(|inode| by_inode.get(inode).copied())
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_tables_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0 100 0 0 10 0\n   1: 00000000000000000000000001000000:1F91 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12346 1 0 100 0 0 10 0\n   2: 0000000000000000FFFF00000100007F:1F91 0000000000000000FFFF00000100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0 100 0 0 10 0\n";
        let sockets = parse(table, None);
        assert_eq!(parse(table, Some(8080)), sockets[..1]);
        assert_eq!(parse(table, Some(8081)), sockets[1..]);
        assert_eq!(sockets[0].local, "127.0.0.1:8080".parse().unwrap());
        assert!(sockets[0].listens);
        assert_eq!(sockets[0].inode, 12345);
        assert_eq!(sockets[1].local, "[::1]:8081".parse().unwrap());
        assert_eq!(sockets[2].remote, "127.0.0.1:49153".parse().unwrap());
        assert!(!sockets[2].listens);
    }

    #[test]
    fn a_listener_is_found_with_its_holder() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let found = listeners(port).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(holder(found[0].inode).unwrap().0, std::process::id());
        assert!(listens_where([std::process::id()]).contains(&socket.local_addr().unwrap()));
        let refused = must_be_free("127.0.0.1".parse().unwrap(), port).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains(&format!("pid {}", std::process::id())),
            "{refused}"
        );
        drop(socket);
        assert!(must_be_free("127.0.0.1".parse().unwrap(), port).is_ok());
    }

    #[test]
    fn free_ports_lie_where_outgoing_connections_do_not() {
        let port = free_port("127.0.0.1".parse().unwrap()).unwrap();
        assert!(port < local_range().unwrap());
    }

    #[test]
    fn a_dual_socket_takes_both_families() {
        let at = |text: &str| text.parse().unwrap();
        assert!(takes(at("[::]:80"), at("127.0.0.1:80")));
        assert!(takes(at("0.0.0.0:80"), at("127.0.0.1:80")));
        assert!(!takes(at("0.0.0.0:80"), at("[::1]:80")));
        assert!(!takes(at("[::1]:80"), at("127.0.0.1:80")));
        assert!(!takes(at("127.0.0.1:81"), at("127.0.0.1:80")));
    }
}
