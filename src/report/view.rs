//! All that a template sees: every figure as a raw number and as it is shown, every cell in file
//! order, every sentence that is to be said. Built from the records alone.

use super::badge;
use super::baseline;
use super::board::{self, BoardView};
use super::capacity::{self, SearchView};
use super::caution::{self, Caution};
use super::chosen::{chosen, shorten};
use super::finding::{banners, findings};
use super::found::Found;
use super::gate::{self, GatesView};
use super::generator::{self, GeneratorRow};
use super::headline;
use super::method::{self, Fact, Recipe, facts, recipes, repeat};
use super::naming::Naming;
use super::nights::{self, NightsView};
use super::paced::{self, PacedView};
use super::plot::{self, Plot};
use super::prose::closed;
use super::published::{PublishedView, published};
use super::roles::{self, RoleView};
use super::rows::{bodies, cell_view, others, toggled_sizes, trials};
use super::shares::{self, ShareView};
use super::show;
use super::since::SinceView;
use super::timing::{self, TimingNote};
use super::{Input, digest};
use crate::stats::{CellSummary, Series, State, Verdict, summarise};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// More rows than any table has.
const ALL_ROWS: usize = 1_000_000;

/// A run as a template sees it. Strings are not escaped: the template's formatter does that.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct View {
    /// The title.
    pub title: String,
    /// What the suite asks, in Markdown.
    pub description: Option<String>,
    /// The first question of the description, else its first sentence, as plain text.
    pub question: Option<String>,
    /// The run in a sentence: gates that fell, else the largest new change over the nights, else what has changed since an
    /// earlier run, else the largest difference that was shown, else the best figure.
    pub headline: String,
    /// The run in a value.
    #[serde(skip)]
    pub(super) badge: badge::Value,
    /// The suite's name.
    pub suite: String,
    /// The profile; none is the default.
    pub profile: Option<String>,
    /// The run's id.
    #[schemars(example = &"2026-11-30T190500Z-ab12cd3")]
    pub run: String,
    /// When the run began, RFC 3339 in UTC; empty where no session is recorded.
    #[schemars(example = &"2026-11-30T19:05:00Z")]
    pub started: String,
    /// The processor and how many CPUs there are.
    pub machine: Option<String>,
    /// The suite's page, as a link from the run's folder; none where the run is not the whole suite, and so on no page.
    #[schemars(example = &"../../README.md")]
    pub page: Option<String>,
    /// So many rows a table may have. All, unless the report of a template that speaks of it would be too long for a comment
    /// on GitHub (65 536 characters): then it is made again with fewer.
    #[schemars(example = 200)]
    pub most_rows: usize,
    /// Cells in the order of what they did, a board for each load.
    pub boards: Vec<BoardView>,
    /// What must be known before any figure is read, as (what, why).
    pub banners: Vec<(String, String)>,
    /// What each departure from the baseline costs or gains.
    pub findings: Vec<Finding>,
    /// What all findings rest on, in a sentence.
    pub basis: Option<String>,
    /// What has become of everything since an earlier run, where the run is compared with one.
    pub since: Option<SinceView>,
    /// What has changed over the nights, where this run is one of several.
    pub nights: Option<NightsView>,
    /// What became of the limits of cells, where there are any.
    pub gates: Option<GatesView>,
    /// The heads of the columns of names.
    pub name_columns: Vec<String>,
    /// Whether a row names only what departs from its baseline.
    pub merged_names: bool,
    /// Whether a measured cell has fewer valid trials than planned.
    pub uneven: bool,
    /// Whether a measured cell has another cell to compare with, or would have but for a toggle without effect.
    pub compared: bool,
    /// Whether a body was compressed on its way, differed in size from the first, or has another size with another
    /// value of a toggle.
    pub compressed: bool,
    /// Cells with figures, in file order.
    pub cells: Vec<CellView>,
    /// What searches for the highest rate found; empty where there is none.
    pub searched: Vec<SearchView>,
    /// What these held on to, in words.
    pub search_limits: String,
    /// What the schedules of open loops offered, stages below their cell; empty where every load is a closed loop.
    pub paced: Vec<PacedView>,
    /// Each role of each cell with figures, where a cell has more than one.
    pub roles: Vec<RoleView>,
    /// Each request of each mix.
    pub shares: Vec<ShareView>,
    /// Whether a role is left out of the totals.
    pub roles_apart: bool,
    /// The plots, each an image beside the report.
    pub plots: Vec<Plot>,
    /// What others published of these cells.
    pub published: Vec<PublishedView>,
    /// Cells without: failed, invalid, not run, skipped, in this order.
    pub others: Vec<OtherView>,
    /// Every trial that has a record.
    pub trials: Vec<TrialView>,
    /// What the generator did in every trial that has a load.
    pub generator: Vec<GeneratorRow>,
    /// Whether the memory of any cell grows with the requests that it serves.
    pub growing: bool,
    /// Whether any figure is a lower bound.
    pub bounded: bool,
    /// Whether any load has a new connection for each request.
    pub connecting: bool,
    /// Whether another generator than the built-in one made any load.
    pub external: bool,
    /// The marks beside latencies that are something else than service time.
    pub timings: Vec<TimingNote>,
    /// The mark beside means that nobody timed, where any stands beside a published one.
    pub derived: Option<TimingNote>,
    /// The head of the column that has the range or interval of requests per second.
    pub range_head: &'static str,
    /// Whether any of these is an interval.
    pub intervals: bool,
    /// Whether any of these goes from the lowest to the highest.
    pub ranges: bool,
    /// Whether any ratio has an interval.
    pub judged: bool,
    /// The least difference that the suite cares for, as shown.
    pub min_effect: String,
    /// What this run cannot say.
    pub cautions: Vec<Caution>,
    /// How it was measured.
    pub facts: Vec<Fact>,
    /// The commands, the environment and the load of each cell.
    pub recipes: Vec<Recipe>,
    /// The path of the suite file.
    pub suite_path: String,
    /// The text of the suite file.
    pub suite_text: String,
    /// The command that does it again.
    pub repeat: String,
}

