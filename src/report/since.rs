//! A run beside an earlier one, as templates see it: what has become worse and what better, each cell in both, and what must be
//! known about the two runs.

use super::apart;
use super::show;
use crate::metric::Unit;
use crate::record::{Baseline, BaselineCell, Metric};
use crate::stats::{Across, Between, Change, ENOUGH_BETWEEN, Open, Ruling, between, digits};
use serde::Serialize;

/// The metrics that a comparison of two runs shows. All others are in its JSON.
pub(super) const SHOWN: [&str; 7] = [
    "requests_per_second",
    "latency_p50",
    "latency_p99",
    "rss_peak",
    "pss_loaded",
    "requests_per_cpu_second",
    "startup",
];

/// A new run beside an old one.
#[derive(Debug, Clone, Serialize)]
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
#[derive(Debug, Clone, Serialize)]
pub struct SideView {
    /// Its id.
    pub run: String,
    /// When it began: `2026-11-30 19:05 UTC`; empty where it is not known.
    pub date: String,
    /// The revision of its repository.
    pub revision: Option<String>,
}

/// A cell that had figures and has none.
#[derive(Debug, Clone, Serialize)]
pub struct LostView {
    /// Its names in a phrase.
    pub title: String,
    /// Why it has none.
    pub why: String,
}

/// What has become of one cell, in one direction.
#[derive(Debug, Clone, Serialize)]
pub struct SentenceView {
    /// Its names in a phrase.
    pub title: String,
    /// Each metric.
    pub parts: Vec<PartView>,
}

/// One metric of a sentence: `requests/s 12 % fewer (10–14 %)`.
#[derive(Debug, Clone, Serialize)]
pub struct PartView {
    /// The metric as people see it.
    pub metric: &'static str,
    /// `12 % fewer`, or `2.3 ×` from double on.
    pub change: String,
    /// The interval of that.
    pub interval: String,
}

/// A row of ratios.
#[derive(Debug, Clone, Serialize)]
pub struct RowView {
    /// The cell's names in a phrase.
    pub title: String,
    /// One a column.
    pub ratios: Vec<RatioView>,
}

/// A ratio with its verdict.
#[derive(Debug, Clone, Serialize)]
pub struct RatioView {
    /// `×0.88 (0.86–0.9)`, with ≈ where no difference is shown; a dash where there is none.
    pub shown: String,
    /// `worse`, `better`, or none.
    pub named: Option<&'static str>,
}

/// One metric of every cell.
#[derive(Debug, Clone, Serialize)]
pub struct TableView {
    /// The metric as people see it.
    pub metric: &'static str,
    /// Its cells.
    pub rows: Vec<FigureRow>,
}

