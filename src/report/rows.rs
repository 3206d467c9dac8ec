//! The rows of a report's tables: cells with figures, cells without and why, single trials.

use super::found::Found;
use super::growth::requests;
use super::json::{NOT_TOLD, TOO_FEW};
use super::naming::Naming;
use super::view::{CellView, FigureView, OtherView, TrialView};
use super::{paced, show, timing};
use crate::record::{Load, METRICS, Metric, Outcome, Step, Trial, Usage};
use crate::spec::Spec;
use crate::stats::{CellSummary, Comparison, Effect, Spread, State, Verdict, effect, pairs};
use crate::units::{show_bytes, show_number};

/// The measured baseline of a cell.
pub(super) fn baseline<'a, 'b>(
    cell: &CellSummary<'_>,
    cells: &'b [CellSummary<'a>],
) -> Option<&'b CellSummary<'a>> {
    cell.baseline_in(cells)
}

/// What is known of the effect of the toggles by which a cell departs from its baseline. Where it is
/// nothing, the two are not compared.
pub(super) fn effect_of(cell: &CellSummary<'_>, cells: &[CellSummary<'_>]) -> Effect {
    baseline(cell, cells).map_or(Effect::Unknown, |base| effect(cell, base))
}

/// The row of a cell with figures.
pub(super) fn cell_view(
    naming: &Naming<'_>,
    cell: &CellSummary<'_>,
    found: &Found<'_, '_>,
) -> CellView {
    let growths = &found.growths;
    let is_baseline = naming.is_baseline(cell.cell);
    let no_effect = effect_of(cell, found.cells).is_nothing();
    let against = found.comparison(cell);
    let shown_ratio = match against {
        Some(comparison) => ratio_shown(comparison),
        None if no_effect => format!("{} (no observable effect)", show::NONE),
        None if is_baseline => "baseline".to_owned(),
        None => show::NONE.to_owned(),
    };
    let valid = cell.valid().count();
    let most = |read: fn(&Usage) -> u32| {
        let usage = cell.valid().filter_map(|trial| trial.usage.get("total"));
        usage
            .map(read)
            .max()
            .map_or_else(|| show::NONE.to_owned(), |n| n.to_string())
    };
    let body = bodies(cell);
    let loads = cell.valid().filter_map(|trial| trial.load.as_ref());
    CellView {
        id: cell.cell.id.to_string(),
        names: naming.row(cell.cell),
        title: naming.title(cell.cell),
        generator: timing::generator(cell),
        baseline: is_baseline,
        // One that could have been more makes the median a lower bound.
        // (A rate that the suite gives is none.)
        bound: if cell.is_limited() && !paced::has_its_rate(cell) {
            "≥ "
        } else {
            ""
        },
        ratio: shown_ratio,
        no_effect,
        ratio_raw: against.map(|comparison| comparison.ratio.value),
        valid,
        planned: cell.planned,
        trials: if valid == cell.planned {
            valid.to_string()
        } else {
            format!("{valid} of {}", cell.planned)
        },
        metrics: METRICS.iter().map(|m| (m.name, figure(m, cell))).collect(),
        growing: growths.growing(cell).is_some(),
        peak_requests: growths
            .growing(cell)
            .map(|growth| requests(growth.requests)),
        errors: loads.map(|load| load.counts.errors()).sum(),
        processes: most(|usage| usage.processes),
        threads: most(|usage| usage.threads),
        body_wire: body.map_or_else(|| show::NONE.to_owned(), |body| show_bytes(body.mean_wire)),
        body_decoded: body.map_or_else(
            || show::NONE.to_owned(),
            |body| show_bytes(body.decoded as f64),
        ),
        body_share: match body {
            Some(Bodies { wire, decoded, .. }) if decoded > 0 => {
                format!("{} %", show_number(wire as f64 / decoded as f64 * 100.0, 3))
            }
            _ => show::NONE.to_owned(),
        },
    }
}

/// `×0.62 (0.6–0.64)`, with a mark where no difference is shown.
fn ratio_shown(comparison: &Comparison<'_, '_>) -> String {
    let ratio = &comparison.ratio;
    let Some(interval) = ratio
        .interval
        .filter(|_| comparison.verdict != Verdict::TooFew)
    else {
        return format!("×{}", show::multiple(ratio.value, &ratio.by_round));
    };
    let (shown, range) = show::with_interval(&interval);
    let mark = match comparison.verdict {
        Verdict::NotShown { .. } => "≈ ",
        _ => "",
    };
    format!("{mark}×{shown} ({range})")
}

/// The sizes of a cell's bodies, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bodies {
    /// The first verified one, as it came.
    pub(super) wire: u64,
    /// The same, decoded.
    pub(super) decoded: u64,
    /// The mean over all successes, as they came; that of the first where the generator does not tell.
    pub(super) mean_wire: f64,
}

impl Bodies {
    /// Whether the mean is another than the first one's size, by more than 1 %.
    pub(super) fn vary(&self) -> bool {
        let wire = self.wire as f64;
        (self.mean_wire - wire).abs() > 0.01 * wire
    }
}

/// The sizes of bodies of the valid trials, where they are known.
pub(super) fn bodies(cell: &CellSummary<'_>) -> Option<Bodies> {
    let loads = || cell.valid().filter_map(|trial| trial.load.as_ref());
    let (wire, decoded) =
        loads().find_map(|load| Some((load.bytes.body_wire?, load.bytes.body_decoded?)))?;
    let bytes: Option<u64> = loads().map(|load| load.bytes.body).sum();
    let succeeded: u64 = loads().map(|load| load.counts.succeeded).sum();
    Some(Bodies {
        wire,
        decoded,
        mean_wire: bytes.map_or(wire as f64, |bytes| bytes as f64 / succeeded.max(1) as f64),
    })
}

