//! `--gate`: what became of a suite's gates, for a log, and what that makes of the exit code.

use super::exit::Exit;
use super::suites::counted;
use super::terminal::{say_error, say_line};
use crate::report::GateLines;
use crate::spec::Spec;
use crate::stats::{ENOUGH_TRIALS, least_trials};

/// Refuses `--gate` where no suite has a gate, since nothing could ever fall.
pub(super) fn refuse_none<'a>(specs: impl Iterator<Item = &'a Spec>) -> Result<(), Exit> {
    let (with, without): (Vec<&Spec>, Vec<&Spec>) = specs.partition(|spec| is_gated(spec));
    if with.is_empty() {
        let names: Vec<&str> = without.iter().map(|spec| spec.suite.as_str()).collect();
        say_error(&format!(
            "--gate: no cell of {} has a gate; write [[gates]] with errors = {{ max = 0 }}, say, or leave --gate out",
            names.join(", ")
        ));
        return Err(Exit::Usage);
    }
    for spec in without {
        say_line(&format!(
            "note: {} has no gates, so --gate asks nothing of it",
            spec.suite
        ));
    }
    Ok(())
}

fn is_gated(spec: &Spec) -> bool {
    spec.cells.iter().any(|cell| !cell.gates.is_empty())
}

/// Says why regression gates are going to fall, whatever the servers do: before an hour is spent on that.
/// `earlier` tells that there is an earlier run to compare with.
pub(super) fn warn_of_regressions(spec: &Spec, earlier: bool) {
    let asked = || {
        let cells = spec.cells.iter().filter(|cell| !spec.is_baseline(cell));
        let gates = cells.flat_map(|cell| cell.gates.iter().map(|gate| (cell.repetitions, gate)));
        gates.filter(|(_, gate)| gate.max_regression.is_some())
    };
    let Some(fewest) = asked().map(|(trials, _)| trials).min() else {
        return;
    };
    let all = asked().count();
    if earlier {
        return;
    }
    if spec.cells.iter().all(|cell| cell.revision.is_none()) {
        say_line(
            "note: `max_regression` has nothing to compare with, so its gates will fall: give --baseline RUN or \
             --compare-with REV",
        );
    } else if (fewest as usize) < ENOUGH_TRIALS {
        say_line(&format!(
            "note: regression gates need {ENOUGH_TRIALS} trials a cell, and there are {fewest}, so they will fall"
        ));
    } else if fewest < least_trials(all) {
        say_line(&format!(
            "note: {} are judged together, which needs {} trials a cell to tell one regression from chance; there are \
             {fewest}, so whatever looks like one will fall",
            counted(all, "regression gate"),
            least_trials(all)
        ));
    }
}

/// Says which gates fell. With `--gate` each has a line, and the exit code is theirs; without it, one line says how
/// many there are.
pub(super) fn tell(gates: &GateLines, gate: bool, quiet: bool) -> Exit {
    let Some(sentence) = gates.sentence() else {
        return Exit::Fine;
    };
    let fell = !gates.fallen.is_empty();
    if gate {
        for line in &gates.fallen {
            say_line(&format!("gate fell: {line}"));
        }
        if fell || !quiet {
            say_line(&sentence);
        }
        return if fell { Exit::GateFell } else { Exit::Fine };
    }
    if !quiet {
        say_line(&if fell {
            format!("{sentence}; --gate makes that exit code 3")
        } else {
            sentence
        });
    }
    Exit::Fine
}
