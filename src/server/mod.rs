//! The life of a cell's processes: what they need (`requirement`), how they are
//! made (`runtime`, `build` and its `inputs`, kept in the `cache`), what they find where they start (`place`, `files`), where
//! they listen (`home`, `ports`), when they are ready (`readiness`), and here their
//! start in the order of their needs and their end in the reverse. Each process
//! (`member`) has a guard, so that whatever becomes of a [`Server`], nothing of
//! it is left. What it leans on is in `services`; one that somebody else has
//! started is in `running`.

pub mod build;
pub mod cache;
mod error;
pub mod files;
mod home;
mod inputs;
mod member;
mod place;
pub mod ports;
mod readiness;
pub mod requirement;
mod running;
pub mod runtime;
mod services;

pub use error::{Fallen, NotReady, ServerError, Wanted, Who};
pub use place::{Place, Purpose, secrets};
pub use services::Services;

use crate::process::ProcessId;
use crate::record::{Proof, Stop};
use crate::spec::{Cell, Fill, Ready, ReadyBy, Text};
use home::{Homes, all_set};
use member::{Member, authority};
use place::{Site, caller};
use running::Running;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// A server whose port was taken between our look and its bind is started again on another.
const PORT_TRIES: u32 = 3;

/// A running server that answers.
#[derive(Debug)]
pub struct Server {
    /// What was started, each after what it needs.
    members: Vec<Member>,
    front: Front,
    fill: Fill,
    /// Texts that nothing may keep.
    secrets: Vec<String>,
    /// When its first process was started.
    pub began: Instant,
    /// The address that answered, and that is loaded.
    pub address: SocketAddr,
    /// What stands in the Host header.
    pub authority: String,
    /// From the start of its first process to the first good answer, without what `prepare` took; none where it
    /// ran already.
    pub startup: Option<Duration>,
    /// Whether it was proved that our processes answer.
    pub proof: Proof,
    /// What a reader must know of its start.
    pub warnings: Vec<String>,
}

/// What is loaded.
#[derive(Debug)]
enum Front {
    /// The process with this place among the members.
    Ours(usize),
    /// Somebody else's.
    Running(Box<Running>),
}

/// A tree of processes that belongs to a trial, by its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rooted {
    /// What they do.
    pub role: String,
    /// The root.
    pub root: Root,
    /// Whether they are the server, and not something that it leans on.
    pub counted: bool,
}

/// Where a tree of processes begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// Below this guard, which is no part of it.
    Guard(u32),
    /// With this process.
    Process(ProcessId),
}

impl Rooted {
    fn of_service(member: &Member) -> Self {
        Self {
            role: member.process.role.clone(),
            root: Root::Guard(member.guard_pid()),
            counted: false,
        }
    }
}

impl Server {
    /// Starts a cell's processes, beside the services that run already, and waits until they answer. Given up,
    /// or after an error, nothing of them is left.
    pub async fn start(
        cell: &Cell,
        services: &Services,
        place: &Place,
    ) -> Result<Self, ServerError> {
        let mut tries = 1;
        loop {
            let mut members = Vec::new();
            let started = Self::start_once(cell, services, place, &mut members).await;
            let error = match started {
                Ok(server) => {
                    return Ok(Self {
                        members,
                        secrets: place.secrets.clone(),
                        ..server
                    });
                }
                Err(error) => error,
            };
            let again = error.is_port_taken() && tries < PORT_TRIES;
            let error = end_all(members, error).await;
            if !again || error.leaves_something() {
                return Err(error);
            }
            tries += 1;
        }
    }

