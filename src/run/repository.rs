//! The git repository around a suite: what its revisions are, what lies in them, and checkouts of them. Nothing
//! here touches what the caller has checked out, its index or its branches; no hook is run and nothing is fetched.

use crate::process::{CommandError, GuardProgram, Launch, command};
use crate::spec::{DIRTY, Fill, Text};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// A question that takes longer has hung.
const ASKED_WITHIN: Duration = Duration::from_secs(20);
/// Writing or removing the files of a revision may take so long.
const MOVED_WITHIN: Duration = Duration::from_mins(15);
/// What of the caller's environment tells git where its programs and settings are.
const INHERITED: [&str; 6] = [
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "TMPDIR",
];
/// Reading must not write, errors are compared with what they are in English, and nobody is asked or called.
const OWN: [(&str, &str); 4] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("LC_ALL", "C"),
];
/// What the repository's settings must not bring about.
const SETTINGS: [&str; 6] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
];
/// How the folders of checkouts begin, and the folders that they lie in.
pub(super) const OURS: &str = "hotlap-";
/// Digits of a commit in the name of its checkout.
const SHORT: usize = 7;

/// What lies at a path of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A file, or a link.
    File,
}

/// A repository.
#[derive(Debug, Clone)]
pub struct Repository {
    git: Git,
    /// Its top folder.
    top: PathBuf,
    /// The suite's folder, from the top.
    inside: PathBuf,
}

impl Repository {
    /// The repository around a suite's folder. In `scratch` git may print. An error is a sentence without its end.
    pub async fn around(
        folder: &Path,
        scratch: &Path,
        program: &GuardProgram,
    ) -> Result<Self, String> {
        let folder = folder
            .canonicalize()
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut git = Git {
            folder,
            scratch: scratch.to_owned(),
            program: program.clone(),
        };
        let top = git
            .run(&["rev-parse", "--show-toplevel"], ASKED_WITHIN)
            .await
            .map_err(|reason| {
                if reason.contains("not a git repository") {
                    format!("{} is in no git repository", git.folder.display())
                } else {
                    reason
                }
            })?;
        let top = PathBuf::from(top.strip_suffix('\n').unwrap_or(&top));
        let top = top.canonicalize().unwrap_or(top);
        let inside = git
            .folder
            .strip_prefix(&top)
            .map_err(|_| format!("{} is not below {}", git.folder.display(), top.display()))?
            .to_owned();
        git.folder.clone_from(&top);
        Ok(Self { git, top, inside })
    }

    /// The top folder.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The suite's folder, from the top.
    pub(super) fn inside(&self) -> &Path {
        &self.inside
    }

    /// The full commit that a revision is. An error is a sentence without its end.
    pub async fn commit(&self, revision: &str) -> Result<String, String> {
        let unknown = || {
            format!(
                "there is no revision {revision} in the repository {}",
                self.top.display()
            )
        };
        if revision.trim().is_empty()
            || revision.starts_with('-')
            || revision.contains(['\n', '\0'])
        {
            return Err(format!("\"{revision}\" is not a revision"));
        }
        let commit = format!("{revision}^{{commit}}");
        let words = ["rev-parse", "--verify", "--quiet", &commit];
        let found = self.git.run(&words, ASKED_WITHIN).await;
        let found = found.map_err(|_| unknown())?;
        let found = found.trim();
        let is_hash = found.len() >= 40 && found.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| found.to_owned()).ok_or_else(unknown)
    }

    /// The full commit that lies in the working tree, `-dirty` where tracked files have changes.
    pub async fn worktree(&self) -> Result<String, String> {
        let head = self.commit("HEAD").await?;
        let changed = self.git.has_changes().await?;
        Ok(if changed { head + DIRTY } else { head })
    }

    /// A path of the suite, from the top; none where it leads out of the repository.
    pub fn within(&self, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        let path = match path.canonicalize() {
            Ok(real) if path.is_absolute() => real,
            _ => self.top.join(&self.inside).join(path),
        };
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => {
                    plain.pop();
                }
                Component::CurDir => {}
                other => plain.push(other),
            }
        }
        plain.strip_prefix(&self.top).ok().map(Path::to_owned)
    }

    /// What lies at a path, counted from the top, in a commit.
    pub async fn look(&self, commit: &str, path: &Path) -> Option<Kind> {
        let object = format!("{commit}:{}", path.display());
        let words = ["cat-file", "-t", &object];
        match self.git.run(&words, ASKED_WITHIN).await.ok()?.trim() {
            "tree" => Some(Kind::Folder),
            "blob" => Some(Kind::File),
            _ => None,
        }
    }

    /// Checks a commit out into a folder that is not there yet.
    pub(super) async fn add(&self, commit: &str, tree: &Path) -> Result<(), String> {
        let tree = tree.display().to_string();
        let words = ["worktree", "add", "--detach", "--quiet", &tree, commit];
        self.git.run(&words, MOVED_WITHIN).await.map(|_| ())
    }

    /// Removes a checkout, or what the repository still knows of one that is gone.
    pub(super) async fn remove(&self, tree: &Path) -> Result<(), String> {
        let tree = tree.display().to_string();
        // Once for what was built there, once for a checkout that was cut off and is still locked.
        let words = ["worktree", "remove", "--force", "--force", &tree];
        self.git.run(&words, MOVED_WITHIN).await.map(|_| ())
    }

    /// What git answers to a question, asked at the top.
    pub(super) async fn ask(&self, words: &[&str]) -> Result<String, String> {
        self.git.run(words, ASKED_WITHIN).await
    }

    /// The files below a folder, whose real path this is, that git has.
    pub async fn tracked(&self, folder: &Path) -> Result<BTreeSet<PathBuf>, String> {
        let below = folder.display().to_string();
        let words = ["--literal-pathspecs", "ls-files", "-z", "--", &below];
        let files = self.ask(&words).await?;
        let files = files.split_terminator('\0');
        Ok(files.map(|file| self.top.join(file)).collect())
    }

    /// The checkouts of runs that were killed, whose folders are gone and that the repository still knows.
    pub async fn lost(&self) -> Vec<PathBuf> {
        let words = ["worktree", "list", "--porcelain"];
        let list = self.git.run(&words, ASKED_WITHIN).await;
        let list = list.unwrap_or_default();
        let lost = list.split("\n\n").filter_map(lost);
        lost.map(Path::to_owned).collect()
    }

    /// Forgets these. Those of anybody else stay. Returns how many.
    pub async fn forget_lost(&self) -> usize {
        let mut forgotten = 0;
        for tree in self.lost().await {
            forgotten += usize::from(self.remove(&tree).await.is_ok());
        }
        forgotten
    }
}

