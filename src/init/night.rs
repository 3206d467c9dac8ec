//! How a machine runs the suites each night: a line for a crontab, and a service with its timer for systemd.

use std::path::PathBuf;

/// What runs each night, and where. All of it is of the machine on which it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Night {
    /// What the repository is called.
    pub name: String,
    /// Its folder, absolute.
    pub folder: PathBuf,
    /// The program hotlap, absolute.
    pub hotlap: PathBuf,
    /// The PATH on which the servers' programs are.
    pub path: String,
    /// Who runs it; none is root.
    pub user: Option<String>,
}

/// So many runs of each suite are kept.
const KEEP: &str = "clean --keep 30";
/// The suites, in time for the morning, where something has changed; what a power cut left is gone on with.
const RUN: &str = "run suites --budget 6h --if-changed --or-resume";

impl Night {
    fn text(path: &std::path::Path) -> String {
        path.display().to_string()
    }
}

/// A line for a crontab, with what it does in a comment above it.
pub fn crontab(night: &Night) -> String {
    let quote = |text: &str| shell_words::quote(text).into_owned();
    let hotlap = quote(&Night::text(&night.hotlap));
    let command = format!(
        "cd {} && export PATH={} && {{ {hotlap} {KEEP}; {hotlap} {RUN}; }}",
        quote(&Night::text(&night.folder)),
        quote(&night.path),
    );
    format!(
        "# {}: every night at 03:17. What it prints comes as a mail, whose last line says what became of it.\n\
         17 3 * * * {}\n",
        night.name,
        // cron ends a command at a % that has no backslash before it.
        command.replace('%', "\\%")
    )
}

/// The unit of a service that runs once.
pub fn service(night: &Night) -> String {
    let hotlap = word(&Night::text(&night.hotlap));
    let user = night
        .user
        .as_ref()
        .map_or_else(String::new, |user| format!("User={user}\n"));
    format!(
        "# By `hotlap init --systemd`, for the machine and the folder that it was called in.\n\
         [Unit]\n\
         Description=hotlap: a night of {name}\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         {user}WorkingDirectory={folder}\n\
         Environment={path}\n\
         # Its failure is said in the log, and is no reason not to measure.\n\
         ExecStartPre=-{hotlap} {KEEP}\n\
         # Exit codes of `hotlap run --help`: 1 a trial failed, 3 a gate fell, 4 another run was under way.\n\
         ExecStart={hotlap} {RUN}\n\
         # A stop is asked of hotlap alone, which ends its servers and keeps what it has measured.\n\
         KillMode=mixed\n\
         TimeoutStartSec=infinity\n\
         TimeoutStopSec=2min\n",
        name = specifiers(&night.name),
        folder = specifiers(&Night::text(&night.folder)),
        path = word(&format!("PATH={}", night.path)),
    )
}

/// The unit of the timer that starts the service.
pub fn timer(night: &Night) -> String {
    format!(
        "# By `hotlap init --systemd`.\n\
         [Unit]\n\
         Description=hotlap: each night of {}\n\
         \n\
         [Timer]\n\
         OnCalendar=*-*-* 03:17:00\n\
         # A night in which the machine was off is made up for.\n\
         Persistent=true\n\
         \n\
         [Install]\n\
         WantedBy=timers.target\n",
        specifiers(&night.name)
    )
}

/// A text in which systemd finds no specifier.
fn specifiers(text: &str) -> String {
    text.replace('%', "%%")
}

/// A word of a unit file: quoted where it must be, and free of specifiers and variables.
fn word(text: &str) -> String {
    let text = specifiers(text).replace('$', "$$");
    let plain = |c: char| c.is_alphanumeric() || "/._-+:=,@%$".contains(c);
    if text.chars().all(plain) {
        return text;
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cron_and_systemd_would_read_otherwise_are_escaped() {
        let night = Night {
            name: "api".to_owned(),
            folder: PathBuf::from("/srv/100% of it's"),
            hotlap: PathBuf::from("/opt/hot lap/hotlap"),
            path: "/opt/a b:/usr/bin".to_owned(),
            user: Some("nightly".to_owned()),
        };
        let line = crontab(&night);
        let command = line.lines().last().unwrap();
        assert!(
            command.starts_with(
                "17 3 * * * cd '/srv/100\\% of it'\\''s' && export PATH='/opt/a b:/usr/bin' && "
            ),
            "{command}"
        );
        let unit = service(&night);
        for line in [
            "User=nightly",
            "WorkingDirectory=/srv/100%% of it's",
            "Environment=\"PATH=/opt/a b:/usr/bin\"",
            "ExecStart=\"/opt/hot lap/hotlap\" run suites --budget 6h --if-changed --or-resume",
        ] {
            assert!(unit.lines().any(|one| one == line), "{line}\n{unit}");
        }
    }
}
