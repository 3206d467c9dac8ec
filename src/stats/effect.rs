//! Whether a toggle does anything: two cells that differ in its value are held against each other by what is expected of
//! their answers, by what was seen of them, and at last by what reached the processes that serve. A difference
//! between figures of two cells that do the same is chance, and must not be read as the price of a toggle.

use super::CellSummary;
use super::configured::{Setting, configured, load};
use super::seen::Seen;
use crate::ids::CellId;
use crate::spec::{Cell, Expect, LoadSpec, Spec};
use std::collections::HashMap;

/// What is known of the effect of another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// There is nothing to judge it by.
    Unknown,
    /// What is expected of the answers differs, and both were as expected.
    Proved,
    /// Something that was seen differs; what, in words.
    Seen(Vec<String>),
    /// Only what is configured differs, and it reached what serves.
    OnlyConfigured(Hidden),
    /// Both are the same revision, and nothing else differs: what lies between their figures is chance, and shows
    /// how much of it there is.
    SameRevision,
    /// Nothing that was seen differs, and nothing that is configured reached what serves.
    Nothing(Hidden),
}

/// What differs between two cells of which everything looks the same from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hidden {
    /// What differs and reached what serves, in words.
    pub reached: Vec<String>,
    /// What did not, in sentences without their full stop.
    pub lost: Vec<String>,
    /// Whether bodies differ from answer to answer, so that they were not compared.
    pub bodies_vary: bool,
}

impl Effect {
    /// The effect as one word of CSV and JSON; none where nothing is known.
    pub fn word(&self) -> Option<&'static str> {
        match self {
            Self::Unknown => None,
            Self::Proved => Some("proved"),
            Self::Seen(_) => Some("seen"),
            Self::OnlyConfigured(_) => Some("only configured"),
            Self::SameRevision => Some("same revision"),
            Self::Nothing(_) => Some("nothing"),
        }
    }

    /// Whether the two must not be compared.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing(_))
    }

    /// What differs, or why nothing does.
    pub fn words(&self) -> &[String] {
        match self {
            Self::Unknown | Self::Proved | Self::SameRevision => &[],
            Self::Seen(words) => words,
            Self::OnlyConfigured(hidden) => &hidden.reached,
            Self::Nothing(hidden) => &hidden.lost,
        }
    }
}

/// Two measured cells that differ in one toggle only.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'c, 'a> {
    /// The toggle.
    pub toggle: &'a str,
    /// The cell that departs.
    pub of: &'c CellSummary<'a>,
    /// The one with the usual value: the baseline's, else the first.
    pub to: &'c CellSummary<'a>,
}

/// Every pair of measured cells that differ in one toggle only, of which one has the toggle's usual value, by toggle and in
/// file order.
pub fn pairs<'c, 'a>(spec: &'a Spec, cells: &'c [CellSummary<'a>]) -> Vec<Pair<'c, 'a>> {
    let mut pairs = Vec::new();
    let by_id: HashMap<&CellId, &Cell> = spec.cells.iter().map(|cell| (&cell.id, cell)).collect();
    let toggles = spec.axes.iter().map(|axis| (&axis.name, &axis.values));
    for (toggle, values) in toggles.filter(|(name, _)| !matches!(name.as_str(), "server" | "load"))
    {
        let mut alike: HashMap<Vec<&str>, Vec<&CellSummary<'a>>> = HashMap::new();
        let having = cells
            .iter()
            .filter(|cell| value(cell.cell, toggle).is_some());
        for cell in having.filter(|cell| cell.valid().next().is_some()) {
            alike
                .entry(others(cell.cell, toggle))
                .or_default()
                .push(cell);
        }
        for cell in cells {
            let Some(group) = alike.get(&others(cell.cell, toggle)) else {
                continue;
            };
            let base = cell.cell.baseline.as_ref();
            let base = base.and_then(|id| by_id.get(id).copied());
            let usual = base
                .and_then(|base| value(base, toggle))
                .or_else(|| values.first().map(|(name, _)| name.as_str()));
            let is_usual = |cell: &CellSummary<'_>| value(cell.cell, toggle) == usual;
            let to = group.iter().copied().find(|other| is_usual(other));
            let Some(to) = to.filter(|_| !is_usual(cell)) else {
                continue;
            };
            if value(cell.cell, toggle).is_some() && cell.valid().next().is_some() {
                pairs.push(Pair {
                    toggle,
                    of: cell,
                    to,
                });
            }
        }
    }
    pairs
}

fn value<'a>(cell: &'a Cell, toggle: &str) -> Option<&'a str> {
    let choice = cell.toggles.iter().find(|choice| choice.toggle == toggle);
    choice.map(|choice| choice.value.as_str())
}

