//! `hotlap report`: the reports of a run, made again from its records.

use super::baseline::{Whose, older};
use super::exit::Exit;
use super::gates;
use super::reports::{Made, make, open, save, template, with_input};
use super::terminal::{print, say_error, say_line};
use crate::publish::{page_path, read_digest, splice, way};
use crate::report::{self, Digest, Format, Options};
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
  hotlap report latest --splice README.md
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
    /// A minijinja template for report.md in the place of the built-in one
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,
    /// Compare with this run, in these reports only: a folder, an id, a file, or `previous`
    #[arg(long, value_name = "RUN")]
    baseline: Option<String>,
    /// Write what another run needs to be compared with this one, a `baseline.json` to commit, and no report
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "template", "splice", "stdout", "baseline"])]
    as_baseline: Option<PathBuf>,
    /// Put report.md between the two markers of this file too
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
    /// report.md and its plots
    Md,
    /// summary.csv and trials.csv, and roles.csv where a cell has several roles
    Csv,
    /// report.json
    Json,
    /// report.html, one file with plots, sorting and every trial
    Html,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Md => Self::Markdown,
            FormatName::Csv => Self::Csv,
            FormatName::Json => Self::Json,
            FormatName::Html => Self::Html,
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
    if arguments.splice.is_some() && !formats.is_empty() && !formats.contains(&Format::Markdown) {
        formats.push(Format::Markdown);
    }
    let run = &stored.run;
    let whose = Whose {
        out: &arguments.out,
        suite: &run.spec.suite,
        profile: run.spec.profile.as_deref(),
        selection: &run.selection,
        before: Some(&run.id),
    };
    let older = |word: &String| older(word, &whose);
    let baseline = arguments.baseline.as_ref().map(older).transpose()?;
    let mut options = Options {
        formats,
        template,
        plots_at: None,
    };
    let Made {
        outputs,
        gates,
        digest,
    } = make(&stored, baseline.as_ref(), &options)?;
    for output in &outputs {
        if arguments.stdout && output.is_plot() {
            continue;
        }
        if arguments.stdout {
            print(&String::from_utf8_lossy(&output.bytes));
            continue;
        }
        let path = folder.join(&output.file_name);
        save(&path, &output.bytes)?;
        say_line(&path.display().to_string());
    }
    if let Some(file) = &arguments.splice {
        options.formats = vec![Format::Markdown];
        options.plots_at = plots_from(file, &plots_of(&arguments.out, &folder, &digest));
        let spliced = make(&stored, baseline.as_ref(), &options)?;
        let markdown = spliced.outputs.iter().find(|output| !output.is_plot());
        let text = markdown.map_or(String::new(), |markdown| {
            String::from_utf8_lossy(&markdown.bytes).into_owned()
        });
        splice_into(file, &text)?;
        say_line(&file.display().to_string());
    }
    Ok(gates::tell(&gates, arguments.gate, false))
}

/// What a run is to later ones, in a file of its own.
fn as_baseline(stored: &Stored, file: &Path) -> Result<(), Exit> {
    let baseline = with_input(stored, None, report::baseline);
    store::write_baseline(file, &baseline).map_err(|error| {
        say_error(&error.to_string());
        Exit::Machine
    })?;
    say_line(&file.display().to_string());
    Ok(())
}

/// The folder that has the plots of a run: that of the suite's page where it shows this run, since it is the one that is committed,
/// else the run's own.
fn plots_of(out: &Path, folder: &Path, digest: &Digest) -> PathBuf {
    let page = page_path(out, digest);
    let shown = std::fs::read_to_string(&page).ok();
    let shown = shown.and_then(|page| read_digest(&page));
    let published = shown.is_some_and(|shown| shown.run == digest.run);
    let folder = page.parent().filter(|_| published).unwrap_or(folder);
    folder.join("plots")
}

/// Where these plots are for a link in `file`; none where that cannot be told.
fn plots_from(file: &Path, plots: &Path) -> Option<String> {
    let absolute = |path: &Path| path.canonicalize().ok();
    let beside = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let from = absolute(beside.unwrap_or(Path::new(".")))?;
    Some(way(&from, &absolute(plots)?))
}

fn splice_into(file: &Path, report: &str) -> Result<(), Exit> {
    let fail = |message: String| {
        say_error(&message);
        Exit::Usage
    };
    let text = std::fs::read_to_string(file)
        .map_err(|error| fail(format!("cannot read {}: {error}", file.display())))?;
    let spliced =
        splice(&text, report).map_err(|error| fail(format!("{}: {error}", file.display())))?;
    save(file, spliced.as_bytes())
}
