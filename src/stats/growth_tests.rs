//! What is promised of growth, proved by simulation: flat memory is seldom called growing, however it wavers; a leak is found,
//! and its size. Seeds are fixed, so that a test fails always or never. A share of N simulations is off by up to three standard
//! errors, which is what each bound allows.

use super::*;
use crate::record::{Phase, Reading};
use crate::stats::served::tests::{reading, trial};
use std::f64::consts::TAU;

/// Requests between two readings.
const STEP: u64 = 100;

fn normal(source: &mut fastrand::Rng) -> f64 {
    let (a, b) = (1.0 - source.f64(), source.f64());
    (-2.0 * a.ln()).sqrt() * (TAU * b).cos()
}

/// The RSS of one trial as multiples of its level, so many readings long.
type Memory = fn(&mut fastrand::Rng, usize) -> Vec<f64>;

/// Each reading is like the one before it (AR(1), 0.9), about a level, with a spread of 5 %.
fn wavering(source: &mut fastrand::Rng, readings: usize) -> Vec<f64> {
    correlated(source, readings, 0.05)
}

fn correlated(source: &mut fastrand::Rng, readings: usize, spread: f64) -> Vec<f64> {
    let mut at = normal(source);
    let mut next = || {
        at = 0.9 * at + (1.0_f64 - 0.81).sqrt() * normal(source);
        1.0 + spread * at
    };
    (0..readings).map(|_| next()).collect()
}

/// Garbage that fills up by 30 % and is collected, every 40 readings or about so.
fn sawtooth(source: &mut fastrand::Rng, readings: usize) -> Vec<f64> {
    let (mut filled, mut step) = (source.f64(), 1.0 / 40.0);
    let mut next = || {
        filled += step;
        if filled >= 1.0 {
            filled = 0.0;
            step = 1.0 / (40.0 + 4.0 * normal(source));
        }
        1.0 + 0.3 * filled + 0.003 * normal(source)
    };
    (0..readings).map(|_| next()).collect()
}

/// A heap that grows by half and has settled to nine tenths of that when a quarter has passed.
fn settling(source: &mut fastrand::Rng, readings: usize) -> Vec<f64> {
    (0..readings)
        .map(|at| {
            let passed = at as f64 / readings as f64;
            1.0 + 0.5 * (1.0 - (-passed / 0.1).exp()) + 0.003 * normal(source)
        })
        .collect()
}

/// A leak of 10 KiB a request upon memory of 200 MiB that wavers by 2 %.
fn leaking(source: &mut fastrand::Rng, readings: usize) -> Vec<f64> {
    let leaked = 10_240.0 * STEP as f64 / LEVEL;
    correlated(source, readings, 0.02)
        .into_iter()
        .enumerate()
        .map(|(at, level)| level + leaked * at as f64)
        .collect()
}

/// The level in bytes.
const LEVEL: f64 = 200.0 * 1024.0 * 1024.0;

fn seen(repetition: u32, memory: &[f64]) -> Seen {
    let last = memory.len() as u64 - 1;
    let readings: Vec<Reading> = (0..=last)
        .zip(memory)
        .map(|(at, level)| {
            let phase = if at == last {
                Phase::Rest
            } else {
                Phase::Measure
            };
            reading(at, phase, (level * LEVEL) as u64, Some(at * STEP))
        })
        .collect();
    let trial = trial("a", repetition, 0, last * STEP);
    Seen {
        repetition,
        round: repetition,
        served: Served::of(&trial, &readings).unwrap(),
    }
}

fn simulated(source: &mut fastrand::Rng, trials: u32, readings: usize, memory: Memory) -> Growth {
    let all: Vec<Seen> = (1..=trials)
        .map(|repetition| seen(repetition, &memory(source, readings)))
        .collect();
    of_trials(&all).unwrap()
}

fn called_growing(memory: Memory, trials: u32, readings: usize, times: u32, seed: u64) -> f64 {
    let mut source = fastrand::Rng::with_seed(seed);
    let growing = (0..times)
        .filter(|_| simulated(&mut source, trials, readings, memory).growing)
        .count();
    growing as f64 / f64::from(times)
}

