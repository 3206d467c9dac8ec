//! The folders of a repository in which a server may be, and the sources in one.

use std::fs;
use std::path::{Path, PathBuf};

/// So deep a server lies at most: `services/api/cmd/server`.
const DEEPEST: usize = 4;
/// So many folders are looked at.
const MOST_FOLDERS: usize = 2000;
/// So many sources of one server are read.
const MOST_SOURCES: usize = 300;
/// What is not of the repository itself, or measures and tests it.
const PASSED_OVER: [&str; 20] = [
    "node_modules",
    "bower_components",
    "target",
    "vendor",
    "dist",
    "build",
    "out",
    "coverage",
    "reports",
    "suites",
    "test",
    "tests",
    "__tests__",
    "testdata",
    "fixtures",
    "spec",
    "docs",
    "benches",
    "venv",
    "__pycache__",
];

/// The folders, from the repository's, that one first; sorted, those further in behind.
pub(super) fn folders(root: &Path) -> Vec<PathBuf> {
    let mut all = vec![PathBuf::new()];
    let mut next = 0;
    while let Some(folder) = all.get(next).cloned() {
        next += 1;
        if folder.components().count() >= DEEPEST || all.len() >= MOST_FOLDERS {
            continue;
        }
        let (_, inner) = entries(&root.join(&folder));
        all.extend(inner.into_iter().map(|name| folder.join(name)));
    }
    all
}

/// The names of the files and of the folders that are looked at, sorted.
fn entries(folder: &Path) -> (Vec<String>, Vec<String>) {
    let mut files = Vec::new();
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
            continue;
        };
        // A link may lead out of the repository, or around.
        if kind.is_file() {
            files.push(name);
        } else if kind.is_dir() && !name.starts_with('.') && !PASSED_OVER.contains(&name.as_str()) {
            folders.push(name);
        }
    }
    files.sort();
    folders.sort();
    (files, folders)
}

/// The texts of the sources below a folder that end so, those of the folder itself first. A folder inside that is a
/// package of its own (it has a file `but`) is not of this one.
pub(super) fn sources(folder: &Path, endings: &[&str], but: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(here) = waiting.pop() {
        let (files, folders) = entries(&here);
        for name in files {
            let is_test =
                name.contains(".test.") || name.contains(".spec.") || name.contains("_test.");
            let is_source = Path::new(&name)
                .extension()
                .and_then(|ending| ending.to_str())
                .is_some_and(|ending| endings.contains(&ending));
            if is_source && !is_test && texts.len() < MOST_SOURCES {
                texts.extend(super::read(&here.join(name)));
            }
        }
        let inner = folders.into_iter().rev().map(|name| here.join(name));
        waiting.extend(inner.filter(|inner| but.is_empty() || !inner.join(but).exists()));
    }
    texts
}