/// A sentence on a cell that departs from its baseline by one axis, such as `[context]: [subject]
/// serves [ratio] × the requests per second of [object]`. Which one it is follows from the verdict.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Finding {
    /// Under what both are compared, where a report has more than one such.
    pub context: Option<String>,
    /// What is compared.
    pub subject: String,
    /// With what.
    pub object: String,
    /// `differ`, `not_shown`, `too_few` or `limited`.
    pub verdict: &'static str,
    /// What is compared, in words: `requests per second`.
    pub metric: &'static str,
    /// Whether less of it is better.
    pub less_is_better: bool,
    /// Ratio of it.
    pub ratio: String,
    /// The same as a number.
    pub ratio_raw: f64,
    /// Its interval, where there are trials enough.
    pub interval: Option<String>,
    /// Whether it serves less than the other.
    pub less: bool,
    /// What it costs or gains, where that is less than double: `22 %`.
    pub change: Option<String>,
    /// The interval of that.
    pub change_interval: Option<String>,
    /// The smallest change that would have been found, where none is shown.
    pub could_have_seen: Option<String>,
    /// By how much a body is smaller or larger on the wire, where it is: `71 % fewer`.
    pub bytes: Option<String>,
    /// Ratio of the peak RSS.
    pub rss: Option<String>,
    /// Where one of the two grows, the requests until which both peaks were taken.
    pub rss_requests: Option<String>,
    /// Whether nothing that can be seen from outside differs but these figures.
    pub hidden: bool,
    /// What the ratio rests on, where that differs from finding to finding.
    pub basis: Option<String>,
}