    /// What is started is put into `members`, so that it can be ended after an error; the server has none yet.
    async fn start_once(
        cell: &Cell,
        services: &Services,
        place: &Place,
        members: &mut Vec<Member>,
    ) -> Result<Self, ServerError> {
        let mut fill = Fill {
            cpus: place.cpus,
            env: caller(),
            index: 1,
            ..services.fill()
        };
        all_set(cell, services, &fill)?;
        for service in services.of_trial(cell) {
            let role = &service.process.role;
            let name = format!("service@{role}");
            let member = services::start_again(service, &name, &fill, place).await?;
            fill.services.insert(role.clone(), member.site.fill.port);
            members.push(member);
        }
        if let Some(url) = &cell.url {
            let (running, warnings) = Running::find(url, cell, fill).await?;
            let site = Site::elsewhere(running.fill.clone(), place);
            site.run(Purpose::Prepare, &cell.prepare, place).await?;
            return Ok(Self::running(running, warnings));
        }
        let homes = Homes::find(cell).await?;
        fill.ports = homes.ports();
        let first = members.len();
        let mut answered = None;
        // What the suite does meanwhile is no part of the server's start.
        let mut prepared = Duration::ZERO;
        for home in &homes.0 {
            let is_front = home.process.role == cell.front;
            let draft = home.draft(cell, is_front, fill.clone());
            members.push(Member::start(draft, place).await?);
            let at = members.len() - 1;
            let (earlier, this) = members.split_at_mut(at);
            let this = &mut this[0];
            let headers = headers(cell, &this.site.fill);
            let own = this.process.ready.clone().unwrap_or_else(takes_connections);
            let (ready, headers) = if is_front {
                (&cell.ready, Some(headers.as_slice()))
            } else {
                (&own, None)
            };
            let made_ready = async {
                let answer = this.until_ready(ready, headers, place).await?;
                let prepares = Instant::now();
                this.prepare(place).await?;
                Ok((answer, prepares.elapsed()))
            };
            let (answer, took) = tokio::select! {
                made = made_ready => made?,
                fallen = first_gone(earlier.iter().chain(services.running_for(cell))) => {
                    return Err(fallen.exited_early());
                }
            };
            if is_front {
                answered = answer.map(|answer| (at, answer));
            } else {
                prepared += took;
            }
        }
        let (front, answer) = answered.ok_or(ServerError::NoProcess)?;
        let member = &members[front];
        member
            .site
            .run(Purpose::Prepare, &cell.prepare, place)
            .await?;
        let began = members[first].began;
        Ok(Self {
            members: Vec::new(),
            secrets: Vec::new(),
            front: Front::Ours(front),
            fill: member.site.fill.clone(),
            began,
            address: answer.address,
            authority: authority(&member.process.address, member.site.fill.port),
            startup: Some(answer.at.duration_since(began).saturating_sub(prepared)),
            proof: answer.proof,
            warnings: members
                .iter()
                .filter_map(Member::in_the_background)
                .collect(),
        })
    }

    fn running(running: Running, warnings: Vec<String>) -> Self {
        Self {
            members: Vec::new(),
            secrets: Vec::new(),
            fill: running.fill.clone(),
            began: Instant::now(),
            address: running.address,
            authority: running.authority.clone(),
            startup: None,
            proof: Proof::Untested,
            warnings,
            front: Front::Running(Box::new(running)),
        }
    }

    /// Resolves when one of its processes has ended.
    pub async fn gone(&self) {
        let ours = first_gone(self.members.iter());
        match &self.front {
            Front::Ours(_) => {
                ours.await;
            }
            Front::Running(running) => {
                tokio::select! {
                    _ = ours => {}
                    () = running.gone() => {}
                }
            }
        }
    }

    /// One of its processes that has ended, if any has.
    pub fn fallen(&self) -> Option<Fallen> {
        let ours = self.members.iter().find_map(Member::fallen);
        ours.or_else(|| match &self.front {
            Front::Ours(_) => None,
            Front::Running(running) => running.fallen(),
        })
    }

    /// The values of the symbols of what is loaded.
    pub fn fill(&self) -> &Fill {
        &self.fill
    }

    /// Where its trees of processes begin, and those of services of this trial.
    pub fn roots(&self) -> Vec<Rooted> {
        let mut all: Vec<Rooted> = self.members.iter().map(rooted).collect();
        if let Front::Running(running) = &self.front {
            all.extend(running.roots.iter().map(|root| Rooted {
                role: "server".to_owned(),
                root: Root::Process(*root),
                counted: true,
            }));
        }
        all
    }