/// Whether bodies have another size with another value of a toggle.
pub(super) fn toggled_sizes(spec: &Spec, cells: &[CellSummary<'_>]) -> bool {
    let sizes = |cell| bodies(cell).map(|body| (body.wire, body.decoded));
    pairs(spec, cells)
        .iter()
        .any(|pair| sizes(pair.of) != sizes(pair.to))
}

fn figure(metric: &Metric, cell: &CellSummary<'_>) -> FigureView {
    let spread = cell.metric(metric.name);
    let spread = spread.as_ref();
    FigureView {
        label: metric.label,
        shown: spread.map_or_else(
            || absent(metric, cell.valid()).to_owned(),
            |spread| timing::marked(metric, cell, &show::median(metric, spread)),
        ),
        range: spread.map_or_else(
            || show::NONE.to_owned(),
            |spread| show::range(metric, spread),
        ),
        interval: spread
            .and_then(Spread::interval)
            .map(|interval| [interval.low, interval.high]),
        median: spread.map(|spread| spread.median),
        min: spread.map(|spread| spread.min),
        max: spread.map(|spread| spread.max),
        n: spread.map_or(0, |spread| spread.values.len()),
    }
}

/// What stands where a figure is missing: the reason, where it is known.
fn absent<'t>(metric: &Metric, trials: impl Iterator<Item = &'t Trial>) -> &'static str {
    if why_absent(metric, trials) == Some(TOO_FEW) {
        "too few samples"
    } else {
        show::NONE
    }
}

/// Why none of these trials has the metric.
pub(super) fn why_absent<'t>(
    metric: &Metric,
    mut trials: impl Iterator<Item = &'t Trial>,
) -> Option<&'static str> {
    if !metric.name.starts_with("latency_p") {
        return None;
    }
    let few = |load: &Load| match (&load.service, &load.told) {
        (Some(service), _) => (service.count > 0).then_some(TOO_FEW),
        (None, Some(_)) => Some(NOT_TOLD),
        (None, None) => None,
    };
    trials.find_map(|trial| few(trial.load.as_ref()?))
}

/// The rows of cells without figures, failed ones first.
pub(super) fn others(naming: &Naming<'_>, cells: &[CellSummary<'_>]) -> Vec<OtherView> {
    const ORDER: [&str; 4] = ["failed", "invalid", "not run", "skipped"];
    let mut rows: Vec<OtherView> = cells
        .iter()
        .filter(|cell| cell.state != State::Measured)
        .map(|cell| OtherView {
            title: naming.title(cell.cell),
            state: cell.state.word(),
            reason: reasons(cell).join("; "),
            install: match cell.state {
                State::Skipped(skip) => skip.install.clone(),
                _ => None,
            },
            log: cell.failed().find_map(log),
        })
        .collect();
    // A stable sort: within a state the order stays the file's.
    rows.sort_by_key(|row| ORDER.iter().position(|state| *state == row.state));
    rows
}

fn log(trial: &Trial) -> Option<String> {
    match &trial.outcome {
        Outcome::Failed { log_tail, .. } if !log_tail.is_empty() => Some(log_tail.join("\n")),
        _ => None,
    }
}

/// Why trials of a cell do not count, each reason with how often it came.
pub(super) fn reasons(cell: &CellSummary<'_>) -> Vec<String> {
    match cell.state {
        State::Skipped(skip) => return vec![skip.reason.clone()],
        State::NotRun => return vec!["the run ended before its first trial".to_owned()],
        State::Measured | State::Invalid | State::Failed => {}
    }
    let mut counted: Vec<(String, usize)> = Vec::new();
    for trial in &cell.trials {
        let Some(reason) = reason(&trial.outcome) else {
            continue;
        };
        match counted.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, times)) => *times += 1,
            None => counted.push((reason, 1)),
        }
    }
    counted
        .into_iter()
        .map(|(reason, times)| format!("{reason} ({})", show::plural(times, "trial")))
        .collect()
}

fn reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Valid => None,
        Outcome::Invalid { reasons } => Some(reasons.join("; ")),
        Outcome::Failed {
            step: Step::Load,
            reason,
            ..
        } => Some(format!("failed under load: {reason}")),
        Outcome::Failed { step, reason, .. } => {
            Some(format!("failed to {}: {reason}", step.verb()))
        }
    }
}

/// The rows of every trial.
pub(super) fn trials(naming: &Naming<'_>, cells: &[CellSummary<'_>]) -> Vec<TrialView> {
    cells
        .iter()
        .flat_map(|cell| cell.trials.iter().map(move |trial| (cell, *trial)))
        .map(|(cell, trial)| TrialView {
            title: naming.title(cell.cell),
            trial: trial_name(trial),
            metrics: METRICS
                .iter()
                .map(|metric| (metric.name, single(metric, trial)))
                .collect(),
        })
        .collect()
}

/// The repetition, and what came of it where the trial is not valid.
pub(super) fn trial_name(trial: &Trial) -> String {
    let repetition = trial.trial.repetition;
    match trial.outcome {
        Outcome::Valid => repetition.to_string(),
        Outcome::Invalid { .. } => format!("{repetition} (invalid)"),
        Outcome::Failed { .. } => format!("{repetition} (failed)"),
    }
}

fn single(of: &Metric, trial: &Trial) -> String {
    match of.of(trial) {
        // All values stand below each other here, so they get a digit more than the medians.
        Some(value) => format!(
            "{}{}",
            show::value(of, value, 4),
            timing::of_trial(of.name, trial)
        ),
        None if trial.outcome == Outcome::Valid => absent(of, std::iter::once(trial)).to_owned(),
        None => show::NONE.to_owned(),
    }
}
