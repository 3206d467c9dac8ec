//! The life of a cell's processes: what they need (`requirement`), how they are
//! made (`build`), where they listen (`ports`), when they are ready
//! (`readiness`), and here their start and their end. Each process has a guard,
//! so that whatever becomes of a [`Server`], nothing of it is left.

pub mod build;
mod error;
pub mod ports;
mod readiness;
pub mod requirement;

pub use error::{NotReady, ServerError};

use crate::process::{Exit, Guard, GuardProgram, Launch, tail};
use crate::record::{Proof, Stop};
use crate::spec::{Cell, Fill, ProcessSpec, Text};
use readiness::Tries;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How many of a server's last lines are shown when it fails.
const TAIL_LINES: usize = 20;
/// A server whose port was taken between our look and its bind is started again on another.
const PORT_TRIES: u32 = 3;
/// What a process inherits of the caller's environment; the rest is the suite's to say.
const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];

/// Where and how processes are started.
#[derive(Debug, Clone)]
pub struct Place {
    /// The program that guards them.
    pub program: GuardProgram,
    /// What the program name `hotlap` means.
    pub hotlap: PathBuf,
    /// The suite's folder, absolute.
    pub folder: PathBuf,
    /// Where their output goes: `<logs>/<role>.log`.
    pub logs: PathBuf,
    /// Where guards say that they live.
    pub ledgers: PathBuf,
    /// Processors that a server may use.
    pub cpus: usize,
    /// The limit on open files that the caller had.
    pub nofile: Option<u64>,
}

/// A running server that answers.
#[derive(Debug)]
pub struct Server {
    guard: Guard,
    role: String,
    log: PathBuf,
    port: u16,
    addresses: Vec<SocketAddr>,
    fill: Fill,
    /// When its first process was started.
    pub began: Instant,
    /// The address that answered, and that is loaded.
    pub address: SocketAddr,
    /// What stands in the Host header.
    pub authority: String,
    /// From the start to the first good answer.
    pub startup: Duration,
    /// Whether it was proved that our processes answer.
    pub proof: Proof,
    /// What a reader must know of its start.
    pub warnings: Vec<String>,
}

impl Server {
    /// Starts a cell's processes and waits until they answer. Given up, or after
    /// an error, nothing of them is left.
    pub async fn start(cell: &Cell, place: &Place) -> Result<Self, ServerError> {
        let mut tries = 1;
        loop {
            let started = Self::start_once(cell, place).await;
            match started {
                Err(error) if error.is_port_taken() && tries < PORT_TRIES => tries += 1,
                other => return other,
            }
        }
    }

    async fn start_once(cell: &Cell, place: &Place) -> Result<Self, ServerError> {
        let process = cell.front_process().ok_or(ServerError::NoProcess)?;
        let ips = resolve(&process.address).await?;
        let port = match process.port {
            Some(port) => {
                for ip in &ips {
                    ports::must_be_free(*ip, port).map_err(ServerError::Port)?;
                }
                port
            }
            None => ports::free_port(ips[0]).map_err(ServerError::Port)?,
        };
        let dir = scratch(process);
        let fill = Fill {
            port,
            dir: dir
                .as_ref()
                .map_or_else(String::new, |dir| dir.display().to_string()),
            cpus: place.cpus,
            env: caller(),
            index: 1,
            ..Fill::default()
        };
        all_set(cell, &fill)?;
        let launch = launch(process, &fill, dir.as_deref(), place);
        let log = launch.log.clone();
        let began = Instant::now();
        let guard = Guard::start(&place.program, &launch)
            .await
            .map_err(ServerError::Start)?;
        let mut server = Self {
            guard,
            role: process.role.clone(),
            log,
            port,
            addresses: ips.iter().map(|ip| SocketAddr::new(*ip, port)).collect(),
            address: SocketAddr::new(ips[0], port),
            authority: authority(&process.address, port),
            fill,
            began,
            startup: Duration::ZERO,
            proof: Proof::Untested,
            warnings: Vec::new(),
        };
        match server.wait_until_ready(cell).await {
            Ok(()) => Ok(server),
            Err(first) => {
                server.guard.kill_now();
                match server.guard.stop().await {
                    Ok(_) => Err(first),
                    Err(left) => Err(ServerError::LeftBehind {
                        first: Box::new(first),
                        left,
                    }),
                }
            }
        }
    }

