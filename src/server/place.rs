//! Where processes are started and what they find there: their folder, their
//! environment, their files, and the commands that are run for them.

use super::error::{ServerError, Who};
use super::files;
use crate::process::{CommandError, GuardProgram, Launch, Scratch, command, tail};
use crate::spec::{self, Cell, Fill, ProcessSpec, Service, Symbol, Text};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How many of the last lines of what failed are shown.
pub(super) const TAIL_LINES: usize = 20;
/// What a process inherits of the caller's environment; the rest is the suite's to say.
const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];
/// Variables that are no secrets, and whose values stand everywhere.
const EVERYBODYS: [&str; 4] = ["USER", "LOGNAME", "SHELL", "PWD"];
/// When a command of `setup` or `prepare` has hung.
const COMMAND_WITHIN: Duration = Duration::from_mins(10);
/// How long a command has to end when it is asked to.
const COMMAND_GRACE: Duration = Duration::from_secs(2);

/// Where and how processes are started.
#[derive(Debug, Clone)]
pub struct Place {
    /// The program that guards them.
    pub program: GuardProgram,
    /// What the program name `hotlap` means.
    pub hotlap: PathBuf,
    /// What the folders of the server's processes are named from.
    pub ground: Ground,
    /// The same of services, which are those of the working tree in every cell.
    pub of_services: Ground,
    /// Where their output goes: `<logs>/<name>.log`.
    pub logs: PathBuf,
    /// Where guards say that they live.
    pub ledgers: PathBuf,
    /// Processors that a server may use.
    pub cpus: usize,
    /// The limit on open files that the caller had.
    pub nofile: Option<u64>,
    /// The programs of runtimes, by their names.
    pub runtimes: BTreeMap<String, String>,
    /// Texts that nothing may keep.
    pub secrets: Vec<String>,
}

/// Where the folders are that a suite names.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The suite's folder, absolute; for a revision, the one that stands in its place.
    pub folder: PathBuf,
    /// Where the folders are that were built, by what the suite calls them; others are in the suite's folder.
    pub built: BTreeMap<String, PathBuf>,
}

impl Ground {
    /// Where a folder of the suite is.
    pub fn folder_of(&self, cwd: &str) -> PathBuf {
        // Of folders in one another the inner one is meant, which the order of names has last.
        let built = self.built.iter().rev().find_map(|(name, folder)| {
            let below = std::path::Path::new(cwd).strip_prefix(name).ok()?;
            Some(folder.join(below))
        });
        built.unwrap_or_else(|| self.folder.join(cwd))
    }
}

/// What commands of one process are run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Before each start of a service.
    Setup,
    /// Between readiness and load.
    Prepare,
}

impl Purpose {
    /// The key of a suite that has them.
    pub fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Prepare => "prepare",
        }
    }
}

/// What surrounds one process and the commands that are run for it.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) who: Who,
    /// What its logs and records are called.
    pub(super) name: String,
    pub(super) fill: Fill,
    cwd: PathBuf,
    env: Vec<(String, String)>,
}

