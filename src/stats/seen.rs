//! What was seen of a cell over all its valid trials: what one trial has and another has not varies by itself, and
//! says nothing about the cell.

use super::CellSummary;
use crate::record::{Arrival, Observed};
use crate::units::show_bytes;
use std::collections::{BTreeMap, BTreeSet};

/// A header that announces what an answer may depend on, and not that it did.
const ANNOUNCES: &str = "vary";
/// Sizes of bodies that vary by themselves differ where more than this share of the larger lies between them,
const APART: f64 = 0.02;
/// and more than these bytes.
const APART_BYTES: u64 = 32;

/// The lowest and the highest of several figures.
type Range = (u64, u64);

/// What was seen of a cell.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    statuses: BTreeSet<u16>,
    headers: BTreeMap<&'a str, &'a str>,
    varying: BTreeSet<&'a str>,
    wire: Range,
    decoded: Option<Range>,
    /// The hash of the body; none where bodies vary.
    pub(super) body: Option<&'a str>,
    processes: Option<Range>,
    /// The fingerprint of what serves; none where it is not known or not the same in all trials.
    pub(super) mark: Option<&'a str>,
    arrivals: Vec<&'a Arrival>,
    /// The words of the command that were missing in every trial.
    pub(super) words_missing: Option<BTreeSet<usize>>,
}

/// What became of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variable {
    /// It could not be looked at.
    Unknown,
    /// It is as the suite says.
    Arrived,
    /// It has another value.
    Changed,
    /// It is not as the suite says: not there, or still there.
    Missing,
}

impl<'a> Seen<'a> {
    /// What the valid trials of a cell saw; none where none saw anything.
    pub(super) fn of(cell: &CellSummary<'a>) -> Option<Self> {
        let all: Vec<&'a Observed> = cell
            .valid()
            .filter_map(|trial| trial.observed.as_deref())
            .collect();
        let (first, rest) = all.split_first()?;
        let (headers, varying) = headers(&all);
        let serving = || all.iter().filter_map(|seen| seen.serving.as_ref());
        let words = serving().map(|serving| serving.words_missing.clone());
        let words: Option<Vec<Vec<usize>>> = words.collect();
        Some(Self {
            statuses: all.iter().map(|seen| seen.status).collect(),
            headers,
            varying,
            wire: range(all.iter().map(|seen| seen.wire_bytes))?,
            decoded: range(all.iter().filter_map(|seen| seen.decoded_bytes)),
            body: first.body_sha256.as_deref().filter(|body| {
                rest.iter()
                    .all(|seen| seen.body_sha256.as_deref() == Some(body))
            }),
            processes: range(serving().map(|serving| u64::from(serving.processes))),
            mark: same(serving().map(|serving| serving.mark.as_deref())),
            arrivals: serving()
                .filter_map(|serving| serving.environment.as_ref())
                .collect(),
            words_missing: words.and_then(|words| {
                let sets = words.into_iter().map(BTreeSet::from_iter);
                sets.reduce(|a: BTreeSet<usize>, b| &a & &b)
            }),
        })
    }

    /// Whether the answers differ in their status, in one of these headers, or in their bodies.
    pub(super) fn is_other_answer(&self, other: &Self, headers: &[&str]) -> bool {
        let is_there = |seen: &Self, name: &&str| {
            (
                seen.headers.get(*name).copied(),
                seen.varying.contains(name),
            )
        };
        let bodies = self.body.zip(other.body);
        self.statuses.is_disjoint(&other.statuses)
            || bodies.is_some_and(|(own, other)| own != other)
            || headers
                .iter()
                .any(|name| is_there(self, name) != is_there(other, name))
    }

