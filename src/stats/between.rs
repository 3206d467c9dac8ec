//! Two runs, cell by cell: which cells are the same, what became of each metric, and what may be said of it.
//!
//! Trials of two runs are not pairs: a change is the middle of the logarithms of all ratios of a new value to an old
//! one (Hodges–Lehmann), with its exact Mann–Whitney interval. Whatever drifted on the machine between the two is in it.

use super::changed::changed;
use super::exact::{Interval, holm, unpaired, unpaired_p};
use super::figures::median;
use super::grounds::{Grounds, LEVEL};
use super::limits::is_made_under_load;
use super::summary::logs;
use crate::ids::CellId;
use crate::record::{Baseline, BaselineCell, Direction, Host, METRICS, Metric};
use crate::units::show_bytes;
use std::collections::{HashMap, HashSet};

/// The metrics that a report of two runs is about, in the order of its columns.
pub const HEADLINE: [&str; 7] = [
    "requests_per_second",
    "latency_p50",
    "latency_p99",
    "rss_peak",
    "pss_loaded",
    "requests_per_cpu_second",
    "startup",
];
/// Memory that differs by less is the same machine's: the kernel keeps some for itself, and not always as much.
const SAME_MEMORY: f64 = 0.01;
/// The least difference that a run cares for that does not say it.
const MIN_EFFECT: f64 = 0.02;

/// A new run beside an old one.
#[derive(Debug, Clone)]
pub struct Between<'a> {
    /// In what their machines differ; none where one of the two is not known. Where it is anything but an empty list no
    /// change has a verdict.
    pub machine: Option<Vec<Field>>,
    /// The least change that the new run cares for, a share of 1.
    pub min_effect: f64,
    /// Cells that both have, in the order of the new run.
    pub cells: Vec<Across<'a>>,
    /// Cells that only the old run has.
    pub gone: Vec<&'a BaselineCell>,
    /// Cells that only the new run has.
    pub added: Vec<&'a BaselineCell>,
}

/// Something that two machines do not have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// What it is: `cpu`, `kernel`, …
    pub name: &'static str,
    /// What the old one has, in words.
    pub old: String,
    /// What the new one has.
    pub new: String,
}

/// A cell that both runs have.
#[derive(Debug, Clone)]
pub struct Across<'a> {
    /// In the old run.
    pub old: &'a BaselineCell,
    /// In the new one.
    pub new: &'a BaselineCell,
    /// In what its configuration differs, in words, where its hash does; an empty list where nobody can tell.
    pub changed: Option<Vec<String>>,
    /// What became of each metric that both have, in the order of the registry.
    pub changes: Vec<Change>,
}

/// One metric of a cell in two runs.
#[derive(Debug, Clone)]
pub struct Change {
    /// The metric.
    pub metric: &'static Metric,
    /// The old values.
    pub old: Vec<f64>,
    /// The new values.
    pub new: Vec<f64>,
    /// The median of the old values, in the metric's unit.
    pub old_median: f64,
    /// The median of the new values.
    pub new_median: f64,
    /// The new figure as a multiple of the old one; none where a figure is 0.
    pub ratio: Option<f64>,
    /// Its interval of 95 %, with at least [`super::LEAST_UNPAIRED`] values on either side.
    pub interval: Option<Interval>,
    /// What may be said of it.
    pub ruling: Ruling,
}

/// What may be said of a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ruling {
    /// It is worse: the interval excludes 1, the exact test says so with all comparisons of the report taken together (Holm; of
    /// [`HEADLINE`], and apart from these of all other metrics), and it is at least as large as the suite cares for.
    Worse,
    /// It is better, as surely.
    Better,
    /// No difference is shown. One of this share would have been found in four of five runs.
    NotShown {
        /// The share.
        could_have_seen: f64,
    },
    /// Nothing may be said.
    Open(Open),
}

/// Why nothing may be said of a change, in the order in which it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Open {
    /// The machines differ, or one of them is not known.
    Machine,
    /// The cell's configuration has changed.
    Changed,
    /// The generator was the limit on one side, or nobody knows.
    Limited,
    /// One side has too few values for any verdict.
    TooFew,
    /// So few values can name no difference among so many comparisons.
    TooFewForSoMany {
        /// How many values on either side could name one.
        needed: u32,
    },
    /// A figure is 0, and nothing is a multiple of it.
    Zero,
}

