//! Two runs side by side, byte for byte: alone, as a section of the new run's report, and as JSON. `HOTLAP_BLESS=1 cargo test
//! --test compare_golden` writes them anew, but `baseline.json`, which is read for ever.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its files has failed"
)]

#[path = "report_fixture/mod.rs"]
mod fixture;

use fixture::{Records, records};
use hotlap::ids::CellId;
use hotlap::record::{Baseline, End, Outcome, Trial};
use hotlap::report::{Format, Input, Options, baseline, compare_json, compare_markdown, render};
use hotlap::spec::{Limit, Planned};
use pulldown_cmark::{Event, Options as Markdown, Parser, Tag};
use std::fs;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/compare")
        .join(name)
}

fn input<'a>(records: &'a Records, old: Option<&'a Baseline>) -> Input<'a> {
    Input {
        run: &records.run,
        trials: &records.trials,
        readings: &records.readings,
        baseline: old,
        history: &[],
        notes: &[],
    }
}

/// The fixture's run with eight repetitions, whose windows and memory spread by one or two per cent.
fn eight(seed: u64) -> Records {
    let mut draw = fastrand::Rng::with_seed(seed);
    let mut records = records();
    let first: Vec<Trial> = records
        .trials
        .iter()
        .filter(|trial| trial.trial.repetition == 1)
        .cloned()
        .collect();
    records.trials.retain(|trial| trial.trial.repetition <= 3);
    for repetition in 4..=8 {
        for trial in &first {
            let mut trial = trial.clone();
            trial.trial.repetition = repetition;
            trial.round = repetition;
            records.trials.push(trial);
        }
    }
    for trial in &mut records.trials {
        let jitter = 0.99 + 0.02 * draw.f64();
        if let Some(load) = &mut trial.load {
            load.window_ns = (10e9 * jitter) as u64;
        }
        if let Some(usage) = trial.usage.get_mut("total") {
            usage.rss_peak = usage.rss_peak.map(|bytes| (bytes as f64 * jitter) as u64);
            usage.cpu_seconds = Some(9.9 * jitter);
        }
        trial.startup_ns = trial.startup_ns.map(|_| (62e6 * jitter) as u64);
    }
    records
}

/// A later run of the same suite: Node serves an eighth less plainly, needs less memory with gzip, and Go is as it was.
fn later() -> Records {
    let mut records = eight(12);
    records.run.id = hotlap::ids::RunId("2026-12-02T190500Z-cd34ef5".to_owned());
    let session = &mut records.run.sessions[0];
    "2026-12-02T19:05:00Z".clone_into(&mut session.started);
    session.revision = Some("cd34ef5".to_owned());
    for trial in &mut records.trials {
        match trial.trial.cell.names() {
            "node/compression=off@steady" => {
                let load = trial.load.as_mut().unwrap();
                load.window_ns = load.window_ns * 8 / 7;
            }
            "node/compression=gzip@steady" => {
                let usage = trial.usage.get_mut("total").unwrap();
                usage.rss_peak = usage.rss_peak.map(|bytes| bytes * 9 / 10);
            }
            _ => {}
        }
    }
    let version = records.run.versions.get_mut("node").unwrap();
    "v24.0.0".clone_into(version);
    records
}

fn old() -> Baseline {
    let old = eight(11);
    baseline(&input(&old, None))
}

fn new(records: &Records) -> Baseline {
    baseline(&input(records, None))
}

#[track_caller]
fn is_golden(name: &str, made: &str) {
    let path = golden(name);
    if std::env::var_os("HOTLAP_BLESS").is_some() {
        fs::write(&path, made).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap();
    for (number, (a, b)) in made.lines().zip(stored.lines()).enumerate() {
        assert_eq!(a, b, "{name}, line {}", number + 1);
    }
    assert_eq!(made, stored, "{name}");
}

#[test]
fn a_stored_baseline_reads_for_ever() {
    let path = golden("baseline.json");
    if !path.exists() {
        hotlap::store::write_baseline(&path, &old()).unwrap();
    }
    assert_eq!(hotlap::store::read_baseline(&path).unwrap(), old());
}

#[test]
fn two_runs_give_their_stored_comparison() {
    let old = hotlap::store::read_baseline(&golden("baseline.json")).unwrap();
    let later = later();
    let new = new(&later);
    is_golden("compare.md", &compare_markdown(&old, &new).unwrap());
    let json = String::from_utf8(compare_json(&old, &new).unwrap()).unwrap();
    is_golden("compare.json", &json);
    let options = Options {
        formats: vec![Format::Markdown],
        template: None,
    };
    let made = render(&input(&later, Some(&old)), &options).unwrap();
    let text = String::from_utf8(made[0].bytes.clone()).unwrap();
    is_golden("report.md", &text);
    let section = text.find("## Since 2026-11-30T190500Z-ab12cd3 (2026-11-30 19:05 UTC, ab12cd3)");
    assert!(section.unwrap() < text.find("## Throughput").unwrap());
}

#[test]
fn json_has_every_metric_and_the_same_in_the_report() {
    let old = old();
    let later = later();
    let alone: serde_json::Value =
        serde_json::from_slice(&compare_json(&old, &new(&later)).unwrap()).unwrap();
    let options = Options {
        formats: vec![Format::Json],
        template: None,
    };
    let made = render(&input(&later, Some(&old)), &options).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&made[0].bytes).unwrap();
    assert_eq!(report["since"], alone);
    let cell = &alone["cells"][0];
    let rate = &cell["metrics"]["requests_per_second"];
    assert_eq!(rate["verdict"], "worse");
    assert_eq!(rate["unit"], "per_s");
    let ratio = rate["ratio"].as_f64().unwrap();
    assert!((ratio - 7.0 / 8.0).abs() < 0.01, "{ratio}");
    assert!(rate["interval"][0].as_f64().unwrap() < ratio);
    assert_eq!(rate["old"]["values"].as_array().unwrap().len(), 8);
    assert_eq!(
        alone["cells"][1]["metrics"]["rss_peak"]["verdict"],
        "better"
    );
    assert!(cell["metrics"]["rss_after"].is_object());
    assert_eq!(alone["same_machine"], true);
}

