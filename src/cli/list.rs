//! `hotlap list`: the runs on disk.

use super::exit::Exit;
use super::terminal::{print, say_error, say_line};
use crate::store::{self, RunState, RunSummary};
use clap::Args;
use std::path::PathBuf;

/// List the runs on disk
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hotlap list --out reports")]
pub(super) struct ListArgs {
    /// The folder of reports
    #[arg(long, value_name = "DIR", default_value = "reports")]
    out: PathBuf,
}

pub(super) fn main(arguments: &ListArgs) -> Exit {
    let runs = match store::list(&arguments.out) {
        Ok(runs) => runs,
        Err(error) => {
            say_error(&error.to_string());
            return Exit::Usage;
        }
    };
    if runs.is_empty() {
        say_line(&format!("there is no run in {}", arguments.out.display()));
    }
    for run in &runs {
        print(&line(run));
    }
    Exit::Fine
}

fn line(run: &RunSummary) -> String {
    let profile = run
        .profile
        .as_ref()
        .map_or_else(String::new, |name| format!(" ({name})"));
    let state = match &run.state {
        RunState::Complete => "complete".to_owned(),
        RunState::Interrupted => "interrupted".to_owned(),
        RunState::Aborted => "given up".to_owned(),
        RunState::Unfinished => "unfinished".to_owned(),
        RunState::Unreadable(reason) => format!("cannot be read: {reason}"),
    };
    let bad = match (run.failed, run.invalid) {
        (0, 0) => String::new(),
        (failed, invalid) => format!(", {failed} failed, {invalid} invalid"),
    };
    let narrowed = if run.selection.is_empty() {
        String::new()
    } else {
        format!(", {}", run.selection.join(" "))
    };
    format!(
        "{}  {}{profile}  {state}, {} of {} trials{bad}{narrowed}\n",
        run.id, run.suite, run.done, run.planned
    )
}
