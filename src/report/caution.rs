//! What a run cannot say: every circumstance that bounds what its figures mean, each in a
//! sentence, those of cells with the cells that they concern.

use super::growth::Growths;
use super::hint;
use super::naming::Naming;
use super::roles::shared_pages;
use super::rows::{Bodies, baseline, bodies, reasons};
use super::{Input, effect, generator, noise, paced, repetitions, show, warmup};
use crate::ids::TrialId;
use crate::record::{ErrorKind, Load, Phase, Proof, Reading, Trial};
use crate::spec::Cell;
use crate::stats::{CellSummary, ENOUGH_TRIALS, State, pairs};
use crate::units::{show_bytes, show_duration};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

/// With fewer CPUs generator and server cannot have cores of their own.
pub(super) const CPUS_TO_SEPARATE: usize = 4;
/// With fewer readings of the measured phase a peak may lie between two of them.
const ENOUGH_READINGS: usize = 10;

/// A load that is over sooner says nothing of a steady state.
const ENOUGH_TIME: Duration = Duration::from_secs(1);

/// With fewer rows each is named,
const ROWS_TO_SHORTEN: usize = 5;
/// and where more than this are left out, those that are not.
const ROWS_LEFT_OUT: usize = 2;

/// One sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Caution {
    /// The cells that it concerns; empty where it is the whole run.
    pub cells: Vec<String>,
    /// The sentence.
    pub text: String,
}

/// Every caution: those of the run first, then those of cells in file order. One that holds for
/// several cells is said once.
pub(super) fn all(
    input: &Input<'_>,
    naming: &Naming<'_>,
    cells: &[CellSummary<'_>],
    growths: &Growths<'_>,
) -> Vec<Caution> {
    let mut cautions: Vec<Caution> = of_run(input, cells)
        .into_iter()
        .map(|text| Caution {
            cells: Vec::new(),
            text,
        })
        .collect();
    let readings = readings_under_load(input);
    // Where what was said of cells stands.
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut say = |cautions: &mut Vec<Caution>, text: String, title: String| {
        if let Some(at) = places.get(&text) {
            return cautions[*at].cells.push(title);
        }
        places.insert(text.clone(), cautions.len());
        cautions.push(Caution {
            cells: vec![title],
            text,
        });
    };
    for cell in cells.iter().filter(|cell| cell.state == State::Measured) {
        let baseline = no_baseline(naming, cell, cells);
        let pilot = warmup::unsettled(input.run, cell.cell);
        let grows = growths.sentence(cell);
        let near = generator::caution(cell, input.run);
        let own = of_cell(&readings, cell)
            .into_iter()
            .chain(paced::cautions(cell));
        for text in own.chain(pilot).chain(near).chain(grows).chain(baseline) {
            say(&mut cautions, text, naming.title(cell.cell));
        }
    }
    cautions.extend(repetitions::wide(input.run, naming, cells));
    cautions.extend(shared_pages(naming, cells));
    let noisy = noise::cautions(naming, cells);
    cautions.extend(
        noisy
            .into_iter()
            .map(|(cells, text)| Caution { cells, text }),
    );
    for pair in pairs(&input.run.spec, cells) {
        if let Some(text) = effect::caution(pair) {
            say(&mut cautions, text, naming.title(pair.of.cell));
        }
    }
    let rows: Vec<String> = cells
        .iter()
        .filter(|cell| cell.state == State::Measured)
        .map(|cell| naming.title(cell.cell))
        .collect();
    for caution in &mut cautions {
        shorten(caution, &rows);
    }
    cautions
}

/// Names the rows that are left out where a caution holds for nearly all.
fn shorten(caution: &mut Caution, rows: &[String]) {
    if rows.len() < ROWS_TO_SHORTEN || caution.cells.len() + ROWS_LEFT_OUT < rows.len() {
        return;
    }
    let named: HashSet<&String> = caution.cells.iter().collect();
    let left_out = rows.iter().filter(|row| !named.contains(row));
    let left_out: Vec<&str> = left_out.map(String::as_str).collect();
    caution.cells = vec![if left_out.is_empty() {
        "all rows".to_owned()
    } else {
        format!("all rows but {}", left_out.join(" and "))
    }];
}

fn of_run(input: &Input<'_>, cells: &[CellSummary<'_>]) -> Vec<String> {
    let run = input.run;
    let mut said = Vec::new();
    let measured = || cells.iter().filter(|cell| cell.state == State::Measured);
    if measured().count() > 0 && !measured().any(CellSummary::enough) {
        said.push(format!(
            "Too few trials: with fewer than {ENOUGH_TRIALS} valid trials a cell, no difference can be told \
             from chance, so ratios carry no verdict."
        ));
    }
    said.extend(repetitions::of_budget(run));
    said.push(if run.host.cpus < CPUS_TO_SEPARATE {
        format!(
            "Shared cores: generator and server take turns on {}, so a faster server also \
             starves its own load. Compare rows with each other, not with other machines.",
            show::plural(run.host.cpus, "CPU")
        )
    } else {
        "Shared cores: generator and servers are not pinned to cores of their own, so they may take turns \
         on one. Compare rows with each other, not with other machines."
            .to_owned()
    });
    if run.spec.cells.iter().all(is_loopback) {
        said.push(
            "Loopback: requests never left this machine. There is no network card and no interrupt, caches are \
             shared, and latencies are shorter than over any network."
                .to_owned(),
        );
    }
    if run.host.virtualized == Some(true) {
        said.push(
            "Virtual machine: its neighbours and its hypervisor may slow a trial unseen."
                .to_owned(),
        );
    }
    if run.sessions.len() > 1 {
        said.push(format!(
            "Made in {} sessions: the machine may have changed between them.",
            run.sessions.len()
        ));
    }
    if run
        .sessions
        .iter()
        .any(|s| s.revision.as_ref().is_some_and(|r| r.ends_with("-dirty")))
    {
        said.push("The repository had changes that no revision holds.".to_owned());
    }
    said.extend(moved(input));
    said.extend(input.notes.iter().cloned());
    said
}

