//! `hotlap init`: a first suite, what git should know, and on demand how the suites are run each night and for each
//! pull request. Nothing that is there is overwritten: it is named, and the rest is written.

use super::exit::Exit;
use super::init_files::{self, Text, Wanted, of};
use super::suites::counted;
use super::terminal::{print, say_error, say_line};
use crate::init::{self, Found, Language, Night};
use clap::{Args, ValueEnum};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Write a first suite from what is found in a repository, and how it is run each night
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing that exists is overwritten: it is named and left, and the rest is written. Where something
of another kind stands in the way (a file where a folder is needed), all of it is told and nothing
is written. Lines that .gitignore and .gitattributes lack are added at their ends. --cron prints;
nothing is installed.

Examples:
  hotlap init
  hotlap init services/api --ci github
  hotlap init --cron >> my-crontab
  hotlap init --systemd")]
pub(super) struct InitArgs {
    /// The repository's folder, or that of a part of it
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// A workflow too: pull requests measure their base against their head, nights run by a schedule
    #[arg(long, value_name = "SERVICE", value_enum)]
    ci: Option<Ci>,
    /// Print a line for this machine's crontab
    #[arg(long)]
    cron: bool,
    /// Units for this machine's systemd too, a service and a timer, in deploy/
    #[arg(long)]
    systemd: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ci {
    /// .github/workflows/hotlap.yml
    Github,
}

/// What git should not have of runs.
const IGNORED: &str = "\
# hotlap: what stays on the machine that measured; reports, tables and history.csv are small, and worth committing
/reports/**/run.json
/reports/**/trials.jsonl
/reports/**/samples.csv
/reports/**/report.json
/reports/**/report.html
/reports/**/baseline.json
/reports/**/logs/
/reports/**/guards/
/reports/.lock
/reports/.asked/
.hotlap/
";

/// How git merges nights of two branches.
const MERGED: &str = "\
# hotlap: nights that two branches measured are put together
reports/**/history*.csv merge=union
";

pub(super) fn main(arguments: &InitArgs) -> Exit {
    let folder = &arguments.folder;
    if !folder.is_dir() {
        say_error(&format!(
            "there is no folder {}; name the one of your repository",
            folder.display()
        ));
        return Exit::Usage;
    }
    // `.` is not worth saying before each name.
    let folder = folder.strip_prefix(".").unwrap_or(folder);
    match write(arguments, folder) {
        Ok(()) => Exit::Fine,
        Err((exit, error)) => {
            say_error(&error);
            exit
        }
    }
}

/// For `map_err`: the machine refused.
fn refused(error: String) -> (Exit, String) {
    (Exit::Machine, error)
}

fn write(arguments: &InitArgs, folder: &Path) -> Result<(), (Exit, String)> {
    let real = real(folder).map_err(refused)?;
    let plain = |text: &str| !text.contains(char::is_control);
    if !real.to_str().is_some_and(plain) {
        return Err((
            Exit::Usage,
            format!(
                "the path of the folder, {:?}, has a line end or another character that no crontab, unit or workflow can \
                 hold; rename it, nothing was written",
                real.to_string_lossy()
            ),
        ));
    }
    let found = init::look(&real);
    let mut files = Vec::new();
    let (suite, mut next) = suite(folder, &found);
    let suites = suite.as_ref().err().cloned();
    files.extend(suite);
    for (name, lines) in [(".gitignore", IGNORED), (".gitattributes", MERGED)] {
        files.push(Wanted {
            path: folder.join(name),
            text: Text::Lines(lines),
        });
    }
    if arguments.ci == Some(Ci::Github) {
        let workflow = github(folder, &real, &found);
        next.extend(address(&workflow));
        files.push(workflow);
    }
    let night = (arguments.cron || arguments.systemd)
        .then(|| night(&real, &found))
        .transpose()
        .map_err(refused)?;
    if let Some(night) = night.as_ref().filter(|_| arguments.systemd) {
        let units = units(folder, night);
        next.push(installed(&units, night).map_err(refused)?);
        files.extend(units);
    }
    let in_the_way = init_files::in_the_way(&files);
    if !in_the_way.is_empty() {
        return Err((
            Exit::Usage,
            format!("nothing was written: {}", in_the_way.join("\n  ")),
        ));
    }
    tell(&found);
    if let Some(left) = suites {
        say_line(&left);
    }
    init_files::write(&files).map_err(refused)?;
    if let Some(night) = night.as_ref().filter(|_| arguments.cron) {
        print(&init::crontab(night));
        next.push("put the line above into your crontab: `crontab -e`".to_owned());
    }
    say_line("\nwhat to do next:");
    for (number, step) in next.into_iter().enumerate() {
        say_line(&format!("  {}. {step}", number + 1));
    }
    Ok(())
}

/// Says what was found.
fn tell(found: &Found) {
    if found.servers.is_empty() {
        say_line("nothing that serves was found here");
    }
    for server in &found.servers {
        say_line(&format!(
            "found {}: `{}` ({})",
            server.name, server.command, server.seen
        ));
    }
}

/// The suite, or that there are suites, and what is to be done with it.
fn suite(folder: &Path, found: &Found) -> (Result<Wanted, String>, Vec<String>) {
    let suites = folder.join("suites");
    let mut there: Vec<PathBuf> = fs::read_dir(&suites)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    there.sort();
    if let Some(first) = there.first() {
        let left = format!(
            "left as it is: {} has {} already, so no other is written",
            suites.display(),
            counted(there.len(), "suite")
        );
        let run = format!(
            "`hotlap run {} --if-changed`",
            shell_words::quote(&first.to_string_lossy())
        );
        return (Err(left), vec![run]);
    }
    let path = suites.join(format!("{}.toml", found.name));
    let text = init::suite(found);
    let mut steps = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if let Some((_, look)) = line.split_once("# LOOK: ") {
            steps.push(format!("look at {}:{}: {look}", path.display(), number + 1));
        }
    }
    let wanted = Wanted {
        path: path.clone(),
        text: Text::Whole(text),
    };
    let path = shell_words::quote(&path.to_string_lossy()).into_owned();
    steps.push(format!(
        "`hotlap run {path} --profile quick` shows that all of it works"
    ));
    steps.push(format!(
        "`hotlap run {path}` measures; `hotlap plan {path}` says how long that takes"
    ));
    (Ok(wanted), steps)
}

