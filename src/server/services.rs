//! Services: what servers lean on, a database say. Those of a trial live and end
//! with its server; those of the suite are started for the first trial that
//! needs them, and kept until the run ends.

use super::error::{Fallen, ServerError, Who};
use super::home::resolve;
use super::member::{Draft, Member};
use super::place::Place;
use super::{Ended, Rooted, first_gone, ports, stop_all};
use crate::spec::{Cell, Fill, Scope, Service};
use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;

/// The services of a suite, and those of them that run from trial to trial.
#[derive(Debug)]
pub struct Services {
    /// Each before those that need it.
    all: Vec<Service>,
    /// The names of those that live as long as the run.
    standing: HashSet<String>,
    running: Vec<Member>,
    /// How often each was started: each start has a log of its own.
    starts: BTreeMap<String, u32>,
}

impl Services {
    /// The services of a suite; nothing is started.
    pub fn new(all: &[Service]) -> Self {
        let mut standing: HashSet<String> = HashSet::new();
        // What a lasting service leans on must last as long.
        for service in all.iter().rev() {
            let name = &service.process.role;
            if service.scope == Scope::Suite || standing.contains(name) {
                standing.insert(name.clone());
                standing.extend(service.process.needs.iter().cloned());
            }
        }
        Self {
            all: all.to_vec(),
            standing,
            running: Vec::new(),
            starts: BTreeMap::new(),
        }
    }

    /// Starts those of the suite that a cell needs and that do not run. What a reader must know of it comes
    /// back in sentences. Logs go to `place`'s folder.
    pub async fn ensure(&mut self, cell: &Cell, place: &Place) -> Result<Vec<String>, ServerError> {
        let mut notes = Vec::new();
        let mut first = None;
        for (at, member) in self.running.iter().enumerate() {
            let Some(Fallen { who, exit, .. }) = member.fallen() else {
                continue;
            };
            if cell.services.contains(&member.process.role) {
                first.get_or_insert(at);
                notes.push(format!(
                    "{who} {exit} between two trials, and was started again"
                ));
            }
        }
        if let Some(first) = first {
            // Those that were started later may lean on it, and know its port.
            let later = self.running.split_off(first);
            if let (_, Some(error)) = stop_all(later).await {
                return Err(error);
            }
        }
        self.start_wanted(cell, place).await.map(|()| notes)
    }

    /// Starts what a cell needs and does not run.
    async fn start_wanted(&mut self, cell: &Cell, place: &Place) -> Result<(), ServerError> {
        let wanted: Vec<Service> = self
            .of(cell)
            .filter(|service| self.standing.contains(&service.process.role))
            .filter(|service| self.port(&service.process.role).is_none())
            .cloned()
            .collect();
        for service in wanted {
            let name = service.process.role.clone();
            let started = self.starts.entry(name.clone()).or_default();
            *started += 1;
            let log = match started {
                1 => format!("service@{name}"),
                again => format!("service@{name}@{again}"),
            };
            let member = start_again(&service, &log, &self.fill(), place).await?;
            self.running.push(member);
        }
        Ok(())
    }

    /// The values that processes of a trial find for what runs.
    pub(super) fn fill(&self) -> Fill {
        Fill {
            services: self
                .running
                .iter()
                .map(|member| (member.process.role.clone(), member.site.fill.port))
                .collect(),
            ..Fill::default()
        }
    }

    /// Those that a cell needs and that live only as long as its trial.
    pub(super) fn of_trial(&self, cell: &Cell) -> impl Iterator<Item = &Service> {
        self.of(cell)
            .filter(|service| !self.standing.contains(&service.process.role))
    }

    /// All that a cell needs, each before those that need it.
    fn of(&self, cell: &Cell) -> impl Iterator<Item = &Service> {
        cell.services
            .iter()
            .filter_map(|name| self.all.iter().find(|known| known.process.role == *name))
    }

    fn port(&self, name: &str) -> Option<u16> {
        let running = self
            .running
            .iter()
            .find(|member| member.process.role == name);
        running.map(|member| member.site.fill.port)
    }

    /// The running ones that a cell needs.
    pub(super) fn running_for<'a>(&'a self, cell: &'a Cell) -> impl Iterator<Item = &'a Member> {
        self.running
            .iter()
            .filter(|member| cell.services.contains(&member.process.role))
    }

    /// Resolves when one of those that a cell needs has ended, with who it was.
    pub async fn gone(&self, cell: &Cell) -> Fallen {
        first_gone(self.running_for(cell)).await.1
    }

    /// One of those that a cell needs and that has ended.
    pub fn fallen(&self, cell: &Cell) -> Option<Fallen> {
        self.running_for(cell).find_map(Member::fallen)
    }

    /// Where the process trees of those that a cell needs are rooted.
    pub fn roots(&self, cell: &Cell) -> Vec<Rooted> {
        self.running_for(cell).map(Rooted::of).collect()
    }

    /// Ends all that run, in reverse order. Who had to be killed, and what could not be removed, is told in a
    /// sentence each.
    pub async fn stop(&mut self) -> Result<Vec<String>, ServerError> {
        let (ended, first) = stop_all(std::mem::take(&mut self.running)).await;
        let told = |ended: Ended| {
            let Ended {
                who, stop, left, ..
            } = ended;
            let killed = (!stop.polite).then(|| {
                format!(
                    "{who} did not end when it was asked to; processes that had to be killed: {}",
                    stop.killed
                )
            });
            killed.into_iter().chain(left)
        };
        first.map_or_else(|| Ok(ended.into_iter().flat_map(told).collect()), Err)
    }
}

/// Starts a service, again on another port where its own was taken meanwhile.
pub(super) async fn start_again(
    service: &Service,
    name: &str,
    fill: &Fill,
    place: &Place,
) -> Result<Member, ServerError> {
    let mut tries = 1;
    loop {
        match start(service, name.to_owned(), fill.clone(), place).await {
            Err(error) if error.is_port_taken() && tries < super::PORT_TRIES => tries += 1,
            other => return other,
        }
    }
}

/// Starts a service and waits until it is ready and prepared. After an error, or given up, nothing of it is left.
async fn start(
    service: &Service,
    name: String,
    mut fill: Fill,
    place: &Place,
) -> Result<Member, ServerError> {
    let process = &service.process;
    let ips = resolve(&process.address).await?;
    let port = ports::take(&ips, process.port).map_err(ServerError::Port)?;
    fill.port = port;
    fill.cpus = place.cpus;
    fill.index = 1;
    fill.env = super::place::caller();
    let draft = Draft {
        process,
        who: Who::Service(process.role.clone()),
        name,
        setup: &service.setup,
        also: Vec::new(),
        fill,
        addresses: ips.iter().map(|ip| SocketAddr::new(*ip, port)).collect(),
        cell: None,
    };
    let mut member = Member::start(draft, place).await?;
    let ready = process
        .ready
        .clone()
        .unwrap_or_else(super::takes_connections);
    let made = match member.until_ready(&ready, None, place).await {
        Ok(_) => member.prepare(place).await,
        Err(error) => Err(error),
    };
    match made {
        Ok(()) => Ok(member),
        Err(first) => Err(super::end_all(vec![member], first).await),
    }
}
