//! The life of a cell's processes: what they need (`requirement`), how they are
//! made (`runtime`, `build` and its `inputs`, kept in the `cache`), what they find where they start (`place`, `files`), where
//! they listen (`home`, `ports`, `unix`), when they are ready (`readiness`, over a `line`), and here their
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
mod line;
mod member;
mod place;
pub mod ports;
mod readiness;
pub mod requirement;
mod running;
pub mod runtime;
mod services;
mod unix;

pub use error::{Fallen, NotReady, ServerError, Wanted, Who};
pub use place::{Ground, Place, Purpose, caller, secrets};
pub use services::Services;

use crate::process::ProcessId;
use crate::record::{Proof, Stop};
use crate::spec::{Address, Cell, Fill, Ready, ReadyBy, Text};
use home::{Home, Homes, all_set};
use member::Member;
use place::Site;
use readiness::Answer;
use running::Running;
use std::pin::pin;
use std::task::Poll;
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
    pub address: Address,
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

/// What was started, or found.
enum Started {
    Ours {
        /// The place among the members of the server's first process.
        first: usize,
        /// That of the one that is loaded.
        front: usize,
        answer: Answer,
        /// What `prepare` took of processes that others waited for.
        prepared: Duration,
    },
    Running(Box<Running>, Vec<String>),
}

/// A cell's processes while they are started.
struct Starting<'a> {
    cell: &'a Cell,
    services: &'a Services,
    place: &'a Place,
    /// What runs so far, to be ended after an error.
    members: Vec<Member>,
}

impl Starting<'_> {
    async fn start(&mut self) -> Result<Started, ServerError> {
        let (cell, place) = (self.cell, self.place);
        let mut fill = Fill {
            cpus: place.cpus,
            env: caller(),
            index: 1,
            ..self.services.fill()
        };
        all_set(cell, self.services, &fill)?;
        for service in self.services.of_trial(cell) {
            let role = &service.process.role;
            let name = format!("service@{role}");
            let member = services::start_again(service, &name, &fill, place).await?;
            fill.services.insert(role.clone(), member.site.fill.port);
            self.members.push(member);
        }
        if let Some(url) = &cell.url {
            let (running, warnings) = Running::find(url, cell, fill).await?;
            let site = Site::elsewhere(running.fill.clone(), place);
            site.run(Purpose::Prepare, &cell.prepare, place).await?;
            return Ok(Started::Running(Box::new(running), warnings));
        }
        let homes = Homes::find(cell).await?;
        fill.ports = homes.ports();
        let first = self.members.len();
        let mut loaded = None;
        // What the suite does meanwhile is no part of the server's start.
        let mut prepared = Duration::ZERO;
        for home in &homes.0 {
            let (answer, took) = self.one(home, fill.clone()).await?;
            match answer {
                Some(answer) => loaded = Some((self.members.len() - 1, answer)),
                None => prepared += took,
            }
        }
        let (front, answer) = loaded.ok_or(ServerError::NoProcess)?;
        let site = &self.members[front].site;
        site.run(Purpose::Prepare, &cell.prepare, place).await?;
        Ok(Started::Ours {
            first,
            front,
            answer,
            prepared,
        })
    }

    /// Starts one process, and waits until it is ready and prepared: the answer of the one that is loaded, and
    /// what `prepare` took.
    async fn one(
        &mut self,
        home: &Home<'_>,
        fill: Fill,
    ) -> Result<(Option<Answer>, Duration), ServerError> {
        let (cell, place) = (self.cell, self.place);
        let is_front = home.process.role == cell.front;
        let member = Member::start(home.draft(cell, is_front, fill), place).await?;
        self.members.push(member);
        let last = self.members.len() - 1;
        let (earlier, this) = self.members.split_at_mut(last);
        let this = &mut this[0];
        let manner = is_front.then(|| this.manner(cell)).transpose()?;
        let own = this.process.ready.clone().unwrap_or_else(takes_connections);
        let made_ready = async {
            let answer = if is_front {
                this.until_ready(&cell.ready, manner.as_ref(), place)
                    .await?
            } else {
                this.until_ready(&own, None, place).await?;
                None
            };
            let prepares = Instant::now();
            this.prepare(place).await?;
            Ok((answer, prepares.elapsed()))
        };
        tokio::select! {
            made = made_ready => made,
            (gone, _) = first_gone(earlier.iter().chain(self.services.running_for(cell))) => {
                Err(gone.exited_early())
            }
        }
    }
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
    fn of(member: &Member) -> Self {
        Self {
            role: member.process.role.clone(),
            root: Root::Guard(member.guard_pid()),
            counted: member.is_counted(),
        }
    }
}

