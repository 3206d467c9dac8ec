//! The nights of a suite as a report shows them: what is new in this one, and the changes that were found before. How they are
//! found is `stats`' part.

use super::naming::Naming;
use super::{Digest, Input, ReportError, baseline, json as report_json, show};
use crate::ids::CellId;
use crate::record::{FORMAT, HistoryRow, Metric, Unit};
use crate::stats::{Known, Night, NightChange, Rules, Seen, Series, history_rows, series};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The changes that a page shows beside those that are new.
const MOST_ROWS: usize = 20;

/// The nights that a run is one of.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NightsView {
    /// What this night is the first to tell: for the worse first, and the largest first of each.
    pub told: Vec<ChangeView>,
    /// How many nights there are, this one included, and what else must be known, in sentences.
    pub summary: Vec<String>,
    /// The other changes, the newest first.
    pub changes: Vec<ChangeView>,
    /// Series that begin with this night, as (cell, why).
    pub begins: Vec<(String, String)>,
}

/// What changed of one cell between two nights, for the worse or for the better.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangeView {
    /// The cell's names in a phrase.
    pub title: String,
    /// Each metric.
    pub parts: Vec<ChangePart>,
    /// `between a1b2 and c3d4 (2026-11-20 to 2026-11-21)`.
    pub between: String,
    /// `worse` or `better`.
    pub word: &'static str,
}

/// A change of one metric.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangePart {
    /// The metric inside a sentence: `peak RSS`.
    pub metric: &'static str,
    /// `grew`, `shrank`, `rose` or `fell`.
    pub verb: &'static str,
    /// By how much: `9 %`, or `to 2.3 ×` from double on.
    pub size: String,
    /// The medians before and after: `44 MiB → 48 MiB`.
    pub figures: String,
    /// What makes it less sure, or explains it.
    pub notes: Vec<String>,
    /// How large it is: the logarithm of the ratio of both medians, without its sign.
    #[serde(skip)]
    pub(super) weight: f64,
}

impl ChangeView {
    /// Its largest part.
    pub(super) fn largest(&self) -> Option<&ChangePart> {
        // Of equal ones the first.
        let parts = self.parts.iter().rev();
        parts.max_by(|a, b| a.weight.total_cmp(&b.weight))
    }

    fn weight(&self) -> f64 {
        self.largest().map_or(0.0, |part| part.weight)
    }
}

/// The rows that a run adds to the history: none where it is not the whole suite.
pub(super) fn own_rows(input: &Input<'_>) -> Vec<HistoryRow> {
    if Digest::is_whole(input) {
        history_rows(&baseline::of(input))
    } else {
        Vec::new()
    }
}

/// The gap that a run without an end leaves in the history: a row for each cell, with why.
pub(super) fn gap_rows(input: &Input<'_>, reason: &str) -> Vec<HistoryRow> {
    let mut rows = history_rows(&baseline::of(input));
    rows.dedup_by(|later, earlier| later.cell == earlier.cell);
    for row in &mut rows {
        "incomplete".clone_into(&mut row.state);
        reason.clone_into(&mut row.reason);
        row.figure = None;
    }
    rows
}

/// The series that a run is the last night of, of the cells that `wanted` names; none where it is no night.
pub(super) fn of(input: &Input<'_>, wanted: impl Fn(&CellId) -> bool) -> Vec<Series> {
    let run = &input.run.id;
    let mut rows = own_rows(input);
    if rows.is_empty() {
        return Vec::new();
    }
    let earlier = input.history.iter().filter(|row| row.run != *run);
    rows.extend(earlier.cloned());
    let names: BTreeSet<String> = rows
        .iter()
        .filter(|row| row.run == *run && wanted(&row.cell))
        .map(|row| row.cell.names().to_owned())
        .collect();
    rows.retain(|row| names.contains(row.cell.names()));
    let mut all = series(&rows, &[]);
    all.retain(|one| one.nights.last().is_some_and(|night| night.run == *run));
    all
}

/// The series that a run is the last night of; none where it is the first night.
pub(super) fn so_far(input: &Input<'_>) -> Vec<Series> {
    if input.history.iter().all(|row| row.run == input.run.id) {
        return Vec::new();
    }
    of(input, |_| true)
}

