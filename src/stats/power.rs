//! How many trials a comparison needs before anything has been measured.

use super::ENOUGH_TRIALS;
use super::exact::LEAST_UNPAIRED;

/// The constant of the sample size of paired trials: (z for 5 %, two-sided, plus z for 80 % power)², doubled since a
/// ratio has the spread of both its sides: 2 × (1.960 + 0.842)².
const PAIRED: f64 = 15.7;

/// The change, in spreads of single trials, from which on all of six pairs agree on their sign in four of five runs, as the
/// exact test of six demands: √2 times the quantile of the normal distribution at ⁶√0.8.
const ALL_AGREE: f64 = 2.536;

/// Trials of a cell with which a relative `change` is found in four of five runs, at the 5 % level, where single
/// trials spread by `spread`. Both are shares of 1. After Lehr, *Statistics in Medicine* 11 (1992), two more for
/// the rank test.
pub fn needed_trials(spread: f64, change: f64) -> u32 {
    let trials = PAIRED * (spread / change).powi(2) + 2.0;
    // A share of a share can be too small for any number of trials.
    let trials = (trials.ceil().min(f64::from(u32::MAX)) as u32).max(least());
    if trials == least() && change < spread * ALL_AGREE {
        return trials + 1;
    }
    trials
}

/// The largest spread of single trials at which so many `trials` still find a relative `change`.
/// None where they are too few for any.
pub fn findable_spread(trials: u32, change: f64) -> Option<f64> {
    let spread = change * ((f64::from(trials) - 2.0) / PAIRED).sqrt();
    (trials >= least()).then(|| {
        if trials == least() {
            spread.min(change / ALL_AGREE)
        } else {
            spread
        }
    })
}

/// The least trials with which the exact signed-rank test can name one difference among so many
/// `comparisons`, corrected after Holm (*Scandinavian Journal of Statistics* 6, 1979): its smallest p-value, 2 / 2ⁿ, must
/// be at most 5 % of one comparison's share.
pub fn least_trials(comparisons: usize) -> u32 {
    let least_p = (40.0 * comparisons.max(1) as f64).log2();
    (least_p.ceil() as u32).max(least())
}

/// The smallest two-sided p that the exact signed-rank test of `n` pairs can give: 2 of the 2ⁿ ways in which signs may fall.
pub(super) fn least_paired_p(n: usize) -> f64 {
    2.0 * 0.5_f64.powf(n as f64)
}

/// The smallest two-sided p that the exact Mann–Whitney test can give: 2 of all ways to put `n` and `m` values in order
/// have them wholly apart.
pub(super) fn least_unpaired_p(n: usize, m: usize) -> f64 {
    let ways = (1..=n).fold(1.0, |ways, i| ways * (m + i) as f64 / i as f64);
    2.0 / ways
}

/// The least values on either side with which the exact Mann–Whitney test can name one difference among so many
/// `comparisons`, corrected after Holm.
pub(super) fn least_unpaired(comparisons: usize) -> usize {
    // With so many the smallest p is below 10⁻³⁶.
    const MOST: usize = 64;
    let sure = |n: &usize| least_unpaired_p(*n, *n) * comparisons.max(1) as f64 <= 0.05;
    (LEAST_UNPAIRED..MOST).find(sure).unwrap_or(MOST)
}

/// The change, as a share, that is found in four of five runs of `n` rounds of trials that spread by `spread`, where it is asked
/// after together with others, so many `comparisons` in all. That of Student's test at the first level of Holm, with two
/// rounds given away for the rank test, and no less than what that test needs where all rounds must agree on the sign;
/// `comparison_tests.rs` holds it against simulations.
pub(super) fn paired_change(spread: f64, n: usize, comparisons: usize) -> f64 {
    let freedom = n as f64 - 1.0;
    let comparisons = comparisons.max(1) as f64;
    let sure = student(0.025 / comparisons, freedom);
    let found = student(0.2, freedom);
    let by_ranks = (sure + found) * (2.0 / (n as f64 - 2.0)).sqrt();
    // With one round against all others p is 4 / 2ⁿ.
    let all_must_agree = 4.0 * 0.5_f64.powf(n as f64) * comparisons > 0.05;
    let by_signs = 2.0_f64.sqrt() * upper_quantile(1.0 - 0.8_f64.powf(1.0 / n as f64));
    spread
        * if all_must_agree {
            by_ranks.max(by_signs)
        } else {
            by_ranks
        }
}

