//! The changes of Apache Otava, and by simulation how seldom quiet nights change and how surely a step is found. Seeds are
//! fixed.

use super::*;
use serde_json::Value;

const GOLDEN: &str = include_str!("../../tests/golden/changes/golden.json");

/// The rules as far as Otava has them.
fn otava(least_share: f64) -> Rules {
    Rules {
        least_share,
        least_side: 1,
        least_values: 1,
        medians_too: false,
        taken_off: 0,
        ..Rules::NIGHTS
    }
}

fn golden() -> Value {
    serde_json::from_str(GOLDEN).unwrap()
}

fn numbers(values: &Value) -> Vec<f64> {
    let values = values.as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap()).collect()
}

fn is_near(got: f64, wanted: f64, share: f64) -> bool {
    (got - wanted).abs() <= share * wanted.abs()
}

#[test]
fn changes_are_those_of_otava() {
    let mut seen = 0;
    for case in golden()["cases"].as_array().unwrap() {
        let values = numbers(&case["values"]);
        for (key, least) in [("0.0", 0.0), ("0.03", 0.03)] {
            let found = changes(&values, &otava(least));
            let wanted = case[key]["mended"].as_array().unwrap();
            let name = format!("{}, least {least}", case["name"]);
            assert_eq!(
                found.len(),
                wanted.len(),
                "{name}: {found:?} and not {wanted:?}"
            );
            for (found, wanted) in found.iter().zip(wanted) {
                let of = |what: &str| wanted[what].as_f64().unwrap();
                assert_eq!(found.at as u64, wanted["at"].as_u64().unwrap(), "{name}");
                assert!(is_near(found.before, of("before"), 1e-12), "{name}");
                assert!(is_near(found.after, of("after"), 1e-12), "{name}");
                assert!(
                    is_near(found.p, of("p"), 1e-6),
                    "{name}: {found:?} and not {wanted}"
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 150, "{seen}");
}

#[test]
fn t_tests_are_those_of_scipy() {
    for test in golden()["t_tests"].as_array().unwrap() {
        let p = t_test(&numbers(&test["left"]), &numbers(&test["right"]), 1);
        assert!(is_near(p, test["p"].as_f64().unwrap(), 1e-9), "{p}: {test}");
    }
}

/// A normally distributed number (Box and Muller).
fn normal(source: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - source.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * source.f64()).cos()
}

/// So many nights about 1000, with this spread.
fn nights(source: &mut fastrand::Rng, number: usize, spread: f64) -> Vec<f64> {
    let one = |source: &mut fastrand::Rng| 1000.0 * (1.0 + spread * normal(source));
    (0..number).map(|_| one(source)).collect()
}

/// Multiplies all nights from here on.
fn step(values: &mut [f64], at: usize, by: f64) {
    for value in &mut values[at..] {
        *value *= by;
    }
}

/// The changes that are told morning by morning, each with the night.
fn told(values: &[f64]) -> Vec<(usize, Found)> {
    let told = (1..=values.len()).flat_map(|night| {
        let known = known_changes(&values[..night], &Rules::NIGHTS).into_iter();
        known
            .filter(|(_, known)| *known == Known::New)
            .map(move |(change, _)| (night - 1, change))
    });
    told.collect()
}

#[test]
fn quiet_nights_seldom_change() {
    let mut source = fastrand::Rng::with_seed(12);
    let number = 300;
    let alarms: usize = (0..number)
        .map(|_| told(&nights(&mut source, 100, 0.02)).len())
        .sum();
    let per_series = alarms as f64 / f64::from(number);
    assert!(per_series <= 0.1, "{per_series} for 100 nights");
}

#[test]
fn single_bad_nights_are_no_changes() {
    let mut source = fastrand::Rng::with_seed(13);
    let number = 150;
    let mut alarms = 0;
    for _ in 0..number {
        let mut values = nights(&mut source, 100, 0.02);
        for value in &mut values {
            if source.f64() < 0.05 {
                *value *= 0.7;
            }
        }
        alarms += told(&values).len();
    }
    let per_series = alarms as f64 / f64::from(number);
    assert!(per_series <= 0.25, "{per_series} for 100 nights");
}

#[test]
fn a_step_of_5_percent_is_found_and_told_once() {
    let mut source = fastrand::Rng::with_seed(14);
    let number = 200;
    let (mut found, mut times, mut delay) = (0, 0, 0);
    for _ in 0..number {
        let mut values = nights(&mut source, 55, 0.02);
        step(&mut values, 40, 0.95);
        let told: Vec<(usize, Found)> = told(&values)
            .into_iter()
            .filter(|(night, change)| *night >= 40 && change.at.abs_diff(40) <= 3)
            .collect();
        found += usize::from(!told.is_empty());
        times += told.len();
        delay += told.first().map_or(0, |(night, _)| night - 39);
    }
    let share = found as f64 / f64::from(number);
    let (times, delay) = (times as f64 / found as f64, delay as f64 / found as f64);
    assert!(share >= 0.95, "{share} are found");
    assert!(times <= 1.1, "told {times} times");
    assert!(delay <= 6.0, "after {delay} nights");
}

#[test]
fn a_change_needs_nights_on_both_sides_and_enough_of_them() {
    let mut values = vec![100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 101.0, 99.0, 100.0];
    assert!(changes(&[values.clone(), vec![50.0]].concat(), &Rules::NIGHTS).is_empty());
    values.extend([150.0, 151.0]);
    assert!(changes(&values, &Rules::NIGHTS).is_empty());
    values.push(149.0);
    let found = changes(&values, &Rules::NIGHTS);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].at, 9);
    assert!(found[0].p < 0.001);
    assert!((found[0].median_after / found[0].median_before - 1.5).abs() < 0.01);
    // Nine nights are no history, whatever they show.
    assert!(changes(&values[3..], &Rules::NIGHTS).is_empty());
}

