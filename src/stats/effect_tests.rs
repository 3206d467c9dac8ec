//! Each outcome of the comparison of two cells.

use super::*;
use crate::ids::{CellId, TrialId, VariantId};
use crate::record::{Arrival, Observed, Outcome, Serving, Trial};
use crate::spec::{Axis, Choice, ProcessSpec, Ready, RunSettings, Text};
use crate::stats::State;
use std::time::Duration;

/// Something else that was seen.
type Change = fn(&mut Observed);

/// A cell with a value of the toggle `mode`, and what was seen of its trials.
struct Case {
    cell: Cell,
    trials: Vec<Trial>,
}

impl Case {
    fn new(value: &str) -> Self {
        let id = CellId(format!("s/mode={value}@l#0"));
        let cell = Cell {
            id: id.clone(),
            variant: VariantId(format!("s/mode={value}")),
            server: "s".to_owned(),
            server_label: "s".to_owned(),
            toggles: vec![Choice {
                toggle: "mode".to_owned(),
                value: value.to_owned(),
                label: value.to_owned(),
            }],
            load: "l".to_owned(),
            load_label: "l".to_owned(),
            baseline: None,
            revision: None,
            commit: None,
            requires: Vec::new(),
            builds: Vec::new(),
            services: Vec::new(),
            url: None,
            processes: vec![ProcessSpec {
                command: ["serve", "--port", "{{ port }}"].map(Text::from).to_vec(),
                ..ProcessSpec::default()
            }],
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
            gates: Vec::new(),
            published: Vec::new(),
            skip: None,
        };
        let case = Self {
            cell,
            trials: Vec::new(),
        };
        case.trial(|_| ())
    }

    /// Another trial, of which this was seen beside the usual.
    fn trial(mut self, change: impl FnOnce(&mut Observed)) -> Self {
        let mut observed = Observed {
            status: 200,
            headers: [("content-type".to_owned(), "text/plain".to_owned())].into(),
            wire_bytes: 1000,
            decoded_bytes: Some(1000),
            body_sha256: Some("b0d7".to_owned()),
            serving: Some(Serving {
                processes: 1,
                environment: Some(Arrival::default()),
                words_missing: Some(Vec::new()),
                mark: Some("m".to_owned()),
            }),
            ..Observed::default()
        };
        change(&mut observed);
        let id = TrialId {
            cell: self.cell.id.clone(),
            repetition: self.trials.len() as u32 + 1,
        };
        self.trials.push(Trial {
            observed: Some(Box::new(observed)),
            ..Trial::new(id, 1, 0)
        });
        self
    }

    /// The one trial saw something else.
    fn seeing(mut self, change: impl FnOnce(&mut Observed)) -> Self {
        self.trials.clear();
        self.trial(change)
    }

    /// What serves was started in a way of its own, and this became of the variables.
    fn serving(self, mark: &str, arrival: Arrival) -> Self {
        self.seeing(|seen| {
            let serving = seen.serving.as_mut().unwrap();
            serving.mark = Some(mark.to_owned());
            serving.environment = Some(arrival);
        })
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        let process = &mut self.cell.processes[0];
        process.env.push((name.to_owned(), value.into()));
        self
    }

    fn args(mut self, words: &[&str]) -> Self {
        let process = &mut self.cell.processes[0];
        process
            .command
            .extend(words.iter().map(|word| Text::from(*word)));
        self
    }

    fn work(mut self, change: impl FnOnce(&mut LoadSpec)) -> Self {
        change(&mut self.cell.work);
        self
    }

    fn summary(&self) -> CellSummary<'_> {
        CellSummary {
            cell: &self.cell,
            state: State::Measured,
            trials: self.trials.iter().collect(),
            planned: self.trials.len(),
            baseline: None,
        }
    }
}

fn on() -> Case {
    Case::new("on")
}

fn off() -> Case {
    Case::new("off")
}

/// The effect, which does not depend on which of the two is asked for.
#[track_caller]
fn between(a: &Case, b: &Case) -> Effect {
    let found = effect(&a.summary(), &b.summary());
    let turned = effect(&b.summary(), &a.summary());
    assert_eq!(found.word(), turned.word());
    found
}

fn names(all: &[&str]) -> std::collections::BTreeSet<String> {
    all.iter().map(ToString::to_string).collect()
}

fn arrived(all: &[&str]) -> Arrival {
    Arrival {
        arrived: names(all),
        ..Arrival::default()
    }
}

fn missing(all: &[&str]) -> Arrival {
    Arrival {
        missing: names(all),
        ..Arrival::default()
    }
}

#[track_caller]
fn seen(effect: &Effect) -> String {
    let Effect::Seen(words) = effect else {
        panic!("{effect:?}")
    };
    words.join(", ")
}

