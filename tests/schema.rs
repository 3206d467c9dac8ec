//! The JSON Schema and the reference page: they are what is committed, they accept what `hotlap check`
//! accepts, catch what a schema can catch, and the defaults that they state are those of a plan.
//! `HOTLAP_BLESS=1 cargo test --test schema` writes the committed files anew.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot read its files has failed"
)]

use hotlap::diagnostic::{Severity, SourceText};
use hotlap::plan::{Options, spec};
use hotlap::spec::{Amount, Arrivals, Http, Order};
use hotlap::suite::{CODES, check, json_schema, reference};
use jsonschema::Validator;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn validator() -> Validator {
    jsonschema::validator_for(&json_schema()).unwrap()
}

/// The suites in a folder.
fn suites(folder: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    all.sort();
    assert!(!all.is_empty());
    all
}

/// A suite as JSON; none where it is no TOML.
fn as_json(text: &str) -> Option<Value> {
    let table: toml::Table = text.parse().ok()?;
    Some(serde_json::to_value(table).unwrap())
}

/// Where and why a schema rejects a suite.
fn rejected(validator: &Validator, suite: &Value) -> Vec<String> {
    validator
        .iter_errors(suite)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// The codes of errors that `check` finds.
fn errors(text: &str) -> BTreeSet<&'static str> {
    let source = SourceText {
        name: "s.toml".to_owned(),
        text: text.to_owned(),
    };
    check(&source, "s", root())
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .map(|diagnostic| diagnostic.code)
        .collect()
}

/// That a committed file is what is made now.
fn committed(name: &str, made: &str) {
    let path = root().join("docs").join(name);
    if std::env::var_os("HOTLAP_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, made).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == made,
        "docs/{name} is out of date: HOTLAP_BLESS=1 cargo test --test schema"
    );
}

#[test]
fn the_committed_schema_is_the_one_that_is_printed() {
    committed("suite.schema.json", &format!("{:#}\n", json_schema()));
}

#[test]
fn the_committed_page_is_the_one_that_is_printed() {
    committed("suite-format.md", &reference());
}

#[test]
fn every_shipped_suite_validates() {
    let validator = validator();
    for path in suites("suites").into_iter().chain(suites("tests/suites")) {
        let suite = as_json(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(
            rejected(&validator, &suite),
            Vec::<String>::new(),
            "{}",
            path.display()
        );
    }
}

/// Mistakes whose fixtures a schema catches, at least in part.
const CAUGHT: &[&str] = &[
    "unknown-key",
    "wrong-type",
    "bad-unit",
    "bad-value",
    "bad-name",
    "bad-request",
    "empty-stages",
    "bad-requirement",
    "reserved",
    "missing",
    "duplicate",
    "unknown-metric",
    "bad-command",
    "no-effect",
    "language",
];

/// Mistakes that a schema cannot catch, and why.
const NOT_CAUGHT: &[(&str, &str)] = &[
    (
        "syntax",
        "what is no TOML has no tree that could be looked at",
    ),
    ("unknown-name", "names are defined in another table"),
    ("cycle", "who needs whom is written in several tables"),
    ("conflict", "each of the keys is right alone"),
    ("bad-template", "a template is a language of its own"),
    ("unknown-variable", "a template is a language of its own"),
    ("unrendered-template", "a template is a language of its own"),
    ("no-such-file", "a schema sees no folders"),
    ("no-cells", "cells follow from the whole file"),
    ("too-many-cells", "cells follow from the whole file"),
    (
        "toggles-conflict",
        "what meets in a cell follows from the whole file",
    ),
    ("cells", "what meets in a cell follows from the whole file"),
    (
        "effective",
        "what meets in a cell follows from the whole file",
    ),
    (
        "effective-cells",
        "what meets in a cell follows from the whole file",
    ),
    (
        "ready-conflict",
        "what meets in a cell follows from the whole file",
    ),
    (
        "duplicate-runtimes",
        "names are put together from several tables",
    ),
    ("missing-command", "a command may come from the defaults"),
];

#[test]
fn a_schema_catches_what_it_can() {
    let validator = validator();
    for path in suites("tests/diagnostics") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let caught = CAUGHT.contains(&name);
        let reason = NOT_CAUGHT.iter().find(|(code, _)| *code == name);
        assert!(
            caught != reason.is_some(),
            "say of {name} in tests/schema.rs whether a schema can catch it"
        );
        let Some(suite) = as_json(&fs::read_to_string(&path).unwrap()) else {
            assert_eq!(name, "syntax");
            continue;
        };
        let found = rejected(&validator, &suite);
        assert_eq!(
            !found.is_empty(),
            caught,
            "{name} ({}): {found:#?}",
            reason.map_or("caught", |(_, reason)| reason)
        );
    }
    for (code, _) in CODES {
        let listed = CAUGHT.contains(code) || NOT_CAUGHT.iter().any(|(other, _)| other == code);
        assert!(listed, "{code} is in neither list");
    }
}

