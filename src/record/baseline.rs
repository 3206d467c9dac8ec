//! `baseline.json`: what is known of a run for comparing another with it. A run that was made with `--baseline` keeps
//! that of the earlier one in its own folder, so that its report can be made again from there alone.

use super::{FORMAT, Host, METRICS};
use crate::ids::{CellId, RunId};
use crate::metric::find;
use crate::spec::{Cell, RunSettings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run as another one is compared with it, in canonical units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The version of the files, [`FORMAT`].
    pub format: u32,
    /// The run.
    pub run: RunId,
    /// The suite's name.
    pub suite: String,
    /// The profile; none is the default, and also where it is not known.
    pub profile: Option<String>,
    /// When its first session began, RFC 3339 in UTC; empty where it is not known.
    pub started: String,
    /// How many sessions made it; 0 where it is not known.
    pub sessions: usize,
    /// The versions of hotlap that made it; empty where it is not known.
    pub hotlap: Vec<String>,
    /// Revision of the suite's repository, `-dirty` where it had changes.
    pub revision: Option<String>,
    /// SHA-256 of the suite file, hexadecimal; none where it is not known.
    pub suite_sha256: Option<String>,
    /// Whether it ended by itself, with a record of every planned trial; none where it is not known.
    pub complete: Option<bool>,
    /// What narrowed it.
    pub selection: Vec<String>,
    /// The machine; none where it is not known.
    pub host: Option<Host>,
    /// What each tool and server said of its version.
    pub versions: BTreeMap<String, String>,
    /// How the run was done; none where it is not known.
    pub settings: Option<RunSettings>,
    /// Its cells, in file order.
    pub cells: Vec<BaselineCell>,
}

/// A cell of a [`Baseline`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineCell {
    /// Its names and the hash of its configuration.
    pub id: CellId,
    /// Its names as people see them.
    pub title: String,
    /// What became of it: `measured`, `invalid`, `failed`, `skipped` or `not run`.
    pub state: String,
    /// Why trials of it do not count, in a sentence each.
    pub reasons: Vec<String>,
    /// Planned trials; none where it is not known.
    pub planned: Option<usize>,
    /// Valid trials.
    pub valid: usize,
    /// Whether the generator was the limit of a valid trial; none where it is not known.
    pub limited: Option<bool>,
    /// What made its loads, by name and version.
    pub generators: Vec<String>,
    /// What it was; none where it is not known.
    pub spec: Option<Cell>,
    /// The value of each valid trial that has one, by the name of the metric's column, which ends in the
    /// unit: `rss_peak_bytes`.
    pub metrics: BTreeMap<String, Vec<f64>>,
}

impl BaselineCell {
    /// Whether it has figures.
    pub fn is_measured(&self) -> bool {
        self.state == "measured"
    }

    /// The values of a metric, by its name without the unit; empty where there are none.
    pub fn values(&self, metric: &str) -> &[f64] {
        find(metric)
            .and_then(|metric| self.metrics.get(&metric.column()))
            .map_or(&[], Vec::as_slice)
    }
}

impl Baseline {
    /// The cell with this id, hash and all.
    pub fn cell(&self, id: &CellId) -> Option<&BaselineCell> {
        self.cells.iter().find(|cell| cell.id == *id)
    }

    /// That it can be compared with: a format that is known, metrics of the registry in their own units, and
    /// values that are numbers, no more of them than valid trials.
    pub fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("it is in format {}", self.format));
        }
        for cell in &self.cells {
            for (column, values) in &cell.metrics {
                check_column(column)?;
                let ok = |value: &f64| value.is_finite() && *value >= 0.0;
                if !values.iter().all(ok) || values.len() > cell.valid {
                    return Err(format!(
                        "{column} of {} is not one number for each valid trial at the most",
                        cell.id
                    ));
                }
            }
        }
        Ok(())
    }
}

/// That a column is a metric that trials have figures of, in its own unit.
pub fn check_column(column: &str) -> Result<(), String> {
    if METRICS.iter().any(|metric| metric.column() == column) {
        return Ok(());
    }
    match other_unit(column) {
        Some(right) => Err(format!(
            "its metric {column:?} is in a unit that hotlap never writes; the column is {right:?}"
        )),
        None => Err(format!("there is no metric {column:?}")),
    }
}

/// The right column of a metric whose name another unit follows.
pub fn other_unit(column: &str) -> Option<String> {
    let named = |name: &str| {
        let rest = column.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with('_')).then_some(())
    };
    let found = METRICS.iter().filter(|metric| named(metric.name).is_some());
    // `latency_p99_9_ms` begins with `latency_p99` too.
    let metric = found.max_by_key(|metric| metric.name.len())?;
    let right = metric.column();
    (right != column).then_some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_known_by_its_name_and_its_unit() {
        for metric in METRICS.iter() {
            assert_eq!(check_column(&metric.column()), Ok(()));
        }
        let wrong = check_column("rss_peak_kib").unwrap_err();
        assert!(wrong.contains("\"rss_peak_bytes\""), "{wrong}");
        let wrong = check_column("latency_p99_9_ms").unwrap_err();
        assert!(wrong.contains("\"latency_p99_9_ns\""), "{wrong}");
        let wrong = check_column("rss_peak").unwrap_err();
        assert!(wrong.contains("\"rss_peak_bytes\""), "{wrong}");
        let wrong = check_column("goodness_count").unwrap_err();
        assert!(wrong.contains("no metric"), "{wrong}");
    }
}
