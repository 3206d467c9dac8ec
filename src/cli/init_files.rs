//! The files of `hotlap init`: all are looked at before the first is written, so that it is all or nothing.

use super::suites::counted;
use super::terminal::say_line;
use rustix::fs::{Access, access};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A file that is to be written.
pub(super) struct Wanted {
    pub(super) path: PathBuf,
    pub(super) text: Text,
}

/// What becomes of it.
pub(super) enum Text {
    /// It is made, unless there is anything of its name.
    Whole(String),
    /// It gets those of these lines that it lacks.
    Lines(&'static str),
}

/// What stands in the way of these files, a sentence for each, with what to do.
pub(super) fn in_the_way(all: &[Wanted]) -> Vec<String> {
    let found: BTreeSet<String> = all.iter().filter_map(Wanted::in_the_way).collect();
    found.into_iter().collect()
}

/// Writes them, and says of each what became of it.
pub(super) fn write(all: &[Wanted]) -> Result<(), String> {
    all.iter().try_for_each(|one| match &one.text {
        Text::Whole(text) => create(&one.path, text),
        Text::Lines(lines) => add(&one.path, lines),
    })
}

impl Wanted {
    fn in_the_way(&self) -> Option<String> {
        let path = &self.path;
        let Ok(there) = fs::symlink_metadata(path) else {
            return no_folder(path);
        };
        if there.is_symlink() {
            // It is there, and left.
            return None;
        }
        if !there.is_file() {
            return Some(format!(
                "{} is {}, and a file is needed there; move it away",
                path.display(),
                kind(&there)
            ));
        }
        let changes = matches!(self.text, Text::Lines(_));
        let refused = access(path, Access::READ_OK | Access::WRITE_OK).is_err();
        (changes && refused).then(|| {
            format!(
                "{} may not be read and written by you; change its permissions",
                path.display()
            )
        })
    }

    /// Whether there is something of its name, which is left if it is to be made.
    pub(super) fn is_there(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }
}

/// Why there can be no folder for a file.
fn no_folder(path: &Path) -> Option<String> {
    for above in path.ancestors().skip(1) {
        let above = if above.as_os_str().is_empty() {
            Path::new(".")
        } else {
            above
        };
        // A link that leads to a folder is one; one that leads nowhere is not.
        let Ok(there) = fs::symlink_metadata(above) else {
            continue;
        };
        if !fs::metadata(above).is_ok_and(|there| there.is_dir()) {
            return Some(format!(
                "{} is {}, and a folder is needed there; move it away",
                above.display(),
                kind(&there)
            ));
        }
        return access(above, Access::WRITE_OK | Access::EXEC_OK)
            .is_err()
            .then(|| {
                format!(
                    "nothing may be made in {} by you; change its permissions",
                    above.display()
                )
            });
    }
    None
}

fn kind(there: &fs::Metadata) -> &'static str {
    if there.is_symlink() {
        "a link that leads to no folder"
    } else if there.is_dir() {
        "a folder"
    } else if there.is_file() {
        "a file"
    } else {
        "neither a file nor a folder"
    }
}

pub(super) fn of(path: &Path) -> impl Fn(io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}")
}

/// Writes a file that is not there yet; one that is there is named and left.
fn create(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(of(folder))?;
    }
    // A link is not followed, wherever it leads.
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
    if fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) {
        say_line(&format!(
            "left as it is: {} is a link, which git does not follow; make it a file to have these lines in it:\n\n{lines}",
            path.display()
        ));
        return Ok(());
    }
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
