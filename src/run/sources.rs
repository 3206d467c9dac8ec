//! What a suite measures, as one hash: the commit that lies in the repository of the suite and of its servers, with what
//! has changed there since. Two runs with the same hash measured the same files. What git ignores is not looked at, and
//! neither are reports: a run writes them, and people commit them. Beside it the revision, as people read it.

use super::repository::Repository;
use crate::ids::hex;
use crate::process::GuardProgram;
use crate::spec::{DIRTY, ProcessSpec, Spec};
use crate::store::{SPLICE_BEGIN as BEGIN, SPLICE_END as END};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The SHA-256, hexadecimal, of all that a suite measures. `folder` is the suite's, `out` that of the reports, and in
/// `scratch` git may print. An error says why it cannot be told, in a sentence without its end.
pub async fn sources(
    spec: &Spec,
    folder: &Path,
    out: &Path,
    scratch: &Path,
    program: &GuardProgram,
) -> Result<String, String> {
    let folders = folders(spec, folder)?;
    let mut repositories: BTreeMap<PathBuf, Repository> = BTreeMap::new();
    for folder in &folders {
        let repository = Repository::around(folder, scratch, program).await?;
        repositories.insert(repository.top().to_owned(), repository);
    }
    let reports = reports(spec, out, &folders);
    let mut all = Sha256::new();
    for (index, repository) in repositories.values().enumerate() {
        all.update(index.to_le_bytes());
        one(repository, &reports, &mut all).await?;
    }
    Ok(hex(&all.finalize()))
}

/// The short revision of the repository around the suite's folder, `-dirty` where tracked files have changes; what runs write there, the
/// reports of the nights before say, is none. No revision outside of a repository, or without git.
pub async fn revision(
    spec: &Spec,
    folder: &Path,
    out: &Path,
    scratch: &Path,
    program: &GuardProgram,
) -> Option<String> {
    let repository = Repository::around(folder, scratch, program).await.ok()?;
    let words = ["rev-parse", "--short=7", "HEAD"];
    let head = repository.ask(&words).await.ok()?;
    // Of a server that somebody else started no folder is known.
    let own = folders(spec, folder)
        .or_else(|_| folder.canonicalize().map(|own| BTreeSet::from([own])))
        .ok()?;
    let reports = reports(spec, out, &own);
    let dirty = if has_changes(&repository, &reports).await.ok()? {
        DIRTY
    } else {
        ""
    };
    Some(format!("{}{dirty}", head.trim()))
}

