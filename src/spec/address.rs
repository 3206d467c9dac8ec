//! Where a server is reached.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The longest path of a Unix-domain socket, in bytes: Linux has room for 108, the last of which is 0.
pub const LONGEST_SOCKET_PATH: usize = 107;

/// Where a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Over TCP.
    Ip(SocketAddr),
    /// Over a Unix-domain socket, by its absolute path.
    Unix(PathBuf),
}

impl Address {
    /// The address over TCP; none of a Unix-domain socket.
    pub fn ip(&self) -> Option<SocketAddr> {
        match self {
            Self::Ip(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Ip(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}