#[test]
fn what_is_smaller_than_3_percent_is_no_change_however_sure() {
    let mut source = fastrand::Rng::with_seed(15);
    let mut values = nights(&mut source, 60, 0.001);
    step(&mut values, 30, 1.02);
    assert!(changes(&values, &Rules::NIGHTS).is_empty());
    step(&mut values, 30, 1.02);
    assert_eq!(changes(&values, &Rules::NIGHTS).len(), 1);
}

#[test]
fn equal_figures_and_zeros_do_not_change() {
    assert!(changes(&[5.0; 60], &Rules::NIGHTS).is_empty());
    assert!(changes(&[0.0; 60], &Rules::NIGHTS).is_empty());
    let mut values = vec![0.0; 30];
    values.extend([7.0; 30]);
    let found = changes(&values, &Rules::NIGHTS);
    assert_eq!((found.len(), found[0].at), (1, 30));
    assert!((found[0].median_before, found[0].median_after) == (0.0, 7.0));
}

#[test]
fn nights_that_follow_each_other_are_known_by_their_correlation() {
    let mut source = fastrand::Rng::with_seed(16);
    let quiet = nights(&mut source, 300, 0.02);
    let own = |values: &[f64]| {
        let found = changes(values, &Rules::NIGHTS);
        correlation(values, &found, 10).unwrap()
    };
    assert!(own(&quiet).abs() < 0.2);
    let mut last = 0.0;
    let follow: Vec<f64> = (0..300)
        .map(|_| {
            last = 0.6 * last + 0.8 * normal(&mut source);
            1000.0 * (1.0 + 0.02 * last)
        })
        .collect();
    assert!(own(&follow) > 0.3, "{}", own(&follow));
    // A step is no correlation once it is known.
    let mut stepped = quiet;
    step(&mut stepped, 150, 1.2);
    assert!(own(&stepped).abs() < 0.2);
    assert_eq!(correlation(&[1.0; 5], &[], 10), None);
    assert_eq!(correlation(&[1.0; 20], &[], 10), None);
}
