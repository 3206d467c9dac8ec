//! A server that runs already: it is neither started nor ended, and its
//! processes are looked for by the port on which they listen.

use super::error::{Fallen, NotReady, ServerError, Wanted, Who};
use super::line::Manner;
use super::member::authority;
use super::readiness::{self, Tries};
use super::{ports, unix};
use crate::process::{ProcessId, Walker};
use crate::record::Proof;
use crate::spec::{Address, Cell, Fill};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// How often it is looked at whether it still runs.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What a server behind a Unix-domain socket is called.
pub(super) const LOCAL: &str = "localhost";

/// A server of somebody else.
#[derive(Debug)]
pub(super) struct Running {
    /// The topmost processes that hold its listening sockets.
    pub(super) roots: Vec<ProcessId>,
    pub(super) authority: String,
    pub(super) fill: Fill,
    pub(super) address: Address,
}

impl Running {
    /// Waits until it answers, and finds its processes. Sentences of what could not be found come with it.
    pub(super) async fn find(
        url: &str,
        cell: &Cell,
        mut fill: Fill,
    ) -> Result<(Self, Vec<String>), ServerError> {
        let no_url = || ServerError::Url(format!("{url} is no address of an HTTP server"));
        let (addresses, host, authority) = if let Some(path) = url.strip_prefix("unix:") {
            let host = LOCAL.to_owned();
            (vec![Address::Unix(path.into())], host.clone(), host)
        } else {
            let (host, port) = origin(url).ok_or_else(no_url)?;
            fill.port = port;
            let ips = super::home::resolve(&host).await?;
            let at = |ip: &IpAddr| Address::Ip(SocketAddr::new(*ip, port));
            let authority = authority(&host, port);
            (ips.iter().map(at).collect(), host, authority)
        };
        let manner = Manner::of(cell, &fill, &host, authority)?;
        let mut tries = Tries::default();
        let began = Instant::now();
        // It is not ours, and whoever answers is taken to be meant.
        let nobodys = |_: &_, _| Ok::<_, Infallible>(Proof::Untested);
        let asked = readiness::answer(&addresses, &manner, &cell.ready, &fill, nobodys, &mut tries);
        let answer = tokio::time::timeout(cell.ready.timeout, asked).await;
        let address = match answer {
            Ok(Ok(answer)) => answer.address,
            Err(_) => {
                let elsewhere = match addresses.first() {
                    Some(Address::Ip(at)) => ports::listeners(at.port()).unwrap_or_default(),
                    _ => Vec::new(),
                };
                return Err(ServerError::NotReady(Box::new(NotReady {
                    who: Who::Server,
                    command: None,
                    wanted: Wanted::Answer,
                    elsewhere: elsewhere.iter().map(|socket| socket.local).collect(),
                    addresses,
                    after: began.elapsed(),
                    last: tries.last,
                    log_tail: Vec::new(),
                })));
            }
        };
        let (roots, warning) = roots(&address);
        let running = Self {
            roots,
            authority: manner.authority,
            fill,
            address,
        };
        Ok((running, warning.into_iter().collect()))
    }

    /// Resolves when one of its processes has ended; never where none is known.
    pub(super) async fn gone(&self) -> Fallen {
        loop {
            if let Some(fallen) = self.fallen() {
                return fallen;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    pub(super) fn fallen(&self) -> Option<Fallen> {
        let mut walker = Walker::new();
        let lives = |walker: &mut Walker, root: &ProcessId| {
            walker
                .stat(root.pid)
                .is_some_and(|stat| stat.id == *root && !stat.is_dead())
        };
        let fallen = self.roots.iter().find(|root| !lives(&mut walker, root))?;
        Some(Fallen {
            who: Who::Server,
            exit: format!("(pid {fallen}), which ran already, ended"),
            log_tail: Vec::new(),
        })
    }
}

/// Host and port of `http://host:port/`.
fn origin(url: &str) -> Option<(String, u16)> {
    let (rest, usual) = match url.strip_prefix("https://") {
        Some(rest) => (rest, 443),
        None => (url.strip_prefix("http://")?, 80),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (rest, usual),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some((host.to_owned(), port))
}

/// The topmost processes that listen where a connection to this address ends, or why there is none.
fn roots(address: &Address) -> (Vec<ProcessId>, Option<String>) {
    let none = |why: &str| {
        let what = format!(
            "the server at {address} ran already, and {why}: there are no figures of its memory and CPU"
        );
        (Vec::new(), Some(what))
    };
    let inodes = match address {
        Address::Unix(path) => unix::listeners(path).unwrap_or_default(),
        Address::Ip(address) => ports::listeners(address.port())
            .unwrap_or_default()
            .iter()
            .filter(|socket| ports::takes(socket.local, *address))
            .map(|socket| socket.inode)
            .collect(),
    };
    if inodes.is_empty() {
        return none("nothing on this machine listens there");
    }
    let holders: BTreeSet<u32> = inodes
        .iter()
        .flat_map(|inode| ports::holders(*inode))
        .collect();
    if holders.is_empty() {
        return none("who listens there cannot be read, since it is another user's");
    }
    let mut walker = Walker::new();
    let mut top = Vec::new();
    for pid in &holders {
        let Some(stat) = walker.stat(*pid) else {
            continue;
        };
        let mut above = stat.parent;
        while above > 1 && !holders.contains(&above) {
            above = walker.stat(above).map_or(0, |stat| stat.parent);
        }
        if above <= 1 {
            top.push(stat.id);
        }
    }
    (top, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_host_and_port() {
        let read = |url| origin(url).map(|(host, port)| format!("{host} {port}"));
        assert_eq!(read("http://127.0.0.1:8080/").unwrap(), "127.0.0.1 8080");
        assert_eq!(read("http://[::1]:8080").unwrap(), "::1 8080");
        assert_eq!(read("http://localhost").unwrap(), "localhost 80");
        assert_eq!(read("http://[::1]").unwrap(), "::1 80");
        assert_eq!(read("https://localhost").unwrap(), "localhost 443");
        assert_eq!(read("ftp://localhost"), None);
    }

    #[test]
    fn the_topmost_holder_of_a_socket_is_its_root() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (roots, why) = roots(&socket.local_addr().unwrap().into());
        assert_eq!(why, None);
        assert_eq!(roots[0].pid, std::process::id());
        drop(socket);
    }
}
