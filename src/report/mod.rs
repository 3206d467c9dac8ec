//! Reports: a run's records in, bytes out. Markdown for a repository page, CSV for a spreadsheet,
//! JSON for a program. No clock, no host and no file is looked at, so the same records give the
//! same bytes on any machine, years later.

mod apart;
mod baseline;
mod capacity;
mod caution;
mod csv;
mod digest;
mod effect;
mod finding;
mod gate;
mod generator;
mod growth;
mod hint;
mod json;
mod markdown;
mod method;
mod naming;
mod noise;
mod paced;
mod prose;
mod published;
mod repetitions;
mod roles;
mod rows;
mod shares;
mod show;
mod since;
mod since_json;
mod since_words;
mod templates;
mod timing;
mod view;
mod warmup;

pub use digest::Digest;
pub use gate::GateLines;
pub use markdown::{escape, escape_html, fence};
pub use since::SinceView;
pub use view::View;

use crate::diagnostic::{Diagnostic, SourceText, Style, render as render_diagnostics};
use crate::ids::TrialId;
use crate::record::{Baseline, Reading, Run, Trial};
use std::collections::BTreeMap;
use std::fmt;

/// What a report is made from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// `run.json`.
    pub run: &'a Run,
    /// The lines of `trials.jsonl`, in their order.
    pub trials: &'a [Trial],
    /// The rows of `samples.csv`, by trial.
    pub readings: &'a BTreeMap<TrialId, Vec<Reading>>,
    /// The run that this one is compared with.
    pub baseline: Option<&'a Baseline>,
    /// What was odd about the files, in a sentence each: a torn last line, say.
    pub notes: &'a [String],
}

/// A kind of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// `report.md`.
    Markdown,
    /// `summary.csv` and `trials.csv`, and `roles.csv` where a cell has more than one role.
    Csv,
    /// `report.json`.
    Json,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Markdown, Self::Csv, Self::Json];
}

/// How the reports are made.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The kinds to make; empty makes all.
    pub formats: Vec<Format>,
    /// A template that is used for `report.md`, as its file's name and its text.
    pub template: Option<(String, String)>,
}

/// One file of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its name in the run's folder.
    pub file_name: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Why a report could not be made.
#[derive(Debug)]
pub enum ReportError {
    /// A template is not well formed, or asks for what is not there.
    Template {
        /// The template's file name.
        name: String,
        /// The line, from 1, where it is known.
        line: Option<usize>,
        /// The mistake with its line underlined.
        rendered: String,
    },
    /// A value that does not serialise; a fault of hotlap.
    Serialise(String),
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template { rendered, .. } => f.write_str(rendered.trim_end()),
            Self::Serialise(error) => write!(f, "the report could not be written: {error}"),
        }
    }
}

impl std::error::Error for ReportError {}

impl ReportError {
    /// A template's mistake, shown in its text.
    fn in_template(error: &minijinja::Error, name: &str, text: &str) -> Self {
        let line = error.line();
        let start = line.map_or(0, |line| {
            text.split_inclusive('\n')
                .take(line - 1)
                .map(str::len)
                .sum()
        });
        let width = text[start..].lines().next().map_or(0, str::len);
        let message = error.detail().map_or_else(
            || error.kind().to_string(),
            |detail| format!("{}: {detail}", error.kind()),
        );
        let source = SourceText {
            name: name.to_owned(),
            text: text.to_owned(),
        };
        let diagnostic = Diagnostic::error("template", message, start..start + width)
            .help("the built-in template shows every name that a template may use: templates/report.md.j2");
        Self::Template {
            name: name.to_owned(),
            line,
            rendered: render_diagnostics(&source, &[diagnostic], Style::Plain),
        }
    }
}

/// That a template for `report.md`, by its name and text, parses. Whether what it asks for is
/// there shows when it is rendered.
pub fn check_template(name: &str, text: &str) -> Result<(), ReportError> {
    markdown::parse(name, text)
}

/// What is known of the run of these records for comparing another with it.
pub fn baseline(input: &Input<'_>) -> Baseline {
    baseline::of(input)
}

/// A new run beside an old one, as a page of its own.
pub fn compare_markdown(old: &Baseline, new: &Baseline) -> Result<String, ReportError> {
    #[derive(serde::Serialize)]
    struct Page {
        since: SinceView,
    }
    let since = SinceView::of(old, new, true);
    markdown::render(templates::COMPARE_NAME, templates::COMPARE, &Page { since })
}

/// The same for programs.
pub fn compare_json(old: &Baseline, new: &Baseline) -> Result<Vec<u8>, ReportError> {
    let mut value = since_json::of(old, new);
    value.sort_all_objects();
    json::bytes(&value)
}

/// Makes the reports that `options` asks for.
pub fn render(input: &Input<'_>, options: &Options) -> Result<Vec<Output>, ReportError> {
    let wants = |format| options.formats.is_empty() || options.formats.contains(&format);
    let mut outputs = Vec::new();
    let mut add = |file_name, bytes| outputs.push(Output { file_name, bytes });
    if wants(Format::Markdown) {
        let template = options.template.as_ref();
        let (name, text) = template
            .map_or((templates::REPORT_NAME, templates::REPORT), |(n, t)| {
                (n.as_str(), t.as_str())
            });
        let text = markdown::render(name, text, &View::of(input))?;
        add("report.md", text.into_bytes());
    }
    if wants(Format::Csv) {
        add("summary.csv", csv::summary(input)?);
        add("trials.csv", csv::trials(input)?);
        if let Some(bytes) = csv::roles(input)? {
            add("roles.csv", bytes);
        }
    }
    if wants(Format::Json) {
        add("report.json", json::report(input)?);
    }
    Ok(outputs)
}
