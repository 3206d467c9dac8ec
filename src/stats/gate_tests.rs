//! Each rule by which a limit holds or falls.

use super::*;
use crate::ids::{CellId, RunId, TrialId, VariantId};
use crate::record::{Counts, FORMAT, Host, Load, Outcome, Step, SuiteFile};
use crate::spec::{Choice, Limit, LoadSpec, Planned, Ready, RunSettings, Skip, Spec};
use crate::stats::summarise;
use std::time::Duration;

/// A cell of a server and a revision, with these limits.
pub(in crate::stats) fn cell(server: &str, revision: Option<&str>, gates: Vec<Limit>) -> Cell {
    let value = revision.unwrap_or("head");
    let id = CellId(format!("{server}/rev={value}@l#0"));
    let base = CellId(format!("{server}/rev=base@l#0"));
    Cell {
        baseline: revision.is_none().then_some(base),
        id,
        variant: VariantId(format!("{server}/rev={value}")),
        server: server.to_owned(),
        server_label: server.to_owned(),
        toggles: vec![Choice {
            toggle: "rev".to_owned(),
            value: value.to_owned(),
            label: value.to_owned(),
        }],
        load: "l".to_owned(),
        load_label: "l".to_owned(),
        revision: revision.map(Into::into),
        commit: None,
        requires: Vec::new(),
        builds: Vec::new(),
        services: Vec::new(),
        url: None,
        processes: Vec::new(),
        front: "server".to_owned(),
        ready: Ready {
            path: "/".into(),
            status: None,
            by: None,
            timeout: Duration::from_secs(1),
        },
        prepare: Vec::new(),
        work: LoadSpec::default(),
        repetitions: 1,
        auto: false,
        trial_timeout: Duration::from_secs(1),
        probe: None,
        gates,
        published: Vec::new(),
        skip: None,
    }
}

/// A limit of one metric, without any bound yet.
pub(in crate::stats) fn limit(metric: &str) -> Limit {
    Limit {
        metric: metric.to_owned(),
        max: None,
        min: None,
        max_regression: None,
        history: false,
    }
}

fn at_most(metric: &str, max: f64) -> Vec<Limit> {
    vec![Limit {
        max: Some(Bound::Value(max)),
        ..limit(metric)
    }]
}

fn at_least(metric: &str, min: f64) -> Vec<Limit> {
    vec![Limit {
        min: Some(Bound::Value(min)),
        ..limit(metric)
    }]
}

/// A valid trial of ten seconds with so many successes a second.
pub(in crate::stats) fn trial(cell: &Cell, repetition: u32, rate: u64) -> Trial {
    let id = TrialId {
        cell: cell.id.clone(),
        repetition,
    };
    let succeeded = rate * 10;
    let load = Load {
        generator: "built-in".to_owned(),
        window_ns: 10_000_000_000,
        generator_threads: 1,
        counts: Counts {
            planned: succeeded,
            sent: succeeded,
            succeeded,
            ..Counts::default()
        },
        ..Load::default()
    };
    Trial {
        load: Some(load),
        ..Trial::new(id, repetition, 0)
    }
}

/// One trial for each rate.
pub(in crate::stats) fn trials(cell: &Cell, rates: &[u64]) -> Vec<Trial> {
    let numbered = rates.iter().zip(1..);
    numbered
        .map(|(rate, repetition)| trial(cell, repetition, *rate))
        .collect()
}

/// A run that came to its end, with these trials planned.
pub(in crate::stats) fn run(cells: Vec<Cell>, trials: &[Trial]) -> Run {
    let planned = |trial: &Trial| Planned {
        trial: trial.trial.clone(),
        round: trial.round,
    };
    Run {
        format: FORMAT,
        id: RunId("r".to_owned()),
        suite: SuiteFile {
            path: String::new(),
            sha256: String::new(),
            text: String::new(),
        },
        spec: Spec {
            suite: "s".to_owned(),
            title: "s".to_owned(),
            description: None,
            profile: None,
            run: RunSettings::default(),
            axes: Vec::new(),
            runtimes: Vec::new(),
            services: Vec::new(),
            published: Vec::new(),
            cells,
        },
        plan: trials.iter().map(planned).collect(),
        selection: Vec::new(),
        host: Host::default(),
        versions: [].into(),
        sessions: Vec::new(),
        pilots: Vec::new(),
        ceilings: Vec::new(),
        warmup: None,
        end: Some(End::Complete),
    }
}

