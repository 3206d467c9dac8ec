//! `history.csv`: what is kept of every night, for good. A row is one metric of one cell in one run; a cell without figures has
//! one row with the reason, so that its gap can be shown. Runs are thrown away some day, this is not.

use super::Host;
use crate::ids::{CellId, RunId};
use sha2::{Digest as _, Sha256};

/// The columns of `history.csv`, in their order. The unit of a figure is in the name of its metric: `rss_peak_bytes`.
pub const HISTORY_COLUMNS: [&str; 13] = [
    "run", "time", "revision", "machine", "hotlap", "cell", "state", "reason", "metric", "median",
    "low", "high", "bound",
];

/// The last column of a figure that is a lower bound.
pub const AT_LEAST: &str = "at_least";

/// A row of `history.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryRow {
    /// The run.
    pub run: RunId,
    /// When it began, RFC 3339 in UTC.
    pub time: String,
    /// The revision of the suite's repository, `-dirty` where it had changes.
    pub revision: Option<String>,
    /// The [`fingerprint`] of the machine; none where its sessions found more than one.
    pub machine: Option<String>,
    /// The version of hotlap; of several the last.
    pub hotlap: String,
    /// The cell, with the hash of its configuration.
    pub cell: CellId,
    /// What became of it: `measured`, `invalid`, `failed`, `skipped`, or `incomplete` where its run did not come to its end.
    pub state: String,
    /// Why it has no figures; empty where it has.
    pub reason: String,
    /// The figure; none where the cell has none.
    pub figure: Option<HistoryFigure>,
}

/// One metric of a cell in a night.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryFigure {
    /// The name of its column, which ends in the unit: `rss_peak_bytes`.
    pub column: String,
    /// The median over the valid trials.
    pub median: f64,
    /// Its interval of 95 %, from 6 trials on.
    pub interval: Option<(f64, f64)>,
    /// Whether the generator was the limit, so that it is a lower bound.
    pub bounded: bool,
}

/// A run that has no rows, since it did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostNight {
    /// The run.
    pub run: RunId,
    /// When it began, RFC 3339 in UTC.
    pub time: String,
    /// What became of it.
    pub reason: String,
}

/// A machine in eight hexadecimal digits: the start of the SHA-256 of what [`Host`] tells. Memory counts in whole GiB,
/// rounded up, since the kernel keeps some for itself, and not always as much.
pub fn fingerprint(host: &Host) -> String {
    const GIB: u64 = 1 << 30;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let told = [
        text(&host.cpu),
        host.cpus.to_string(),
        host.cpus_online.to_string(),
        host.memory_bytes
            .map_or_else(String::new, |bytes| bytes.div_ceil(GIB).to_string()),
        text(&host.kernel),
        text(&host.system),
        text(&host.governor),
        format!("{:?}", host.virtualized),
    ];
    crate::ids::hex(&Sha256::digest(told.join("\n")))
        .chars()
        .take(8)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_known_by_all_that_it_tells() {
        let host = Host {
            cpu: Some("x".to_owned()),
            cpus: 2,
            cpus_online: 4,
            memory_bytes: Some(25_000_000_000),
            ..Host::default()
        };
        let own = fingerprint(&host);
        assert_eq!(own.len(), 8);
        let kept = Host {
            memory_bytes: Some(25_100_000_000),
            ..host.clone()
        };
        assert_eq!(fingerprint(&kept), own);
        for other in [
            Host {
                cpus: 4,
                ..host.clone()
            },
            Host {
                kernel: Some("y".to_owned()),
                ..host.clone()
            },
            Host {
                memory_bytes: None,
                ..host.clone()
            },
            Host {
                virtualized: Some(true),
                ..host.clone()
            },
        ] {
            assert_ne!(fingerprint(&other), own);
        }
    }
}
