//! Servers of Go: the packages `main` of a module that listen.

use super::clue::{self, Port};
use super::{Language, Server, folder, read, slug};
use std::path::Path;

/// What stands in a module that serves.
const SERVES: [&str; 6] = [
    "ListenAndServe",
    "net.Listen(",
    "http.Serve(",
    "gin-gonic/gin",
    "labstack/echo",
    "gofiber/fiber",
];

/// The servers of a folder with a `go.mod`.
pub(super) fn servers(root: &Path, folder: &Path) -> Vec<Server> {
    let here = root.join(folder);
    let Some(module) = read(&here.join("go.mod")) else {
        return Vec::new();
    };
    let module = module
        .lines()
        .find_map(|line| line.trim().strip_prefix("module "))
        .map(|name| name.trim().trim_matches('"').to_owned())
        .unwrap_or_default();
    let sources = folder::sources(&here, &["go"], "go.mod");
    if !sources
        .iter()
        .any(|text| SERVES.iter().any(|word| text.contains(word)))
    {
        return Vec::new();
    }
    folder::folders(&here)
        .into_iter()
        .filter(|package| package.as_os_str().is_empty() || !has_module(&here, package))
        .filter(|package| is_program(&here.join(package)))
        .map(|package| {
            let own = folder::sources(&here.join(&package), &["go"], "go.mod");
            let last = package.file_name().map_or_else(
                || last_part(&module).to_owned(),
                |name| name.to_string_lossy().into_owned(),
            );
            let name = slug(&last);
            // Two programs of one name lie in different folders.
            let program = if package.as_os_str().is_empty() {
                name.clone()
            } else {
                slug(&package.display().to_string())
            };
            let mut command = format!(".hotlap/{program}");
            let port = match clue::port(&own) {
                Port::Unknown => clue::port(&sources),
                found => found,
            };
            if let Port::Arguments(arguments) = &port {
                command = format!("{command} {arguments}");
            }
            let target = if package.as_os_str().is_empty() {
                ".".to_owned()
            } else {
                format!("./{}", package.display())
            };
            Server {
                build: vec![format!(
                    "go build -o .hotlap/{program} {}",
                    shell_words::quote(&target)
                )],
                name,
                folder: folder.to_owned(),
                language: Some(Language::Go),
                requires: vec!["go".to_owned()],
                build_inputs: Vec::new(),
                command,
                env: Vec::new(),
                port,
                seen: format!(
                    "{}, the package main in {target}",
                    folder.join("go.mod").display()
                ),
                notes: Vec::new(),
                paths: clue::paths(&sources),
            }
        })
        .collect()
}

/// Whether a folder of a module is, or lies in, another module.
fn has_module(module: &Path, package: &Path) -> bool {
    package
        .ancestors()
        .filter(|folder| !folder.as_os_str().is_empty())
        .any(|folder| module.join(folder).join("go.mod").is_file())
}

/// The last part of a module's path that is no version.
fn last_part(module: &str) -> &str {
    let is_version = |part: &&str| {
        part.strip_prefix('v')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    module
        .rsplit('/')
        .find(|part| !is_version(part))
        .unwrap_or("app")
}

/// Whether the files of a folder itself are a program.
fn is_program(folder: &Path) -> bool {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_source = Path::new(&name)
                .extension()
                .is_some_and(|ending| ending == "go")
                && !name.ends_with("_test.go");
            is_source && read(&entry.path()).is_some_and(|text| is_main(&text))
        })
}

/// Whether a file is one of `package main` that is built.
fn is_main(text: &str) -> bool {
    let left_out = text.lines().any(|line| line.trim() == "//go:build ignore");
    !left_out
        && text.lines().any(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some("package") && words.next() == Some("main")
        })
}
