//! The text of a first suite.

use super::clue::Port;
use super::{Found, Server};
use std::fmt::Write as _;
use std::path::Path;

/// So many paths are named for a person to choose from.
const NAMED_PATHS: usize = 6;

/// A first suite. Its file lies in the folder `suites` of the repository.
pub fn suite(found: &Found) -> String {
    let name = &found.name;
    let mut text = format!(
        "# A first suite of {name}, by `hotlap init`. It is made of what was seen in the repository: each LOOK is a guess.\n\
         #\n\
         #   hotlap check suites/{name}.toml                  what is wrong with it\n\
         #   hotlap plan suites/{name}.toml                   what would run, and how long that takes\n\
         #   hotlap run suites/{name}.toml --profile quick    whether all of it works\n\
         \n\
         title = {}\n",
        quoted(&format!("{name}: requests per second, latency and memory"))
    );
    for server in &found.servers {
        one(&mut text, server);
    }
    if found.servers.is_empty() {
        text.push_str(NOTHING);
    }
    for hint in &found.hints {
        let _ = writeln!(text, "# LOOK: {}.", in_a_line(hint));
    }
    load(&mut text, found);
    text.push_str(REST);
    text
}

/// Where no server was found, the one that hotlap brings along, so that the suite runs.
const NOTHING: &str = r#"
[servers.demo]
# LOOK: nothing that serves was found here. Put your server in the place of this one, which hotlap brings along.
# PORT is in its environment, and {{ port }} may stand in the command.
#   command = "node index.js"
#   cwd = "../api"
#   build = ["npm ci"]
command = "hotlap serve"
"#;

/// What every suite may have.
const REST: &str = r#"
# An error is never speed: with `--gate` a single one ends a run with exit code 3.
[[gates]]
errors = { max = 0 }

# Shows that all of it works; too short for verdicts.
[profiles.quick]
run = { repetitions = 3, warmup = "1s", rest = "200ms", cooldown = "100ms" }
load = { max_duration = "2s" }

# A toggle is tried with each of its values:
#   [toggles.workers]
#   values = [1, 2, 4]
#   env.WORKERS = "{{ value }}"
"#;

fn one(text: &mut String, server: &Server) {
    let mut line = |line: String| {
        let _ = writeln!(text, "{line}");
    };
    line(format!("\n[servers.{}]", server.name));
    line(format!("# seen in {}", in_a_line(&server.seen)));
    line(format!("command = {}", quoted(&server.command)));
    line(format!("cwd = {}", quoted(&from_suites(&server.folder))));
    for (key, values) in [
        ("requires", &server.requires),
        ("build", &server.build),
        ("build_inputs", &server.build_inputs),
    ] {
        if !values.is_empty() {
            let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            line(format!("{key} = [{}]", values.join(", ")));
        }
    }
    for (name, value) in &server.env {
        line(format!("env.{} = {}", key(name), quoted(value)));
    }
    match &server.port {
        Port::Variable(name) if name == "PORT" => {
            line("# A free port is in PORT, which it seems to read.".to_owned());
        }
        Port::Variable(name) => {
            line(format!(
                "# LOOK: it seems to read its port from {name}, and not from PORT."
            ));
            line(format!("env.{} = \"{{{{ port }}}}\"", key(name)));
        }
        Port::Arguments(_) => {
            line("# LOOK: its port is an argument, which seems to be called so.".to_owned());
        }
        Port::Fixed(port) => {
            line(format!(
                "# LOOK: it seems to listen on {port}, whatever PORT says; without the next line it is given a free port."
            ));
            line(format!("port = {port}"));
        }
        Port::Unknown => line(
            "# LOOK: how does it learn its port? A free one is in PORT, and {{ port }} may stand in `command`; a fixed one is port = 8080."
                .to_owned(),
        ),
    }
    for note in &server.notes {
        line(format!("# LOOK: {}.", in_a_line(note)));
    }
}

fn load(text: &mut String, found: &Found) {
    text.push_str("\n[loads.steady]\n");
    let first = found.servers.first().map(|server| &server.paths[..]);
    let path = first
        .and_then(<[String]>::first)
        .map_or("/", String::as_str);
    let mut seen: Vec<&str> = found
        .servers
        .iter()
        .flat_map(|server| server.paths.iter().map(String::as_str))
        .collect();
    seen.sort_unstable();
    seen.dedup();
    let more = seen.len() > NAMED_PATHS;
    seen.truncate(NAMED_PATHS);
    let seen = match (seen.is_empty(), more) {
        (true, _) => String::new(),
        (false, more) => format!(
            "; seen: {}{}",
            seen.join(", "),
            if more { ", …" } else { "" }
        ),
    };
    let each = if found.servers.len() > 1 {
        "each of the servers"
    } else {
        "the server"
    };
    if !found.servers.is_empty() {
        let _ = writeln!(
            text,
            "# LOOK: a path that {each} answers with 200, and that is worth measuring{seen}."
        );
    }
    let _ = writeln!(text, "path = {}", quoted(path));
    text.push_str(
        "connections = 50\n\
         duration = \"15s\"\n\
         # What must come back, so that an error page is not taken for speed:\n\
         #   expect = { headers.content-type = \"application/json\", min_size = \"1kB\" }\n",
    );
    for server in &found.servers {
        if let Some(other) = server
            .paths
            .first()
            .filter(|_| !server.paths.iter().any(|one| one == path))
        {
            let _ = write!(
                text,
                "\n# {} was not seen to answer {path}.\n[[overrides]]\nwhen = {{ server = {} }}\nset = {{ path = {} }}\n",
                server.name,
                quoted(&server.name),
                quoted(other)
            );
        }
    }
}

/// A folder of the repository as a suite in its folder `suites` names it.
fn from_suites(folder: &Path) -> String {
    Path::new("..")
        .join(folder)
        .display()
        .to_string()
        .trim_end_matches('/')
        .to_owned()
}

/// A basic string of TOML, whose escapes are those of JSON; of the characters that must be escaped JSON leaves one.
fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap_or_default();
    json.replace('\u{7f}', "\\u007F")
}

/// A key of TOML.
fn key(name: &str) -> String {
    let bare = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    if bare { name.to_owned() } else { quoted(name) }
}

/// A text that ends no comment.
fn in_a_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