/// The coordinates of a cell without one toggle.
fn others<'a>(cell: &'a Cell, toggle: &str) -> Vec<&'a str> {
    let rest = cell.toggles.iter().filter(|choice| choice.toggle != toggle);
    [cell.server.as_str(), cell.load.as_str()]
        .into_iter()
        .chain(rest.flat_map(|choice| [choice.toggle.as_str(), choice.value.as_str()]))
        .collect()
}

/// What is known of the effect of the toggles by which two measured cells of the same server under the same load differ.
pub fn effect(of: &CellSummary<'_>, to: &CellSummary<'_>) -> Effect {
    let (a, b) = (of.cell, to.cell);
    if a.server != b.server || a.load != b.load || a.toggles == b.toggles {
        return Effect::Unknown;
    }
    let of_load = load(&a.work, &b.work);
    if !of_load.is_empty() {
        return Effect::Seen(of_load);
    }
    let seen = Seen::of(of).zip(Seen::of(to));
    match expected(&a.work, &b.work) {
        Expected::Apart => return Effect::Proved,
        // One answer could be as both expect: only answers that differ in what they speak of prove anything.
        Expected::Otherwise(headers) => {
            let apart = |(a, b): &(Seen<'_>, Seen<'_>)| a.is_other_answer(b, &headers);
            if seen.as_ref().is_some_and(apart) {
                return Effect::Proved;
            }
        }
        Expected::Alike => {}
    }
    let Some((seen_of, seen_to)) = seen else {
        return Effect::Unknown;
    };
    let differences = seen_of.differences(&seen_to);
    if !differences.is_empty() {
        return Effect::Seen(differences);
    }
    let bodies_vary = seen_of.body.is_none() || seen_to.body.is_none();
    let settings = configured((a, &seen_of), (b, &seen_to));
    if settings.is_empty() && a.is_same_revision(b) == Some(true) {
        return Effect::SameRevision;
    }
    judge(settings, bodies_vary)
}

fn judge(settings: Vec<Setting>, bodies_vary: bool) -> Effect {
    let mut hidden = Hidden {
        bodies_vary,
        ..Hidden::default()
    };
    for setting in settings {
        match setting {
            Setting::Runs(what) => return Effect::Seen(vec![what]),
            Setting::Reached(what) => hidden.reached.push(what),
            Setting::Lost(why) => hidden.lost.push(why),
        }
    }
    if !hidden.reached.is_empty() {
        return Effect::OnlyConfigured(hidden);
    }
    if hidden.lost.is_empty() {
        hidden
            .lost
            .push("nothing that is started or sent differs".to_owned());
    }
    Effect::Nothing(hidden)
}

/// How the expectations of two cells differ.
enum Expected<'a> {
    /// Not at all.
    Alike,
    /// No answer is as both expect.
    Apart,
    /// One answer could be as both expect; the headers that either speaks of.
    Otherwise(Vec<&'a str>),
}

fn expected<'a>(a: &'a LoadSpec, b: &'a LoadSpec) -> Expected<'a> {
    if a.mix.is_empty() && b.mix.is_empty() {
        return match (&a.expect, &b.expect) {
            (a, b) if a == b => Expected::Alike,
            (a, b) if excludes(a, b) || excludes(b, a) => Expected::Apart,
            (a, b) => Expected::Otherwise([a, b].into_iter().flat_map(named).collect()),
        };
    }
    // Of a mix only the first request is seen, and each is verified.
    let all = |load: &'a LoadSpec| load.mix.iter().map(|request| &request.expect);
    if all(a).eq(all(b)) {
        Expected::Alike
    } else {
        Expected::Apart
    }
}

fn excludes(a: &Expect, b: &Expect) -> bool {
    let other_value = |(name, value): &(String, String)| {
        let same_name = b.headers.iter().filter(|(other, _)| other == name);
        b.no_headers.contains(name) || same_name.into_iter().any(|(_, other)| other != value)
    };
    let other_body = a.body.is_some() && b.body.is_some() && a.body != b.body;
    a.status != b.status || other_body || a.headers.iter().any(other_value)
}

fn named(expect: &Expect) -> impl Iterator<Item = &str> {
    let there = expect.headers.iter().map(|(name, _)| name.as_str());
    there.chain(expect.no_headers.iter().map(String::as_str))
}

#[cfg(test)]
#[path = "effect_tests.rs"]
mod tests;
