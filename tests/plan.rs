//! From a suite's text to its plan: cells, precedence, baselines, identity,
//! profiles, selection and order.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a suite of these tests that does not resolve has failed its test"
)]

use hotlap::diagnostic::{SourceText, Style, render};
use hotlap::plan::{Options, PlanError, schedule, spec};
use hotlap::spec::{Amount, Cell, Spec};
use hotlap::suite::check;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

fn plan_with(text: &str, options: &Options) -> Spec {
    let source = SourceText {
        name: "test.toml".to_owned(),
        text: text.to_owned(),
    };
    let checked = check(&source, "test", Path::new("."));
    let Some(suite) = checked.suite else {
        panic!("{}", render(&source, &checked.diagnostics, Style::Plain));
    };
    match spec(&suite, options) {
        Ok(spec) => spec,
        Err(PlanError::Suite(mistakes)) => panic!("{}", render(&source, &mistakes, Style::Plain)),
        Err(error) => panic!("{error}"),
    }
}

fn plan(text: &str) -> Spec {
    plan_with(text, &Options::default())
}

fn names(spec: &Spec) -> Vec<&str> {
    spec.cells.iter().map(|cell| cell.id.names()).collect()
}

fn cell<'a>(spec: &'a Spec, names: &str) -> &'a Cell {
    spec.cells
        .iter()
        .find(|cell| cell.id.names() == names)
        .unwrap()
}

fn env(cell: &Cell) -> BTreeMap<String, String> {
    let pairs = &cell.processes[0].env;
    pairs
        .iter()
        .map(|(name, text)| (name.clone(), text.to_string()))
        .collect()
}

fn command(cell: &Cell) -> String {
    let words: Vec<String> = cell.processes[0]
        .command
        .iter()
        .map(ToString::to_string)
        .collect();
    words.join(" ")
}

const MATRIX: &str = r#"
[servers.a]
command = "a --port {{ port }}"
[servers.b]
command = "b"
[toggles.mode]
servers = ["a"]
values.off = {}
values.on = { env.MODE = "on" }
[toggles.workers]
values = [1, 2]
args = "--workers={{ value }}"
[loads.x]
[loads.y]
path = "/y"
"#;

#[test]
fn a_cell_is_a_server_with_the_toggles_that_apply_under_a_load() {
    let spec = plan(MATRIX);
    assert_eq!(
        names(&spec),
        [
            "a/mode=off/workers=1@x",
            "a/mode=off/workers=1@y",
            "a/mode=off/workers=2@x",
            "a/mode=off/workers=2@y",
            "a/mode=on/workers=1@x",
            "a/mode=on/workers=1@y",
            "a/mode=on/workers=2@x",
            "a/mode=on/workers=2@y",
            "b/workers=1@x",
            "b/workers=1@y",
            "b/workers=2@x",
            "b/workers=2@y",
        ]
    );
    assert_eq!(
        command(cell(&spec, "a/mode=on/workers=2@x")),
        "a --port {{ port }} --workers=2"
    );
    let ids: BTreeSet<_> = spec.cells.iter().map(|cell| &cell.id).collect();
    assert_eq!(ids.len(), spec.cells.len());
}

#[test]
fn the_same_names_in_two_toggles_are_four_cells() {
    let spec = plan(
        "[servers.s]\ncommand = \"s\"\n[loads.l]\n[toggles.a]\nvalues = [\"on\", \"off\"]\n[toggles.b]\nvalues = [\"on\", \"off\"]\n",
    );
    assert_eq!(spec.cells.len(), 4);
    assert_eq!(spec.cells[0].id.names(), "s/a=on/b=on@l");
}

#[test]
fn a_response_may_be_expected_to_have_what_frames_it() {
    let spec = plan(
        "[servers.s]\ncommand = \"s\"\n[loads.l]\nexpect.headers.Content-Length = \"13\"\nexpect.no_headers = [\"Transfer-Encoding\"]\n",
    );
    let expect = &spec.cells[0].work.expect;
    assert_eq!(
        expect.headers,
        [("content-length".to_owned(), "13".to_owned())]
    );
    assert_eq!(expect.no_headers, ["transfer-encoding"]);
}

