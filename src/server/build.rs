//! Making servers from their sources. A build that several cells share is run
//! once, and not at all where nothing of it has changed since the last time; the
//! first command that fails ends it. Builds that differ in one folder get a copy
//! of it each. They have the caller's whole environment, since compilers and
//! package managers live by it.

use super::cache::{Cache, Hold, hash};
use super::inputs::{Snapshot, unchanged};
use crate::process::{CommandError, GuardProgram, Launch, command, copy_folder, tail};
use crate::spec::{self, Build, Fill, Text};
use crate::units::show_duration;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many lines of a failed build are shown.
const TAIL_LINES: usize = 20;
/// Variables that differ from one terminal to the next and are no part of a build.
const OF_A_TERMINAL: [&str; 12] = [
    "_",
    "COLUMNS",
    "DBUS_SESSION_BUS_ADDRESS",
    "INVOCATION_ID",
    "LINES",
    "OLDPWD",
    "PWD",
    "SHLVL",
    "TERM",
    "TMUX",
    "TMUX_PANE",
    "WINDOWID",
];

/// Why a build failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// Which command, and how it ended, in a sentence.
    pub reason: String,
    /// The last lines that it printed.
    pub log_tail: Vec<String>,
}

/// Where things are made.
#[derive(Debug, Clone, Copy)]
pub struct Workshop<'a> {
    /// The suite's folder.
    pub folder: &'a Path,
    /// Where commands print: `<logs>/<number of the command>.log`.
    pub logs: &'a Path,
    /// Where guards say that they live.
    pub ledgers: &'a Path,
    /// The program that guards commands.
    pub program: &'a GuardProgram,
    /// Texts that nothing may keep of what commands print.
    pub secrets: &'a [String],
}

impl Workshop<'_> {
    /// Runs commands one after the other.
    pub(super) async fn run(
        &self,
        commands: &[Vec<Text>],
        cwd: &Path,
        fill: &Fill,
        within: Duration,
    ) -> Result<(), BuildError> {
        let env: Vec<(String, String)> = fill.env.clone().into_iter().collect();
        let failed = |reason: String, log_tail| Err(BuildError { reason, log_tail });
        for (index, words) in commands.iter().enumerate() {
            let log = self.logs.join(format!("{}.log", index + 1));
            let launch = Launch {
                role: "build".to_owned(),
                command: words.iter().map(|word| word.fill(fill)).collect(),
                env: env.clone(),
                cwd: cwd.to_owned(),
                log: log.clone(),
                log_cap: Launch::LOG_CAP,
                stdout: None,
                stop_signal: "SIGTERM".to_owned(),
                grace: Duration::from_secs(2),
                nofile: None,
                affinity: None,
                ledger: Some(self.ledgers.join(format!("build-{}.json", index + 1))),
                shown: Some(spec::line(words)),
                secrets: self.secrets.to_vec(),
            };
            let line = launch.command_line();
            match command(self.program, launch, within).await {
                Ok(output) if output.exit.success() => {}
                Ok(output) => {
                    return failed(format!("`{line}` {}", output.exit), tail(&log, TAIL_LINES));
                }
                Err(CommandError::TimedOut { log_tail, .. }) => {
                    let after = show_duration(within);
                    return failed(format!("`{line}` did not end within {after}"), log_tail);
                }
                Err(error) => return failed(error.to_string(), Vec::new()),
            }
        }
        Ok(())
    }
}

/// A build that was made.
#[derive(Debug)]
pub struct Built {
    /// Where: the folder itself, or a copy of it.
    pub folder: PathBuf,
    /// Whether nothing had changed since it was made, so that nothing was done.
    pub kept: bool,
    /// As long as this lives nobody makes it anew.
    _hold: Hold,
}

/// What was made, as it was then.
#[derive(Serialize, Deserialize)]
struct Note {
    format: u32,
    /// What the commands depended on beside files: the environment, and what tools said of their versions.
    around: String,
    snapshot: Snapshot,
    /// The folder that was copied, as it was then.
    source: Option<Snapshot>,
}

