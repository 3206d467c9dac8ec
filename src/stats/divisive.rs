//! Where a series of figures changes: E-divisive in windows, with a t-test.
//!
//! A window is split where the energy distance between what lies left and right of the split is largest, and again, as long as a
//! loose t-test sees a difference; then the weakest splits are taken away, until all that are left pass the strict one and
//! are large enough. There is no chance in it: the same figures have the same changes.
//!
//! Sources: Matteson and James, *A nonparametric approach for multiple change point analysis of multivariate data*, JASA
//! 109 (2014); Daly et al., *The use of change point detection to identify software performance regressions in a continuous
//! integration system*, ICPE 2020; Fleming et al., *Hunter: using change point detection to hunt for performance regressions*,
//! ICPE 2023; Apache Otava. `tests/golden/changes` holds Otava's values. Done otherwise: a variance is that of a sample, after a
//! split was taken away both of its neighbours are judged anew (Otava looks at the right one, and at one that has not
//! changed), and what a few bad nights alone make is no change: there must be nights enough on both sides, and the medians
//! must differ as the means do.

use super::figures::median;
use super::student::{mean, t_test};

/// How much looser the first test is than the last.
const LOOSER: f64 = 10.0;

/// When a difference is a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Values that are looked at together; each window begins half a window after the one before, or at its last change.
    pub window: usize,
    /// The p of the t-test is below this.
    pub p: f64,
    /// The mean on one side is larger than that on the other by more than this share of the smaller one.
    pub least_share: f64,
    /// Values between a change and its neighbours, or the ends, at the least.
    pub least_side: usize,
    /// With fewer values nothing is looked for.
    pub least_values: usize,
    /// Whether the medians must differ by more than that too, in the same direction.
    pub(super) medians_too: bool,
    /// What is taken off the number of values for their variance.
    pub(super) taken_off: usize,
}

impl Rules {
    /// What holds for nights.
    pub const NIGHTS: Self = Self {
        window: 50,
        p: 0.001,
        least_share: 0.03,
        least_side: 3,
        least_values: 10,
        medians_too: true,
        taken_off: 1,
    };
}

/// A change of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The first value after it, from 0.
    pub at: usize,
    /// The mean from the change before, or the beginning, to this one.
    pub before: f64,
    /// The mean from here to the next change, or the end.
    pub after: f64,
    /// The median of the same values before it.
    pub median_before: f64,
    /// The median of those after it.
    pub median_after: f64,
    /// The p of the t-test.
    pub p: f64,
    /// The smaller number of values on a side.
    side: usize,
}

impl Found {
    fn of(values: &[f64], from: usize, at: usize, to: usize, rules: &Rules) -> Self {
        let (left, right) = (&values[from..at], &values[at..to]);
        Self {
            at,
            before: mean(left),
            after: mean(right),
            median_before: median(left).unwrap_or_default(),
            median_after: median(right).unwrap_or_default(),
            p: t_test(left, right, rules.taken_off),
            side: left.len().min(right.len()),
        }
    }

    /// Whether it is large enough.
    fn is_large(&self, rules: &Rules) -> bool {
        let rises = |before: f64, after: f64| after > before;
        let medians = || {
            apart(self.median_before, self.median_after) > rules.least_share
                && rises(self.median_before, self.median_after) == rises(self.before, self.after)
        };
        self.size() > rules.least_share && (!rules.medians_too || medians())
    }

    fn size(&self) -> f64 {
        apart(self.before, self.after)
    }
}

/// By how much the larger one is larger than the smaller one, as a share of the smaller one; 1 where only that is 0.
fn apart(before: f64, after: f64) -> f64 {
    let (before, after) = (before.abs(), after.abs());
    let (low, high) = (before.min(after), before.max(after));
    match (low > 0.0, high > 0.0) {
        (true, _) => high / low - 1.0,
        (false, true) => 1.0,
        (false, false) => 0.0,
    }
}

