//! Gates and published figures, found for each cell.

use super::axes::Names;
use super::matrix::Matrix;
use crate::spec::{Bound, Figure, Limit};
use crate::suite::{self, Run, Selector, Suite};

/// The gates and the published rows of a suite.
pub(super) struct Figures<'a> {
    suite: &'a Suite,
    /// The published rows, each with the report that it stands in and the axes of its cell.
    rows: Vec<(&'a str, Vec<Axis<'a>>, &'a suite::PublishedRow)>,
}

impl<'a> Figures<'a> {
    pub(super) fn new(suite: &'a Suite, run: &Run) -> Self {
        let rows = suite
            .published
            .iter()
            .flat_map(|report| report.rows.iter().map(move |row| (report, row)))
            .map(|(report, row)| (report.name.as_str(), axes(suite, run, &row.cell.value), row))
            .collect();
        Self { suite, rows }
    }

    /// The limits that a cell is held to.
    pub(super) fn gates(&self, names: &Names<'_>) -> Vec<Limit> {
        let holds = |gate: &&suite::Gate| {
            gate.cells
                .as_ref()
                .is_none_or(|cells| names.matches(&cells.value))
        };
        let gates = self.suite.gates.iter().filter(holds);
        gates
            .flat_map(|gate| &gate.limits)
            .map(|limit| Limit {
                metric: limit.metric.name.to_owned(),
                max: limit.max.map(bound),
                min: limit.min.map(bound),
                max_regression: limit.max_regression,
                history: limit.history,
            })
            .collect()
    }

    /// What others published of a cell.
    pub(super) fn published(&self, names: &Names<'_>) -> Vec<Figure> {
        self.rows
            .iter()
            .filter(|(_, axes, _)| is(names, axes))
            .flat_map(|(report, _, row)| {
                row.figures.iter().map(|(metric, value)| Figure {
                    report: (*report).to_owned(),
                    metric: metric.name.to_owned(),
                    value: *value,
                })
            })
            .collect()
    }

    /// The published rows that stand beside no cell of a matrix.
    pub(super) fn without_cell<'m>(
        &'m self,
        matrix: &'m Matrix<'a>,
    ) -> impl Iterator<Item = &'a suite::PublishedRow> + 'm {
        self.rows
            .iter()
            .filter(|(_, axes, _)| !matrix.any_is(|names| is(names, axes)))
            .map(|(_, _, row)| *row)
    }
}

/// An axis, the value that is wanted of it, and whether the row names it.
type Axis<'a> = (&'a str, String, bool);

/// Whether a cell has these values. A toggle that does not apply to it may be what it wants, but not
/// what the row names.
fn is(names: &Names<'_>, axes: &[Axis<'_>]) -> bool {
    axes.iter()
        .all(|(axis, wanted, named)| match names.axis(axis) {
            Some(have) => have == wanted,
            None => !named,
        })
}

/// The value of every axis: what the selector says, else the baseline's, else the first.
fn axes<'a>(suite: &'a Suite, run: &Run, cell: &Selector) -> Vec<Axis<'a>> {
    let first = |name: Option<&String>| name.cloned().unwrap_or_default();
    let servers = suite.servers.first().map(|server| &server.name.value);
    let loads = suite.loads.first().map(|load| &load.name.value);
    let of_toggles = suite.toggles.iter().map(|toggle| {
        let value = toggle.values.first().map(|value| &value.name.value);
        (toggle.name.value.as_str(), first(value))
    });
    let baseline = run.baseline.as_ref().map(|baseline| &baseline.value);
    [("server", first(servers)), ("load", first(loads))]
        .into_iter()
        .chain(of_toggles)
        .map(|(axis, first)| {
            let named = |selector: &Selector| selector.axis(axis)?.first().cloned();
            let own = named(cell);
            let is_named = own.is_some();
            let value = own.or_else(|| baseline.and_then(named)).unwrap_or(first);
            (axis, value, is_named)
        })
        .collect()
}

pub(super) fn bound(bound: suite::Bound) -> Bound {
    match bound {
        suite::Bound::Value(value) => Bound::Value(value),
        suite::Bound::Share(share) => Bound::Share(share),
    }
}
