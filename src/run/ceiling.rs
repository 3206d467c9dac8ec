//! What the built-in generator can send on this machine at all, against the null server: measured once for a machine, a
//! build of hotlap and a number of threads, and kept in the cache. A failure to measure it is told and no more.

use super::event::Event;
use super::making::make;
use super::runner::{Job, RunError, remaining, rfc3339};
use crate::load::{self, Cancel, Control, Target, Verified, VerifyError};
use crate::process::{Guard, GuardProgram, Launch};
use crate::record::{Ceiling, End, Host, Load};
use crate::server::cache::{Cache, Finding};
use crate::server::{caller, ports};
use crate::spec::{Amount, Cell, Expect, Fill, LoadSpec, Planned, Spec};
use crate::stats::has_ceiling;
use crate::store::RunFolder;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

/// The rate depends little on the number of connections, so that one number stands for all.
const CONNECTIONS: u32 = 64;
/// How long the load is, and its warm-up.
const LASTS: Duration = Duration::from_secs(1);
const WARMUP: Duration = Duration::from_millis(300);
/// When a null server that does not answer is given up.
const START_WITHIN: Duration = Duration::from_secs(5);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(5);

/// What a ceiling depends on. One that was kept holds where all of this is the same.
#[derive(Serialize)]
struct Grounds<'a> {
    hotlap: &'static str,
    /// Size and time of the program's file: two builds of one version are not equally fast.
    program: (u64, Option<u128>),
    host: &'a Host,
    threads: usize,
    connections: u32,
}

/// Why there is no ceiling.
#[derive(Debug)]
pub enum CeilingError {
    /// In a sentence without its full stop.
    Unknown(String),
    /// The null server could not be ended.
    Left(String),
}

impl fmt::Display for CeilingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(why) | Self::Left(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for CeilingError {}

/// Where a ceiling is measured, and by which programs.
#[derive(Debug, Clone, Copy)]
pub struct CeilingBench<'a> {
    /// The machine. A ceiling that was kept holds for this one alone.
    pub host: &'a Host,
    /// A folder, absolute, for what the null server prints and for the note of its guard.
    pub folder: &'a Path,
    /// The program whose null server is loaded.
    pub hotlap: &'a Path,
    /// The program that guards it.
    pub program: &'a GuardProgram,
}

impl CeilingError {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "it takes what `map_err` hands over"
    )]
    fn of(error: impl ToString) -> Self {
        Self::Unknown(error.to_string())
    }
}

/// Half of the processors make load, so that the server has the other half; at
/// most one thread a connection.
pub(super) fn generator_threads(cpus: usize, cell: &Cell) -> usize {
    most_threads(cpus).min(cell.work.connections.max(1) as usize)
}

/// The most threads that make load on so many processors.
pub fn most_threads(cpus: usize) -> usize {
    (cpus / 2).max(1)
}

/// Finds the ceilings that the trials which are left can be held against, and puts them into the record. Some end is
/// that of the run.
pub(super) async fn ceilings(
    records: &mut RunFolder,
    job: &Job,
    cancel: &Cancel,
    spec: &Spec,
    plan: &[Planned],
    listen: &mut (dyn FnMut(&Event) + Send),
) -> Result<Option<End>, RunError> {
    let mut found = Vec::new();
    for threads in wanted(records, spec, plan) {
        let bench = CeilingBench {
            host: &records.run().host,
            folder: records.path(),
            hotlap: &job.hotlap,
            program: &job.program,
        };
        match own_ceiling(&bench, cancel, threads, listen).await {
            Err(CeilingError::Left(what)) => {
                listen(&Event::LeftBehind { what });
                return Ok(Some(End::Aborted));
            }
            // What was cut short says nothing.
            _ if cancel.is_cancelled() => return Ok(Some(End::Interrupted)),
            Ok(ceiling) => found.push(ceiling),
            Err(CeilingError::Unknown(why)) => listen(&Event::CeilingUnknown { why }),
        }
    }
    if !found.is_empty() {
        records.update(|run| run.ceilings.extend(found))?;
    }
    Ok(None)
}

/// The numbers of threads that are not in the record: the most that a trial has, and 1 where one has that.
fn wanted(records: &RunFolder, spec: &Spec, plan: &[Planned]) -> BTreeSet<usize> {
    let cpus = records.run().host.cpus;
    let left = remaining(records, spec, plan);
    let all: BTreeSet<usize> = left
        .iter()
        .filter(|(_, cell)| has_ceiling(&cell.work))
        .map(|(_, cell)| generator_threads(cpus, cell))
        .collect();
    let known = |threads: &usize| {
        let mut known = records.run().ceilings.iter();
        known.any(|ceiling| ceiling.threads == *threads)
    };
    let one_and_most = all.first().filter(|threads| **threads == 1);
    let one_and_most = one_and_most.into_iter().chain(all.last());
    one_and_most.copied().filter(|n| !known(n)).collect()
}