impl Ruling {
    /// The verdict as a word of JSON and templates.
    pub fn word(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::NotShown { .. } => "not_shown",
            Self::Open(open) => open.word(),
        }
    }
}

impl Open {
    /// The reason as a word of JSON and templates.
    pub fn word(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Changed => "changed",
            Self::Limited => "limited",
            Self::TooFew => "too_few",
            Self::TooFewForSoMany { .. } => "too_few_for_so_many",
            Self::Zero => "zero",
        }
    }
}

/// The new run beside the old one. Cells are the same where names and hash are; where only the names are, the
/// configuration has changed and figures stand side by side without a verdict.
pub fn between<'a>(old: &'a Baseline, new: &'a Baseline) -> Between<'a> {
    let machine = old
        .host
        .as_ref()
        .zip(new.host.as_ref())
        .map(|(old, new)| fields(old, new));
    let same_machine = machine.as_ref().is_some_and(Vec::is_empty);
    let pairs = pairs(old, new);
    let min_effect = new
        .settings
        .as_ref()
        .map_or(MIN_EFFECT, |run| run.min_effect);
    let (olds, news): (HashSet<&CellId>, HashSet<&CellId>) =
        pairs.iter().map(|(old, new)| (&old.id, &new.id)).unzip();
    let gone = old.cells.iter().filter(|cell| !olds.contains(&cell.id));
    let added = new.cells.iter().filter(|cell| !news.contains(&cell.id));
    let mut cells: Vec<Across<'a>> = pairs
        .into_iter()
        .map(|(old, new)| across(old, new, same_machine))
        .collect();
    let is_headline = |metric: &Metric| HEADLINE.contains(&metric.name);
    judge(&mut cells, min_effect, is_headline);
    judge(&mut cells, min_effect, |metric| !is_headline(metric));
    Between {
        machine,
        min_effect,
        gone: gone.collect(),
        added: added.collect(),
        cells,
    }
}

/// The cells that both have: first by names and hash, then, of those that are left, by names alone.
fn pairs<'a>(old: &'a Baseline, new: &'a Baseline) -> Vec<(&'a BaselineCell, &'a BaselineCell)> {
    let ids: HashSet<&CellId> = new.cells.iter().map(|cell| &cell.id).collect();
    let mut same: HashMap<&CellId, &BaselineCell> = HashMap::new();
    let mut left: HashMap<&str, &BaselineCell> = HashMap::new();
    for cell in &old.cells {
        // Of several the first.
        same.entry(&cell.id).or_insert(cell);
        if !ids.contains(&cell.id) {
            left.entry(cell.id.names()).or_insert(cell);
        }
    }
    new.cells
        .iter()
        .filter_map(|cell| {
            let old = same.get(&cell.id).or_else(|| left.get(cell.id.names()));
            Some((*old?, cell))
        })
        .collect()
}

/// A pair, each change with what stands in the way of a verdict; those that nothing is in the way of are judged later.
fn across<'a>(old: &'a BaselineCell, new: &'a BaselineCell, same_machine: bool) -> Across<'a> {
    let changed = (old.id != new.id).then(|| match (&old.spec, &new.spec) {
        (Some(old), Some(new)) => changed(old, new),
        _ => Vec::new(),
    });
    let limited = old.limited != Some(false) || new.limited != Some(false);
    let changes = METRICS.iter().filter_map(|metric| {
        let open = if !same_machine {
            Some(Open::Machine)
        } else if changed.is_some() {
            Some(Open::Changed)
        } else {
            (limited && is_made_under_load(metric.name)).then_some(Open::Limited)
        };
        change(
            metric,
            old.values(metric.name),
            new.values(metric.name),
            open,
        )
    });
    Across {
        changes: changes.collect(),
        old,
        new,
        changed,
    }
}

/// The change of one metric; none where a side has no value. Without anything in the way it is left as not shown.
fn change(metric: &'static Metric, old: &[f64], new: &[f64], open: Option<Open>) -> Option<Change> {
    let (old_median, new_median) = (median(old)?, median(new)?);
    let logs = logs(new).zip(logs(old));
    let interval = logs
        .as_ref()
        .and_then(|(new, old)| unpaired(new, old))
        .map(|interval| interval.map(f64::exp));
    let ratio = match interval {
        Some(interval) => Some(interval.estimate),
        None => (old_median > 0.0).then(|| new_median / old_median),
    };
    let open = open
        .or_else(|| logs.is_none().then_some(Open::Zero))
        .or_else(|| interval.is_none().then_some(Open::TooFew));
    Some(Change {
        metric,
        old: old.to_vec(),
        new: new.to_vec(),
        old_median,
        new_median,
        ratio,
        interval,
        ruling: open.map_or(
            Ruling::NotShown {
                could_have_seen: 0.0,
            },
            Ruling::Open,
        ),
    })
}

