//! What must hold for any text that somebody takes for a suite. The bounded
//! test and the libFuzzer target in `fuzz/` both ask this one function.

use hotlap::diagnostic::{Diagnostic, Label, Severity, SourceText, Style, render};
use hotlap::plan::{Options, Plan, PlanError, estimate, schedule, spec};
use hotlap::spec::Spec;
use hotlap::suite::{CODES, Suite, check};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Larger plans are left alone: they are right where small ones are, and slow.
const MOST_CELLS: usize = 500;
/// The same for the order of trials.
const MOST_TRIALS: u64 = 20_000;

/// Checks, plans and renders a text; what does not hold, each with its kind in
/// front of a colon. Whatever panics in between is a failure too, which is the
/// caller's to catch.
pub(crate) fn broken(text: &str) -> Vec<String> {
    let source = SourceText {
        name: "fuzz.toml".to_owned(),
        text: text.to_owned(),
    };
    let mut broken = Vec::new();
    // Nothing is started, so the folder does not matter.
    let folder = Path::new(".");
    let checked = check(&source, "fuzz", folder);
    let found = &checked.diagnostics;
    sound(&source, found, &mut broken);
    if check(&source, "fuzz", folder).diagnostics != *found {
        broken.push("the same text gives other diagnostics the second time".to_owned());
    }
    let has_error = found.iter().any(|one| one.severity == Severity::Error);
    if checked.suite.is_some() == has_error {
        broken.push(format!("a suite and an error, or neither: {found:?}"));
    }
    let is_toml = toml::from_str::<toml::Table>(text).is_ok();
    if !is_toml && !has_error {
        broken.push("it is no TOML, and no error says so".to_owned());
    }
    if is_toml && found.iter().any(|one| one.code == "syntax") {
        broken.push(format!(
            "it is TOML, and an error says it is not: {found:?}"
        ));
    }
    if let Some(suite) = &checked.suite {
        plans(&source, suite, &mut broken);
    }
    broken
}

/// Whether diagnostics can be shown: places in the text, words without control
/// characters, a known code, each said once.
fn sound(source: &SourceText, diagnostics: &[Diagnostic], broken: &mut Vec<String>) {
    for (at, one) in diagnostics.iter().enumerate() {
        let said_before = diagnostics[..at].contains(one);
        let faults = [
            said_before.then_some("said twice"),
            fault_of(one, &source.text),
        ];
        for fault in faults.into_iter().flatten() {
            broken.push(format!("{fault}: {one:?}"));
        }
    }
    let plain = render(source, diagnostics, Style::Plain);
    if let Some(control) = plain.chars().find(|c| c.is_control() && *c != '\n') {
        broken.push(format!(
            "a control character is shown: {control:?} in {plain:?}"
        ));
    }
    if plain.matches("fuzz.toml:").count() < diagnostics.len() {
        broken.push(format!(
            "a diagnostic is shown without its place: {plain:?}"
        ));
    }
    if render(source, diagnostics, Style::Colored).len() < plain.len() {
        broken.push(format!("colours take away from the text: {plain:?}"));
    }
}

/// The first thing that is wrong with a diagnostic.
fn fault_of(one: &Diagnostic, text: &str) -> Option<&'static str> {
    let inside = |label: &Label| {
        let span = &label.span;
        span.start <= span.end && span.end <= text.len()
    };
    let on_boundaries =
        |at: &Label| text.is_char_boundary(at.span.start) && text.is_char_boundary(at.span.end);
    let words = one.labels.iter().map(|label| &label.text).chain(&one.help);
    if !CODES.iter().any(|(code, _)| *code == one.code) {
        Some("an unknown code")
    } else if one.message.trim().is_empty() {
        Some("an empty message")
    } else if one.message.chars().any(char::is_control) {
        Some("a control character in the message")
    } else if words.flat_map(|words| words.chars()).any(char::is_control) {
        Some("a control character in a label or a help")
    } else if one.labels.is_empty() {
        Some("no place")
    } else if !one.labels.iter().all(inside) {
        Some("a place outside of the text")
    } else if !one.labels.iter().all(on_boundaries) {
        Some("a place inside of a character")
    } else {
        None
    }
}

