//! `hotlap check`: every mistake in the files, underlined. Starts nothing.

use super::exit::Exit;
use super::suites::{self, Mistakes, Read, Selection, Wrong, counted};
use super::terminal::{say_line, say_warning};
use clap::Args;
use std::path::PathBuf;

/// Show every mistake in suite files, underlined; start nothing
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hotlap check suites/")]
pub(super) struct CheckArgs {
    /// Suite files, or folders of them
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<PathBuf>,
    /// Warnings are errors
    #[arg(long)]
    strict: bool,
}

pub(super) fn main(arguments: &CheckArgs) -> Exit {
    let files = match suites::files(&arguments.suites) {
        Ok(files) => files,
        Err(exit) => return exit,
    };
    let (mut errors, mut warnings) = (Mistakes::default(), 0);
    for file in &files {
        match suites::read(file) {
            Ok(read) => {
                warnings += read.warnings;
                let (more, rendered) = check(&read);
                errors += more;
                warnings += rendered;
            }
            Err(count) => errors += count,
        }
    }
    if errors.any() {
        errors.sum_up("");
        return Exit::Usage;
    }
    if warnings > 0 && arguments.strict {
        say_line(&format!("{} with --strict", counted(warnings, "warning")));
        return Exit::Usage;
    }
    Exit::Fine
}

/// Resolves a suite as it is and in each of its profiles, which can be wrong too: one may exclude
/// the last cell. Its mistakes, and the number of warnings.
fn check(read: &Read) -> (Mistakes, usize) {
    let mut wrong = Wrong::default();
    let mut cells = 0;
    let mut warnings: Vec<String> = Vec::new();
    let profiles = read
        .suite
        .profiles
        .iter()
        .map(|profile| Some(profile.name.clone()));
    for profile in std::iter::once(None).chain(profiles) {
        let selection = Selection {
            profile,
            ..Selection::default()
        };
        match suites::look(read, &selection.options(), drop) {
            Ok(looked) => {
                if selection.profile.is_none() {
                    cells = looked.cells;
                }
                warnings.extend(looked.warnings);
            }
            Err(more) => wrong.merge(more),
        }
    }
    warnings.sort();
    warnings.dedup();
    for warning in &warnings {
        say_warning(warning);
    }
    let errors = wrong.show(&read.source);
    if !errors.any() {
        say_line(&format!(
            "{}: {}, no errors",
            read.path.display(),
            counted(cells, "cell")
        ));
    }
    (errors, warnings.len())
}