    /// What can be seen to differ from outside, in words.
    pub(super) fn differences(&self, other: &Self) -> Vec<String> {
        let mut words = Vec::new();
        if self.statuses.is_disjoint(&other.statuses) {
            let list = |all: &BTreeSet<u16>| list(all.iter().map(u16::to_string));
            let (own, others) = (list(&self.statuses), list(&other.statuses));
            words.push(format!("the status ({own} and {others})"));
        }
        words.extend(self.other_headers(other));
        let known = self.body.zip(other.body);
        if known.is_some_and(|(own, other)| own != other) {
            words.push("the body".to_owned());
        }
        let apart = |a: Range, b: Range| match known {
            Some(_) => gap(a, b) > 0,
            None => gap(a, b) > APART_BYTES && gap(a, b) as f64 > APART * a.1.max(b.1) as f64,
        };
        let sizes = [
            (Some(self.wire), Some(other.wire), "on the wire"),
            (self.decoded, other.decoded, "after decoding"),
        ];
        for (own, other, what) in sizes {
            if let Some((own, other)) = own.zip(other)
                && apart(own, other)
            {
                let show = |range: Range| show_bytes(range.1 as f64);
                let (own, other) = (show(own), show(other));
                words.push(format!("the size of the body {what} ({own} and {other})"));
            }
        }
        if let Some((own, other)) = self.processes.zip(other.processes)
            && gap(own, other) > 0
        {
            words.push(format!(
                "the number of processes ({} and {})",
                own.1, other.1
            ));
        }
        words
    }

    fn other_headers(&self, other: &Self) -> Option<String> {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for (one, two) in [(self, other), (other, self)] {
            let missing =
                |name: &&&str| !two.headers.contains_key(**name) && !two.varying.contains(**name);
            names.extend(one.headers.keys().filter(missing));
            names.extend(one.varying.iter().filter(missing));
        }
        let differ = self.headers.iter().filter(|(name, value)| {
            let two = other.headers.get(*name);
            two.is_some_and(|two| two != *value)
        });
        names.extend(differ.map(|(name, _)| name));
        names.remove(ANNOUNCES);
        if names.is_empty() {
            return None;
        }
        let headers = if names.len() == 1 {
            "header"
        } else {
            "headers"
        };
        let names = list(names.into_iter().map(str::to_owned));
        Some(format!("the {headers} {names}"))
    }

    /// What became of a variable that the suite speaks of.
    pub(super) fn variable(&self, name: &str) -> Variable {
        let any = |of: fn(&Arrival) -> &BTreeSet<String>| {
            self.arrivals
                .iter()
                .any(|arrival| of(arrival).contains(name))
        };
        if any(|arrival| &arrival.arrived) {
            Variable::Arrived
        } else if any(|arrival| &arrival.changed) {
            Variable::Changed
        } else if any(|arrival| &arrival.missing) {
            Variable::Missing
        } else {
            Variable::Unknown
        }
    }
}

/// The headers that all trials have with the same value, and the names of the others.
fn headers<'a>(all: &[&'a Observed]) -> (BTreeMap<&'a str, &'a str>, BTreeSet<&'a str>) {
    let mut headers = BTreeMap::new();
    let mut varying = BTreeSet::new();
    for seen in all {
        varying.extend(seen.varying.iter().map(String::as_str));
        for (name, value) in &seen.headers {
            if all
                .iter()
                .all(|other| other.headers.get(name) == Some(value))
            {
                headers.insert(name.as_str(), value.as_str());
            } else {
                varying.insert(name.as_str());
            }
        }
    }
    headers.retain(|name, _| !varying.contains(name));
    (headers, varying)
}

/// What all of them are; none where one is not known.
fn same<'a>(mut all: impl Iterator<Item = Option<&'a str>>) -> Option<&'a str> {
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}

fn range(all: impl Iterator<Item = u64>) -> Option<Range> {
    all.fold(None, |range, one| match range {
        None => Some((one, one)),
        Some((low, high)) => Some((one.min(low), one.max(high))),
    })
}

/// How far two ranges lie apart.
fn gap(a: Range, b: Range) -> u64 {
    a.0.saturating_sub(b.1).max(b.0.saturating_sub(a.1))
}

/// `a, b and c`.
pub(super) fn list(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}
