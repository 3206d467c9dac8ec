//! The answer as people and as programs read it.

use super::activity::Watched;
use super::finding::{Finding, Level};
use crate::cli::terminal::{paints_output, shown};
use crate::host::Machine;
use crate::record::Ceiling;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The version of `--json`.
const FORMAT: u32 = 1;

/// Whether the machine can measure: nothing that was looked at forbids it.
pub(super) fn can_measure(findings: &[Finding]) -> bool {
    findings.iter().all(|one| one.level != Level::CannotMeasure)
}

/// A line each, and what to know of those that are not as they should be below it.
pub(super) fn text(findings: &[Finding]) -> String {
    lines(findings, paints_output())
}

fn lines(findings: &[Finding], paints: bool) -> String {
    let widest = findings
        .iter()
        .map(|one| one.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut out = String::new();
    for one in findings {
        let word = format!("{:<7}", one.level.word());
        let word = if paints {
            format!("{}{word}\u{1b}[0m", colour(one.level))
        } else {
            word
        };
        // Names of processes and what suites say are shown, never obeyed.
        let (name, seen) = (plain(&one.name), plain(&one.seen));
        let _ = writeln!(out, "{word}  {name:<widest$}  {seen}");
        let details = [
            ("effect", &one.effect),
            ("do", &one.remedy),
            ("", &one.command),
        ];
        for (head, detail) in details {
            if let Some(detail) = detail {
                let _ = writeln!(out, "         {head:<6}  {}", plain(detail));
            }
        }
    }
    let _ = writeln!(out, "{}", verdict(findings));
    out
}

fn plain(text: &str) -> String {
    shown(text).replace(['\n', '\t'], " ")
}

fn colour(level: Level) -> &'static str {
    match level {
        Level::Ok => "\u{1b}[32m",
        Level::Unknown => "\u{1b}[2m",
        Level::Note => "\u{1b}[36m",
        Level::Warning => "\u{1b}[1m\u{1b}[33m",
        Level::CannotMeasure => "\u{1b}[1m\u{1b}[91m",
    }
}

/// The answer in a sentence.
fn verdict(findings: &[Finding]) -> String {
    let of = |level| findings.iter().filter(|one| one.level == level).count();
    if !can_measure(findings) {
        return "This machine cannot measure as it is: see what is marked `cannot`.".to_owned();
    }
    match of(Level::Warning) {
        0 => "This machine can measure.".to_owned(),
        1 => {
            "This machine can measure; figures are likely to show what the warning says.".to_owned()
        }
        more => format!(
            "This machine can measure; figures are likely to show what the {more} warnings say."
        ),
    }
}

/// The same for programs; docs/doctor.md describes it.
pub(super) fn json(
    findings: &[Finding],
    machine: &Machine,
    watched: &Watched,
    ceiling: Option<&Ceiling>,
) -> Value {
    let loop_ = watched.noise.as_ref();
    json!({
        "format": FORMAT,
        "hotlap": env!("CARGO_PKG_VERSION"),
        "can_measure": can_measure(findings),
        "findings": findings,
        "machine": machine,
        "idle": watched.idle,
        "idle_busy_share": watched.idle_busy,
        "noise": loop_.map(|(noise, _)| noise),
        "beside_noise": loop_.map(|(_, seen)| seen),
        "ceiling": ceiling,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_aligned_and_details_stand_below_what_is_not_ok() {
        let findings = [
            Finding::ok("clock", "tsc"),
            Finding::note("CPU quota", "1.50\u{1b}[31m")
                .so("pauses")
                .then("this")
                .by("that"),
        ];
        assert_eq!(
            lines(&findings, false),
            "ok       clock      tsc\n\
             note     CPU quota  1.50\u{fffd}[31m\n\
             \x20        effect  pauses\n\
             \x20        do      this\n\
             \x20                that\n\
             This machine can measure.\n"
        );
        assert!(lines(&findings, true).starts_with("\u{1b}[32mok     \u{1b}[0m  clock"));
    }

    #[test]
    fn the_worst_finding_is_the_answer() {
        let warned = [Finding::warning("a", "b"), Finding::ok("c", "d")];
        assert!(can_measure(&warned));
        assert!(verdict(&warned).contains("the warning"));
        let lost = [Finding::cannot("a", "b")];
        assert!(!can_measure(&lost));
        assert!(verdict(&lost).contains("cannot measure"));
    }
}
