//! When something counts as ready. A server is, when a request to the very
//! address that will be loaded is answered: every address of the name is tried,
//! and the one that answers is kept for the whole trial. What servers lean on
//! takes a connection, prints a text, or a command says so. While a connection
//! is open it is proved, from the kernel's tables, that our own processes hold
//! its other end.

use super::line::{Duplex, Line, Manner};
use super::ports::{self, Socket};
use super::unix;
use crate::http::{ExchangeError, Http2, Http2Request, Request, exchange};
use crate::record::Proof;
use crate::spec::{Address, Fill, Http, Ready, ReadyBy, Text};
use crate::units::show_duration;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

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
    pub(super) address: Address,
    /// Whether it was proved that our processes did.
    pub(super) proof: Proof,
    /// When it did; what the proof takes is no part of the start.
    pub(super) at: Instant,
}

/// Somebody else answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Foreign {
    /// Where.
    pub(super) address: Address,
    /// Who, as far as the kernel tells.
    pub(super) holder: Option<(u32, String)>,
}

/// What stands in the way, for the error when the time is up.
#[derive(Debug, Default)]
pub(super) struct Tries {
    /// The last failure, in words.
    pub(super) last: Option<String>,
}

/// What is asked, in the version of HTTP in which the server will be loaded.
enum Question {
    One(Vec<u8>),
    Two(Box<Http2Request>),
}

impl Question {
    fn of(request: &Request<'_>, manner: &Manner) -> Result<Self, String> {
        let asked = match manner.http {
            Http::One => request.to_bytes().map(Self::One),
            Http::Two => {
                Http2Request::new(request, manner.scheme()).map(|two| Self::Two(Box::new(two)))
            }
        };
        asked.map_err(|error| error.to_string())
    }
}

/// A connection with its own address, open for as long as this is there.
struct Open {
    near: Option<SocketAddr>,
    _held: Held,
}

/// What keeps a connection open.
#[expect(dead_code, reason = "it is only held")]
enum Held {
    One(Box<dyn Duplex>),
    Two(Http2),
}

/// Asks until there is an answer, for as long as the caller lets it. `proof` tells who gave it, by the address that was
/// asked and our own of the connection, which is still open.
pub(super) async fn answer<E>(
    addresses: &[Address],
    manner: &Manner,
    ready: &Ready,
    fill: &Fill,
    proof: impl Fn(&Address, Option<SocketAddr>) -> Result<Proof, E>,
    tries: &mut Tries,
) -> Result<Answer, E> {
    let request = Request {
        method: "GET",
        target: &ready.path.fill(fill),
        headers: &manner.headers,
        body: None,
        authority: &manner.authority,
        keep_alive: true,
    };
    let request = match Question::of(&request, manner) {
        Ok(question) => question,
        Err(error) => {
            tries.last = Some(error);
            return std::future::pending().await;
        }
    };
    let mut pause = PAUSES.0;
    loop {
        for address in addresses {
            let asked = tokio::time::timeout(PATIENCE, ask(address, manner, &request)).await;
            match asked {
                Ok(Ok((status, open))) if takes(ready.status, status) => {
                    let at = Instant::now();
                    let proof = proof(address, open.near)?;
                    return Ok(Answer {
                        address: address.clone(),
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

async fn ask(
    address: &Address,
    manner: &Manner,
    question: &Question,
) -> Result<(u16, Open), String> {
    let mut line = Line::open_as(address, manner).await?;
    let near = line.near;
    let (answered, held) = match question {
        Question::One(request) => {
            let answered = exchange(&mut line.stream, request, false, BODY_CAP).await;
            (answered, Held::One(line.stream))
        }
        Question::Two(request) => {
            let asked = async {
                let mut connection = Http2::open(line.stream).await?;
                let answered = connection.exchange(request, BODY_CAP).await;
                Ok((answered, connection))
            };
            let asked: Result<_, ExchangeError> = Box::pin(asked).await;
            let (answered, connection) = asked.map_err(|error| error.to_string())?;
            (answered, Held::Two(connection))
        }
    };
    let status = match answered {
        Ok(response) => response.status,
        Err(ExchangeError::TooLarge { status, .. }) => status,
        Err(error) => return Err(error.to_string()),
    };
    Ok((status, Open { near, _held: held }))
}

/// Connects until one of the addresses takes a connection, for as long as the caller lets it.
pub(super) async fn connection(
    addresses: &[Address],
    pids: impl Fn() -> Vec<u32>,
    tries: &mut Tries,
) -> Result<Answer, Foreign> {
    let mut pause = PAUSES.0;
    loop {
        for address in addresses {
            match tokio::time::timeout(PATIENCE, Line::open(address)).await {
                Ok(Ok(line)) => {
                    let at = Instant::now();
                    let proof = prove(address, line.near, &pids)?;
                    return Ok(Answer {
                        address: address.clone(),
                        proof,
                        at,
                    });
                }
                Ok(Err(reason)) => tries.last = Some(format!("{address}: {reason}")),
                Err(_) => tries.last = Some(format!("{address} takes no connection")),
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Reads what a process prints until there is a text in it.
pub(super) async fn printed(log: &Path, text: &str) {
    let mut pause = PAUSES.0;
    loop {
        let bytes = std::fs::read(log).unwrap_or_default();
        if String::from_utf8_lossy(&bytes).contains(text) {
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Runs a command until it succeeds; `run` does it once.
pub(super) async fn success<F>(run: impl Fn() -> F, tries: &mut Tries)
where
    F: Future<Output = Result<(), String>>,
{
    let mut pause = PAUSES.0;
    loop {
        match run().await {
            Ok(()) => return,
            Err(reason) => tries.last = Some(format!("it {reason}")),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// The texts of a condition that are filled when it is looked at.
pub(super) fn texts(ready: &Ready) -> impl Iterator<Item = &Text> {
    let (words, log): (&[Text], Option<&Text>) = match &ready.by {
        Some(ReadyBy::Command(words)) => (words, None),
        Some(ReadyBy::Log(text)) => (&[], Some(text)),
        Some(ReadyBy::Tcp) | None => (&[], None),
    };
    words.iter().chain(log).chain([&ready.path])
}

/// That every socket which could have taken the connection from `near` is ours, and that
/// its other end is too.
pub(super) fn prove(
    address: &Address,
    near: Option<SocketAddr>,
    pids: &impl Fn() -> Vec<u32>,
) -> Result<Proof, Foreign> {
    match address {
        Address::Ip(address) => look(*address, near, pids),
        Address::Unix(path) => unix::look(path, pids),
    }
}

/// Somebody who is not ours and listens where a connection to `address` may end.
pub(super) fn foreign_listener(address: &Address, pids: &impl Fn() -> Vec<u32>) -> Option<Foreign> {
    match address {
        Address::Ip(address) => look(*address, None, pids).err(),
        Address::Unix(path) => unix::look(path, pids).err(),
    }
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
            holder => {
                return Err(Foreign {
                    address: address.into(),
                    holder,
                });
            }
        }
    }
    Ok(if listeners > 0 {
        Proof::Proved
    } else {
        Proof::Unproved
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[tokio::test]
    async fn a_foreign_listener_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Ip(listener.local_addr().unwrap());
        let mut tries = Tries::default();
        let ours = connection(
            std::slice::from_ref(&address),
            || vec![std::process::id()],
            &mut tries,
        )
        .await;
        assert_eq!(ours.unwrap().proof, Proof::Proved);
        let foreign = connection(&[address], Vec::new, &mut tries).await;
        let holder = foreign.unwrap_err().holder.unwrap();
        assert_eq!(holder.0, std::process::id());
    }
}
