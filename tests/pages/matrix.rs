//! A larger run made from the small one's cells and trials: servers × two toggles that cross × loads,
//! with readings of two roles where that is asked for.

use crate::fixture::{Records, records};
use hotlap::ids::{CellId, TrialId, VariantId};
use hotlap::record::{Outcome, Phase, Reading, Readings, Trial, Usage};
use hotlap::spec::{Axis, Cell, Choice, Planned};

/// What the run has.
pub(crate) struct Matrix<'a> {
    /// Labels of servers.
    pub(crate) servers: &'a [&'a str],
    /// Values of `workers`, which are their labels too.
    pub(crate) workers: &'a [&'a str],
    /// Values of `cache`.
    pub(crate) cache: &'a [&'a str],
    /// Labels of loads.
    pub(crate) loads: &'a [&'a str],
    /// Trials of each cell.
    pub(crate) trials: u32,
    /// Whether a server has two roles.
    pub(crate) roles: bool,
}

/// Readings of a role as a real trial has them: idle, a rise, a plateau that swings, and a rest.
fn readings(role: &str, peak: u64, trial: u32) -> Vec<Reading> {
    let row = |t: u64| {
        let (phase, share) = match t {
            0..10 => (Phase::Start, t),
            10..20 => (Phase::Idle, 10),
            20..70 => (Phase::Warmup, 10 + t),
            70..170 => (Phase::Measure, 86 + (t * 7 + u64::from(trial)) % 15),
            _ => (Phase::Rest, 70),
        };
        Reading {
            t_ns: t * 100_000_000,
            phase,
            role: role.to_owned(),
            rss_bytes: peak * share / 100,
            pss_bytes: None,
            cpu_seconds: 0.0,
            processes: 1,
            threads: 1,
            completed: None,
        }
    };
    (0..220).map(row).collect()
}

fn cell(
    pattern: &Cell,
    (server, workers, cache, load): (&str, &str, &str, &str),
    place: usize,
    baseline: Option<CellId>,
) -> Cell {
    let variant = format!("s/workers={workers}/cache={cache}");
    let choice = |toggle: &str, value: &str| Choice {
        toggle: toggle.to_owned(),
        value: value.to_owned(),
        label: value.to_owned(),
    };
    Cell {
        id: CellId(format!("{variant}@load#{place:06}{:06}", load.len())),
        variant: VariantId(variant),
        server: server.to_owned(),
        server_label: server.to_owned(),
        toggles: vec![choice("workers", workers), choice("cache", cache)],
        load: load.to_owned(),
        load_label: load.to_owned(),
        baseline,
        ..pattern.clone()
    }
}

impl Matrix<'_> {
    /// The run.
    pub(crate) fn records(&self) -> Records {
        let mut base = records();
        let pattern: Cell = base.run.spec.cells[0].clone();
        let template: Trial = base
            .trials
            .iter()
            .find(|trial| trial.outcome == Outcome::Valid)
            .unwrap()
            .clone();
        base.run.spec.cells.clear();
        base.run.plan.clear();
        base.trials.clear();
        base.readings = Readings::new();
        let own = |values: &[&str]| {
            values
                .iter()
                .map(|v| ((*v).to_owned(), (*v).to_owned()))
                .collect::<Vec<_>>()
        };
        let axis = |name: &str, values: &[&str]| Axis {
            name: name.to_owned(),
            values: own(values),
        };
        base.run.spec.axes = vec![
            axis("server", self.servers),
            axis("workers", self.workers),
            axis("cache", self.cache),
            axis("load", self.loads),
        ];
        let mut draw = fastrand::Rng::with_seed(3);
        for load in self.loads {
            let mut first = None;
            for (place, (server, workers, cache)) in self.variants().into_iter().enumerate() {
                let cell = cell(
                    &pattern,
                    (server, workers, cache, load),
                    place,
                    first.clone(),
                );
                first.get_or_insert(cell.id.clone());
                let speed = 1.0 + 0.4 * place as f64;
                for repetition in 1..=self.trials {
                    let speed = speed * (0.97 + 0.06 * draw.f64());
                    self.trial(&mut base, &template, &cell, repetition, speed);
                }
                base.run.spec.cells.push(cell);
            }
        }
        base
    }

    fn variants(&self) -> Vec<(&str, &str, &str)> {
        let mut all = Vec::new();
        for server in self.servers {
            for workers in self.workers {
                all.extend(self.cache.iter().map(|cache| (*server, *workers, *cache)));
            }
        }
        all
    }

    fn trial(
        &self,
        records: &mut Records,
        template: &Trial,
        cell: &Cell,
        repetition: u32,
        speed: f64,
    ) {
        let trial = TrialId {
            cell: cell.id.clone(),
            repetition,
        };
        let mut made = Trial {
            trial: trial.clone(),
            round: repetition,
            ..template.clone()
        };
        if let Some(load) = &mut made.load {
            load.window_ns = (10_000_000_000.0 / speed) as u64;
        }
        let peak = (60.0 * speed) as u64 * (1 << 20);
        let mut rows = readings("total", peak, repetition);
        if let Some(usage) = made.usage.get_mut("total") {
            usage.rss_peak = Some(peak);
        }
        if self.roles {
            for (role, share) in [("proxy", 3), ("app", 1)] {
                made.usage.insert(
                    role.to_owned(),
                    Usage {
                        rss_peak: Some(peak * share / 4),
                        ..Usage::default()
                    },
                );
                rows.extend(readings(role, peak * share / 4, repetition));
            }
        }
        records.readings.extend(&trial, &rows);
        records.trials.push(made);
        records.run.plan.push(Planned {
            trial,
            round: repetition,
        });
    }
}
