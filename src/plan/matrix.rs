//! The matrix: servers × values of the toggles that apply × loads, as names.
//! What is excluded is taken out, and each cell finds the one it is compared with.

use super::{Options, one_of};
use crate::diagnostic::Diagnostic;
use crate::spec::Cell;
use crate::suite::{self, At, Load, Profile, Run, Selector, Server, Suite, Toggle, Value};

/// A cell by its parts of the suite.
#[derive(Debug, Clone)]
pub(super) struct Names<'a> {
    pub(super) server: &'a Server,
    /// The value of each toggle that applies, in file order.
    pub(super) toggles: Vec<(&'a Toggle, &'a Value)>,
    pub(super) load: &'a Load,
    /// Positions in the file of server, each toggle's value and load: the order of rows.
    order: Vec<usize>,
}

impl Names<'_> {
    /// The value that an axis has in this cell; none where the toggle does not apply.
    fn axis(&self, name: &str) -> Option<&str> {
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

/// Every cell that is neither excluded nor deselected, in file order.
pub(super) fn cells<'a>(
    suite: &'a Suite,
    profile: Option<&'a Profile>,
    run: &Run,
    options: &Options,
) -> Result<Vec<Names<'a>>, Vec<Diagnostic>> {
    too_many(suite)?;
    let mut all = Vec::new();
    for (server_at, server) in suite.servers.iter().enumerate() {
        for (load_at, load) in suite.loads.iter().enumerate() {
            product(suite, (server_at, server), (load_at, load), &mut all);
        }
    }
    all.sort_by(|a, b| a.order.cmp(&b.order));
    let excludes: Vec<&At<Selector>> = suite
        .matrix
        .exclude
        .iter()
        .chain(profile.iter().flat_map(|profile| &profile.matrix.exclude))
        .collect();
    let mut useless: Vec<Diagnostic> = excludes
        .iter()
        .filter(|exclude| !all.iter().any(|cell| cell.matches(&exclude.value)))
        .map(|exclude| matches_nothing("this excludes nothing", exclude))
        .collect();
    all.retain(|cell| !excludes.iter().any(|exclude| cell.matches(&exclude.value)));
    if all.is_empty() {
        let span = excludes.last().map_or(0..0, |exclude| exclude.span.clone());
        return Err(vec![Diagnostic::error(
            suite::NO_CELLS,
            "no cell is left to measure",
            span,
        )]);
    }
    useless.extend(
        suite
            .overrides
            .iter()
            .filter_map(|one| one.when.as_ref())
            .filter(|when| !all.iter().any(|cell| cell.matches(&when.value)))
            .map(|when| matches_nothing("this override changes nothing", when)),
    );
    useless.extend(missing_baseline(suite, run, &all));
    if !useless.is_empty() {
        return Err(useless);
    }
    all.retain(|cell| selected(cell, options));
    Ok(all)
}

fn matches_nothing(message: &str, selector: &At<Selector>) -> Diagnostic {
    Diagnostic::error(suite::NO_CELLS, message, selector.span.clone())
        .help("no cell has all of these values; a toggle may not apply to this server or load")
}