/// What becomes of the only gate of a cell with these trials.
fn only(gates: Vec<Limit>, rates: &[u64], change: impl FnOnce(&mut Run, &mut Vec<Trial>)) -> Why {
    let cell = cell("s", None, gates);
    let mut trials = trials(&cell, rates);
    let mut run = run(vec![cell], &trials);
    change(&mut run, &mut trials);
    let cells = summarise(&run, &trials);
    let mut found = judge(&run, &cells, None);
    assert_eq!(found.len(), 1);
    found.remove(0).why
}

fn as_it_is(_: &mut Run, _: &mut Vec<Trial>) {}

const TEN: [u64; 10] = [100, 101, 102, 103, 104, 105, 106, 107, 108, 109];

fn rate(kind: Kind, bound: f64) -> Vec<Limit> {
    match kind {
        Kind::Min => at_least("requests_per_second", bound),
        _ => at_most("requests_per_second", bound),
    }
}

#[test]
fn a_limit_falls_where_the_whole_interval_is_beyond_it() {
    // Of ten values the interval is from the second to the ninth: 101 to 108.
    for (kind, bound, why) in [
        (Kind::Max, 108.0, Why::Within),
        (Kind::Max, 107.9, Why::Noise),
        (Kind::Max, 104.0, Why::Noise),
        (Kind::Max, 101.0, Why::Noise),
        (Kind::Max, 100.9, Why::Beyond),
        (Kind::Min, 101.0, Why::Within),
        (Kind::Min, 106.0, Why::Noise),
        (Kind::Min, 108.0, Why::Noise),
        (Kind::Min, 108.1, Why::Beyond),
    ] {
        let got = only(rate(kind, bound), &TEN, as_it_is);
        assert_eq!(got, why, "{kind:?} {bound}");
    }
}

#[test]
fn with_too_few_trials_for_an_interval_the_median_decides() {
    let five = &TEN[..5];
    assert_eq!(only(rate(Kind::Max, 102.0), five, as_it_is), Why::Within);
    assert_eq!(only(rate(Kind::Max, 101.9), five, as_it_is), Why::Beyond);
    assert_eq!(only(rate(Kind::Min, 102.1), five, as_it_is), Why::Beyond);
}

fn failing(trial: &mut Trial, errors: u64) {
    let counts = &mut trial.load.as_mut().unwrap().counts;
    counts.failed = errors;
    counts.sent += errors;
    counts.planned += errors;
}

#[test]
fn errors_are_those_of_the_worst_trial_even_where_it_does_not_count() {
    let spoilt = |run: &mut Run, trials: &mut Vec<Trial>| {
        let _ = run;
        failing(&mut trials[3], 10);
    };
    assert_eq!(only(at_most("errors", 10.0), &TEN, spoilt), Why::Within);
    assert_eq!(only(at_most("errors", 9.0), &TEN, spoilt), Why::Beyond);
    assert_eq!(only(at_most("errors", 0.0), &TEN, as_it_is), Why::Within);
    let invalid = |_: &mut Run, trials: &mut Vec<Trial>| {
        failing(&mut trials[3], 10);
        trials[3].outcome = Outcome::Invalid {
            reasons: vec!["x".to_owned()],
        };
    };
    assert_eq!(only(at_most("errors", 0.0), &TEN, invalid), Why::Beyond);
    // Within the limit; but a trial that does not count is no proof that anything holds.
    assert_eq!(only(at_most("errors", 10.0), &TEN, invalid), Why::Trials);
    // 10 of 1040 finished requests.
    let share = |most| {
        vec![Limit {
            max: Some(Bound::Share(most)),
            ..limit("errors")
        }]
    };
    assert_eq!(only(share(0.009_7), &TEN, spoilt), Why::Within);
    assert_eq!(only(share(0.009_6), &TEN, spoilt), Why::Beyond);
}