/// The verdicts on these metrics, all their comparisons taken together.
fn judge(cells: &mut [Across<'_>], min_effect: f64, of: impl Fn(&Metric) -> bool) {
    let mut asked: Vec<&mut Change> = cells
        .iter_mut()
        .flat_map(|cell| &mut cell.changes)
        .filter(|change| of(change.metric))
        .filter(|change| matches!(change.ruling, Ruling::NotShown { .. }))
        .collect();
    let p: Vec<f64> = asked.iter().map(|change| change.p()).collect();
    let comparisons = p.len();
    for (change, p) in asked.iter_mut().zip(holm(&p)) {
        change.ruling = change.ruling_of(p, comparisons, min_effect);
    }
}

impl Change {
    /// The p of the exact test that nothing has changed. Where the interval holds 1 no test can make a verdict, so
    /// that none is made.
    fn p(&self) -> f64 {
        let excluded = self.interval.is_some_and(|interval| interval.excludes(1.0));
        match (logs(&self.new), logs(&self.old)) {
            (Some(new), Some(old)) if excluded => unpaired_p(&new, &old),
            _ => 1.0,
        }
    }

    /// What may be said, by the corrected p of the test.
    fn ruling_of(&self, p: f64, comparisons: usize, min_effect: f64) -> Ruling {
        let Some(interval) = self.interval else {
            return Ruling::Open(Open::TooFew);
        };
        let matters = (interval.estimate - 1.0).abs() >= min_effect;
        if p <= LEVEL && interval.excludes(1.0) && matters {
            let more = interval.estimate > 1.0;
            return match (self.metric.direction, more) {
                (Direction::Higher, true) | (Direction::Lower, false) => Ruling::Better,
                (Direction::Higher, false) | (Direction::Lower, true) => Ruling::Worse,
            };
        }
        let (Some(new), Some(old)) = (logs(&self.new), logs(&self.old)) else {
            return Ruling::Open(Open::Zero);
        };
        let grounds = Grounds::of_sides(&new, &old);
        match grounds.too_few_for(comparisons) {
            Some(needed) => Ruling::Open(Open::TooFewForSoMany { needed }),
            None => Ruling::NotShown {
                could_have_seen: grounds.could_have_seen(comparisons, min_effect),
            },
        }
    }
}

/// In what two machines differ.
fn fields(old: &Host, new: &Host) -> Vec<Field> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let yes = |value: Option<bool>| match value {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => "unknown".to_owned(),
    };
    let memory = |host: &Host| {
        host.memory_bytes
            .map_or_else(|| "unknown".to_owned(), |bytes| show_bytes(bytes as f64))
    };
    let same_memory = match (old.memory_bytes, new.memory_bytes) {
        (Some(old), Some(new)) => old.abs_diff(new) as f64 <= SAME_MEMORY * old.max(new) as f64,
        (old, new) => old == new,
    };
    let number = |number: usize| number.to_string();
    let differ = [
        ("cpu", old.cpu != new.cpu, text(&old.cpu), text(&new.cpu)),
        (
            "usable CPUs",
            old.cpus != new.cpus,
            number(old.cpus),
            number(new.cpus),
        ),
        (
            "CPUs",
            old.cpus_online != new.cpus_online,
            number(old.cpus_online),
            number(new.cpus_online),
        ),
        ("memory", !same_memory, memory(old), memory(new)),
        (
            "kernel",
            old.kernel != new.kernel,
            text(&old.kernel),
            text(&new.kernel),
        ),
        (
            "system",
            old.system != new.system,
            text(&old.system),
            text(&new.system),
        ),
        (
            "governor",
            old.governor != new.governor,
            text(&old.governor),
            text(&new.governor),
        ),
        (
            "virtual machine",
            old.virtualized != new.virtualized,
            yes(old.virtualized),
            yes(new.virtualized),
        ),
    ];
    differ
        .into_iter()
        .filter(|(_, differ, ..)| *differ)
        .map(|(name, _, old, new)| Field { name, old, new })
        .collect()
}

#[cfg(test)]
#[path = "between_tests.rs"]
mod tests;
