//! A cell's trials together: its state, each metric over its valid trials, and the ratio of two
//! cells. Intervals and verdicts are functions of the [`Spread`]s that stand here.

use super::exact::{Interval, around_median, paired, unpaired};
use super::figures::median;
use super::limits::{Limit, limit};
use crate::ids::{CellId, TrialId};
use crate::record::{Outcome, Run, Trial, metric};
use crate::spec::{Cell, Order, Skip};
use std::collections::{BTreeMap, HashMap};

/// With fewer valid trials a difference gets no verdict: an exact signed-rank test of five pairs
/// cannot reach the 5 % level.
pub const ENOUGH_TRIALS: usize = 6;

/// One metric of one valid trial, in the metric's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// The trial's repetition, from 1.
    pub repetition: u32,
    /// The trial's round: trials of one round are compared with each other.
    pub round: u32,
    /// The figure.
    pub value: f64,
}

/// One metric of a cell over its valid trials. A percentile here is the median over trials of
/// each trial's percentile; requests of different trials are never thrown together.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Every value, by repetition.
    pub values: Vec<Value>,
    /// The median of the values.
    pub median: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
}

impl Spread {
    /// The spread of these values; none where there are none. Values that are no number are
    /// left out.
    pub fn of(values: impl IntoIterator<Item = Value>) -> Option<Self> {
        let mut values: Vec<Value> = values
            .into_iter()
            .filter(|value| value.value.is_finite())
            .collect();
        values.sort_by_key(|value| value.repetition);
        let plain: Vec<f64> = values.iter().map(|value| value.value).collect();
        Some(Self {
            median: median(&plain)?,
            min: plain.iter().copied().fold(f64::INFINITY, f64::min),
            max: plain.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            values,
        })
    }

    /// The interval of the median, from 6 values on: two of the values, by order statistics, which hold the true
    /// median in at least 95 %.
    pub fn interval(&self) -> Option<Interval> {
        around_median(&self.plain())
    }

    /// The values alone.
    pub fn plain(&self) -> Vec<f64> {
        self.values.iter().map(|value| value.value).collect()
    }
}

/// What became of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State<'a> {
    /// At least one trial is valid; others may have failed or be invalid.
    Measured,
    /// Trials ran to their end, and none is valid.
    Invalid,
    /// No trial is valid, and at least one failed.
    Failed,
    /// It could not run on this machine.
    Skipped(&'a Skip),
    /// No trial has a record: the run ended before.
    NotRun,
}

impl State<'_> {
    /// The state as one word of CSV, JSON and templates.
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Invalid => "invalid",
            Self::Failed => "failed",
            Self::Skipped(_) => "skipped",
            Self::NotRun => "not run",
        }
    }
}

/// A cell with all that its trials gave.
#[derive(Debug, Clone)]
pub struct CellSummary<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// What became of it.
    pub state: State<'a>,
    /// All its trials by repetition, valid or not.
    pub trials: Vec<&'a Trial>,
    /// How many trials were planned.
    pub planned: usize,
    /// The place of the cell that it is compared with, among all of its run.
    pub baseline: Option<usize>,
}

impl<'a> CellSummary<'a> {
    /// A metric over the valid trials; none where no valid trial has it. It is made anew each time: those of ten thousand cells
    /// would take more room than their trials.
    pub fn metric(&self, name: &str) -> Option<Spread> {
        let metric = metric(name)?;
        let values = self.valid().filter_map(|trial| {
            Some(Value {
                repetition: trial.trial.repetition,
                round: trial.round,
                value: metric.of(trial)?,
            })
        });
        let values: Vec<Value> = values.collect();
        // Trials that lack a latency were the slower ones, or where a generator tells no short times the faster ones: the
        // others do not stand for the cell.
        let is_time = ["latency_", "service_", "response_"]
            .iter()
            .any(|family| name.starts_with(family));
        let selected = is_time && values.len() < self.valid().count();
        Spread::of(values).filter(|_| !selected)
    }