/// A cell with figures.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CellView {
    /// Its id.
    pub id: String,
    /// Its names, one a column.
    pub names: Vec<String>,
    /// Its names in a phrase.
    pub title: String,
    /// What made its load: `built-in`, or the name of another generator.
    pub generator: String,
    /// Whether others are compared with it.
    pub baseline: bool,
    /// `≥` where the generator was the limit, so that requests per second are a lower bound; else empty.
    pub bound: &'static str,
    /// `baseline`, `×0.62`, or a dash where its baseline has no figure, or where it differs from it in nothing
    /// that can be observed.
    pub ratio: String,
    /// Whether it differs from its baseline in toggles that have no observable effect.
    pub no_effect: bool,
    /// The ratio of requests per second.
    pub ratio_raw: Option<f64>,
    /// Valid trials.
    pub valid: usize,
    /// Planned trials.
    pub planned: usize,
    /// `3`, or `2 of 3`.
    pub trials: String,
    /// Every metric of the registry by name.
    pub metrics: BTreeMap<&'static str, FigureView>,
    /// Whether its memory grows with the requests that it serves.
    pub growing: bool,
    /// Requests that a trial had served when its load ended, the warm-up included, as shown; its peak belongs to them. None
    /// where memory does not grow.
    pub peak_requests: Option<String>,
    /// Failed requests of all valid trials.
    pub errors: u64,
    /// Most processes at once, as shown.
    pub processes: String,
    /// Most threads at once, as shown.
    pub threads: String,
    /// Mean size of the bodies of successes on the wire, as shown.
    pub body_wire: String,
    /// Size of the first body after decoding, as shown.
    pub body_decoded: String,
    /// What the encoding of the first body left of its size, as shown.
    pub body_share: String,
}

/// One metric of a cell.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FigureView {
    /// The metric as people see it.
    pub label: &'static str,
    /// The median with its unit; where there is none, a dash or the reason.
    pub shown: String,
    /// The interval of the median from 6 trials on, else lowest to highest, as shown.
    pub range: String,
    /// The ends of that interval, in the metric's unit; none with fewer trials.
    pub interval: Option<[f64; 2]>,
    /// Median, in the metric's unit.
    pub median: Option<f64>,
    /// Lowest.
    pub min: Option<f64>,
    /// Highest.
    pub max: Option<f64>,
    /// Trials that have it.
    pub n: usize,
}

/// A cell without figures.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OtherView {
    /// Its names in a phrase.
    pub title: String,
    /// `failed`, `invalid`, `skipped`, `not run`.
    pub state: &'static str,
    /// Why.
    pub reason: String,
    /// The line that installs what is missing.
    pub install: Option<String>,
    /// The last lines that its processes printed.
    pub log: Option<String>,
}

/// One trial, in the table of all values.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrialView {
    /// The names of its cell in a phrase.
    pub title: String,
    /// `2`, or `2 (invalid)`.
    pub trial: String,
    /// Every metric of the registry, as shown.
    pub metrics: BTreeMap<&'static str, String>,
}

impl View {
    /// The view of these records.
    pub fn of(input: &Input<'_>) -> Self {
        let summaries = summarise(input.run, input.trials);
        Self::of_found(input, &Found::of(input, &summaries), &nights::so_far(input))
    }

    /// The same of what was found in records, with the nights so far.
    pub(super) fn of_found(input: &Input<'_>, found: &Found<'_, '_>, nights: &[Series]) -> Self {
        Self::of_shown(input, found, nights, found.cells)
    }

    /// What can be read of it: where there are very many cells, tables have some of them.
    pub(super) fn of_some(input: &Input<'_>, found: &Found<'_, '_>, nights: &[Series]) -> Self {
        let Some(shown) = chosen(found.cells) else {
            return Self::of_found(input, found, nights);
        };
        let mut view = Self::of_shown(input, found, nights, &shown);
        shorten(&mut view, shown.len(), found.cells.len());
        view
    }

