//! Gates: what holds and what falls, what the exit code is, and that reports are written whatever falls.

use crate::fixture::{Behaviour, status};
use crate::kit::{Outcome, Suite};
use hotlap::record::Outcome as Verdict;

/// A suite whose server answers well, with a load of a few requests.
fn good() -> Suite {
    Suite::new()
        .fixture("good", &Behaviour::good())
        .load("few", "requests = 200\nwarmup = '0s'")
}

const NO_ERRORS: &str = "[[gates]]\nerrors = { max = 0 }";

/// The gates of `report.json` as (metric, held or fell).
fn words(outcome: &Outcome) -> Vec<(String, String)> {
    let json = outcome.json();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let gates = json["gates"].as_array().unwrap().iter();
    gates
        .map(|gate| (text(&gate["metric"]), text(&gate["word"])))
        .collect()
}

#[test]
fn what_holds_is_exit_code_0_and_stands_in_the_report() {
    let outcome = good().toml(NO_ERRORS).argument("--gate").run().exits(0);
    assert!(
        outcome.stderr.contains("the only gate held"),
        "{}",
        outcome.stderr
    );
    let markdown = outcome.markdown();
    assert!(
        markdown.contains("| good | `errors` | at most 0 | 0 | held |"),
        "{markdown}"
    );
    assert_eq!(outcome.csv("summary.csv")[0]["gates"], "held");
    let index = std::fs::read_to_string(outcome.suite.path().join("reports/README.md")).unwrap();
    assert!(index.contains("| 1 held |"), "{index}");
}

#[test]
fn errors_fall_with_a_line_each_and_all_is_kept() {
    let suite = Suite::new()
        .setting("max_errors", "'50%'")
        .fixture("errs", &Behaviour::good().every(10, &status(500)))
        .load("few", "requests = 200\nwarmup = '0s'")
        .toml("[[gates]]\nerrors = { max = 0 }\n[[gates]]\nerrors = { max = '40%' }");
    let outcome = suite.argument("--gate").run().exits(3);
    let trial = outcome.valid("errs");
    let errors = trial.load.unwrap().counts.errors();
    assert!(errors > 0);
    let line = format!("gate fell: errs: errors at most 0: {errors} (in the worst trial)\n");
    assert!(outcome.stderr.contains(&line), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("\n1 of 2 gates fell\n"),
        "{}",
        outcome.stderr
    );
    assert_eq!(outcome.csv("summary.csv")[0]["gates"], "fell");
    assert!(outcome.markdown().contains("**Gates fell**: 1 of 2 gates"));

    // Made again from the records, it is the same.
    let folder = outcome.suite.run_folder().unwrap().display().to_string();
    let again = outcome.suite.hotlap(&["report", &folder, "--gate"]);
    assert_eq!(again.status.code(), Some(3));
    let said = String::from_utf8(again.stderr).unwrap();
    assert!(said.contains(&line), "{said}");
    let plain = outcome.suite.hotlap(&["report", &folder]);
    assert_eq!(plain.status.code(), Some(0));
}

#[test]
fn a_minimum_that_is_not_reached_falls() {
    let gates = "[[gates]]\nrequests_per_second = { min = 1000000000 }\nerrors = { max = 0 }";
    let outcome = good().toml(gates).argument("--gate").run().exits(3);
    let told = "gate fell: good: requests_per_second at least 1 000 000 000: ";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    outcome.valid("good");
    let pairs = words(&outcome);
    assert!(pairs.contains(&("requests_per_second".to_owned(), "fell".to_owned())));
    assert!(pairs.contains(&("errors".to_owned(), "held".to_owned())));
}