    async fn wait_until_ready(&mut self, cell: &Cell) -> Result<(), ServerError> {
        let mut tries = Tries::default();
        let headers: Vec<(String, String)> = cell
            .work
            .request
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.fill(&self.fill)))
            .collect();
        let pids = || self.pids();
        let answer = readiness::answer(
            &self.addresses,
            &self.authority,
            &headers,
            &cell.ready,
            &self.fill,
            pids,
            &mut tries,
        );
        let outcome = tokio::select! {
            answer = answer => Some(answer),
            () = self.gone() => None,
            () = tokio::time::sleep(cell.ready.timeout) => {
                return Err(self.not_ready(cell, tries));
            }
        };
        match outcome {
            Some(Ok(answer)) => {
                self.startup = answer.at.duration_since(self.began);
                self.address = answer.address;
                self.proof = answer.proof;
                if let Some(exit) = self.guard.exit_now() {
                    self.warnings.push(format!(
                        "the command {exit} and left its server running in the background; its processes were found and measured"
                    ));
                }
                Ok(())
            }
            Some(Err(foreign)) => Err(ServerError::Foreign {
                address: foreign.address,
                holder: foreign.holder,
            }),
            None => Err(ServerError::ExitedEarly {
                exit: self.exit_in_words(),
                after: self.began.elapsed(),
                log_tail: self.log_tail(),
            }),
        }
    }

    fn not_ready(&self, cell: &Cell, tries: Tries) -> ServerError {
        let after = self.began.elapsed();
        let listens = ports::listens_where(self.pids());
        let elsewhere: Vec<SocketAddr> = listens
            .into_iter()
            .filter(|at| {
                !self
                    .addresses
                    .iter()
                    .any(|wanted| ports::takes(*at, *wanted))
            })
            .collect();
        ServerError::NotReady(Box::new(NotReady {
            command: self.command_line(cell),
            addresses: self.addresses.clone(),
            after,
            last: tries.last,
            elsewhere,
            log_tail: self.log_tail(),
        }))
    }

    fn command_line(&self, cell: &Cell) -> String {
        let words = cell.front_process().map(|process| {
            process
                .command
                .iter()
                .map(|word| word.fill(&self.fill))
                .collect::<Vec<_>>()
        });
        words.unwrap_or_default().join(" ")
    }

    /// Resolves when nothing of the server is left. A command that exits well and
    /// leaves processes behind has gone to the background, and lives on in them.
    pub async fn gone(&self) {
        let exit = self.guard.exited().await;
        while exit.success() && !self.guard.tree().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// How the leader ended, in words.
    pub fn exit_in_words(&self) -> String {
        self.guard.exit_now().map_or_else(
            || "still runs".to_owned(),
            |exit| match exit {
                Exit::Signal(_) => format!("was {exit}"),
                Exit::Code(_) | Exit::Unseen => exit.to_string(),
            },
        )
    }

    /// Whether the leader has exited with an error, or nothing of the server is left.
    pub fn is_gone(&self) -> bool {
        self.guard
            .exit_now()
            .is_some_and(|exit| !exit.success() || self.guard.tree().is_empty())
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The values of its symbols.
    pub fn fill(&self) -> &Fill {
        &self.fill
    }

    /// Each role with the pid of its guard, under which its processes are.
    pub fn roots(&self) -> Vec<(String, u32)> {
        vec![(self.role.clone(), self.guard.guard_pid())]
    }

    /// The last lines that it printed.
    pub fn log_tail(&self) -> Vec<String> {
        tail(&self.log, TAIL_LINES)
    }

    fn pids(&self) -> Vec<u32> {
        self.guard
            .tree()
            .iter()
            .map(|process| process.pid)
            .collect()
    }

    /// That nobody else has come to listen on its port meanwhile, where the kernel lets us look.
    pub fn still_alone(&self) -> Result<(), ServerError> {
        let foreign = readiness::foreign_listener(self.address, &|| self.pids());
        match foreign {
            Some(foreign) => Err(ServerError::Foreign {
                address: foreign.address,
                holder: foreign.holder,
            }),
            None => Ok(()),
        }
    }

    /// Ends every process, with proof, and sees to it that nobody listens any more.
    pub async fn stop(self) -> Result<BTreeMap<String, Stop>, ServerError> {
        let Self {
            guard,
            role,
            address,
            ..
        } = self;
        let stopped = guard.stop().await.map_err(ServerError::Stop)?;
        let refused = tokio::net::TcpStream::connect(address).await;
        if let Ok(stream) = refused
            && stream.local_addr().ok() != stream.peer_addr().ok()
        {
            let holder = ports::listeners(address.port())
                .ok()
                .and_then(|found| ports::holder(found.first()?.inode));
            return Err(ServerError::StillListens { address, holder });
        }
        let stop = Stop {
            exit: stopped.exit.to_string(),
            polite: stopped.polite,
            killed: stopped.killed,
            printed_bytes: Some(stopped.printed),
        };
        Ok(BTreeMap::from([(role, stop)]))
    }
}

/// The caller's environment, as far as it is text.
fn caller() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// That every variable that stands in the cell's texts is set: a run can be resumed by a caller
/// with another environment than it was planned in.
fn all_set(cell: &Cell, fill: &Fill) -> Result<(), ServerError> {
    let request = &cell.work.request;
    let of_request = std::iter::once(&request.path)
        .chain(std::iter::once(&cell.ready.path))
        .chain(request.headers.iter().map(|(_, text)| text));
    let of_processes = cell.processes.iter().flat_map(|process| {
        process
            .command
            .iter()
            .chain(std::iter::once(&process.cwd))
            .chain(process.env.iter().map(|(_, text)| text))
    });
    let missing = of_request
        .chain(of_processes)
        .flat_map(Text::variables)
        .find(|name| !fill.env.contains_key(*name));
    match missing {
        Some(name) => Err(ServerError::NotSet(name.to_owned())),
        None => Ok(()),
    }
}

/// Every address of a name, those that an address means by itself.
async fn resolve(address: &str) -> Result<Vec<IpAddr>, ServerError> {
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

fn authority(address: &str, port: u16) -> String {
    if address.contains(':') {
        format!("[{address}]:{port}")
    } else {
        format!("{address}:{port}")
    }
}

/// Where the scratch folder will be, where the process has a use for one. The
/// guard makes and removes it.
fn scratch(process: &ProcessSpec) -> Option<PathBuf> {
    let symbol = Text::uses_dir;
    let wanted = process.command.iter().any(symbol)
        || symbol(&process.cwd)
        || process.env.iter().any(|(_, text)| symbol(text));
    let name = || format!("hotlap-{}-{:016x}", std::process::id(), fastrand::u64(..));
    wanted.then(|| std::env::temp_dir().join(name()))
}

fn launch(process: &ProcessSpec, fill: &Fill, scratch: Option<&Path>, place: &Place) -> Launch {
    let mut command: Vec<String> = process.command.iter().map(|word| word.fill(fill)).collect();
    if let Some(program) = command.first_mut()
        && program == "hotlap"
    {
        *program = place.hotlap.display().to_string();
    }
    Launch {
        role: process.role.clone(),
        command,
        env: environment(process, fill),
        cwd: place.folder.join(process.cwd.fill(fill)),
        log: place.logs.join(format!("{}.log", process.role)),
        log_cap: Launch::LOG_CAP,
        stdout: None,
        stop_signal: process.stop.signal.clone(),
        grace: process.stop.grace,
        nofile: place.nofile,
        affinity: None,
        ledger: Some(ledger(&place.ledgers, &process.role)),
        scratch: scratch.map(Path::to_owned),
    }
}

fn ledger(folder: &Path, role: &str) -> PathBuf {
    folder.join(format!("{role}.json"))
}

/// What is inherited, the port, and what the suite says; what it takes away is gone.
fn environment(process: &ProcessSpec, fill: &Fill) -> Vec<(String, String)> {
    let mut all: BTreeMap<String, String> = INHERITED
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), fill.env.get(*name)?.clone())))
        .collect();
    all.insert("PORT".to_owned(), fill.port.to_string());
    for (name, text) in &process.env {
        all.insert(name.clone(), text.fill(fill));
    }
    for name in &process.unset_env {
        all.remove(name);
    }
    all.into_iter().collect()
}
