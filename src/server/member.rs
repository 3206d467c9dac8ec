//! One process that hotlap starts, of a server or a service: from its folder
//! and its start to the proof that it is ready, and to its end.

use super::error::{Fallen, NotReady, ServerError, Wanted, Who};
use super::line::{Line, Manner};
use super::place::{Place, Purpose, Site, TAIL_LINES};
use super::readiness::{self, Answer, Foreign, Tries};
use super::running::LOCAL;
use super::{Ended, ports, unix};
use crate::process::{Exit, Guard, Scratch, tail};
use crate::record::Stop;
use crate::spec::{
    self, Address, Cell, Fill, LONGEST_SOCKET_PATH, ProcessSpec, Ready, ReadyBy, Text,
};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A command that tells readiness and takes longer is asked again.
const COMMAND_PATIENCE: Duration = Duration::from_secs(10);
/// How often a tree whose leader has gone to the background is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What is to be started.
pub(super) struct Draft<'a> {
    pub(super) process: &'a ProcessSpec,
    pub(super) who: Who,
    /// What its logs and records are called.
    pub(super) name: String,
    /// Commands before its start.
    pub(super) setup: &'a [Vec<Text>],
    /// Texts of others that are filled with its values.
    pub(super) also: Vec<&'a Text>,
    pub(super) fill: Fill,
    pub(super) addresses: Vec<SocketAddr>,
    /// The cell whose names its files may use.
    pub(super) cell: Option<&'a Cell>,
}

/// A process that was started.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) site: Site,
    pub(super) process: ProcessSpec,
    pub(super) began: Instant,
    guard: Guard,
    log: PathBuf,
    addresses: Vec<Address>,
    ready: bool,
    // Behind the guard, so that it goes when the processes have gone.
    scratch: Option<Scratch>,
}

impl Member {
    /// Makes its folder, runs its setup and starts it.
    pub(super) async fn start(draft: Draft<'_>, place: &Place) -> Result<Self, ServerError> {
        let process = draft.process;
        let also = draft.setup.iter().flatten().chain(draft.also);
        let (site, scratch) = Site::make(
            draft.who, draft.name, process, also, draft.fill, draft.cell, place,
        )
        .await?;
        let addresses = match &process.socket {
            None => draft.addresses.into_iter().map(Address::Ip).collect(),
            Some(socket) => vec![free_socket(site.path(socket)).await?],
        };
        site.run(Purpose::Setup, draft.setup, place).await?;
        let launch = site.launch(process, place);
        let began = Instant::now();
        let guard = Guard::start(&place.program, &launch)
            .await
            .map_err(ServerError::Start)?;
        Ok(Self {
            site,
            process: process.clone(),
            began,
            guard,
            log: launch.log,
            addresses,
            ready: false,
            scratch,
        })
    }

    /// Waits until it is ready, but not longer than it may take. `front` is how a load asks it,
    /// where it is what will be loaded: then an address that answers is found as well.
    pub(super) async fn until_ready(
        &mut self,
        ready: &Ready,
        front: Option<&Manner>,
        place: &Place,
    ) -> Result<Option<Answer>, ServerError> {
        let mut tries = Tries::default();
        let found = tokio::select! {
            found = self.is_ready(ready, front, place, &mut tries) => Some(found),
            _ = self.gone() => None,
            () = tokio::time::sleep(ready.timeout) => {
                return Err(self.not_ready(ready, tries));
            }
        };
        match found {
            Some(Ok(answer)) => {
                self.ready = true;
                Ok(answer)
            }
            Some(Err(foreign)) => Err(ServerError::Foreign {
                address: foreign.address,
                holder: foreign.holder,
            }),
            None => Err(self.exited_early()),
        }
    }

