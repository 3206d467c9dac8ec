//! The nights of a suite: each cell's metrics over time, with gaps and changes. Only nights of one machine and one configuration
//! make a series, so that neither a new machine nor a new configuration can look like a change of speed.

use super::divisive::{Known, Rules, correlation, known_changes};
use super::exact::around_median;
use super::figures::median;
use super::limits::is_made_under_load;
use crate::ids::{CellId, RunId};
use crate::record::{
    Baseline, Direction, HistoryFigure, HistoryRow, LostNight, METRICS, Metric, NIGHTLY,
    fingerprint,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// With a correlation of neighbouring nights above this the t-test finds changes that are none.
pub const CORRELATED: f64 = 0.3;

/// One metric of one cell over the nights: one machine, one configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The cell, with the hash of its configuration.
    pub cell: CellId,
    /// The fingerprint of the machine.
    pub machine: String,
    /// The metric.
    pub metric: &'static Metric,
    /// Why it begins.
    pub begins: Begins,
    /// Its nights, in order of time. Where no metric of the cell has a figure in any of them, there is one series, of requests per second.
    pub nights: Vec<Night>,
    /// Its changes, in order.
    pub changes: Vec<NightChange>,
    /// The correlation of neighbouring nights, changes left aside; none with too few nights.
    pub correlation: Option<f64>,
}

/// Why a series begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// The cell has no night before.
    First,
    /// The night before was on another machine.
    Machine,
    /// The cell had another configuration.
    Configuration,
    /// Both.
    Both,
}

impl Begins {
    /// `another machine`, say; none for the first one of a cell.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::First => None,
            Self::Machine => Some("another machine"),
            Self::Configuration => Some("configuration changed"),
            Self::Both => Some("another machine, and configuration changed"),
        }
    }
}

/// A night of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Night {
    /// The run.
    pub run: RunId,
    /// When it began, RFC 3339 in UTC.
    pub time: String,
    /// The revision of the suite's repository.
    pub revision: Option<String>,
    /// The version of hotlap; empty where it is not known.
    pub hotlap: String,
    /// What was measured.
    pub seen: Seen,
}

impl Night {
    /// Its figure, in the metric's unit.
    pub fn figure(&self) -> Option<f64> {
        match self.seen {
            Seen::Figure { median, .. } => Some(median),
            Seen::Gap { .. } => None,
        }
    }

    /// `2026-11-30`.
    pub fn date(&self) -> &str {
        self.time.get(..10).unwrap_or(&self.time)
    }
}

/// What a night has of a metric.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// A figure, in the metric's unit.
    Figure {
        /// The median over trials.
        median: f64,
        /// Its interval of 95 %, with trials enough.
        interval: Option<(f64, f64)>,
        /// Whether it is a lower bound, since the generator was the limit.
        bounded: bool,
    },
    /// None.
    Gap {
        /// `failed`, `invalid`, `skipped`, `incomplete` or `no figure`.
        state: String,
        /// Why, in a sentence without its stop.
        reason: String,
    },
}

/// A change of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NightChange {
    /// The last night with a figure before it: its place in the nights.
    pub before: usize,
    /// The first night after it.
    pub after: usize,
    /// The median of the nights from the change before to this one, in the metric's unit.
    pub from: f64,
    /// The median of the nights from here to the next change.
    pub to: f64,
    /// The p of the t-test.
    pub p: f64,
    /// Whether it is for the worse.
    pub worse: bool,
    /// How long it has been known, as of the last night.
    pub known: Known,
    /// Whether any of the figures is a lower bound.
    pub bounded: bool,
}

impl Series {
    /// How many nights have a figure.
    pub fn figures(&self) -> usize {
        self.nights.iter().filter_map(Night::figure).count()
    }

    /// The changes that this run's night is the first to tell.
    pub fn told_by<'a>(&'a self, run: &RunId) -> impl Iterator<Item = &'a NightChange> + use<'a> {
        let last = self.nights.last();
        let is_its = last.is_some_and(|night| night.run == *run && night.figure().is_some());
        let new = |change: &&NightChange| change.known == Known::New;
        self.changes.iter().filter(move |_| is_its).filter(new)
    }

    /// Whether its nights depend on each other so much that its changes may be chance.
    pub fn is_correlated(&self) -> bool {
        self.correlation.is_some_and(|value| value > CORRELATED)
    }

    fn look(&mut self) {
        let at: Vec<usize> = (0..self.nights.len())
            .filter(|at| self.nights[*at].figure().is_some())
            .collect();
        let values: Vec<f64> = self.nights.iter().filter_map(Night::figure).collect();
        let found = known_changes(&values, &Rules::NIGHTS);
        let plain: Vec<_> = found.iter().map(|(change, _)| *change).collect();
        self.correlation = correlation(&values, &plain, Rules::NIGHTS.least_values);
        let bounds: Vec<usize> = std::iter::once(0)
            .chain(plain.iter().map(|change| change.at))
            .chain(std::iter::once(values.len()))
            .collect();
        let is_bounded = |index: &usize| {
            matches!(
                self.nights[at[*index]].seen,
                Seen::Figure { bounded: true, .. }
            )
        };
        let changes = found.iter().enumerate().map(|(nth, (change, known))| {
            let rises = change.median_after > change.median_before;
            NightChange {
                before: at[change.at - 1],
                after: at[change.at],
                from: change.median_before,
                to: change.median_after,
                p: change.p,
                worse: rises == (self.metric.direction == Direction::Lower),
                known: *known,
                bounded: (bounds[nth]..bounds[nth + 2]).any(|index| is_bounded(&index)),
            }
        });
        self.changes = changes.collect();
    }
}