/// Makes a build, where it is not there already. `runtime` is the program of its runtime, `tools` whatever else
/// decides what comes of it; `is_alone` tells whether no other build wants its folder. `tell` hears that something is
/// done.
pub async fn make(
    build: &Build,
    cache: &Cache,
    workshop: &Workshop<'_>,
    (runtime, tools): (&str, &str),
    is_alone: bool,
    tell: impl FnOnce(),
) -> Result<Built, BuildError> {
    let source = workshop.folder.join(&build.cwd);
    let name = Path::new(&build.cwd).file_name();
    let name = name.map_or_else(
        || "suite".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    let kind = if is_alone { "builds" } else { "copies" };
    let entry = cache.entry(kind, &name, &(&source, build));
    let failed = |reason: String| BuildError {
        reason,
        log_tail: Vec::new(),
    };
    let unlocked = |error: std::io::Error| failed(format!("{}: {error}", entry.display()));
    let hold = cache.alone(&entry, || {}).await.map_err(unlocked)?;
    let folder = if is_alone {
        source.clone()
    } else {
        entry.join(&name)
    };
    let fill = Fill {
        runtime: runtime.to_owned(),
        env: super::place::caller(),
        ..Fill::default()
    };
    let around = around(&fill, tools);
    let inputs = build.inputs.as_deref();
    let note = entry.join("note.json");
    let of_source = || (!is_alone).then(|| Snapshot::of(&source, inputs, &[]));
    let is_there = |known: &Note| {
        known.format == 1
            && known.around == around
            && unchanged(&folder, inputs, &known.snapshot)
            && known.source == of_source()
    };
    let known: Option<Note> = fs::read(&note)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok());
    if known.as_ref().is_some_and(is_there) {
        return Ok(Built {
            folder,
            kept: true,
            _hold: hold.share().map_err(unlocked)?,
        });
    }
    tell();
    // From here on nothing is known of it until it is made to its end.
    if entry.exists() {
        fs::remove_dir_all(&entry).map_err(unlocked)?;
    }
    fs::create_dir_all(&folder).map_err(unlocked)?;
    fs::create_dir_all(&entry).map_err(unlocked)?;
    let of_source = of_source();
    if !is_alone {
        let (from, to) = (source.clone(), folder.clone());
        let copied = tokio::task::spawn_blocking(move || copy_folder(&from, &to)).await;
        copied
            .unwrap_or_else(|failure| Err(failure.to_string()))
            .map_err(failed)?;
    }
    let before = Snapshot::names(&folder);
    workshop
        .run(&build.commands, &folder, &fill, build.timeout)
        .await?;
    let made = Note {
        format: 1,
        around,
        snapshot: Snapshot::of(&folder, inputs, &Snapshot::added(&folder, &before)),
        source: of_source,
    };
    let new = entry.join("note.json.new");
    // Without a note it is made again the next time, which costs only time.
    let _ = serde_json::to_vec(&made)
        .map_err(std::io::Error::from)
        .and_then(|text| fs::write(&new, text))
        .and_then(|()| fs::rename(&new, &note));
    Ok(Built {
        folder,
        kept: false,
        _hold: hold.share().map_err(unlocked)?,
    })
}

/// A hash of all that decides what comes of a build beside files.
fn around(fill: &Fill, tools: &str) -> String {
    let lasting = |name: &str| {
        !OF_A_TERMINAL.contains(&name)
            && !["HOTLAP_", "SSH_", "XDG_SESSION", "LC_", "npm_lifecycle"]
                .iter()
                .any(|start| name.starts_with(start))
    };
    let env: Vec<_> = fill.env.iter().filter(|(name, _)| lasting(name)).collect();
    hash(&serde_json::to_vec(&(&fill.runtime, tools, env)).unwrap_or_default())
}
