//! `hotlap init`: a first suite, what git should know, and on demand how the suites are run each night and for each
//! pull request. Nothing that is there is overwritten: it is named, and the rest is written.

use super::exit::Exit;
use super::suites::counted;
use super::terminal::{print, say_error, say_line};
use crate::init::{self, Found, Language, Night};
use clap::{Args, ValueEnum};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Write a first suite from what is found in a repository, and how it is run each night
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing that exists is overwritten: it is named and left, and the rest is written. Lines that .gitignore and
.gitattributes lack are added at their ends. --cron prints; nothing is installed.

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
        Err(error) => {
            say_error(&error);
            Exit::Machine
        }
    }
}

fn write(arguments: &InitArgs, folder: &Path) -> Result<(), String> {
    let found = init::look(&real(folder)?);
    tell(&found);
    let suite = suite(folder, &found)?;
    add(&folder.join(".gitignore"), IGNORED)?;
    add(&folder.join(".gitattributes"), MERGED)?;
    let mut next = Vec::new();
    if arguments.ci == Some(Ci::Github) {
        github(folder, &found)?;
        next.push(
            "write the address of hotlap's repository into the workflow, and commit it".to_owned(),
        );
    }
    if arguments.cron || arguments.systemd {
        let night = night(folder, &found)?;
        if arguments.systemd {
            next.push(systemd(folder, &night)?);
        }
        if arguments.cron {
            print(&init::crontab(&night));
            next.push("put the line above into your crontab: `crontab -e`".to_owned());
        }
    }
    say_line("\nwhat to do next:");
    for (number, step) in suite.into_iter().chain(next).enumerate() {
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

/// Writes the suite, unless there are suites. Returns what is to be done with it.
fn suite(folder: &Path, found: &Found) -> Result<Vec<String>, String> {
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
        say_line(&format!(
            "left as it is: {} has {} already, so no other is written",
            suites.display(),
            counted(there.len(), "suite")
        ));
        return Ok(vec![format!(
            "`hotlap run {} --if-changed`",
            shell_words::quote(&first.to_string_lossy())
        )]);
    }
    let path = suites.join(format!("{}.toml", found.name));
    let text = init::suite(found);
    create(&path, &text)?;
    let mut steps = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if let Some((_, look)) = line.split_once("# LOOK: ") {
            steps.push(format!("look at {}:{}: {look}", path.display(), number + 1));
        }
    }
    let path = shell_words::quote(&path.to_string_lossy()).into_owned();
    steps.push(format!(
        "`hotlap run {path} --profile quick` shows that all of it works"
    ));
    steps.push(format!(
        "`hotlap run {path}` measures; `hotlap plan {path}` says how long that takes"
    ));
    Ok(steps)
}

fn github(folder: &Path, found: &Found) -> Result<(), String> {
    let real = real(folder)?;
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
    create(&top.join(".github/workflows/hotlap.yml"), &text)
}

/// Writes the units. Returns how they are installed.
fn systemd(folder: &Path, night: &Night) -> Result<String, String> {
    let unit = |ending: &str| folder.join(format!("deploy/hotlap-{}.{ending}", night.name));
    let (service, timer) = (unit("service"), unit("timer"));
    create(&service, &init::service(night))?;
    create(&timer, &init::timer(night))?;
    let absolute = |path: &Path| std::path::absolute(path).map_err(of(path));
    Ok(format!(
        "install the units: `sudo systemctl link {} {}`, `sudo systemctl enable --now hotlap-{}.timer`",
        shell_words::quote(&absolute(&service)?.display().to_string()),
        shell_words::quote(&absolute(&timer)?.display().to_string()),
        night.name
    ))
}

/// What this machine runs each night.
fn night(folder: &Path, found: &Found) -> Result<Night, String> {
    let user = std::env::var("USER").ok().filter(|user| is_user(user));
    let uid = rustix::process::geteuid();
    let user = user.unwrap_or_else(|| uid.as_raw().to_string());
    Ok(Night {
        name: found.name.clone(),
        folder: real(folder)?,
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
        Path::new(folder).is_absolute() && NEEDED.iter().chain(programs).any(has)
    };
    let mut known = BTreeSet::new();
    let folders = caller.split(':').filter(holds).chain(USUAL);
    let folders: Vec<&str> = folders.filter(|folder| known.insert(*folder)).collect();
    folders.join(":")
}

fn of(path: &Path) -> impl Fn(io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}")
}

/// Writes a file that is not there yet; one that is there is named and left.
fn create(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(of(folder))?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).map_err(of(path))?;
            say_line(&format!("wrote {}", path.display()));
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            say_line(&format!("left as it is: {} exists", path.display()));
            Ok(())
        }
        Err(error) => Err(of(path)(error)),
    }
}

/// Adds lines that a file lacks at its end. A comment of ours stands only above lines of ours.
fn add(path: &Path, lines: &str) -> Result<(), String> {
    let there = match fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(of(path)(error)),
    };
    let known: BTreeSet<&str> = there.lines().map(str::trim_end).collect();
    let missing = |line: &&str| !known.contains(line);
    let new: Vec<&str> = lines.lines().filter(missing).collect();
    if new.iter().all(|line| line.starts_with('#')) {
        say_line(&format!(
            "left as it is: {} has these lines",
            path.display()
        ));
        return Ok(());
    }
    let end = if there.is_empty() || there.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let gap = if there.is_empty() { "" } else { "\n" };
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(of(path))?;
    file.write_all(format!("{end}{gap}{}\n", new.join("\n")).as_bytes())
        .map_err(of(path))?;
    say_line(&format!(
        "added to {}: {}",
        path.display(),
        counted(new.len(), "line")
    ));
    Ok(())
}