/// What the built-in generator can send with so many threads: as it was measured before, else measured now. That a
/// measurement starts, and that it cannot be kept, is told.
pub async fn own_ceiling(
    bench: &CeilingBench<'_>,
    cancel: &Cancel,
    threads: usize,
    listen: &mut (dyn FnMut(&Event) + Send),
) -> Result<Ceiling, CeilingError> {
    let finding = finding(bench, threads);
    if let Some(kept) = kept(&finding) {
        return Ok(kept);
    }
    // Where several begin at once, one of them measures. Without a cache each does.
    let _hold = tokio::select! {
        hold = finding.alone() => hold.ok(),
        () = cancel.cancelled() => return Err(CeilingError::of("interrupted")),
    };
    if let Some(kept) = kept(&finding) {
        return Ok(kept);
    }
    listen(&Event::CeilingStarted { threads });
    let ceiling = measured(bench, cancel, threads).await?;
    // Numbers and text only: there is nothing that could not be written.
    let bytes = serde_json::to_vec(&ceiling).unwrap_or_default();
    if let Err(error) = finding.keep(&bytes) {
        let why = format!("it was measured, and can't be kept for the next run: {error}");
        listen(&Event::CeilingUnknown { why });
    }
    Ok(ceiling)
}

fn finding(bench: &CeilingBench<'_>, threads: usize) -> Finding {
    let file = std::fs::metadata(bench.hotlap).ok();
    let modified = file.as_ref().and_then(|file| {
        let since = file.modified().ok()?;
        let since = since.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(since.as_nanos())
    });
    let grounds = Grounds {
        hotlap: env!("CARGO_PKG_VERSION"),
        program: (file.map_or(0, |file| file.len()), modified),
        host: bench.host,
        threads,
        connections: CONNECTIONS,
    };
    Cache::find().finding("ceilings", &grounds)
}

fn kept(finding: &Finding) -> Option<Ceiling> {
    serde_json::from_slice(&finding.kept()?).ok()
}

/// Starts the null server, loads it, and ends it with proof.
async fn measured(
    bench: &CeilingBench<'_>,
    cancel: &Cancel,
    threads: usize,
) -> Result<Ceiling, CeilingError> {
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let port = ports::free_port(here).map_err(CeilingError::of)?;
    let logs = bench.folder.join("logs");
    let ledgers = bench.folder.join("guards");
    for folder in [&logs, &ledgers] {
        make(folder).map_err(CeilingError::of)?;
    }
    let log = logs.join(format!("null-server-{threads}"));
    let words = ["serve", "--null", "--port"].map(str::to_owned);
    // Where there are processors enough, the null server must not be the slower end.
    let workers = bench.host.cpus.saturating_sub(threads).max(threads);
    let numbers = [
        port.to_string(),
        "--workers".to_owned(),
        workers.to_string(),
    ];
    let launch = Launch {
        role: "the null server".to_owned(),
        command: std::iter::once(bench.hotlap.display().to_string())
            .chain(words)
            .chain(numbers)
            .collect(),
        env: caller().into_iter().collect(),
        cwd: bench.folder.to_owned(),
        log: log.clone(),
        log_cap: Launch::LOG_CAP,
        stdout: None,
        stop_signal: "SIGTERM".to_owned(),
        grace: Duration::from_secs(2),
        nofile: None,
        affinity: None,
        ledger: Some(ledgers.join("null-server.json")),
        shown: None,
        secrets: Vec::new(),
    };
    let guard = Guard::start(bench.program, &launch)
        .await
        .map_err(CeilingError::of)?;
    let loaded = loaded(&guard, SocketAddr::new(here, port), cancel, threads).await;
    guard
        .stop()
        .await
        .map_err(|error| CeilingError::Left(error.to_string()))?;
    let load = loaded?;
    if cancel.is_cancelled() {
        return Err(CeilingError::of("interrupted"));
    }
    // Nobody looks for what a null server prints.
    let _ = std::fs::remove_file(log);
    if load.counts.errors() > 0 {
        return Err(CeilingError::Unknown(format!(
            "{} requests to the null server failed",
            load.counts.errors()
        )));
    }
    let rate = load.requests_per_second();
    let whole = load.generator_threads as f64 * load.window_ns as f64;
    Ok(Ceiling {
        threads,
        connections: CONNECTIONS,
        requests_per_second: rate
            .ok_or_else(|| CeilingError::of("the null server answered nothing"))?,
        cpu_share: load.generator_cpu_ns.map(|cpu| cpu as f64 / whole),
        measured: rfc3339(jiff::Timestamp::now()),
    })
}

async fn loaded(
    guard: &Guard,
    address: SocketAddr,
    cancel: &Cancel,
    threads: usize,
) -> Result<Load, CeilingError> {
    let target = Target::new(address, address.to_string(), false).map_err(CeilingError::of)?;
    let spec = LoadSpec {
        connections: CONNECTIONS,
        amount: Amount::Duration(LASTS),
        warmup: WARMUP,
        expect: Expect {
            body: Some("ok".to_owned()),
            ..Expect::default()
        },
        ..LoadSpec::default()
    };
    let job = load::Job::new(&spec, &Fill::default(), &target).map_err(CeilingError::of)?;
    let verified = tokio::select! {
        verified = verified(guard, &job, &target) => verified?,
        () = cancel.cancelled() => return Err(CeilingError::of("interrupted")),
    };
    let control = Control::new(threads, cancel.clone(), |_, _| {});
    let load = tokio::task::spawn_blocking(move || load::run(&job, &verified, &target, &control));
    load.await
        .map_err(CeilingError::of)?
        .map_err(CeilingError::of)
}

/// The first answer of a null server that starts.
async fn verified(
    guard: &Guard,
    job: &load::Job,
    target: &Target,
) -> Result<Verified, CeilingError> {
    let until = Instant::now() + START_WITHIN;
    loop {
        match load::verify(job, target).await {
            Err(VerifyError::Connect(..)) if Instant::now() < until => {}
            verified => return verified.map_err(CeilingError::of),
        }
        if let Some(exit) = guard.exit_now() {
            return Err(CeilingError::Unknown(format!("the null server {exit}")));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
