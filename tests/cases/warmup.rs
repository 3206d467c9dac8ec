//! T13: servers that are slow at first, whose suite writes no warm-up. The slow phase is found, left out and told.

use crate::fixture::Behaviour;
use crate::kit::{Running, Suite, until};
use hotlap::record::{Outcome, Run};
use std::time::Duration;

/// Windows of half a second.
const MAX: &str = "'2s'";
const WINDOW: Duration = Duration::from_millis(500);
/// With a load that is over at once.
const FEW: &str = "requests = 40";

/// Requests that a server is slow for: together 0.3 s on two connections, so well within the first window.
const SLOW: u64 = 60;

fn slow_at_first() -> Behaviour {
    Behaviour::good()
        .taking(Duration::from_millis(1))
        .slow_until(SLOW, Duration::from_millis(10))
}

fn suite() -> Suite {
    Suite::new()
        .without("warmup")
        .setting("max_warmup", MAX)
        .load("few", FEW)
}

#[test]
fn a_slow_phase_is_found_left_out_and_its_length_is_told() {
    let outcome = suite()
        .setting("repetitions", "2")
        .fixture("slow", &slow_at_first())
        .run()
        .exits(0);
    let run = outcome.run();
    let [pilot] = &run.pilots[..] else {
        panic!("{:?}", run.pilots)
    };
    assert_eq!(pilot.outcome, Outcome::Valid);
    assert_eq!(pilot.window, WINDOW);
    // The first window is unlike any other, however busy the machine is.
    assert!(pilot.per_second[0] < 0.9 * pilot.per_second[1], "{pilot:?}");
    let warmup = pilot.warmup.unwrap();
    assert!(
        (2 * WINDOW..=Duration::from_secs(2)).contains(&warmup),
        "{pilot:?}"
    );
    let counted = u32::try_from(pilot.per_second.len()).unwrap();
    let until = if pilot.settled {
        (counted - 1) * WINDOW
    } else {
        Duration::from_secs(2)
    };
    assert_eq!(warmup, until);
    assert_eq!(run.warmup, Some(warmup));
    assert_eq!(run.spec.cells[0].work.warmup, warmup);
    for trial in outcome.trials() {
        assert_eq!(trial.outcome, Outcome::Valid);
        let load = trial.load.unwrap();
        assert!(load.warmup_requests > SLOW, "{}", load.warmup_requests);
        assert_eq!(load.counts.sent, 40, "nothing of a pilot is in a figure");
    }
    assert_eq!(outcome.trials().len(), 2);
    let markdown = outcome.markdown();
    let told = format!(
        "- **Warm-up**: {}, the longest that a pilot of each cell found",
        hotlap::units::show_duration(warmup)
    );
    assert!(markdown.contains(&told), "{markdown}");
    assert!(
        outcome.stderr.contains("pilot 1/1 slow@few"),
        "{}",
        outcome.stderr
    );
    assert_eq!(
        markdown.contains("did not settle"),
        !pilot.settled,
        "{markdown}"
    );
}

#[test]
fn a_server_that_never_settles_is_told() {
    let outcome = suite()
        .setting("max_warmup", "'1s'")
        .fixture(
            "slower",
            &Behaviour::good().slowing_by(Duration::from_millis(250)),
        )
        .run();
    let pilot = &outcome.run().pilots[0];
    assert!(!pilot.settled, "{pilot:?}");
    assert_eq!(pilot.per_second.len(), 4);
    assert_eq!(pilot.warmup, Some(Duration::from_secs(1)));
    let markdown = outcome.markdown();
    assert!(
        markdown.contains(
            "Its pilot did not settle within 1.00 s: its last two windows of 250 ms differed by"
        ),
        "{markdown}"
    );
    assert!(
        outcome.stderr.contains("not settled within 1.00 s"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_pilot_that_fails_loses_no_cell_and_the_others_are_warmed_alike() {
    let outcome = suite()
        .setting("max_warmup", "'1s'")
        .fixture("dies", &Behaviour::good().ends_at(20, "3"))
        .server("absent", &["./no-such-server"], "")
        .fixture("good", &Behaviour::good().taking(Duration::from_millis(1)))
        .run()
        .exits(1);
    let run = outcome.run();
    let failed: Vec<bool> = run
        .pilots
        .iter()
        .map(|pilot| matches!(pilot.outcome, Outcome::Failed { .. }))
        .collect();
    assert_eq!(failed, [true, true, false]);
    assert_eq!(run.pilots[0].warmup, None);
    assert_eq!(run.warmup, run.pilots[2].warmup);
    assert_eq!(outcome.trials().len(), 3);
    outcome.valid("good");
    assert!(
        outcome.stderr.contains("FAILED to stand the load"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_warm_up_that_is_written_has_no_pilot() {
    let outcome = Suite::new()
        .setting("warmup", "'0s'")
        .fixture("good", &Behaviour::good())
        .load("few", FEW)
        .run()
        .exits(0);
    assert_eq!(outcome.run().pilots, []);
    assert!(!outcome.read("run.json").contains("find_warmup"));
    assert!(
        outcome
            .markdown()
            .contains("- **Warm-up**: 0 s, as the suite says"),
        "{}",
        outcome.markdown()
    );
}

fn record(running: &Running) -> Option<Run> {
    let folder = running.suite.run_folder()?;
    let text = std::fs::read_to_string(folder.join("run.json")).ok()?;
    serde_json::from_str(&text).ok()
}

#[test]
fn a_run_that_is_ended_in_a_pilot_leaves_nothing_and_goes_on_after_the_finished_ones() {
    let one = |name: &str| {
        Behaviour::good()
            .taking(Duration::from_millis(1))
            .starting_in(name)
    };
    let mut running = suite()
        .setting("max_warmup", "'1s'")
        .fixture("first", &one("first.starts"))
        // It never settles, so that it is still there when it is ended.
        .fixture(
            "second",
            &one("second.starts").slowing_by(Duration::from_millis(250)),
        )
        .spawn();
    let folder = running.suite.path().to_owned();
    let starts = |name: &str| {
        let text = std::fs::read_to_string(folder.join(format!("{name}.starts")));
        text.unwrap_or_default().lines().count()
    };
    until("the second pilot runs", || {
        assert!(
            running.child.try_wait().unwrap().is_none(),
            "{}",
            running.stderr()
        );
        starts("second") == 1
    });
    let before = record(&running).unwrap();
    assert_eq!(before.pilots.len(), 1);
    running.signal("INT");
    let outcome = running.wait().exits(130);
    outcome.nothing_is_left();
    assert_eq!(outcome.run().warmup, None);
    assert_eq!(outcome.trials(), []);
    let outcome = outcome.again(&["--resume"]).exits(0);
    let run = outcome.run();
    assert_eq!(run.pilots.len(), 2);
    assert_eq!(run.pilots[0], before.pilots[0]);
    assert_eq!(
        run.warmup,
        run.pilots.iter().filter_map(|pilot| pilot.warmup).max()
    );
    // A pilot and a trial; of the second a pilot that was cut off as well.
    assert_eq!((starts("first"), starts("second")), (2, 3));
    assert_eq!(outcome.trials().len(), 2);
}