#[test]
fn without_the_flag_what_falls_is_said_and_decides_nothing() {
    let gates = "[[gates]]\nrequests_per_second = { min = 1000000000 }";
    let outcome = good().toml(gates).run().exits(0);
    let told = "the only gate fell; --gate makes that exit code 3";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    assert!(
        !outcome.stderr.contains("decide nothing"),
        "{}",
        outcome.stderr
    );
    let quiet = good().toml(gates).argument("--quiet").run().exits(0);
    assert!(!quiet.stderr.contains("gate"), "{}", quiet.stderr);
}

#[test]
fn a_cell_that_was_skipped_does_not_pass() {
    let suite = good()
        .server(
            "absent",
            &["no-such-program-anywhere"],
            "requires = ['no-such-program-anywhere']",
        )
        .toml(NO_ERRORS);
    let outcome = suite.argument("--gate").run().exits(3);
    let told = "gate fell: absent: errors at most 0: – (skipped: ";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("1 of 2 gates fell"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_trial_that_failed_makes_its_own_gate_fall_and_no_other() {
    let suite = |held: &str| {
        Suite::new()
            .fixture("dies", &Behaviour::good().ends_at(50, "3"))
            .fixture("good", &Behaviour::good())
            .load("few", "requests = 200\nwarmup = '0s'")
            .toml(&format!(
                "[[gates]]\ncells = {{ server = '{held}' }}\nerrors = {{ max = '100%' }}"
            ))
            .argument("--gate")
    };
    let outcome = suite("dies").run().exits(3);
    assert_ne!(outcome.trial("dies").outcome, Verdict::Valid);
    // The failed trial is of no gate; it is still what it was.
    let outcome = suite("good").run().exits(1);
    assert!(
        outcome.stderr.contains("the only gate held"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_regression_with_nothing_to_compare_with_falls() {
    let gates = "[[gates]]\nrequests_per_second = { max_regression = '5%' }";
    let outcome = good().toml(gates).argument("--gate").run().exits(3);
    let told = "requests_per_second at most 5 % worse: – (there is nothing to compare with: give --baseline RUN or";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("note: `max_regression` has nothing"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn service_time_is_a_limit_and_response_time_of_a_closed_loop_is_none() {
    let gates = "[[gates]]\nservice_p50 = { max = '10s' }\nresponse_p50 = { max = '10s' }\nlatency_p99_9 = { max = '10s' }";
    let outcome = good().toml(gates).argument("--gate").run().exits(3);
    let mut found = words(&outcome);
    found.sort();
    let expected = [
        ("latency_p99_9", "fell"),
        ("response_p50", "fell"),
        ("service_p50", "held"),
    ];
    assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert!(
        outcome
            .stderr
            .contains("too few requests for this percentile in 1 of 1 valid trial"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_suite_without_gates_is_refused_before_anything_starts() {
    let outcome = good().argument("--gate").run().exits(2);
    assert!(
        outcome.stderr.contains("no cell of case has a gate"),
        "{}",
        outcome.stderr
    );
    assert_eq!(outcome.suite.run_folder(), None);
    let gates = "[[gates]]\ncells = { server = 'other' }\nerrors = { max = 0 }";
    let narrowed = good()
        .fixture("other", &Behaviour::good())
        .toml(gates)
        .argument("--gate")
        .argument("--only")
        .argument("server=good");
    let outcome = narrowed.run().exits(2);
    assert_eq!(outcome.suite.run_folder(), None);
}

#[test]
fn an_interrupted_run_passes_nothing_and_its_rest_can_be_judged() {
    let mut running = good()
        .setting("repetitions", "8")
        .toml(NO_ERRORS)
        .argument("--gate")
        .spawn();
    running.wait_for_trials(1);
    running.signal("INT");
    let outcome = running.wait().exits(130);
    outcome.nothing_is_left();
    let told = "gate fell: good: errors at most 0: 0 (the run did not come to its end)";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    let outcome = outcome.again(&["--resume", "--gate"]).exits(0);
    assert!(
        outcome.stderr.contains("the only gate held"),
        "{}",
        outcome.stderr
    );
}
