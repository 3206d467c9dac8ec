//! `samples.csv`: a row a reading, in RFC 4180 CSV. Rows of trials without a
//! record are of trials that were cut off, and do not count.

use super::StoreError;
use crate::ids::TrialId;
use crate::record::{Phase, Reading};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A row of the file. The order of these fields is the order of its columns.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    trial: String,
    role: String,
    phase: Phase,
    t_ns: u64,
    rss_bytes: u64,
    pss_bytes: Option<u64>,
    cpu_seconds: f64,
    processes: u32,
    threads: u32,
    #[serde(default)]
    completed_count: Option<u64>,
}

const HEADER: &str =
    "trial,role,phase,t_ns,rss_bytes,pss_bytes,cpu_seconds,processes,threads,completed_count\n";
/// The header before requests were counted with the readings.
const EARLIER: &str = "trial,role,phase,t_ns,rss_bytes,pss_bytes,cpu_seconds,processes,threads\n";

/// The readings of finished trials, with what was left out.
pub(super) struct Samples {
    pub(super) readings: BTreeMap<TrialId, Vec<Reading>>,
    /// Whether the file has anything that does not belong to a finished trial.
    pub(super) has_orphans: bool,
    /// Whether it lacks columns that are written now.
    pub(super) is_earlier: bool,
}

/// The rows of one trial. A file that is new begins with the header.
pub(super) fn rows(
    trial: &TrialId,
    readings: &[Reading],
    is_new: bool,
) -> Result<Vec<u8>, csv::Error> {
    let mut bytes = Vec::new();
    if is_new {
        bytes.extend_from_slice(HEADER.as_bytes());
    }
    let name = guard(&trial.to_string());
    let mut writer = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(bytes);
    for reading in readings {
        writer.serialize(Row {
            trial: name.clone(),
            role: guard(&reading.role),
            phase: reading.phase,
            t_ns: reading.t_ns,
            rss_bytes: reading.rss_bytes,
            pss_bytes: reading.pss_bytes,
            cpu_seconds: reading.cpu_seconds,
            processes: reading.processes,
            threads: reading.threads,
            completed_count: reading.completed,
        })?;
    }
    writer
        .into_inner()
        .map_err(|error| error.into_error().into())
}

/// Reads the file's `bytes`; `finished` are the trials that have a record. What
/// follows the last line end was cut off while it was written.
pub(super) fn read<'a>(
    path: &Path,
    bytes: &[u8],
    finished: impl Iterator<Item = &'a TrialId>,
) -> Result<Samples, StoreError> {
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let mut samples = Samples {
        readings: BTreeMap::new(),
        has_orphans: whole < bytes.len(),
        is_earlier: false,
    };
    if whole == 0 {
        return Ok(samples);
    }
    let broken = |line: Option<u64>, reason: String| StoreError::Broken {
        path: path.to_owned(),
        line: line.map(|line| line as usize),
        reason,
    };
    let bytes = &bytes[..whole];
    samples.is_earlier = bytes.starts_with(EARLIER.as_bytes());
    let header = if samples.is_earlier { EARLIER } else { HEADER };
    let Some(table) = bytes.strip_prefix(header.as_bytes()) else {
        return Err(broken(
            Some(1),
            format!("its columns are not {}", HEADER.trim_end()),
        ));
    };
    let names: BTreeMap<String, &TrialId> =
        finished.map(|trial| (trial.to_string(), trial)).collect();
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(table);
    for row in reader.deserialize::<Row>() {
        let row = row.map_err(|error| {
            let line = error.position().map(|position| position.line() + 1);
            broken(line, error.to_string())
        })?;
        match names.get(unguard(&row.trial)) {
            Some(trial) => samples
                .readings
                .entry((*trial).clone())
                .or_default()
                .push(reading(&row)),
            None => samples.has_orphans = true,
        }
    }
    Ok(samples)
}

fn reading(row: &Row) -> Reading {
    Reading {
        t_ns: row.t_ns,
        phase: row.phase,
        role: unguard(&row.role).to_owned(),
        rss_bytes: row.rss_bytes,
        pss_bytes: row.pss_bytes,
        cpu_seconds: row.cpu_seconds,
        processes: row.processes,
        threads: row.threads,
        completed: row.completed_count,
    }
}

/// What a spreadsheet would run as a formula gets an apostrophe. Names never
/// begin with one themselves, so that it can be taken off again.
fn guard(text: &str) -> String {
    if text.starts_with(RUNS) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

fn unguard(text: &str) -> &str {
    match text.strip_prefix('\'') {
        Some(rest) if rest.starts_with(RUNS) => rest,
        _ => text,
    }
}

const RUNS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::CellId;

    fn trial(name: &str) -> TrialId {
        TrialId {
            cell: CellId(name.to_owned()),
            repetition: 1,
        }
    }

    fn seen(role: &str, pss: Option<u64>) -> Reading {
        Reading {
            t_ns: 1,
            phase: Phase::Measure,
            role: role.to_owned(),
            rss_bytes: u64::MAX,
            pss_bytes: pss,
            cpu_seconds: 0.1 + 0.2,
            processes: 2,
            threads: 3,
            completed: pss.map(|pss| pss * 2),
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let id = trial("-odd,\"name\"@l#0");
        let readings = [seen("@role", None), seen("b", Some(7))];
        let bytes = rows(&id, &readings, true).unwrap();
        let back = read(Path::new("x"), &bytes, [&id].into_iter()).unwrap();
        assert_eq!(back.readings[&id], readings);
        assert!(!back.has_orphans);
    }

    #[test]
    fn a_file_from_before_requests_were_counted_reads() {
        let id = trial("a@l#0");
        let bytes = format!("{EARLIER}a@l#0.1,server,measure,1,2,,0.5,1,4\n");
        let back = read(Path::new("x"), bytes.as_bytes(), [&id].into_iter()).unwrap();
        assert!(back.is_earlier);
        assert_eq!(back.readings[&id].len(), 1);
        assert_eq!(back.readings[&id][0].threads, 4);
        assert_eq!(back.readings[&id][0].completed, None);
    }

    #[test]
    fn rows_without_a_record_do_not_count() {
        let (kept, cut) = (trial("a@l#0"), trial("b@l#0"));
        let mut bytes = rows(&kept, &[seen("server", None)], true).unwrap();
        bytes.extend(rows(&cut, &[seen("server", None)], false).unwrap());
        let back = read(Path::new("x"), &bytes, [&kept].into_iter()).unwrap();
        assert_eq!(back.readings.keys().collect::<Vec<_>>(), [&kept]);
        assert!(back.has_orphans);
    }

    #[test]
    fn other_columns_and_broken_rows_are_errors_with_their_line() {
        let path = Path::new("samples.csv");
        let error = read(path, b"a,b\n1,2\n", [].into_iter()).err().unwrap();
        assert!(error.to_string().contains("line 1"), "{error}");
        let bytes = format!("{HEADER}a,b,measure,1,2,,x,1,1,\n");
        let error = read(path, bytes.as_bytes(), [].into_iter()).err().unwrap();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