#[track_caller]
fn reached(effect: &Effect) -> String {
    let Effect::OnlyConfigured(hidden) = effect else {
        panic!("{effect:?}")
    };
    hidden.reached.join(", ")
}

#[track_caller]
fn nothing(effect: &Effect) -> String {
    let Effect::Nothing(hidden) = effect else {
        panic!("{effect:?}")
    };
    hidden.lost.join(", ")
}

#[test]
fn what_is_seen_to_differ_is_an_effect() {
    let cases: [(Change, &str); 7] = [
        (|seen| seen.status = 304, "the status (200 and 304)"),
        (
            |seen| drop(seen.headers.insert("x".to_owned(), "1".to_owned())),
            "the header x",
        ),
        (
            |seen| seen.varying.extend(["etag".to_owned()]),
            "the header etag",
        ),
        (|seen| seen.headers.clear(), "the header content-type"),
        (
            |seen| seen.body_sha256 = Some("other".to_owned()),
            "the body",
        ),
        (
            |seen| seen.wire_bytes = 100,
            "the size of the body on the wire (1000 B and 100 B)",
        ),
        (
            |seen| seen.serving.as_mut().unwrap().processes = 5,
            "the number of processes (1 and 5)",
        ),
    ];
    for (change, words) in cases {
        assert_eq!(
            seen(&effect(&off().summary(), &on().seeing(change).summary())),
            words
        );
    }
}

#[test]
fn another_load_is_seen_by_definition() {
    let more = on().work(|work| work.connections = 1);
    assert_eq!(seen(&between(&more, &off())), "the connections of the load");
    let closing = on().work(|work| work.keep_alive = false);
    assert_eq!(
        seen(&between(&closing, &off())),
        "the use of connections of the load"
    );
}

#[test]
fn what_varies_by_itself_is_no_difference() {
    let varies = |case: Case, size: u64| {
        case.seeing(|seen| {
            seen.body_sha256 = None;
            seen.wire_bytes = size;
            seen.headers.insert("x-boot".to_owned(), size.to_string());
        })
        .trial(|seen| {
            seen.body_sha256 = None;
            seen.headers.insert("x-boot".to_owned(), "0".to_owned());
        })
    };
    let (a, b) = (varies(on(), 1001), varies(off(), 1010));
    let Effect::Nothing(hidden) = between(&a, &b) else {
        panic!("{:?}", between(&a, &b))
    };
    assert!(hidden.bodies_vary);
    let half = on().seeing(|seen| {
        seen.body_sha256 = None;
        seen.wire_bytes = 500;
    });
    assert!(seen(&between(&half, &off())).starts_with("the size of the body on the wire"));
}

#[test]
fn a_promise_to_vary_is_no_effect() {
    let vary = |seen: &mut Observed| {
        seen.headers
            .insert("vary".to_owned(), "accept-encoding".to_owned());
        seen.serving.as_mut().unwrap().mark = Some("with --gzip".to_owned());
    };
    let gzip = on().args(&["--gzip"]).seeing(vary);
    assert_eq!(
        reached(&between(&gzip, &off())),
        "the arguments of the command (--gzip)"
    );
}

#[test]
fn a_variable_that_arrived_is_only_configured() {
    let on = on().env("MODE", "x").serving("other", arrived(&["MODE"]));
    assert_eq!(
        reached(&between(&on, &off())),
        "the environment of the process (MODE)"
    );
}

#[test]
fn a_variable_that_was_swallowed_does_nothing() {
    let on = on().env("MODE", "x").serving("m", missing(&["MODE"]));
    assert_eq!(
        nothing(&between(&on, &off())),
        "MODE is set for mode on, but the process that serves has no such variable"
    );
}

#[test]
fn a_variable_that_a_wrapper_turned_into_something_else_is_only_configured() {
    let on = on()
        .env("MODE", "x")
        .serving("with --mode", missing(&["MODE"]));
    let Effect::OnlyConfigured(hidden) = between(&on, &off()) else {
        panic!("{:?}", between(&on, &off()))
    };
    assert_eq!(hidden.reached, ["how the process that serves was started"]);
    assert_eq!(hidden.lost.len(), 1);
}

#[test]
fn a_value_that_is_forced_or_usual_does_nothing() {
    let changed = |case: Case, value: &str| {
        case.env("MODE", value).serving(
            "m",
            Arrival {
                changed: names(&["MODE"]),
                ..Arrival::default()
            },
        )
    };
    let why = nothing(&between(&changed(on(), "1"), &changed(off(), "2")));
    assert!(
        why.contains("mode on, but the process that serves has another value"),
        "{why}"
    );
    assert!(why.contains("mode off, but"), "{why}");
    let usual = on().env("MODE", "1").serving("m", arrived(&["MODE"]));
    assert_eq!(
        nothing(&between(&usual, &off())),
        "MODE is the same for both in the process that serves"
    );
}

