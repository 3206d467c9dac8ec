//! Where each process of a cell listens, found before any is started: they may
//! know each other's ports.

use super::error::{ServerError, Who};
use super::member::Draft;
use super::place::texts;
use super::services::Services;
use super::{ports, readiness};
use crate::spec::{Cell, Fill, ProcessSpec, Text};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Where each process of a cell will listen.
pub(super) struct Homes<'a>(pub(super) Vec<Home<'a>>);

/// Where one process will.
pub(super) struct Home<'a> {
    pub(super) process: &'a ProcessSpec,
    /// Its place among its kind, from 1.
    index: u32,
    ips: Vec<IpAddr>,
    port: u16,
}

impl<'a> Homes<'a> {
    /// A port for each, before any is started: they may know each other's.
    pub(super) async fn find(cell: &'a Cell) -> Result<Self, ServerError> {
        let mut homes: Vec<Home<'a>> = Vec::new();
        for (process, count) in counts(cell) {
            let ips = resolve(&process.address).await?;
            for index in 1..=count {
                let mut port = ports::take(&ips, process.port).map_err(ServerError::Port)?;
                while process.port.is_none() && homes.iter().any(|home| home.port == port) {
                    port = ports::take(&ips, None).map_err(ServerError::Port)?;
                }
                homes.push(Home {
                    process,
                    index,
                    ips: ips.clone(),
                    port,
                });
            }
        }
        Ok(Self(homes))
    }

    /// The ports of each kind of process.
    pub(super) fn ports(&self) -> BTreeMap<String, Vec<u16>> {
        let mut all: BTreeMap<String, Vec<u16>> = BTreeMap::new();
        for home in &self.0 {
            let of_kind = all.entry(home.process.role.clone()).or_default();
            of_kind.push(home.port);
        }
        all
    }
}

impl<'a> Home<'a> {
    /// What is to be started there.
    pub(super) fn draft(&self, cell: &'a Cell, is_front: bool, fill: Fill) -> Draft<'a> {
        let role = &self.process.role;
        let name = if self.process.count > 1 {
            format!("{role}@{}", self.index)
        } else {
            role.clone()
        };
        let who = if cell.processes.len() == 1 && self.process.count == 1 {
            Who::Server
        } else {
            Who::Process(name.clone())
        };
        let also: Vec<&Text> = if is_front {
            let prepare = cell.prepare.iter().flatten();
            readiness::texts(&cell.ready).chain(prepare).collect()
        } else {
            Vec::new()
        };
        Draft {
            process: self.process,
            who,
            name,
            setup: &[],
            also,
            fill: Fill {
                port: self.port,
                index: self.index,
                ..fill
            },
            addresses: self
                .ips
                .iter()
                .map(|ip| SocketAddr::new(*ip, self.port))
                .collect(),
            cell: Some(cell),
        }
    }
}

/// The processes of a cell with their counts.
pub(super) fn counts(cell: &Cell) -> impl Iterator<Item = (&ProcessSpec, u32)> {
    cell.processes
        .iter()
        .map(|process| (process, process.count))
}

/// Every address of a name, those that an address means by itself.
pub(super) async fn resolve(address: &str) -> Result<Vec<IpAddr>, ServerError> {
    if let Ok(ip) = address.parse() {
        return Ok(vec![ip]);
    }
    let failed = |reason: String| ServerError::Resolve {
        name: address.to_owned(),
        reason,
    };
    let mut ips: Vec<IpAddr> = tokio::net::lookup_host((address, 0))
        .await
        .map_err(|error| failed(error.to_string()))?
        .map(|found| found.ip())
        .collect();
    ips.dedup();
    if ips.is_empty() {
        return Err(failed("it has no address".to_owned()));
    }
    Ok(ips)
}

/// That every variable that stands in the cell's texts is set: a run can be resumed by a caller
/// with another environment than it was planned in.
pub(super) fn all_set(cell: &Cell, services: &Services, fill: &Fill) -> Result<(), ServerError> {
    let request = &cell.work.request;
    let of_request = std::iter::once(&request.path)
        .chain(request.headers.iter().map(|(_, text)| text))
        .chain(&request.body);
    let of_services = services
        .of_trial(cell)
        .flat_map(|service| texts(&service.process).chain(service.setup.iter().flatten()));
    let missing = of_request
        .chain(readiness::texts(&cell.ready))
        .chain(cell.prepare.iter().flatten())
        .chain(cell.processes.iter().flat_map(texts))
        .chain(of_services)
        .flat_map(Text::variables)
        .find(|name| !fill.env.contains_key(*name));
    match missing {
        Some(name) => Err(ServerError::NotSet(name.to_owned())),
        None => Ok(()),
    }
}
