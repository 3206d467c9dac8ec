//! A run beside an earlier one, as templates see it: what has become worse and what better, each cell in both, and what must be
//! known about the two runs.

use super::apart;
use super::show;
use super::since_words::{sentences, summary, verdict};
use crate::record::{Baseline, BaselineCell, Metric};
use crate::stats::{Across, Between, Change, HEADLINE, Ruling, between, digits};
use schemars::JsonSchema;
use serde::Serialize;

/// A new run beside an old one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SinceView {
    /// Whether this is all there is, and not a part of the new run's report.
    pub alone: bool,
    /// The suite's name.
    pub suite: String,
    /// The old run.
    pub old: SideView,
    /// The new run.
    pub new: SideView,
    /// What must be known before any figure is read, as (what, why).
    pub banners: Vec<(String, String)>,
    /// Cells that had figures and have none, each in a sentence.
    pub lost: Vec<LostView>,
    /// What is worse, a sentence a cell.
    pub worse: Vec<SentenceView>,
    /// What is better.
    pub better: Vec<SentenceView>,
    /// How many comparisons there are and what can be said of them, in sentences.
    pub summary: Vec<String>,
    /// The heads of the columns of `rows`.
    pub columns: Vec<&'static str>,
    /// Each cell that both have figures of, with a ratio a column.
    pub rows: Vec<RowView>,
    /// Old and new figures, a table a metric.
    pub tables: Vec<TableView>,
    /// Cells whose configuration has changed, as (cell, in what).
    pub changed: Vec<(String, String)>,
    /// Cells without a ratio, as (cell, why).
    pub unmatched: Vec<(String, String)>,
    /// Whether any ratio has an interval.
    pub judged: bool,
    /// The least difference that the suite cares for, as shown.
    pub min_effect: String,
    /// What this comparison cannot say.
    pub cautions: Vec<String>,
}

/// One of two runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SideView {
    /// Its id.
    pub run: String,
    /// When it began: `2026-11-30 19:05 UTC`; empty where it is not known.
    pub date: String,
    /// The revision of its repository.
    pub revision: Option<String>,
}

/// A cell that had figures and has none.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LostView {
    /// Its names in a phrase.
    pub title: String,
    /// Why it has none.
    pub why: String,
}

/// What has become of one cell, in one direction.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SentenceView {
    /// Its names in a phrase.
    pub title: String,
    /// Each metric.
    pub parts: Vec<PartView>,
}

/// One metric of a sentence: `requests/s 12 % fewer (10–14 %)`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PartView {
    /// The metric as people see it.
    pub metric: &'static str,
    /// `12 % fewer`, or `2.3 ×` from double on.
    pub change: String,
    /// The interval of that.
    pub interval: String,
}

/// A row of ratios.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RowView {
    /// The cell's names in a phrase.
    pub title: String,
    /// One a column.
    pub ratios: Vec<RatioView>,
}

/// A ratio with its verdict.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RatioView {
    /// `×0.88 (0.86–0.9)`, with ≈ where no difference is shown; a dash where there is none.
    pub shown: String,
    /// `worse`, `better`, or none.
    pub named: Option<&'static str>,
}

/// One metric of every cell.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TableView {
    /// The metric as people see it.
    pub metric: &'static str,
    /// Its cells.
    pub rows: Vec<FigureRow>,
}

/// Old and new figure of a cell.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FigureRow {
    /// The cell's names in a phrase.
    pub title: String,
    /// The old median.
    pub old: String,
    /// How many values it is of.
    pub old_n: usize,
    /// The new median.
    pub new: String,
    /// How many values it is of.
    pub new_n: usize,
    /// The ratio with its interval.
    pub ratio: String,
    /// The verdict, or why there is none.
    pub verdict: String,
}

impl SinceView {
    /// The new run beside the old one.
    pub(super) fn of(old: &Baseline, new: &Baseline, alone: bool) -> Self {
        let between = between(old, new);
        let measured: Vec<&Across<'_>> = between
            .cells
            .iter()
            .filter(|cell| cell.old.is_measured() && cell.new.is_measured())
            .collect();
        let columns: Vec<&'static Metric> = HEADLINE
            .iter()
            .filter_map(|name| crate::record::metric(name))
            .filter(|metric| measured.iter().any(|cell| find(cell, metric).is_some()))
            .collect();
        Self {
            alone,
            suite: new.suite.clone(),
            old: side(old),
            new: side(new),
            banners: apart::banners(old, new, &between),
            lost: lost(&between),
            worse: sentences(&measured, Ruling::Worse),
            better: sentences(&measured, Ruling::Better),
            summary: summary(&measured),
            rows: measured.iter().map(|cell| row(cell, &columns)).collect(),
            tables: columns
                .iter()
                .map(|metric| table(metric, &measured))
                .collect(),
            columns: columns.iter().map(|metric| metric.label).collect(),
            changed: changed(&between),
            unmatched: unmatched(&between, old, new),
            judged: changes(&measured).any(|(_, change)| change.interval.is_some()),
            min_effect: show::share(between.min_effect),
            cautions: apart::cautions(old, new),
        }
    }
}