impl Site {
    /// Makes the scratch folder with its files, where the process or a command of `extra` has a use for it.
    pub(super) async fn make<'t>(
        who: Who,
        name: String,
        process: &'t ProcessSpec,
        extra: impl Iterator<Item = &'t Text>,
        mut fill: Fill,
        cell: Option<&Cell>,
        place: &Place,
    ) -> Result<(Self, Option<Scratch>), ServerError> {
        let failed = |reason: String| ServerError::Scratch {
            who: who.clone(),
            reason,
        };
        let wanted = process.copy
            || !process.files.is_empty()
            || texts(process).chain(extra).any(Text::uses_dir);
        if let Some(runtime) = &process.runtime {
            fill.runtime = place.runtimes.get(runtime).cloned().unwrap_or_default();
        }
        let ground = match cell {
            Some(_) => &place.ground,
            None => &place.of_services,
        };
        // Sources are found before there is a scratch folder, so that `dir` is still empty here.
        let source = ground.folder_of(&process.cwd.fill(&fill));
        let scratch = if wanted {
            let copy = process.copy.then(|| source.clone());
            let made = Scratch::make(&place.program, copy).await;
            Some(made.map_err(|error| failed(error.to_string()))?)
        } else {
            None
        };
        if let Some(scratch) = &scratch {
            fill.dir = scratch.path().display().to_string();
            files::write(process, &source, scratch.path(), &fill, cell).map_err(failed)?;
        }
        let cwd = match &scratch {
            Some(scratch) if process.copy => scratch.path().to_owned(),
            _ => ground.folder_of(&process.cwd.fill(&fill)),
        };
        let env = environment(process, &fill);
        let site = Self {
            who,
            name,
            fill,
            cwd,
            env,
        };
        Ok((site, scratch))
    }

    /// The surroundings of commands that belong to no process of ours.
    pub(super) fn elsewhere(fill: Fill, place: &Place) -> Self {
        Self {
            who: Who::Server,
            name: "server".to_owned(),
            env: inherited(&fill).into_iter().collect(),
            fill,
            cwd: place.ground.folder.clone(),
        }
    }

    /// A path that starts where the process runs.
    pub(super) fn path(&self, text: &Text) -> PathBuf {
        self.cwd.join(text.fill(&self.fill))
    }

    /// How the process itself is started.
    pub(super) fn launch(&self, process: &ProcessSpec, place: &Place) -> Launch {
        Launch {
            stop_signal: process.stop.signal.clone(),
            grace: process.stop.grace,
            nofile: place.nofile,
            ..self.command(&process.command, &self.name, place)
        }
    }

    /// How a command is started here, under a name for its log.
    pub(super) fn command(&self, words: &[Text], name: &str, place: &Place) -> Launch {
        let mut command: Vec<String> = words.iter().map(|word| word.fill(&self.fill)).collect();
        if let Some(program) = command.first_mut()
            && program == "hotlap"
        {
            *program = place.hotlap.display().to_string();
        }
        Launch {
            role: self.name.clone(),
            shown: Some(self.shown(words)),
            command,
            env: self.env.clone(),
            cwd: self.cwd.clone(),
            log: place.logs.join(format!("{name}.log")),
            log_cap: Launch::LOG_CAP,
            stdout: None,
            stop_signal: "SIGTERM".to_owned(),
            grace: COMMAND_GRACE,
            nofile: None,
            affinity: None,
            ledger: Some(place.ledgers.join(format!("{name}.json"))),
            secrets: place.secrets.clone(),
        }
    }

    /// A command as a person would type it. What comes from the caller's environment may be a secret, and
    /// stays symbolic.
    pub(super) fn shown(&self, words: &[Text]) -> String {
        let of_caller = |symbol: &Symbol| matches!(symbol, Symbol::Env(_));
        let words = words.iter().map(|word| {
            if word.symbols().any(of_caller) {
                word.to_string()
            } else {
                word.fill(&self.fill)
            }
        });
        shell_words::join(words)
    }

    /// Runs commands one after the other; the first that fails ends it.
    pub(super) async fn run(
        &self,
        purpose: Purpose,
        commands: &[Vec<Text>],
        place: &Place,
    ) -> Result<(), ServerError> {
        for (index, words) in commands.iter().enumerate() {
            let name = format!("{}.{}-{}", self.name, purpose.name(), index + 1);
            let launch = self.command(words, &name, place);
            let log = launch.log.clone();
            let ended = command(&place.program, launch, COMMAND_WITHIN).await;
            let reason = match ended {
                Ok(output) if output.exit.success() => continue,
                Ok(output) => output.exit.to_string(),
                Err(CommandError::TimedOut { after, .. }) => {
                    let after = crate::units::show_duration(after);
                    format!("did not end within {after}")
                }
                Err(CommandError::Stop(error)) => return Err(ServerError::Stop(error)),
                Err(CommandError::Start(error)) => error.reason().to_owned(),
            };
            return Err(ServerError::Command {
                who: self.who.clone(),
                purpose,
                line: spec::line(words),
                reason,
                log_tail: tail(&log, TAIL_LINES),
            });
        }
        Ok(())
    }

    /// Whether a command succeeds within a time. What it printed last, where it does not.
    pub(super) async fn succeeds(
        &self,
        words: &[Text],
        within: Duration,
        place: &Place,
    ) -> Result<(), String> {
        let name = format!("{}.ready", self.name);
        let launch = self.command(words, &name, place);
        let log = launch.log.clone();
        match command(&place.program, launch, within).await {
            Ok(output) if output.exit.success() => Ok(()),
            Ok(output) => {
                let last = tail(&log, 1).pop();
                let last = last.map_or_else(String::new, |line| format!(", saying: {line}"));
                Err(format!("{}{last}", output.exit))
            }
            Err(CommandError::Start(error)) => {
                Err(format!("could not be started: {}", error.reason()))
            }
            Err(CommandError::TimedOut { after, .. }) => Err(format!(
                "did not end within {}",
                crate::units::show_duration(after)
            )),
            Err(CommandError::Stop(error)) => Err(error.to_string()),
        }
    }
}