/// Old and new figure of a cell.
#[derive(Debug, Clone, Serialize)]
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
        let columns: Vec<&'static Metric> = SHOWN
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
fn changes<'a, 'b>(
    cells: &'a [&'a Across<'b>],
) -> impl Iterator<Item = (&'a Across<'b>, &'a Change)> {
    cells.iter().flat_map(|cell| {
        let shown = cell.changes.iter();
        shown
            .filter(|change| SHOWN.contains(&change.metric.name))
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

/// A sentence for each cell of which anything has become so.
fn sentences(cells: &[&Across<'_>], ruling: Ruling) -> Vec<SentenceView> {
    let of = |cell: &Across<'_>| {
        let parts: Vec<PartView> = cell
            .changes
            .iter()
            .filter(|change| SHOWN.contains(&change.metric.name) && change.ruling == ruling)
            .filter_map(part)
            .collect();
        (!parts.is_empty()).then(|| SentenceView {
            title: cell.new.title.clone(),
            parts,
        })
    };
    cells.iter().filter_map(|cell| of(cell)).collect()
}

fn part(change: &Change) -> Option<PartView> {
    let interval = change.interval?;
    let (change_shown, interval) = if interval.estimate < 2.0 {
        let (size, range) = show::change(&interval);
        let word = word(change.metric.unit, interval.estimate > 1.0);
        (format!("{size} {word}"), range)
    } else {
        let (ratio, range) = show::with_interval(&interval);
        (format!("{ratio}\u{a0}×"), range)
    };
    Some(PartView {
        metric: in_sentence(change.metric),
        change: change_shown,
        interval,
    })
}

/// The metric's name inside a sentence.
fn in_sentence(metric: &Metric) -> &'static str {
    match metric.name {
        "requests_per_second" => "requests/s",
        "requests_per_cpu_second" => "requests/CPU-s",
        "latency_p50" => "latency p50",
        "latency_p99" => "latency p99",
        "rss_peak" => "peak RSS",
        "pss_loaded" => "loaded PSS",
        "startup" => "start-up",
        _ => metric.label,
    }
}

fn word(unit: Unit, more: bool) -> &'static str {
    match (unit, more) {
        (Unit::PerSecond | Unit::PerCpuSecond | Unit::Count, true) => "more",
        (Unit::PerSecond | Unit::PerCpuSecond | Unit::Count, false) => "fewer",
        (Unit::Nanoseconds | Unit::CpuSeconds, true) => "longer",
        (Unit::Nanoseconds | Unit::CpuSeconds, false) => "shorter",
        (Unit::Bytes | Unit::BytesPerSecond, true) => "larger",
        (Unit::Bytes | Unit::BytesPerSecond, false) => "smaller",
    }
}

/// How many comparisons there are, and what is said of how many.
fn summary(cells: &[&Across<'_>]) -> Vec<String> {
    let rulings: Vec<Ruling> = changes(cells).map(|(_, change)| change.ruling).collect();
    let all = rulings.len();
    if all == 0 {
        return vec!["No cell has figures in both runs, so nothing is compared.".to_owned()];
    }
    let count = |of: &dyn Fn(&Ruling) -> bool| rulings.iter().filter(|ruling| of(ruling)).count();
    let worse = count(&|ruling| *ruling == Ruling::Worse);
    let better = count(&|ruling| *ruling == Ruling::Better);
    let mut said = Vec::new();
    if worse + better > 0 {
        let none = |number: usize| match number {
            0 => "none".to_owned(),
            some => some.to_string(),
        };
        said.push(format!(
            "Of {}, {} {} worse and {} better.",
            show::plural(all, "comparison"),
            none(worse),
            if worse == 1 { "is" } else { "are" },
            none(better)
        ));
    }
    said.extend(not_shown(&rulings));
    for open in OPEN {
        let times = count(&|ruling| *ruling == Ruling::Open(open));
        if times > 0 {
            said.push(format!(
                "No verdict in {times} of {all}: {}.",
                because(open)
            ));
        }
    }
    said
}

/// Why there is no verdict, in the order in which it is said.
const OPEN: [Open; 6] = [
    Open::Machine,
    Open::Changed,
    Open::Limited,
    Open::TooFew,
    Open::TooFewForSoMany,
    Open::Zero,
];

fn not_shown(rulings: &[Ruling]) -> Option<String> {
    let seen: Vec<f64> = rulings
        .iter()
        .filter_map(|ruling| match ruling {
            Ruling::NotShown { could_have_seen } => Some(*could_have_seen),
            _ => None,
        })
        .collect();
    let least = seen.iter().copied().reduce(f64::min)?;
    let most = seen.iter().copied().reduce(f64::max)?;
    let (least, most) = (show::share(least), show::share(most));
    let range = if least == most {
        least
    } else {
        format!("{least} to {most}")
    };
    Some(format!(
        "No difference shown in {} of {} (could have seen {range}).",
        seen.len(),
        show::plural(rulings.len(), "comparison")
    ))
}

/// Why there is no verdict.
pub(super) fn because(open: Open) -> String {
    match open {
        Open::Machine => "the machines differ, or one of them is not known".to_owned(),
        Open::Changed => "the configuration of the cell has changed".to_owned(),
        Open::Limited => {
            "the generator was the limit in one of the runs, or that is not known".to_owned()
        }
        Open::TooFew => format!("fewer than {ENOUGH_BETWEEN} valid trials on a side"),
        Open::TooFewForSoMany => {
            "so few trials can name no difference among so many comparisons".to_owned()
        }
        Open::Zero => "a figure is 0".to_owned(),
    }
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

fn verdict(ruling: Ruling) -> String {
    match ruling {
        Ruling::Worse | Ruling::Better => ruling.word().to_owned(),
        Ruling::NotShown { could_have_seen } => format!(
            "no difference shown (could have seen {})",
            show::share(could_have_seen)
        ),
        Ruling::Open(Open::Machine) => "none: machine".to_owned(),
        Ruling::Open(Open::Changed) => "none: configuration changed".to_owned(),
        Ruling::Open(Open::Limited) => "none: generator was the limit".to_owned(),
        Ruling::Open(Open::TooFew | Open::TooFewForSoMany) => "none: too few trials".to_owned(),
        Ruling::Open(Open::Zero) => "none: a figure is 0".to_owned(),
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
