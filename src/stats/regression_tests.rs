//! When a regression gate falls, and by simulation how often: equal revisions seldom fall, and a regression is found.
//! Seeds are fixed. A share of N simulations is off by up to three standard errors, which is what each bound allows.

use super::*;
use crate::record::Trial;
use crate::spec::Limit as Gate;
use crate::stats::gate::tests::{cell, limit, run, trials};
use crate::stats::{Judgement, Value, judge, summarise};
use std::f64::consts::TAU;

fn at_most_worse(metric: &str, share: f64) -> Gate {
    Gate {
        max_regression: Some(share),
        ..limit(metric)
    }
}

fn spread_of(values: &[f64]) -> Spread {
    let numbered = values.iter().zip(1..);
    Spread::of(numbered.map(|(value, round)| Value {
        repetition: round,
        round,
        value: *value,
    }))
    .unwrap()
}

/// What becomes of a gate of 5 % on requests per second, with these rates at the old and at the new revision.
fn between(old: &[u64], new: &[u64], change: impl FnOnce(&mut Vec<Trial>)) -> Why {
    let gates = vec![at_most_worse("requests_per_second", 0.05)];
    let base = cell("s", Some("base"), gates.clone());
    let head = cell("s", None, gates);
    let mut all = trials(&base, old);
    all.extend(trials(&head, new));
    let run = run(vec![base, head], &all);
    change(&mut all);
    let cells = summarise(&run, &all);
    let found = judge(&run, &cells, None);
    assert_eq!(found.len(), 1, "the old side has no such gate");
    assert_eq!(found[0].cell.cell.revision, None);
    found[0].why.clone()
}

const OLD: [u64; 6] = [1000, 1010, 990, 1005, 995, 1002];

fn times(factor: f64) -> Vec<u64> {
    let turned = OLD.iter().map(|rate| (*rate as f64 * factor) as u64);
    turned.collect()
}

#[test]
fn what_is_worse_by_what_is_not_let_pass_falls() {
    let judged = |factor| between(&OLD, &times(factor), |_| ());
    assert_eq!(judged(0.93), Why::Regressed);
    assert_eq!(judged(0.97), Why::Smaller);
    assert!(matches!(judged(1.2), Why::NotShown { .. }));
    // Five of six rounds agree, which chance does too.
    let mut uneven = times(0.93);
    uneven[0] = 1001;
    let Why::NotShown { could_have_seen } = between(&OLD, &uneven, |_| ()) else {
        panic!("chance was taken for a regression")
    };
    assert!((0.03..0.08).contains(&could_have_seen), "{could_have_seen}");
}

#[test]
fn a_lower_figure_is_a_regression_only_where_more_is_better() {
    let gates = vec![at_most_worse("startup", 0.05)];
    let judged = |factor: f64| {
        let (base, head) = (
            cell("s", Some("base"), gates.clone()),
            cell("s", None, gates.clone()),
        );
        let mut all = trials(&base, &OLD);
        all.extend(trials(&head, &OLD));
        for trial in &mut all {
            let factor = if trial.trial.cell == head.id {
                factor
            } else {
                1.0
            };
            trial.startup_ns = Some((1e6 * factor) as u64);
        }
        let run = run(vec![base, head], &all);
        let cells = summarise(&run, &all);
        judge(&run, &cells, None)[0].why.clone()
    };
    assert_eq!(judged(1.06), Why::Regressed);
    assert!(!judged(0.5).fell());
    assert!(!judged(1.04).fell());
}

#[test]
fn a_regression_without_figures_to_compare_falls() {
    let few = Why::TooFew { needed: 6 };
    assert_eq!(between(&OLD[..5], &OLD[..5], |_| ()), few);
    let full = |all: &mut Vec<Trial>| {
        all[0].load.as_mut().unwrap().generator_cpu_ns = Some(9_900_000_000);
    };
    assert_eq!(between(&OLD, &OLD, full), Why::Limited);
    let no_base = |all: &mut Vec<Trial>| all.retain(|one| one.trial.cell.0.contains("head"));
    assert_eq!(between(&OLD, &OLD, no_base), Why::NoBaseValue);
    assert_eq!(between(&[0; 6], &OLD, |_| ()), Why::NoRatio);
    assert!(
        !between(&[0; 6], &[0; 6], |_| ()).fell(),
        "nothing has changed"
    );
    // Neither another revision nor another run.
    let alone = cell("s", None, vec![at_most_worse("requests_per_second", 0.05)]);
    let all = trials(&alone, &OLD);
    let run = run(vec![alone], &all);
    let cells = summarise(&run, &all);
    assert_eq!(judge(&run, &cells, None)[0].why, Why::NothingToCompare);
}