/// Whether a suite's plans are whole, by default and for each profile.
fn plans(source: &SourceText, suite: &Suite, broken: &mut Vec<String>) {
    let profiles = suite.profiles.iter().map(|one| Some(one.name.clone()));
    for profile in std::iter::once(None).chain(profiles) {
        let options = Options {
            profile,
            random_seed: 7,
            env: BTreeMap::from([("HOME".to_owned(), "/home/somebody".to_owned())]),
            ..Options::default()
        };
        let planned = match Plan::new(suite, &options) {
            Ok(plan) if plan.len() > MOST_CELLS => continue,
            Ok(_) => spec(suite, &options),
            Err(error) => Err(error),
        };
        match planned {
            Ok(one) => {
                if spec(suite, &options).ok().as_ref() != Some(&one) {
                    broken.push("the second plan is another one".to_owned());
                }
                broken.extend(whole(&one).err());
            }
            Err(PlanError::Suite(found)) => {
                if !found.iter().any(|one| one.severity == Severity::Error) {
                    broken.push(format!("there is no plan, and no error: {found:?}"));
                }
                sound(source, &found, broken);
            }
            Err(PlanError::Option(message)) => {
                broken.push(format!("a profile is there and is not: {message}"));
            }
        }
    }
}

/// Whether a plan can be recorded and carried out.
fn whole(spec: &Spec) -> Result<(), String> {
    if spec.cells.is_empty() {
        return Err("a plan without a cell".to_owned());
    }
    let ids: BTreeSet<_> = spec.cells.iter().map(|cell| &cell.id).collect();
    if ids.len() != spec.cells.len() {
        return Err("two cells have one id".to_owned());
    }
    let slugs: BTreeSet<_> = spec.cells.iter().map(|cell| cell.id.slug()).collect();
    if slugs.len() != spec.cells.len() {
        return Err("two cells have one file name".to_owned());
    }
    for cell in &spec.cells {
        if cell.front_process().is_none() {
            return Err(format!("no process that is loaded: {}", cell.id));
        }
        if cell.repetitions == 0 {
            return Err(format!("a cell without a trial: {}", cell.id));
        }
        if cell.baseline.as_ref().is_some_and(|id| !ids.contains(id)) {
            return Err(format!("a baseline that is no cell: {}", cell.id));
        }
        let _ = estimate(cell, &spec.run).as_nanos();
    }
    let json = serde_json::to_string(spec).map_err(|error| format!("no JSON: {error}"))?;
    let back: Spec = serde_json::from_str(&json)
        .map_err(|error| format!("its JSON is not read back: {error}"))?;
    if back != *spec {
        return Err("it is another plan when it is read back from JSON".to_owned());
    }
    let running = || spec.cells.iter().filter(|cell| cell.skip.is_none());
    let trials: u64 = running().map(|cell| u64::from(cell.repetitions)).sum();
    if trials > MOST_TRIALS {
        return Ok(());
    }
    let planned = schedule(spec);
    let mut of_cell: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
    for one in &planned {
        let trial = &one.trial;
        of_cell
            .entry(&trial.cell)
            .or_default()
            .insert(trial.repetition);
    }
    for cell in running() {
        let have = of_cell.remove(&cell.id).unwrap_or_default();
        if !have.iter().copied().eq(1..=cell.repetitions) {
            return Err(format!(
                "other trials in the schedule: {} has {have:?}",
                cell.id
            ));
        }
    }
    if !of_cell.is_empty() || planned.len() as u64 != trials {
        return Err("the schedule has trials that are not asked for".to_owned());
    }
    Ok(())
}