/// Where revisions are compared, the working tree must be the same in every session.
fn moved(input: &Input<'_>) -> Option<String> {
    let run = input.run;
    run.spec.cells.iter().find(|cell| cell.revision.is_some())?;
    let seen: BTreeSet<&str> = run
        .sessions
        .iter()
        .filter_map(|session| session.revision.as_deref())
        .collect();
    (seen.len() > 1).then(|| {
        let seen: Vec<&str> = seen.into_iter().collect();
        format!(
            "The working tree moved between sessions ({}): what is called `worktree` is not one revision.",
            seen.join(", ")
        )
    })
}

fn is_loopback(cell: &Cell) -> bool {
    if let Some(url) = &cell.url {
        if url.starts_with("unix:") {
            return true;
        }
        let host = url.split("://").nth(1).unwrap_or_default();
        return ["127.", "localhost", "[::1]"]
            .iter()
            .any(|start| host.starts_with(start));
    }
    cell.front_process().is_some_and(|front| {
        let address = front.address.trim_matches(['[', ']']);
        front.socket.is_some()
            || address == "localhost"
            || address
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    })
}

fn of_cell(readings: &BTreeMap<&TrialId, usize>, cell: &CellSummary<'_>) -> Vec<String> {
    let valid: Vec<&Trial> = cell.valid().collect();
    let mut said = Vec::new();
    said.extend(not_counted(cell));
    said.extend(unchecked(cell));
    said.extend(errors(&valid));
    said.extend(unfinished(&valid));
    said.extend(percentiles(cell));
    said.extend(listeners(&valid));
    said.extend(generator::limited(cell, &valid));
    said.extend(generator::fewer_streams(&valid));
    said.extend(generator::sent_again(&valid));
    said.extend(short(&valid));
    said.extend(warmup::cautions(cell, &valid));
    said.extend(varying_bodies(cell));
    said.extend(came_and_went(&valid));
    said.extend(killed(&valid));
    said.extend(hint::sentences(cell));
    said.extend(clamped(&valid));
    said.extend(few_readings(readings, &valid));
    said.extend(warnings(&valid));
    said
}

