//! Each hint on both sides of its threshold.

use super::*;
use crate::ids::{CellId, TrialId};
use crate::record::{Connections, Counts, Proof, Stop, Workers};

fn trial(load: Load) -> Trial {
    let id = TrialId {
        cell: CellId("server@steady#000000000000".to_owned()),
        repetition: 1,
    };
    Trial {
        listener: Proof::Proved,
        load: Some(load),
        ..Trial::new(id, 1, 0)
    }
}

/// Service times, as many of each as is said.
fn histogram(times: &[(u64, u64)]) -> Histogram {
    let mut live = Histogram::empty(Duration::from_mins(1));
    for (milliseconds, count) in times {
        live.record_n(milliseconds * 1_000_000, *count).unwrap();
    }
    Histogram::store(&live, 0)
}

/// Ten seconds with these service times.
fn served(times: &[(u64, u64)]) -> Load {
    let succeeded = times.iter().map(|(_, count)| count).sum();
    Load {
        window_ns: 10_000_000_000,
        counts: Counts {
            planned: succeeded,
            sent: succeeded,
            succeeded,
            ..Counts::default()
        },
        service: Some(histogram(times)),
        ..Load::default()
    }
}

fn of(load: Load) -> Vec<Hint> {
    hints(&trial(load), &LoadSpec::default())
}

#[test]
fn forty_milliseconds_are_a_delayed_acknowledgement() {
    let flat = served(&[(1, 50), (38, 400), (47, 310), (90, 240)]);
    assert_eq!(of(flat.clone()), [Hint::DelayedAck]);
    let anew = LoadSpec {
        keep_alive: false,
        ..LoadSpec::default()
    };
    assert_eq!(hints(&trial(flat), &anew), []);
    // More than a tenth is quicker, or more than a quarter takes longer.
    assert_eq!(of(served(&[(1, 110), (44, 890)])), []);
    assert_eq!(of(served(&[(44, 740), (49, 260)])), []);
    assert_eq!(of(served(&[(37, 1000)])), []);
    // Too few for a quarter of them to be known.
    assert_eq!(of(served(&[(44, 39)])), []);
}

#[test]
fn clusters_about_the_kernels_timer_are_syns_sent_again() {
    let syn = |connects, responses| {
        vec![Hint::SynRetries {
            connects,
            responses,
        }]
    };
    assert_eq!(of(served(&[(2, 900), (1010, 5)])), syn(0, 5));
    assert_eq!(of(served(&[(2, 900), (1010, 4)])), []);
    assert_eq!(of(served(&[(2, 900), (1020, 7), (3040, 6)])), syn(0, 13));
    // As many beside it: a long tail, and no cluster.
    let tail = [(2, 900), (800, 3), (900, 3), (1010, 6), (1200, 3)];
    assert_eq!(of(served(&tail)), []);
    // Most take a second: that is how long it takes.
    assert_eq!(of(served(&[(2, 40), (1000, 60)])), []);
    let mut load = served(&[(2, 900)]);
    load.connect = Some(histogram(&[(0, 3), (1000, 40), (3000, 20)]));
    assert_eq!(of(load), syn(60, 0));
}

#[test]
fn one_connection_in_twenty_requests_is_told() {
    let with = |reconnects| Load {
        connections: Connections {
            reconnects,
            ..Connections::default()
        },
        ..served(&[(1, 1000)])
    };
    assert_eq!(of(with(49)), []);
    assert_eq!(of(with(50)), [Hint::Reconnects { share: 0.05 }]);
    let anew = LoadSpec {
        keep_alive: false,
        ..LoadSpec::default()
    };
    assert_eq!(hints(&trial(with(1000)), &anew), []);
    assert_eq!(of(Load::default()), []);
}

#[test]
fn one_of_two_workers_with_more_than_four_fifths_did_the_work() {
    let with = |processes, busiest_share, apart| {
        let usage = Usage {
            workers: Some(Workers {
                processes,
                busiest_share,
            }),
            apart,
            ..Usage::default()
        };
        let mut trial = trial(served(&[(1, 100)]));
        trial.usage.insert("app".to_owned(), usage);
        hints(&trial, &LoadSpec::default())
    };
    let told = Hint::OneWorker {
        role: "app".to_owned(),
        workers: 2,
        share: 0.81,
    };
    assert_eq!(with(2, 0.81, false), [told]);
    assert_eq!(with(2, 0.80, false), []);
    assert_eq!(with(1, 1.0, false), []);
    assert_eq!(with(2, 0.81, true), [], "how a service works is its own");
}

#[test]
fn more_than_a_megabyte_a_second_is_loud() {
    let with = |printed_bytes| {
        let stop = Stop {
            exit: "exited with 0".to_owned(),
            polite: true,
            killed: 0,
            apart: false,
            printed_bytes,
        };
        let mut trial = trial(served(&[(1, 100)]));
        trial.stops.insert("server".to_owned(), stop);
        // Five seconds of warm-up and ten measured.
        hints(&trial, &LoadSpec::default())
    };
    assert_eq!(with(None), []);
    assert_eq!(with(Some(15_000_000)), []);
    let [Hint::Loud { role, rate }] = &with(Some(30_000_000))[..] else {
        panic!("two megabytes a second are loud");
    };
    assert_eq!((role.as_str(), *rate), ("server", 2e6));
}

#[test]
fn a_start_over_ten_seconds_is_told() {
    let with = |startup_ns| {
        let mut trial = trial(served(&[(1, 100)]));
        trial.startup_ns = startup_ns;
        hints(&trial, &LoadSpec::default())
    };
    assert_eq!(with(None), []);
    assert_eq!(with(Some(10_000_000_000)), []);
    let after = Duration::from_millis(10_001);
    assert_eq!(with(Some(10_001_000_000)), [Hint::SlowStart { after }]);
}

#[test]
fn watching_that_takes_more_than_a_fiftieth_is_told() {
    let with = |sampler_cpu_seconds| {
        let usage = Usage {
            sampler_cpu_seconds,
            ..Usage::default()
        };
        let mut trial = trial(served(&[(1, 100)]));
        trial.usage.insert("total".to_owned(), usage);
        hints(&trial, &LoadSpec::default())
    };
    assert_eq!(with(Some(0.2)), []);
    assert_eq!(with(Some(0.3)), [Hint::HeavySampler { share: 0.03 }]);
}
