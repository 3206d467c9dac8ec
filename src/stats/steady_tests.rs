//! What is promised of the judgement on a trial's seconds, proved by simulation. Seeds are fixed, so that a test fails always or
//! never. A share of N simulations is off by up to three standard errors, which is what each bound allows.

use super::*;
use crate::spec::Amount;
use std::f64::consts::TAU;
use std::time::Duration;

/// Trials that are simulated of each shape.
const TRIALS: u32 = 4000;

fn normal(source: &mut fastrand::Rng) -> f64 {
    let (a, b) = (1.0 - source.f64(), source.f64());
    (-2.0 * a.ln()).sqrt() * (TAU * b).cos()
}

fn judge(per_second: Vec<u64>) -> Steadiness {
    let seconds = per_second.len() as u64;
    let load = Load {
        window_ns: seconds * 1_000_000_000,
        per_second,
        ..Load::default()
    };
    let work = LoadSpec {
        amount: Amount::Duration(Duration::from_secs(seconds)),
        ..LoadSpec::default()
    };
    steadiness(&load, &work).unwrap()
}

/// How many of a hundred trials are called something that `holds`. `speed` has the share of full speed at a share of the
/// measured phase.
fn per_cent(
    seconds: u32,
    spread: f64,
    speed: fn(f64) -> f64,
    holds: fn(Steadiness) -> bool,
) -> f64 {
    let mut source = fastrand::Rng::with_seed(u64::from(seconds));
    let mut count = 0;
    for _ in 0..TRIALS {
        let second = |at: u32| {
            let share = (f64::from(at) + 0.5) / f64::from(seconds);
            let noise = 1.0 + spread * normal(&mut source);
            (10_000.0 * speed(share) * noise).max(0.0) as u64
        };
        let per_second: Vec<u64> = (0..seconds).map(second).collect();
        count += u32::from(holds(judge(per_second)));
    }
    100.0 * f64::from(count) / f64::from(TRIALS)
}

/// Three standard errors of a share of this many per cent.
fn margin(per_cent: f64) -> f64 {
    3.0 * (per_cent * (100.0 - per_cent) / f64::from(TRIALS)).sqrt()
}

fn flagged(seen: Steadiness) -> bool {
    seen != Steadiness::Steady
}

fn warming(seen: Steadiness) -> bool {
    matches!(seen, Steadiness::Warming(_))
}

#[test]
fn steady_trials_are_seldom_called_anything_else() {
    for seconds in [10, 12, 15, 20, 30, 60] {
        for spread in [0.02, 0.03, 0.05] {
            let share = per_cent(seconds, spread, |_| 1.0, flagged);
            assert!(
                share <= 1.0 + margin(1.0),
                "{share} % of {seconds} s at {spread}"
            );
        }
    }
}

/// Compiled in two steps.
fn two_steps(share: f64) -> f64 {
    match share {
        ..0.13 => 0.6,
        ..0.3 => 0.85,
        _ => 1.0,
    }
}

#[test]
fn two_steps_of_a_compiler_are_caught() {
    for (seconds, spread) in [(15, 0.02), (15, 0.03), (30, 0.02), (30, 0.05), (60, 0.05)] {
        let share = per_cent(seconds, spread, two_steps, warming);
        assert!(share >= 99.0, "{share} % of {seconds} s at {spread}");
    }
}

#[test]
fn a_slow_exponential_is_caught() {
    let slow = |share: f64| 1.0 - 0.5 * (-6.0 * share).exp();
    for (seconds, spread) in [(15, 0.03), (30, 0.05)] {
        let share = per_cent(seconds, spread, slow, warming);
        assert!(share >= 99.0, "{share} % of {seconds} s at {spread}");
    }
}

#[test]
fn runs_that_grow_slower_are_caught() {
    let by_a_tenth = |share: f64| 1.0 - 0.1 * share;
    let by_a_fifth = |share: f64| 1.0 - 0.2 * share;
    for (seconds, spread, speed) in [
        (30, 0.02, by_a_tenth as fn(f64) -> f64),
        (30, 0.03, by_a_fifth),
        (60, 0.05, by_a_fifth),
    ] {
        let share = per_cent(seconds, spread, speed, flagged);
        assert!(share >= 99.0, "{share} % of {seconds} s at {spread}");
        assert!(per_cent(seconds, spread, speed, warming) < 0.01);
    }
}

#[test]
fn a_slow_beginning_is_measured() {
    let seconds = [vec![880; 6], vec![1000; 24]].concat();
    let Steadiness::Warming(beginning) = judge(seconds) else {
        panic!()
    };
    assert_eq!(beginning.seconds, 6);
    assert!((beginning.apart - 0.12).abs() < 1e-9);
    assert!((beginning.shift - (1000.0 / 976.0 - 1.0)).abs() < 1e-9);
}

#[test]
fn a_fast_beginning_is_not_a_warm_up() {
    let seconds = [vec![2000; 3], [1000, 1001].repeat(9)].concat();
    let Steadiness::Fading(beginning) = judge(seconds) else {
        panic!()
    };
    assert_eq!(beginning.seconds, 3);
    assert_eq!(
        judge([vec![1000; 5], vec![900; 5]].concat()).word(),
        "unsteady"
    );
}

#[test]
fn what_changes_nothing_is_steady() {
    // Certain, but less than 2 % of the figure.
    let seconds = [vec![900; 1], vec![1000; 29]].concat();
    assert_eq!(judge(seconds), Steadiness::Steady);
    assert_eq!(judge(vec![0; 30]), Steadiness::Steady);
    assert_eq!(judge(vec![7; 10]), Steadiness::Steady);
}

#[test]
fn the_worst_of_a_cell_is_told_of_valid_trials() {
    let trial = |seconds: Vec<u64>, outcome| Trial {
        load: Some(Load {
            window_ns: seconds.len() as u64 * 1_000_000_000,
            per_second: seconds,
            ..Load::default()
        }),
        outcome,
        ..Trial::new(
            crate::ids::TrialId {
                cell: crate::ids::CellId("a@l#0".to_owned()),
                repetition: 1,
            },
            1,
            0,
        )
    };
    let invalid = || Outcome::Invalid {
        reasons: Vec::new(),
    };
    let late = [vec![1000; 20], vec![900; 10]].concat();
    let slow = [vec![500; 6], vec![1000; 24]].concat();
    let trials = [
        trial(vec![1000; 30], Outcome::Valid),
        trial(slow, Outcome::Valid),
        trial(late, invalid()),
    ];
    let work = LoadSpec::default();
    let words = trials
        .iter()
        .map(|trial| steadiness_of(trial, &work).map(Steadiness::word));
    let words: Vec<Option<&str>> = words.collect();
    assert_eq!(words, [Some("steady"), Some("warming"), None]);
    assert_eq!(
        least_steady(trials.iter(), &work).map(Steadiness::word),
        Some("warming")
    );
    assert_eq!(least_steady(trials[2..].iter(), &work), None);
}