/// The section of the report, on these series; none where there is no night before.
pub(super) fn view(input: &Input<'_>, naming: &Naming<'_>, all: &[Series]) -> Option<NightsView> {
    let nights = all.iter().map(|one| one.nights.len()).max()?;
    let title = |id: &CellId| {
        let cell = naming.cell(id);
        cell.map_or_else(|| id.names().to_owned(), |cell| naming.title(cell))
    };
    let (mut told, mut others) = (Together::default(), Together::default());
    for one in all {
        let new: Vec<&NightChange> = one.told_by(&input.run.id).collect();
        for change in &one.changes {
            let (rank, list) = if new.contains(&change) {
                (String::new(), &mut told)
            } else {
                (one.nights[change.after].time.clone(), &mut others)
            };
            list.add(rank, change_view(title(&one.cell), one, change));
        }
    }
    let (mut told, mut others) = (told.list, others.list);
    let changes = told.len() + others.len();
    told.sort_by(|(_, a), (_, b)| {
        let better = |view: &ChangeView| view.word != "worse";
        let larger = b.weight().total_cmp(&a.weight());
        better(a).cmp(&better(b)).then(larger)
    });
    others.sort_by(|(a, _), (b, _)| b.cmp(a));
    let more = others.len().saturating_sub(MOST_ROWS);
    let views = |list: Vec<(String, ChangeView)>| list.into_iter().map(|(_, view)| view);
    Some(NightsView {
        told: views(told).collect(),
        summary: summary(all, nights, changes, more),
        changes: views(others).take(MOST_ROWS).collect(),
        begins: begins(all, &title),
    })
}

/// Changes, each with its rank; those of one cell between the same nights are parts of one.
#[derive(Default)]
struct Together {
    list: Vec<(String, ChangeView)>,
    /// The places of these by title, nights and word.
    places: HashMap<(String, String, &'static str), usize>,
}

impl Together {
    fn add(&mut self, rank: String, new: ChangeView) {
        let key = (new.title.clone(), new.between.clone(), new.word);
        match self.places.entry(key) {
            Entry::Occupied(place) => self.list[*place.get()].1.parts.extend(new.parts),
            Entry::Vacant(place) => {
                place.insert(self.list.len());
                self.list.push((rank, new));
            }
        }
    }
}

fn summary(all: &[Series], nights: usize, changes: usize, more: usize) -> Vec<String> {
    let mut said = vec![format!(
        "{} on this machine, this one included",
        show::plural(nights, "night")
    )];
    let is_young = |one: &&Series| one.figures() < Rules::NIGHTS.least_values;
    let young = all.iter().filter(is_young).count();
    let least = Rules::NIGHTS.least_values;
    if young == all.len() {
        said.push(format!("changes are looked for from {least} nights on"));
    } else {
        if changes == 0 {
            said.push("no change is found".to_owned());
        }
        if young > 0 {
            said.push(format!(
                "of {} figures {young} have fewer than {least} nights, and nothing is looked for in these",
                all.len()
            ));
        }
    }
    if more > 0 {
        said.push(format!(
            "{more} older changes are left out (\"hotlap history\" shows all)"
        ));
    }
    said
}

/// The cells of which a series begins with this night, since something else has changed.
fn begins(all: &[Series], title: &dyn Fn(&CellId) -> String) -> Vec<(String, String)> {
    let mut said: HashSet<(&CellId, &str)> = HashSet::new();
    let new = all.iter().filter(|one| one.nights.len() == 1);
    new.filter_map(|one| Some((&one.cell, one.begins.words()?)))
        .filter(|line| said.insert(*line))
        .map(|(cell, why)| (title(cell), why.to_owned()))
        .collect()
}

fn change_view(title: String, of: &Series, change: &NightChange) -> ChangeView {
    ChangeView {
        title,
        parts: vec![part(of, change)],
        between: between(&of.nights[change.before], &of.nights[change.after]),
        word: word(change),
    }
}

fn part(of: &Series, change: &NightChange) -> ChangePart {
    let rises = change.to > change.from;
    let shown = |value: f64| show::value(of.metric, value, 3);
    ChangePart {
        metric: in_sentence(of.metric),
        verb: match (of.metric.unit, rises) {
            (Unit::Bytes, true) => "grew",
            (Unit::Bytes, false) => "shrank",
            (_, true) => "rose",
            (_, false) => "fell",
        },
        size: size(change),
        figures: format!("{} → {}", shown(change.from), shown(change.to)),
        notes: notes(of, change),
        weight: (change.to / change.from).ln().abs(),
    }
}

fn word(change: &NightChange) -> &'static str {
    if change.worse { "worse" } else { "better" }
}

