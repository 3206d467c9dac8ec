//! What a build is made from and what it leaves, as it was after the build: to
//! tell later whether it must be made again.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Folders that no build reads.
const NEVER: [&str; 1] = [".git"];

/// A folder as it was after a build.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Snapshot {
    /// What the build is made from, by path, each with what tells one state of it from another.
    inputs: BTreeMap<PathBuf, String>,
    /// What the build added: paths of files, and of folders with all that is in them.
    added: BTreeSet<PathBuf>,
    /// What lay in the folder itself after it, whoever had put it there.
    there: BTreeSet<PathBuf>,
}

impl Snapshot {
    /// A folder at this moment. What decides is in `inputs`, by content, or everything but what was `added`, by size and
    /// time.
    pub(super) fn of(folder: &Path, inputs: Option<&[String]>, added: &[PathBuf]) -> Self {
        let mut all = BTreeMap::new();
        match inputs {
            Some(inputs) => {
                for input in inputs {
                    let path = PathBuf::from(input);
                    walk(folder, &path, &mut |path| {
                        let known = added.iter().any(|added| {
                            path.starts_with(added) && added.as_path() != Path::new(input)
                        });
                        if known {
                            return false;
                        }
                        if let Ok(content) = fs::read(folder.join(path)) {
                            let digest = Sha256::digest(content);
                            all.insert(path.to_owned(), super::cache::hash(&digest));
                        } else if !folder.join(path).exists() {
                            all.insert(path.to_owned(), "missing".to_owned());
                        }
                        true
                    });
                }
            }
            None => walk(folder, Path::new(""), &mut |path| {
                if added.iter().any(|added| added == path) {
                    return false;
                }
                if let Ok(facts) = fs::symlink_metadata(folder.join(path))
                    && !facts.is_dir()
                {
                    let (time, nanos) = (facts.mtime(), facts.mtime_nsec());
                    let state = format!("{} {time}.{nanos:09} {:o}", facts.len(), facts.mode());
                    all.insert(path.to_owned(), state);
                }
                true
            }),
        }
        Self {
            inputs: all,
            added: added.iter().cloned().collect(),
            there: names(folder).into_iter().map(PathBuf::from).collect(),
        }
    }

    /// Every path of a folder before a build, but for what an earlier one added: that is made anew.
    pub(super) fn sources(folder: &Path, earlier: Option<&Self>) -> BTreeSet<PathBuf> {
        let mut all = BTreeSet::new();
        walk(folder, Path::new(""), &mut |path| {
            let is_source = earlier.is_none_or(|earlier| !earlier.added.contains(path));
            if is_source {
                all.insert(path.to_owned());
            }
            is_source
        });
        all
    }

    /// The topmost paths that were not there before.
    pub(super) fn added(folder: &Path, before: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let mut all = Vec::new();
        walk(folder, Path::new(""), &mut |path| {
            let known = before.contains(path);
            if !known {
                all.push(path.to_owned());
            }
            known
        });
        all
    }
}

/// Whether a folder is as it was after its build, and what the build added is still there.
pub(super) fn unchanged(folder: &Path, inputs: Option<&[String]>, then: &Snapshot) -> bool {
    let added: Vec<PathBuf> = then.added.iter().cloned().collect();
    let mut needed = then.added.iter().chain(&then.there);
    needed.all(|path| folder.join(path).exists())
        && Snapshot::of(folder, inputs, &added).inputs == then.inputs
}

/// Visits a path and all below it, in the order of names; not below where `visit` says no.
fn walk(folder: &Path, path: &Path, visit: &mut impl FnMut(&Path) -> bool) {
    let is_root = path.as_os_str().is_empty();
    if !is_root && !visit(path) {
        return;
    }
    let whole = folder.join(path);
    // What a link points to is not the folder's own.
    if fs::symlink_metadata(&whole).is_ok_and(|facts| facts.is_symlink()) && !is_root {
        return;
    }
    for name in names(&whole) {
        walk(folder, &path.join(name), visit);
    }
}

/// What lies in a folder, in the order of names; nothing of one that cannot be read.
fn names(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<OsString> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| !NEVER.iter().any(|never| name == never))
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("src/deep")).unwrap();
        fs::write(folder.path().join("src/deep/a.js"), "a").unwrap();
        fs::write(folder.path().join("package.json"), "{}").unwrap();
        folder
    }

    fn build(folder: &Path, inputs: Option<&[String]>) -> Snapshot {
        let before = Snapshot::sources(folder, None);
        fs::create_dir_all(folder.join("node_modules/x")).unwrap();
        fs::write(folder.join("node_modules/x/index.js"), "x").unwrap();
        fs::write(folder.join("src/made.js"), "made").unwrap();
        let added = Snapshot::added(folder, &before);
        assert_eq!(
            added,
            [PathBuf::from("node_modules"), PathBuf::from("src/made.js")]
        );
        Snapshot::of(folder, inputs, &added)
    }

    #[test]
    fn what_a_build_adds_is_none_of_its_inputs() {
        let folder = folder();
        let then = build(folder.path(), None);
        assert!(unchanged(folder.path(), None, &then));
        fs::write(folder.path().join("node_modules/x/cache"), "later").unwrap();
        assert!(unchanged(folder.path(), None, &then));
        fs::write(folder.path().join("src/deep/b.js"), "b").unwrap();
        assert!(!unchanged(folder.path(), None, &then));
    }

    #[test]
    fn what_a_build_added_must_still_be_there() {
        let folder = folder();
        let then = build(folder.path(), None);
        fs::remove_dir_all(folder.path().join("node_modules")).unwrap();
        assert!(!unchanged(folder.path(), None, &then));
    }

    #[test]
    fn what_lay_there_before_the_first_note_is_missed_too() {
        let folder = folder();
        fs::create_dir(folder.path().join("vendor")).unwrap();
        let inputs = ["package.json".to_owned()];
        let then = build(folder.path(), Some(&inputs));
        assert!(unchanged(folder.path(), Some(&inputs), &then));
        fs::remove_dir(folder.path().join("vendor")).unwrap();
        assert!(!unchanged(folder.path(), Some(&inputs), &then));
    }

    #[test]
    fn what_an_earlier_build_added_is_no_source() {
        let folder = folder();
        let then = build(folder.path(), None);
        let before = Snapshot::sources(folder.path(), Some(&then));
        assert_eq!(
            Snapshot::added(folder.path(), &before),
            [PathBuf::from("node_modules"), PathBuf::from("src/made.js")]
        );
    }

    #[test]
    fn named_inputs_decide_by_their_content() {
        let folder = folder();
        let inputs = [
            "package.json".to_owned(),
            "src".to_owned(),
            "absent".to_owned(),
        ];
        let then = build(folder.path(), Some(&inputs));
        fs::write(folder.path().join("README"), "not named").unwrap();
        fs::write(folder.path().join("package.json"), "{}").unwrap();
        assert!(unchanged(folder.path(), Some(&inputs), &then));
        fs::write(folder.path().join("src/deep/a.js"), "b").unwrap();
        assert!(!unchanged(folder.path(), Some(&inputs), &then));
        fs::write(folder.path().join("src/deep/a.js"), "a").unwrap();
        assert!(unchanged(folder.path(), Some(&inputs), &then));
        fs::write(folder.path().join("absent"), "now there").unwrap();
        assert!(!unchanged(folder.path(), Some(&inputs), &then));
    }
}
