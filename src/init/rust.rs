//! Servers of Rust: the programs of a package of Cargo that lean on something that serves.

use super::{Language, Server, clue, folder, read, slug};
use std::path::{Path, PathBuf};

/// Packages that servers are made with.
const SERVES: [&str; 16] = [
    "axum",
    "actix-web",
    "warp",
    "rocket",
    "hyper",
    "tide",
    "poem",
    "salvo",
    "tiny_http",
    "rouille",
    "iron",
    "gotham",
    "ntex",
    "viz",
    "trillium",
    "tonic",
];

/// The servers of a folder with a `Cargo.toml`.
pub(super) fn servers(root: &Path, folder: &Path) -> Vec<Server> {
    let here = root.join(folder);
    let manifest =
        read(&here.join("Cargo.toml")).and_then(|text| toml::from_str::<toml::Table>(&text).ok());
    let Some(manifest) = manifest else {
        return Vec::new();
    };
    let package = manifest
        .get("package")
        .and_then(|package| package.get("name"))
        .and_then(toml::Value::as_str);
    let Some(package) = package else {
        return Vec::new();
    };
    let sources = folder::sources(&here, &["rs"], "Cargo.toml");
    let leans = manifest
        .get("dependencies")
        .and_then(toml::Value::as_table)
        .is_some_and(|all| all.keys().any(|name| SERVES.contains(&name.as_str())));
    if !leans
        && !sources
            .iter()
            .any(|text| text.contains("TcpListener::bind"))
    {
        return Vec::new();
    }
    let workspace = workspace(root, folder);
    let top = root.join(&workspace);
    let locked = if top.join("Cargo.lock").is_file() {
        " --locked"
    } else {
        ""
    };
    programs(&here, &manifest, package)
        .into_iter()
        .map(|program| Server {
            name: slug(&program),
            folder: workspace.clone(),
            language: Some(Language::Rust),
            requires: vec!["cargo".to_owned()],
            build: vec![format!(
                "cargo build --release{locked} --package {} --bin {}",
                shell_words::quote(package),
                shell_words::quote(&program)
            )],
            build_inputs: Vec::new(),
            command: shell_words::quote(&format!("target/release/{program}")).into_owned(),
            env: Vec::new(),
            port: if leans_on(&manifest, "rocket") {
                clue::Port::Variable("ROCKET_PORT".to_owned())
            } else {
                clue::port(&sources)
            },
            seen: format!("{}, the program {program}", place(folder)),
            notes: Vec::new(),
            paths: clue::paths(&sources),
        })
        .collect()
}

fn place(folder: &Path) -> String {
    folder.join("Cargo.toml").display().to_string()
}

fn leans_on(manifest: &toml::Table, name: &str) -> bool {
    manifest
        .get("dependencies")
        .is_some_and(|all| all.get(name).is_some())
}

/// The workspace of a package, in which its programs are built: the outermost folder above that has one, else its own.
fn workspace(root: &Path, folder: &Path) -> PathBuf {
    let has = |folder: &&Path| {
        read(&root.join(folder).join("Cargo.toml"))
            .and_then(|text| toml::from_str::<toml::Table>(&text).ok())
            .is_some_and(|manifest| manifest.contains_key("workspace"))
    };
    folder
        .ancestors()
        .filter(has)
        .last()
        .unwrap_or(folder)
        .to_owned()
}

/// The names of a package's programs.
fn programs(here: &Path, manifest: &toml::Table, package: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let named = manifest.get("bin").and_then(toml::Value::as_array);
    for bin in named.into_iter().flatten() {
        all.extend(
            bin.get("name")
                .and_then(toml::Value::as_str)
                .map(str::to_owned),
        );
    }
    let named_main = named
        .into_iter()
        .flatten()
        .any(|bin| bin.get("path").and_then(toml::Value::as_str) == Some("src/main.rs"));
    if here.join("src/main.rs").is_file() && !named_main {
        all.push(package.to_owned());
    }
    let more = std::fs::read_dir(here.join("src/bin"))
        .into_iter()
        .flatten()
        .flatten();
    let mut more: Vec<String> = more
        .filter_map(|entry| {
            let path = entry.path();
            let is_program = path.extension().is_some_and(|ending| ending == "rs")
                || path.join("main.rs").is_file();
            let name = path.file_stem()?.to_str()?.to_owned();
            is_program.then_some(name)
        })
        .collect();
    more.sort();
    for name in more {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}
