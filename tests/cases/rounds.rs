//! How many trials there are: as many as intervals need, and no more than fit into the time.

use crate::fixture::Behaviour;
use crate::kit::{Outcome, Suite};
use std::collections::BTreeMap;

/// Two equal servers and a load that takes a tenth of a second.
fn two(suite: Suite) -> Suite {
    suite
        .fixture("one", &Behaviour::good())
        .fixture("two", &Behaviour::good())
        .load("few", "duration = '100ms'\nconnections = 1\nwarmup = '0s'")
}

/// The trials of each server.
fn trials(outcome: &Outcome) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for trial in outcome.trials() {
        let server = trial
            .trial
            .cell
            .names()
            .split('@')
            .next()
            .unwrap()
            .to_owned();
        *counted.entry(server).or_default() += 1;
    }
    counted
}

/// The rounds in their order, each with its trials.
fn rounds(outcome: &Outcome) -> Vec<(u32, usize)> {
    let mut rounds: Vec<(u32, usize)> = Vec::new();
    for trial in outcome.trials() {
        match rounds.last_mut() {
            Some((round, count)) if *round == trial.round => *count += 1,
            _ => rounds.push((trial.round, 1)),
        }
    }
    rounds
}

#[test]
fn rounds_are_added_in_pairs_until_the_most() {
    // No interval is that narrow.
    let outcome = two(Suite::new())
        .setting("repetitions", "'auto'")
        .setting("target", "'0.001%'")
        .setting("max_repetitions", "8")
        .run()
        .exits(0);
    let expected: Vec<(u32, usize)> = (1..=8).map(|round| (round, 2)).collect();
    assert_eq!(rounds(&outcome), expected);
    let run = outcome.run();
    assert_eq!(run.plan.len(), 16);
    let markdown = outcome.markdown();
    assert!(
        markdown.contains("the most that it may have, its interval is still ±"),
        "{markdown}"
    );
    assert!(
        outcome.stderr.contains("round 7 is added: 2 trials"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn intervals_that_are_narrow_get_a_third_more_and_no_further() {
    let outcome = two(Suite::new())
        .setting("repetitions", "'auto'")
        .setting("target", "'99%'")
        .run()
        .exits(0);
    let each = trials(&outcome);
    // Six at the least, and two more; loads this short may take a few to be that narrow.
    assert_eq!(each["one"], each["two"]);
    assert!((8..30).contains(&each["one"]), "{each:?}");
    assert!(outcome.markdown().contains("rounds were added until"));
    let plan = outcome.suite.hotlap(&["plan", "case.toml"]);
    let plan = String::from_utf8(plan.stdout).unwrap();
    assert!(plan.contains("6 to 30 × 100ms"), "{plan}");
    let plan = outcome
        .suite
        .hotlap(&["plan", "case.toml", "--budget", "5s"]);
    let plan = String::from_utf8(plan.stdout).unwrap();
    assert!(
        plan.contains("it begins with 3 of up to 6 trials"),
        "{plan}"
    );
}

#[test]
fn a_load_that_names_a_number_keeps_it() {
    let outcome = Suite::new()
        .fixture("one", &Behaviour::good())
        .load("few", "duration = '50ms'\nconnections = 1\nrepetitions = 2")
        .load("auto", "duration = '50ms'\nconnections = 1")
        .setting("repetitions", "'auto'")
        .setting("target", "'99%'")
        .run()
        .exits(0);
    let few = outcome
        .trials()
        .iter()
        .filter(|t| t.trial.cell.names().ends_with("@few"))
        .count();
    assert_eq!(few, 2);
    assert!(outcome.trials().len() >= 10, "{}", outcome.stderr);
}

#[test]
fn a_server_that_never_starts_gets_no_further_rounds() {
    let outcome = Suite::new()
        .fixture("one", &Behaviour::good())
        .server("dead", &["false"], "")
        .load("few", "duration = '50ms'\nconnections = 1")
        .setting("repetitions", "'auto'")
        .setting("target", "'0.001%'")
        .setting("max_repetitions", "7")
        .run()
        .exits(1);
    let each = trials(&outcome);
    assert_eq!((each["one"], each["dead"]), (7, 6));
}

#[test]
fn a_budget_ends_with_a_whole_round() {
    // About half a second a round, of which a hundred do not fit into three.
    let outcome = two(Suite::new())
        .setting("repetitions", "100")
        .argument("--budget")
        .argument("4s")
        .run()
        .exits(0);
    let each = trials(&outcome);
    assert_eq!(each["one"], each["two"]);
    assert!((1..100).contains(&each["one"]), "{each:?}");
    let run = outcome.run();
    assert_eq!(run.plan.len(), outcome.trials().len());
    assert!(
        outcome.stderr.contains("does not fit into the budget"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.markdown().contains("The budget of 4s left"),
        "{}",
        outcome.markdown()
    );
}

#[test]
fn a_budget_in_which_no_round_fits_is_refused() {
    let outcome = two(Suite::new())
        .setting("budget", "'150ms'")
        .run()
        .exits(2);
    assert!(
        outcome.stderr.contains("is too small"),
        "{}",
        outcome.stderr
    );
    assert_eq!(outcome.suite.run_folder(), None);
}