/// The workflow, at the top of the repository.
fn github(folder: &Path, real: &Path, found: &Found) -> Wanted {
    let top = real.ancestors().find(|above| above.join(".git").exists());
    let inside = top
        .and_then(|top| real.strip_prefix(top).ok())
        .unwrap_or(Path::new(""));
    let top = top.map_or_else(
        || folder.to_owned(),
        |top| {
            // As it was typed, where it is that.
            if inside.as_os_str().is_empty() {
                folder.to_owned()
            } else {
                top.to_owned()
            }
        },
    );
    let go_mod = found
        .servers
        .iter()
        .find(|server| server.language == Some(Language::Go))
        .map(|server| inside.join(&server.folder).join("go.mod"));
    let text = init::workflow(found, inside, go_mod.as_deref());
    Wanted {
        path: top.join(".github/workflows/hotlap.yml"),
        text: Text::Whole(text),
    }
}

/// What is to be done with a new workflow: hotlap's address is not known.
fn address(workflow: &Wanted) -> Option<String> {
    let Text::Whole(text) = &workflow.text else {
        return None;
    };
    let line = text
        .lines()
        .position(|line| line.trim_start().starts_with("HOTLAP_REPOSITORY:"))?;
    (!workflow.is_there()).then(|| {
        format!(
            "write the address of hotlap's repository into {}:{}, HOTLAP_REPOSITORY (its jobs end at their step `hotlap` \
             without it), and commit it",
            workflow.path.display(),
            line + 1
        )
    })
}

/// The units of systemd: a service, and its timer.
fn units(folder: &Path, night: &Night) -> [Wanted; 2] {
    let unit = |ending: &str, text: String| Wanted {
        path: folder.join(format!("deploy/hotlap-{}.{ending}", night.name)),
        text: Text::Whole(text),
    };
    [
        unit("service", init::service(night)),
        unit("timer", init::timer(night)),
    ]
}

/// How units are installed.
fn installed([service, timer]: &[Wanted; 2], night: &Night) -> Result<String, String> {
    let absolute = |unit: &Wanted| std::path::absolute(&unit.path).map_err(of(&unit.path));
    Ok(format!(
        "install the units: `sudo systemctl link {} {}`, `sudo systemctl enable --now hotlap-{}.timer`",
        shell_words::quote(&absolute(service)?.display().to_string()),
        shell_words::quote(&absolute(timer)?.display().to_string()),
        night.name
    ))
}

/// What this machine runs each night.
fn night(real: &Path, found: &Found) -> Result<Night, String> {
    let user = std::env::var("USER").ok().filter(|user| is_user(user));
    let uid = rustix::process::geteuid();
    let user = user.unwrap_or_else(|| uid.as_raw().to_string());
    Ok(Night {
        name: found.name.clone(),
        folder: real.to_owned(),
        hotlap: std::env::current_exe()
            .map_err(|error| format!("where hotlap lies is not known: {error}"))?,
        path: path(&found.programs()),
        user: Some(user).filter(|_| !uid.is_root()),
    })
}

/// A folder by its real path; an empty one is the current one.
fn real(folder: &Path) -> Result<PathBuf, String> {
    Path::new(".")
        .join(folder)
        .canonicalize()
        .map_err(of(folder))
}

fn is_user(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// The folders of the caller's PATH in which there is a program that suites need, then the usual ones.
fn path(programs: &BTreeSet<&str>) -> String {
    const NEEDED: [&str; 12] = [
        "node", "npm", "pnpm", "yarn", "go", "cargo", "python3", "git", "nginx", "wrk", "deno",
        "bun",
    ];
    const USUAL: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
    let caller = std::env::var("PATH").unwrap_or_default();
    let holds = |folder: &&str| {
        let has = |name: &&str| Path::new(folder).join(name).is_file();
        let plain = !folder.contains(char::is_control);
        plain && Path::new(folder).is_absolute() && NEEDED.iter().chain(programs).any(has)
    };
    let mut known = BTreeSet::new();
    let folders = caller.split(':').filter(holds).chain(USUAL);
    let folders: Vec<&str> = folders.filter(|folder| known.insert(*folder)).collect();
    folders.join(":")
}
