//! Cells in the order of what they did: a table for each load, since figures under two loads are not compared. A cell's place is
//! one more than the number of cells whose whole interval is better than its own, so that cells which the trials cannot
//! tell apart share one.

use super::naming::Naming;
use super::{paced, show};
use crate::record::{Direction, Metric, metric};
use crate::stats::{CellSummary, Spread, own_headline};
use crate::units::show_number;
use schemars::JsonSchema;
use serde::Serialize;

/// The cells of one load in the order of one metric.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BoardView {
    /// The load; none where the report has one only.
    pub load: Option<String>,
    /// The metric that decides, as people see it: requests per second, of searches the highest rate that holds, of loads at a
    /// given rate a response time.
    #[schemars(example = &"Requests/s")]
    pub metric: &'static str,
    /// Whether less of it is better.
    pub less_is_better: bool,
    /// The cells, the best first.
    pub rows: Vec<RankView>,
}

/// A cell on a board.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RankView {
    /// Its place: one more than the number of cells whose whole interval is better.
    pub rank: usize,
    /// Whether another cell has the same place.
    pub shared: bool,
    /// The cell's names in a phrase, without the load.
    pub title: String,
    /// The median with its unit.
    #[schemars(example = &"15 200")]
    pub figure: String,
    /// `≥` where the generator was the limit, so that the figure is a lower bound; else empty.
    pub bound: &'static str,
    /// The interval of the median from 6 trials on, else lowest to highest, as shown.
    pub range: String,
    /// How far the ends of that interval are from the median, as shown: `±2 %`; none with fewer than 6 trials.
    pub margin: Option<String>,
    /// The median as a multiple of the best one's, as shown.
    pub multiple: String,
    /// The median of the p99 latency, as shown.
    pub latency_p99: String,
    /// The median of the peak RSS, as shown.
    pub rss_peak: String,
}

/// A cell that has the metric.
struct Entry<'c, 'a> {
    cell: &'c CellSummary<'a>,
    spread: Spread,
    /// The ends between which its median lies; without trials enough for an interval, the lowest and the highest value.
    low: f64,
    high: f64,
}

/// The boards of the cells with figures, in the order of the file.
pub(super) fn boards(naming: &Naming<'_>, measured: &[&CellSummary<'_>]) -> Vec<BoardView> {
    let mut kinds: Vec<(&str, &Metric)> = Vec::new();
    let kind = |cell: &CellSummary<'_>| own_headline(cell).and_then(metric);
    for cell in measured {
        let Some(metric) = kind(cell) else { continue };
        let one = (cell.cell.load.as_str(), metric);
        let same = |(load, known): &(&str, &Metric)| *load == one.0 && known.name == metric.name;
        if !kinds.iter().any(same) {
            kinds.push(one);
        }
    }
    let several = kinds.iter().any(|(load, _)| *load != kinds[0].0);
    let board = |(load, metric): &(&str, &'static Metric)| {
        let of = measured
            .iter()
            .filter(|cell| cell.cell.load == *load && own_headline(cell) == Some(metric.name));
        let entries: Vec<Entry<'_, '_>> = of.filter_map(|cell| Entry::of(cell, metric)).collect();
        let label = entries.first().map(|one| one.cell.cell.load_label.clone());
        BoardView {
            load: label.filter(|_| several),
            metric: metric.label,
            less_is_better: metric.direction == Direction::Lower,
            rows: rows(naming, metric, entries),
        }
    };
    kinds.iter().map(board).collect()
}

impl<'c, 'a> Entry<'c, 'a> {
    fn of(cell: &'c CellSummary<'a>, metric: &Metric) -> Option<Self> {
        let spread = cell.metric(metric.name)?;
        let (low, high) = spread
            .interval()
            .map_or((spread.min, spread.max), |interval| {
                (interval.low, interval.high)
            });
        let bounded = is_bound(cell) && metric.direction == Direction::Higher;
        Some(Self {
            cell,
            spread,
            low,
            // A generator that was the limit hides how much more there is.
            high: if bounded { f64::INFINITY } else { high },
        })
    }

    /// Whether all of it is better than all of another.
    fn is_above(&self, other: &Self, direction: Direction) -> bool {
        match direction {
            Direction::Higher => self.low > other.high,
            Direction::Lower => self.high < other.low,
        }
    }
}

/// Whether a cell's rate is a lower bound.
fn is_bound(cell: &CellSummary<'_>) -> bool {
    cell.is_limited() && !paced::has_its_rate(cell)
}

fn rows(naming: &Naming<'_>, metric: &Metric, mut entries: Vec<Entry<'_, '_>>) -> Vec<RankView> {
    let direction = metric.direction;
    let rank = |one: &Entry<'_, '_>| {
        let above = entries
            .iter()
            .filter(|other| other.is_above(one, direction));
        above.count() + 1
    };
    let ranks: Vec<usize> = entries.iter().map(rank).collect();
    let best = entries
        .iter()
        .map(|one| one.spread.median)
        .reduce(|a, b| match direction {
            Direction::Higher => a.max(b),
            Direction::Lower => a.min(b),
        })
        .unwrap_or_default();
    let mut ranked: Vec<(usize, Entry<'_, '_>)> =
        ranks.iter().copied().zip(entries.drain(..)).collect();
    // A stable sort: equal cells stay in the order of the file.
    ranked.sort_by(|(a, one), (b, other)| {
        let by_median = one.spread.median.total_cmp(&other.spread.median);
        a.cmp(b).then(match direction {
            Direction::Higher => by_median.reverse(),
            Direction::Lower => by_median,
        })
    });
    ranked
        .iter()
        .map(|(rank, one)| RankView {
            rank: *rank,
            shared: ranks.iter().filter(|other| *other == rank).count() > 1,
            title: naming.title_without_load(one.cell.cell),
            figure: show::median(metric, &one.spread),
            bound: if is_bound(one.cell) { "≥ " } else { "" },
            range: show::range(metric, &one.spread),
            margin: margin(&one.spread),
            multiple: if best > 0.0 {
                format!("×{}", show_number(one.spread.median / best, 3))
            } else {
                show::NONE.to_owned()
            },
            latency_p99: shown(one.cell, "latency_p99"),
            rss_peak: shown(one.cell, "rss_peak"),
        })
        .collect()
}

/// The farther end of the interval of a median, as a share of it.
fn margin(spread: &Spread) -> Option<String> {
    let interval = spread.interval()?;
    let median = spread.median;
    let farther = (interval.high - median).max(median - interval.low) / median;
    let shown = show_number(farther * 100.0, if farther < 0.1 { 1 } else { 2 });
    farther.is_finite().then(|| format!("±{shown}\u{a0}%"))
}

fn shown(cell: &CellSummary<'_>, name: &str) -> String {
    let of = |metric: &Metric| Some(show::median(metric, &cell.metric(metric.name)?));
    metric(name)
        .and_then(of)
        .unwrap_or_else(|| show::NONE.to_owned())
}