    /// The valid trials.
    pub fn valid(&self) -> impl Iterator<Item = &'a Trial> {
        self.trials
            .iter()
            .copied()
            .filter(|trial| trial.outcome == Outcome::Valid)
    }

    /// The trials that ran to their end and must not be compared.
    pub fn invalid(&self) -> impl Iterator<Item = &'a Trial> {
        self.trials
            .iter()
            .copied()
            .filter(|trial| matches!(trial.outcome, Outcome::Invalid { .. }))
    }

    /// The trials that did not run to their end.
    pub fn failed(&self) -> impl Iterator<Item = &'a Trial> {
        self.trials
            .iter()
            .copied()
            .filter(|trial| matches!(trial.outcome, Outcome::Failed { .. }))
    }

    /// By what the generator was the limit of valid trials: one for each of those.
    pub fn limits(&self) -> impl Iterator<Item = Limit> {
        self.valid()
            .filter_map(|trial| limit(trial.load.as_ref()?, &self.cell.work))
    }

    /// Whether the generator was the limit of any valid trial, so that its figure is a lower bound.
    pub fn is_limited(&self) -> bool {
        self.limits().next().is_some()
    }

    /// Planned trials that have no record.
    pub fn missing(&self) -> usize {
        self.planned.saturating_sub(self.trials.len())
    }

    /// The cell that it is compared with, among all of its run.
    pub fn baseline_in<'b, 'c>(&self, cells: &'b [CellSummary<'c>]) -> Option<&'b CellSummary<'c>> {
        let id = self.cell.baseline.as_ref()?;
        let at_its_place = self.baseline.and_then(|at| cells.get(at));
        at_its_place
            .filter(|other| other.cell.id == *id)
            .or_else(|| cells.iter().find(|other| other.cell.id == *id))
    }

    /// Whether it has enough valid trials for a verdict.
    pub fn enough(&self) -> bool {
        self.valid().count() >= ENOUGH_TRIALS
    }
}

/// Every cell of the run's spec in file order, with its trials. Where a trial has two records the
/// later one counts; trials of cells that the spec does not have are left out.
pub fn summarise<'a>(run: &'a Run, trials: &'a [Trial]) -> Vec<CellSummary<'a>> {
    let latest: BTreeMap<&TrialId, &Trial> =
        trials.iter().map(|trial| (&trial.trial, trial)).collect();
    let mut of_cells: HashMap<&CellId, Vec<&'a Trial>> = HashMap::new();
    for trial in latest.into_values() {
        of_cells.entry(&trial.trial.cell).or_default().push(trial);
    }
    let all = run.spec.cells.iter().enumerate();
    let places: HashMap<&CellId, usize> = all.map(|(at, cell)| (&cell.id, at)).collect();
    let mut planned_of: HashMap<&CellId, usize> = HashMap::new();
    for planned in &run.plan {
        *planned_of.entry(&planned.trial.cell).or_default() += 1;
    }
    let of_cell = |cell: &Cell| -> Vec<&'a Trial> {
        let mut own = of_cells.get(&cell.id).cloned().unwrap_or_default();
        own.sort_by_key(|trial| trial.trial.repetition);
        own
    };
    run.spec
        .cells
        .iter()
        .map(|cell| {
            let own = of_cell(cell);
            let planned = planned_of.get(&cell.id).copied().unwrap_or(0);
            CellSummary {
                state: state(cell, &own),
                baseline: cell
                    .baseline
                    .as_ref()
                    .and_then(|id| places.get(id).copied()),
                trials: own,
                planned,
                cell,
            }
        })
        .collect()
}

/// Whether every planned trial of the run has a record.
pub fn complete(cells: &[CellSummary<'_>]) -> bool {
    cells.iter().all(|cell| cell.missing() == 0)
}

fn state<'a>(cell: &'a Cell, trials: &[&Trial]) -> State<'a> {
    let any = |test: fn(&Outcome) -> bool| trials.iter().any(|trial| test(&trial.outcome));
    if any(|outcome| *outcome == Outcome::Valid) {
        State::Measured
    } else if any(|outcome| matches!(outcome, Outcome::Failed { .. })) {
        State::Failed
    } else if !trials.is_empty() {
        State::Invalid
    } else if let Some(skip) = &cell.skip {
        State::Skipped(skip)
    } else {
        State::NotRun
    }
}

/// A cell's figure as a multiple of another's.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// The multiple: 0.5 is half of the other's figure.
    pub value: f64,
    /// The interval of 95 %, where there are trials enough.
    pub interval: Option<Interval>,
    /// The ratio of each round that both cells have, by round; empty where it is not paired.
    pub by_round: Vec<f64>,
}

