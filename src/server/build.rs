//! Making servers from their sources. A build that several cells share is run
//! once; the first command that fails ends it. Builds get the caller's whole
//! environment, since compilers and package managers live by it.

use crate::process::{CommandError, GuardProgram, Launch, command, tail};
use crate::spec::{Build, Fill};
use std::path::Path;
use std::time::Duration;

/// How many lines of a failed build are shown.
const TAIL_LINES: usize = 20;

/// Why a build failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// Which command, and how it ended, in a sentence.
    pub reason: String,
    /// The last lines that it printed.
    pub log_tail: Vec<String>,
}

/// Runs a build's commands one after the other, in the suite's `folder`. Their
/// output goes to `<logs>/<number of the command>.log`.
pub async fn build(
    build: &Build,
    folder: &Path,
    logs: &Path,
    ledgers: &Path,
    program: &GuardProgram,
) -> Result<(), BuildError> {
    let env = inherited();
    let fill = Fill {
        env: env.iter().cloned().collect(),
        ..Fill::default()
    };
    let failed = |reason: String, log_tail| Err(BuildError { reason, log_tail });
    for (index, words) in build.commands.iter().enumerate() {
        let log = logs.join(format!("{}.log", index + 1));
        let launch = Launch {
            role: "build".to_owned(),
            command: words.iter().map(|word| word.fill(&fill)).collect(),
            env: env.clone(),
            cwd: folder.join(&build.cwd),
            log: log.clone(),
            log_cap: Launch::LOG_CAP,
            stdout: None,
            stop_signal: "SIGTERM".to_owned(),
            grace: Duration::from_secs(2),
            nofile: None,
            affinity: None,
            ledger: Some(ledgers.join(format!("build-{}.json", index + 1))),
            shown: None,
            secrets: Vec::new(),
        };
        let line = launch.command_line();
        match command(program, launch, build.timeout).await {
            Ok(output) if output.exit.success() => {}
            Ok(output) => {
                return failed(format!("`{line}` {}", output.exit), tail(&log, TAIL_LINES));
            }
            Err(CommandError::TimedOut { log_tail, .. }) => {
                let after = crate::units::show_duration(build.timeout);
                return failed(format!("`{line}` did not end within {after}"), log_tail);
            }
            Err(error) => return failed(error.to_string(), Vec::new()),
        }
    }
    Ok(())
}

/// The caller's environment.
fn inherited() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}
