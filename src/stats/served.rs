//! Memory beside the requests that had been served: the readings of a trial as points of the two. Roles that count are
//! summed; what servers lean on is left out, as in every total.

use crate::record::{Phase, Reading, Trial};

/// Where a trial was at one reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Requests that had succeeded in the measured phase; in [`Served::loaded`] those of the warm-up too.
    pub(super) requests: f64,
    /// Sum of RSS in bytes.
    pub(super) rss: f64,
}

/// A trial's readings under load, in the order of their time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Served {
    /// Those of the measured phase, the one at its end included.
    pub(super) measured: Vec<Point>,
    /// Those of the warm-up and of the measured phase. Requests of the warm-up are taken as even over its time.
    pub(super) loaded: Vec<Point>,
    /// Whether the requests of the measured phase were counted with the readings; else they are taken as even over
    /// its time.
    pub(super) counted: bool,
}

impl Served {
    /// What the readings of a trial say; none without a load or without a measured phase.
    pub(super) fn of(trial: &Trial, readings: &[Reading]) -> Option<Self> {
        let load = trial.load.as_ref()?;
        let moments = moments(trial, readings);
        let measured = within(&moments, Phase::Measure);
        let time = measured.last()?.passed;
        let counted = measured.iter().all(|at| at.moment.completed.is_some());
        let requests = |at: &Within| match at.moment.completed {
            Some(completed) if counted => completed as f64,
            _ => load.counts.succeeded as f64 * share(at.passed, time),
        };
        let measured: Vec<Point> = measured
            .iter()
            .map(|at| Point {
                requests: requests(at),
                rss: at.moment.rss as f64,
            })
            .collect();
        let warm = load.warmup_requests as f64;
        let warming = within(&moments, Phase::Warmup);
        let warm_time = warming.last().map_or(0, |at| at.passed);
        let loaded = warming
            .iter()
            .map(|at| Point {
                requests: warm * share(at.passed, warm_time),
                rss: at.moment.rss as f64,
            })
            .chain(measured.iter().map(|point| Point {
                requests: warm + point.requests,
                rss: point.rss,
            }))
            .collect();
        Some(Self {
            measured,
            loaded,
            counted,
        })
    }

    /// How many requests it had served at its last reading under load, the warm-up included.
    pub(super) fn requests(&self) -> f64 {
        self.loaded.last().map_or(0.0, |point| point.requests)
    }

    /// The highest RSS in bytes until it had served so many requests, the warm-up included. Between two readings memory is
    /// taken as a straight line.
    pub(super) fn peak_until(&self, requests: f64) -> Option<f64> {
        let after = self
            .loaded
            .partition_point(|point| point.requests <= requests);
        let (before, rest) = self.loaded.split_at(after);
        let highest = before.iter().map(|point| point.rss).reduce(f64::max);
        let between = before.last().zip(rest.first()).map(|(from, to)| {
            let part = (requests - from.requests) / (to.requests - from.requests);
            from.rss + part * (to.rss - from.rss)
        });
        highest.into_iter().chain(between).reduce(f64::max)
    }
}

/// All readings of one time.
#[derive(Debug, Clone, Copy)]
struct Moment {
    t_ns: u64,
    phase: Phase,
    rss: u64,
    completed: Option<u64>,
}

fn moments(trial: &Trial, readings: &[Reading]) -> Vec<Moment> {
    let apart = |role: &str| trial.usage.get(role).is_some_and(|usage| usage.apart);
    readings
        .chunk_by(|a, b| a.t_ns == b.t_ns)
        .map(|together| Moment {
            t_ns: together[0].t_ns,
            phase: together[0].phase,
            rss: together
                .iter()
                .filter(|reading| !apart(&reading.role))
                .map(|reading| reading.rss_bytes)
                .sum(),
            completed: together[0].completed,
        })
        .collect()
}

/// A moment of a phase.
#[derive(Debug, Clone, Copy)]
struct Within {
    moment: Moment,
    /// Nanoseconds of the phase until then; pauses between two rounds are none of it.
    passed: u64,
}

