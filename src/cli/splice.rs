//! `--splice FILE`: a report as a part of another file. That the file has its markers is looked at before anything starts.

use super::exit::Exit;
use super::reports::save;
use super::terminal::{say_error, say_line};
use crate::publish::{Places, check_markers, marked_as, relink, splice};
use std::fs;
use std::path::{Path, PathBuf};

/// A file that takes reports.
pub(super) struct Splice {
    file: PathBuf,
}

impl Splice {
    /// The file, which has a pair of markers for each of these suites.
    pub(super) fn into<'s>(
        file: &Path,
        suites: impl IntoIterator<Item = &'s str>,
    ) -> Result<Self, Exit> {
        let into = Self {
            file: file.to_owned(),
        };
        let text = into.read()?;
        let mut taken: Vec<(&str, &str)> = Vec::new();
        for suite in suites {
            check_markers(&text, suite).map_err(|error| into.refuse(&error))?;
            let marker = marked_as(&text, suite);
            if let Some((other, _)) = taken.iter().find(|(_, taken)| *taken == marker) {
                return Err(into.refuse(&format!(
                    "the reports of {other} and {suite} would go between the same two markers; give each of them its own: \
                     \"<!-- hotlap:begin {suite} -->\" and \"<!-- hotlap:end {suite} -->\""
                )));
            }
            taken.push((suite, marker));
        }
        Ok(into)
    }

    /// Puts the report of a suite into the file. Its links are relative to these places.
    pub(super) fn put(&self, suite: &str, report: &str, places: &Places) -> Result<(), Exit> {
        let text = self.read()?;
        let file = fs::canonicalize(&self.file).unwrap_or_else(|_| self.file.clone());
        let parent = file.parent().unwrap_or(Path::new("/"));
        let report = relink(report, places, parent);
        let spliced = splice(&text, suite, &report).map_err(|error| self.refuse(&error))?;
        if spliced != text {
            save(&self.file, spliced.as_bytes())?;
        }
        say_line(&self.file.display().to_string());
        Ok(())
    }

    /// Says that the file stays as it is.
    pub(super) fn keep(&self) {
        say_line(&format!(
            "{} stays as it is: the run is not complete",
            self.file.display()
        ));
    }

    fn read(&self) -> Result<String, Exit> {
        fs::read_to_string(&self.file).map_err(|error| {
            say_error(&format!("cannot read {}: {error}", self.file.display()));
            Exit::Usage
        })
    }

    fn refuse(&self, why: &impl ToString) -> Exit {
        say_error(&format!("{}: {}", self.file.display(), why.to_string()));
        Exit::Usage
    }
}