fn size(change: &NightChange) -> String {
    let ratio = change.to / change.from;
    if !ratio.is_finite() {
        return "from nothing".to_owned();
    }
    if ratio < 2.0 {
        show::share((ratio - 1.0).abs())
    } else {
        format!("to {}\u{a0}×", show::multiple(ratio, &[]))
    }
}

fn between(before: &Night, after: &Night) -> String {
    let dates = format!("{} to {}", before.date(), after.date());
    match (&before.revision, &after.revision) {
        (None, None) => format!("between {} and {}", before.date(), after.date()),
        (Some(old), Some(new)) if old == new => {
            format!("while the revision stayed {new} ({dates})")
        }
        (old, new) => {
            let named = |revision: &Option<String>| {
                revision
                    .clone()
                    .unwrap_or_else(|| "an unknown revision".to_owned())
            };
            format!("between {} and {} ({dates})", named(old), named(new))
        }
    }
}

fn notes(of: &Series, change: &NightChange) -> Vec<String> {
    let mut said = Vec::new();
    if change.known == Known::Unconfirmed {
        said.push("seen for the first time; the next night makes sure".to_owned());
    }
    let (before, after) = (&of.nights[change.before], &of.nights[change.after]);
    let missing = change.after - change.before - 1;
    if missing > 0 {
        said.push(format!(
            "{} between these two {} no figure",
            show::plural(missing, "night"),
            if missing == 1 { "has" } else { "have" }
        ));
    }
    if before.hotlap != after.hotlap {
        said.push(format!(
            "hotlap itself has changed ({} → {})",
            before.hotlap, after.hotlap
        ));
    }
    if change.bounded {
        said.push("in some of these nights the generator was the limit".to_owned());
    }
    if let Some(correlation) = of.correlation.filter(|_| of.is_correlated()) {
        said.push(format!(
            "nights depend on the ones before them (correlation {correlation:.2}), so this may be chance"
        ));
    }
    said
}

/// A change without its metric and its verdict, which its gate says already: `grew 9 % (44 MiB → 48 MiB) between a1b2 and c3d4
/// (2026-11-20 to 2026-11-21)`.
pub(super) fn change_words(of: &Series, change: &NightChange) -> String {
    let part = part(of, change);
    let between = between(&of.nights[change.before], &of.nights[change.after]);
    let words = format!("{} {} ({}) {between}", part.verb, part.size, part.figures);
    with_notes(words, &part.notes)
}

/// A change in a sentence without its cell and its stop: `peak RSS grew 9 % (44 MiB → 48 MiB) between a1b2 and c3d4 (2026-11-20 to
/// 2026-11-21): worse`, with what makes it less sure behind it.
pub fn change_sentence(of: &Series, change: &NightChange) -> String {
    let part = part(of, change);
    let between = between(&of.nights[change.before], &of.nights[change.after]);
    let text = format!(
        "{} {} {} ({}) {between}: {}",
        part.metric,
        part.verb,
        part.size,
        part.figures,
        word(change)
    );
    with_notes(text, &part.notes).replace('\u{a0}', " ")
}

fn with_notes(mut text: String, notes: &[String]) -> String {
    for note in notes {
        text.push_str("; ");
        text.push_str(note);
    }
    text
}