    /// The processes of the server itself at this moment.
    pub fn pids(&self) -> Vec<u32> {
        let ours = self.members.iter().filter(|member| rooted(member).counted);
        let mut pids: Vec<u32> = ours.flat_map(Member::pids).collect();
        if let Front::Running(running) = &self.front {
            pids.extend(running.roots.iter().map(|root| root.pid));
        }
        pids
    }

    /// Texts that nothing may keep of it.
    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// Those of them that are loaded.
    pub fn front_pids(&self) -> Vec<u32> {
        match &self.front {
            Front::Ours(at) => self.members[*at].pids(),
            Front::Running(running) => running.roots.iter().map(|root| root.pid).collect(),
        }
    }

    /// The last lines that what is loaded has printed.
    pub fn log_tail(&self) -> Vec<String> {
        match self.front {
            Front::Ours(at) => self.members[at].log_tail(),
            Front::Running(_) => Vec::new(),
        }
    }

    /// That nobody else has come to listen on its port meanwhile, where the kernel lets us look.
    pub fn still_alone(&self) -> Result<(), ServerError> {
        let Front::Ours(at) = self.front else {
            return Ok(());
        };
        let pids = || self.members[at].pids();
        match readiness::foreign_listener(self.address, &pids) {
            Some(foreign) => Err(ServerError::Foreign {
                address: foreign.address,
                holder: foreign.holder,
            }),
            None => Ok(()),
        }
    }

    /// Ends every process, in the reverse order of their start, with proof, and sees to it that nobody listens
    /// any more. All are ended, and the first error is told.
    pub async fn stop(self) -> Result<BTreeMap<String, Stop>, ServerError> {
        let mut stops = BTreeMap::new();
        let mut first = None;
        for member in self.members.into_iter().rev() {
            match member.stop().await {
                Ok((name, stop)) => {
                    stops.insert(name, stop);
                }
                Err(error) => {
                    first.get_or_insert(error);
                }
            }
        }
        first.map_or(Ok(stops), Err)
    }
}

fn rooted(member: &Member) -> Rooted {
    match member.site.who {
        Who::Service(_) => Rooted::of_service(member),
        Who::Server | Who::Process(_) => Rooted {
            role: member.process.role.clone(),
            root: Root::Guard(member.guard_pid()),
            counted: true,
        },
    }
}

/// When something is ready that says nothing of it: its port takes a connection.
fn takes_connections() -> Ready {
    Ready {
        path: Text::literal("/"),
        status: None,
        by: Some(ReadyBy::Tcp),
        timeout: Duration::from_secs(30),
    }
}

/// The headers that the load sends, which may decide what is answered.
fn headers(cell: &Cell, fill: &Fill) -> Vec<(String, String)> {
    let headers = cell.work.request.headers.iter();
    headers
        .map(|(name, value)| (name.clone(), value.fill(fill)))
        .collect()
}

/// The first that ends. Never resolves where there is none.
async fn first_gone<'m>(members: impl Iterator<Item = &'m Member>) -> &'m Member {
    let mut all: Vec<_> = members
        .map(|member| {
            Box::pin(async move {
                member.gone().await;
                member
            })
        })
        .collect();
    std::future::poll_fn(|context| {
        let ended = all
            .iter_mut()
            .find_map(|one| match one.as_mut().poll(context) {
                std::task::Poll::Ready(member) => Some(member),
                std::task::Poll::Pending => None,
            });
        ended.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
    })
    .await
}

/// Ends what was started before something failed, and tells why it failed, and what could not be ended.
async fn end_all(members: Vec<Member>, first: ServerError) -> ServerError {
    for member in &members {
        member.kill_now();
    }
    let mut error = first;
    for member in members.into_iter().rev() {
        if let Err(left) = member.stop().await {
            error = ServerError::LeftBehind {
                first: Box::new(error),
                left: Box::new(left),
            };
        }
    }
    error
}
