//! `samples.csv`: a row a reading, in RFC 4180 CSV. Rows of trials without a
//! record are of trials that were cut off, and do not count.

use super::StoreError;
use crate::ids::TrialId;
use crate::record::{Phase, Reading, Readings};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::io::{self, BufRead as _, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// A row of the file. The order of these fields is the order of its columns.
#[derive(Debug, Serialize, Deserialize)]
struct Row<'a> {
    trial: &'a str,
    role: &'a str,
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

/// The readings of trials, with what was left out.
pub(super) struct Samples {
    pub(super) readings: Readings,
    /// Whether the file has anything that does not belong to a finished trial.
    pub(super) has_orphans: bool,
    /// Whether it lacks columns that are written now.
    pub(super) is_earlier: bool,
}

impl Samples {
    /// Those of trials that have a record.
    pub(super) fn of<'a>(mut self, finished: impl Iterator<Item = &'a TrialId>) -> Self {
        let finished: HashSet<&TrialId> = finished.collect();
        let others = self.readings.retain(|trial| finished.contains(trial));
        self.has_orphans |= others;
        self
    }
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
            trial: &name,
            role: &guard(&reading.role),
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

/// Reads the file. What follows the last line end was cut off while it was written.
pub(super) fn read(path: &Path, file: impl Read + Seek) -> Result<Samples, StoreError> {
    let mut samples = Samples {
        readings: Readings::new(),
        has_orphans: false,
        is_earlier: false,
    };
    let io = StoreError::io("read", path);
    let mut file = BufReader::with_capacity(1 << 16, file);
    let (whole, is_cut) = whole_lines(&mut file).map_err(io)?;
    samples.has_orphans = is_cut;
    if whole == 0 {
        return Ok(samples);
    }
    let mut lines = file.take(whole);
    let broken = |line: Option<u64>, reason: String| StoreError::Broken {
        path: path.to_owned(),
        line: line.map(|line| line as usize),
        reason,
    };
    let mut header = Vec::new();
    lines
        .read_until(b'\n', &mut header)
        .map_err(StoreError::io("read", path))?;
    samples.is_earlier = header == EARLIER.as_bytes();
    if !samples.is_earlier && header != HEADER.as_bytes() {
        let reason = format!("its columns are not {}", HEADER.trim_end());
        return Err(broken(Some(1), reason));
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(lines);
    let mut own = Own::default();
    let mut record = csv::StringRecord::new();
    loop {
        let row = reader.read_record(&mut record).and_then(|more| {
            more.then(|| record.deserialize::<Row<'_>>(None))
                .transpose()
        });
        let row = row.map_err(|error| {
            let place = error.position().or_else(|| record.position());
            let line = place.map(|position| position.line() + 1);
            broken(line, error.to_string())
        })?;
        let Some(row) = row else { break };
        // The rows of a trial were written together.
        if own.name != row.trial {
            own.put(&mut samples);
            row.trial.clone_into(&mut own.name);
        }
        own.readings.push(reading(&row));
    }
    own.put(&mut samples);
    Ok(samples)
}

/// Rows of one trial that stand together.
#[derive(Default)]
struct Own {
    name: String,
    readings: Vec<Reading>,
}

impl Own {
    fn put(&mut self, samples: &mut Samples) {
        match TrialId::parse(unguard(&self.name)) {
            Some(trial) => samples.readings.extend(&trial, &self.readings),
            None => samples.has_orphans |= !self.readings.is_empty(),
        }
        self.readings.clear();
    }
}

fn reading(row: &Row<'_>) -> Reading {
    Reading {
        t_ns: row.t_ns,
        phase: row.phase,
        role: unguard(row.role).to_owned(),
        rss_bytes: row.rss_bytes,
        pss_bytes: row.pss_bytes,
        cpu_seconds: row.cpu_seconds,
        processes: row.processes,
        threads: row.threads,
        completed: row.completed_count,
    }
}

/// How long a file is up to its last line end, and whether anything follows that. It is at its beginning again.
fn whole_lines(file: &mut (impl Read + Seek)) -> io::Result<(u64, bool)> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut block = vec![0; 1 << 16];
    let mut end = length;
    let mut whole = 0;
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let part = &mut block[..(end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(part)?;
        if let Some(last) = part.iter().rposition(|byte| *byte == b'\n') {
            whole = start + last as u64 + 1;
            break;
        }
        end = start;
    }
    file.rewind()?;
    Ok((whole, whole < length))
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
    use std::io::Cursor;

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
        let back = read(Path::new("x"), Cursor::new(&bytes))
            .unwrap()
            .of([&id].into_iter());
        assert_eq!(back.readings.of(&id).unwrap(), readings);
        assert!(!back.has_orphans);
    }

    #[test]
    fn a_file_from_before_requests_were_counted_reads() {
        let id = trial("a@l#0");
        let bytes = format!("{EARLIER}a@l#0.1,server,measure,1,2,,0.5,1,4\n");
        let back = read(Path::new("x"), Cursor::new(&bytes))
            .unwrap()
            .of([&id].into_iter());
        assert!(back.is_earlier);
        let read = back.readings.of(&id).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!((read[0].threads, read[0].completed), (4, None));
    }

    #[test]
    fn rows_without_a_record_do_not_count() {
        let (kept, cut) = (trial("a@l#0"), trial("b@l#0"));
        let mut bytes = rows(&kept, &[seen("server", None)], true).unwrap();
        bytes.extend(rows(&cut, &[seen("server", None)], false).unwrap());
        let back = read(Path::new("x"), Cursor::new(&bytes))
            .unwrap()
            .of([&kept].into_iter());
        assert_eq!(back.readings.trials().collect::<Vec<_>>(), [&kept]);
        assert!(back.has_orphans);
    }

    #[test]
    fn other_columns_and_broken_rows_are_errors_with_their_line() {
        let path = Path::new("samples.csv");
        let error = read(path, Cursor::new("a,b\n1,2\n")).err().unwrap();
        assert!(error.to_string().contains("line 1"), "{error}");
        let error = read(path, Cursor::new(b"PK\xff\xfe\n")).err().unwrap();
        assert!(error.to_string().contains("its columns are not"), "{error}");
        let bytes = format!("{HEADER}a,b,measure,1,2,,x,1,1,\n");
        let error = read(path, Cursor::new(&bytes)).err().unwrap();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