/// Every place that a suite may write a key at: its table in TOML, with `@` where the key goes, and the
/// definition of the table in the schema.
const PLACES: &[(&str, &str)] = &[
    ("", "@"),
    ("Run", "run.@"),
    ("CpuShares", "run.cpus.@"),
    ("Defaults", "defaults.@"),
    ("Common", "defaults.server.@"),
    ("Load", "defaults.load.@"),
    ("Tool", "tools.node.@"),
    ("Runtime", "runtimes.other = { versions = [\"1\"], @ }"),
    ("Runtime", "runtimes.other = { bin = [\"b\"], @ }"),
    ("Server", "servers.other.@"),
    ("Process", "servers.other.processes.one.@"),
    ("Ready", "servers.other.ready.@"),
    ("Stop", "servers.other.stop.@"),
    ("Service", "services.db.command = \"db\"\nservices.db.@"),
    ("Service", "services.db.@"),
    ("Toggle", "toggles.mode.values = [1]\ntoggles.mode.@"),
    ("Toggle", "toggles.mode.@"),
    ("Setting", "toggles.mode.values.on.@"),
    ("Override", "overrides = [{ @ }]"),
    ("Matrix", "matrix.@"),
    ("Load", "loads.other.@"),
    ("Stage", "loads.other.stages = [{ rate = 1, @ }]"),
    ("Stage", "loads.other.stages = [{ duration = \"1s\", @ }]"),
    ("Tls", "loads.other.tls.@"),
    ("Expect", "loads.other.expect.@"),
    ("MixRequest", "mixes.shop = [{ @ }]"),
    ("Profile", "profiles.quick.@"),
    ("ProfileLoad", "profiles.quick.load.@"),
    ("Gate", "gates = [{ @ }]"),
    ("LimitOfRate", "gates = [{ capacity = { @ } }]"),
    ("LimitOfDuration", "gates = [{ startup = { @ } }]"),
    ("LimitOfSize", "gates = [{ rss_peak = { @ } }]"),
    ("LimitOfTransfer", "gates = [{ transfer = { @ } }]"),
    ("LimitOfCount", "gates = [{ errors = { @ } }]"),
    (
        "Published",
        "published.report.rows = [{ cell = {}, capacity = 1 }]\npublished.report.@",
    ),
    ("Published", "published.report.@"),
    ("PublishedRow", "published.report.rows = [{ cell = {}, @ }]"),
    (
        "PublishedRow",
        "published.report.rows = [{ capacity = 1, @ }]",
    ),
];

