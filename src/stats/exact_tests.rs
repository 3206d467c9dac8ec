//! Intervals and tests beside those of `SciPy` (`tests/golden/statistics`).

use super::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    paired: Vec<Paired>,
    paired_ties: Vec<Paired>,
    unpaired: Vec<Unpaired>,
    unpaired_ties: Vec<Unpaired>,
    median: Vec<Paired>,
    holm: Vec<Family>,
}

#[derive(Deserialize)]
struct Paired {
    values: Vec<f64>,
    #[serde(default)]
    p: f64,
    interval: Option<Wanted>,
}

#[derive(Deserialize)]
struct Unpaired {
    of: Vec<f64>,
    to: Vec<f64>,
    p: f64,
    interval: Option<Wanted>,
}

#[derive(Deserialize)]
struct Family {
    p: Vec<f64>,
    adjusted: Vec<f64>,
}

#[derive(Deserialize)]
struct Wanted {
    estimate: f64,
    low: f64,
    high: f64,
}

fn golden() -> Golden {
    let text = include_str!("../../tests/golden/statistics/exact.json");
    serde_json::from_str(text).unwrap()
}

#[track_caller]
fn close(got: f64, wanted: f64) {
    assert!((got - wanted).abs() < 1e-9, "{got} is not {wanted}");
}

#[track_caller]
fn same(got: Option<Interval>, wanted: &Wanted) {
    let got = got.unwrap();
    close(got.estimate, wanted.estimate);
    close(got.low, wanted.low);
    close(got.high, wanted.high);
}

#[test]
fn intervals_are_those_that_the_tests_do_not_reject() {
    let golden = golden();
    for case in &golden.paired {
        same(paired(&case.values), case.interval.as_ref().unwrap());
    }
    for case in &golden.unpaired {
        same(
            unpaired(&case.of, &case.to),
            case.interval.as_ref().unwrap(),
        );
    }
    for case in &golden.median {
        same(around_median(&case.values), case.interval.as_ref().unwrap());
    }
}

#[test]
fn p_values_are_exact_with_equal_ranks_too() {
    let golden = golden();
    for case in golden.paired.iter().chain(&golden.paired_ties) {
        close(paired_p(&case.values), case.p);
    }
    for case in golden.unpaired.iter().chain(&golden.unpaired_ties) {
        close(unpaired_p(&case.of, &case.to), case.p);
    }
    close(paired_p(&[0.0; 7]), 1.0);
}

#[test]
fn many_questions_are_answered_together() {
    for family in golden().holm {
        for (got, wanted) in holm(&family.p).into_iter().zip(family.adjusted) {
            close(got, wanted);
        }
    }
    assert_eq!(holm(&[]), Vec::<f64>::new());
}

#[test]
fn too_few_values_have_no_interval() {
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(paired(&values[..5]), None);
    assert!(paired(&values).is_some());
    assert_eq!(around_median(&values[..5]), None);
    assert_eq!(unpaired(&values[..3], &values), None);
    assert!(unpaired(&values[..4], &values[..4]).is_some());
}

#[test]
fn an_interval_excludes_what_is_outside() {
    let interval = paired(&[0.1, 0.2, 0.3, 0.2, 0.1, 0.3]).unwrap();
    assert!(interval.excludes(0.0) && interval.excludes(0.31));
    assert!(!interval.excludes(interval.low) && !interval.excludes(interval.high));
    close(interval.map(f64::exp).estimate, interval.estimate.exp());
}