    async fn is_ready(
        &self,
        ready: &Ready,
        front: Option<&Manner>,
        place: &Place,
        tries: &mut Tries,
    ) -> Result<Option<Answer>, Foreign> {
        let pids = || self.pids();
        let plain = Manner::plain(self.authority());
        match &ready.by {
            None => {
                let manner = front.unwrap_or(&plain);
                let fill = &self.site.fill;
                let addresses = &self.addresses;
                let proof = |at: &_, near| readiness::prove(at, near, &pids);
                return readiness::answer(addresses, manner, ready, fill, proof, tries)
                    .await
                    .map(Some);
            }
            Some(ReadyBy::Tcp) => {
                return readiness::connection(&self.addresses, pids, tries)
                    .await
                    .map(Some);
            }
            Some(ReadyBy::Command(words)) => {
                let run = || self.site.succeeds(words, COMMAND_PATIENCE, place);
                readiness::success(run, tries).await;
            }
            Some(ReadyBy::Log(text)) => {
                readiness::printed(&self.log, &text.fill(&self.site.fill)).await;
            }
        }
        if front.is_some() {
            return readiness::connection(&self.addresses, pids, tries)
                .await
                .map(Some);
        }
        // Whoever listens where others will look for it must be ours.
        for address in &self.addresses {
            if let Some(foreign) = readiness::foreign_listener(address, &pids) {
                return Err(foreign);
            }
        }
        Ok(None)
    }

    fn not_ready(&self, ready: &Ready, tries: Tries) -> ServerError {
        let wanted = match &ready.by {
            None => Wanted::Answer,
            Some(ReadyBy::Tcp) => Wanted::Connection,
            Some(ReadyBy::Command(words)) => Wanted::Command(spec::line(words)),
            Some(ReadyBy::Log(text)) => Wanted::Log(text.to_string()),
        };
        let listens = ports::listens_where(self.pids());
        let elsewhere: Vec<SocketAddr> = listens
            .into_iter()
            .filter(|at| {
                !self
                    .addresses
                    .iter()
                    .filter_map(Address::ip)
                    .any(|wanted| ports::takes(*at, wanted))
            })
            .collect();
        ServerError::NotReady(Box::new(NotReady {
            who: self.site.who.clone(),
            command: Some(self.site.shown(&self.process.command)),
            wanted,
            addresses: self.addresses.clone(),
            after: self.began.elapsed(),
            last: tries.last,
            elsewhere,
            log_tail: self.log_tail(),
        }))
    }

    /// How the load of a cell asks it.
    pub(super) fn manner(&self, cell: &Cell) -> Result<Manner, ServerError> {
        let host = match self.process.socket {
            Some(_) => LOCAL,
            None => &self.process.address,
        };
        Manner::of(cell, &self.site.fill, host, self.authority())
    }

    /// What stands in the Host header.
    pub(super) fn authority(&self) -> String {
        match self.process.socket {
            Some(_) => LOCAL.to_owned(),
            None => authority(&self.process.address, self.site.fill.port),
        }
    }

    /// The error that it has ended.
    pub(super) fn exited_early(&self) -> ServerError {
        ServerError::ExitedEarly {
            fallen: self.fallen_now(),
            after: self.began.elapsed(),
            was_ready: self.ready,
        }
    }

    /// Runs the commands that belong between readiness and load.
    pub(super) async fn prepare(&self, place: &Place) -> Result<(), ServerError> {
        self.site
            .run(Purpose::Prepare, &self.process.prepare, place)
            .await
    }

    /// Resolves when nothing of it is left, with how it ended. A command that exits well and leaves processes
    /// behind has gone to the background, and lives on in them.
    pub(super) async fn gone(&self) -> Fallen {
        let exit = self.guard.exited().await;
        while exit.success() && !self.guard.tree().is_empty() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        self.fallen_now()
    }

    /// Whether its leader has exited with an error, or nothing of it is left; then how.
    pub(super) fn fallen(&self) -> Option<Fallen> {
        self.guard
            .exit_now()
            .is_some_and(|exit| !exit.success() || self.guard.tree().is_empty())
            .then(|| self.fallen_now())
    }

    fn fallen_now(&self) -> Fallen {
        let exit = self.guard.exit_now().map_or_else(
            || "still runs".to_owned(),
            |exit| match exit {
                Exit::Signal(_) => format!("was {exit}"),
                Exit::Code(_) | Exit::Unseen => exit.to_string(),
            },
        );
        Fallen {
            who: self.site.who.clone(),
            exit,
            log_tail: self.log_tail(),
        }
    }

