//! Reading a suite file from disk: its text, its name, its folder.

use crate::diagnostic::SourceText;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a suite file could not be read.
#[derive(Debug)]
pub struct ReadError {
    path: PathBuf,
    reason: String,
    help: &'static str,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot read the suite {}: {}; {}",
            self.path.display(),
            self.reason,
            self.help
        )
    }
}

impl std::error::Error for ReadError {}

/// A suite file's text, the name that its reports are filed under, and its folder.
pub fn read(path: &Path) -> Result<(SourceText, String, PathBuf), ReadError> {
    let error = |reason: String, help| ReadError {
        path: path.to_owned(),
        reason,
        help,
    };
    // Reading a pipe would wait for whoever may never write.
    if path
        .metadata()
        .is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
    {
        return Err(error(
            "it is no regular file".to_owned(),
            "give the path of a .toml file",
        ));
    }
    let bytes = std::fs::read(path).map_err(|cause| {
        let help = match cause.kind() {
            std::io::ErrorKind::NotFound => "give the path of a .toml file",
            std::io::ErrorKind::IsADirectory => "give a file in it",
            _ => "check its permissions",
        };
        error(cause.to_string(), help)
    })?;
    let text = String::from_utf8(bytes).map_err(|cause| {
        let valid = &cause.as_bytes()[..cause.utf8_error().valid_up_to()];
        let line = String::from_utf8_lossy(valid).matches('\n').count() + 1;
        error(format!("line {line} is not UTF-8"), "save it as UTF-8")
    })?;
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let name = stem.filter(|stem| is_file_name(stem)).ok_or_else(|| {
        error(
            "its name cannot name a folder of reports".to_owned(),
            "use letters, digits, `-`, `_` and `.` in its name",
        )
    })?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let source = SourceText {
        name: path.display().to_string(),
        // A byte order mark is no part of the text, and editors put it there unasked.
        text: text
            .strip_prefix('\u{feff}')
            .map_or(text.clone(), str::to_owned),
    };
    Ok((source, name, folder))
}

/// Whether a stem is fit to name the folder of a suite's reports everywhere.
fn is_file_name(stem: &str) -> bool {
    (1..=80).contains(&stem.len())
        && !stem.starts_with('.')
        && stem
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}