#[test]
fn a_load_without_any_finished_request_has_no_share_of_errors() {
    let nothing = |_: &mut Run, trials: &mut Vec<Trial>| {
        trials[0].load.as_mut().unwrap().counts = Counts::default();
    };
    let share = vec![Limit {
        max: Some(Bound::Share(0.5)),
        ..limit("errors")
    }];
    assert!(matches!(only(share, &TEN, nothing), Why::NoValue { .. }));
}

#[test]
fn what_was_not_measured_whole_falls() {
    let failed = |_: &mut Run, trials: &mut Vec<Trial>| {
        trials[0].outcome = Outcome::Failed {
            step: Step::Ready,
            reason: "x".to_owned(),
            log_tail: Vec::new(),
        };
    };
    let missing = |_: &mut Run, trials: &mut Vec<Trial>| {
        trials.pop();
    };
    let none = |_: &mut Run, trials: &mut Vec<Trial>| trials.clear();
    let skipped = |run: &mut Run, trials: &mut Vec<Trial>| {
        trials.clear();
        run.plan.clear();
        run.spec.cells[0].skip = Some(Skip {
            reason: "x".to_owned(),
            install: None,
        });
    };
    let holds = || rate(Kind::Min, 1.0);
    assert_eq!(only(holds(), &TEN, as_it_is), Why::Within);
    assert_eq!(only(holds(), &TEN, failed), Why::Trials);
    assert_eq!(only(holds(), &TEN, missing), Why::Trials);
    assert!(only(holds(), &TEN, none).fell());
    assert!(only(holds(), &TEN, skipped).fell());
    assert_eq!(only(at_most("errors", 0.0), &TEN, skipped), Why::Trials);
    for end in [Some(End::Interrupted), Some(End::Aborted), None] {
        let ended = |run: &mut Run, _: &mut Vec<Trial>| run.end = end;
        assert_eq!(only(holds(), &TEN, ended), Why::Ended);
    }
}

#[test]
fn a_metric_without_a_figure_falls() {
    // No histogram: too few samples, or a generator that does not tell it.
    for metric in [
        "latency_p99",
        "service_p99",
        "response_p99",
        "capacity",
        "no_such",
    ] {
        let why = only(at_most(metric, 1e12), &TEN, as_it_is);
        assert_eq!(why, Why::NoValue { trials: 10 }, "{metric}");
    }
    let some = |_: &mut Run, trials: &mut Vec<Trial>| {
        for trial in &mut trials[1..] {
            trial.startup_ns = Some(5);
        }
    };
    let why = only(at_most("startup", 6.0), &TEN, some);
    assert_eq!(why, Why::NoValue { trials: 1 });
}

fn full(trials: &mut [Trial]) {
    for trial in trials {
        trial.load.as_mut().unwrap().generator_cpu_ns = Some(9_900_000_000);
    }
}

#[test]
fn a_rate_that_the_generator_limited_is_a_lower_bound() {
    let limited = |_: &mut Run, trials: &mut Vec<Trial>| full(&mut trials[..1]);
    assert_eq!(only(rate(Kind::Min, 104.5), &TEN, limited), Why::Enough);
    assert_eq!(only(rate(Kind::Min, 104.6), &TEN, limited), Why::Limited);
    assert_eq!(only(rate(Kind::Max, 200.0), &TEN, limited), Why::Limited);
    assert_eq!(only(rate(Kind::Max, 50.0), &TEN, limited), Why::Beyond);
    // What is no rate is what it is.
    let started = |run: &mut Run, trials: &mut Vec<Trial>| {
        limited(run, trials);
        for trial in trials {
            trial.startup_ns = Some(5);
        }
    };
    assert_eq!(only(at_most("startup", 6.0), &TEN, started), Why::Within);
}