/// The rows that a run adds to the history: what is kept of each metric of each cell, and a row for a cell without figures.
pub fn history_rows(run: &Baseline) -> Vec<HistoryRow> {
    let machine = run.host.as_ref().map(fingerprint);
    let mut rows = Vec::new();
    for cell in &run.cells {
        let row = |figure| HistoryRow {
            run: run.run.clone(),
            time: run.started.clone(),
            revision: run.revision.clone(),
            machine: machine.clone(),
            hotlap: run.hotlap.last().cloned().unwrap_or_default(),
            cell: cell.id.clone(),
            state: cell.state.clone(),
            reason: if cell.is_measured() {
                String::new()
            } else {
                cell.reasons.join("; ")
            },
            figure,
        };
        if !cell.is_measured() {
            rows.push(row(None));
            continue;
        }
        for metric in kept() {
            let values = cell.values(metric.name);
            let Some(median) = median(values) else {
                continue;
            };
            rows.push(row(Some(HistoryFigure {
                column: metric.column(),
                median,
                interval: around_median(values).map(|interval| (interval.low, interval.high)),
                bounded: cell.limited == Some(true) && is_made_under_load(metric.name),
            })));
        }
    }
    rows
}

fn kept() -> impl Iterator<Item = &'static Metric> {
    METRICS
        .iter()
        .filter(|metric| NIGHTLY.contains(&metric.name))
}

/// What a run did to a cell.
struct Visit<'a> {
    row: &'a HistoryRow,
    /// The figures, by the column of their metric.
    figures: BTreeMap<&'a str, &'a HistoryFigure>,
}

/// A run without rows of a cell that it should have measured.
type When<'a> = (&'a str, &'a RunId);

/// Every series of these rows, in whatever order they are: cells by their names in the order of the newest run that has them, each with
/// its series in order of time, each with its metrics in the order of the registry. A row that is there twice counts once. A lost
/// night is a gap in what was the newest series of each cell at that time.
pub fn series(rows: &[HistoryRow], lost: &[LostNight]) -> Vec<Series> {
    let mut of_names: HashMap<&str, Vec<&HistoryRow>> = HashMap::new();
    for row in rows {
        of_names.entry(row.cell.names()).or_default().push(row);
    }
    let mut all = Vec::new();
    for names in ordered_names(rows) {
        all.extend(
            of_names
                .get(names)
                .into_iter()
                .flat_map(|own| of_cell(own, lost)),
        );
    }
    all
}

/// The names of all cells: those of the newest run first, in their order.
fn ordered_names(rows: &[HistoryRow]) -> Vec<&str> {
    let mut by_run: HashMap<When<'_>, Vec<&str>> = HashMap::new();
    for row in rows {
        let names = by_run.entry(when(row)).or_default();
        // The rows of a cell stand together.
        if names.last() != Some(&row.cell.names()) {
            names.push(row.cell.names());
        }
    }
    let mut runs: Vec<(When<'_>, Vec<&str>)> = by_run.into_iter().collect();
    runs.sort_unstable();
    let mut names = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for (_, own) in runs.into_iter().rev() {
        names.extend(own.into_iter().filter(|name| known.insert(name)));
    }
    names
}

fn when(row: &HistoryRow) -> When<'_> {
    (row.time.as_str(), &row.run)
}

