//! Records of a small run as a real one would leave them: two servers with and without
//! compression and a third that is not installed. One cell failed, one trial is invalid,
//! one valid trial has errors.

use hotlap::ids::{CellId, RunId, TrialId, VariantId};
use hotlap::record::{
    ByteCounts, Connections, Counts, End, ErrorKind, FORMAT, Histogram, Host, Load, Outcome, Phase,
    Proof, Reading, Readings, Run, Session, Step, Stop, SuiteFile, Trial, Usage,
};
use hotlap::spec::{
    Amount, Axis, Build, Cell, Choice, Expect, LoadSpec, Order, Planned, ProcessSpec, Ready,
    Request, Requirement, RunSettings, Skip, Spec, Text,
};
use std::time::Duration;

/// The records of a run.
pub(crate) struct Records {
    pub(crate) run: Run,
    pub(crate) trials: Vec<Trial>,
    pub(crate) readings: Readings,
}

const SUITE: &str = r#"title = "What gzip costs: Node.js and Go"
description = "A JSON body of 48 KiB, plain and compressed. *Which server pays more for it?*"

[run]
repetitions = 3

[servers.node]
label = "Node.js"
command = "node server.js"

[servers.go]
label = "Go net/http"
build = ["go build -o server ."]
command = "./server"

[servers.bun]
command = "bun server.js"

[toggles.compression]
servers = ["node", "go"]
values.off = { expect.no_headers = ["content-encoding"] }
values.gzip = { env.COMPRESSION = "gzip", headers.accept-encoding = "gzip", expect.headers.content-encoding = "gzip" }

[loads.steady]
path = "/items"
connections = 64
duration = "10s"
"#;

fn cell(server: &str, label: &str, compression: Option<&str>, hash: &str) -> Cell {
    let toggles: Vec<Choice> = compression
        .iter()
        .map(|value| Choice {
            toggle: "compression".to_owned(),
            value: (*value).to_owned(),
            label: (*value).to_owned(),
        })
        .collect();
    let variant = compression.map_or_else(
        || server.to_owned(),
        |value| format!("{server}/compression={value}"),
    );
    let gzip = compression == Some("gzip");
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    Cell {
        id: CellId(format!("{variant}@steady#{hash}")),
        variant: VariantId(variant),
        server: server.to_owned(),
        server_label: label.to_owned(),
        toggles,
        load: "steady".to_owned(),
        load_label: "steady".to_owned(),
        baseline: Some(CellId(
            "node/compression=off@steady#0a1b2c3d4e5f".to_owned(),
        )),
        revision: None,
        commit: None,
        services: Vec::new(),
        url: None,
        prepare: Vec::new(),
        gates: Vec::new(),
        published: Vec::new(),
        requires: vec![Requirement::Tool {
            name: server.to_owned(),
            at_least: None,
            probe: vec![server.to_owned(), "--version".to_owned()],
            install: None,
        }],
        builds: if server == "go" {
            vec![Build {
                cwd: "apps/go".to_owned(),
                commands: vec![
                    ["go", "build", "-o", "server", "."]
                        .map(Text::from)
                        .to_vec(),
                ],
                revision: None,
                runtime: None,
                inputs: None,
                timeout: Duration::from_mins(15),
            }]
        } else {
            Vec::new()
        },
        processes: vec![process(server, gzip)],
        front: "server".to_owned(),
        ready: Ready {
            path: "/items".into(),
            status: Some(200),
            by: None,
            timeout: Duration::from_secs(30),
        },
        work: LoadSpec {
            request: Request {
                method: "GET".to_owned(),
                path: "/items".into(),
                headers: if gzip {
                    vec![("accept-encoding".to_owned(), "gzip".into())]
                } else {
                    Vec::new()
                },
                ..Request::default()
            },
            expect: Expect {
                headers: if gzip {
                    vec![pair("content-encoding", "gzip")]
                } else {
                    Vec::new()
                },
                no_headers: if gzip {
                    Vec::new()
                } else {
                    vec!["content-encoding".to_owned()]
                },
                ..Expect::default()
            },
            connections: 64,
            amount: Amount::Duration(Duration::from_secs(10)),
            warmup: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
            keep_alive: true,
            ..LoadSpec::default()
        },
        repetitions: 3,
        auto: false,
        trial_timeout: Duration::from_secs(150),
        probe: None,
        skip: None,
    }
}

