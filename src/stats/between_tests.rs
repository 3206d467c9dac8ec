//! What is promised of verdicts between runs. Seeds are fixed, so that a test fails always or never; a share of N simulations may
//! be off by three standard errors.

use super::*;
use crate::ids::{CellId, RunId};
use crate::stats::power::unpaired_change;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

fn host() -> Host {
    Host {
        cpu: Some("one".to_owned()),
        cpus: 2,
        cpus_online: 2,
        memory_bytes: Some(8 << 30),
        ..Host::default()
    }
}

fn cell(id: &str, metric: &str, values: &[f64]) -> BaselineCell {
    let column = crate::record::metric(metric).unwrap().column();
    BaselineCell {
        id: CellId(id.to_owned()),
        title: id.to_owned(),
        state: "measured".to_owned(),
        reasons: Vec::new(),
        planned: Some(values.len()),
        valid: values.len(),
        limited: Some(false),
        generators: Vec::new(),
        spec: None,
        metrics: BTreeMap::from([(column, values.to_vec())]),
    }
}

fn run(cells: Vec<BaselineCell>) -> Baseline {
    Baseline {
        format: 1,
        run: RunId("r".to_owned()),
        suite: "s".to_owned(),
        profile: None,
        started: String::new(),
        sessions: 1,
        hotlap: Vec::new(),
        revision: None,
        suite_sha256: None,
        complete: Some(true),
        selection: Vec::new(),
        host: Some(host()),
        versions: BTreeMap::new(),
        settings: None,
        cells,
    }
}

const RATE: &str = "requests_per_second";
const SLOW: [f64; 5] = [88.0, 88.1, 88.2, 88.3, 88.4];
const FAST: [f64; 5] = [100.0, 100.1, 100.2, 100.3, 100.4];

fn only(old: &Baseline, new: &Baseline) -> Ruling {
    let between = between(old, new);
    assert_eq!(between.cells.len(), 1);
    between.cells[0].changes[0].ruling
}

#[test]
fn the_direction_is_the_metrics_own() {
    for (metric, ruling) in [
        (RATE, Ruling::Worse),
        ("latency_p50", Ruling::Better),
        ("rss_peak", Ruling::Better),
        ("requests_per_cpu_second", Ruling::Worse),
    ] {
        let old = run(vec![cell("a#1", metric, &FAST)]);
        let new = run(vec![cell("a#1", metric, &SLOW)]);
        assert_eq!(only(&old, &new), ruling, "{metric}");
    }
    let old = run(vec![cell("a#1", RATE, &FAST)]);
    let new = run(vec![cell("a#1", RATE, &SLOW)]);
    let between = between(&old, &new);
    let change = &between.cells[0].changes[0];
    let ratio = change.ratio.unwrap();
    assert!((ratio - 0.88).abs() < 0.002, "{ratio}");
}

#[test]
fn a_difference_below_the_least_that_matters_is_none() {
    let near = FAST.map(|value| value * 1.01);
    let old = run(vec![cell("a#1", RATE, &FAST)]);
    let new = run(vec![cell("a#1", RATE, &near)]);
    let Ruling::NotShown { could_have_seen } = only(&old, &new) else {
        panic!("a difference of 1 % is named")
    };
    // It must be cared for, and told from what single trials spread by.
    assert!((0.02..0.06).contains(&could_have_seen), "{could_have_seen}");
}

#[test]
fn what_stands_in_the_way_of_a_verdict_is_named() {
    let old = run(vec![cell("a#1", RATE, &FAST)]);
    let with = |change: fn(&mut Baseline)| {
        let mut new = run(vec![cell("a#1", RATE, &SLOW)]);
        change(&mut new);
        only(&old, &new)
    };
    let elsewhere = |new: &mut Baseline| {
        new.host.as_mut().unwrap().kernel = Some("Linux 7".to_owned());
    };
    assert_eq!(with(elsewhere), Ruling::Open(Open::Machine));
    assert_eq!(with(|new| new.host = None), Ruling::Open(Open::Machine));
    let limited = |new: &mut Baseline| new.cells[0].limited = Some(true);
    assert_eq!(with(limited), Ruling::Open(Open::Limited));
    assert_eq!(
        with(|new| new.cells[0].limited = None),
        Ruling::Open(Open::Limited)
    );
    let changed = |new: &mut Baseline| new.cells[0].id = CellId("a#2".to_owned());
    assert_eq!(with(changed), Ruling::Open(Open::Changed));
    let few = |new: &mut Baseline| new.cells[0] = cell("a#1", RATE, &SLOW[..3]);
    assert_eq!(with(few), Ruling::Open(Open::TooFew));
    let zero = |new: &mut Baseline| new.cells[0] = cell("a#1", RATE, &[0.0; 5]);
    assert_eq!(with(zero), Ruling::Open(Open::Zero));
}

#[test]
fn a_little_memory_more_is_the_same_machine() {
    let mut other = host();
    other.memory_bytes = Some((8 << 30) - (16 << 20));
    assert!(fields(&host(), &other).is_empty());
    other.memory_bytes = Some(7 << 30);
    other.cpus = 4;
    let names: Vec<&str> = fields(&host(), &other).iter().map(|f| f.name).collect();
    assert_eq!(names, ["usable CPUs", "memory"]);
}

