//! Exact intervals and tests for small numbers of trials. None of them assumes a shape of the noise;
//! the paired ones assume that it is symmetric about its middle.
//!
//! Sources: Hodges and Lehmann, *Estimates of location based on rank tests*, Annals of Mathematical
//! Statistics 34 (1963); Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods* (2014), 3.1–3.3 and
//! 4.1–4.3; Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of
//! Statistics 6 (1979).

use super::figures::median;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The share of intervals that hold the true value.
pub const LEVEL: f64 = 0.95;

/// An estimate with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The same after a transformation that keeps the order.
    #[must_use]
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self {
            estimate: of(self.estimate),
            low: of(self.low),
            high: of(self.high),
        }
    }

    /// Whether a value lies outside.
    pub fn excludes(&self, value: f64) -> bool {
        value < self.low || value > self.high
    }
}

/// The middle of differences: the median of the means of all pairs of them, each with itself too
/// (Hodges–Lehmann), and the interval that the exact signed-rank test gives. None with fewer than 6, since
/// no interval of 95 % exists.
pub fn paired(differences: &[f64]) -> Option<Interval> {
    let n = differences.len();
    let k = tail(&signed_rank(n), (1.0 - LEVEL) / 2.0)?;
    let mut means: Vec<f64> = (0..n)
        .flat_map(|i| (i..n).map(move |j| f64::midpoint(differences[i], differences[j])))
        .collect();
    within(&mut means, k)
}

/// By how much values of `of` lie above those of `to`: the median of all differences, and the interval that
/// the exact Mann–Whitney test gives. None with fewer than 4 on either side, or where no interval of 95 % exists.
pub fn unpaired(of: &[f64], to: &[f64]) -> Option<Interval> {
    if of.len().min(to.len()) < LEAST_UNPAIRED {
        return None;
    }
    let k = unpaired_rank(of.len(), to.len())?;
    let mut differences: Vec<f64> = of
        .iter()
        .flat_map(|a| to.iter().map(move |b| a - b))
        .collect();
    within(&mut differences, k)
}

thread_local! {
    /// Ranks that were found before: a report asks for the same numbers of trials again and again.
    static RANKS: RefCell<BTreeMap<(usize, usize), Option<usize>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Which difference, from 0 and from either end, bounds the interval of so many values against so many.
fn unpaired_rank(n: usize, m: usize) -> Option<usize> {
    let known = RANKS.with_borrow(|ranks| ranks.get(&(n, m)).copied());
    known.unwrap_or_else(|| {
        let found = tail(&mann_whitney(n, m), (1.0 - LEVEL) / 2.0);
        RANKS.with_borrow_mut(|ranks| ranks.insert((n, m), found));
        found
    })
}

/// With fewer trials on either side a difference cannot be told from chance: of the 20 ways in which three and three may lie, 2 are
/// as far apart as can be.
pub const LEAST_UNPAIRED: usize = 4;

/// The median with the interval between two of the values, in order: the narrowest pair of ranks, symmetric, that
/// holds the true median in at least 95 %. None with fewer than 6 values.
pub fn around_median(values: &[f64]) -> Option<Interval> {
    let k = tail(&binomial(values.len()), (1.0 - LEVEL) / 2.0)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(Interval {
        estimate: median(&sorted)?,
        low: sorted[k],
        high: sorted[sorted.len() - 1 - k],
    })
}

/// The two-sided p of the exact signed-rank test that the middle of differences is 0. Equal ranks share
/// their mean, and their distribution is the exact one of those; what is 0 is left out.
pub fn paired_p(differences: &[f64]) -> f64 {
    let mut own: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    own.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let doubled = doubled_ranks(&own.iter().map(|d| d.abs()).collect::<Vec<_>>());
    let positive: usize = own
        .iter()
        .zip(&doubled)
        .filter(|(d, _)| **d > 0.0)
        .map(|(_, rank)| rank)
        .sum();
    two_sided(&sums_of_some(&doubled), positive)
}

/// The two-sided p of the exact Mann–Whitney test that neither side lies above the other. Equal ranks share
/// their mean, and their distribution is the exact one of those.
pub fn unpaired_p(of: &[f64], to: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> = of
        .iter()
        .map(|value| (*value, true))
        .chain(to.iter().map(|value| (*value, false)))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let doubled = doubled_ranks(&all.iter().map(|(value, _)| *value).collect::<Vec<_>>());
    let own: usize = all
        .iter()
        .zip(&doubled)
        .filter(|((_, own), _)| *own)
        .map(|(_, rank)| rank)
        .sum();
    two_sided(&sums_of(of.len(), &doubled), own)
}

/// The p values as they stand when so many questions are asked at once (Holm): each is at most 0.05 where the
/// question is answered at a level of 5 % for all together.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut highest: f64 = 0.0;
    for (place, at) in order.into_iter().enumerate() {
        let left = (p.len() - place) as f64;
        highest = highest.max((p[at] * left).min(1.0));
        adjusted[at] = highest;
    }
    adjusted
}

