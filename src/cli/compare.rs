//! `hotlap compare`: two runs of a suite, side by side.

use super::baseline::{self, Whose};
use super::exit::Exit;
use super::terminal::{print, say_error};
use crate::report::{compare_json, compare_markdown};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Compare two runs of a suite: what has become worse or better, with intervals and verdicts
#[derive(Debug, Args)]
#[command(after_help = "\
A run is its folder, its id, `latest`, or a file: the baseline.json of a run's folder, or the
trials.csv of a run whose records were not kept (which tells neither the machine nor whether the
generator was the limit: there are ratios then, and no verdicts). OLD may also be `previous`: the
newest complete run before NEW, of its suite and profile.

Examples:
  hotlap compare previous latest --suite quickstart
  hotlap compare 2026-11-30T190500Z-ab12cd3 2026-12-01T190500Z-cd34ef5
  hotlap compare main/reports/api/runs/2026-11-30T190500Z-ab12cd3 latest --format json")]
pub(super) struct CompareArgs {
    /// The old run
    #[arg(value_name = "OLD")]
    old: String,
    /// The new run
    #[arg(value_name = "NEW")]
    new: String,
    /// The folder of reports in which an id is looked for
    #[arg(long, value_name = "DIR", default_value = "reports")]
    out: PathBuf,
    /// The suite whose runs are meant
    #[arg(long, value_name = "NAME")]
    suite: Option<String>,
    /// How it is printed
    #[arg(long, value_enum, default_value_t = FormatName::Md, value_name = "FORMAT")]
    format: FormatName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// Markdown
    Md,
    /// JSON, with every metric
    Json,
}

pub(super) fn main(arguments: &CompareArgs) -> Exit {
    match compare(arguments) {
        Ok(()) => Exit::Fine,
        Err(exit) => exit,
    }
}

fn compare(arguments: &CompareArgs) -> Result<(), Exit> {
    let suite = arguments.suite.as_deref();
    if arguments.new == "previous" {
        say_error(
            "the new run cannot be `previous`, which is the run before it; name the old run first, then the new one",
        );
        return Err(Exit::Usage);
    }
    let new = baseline::any(&arguments.new, &arguments.out, suite)?;
    let whose = Whose {
        out: &arguments.out,
        suite: &new.suite,
        profile: new.profile.as_deref(),
        selection: &new.selection,
        before: Some(&new.run),
    };
    let old = match arguments.old.as_str() {
        "latest" => baseline::any("latest", &arguments.out, Some(&new.suite))?,
        word => baseline::older(word, &whose)?,
    };
    let made = match arguments.format {
        FormatName::Md => compare_markdown(&old, &new),
        FormatName::Json => {
            compare_json(&old, &new).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        }
    };
    let text = made.map_err(|error| {
        say_error(&error.to_string());
        Exit::Machine
    })?;
    print(&text);
    Ok(())
}
