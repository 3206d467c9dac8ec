//! Servers of Node.js, by `package.json`: the script `start`, else `serve`, else `main`.

use super::clue::{self, Port};
use super::{Language, Server, folder, read, slug};
use serde_json::Value;
use std::path::Path;

/// What may be in a server's `main`, where no script starts it.
const SERVES: [&str; 4] = ["createServer", ".listen(", "Deno.serve", "Bun.serve"];
/// Programs that serve people who develop, and whose speed is nobody's.
const DEVELOPS: [&str; 4] = ["react-scripts", "vite", "nodemon", "ts-node-dev"];

/// The server of a folder, where it has one.
pub(super) fn servers(root: &Path, folder: &Path) -> Vec<Server> {
    let here = root.join(folder);
    let package =
        read(&here.join("package.json")).and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let workspace = workspace(root, folder);
    package
        .and_then(|package| server(&here, folder, &package, &workspace))
        .into_iter()
        .collect()
}

fn server(here: &Path, folder: &Path, package: &Value, workspace: &str) -> Option<Server> {
    let sources = folder::sources(here, &["js", "mjs", "cjs", "ts", "mts"], "package.json");
    let scripts = package.get("scripts");
    let script = |name: &str| Some((name.to_owned(), scripts?.get(name)?.as_str()?.to_owned()));
    let mut server = Server {
        name: name(here, package),
        folder: folder.to_owned(),
        language: Some(Language::Node),
        requires: vec!["node".to_owned()],
        build: Vec::new(),
        build_inputs: Vec::new(),
        command: String::new(),
        env: Vec::new(),
        port: clue::port(&sources),
        seen: String::new(),
        notes: Vec::new(),
        paths: clue::paths(&sources),
    };
    let file = folder.join("package.json").display().to_string();
    if let Some((name, line)) = script("start").or_else(|| script("serve")) {
        server.seen = format!("{file}, scripts.{name}: {line}");
        start(&mut server, &name, &line);
    } else {
        let main = main(here, package)?;
        if !sources
            .iter()
            .any(|text| SERVES.iter().any(|word| text.contains(word)))
        {
            return None;
        }
        server.seen = format!("{file}, main: {main}");
        server.command = format!("node {}", shell_words::quote(&main));
    }
    build(here, workspace, package, &mut server);
    Some(server)
}

fn name(here: &Path, package: &Value) -> String {
    let name = package.get("name").and_then(Value::as_str);
    // @scope/name
    let name = name.and_then(|name| name.rsplit('/').next());
    name.filter(|name| !name.is_empty())
        .map_or_else(|| super::name_of(here), slug)
}

/// The file that `main` names, or that is called as such a file is.
fn main(here: &Path, package: &Value) -> Option<String> {
    let named = package.get("main").and_then(Value::as_str);
    named
        .into_iter()
        .chain(["server.js", "index.js", "app.js"])
        .find(|file| here.join(file).is_file())
        .map(str::to_owned)
}

/// What starts a server by a script. One that is only node and its arguments is started without npm, whose own process
/// would be measured too.
fn start(server: &mut Server, name: &str, line: &str) {
    let words = shell_words::split(line).unwrap_or_default();
    let is_setting = |word: &&String| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let settings: Vec<&String> = words.iter().take_while(is_setting).collect();
    let rest = &words[settings.len()..];
    let needs_shell = line.contains(['|', '&', ';', '<', '>', '$', '`', '*', '{']);
    if rest.first().is_some_and(|word| word == "node") && !needs_shell {
        for (name, value) in settings.iter().filter_map(|word| word.split_once('=')) {
            server.env.push((name.to_owned(), value.to_owned()));
        }
        server.command = shell_words::join(rest);
    } else {
        server.command = format!("npm run --silent {name}");
        server.requires.push("npm".to_owned());
        server.notes.push(format!(
            "npm is a process of its own, and counts as memory; what the script `{name}` starts can stand here instead: {line}"
        ));
    }
    let first = rest.first().map(String::as_str).unwrap_or_default();
    if DEVELOPS.contains(&first) {
        server.notes.push(format!(
            "{first} serves people who develop; what your users meet is more worth measuring"
        ));
    }
    if first == "fastify" && !line.contains("-p") {
        server.port = Port::Variable("FASTIFY_PORT".to_owned());
    }
    if first == "next" && !line.contains("-p") {
        server.port = Port::Variable("PORT".to_owned());
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The way up to the workspace that a package belongs to, as `../../`; empty where it stands alone.
fn workspace(root: &Path, folder: &Path) -> String {
    let is_one = |above: &Path| {
        let above = root.join(above);
        let package = read(&above.join("package.json"))
            .and_then(|text| serde_json::from_str::<Value>(&text).ok());
        package.is_some_and(|package| package.get("workspaces").is_some())
            || above.join("pnpm-workspace.yaml").is_file()
    };
    let ups = folder.ancestors().skip(1).position(is_one);
    ups.map_or_else(String::new, |ups| "../".repeat(ups + 1))
}

/// What installs packages and builds, where there is anything to install or build.
fn build(here: &Path, workspace: &str, package: &Value, server: &mut Server) {
    let some = |key: &str| {
        package
            .get(key)
            .and_then(Value::as_object)
            .is_some_and(|all| !all.is_empty())
    };
    let builds = package
        .get("scripts")
        .and_then(|all| all.get("build"))
        .is_some();
    let managers = [
        ("package-lock.json", "npm", "npm ci", "npm run build"),
        ("npm-shrinkwrap.json", "npm", "npm ci", "npm run build"),
        (
            "pnpm-lock.yaml",
            "pnpm",
            "pnpm install --frozen-lockfile",
            "pnpm run build",
        ),
        (
            "yarn.lock",
            "yarn",
            "yarn install --frozen-lockfile",
            "yarn run build",
        ),
    ];
    let found = managers
        .iter()
        .find(|(lock, ..)| here.join(workspace).join(lock).is_file());
    let (lock, program, install, make) = found.unwrap_or(&(
        "",
        "npm",
        "npm install --no-audit --no-fund",
        "npm run build",
    ));
    if some("dependencies") || some("devDependencies") {
        server.build.push((*install).to_owned());
    }
    if builds {
        server.build.push((*make).to_owned());
    } else if !server.build.is_empty() {
        server.build_inputs = vec!["package.json".to_owned()];
        let lock = (!lock.is_empty()).then(|| format!("{workspace}{lock}"));
        server.build_inputs.extend(lock);
    }
    if !server.build.is_empty() && !server.requires.iter().any(|one| one == program) {
        server.requires.push((*program).to_owned());
    }
    // A build may need packages that an installation for production leaves out.
    if !builds && !server.env.iter().any(|(name, _)| name == "NODE_ENV") {
        server
            .env
            .push(("NODE_ENV".to_owned(), "production".to_owned()));
    }
}