/// The changes of a series, in order.
pub fn changes(values: &[f64], rules: &Rules) -> Vec<Found> {
    if values.len() < rules.least_values {
        return Vec::new();
    }
    let mut splits: Vec<usize> = Vec::new();
    let step = (rules.window / 2).max(1);
    let mut start = 0;
    while start < values.len() {
        let end = (start + rules.window).min(values.len());
        let found = split(&values[start..end], rules);
        let last = found.last().map_or(0, |at| start + at);
        splits.extend(found.iter().map(|at| start + at));
        start = last.max(start + step);
    }
    splits.sort_unstable();
    splits.dedup();
    merge(values, splits, rules)
}

/// Where a window is split by the loose test, in order.
fn split(window: &[f64], rules: &Rules) -> Vec<usize> {
    let mut splits: Vec<usize> = Vec::new();
    let mut parts = vec![(0, window.len(), candidate(window))];
    loop {
        // Of equal ones the first.
        let mut best: Option<(usize, usize, f64)> = None;
        for (part, (.., candidate)) in parts.iter().enumerate() {
            if let Some((at, distance)) = candidate
                && best.is_none_or(|(.., most)| *distance > most)
            {
                best = Some((part, *at, *distance));
            }
        }
        let Some((part, at, _)) = best else { break };
        let (from, to, _) = parts[part];
        let at = from + at;
        let p = t_test(&window[from..at], &window[at..to], rules.taken_off);
        if p > (rules.p * LOOSER).min(1.0) {
            break;
        }
        let halves = [(from, at), (at, to)].map(|(a, b)| (a, b, candidate(&window[a..b])));
        parts.splice(part..=part, halves);
        splits.push(at);
    }
    splits.sort_unstable();
    splits
}

/// The split of values with the largest energy distance between what lies left of it and what lies right, up to wherever that
/// is largest; and this distance. None with fewer than two values.
fn candidate(values: &[f64]) -> Option<(usize, f64)> {
    let n = values.len();
    let distance = |a: usize, b: usize| (values[a] - values[b]).abs();
    // The distances of each value to all before it, and to those left of the split.
    let to_all: Vec<f64> = (0..n)
        .map(|k| (0..k).map(|i| distance(i, k)).sum())
        .collect();
    let mut to_left = vec![0.0; n];
    let mut within_left = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for at in 1..n {
        within_left += to_all[at - 1];
        let (mut between, mut within_right) = (0.0, 0.0);
        for (k, left) in to_left.iter_mut().enumerate().skip(at) {
            *left += distance(at - 1, k);
            between += *left;
            within_right += to_all[k] - *left;
            let (left, right) = (at as f64, (k + 1 - at) as f64);
            let mut energy = between;
            if at > 1 {
                energy -= right * within_left / (left - 1.0);
            }
            if k > at {
                energy -= left * within_right / (right - 1.0);
            }
            let energy = 2.0 * energy / (left + right);
            if best.is_none_or(|(_, most)| energy > most) {
                best = Some((at, energy));
            }
        }
    }
    best
}

/// Takes the weakest splits away until all that are left are changes: first those too near to another, then those that the
/// strict test does not see, then those that are too small.
fn merge(values: &[f64], splits: Vec<usize>, rules: &Rules) -> Vec<Found> {
    let judged = |splits: &[usize], index: usize| {
        let from = index.checked_sub(1).map_or(0, |before| splits[before]);
        let to = splits.get(index + 1).copied().unwrap_or(values.len());
        Found::of(values, from, splits[index], to, rules)
    };
    let mut splits = splits;
    let mut found: Vec<Found> = (0..splits.len())
        .map(|index| judged(&splits, index))
        .collect();
    while let Some(weakest) = weakest(&found, rules) {
        found.remove(weakest);
        splits.remove(weakest);
        for index in [weakest.checked_sub(1), Some(weakest)]
            .into_iter()
            .flatten()
        {
            if index < splits.len() {
                found[index] = judged(&splits, index);
            }
        }
    }
    found
}

