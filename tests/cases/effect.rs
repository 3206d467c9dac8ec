//! Toggles that do nothing are found out, and those that do something are not suspected.

use crate::kit::{Outcome, Suite};

const FEW: &str = "requests = 40\nwarmup = '0s'";

/// A script that starts the demo server with these lines before, and these words behind.
fn wrapper(before: &str, behind: &str) -> String {
    let hotlap = env!("CARGO_BIN_EXE_hotlap");
    format!("{before}\nexec {hotlap} serve {behind}\n")
}

fn run(command: &[&str], script: &str, toggle: &str) -> Outcome {
    Suite::new()
        .file("start.sh", script)
        .server("s", command, "")
        .toml(&format!(
            "[toggles.mode]\nvalues.off = {{}}\nvalues.on = {{ {toggle} }}"
        ))
        .load("few", FEW)
        .run()
        .exits(0)
}

/// What the reports say of the cell that departs: its effect, and whether it is compared.
#[track_caller]
fn told(outcome: &Outcome, effect: &str, compared: bool) -> String {
    let cell = outcome.cell("s/mode=on");
    let markdown = outcome.markdown();
    assert_eq!(cell["effect"]["kind"], effect, "{cell}\n{markdown}");
    assert_eq!(cell["ratios"].is_object(), compared, "{cell}");
    assert_eq!(
        markdown.contains("**mode on** serves"),
        compared,
        "{markdown}"
    );
    assert_eq!(markdown.contains("| – (no observable effect) |"), !compared);
    let rows = outcome.csv("summary.csv");
    let row = rows.iter().find(|row| row["toggle_mode"] == "on").unwrap();
    assert_eq!(row["effect"], effect);
    assert_eq!(row["requests_per_second_ratio"] != "–", compared, "{row:?}");
    assert_eq!(row["body_decoded_bytes"], "20480");
    markdown
}

#[test]
fn a_variable_that_a_wrapper_swallows_has_no_observable_effect() {
    let hotlap = env!("CARGO_BIN_EXE_hotlap");
    for script in [
        format!("unset MODE; exec {hotlap} serve"),
        format!("exec env -i PORT=\"$PORT\" HOTLAP_CASE=\"$HOTLAP_CASE\" {hotlap} serve"),
        // The script itself has the variable, and only waits.
        format!("env -u MODE {hotlap} serve & wait"),
    ] {
        let outcome = run(&["sh", "start.sh"], &script, "env.MODE = 'production'");
        let markdown = told(&outcome, "nothing", false);
        let words = "No observable effect, so mode on and mode off are not compared, and whatever lies between their \
                     figures is chance: answers, headers, sizes and numbers of processes are the same; ";
        assert!(markdown.contains(words), "{markdown}");
        let why = "MODE is set for mode on, but the process that serves has no such variable.";
        assert!(markdown.contains(why), "{markdown}");
        assert!(!outcome.read("trials.jsonl").contains("production"));
    }
}

#[test]
fn arguments_that_a_wrapper_forgets_have_no_observable_effect() {
    let outcome = run(
        &["sh", "start.sh"],
        &wrapper("", ""),
        "args = ['--workers', '3']",
    );
    let markdown = told(&outcome, "nothing", false);
    let why = "the arguments of the command (--workers 3) did not come through to the process that serves";
    assert!(markdown.contains(why), "{markdown}");
}

#[test]
fn what_a_wrapper_turns_into_something_else_is_not_nothing() {
    let outcome = run(
        &["sh", "start.sh"],
        &wrapper("export LEVEL=\"${MODE:-none}\"; unset MODE", ""),
        "env.MODE = 'production'",
    );
    told(&outcome, "only configured", true);
}

#[test]
fn a_variable_that_arrives_and_changes_nothing_to_be_seen_is_compared_with_a_caution() {
    let outcome = run(&["hotlap", "serve"], "", "env.MODE = 'production'");
    let markdown = told(&outcome, "only configured", true);
    let words = "**mode on**: mode on and mode off differ in the environment of the process (MODE), and in nothing \
                 that can be seen from outside: answers, headers, sizes and numbers of processes are the same. An \
                 \"expect\" would prove the effect.";
    assert!(markdown.contains(words), "{markdown}");
}

#[test]
fn compression_that_nobody_asks_for_is_only_configured() {
    let outcome = run(&["hotlap", "serve"], "", "args = ['--gzip']");
    let markdown = told(&outcome, "only configured", true);
    assert!(
        markdown.contains("differ in the arguments of the command (--gzip)"),
        "{markdown}"
    );
    assert!(!markdown.contains("## Bytes of a body"), "{markdown}");
}

#[test]
fn compression_that_is_asked_for_is_seen_with_both_sizes() {
    let outcome = run(
        &["hotlap", "serve"],
        "",
        "args = ['--gzip'], headers.accept-encoding = 'gzip'",
    );
    let markdown = told(&outcome, "seen", true);
    assert!(!markdown.contains("outside"), "{markdown}");
    assert!(markdown.contains("## Bytes of a body"), "{markdown}");
    let body = &outcome.cell("s/mode=on")["body"];
    assert_eq!(body["decoded_bytes"], 20480);
    assert!(body["wire_bytes"].as_u64().unwrap() < 20480);
}

#[test]
fn bodies_of_other_sizes_are_shown_where_nothing_is_compressed() {
    let outcome = run(&["hotlap", "serve"], "", "args = ['--body-bytes', '1000']");
    assert_eq!(outcome.cell("s/mode=on")["effect"]["kind"], "seen");
    let markdown = outcome.markdown();
    assert!(markdown.contains("## Bytes of a body"), "{markdown}");
    let rows = outcome.csv("summary.csv");
    let sizes: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| {
            (
                row["body_wire_bytes"].as_str(),
                row["body_decoded_bytes"].as_str(),
            )
        })
        .collect();
    assert_eq!(sizes, [("20480", "20480"), ("1000", "1000")]);
}

#[test]
fn what_is_expected_proves_the_effect() {
    let outcome = Suite::new()
        .server("s", &["hotlap", "serve", "--gzip"], "")
        .toml(
            "[toggles.mode]\nvalues.off = { expect.no_headers = ['content-encoding'] }\n\
             values.on = { headers.accept-encoding = 'gzip', expect.headers.content-encoding = 'gzip' }",
        )
        .load("few", FEW)
        .run()
        .exits(0);
    told(&outcome, "proved", true);
}

#[test]
fn workers_that_run_are_seen() {
    let outcome = run(&["hotlap", "serve"], "", "args = ['--workers', '3']");
    let markdown = told(&outcome, "seen", true);
    assert!(!markdown.contains("outside"), "{markdown}");
    let what = outcome.cell("s/mode=on")["effect"]["what"].to_string();
    assert!(what.contains("the number of processes"), "{what}");
}

#[test]
fn another_number_of_connections_is_another_load() {
    let outcome = run(&["hotlap", "serve"], "", "connections = 3");
    let markdown = told(&outcome, "seen", true);
    assert!(!markdown.contains("outside"), "{markdown}");
}