fn process(server: &str, gzip: bool) -> ProcessSpec {
    let words: &[&str] = match server {
        "go" => &["./server", "-listen", "127.0.0.1:{{ port }}"],
        "bun" => &["bun", "server.js"],
        _ => &["node", "server.js"],
    };
    ProcessSpec {
        role: "server".to_owned(),
        command: words.iter().map(|word| Text::from(*word)).collect(),
        cwd: Text::literal(format!("apps/{server}")),
        env: if gzip {
            vec![("COMPRESSION".to_owned(), "gzip".into())]
        } else {
            Vec::new()
        },
        ..ProcessSpec::default()
    }
}

fn spec() -> Spec {
    let mut off = cell("node", "Node.js", Some("off"), "0a1b2c3d4e5f");
    off.baseline = None;
    let mut bun = cell("bun", "bun", None, "9e8d7c6b5a40");
    bun.skip = Some(Skip {
        reason: "bun is not on the PATH".to_owned(),
        install: Some("npm install --global bun".to_owned()),
    });
    let values = |values: &[(&str, &str)]| {
        let own = |(name, label): &(&str, &str)| ((*name).to_owned(), (*label).to_owned());
        values.iter().map(own).collect::<Vec<_>>()
    };
    let axis = |name: &str, of: &[(&str, &str)]| Axis {
        name: name.to_owned(),
        values: values(of),
    };
    Spec {
        suite: "gzip".to_owned(),
        title: "What gzip costs: Node.js and Go".to_owned(),
        description: Some(
            "A JSON body of 48 KiB, plain and compressed. *Which server pays more for it?*"
                .to_owned(),
        ),
        profile: None,
        run: RunSettings {
            repetitions: 3,
            order: Order::Shuffled,
            seed: 1848,
            cooldown: Duration::from_secs(1),
            rest: Duration::from_secs(5),
            sample_interval: Duration::from_millis(100),
            ..RunSettings::default()
        },
        axes: vec![
            axis(
                "server",
                &[("node", "Node.js"), ("go", "Go net/http"), ("bun", "bun")],
            ),
            axis("compression", &[("off", "off"), ("gzip", "gzip")]),
            axis("load", &[("steady", "steady")]),
        ],
        runtimes: Vec::new(),
        services: Vec::new(),
        published: Vec::new(),
        cells: vec![
            off,
            cell("node", "Node.js", Some("gzip"), "1f2e3d4c5b6a"),
            cell("go", "Go net/http", Some("off"), "7a8b9c0d1e2f"),
            cell("go", "Go net/http", Some("gzip"), "4c5d6e7f8091"),
            bun,
        ],
    }
}

/// What one server does under load, roughly.
struct Pace {
    /// Requests each second.
    rate: u64,
    /// Mean memory under load.
    rss: u64,
    /// CPU seconds in ten.
    cpu: f64,
    /// The body as it came.
    wire: u64,
}

fn pace(spec: &Cell) -> Pace {
    let gzip = spec.toggles.iter().any(|choice| choice.value == "gzip");
    match (spec.server.as_str(), gzip) {
        ("node", false) => Pace {
            rate: 9_300,
            rss: 94 << 20,
            cpu: 9.87,
            wire: 49_152,
        },
        ("node", true) => Pace {
            rate: 1_450,
            rss: 121 << 20,
            cpu: 10.91,
            wire: 6_204,
        },
        _ => Pace {
            rate: 31_800,
            rss: 19 << 20,
            cpu: 10.64,
            wire: 49_152,
        },
    }
}