/// The moments of a phase, each stretch of it with the moment that ends it.
fn within(moments: &[Moment], phase: Phase) -> Vec<Within> {
    let mut found: Vec<Within> = Vec::new();
    let mut passed = 0;
    for (at, moment) in moments.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| moments[before]);
        let goes_on = before.filter(|before| before.phase == phase);
        if let Some(before) = goes_on {
            passed += moment.t_ns.saturating_sub(before.t_ns);
        }
        if moment.phase == phase || goes_on.is_some() {
            found.push(Within {
                moment: *moment,
                passed,
            });
        }
    }
    found
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ids::{CellId, TrialId};
    use crate::record::{Counts, Load, Usage};

    /// A valid trial with a load of so many requests after a warm-up of as many.
    pub(in crate::stats) fn trial(cell: &str, repetition: u32, warm: u64, requests: u64) -> Trial {
        let id = TrialId {
            cell: CellId(cell.to_owned()),
            repetition,
        };
        let mut trial = Trial::new(id, repetition, 0);
        trial.load = Some(Load {
            warmup_requests: warm,
            counts: Counts {
                planned: requests,
                sent: requests,
                succeeded: requests,
                ..Counts::default()
            },
            ..Load::default()
        });
        trial
    }

    pub(in crate::stats) fn reading(
        t_ns: u64,
        phase: Phase,
        rss_bytes: u64,
        completed: Option<u64>,
    ) -> Reading {
        Reading {
            t_ns,
            phase,
            role: "server".to_owned(),
            rss_bytes,
            pss_bytes: None,
            cpu_seconds: 0.0,
            processes: 1,
            threads: 1,
            completed,
        }
    }

    #[test]
    fn requests_that_were_counted_stand_beside_memory() {
        let readings = [
            reading(0, Phase::Idle, 10, None),
            reading(10, Phase::Warmup, 20, None),
            reading(20, Phase::Measure, 30, Some(0)),
            reading(30, Phase::Measure, 40, Some(70)),
            reading(40, Phase::Rest, 50, Some(100)),
            reading(50, Phase::Rest, 99, Some(100)),
        ];
        let served = Served::of(&trial("a", 1, 50, 100), &readings).unwrap();
        let plain: Vec<(f64, f64)> = served.loaded.iter().map(|p| (p.requests, p.rss)).collect();
        let expected = [
            (0.0, 20.0),
            (50.0, 30.0),
            (50.0, 30.0),
            (120.0, 40.0),
            (150.0, 50.0),
        ];
        assert_eq!(plain, expected);
        assert_eq!(served.measured.len(), 3);
        assert!(served.counted);
        assert!((served.requests() - 150.0).abs() < 1e-9);
        assert_eq!(served.peak_until(25.0), Some(25.0));
        assert_eq!(served.peak_until(85.0), Some(35.0));
        assert_eq!(served.peak_until(1e9), Some(50.0));
        assert_eq!(served.peak_until(-1.0), None);
    }

    #[test]
    fn requests_that_nobody_counted_are_even_over_the_measured_time() {
        let readings = [
            reading(0, Phase::Measure, 1, None),
            reading(10, Phase::Measure, 2, None),
            reading(20, Phase::Idle, 3, None),
            reading(920, Phase::Measure, 4, None),
            reading(940, Phase::Rest, 5, None),
        ];
        let served = Served::of(&trial("a", 1, 0, 80), &readings).unwrap();
        let requests: Vec<f64> = served.measured.iter().map(|p| p.requests).collect();
        assert_eq!(requests, [0.0, 20.0, 40.0, 40.0, 80.0]);
        assert!(!served.counted);
    }

    #[test]
    fn what_servers_lean_on_is_left_out() {
        let mut trial = trial("a", 1, 0, 10);
        let apart = Usage {
            apart: true,
            ..Usage::default()
        };
        trial.usage.insert("database".to_owned(), apart);
        let of = |t_ns, role: &str, phase, rss| Reading {
            role: role.to_owned(),
            ..reading(t_ns, phase, rss, Some(t_ns))
        };
        let readings = [
            of(0, "server", Phase::Measure, 1),
            of(0, "worker", Phase::Measure, 2),
            of(0, "database", Phase::Measure, 100),
            of(10, "server", Phase::Rest, 3),
            of(10, "worker", Phase::Rest, 4),
            of(10, "database", Phase::Rest, 500),
        ];
        let served = Served::of(&trial, &readings).unwrap();
        let rss: Vec<f64> = served.measured.iter().map(|p| p.rss).collect();
        assert_eq!(rss, [3.0, 7.0]);
    }

    #[test]
    fn without_a_measured_phase_nothing_is_served() {
        let readings = [reading(0, Phase::Idle, 1, None)];
        assert_eq!(Served::of(&trial("a", 1, 0, 1), &readings), None);
    }
}