/// Values of every shape, some of them nearly right.
const VALUES: &[&str] = &[
    "true",
    "0",
    "1",
    "-1",
    "6",
    "250",
    "70000",
    "1000000",
    "1.5",
    "\"\"",
    "\" \"",
    "\"a\"",
    "\"A b\"",
    "\"..\"",
    "\"/\"",
    "\"*\"",
    "\"/a b\"",
    "\"/{{ server }}/x y\"",
    "\"{{ server }}\"",
    "\"{{ toggles['mode'] }}/é\"",
    "\"GET\"",
    "\"CONNECT\"",
    "\"5s\"",
    "\"0s\"",
    "\"_1_0.5_0 ms\"",
    "\"5.s\"",
    "\"5\"",
    "\"2%\"",
    "\"0%\"",
    "\"64KiB\"",
    "\"0.5MiB\"",
    "\"1.5MB/s\"",
    "\"auto\"",
    "\"shuffled\"",
    "\"copy\"",
    "\"1.1\"",
    "\"http://127.0.0.1:80\"",
    "\"http://[::1]/\"",
    "\"::1\"",
    "\"node => 18\"",
    "[]",
    "[1, 2]",
    "[1, 1]",
    "[\"a\"]",
    "[\"a\", \"b\"]",
    "[\"A b\", \"..\"]",
    "[\"node >= 18.1\", \"env A\", \"./x y\"]",
    "[\"node >= 18\", \"env A\", \"./x\", \"g++\"]",
    "[[\"a\"], \"b\"]",
    "[[]]",
    "[{}]",
    "[{ server = \"node\" }]",
    "[{ rate = 5, duration = \"1s\" }]",
    "[{ cell = {}, capacity = 1 }]",
    "[{ cell = {}, errors = \"1%\", rss_peak = \"1.5MiB\" }]",
    "{}",
    "{ server = \"node\" }",
    "{ server = [\"node\"], load = [\"steady\", \"steady\"] }",
    "{ a = \"b\" }",
    "{ \"A=B\" = \"b\" }",
    "{ \"../x\" = \"b\" }",
    "{ \"a/../b\" = \"b\" }",
    "{ \"a//b.j2\" = \"b\" }",
    "{ Content-Length = \"5\" }",
    "{ a = {} }",
    "{ A = {} }",
    "{ load = { values = [1] } }",
    "{ max = 5 }",
    "{ max = \"5ms\" }",
    "{ max = \"5MB\", min = \"1MB\" }",
    "{ max_regression = \"0%\" }",
    "{ latency_p99 = \"5ms\", errors = 0 }",
    "{ rss_peak = \"5MB\" }",
    "{ path = \"/\" }",
    "{ timeout = \"0s\" }",
    "{ status = 200 }",
    "{ status = 99 }",
    "{ server = 1 }",
];

/// Codes that a schema must know of wherever they are, whatever else is wrong.
const ALWAYS: &[&str] = &[
    "unknown-key",
    "wrong-type",
    "reserved",
    "bad-name",
    "unknown-metric",
];

/// A suite with one more key; none where it would be there twice.
fn with(place: &str, key: &str, value: &str) -> Option<(String, Value)> {
    let extra = place.replace('@', &format!("{key} = {value}"));
    let text = format!(
        "{extra}\nservers.node.command = \"node\"\nloads.steady.path = \"/\"\ntoggles.kind.values = [1, 2]\n"
    );
    let json = as_json(&text)?;
    Some((text, json))
}

/// Suites with one more key, for every key and every value.
fn cases() -> Vec<(String, Value)> {
    let schema = json_schema();
    // A key that means the same in several tables is tried in each with a few values only.
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for (definition, place) in PLACES {
        let pointer = if definition.is_empty() {
            "/properties".to_owned()
        } else {
            format!("/definitions/{definition}/properties")
        };
        let keys = schema.pointer(&pointer).unwrap().as_object().unwrap();
        for key in keys.keys().map(String::as_str).chain(["no_such_key"]) {
            let known = keys.get(key).map(|property| format!("{key} {property}"));
            let again = known.is_some_and(|known| !seen.insert(known));
            let values = VALUES.iter().step_by(if again { 9 } else { 1 });
            all.extend(values.filter_map(|value| with(place, key, value)));
        }
    }
    all
}