/// A load of ten seconds that obeys Little's law: 64 connections, always busy, a tail of slow ones.
fn load(pace: &Pace, draw: &mut fastrand::Rng) -> Load {
    let rate = pace.rate as f64 * (0.985 + 0.03 * draw.f64());
    let succeeded = (rate * 10.0) as u64;
    let mean = 64.0 / rate * 1e9;
    let mut service = Histogram::empty(Duration::from_secs(10));
    // The body of the distribution in ten steps around the mean, one in fifty slow by two to eight.
    for step in 0..10 {
        let factor = 0.78 + 0.036 * f64::from(step);
        service
            .record_n((mean * factor) as u64, succeeded * 98 / 1000)
            .unwrap();
    }
    let rest = succeeded - service.len();
    for index in 0..rest {
        let factor = 2.0 + 6.0 * (index as f64 / rest as f64).powi(12);
        service.record((mean * factor) as u64).unwrap();
    }
    let mut connect = Histogram::empty(Duration::from_secs(10));
    connect.record_n(80_000 + draw.u64(0..40_000), 64).unwrap();
    Load {
        generator: "built-in".to_owned(),
        window_ns: 10_000_000_000 + draw.u64(0..9_000_000),
        counts: Counts {
            planned: succeeded,
            sent: succeeded,
            succeeded,
            ..Counts::default()
        },
        statuses: [(200, succeeded)].into(),
        bytes: ByteCounts {
            sent: succeeded * 61,
            received: succeeded * (pace.wire + 164),
            body: Some(succeeded * pace.wire),
            body_wire: Some(pace.wire),
            body_decoded: Some(49_152),
        },
        connections: Connections {
            wanted: 64,
            opened: 64,
            ..Connections::default()
        },
        service: Some(Histogram::store(&service, 0)),
        connect: Some(Histogram::store(&connect, 0)),
        per_second: vec![succeeded / 10; 10],
        generator_cpu_ns: Some(8_100_000_000),
        generator_threads: 1,
        warmup_requests: succeeded / 2,
        ..Load::default()
    }
}

fn usage(pace: &Pace, draw: &mut fastrand::Rng) -> Usage {
    let idle = pace.rss / 2;
    let peak = pace.rss + draw.u64(0..pace.rss / 20);
    Usage {
        rss_idle: Some(idle),
        rss_mean: Some(pace.rss),
        rss_peak: Some(peak),
        rss_after: Some(pace.rss * 9 / 10),
        pss_idle: Some(idle * 8 / 10),
        pss_loaded: Some(peak * 8 / 10),
        pss_after: Some(pace.rss * 7 / 10),
        rss_high_water: Some(peak + (1 << 20)),
        cpu_seconds: Some(pace.cpu + 0.01 * f64::from(draw.u32(0..20))),
        processes: 1,
        threads: 11,
        pids_seen: 1,
        sampler_cpu_seconds: Some(0.02),
        ..Usage::default()
    }
}

fn trial(spec: &Cell, repetition: u32, draw: &mut fastrand::Rng) -> Trial {
    let pace = pace(spec);
    let stop = Stop {
        exit: "exited with 0".to_owned(),
        polite: true,
        killed: 0,
        apart: false,
        printed_bytes: None,
    };
    Trial {
        observed: None,
        format: FORMAT,
        trial: TrialId {
            cell: spec.id.clone(),
            repetition,
        },
        round: repetition,
        session: 0,
        started: format!("2026-11-30T19:{:02}:10Z", 5 + repetition),
        took_ns: 21_400_000_000 + draw.u64(0..400_000_000),
        outcome: Outcome::Valid,
        port: Some(20_000 + draw.u16(0..900)),
        address: None,
        startup_ns: Some(60_000_000 + draw.u64(0..9_000_000)),
        listener: Proof::Proved,
        load: Some(load(&pace, draw)),
        usage: [("total".to_owned(), usage(&pace, draw))].into(),
        stops: [("server".to_owned(), stop)].into(),
        surroundings: None,
        warnings: Vec::new(),
    }
}

fn failed(spec: &Cell, repetition: u32, draw: &mut fastrand::Rng) -> Trial {
    Trial {
        outcome: Outcome::Failed {
            step: Step::Ready,
            reason: "no answer with status 200 from 127.0.0.1 within 30.0 s; the last connect was refused".to_owned(),
            log_tail: vec![
                "panic: compress: unknown level \"best|fast\"".to_owned(),
                "goroutine 1 [running]:".to_owned(),
                "main.main() /app/server.go:31 +0x1d4".to_owned(),
            ],
        },
        startup_ns: None,
        listener: Proof::Untested,
        load: None,
        usage: [].into(),
        ..trial(spec, repetition, draw)
    }
}

/// Some requests were answered with 503.
fn spoil(trial: &mut Trial, errors: u64) {
    let load = trial.load.as_mut().unwrap();
    load.counts.planned += errors;
    load.counts.sent += errors;
    load.counts.failed += errors;
    load.errors.insert(ErrorKind::Status, errors);
    load.error_examples
        .insert(ErrorKind::Status, "503 Service Unavailable".to_owned());
    load.statuses.insert(503, errors);
    load.first_error_ns = Some(4_210_000_000);
}

