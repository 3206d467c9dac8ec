//! The last line of a run: a sentence for whoever finds it in a mail or at the end of a log.

use super::exit::Exit;
use super::suites::counted;
use crate::record::End;
use crate::report::GateLines;
use std::io::IsTerminal as _;
use std::path::Path;

/// How many cells a sentence names.
const NAMED: usize = 3;

/// What became of a run.
pub(super) struct Fate<'a> {
    /// The suite.
    pub(super) suite: &'a str,
    /// Its profile; none is the default.
    pub(super) profile: Option<&'a str>,
    /// How the run ended; none where it had to be broken off.
    pub(super) end: Option<End>,
    /// Trials with a record.
    pub(super) done: usize,
    /// Trials of its plan.
    pub(super) planned: usize,
    /// Trials that failed or are invalid.
    pub(super) bad_trials: usize,
    /// The names of their cells, each once.
    pub(super) bad_cells: &'a [String],
    /// Cells that could not run here.
    pub(super) skipped: usize,
    /// What became of the gates, where they were asked for.
    pub(super) gates: Option<&'a GateLines>,
    /// The report.
    pub(super) report: &'a Path,
}

impl Fate<'_> {
    /// `quickstart: all 12 trials are valid; report: /srv/app/reports/quickstart/runs/…/report.md`.
    pub(super) fn sentence(&self) -> String {
        let mut parts = vec![self.trials()];
        if self.skipped > 0 {
            parts.push(format!(
                "{} could not run here",
                counted(self.skipped, "cell")
            ));
        }
        if let Some(gates) = self.gates {
            parts.extend(gates.sentence().map(|held| match gates.fallen.first() {
                Some(first) => format!("{held} ({first})"),
                None => held,
            }));
        }
        parts.push(format!("report: {}", place(self.report)));
        format!("{}: {}", name(self.suite, self.profile), parts.join("; "))
    }

    fn trials(&self) -> String {
        let of = format!("{} of {} trials", self.done, self.planned);
        let bad = self.bad();
        let and = |bad: String| format!("{bad}, which ");
        match self.end {
            None => format!("broken off after {of}, which are kept, and `--resume` goes on"),
            Some(End::Interrupted) => format!(
                "interrupted after {of}; what was measured is kept, and `--resume` goes on{}",
                bad.map_or_else(String::new, |bad| format!("; {bad}"))
            ),
            Some(End::Aborted) => format!(
                "{}ended the run after {of}",
                bad.map_or_else(|| "a failed trial ".to_owned(), and)
            ),
            Some(End::Complete) => bad.unwrap_or_else(|| match self.done {
                0 => "no trial was run".to_owned(),
                1 => "its one trial is valid".to_owned(),
                done => format!("all {done} trials are valid"),
            }),
        }
    }

    /// `2 of 12 trials failed or are invalid (express/gzip=on@steady)`.
    fn bad(&self) -> Option<String> {
        if self.bad_trials == 0 {
            return None;
        }
        let mut names: Vec<&str> = self.bad_cells.iter().map(String::as_str).collect();
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        let more = match more {
            0 => String::new(),
            more => format!(", and {}", counted(more, "more cell")),
        };
        Some(format!(
            "{} of {} trials failed or {} invalid ({}{more})",
            self.bad_trials,
            self.done,
            if self.bad_trials == 1 { "is" } else { "are" },
            names.join(", ")
        ))
    }
}

/// A suite with its profile.
pub(super) fn name(suite: &str, profile: Option<&str>) -> String {
    match profile {
        Some(profile) => format!("{suite} ({profile})"),
        None => suite.to_owned(),
    }
}

/// Where a file is, for whom reads the line: at a terminal as it was typed, in a mail from the root.
pub(super) fn place(path: &Path) -> String {
    if std::io::stderr().is_terminal() {
        return path.display().to_string();
    }
    std::path::absolute(path)
        .unwrap_or_else(|_| path.to_owned())
        .display()
        .to_string()
}

/// What became of several suites, in the end.
pub(super) fn of_all(names: &[(String, Exit)]) -> String {
    let bad: Vec<String> = names
        .iter()
        .filter(|(_, exit)| *exit != Exit::Fine)
        .map(|(name, exit)| format!("{name} ({})", meaning(*exit)))
        .collect();
    let all = counted(names.len(), "suite");
    if bad.is_empty() {
        format!("{all}, and all is well with each")
    } else {
        format!("{all}; not well: {}", bad.join(", "))
    }
}

fn meaning(exit: Exit) -> &'static str {
    match exit {
        Exit::Fine => "well",
        Exit::TrialFailed => "a trial failed or is invalid",
        Exit::Usage => "it could not begin",
        Exit::GateFell => "a gate fell",
        Exit::Machine => "this machine cannot",
        Exit::Interrupted => "interrupted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(end: Option<End>, bad_trials: usize, bad_cells: &[String]) -> String {
        Fate {
            suite: "api",
            profile: Some("quick"),
            end,
            done: 8,
            planned: 12,
            bad_trials,
            bad_cells,
            skipped: 0,
            gates: None,
            report: Path::new("/r.md"),
        }
        .sentence()
    }

    #[test]
    fn a_sentence_says_what_became_of_a_run() {
        let cells: Vec<String> = (1..=5).map(|n| format!("c{n}")).collect();
        assert_eq!(
            fate(Some(End::Complete), 0, &[]),
            "api (quick): all 8 trials are valid; report: /r.md"
        );
        assert_eq!(
            fate(Some(End::Complete), 6, &cells),
            "api (quick): 6 of 8 trials failed or are invalid (c1, c2, c3, and 2 more cells); report: /r.md"
        );
        assert_eq!(
            fate(Some(End::Aborted), 1, &cells[..1]),
            "api (quick): 1 of 8 trials failed or is invalid (c1), which ended the run after 8 of 12 trials; report: /r.md"
        );
        assert_eq!(
            fate(Some(End::Interrupted), 0, &[]),
            "api (quick): interrupted after 8 of 12 trials; what was measured is kept, and `--resume` goes on; report: /r.md"
        );
        assert_eq!(
            fate(None, 0, &[]),
            "api (quick): broken off after 8 of 12 trials, which are kept, and `--resume` goes on; report: /r.md"
        );
    }

    #[test]
    fn several_suites_are_summed_up() {
        let of = |exits: &[Exit]| {
            let all: Vec<(String, Exit)> = exits.iter().map(|exit| ("a".into(), *exit)).collect();
            of_all(&all)
        };
        assert_eq!(of(&[Exit::Fine; 2]), "2 suites, and all is well with each");
        assert_eq!(
            of(&[Exit::Fine, Exit::GateFell]),
            "2 suites; not well: a (a gate fell)"
        );
    }
}