#[test]
fn another_toggle_is_no_other_revision() {
    let gates = vec![at_most_worse("requests_per_second", 0.05)];
    let mut base = cell("s", Some("base"), Vec::new());
    let mut head = cell("s", None, gates);
    for (cell, value) in [(&mut base, "off"), (&mut head, "on")] {
        let mut choice = cell.toggles[0].clone();
        choice.toggle = "gzip".to_owned();
        value.clone_into(&mut choice.value);
        cell.toggles.push(choice);
    }
    let mut all = trials(&base, &OLD);
    all.extend(trials(&head, &times(0.5)));
    let run = run(vec![base, head], &all);
    let cells = summarise(&run, &all);
    assert_eq!(judge(&run, &cells, None)[0].why, Why::NothingToCompare);
}

/// What becomes of a gate of 5 % where an earlier run had these values, or none.
fn since(old: Result<&[f64], &str>, new: &[u64]) -> Judgement<'static, 'static> {
    let head = cell("s", None, vec![at_most_worse("requests_per_second", 0.05)]);
    let all: &'static [Trial] = trials(&head, new).leak();
    let run: &'static Run = Box::leak(Box::new(run(vec![head], all)));
    let cells = summarise(run, all).leak();
    let lookup = |_: &CellId, metric: &str| {
        assert_eq!(metric, "requests_per_second");
        old.map(spread_of).map_err(str::to_owned)
    };
    judge(run, cells, Some(&lookup)).remove(0)
}

#[test]
fn an_earlier_run_is_compared_without_pairs() {
    let old = OLD.map(|rate| rate as f64);
    assert_eq!(since(Ok(&old), &times(0.9)).why, Why::Regressed);
    let held = since(Ok(&old), &OLD);
    assert!(!held.fell());
    assert_eq!(held.value, Some(1.0));
    // Four a side are enough for one gate, three for none.
    assert_eq!(since(Ok(&old[..4]), &times(0.9)[..4]).why, Why::Regressed);
    let few = Why::TooFew { needed: 4 };
    assert_eq!(since(Ok(&old[..3]), &times(0.9)).why, few);
    let why = since(Err("another machine"), &OLD).why;
    assert_eq!(why, Why::NoOldValue("another machine".to_owned()));
}

#[test]
fn another_revision_in_the_same_rounds_comes_before_an_earlier_run() {
    let gates = vec![at_most_worse("requests_per_second", 0.05)];
    let (base, head) = (cell("s", Some("base"), Vec::new()), cell("s", None, gates));
    let mut all = trials(&base, &OLD);
    all.extend(trials(&head, &OLD));
    let run = run(vec![base, head], &all);
    let cells = summarise(&run, &all);
    let judged = |old: Result<f64, &str>| {
        let values = old.map(|factor| OLD.map(|rate| rate as f64 * factor));
        let lookup = |_: &CellId, _: &str| {
            let values = values.map_err(str::to_owned)?;
            Ok(spread_of(&values))
        };
        judge(&run, &cells, Some(&lookup))[0].why.clone()
    };
    assert!(matches!(judged(Ok(1.2)), Why::NotShown { .. }));
    assert!(matches!(judged(Err("not there")), Why::NotShown { .. }));
}

#[test]
fn too_few_trials_for_so_many_gates_hide_no_regression() {
    // With six rounds the smallest p is 0.031, which is enough for one gate and not for two.
    let gates = || vec![at_most_worse("requests_per_second", 0.05)];
    let cells: Vec<_> = ["a", "b"]
        .iter()
        .flat_map(|server| {
            [
                cell(server, Some("base"), Vec::new()),
                cell(server, None, gates()),
            ]
        })
        .collect();
    let mut all = Vec::new();
    for cell in &cells {
        let slow = cell.server == "a" && cell.revision.is_none();
        all.extend(trials(cell, &if slow { times(0.8) } else { OLD.to_vec() }));
    }
    let run = run(cells, &all);
    let cells = summarise(&run, &all);
    let found = judge(&run, &cells, None);
    assert_eq!(found[0].why, Why::TooFewForAll { needed: 7 });
    assert!(!found[1].fell());
}