/// The checkout of an entry of `git worktree list --porcelain`, where hotlap made it and it is gone: by its exact
/// names, where the folder of all checkouts is still there (else a disk may only be away), and not where somebody has locked it.
fn lost(entry: &str) -> Option<&Path> {
    let mut lines = entry.lines();
    let tree = Path::new(lines.next()?.strip_prefix("worktree ")?);
    // Git itself locks what it has not yet checked out.
    let kept = lines.any(|line| line.starts_with("locked") && line != "locked initializing");
    let room = tree.parent()?;
    let gone = !tree.exists() && room.parent()?.is_dir();
    (!kept && gone && is_ours(room, tree)).then_some(tree)
}

/// Whether these are names that only hotlap gives: `hotlap-PID-16 hexadecimal digits` and in it `hotlap-COMMIT`.
fn is_ours(room: &Path, tree: &Path) -> bool {
    let name = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix(OURS).map(str::to_owned)
    };
    let hexadecimal = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let room = name(room).and_then(|name| {
        let (pid, random) = name.split_once('-')?;
        let number = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
        Some(number && hexadecimal(random, 16))
    });
    room == Some(true) && name(tree).is_some_and(|commit| hexadecimal(&commit, SHORT))
}

/// A revision as git is asked for it: what comes from the caller's environment is filled in.
pub fn asked(revision: &Text) -> String {
    revision.fill(&Fill {
        env: crate::server::caller(),
        ..Fill::default()
    })
}

/// Where and how git is called.
#[derive(Debug, Clone)]
struct Git {
    folder: PathBuf,
    scratch: PathBuf,
    program: GuardProgram,
}

impl Git {
    /// What git prints, or what it says went wrong, in a line.
    async fn run(&self, words: &[&str], within: Duration) -> Result<String, String> {
        let line = ["git"].iter().chain(&SETTINGS).chain(words);
        let inherited = INHERITED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
        let own = OWN.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let launch = Launch {
            role: "git".to_owned(),
            command: line.map(ToString::to_string).collect(),
            env: inherited.chain(own).collect(),
            cwd: self.folder.clone(),
            log: self.scratch.join("git.log"),
            log_cap: Launch::LOG_CAP,
            stdout: Some(self.scratch.join("git.out")),
            stop_signal: "SIGTERM".to_owned(),
            grace: Duration::from_secs(1),
            nofile: None,
            affinity: None,
            ledger: None,
            shown: None,
            secrets: Vec::new(),
        };
        let what = format!("git {}", words.first().copied().unwrap_or_default());
        match command(&self.program, launch, within).await {
            Ok(output) if output.exit.success() => Ok(output.stdout.unwrap_or_default()),
            Ok(output) => {
                let said = output.text.trim();
                Err(if said.is_empty() {
                    format!("`{what}` {}", output.exit)
                } else {
                    format!("`{what}`: {}", said.replace('\n', "; "))
                })
            }
            Err(CommandError::Start(error)) => {
                Err(format!("git could not be started: {}", error.reason()))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    async fn has_changes(&self) -> Result<bool, String> {
        let words = ["status", "--porcelain", "--untracked-files=no"];
        let changes = self.run(&words, ASKED_WITHIN).await?;
        Ok(!changes.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_hotlap_has_made_is_forgotten() {
        let cache = tempfile::tempdir().unwrap();
        let entry = |room: &str, tree: &str, rest: &str| {
            let path = cache.path().join(room).join(tree);
            format!("worktree {}\nHEAD abc\ndetached{rest}", path.display())
        };
        let (room, tree) = ("hotlap-12-0123456789abcdef", "hotlap-0a1b2c3");
        assert!(lost(&entry(room, tree, "")).is_some());
        assert!(lost(&entry(room, tree, "\nlocked initializing")).is_some());
        for (room, tree, rest) in [
            (room, tree, "\nlocked on a disk that is away"),
            (room, tree, "\nlocked"),
            (room, "hotlap-fix", ""),
            ("hotlap-work", tree, ""),
            ("hotlap-12-0123", tree, ""),
            ("hotlap-x-0123456789abcdef", tree, ""),
            ("gone/hotlap-12-0123456789abcdef", tree, ""),
        ] {
            assert_eq!(lost(&entry(room, tree, rest)), None, "{room}/{tree}{rest}");
        }
        std::fs::create_dir_all(cache.path().join(room).join(tree)).unwrap();
        assert_eq!(lost(&entry(room, tree, "")), None);
    }
}
