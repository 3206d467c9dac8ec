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

/// The file in an entry of the cache that says what was made.
const NOTE: &str = "note.json";
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
    /// What comes of a build beside its files: its commands, the environment, and what tools said of their versions.
    around: String,
    snapshot: Snapshot,
    /// The folder that was copied, as it was then.
    source: Option<Snapshot>,
}

/// What decides what comes of a build, beside its files and the environment.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// The program of its runtime.
    pub runtime: &'a str,
    /// What tools said of their versions.
    pub tools: &'a str,
    /// Whether no other build of the suite wants its folder.
    pub is_alone: bool,
}

/// Makes a build, where it is not there already. `tell` hears that something is done.
pub async fn make(
    build: &Build,
    cache: &Cache,
    workshop: &Workshop<'_>,
    circumstances: &Circumstances<'_>,
    tell: impl FnOnce(),
) -> Result<Built, BuildError> {
    let bench = Bench::of(build, cache, workshop, circumstances);
    let unlocked = |error: std::io::Error| failed(format!("{}: {error}", bench.entry.display()));
    let hold = cache.alone(&bench.entry, || {}).await.map_err(unlocked)?;
    let known = bench.note();
    let kept = known.as_ref().is_some_and(|known| bench.serves(known));
    if !kept {
        tell();
        bench.anew(known.as_ref(), workshop).await?;
    }
    Ok(Built {
        folder: bench.folder.clone(),
        kept,
        _hold: hold.share().map_err(unlocked)?,
    })
}

fn failed(reason: String) -> BuildError {
    BuildError {
        reason,
        log_tail: Vec::new(),
    }
}

/// Where a build is made.
struct Bench<'a> {
    build: &'a Build,
    /// Where the sources are.
    source: PathBuf,
    /// Where it is made: there, or in a copy.
    folder: PathBuf,
    /// Its place in the cache. A folder that is built in place has one for all of its builds, since the last one is
    /// what lies there; a copy has its own.
    entry: PathBuf,
    fill: Fill,
    around: String,
}

impl<'a> Bench<'a> {
    fn of(
        build: &'a Build,
        cache: &Cache,
        workshop: &Workshop<'_>,
        circumstances: &Circumstances<'_>,
    ) -> Self {
        let source = workshop.folder.join(&build.cwd);
        let name = Path::new(&build.cwd).file_name();
        let name = name.map_or("suite".into(), |name| name.to_string_lossy());
        let (entry, folder) = if circumstances.is_alone {
            (cache.entry("builds", &name, &source), source.clone())
        } else {
            let entry = cache.entry("copies", &name, &(&source, build));
            let folder = entry.join(&*name);
            (entry, folder)
        };
        let fill = Fill {
            runtime: circumstances.runtime.to_owned(),
            env: super::place::caller(),
            ..Fill::default()
        };
        Self {
            around: around(build, &fill, circumstances.tools),
            build,
            source,
            folder,
            entry,
            fill,
        }
    }

    fn is_copy(&self) -> bool {
        self.folder != self.source
    }

    /// All of the folder that is copied: also what is no input of the build is run from the copy.
    fn copied(&self) -> Option<Snapshot> {
        self.is_copy()
            .then(|| Snapshot::of(&self.source, None, &[]))
    }

    fn note(&self) -> Option<Note> {
        let text = fs::read(self.entry.join(NOTE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Whether what was made then is what would be made now.
    fn serves(&self, known: &Note) -> bool {
        known.format == 1
            && known.around == self.around
            && unchanged(&self.folder, self.build.inputs.as_deref(), &known.snapshot)
            && known.source == self.copied()
    }

    async fn anew(&self, known: Option<&Note>, workshop: &Workshop<'_>) -> Result<(), BuildError> {
        let in_cache = |error: std::io::Error| failed(format!("{}: {error}", self.entry.display()));
        // From here on nothing is known of it until it is made to its end.
        if self.entry.exists() {
            fs::remove_dir_all(&self.entry).map_err(in_cache)?;
        }
        fs::create_dir_all(&self.entry).map_err(in_cache)?;
        let copied = self.copied();
        if self.is_copy() {
            fs::create_dir(&self.folder).map_err(in_cache)?;
            let (from, to) = (self.source.clone(), self.folder.clone());
            let copied = tokio::task::spawn_blocking(move || copy_folder(&from, &to)).await;
            copied
                .unwrap_or_else(|failure| Err(failure.to_string()))
                .map_err(failed)?;
        }
        let earlier = known
            .filter(|_| !self.is_copy())
            .map(|known| &known.snapshot);
        let before = Snapshot::sources(&self.folder, earlier);
        workshop
            .run(
                &self.build.commands,
                &self.folder,
                &self.fill,
                self.build.timeout,
            )
            .await?;
        let added = Snapshot::added(&self.folder, &before);
        let made = Note {
            format: 1,
            around: self.around.clone(),
            snapshot: Snapshot::of(&self.folder, self.build.inputs.as_deref(), &added),
            source: copied,
        };
        let (new, note) = (self.entry.join("note.json.new"), self.entry.join(NOTE));
        // Without a note it is made again the next time, which costs only time.
        let _ = serde_json::to_vec(&made)
            .map_err(std::io::Error::from)
            .and_then(|text| fs::write(&new, text))
            .and_then(|()| fs::rename(&new, &note));
        Ok(())
    }
}

/// A hash of all that decides what comes of a build beside files.
fn around(build: &Build, fill: &Fill, tools: &str) -> String {
    let lasting = |name: &str| {
        !OF_A_TERMINAL.contains(&name)
            && !["HOTLAP_", "SSH_", "XDG_SESSION", "LC_", "npm_lifecycle"]
                .iter()
                .any(|start| name.starts_with(start))
    };
    let env: Vec<_> = fill.env.iter().filter(|(name, _)| lasting(name)).collect();
    hash(&serde_json::to_vec(&(build, &fill.runtime, tools, env)).unwrap_or_default())
}
