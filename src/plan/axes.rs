//! Axes and what lies on them: a cell by its names, an axis's values by their positions.

use super::{Options, one_of};
use crate::suite::{Load, Run, Selector, Server, Suite, Toggle, Value};

/// A cell by its parts of the suite.
#[derive(Debug, Clone)]
pub(super) struct Names<'a> {
    pub(super) server: &'a Server,
    /// The value of each toggle that applies, in file order.
    pub(super) toggles: Vec<(&'a Toggle, &'a Value)>,
    pub(super) load: &'a Load,
}

impl Names<'_> {
    /// The value that an axis has in this cell; none where the toggle does not apply.
    pub(super) fn axis(&self, name: &str) -> Option<&str> {
        match name {
            "server" => Some(&self.server.name.value),
            "load" => Some(&self.load.name.value),
            _ => self
                .toggles
                .iter()
                .find(|(toggle, _)| toggle.name.value == name)
                .map(|(_, value)| value.name.value.as_str()),
        }
    }

    /// Whether every axis that the selector names has one of its values here.
    pub(super) fn matches(&self, selector: &Selector) -> bool {
        selector.axes.iter().all(|(axis, values)| {
            self.axis(axis)
                .is_some_and(|have| values.iter().any(|want| want == have))
        })
    }
}

/// Where the baseline lies; what it does not name is at the first.
pub(super) struct Positions {
    pub(super) server: u32,
    pub(super) names_server: bool,
    pub(super) load: Option<u32>,
    pub(super) toggles: Vec<u32>,
    /// Which toggles it names; without a `baseline`, all.
    pub(super) named: Vec<bool>,
}

impl Positions {
    /// The baseline of the cells that are compared: that of the suite, or the first value of the axis that is there
    /// for a comparison, and all else as in the cell itself.
    pub(super) fn compared(suite: &Suite, run: &Run) -> Self {
        let named: Vec<bool> = suite
            .toggles
            .iter()
            .map(|toggle| toggle.is_comparison)
            .collect();
        if !named.contains(&true) {
            return Self::of(suite, run);
        }
        Self {
            server: 0,
            names_server: false,
            load: None,
            toggles: vec![0; named.len()],
            named,
        }
    }

    pub(super) fn of(suite: &Suite, run: &Run) -> Self {
        let selector = run.baseline.as_ref().map(|baseline| &baseline.value);
        let named = |axis: &str| {
            let names = selector?.axis(axis)?;
            positions(suite, axis, names).first().copied()
        };
        let toggles: Vec<Option<u32>> = suite
            .toggles
            .iter()
            .map(|toggle| named(&toggle.name.value))
            .collect();
        Self {
            server: named("server").unwrap_or(0),
            names_server: selector.is_none() || named("server").is_some(),
            load: named("load"),
            named: toggles
                .iter()
                .map(|at| selector.is_none() || at.is_some())
                .collect(),
            toggles: toggles.into_iter().map(Option::unwrap_or_default).collect(),
        }
    }
}

/// The positions of an axis's values with these names.
pub(super) fn positions(suite: &Suite, axis: &str, names: &[String]) -> Vec<u32> {
    let all: Vec<&str> = values_of(suite, axis).unwrap_or_default();
    names
        .iter()
        .filter_map(|name| all.iter().position(|known| known == name))
        .filter_map(|at| u32::try_from(at).ok())
        .collect()
}

/// The values of an axis in file order.
fn values_of<'a>(suite: &'a Suite, axis: &str) -> Option<Vec<&'a str>> {
    Some(match axis {
        "server" => suite
            .servers
            .iter()
            .map(|server| server.name.value.as_str())
            .collect(),
        "load" => suite
            .loads
            .iter()
            .map(|load| load.name.value.as_str())
            .collect(),
        _ => suite
            .toggles
            .iter()
            .find(|toggle| toggle.name.value == axis)?
            .values
            .iter()
            .map(|value| value.name.value.as_str())
            .collect(),
    })
}

pub(super) fn upto(length: usize) -> Vec<u32> {
    (0..u32::try_from(length).unwrap_or(u32::MAX)).collect()
}

pub(super) fn ends(cell: &[u32]) -> (usize, usize) {
    let at = |position: Option<&u32>| position.map_or(0, |at| *at as usize);
    (at(cell.first()), at(cell.last()))
}

pub(super) fn applies(suite: &Suite) -> Vec<Vec<bool>> {
    let pairs = suite
        .servers
        .iter()
        .flat_map(|server| suite.loads.iter().map(move |load| (server, load)));
    pairs
        .map(|(server, load)| {
            let of = |toggle: &Toggle| toggle.applies(&server.name.value, &load.name.value);
            suite.toggles.iter().map(of).collect()
        })
        .collect()
}

/// That `--only` and `--skip` name axes and values that the suite has.
pub(super) fn check_options(suite: &Suite, options: &Options) -> Result<(), String> {
    for (axis, value) in options.only.iter().chain(&options.skip) {
        let Some(known) = values_of(suite, axis) else {
            let toggles = suite
                .toggles
                .iter()
                .map(|toggle| toggle.name.value.as_str());
            let axes: Vec<&str> = ["server", "load"].into_iter().chain(toggles).collect();
            return Err(format!(
                "the suite {} has no axis `{axis}`; {}",
                suite.name,
                one_of(&axes)
            ));
        };
        if !known.contains(&value.as_str()) {
            return Err(format!(
                "`{axis}` of the suite {} is never `{value}`; {}",
                suite.name,
                one_of(&known)
            ));
        }
    }
    Ok(())
}
