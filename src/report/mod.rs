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
mod chosen;
mod csv;
mod digest;
mod effect;
mod finding;
mod found;
mod gate;
mod generator;
mod growth;
mod headline;
mod hint;
mod html;
mod json;
mod lines;
mod markdown;
mod method;
mod naming;
mod nights;
mod noise;
mod paced;
mod pending;
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
mod unchanged;
mod view;
mod warmup;

pub use anchor::{anchor, encode, encode_path};
pub use digest::Digest;
pub use gate::GateLines;
pub use markdown::{escape, escape_html, fence};
pub use nights::{change_sentence, history_json, in_sentence};
pub use pending::Pending;
pub use plot::FOLDER as PLOTS;
pub use since::SinceView;
pub use template::{Kind, Template, template_reference};
pub use view::View;

use crate::record::{Baseline, HistoryRow, Readings, Run, Trial};
use crate::stats::{CellSummary, Series, summarise};
use found::Found;
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

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
    let cells = summarise(input.run, input.trials);
    let reporter = Reporter::new(*input, &cells);
    let files = reporter.files(options)?;
    files.into_iter().map(Pending::output).collect()
}

/// What makes all that is published of one run. What is found in its records and what templates see of it is made once.
pub struct Reporter<'r, 'a> {
    input: Input<'a>,
    cells: &'r [CellSummary<'a>],
    found: OnceLock<Found<'r, 'a>>,
    nights: OnceLock<Vec<Series>>,
    view: OnceLock<View>,
}

impl<'r, 'a> Reporter<'r, 'a> {
    /// The reports of these records, of which `cells` are the [summaries](summarise).
    pub fn new(input: Input<'a>, cells: &'r [CellSummary<'a>]) -> Self {
        Self {
            input,
            cells,
            found: OnceLock::new(),
            nights: OnceLock::new(),
            view: OnceLock::new(),
        }
    }

    /// What became of the suite's gates.
    pub fn gates(&self) -> GateLines {
        GateLines::of_judged(&self.input, &self.found().judged)
    }

    fn found(&self) -> &Found<'r, 'a> {
        let made = || Found::of(&self.input, self.cells);
        self.found.get_or_init(made)
    }

    fn nights(&self) -> &[Series] {
        self.nights.get_or_init(|| nights::so_far(&self.input))
    }

    /// What the pages show: of very many cells some.
    fn view(&self) -> &View {
        let made = || View::of_some(&self.input, self.found(), self.nights());
        self.view.get_or_init(made)
    }

    /// The report of somebody's template, which sees every cell.
    fn own(&self, template: &Template) -> Result<String, ReportError> {
        if self.cells.len() <= chosen::MOST_CELLS {
            return template.report(self.view());
        }
        let view = View::of_found(&self.input, self.found(), self.nights());
        template.report(&view)
    }

    /// The files that `options` asks for. Pages are there when this returns, so that a template's mistake comes before anything is
    /// written; tables are made while they are written.
    pub fn files(&self, options: &Options) -> Result<Vec<Pending<'_>>, ReportError> {
        let wants = |format| {
            let usual = options.formats.is_empty() && options.template.is_none();
            (usual && format != Format::Badge) || options.formats.contains(&format)
        };
        let mut files = Vec::new();
        let own = options.template.as_ref();
        let is_own = |name: &str| own.is_some_and(|template| template.file_name() == name);
        if let Some(template) = own {
            let text = self.own(template)?;
            files.push(Pending::whole(template.file_name(), text.into_bytes()));
        }
        if wants(Format::Markdown) && !is_own("report.md") {
            let template = Template::new(templates::REPORT_NAME, templates::REPORT);
            let text = template.report(self.view())?;
            files.push(Pending::whole("report.md", text.into_bytes()));
        }
        if wants(Format::Markdown) || own.is_some() {
            for plot in &self.view().plots {
                files.push(Pending::whole(&plot.file_name, plot.svg()?.into_bytes()));
            }
        }
        if wants(Format::Html) && !is_own("report.html") {
            let page = html::render(&self.input, self.cells, self.view().clone())?;
            files.push(Pending::whole("report.html", page));
        }
        if wants(Format::Csv) {
            self.add_tables(&mut files);
        }
        if wants(Format::Json) {
            files.push(Pending::rows("report.json", |to| {
                json::report(&self.input, self.found(), self.nights(), to)
            }));
        }
        if wants(Format::Badge) {
            files.push(Pending::whole("badge.svg", self.badge()?));
        }
        Ok(files)
    }

    fn add_tables<'s>(&'s self, files: &mut Vec<Pending<'s>>) {
        let (input, cells) = (&self.input, self.cells);
        files.push(Pending::rows("summary.csv", |to| {
            csv::summary(input, self.found(), to)
        }));
        files.push(Pending::rows("trials.csv", move |to| {
            csv::trials(input, cells, to)
        }));
        if cells.iter().any(roles::has_several) {
            files.push(Pending::rows("roles.csv", move |to| {
                csv::roles(input, cells, to)
            }));
        }
    }

    /// What the index needs of the run, but for its words.
    pub fn digest_in_figures(&self) -> Digest {
        Digest::of_cells(&self.input, self.cells)
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
