//! What another run is compared with, as it lies on disk: `baseline.json`, whole, or the `trials.csv` of a run whose records
//! were not kept. The latter tells every value and neither the machine nor whether the generator was the limit.

use super::read::parse;
use super::{BASELINE_FILE, StoreError, TRIALS_TABLE, plain_name, write_whole};
use crate::ids::{CellId, RunId};
use crate::record::{Baseline, BaselineCell, FORMAT, METRICS, other_unit};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Reads a `baseline.json`.
pub fn read_baseline(path: &Path) -> Result<Baseline, StoreError> {
    let bytes = fs::read(path).map_err(StoreError::io("read", path))?;
    let baseline: Baseline = parse(path, None, &bytes)?;
    baseline
        .check()
        .map_err(|reason| broken(path, None, reason))?;
    Ok(baseline)
}

/// The `baseline.json` of a run's folder; none where it was made without one.
pub(super) fn of_folder(folder: &Path) -> Result<Option<Baseline>, StoreError> {
    match read_baseline(&folder.join(BASELINE_FILE)) {
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Writes a `baseline.json`, or a file of another name.
pub fn write_baseline(path: &Path, baseline: &Baseline) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec_pretty(baseline)
        .map_err(|error| StoreError::io("write", path)(error.into()))?;
    text.push(b'\n');
    write_whole(path, &text)
}

/// The `trials.csv` of a run whose records are not there, by the run's id; none where no suite has one.
pub fn find_table(
    out: &Path,
    suite: Option<&str>,
    run: &str,
) -> Result<Option<PathBuf>, StoreError> {
    plain_name(run)?;
    let suites = match suite {
        Some(suite) => vec![suite.to_owned()],
        None => super::list::folders(out)?,
    };
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for suite in suites {
        let table = super::runs_folder(out, &suite)?
            .join(run)
            .join(TRIALS_TABLE);
        if table.is_file() {
            found.push((suite, table));
        }
    }
    if found.len() > 1 {
        return Err(StoreError::Ambiguous {
            wanted: run.to_owned(),
            suites: found.into_iter().map(|(suite, _)| suite).collect(),
        });
    }
    Ok(found.pop().map(|(_, table)| table))
}

/// Reads a `trials.csv` as far as it tells.
pub fn read_table(path: &Path) -> Result<Baseline, StoreError> {
    let bytes = fs::read(path).map_err(StoreError::io("read", path))?;
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let head = reader.headers().map_err(|error| wrong(path, &error))?;
    let columns = Columns::of(head).map_err(|reason| broken(path, Some(1), reason))?;
    let mut table = Table::default();
    for row in reader.records() {
        let row = row.map_err(|error| wrong(path, &error))?;
        let line = row.position().map(|position| position.line() as usize);
        table
            .add(&columns, &row)
            .map_err(|reason| broken(path, line, reason))?;
    }
    let Some(suite) = table.suite else {
        return Err(broken(path, None, "it has no trial".to_owned()));
    };
    let run = run_of(path);
    Ok(Baseline {
        format: FORMAT,
        revision: revision_of(&run),
        run: RunId(run),
        suite,
        profile: None,
        started: table.started.unwrap_or_default(),
        sessions: 0,
        hotlap: Vec::new(),
        suite_sha256: None,
        complete: None,
        selection: Vec::new(),
        host: None,
        versions: BTreeMap::new(),
        settings: None,
        cells: table.cells,
    })
}

fn broken(path: &Path, line: Option<usize>, reason: String) -> StoreError {
    StoreError::Broken {
        path: path.to_owned(),
        line,
        reason,
    }
}

fn wrong(path: &Path, error: &csv::Error) -> StoreError {
    let line = error.position().map(|position| position.line() as usize);
    broken(path, line, error.to_string())
}

/// A table lies in the folder of its run.
fn run_of(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = absolute.parent().and_then(Path::file_name);
    folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The revision in a run's id: what follows its time.
fn revision_of(run: &str) -> Option<String> {
    let (_, revision) = run.split_once("Z-")?;
    let revision = revision.split('.').next()?;
    (!revision.is_empty()).then(|| revision.to_owned())
}

/// Where each thing stands in a row.
struct Columns {
    cell: usize,
    suite: usize,
    started: usize,
    outcome: usize,
    reason: Option<usize>,
    generator: Option<usize>,
    /// The columns of metrics, by their names.
    metrics: Vec<(String, usize)>,
}

impl Columns {
    fn of(head: &csv::StringRecord) -> Result<Self, String> {
        let at = |name: &str| head.iter().position(|column| column == name);
        let need = |name: &str| {
            at(name)
                .ok_or_else(|| format!("it has no column {name:?}, so it is no table of trials"))
        };
        let known: Vec<String> = METRICS.iter().map(|metric| metric.column()).collect();
        for column in head {
            // A figure in another unit would be taken for one that is not there.
            if let Some(right) =
                other_unit(column).filter(|_| !known.iter().any(|one| one == column))
            {
                return Err(format!(
                    "its column {column:?} is in a unit that hotlap never writes; the column is {right:?}"
                ));
            }
        }
        need("requests_per_second")?;
        let metrics = known
            .into_iter()
            .filter_map(|name| Some((at(&name)?, name)));
        Ok(Self {
            cell: need("cell")?,
            suite: need("suite")?,
            started: need("started")?,
            outcome: need("outcome")?,
            reason: at("reason"),
            generator: at("generator_version"),
            metrics: metrics.map(|(at, name)| (name, at)).collect(),
        })
    }
}

/// What the rows have told so far.
#[derive(Default)]
struct Table {
    suite: Option<String>,
    started: Option<String>,
    cells: Vec<BaselineCell>,
}

impl Table {
    fn add(&mut self, columns: &Columns, row: &csv::StringRecord) -> Result<(), String> {
        let get = |at: usize| text(row.get(at).unwrap_or_default());
        let suite = get(columns.suite);
        if self.suite.get_or_insert_with(|| suite.to_owned()) != suite {
            return Err(format!(
                "it is of the suite {suite:?}, and rows above are not"
            ));
        }
        let started = get(columns.started).to_owned();
        if self.started.as_ref().is_none_or(|first| started < *first) {
            self.started = Some(started);
        }
        let id = get(columns.cell);
        let known = self.cells.iter().position(|cell| cell.id.0 == id);
        let at = known.unwrap_or_else(|| {
            self.cells.push(empty(id));
            self.cells.len() - 1
        });
        let cell = &mut self.cells[at];
        match get(columns.outcome) {
            "valid" => {
                "measured".clone_into(&mut cell.state);
                cell.valid += 1;
            }
            other => {
                if cell.state != "measured" && cell.state != "failed" {
                    other.clone_into(&mut cell.state);
                }
                let reason = columns.reason.map(get).unwrap_or_default().to_owned();
                if !cell.reasons.contains(&reason) {
                    cell.reasons.push(reason);
                }
                return Ok(());
            }
        }
        if let Some(generator) = columns.generator.map(get).filter(|text| !text.is_empty())
            && !cell.generators.iter().any(|known| known == generator)
        {
            cell.generators.push(generator.to_owned());
        }
        for (name, at) in &columns.metrics {
            let value = get(*at);
            if value.is_empty() {
                continue;
            }
            let value = value
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite() && *value >= 0.0);
            let value = value.ok_or_else(|| format!("its {name} is no number"))?;
            cell.metrics.entry(name.clone()).or_default().push(value);
        }
        Ok(())
    }
}

/// Text without the apostrophe that keeps spreadsheets from running it.
fn text(text: &str) -> &str {
    match text.strip_prefix('\'') {
        Some(rest) if rest.starts_with(['=', '+', '-', '@', '\t', '\r']) => rest,
        _ => text,
    }
}

fn empty(id: &str) -> BaselineCell {
    let id = CellId(id.to_owned());
    BaselineCell {
        title: id.names().to_owned(),
        id,
        state: String::new(),
        reasons: Vec::new(),
        planned: None,
        valid: 0,
        limited: None,
        generators: Vec::new(),
        spec: None,
        metrics: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "cell,suite,started,outcome,reason,requests_per_second,latency_p50_ns,rss_peak_bytes";

    fn read(text: &str) -> Result<Baseline, StoreError> {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("2026-12-01T000035Z-c296c3c.002");
        fs::create_dir(&run).unwrap();
        let path = run.join(TRIALS_TABLE);
        fs::write(&path, text).unwrap();
        read_table(&path)
    }

    #[test]
    fn a_table_tells_values_and_no_machine() {
        let rows = "a@l#1,s,2026-12-01T00:00:37Z,valid,,100.5,7,\n\
                    a@l#1,s,2026-12-01T00:00:36Z,invalid,too many errors,1,1,1\n\
                    '-b@l#2,s,2026-12-01T00:00:38Z,failed,died,,,\n";
        let got = read(&format!("{HEAD}\n{rows}")).unwrap();
        assert_eq!(got.check(), Ok(()));
        assert_eq!(got.run.0, "2026-12-01T000035Z-c296c3c.002");
        assert_eq!(got.revision.as_deref(), Some("c296c3c"));
        assert_eq!(
            (got.suite.as_str(), got.started.as_str()),
            ("s", "2026-12-01T00:00:36Z")
        );
        assert!(got.host.is_none() && got.complete.is_none());
        let first = &got.cells[0];
        assert_eq!(first.values("requests_per_second"), [100.5]);
        assert_eq!(first.values("rss_peak"), [0.0; 0]);
        assert_eq!((first.valid, first.limited), (1, None));
        assert_eq!(
            (got.cells[1].id.0.as_str(), got.cells[1].state.as_str()),
            ("-b@l#2", "failed")
        );
    }

    #[test]
    fn what_is_no_table_of_trials_is_refused_with_its_line() {
        for (text, wanted) in [
            ("a,b\n1,2\n".to_owned(), "no column \"requests_per_second\""),
            (format!("{HEAD}\n"), "no trial"),
            (format!("{HEAD}\na#1,s,x,valid,,fast,1,1\n"), "line 2"),
            (format!("{HEAD}\na#1,s,x,valid,,-1,1,1\n"), "no number"),
            (format!("{HEAD}\na#1,s,x,valid\n"), "line 2"),
            (format!("{HEAD},rss_after_kib\n"), "\"rss_after_bytes\""),
            (
                format!("{HEAD}\na#1,s,x,valid,,1,1,1\na#1,t,x,valid,,1,1,1\n"),
                "suite",
            ),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