/// A whole run in which plain Node may lose 5 % of its rate and of its start-up.
fn gated(mut records: Records) -> Records {
    records.run.end = Some(End::Complete);
    let planned = |trial: &Trial| Planned {
        trial: trial.trial.clone(),
        round: trial.round,
    };
    records.run.plan = records.trials.iter().map(planned).collect();
    let cell = &mut records.run.spec.cells[0];
    cell.gates = ["requests_per_second", "startup"]
        .map(|metric| Limit {
            metric: metric.to_owned(),
            max: None,
            min: None,
            max_regression: Some(0.05),
            history: false,
        })
        .to_vec();
    records
}

/// What became of the gates, each as `held` or `fell` with why.
fn gates(new: &Records, old: &Baseline) -> Vec<(String, String)> {
    let options = Options {
        formats: vec![Format::Json],
        template: None,
    };
    let made = render(&input(new, Some(old)), &options).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&made[0].bytes).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let gates = report["gates"].as_array().unwrap();
    gates
        .iter()
        .map(|gate| (text(&gate["word"]), text(&gate["why"])))
        .collect()
}

#[test]
fn gates_are_held_against_the_earlier_run() {
    let before = gated(eight(11));
    let old = baseline(&input(&before, None));
    let words = |new: Records| -> Vec<String> {
        let judged = gates(&gated(new), &old);
        judged.into_iter().map(|(word, _)| word).collect()
    };
    assert_eq!(words(eight(12)), ["held", "held"]);
    // An eighth less.
    assert_eq!(words(later()), ["fell", "held"]);
}

#[test]
fn an_earlier_run_that_was_not_whole_holds_no_gate() {
    let before = gated(eight(11));
    let new = gated(eight(12));
    let judged = |change: fn(&mut Baseline)| {
        let mut old = baseline(&input(&before, None));
        change(&mut old);
        gates(&new, &old)
    };
    let fell = |change: fn(&mut Baseline), why: &str| {
        for (word, said) in judged(change) {
            assert!(word == "fell" && said.contains(why), "{word}: {said}");
        }
    };
    fell(|old| old.complete = Some(false), "did not run to its end");
    fell(|old| old.complete = None, "that is not known");
    fell(|old| old.cells[0].planned = Some(9), "not every trial");
    fell(
        |old| old.cells[0].state = "failed".to_owned(),
        "it was failed",
    );
    fell(
        |old| old.host = None,
        "machine of the earlier run is not known",
    );
    fell(
        |old| old.host.as_mut().unwrap().cpus += 1,
        "another machine",
    );
    fell(
        |old| old.cells[0].id = CellId("other@steady#000000000000".to_owned()),
        "no cell of this configuration",
    );
    // The generator spoils what is made under load.
    let limited = judged(|old| old.cells[0].limited = Some(true));
    assert!(limited[0].0 == "fell" && limited[0].1.contains("the generator was the limit"));
    assert_eq!(limited[1].0, "held", "{limited:?}");
}

fn page(old: &Baseline, new: &Baseline) -> String {
    compare_markdown(old, new).unwrap()
}