/// The split that must go next.
fn weakest(found: &[Found], rules: &Rules) -> Option<usize> {
    let first_by = |ahead: &dyn Fn(&Found, &Found) -> bool, of: &dyn Fn(&Found) -> bool| {
        let mut chosen: Option<usize> = None;
        for (index, one) in found.iter().enumerate().filter(|(_, one)| of(one)) {
            if chosen.is_none_or(|best| ahead(one, &found[best])) {
                chosen = Some(index);
            }
        }
        chosen
    };
    let less_sure = |one: &Found, than: &Found| one.p > than.p;
    first_by(&less_sure, &|one| one.side < rules.least_side)
        .or_else(|| first_by(&less_sure, &|one| one.p >= rules.p))
        .or_else(|| {
            first_by(&|one, than| one.size() < than.size(), &|one| {
                !one.is_large(rules)
            })
        })
}

/// The correlation of each value with the one after it, of what is left when every part between two changes has lost its
/// mean; none with fewer than `least` values or without any spread.
pub fn correlation(values: &[f64], changes: &[Found], least: usize) -> Option<f64> {
    if values.len() < least.max(2) {
        return None;
    }
    let mut ends: Vec<usize> = changes.iter().map(|change| change.at).collect();
    ends.push(values.len());
    let mut rest = Vec::with_capacity(values.len());
    let mut from = 0;
    for end in ends {
        let part = &values[from..end];
        let own = mean(part);
        rest.extend(part.iter().map(|value| value - own));
        from = end;
    }
    let all: f64 = rest.iter().map(|value| value * value).sum();
    let next: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
    (all > 0.0).then(|| next / all)
}

/// A change moves by at most so many values when more are known.
const MOVES: usize = 5;

/// How long a change has been known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// The last value alone made it: without that it is not found. It may be gone with the next one.
    Unconfirmed,
    /// It is found with the last value and without it, and was not so before: this is the time to tell it.
    New,
    /// It was told before.
    Earlier,
}

/// The changes of a series, and how long each has been known. That two looks running must find a change before it is told
/// halves the false alarms of a series that is looked at every night, and costs one night.
pub fn known_changes(values: &[f64], rules: &Rules) -> Vec<(Found, Known)> {
    let now = changes(values, rules);
    if now.is_empty() {
        return Vec::new();
    }
    let before = |taken: usize| changes(&values[..values.len().saturating_sub(taken)], rules);
    let (then, earlier) = (before(1), before(2));
    let lasting = |found: &[Found], known: &[Found]| -> Vec<Found> {
        let new = fresh(found, known);
        let lasts = found.iter().zip(new).filter(|(_, new)| !new);
        lasts.map(|(change, _)| *change).collect()
    };
    let (told_now, told_then) = (lasting(&now, &then), lasting(&then, &earlier));
    let new: Vec<usize> = told_now
        .iter()
        .zip(fresh(&told_now, &told_then))
        .filter_map(|(change, new)| new.then_some(change.at))
        .collect();
    let is_told = |change: &Found| told_now.iter().any(|told| told.at == change.at);
    let known = |change: &Found| match (is_told(change), new.contains(&change.at)) {
        (false, _) => Known::Unconfirmed,
        (true, true) => Known::New,
        (true, false) => Known::Earlier,
    };
    now.iter().map(|change| (*change, known(change))).collect()
}

/// Which changes were not known before. A known change is one of them, the nearest in the same direction.
fn fresh(found: &[Found], known: &[Found]) -> Vec<bool> {
    let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
    for (now, one) in found.iter().enumerate() {
        for (then, other) in known.iter().enumerate() {
            let apart = one.at.abs_diff(other.at);
            let same = (one.after > one.before) == (other.after > other.before);
            if same && apart <= MOVES {
                pairs.push((apart, now, then));
            }
        }
    }
    pairs.sort_unstable();
    let (mut new, mut used) = (vec![true; found.len()], vec![false; known.len()]);
    for (_, now, then) in pairs {
        if new[now] && !used[then] {
            (new[now], used[then]) = (false, true);
        }
    }
    new
}

#[cfg(test)]
#[path = "divisive_tests.rs"]
mod tests;
