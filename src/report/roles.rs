//! What each role of a cell used: the rows of `report.md`, `report.json` and `roles.csv`. A role is one
//! process of a server, with all that it starts, or a service beside it.

use super::caution::Caution;
use super::naming::Naming;
use super::show;
use crate::record::{Trial, Usage};
use crate::stats::{CellSummary, Spread, State, Value};
use crate::units::{show_bytes, show_number, show_seconds};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

/// The name under which all roles that count are together.
const TOTAL: &str = "total";
/// Where PSS is at most this share of RSS, most of what RSS counts is shared.
const SHARED: f64 = 0.5;

/// A figure that each role has.
pub(super) struct Field {
    name: &'static str,
    unit: &'static str,
    /// How it is read.
    pub(super) read: fn(&Usage) -> Option<f64>,
}

impl Field {
    /// The name of its column: `rss_peak_bytes`.
    pub(super) fn column(&self) -> String {
        match self.unit {
            "" => self.name.to_owned(),
            unit => format!("{}_{unit}", self.name),
        }
    }
}

/// Every figure of a role, in the order of columns.
pub(super) const FIELDS: &[Field] = &[
    bytes("rss_idle", |u| whole(u.rss_idle)),
    bytes("rss_mean", |u| whole(u.rss_mean)),
    bytes("rss_peak", |u| whole(u.rss_peak)),
    bytes("rss_after", |u| whole(u.rss_after)),
    bytes("rss_high_water", |u| whole(u.rss_high_water)),
    bytes("pss_idle", |u| whole(u.pss_idle)),
    bytes("pss_loaded", |u| whole(u.pss_loaded)),
    bytes("pss_after", |u| whole(u.pss_after)),
    field("cpu", "s", |u| u.cpu_seconds),
    field("busiest_cpu_share", "", |u| u.busiest_cpu_share),
    count("working_processes", |u| u.working_processes.map(f64::from)),
    count("processes", |u| Some(u.processes.into())),
    count("threads", |u| Some(u.threads.into())),
    count("pids_seen", |u| Some(u.pids_seen.into())),
    count("workers", |u| u.workers.map(|w| w.processes.into())),
    field("busiest_worker_share", "", |u| {
        u.workers.map(|w| w.busiest_share)
    }),
];

const fn field(name: &'static str, unit: &'static str, read: fn(&Usage) -> Option<f64>) -> Field {
    Field { name, unit, read }
}

const fn bytes(name: &'static str, read: fn(&Usage) -> Option<f64>) -> Field {
    field(name, "bytes", read)
}

const fn count(name: &'static str, read: fn(&Usage) -> Option<f64>) -> Field {
    field(name, "count", read)
}

fn whole(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

/// The roles of a trial, by name; those that count first.
pub(super) fn of_trial(trial: &Trial) -> impl Iterator<Item = (&str, &Usage)> {
    let own = |apart: bool| {
        let roles = trial.usage.iter();
        roles
            .filter(move |(role, usage)| *role != TOTAL && usage.apart == apart)
            .map(|(role, usage)| (role.as_str(), usage))
    };
    own(false).chain(own(true))
}

/// Whether a trial of the cell has more than one role.
pub(super) fn has_several(cell: &CellSummary<'_>) -> bool {
    cell.trials.iter().any(|trial| of_trial(trial).count() > 1)
}

/// The names of a cell's roles, those that count first, and whether each is apart.
fn names<'a>(cell: &CellSummary<'a>) -> Vec<(&'a str, bool)> {
    let all: BTreeSet<(bool, &str)> = cell
        .valid()
        .flat_map(|trial| of_trial(trial).map(|(role, usage)| (usage.apart, role)))
        .collect();
    all.into_iter().map(|(apart, role)| (role, apart)).collect()
}

fn spread(
    cell: &CellSummary<'_>,
    role: &str,
    read: impl Fn(&Usage) -> Option<f64>,
) -> Option<Spread> {
    Spread::of(cell.valid().filter_map(|trial| {
        Some(Value {
            repetition: trial.trial.repetition,
            round: trial.round,
            value: read(trial.usage.get(role)?)?,
        })
    }))
}

/// A role of a cell, in a table.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RoleView {
    /// The names of its cell, one a column.
    pub names: Vec<String>,
    /// Whether others are compared with its cell.
    pub baseline: bool,
    /// The role.
    pub role: String,
    /// Whether it is in no total.
    pub apart: bool,
    /// RSS before the load, as shown.
    pub rss_idle: String,
    /// Highest RSS under load, as shown.
    pub rss_peak: String,
    /// RSS after the rest, as shown.
    pub rss_after: String,
    /// PSS after the rest, as shown.
    pub pss_after: String,
    /// CPU time in the measured phase, as shown.
    pub cpu: String,
    /// Its share of the CPU time of all roles that count, as shown.
    pub cpu_share: String,
    /// Most processes at once, as shown.
    pub processes: String,
    /// Most threads at once, as shown.
    pub threads: String,
}