/// A baseline that no cell of the whole matrix is.
fn missing_baseline(suite: &Suite, run: &Run, all: &[Names<'_>]) -> Option<Diagnostic> {
    let baseline = run.baseline.as_ref()?;
    let exists = all
        .iter()
        .any(|cell| all.iter().any(|other| is_baseline(suite, run, cell, other)));
    (!exists).then(|| {
        Diagnostic::error(
            suite::NO_CELLS,
            "no cell is this baseline",
            baseline.span.clone(),
        )
        .help("it is excluded, or a toggle does not apply to this server")
    })
}

/// More cells than this are a mistake: at a second each they would run for a day.
const MOST_CELLS: usize = 100_000;

/// Counts the cells before there are any.
fn too_many(suite: &Suite) -> Result<(), Vec<Diagnostic>> {
    let of = |server: &Server, load: &Load| {
        suite
            .toggles
            .iter()
            .filter(|toggle| toggle.applies(&server.name.value, &load.name.value))
            .fold(1usize, |cells, toggle| {
                cells.saturating_mul(toggle.values.len())
            })
    };
    let pairs = suite
        .servers
        .iter()
        .flat_map(|server| suite.loads.iter().map(move |load| (server, load)));
    let cells = pairs.fold(0usize, |cells, (server, load)| {
        cells.saturating_add(of(server, load))
    });
    if cells <= MOST_CELLS {
        return Ok(());
    }
    let span = suite
        .toggles
        .last()
        .map_or(0..0, |toggle| toggle.name.span.clone());
    Err(vec![
        Diagnostic::error(
            suite::BAD_VALUE,
            format!("the toggles multiply to {cells} cells, and {MOST_CELLS} are the most"),
            span,
        )
        .help("give toggles fewer values, or only to some servers or loads"),
    ])
}

fn product<'a>(
    suite: &'a Suite,
    (server_at, server): (usize, &'a Server),
    (load_at, load): (usize, &'a Load),
    all: &mut Vec<Names<'a>>,
) {
    let mut cells = vec![Names {
        server,
        toggles: Vec::new(),
        load,
        order: vec![server_at],
    }];
    for toggle in &suite.toggles {
        if !toggle.applies(&server.name.value, &load.name.value) {
            for cell in &mut cells {
                cell.order.push(0);
            }
            continue;
        }
        cells = cells
            .into_iter()
            .flat_map(|cell| {
                toggle.values.iter().enumerate().map(move |(at, value)| {
                    let mut cell = cell.clone();
                    cell.toggles.push((toggle, value));
                    cell.order.push(at);
                    cell
                })
            })
            .collect();
    }
    for cell in &mut cells {
        cell.order.push(load_at);
    }
    all.extend(cells);
}

/// `--only` and `--skip`: several values of one axis are alternatives.
fn selected(cell: &Names<'_>, options: &Options) -> bool {
    let has = |(axis, value): &(String, String)| cell.axis(axis) == Some(value);
    let wanted = options.only.iter().all(|(axis, _)| {
        options
            .only
            .iter()
            .filter(|(other, _)| other == axis)
            .any(has)
    });
    wanted && !options.skip.iter().any(has)
}

/// That `--only` and `--skip` name axes and values that the suite has.
pub(super) fn check_options(suite: &Suite, options: &Options) -> Result<(), String> {
    for (axis, value) in options.only.iter().chain(&options.skip) {
        let known: Vec<&str> = match axis.as_str() {
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
            _ => {
                let toggle = suite
                    .toggles
                    .iter()
                    .find(|toggle| toggle.name.value == *axis);
                let toggle = toggle.ok_or_else(|| {
                    let axes: Vec<&str> = ["server", "load"]
                        .into_iter()
                        .chain(
                            suite
                                .toggles
                                .iter()
                                .map(|toggle| toggle.name.value.as_str()),
                        )
                        .collect();
                    format!(
                        "the suite {} has no axis `{axis}`; {}",
                        suite.name,
                        one_of(&axes)
                    )
                })?;
                toggle
                    .values
                    .iter()
                    .map(|value| value.name.value.as_str())
                    .collect()
            }
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

/// Tells each cell the one that it is compared with: the cell that differs from
/// it only in the axes that `baseline` names (by default, the first server with
/// the first values, under the same load).
pub(super) fn baselines(suite: &Suite, run: &Run, names: &[Names<'_>], cells: &mut [Cell]) {
    for (cell, at) in names.iter().enumerate() {
        let found = names
            .iter()
            .position(|candidate| is_baseline(suite, run, at, candidate));
        cells[cell].baseline = found
            .filter(|found| *found != cell)
            .map(|found| cells[found].id.clone());
    }
}

fn is_baseline(suite: &Suite, run: &Run, cell: &Names<'_>, candidate: &Names<'_>) -> bool {
    let named = run.baseline.as_ref().map(|baseline| &baseline.value);
    let first_server = suite
        .servers
        .first()
        .map(|server| server.name.value.as_str());
    let wanted = |axis: &str, first: Option<&str>| -> Option<String> {
        match named {
            Some(selector) => match selector.axis(axis) {
                Some(values) => values.first().cloned(),
                None => cell.axis(axis).or(first).map(str::to_owned),
            },
            None if axis == "load" => cell.axis(axis).map(str::to_owned),
            None => first.map(str::to_owned),
        }
    };
    let same =
        |axis: &str, first: Option<&str>| wanted(axis, first).as_deref() == candidate.axis(axis);
    same("server", first_server)
        && same("load", None)
        && candidate.toggles.iter().all(|(toggle, _)| {
            let first = toggle.values.first().map(|value| value.name.value.as_str());
            same(&toggle.name.value, first)
        })
}
