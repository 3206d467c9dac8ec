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
  3    with --gate: a gate fell, or could not be judged (a trial of its cell failed, say); goes before 1
  4    this machine cannot: lock held, no descriptors, no space, no cell can run here (with
       --strict: one cannot), a resumed run's generator gone, a leftover that does not end
  130  interrupted; what was measured is kept, --resume goes on

Examples:
  hotlap check suites/quickstart.toml
  hotlap plan suites/quickstart.toml
  hotlap run suites/quickstart.toml";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