/// The series of the cells that have the names of these rows.
fn of_cell(rows: &[&HistoryRow], lost: &[LostNight]) -> Vec<Series> {
    let mut visits: BTreeMap<(When<'_>, &CellId), Visit<'_>> = BTreeMap::new();
    for row in rows {
        let visit = visits
            .entry((when(row), &row.cell))
            .or_insert_with(|| Visit {
                row,
                figures: BTreeMap::new(),
            });
        if let Some(figure) = &row.figure {
            visit
                .figures
                .entry(figure.column.as_str())
                .or_insert(figure);
        }
    }
    let visits: Vec<Visit<'_>> = visits.into_values().collect();
    let mut keys: Vec<(&CellId, &str, Begins)> = Vec::new();
    let mut last: Option<(&CellId, &str)> = None;
    for visit in &visits {
        let Some(machine) = visit.row.machine.as_deref() else {
            continue;
        };
        let key = (&visit.row.cell, machine);
        if !keys
            .iter()
            .any(|(cell, machine, _)| (*cell, *machine) == key)
        {
            keys.push((key.0, key.1, begins(last, key)));
        }
        last = Some(key);
    }
    let mut all = Vec::new();
    for (cell, machine, begins) in &keys {
        let nights = nights_of(cell, machine, &visits, lost);
        let (before, mut without) = (all.len(), None);
        for metric in kept() {
            let own = Series {
                cell: (*cell).clone(),
                machine: (*machine).to_owned(),
                metric,
                begins: *begins,
                nights: figures_of(&nights, metric),
                changes: Vec::new(),
                correlation: None,
            };
            if own.figures() > 0 {
                all.push(own);
            } else if without.is_none() {
                without = Some(own);
            }
        }
        if all.len() == before {
            all.extend(without);
        }
    }
    for series in &mut all {
        series.look();
    }
    all
}

fn begins(last: Option<(&CellId, &str)>, key: (&CellId, &str)) -> Begins {
    match last {
        None => Begins::First,
        Some((cell, machine)) if cell != key.0 && machine != key.1 => Begins::Both,
        Some((cell, _)) if cell != key.0 => Begins::Configuration,
        Some(_) => Begins::Machine,
    }
}

/// A night of one series, with whatever was measured.
struct Whole<'a> {
    run: &'a RunId,
    time: &'a str,
    visit: Result<&'a Visit<'a>, String>,
    row: Option<&'a HistoryRow>,
}

/// The nights of a series in order: its own, and from its first night on those that were lost while it was the newest one.
fn nights_of<'a>(
    cell: &CellId,
    machine: &str,
    visits: &'a [Visit<'a>],
    lost: &'a [LostNight],
) -> Vec<Whole<'a>> {
    let is_own = |row: &HistoryRow| row.cell == *cell && row.machine.as_deref() == Some(machine);
    let mut nights: Vec<Whole<'a>> = visits
        .iter()
        .filter(|visit| is_own(visit.row))
        .map(|visit| Whole {
            run: &visit.row.run,
            time: &visit.row.time,
            visit: Ok(visit),
            row: Some(visit.row),
        })
        .collect();
    // The newest series at a time is that of the last night before which has a machine.
    let was_newest = |time: &str, run: &RunId| {
        let mut before = visits
            .iter()
            .filter(|visit| visit.row.machine.is_some() && when(visit.row) < (time, run));
        before.next_back().is_some_and(|visit| is_own(visit.row))
    };
    let known = |run: &RunId| visits.iter().any(|visit| visit.row.run == *run);
    for night in lost.iter().filter(|night| !known(&night.run)) {
        if was_newest(&night.time, &night.run) {
            nights.push(Whole {
                run: &night.run,
                time: &night.time,
                visit: Err(night.reason.clone()),
                row: None,
            });
        }
    }
    for visit in visits.iter().filter(|visit| visit.row.machine.is_none()) {
        let row = visit.row;
        if row.cell == *cell && was_newest(&row.time, &row.run) {
            nights.push(Whole {
                run: &row.run,
                time: &row.time,
                visit: Err("its sessions found more than one machine".to_owned()),
                row: Some(row),
            });
        }
    }
    nights.sort_by_key(|night| (night.time, night.run));
    nights
}

/// One metric of these nights.
fn figures_of(nights: &[Whole<'_>], metric: &Metric) -> Vec<Night> {
    let column = metric.column();
    let night = |night: &Whole<'_>| Night {
        run: night.run.clone(),
        time: night.time.to_owned(),
        revision: night.row.and_then(|row| row.revision.clone()),
        hotlap: night.row.map_or_else(String::new, |row| row.hotlap.clone()),
        seen: match &night.visit {
            Err(reason) => gap("incomplete", reason),
            Ok(visit) => seen(visit, &column),
        },
    };
    nights.iter().map(night).collect()
}

fn seen(visit: &Visit<'_>, column: &str) -> Seen {
    if let Some(figure) = visit.figures.get(column) {
        return Seen::Figure {
            median: figure.median,
            interval: figure.interval,
            bounded: figure.bounded,
        };
    }
    if visit.row.figure.is_some() {
        return gap("no figure", "this metric has none in that night");
    }
    gap(&visit.row.state, &visit.row.reason)
}

fn gap(state: &str, reason: &str) -> Seen {
    Seen::Gap {
        state: state.to_owned(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
#[path = "nights_tests.rs"]
mod tests;
