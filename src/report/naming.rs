//! How cells are named in a report: a column for each axis that varies, or one column of
//! departures from the baseline where there would be too many.

use crate::ids::CellId;
use crate::spec::{Cell, Choice, Spec};
use std::collections::{HashMap, HashSet};

/// With more axes than this the names share one column.
const MOST_COLUMNS: usize = 3;

/// One value of one axis that a cell departs by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Departure {
    /// The server and the load, where there are several and they are not what departs.
    pub(super) context: Option<String>,
    /// What the cell has.
    pub(super) to: String,
    /// What it is read against.
    pub(super) from: String,
}

/// The names of a spec's cells.
pub(super) struct Naming<'a> {
    spec: &'a Spec,
    axes: Vec<&'a str>,
    /// Toggles that baselines differ in among themselves: what departs from one is told apart by these too.
    open: Vec<&'a str>,
    /// What cells are compared with.
    bases: HashSet<&'a CellId>,
    /// The cells by their ids.
    by_id: HashMap<&'a CellId, &'a Cell>,
    /// The first cell with these values on the axes that vary.
    by_values: HashMap<Vec<Option<&'a str>>, &'a Cell>,
}

impl<'a> Naming<'a> {
    /// Finds the axes that vary among the cells.
    pub(super) fn of(spec: &'a Spec) -> Self {
        let varies = |axis: &str| {
            let mut values = spec.cells.iter().map(|cell| name(cell, axis));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let axes = spec
            .axes
            .iter()
            .map(|axis| axis.name.as_str())
            .filter(|axis| varies(axis))
            .collect();
        let axes: Vec<&str> = axes;
        let bases: HashSet<&CellId> = spec
            .cells
            .iter()
            .filter_map(|cell| cell.baseline.as_ref())
            .collect();
        let of_bases: Vec<&Cell> = spec
            .cells
            .iter()
            .filter(|cell| bases.contains(&cell.id))
            .collect();
        let differ = |axis: &&&str| {
            let mut values = of_bases.iter().filter_map(|base| name(base, axis));
            let first = values.next();
            !matches!(**axis, "server" | "load") && values.any(|value| Some(value) != first)
        };
        let open = axes.iter().filter(differ).copied().collect();
        let by_id = spec.cells.iter().map(|cell| (&cell.id, cell)).collect();
        let mut by_values = HashMap::new();
        for cell in &spec.cells {
            let values = axes.iter().map(|axis| name(cell, axis)).collect();
            by_values.entry(values).or_insert(cell);
        }
        Self {
            spec,
            axes,
            open,
            bases,
            by_id,
            by_values,
        }
    }

    /// Whether a row names only what departs from its baseline.
    pub(super) fn is_merged(&self) -> bool {
        self.axes.len() > MOST_COLUMNS
    }

    /// The cell with this id.
    pub(super) fn cell(&self, id: &CellId) -> Option<&'a Cell> {
        self.by_id.get(id).copied()
    }

    /// The heads of the columns of names.
    pub(super) fn columns(&self) -> Vec<String> {
        if self.is_merged() {
            return vec!["Variant".to_owned()];
        }
        if self.axes.is_empty() {
            return vec!["Server".to_owned()];
        }
        self.axes.iter().map(|axis| head(axis)).collect()
    }

    /// A cell's names, one a column.
    pub(super) fn row(&self, cell: &Cell) -> Vec<String> {
        if self.is_merged() {
            return vec![self.merged(cell)];
        }
        if self.axes.is_empty() {
            return vec![cell.server_label.clone()];
        }
        self.axes
            .iter()
            .map(|axis| label(cell, axis).unwrap_or("–").to_owned())
            .collect()
    }

    /// A cell in a phrase: `Express · compression gzip · steady`.
    pub(super) fn title(&self, cell: &Cell) -> String {
        if self.is_merged() {
            return self.merged(cell);
        }
        self.phrase(cell, |_| true)
    }

    /// The same for cells of one load.
    pub(super) fn title_without_load(&self, cell: &Cell) -> String {
        let title = |axis: &str| axis != "load";
        let base = self.base(cell);
        match base.filter(|_| self.is_merged()) {
            Some(base) => self.phrase(cell, |axis| title(axis) && self.departs(cell, base, axis)),
            None => self.phrase(cell, title),
        }
    }