#[test]
fn flat_memory_is_seldom_called_growing() {
    let margin = |times: u32| 3.0 * (0.05 * 0.95 / f64::from(times)).sqrt();
    let memories: [(Memory, u64); 3] = [(wavering, 1), (sawtooth, 2), (settling, 3)];
    for (memory, seed) in memories {
        for (trials, readings, times) in [(1, 300, 200), (3, 100, 100), (6, 100, 60)] {
            let wrong = called_growing(memory, trials, readings, times, seed);
            assert!(
                wrong <= 0.05 + margin(times),
                "memory {seed}, {trials} trials of {readings} readings: {wrong}"
            );
        }
    }
}

#[test]
fn a_leak_of_10_kib_a_request_is_found() {
    for (trials, readings, basis) in [
        (1, 300, Basis::Readings),
        (3, 100, Basis::Readings),
        (6, 100, Basis::Trials),
    ] {
        let mut source = fastrand::Rng::with_seed(4);
        let found: Vec<Growth> = (0..40)
            .map(|_| simulated(&mut source, trials, readings, leaking))
            .collect();
        let growing = found.iter().filter(|growth| growth.growing).count();
        assert!(
            growing >= 32,
            "{trials} trials of {readings}: {growing} of 40"
        );
        assert!(found.iter().all(|growth| growth.basis == basis));
        let added = 10_240.0 * (STEP * (readings as u64 - 1)) as f64;
        let middle = |read: fn(&Growth) -> f64| median(&found.iter().map(read).collect::<Vec<_>>());
        let slope = middle(|growth| growth.slope.estimate).unwrap();
        assert!((slope / 10_240.0 - 1.0).abs() < 0.05, "{slope}");
        assert!((middle(|growth| growth.added).unwrap() / added - 1.0).abs() < 0.05);
    }
}

#[test]
fn memory_that_shrinks_or_stays_does_not_grow() {
    let falling: Vec<f64> = (0..40).map(|at| 2.0 - f64::from(at) / 100.0).collect();
    let growth = of_trials(&[seen(1, &falling)]).unwrap();
    assert!(growth.slope.high < 0.0 && !growth.growing, "{growth:?}");
    let growth = of_trials(&[seen(1, &[1.0; 40])]).unwrap();
    assert_eq!((growth.slope.low, growth.slope.high), (0.0, 0.0));
    assert!(!growth.growing);
}

#[test]
fn too_few_readings_have_no_slope() {
    let rising =
        |readings: u32| -> Vec<f64> { (0..readings).map(|at| 1.0 + f64::from(at)).collect() };
    assert!(of_trials(&[seen(1, &rising(18))]).is_none());
    assert!(of_trials(&[seen(1, &rising(20))]).is_some());
    assert!(of_trials(&[seen(1, &rising(20)), seen(2, &rising(18))]).is_none());
    assert!(of_trials(&[]).is_none());
}

#[test]
fn peaks_are_those_of_as_many_requests() {
    // The same leak, once twice as long.
    let leak = |readings: u32| -> Vec<f64> {
        (0..readings)
            .map(|at| 1.0 + f64::from(at) / 100.0)
            .collect()
    };
    let (slow, fast) = ([seen(1, &leak(51))], [seen(1, &leak(101))]);
    let requests = slow[0].served.requests();
    assert!(requests < fast[0].served.requests());
    let peak = |trials| peaks(trials, requests).unwrap().median;
    assert!((peak(&slow) / peak(&fast) - 1.0).abs() < 1e-6);
    assert!((peak(&slow) / LEVEL - 1.5).abs() < 1e-6);
}

#[test]
fn many_readings_are_thinned_evenly() {
    assert_eq!(thinned(3).collect::<Vec<_>>(), [0, 1, 2]);
    let kept: Vec<usize> = thinned(10_000).collect();
    assert_eq!(kept.len(), MOST_READINGS);
    assert_eq!((kept[0], kept[MOST_READINGS - 1]), (0, 9_999));
    assert!(
        kept.windows(2)
            .all(|pair| (66..=68).contains(&(pair[1] - pair[0])))
    );
}