/// The least change that is found in four of five runs where one is called so from `least` on: the estimate, whose own spread
/// that of `n` pairs of trials is, must be as large too.
pub(super) fn at_least(least: f64, spread: f64, n: usize) -> f64 {
    if least > 0.0 {
        least + POWER * spread * (2.0 / n as f64).sqrt()
    } else {
        0.0
    }
}

/// The change, as a share, that is found in four of five pairs of runs with `n` trials a side that spread by `spread`, where it is
/// asked after together with others, so many `comparisons` in all. That of Student's test at the first level of Holm, with two
/// trials given away for the rank test; `between_tests.rs` holds it against simulations.
pub(super) fn unpaired_change(spread: f64, n: usize, comparisons: usize) -> f64 {
    let freedom = 2.0 * (n as f64 - 1.0);
    let sure = student(0.025 / comparisons.max(1) as f64, freedom);
    let found = student(0.2, freedom);
    let trials = n as f64 - 2.0;
    spread * (sure + found) * (2.0 / trials).sqrt()
}

/// The value that Student's t exceeds with probability `p` below a half (Abramowitz and Stegun, *Handbook of Mathematical
/// Functions*, 26.2.23 and 26.7.5).
fn student(p: f64, freedom: f64) -> f64 {
    let z = upper_quantile(p);
    let parts = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    let mut divisor = 1.0;
    parts.iter().fold(z, |sum, part| {
        divisor *= freedom;
        sum + part / divisor
    })
}

/// The quantile of the normal distribution for a power of 80 %.
const POWER: f64 = 0.842;

/// The value that a normal variate exceeds with probability `p`, below a half, to 0.0005. Abramowitz and Stegun, *Handbook of
/// Mathematical Functions* (1964), 26.2.23.
fn upper_quantile(p: f64) -> f64 {
    let t = (-2.0 * p.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

fn least() -> u32 {
    u32::try_from(ENOUGH_TRIALS).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_trials_find_smaller_changes() {
        assert_eq!(needed_trials(0.01, 0.10), 6);
        assert_eq!(needed_trials(0.02, 0.02), 18);
        assert_eq!(needed_trials(0.05, 0.03), 46);
        assert_eq!(needed_trials(1.0, 1e-9), u32::MAX);
    }

    #[test]
    fn the_spread_that_is_found_is_the_one_that_is_needed() {
        let spread = findable_spread(10, 0.02).unwrap();
        assert!((0.0142..0.0144).contains(&spread), "{spread}");
        assert_eq!(needed_trials(spread - 1e-9, 0.02), 10);
        assert_eq!(findable_spread(5, 0.02), None);
    }

    #[test]
    fn quantiles_are_those_of_tables() {
        for (p, freedom, wanted) in [
            (0.025, 6.0, 2.447),
            (0.2, 18.0, 0.862),
            (0.025, 18.0, 2.101),
            (0.000_5, 18.0, 3.922),
        ] {
            let got = student(p, freedom);
            assert!((got - wanted).abs() < 0.01 * wanted, "{p} {freedom}: {got}");
        }
    }

    #[test]
    fn three_and_three_can_never_differ() {
        assert!((least_unpaired_p(3, 3) - 0.1).abs() < 1e-12);
        assert!((least_unpaired_p(4, 4) - 2.0 / 70.0).abs() < 1e-12);
        assert!((least_unpaired_p(4, 6) - 2.0 / 210.0).abs() < 1e-12);
        let needed = [0, 1, 2, 6, 7, 23, 24].map(least_unpaired);
        assert_eq!(needed, [4, 4, 5, 5, 6, 6, 7]);
    }

    #[test]
    fn many_comparisons_need_more_trials() {
        assert_eq!(least_trials(0), 6);
        assert_eq!(least_trials(1), 6);
        assert_eq!(least_trials(25), 10);
        assert_eq!(least_trials(26), 11);
    }

    #[test]
    fn more_questions_ask_for_more() {
        assert!((upper_quantile(0.025) - 1.959_964).abs() < 5e-4);
        assert!((upper_quantile(0.000_781_25) - 3.163_2).abs() < 1e-3);
    }
}
