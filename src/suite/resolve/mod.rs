//! From what was written to what it means. Every rule about a single key lives
//! here; rules about cells live in `plan`. Nothing stops at a mistake: what is
//! wrong is said, and a harmless value stands in for it.

mod figure;
mod load;
mod needs;
mod process;
mod quantity;
mod ready;
mod request;
mod runtime;
mod selector;
mod server;
mod socket;
mod toggle;

pub(crate) use process::no_folder;
pub(crate) use request::check_target;

use super::code;
use super::model::{CpuShares, File, Override, Profile, Run, Suite};
use super::recover::{nearest, there_are};
use super::schema::{self, Opt};
use super::template::{Known, Place};
use super::written::{Entries, Spanned};
use crate::diagnostic::Diagnostic;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Turns a file into a suite; what is wrong with it comes beside it.
pub(super) fn suite(file: schema::File, name: &str, folder: &Path) -> (Suite, Vec<Diagnostic>) {
    let mut resolver = Resolver {
        folder: folder.to_owned(),
        servers: names(&file.servers),
        services: names(&file.services),
        processes: file
            .servers
            .0
            .iter()
            .map(|(name, server)| (name.get_ref().clone(), names(&server.processes)))
            .collect(),
        runtimes: runtime::names(&file.runtimes),
        mixes: names(&file.mixes),
        allow_public: allows_public(&file),
        loads: names(&file.loads),
        toggles: toggle::values_by_name(&file.toggles),
        out: Vec::new(),
    };
    let suite = resolver.suite(file, name);
    (suite, resolver.out)
}

/// Whether the run, or any profile's, may load public addresses.
fn allows_public(file: &schema::File) -> bool {
    let of_profiles = file
        .profiles
        .0
        .iter()
        .filter_map(|(_, profile)| profile.run.as_ref());
    file.run
        .iter()
        .map(Spanned::get_ref)
        .chain(of_profiles)
        .filter_map(|run| run.allow_public.as_ref())
        .any(|allowed| *allowed.get_ref())
}

fn names<T>(entries: &Entries<T>) -> Vec<String> {
    entries
        .0
        .iter()
        .map(|(name, _)| name.get_ref().clone())
        .collect()
}

struct Resolver {
    folder: PathBuf,
    servers: Vec<String>,
    services: Vec<String>,
    /// Each server with the names of its processes.
    processes: Vec<(String, Vec<String>)>,
    /// `NAME-VERSION` of every runtime.
    runtimes: Vec<String>,
    mixes: Vec<String>,
    loads: Vec<String>,
    /// Whether addresses beyond this machine and its network may be loaded.
    allow_public: bool,
    /// Each toggle with the names of its values.
    toggles: Vec<(String, Vec<String>)>,
    out: Vec<Diagnostic>,
}

impl Resolver {
    fn suite(&mut self, file: schema::File, name: &str) -> Suite {
        self.required(&file);
        let run = file.run.map(Spanned::into_inner).unwrap_or_default();
        let defaults = file.defaults.unwrap_or_default();
        let under_servers = self.default_server(defaults.server.unwrap_or_default());
        let under_loads = self.default_load(defaults.load.unwrap_or_default());
        let suite = Suite {
            name: name.to_owned(),
            folder: self.folder.clone(),
            title: file
                .title
                .map_or_else(|| name.to_owned(), Spanned::into_inner),
            description: file.description.map(Spanned::into_inner),
            run: self.run(run),
            runtimes: self.runtimes(file.runtimes),
            services: self.services(file.services),
            servers: self.servers(file.servers, &under_servers),
            toggles: self.toggles(file.toggles),
            overrides: self.overrides(file.overrides.unwrap_or_default()),
            matrix: self.matrix(file.matrix.unwrap_or_default()),
            loads: self.loads(file.loads, &under_loads),
            mixes: self.mixes(file.mixes),
            profiles: self.profiles(file.profiles),
            tools: self.tools(file.tools),
            gates: self.gates(file.gates),
            published: self.published(file.published),
        };
        self.needs(&suite);
        self.unused(&suite);
        suite
    }

    /// Without these there is nothing to measure.
    fn required(&mut self, file: &schema::File) {
        let missing = |what: &str, help: &str| {
            Diagnostic::error(code::MISSING, format!("the suite has no {what}"), 0..0).help(help)
        };
        if file.servers.0.is_empty() {
            self.out.push(missing(
                "server",
                "add one: [servers.NAME] with `command = \"…\"` that starts it",
            ));
        }
        if file.loads.0.is_empty() {
            self.out
                .push(missing("load", "add one: [loads.NAME] with `path = \"/\"`"));
        }
    }

