//! `hotlap report`: the reports of a run, made again from its records.

use super::baseline::{Whose, older};
use super::exit::Exit;
use super::gates;
use super::reports::{open, save_all, say_report_error, with_input};
use super::splice::Splice;
use super::templates::template;
use super::terminal::{print_by, say_error, say_line};
use crate::publish::places;
use crate::report::{self, Format, Options, Pending, Reporter, Template};
use crate::stats::summarise;
use crate::store::{self, Stored};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Make a run's reports again from its records
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hotlap report latest
  hotlap report reports/quickstart/runs/2026-11-30T190500Z-ab12cd3
  hotlap report latest --format md --stdout
  hotlap report latest --template short --splice README.md
  hotlap report latest --baseline previous
  hotlap report latest --as-baseline baselines/api.json")]
pub(super) struct ReportArgs {
    /// A run's folder, its id, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// The folder of reports in which an id is looked for
    #[arg(long, value_name = "DIR", default_value = "reports")]
    out: PathBuf,
    /// The suite whose run is meant
    #[arg(long, value_name = "NAME")]
    suite: Option<String>,
    /// Which reports to make [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "FORMAT")]
    format: Vec<FormatName>,
    /// Make the report by this template alone: default, short, leaderboard, pull-request, or a file (docs/templates.md);
    /// with --format the others that it names too
    #[arg(long, value_name = "TEMPLATE")]
    template: Option<PathBuf>,
    /// Compare with this run, in these reports only: a folder, an id, a file, or `previous`
    #[arg(long, value_name = "RUN")]
    baseline: Option<String>,
    /// Write what another run needs to be compared with this one, a `baseline.json` to commit, and no report
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "template", "splice", "stdout", "baseline"])]
    as_baseline: Option<PathBuf>,
    /// Put the report between the lines <!-- hotlap:begin --> and <!-- hotlap:end --> of this file; with --template
    /// that one's, and into no other file
    #[arg(long, value_name = "FILE")]
    splice: Option<PathBuf>,
    /// Print the reports instead of writing them
    #[arg(long, conflicts_with = "splice")]
    stdout: bool,
    /// A gate of the suite that did not hold is exit code 3
    #[arg(long)]
    gate: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// report.md
    Md,
    /// summary.csv and trials.csv, and roles.csv where a cell has several roles
    Csv,
    /// report.json
    Json,
    /// report.html, one file with plots, sorting and every trial
    Html,
    /// badge.svg
    Badge,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Md => Self::Markdown,
            FormatName::Csv => Self::Csv,
            FormatName::Json => Self::Json,
            FormatName::Html => Self::Html,
            FormatName::Badge => Self::Badge,
        }
    }
}

pub(super) fn main(arguments: &ReportArgs) -> Exit {
    match report(arguments) {
        Ok(exit) | Err(exit) => exit,
    }
}

/// The folder that a run's folder, id or `latest` means.
pub(super) fn find(run: &str, out: &Path, suite: Option<&str>) -> Result<PathBuf, Exit> {
    let folder = Path::new(run);
    if folder.join("run.json").is_file() {
        return Ok(folder.to_owned());
    }
    store::find(out, suite, run).map_err(|error| {
        say_error(&error.to_string());
        Exit::Usage
    })
}

fn report(arguments: &ReportArgs) -> Result<Exit, Exit> {
    let folder = find(&arguments.run, &arguments.out, arguments.suite.as_deref())?;
    let template = template(arguments.template.as_deref())?;
    let stored = open(&folder)?;
    if arguments.gate {
        gates::refuse_none(std::iter::once(&stored.run.spec))?;
    }
    if let Some(file) = &arguments.as_baseline {
        return as_baseline(&stored, file).map(|()| Exit::Fine);
    }
    let mut formats: Vec<Format> = arguments.format.iter().copied().map(Format::from).collect();
    let run = &stored.run;
    let suite = run.spec.suite.as_str();
    let into = arguments.splice.as_deref();
    let into = into.map(|file| Splice::into(file, [suite])).transpose()?;
    // Without a template it is report.md that is spliced.
    let own = template.as_ref().map(Template::file_name);
    if into.is_some()
        && own.is_none()
        && !formats.is_empty()
        && !formats.contains(&Format::Markdown)
    {
        formats.push(Format::Markdown);
    }
    if let Some(file) = own.filter(|_| into.is_none()) {
        refuse_unasked(file, &formats)?;
    }
    let whose = Whose {
        out: &arguments.out,
        suite: &run.spec.suite,
        profile: run.spec.profile.as_deref(),
        selection: &run.selection,
        before: Some(&run.id),
    };
    let older = |word: &String| older(word, &whose);
    let baseline = arguments.baseline.as_ref().map(older).transpose()?;
    let options = Options { formats, template };
    with_input(&stored, baseline.as_ref(), |input| {
        let cells = summarise(input.run, input.trials);
        let reporter = Reporter::new(*input, &cells);
        let files = reporter.files(&options);
        let files = files.map_err(|error| say_report_error(&error))?;
        let own = options.template.as_ref().map(Template::file_name);
        let is_own = |file: &Pending<'_>| own == Some(file.file_name.as_str());
        let is_meant = |file: &&Pending<'_>| {
            !((into.is_some() && is_own(file)) || (arguments.stdout && file.is_plot()))
        };
        let meant: Vec<&Pending<'_>> = files.iter().filter(is_meant).collect();
        if arguments.stdout {
            for file in meant {
                print_by(|to| file.write(to));
            }
        } else {
            save_all(&folder, &meant)?;
            for file in meant {
                say_line(&folder.join(&file.file_name).display().to_string());
            }
        }
        let spliced = files
            .iter()
            .find(|file| file.file_name == own.unwrap_or("report.md"));
        if let (Some(into), Some(spliced)) = (&into, spliced) {
            let places = places(&arguments.out, &reporter.digest_in_figures(), &folder);
            into.put(suite, &String::from_utf8_lossy(spliced.bytes()), &places)?;
        }
        Ok(gates::tell(&reporter.gates(), arguments.gate, false))
    })
}

/// A template's report is one of those that `--format` asks for, where it asks.
fn refuse_unasked(file: &str, formats: &[Format]) -> Result<(), Exit> {
    let makes = match file {
        "report.md" => Some((Format::Markdown, "md")),
        "report.html" => Some((Format::Html, "html")),
        _ => None,
    };
    if formats.is_empty() || makes.is_some_and(|(format, _)| formats.contains(&format)) {
        return Ok(());
    }
    let help = makes.map_or_else(
        || "leave --format out".to_owned(),
        |(_, name)| format!("add {name} to --format, or leave --format out"),
    );
    say_error(&format!(
        "the template makes {file}, which --format does not ask for; {help}"
    ));
    Err(Exit::Usage)
}

/// What a run is to later ones, in a file of its own.
fn as_baseline(stored: &Stored, file: &Path) -> Result<(), Exit> {
    let is_other = std::fs::metadata(file).is_ok_and(|known| known.len() > 0)
        && store::read_baseline(file).is_err();
    if is_other {
        say_error(&format!(
            "{} is there and is no baseline, so it is left as it is; name another file",
            file.display()
        ));
        return Err(Exit::Usage);
    }
    let baseline = with_input(stored, None, report::baseline);
    store::write_baseline(file, &baseline).map_err(|error| {
        say_error(&error.to_string());
        Exit::Machine
    })?;
    say_line(&file.display().to_string());
    Ok(())
}