fn readings(trial: &Trial) -> Vec<Reading> {
    let Some(usage) = trial.usage.get("total") else {
        return Vec::new();
    };
    let row = |t_ms: u64, phase, rss: Option<u64>, pss, cpu: f64| Reading {
        t_ns: t_ms * 1_000_000,
        phase,
        role: "total".to_owned(),
        rss_bytes: rss.unwrap_or(0),
        pss_bytes: pss,
        cpu_seconds: cpu,
        processes: 1,
        threads: 11,
        completed: None,
    };
    let mut rows = vec![row(70, Phase::Idle, usage.rss_idle, usage.pss_idle, 0.05)];
    rows.push(row(2_600, Phase::Warmup, usage.rss_mean, None, 2.4));
    rows.extend((0..20).map(|at| {
        let rss = if at == 13 {
            usage.rss_peak
        } else {
            usage.rss_mean
        };
        row(
            5_100 + at * 500,
            Phase::Measure,
            rss,
            None,
            5.0 + at as f64 / 2.0,
        )
    }));
    rows.push(row(
        20_300,
        Phase::Rest,
        usage.rss_after,
        usage.pss_after,
        15.5,
    ));
    rows
}

/// The run, made anew: the same each time.
pub(crate) fn records() -> Records {
    let spec = spec();
    let mut draw = fastrand::Rng::with_seed(7);
    let mut trials = Vec::new();
    let mut plan = Vec::new();
    for round in 1..=3 {
        let mut cells: Vec<&Cell> = spec
            .cells
            .iter()
            .filter(|cell| cell.skip.is_none())
            .collect();
        draw.shuffle(&mut cells);
        for cell in cells {
            let dead = cell.server == "go" && cell.toggles[0].value == "gzip";
            let make = if dead { failed } else { trial };
            trials.push(make(cell, round, &mut draw));
            let trial = TrialId {
                cell: cell.id.clone(),
                repetition: round,
            };
            plan.push(Planned { trial, round });
        }
    }
    for trial in &mut trials {
        match (trial.trial.cell.names(), trial.trial.repetition) {
            ("node/compression=gzip@steady", 2) => {
                spoil(trial, 900);
                let reason = "5.84 % of requests failed (900 of 15400; the limit is 0.100 %); 900 × unexpected status";
                trial.outcome = Outcome::Invalid {
                    reasons: vec![reason.to_owned()],
                };
            }
            ("go/compression=off@steady", 3) => spoil(trial, 17),
            _ => {}
        }
    }
    let readings = trials
        .iter()
        .map(|trial| (trial.trial.clone(), readings(trial)))
        .filter(|(_, readings)| !readings.is_empty())
        .collect();
    Records {
        run: run(spec, plan),
        trials,
        readings,
    }
}

fn run(spec: Spec, plan: Vec<Planned>) -> Run {
    Run {
        format: FORMAT,
        id: RunId("2026-11-30T190500Z-ab12cd3".to_owned()),
        suite: SuiteFile {
            path: "suites/gzip.toml".to_owned(),
            sha256: "6f1c1ad8f0f4d1f7c7f1e2a5c2f1b8f1d5b0a2c7e9f3d4b6a8c0e1f2a3b4c5d6".to_owned(),
            text: SUITE.to_owned(),
        },
        spec,
        plan,
        selection: Vec::new(),
        host: Host {
            cpu: Some("Intel(R) Xeon(R) CPU @ 2.20GHz".to_owned()),
            cpus: 2,
            cpus_online: 2,
            memory_bytes: Some(8_326_807_552),
            kernel: Some("Linux 6.1.0 x86_64".to_owned()),
            system: Some("Debian GNU/Linux 12 (bookworm)".to_owned()),
            governor: None,
            virtualized: Some(true),
        },
        versions: [("go", "1.24.4"), ("node", "v22.11.0")]
            .map(|(name, version)| (name.to_owned(), version.to_owned()))
            .into(),
        pilots: Vec::new(),
        ceilings: Vec::new(),
        warmup: None,
        sessions: vec![Session {
            started: "2026-11-30T19:05:00Z".to_owned(),
            hotlap: "0.1.0".to_owned(),
            revision: Some("ab12cd3".to_owned()),
            sources: None,
            load_average: Some(0.21),
            host: None,
            notes: Vec::new(),
        }],
        end: Some(End::Complete),
    }
}
