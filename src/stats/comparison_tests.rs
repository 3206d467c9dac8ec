//! What is promised of verdicts, proved by simulation: equal cells are seldom named different, whatever drifts;
//! intervals hold the truth; and what is there is found. Seeds are fixed, so that a test fails always or never. A share of N
//! simulations is off by up to three standard errors, which is what each bound allows.

use super::*;
use crate::spec::Order;
use crate::stats::enough::rounds_given;
use crate::stats::power::{at_least, paired_change};
use crate::stats::{Spread, Value, needed_trials, paired};
use std::f64::consts::TAU;

/// A normal variate, by the method of Box and Muller.
fn normal(source: &mut fastrand::Rng) -> f64 {
    let (a, b) = (1.0 - source.f64(), source.f64());
    (-2.0 * a.ln()).sqrt() * (TAU * b).cos()
}

/// The noise of one trial, as a factor.
type Noise = fn(&mut fastrand::Rng) -> f64;

fn calm(source: &mut fastrand::Rng) -> f64 {
    1.0 + 0.02 * normal(source)
}

fn still(source: &mut fastrand::Rng) -> f64 {
    1.0 + 0.005 * normal(source)
}

fn rough(source: &mut fastrand::Rng) -> f64 {
    1.0 + 0.03 * normal(source)
}

/// A quarter of the processes are laid out badly, and 8 % slower.
fn two_modes(source: &mut fastrand::Rng) -> f64 {
    let slow = source.f64() < 0.25;
    rough(source) * if slow { 0.92 } else { 1.0 }
}

/// Seven trials of a hundred are disturbed, and 30 % slower.
fn disturbed(source: &mut fastrand::Rng) -> f64 {
    let slow = source.f64() < 0.07;
    rough(source) * if slow { 0.70 } else { 1.0 }
}

/// Two cells of so many rounds, the second `gain` times as fast; the machine loses `drift` of its speed in the session.
fn pair(source: &mut fastrand::Rng, rounds: u32, noise: Noise, gain: f64, drift: f64) -> Ratio {
    let mut cells = [Vec::new(), Vec::new()];
    for round in 1..=rounds {
        let first = source.usize(0..2);
        for place in 0..2 {
            let done = f64::from(2 * (round - 1) + place) / f64::from(2 * rounds);
            let which = (first + place as usize) % 2;
            let factor = if which == 1 { gain } else { 1.0 };
            let value = 10_000.0 * factor * (1.0 - drift * done) * noise(source);
            cells[which].push(Value {
                repetition: round,
                round,
                value,
            });
        }
    }
    let [base, cell] = cells.map(|values| Spread::of(values).unwrap());
    ratio(&cell, &base, Order::Shuffled).unwrap()
}

/// The share of simulations of which something holds.
fn share(times: u32, seed: u64, mut holds: impl FnMut(&mut fastrand::Rng) -> bool) -> f64 {
    let mut source = fastrand::Rng::with_seed(seed);
    let held = (0..times).filter(|_| holds(&mut source)).count();
    held as f64 / f64::from(times)
}

/// What a share may be off by.
fn margin(share: f64, times: u32) -> f64 {
    3.0 * (share * (1.0 - share) / f64::from(times)).sqrt()
}

fn excludes_one(ratio: &Ratio) -> bool {
    ratio.interval.unwrap().excludes(1.0)
}

#[test]
fn equal_cells_are_seldom_called_different_while_the_machine_slows_down() {
    for (rounds, seed) in [(6, 1), (10, 2)] {
        let times = 4000;
        let wrong = share(times, seed, |source| {
            excludes_one(&pair(source, rounds, calm, 1.0, 0.05))
        });
        assert!(wrong <= 0.05 + margin(0.05, times), "{rounds}: {wrong}");
    }
}

#[test]
fn intervals_hold_the_truth_whatever_the_noise() {
    let noises: [(Noise, u64); 3] = [(rough, 3), (two_modes, 4), (disturbed, 5)];
    for rounds in [6, 10] {
        for (noise, seed) in noises {
            let held = share(4000, seed, |source| {
                !pair(source, rounds, noise, 1.1, 0.0)
                    .interval
                    .unwrap()
                    .excludes(1.1)
            });
            assert!(held >= 0.94, "{rounds} rounds, noise {seed}: {held}");
        }
    }
}