#[test]
fn later_settings_win_and_tables_merge() {
    let spec = plan(
        r#"
[defaults.server]
command = "from-defaults"
env = { A = "defaults", B = "defaults", C = "defaults", D = "defaults" }
[servers.s]
command = "from-server"
env = { B = "server", C = "server", D = "server" }
[toggles.t]
env.C = "beside {{ value }}"
values.one = { env.D = "toggle", headers.X-B = "toggle", expect.headers.x = "1" }
values.two = {}
[[overrides]]
when = { t = "one" }
set.env.D = "override"
set.command = "from-override"
[defaults.load]
headers = { x-a = "defaults", x-b = "defaults" }
[loads.l]
headers.X-A = "load"
expect.no_headers = ["x", "y"]
"#,
    );
    let one = cell(&spec, "s/t=one@l");
    let two = cell(&spec, "s/t=two@l");
    assert_eq!(command(one), "from-override");
    assert_eq!(command(two), "from-server");
    let want = |c: &str, d: &str| {
        [("A", "defaults"), ("B", "server"), ("C", c), ("D", d)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    };
    assert_eq!(env(one), want("beside one", "override"));
    assert_eq!(env(two), want("beside two", "server"));
    let headers: Vec<(String, String)> = one
        .work
        .request
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(headers, [pair("X-A", "load"), pair("x-b", "toggle")]);
    // A header that a toggle wants is no longer unwanted.
    assert_eq!(one.work.expect.no_headers, ["y"]);
    assert_eq!(one.work.expect.headers, [pair("x", "1")]);
    assert_eq!(two.work.expect.no_headers, ["x", "y"]);
}

#[test]
fn unset_is_not_empty() {
    let spec = plan(
        r#"
[servers.s]
command = "s"
env = { A = "1", B = "2" }
[toggles.t]
values.without = { unset_env = ["A", "HOME"] }
values.with = {}
[loads.l]
"#,
    );
    let without = cell(&spec, "s/t=without@l");
    assert!(!env(without).contains_key("A"));
    assert_eq!(without.processes[0].unset_env, ["A", "HOME"]);
    assert!(env(cell(&spec, "s/t=with@l")).contains_key("A"));
}

#[test]
fn ratios_refer_to_the_first_of_everything_unless_the_suite_says_otherwise() {
    let spec = plan(MATRIX);
    let base = |name: &str| {
        let id = cell(&spec, name).baseline.clone()?;
        Some(spec.cell(&id)?.id.names().to_owned())
    };
    assert_eq!(base("a/mode=off/workers=1@x"), None);
    assert_eq!(
        base("a/mode=on/workers=2@y").unwrap(),
        "a/mode=off/workers=1@y"
    );
    assert_eq!(base("b/workers=2@x").unwrap(), "a/mode=off/workers=1@x");

    let text = format!("[run]\nbaseline = {{ workers = 2 }}\n{MATRIX}");
    let spec = plan(&text);
    let base = |name: &str| {
        let id = cell(&spec, name).baseline.clone()?;
        Some(spec.cell(&id)?.id.names().to_owned())
    };
    assert_eq!(base("b/workers=1@x").unwrap(), "b/workers=2@x");
    assert_eq!(
        base("a/mode=on/workers=1@y").unwrap(),
        "a/mode=on/workers=2@y"
    );
}

#[test]
fn a_cell_is_what_it_does_not_what_it_is_called() {
    let with = |line: &str| {
        plan(&format!(
            "[servers.s]\ncommand = \"s\"\n{line}\n[loads.l]\n"
        ))
        .cells[0]
            .id
            .clone()
    };
    let plain = with("");
    assert_eq!(plain, with("label = \"S\""));
    assert_eq!(plain, with("port = 8080"));
    assert_eq!(plain, with("requires = [\"node\"]"));
    for other in [
        "env.A = \"1\"",
        "cwd = \"src\"",
        "build = [\"make\"]",
        "address = \"::1\"",
    ] {
        assert_ne!(plain, with(other), "{other}");
    }
    assert_eq!(plain.names(), "s@l");
}

#[test]
fn a_profile_limits_what_the_suite_asks_for() {
    let text = r#"
[run]
repetitions = 20
warmup = "4s"
[servers.s]
command = "s"
[loads.timed]
duration = "60s"
[loads.counted]
requests = 1000
repetitions = 2
[profiles.quick]
run = { repetitions = 3, warmup = "1s" }
load = { max_duration = "2s", max_requests = 5000 }
"#;
    let usual = plan(text);
    assert_eq!(cell(&usual, "s@timed").repetitions, 20);
    assert_eq!(cell(&usual, "s@counted").repetitions, 2);
    let quick = plan_with(
        text,
        &Options {
            profile: Some("quick".to_owned()),
            ..Options::default()
        },
    );
    let (timed, counted) = (cell(&quick, "s@timed"), cell(&quick, "s@counted"));
    assert_eq!((timed.repetitions, counted.repetitions), (3, 2));
    assert_eq!(timed.work.amount, Amount::Duration(Duration::from_secs(2)));
    assert_eq!(counted.work.amount, Amount::Requests(1000));
    assert_eq!(timed.work.warmup, Duration::from_secs(1));
    assert_eq!(quick.profile.as_deref(), Some("quick"));
}

#[test]
fn only_and_skip_choose_cells_and_know_their_names() {
    let pair = |axis: &str, value: &str| (axis.to_owned(), value.to_owned());
    let spec = plan_with(
        MATRIX,
        &Options {
            only: vec![pair("server", "a"), pair("load", "x"), pair("load", "y")],
            skip: vec![pair("mode", "on"), pair("workers", "2")],
            ..Options::default()
        },
    );
    assert_eq!(
        names(&spec),
        ["a/mode=off/workers=1@x", "a/mode=off/workers=1@y"]
    );
}

#[test]
fn a_seed_is_an_order() {
    let order = |seed: u64| {
        let spec = plan_with(
            MATRIX,
            &Options {
                seed: Some(seed),
                repetitions: Some(2),
                ..Options::default()
            },
        );
        schedule(&spec)
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    let planned = order(1);
    assert_eq!(planned.len(), 24);
    for (round, trials) in planned.chunks(12).enumerate() {
        let cells: BTreeSet<_> = trials.iter().map(|planned| &planned.trial.cell).collect();
        assert_eq!(cells.len(), 12, "every round has every cell once");
        assert!(
            trials
                .iter()
                .all(|planned| planned.round as usize == round + 1)
        );
    }
}

#[test]
fn a_spec_reads_back_from_its_record() {
    let spec = plan(MATRIX);
    let text = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<Spec>(&text).unwrap(), spec);
}

/// What is said of a suite that cannot be planned.
fn mistakes(text: &str, options: &Options) -> Vec<String> {
    let source = SourceText {
        name: "test.toml".to_owned(),
        text: text.to_owned(),
    };
    let suite = check(&source, "test", Path::new(".")).suite.unwrap();
    match spec(&suite, options) {
        Ok(_) => Vec::new(),
        Err(PlanError::Suite(mistakes)) => mistakes.iter().map(ToString::to_string).collect(),
        Err(PlanError::Option(message)) => vec![message],
    }
}

fn with_profile(name: &str) -> Options {
    Options {
        profile: Some(name.to_owned()),
        ..Options::default()
    }
}

#[test]
fn an_override_settles_what_toggles_disagree_on_whichever_way_each_names_the_process() {
    let suite = |first: &str, second: &str, settles: &str| {
        format!(
            "[servers.s.processes.p]\ncommand = \"p\"\n[toggles.a]\nvalues.on = {{ {first} = \"1\" }}\n\
             [toggles.b]\nvalues.on = {{ {second} = \"2\" }}\n[[overrides]]\nset.{settles} = \"3\"\n[loads.l]\n"
        )
    };
    let headers = plan(
        "[servers.s]\ncommand = \"s\"\n[toggles.a]\nvalues.on = { headers.X-A = \"1\" }\n\
         [toggles.b]\nvalues.on = { headers.X-A = \"2\" }\n[[overrides]]\nset.headers.x-a = \"3\"\n[loads.l]\n",
    );
    assert_eq!(headers.cells[0].work.request.headers.len(), 1);
    for (first, second, settles) in [
        ("processes.p.env.A", "processes.p.env.A", "env.A"),
        ("env.A", "processes.p.env.A", "processes.p.env.A"),
        ("env.A", "env.A", "processes.p.env.A"),
        ("processes.p.env.A", "env.A", "env.A"),
    ] {
        let spec = plan(&suite(first, second, settles));
        assert_eq!(
            env(&spec.cells[0])["A"],
            "3",
            "{first}, {second}, {settles}"
        );
    }
    let unsettled = mistakes(
        &suite("processes.p.env.A", "env.A", "env.B"),
        &Options::default(),
    );
    assert_eq!(unsettled.len(), 1, "{unsettled:?}");
}

#[test]
fn a_cell_is_another_when_its_runtime_or_a_service_is() {
    let with = |build: &str, image: &str| {
        plan(&format!(
            "[runtimes.n]\nversions = [\"1\"]\nbuild = [\"{build}\"]\nbin = [\"n\"]\n\
             [services.db]\ncommand = \"db {image}\"\n\
             [servers.s]\nruntime = \"n-1\"\nneeds = [\"db\"]\ncommand = \"{{{{ runtime }}}} s\"\n\
             [servers.t]\ncommand = \"t\"\n[loads.l]\n"
        ))
    };
    let plain = with("make", "small");
    for other in [with("make -j", "small"), with("make", "large")] {
        assert_ne!(plain.cells[0].id, other.cells[0].id);
        assert_eq!(plain.cells[1].id, other.cells[1].id);
    }
}

#[test]
fn toggles_that_are_looked_up_are_those_of_the_cell() {
    let spec = plan(
        "[defaults.server]\ncommand = \"x\"\n\
         env = { A = \"{{ toggles['a-b'] | default('none') }}\", B = \"{{ toggles | list | join(',') }}\" }\n\
         [servers.s]\n[servers.t]\n\
         [toggles.a-b]\nservers = [\"s\"]\nvalues = [1]\n[toggles.c-d]\nservers = [\"t\"]\nvalues = [1]\n[loads.l]\n",
    );
    assert_eq!(env(&spec.cells[0])["A"], "1");
    assert_eq!(env(&spec.cells[1])["A"], "none");
    assert_eq!(env(&spec.cells[0])["B"], "a-b");
    assert_eq!(env(&spec.cells[1])["B"], "c-d");
}

#[test]
fn a_profile_may_leave_out_what_the_suite_excludes_or_overrides() {
    let text = format!(
        "{MATRIX}[matrix]\nexclude = [{{ mode = \"on\", workers = 2 }}]\n[[overrides]]\nwhen = {{ server = \"b\" }}\nset.env.B = \"1\"\n\
         [profiles.listed]\nmatrix = {{ combine = \"listed\", include = [{{ server = \"a\" }}] }}\n\
         [profiles.short]\nmatrix = {{ exclude = [{{ server = \"b\" }}] }}\n"
    );
    let listed = plan_with(&text, &with_profile("listed"));
    assert_eq!(
        names(&listed),
        ["a/mode=off/workers=1@x", "a/mode=off/workers=1@y"]
    );
    let short = plan_with(&text, &with_profile("short"));
    assert_eq!(short.cells.len(), 6);
}

#[test]
fn excludes_may_overlap() {
    let text = format!(
        "{MATRIX}[matrix]\nexclude = [{{ mode = \"on\" }}, {{ mode = \"on\", workers = 2 }}]\n"
    );
    assert_eq!(plan(&text).cells.len(), 8);
}

#[test]
fn what_a_server_that_runs_elsewhere_requires_is_required() {
    let spec = plan(
        "[servers.s]\nurl = \"http://127.0.0.1:1\"\nrequires = [\"env TOKEN\"]\n[loads.l]\nheaders.a = \"{{ env.TOKEN }}\"\n",
    );
    assert_eq!(spec.cells[0].requires.len(), 1);
}

#[test]
fn a_toggle_says_when_the_front_is_ready() {
    let spec = plan(
        "[servers.s]\nready = { path = \"/server\", timeout = \"7s\" }\n\
         [servers.s.processes.p]\ncommand = \"p\"\nready = { path = \"/process\" }\n\
         [servers.t.processes.p]\ncommand = \"p\"\nready = { timeout = \"9s\" }\n\
         [toggles.a]\nvalues.off = {}\nvalues.on = { ready.path = \"/toggle\" }\n[loads.l]\npath = \"/load\"\n",
    );
    let ready = |name: &str| {
        let ready = &cell(&spec, name).ready;
        (ready.path.to_string(), ready.timeout.as_secs())
    };
    assert_eq!(ready("s/a=off@l"), ("/process".to_owned(), 7));
    assert_eq!(ready("s/a=on@l"), ("/toggle".to_owned(), 7));
    assert_eq!(ready("t/a=off@l"), ("/load".to_owned(), 9));
}

#[test]
fn a_load_of_a_year_in_many_rounds_has_a_time_out() {
    let spec = plan(
        "[servers.s]\ncommand = \"s\"\n[loads.l]\nduration = \"8760h\"\nrounds = 1000000000\n",
    );
    assert!(spec.cells[0].trial_timeout > Duration::from_hours(8760));
}

#[test]
fn a_toggle_may_have_more_values_than_sixteen_bits_count() {
    let values: Vec<String> = (0..70_000).map(|value| value.to_string()).collect();
    let text = format!(
        "[servers.s]\ncommand = \"s\"\n[toggles.a]\nvalues = [{}]\n[loads.l]\n",
        values.join(", ")
    );
    let source = SourceText {
        name: "test.toml".to_owned(),
        text,
    };
    let suite = check(&source, "test", Path::new(".")).suite.unwrap();
    let options = Options::default();
    let plan = hotlap::plan::Plan::new(&suite, &options).unwrap();
    assert_eq!(plan.len(), 70_000);
}

#[test]
fn a_warm_up_that_nobody_writes_is_to_be_found() {
    let suite = |run: &str, load: &str| {
        plan(&format!(
            "[run]\n{run}\n[servers.s]\ncommand = \"s\"\n[loads.l]\n{load}\n"
        ))
    };
    let found = suite("", "duration = \"10s\"");
    let work = &cell(&found, "s@l").work;
    assert!(work.find_warmup);
    assert_eq!(work.warmup, Duration::from_secs(5), "the least there is");
    // Twice what it may take, and a minute.
    assert_eq!(
        found.cells[0].trial_timeout,
        2 * Duration::from_secs(30 + 60 + 10) + Duration::from_mins(1)
    );
    let short = suite("max_warmup = \"2s\"", "");
    assert_eq!(
        cell(&short, "s@l").work.warmup,
        Duration::from_millis(500),
        "a quarter"
    );
    assert_eq!(short.run.warmup_windows(), 4);
    assert_eq!(found.run.warmup_windows(), 12);
    for written in [
        suite("warmup = \"0s\"", ""),
        suite("", "warmup = \"0s\""),
        suite("warmup = \"9s\"", "warmup = \"0s\""),
    ] {
        let work = &cell(&written, "s@l").work;
        assert!(!work.find_warmup);
        assert_eq!(work.warmup, Duration::ZERO);
        let json = serde_json::to_string(work).unwrap();
        assert!(!json.contains("find_warmup"), "its identity is as it was");
    }
}
