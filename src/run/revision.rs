//! Which revision of its repository a suite was run at.

use crate::process::{GuardProgram, Launch, command};
use std::path::Path;
use std::time::Duration;

/// The short revision of the repository around `folder`, `-dirty` where tracked
/// files have changed. None outside of a repository, or without git.
pub async fn revision(folder: &Path, scratch: &Path, program: &GuardProgram) -> Option<String> {
    let head = git(
        &["rev-parse", "--short=7", "HEAD"],
        folder,
        scratch,
        program,
    )
    .await?;
    let changes = git(
        &["status", "--porcelain", "--untracked-files=no"],
        folder,
        scratch,
        program,
    )
    .await?;
    let dirty = if changes.trim().is_empty() {
        ""
    } else {
        "-dirty"
    };
    Some(format!("{}{dirty}", head.trim()))
}

async fn git(
    words: &[&str],
    folder: &Path,
    scratch: &Path,
    program: &GuardProgram,
) -> Option<String> {
    let mut line = vec!["git".to_owned()];
    line.extend(words.iter().map(ToString::to_string));
    let launch = Launch {
        role: "git".to_owned(),
        command: line,
        env: ["PATH", "HOME"]
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            // Reading the state of a repository must not write to it.
            .chain([("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned())])
            .collect(),
        cwd: folder.to_owned(),
        log: scratch.join("git.log"),
        log_cap: Launch::LOG_CAP,
        stdout: Some(scratch.join("git.out")),
        stop_signal: "SIGTERM".to_owned(),
        grace: Duration::from_secs(1),
        nofile: None,
        affinity: None,
        ledger: None,
        shown: None,
        secrets: Vec::new(),
    };
    let output = command(program, launch, Duration::from_secs(20))
        .await
        .ok()?;
    output.exit.success().then_some(output.stdout).flatten()
}