/// A normal variate, by the method of Box and Muller.
fn normal(source: &mut fastrand::Rng) -> f64 {
    let (a, b) = (1.0 - source.f64(), source.f64());
    (-2.0 * a.ln()).sqrt() * (TAU * b).cos()
}

/// Two sides of so many rounds with this noise, the new one `factor` times the old; the machine loses 5 % of its speed
/// in the run.
fn sides(source: &mut fastrand::Rng, rounds: u32, noise: f64, factor: f64) -> [Spread; 2] {
    let mut values = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        let first = source.usize(0..2);
        for place in 0..2 {
            let done = f64::from(2 * round + place) / f64::from(2 * rounds);
            let side = (first + place as usize) % 2;
            let factor = if side == 1 { factor } else { 1.0 };
            let drawn = 1.0 + noise * normal(source);
            values[side].push(1e5 * factor * (1.0 - 0.05 * done) * drawn.max(0.01));
        }
    }
    values.map(|values| spread_of(&values))
}

/// The share of runs of 16 cells, each with a gate on a rate and on a time, in which any gate fell. The rate of the first cell is
/// `factor` times what it was.
fn share_that_falls(
    runs: u32,
    seed: u64,
    (rounds, noise): (u32, f64),
    factor: f64,
    let_pass: f64,
) -> f64 {
    let mut source = fastrand::Rng::with_seed(seed);
    let fell = (0..runs).filter(|_| {
        let questions: Vec<Question> = (0..32)
            .map(|gate| {
                let better = [Direction::Higher, Direction::Lower][gate % 2];
                let factor = if gate == 0 { factor } else { 1.0 };
                let [old, new] = sides(&mut source, rounds, noise, factor);
                let limit = Limit { better, let_pass };
                within(&new, &old, limit, Order::Shuffled).unwrap()
            })
            .collect();
        let questions: Vec<&Question> = questions.iter().collect();
        together(&questions).iter().any(Why::fell)
    });
    fell.count() as f64 / f64::from(runs)
}

/// What a share may be off by.
fn margin(share: f64, runs: u32) -> f64 {
    3.0 * (share * (1.0 - share) / f64::from(runs)).sqrt()
}

#[test]
fn equal_revisions_seldom_fall() {
    let runs = 400;
    // Calm trials; and a noise so large that what is let pass is no help, where only the tests keep gates from falling.
    for (seed, rounds, noise, let_pass) in [
        (1, 12, 0.02, 0.05),
        (2, 12, 0.10, 0.02),
        (3, 10, 0.02, 0.05),
    ] {
        let fell = share_that_falls(runs, seed, (rounds, noise), 1.0, let_pass);
        // Three standard errors of 400 runs are 3.3 %.
        let most = 0.05 + margin(0.05, runs);
        assert!(fell <= most, "{rounds} rounds, noise {noise}: {fell}");
    }
}

#[test]
fn a_regression_of_a_tenth_falls_among_many_gates() {
    let runs = 200;
    for (seed, rounds) in [(4, 10), (5, 12)] {
        let fell = share_that_falls(runs, seed, (rounds, 0.02), 0.90, 0.05);
        let least = 0.80 - margin(0.80, runs);
        assert!(fell >= least, "{rounds} rounds: {fell}");
    }
}

#[test]
fn a_regression_of_a_tenth_falls_in_four_of_five_runs_of_ten_rounds() {
    let (runs, mut source) = (2000, fastrand::Rng::with_seed(6));
    let limit = Limit {
        better: Direction::Higher,
        let_pass: 0.05,
    };
    let mut found = [0.0; 2];
    for _ in 0..runs {
        let [old, new] = sides(&mut source, 10, 0.02, 0.90);
        let paired = within(&new, &old, limit, Order::Shuffled).unwrap();
        let alone = across(&new, &old, limit).unwrap();
        for (found, question) in found.iter_mut().zip([paired, alone]) {
            if together(&[&question]) == [Why::Regressed] {
                *found += 1.0 / f64::from(runs);
            }
        }
    }
    let least = 0.80 - margin(0.80, runs);
    assert!(found.iter().all(|share| *share >= least), "{found:?}");
}