#[test]
fn what_two_runs_do_not_have_in_common_is_said() {
    let (old, mut new) = (old(), new(&later()));
    let host = new.host.as_mut().unwrap();
    host.cpus = 16;
    host.kernel = Some("Linux 6.9".to_owned());
    new.profile = Some("quick".to_owned());
    new.complete = Some(false);
    new.selection = vec!["--only server=node".to_owned()];
    new.hotlap = vec!["9.9.9".to_owned()];
    new.revision = Some("cd34ef5-dirty".to_owned());
    new.sessions = 2;
    new.settings.as_mut().unwrap().repetitions = 8;
    new.suite_sha256 = Some("0".to_owned());
    new.cells[0].generators = vec!["wrk 4.2".to_owned()];
    let text = page(&old, &new);
    for words in [
        "**Another machine**: usable CPUs (2 → 16), kernel (Linux 6.1.0 x86\\_64 → Linux 6.9); so there are ratios and no verdicts.",
        "**Another profile**: default → quick.",
        "**Not complete**: 2026-12-02T190500Z-cd34ef5 has not a record of every planned trial.",
        "**A part of the suite**",
        "Another hotlap (0.1.0 → 9.9.9)",
        "Another load generator (built-in → built-in, wrk 4.2).",
        "Other versions: node (v22.11.0 → v24.0.0).",
        "repetitions 3 → 8",
        "The suite file has changed",
        "had changes that no revision holds",
        "made in 2 sessions",
        "--compare-with",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    assert!(
        !text.contains("**worse**") && !text.contains("**better**"),
        "{text}"
    );
}

#[test]
fn an_unknown_machine_is_another_one() {
    let (mut old, new) = (old(), new(&later()));
    old.host = None;
    let text = page(&old, &new);
    assert!(
        text.contains("**Machine not known**: of 2026-11-30T190500Z-ab12cd3 only"),
        "{text}"
    );
    assert!(!text.contains("**worse**"), "{text}");
}

#[test]
fn a_changed_configuration_is_shown_and_not_judged() {
    let (old, mut later) = (old(), later());
    let id = CellId("node/compression=off@steady#ffffffffffff".to_owned());
    for cell in &mut later.run.spec.cells {
        if cell.id.names() == id.names() {
            cell.id = id.clone();
            cell.processes[0].env = vec![("NODE_ENV".to_owned(), "production".into())];
            cell.processes[0].command.push("--fast".into());
            cell.work.connections = 128;
        }
    }
    for trial in &mut later.trials {
        if trial.trial.cell.names() == id.names() {
            trial.trial.cell = id.clone();
        }
    }
    for planned in &mut later.run.plan {
        if planned.trial.cell.names() == id.names() {
            planned.trial.cell = id.clone();
        }
    }
    let text = page(&old, &new(&later));
    assert!(
        text.contains(
            "**Node.js · compression off**: the command of server (node server.js → node server.js --fast); the environment of \
             server (NODE\\_ENV); the connections of the load"
        ),
        "{text}"
    );
    assert!(text.contains("none: configuration changed"), "{text}");
    assert!(!text.contains("**worse**"), "{text}");
}

#[test]
fn cells_of_one_side_and_those_that_lost_their_figures_are_named() {
    let (mut old, mut later) = (old(), later());
    old.cells
        .retain(|cell| cell.id.names() != "node/compression=gzip@steady");
    let gone = later.run.spec.cells[2].id.clone();
    for trial in &mut later.trials {
        if trial.trial.cell == gone {
            trial.outcome = Outcome::Invalid {
                reasons: vec!["too many errors".to_owned()],
            };
        }
    }
    let text = page(&old, &new(&later));
    assert!(
        text.contains(
            "- **Go net/http · compression off** had figures and has none: invalid: too many errors"
        ),
        "{text}"
    );
    assert!(
        text.contains("| Node.js · compression gzip | only in 2026-12-02T190500Z-cd34ef5 |"),
        "{text}"
    );
}

#[test]
fn an_interrupted_run_is_not_complete() {
    let mut later = later();
    later.run.end = Some(End::Interrupted);
    assert_eq!(new(&later).complete, Some(false));
}

#[test]
fn names_with_markup_keep_the_tables_even() {
    let nasty = "a|b `c` *d* <script>x</script>\r\n# y";
    let (mut old, mut new) = (old(), new(&later()));
    nasty.clone_into(&mut new.cells[0].title);
    nasty.clone_into(&mut old.cells[4].title);
    old.cells[4].id = CellId("gone@l#1".to_owned());
    new.suite = nasty.to_owned();
    let text = page(&old, &new);
    let mut html = 0;
    let mut tables = 0;
    for event in Parser::new_ext(&text, Markdown::ENABLE_TABLES) {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => html += 1,
            Event::Start(Tag::Table(_)) => tables += 1,
            _ => {}
        }
    }
    assert_eq!((html, tables), (0, 9), "{text}");
    let mut width = None;
    for line in text.lines() {
        if !line.starts_with('|') {
            width = None;
            continue;
        }
        let bars = line.replace("\\|", "").matches('|').count();
        assert_eq!(*width.get_or_insert(bars), bars, "{line}");
    }
}