/// How many suites `check` accepts, and where it and the schema disagree.
fn compared(cases: &[(String, Value)]) -> (usize, Vec<String>) {
    let validator = validator();
    let (mut accepted, mut wrong) = (0, Vec::new());
    for (text, suite) in cases {
        let said = errors(text);
        let valid = validator.is_valid(suite);
        accepted += usize::from(said.is_empty());
        if said.is_empty() && !valid {
            let found = rejected(&validator, suite);
            wrong.push(format!("check accepts:\n{text}{found:#?}"));
        }
        if valid && said.iter().any(|code| ALWAYS.contains(code)) {
            wrong.push(format!("check says {said:?}:\n{text}"));
        }
    }
    (accepted, wrong)
}

#[test]
fn the_schema_accepts_whatever_check_accepts_and_no_other_shape() {
    let cases = cases();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let parts: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let started: Vec<_> = cases
            .chunks(cases.len().div_ceil(workers))
            .map(|part| scope.spawn(|| compared(part)))
            .collect();
        started
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    let accepted: usize = parts.iter().map(|(accepted, _)| accepted).sum();
    let wrong: Vec<&str> = parts
        .iter()
        .flat_map(|(_, wrong)| wrong)
        .map(String::as_str)
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    // Both sides are there to be compared.
    assert!(
        accepted > 500 && cases.len() - accepted > 5000,
        "{accepted} of {}",
        cases.len()
    );
}

#[test]
fn every_table_of_the_schema_has_its_place_in_that_test() {
    let schema = json_schema();
    for name in schema["definitions"].as_object().unwrap().keys() {
        assert!(PLACES.iter().any(|(known, _)| known == name), "{name}");
    }
}

/// Visits every schema inside a schema.
fn each(schema: &Value, visit: &mut impl FnMut(&Value)) {
    match schema {
        Value::Object(object) => {
            visit(schema);
            for (key, value) in object {
                // What stands here are values of a suite.
                if !["default", "examples", "enum", "const"].contains(&key.as_str()) {
                    each(value, visit);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| each(value, visit)),
        _ => {}
    }
}

#[test]
fn every_default_and_example_is_valid_where_it_stands() {
    let schema = json_schema();
    let mut seen = 0;
    each(&schema, &mut |part| {
        let values: Vec<&Value> = part["examples"]
            .as_array()
            .into_iter()
            .flatten()
            .chain(part.get("default"))
            .collect();
        if values.is_empty() {
            return;
        }
        let mut alone = part.clone();
        alone["definitions"] = schema["definitions"].clone();
        let validator = jsonschema::validator_for(&alone).unwrap();
        for value in values {
            seen += 1;
            assert!(validator.is_valid(value), "{value} in {part:#}");
        }
    });
    assert!(seen > 100, "{seen}");
}

#[test]
fn every_key_is_described_in_words_of_its_own() {
    let schema = json_schema();
    let mut keys = 0;
    each(&schema, &mut |part| {
        let text = part.to_string();
        assert!(!text.contains("null"), "{text}");
        for (key, property) in part["properties"].as_object().into_iter().flatten() {
            keys += 1;
            let about = property["description"].as_str().unwrap_or_default();
            assert!(about.ends_with('.'), "{key}: {about}");
            // A metric's words say how it is written, and a table has keys of its own.
            let is_told = ["default", "examples", "enum"]
                .iter()
                .any(|word| property.get(word).is_some())
                || property["type"] == "boolean"
                || property.to_string().contains("$ref")
                || hotlap::metric::find(key).is_some();
            assert!(is_told, "{key} has neither a default nor an example");
        }
        assert!(part.get("format").is_none(), "{part:#}");
    });
    assert!(keys > 250, "{keys}");
}

#[test]
fn every_key_and_every_metric_is_on_the_page() {
    let schema = json_schema();
    let page = reference();
    each(&schema, &mut |part| {
        for key in part["properties"].as_object().into_iter().flatten() {
            let key = key.0;
            assert!(
                page.contains(&format!("| `{key}` |")),
                "{key} is not on the page"
            );
        }
    });
}

#[test]
fn examples_on_the_page_are_toml() {
    let page = reference();
    let mut examples = 0;
    for (_, rest) in page
        .match_indices("Example: `")
        .map(|(at, _)| page[at..].split_at(10))
    {
        let example = rest.split('`').next().unwrap();
        assert!(example.parse::<toml::Table>().is_ok(), "{example}");
        examples += 1;
    }
    assert!(examples > 50, "{examples}");
}

/// The default that the schema states of a key.
fn stated<'a>(schema: &'a Value, definition: &str, key: &str) -> &'a Value {
    &schema["definitions"][definition]["properties"][key]["default"]
}

