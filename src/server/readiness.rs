//! When a server counts as ready: a request to the very address that will be
//! loaded is answered. Every address of the name is tried, and the one that
//! answers is kept for the whole trial. While that connection is open it is
//! proved, from the kernel's tables, that our own processes answer it.

use super::ports::{self, Socket};
use crate::http::{ExchangeError, Request, exchange};
use crate::record::Proof;
use crate::spec::{Fill, Ready};
use crate::units::show_duration;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// An answer that takes longer is asked for again.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two tries, at first and at last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// The most of a body that is read; a larger one is as good an answer.
const BODY_CAP: u64 = 1 << 20;

/// A server that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// The address that answered.
    pub(super) address: SocketAddr,
    /// Whether it was proved that our processes did.
    pub(super) proof: Proof,
    /// When it did; what the proof takes is no part of the start.
    pub(super) at: Instant,
}

/// Somebody else answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Foreign {
    /// Where.
    pub(super) address: SocketAddr,
    /// Who, as far as the kernel tells.
    pub(super) holder: Option<(u32, String)>,
}

/// What stands in the way, for the error when the time is up.
#[derive(Debug, Default)]
pub(super) struct Tries {
    /// The last failure, in words.
    pub(super) last: Option<String>,
}

/// Asks until there is an answer, for as long as the caller lets it. `pids` are
/// our processes at the moment it is called.
pub(super) async fn answer(
    addresses: &[SocketAddr],
    authority: &str,
    headers: &[(String, String)],
    ready: &Ready,
    fill: &Fill,
    pids: impl Fn() -> Vec<u32>,
    tries: &mut Tries,
) -> Result<Answer, Foreign> {
    let request = Request {
        method: "GET",
        target: &ready.path.fill(fill),
        headers,
        body: None,
        authority,
        keep_alive: true,
    };
    let request = match request.to_bytes() {
        Ok(bytes) => bytes,
        Err(error) => {
            tries.last = Some(error.to_string());
            return std::future::pending().await;
        }
    };
    let mut pause = PAUSES.0;
    loop {
        for address in addresses {
            let asked = tokio::time::timeout(PATIENCE, ask(*address, &request)).await;
            match asked {
                Ok(Ok((status, stream))) if takes(ready.status, status) => {
                    let at = Instant::now();
                    let proof = prove(*address, &stream, &pids)?;
                    return Ok(Answer {
                        address: *address,
                        proof,
                        at,
                    });
                }
                Ok(Ok((status, _))) => {
                    let wanted = ready
                        .status
                        .map_or_else(String::new, |wanted| format!(", {wanted} was waited for"));
                    tries.last = Some(format!("{address} answers {status}{wanted}"));
                }
                Ok(Err(reason)) => tries.last = Some(format!("{address}: {reason}")),
                Err(_) => {
                    tries.last = Some(format!(
                        "{address} accepts connections, but did not answer within {}",
                        show_duration(PATIENCE)
                    ));
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

fn takes(wanted: Option<u16>, status: u16) -> bool {
    match wanted {
        Some(wanted) => wanted == status,
        None => !matches!(status, 502..=504),
    }
}

async fn ask(address: SocketAddr, request: &[u8]) -> Result<(u16, TcpStream), String> {
    let mut stream = TcpStream::connect(address)
        .await
        .map_err(|error| error.to_string())?;
    // A connection to a closed port of the kernel's own range can meet itself.
    if stream.local_addr().ok() == stream.peer_addr().ok() {
        return Err(io::Error::from(io::ErrorKind::ConnectionRefused).to_string());
    }
    match exchange(&mut stream, request, false, BODY_CAP).await {
        Ok(response) => Ok((response.status, stream)),
        Err(ExchangeError::TooLarge { status, .. }) => Ok((status, stream)),
        Err(error) => Err(error.to_string()),
    }
}

/// That every socket which could have taken this connection is ours, and that
/// its other end is too.
fn prove(
    address: SocketAddr,
    stream: &TcpStream,
    pids: &impl Fn() -> Vec<u32>,
) -> Result<Proof, Foreign> {
    let near = stream.local_addr().ok();
    look(address, near, pids)
}

/// Somebody who is not ours and listens where a connection to `address` may end.
pub(super) fn foreign_listener(
    address: SocketAddr,
    pids: &impl Fn() -> Vec<u32>,
) -> Option<Foreign> {
    look(address, None, pids).err()
}

/// Who listens for `address`, and who holds the other end of the connection from `near`.
fn look(
    address: SocketAddr,
    near: Option<SocketAddr>,
    pids: &impl Fn() -> Vec<u32>,
) -> Result<Proof, Foreign> {
    let Ok(sockets) = ports::sockets_at(address.port()) else {
        return Ok(Proof::Unproved);
    };
    let listens = |socket: &Socket| socket.listens && ports::takes(socket.local, address);
    let is_peer = |socket: &Socket| {
        // A server that has closed already holds the socket no more: it has no inode then.
        near.is_some()
            && socket.inode != 0
            && socket.local == address
            && Some(socket.remote) == near
    };
    let (ours, _) = ports::inodes_of(pids());
    let mut listeners = 0;
    for socket in sockets
        .iter()
        .filter(|socket| listens(socket) || is_peer(socket))
    {
        listeners += usize::from(socket.listens);
        if ours.contains(&socket.inode) {
            continue;
        }
        match ports::holder(socket.inode) {
            // Files that cannot be read prove nothing, neither way.
            None => return Ok(Proof::Unproved),
            // A process of ours may be newer than the list above.
            Some((pid, _)) if pids().contains(&pid) => {}
            holder => return Err(Foreign { address, holder }),
        }
    }
    Ok(if listeners > 0 {
        Proof::Proved
    } else {
        Proof::Unproved
    })
}