/// The ratio of `of` to `to`. Rounds are paired, since the two trials of a round ran close to each other and a
/// drift of the machine cancels: the middle of the logarithms of their ratios (Hodges–Lehmann), with its exact interval,
/// from 6 rounds on, and with fewer the median of their ratios. That needs rounds that are close in time (not
/// [`Order::Random`]), and common ones for at least half of the values of the cell that has fewer; else all values
/// of the one are held against all of the other, from 6 on either side with an interval, and with fewer it is the ratio of the
/// medians. None where the divisor is nothing.
pub fn ratio(of: &Spread, to: &Spread, order: Order) -> Option<Ratio> {
    let by_round = match order {
        Order::Random => Vec::new(),
        Order::Shuffled | Order::Sequential => in_rounds(of, to),
    };
    let fewer = of.values.len().min(to.values.len());
    if !by_round.is_empty() && by_round.len() * 2 >= fewer {
        let interval = logs(&by_round)
            .and_then(|logs| paired(&logs))
            .map(|interval| interval.map(f64::exp));
        return Some(Ratio {
            value: match interval {
                Some(interval) => interval.estimate,
                None => median(&by_round)?,
            },
            interval,
            by_round,
        });
    }
    let interval = logs(&of.plain())
        .zip(logs(&to.plain()))
        .filter(|_| fewer >= ENOUGH_TRIALS)
        .and_then(|(of, to)| unpaired(&of, &to))
        .map(|interval| interval.map(f64::exp));
    (to.median != 0.0).then(|| Ratio {
        value: interval.map_or(of.median / to.median, |interval| interval.estimate),
        interval,
        by_round: Vec::new(),
    })
}

/// The logarithms of values that are all above 0.
pub(super) fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let positive = values.iter().all(|value| *value > 0.0);
    positive.then(|| values.iter().map(|value| value.ln()).collect())
}

/// The logarithms of the values of a spread that are above 0.
pub(super) fn logs_of(spread: &Spread) -> Vec<f64> {
    let values = spread.plain().into_iter().filter(|value| *value > 0.0);
    values.map(f64::ln).collect()
}

fn in_rounds(of: &Spread, to: &Spread) -> Vec<f64> {
    let others: BTreeMap<u32, f64> = to.values.iter().map(|v| (v.round, v.value)).collect();
    let mine: BTreeMap<u32, f64> = of.values.iter().map(|v| (v.round, v.value)).collect();
    mine.iter()
        .filter_map(|(round, value)| {
            let other = *others.get(round)?;
            (other != 0.0).then(|| value / other)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(values: &[(u32, f64)]) -> Spread {
        Spread::of(values.iter().map(|&(round, value)| Value {
            repetition: round,
            round,
            value,
        }))
        .unwrap()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn a_drift_cancels_in_paired_rounds() {
        let base = spread(&[(1, 100.0), (2, 50.0), (3, 10.0)]);
        let cell = spread(&[(3, 5.0), (1, 50.0), (2, 25.0)]);
        let got = ratio(&cell, &base, Order::Shuffled).unwrap();
        assert!(close(got.value, 0.5));
        assert_eq!(got.by_round.len(), 3);
    }

    #[test]
    fn without_common_rounds_it_is_the_ratio_of_medians() {
        let base = spread(&[(1, 100.0), (2, 100.0), (3, 100.0)]);
        let cell = spread(&[(3, 10.0), (4, 50.0), (5, 60.0)]);
        let got = ratio(&cell, &base, Order::Shuffled).unwrap();
        assert!(close(got.value, 0.5));
        assert!(got.by_round.is_empty());
        let random = ratio(&base, &base, Order::Random).unwrap();
        assert!(random.by_round.is_empty());
    }

    #[test]
    fn nothing_is_a_multiple_of_nothing() {
        let zero = spread(&[(1, 0.0)]);
        assert_eq!(ratio(&spread(&[(1, 3.0)]), &zero, Order::Shuffled), None);
    }

    #[test]
    fn what_is_no_number_is_no_value() {
        let values = [f64::NAN, 2.0, f64::INFINITY].map(|value| Value {
            repetition: 1,
            round: 1,
            value,
        });
        assert_eq!(Spread::of(values).unwrap().values.len(), 1);
        assert_eq!(Spread::of([]), None);
    }
}
