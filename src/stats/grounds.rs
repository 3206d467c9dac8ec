//! What an exact test of two cells is made of: how many trials there are, and how much single ones spread. From that follows whether
//! so many trials can say anything, and what they could have shown.

use super::ENOUGH_TRIALS;
use super::power::{
    at_least, least_paired_p, least_trials, least_unpaired, least_unpaired_p, paired_change,
    unpaired_change,
};

/// The share of comparisons of equal cells that may name a difference, over all that are taken together.
pub(super) const LEVEL: f64 = 0.05;

/// What a test is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grounds {
    /// How much single trials spread, as a share.
    spread: f64,
    /// Trials of either side; rounds, where they are paired.
    n: usize,
    m: usize,
    paired: bool,
}

impl Grounds {
    /// Rounds in which both were measured, by the logarithms of their ratios.
    pub(super) fn of_rounds(logs: &[f64]) -> Self {
        Self {
            // The logarithm of a ratio has the spread of both its sides.
            spread: (variance(logs) / 2.0).sqrt(),
            n: logs.len(),
            m: logs.len(),
            paired: true,
        }
    }

    /// All trials of the one beside all of the other, by the logarithms of their figures.
    pub(super) fn of_sides(one: &[f64], other: &[f64]) -> Self {
        Self {
            spread: f64::midpoint(variance(one), variance(other)).sqrt(),
            n: one.len(),
            m: other.len(),
            paired: false,
        }
    }

    /// Rounds where there are enough of them, else all trials of either side.
    pub(super) fn of(rounds: &[f64], one: &[f64], other: &[f64]) -> Self {
        if rounds.len() >= ENOUGH_TRIALS {
            Self::of_rounds(rounds)
        } else {
            Self::of_sides(one, other)
        }
    }

    /// Whether they are rounds.
    pub(super) fn is_paired(&self) -> bool {
        self.paired
    }

    /// How many trials it takes, where so few can name nothing among so many comparisons (Holm), however clear it is.
    pub(super) fn too_few_for(&self, comparisons: usize) -> Option<u32> {
        let least = if self.paired {
            least_paired_p(self.n)
        } else {
            least_unpaired_p(self.n, self.m)
        };
        (least * comparisons as f64 > LEVEL).then(|| {
            if self.paired {
                least_trials(comparisons)
            } else {
                u32::try_from(least_unpaired(comparisons)).unwrap_or(u32::MAX)
            }
        })
    }

    /// The smallest change that is found in four of five runs by the whole rule: among so many comparisons, and called one
    /// from `least` on.
    pub(super) fn could_have_seen(&self, comparisons: usize, least: f64) -> f64 {
        let fewer = self.n.min(self.m);
        let seen = if self.paired {
            paired_change(self.spread, fewer, comparisons)
        } else {
            unpaired_change(self.spread, fewer, comparisons)
        };
        seen.max(at_least(least, self.spread, fewer))
    }
}

fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (n - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_few_trials_are_too_few_for_so_many_comparisons() {
        let six = Grounds::of_rounds(&[0.1, 0.2, 0.1, 0.3, 0.1, 0.2]);
        assert_eq!(six.too_few_for(1), None);
        assert_eq!(six.too_few_for(2), Some(7));
        let four = Grounds::of_sides(&[0.1, 0.2, 0.1, 0.3], &[0.1, 0.2, 0.4, 0.2]);
        assert_eq!(four.too_few_for(1), None);
        assert_eq!(four.too_few_for(2), Some(5));
        // More on one side help the other.
        let more = Grounds::of_sides(&[0.1, 0.2, 0.1, 0.3], &[0.1; 8]);
        assert_eq!(more.too_few_for(2), None);
    }

    #[test]
    fn more_comparisons_and_more_that_is_cared_for_take_larger_changes() {
        let rounds = Grounds::of_rounds(&[0.01, -0.02, 0.03, 0.0, -0.01, 0.02, 0.01, -0.03]);
        let seen = |all, least| rounds.could_have_seen(all, least);
        assert!(seen(3, 0.0) > seen(1, 0.0));
        assert!(seen(1, 0.1) > 0.1);
        let alike = Grounds::of_sides(&[0.0; 6], &[0.0; 6]);
        assert!((alike.could_have_seen(1, 0.05) - 0.05).abs() < 1e-12);
    }
}
