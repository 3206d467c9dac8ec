//! One trial: a fresh server is started, proved to be ours, verified, loaded,
//! watched, left to rest and stopped. Here (and in `loading`) servers, load and
//! samples meet, and it reads like the list of a trial's steps.

use super::event::Live;
use super::loading::{Loading, Running};
use super::pilot::Search;
use super::surroundings::Watch;
use crate::generator::{Order, Tool};
use crate::load::{self, Cancel, Files, Job, Secure, Target, Verified, VerifyError};
use crate::record::{Load, Outcome, Phase, Reading, Step, Trial};
use crate::sample::{Checkpoint, Root, Sampler, Tree};
use crate::server::{self, Fallen, Place, Rooted, Server, ServerError, Services};
use crate::spec::{Cell, Planned, RunSettings};
use crate::stats;
use crate::units::show_duration;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Answers that are asked for when the first one is wrong, to tell a server that
/// is always wrong from one that was wrong once.
const VERIFICATIONS: u32 = 10;

/// What a trial needs beside its cell.
pub(super) struct Stage<'a> {
    pub(super) cell: &'a Cell,
    pub(super) settings: &'a RunSettings,
    pub(super) planned: &'a Planned,
    pub(super) session: usize,
    /// The suite's folder.
    pub(super) folder: &'a Path,
    pub(super) place: Place,
    /// Those that live as long as the run.
    pub(super) services: &'a Services,
    pub(super) generator_threads: usize,
    /// The program that makes the load; none is the built-in generator.
    pub(super) tool: Option<Tool>,
    /// Whether that program runs.
    pub(super) running: Running,
    /// What a pilot looks for; none in a trial.
    pub(super) pilot: Option<&'a Search>,
    /// What an earlier trial found, where the load searches for the highest rate.
    pub(super) earlier: Option<f64>,
    pub(super) live: Arc<Live>,
    pub(super) cancel: &'a Cancel,
}

/// How a trial ended.
pub(super) enum Ended {
    /// It is to be recorded.
    Done(Box<Seen>),
    /// It was cancelled, and nothing is recorded; what could not be ended is named.
    Cancelled { left: Option<String> },
}

/// What was seen of a trial.
pub(super) struct Seen {
    pub(super) trial: Trial,
    pub(super) readings: Vec<Reading>,
    /// Successes a second in each window of a pilot.
    pub(super) windows: Vec<f64>,
    /// Whether something of it may still run, and would be measured with whatever comes next.
    pub(super) leaves_something: bool,
}

/// Runs a trial to its end. `notes` is what a reader must know of what was before it.
pub(super) async fn run(stage: Stage<'_>, notes: Vec<String>) -> Ended {
    let began = Instant::now();
    let started = jiff::Timestamp::now();
    // It is large, and this is the only one.
    match Box::pin(stage.steps(notes)).await {
        Ok(mut seen) => {
            seen.trial.started = super::runner::rfc3339(started);
            seen.trial.took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            Ended::Done(Box::new(seen))
        }
        Err(left) => Ended::Cancelled { left },
    }
}

impl Seen {
    fn fail(mut self, step: Step, reason: String, log_tail: Vec<String>) -> Self {
        self.trial.outcome = Outcome::Failed {
            step,
            reason,
            log_tail,
        };
        self
    }

    /// A server that cannot be ended spoils whatever is measured after it.
    fn unstopped(mut self, error: &ServerError) -> Self {
        self.leaves_something = true;
        if let Outcome::Failed { reason, .. } = &mut self.trial.outcome {
            *reason = format!("{reason}; and {error}");
            return self;
        }
        self.fail(Step::Stop, error.to_string(), Vec::new())
    }
}

