//! Reports: a run's records in, bytes out. Markdown for a repository page, CSV for a spreadsheet,
//! JSON for a program. No clock, no host and no file is looked at, so the same records give the
//! same bytes on any machine, years later.

mod anchor;
mod apart;
mod badge;
mod baseline;
mod board;
mod capacity;
mod caution;
mod csv;
mod digest;
mod effect;
mod finding;
mod gate;
mod generator;
mod growth;
mod headline;
mod hint;
mod html;
mod json;
mod markdown;
mod method;
mod naming;
mod nights;
mod noise;
mod paced;
pub mod plot;
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
mod template;
mod templates;
mod timing;
mod view;
mod warmup;

pub use anchor::{anchor, encode, encode_path};
pub use digest::Digest;
pub use gate::GateLines;
pub use markdown::{escape, escape_html, fence};
pub use nights::{change_sentence, history_json, in_sentence};
pub use plot::FOLDER as PLOTS;
pub use since::SinceView;
pub use template::{Kind, Template, template_reference};
pub use view::View;

use crate::record::{Baseline, HistoryRow, Readings, Run, Trial};
use crate::stats::{CellSummary, Series, summarise};
use std::cell::OnceCell;
use std::fmt;
use std::path::Path;

/// What a report is made from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// `run.json`.
    pub run: &'a Run,
    /// The lines of `trials.jsonl`, in their order.
    pub trials: &'a [Trial],
    /// The rows of `samples.csv`, by trial.
    pub readings: &'a Readings,
    /// The run that this one is compared with.
    pub baseline: Option<&'a Baseline>,
    /// The nights of the suite and profile before this run; rows of its own, which follow from its records, count as nothing.
    pub history: &'a [HistoryRow],
    /// What was odd about the files, in a sentence each: a torn last line, say.
    pub notes: &'a [String],
}

/// A kind of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// `report.md` and its plots, `plots/*.svg`.
    Markdown,
    /// `summary.csv` and `trials.csv`, and `roles.csv` where a cell has more than one role.
    Csv,
    /// `report.json`.
    Json,
    /// `report.html`.
    Html,
    /// `badge.svg`. It is made only where it is asked for; a suite's own lies beside its page.
    Badge,
}

/// How the reports are made.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The kinds to make; empty makes all but the badge, or with a template its report alone.
    pub formats: Vec<Format>,
    /// A template whose report is made too, in the place of the one that has its name.
    pub template: Option<Template>,
}

/// One file of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its path in the run's folder.
    pub file_name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Output {
    /// Whether it is an image that a report shows, rather than a report.
    pub fn is_plot(&self) -> bool {
        Path::new(&self.file_name).starts_with(PLOTS)
    }
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

/// What is known of the run of these records for comparing another with it.
pub fn baseline(input: &Input<'_>) -> Baseline {
    baseline::of(input)
}

/// The gap that a run without an end leaves there, once its records are taken away, with why.
pub fn history_gap(input: &Input<'_>, reason: &str) -> Vec<HistoryRow> {
    nights::gap_rows(input, reason)
}

/// The rows that a run adds to the history of its suite; none where it is not the whole suite.
pub fn history_rows(input: &Input<'_>) -> Vec<HistoryRow> {
    nights::own_rows(input)
}

/// A new run beside an old one, as a page of its own.
pub fn compare_markdown(old: &Baseline, new: &Baseline) -> Result<String, ReportError> {
    #[derive(serde::Serialize)]
    struct Page {
        since: SinceView,
    }
    let since = SinceView::of(old, new, true);
    Template::new(templates::COMPARE_NAME, templates::COMPARE).render(&Page { since })
}

/// The same for programs.
pub fn compare_json(old: &Baseline, new: &Baseline) -> Result<Vec<u8>, ReportError> {
    let mut value = since_json::of(old, new);
    value.sort_all_objects();
    json::bytes(&value)
}

/// Makes the reports that `options` asks for.
pub fn render(input: &Input<'_>, options: &Options) -> Result<Vec<Output>, ReportError> {
    Reporter::new(*input).render(options)
}

/// What makes all that is published of one run. What templates see of it is made once.
pub struct Reporter<'a> {
    input: Input<'a>,
    cells: Vec<CellSummary<'a>>,
    nights: OnceCell<Vec<Series>>,
    view: OnceCell<View>,
}

impl<'a> Reporter<'a> {
    /// The reports of these records.
    pub fn new(input: Input<'a>) -> Self {
        Self {
            input,
            cells: summarise(input.run, input.trials),
            nights: OnceCell::new(),
            view: OnceCell::new(),
        }
    }

    /// What became of the suite's gates.
    pub fn gates(&self) -> GateLines {
        GateLines::of_cells(&self.input, &self.cells)
    }

    fn nights(&self) -> &[Series] {
        self.nights.get_or_init(|| nights::so_far(&self.input))
    }

    fn view(&self) -> &View {
        let made = || View::of_cells(&self.input, &self.cells, self.nights());
        self.view.get_or_init(made)
    }

    /// Makes the reports that `options` asks for.
    pub fn render(&self, options: &Options) -> Result<Vec<Output>, ReportError> {
        let (input, cells) = (&self.input, self.cells.as_slice());
        let wants = |format| {
            let usual = options.formats.is_empty() && options.template.is_none();
            (usual && format != Format::Badge) || options.formats.contains(&format)
        };
        let mut outputs = Vec::new();
        let mut add = |file_name: &str, bytes| {
            outputs.push(Output {
                file_name: file_name.to_owned(),
                bytes,
            });
        };
        let own = options.template.as_ref();
        if let Some(template) = own {
            add(
                template.file_name(),
                template.report(self.view())?.into_bytes(),
            );
        }
        if wants(Format::Markdown) && own.map(Template::file_name) != Some("report.md") {
            let template = Template::new(templates::REPORT_NAME, templates::REPORT);
            add("report.md", template.report(self.view())?.into_bytes());
        }
        if wants(Format::Markdown) || own.is_some() {
            for plot in &self.view().plots {
                add(&plot.file_name, plot.svg()?.into_bytes());
            }
        }
        if wants(Format::Html) && own.map(Template::file_name) != Some("report.html") {
            add(
                "report.html",
                html::render(input, cells, self.view().clone())?,
            );
        }
        if wants(Format::Csv) {
            add("summary.csv", csv::summary(input, cells)?);
            add("trials.csv", csv::trials(input, cells)?);
            if let Some(bytes) = csv::roles(input, cells)? {
                add("roles.csv", bytes);
            }
        }
        if wants(Format::Json) {
            add("report.json", json::report(input, cells, self.nights())?);
        }
        if wants(Format::Badge) {
            add("badge.svg", self.badge()?);
        }
        Ok(outputs)
    }

    /// What the index needs of the run, but for its words.
    pub fn digest_in_figures(&self) -> Digest {
        Digest::of_cells(&self.input, &self.cells)
    }

    /// What the index needs of the run.
    pub fn digest(&self) -> Digest {
        self.digest_in_figures().told(self.view(), self.nights())
    }

    /// The run's badge, an SVG.
    pub fn badge(&self) -> Result<Vec<u8>, ReportError> {
        badge::svg(self.view())
    }
}
