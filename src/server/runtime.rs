//! Versions of a language's runtime. Each is made once for what its table says,
//! into a folder of the cache that no two runs make at once, and found there by
//! every later run.

use super::build::{BuildError, Workshop};
use super::cache::{Cache, Held, Hold};
use super::requirement::probe;
use crate::spec::{Fill, Runtime};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// When the making of a runtime has hung: some are compiled.
const MADE_WITHIN: Duration = Duration::from_hours(1);
/// Says that an entry was made to its end. Written last.
const MARK: &str = ".hotlap-made.json";

/// A runtime that is there.
#[derive(Debug)]
pub struct Made {
    /// Its program.
    pub bin: PathBuf,
    /// What it says of its version.
    pub version: Option<String>,
    /// As long as this lives nobody empties the folder.
    _hold: Option<Hold>,
}

/// What happens while a runtime is made ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Another run makes it at this moment.
    Waits,
    /// It is made.
    Makes,
}

#[derive(Serialize, Deserialize)]
struct Mark {
    format: u32,
    name: String,
}

/// Finds a runtime, or makes it. `tell` hears what takes long.
pub async fn make(
    runtime: &Runtime,
    cache: &Cache,
    workshop: &Workshop<'_>,
    mut tell: impl FnMut(Step),
) -> Result<Made, BuildError> {
    let entry = cache.entry(
        "runtimes",
        &runtime.name,
        &(&runtime.version, &runtime.build, &runtime.bin),
    );
    let fill = Fill {
        cache: entry.display().to_string(),
        env: super::place::caller(),
        ..Fill::default()
    };
    let failed = |reason: String| BuildError {
        reason: format!("the runtime {} cannot be had: {reason}", runtime.name),
        log_tail: Vec::new(),
    };
    let hold = if runtime.build.is_empty() {
        // It is the user's own.
        None
    } else {
        let unlocked = |error: std::io::Error| failed(format!("{}: {error}", entry.display()));
        // One whose program is gone is as torn as one without its mark.
        let made = || is_made(&entry) && bin(runtime, &fill, workshop.folder).is_ok();
        let held = cache
            .made_or_alone(&entry, made, || tell(Step::Waits))
            .await
            .map_err(unlocked)?;
        Some(match held {
            Held::Made(hold) => hold,
            Held::Alone(hold) => {
                tell(Step::Makes);
                anew(runtime, &entry, &fill, workshop).await?;
                hold.share().map_err(unlocked)?
            }
        })
    };
    let bin = bin(runtime, &fill, workshop.folder).map_err(failed)?;
    let version = version(runtime, &fill, &bin, workshop).await;
    Ok(Made {
        bin,
        version,
        _hold: hold,
    })
}

fn is_made(entry: &Path) -> bool {
    let mark = fs::read(entry.join(MARK)).ok();
    mark.is_some_and(|text| {
        serde_json::from_slice::<Mark>(&text).is_ok_and(|mark| mark.format == 1)
    })
}

/// Makes it from nothing: what a torn attempt left is no ground to stand on.
async fn anew(
    runtime: &Runtime,
    entry: &Path,
    fill: &Fill,
    workshop: &Workshop<'_>,
) -> Result<(), BuildError> {
    let failed = |what: &str, error: &std::io::Error| BuildError {
        reason: format!("the folder {} cannot be {what}: {error}", entry.display()),
        log_tail: Vec::new(),
    };
    if entry.exists() {
        fs::remove_dir_all(entry).map_err(|error| failed("emptied", &error))?;
    }
    fs::create_dir_all(entry).map_err(|error| failed("made", &error))?;
    workshop
        .run(&runtime.build, workshop.folder, fill, MADE_WITHIN)
        .await?;
    bin(runtime, fill, workshop.folder).map_err(|reason| BuildError {
        reason: format!("the runtime {} was made, but {reason}", runtime.name),
        log_tail: Vec::new(),
    })?;
    let mark = Mark {
        format: 1,
        name: runtime.name.clone(),
    };
    let whole = entry.join(format!("{MARK}.new"));
    fs::write(&whole, serde_json::to_vec(&mark).unwrap_or_default())
        .and_then(|()| fs::rename(&whole, entry.join(MARK)))
        .map_err(|error| failed("marked as made", &error))
}

/// The first of the candidates that is there.
fn bin(runtime: &Runtime, fill: &Fill, folder: &Path) -> Result<PathBuf, String> {
    let candidates: Vec<PathBuf> = runtime
        .bin
        .iter()
        .map(|bin| folder.join(bin.fill(fill)))
        .collect();
    if let Some(found) = candidates.iter().find(|bin| bin.is_file()) {
        return Ok(found.clone());
    }
    let shown: Vec<String> = runtime.bin.iter().map(ToString::to_string).collect();
    Err(format!(
        "none of its programs is there: {}",
        shown.join(", ")
    ))
}

async fn version(
    runtime: &Runtime,
    fill: &Fill,
    bin: &Path,
    workshop: &Workshop<'_>,
) -> Option<String> {
    let fill = Fill {
        bin: bin.display().to_string(),
        ..fill.clone()
    };
    let words: Vec<String> = match &runtime.probe {
        Some(words) => words.iter().map(|word| word.fill(&fill)).collect(),
        None => return None,
    };
    let told = probe(&words, workshop.folder, workshop.logs, workshop.program).await;
    Some(told.unwrap_or_else(|reason| format!("unknown: {reason}")))
}