#[test]
fn rounds_that_are_added_until_the_interval_is_narrow_make_no_differences() {
    for (noise, seed) in [(calm as Noise, 9), (rough, 10)] {
        let times = 2000;
        let (mut missed, mut named) = (0, 0);
        let mut source = fastrand::Rng::with_seed(seed);
        for _ in 0..times {
            let mut whole = pair(&mut source, 30, noise, 1.0, 0.05);
            let rounds = rounds_given(&logs(&whole), 0.02);
            whole.by_round.truncate(rounds);
            whole.interval = paired(&logs(&whole)).map(|interval| interval.map(f64::exp));
            whole.value = whole.interval.unwrap().estimate;
            missed += u32::from(excludes_one(&whole));
            named += u32::from(is_apart(&whole, 0.02) && paired_p(&logs(&whole)) <= LEVEL);
        }
        let share = |count: u32| f64::from(count) / f64::from(times);
        // An interval that decides when to stop holds the truth a little less often.
        assert!(
            share(missed) <= 0.06 + margin(0.06, times),
            "noise {seed}: {missed}"
        );
        assert!(
            share(named) <= 0.05 + margin(0.05, times),
            "noise {seed}: {named}"
        );
    }
}

#[test]
fn what_was_planned_for_is_found() {
    let (spread, change) = (0.02, 0.05);
    let rounds = needed_trials(spread, change);
    let times = 4000;
    let found = share(times, 6, |source| {
        let ratio = pair(source, rounds, calm, 1.0 + change, 0.0);
        is_apart(&ratio, 0.02) && paired_p(&logs(&ratio)) <= LEVEL
    });
    assert!(
        found >= 0.80 - margin(0.80, times),
        "{rounds} rounds: {found}"
    );
}

#[test]
fn a_report_of_many_equal_cells_seldom_names_any() {
    let times = 600;
    let named = share(times, 7, |source| {
        let p: Vec<f64> = (0..32)
            .map(|_| paired_p(&logs(&pair(source, 12, calm, 1.0, 0.05))))
            .collect();
        holm(&p).iter().any(|p| *p <= LEVEL)
    });
    assert!(named <= 0.05 + margin(0.05, times), "{named}");
}

#[test]
fn what_could_have_been_seen_is_found_in_four_of_five_runs() {
    let cases: [(usize, usize, Noise, f64); 6] = [
        (6, 1, calm, 0.02),
        (8, 3, calm, 0.02),
        (10, 1, calm, 0.02),
        (12, 6, calm, 0.02),
        (20, 20, calm, 0.02),
        // What is cared for is more than what is found.
        (10, 1, still, 0.005),
    ];
    let times = 2000;
    for (seed, (rounds, comparisons, noise, spread)) in (20u64..).zip(cases) {
        let seen = paired_change(spread, rounds, comparisons).max(at_least(0.02, spread, rounds));
        let found = share(times, seed, |source| {
            let ratio = pair(source, rounds as u32, noise, 1.0 + seen, 0.0);
            let p = paired_p(&logs(&ratio)) * comparisons as f64;
            is_apart(&ratio, 0.02) && p <= LEVEL
        });
        let least = 0.80 - margin(0.80, times);
        assert!(
            found >= least,
            "{rounds} rounds, {comparisons} comparisons: {found}"
        );
        assert!(seen < 0.2, "{seen}");
    }
}

#[test]
fn too_few_trials_for_so_many_comparisons_are_no_verdict() {
    let test = |n: usize| Test::of(&[0.01, -0.02, 0.03, 0.0, 0.01, -0.01, 0.02][..n], &[], &[]);
    assert!(matches!(test(6).unsure(1, 0.02), Verdict::NotShown { .. }));
    assert_eq!(
        test(6).unsure(2, 0.02),
        Verdict::TooFewForSoMany { needed: 7 }
    );
}

fn logs(ratio: &Ratio) -> Vec<f64> {
    ratio.by_round.iter().map(|one| one.ln()).collect()
}