impl Server {
    /// Starts a cell's processes, beside the services that run already, and waits until they answer. After an
    /// error, or when `given_up` resolves, nothing of them is left, or it is named.
    pub async fn start(
        cell: &Cell,
        services: &Services,
        place: &Place,
        given_up: impl Future<Output = ()>,
    ) -> Result<Self, ServerError> {
        let mut given_up = pin!(given_up);
        let mut tries = 1;
        loop {
            let mut starting = Starting {
                cell,
                services,
                place,
                members: Vec::new(),
            };
            let started = tokio::select! {
                started = starting.start() => started,
                () = &mut given_up => Err(ServerError::GivenUp),
            };
            let members = starting.members;
            let error = match started {
                Ok(started) => return Ok(Self::of(started, members, place)),
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

    fn of(started: Started, members: Vec<Member>, place: &Place) -> Self {
        let secrets = place.secrets.clone();
        match started {
            Started::Ours {
                first,
                front,
                answer,
                prepared,
            } => {
                let began = members[first].began;
                let Site { fill, .. } = &members[front].site;
                Self {
                    fill: fill.clone(),
                    secrets,
                    began,
                    address: answer.address,
                    authority: members[front].authority(),
                    startup: Some(answer.at.duration_since(began).saturating_sub(prepared)),
                    proof: answer.proof,
                    warnings: members
                        .iter()
                        .filter_map(Member::in_the_background)
                        .collect(),
                    front: Front::Ours(front),
                    members,
                }
            }
            Started::Running(running, warnings) => Self {
                fill: running.fill.clone(),
                secrets,
                began: Instant::now(),
                address: running.address.clone(),
                authority: running.authority.clone(),
                startup: None,
                proof: Proof::Untested,
                warnings,
                front: Front::Running(running),
                members,
            },
        }
    }

    /// Resolves when one of its processes has ended, with who it was.
    pub async fn gone(&self) -> Fallen {
        let ours = first_gone(self.members.iter());
        match &self.front {
            Front::Ours(_) => ours.await.1,
            Front::Running(running) => tokio::select! {
                (_, fallen) = ours => fallen,
                fallen = running.gone() => fallen,
            },
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
        let mut all: Vec<Rooted> = self.members.iter().map(Rooted::of).collect();
        if let Front::Running(running) = &self.front {
            all.extend(running.roots.iter().map(|root| Rooted {
                role: "server".to_owned(),
                root: Root::Process(*root),
                counted: true,
            }));
        }
        all
    }

    /// The processes of the server itself at this moment, as far as it was started here.
    pub fn pids(&self) -> Vec<u32> {
        let ours = self.members.iter().filter(|member| member.is_counted());
        ours.flat_map(Member::pids).collect()
    }

    /// Texts that nothing may keep of it.
    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// Those of them that are loaded.
    pub fn front_pids(&self) -> Vec<u32> {
        match self.front {
            Front::Ours(at) => self.members[at].pids(),
            Front::Running(_) => Vec::new(),
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
        match readiness::foreign_listener(&self.address, &pids) {
            Some(foreign) => Err(ServerError::Foreign {
                address: foreign.address,
                holder: foreign.holder,
            }),
            None => Ok(()),
        }
    }

    /// Ends every process, in the reverse order of their start, with proof, and sees to it that nobody listens
    /// any more. All are ended, and the first error is told.
    pub async fn stop(self) -> Result<Vec<Ended>, ServerError> {
        let (ended, first) = stop_all(self.members).await;
        first.map_or(Ok(ended), Err)
    }
}

/// The inodes of the sockets that listen for an address, of whatever process.
pub fn listeners(address: &Address) -> Vec<u64> {
    match address {
        Address::Unix(path) => unix::listeners(path).unwrap_or_default(),
        Address::Ip(address) => ports::listeners(address.port())
            .unwrap_or_default()
            .iter()
            .map(|socket| socket.inode)
            .collect(),
    }
}

/// How a process was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Who.
    pub who: Who,
    /// What its records are called.
    pub name: String,
    /// How.
    pub stop: Stop,
    /// A folder of it that could not be removed, in a sentence.
    pub left: Option<String>,
}

/// Ends processes in the reverse order of their start. The first error comes beside those that ended well.
async fn stop_all(members: Vec<Member>) -> (Vec<Ended>, Option<ServerError>) {
    let (mut all, mut first) = (Vec::new(), None);
    for member in members.into_iter().rev() {
        match member.stop().await {
            Ok(ended) => all.push(ended),
            Err(error) => {
                first.get_or_insert(error);
            }
        }
    }
    (all, first)
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

/// The first that ends, and how. Never resolves where there is none.
async fn first_gone<'m>(members: impl Iterator<Item = &'m Member>) -> (&'m Member, Fallen) {
    let mut all: Vec<_> = members
        .map(|member| Box::pin(async move { (member, member.gone().await) }))
        .collect();
    std::future::poll_fn(|context| {
        for one in &mut all {
            if let Poll::Ready(gone) = one.as_mut().poll(context) {
                return Poll::Ready(gone);
            }
        }
        Poll::Pending
    })
    .await
}

/// Ends what was started before something failed, and tells why it failed, and what could not be ended.
async fn end_all(members: Vec<Member>, first: ServerError) -> ServerError {
    for member in &members {
        member.kill_now();
    }
    match stop_all(members).await.1 {
        Some(left) => ServerError::LeftBehind {
            first: Box::new(first),
            left: Box::new(left),
        },
        None => first,
    }
}