/// Every text of a process that is filled when it starts.
pub(super) fn texts(process: &ProcessSpec) -> impl Iterator<Item = &Text> {
    let ready = process.ready.iter().flat_map(super::readiness::texts);
    process
        .command
        .iter()
        .chain([&process.cwd])
        .chain(process.env.iter().map(|(_, text)| text))
        .chain(process.files.iter().map(|(_, text)| text))
        .chain(process.prepare.iter().flatten())
        .chain(&process.socket)
        .chain(ready)
}

/// The values that nothing may keep of what a cell needs: its processes' and services' secrets, and whatever its texts take
/// from the caller's environment, but for what is in everybody's.
pub fn secrets(cell: &Cell, services: &[Service]) -> Vec<String> {
    let caller = caller();
    let services = services
        .iter()
        .filter(|service| cell.services.contains(&service.process.role));
    let processes = cell
        .processes
        .iter()
        .chain(services.clone().map(|service| &service.process));
    let named = processes.clone().flat_map(|process| &process.secret);
    let request = &cell.work.request;
    let builds = services.clone().flat_map(|service| &service.builds);
    let of_texts = processes
        .flat_map(texts)
        .chain(cell.prepare.iter().flatten())
        .chain(services.flat_map(|service| service.setup.iter().flatten()))
        .chain(
            builds
                .chain(&cell.builds)
                .flat_map(|build| build.commands.iter().flatten()),
        )
        .chain(request.headers.iter().map(|(_, text)| text))
        .flat_map(Text::variables)
        .filter(|name| !INHERITED.contains(name) && !EVERYBODYS.contains(name));
    let mut all: Vec<String> = named
        .map(String::as_str)
        .chain(of_texts)
        .filter_map(|name| caller.get(name).cloned())
        .filter(|value| !value.is_empty())
        .collect();
    all.sort();
    all.dedup();
    all
}

/// The caller's environment, as far as it is text.
pub fn caller() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn inherited(fill: &Fill) -> BTreeMap<String, String> {
    INHERITED
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), fill.env.get(*name)?.clone())))
        .collect()
}

/// What is inherited or passed on, the port, and what the suite says; what it takes away is gone.
fn environment(process: &ProcessSpec, fill: &Fill) -> Vec<(String, String)> {
    let mut all = inherited(fill);
    let passed = process.pass_env.iter().chain(&process.secret);
    all.extend(passed.filter_map(|name| Some((name.clone(), fill.env.get(name)?.clone()))));
    all.insert("PORT".to_owned(), fill.port.to_string());
    for (name, text) in &process.env {
        all.insert(name.clone(), text.fill(fill));
    }
    for name in &process.unset_env {
        all.remove(name);
    }
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_the_suites_and_no_more() {
        let process = ProcessSpec {
            pass_env: vec!["TOKEN".to_owned(), "NOT_SET".to_owned()],
            env: vec![("MODE".to_owned(), Text::literal("fast"))],
            unset_env: vec!["LANG".to_owned()],
            ..ProcessSpec::default()
        };
        let caller = [
            ("PATH", "/bin"),
            ("LANG", "C"),
            ("TOKEN", "hunter2"),
            ("NODE_ENV", "production"),
        ];
        let fill = Fill {
            port: 8080,
            env: caller
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..Fill::default()
        };
        let all = environment(&process, &fill);
        let all: Vec<String> = all
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            all,
            ["MODE=fast", "PATH=/bin", "PORT=8080", "TOKEN=hunter2"]
        );
    }
}