    /// Tables of the cells that are `shown`; all else is of all cells.
    fn of_shown(
        input: &Input<'_>,
        found: &Found<'_, '_>,
        nights: &[Series],
        shown: &[CellSummary<'_>],
    ) -> Self {
        let (run, summaries, growths) = (input.run, found.cells, &found.growths);
        let naming = Naming::of(&run.spec);
        let measured: Vec<&CellSummary<'_>> = shown
            .iter()
            .filter(|cell| cell.state == State::Measured)
            .collect();
        let cells: Vec<CellView> = measured
            .iter()
            .map(|cell| cell_view(&naming, cell, found))
            .collect();
        let (intervals, ranges) = spreads(&cells);
        let bounded = cells.iter().any(|cell| !cell.bound.is_empty());
        let roles = roles::rows(&naming, &measured);
        let (findings, basis) = findings(run, &naming, found);
        let mut view = Self {
            headline: String::new(),
            badge: badge::Value::default(),
            question: run.spec.description.as_deref().and_then(headline::question),
            machine: method::machine_in_short(&run.host),
            page: digest::page_from_run(run, summaries),
            most_rows: ALL_ROWS,
            boards: board::boards(&naming, &measured),
            title: run.spec.title.clone(),
            description: run
                .spec
                .description
                .as_ref()
                .map(|text| closed(text.trim())),
            suite: run.spec.suite.clone(),
            profile: run.spec.profile.clone(),
            run: run.id.to_string(),
            started: run
                .sessions
                .first()
                .map(|s| s.started.clone())
                .unwrap_or_default(),
            banners: banners(run, summaries, &found.judged),
            findings,
            basis,
            since: input
                .baseline
                .map(|old| SinceView::of(old, &baseline::of(input), false)),
            nights: nights::view(input, &naming, nights),
            gates: gate::view(input, &naming, &found.judged),
            name_columns: naming.columns(),
            merged_names: naming.is_merged(),
            uneven: cells.iter().any(|cell| cell.valid != cell.planned),
            compared: cells
                .iter()
                .any(|cell| cell.ratio_raw.is_some() || cell.no_effect),
            compressed: measured.iter().any(|cell| {
                bodies(cell).is_some_and(|body| body.wire != body.decoded || body.vary())
            }) || toggled_sizes(&run.spec, summaries),
            range_head: range_head(intervals, ranges),
            intervals,
            ranges,
            searched: capacity::rows(&naming, shown),
            search_limits: capacity::limits(summaries),
            paced: paced::rows(&naming, shown),
            growing: cells.iter().any(|cell| cell.growing),
            cells,
            bounded,
            connecting: measured.iter().any(|cell| !cell.cell.work.keep_alive),
            external: measured.iter().any(|cell| timing::is_external(cell)),
            timings: timing::notes(summaries),
            derived: timing::derived(summaries),
            judged: found
                .compared
                .iter()
                .any(|one| one.verdict != Verdict::TooFew && one.ratio.interval.is_some()),
            min_effect: show::share(run.spec.run.min_effect),
            roles_apart: roles.iter().any(|role| role.apart),
            roles,
            shares: shares::rows(&naming, &measured),
            plots: plot::all(input, &naming, summaries, nights),
            published: published(&run.spec, &naming, summaries),
            others: others(&naming, summaries),
            trials: trials(&naming, shown),
            generator: generator::rows(&naming, shown),
            cautions: caution::all(input, &naming, summaries, growths),
            facts: facts(run, input),
            recipes: recipes(shown, &naming),
            suite_path: run.suite.path.clone(),
            suite_text: run.suite.text.clone(),
            repeat: repeat(run),
        };
        view.headline = headline::headline(&view);
        view.badge = badge::value(&view);
        view
    }
}

/// Whether some rates have an interval, and whether some have but their range.
fn spreads(cells: &[CellView]) -> (bool, bool) {
    let rates = || {
        cells
            .iter()
            .map(|cell| &cell.metrics["requests_per_second"])
    };
    let intervals = rates().any(|rate| rate.interval.is_some());
    (
        intervals,
        rates().any(|rate| rate.interval.is_none() && rate.n > 1),
    )
}

fn range_head(intervals: bool, ranges: bool) -> &'static str {
    match (intervals, ranges) {
        (true, false) => "95 % interval",
        (true, true) => "95 % interval or min–max",
        (false, _) => "min–max",
    }
}
