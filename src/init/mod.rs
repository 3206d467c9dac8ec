//! What a repository seems to serve, and what a first suite of it would be. `folder` walks it, `node`, `rust`, `go` and
//! `procfile` know how servers are started, `clue` how they take their port and what they answer; `suite`, `github` and
//! `night` are the texts that `hotlap init` writes. Everything here is a guess, and says where somebody must look.

mod clue;
mod folder;
mod github;
mod go;
mod night;
mod node;
mod procfile;
mod rust;
mod suite;

pub use github::workflow;
pub use night::{Night, crontab, service, timer};
pub use suite::suite;

use clue::Port;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// So many servers make a first suite; more are only named.
const MOST_SERVERS: usize = 6;

/// What is needed to build or start a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    /// Node.js.
    Node,
    /// Rust, by Cargo.
    Rust,
    /// Go.
    Go,
    /// Python.
    Python,
}

/// A server that a repository seems to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name in the suite.
    pub name: String,
    /// Where it runs, from the repository's folder; empty is that folder.
    pub folder: PathBuf,
    /// What it is written in, where that is known.
    pub language: Option<Language>,
    /// Programs that it needs.
    requires: Vec<String>,
    /// Commands that make it.
    build: Vec<String>,
    /// Files that decide whether it must be made again; none is all of its folder.
    build_inputs: Vec<String>,
    /// What starts it.
    pub command: String,
    /// Variables that it gets.
    env: Vec<(String, String)>,
    /// How it takes its port.
    port: Port,
    /// Where that was seen: `package.json: scripts.start`.
    pub seen: String,
    /// What somebody must look at, in a sentence each.
    notes: Vec<String>,
    /// Paths that it seems to answer.
    paths: Vec<String>,
}

/// What was found in a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// What it is called.
    pub name: String,
    /// Its servers.
    pub servers: Vec<Server>,
    /// What may help a person: a Dockerfile's last command, servers that are only named.
    pub hints: Vec<String>,
}

impl Found {
    /// The programs that its servers need.
    pub fn programs(&self) -> BTreeSet<&str> {
        let all = self.servers.iter().flat_map(|server| &server.requires);
        all.map(String::as_str).collect()
    }

    /// The languages of its servers.
    pub fn languages(&self) -> BTreeSet<Language> {
        self.servers
            .iter()
            .filter_map(|server| server.language)
            .collect()
    }
}

/// Looks at a repository, whose folder must be there.
pub fn look(root: &Path) -> Found {
    let mut found = Found {
        name: name_of(root),
        ..Found::default()
    };
    let mut servers = Vec::new();
    for folder in folder::folders(root) {
        let mut here = node::servers(root, &folder);
        here.extend(rust::servers(root, &folder));
        here.extend(go::servers(root, &folder));
        procfile::apply(root, &folder, &mut here);
        found.hints.extend(procfile::docker(root, &folder));
        servers.extend(here);
    }
    unique_names(&mut servers);
    let more = servers.split_off(servers.len().min(MOST_SERVERS));
    found.hints.extend(more.iter().map(|server| {
        format!(
            "{} has a server too, which is not in the suite ({})",
            shown(&server.folder),
            server.seen
        )
    }));
    found.servers = servers;
    found
}

/// Names that a suite may have: two servers of one name are told apart by their folders, then by numbers.
fn unique_names(servers: &mut [Server]) {
    let mut taken = BTreeSet::new();
    for server in servers {
        let base = server.name.clone();
        let mut names = std::iter::once(base.clone())
            .chain([slug(&format!("{}-{base}", server.folder.display()))])
            .chain((2..).map(|number| format!("{base}-{number}")));
        if let Some(name) = names.find(|name| !taken.contains(name)) {
            taken.insert(name.clone());
            server.name = name;
        }
    }
}

/// A folder's own name, fit for a suite.
fn name_of(folder: &Path) -> String {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = real.file_name().map(|name| name.to_string_lossy());
    slug(name.as_deref().unwrap_or_default())
}

/// A name of lower-case letters, digits, `-`, `_` and `.`.
fn slug(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() {
        "app".to_owned()
    } else {
        name.chars().take(40).collect()
    }
}

/// A folder from the repository's, as people read it.
fn shown(folder: &Path) -> String {
    if folder.as_os_str().is_empty() {
        "this folder".to_owned()
    } else {
        folder.display().to_string()
    }
}

/// The text of a file, where it is one that is not too large.
fn read(path: &Path) -> Option<String> {
    const LARGEST: u64 = 1 << 20;
    let small =
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
    let bytes = small.then(|| std::fs::read(path).ok()).flatten()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