    /// The names that a template may use the parts of.
    fn known_names(&self) -> Known<'_> {
        Known {
            toggles: self.toggles.iter().map(|(name, _)| name.as_str()).collect(),
            services: self.services.iter().map(String::as_str).collect(),
        }
    }

    fn say(&mut self, diagnostic: Diagnostic) {
        self.out.push(diagnostic);
    }

    fn run(&mut self, run: schema::Run) -> Run {
        Run {
            repetitions: self.repetitions(run.repetitions),
            order: self.order(run.order),
            seed: run.seed.map(Spanned::into_inner),
            warmup: self.duration(run.warmup),
            max_warmup: self.max_warmup(run.max_warmup),
            cooldown: self.duration(run.cooldown),
            rest: self.duration(run.rest),
            sample_interval: self.sample_interval(run.sample_interval),
            baseline: run
                .baseline
                .map(|selector| self.selector_at(selector, "baseline")),
            min_effect: self.share(run.min_effect),
            target: self.positive_share(run.target),
            max_repetitions: self.at_least(run.max_repetitions, 6, "max_repetitions"),
            max_errors: self.share(run.max_errors),
            budget: self.positive_duration(run.budget),
            cpus: run.cpus.map(|cpus| self.cpus(cpus.into_inner())),
            allow_public: run.allow_public.map(Spanned::into_inner),
        }
    }

    fn cpus(&mut self, cpus: schema::CpuShares) -> CpuShares {
        CpuShares {
            server: self.at_least(cpus.server, 1, "server"),
            generator: self.at_least(cpus.generator, 1, "generator"),
        }
    }

    fn overrides(&mut self, overrides: Vec<schema::Override>) -> Vec<Override> {
        overrides
            .into_iter()
            .map(|one| {
                let when = one.when.map(|when| self.selector_at(when, "when"));
                let set = one.set.map(Spanned::into_inner).unwrap_or_default();
                Override {
                    when,
                    set: self.setting(set, Place::Own),
                }
            })
            .collect()
    }

    fn profiles(&mut self, profiles: Entries<schema::Profile>) -> Vec<Profile> {
        profiles
            .0
            .into_iter()
            .map(|(name, profile)| {
                self.name(&name, "profile");
                let load = profile.load.unwrap_or_default();
                Profile {
                    name: name.into_inner(),
                    run: self.run(profile.run.unwrap_or_default()),
                    max_duration: self.positive_duration(load.max_duration),
                    max_requests: self.at_least(load.max_requests, 1, "max_requests"),
                    connections: self.connections(load.connections).map(|at| at.value),
                    warmup: self.duration(load.warmup),
                    timeout: self.positive_duration(load.timeout),
                    matrix: self.matrix(profile.matrix.unwrap_or_default()),
                }
            })
            .collect()
    }

    /// A file that the suite reads, looked at now so that what is sent is known before it is.
    fn file(&mut self, path: Spanned<String>) -> Option<File> {
        let span = path.span();
        let path = path.into_inner();
        let problem = match digest(&self.folder.join(&path)) {
            Ok(sha256) => return Some(File { path, sha256 }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                format!("there is no file {path}")
            }
            Err(error) => format!("the file {path} cannot be read: {error}"),
        };
        let help = format!(
            "paths start at the suite's folder, {}",
            self.folder.display()
        );
        self.say(Diagnostic::error(code::NO_SUCH_FILE, problem, span).help(help));
        None
    }

    /// The name of a server, toggle, value, load or profile.
    fn name(&mut self, name: &Spanned<String>, what: &str) {
        let text = name.get_ref();
        if text == "total" && matches!(what, "process" | "service") {
            self.say(
                Diagnostic::error(
                    code::BAD_NAME,
                    format!("a {what} cannot be called `total`"),
                    name.span(),
                )
                .help("reports call all processes together so"),
            );
        }
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        if !text.is_empty() && text.chars().all(good) && text != "." && text != ".." {
            return;
        }
        let proposal: String = text
            .to_lowercase()
            .chars()
            .map(|c| if good(c) { c } else { '-' })
            .collect();
        let proposal = proposal.trim_matches(['-', '.']);
        let diagnostic = Diagnostic::error(
            code::BAD_NAME,
            format!("\"{}\" cannot be the name of a {what}", text.escape_debug()),
            name.span(),
        )
        .label("lower-case letters, digits, `-`, `_` and `.` only");
        let help = if proposal.is_empty() {
            "`label` may be any text, and is what people see".to_owned()
        } else {
            format!(
                "name it `{proposal}`; `label = {}` is what people see",
                toml_string(text)
            )
        };
        self.say(diagnostic.help(help));
    }

    /// Says that nothing has this name.
    fn unknown(&mut self, what: &str, name: &str, span: Range<usize>, known: &[String]) {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let diagnostic = Diagnostic::error(
            code::UNKNOWN_NAME,
            format!("there is no {what} `{name}`"),
            span,
        );
        self.say(match nearest(name, &known) {
            Some(right) => diagnostic.label(format!("did you mean `{right}`?")),
            None => diagnostic.help(there_are(&known)),
        });
    }

    fn label(&mut self, label: Opt<String>, name: &str) -> String {
        match label {
            Some(label) if label.get_ref().trim().is_empty() => {
                self.say(Diagnostic::error(
                    code::BAD_VALUE,
                    "a label cannot be empty",
                    label.span(),
                ));
                name.to_owned()
            }
            Some(label)
                if label
                    .get_ref()
                    .contains(|c: char| c.is_control() && c != '\n') =>
            {
                self.say(
                    Diagnostic::error(code::BAD_VALUE, "a label is plain text", label.span())
                        .help("take the control characters out"),
                );
                name.to_owned()
            }
            Some(label) => label.into_inner(),
            None => name.to_owned(),
        }
    }
}

/// The SHA-256 of a file's content, in hexadecimal digits.
fn digest(path: &Path) -> std::io::Result<String> {
    // A pipe or a device may never end.
    if path.metadata()?.is_file() {
        let mut file = std::fs::File::open(path)?;
        let mut hash = Sha256::new();
        let mut piece = vec![0; 64 * 1024];
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                break;
            }
            hash.update(&piece[..read]);
        }
        return Ok(hash.finalize().iter().fold(String::new(), |mut out, byte| {
            // Writing to a String cannot fail.
            let _ = write!(out, "{byte:02x}");
            out
        }));
    }
    Err(std::io::Error::other("it is no regular file"))
}

/// A text as TOML writes it.
fn toml_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // Writing to a String cannot fail.
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c)).unwrap_or(()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
