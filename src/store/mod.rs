//! What is kept on disk: a folder a run, with `run.json` (and `baseline.json`, where it is compared with an earlier one) written
//! whole, `trials.jsonl` appended by the line and `samples.csv` by the row. A trial's line
//! is synced last, so a trial either has everything or counts as not run. Beside the runs of a suite, `history.csv` keeps a few
//! figures of each for good. Also the locks that keep two runs apart, and the list of runs.

mod append;
mod baseline;
mod error;
mod fields;
mod folder;
mod history;
mod list;
mod lock;
mod read;
mod samples;
mod whole;

pub use baseline::{find_table, read_baseline, read_table, write_baseline};
pub use error::{Holder, StoreError};
pub use folder::RunFolder;
pub use history::{History, append_history, has_history, history_csv, history_path, read_history};
pub use list::{RunState, RunSummary, find, last, list, newest, unfinished};
pub use lock::{Lock, lock_machine, lock_output};
pub use read::{Stored, open};
pub use whole::{write_whole, write_whole_by};

use std::path::{Path, PathBuf};

/// The record of the run.
const RUN_FILE: &str = "run.json";
/// A line a trial.
const TRIALS_FILE: &str = "trials.jsonl";
/// A row a reading.
const SAMPLES_FILE: &str = "samples.csv";
/// What the run is compared with.
const BASELINE_FILE: &str = "baseline.json";
/// The report's table of trials, from which a run is known whose records were not kept.
const TRIALS_TABLE: &str = "trials.csv";

/// Where a report begins that was put into another file (`hotlap report --splice`); a suite's name may follow.
pub const SPLICE_BEGIN: &str = "<!-- hotlap:begin";
/// Where it ends; a suite's name may follow.
pub const SPLICE_END: &str = "<!-- hotlap:end";

/// The folder of a suite's runs: `<out>/<suite>/runs`.
fn runs_folder(out: &Path, suite: &str) -> Result<PathBuf, StoreError> {
    Ok(out.join(plain_name(suite)?).join("runs"))
}

/// A name as it may be used for one folder: it cannot lead anywhere else.
fn plain_name(name: &str) -> Result<&str, StoreError> {
    let plain = !name.is_empty()
        && name != "."
        && name != ".."
        && !name.contains(['/', '\\'])
        && !name.contains(char::is_control);
    if plain {
        Ok(name)
    } else {
        Err(StoreError::BadName(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_else() {
        for bad in ["", ".", "..", "a/b", "../x", "/etc", "a\0b", "a\nb"] {
            assert!(runs_folder(Path::new("out"), bad).is_err(), "{bad:?}");
        }
        assert_eq!(
            runs_folder(Path::new("out"), "http.v2").unwrap(),
            Path::new("out/http.v2/runs")
        );
    }
}