#[test]
fn stated_defaults_are_those_of_a_plan() {
    let schema = json_schema();
    let text = |definition: &str, key: &str| stated(&schema, definition, key).as_str().unwrap();
    let duration = |definition: &str, key: &str| -> Duration {
        hotlap::units::parse_duration(text(definition, key)).unwrap()
    };
    let share = |key: &str| hotlap::units::parse_share(text("Run", key)).unwrap();
    let number = |definition: &str, key: &str| {
        u32::try_from(stated(&schema, definition, key).as_u64().unwrap()).unwrap()
    };
    let flag = |definition: &str, key: &str| stated(&schema, definition, key).as_bool().unwrap();

    let source = SourceText {
        name: "s.toml".to_owned(),
        text: "[servers.s]\ncommand = \"s\"\nbuild = \"b\"\n[loads.l]\n".to_owned(),
    };
    let suite = check(&source, "s", root()).suite.unwrap();
    let spec = spec(&suite, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let (run, cell) = (&spec.run, &spec.cells[0]);

    assert_eq!(run.repetitions, number("Run", "repetitions"));
    assert_eq!(cell.repetitions, number("Run", "repetitions"));
    assert_eq!(
        (run.order, text("Run", "order")),
        (Order::Shuffled, "shuffled")
    );
    assert_eq!(run.cooldown, duration("Run", "cooldown"));
    assert_eq!(run.rest, duration("Run", "rest"));
    assert_eq!(run.sample_interval, duration("Run", "sample_interval"));
    assert_eq!(run.max_warmup, duration("Run", "max_warmup"));
    assert!((run.max_errors - share("max_errors")).abs() < 1e-12);
    assert!((run.min_effect - share("min_effect")).abs() < 1e-12);
    assert!((run.target - share("target")).abs() < 1e-12);
    assert_eq!(run.allow_public, flag("Run", "allow_public"));

    let work = &cell.work;
    assert_eq!(work.connections, number("Load", "connections"));
    assert_eq!(work.amount, Amount::Duration(duration("Load", "duration")));
    assert!(work.find_warmup, "what the description of `warmup` says");
    assert_eq!(work.warmup, run.warmup_window());
    assert_eq!(work.timeout, duration("Load", "timeout"));
    assert_eq!(work.keep_alive, flag("Load", "keep_alive"));
    assert_eq!(work.streams, number("Load", "streams"));
    assert_eq!(work.pipelining, number("Load", "pipelining"));
    assert_eq!(work.rounds, number("Load", "rounds"));
    assert_eq!(
        (work.generator.as_deref(), text("Load", "generator")),
        (None, "built-in")
    );
    assert_eq!((work.http, text("Load", "http")), (Http::One, "1.1"));
    assert_eq!(
        (work.arrivals, text("Load", "arrivals")),
        (Arrivals::Uniform, "uniform")
    );
    assert_eq!(work.request.method, text("Load", "method"));
    assert_eq!(work.request.path.to_string(), text("Load", "path"));
    assert_eq!(
        u64::from(work.expect.status),
        stated(&schema, "Expect", "status").as_u64().unwrap()
    );

    let process = &cell.processes[0];
    assert_eq!(process.stop.signal, text("Stop", "signal"));
    assert_eq!(process.stop.grace, duration("Stop", "grace"));
    assert_eq!(process.address, text("Server", "address"));
    assert_eq!(process.cwd.to_string(), text("Server", "cwd"));
    assert_eq!(cell.ready.timeout, duration("Ready", "timeout"));
    assert_eq!(cell.builds[0].timeout, duration("Server", "build_timeout"));
    assert_eq!(cell.processes.len(), number("Process", "count") as usize);
}