fn side(run: &Baseline) -> SideView {
    SideView {
        run: run.run.to_string(),
        date: apart::date(&run.started),
        revision: run.revision.clone(),
    }
}

fn find<'a>(cell: &'a Across<'_>, metric: &Metric) -> Option<&'a Change> {
    let mut changes = cell.changes.iter();
    changes.find(|change| change.metric.name == metric.name)
}

/// Every comparison that is shown, with its cell.
pub(super) fn changes<'a, 'b>(
    cells: &'a [&'a Across<'b>],
) -> impl Iterator<Item = (&'a Across<'b>, &'a Change)> {
    cells.iter().flat_map(|cell| {
        let shown = cell.changes.iter();
        shown
            .filter(|change| HEADLINE.contains(&change.metric.name))
            .map(move |change| (*cell, change))
    })
}

fn lost(between: &Between<'_>) -> Vec<LostView> {
    let gone = between
        .cells
        .iter()
        .filter(|cell| cell.old.is_measured() && !cell.new.is_measured());
    gone.map(|cell| LostView {
        title: cell.new.title.clone(),
        why: why(cell.new),
    })
    .collect()
}

/// What became of a cell without figures, and why.
fn why(cell: &BaselineCell) -> String {
    let reasons = cell.reasons.join("; ");
    if reasons.is_empty() {
        return cell.state.clone();
    }
    format!("{}: {reasons}", cell.state)
}

fn row(cell: &Across<'_>, columns: &[&'static Metric]) -> RowView {
    let ratios = columns.iter().map(|metric| match find(cell, metric) {
        Some(change) => RatioView {
            shown: ratio(change),
            named: named(change.ruling),
        },
        None => RatioView {
            shown: show::NONE.to_owned(),
            named: None,
        },
    });
    RowView {
        title: cell.new.title.clone(),
        ratios: ratios.collect(),
    }
}

fn named(ruling: Ruling) -> Option<&'static str> {
    matches!(ruling, Ruling::Worse | Ruling::Better).then(|| ruling.word())
}

fn ratio(change: &Change) -> String {
    let mark = match change.ruling {
        Ruling::NotShown { .. } => "≈ ",
        _ => "",
    };
    match (&change.interval, change.ratio) {
        (Some(interval), _) => {
            let (shown, range) = show::with_interval(interval);
            format!("{mark}×{shown} ({range})")
        }
        (None, Some(ratio)) => format!("×{}", show::multiple(ratio, &[])),
        (None, None) => show::NONE.to_owned(),
    }
}

fn table(metric: &'static Metric, cells: &[&Across<'_>]) -> TableView {
    let rows = cells.iter().filter_map(|cell| {
        let change = find(cell, metric)?;
        let shown = |median: f64, values: &[f64]| show::value(metric, median, digits(values));
        Some(FigureRow {
            title: cell.new.title.clone(),
            old: shown(change.old_median, &change.old),
            old_n: change.old.len(),
            new: shown(change.new_median, &change.new),
            new_n: change.new.len(),
            ratio: ratio(change),
            verdict: verdict(change.ruling),
        })
    });
    TableView {
        metric: metric.label,
        rows: rows.collect(),
    }
}

fn changed(between: &Between<'_>) -> Vec<(String, String)> {
    let of = |cell: &Across<'_>| {
        let what = cell.changed.as_ref()?;
        let what = if what.is_empty() {
            format!(
                "what cannot be told ({} → {})",
                cell.old.id.hash(),
                cell.new.id.hash()
            )
        } else {
            what.join("; ")
        };
        Some((cell.new.title.clone(), what))
    };
    between.cells.iter().filter_map(of).collect()
}

/// Cells without a ratio: those of one run only, and those without figures in one of them.
fn unmatched(between: &Between<'_>, old: &Baseline, new: &Baseline) -> Vec<(String, String)> {
    let only = |cell: &BaselineCell, run: &Baseline| {
        let state = if cell.is_measured() {
            String::new()
        } else {
            format!(" ({})", why(cell))
        };
        (cell.title.clone(), format!("only in {}{state}", run.run))
    };
    let mut rows: Vec<(String, String)> = Vec::new();
    rows.extend(between.gone.iter().map(|cell| only(cell, old)));
    rows.extend(between.added.iter().map(|cell| only(cell, new)));
    for cell in &between.cells {
        let same =
            !cell.old.is_measured() && !cell.new.is_measured() && why(cell.old) == why(cell.new);
        if same {
            let said = format!("no figures in either run ({})", why(cell.new));
            rows.push((cell.new.title.clone(), said));
            continue;
        }
        let sides = [(cell.old, old), (cell.new, new)];
        let without = sides.iter().filter(|(cell, _)| !cell.is_measured());
        let said: Vec<String> = without
            .map(|(cell, run)| format!("no figures in {} ({})", run.run, why(cell)))
            .collect();
        if !said.is_empty() {
            rows.push((cell.new.title.clone(), said.join("; ")));
        }
    }
    rows
}