/// Whether tracked files have changes, reports aside, also those that stand in other files.
async fn has_changes(repository: &Repository, reports: &[PathBuf]) -> Result<bool, String> {
    let words = [
        "status",
        "--porcelain",
        "-z",
        "--untracked-files=no",
        "--no-renames",
    ];
    let changed = repository.ask(&words).await?;
    let paths = changed
        .split_terminator('\0')
        .filter_map(|entry| entry.get(3..));
    let others: Vec<&str> = paths
        .filter(|path| !is_report(&repository.top().join(path), reports))
        .collect();
    if others.is_empty() {
        return Ok(false);
    }
    let spliced = spliced(repository).await?;
    for path in others {
        if !spliced.contains(path) {
            return Ok(true);
        }
        let committed = format!("HEAD:{path}");
        let old = repository.ask(&["cat-file", "blob", &committed]).await;
        let new = fs::read(repository.top().join(path)).unwrap_or_default();
        if !old.is_ok_and(|old| without_reports(old.as_bytes()) == without_reports(&new)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_report(path: &Path, reports: &[PathBuf]) -> bool {
    reports.iter().any(|report| path.starts_with(report))
}

/// The folders that matter: the suite's, and those that its servers, services and builds run in.
fn folders(spec: &Spec, folder: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let mut named = BTreeSet::from([".".to_owned()]);
    let mut add = |process: &ProcessSpec| match process.cwd.as_literal() {
        Some(cwd) => {
            named.insert(cwd.to_owned());
            Ok(())
        }
        None => Err(format!(
            "`{}` runs in a folder that is known only when it starts",
            process.role
        )),
    };
    for service in &spec.services {
        add(&service.process)?;
    }
    for cell in spec.cells.iter().filter(|cell| cell.revision.is_none()) {
        if cell.url.is_some() {
            return Err(format!(
                "the server `{}` was started by somebody else, and what it serves is not known",
                cell.server
            ));
        }
        cell.processes.iter().try_for_each(&mut add)?;
    }
    let builds = spec.cells.iter().flat_map(|cell| &cell.builds);
    named.extend(
        builds
            .filter(|build| build.revision.is_none())
            .map(|build| build.cwd.clone()),
    );
    // A folder that is not there is said elsewhere, and has nothing that could change.
    let there = named
        .iter()
        .filter_map(|name| folder.join(name).canonicalize().ok());
    Ok(there.filter(|path| path.is_dir()).collect())
}

/// What runs write: the folder of reports; where it holds what is measured too, only what is the suite's own in it.
fn reports(spec: &Spec, out: &Path, folders: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let out = out.canonicalize().unwrap_or_else(|_| out.to_owned());
    if folders.iter().any(|folder| folder.starts_with(&out)) {
        [".lock", ".asked", "README.md", &spec.suite]
            .map(|name| out.join(name))
            .to_vec()
    } else {
        vec![out]
    }
}

/// Adds a repository: what its commit has, then what differs from that.
async fn one(repository: &Repository, reports: &[PathBuf], all: &mut Sha256) -> Result<(), String> {
    let top = repository.top();
    let is_report = |path: &str| is_report(&top.join(path), reports);
    let spliced = spliced(repository).await?;
    let tree = repository.ask(&["ls-tree", "-r", "-z", "HEAD"]).await?;
    for entry in tree.split_terminator('\0') {
        let path = entry.split_once('\t').map_or(entry, |(_, path)| path);
        if !is_report(path) && !spliced.contains(path) {
            all.update(entry);
            all.update([0]);
        }
    }
    let changed = repository
        .ask(&[
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=all",
            "--no-renames",
        ])
        .await?;
    let changed = changed
        .split_terminator('\0')
        .filter_map(|entry| entry.get(3..));
    let paths: BTreeSet<&str> = changed.chain(spliced.iter().map(String::as_str)).collect();
    for path in paths.into_iter().filter(|path| !is_report(path)) {
        all.update([1]);
        all.update(path);
        all.update([0]);
        all.update(content(&top.join(path))?);
    }
    Ok(())
}

/// The files that have a report in them. It is written after runs, and is not what they measure.
async fn spliced(repository: &Repository) -> Result<BTreeSet<String>, String> {
    // Git ends with 1 where there is none.
    let words = ["grep", "-z", "-l", "-I", "--untracked", "-F", "-e", BEGIN];
    let found = repository.ask(&words).await.unwrap_or_default();
    Ok(found.split_terminator('\0').map(str::to_owned).collect())
}

/// What lies at a path now, as a hash.
fn content(path: &Path) -> Result<[u8; 32], String> {
    let unknown = |error: std::io::Error| format!("{}: {error}", path.display());
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // A name that git tells in other letters than those that it has cannot be looked at.
            return if path.to_string_lossy().contains('\u{fffd}') {
                Err(format!("the name of {} is not text", path.display()))
            } else {
                Ok(Sha256::digest("gone").into())
            };
        }
        other => other.map_err(unknown)?,
    };
    let mut hash = Sha256::new();
    if found.is_symlink() {
        hash.update("link ");
        hash.update(fs::read_link(path).map_err(unknown)?.as_os_str().as_bytes());
    } else if found.is_file() {
        let runs = found.permissions().mode() & 0o111 != 0;
        hash.update(if runs { "program " } else { "file " });
        hash.update(without_reports(&fs::read(path).map_err(unknown)?));
    } else {
        // A repository in this one, or something that is no file.
        return Err(format!(
            "{} has changes, and is a repository of its own or no plain file",
            path.display()
        ));
    }
    Ok(hash.finalize().into())
}

/// A file without the reports between their markers.
fn without_reports(bytes: &[u8]) -> Vec<u8> {
    let at = |from: usize, marker: &str| {
        let rest = bytes.get(from..)?;
        let found = rest
            .windows(marker.len())
            .position(|window| window == marker.as_bytes())?;
        Some(from + found)
    };
    let mut kept = Vec::new();
    let mut done = 0;
    while let Some(begin) = at(done, BEGIN)
        && let Some(end) = at(begin, END)
    {
        // The marker itself stays, with the name in it.
        let shown = at(begin, "-->").map_or(end, |close| close.min(end));
        kept.extend_from_slice(&bytes[done..shown]);
        kept.extend_from_slice(&bytes[end..end + END.len()]);
        done = end + END.len();
    }
    kept.extend_from_slice(&bytes[done..]);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_in_another_file_is_not_what_is_measured() {
        let page = |one: &str, two: &str, own: &str| {
            let page = format!(
                "# Ours\n{BEGIN} -->\n{one}{END} -->\n{own}{BEGIN} shop -->\n{two}{END} shop -->\nmore\n"
            );
            without_reports(page.as_bytes())
        };
        assert_eq!(page("fast\n", "a\n", "x\n"), page("slow\n", "", "x\n"));
        assert_ne!(page("fast\n", "a\n", "x\n"), page("fast\n", "a\n", "y\n"));
        for whole in [
            "# Ours\n",
            "<!-- hotlap:end -->\n",
            "<!-- hotlap:begin -->\nx\n",
        ] {
            assert_eq!(without_reports(whole.as_bytes()), whole.as_bytes());
        }
    }

    #[test]
    fn what_a_file_is_counts_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.sh");
        let gone = content(&path).unwrap();
        fs::write(&path, "exit").unwrap();
        let file = content(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let program = content(&path).unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("exit", &path).unwrap();
        let link = content(&path).unwrap();
        let all = BTreeSet::from([gone, file, program, link]);
        assert_eq!(all.len(), 4);
        assert!(content(folder.path()).is_err());
    }
}