#[test]
fn cells_are_matched_by_hash_and_then_by_name() {
    let old = run(vec![
        cell("a#1", RATE, &FAST),
        cell("b#1", RATE, &FAST),
        cell("gone#1", RATE, &FAST),
    ]);
    let new = run(vec![
        cell("new#1", RATE, &FAST),
        cell("b#2", RATE, &FAST),
        cell("a#1", RATE, &FAST),
    ]);
    let between = between(&old, &new);
    let pairs: Vec<(&str, bool)> = between
        .cells
        .iter()
        .map(|cell| (cell.new.id.0.as_str(), cell.changed.is_some()))
        .collect();
    assert_eq!(pairs, [("b#2", true), ("a#1", false)]);
    assert_eq!(between.gone[0].id.0, "gone#1");
    assert_eq!(between.added[0].id.0, "new#1");
}

#[test]
fn four_and_four_cannot_name_one_of_two_when_the_other_is_alike() {
    let cells = |values: &[f64]| {
        run(vec![
            cell("a#1", RATE, values),
            cell("b#1", RATE, &FAST[..4]),
        ])
    };
    let (old, new) = (cells(&FAST[..4]), cells(&SLOW[..4]));
    let between = between(&old, &new);
    let rulings: Vec<Ruling> = between.cells.iter().map(|c| c.changes[0].ruling).collect();
    assert_eq!(
        rulings,
        [Ruling::Open(Open::TooFewForSoMany { needed: 5 }); 2]
    );
    let alone = run(vec![cell("a#1", RATE, &SLOW[..4])]);
    let old = run(vec![cell("a#1", RATE, &FAST[..4])]);
    assert_eq!(only(&old, &alone), Ruling::Worse);
}

fn normal(source: &mut fastrand::Rng) -> f64 {
    let (a, b) = (1.0 - source.f64(), source.f64());
    (-2.0 * a.ln()).sqrt() * (TAU * b).cos()
}

/// So many cells of so many trials that spread by 3 %; `gain` times as fast.
fn machine(source: &mut fastrand::Rng, cells: usize, trials: usize, gain: f64) -> Baseline {
    let cells = (0..cells).map(|index| {
        let value = |_| 10_000.0 * gain * (0.03 * normal(source)).exp();
        let values: Vec<f64> = (0..trials).map(value).collect();
        cell(&format!("c{index}#1"), RATE, &values)
    });
    run(cells.collect())
}

fn margin(share: f64, times: u32) -> f64 {
    3.0 * (share * (1.0 - share) / f64::from(times)).sqrt()
}

fn named(between: &Between<'_>) -> usize {
    let changes = between.cells.iter().flat_map(|cell| &cell.changes);
    changes
        .filter(|change| matches!(change.ruling, Ruling::Worse | Ruling::Better))
        .count()
}

/// The share of pairs of runs in which the first cell is named.
fn share(times: u32, seed: u64, cells: usize, trials: usize, gain: f64) -> f64 {
    let mut source = fastrand::Rng::with_seed(seed);
    let held = (0..times).filter(|_| {
        let old = machine(&mut source, cells, trials, 1.0);
        let mut new = machine(&mut source, cells, trials, 1.0);
        let first = machine(&mut source, 1, trials, gain);
        new.cells[0] = first.cells[0].clone();
        named(&between(&old, &new)) > 0
    });
    held.count() as f64 / f64::from(times)
}

#[test]
fn two_equal_runs_seldom_differ_in_anything() {
    let times = 600;
    for (trials, seed) in [(4, 1), (10, 2)] {
        let wrong = share(times, seed, 32, trials, 1.0);
        assert!(wrong <= 0.05 + margin(0.05, times), "{trials}: {wrong}");
    }
    // A single cell, where four a side can name a difference at all.
    let wrong = share(4000, 3, 1, 4, 1.0);
    assert!(wrong <= 0.05 + margin(0.05, 4000), "{wrong}");
    assert!(wrong > 0.01, "{wrong}");
}

#[test]
fn two_equal_runs_seldom_differ_whatever_is_measured() {
    let times = 600;
    let mut source = fastrand::Rng::with_seed(8);
    let mut report = || {
        let mut machine = machine(&mut source, 4, 8, 1.0);
        for cell in &mut machine.cells {
            for metric in HEADLINE {
                let value = |_| 1000.0 * (0.03 * normal(&mut source)).exp();
                let column = crate::record::metric(metric).unwrap().column();
                cell.metrics.insert(column, (0..8).map(value).collect());
            }
        }
        machine
    };
    let wrong = (0..times).filter(|_| named(&between(&report(), &report())) > 0);
    let wrong = wrong.count() as f64 / f64::from(times);
    assert!(wrong <= 0.05 + margin(0.05, times), "{wrong}");
    // Not because nothing could be named.
    assert!(wrong > 0.0, "{wrong}");
}

#[test]
fn what_could_have_been_seen_is_found_in_four_of_five_pairs_of_runs() {
    for (cells, trials, times, seed) in [
        (1, 4, 1500, 4),
        (1, 10, 1500, 5),
        (8, 6, 1000, 6),
        (32, 10, 300, 7),
    ] {
        let gain = unpaired_change(0.03, trials, cells).exp();
        let found = share(times, seed, cells, trials, gain);
        assert!(
            found >= 0.80 - margin(0.80, times),
            "{cells} cells, {trials} trials: {found}"
        );
        assert!(found <= 0.97, "{cells} cells, {trials} trials: {found}");
    }
}
