//! Every trial of every cell with all that is worth telling of it, for the folds at the end of the page.

use super::super::Input;
use super::super::naming::Naming;
use super::super::rows::reasons;
use super::super::show;
use crate::record::{Load, METRICS, Metric, Outcome, Proof, Trial, Unit, Usage};
use crate::stats::{CellSummary, State};
use serde::Serialize;

/// With more trials than this their detail is left to the records.
const MOST: usize = 3000;
/// Seconds whose successes are listed.
const MOST_SECONDS: usize = 120;

/// The trials of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct CellTrials {
    title: String,
    state: String,
    trials: Vec<TrialDetail>,
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct TrialDetail {
    title: String,
    /// What is known, as (what, how).
    facts: Vec<(String, String)>,
    /// The last lines that its processes printed, where it failed.
    log: Option<String>,
}

/// Every cell with its trials in file order, or how many trials there are where they are too many.
pub(super) fn all(
    input: &Input<'_>,
    cells: &[CellSummary<'_>],
) -> (Vec<CellTrials>, Option<usize>) {
    if input.trials.len() > MOST {
        return (Vec::new(), Some(input.trials.len()));
    }
    let naming = Naming::of(&input.run.spec);
    let told = cells.iter().map(|cell| CellTrials {
        title: naming.title(cell.cell),
        state: state(cell),
        trials: cell.trials.iter().map(|trial| detail(trial)).collect(),
    });
    (told.collect(), None)
}

fn state(cell: &CellSummary<'_>) -> String {
    let valid = cell.valid().count();
    match cell.state {
        State::Measured => format!("{valid} of {} valid", show::plural(cell.planned, "trial")),
        state => {
            let why = reasons(cell).join("; ");
            format!("{}: {why}", state.word())
        }
    }
}

/// Facts that are gathered one by one.
#[derive(Default)]
struct Facts(Vec<(String, String)>);

impl Facts {
    fn add(&mut self, what: &str, how: impl Into<String>) {
        let how = how.into();
        if !how.is_empty() {
            self.0.push((what.to_owned(), how));
        }
    }
}

fn detail(trial: &Trial) -> TrialDetail {
    let mut facts = Facts::default();
    let (word, log) = outcome(trial, &mut facts);
    facts.add("Began", trial.started.clone());
    facts.add(
        "Round",
        format!("{}, session {}", trial.round, trial.session + 1),
    );
    facts.add("Took", time(trial.took_ns as f64));
    facts.add(
        "Start-up",
        trial
            .startup_ns
            .map(|ns| time(ns as f64))
            .unwrap_or_default(),
    );
    facts.add("Listener", listener(trial));
    if let Some(observed) = &trial.observed {
        let size = show::in_unit(Unit::Bytes, observed.wire_bytes as f64, 3);
        facts.add(
            "First answer",
            format!("status {}, {size} on the wire", observed.status),
        );
    }
    if let Some(load) = &trial.load {
        self::load(load, &mut facts);
    }
    facts.add("Figures", figures(trial));
    for (role, usage) in &trial.usage {
        facts.add(&format!("Use of {role}"), self::usage(usage));
    }
    for (role, stop) in &trial.stops {
        let killed = match stop.killed {
            0 => String::new(),
            1 => ", 1 process killed".to_owned(),
            killed => format!(", {killed} processes killed"),
        };
        let grace = if stop.polite {
            ""
        } else {
            ", not within its grace"
        };
        facts.add(
            &format!("End of {role}"),
            format!("{}{grace}{killed}", stop.exit),
        );
    }
    for warning in &trial.warnings {
        facts.add("Warning", warning.clone());
    }
    let rate = METRICS
        .iter()
        .find(|metric| metric.name == "requests_per_second")
        .and_then(|metric| {
            Some(format!(
                ", {} requests/s",
                show::value(metric, metric.of(trial)?, 4)
            ))
        });
    TrialDetail {
        title: format!(
            "Trial {}: {word}{}",
            trial.trial.repetition,
            rate.unwrap_or_default()
        ),
        facts: facts.0,
        log,
    }
}

/// The word for what came of a trial, and the last lines that it printed.
fn outcome(trial: &Trial, facts: &mut Facts) -> (&'static str, Option<String>) {
    match &trial.outcome {
        Outcome::Valid => ("valid", None),
        Outcome::Invalid { reasons } => {
            facts.add("Invalid", reasons.join("\n"));
            ("invalid", None)
        }
        Outcome::Failed {
            step,
            reason,
            log_tail,
        } => {
            facts.add("Failed", format!("It did not {}: {reason}", step.verb()));
            let log = (!log_tail.is_empty()).then(|| log_tail.join("\n"));
            ("failed", log)
        }
    }
}

fn listener(trial: &Trial) -> String {
    let proof = match trial.listener {
        Proof::Proved => "a process that this trial started",
        Proof::Unproved => "the system did not let us see whose",
        Proof::Untested => return String::new(),
    };
    match (trial.address, trial.port) {
        (Some(address), Some(port)) => {
            format!("{}, {proof}", std::net::SocketAddr::new(address, port))
        }
        (None, Some(port)) => format!("port {port}, {proof}"),
        _ => proof.to_owned(),
    }
}

fn load(load: &Load, facts: &mut Facts) {
    let count = |number: u64| show::count(number as f64);
    facts.add("Generator", load.generator.clone());
    facts.add("Measured for", time(load.window_ns as f64));
    let c = &load.counts;
    facts.add(
        "Requests",
        format!(
            "{} planned, {} sent, {} succeeded, {} failed, {} timed out, {} unfinished",
            count(c.planned),
            count(c.sent),
            count(c.succeeded),
            count(c.failed),
            count(c.timed_out),
            count(c.unfinished)
        ),
    );
    let errors = load.errors.iter().map(|(kind, number)| {
        let example = load.error_examples.get(kind);
        let example = example.map_or_else(String::new, |example| format!(" (first: {example})"));
        format!("{} × {}{example}", count(*number), kind.words())
    });
    facts.add("Errors", errors.collect::<Vec<_>>().join("\n"));
    let statuses = load
        .statuses
        .iter()
        .map(|(status, number)| format!("{status}: {}", count(*number)));
    facts.add("Statuses", statuses.collect::<Vec<_>>().join(", "));
    let bytes = |bytes: u64| show::in_unit(Unit::Bytes, bytes as f64, 3);
    facts.add(
        "Bytes",
        format!(
            "{} sent, {} received",
            bytes(load.bytes.sent),
            bytes(load.bytes.received)
        ),
    );
    facts.add(
        "Connections",
        format!(
            "{} wanted, {} opened, {} opened again",
            count(load.connections.wanted),
            count(load.connections.opened),
            count(load.connections.reconnects)
        ),
    );
    let seconds: Vec<String> = load
        .per_second
        .iter()
        .take(MOST_SECONDS)
        .map(|n| count(*n))
        .collect();
    let more = if load.per_second.len() > MOST_SECONDS {
        ", …"
    } else {
        ""
    };
    facts.add("Each second", format!("{}{more}", seconds.join(", ")));
}

/// Every metric that the trial has.
fn figures(trial: &Trial) -> String {
    let one = |metric: &Metric| {
        let value = metric.of(trial)?;
        Some(format!(
            "{} {}",
            metric.label,
            show::value(metric, value, 4)
        ))
    };
    let all: Vec<String> = METRICS.iter().filter_map(one).collect();
    all.join(", ")
}

fn usage(usage: &Usage) -> String {
    let bytes = |name: &str, bytes: Option<u64>| {
        Some(format!(
            "{name} {}",
            show::in_unit(Unit::Bytes, bytes? as f64, 3)
        ))
    };
    let parts = [
        bytes("RSS idle", usage.rss_idle),
        bytes("RSS peak", usage.rss_peak),
        bytes("RSS after", usage.rss_after),
        bytes("PSS idle", usage.pss_idle),
        bytes("PSS loaded", usage.pss_loaded),
        bytes("PSS after", usage.pss_after),
        usage
            .cpu_seconds
            .map(|cpu| format!("CPU {}", show::in_unit(Unit::CpuSeconds, cpu, 3))),
        Some(format!("processes {}", usage.processes)),
        Some(format!("threads {}", usage.threads)),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    known.join(", ")
}

fn time(ns: f64) -> String {
    show::in_unit(Unit::Nanoseconds, ns, 3)
}
