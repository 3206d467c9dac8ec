//! A load at work: by the built-in generator, on threads of its own, or by a program that somebody else wrote.
//! The runner follows its phases, and can end it.

use super::search::Quest;
use super::trial::Stage;
use crate::generator::{self, GeneratorError, Made, Order, Tool};
use crate::load::{self, Cancel, Control, Job, LoadError, LoadPhase, Target, Verified};
use crate::record::{Load, Phase};
use crate::sample::Sampler;
use crate::spec::Pace;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A load that runs, and the sampler that watches.
pub(super) struct Loading {
    pub(super) began: Instant,
    pub(super) sampler: Arc<Sampler>,
    cancel: Cancel,
    ended: watch::Receiver<bool>,
    result: Option<JoinHandle<Result<Made, Failure>>>,
}

/// Why there is no load.
pub(super) struct Failure {
    /// In a sentence without its full stop.
    pub(super) reason: String,
    /// The last lines that the generator printed.
    pub(super) log_tail: Vec<String>,
    /// Whether something of the generator may still run.
    pub(super) leaves_something: bool,
}

impl Failure {
    fn of(reason: String) -> Self {
        Self {
            reason,
            log_tail: Vec::new(),
            leaves_something: false,
        }
    }
}

impl From<GeneratorError> for Failure {
    fn from(error: GeneratorError) -> Self {
        Self {
            reason: error.to_string(),
            log_tail: error.log_tail(),
            leaves_something: error.leaves_something(),
        }
    }
}

/// Whether a program still makes load, for whoever gives up a trial: it must be gone before the server is.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<Option<watch::Receiver<Option<Gone>>>>);

/// A program has ended.
#[derive(Debug, Clone, Default)]
struct Gone {
    /// What of it could not be ended.
    left: Option<String>,
}

impl Running {
    /// Waits until nothing makes load any more. Gives what could not be ended.
    pub(super) async fn ended(&self) -> Option<String> {
        let told = self.0.lock().ok()?.clone();
        let mut told = told?;
        let gone = told.wait_for(Option::is_some).await;
        gone.ok()?.as_ref()?.left.clone()
    }

    fn set(&self, told: watch::Receiver<Option<Gone>>) {
        if let Ok(mut running) = self.0.lock() {
            *running = Some(told);
        }
    }
}

impl Loading {
    /// A load by the built-in generator.
    pub(super) fn built_in(
        stage: &Stage<'_>,
        job: Job,
        target: Target,
        verified: Verified,
        sampler: Sampler,
    ) -> Self {
        let sampler = Arc::new(sampler);
        let rounds = stage.cell.work.rounds.max(1);
        // All that a pilot measures is how a server warms up.
        let measuring = match stage.pilot {
            Some(_) => "warming up",
            None => "measuring",
        };
        let quest = quest(stage);
        let searches = quest.is_some();
        let searching = Arc::new(AtomicBool::new(searches));
        let follow = {
            let sampler = Arc::clone(&sampler);
            let live = Arc::clone(&stage.live);
            let left = AtomicU32::new(rounds);
            let searching = Arc::clone(&searching);
            move |phase, _| match phase {
                _ if searching.load(Ordering::Relaxed) => {
                    live.set_step("searching");
                    sampler.phase(Phase::Warmup);
                }
                LoadPhase::WarmUp => {
                    live.set_step("warming up");
                    sampler.phase(Phase::Warmup);
                }
                LoadPhase::Measure => {
                    live.set_step(measuring);
                    sampler.phase(Phase::Measure);
                }
                LoadPhase::Drain => {}
                LoadPhase::Done => {
                    // A search may measure more than once.
                    if searches || left.fetch_sub(1, Ordering::Relaxed) == 1 {
                        sampler.phase(Phase::Rest);
                    }
                }
            }
        };
        let cancel = Cancel::new();
        let control = Control::new(stage.generator_threads, cancel.clone(), follow);
        stage.live.set_load(control.progress());
        let progress = control.progress();
        sampler.count(move || progress.succeeded());
        let (tell, ended) = watch::channel(false);
        let result = tokio::task::spawn_blocking(move || {
            let load = match quest {
                Some(quest) => quest.run(&job, &verified, &target, &control, &searching),
                None => all_rounds(rounds, job, &verified, &target, &control)
                    .map(|load| Made {
                        load,
                        notes: Vec::new(),
                    })
                    .map_err(|error| error.to_string()),
            };
            tell.send_replace(true);
            load.map_err(Failure::of)
        });
        Self {
            began: Instant::now(),
            cancel,
            sampler,
            ended,
            result: Some(result),
        }
    }