impl Stage<'_> {
    /// All steps, or what is left of them when the trial was cancelled.
    async fn steps(&self, notes: Vec<String>) -> Result<Seen, Option<String>> {
        let mut seen = Seen {
            trial: self.blank(),
            readings: Vec::new(),
            windows: Vec::new(),
            leaves_something: false,
        };
        seen.trial.warnings = notes;
        self.live.set_step("starting");
        let given_up = self.cancel.cancelled();
        let started = Server::start(self.cell, self.services, &self.place, given_up).await;
        let server = match started {
            Ok(server) => server,
            Err(ServerError::GivenUp) => return Err(None),
            Err(error) if self.cancel.is_cancelled() && error.leaves_something() => {
                return Err(Some(error.to_string()));
            }
            Err(error) => {
                seen.leaves_something = error.leaves_something();
                return Ok(seen.fail(error.step(), error.to_string(), error.log_tail()));
            }
        };
        let address = server.address.ip();
        seen.trial.port = address.map(|address| address.port());
        seen.trial.address = address.map(|address| address.ip());
        seen.trial.startup_ns = server
            .startup
            .and_then(|startup| u64::try_from(startup.as_nanos()).ok());
        seen.trial.listener = server.proof;
        seen.trial.warnings.extend(server.warnings.iter().cloned());
        // Whoever cancels gives up the figures, not the care with which the server is ended.
        let measured = tokio::select! {
            seen = self.measure(seen, &server) => Some(seen),
            () = self.cancel.cancelled() => None,
        };
        self.live.set_step("stopping");
        // Who loads a server ends before it, also where the trial is given up.
        let loading = self.running.ended().await;
        let stopped = server.stop().await;
        match (measured, stopped) {
            (Some(mut seen), Ok(ended)) => {
                for one in ended {
                    seen.trial.warnings.extend(one.left);
                    seen.trial.stops.insert(one.name, one.stop);
                }
                Ok(seen)
            }
            (Some(seen), Err(error)) => Ok(seen.unstopped(&error)),
            (None, stopped) => Err(stopped.err().map(|error| error.to_string()).or(loading)),
        }
    }

    async fn measure(&self, mut seen: Seen, server: &Server) -> Seen {
        let of_services = self.services.roots(self.cell);
        let rooted: Vec<Rooted> = server.roots().into_iter().chain(of_services).collect();
        let running = Watch::running(&rooted);
        let sampler = Sampler::start(roots(rooted), self.settings.sample_interval, server.began);
        let sampler = match sampler {
            Ok(sampler) => sampler,
            Err(error) => {
                let reason = format!("its processes cannot be watched: {error}");
                return seen.fail(Step::Start, reason, Vec::new());
            }
        };
        sampler.phase(Phase::Idle);
        sampler.checkpoint(Checkpoint::Idle);
        self.live.set_step("verifying");
        let verified = match self.verify(server).await {
            Ok(verified) => self.countable(&verified).await.map(|()| verified),
            Err(reason) => Err(reason),
        };
        match verified {
            Ok((job, target, verified)) => {
                if let Err(error) = &verified.response.decoded {
                    seen.trial
                        .warnings
                        .push(format!("bodies were not looked into: {error}"));
                }
                seen.trial.observed =
                    super::observe::observed(self.cell, server, &job, &target, &verified)
                        .await
                        .map(Box::new);
                let watch = Watch::begin(self.cell, running);
                let loading = match (&self.tool, target.address().ip()) {
                    // Other generators are asked for addresses with a port alone.
                    (None, _) | (_, None) => {
                        Loading::built_in(self, job, target, verified, sampler)
                    }
                    (Some(tool), Some(address)) => {
                        let work = &self.cell.work;
                        let order = Order::new(work, server.fill(), address, target.authority());
                        Loading::by(self, tool.clone(), order, &verified, sampler)
                    }
                };
                self.load(seen, server, loading, watch).await
            }
            Err(reason) => seen.fail(Step::Verify, reason, server.log_tail()),
        }
    }

    /// The record of a trial of which nothing has happened yet.
    pub(super) fn blank(&self) -> Trial {
        Trial::new(self.planned.trial.clone(), self.planned.round, self.session)
    }

    /// The first response is checked whole, before anything is measured.
    async fn verify(&self, server: &Server) -> Result<(Job, Target, Verified), String> {
        let target = Target::new(
            server.address.clone(),
            &*server.authority,
            self.settings.allow_public,
        )
        .map_err(|error| error.to_string())?
        .over(self.secure(server)?);
        let files = Files::of(&self.place.of_services.folder);
        let seed = self.chance();
        let job = Job::with(&self.cell.work, server.fill(), &target, &files, seed)
            .map_err(|error| error.to_string())?;
        let first = match load::verify(&job, &target).await {
            Ok(verified) => return Ok((job, target, verified)),
            Err(error) => error,
        };
        let VerifyError::Status { got, expected } = first else {
            return Err(first.to_string());
        };
        let mut same = 1;
        for _ in 1..VERIFICATIONS {
            match load::verify(&job, &target).await {
                Err(VerifyError::Status { got: again, .. }) if again == got => same += 1,
                _ => {}
            }
        }
        Err(if same == VERIFICATIONS {
            format!("100 % of answers ({same} of {same}) were {got}, expected {expected}")
        } else {
            format!("{same} of {VERIFICATIONS} answers were {got}, expected {expected}")
        })
    }

    /// What the order of a mix and numbers by chance follow from: the run's seed and which trial of its cell this is. Not the
    /// cell, so that cells that are compared are sent the same.
    fn chance(&self) -> u64 {
        let nth = u64::from(self.planned.trial.repetition);
        self.settings.seed ^ nth.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Where within the width of its result a search begins: another in each trial and cell.
    pub(super) fn beginning(&self) -> f64 {
        let cell = &self.planned.trial.cell.0;
        let mixed = cell.bytes().fold(self.chance(), |mixed, byte| {
            (mixed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        fastrand::Rng::with_seed(mixed).f64()
    }

    /// How the load speaks TLS; none where it does not.
    fn secure(&self, server: &Server) -> Result<Option<Secure>, String> {
        let Some(tls) = &self.cell.work.tls else {
            return Ok(None);
        };
        let host = load::host_of(&server.authority);
        let secure = || {
            Ok::<_, load::TlsError>(Secure {
                config: load::client_config(tls, self.folder, self.cell.work.http)?,
                name: load::server_name(tls, host)?,
            })
        };
        secure().map(Some).map_err(|error| error.to_string())
    }

    /// Whether another generator can count these answers. The built-in one looks at each, and does.
    async fn countable(&self, verified: &(Job, Target, Verified)) -> Result<(), String> {
        let Some(tool) = &self.tool else {
            return Ok(());
        };
        let (job, target, verified) = verified;
        if verified.response.interim > 0 && tool.is_misled_by_interim() {
            return Err(format!(
                "the server sends interim responses (1xx), and {} would take them for answers, or wait for ever",
                tool.name()
            ));
        }
        match load::unasked(job, target).await {
            Ok(0) => Ok(()),
            Ok(_) => Err(format!(
                "the server sends more than it is asked for, and {} would count it as answers",
                tool.name()
            )),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Warm-up, measurement, rest; and what was seen of it.
    async fn load(&self, mut seen: Seen, server: &Server, loading: Loading, watch: Watch) -> Seen {
        let cut = tokio::select! {
            () = loading.ended() => None,
            fallen = self.gone(server) => Some(Cut::Gone(fallen)),
            () = tokio::time::sleep(self.cell.trial_timeout) => Some(Cut::TimedOut),
            () = self.watch(&loading.sampler) => None,
            () = self.until_settled(&mut seen.windows) => None,
        };
        let at = loading.began.elapsed();
        let (made, sampler) = loading.finish().await;
        seen.trial.surroundings = Some(Box::new(watch.end()));
        let foreign = server.still_alone().err();
        let timed_out = matches!(cut, Some(Cut::TimedOut));
        let mut fallen = match cut {
            Some(Cut::Gone(fallen)) => Some(fallen),
            // The load may have ended because the server did, a moment before that was seen.
            Some(Cut::TimedOut) | None => self.fallen(server),
        };
        let under_load = fallen.is_some();
        if !timed_out && fallen.is_none() {
            sampler.checkpoint(Checkpoint::Loaded);
            self.live.set_step("resting");
            fallen = tokio::select! {
                () = tokio::time::sleep(self.settings.rest) => self.fallen(server),
                fallen = self.gone(server) => Some(fallen),
            };
            if fallen.is_none() {
                sampler.checkpoint(Checkpoint::After);
            }
        }
        if let Some(sampler) = Arc::into_inner(sampler) {
            let series = sampler.finish();
            seen.readings = series.readings;
            seen.trial.usage = series.usage;
        }
        let (requests, failure) = match made {
            Ok(made) => {
                let requests = made.load.counts.succeeded + made.load.warmup_requests;
                seen.trial.load = Some(made.load);
                seen.trial.warnings.extend(made.notes);
                (format!(", after {requests} requests"), None)
            }
            Err(failure) => {
                seen.leaves_something |= failure.leaves_something;
                (String::new(), Some(failure))
            }
        };
        if let Some(Fallen {
            who,
            exit,
            log_tail,
        }) = fallen
        {
            let reason = if under_load {
                let when = show_duration(at);
                format!("{who} {exit} {when} after the load began{requests}")
            } else {
                format!("{who} {exit} in the rest after the load{requests}")
            };
            return seen.fail(Step::Load, reason, log_tail);
        }
        if timed_out {
            let limit = show_duration(self.cell.trial_timeout);
            return seen.fail(
                Step::Load,
                format!("the trial did not end within {limit}"),
                server.log_tail(),
            );
        }
        if let Some(failure) = failure {
            let tail = if failure.log_tail.is_empty() {
                server.log_tail()
            } else {
                failure.log_tail
            };
            return seen.fail(Step::Load, failure.reason, tail);
        }
        if let Some(foreign) = foreign {
            return seen.fail(Step::Load, foreign.to_string(), Vec::new());
        }
        if self.pilot.is_some() {
            return seen;
        }
        self.judge(&mut seen.trial);
        if let Some(tool) = &self.tool {
            return self.of_tool(seen, tool, server).await;
        }
        seen
    }

    /// What another generator says is believed only so far: nobody has looked at the answers that it had.
    async fn of_tool(&self, seen: Seen, tool: &Tool, server: &Server) -> Seen {
        let nothing = |load: &Load| load.counts.succeeded == 0;
        if let Outcome::Invalid { reasons } = &seen.trial.outcome
            && seen.trial.load.as_ref().is_some_and(nothing)
        {
            let reason = format!("{} exited with 0, and {}", tool.name(), reasons.join("; "));
            return seen.fail(Step::Load, reason, Vec::new());
        }
        match self.verify(server).await {
            Ok(_) => seen,
            Err(reason) => {
                let reason = format!("after the load, {reason}");
                seen.fail(Step::Load, reason, server.log_tail())
            }
        }
    }

    /// Resolves when something that the trial needs has ended, with who it was.
    async fn gone(&self, server: &Server) -> Fallen {
        tokio::select! {
            fallen = server.gone() => fallen,
            fallen = self.services.gone(self.cell) => fallen,
        }
    }

    /// What the trial needs and has ended.
    fn fallen(&self, server: &Server) -> Option<Fallen> {
        server.fallen().or_else(|| self.services.fallen(self.cell))
    }

    /// Keeps the display's reading of memory fresh. Never ends.
    async fn watch(&self, sampler: &Sampler) {
        let mut tick = tokio::time::interval(Duration::from_millis(200));
        loop {
            tick.tick().await;
            let now = sampler.latest();
            self.live
                .set_memory(now.rss_bytes, u64::from(now.processes));
        }
    }

    /// Fills in the windows of a pilot, until it has seen enough. Never ends in a trial.
    async fn until_settled(&self, windows: &mut Vec<f64>) {
        match (self.pilot, self.live.load()) {
            (Some(search), Some(progress)) => search.windows(progress, windows).await,
            _ => std::future::pending().await,
        }
    }

    fn judge(&self, trial: &mut Trial) {
        let Some(load) = &trial.load else { return };
        let (work, max_errors) = (&self.cell.work, self.settings.max_errors);
        let observed = trial.observed.as_deref();
        let mut reasons = stats::validity(load, work, max_errors);
        reasons.extend(stats::cut_short(load, work, observed, max_errors));
        if !reasons.is_empty() {
            trial.outcome = Outcome::Invalid { reasons };
        }
    }
}

/// Trees as the sampler watches them. A service that is called as a process of the server is told from it.
fn roots(rooted: Vec<Rooted>) -> Vec<Root> {
    let of_server: HashSet<String> = rooted
        .iter()
        .filter(|one| one.counted)
        .map(|one| one.role.clone())
        .collect();
    let root = |one: Rooted| Root {
        role: if !one.counted && of_server.contains(&one.role) {
            format!("{} (service)", one.role)
        } else {
            one.role
        },
        tree: match one.root {
            server::Root::Guard(pid) => Tree::UnderGuard(pid),
            server::Root::Process(process) => Tree::From(process),
        },
        counted: one.counted,
    };
    rooted.into_iter().map(root).collect()
}

/// Why a load was cut short.
enum Cut {
    Gone(Fallen),
    TimedOut,
}