    /// That its command has ended and its processes live on, in a sentence.
    pub(super) fn in_the_background(&self) -> Option<String> {
        let exit = self.guard.exit_now()?;
        let whose = match &self.site.who {
            Who::Server => "the command".to_owned(),
            who => format!("the command of {who}"),
        };
        Some(format!(
            "{whose} {exit} and left its server running in the background; its processes were found and measured"
        ))
    }

    /// The last lines that it printed.
    pub(super) fn log_tail(&self) -> Vec<String> {
        tail(&self.log, TAIL_LINES)
    }

    /// The processes that are its own at this moment.
    pub(super) fn pids(&self) -> Vec<u32> {
        let tree = self.guard.tree();
        tree.iter().map(|process| process.pid).collect()
    }

    /// Whether it is the server, and not something that it leans on.
    pub(super) fn is_counted(&self) -> bool {
        !matches!(self.site.who, Who::Service(_))
    }

    /// The pid of its guard, under which its processes are.
    pub(super) fn guard_pid(&self) -> u32 {
        self.guard.guard_pid()
    }

    /// Ends it at once, without waiting for it.
    pub(super) fn kill_now(&self) {
        self.guard.kill_now();
    }

    /// Ends every process of it, with proof, and sees to it that nobody listens any more.
    pub(super) async fn stop(self) -> Result<Ended, ServerError> {
        let apart = !self.is_counted();
        let Self {
            site,
            guard,
            addresses,
            scratch,
            ..
        } = self;
        let stopped = guard.stop().await.map_err(ServerError::Stop)?;
        let mut left = None;
        if let Some(scratch) = scratch {
            // Many files take their time.
            let removed = tokio::task::spawn_blocking(move || scratch.remove()).await;
            left = removed
                .ok()
                .and_then(Result::err)
                .map(|error| error.to_string());
        }
        for address in addresses {
            nobody_listens(address).await?;
        }
        let stop = Stop {
            exit: stopped.exit.to_string(),
            polite: stopped.polite,
            killed: stopped.killed,
            apart,
            printed_bytes: Some(stopped.printed),
        };
        Ok(Ended {
            who: site.who,
            name: site.name,
            stop,
            left,
        })
    }
}

/// That a connection is refused.
async fn nobody_listens(address: Address) -> Result<(), ServerError> {
    match Line::open(&address).await {
        // A Unix-domain socket whose queue is full refuses too, and somebody listens.
        Err(error) if address.ip().is_none() && error.kind() == io::ErrorKind::WouldBlock => {}
        Err(_) => return Ok(()),
        Ok(_) => {}
    }
    let inode = match &address {
        Address::Ip(ip) => ports::listeners(ip.port())
            .ok()
            .and_then(|found| Some(found.first()?.inode)),
        Address::Unix(path) => unix::listeners(path).and_then(|found| found.first().copied()),
    };
    let holder = inode.and_then(ports::holder);
    Err(ServerError::StillListens { address, holder })
}

/// A socket on which nobody listens yet.
async fn free_socket(path: PathBuf) -> Result<Address, ServerError> {
    let length = path.as_os_str().len();
    if length > LONGEST_SOCKET_PATH {
        return Err(ServerError::Socket(format!(
            "the path of its socket, {}, has {length} bytes, and the kernel takes {LONGEST_SOCKET_PATH} at most",
            path.display()
        )));
    }
    let address = Address::Unix(path);
    match nobody_listens(address.clone()).await {
        Err(ServerError::StillListens { holder, .. }) => {
            let by =
                holder.map_or_else(String::new, |(pid, name)| format!(" by pid {pid} ({name})"));
            Err(ServerError::Socket(format!(
                "its socket {address} is in use{by}; end it, or give `socket` another path"
            )))
        }
        _ => Ok(address),
    }
}

/// What stands in the Host header.
pub(super) fn authority(address: &str, port: u16) -> String {
    if address.contains(':') {
        format!("[{address}]:{port}")
    } else {
        format!("{address}:{port}")
    }
}
