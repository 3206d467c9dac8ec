//! What others published beside what was measured here. Machines differ, so that
//! figures are compared by their ratios to one row of the same report, and by the
//! order in which they put the cells.

use super::naming::Naming;
use super::{show, timing};
use crate::record::{Metric, metric};
use crate::spec::Spec;
use crate::stats::CellSummary;
use crate::units::significant;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// A report of somebody else, beside this one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PublishedView {
    /// Its name in the suite.
    pub name: String,
    /// Where it stands.
    pub source: Option<String>,
    /// What must be known about it.
    pub note: Option<String>,
    /// Its rows, those of one metric together.
    pub rows: Vec<PublishedRow>,
    /// Where the order of the cells differs, a sentence each.
    pub orders: Vec<String>,
}

/// One figure of theirs with ours.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PublishedRow {
    /// The cell, in a phrase.
    pub title: String,
    /// The metric as people see it.
    pub metric: &'static str,
    /// Theirs, as shown.
    pub theirs: String,
    /// Ours, as shown; the state of the cell where it has none.
    pub ours: String,
    /// Theirs as a multiple of the first row's, as shown.
    pub their_ratio: String,
    /// Ours as a multiple of the same row's, as shown.
    pub our_ratio: String,
}

/// A figure of theirs with the cell that it is about.
struct Figure<'c, 'a> {
    cell: &'c CellSummary<'a>,
    theirs: f64,
    ours: Option<f64>,
}

/// All published reports that are about cells of this run.
pub(super) fn published(
    spec: &Spec,
    naming: &Naming<'_>,
    cells: &[CellSummary<'_>],
) -> Vec<PublishedView> {
    let views = spec.published.iter().map(|report| {
        let (mut rows, mut orders) = (Vec::new(), Vec::new());
        for (metric, figures) in by_metric(&report.name, cells) {
            rows.extend(table(metric, &figures, naming));
            orders.extend(order(metric, &figures, naming));
        }
        PublishedView {
            name: report.name.clone(),
            source: report.source.clone(),
            note: report.note.clone(),
            rows,
            orders,
        }
    });
    views.filter(|view| !view.rows.is_empty()).collect()
}

/// The figures of a report, those of one metric together, in the order of its first.
fn by_metric<'c, 'a>(
    report: &str,
    cells: &'c [CellSummary<'a>],
) -> Vec<(&'static Metric, Vec<Figure<'c, 'a>>)> {
    let mut all: Vec<(&'static Metric, Vec<Figure<'c, 'a>>)> = Vec::new();
    for cell in cells {
        for figure in cell
            .cell
            .published
            .iter()
            .filter(|one| one.report == report)
        {
            let Some(metric) = metric(&figure.metric) else {
                continue;
            };
            let one = Figure {
                cell,
                theirs: figure.value,
                ours: cell.metric(metric.name).map(|spread| spread.median),
            };
            // What was timed in another way is another figure.
            let mark = timing::mark(metric.name, cell);
            let same = |(known, figures): &&mut (&'static Metric, Vec<Figure<'c, 'a>>)| {
                let first = timing::mark(metric.name, figures[0].cell);
                known.name == metric.name && first == mark
            };
            match all.iter_mut().find(same) {
                Some((_, figures)) => figures.push(one),
                None => all.push((metric, vec![one])),
            }
        }
    }
    all
}

/// The figure that the others are multiples of: the first that both have.
fn reference(figures: &[Figure<'_, '_>]) -> Option<(f64, f64)> {
    let both = |figure: &Figure<'_, '_>| Some((figure.theirs, figure.ours?));
    let positive = |(theirs, ours): &(f64, f64)| *theirs > 0.0 && *ours > 0.0;
    figures.iter().filter_map(both).find(positive)
}

fn table(
    metric: &'static Metric,
    figures: &[Figure<'_, '_>],
    naming: &Naming<'_>,
) -> Vec<PublishedRow> {
    let reference = reference(figures);
    let multiple = |value: Option<f64>, of: Option<f64>| match value.zip(of) {
        Some((value, of)) => format!("×{}", significant(value / of, 3)),
        None => show::NONE.to_owned(),
    };
    let row = |figure: &Figure<'_, '_>| PublishedRow {
        title: naming.title(figure.cell.cell),
        metric: metric.label,
        theirs: show::value(metric, figure.theirs, 4),
        ours: match figure.cell.metric(metric.name) {
            Some(spread) => timing::marked(metric, figure.cell, &show::median(metric, &spread)),
            None if figure.cell.valid().next().is_some() => show::NONE.to_owned(),
            None => figure.cell.state.word().to_owned(),
        },
        their_ratio: multiple(Some(figure.theirs), reference.map(|(theirs, _)| theirs)),
        our_ratio: multiple(figure.ours, reference.map(|(_, ours)| ours)),
    };
    figures.iter().map(row).collect()
}

/// Whether one cell's figure lies below another's beyond what their trials show of chance: no value of the one
/// reaches a value of the other, and the medians are at least so far apart.
fn clearly_below(metric: &Metric, one: &CellSummary<'_>, other: &CellSummary<'_>) -> bool {
    let spread = |cell: &CellSummary<'_>| cell.metric(metric.name);
    spread(one).zip(spread(other)).is_some_and(|(one, other)| {
        one.max < other.min && one.median * (1.0 + CLEARLY_APART) < other.median
    })
}

/// Medians that are nearer have no order.
const CLEARLY_APART: f64 = 0.05;

/// The order of the cells by theirs and by ours, where two of them clearly stand the other way round.
fn order(
    metric: &'static Metric,
    figures: &[Figure<'_, '_>],
    naming: &Naming<'_>,
) -> Option<String> {
    let both: Vec<(&Figure<'_, '_>, f64)> = figures
        .iter()
        .filter_map(|figure| Some((figure, figure.ours?)))
        .collect();
    let load = |figure: &Figure<'_, '_>| figure.cell.cell.load.clone();
    let same_load = figures
        .iter()
        .all(|figure| load(figure) == load(&figures[0]));
    let sorted = |key: fn(&(&Figure<'_, '_>, f64)) -> f64| -> Vec<String> {
        let mut all = both.clone();
        all.sort_by(|a, b| key(b).total_cmp(&key(a)));
        all.iter()
            .map(|(figure, _)| {
                if same_load {
                    naming.title_without_load(figure.cell.cell)
                } else {
                    naming.title(figure.cell.cell)
                }
            })
            .collect()
    };
    let theirs = sorted(|(figure, _)| figure.theirs);
    let ours = sorted(|(_, ours)| *ours);
    let turned = both.iter().any(|(a, _)| {
        both.iter().any(|(b, _)| {
            let theirs = a.theirs > b.theirs;
            theirs && clearly_below(metric, a.cell, b.cell)
        })
    });
    (turned && theirs != ours).then(|| {
        format!(
            "{} puts the cells in another order, highest first. Theirs: {}. Ours: {}.",
            metric.label,
            theirs.join(", "),
            ours.join(", ")
        )
    })
}

/// What others published of a cell, with ours, in the units of the metrics.
pub(super) fn json(cell: &CellSummary<'_>) -> Vec<Value> {
    cell.cell
        .published
        .iter()
        .map(|figure| {
            json!({
                "report": figure.report,
                "metric": figure.metric,
                "theirs": figure.value,
                "ours": cell.metric(figure.metric.as_str()).map(|spread| spread.median),
            })
        })
        .collect()
}