/// A metric's name inside a sentence: `peak RSS`.
pub fn in_sentence(metric: &Metric) -> &'static str {
    match metric.name {
        "requests_per_second" => "requests/s",
        "requests_per_cpu_second" => "requests/CPU-s",
        "latency_p50" => "latency p50",
        "latency_p90" => "latency p90",
        "latency_p99" => "latency p99",
        "rss_idle" => "idle RSS",
        "rss_peak" => "peak RSS",
        "rss_after" => "RSS after load",
        "pss_loaded" => "loaded PSS",
        "cpu" => "CPU time",
        "startup" => "start-up",
        "capacity" => "capacity",
        _ => metric.label,
    }
}

/// A history for programs: every series with its nights and changes. Figures are in the units that the names of metrics end in.
pub fn history_json(
    suite: &str,
    profile: Option<&str>,
    all: &[Series],
    notes: &[String],
) -> Result<Vec<u8>, ReportError> {
    let mut value = json!({
        "format": FORMAT,
        "suite": suite,
        "profile": profile,
        "rules": rules(),
        "series": all.iter().map(whole).collect::<Vec<_>>(),
        "notes": notes,
    });
    value.sort_all_objects();
    report_json::bytes(&value)
}

/// What `report.json` has of the nights; none where the page has no section of them.
pub(super) fn json(input: &Input<'_>, all: &[Series]) -> Option<Value> {
    if all.is_empty() {
        return None;
    }
    let with_changes = all.iter().filter(|one| !one.changes.is_empty());
    let one = |one: &Series| {
        let mut value = head(one);
        value.insert("nights_count".to_owned(), json!(one.nights.len()));
        let new: Vec<&NightChange> = one.told_by(&input.run.id).collect();
        let changes = one.changes.iter().map(|change| {
            let mut value = change_json(one, change);
            value["new"] = json!(new.contains(&change));
            value
        });
        value.insert("changes".to_owned(), changes.collect());
        Value::Object(value)
    };
    Some(json!({
        "nights_count": all.iter().map(|one| one.nights.len()).max().unwrap_or(0),
        "rules": rules(),
        "series": with_changes.map(one).collect::<Vec<_>>(),
    }))
}

fn rules() -> Value {
    let Rules {
        window,
        p,
        least_share,
        least_side,
        least_values,
        ..
    } = Rules::NIGHTS;
    json!({
        "window_nights": window,
        "p_below": p,
        "least_share": least_share,
        "nights_on_both_sides": least_side,
        "nights_needed": least_values,
        "correlation_warning": crate::stats::CORRELATED,
    })
}

fn head(of: &Series) -> Map<String, Value> {
    let value = json!({
        "cell": of.cell,
        "machine": of.machine,
        "metric": of.metric.column(),
        "begins": of.begins.words(),
        "correlation": of.correlation,
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn whole(of: &Series) -> Value {
    let mut value = head(of);
    value.insert("nights".to_owned(), of.nights.iter().map(night).collect());
    let changes = of.changes.iter().map(|change| change_json(of, change));
    value.insert("changes".to_owned(), changes.collect());
    Value::Object(value)
}

fn night(night: &Night) -> Value {
    let mut value = json!({
        "run": night.run,
        "time": night.time,
        "revision": night.revision,
    });
    match &night.seen {
        Seen::Figure {
            median,
            interval,
            bounded,
        } => {
            value["median"] = json!(median);
            value["interval"] = json!(interval.map(|(low, high)| [low, high]));
            value["bound"] = json!(bounded.then_some(crate::record::AT_LEAST));
        }
        Seen::Gap { state, reason } => {
            value["median"] = Value::Null;
            value["state"] = json!(state);
            value["reason"] = json!(reason);
        }
    }
    value
}

fn change_json(of: &Series, change: &NightChange) -> Value {
    let side =
        |night: &Night| json!({ "run": night.run, "time": night.time, "revision": night.revision });
    json!({
        "before": side(&of.nights[change.before]),
        "after": side(&of.nights[change.after]),
        "from": change.from,
        "to": change.to,
        "ratio": Some(change.to / change.from).filter(|ratio| ratio.is_finite()),
        "p": change.p,
        "word": word(change),
        "known": match change.known {
            Known::Unconfirmed => "unconfirmed",
            Known::New => "new",
            Known::Earlier => "earlier",
        },
        "bounded": change.bounded,
        "sentence": change_sentence(of, change),
    })
}
