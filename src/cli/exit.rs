//! The exit codes: one list, for scripts to rely on.

use std::process::ExitCode;

/// How a command ended, as its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// All ran and all is valid, skipped cells aside; or nothing had changed, and nothing was to be done.
    Fine = 0,
    /// A trial failed or is invalid; the reports are written all the same.
    TrialFailed = 1,
    /// Bad suite or bad command line, or a warning with `--strict`; nothing was started.
    Usage = 2,
    /// With `--gate`, a limit of the suite did not hold, or there was nothing to judge it by (a trial that failed or is
    /// invalid too); records and reports are written all the same.
    GateFell = 3,
    /// This machine cannot: a lock is held, there are no descriptors or no
    /// space, no cell can run here (with `--strict`: one cannot), a generator
    /// of a resumed run is gone, or a leftover does not end.
    Machine = 4,
    /// Interrupted; what was measured is kept, and `--resume` goes on.
    Interrupted = 130,
}

/// The list as `--help` shows it.
pub(super) const HELP: &str = "\
Exit codes:
  0    all ran, all valid, skipped cells aside; or, with --if-changed, nothing had changed
  1    a trial failed or is invalid; the reports are written all the same
  2    bad suite or bad command line, or --strict and a warning; nothing was started
  3    with --gate: a gate fell, or could not be judged (a trial of its cell failed, say); goes
       before 1
  4    this machine cannot: lock held, no descriptors, no space, no cell can run here (with
       --strict: one cannot), a resumed run's generator gone, a leftover that does not end
  130  interrupted; what was measured is kept, --resume goes on

Examples:
  hotlap check suites/quickstart.toml
  hotlap plan suites/quickstart.toml
  hotlap run suites/quickstart.toml";

/// The exit codes of a command that does not tell them itself, under their title.
pub(super) fn help(command: &str) -> &'static str {
    match command {
        // The list of `--help` is that of a run.
        "run" => HELP.split("\n\n").next().unwrap_or_default(),
        "check" => {
            "\
Exit codes:
  0  no mistakes
  2  a mistake, a bad command line, or --strict and a warning"
        }
        "report" => {
            "\
Exit codes:
  0  the reports are made
  2  no such run, or a bad template or command line
  3  with --gate: a gate fell, or could not be judged
  4  a file cannot be written"
        }
        "serve" => {
            "\
Exit codes:
  0  it was told to stop
  2  bad command line
  4  this machine cannot: the port is taken, say"
        }
        "clean" => {
            "\
Exit codes:
  0  nothing is left, or with --dry-run it was said what there is
  2  bad command line
  4  a leftover does not end, or a file cannot be removed"
        }
        _ => {
            "\
Exit codes:
  0  done
  2  what was asked for is not there or is wrong, or bad command line
  4  this machine cannot: what was asked for cannot be read or written, say"
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