    /// What a cell is to be read against, and by which single axis it departs from that: another
    /// server from its baseline, another value of a toggle from the same server without it.
    /// None where it departs by more than one axis, or by none.
    pub(super) fn departure(&self, cell: &Cell, base: &Cell) -> Option<(&'a Cell, Departure)> {
        let usual = |axis: &str| name(base, axis).or_else(|| self.first_value(axis));
        let departs = |axis: &&&str| name(cell, axis).is_some_and(|own| usual(axis) != Some(own));
        let toggles: Vec<&str> = self
            .axes
            .iter()
            .filter(|axis| !matches!(**axis, "server" | "load"))
            .filter(departs)
            .copied()
            .collect();
        let (axis, against) = match toggles.as_slice() {
            [] if cell.server != base.server => ("server", base.id.clone()),
            [toggle] => {
                let values = self.axes.iter().map(|axis| {
                    if axis == toggle {
                        usual(toggle)
                    } else {
                        name(cell, axis)
                    }
                });
                let values: Vec<Option<&str>> = values.collect();
                (*toggle, self.by_values.get(&values)?.id.clone())
            }
            _ => return None,
        };
        let against = *self.by_id.get(&against)?;
        let departure = Departure {
            context: self.context(cell, axis),
            to: part(cell, axis)?,
            from: part(against, axis)?,
        };
        Some((against, departure))
    }

    /// Under which server and load, and with which values of toggles that baselines differ in, a departure by `axis`
    /// was seen, where the report has several.
    fn context(&self, cell: &Cell, axis: &str) -> Option<String> {
        let places = ["server", "load"]
            .into_iter()
            .chain(self.open.iter().copied());
        let parts: Vec<String> = places
            .filter(|place| *place != axis && self.axes.contains(place))
            .filter_map(|place| part(cell, place))
            .collect();
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    fn first_value(&self, axis: &str) -> Option<&str> {
        let axis = self.spec.axes.iter().find(|known| known.name == axis)?;
        axis.values.first().map(|(name, _)| name.as_str())
    }

    /// Whether another cell is compared with this one.
    pub(super) fn is_baseline(&self, cell: &Cell) -> bool {
        self.bases.contains(&cell.id)
    }

    /// The cell that a cell is compared with.
    fn base(&self, cell: &Cell) -> Option<&'a Cell> {
        self.by_id.get(cell.baseline.as_ref()?).copied()
    }

    fn merged(&self, cell: &Cell) -> String {
        let base = self.base(cell);
        let Some(base) = base else {
            return self.phrase(cell, |_| true);
        };
        self.phrase(cell, |axis| self.departs(cell, base, axis))
    }

    /// Whether a row that names departures names this axis.
    fn departs(&self, cell: &Cell, base: &Cell, axis: &str) -> bool {
        matches!(axis, "server" | "load")
            || self.open.contains(&axis)
            || name(cell, axis) != name(base, axis)
    }

    fn phrase(&self, cell: &Cell, takes: impl Fn(&str) -> bool) -> String {
        let parts: Vec<String> = self
            .axes
            .iter()
            .filter(|axis| takes(axis))
            .filter_map(|axis| part(cell, axis))
            .collect();
        if parts.is_empty() {
            return cell.server_label.clone();
        }
        parts.join(" · ")
    }
}

/// The head of an axis's column.
fn head(axis: &str) -> String {
    match axis {
        "server" => "Server".to_owned(),
        "load" => "Load".to_owned(),
        toggle => toggle.to_owned(),
    }
}

/// A cell's value on an axis as a phrase; a toggle's goes with its name, since `on` says nothing.
fn part(cell: &Cell, axis: &str) -> Option<String> {
    let label = label(cell, axis)?;
    Some(match axis {
        "server" | "load" => label.to_owned(),
        toggle => format!("{toggle} {label}"),
    })
}

fn name<'a>(cell: &'a Cell, axis: &str) -> Option<&'a str> {
    match axis {
        "server" => Some(&cell.server),
        "load" => Some(&cell.load),
        toggle => choice(cell, toggle).map(|choice| choice.value.as_str()),
    }
}

fn label<'a>(cell: &'a Cell, axis: &str) -> Option<&'a str> {
    match axis {
        "server" => Some(&cell.server_label),
        "load" => Some(&cell.load_label),
        toggle => choice(cell, toggle).map(|choice| choice.label.as_str()),
    }
}

fn choice<'a>(cell: &'a Cell, toggle: &str) -> Option<&'a Choice> {
    cell.toggles.iter().find(|choice| choice.toggle == toggle)
}