/// The loads of trials, where they have one.
pub(super) fn loads<'a>(trials: &'a [&'a Trial]) -> impl Iterator<Item = &'a Load> {
    trials.iter().filter_map(|trial| trial.load.as_ref())
}

/// How many trials a thing holds for, as ` in 2 of 3 trials`.
pub(super) fn among(trials: &[&Trial], holds: impl Fn(&Trial) -> bool) -> Option<String> {
    let times = trials.iter().filter(|trial| holds(trial)).count();
    (times > 0).then(|| {
        format!(
            "in {times} of {}",
            show::plural(trials.len(), "valid trial")
        )
    })
}

fn not_counted(cell: &CellSummary<'_>) -> Vec<String> {
    let mut said: Vec<String> = reasons(cell)
        .into_iter()
        .map(|reason| format!("Not in its figures: {reason}."))
        .collect();
    match cell.missing() {
        0 => {}
        missing => said.push(format!(
            "{missing} of {} did not run.",
            show::plural(cell.planned, "trial")
        )),
    }
    said
}

/// Who took any certificate measured whoever answered.
fn unchecked(cell: &CellSummary<'_>) -> Option<String> {
    let tls = cell.cell.work.tls.as_ref()?;
    tls.insecure.then(|| {
        "Certificates were not checked (`insecure`): whoever answered was measured.".to_owned()
    })
}

fn errors(trials: &[&Trial]) -> Option<String> {
    let mut kinds: BTreeMap<ErrorKind, u64> = BTreeMap::new();
    for load in loads(trials) {
        for (kind, times) in &load.errors {
            *kinds.entry(*kind).or_default() += times;
        }
    }
    let errors: u64 = loads(trials).map(|load| load.counts.errors()).sum();
    if errors == 0 {
        return None;
    }
    let sent: u64 = loads(trials).map(|load| load.counts.sent).sum();
    let listed: Vec<String> = kinds
        .iter()
        .filter(|(_, times)| **times > 0)
        .map(|(kind, times)| format!("{} × {}", show::count(*times as f64), kind.words()))
        .collect();
    let listed = if listed.is_empty() {
        String::new()
    } else {
        format!(" ({})", listed.join(", "))
    };
    Some(format!(
        "{} of {} requests failed{listed}; within the limit, and in no latency.",
        show::count(errors as f64),
        show::count(sent as f64)
    ))
}

fn unfinished(trials: &[&Trial]) -> Option<String> {
    let open: u64 = loads(trials).map(|load| load.counts.unfinished).sum();
    let oldest = loads(trials)
        .flat_map(|load| &load.unfinished_ages_ns)
        .max();
    (open > 0).then(|| {
        let age = oldest.map_or_else(String::new, |ns| {
            format!(
                ", the oldest for {}",
                show_duration(Duration::from_nanos(*ns))
            )
        });
        format!(
            "{} still unfinished at the end{age}; neither a success nor an error.",
            if open == 1 {
                "1 request was".to_owned()
            } else {
                format!("{open} requests were")
            }
        )
    })
}

fn percentiles(cell: &CellSummary<'_>) -> Option<String> {
    let lacks = |name: &str| cell.metric(name).is_none();
    let timed = |load: &Load| {
        let service = load.service.as_ref();
        service.map(|service| service.count)
    };
    let valid: Vec<&Trial> = cell.valid().collect();
    // Another generator tells some percentiles and no others, however many requests there were.
    if loads(&valid).any(|load| load.told.is_some()) {
        return None;
    }
    let fewest = loads(&valid).filter_map(timed).min()?;
    let needs = if lacks("latency_p99") && lacks("latency_max") {
        return None;
    } else if lacks("latency_p99") && fewest < 1000 {
        "p99 (1000 requests needed) or p99.9 (10 000)"
    } else if lacks("latency_p99_9") && fewest < 10_000 {
        "p99.9 (10 000 requests needed)"
    } else {
        return None;
    };
    Some(format!("Too few requests a trial for {needs}."))
}

fn listeners(trials: &[&Trial]) -> Option<String> {
    let among = among(trials, |trial| trial.listener != Proof::Proved)?;
    Some(format!(
        "Whether the loaded listener was the server that this run started is unproved {among}."
    ))
}

fn no_baseline(
    naming: &Naming<'_>,
    cell: &CellSummary<'_>,
    cells: &[CellSummary<'_>],
) -> Option<String> {
    let base = baseline(cell, cells).filter(|base| base.state != State::Measured)?;
    Some(format!(
        "No ratio, since its baseline ({}) has no figures: {}.",
        naming.title(base.cell),
        base.state.word()
    ))
}

fn short(trials: &[&Trial]) -> Option<String> {
    let among = among(trials, |trial| {
        trial
            .load
            .as_ref()
            .is_some_and(|load| Duration::from_nanos(load.window_ns) < ENOUGH_TIME)
    })?;
    let windows = loads(trials).map(|load| load.window_ns);
    let shortest = Duration::from_nanos(windows.min()?);
    Some(format!(
        "The load lasted less than {} {among} ({} at the least): that is how a server begins, and no steady speed.",
        show_duration(ENOUGH_TIME),
        show_duration(shortest),
    ))
}

fn varying_bodies(cell: &CellSummary<'_>) -> Option<String> {
    let body = bodies(cell).filter(Bodies::vary)?;
    Some(format!(
        "Bodies vary in size: {} on the wire at the mean of all successes, {} in the first response.",
        show_bytes(body.mean_wire),
        show_bytes(body.wire as f64)
    ))
}

fn came_and_went(trials: &[&Trial]) -> Option<String> {
    let totals = || trials.iter().filter_map(|trial| trial.usage.get("total"));
    let turned_over = totals().filter(|usage| usage.pids_seen > usage.processes);
    let seen = turned_over.map(|usage| usage.pids_seen).max()?;
    let at_once = totals().map(|usage| usage.processes).max()?;
    Some(format!(
        "Processes came and went: up to {seen} different ones in a trial, {at_once} at once at the most. What lived \
         only between two readings is not in its memory."
    ))
}

fn killed(trials: &[&Trial]) -> Option<String> {
    let among = among(trials, |trial| {
        trial
            .stops
            .values()
            .any(|stop| !stop.polite || stop.killed > 0)
    })?;
    Some(format!(
        "Processes did not end after the stop signal and had to be killed {among}."
    ))
}

fn clamped(trials: &[&Trial]) -> Option<String> {
    let clamped: u64 = loads(trials)
        .filter_map(|load| load.service.as_ref())
        .map(|service| service.clamped)
        .sum();
    (clamped > 0).then(|| {
        format!(
            "{clamped} latencies were longer than the histogram holds and are counted at its end."
        )
    })
}

/// How many readings each trial has of its measured phase. Roles are read at the same times.
fn readings_under_load<'a>(input: &Input<'a>) -> BTreeMap<&'a TrialId, usize> {
    let times = |readings: &[Reading]| {
        let measured = readings
            .iter()
            .filter(|reading| reading.phase == Phase::Measure);
        measured
            .map(|reading| reading.t_ns)
            .collect::<BTreeSet<u64>>()
            .len()
    };
    input
        .readings
        .trials()
        .map(|trial| {
            let own = input.readings.of(trial);
            (trial, own.map_or(0, |own| times(&own)))
        })
        .collect()
}

fn few_readings(readings: &BTreeMap<&TrialId, usize>, trials: &[&Trial]) -> Option<String> {
    if readings.is_empty() {
        return None;
    }
    let among = among(trials, |trial| {
        readings.get(&trial.trial).copied().unwrap_or(0) < ENOUGH_READINGS
    })?;
    Some(format!(
        "Fewer than {ENOUGH_READINGS} memory readings under load {among}: a short peak may have been missed."
    ))
}

fn warnings(trials: &[&Trial]) -> Vec<String> {
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for warning in trials.iter().flat_map(|trial| &trial.warnings) {
        *counted.entry(warning).or_default() += 1;
    }
    counted
        .into_iter()
        .map(|(warning, times)| format!("{warning} ({})", show::plural(times, "trial")))
        .collect()
}