    /// A load by another generator.
    pub(super) fn by(
        stage: &Stage<'_>,
        tool: Tool,
        order: Order,
        verified: &Verified,
        sampler: Sampler,
    ) -> Self {
        let sampler = Arc::new(sampler);
        let follow = {
            let sampler = Arc::clone(&sampler);
            let live = Arc::clone(&stage.live);
            move |phase| match phase {
                generator::Phase::WarmUp => {
                    live.set_step("warming up");
                    sampler.phase(Phase::Warmup);
                }
                generator::Phase::Measure => {
                    live.set_step("measuring");
                    sampler.phase(Phase::Measure);
                }
                generator::Phase::Pause => sampler.phase(Phase::Idle),
            }
        };
        let cancel = Cancel::new();
        let (tell, ended) = watch::channel(false);
        let place = generator::Place {
            program: stage.place.program.clone(),
            logs: stage.place.logs.clone(),
            ledgers: stage.place.ledgers.clone(),
            env: crate::server::caller().into_iter().collect(),
            secrets: stage.place.secrets.clone(),
            threads: stage.generator_threads,
        };
        let (wire, decoded) = (verified.wire_size(), verified.decoded_size());
        let given_up = cancel.clone();
        let after = Arc::clone(&sampler);
        let (gone, told) = watch::channel(None);
        stage.running.set(told);
        let result = tokio::spawn(async move {
            let made = generator::run(&tool, &order, &place, given_up.cancelled(), follow).await;
            after.phase(Phase::Rest);
            let left = made.as_ref().err().filter(|error| error.leaves_something());
            gone.send_replace(Some(Gone {
                left: left.map(ToString::to_string),
            }));
            tell.send_replace(true);
            let mut made = made?;
            made.load.bytes.body_wire = Some(wire);
            made.load.bytes.body_decoded = decoded;
            Ok(made)
        });
        Self {
            began: Instant::now(),
            cancel,
            sampler,
            ended,
            result: Some(result),
        }
    }

    pub(super) async fn ended(&self) {
        // Its sender goes only with the load itself.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }

    /// Stops the load, where it has not ended, and takes what it counted.
    pub(super) async fn finish(mut self) -> (Result<Made, Failure>, Arc<Sampler>) {
        self.cancel.cancel();
        let sampler = Arc::clone(&self.sampler);
        let made = match self.result.take() {
            Some(result) => match result.await {
                Ok(made) => made,
                Err(failure) => Err(Failure::of(format!("the load generator failed: {failure}"))),
            },
            None => Err(Failure::of("the load was taken twice".to_owned())),
        };
        (made, sampler)
    }
}

impl Drop for Loading {
    /// A trial that is given up must not leave its load running.
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// The search that a trial makes; none where its suite gives the rate. (A pilot of one is a closed loop.)
fn quest(stage: &Stage<'_>) -> Option<Quest> {
    let work = &stage.cell.work;
    matches!(work.pace, Some(Pace::Search(_))).then(|| Quest {
        work: work.clone(),
        earlier: stage.earlier,
        chance: stage.beginning(),
        pause: stage.settings.cooldown,
    })
}

/// Measured phases one after the other in the same server process; only the first is warmed up.
fn all_rounds(
    rounds: u32,
    job: Job,
    verified: &Verified,
    target: &Target,
    control: &Control,
) -> Result<Load, LoadError> {
    let mut all = load::run(&job, verified, target, control)?;
    let warm = job.without_warm_up();
    for _ in 1..rounds {
        if control.is_cancelled() {
            break;
        }
        all = all.join(load::run(&warm, verified, target, control)?);
    }
    Ok(all)
}