/// The interval between the `k`-th value from either end, from 0, and the median of all.
fn within(values: &mut [f64], k: usize) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    Some(Interval {
        estimate: median(values)?,
        low: values[k],
        high: values[values.len() - 1 - k],
    })
}

/// The largest k such that a statistic of at most k comes with no more than `share`; none where even the lowest
/// comes more often.
fn tail(distribution: &[f64], share: f64) -> Option<usize> {
    let mut sum = 0.0;
    let mut found = None;
    for (k, p) in distribution.iter().enumerate() {
        sum += p;
        if sum > share * (1.0 + 1e-12) {
            break;
        }
        found = Some(k);
    }
    found
}

/// How likely each sum of ranks of the positive differences is, of `n` with no equal ones.
fn signed_rank(n: usize) -> Vec<f64> {
    sums_of_some(&(1..=n).collect::<Vec<_>>())
}

/// How likely each sum is when every part is in it or not, as a coin falls.
fn sums_of_some(parts: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; parts.iter().sum::<usize>() + 1];
    sums[0] = 1.0;
    let mut highest = 0;
    for part in parts {
        highest += part;
        for sum in (0..=highest).rev() {
            let with = if sum >= *part { sums[sum - part] } else { 0.0 };
            sums[sum] = f64::midpoint(sums[sum], with);
        }
    }
    sums
}

/// How likely each number of pairs in which the first side is above is, with no equal values.
fn mann_whitney(n: usize, m: usize) -> Vec<f64> {
    let sums = sums_of(n, &(1..=n + m).collect::<Vec<_>>());
    // The lowest sum of ranks is no pair.
    sums[n * (n + 1) / 2..].to_vec()
}

/// How likely each sum of `n` of the parts is, when all choices of `n` are as likely.
fn sums_of(n: usize, parts: &[usize]) -> Vec<f64> {
    let most: usize = {
        let mut sorted = parts.to_vec();
        sorted.sort_unstable();
        sorted.iter().rev().take(n).sum()
    };
    // The ways to choose so many of the parts with that sum, as a share of all ways with so many chosen.
    let mut ways = vec![vec![0.0; most + 1]; n + 1];
    ways[0][0] = 1.0;
    let mut highest = 0;
    for part in parts {
        highest = most.min(highest + part);
        for chosen in (1..=n).rev() {
            for sum in (*part..=highest).rev() {
                let more = ways[chosen - 1][sum - part];
                ways[chosen][sum] += more;
            }
        }
    }
    let all: f64 = ways[n].iter().sum();
    ways[n].iter().map(|one| one / all).collect()
}

/// How likely each number of heads among `n` coins is.
fn binomial(n: usize) -> Vec<f64> {
    sums_of_some(&vec![1; n])
}

/// The ranks of sorted values, from 1, twice over so that the mean of equal ones is whole.
fn doubled_ranks(sorted: &[f64]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    while ranks.len() < sorted.len() {
        let first = ranks.len();
        let equal = sorted[first..]
            .iter()
            .take_while(|value| value.total_cmp(&sorted[first]).is_eq())
            .count();
        ranks.extend(std::iter::repeat_n(2 * first + equal + 1, equal));
    }
    ranks
}

/// The likelihood of a statistic at least as far out as this, on either side.
fn two_sided(distribution: &[f64], statistic: usize) -> f64 {
    let below: f64 = distribution[..=statistic].iter().sum();
    let above: f64 = distribution[statistic..].iter().sum();
    (2.0 * below.min(above)).min(1.0)
}

#[cfg(test)]
#[path = "exact_tests.rs"]
mod tests;