#[test]
fn arguments_do_nothing_only_where_the_same_was_started() {
    let lost = |seen: &mut Observed| {
        seen.serving.as_mut().unwrap().words_missing = Some(vec![3, 4]);
    };
    let swallowed = on().args(&["--workers", "4"]).seeing(lost);
    assert_eq!(
        nothing(&between(&swallowed, &off())),
        "the arguments of the command (--workers 4) did not come through to the process that serves"
    );
    let other_start = on().args(&["--workers", "4"]).seeing(|seen| {
        lost(seen);
        seen.serving.as_mut().unwrap().mark = Some("other".to_owned());
    });
    assert_eq!(
        reached(&between(&other_start, &off())),
        "the arguments of the command (--workers 4)"
    );
    let unread = on()
        .args(&["--workers", "4"])
        .seeing(|seen| seen.serving = None);
    assert!(matches!(
        between(&unread, &off()),
        Effect::OnlyConfigured(_)
    ));
}

#[test]
fn a_request_is_judged_by_its_answer() {
    let asks = on().work(|work| {
        work.request.headers = vec![("accept-encoding".to_owned(), "gzip".into())];
        work.request.path = "/b".into();
    });
    assert_eq!(
        reached(&between(&asks, &off())),
        "the path of the request (/b and /), the headers of the request (accept-encoding)"
    );
}

#[test]
fn what_is_expected_decides() {
    let expects = |case: Case, header: &str| {
        case.work(|work| work.expect.headers = vec![("x-mode".to_owned(), header.to_owned())])
    };
    // These cannot both be, whatever was seen.
    assert_eq!(
        between(&expects(on(), "1"), &expects(off(), "0")),
        Effect::Proved
    );
    // Something that only one side speaks of, and no observation.
    let mut blind = expects(on(), "1");
    blind.trials[0].observed = None;
    assert_eq!(between(&blind, &off()), Effect::Unknown);
    // The same answer on both sides is as both expect.
    let idle = on().work(|work| work.expect.min_size = Some(10));
    assert_eq!(
        nothing(&between(&idle, &off())),
        "nothing that is started or sent differs"
    );
}

#[test]
fn without_an_observation_nothing_is_known() {
    let mut blind = on().env("MODE", "x");
    blind.trials[0].observed = None;
    assert_eq!(between(&blind, &off()), Effect::Unknown);
    let mut failed = on();
    failed.trials[0].outcome = Outcome::Invalid {
        reasons: Vec::new(),
    };
    assert_eq!(between(&failed, &off()), Effect::Unknown);
    let mut elsewhere = on();
    elsewhere.cell.server = "t".to_owned();
    assert_eq!(between(&elsewhere, &off()), Effect::Unknown);
}

#[test]
fn pairs_are_with_the_usual_value() {
    let cases: Vec<Case> = ["off", "low", "high"].map(Case::new).into();
    let cells: Vec<CellSummary<'_>> = cases.iter().map(Case::summary).collect();
    let spec = Spec {
        suite: String::new(),
        title: String::new(),
        description: None,
        profile: None,
        run: RunSettings::default(),
        axes: vec![Axis {
            name: "mode".to_owned(),
            values: ["off", "low", "high"]
                .map(|v| (v.to_owned(), v.to_owned()))
                .into(),
        }],
        runtimes: Vec::new(),
        services: Vec::new(),
        published: Vec::new(),
        cells: cases.iter().map(|case| case.cell.clone()).collect(),
    };
    let found: Vec<(&str, &str)> = pairs(&spec, &cells)
        .iter()
        .map(|pair| {
            (
                pair.of.cell.variant.0.as_str(),
                pair.to.cell.variant.0.as_str(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [("s/mode=low", "s/mode=off"), ("s/mode=high", "s/mode=off")]
    );
}

#[test]
fn another_runtime_is_another_program_where_it_serves() {
    let on_runtime = |case: Case, name: &str| {
        let mut case = case;
        case.cell.processes[0].runtime = Some(name.to_owned());
        case
    };
    let other = on_runtime(on(), "node-22").serving("other", Arrival::default());
    assert_eq!(
        between(&other, &on_runtime(off(), "node-6")),
        Effect::Seen(vec!["the runtime that serves".to_owned()])
    );
    // A wrapper that starts the same program for both.
    let same = on_runtime(on(), "node-22");
    assert_eq!(
        nothing(&between(&same, &on_runtime(off(), "node-6"))),
        "the runtime is the same for both where it serves"
    );
}