/// The roles of all measured cells; none where none has more than one.
pub(super) fn rows(naming: &Naming<'_>, cells: &[&CellSummary<'_>]) -> Vec<RoleView> {
    if !cells.iter().any(|cell| names(cell).len() > 1) {
        return Vec::new();
    }
    let is_baseline = |cell: &CellSummary<'_>| {
        let id = Some(&cell.cell.id);
        cells.iter().any(|c| c.cell.baseline.as_ref() == id)
    };
    let of_cell = |cell: &&CellSummary<'_>| -> Vec<RoleView> {
        let baseline = is_baseline(cell);
        let row = |(role, apart)| row(naming, cell, baseline, role, apart);
        names(cell).into_iter().map(row).collect()
    };
    cells.iter().flat_map(of_cell).collect()
}

fn row(
    naming: &Naming<'_>,
    cell: &CellSummary<'_>,
    baseline: bool,
    role: &str,
    apart: bool,
) -> RoleView {
    let shown = |read: fn(&Usage) -> Option<f64>, show: fn(f64) -> String| {
        spread(cell, role, read).map_or_else(
            || show::NONE.to_owned(),
            |spread| show(spread.median).replace(' ', "\u{a0}"),
        )
    };
    let most = |read: fn(&Usage) -> Option<f64>| {
        let spread = spread(cell, role, read);
        spread.map_or_else(|| show::NONE.to_owned(), |spread| show::count(spread.max))
    };
    RoleView {
        names: naming.row(cell.cell),
        baseline,
        role: role.to_owned(),
        apart,
        rss_idle: shown(|u| whole(u.rss_idle), show_bytes),
        rss_peak: shown(|u| whole(u.rss_peak), show_bytes),
        rss_after: shown(|u| whole(u.rss_after), show_bytes),
        pss_after: shown(|u| whole(u.pss_after), show_bytes),
        cpu: shown(|u| u.cpu_seconds, show_seconds),
        cpu_share: if apart {
            show::NONE.to_owned()
        } else {
            cpu_share(cell, role)
        },
        processes: most(|u| Some(u.processes.into())),
        threads: most(|u| Some(u.threads.into())),
    }
}

/// The median over trials of the share that a role had of the CPU time of all.
fn cpu_share(cell: &CellSummary<'_>, role: &str) -> String {
    let share = |trial: &Trial| {
        let own = trial.usage.get(role)?.cpu_seconds?;
        let all = trial.usage.get(TOTAL)?.cpu_seconds?;
        (all > 0.0).then_some(own / all)
    };
    let spread = Spread::of(cell.valid().filter_map(|trial| {
        Some(Value {
            repetition: trial.trial.repetition,
            round: trial.round,
            value: share(trial)?,
        })
    }));
    spread.map_or_else(
        || show::NONE.to_owned(),
        |spread| format!("{}\u{a0}%", show_number(spread.median * 100.0, 2)),
    )
}

/// The roles of a cell for `report.json`: each figure with median, lowest and highest.
pub(super) fn json(cell: &CellSummary<'_>) -> Map<String, Json> {
    let of_role = |(role, apart): (&str, bool)| {
        let mut figures: Map<String, Json> = FIELDS
            .iter()
            .filter_map(|field| {
                let spread = spread(cell, role, field.read)?;
                let figure =
                    json!({ "median": spread.median, "min": spread.min, "max": spread.max });
                Some((field.column(), figure))
            })
            .collect();
        figures.insert("in_total".to_owned(), json!(!apart));
        (role.to_owned(), Json::Object(figures))
    };
    names(cell).into_iter().map(of_role).collect()
}

/// The cells of which most memory is shared among their processes, and what that means for reading it.
pub(super) fn shared_pages(naming: &Naming<'_>, cells: &[CellSummary<'_>]) -> Option<Caution> {
    let parts = |cell: &CellSummary<'_>| {
        let of = |name: &str| cell.metric(name).map(|spread| spread.median);
        let share = |pss, rss| Some(of(pss)? / of(rss)?);
        let shares = [
            share("pss_idle", "rss_idle"),
            share("pss_after", "rss_after"),
        ];
        let least = shares.into_iter().flatten().fold(f64::INFINITY, f64::min);
        (least <= SHARED).then_some(least)
    };
    let measured = cells.iter().filter(|cell| cell.state == State::Measured);
    let shared: Vec<(String, f64)> = measured
        .filter_map(|cell| Some((naming.title(cell.cell), parts(cell)?)))
        .collect();
    let least = shared.iter().map(|(_, share)| *share).reduce(f64::min)?;
    Some(Caution {
        cells: shared.into_iter().map(|(title, _)| title).collect(),
        text: format!(
            "PSS is half of RSS or less, down to {} % of it: much of the memory is pages that processes share (the \
             program's text, libraries, and what a process had before it forked, as long as nobody writes to it). RSS \
             counts such a page once for each process, PSS divides it among them; so PSS is what the machine pays, and \
             RSS tells how large each process looks.",
            show_number(least * 100.0, 2)
        ),
    })
}
