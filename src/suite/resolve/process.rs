//! What is started: the keys that servers, processes and services have in common.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{At, Command, Requirement, Scratch, ServerKeys, Template};
use crate::suite::schema::{self, List, Opt};
use crate::suite::template::Place;
use crate::suite::written::{CommandList, Entries, Spanned, Words};
use std::net::IpAddr;
use std::ops::Range;
use std::time::Duration;

/// Signals that ask a process to end.
const STOP_SIGNALS: &[&str] = &[
    "SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2",
];

impl Resolver {
    pub(super) fn keys(&mut self, keys: schema::Common, place: Place) -> ServerKeys {
        let (stop_signal, stop_grace) = self.stop(keys.stop);
        let env = self.env(keys.env, place);
        let pass_env = self.variables(keys.pass_env);
        let secret = self.variables(keys.secret);
        let by_port = [
            ("port", keys.port.as_ref().map(Spanned::span)),
            ("address", keys.address.as_ref().map(Spanned::span)),
        ];
        let socket = self.socket(keys.socket, by_port, place);
        ServerKeys {
            cwd: self.cwd(keys.cwd, place),
            runtime: self.runtime_name(keys.runtime, place),
            requires: self.requires(keys.requires),
            build: self.build(keys.build, place),
            build_inputs: keys.build_inputs.map(located),
            build_timeout: self.positive_duration(keys.build_timeout),
            command: keys.command.map(|command| self.command(command, place)),
            env,
            unset_env: self.unset_env(keys.unset_env),
            pass_env,
            secret,
            port: self.port(keys.port),
            address: self.address(keys.address),
            socket,
            files: self.files(keys.files, place),
            scratch: self.scratch(keys.scratch),
            ready: self.ready(keys.ready, place),
            prepare: self.build(keys.prepare, place),
            stop_signal,
            stop_grace,
            needs: keys.needs.map(located),
            probe: keys.probe.map(|probe| self.command(probe, place)),
        }
    }

    fn scratch(&mut self, scratch: Opt<String>) -> Option<At<Scratch>> {
        let span = scratch.as_ref()?.span();
        let known = [("none", Scratch::None), ("copy", Scratch::Copy)];
        self.one_of(scratch, "kind of scratch folder", &known)
            .map(|scratch| At::new(scratch, span))
    }

    /// Files that are rendered into a scratch folder, and may not leave it.
    fn files(
        &mut self,
        files: Entries<Spanned<String>>,
        place: Place,
    ) -> Vec<(At<String>, Template)> {
        files
            .0
            .into_iter()
            .map(|(name, source)| {
                let text = name.get_ref();
                let leaves = std::path::Path::new(text)
                    .components()
                    .any(|part| !matches!(part, std::path::Component::Normal(_)));
                if text.is_empty() || text.ends_with('/') || leaves {
                    self.say(
                        Diagnostic::error(
                            code::BAD_VALUE,
                            format!(
                                "\"{}\" is no file in the scratch folder",
                                text.escape_debug()
                            ),
                            name.span(),
                        )
                        .help("write a name, or a path below it: \"conf/nginx.conf\""),
                    );
                }
                let span = name.span();
                (
                    At::new(name.into_inner(), span),
                    self.template(source, place),
                )
            })
            .collect()
    }

    fn port(&mut self, port: Opt<u16>) -> Option<u16> {
        let port = port?;
        if *port.get_ref() == 0 {
            self.say(
                Diagnostic::error(code::BAD_VALUE, "0 is not a port", port.span())
                    .help("leave `port` out, and hotlap finds a free one for each trial"),
            );
            return None;
        }
        Some(port.into_inner())
    }

    fn address(&mut self, address: Opt<String>) -> Option<String> {
        let address = address?;
        let text = address.get_ref();
        let good = text.parse::<IpAddr>().is_ok()
            || (!text.is_empty()
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-'));
        if !good {
            self.say(
                Diagnostic::error(
                    code::BAD_VALUE,
                    format!("\"{text}\" is neither an address nor a host name"),
                    address.span(),
                )
                .help(
                    "write \"127.0.0.1\", \"::1\" or \"localhost\"; the port is a key of its own",
                ),
            );
            return None;
        }
        self.not_public(text, address.span());
        Some(address.into_inner())
    }

    pub(super) fn cwd(&mut self, cwd: Opt<String>, place: Place) -> Option<Template> {
        let cwd = self.template(cwd?, place);
        // A folder whose name is rendered is looked for when its cells are known.
        let known = !cwd.value.contains("{{") && !cwd.value.contains("{%");
        if known && !self.folder.join(&cwd.value).is_dir() {
            self.say(
                Diagnostic::error(code::NO_SUCH_FILE, no_folder(&cwd.value), cwd.span.clone())
                    .as_warning()
                    .label("nothing can run here")
                    .help(format!(
                        "paths start at the suite's folder, {}",
                        self.folder.display()
                    )),
            );
        }
        Some(cwd)
    }

    /// Load on other people's machines must be asked for.
    pub(super) fn not_public(&mut self, host: &str, span: Range<usize>) {
        let public = match host.parse::<IpAddr>() {
            Ok(IpAddr::V4(v4)) => {
                !(v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_unspecified())
            }
            Ok(IpAddr::V6(v6)) => {
                !(v6.is_loopback()
                    || v6.is_unique_local()
                    || v6.is_unicast_link_local()
                    || v6.is_unspecified())
            }
            // What a name stands for is known when it is loaded, and looked at then.
            Err(_) => false,
        };
        if public && !self.allow_public {
            self.say(
                Diagnostic::error(code::BAD_VALUE, format!("{host} is a public address"), span)
                    .help(
                        "load only what is yours; `allow_public = true` in [run] says that it is",
                    ),
            );
        }
    }

    pub(super) fn env(
        &mut self,
        env: Entries<Spanned<String>>,
        place: Place,
    ) -> Vec<(At<String>, Template)> {
        env.0
            .into_iter()
            .map(|(name, text)| {
                self.env_name(&name);
                let span = name.span();
                (At::new(name.into_inner(), span), self.template(text, place))
            })
            .collect()
    }

    pub(super) fn variables(&mut self, names: List<String>) -> Option<Vec<At<String>>> {
        let names = names?;
        Some(
            names
                .into_iter()
                .map(|name| {
                    self.env_name(&name);
                    let span = name.span();
                    At::new(name.into_inner(), span)
                })
                .collect(),
        )
    }

    /// Variables that are taken away; PORT is what the server listens on.
    pub(super) fn unset_env(&mut self, names: List<String>) -> Option<Vec<At<String>>> {
        let names = self.variables(names)?;
        for name in names.iter().filter(|name| name.value == "PORT") {
            self.say(
                Diagnostic::error(code::BAD_VALUE, "PORT is always set", name.span.clone())
                    .help("a server that does not want it may ignore it"),
            );
        }
        Some(names)
    }

    fn env_name(&mut self, name: &Spanned<String>) {
        let text = name.get_ref();
        if text.is_empty() || text.contains(['=', '\0']) {
            self.say(Diagnostic::error(
                code::BAD_VALUE,
                format!("\"{}\" cannot name a variable", text.escape_debug()),
                name.span(),
            ));
        }
    }

    pub(super) fn build(
        &mut self,
        build: Opt<CommandList>,
        place: Place,
    ) -> Option<At<Vec<Command>>> {
        let build = build?;
        let span = build.span();
        let list = build.into_inner().0;
        let words: Vec<String> = list
            .iter()
            .filter_map(|command| match command.get_ref() {
                Words::Line(line) => Some(line.clone()),
                Words::List(_) => None,
            })
            .collect();
        let whole = words.len() == list.len() && list.len() > 1;
        let is_flag = words.iter().any(|word| word.starts_with('-'));
        if whole && (is_flag || words.iter().all(|word| !word.contains(' '))) {
            let diagnostic = Diagnostic::error(
                code::BAD_COMMAND,
                format!("this is {} commands, one an element", words.len()),
                span.clone(),
            )
            .help(format!(
                "one command is one string: [{}]",
                super::toml_string(&shell_words::join(&words))
            ));
            // A flag is no program; single words may be two programs.
            self.say(if is_flag {
                diagnostic
            } else {
                diagnostic.as_warning()
            });
        }
        let commands = list
            .into_iter()
            .map(|command| {
                let at = if command.span().is_empty() {
                    span.clone()
                } else {
                    command.span()
                };
                self.command(Spanned::new(at, command.into_inner()), place)
            })
            .collect();
        Some(At::new(commands, span))
    }

    fn stop(&mut self, stop: Opt<schema::Stop>) -> (Option<String>, Option<Duration>) {
        let stop = stop.map(Spanned::into_inner).unwrap_or_default();
        let grace = self.duration(stop.grace);
        let Some(signal) = stop.signal else {
            return (None, grace);
        };
        if !STOP_SIGNALS.contains(&signal.get_ref().as_str()) {
            self.say(
                Diagnostic::error(
                    code::BAD_VALUE,
                    format!(
                        "\"{}\" is not a signal that ends a process",
                        signal.get_ref()
                    ),
                    signal.span(),
                )
                .help(format!("write one of {}", STOP_SIGNALS.join(", "))),
            );
        }
        (Some(signal.into_inner()), grace)
    }

    pub(super) fn requires(&mut self, requires: List<String>) -> Option<Vec<At<Requirement>>> {
        let requires = requires?;
        let mut all = Vec::new();
        for text in requires {
            if let Some(requirement) = requirement(text.get_ref()) {
                all.push(At::new(requirement, text.span()));
                continue;
            }
            self.say(
                Diagnostic::error(
                    code::BAD_REQUIREMENT,
                    format!("\"{}\" is not a requirement", text.get_ref()),
                    text.span(),
                )
                .help("write \"node\", \"node >= 18\", \"env NAME\" or \"./a-file\""),
            );
        }
        Some(all)
    }
}

fn requirement(text: &str) -> Option<Requirement> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let program = |name: &str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c))
            && name.chars().any(|c| c.is_ascii_alphanumeric())
    };
    let version = |text: &str| {
        text.split('.')
            .all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
    };
    match words.as_slice() {
        ["env", name] if !name.contains('=') => Some(Requirement::Env((*name).to_owned())),
        [path] if path.contains('/') => Some(Requirement::File((*path).to_owned())),
        [name] if program(name) => Some(Requirement::Tool {
            name: (*name).to_owned(),
            at_least: None,
        }),
        [name, ">=", least] if program(name) && version(least) => Some(Requirement::Tool {
            name: (*name).to_owned(),
            at_least: Some((*least).to_owned()),
        }),
        _ => None,
    }
}

impl ServerKeys {
    /// These keys laid over others: `env` merges by name, the rest is replaced.
    pub(super) fn over(self, under: &Self) -> Self {
        // What one layer sets, a higher one can take away, and the other way round.
        let taken = |name: &At<String>| {
            self.unset_env
                .iter()
                .flatten()
                .any(|unset| unset.value == name.value)
        };
        let env: Vec<_> = under
            .env
            .iter()
            .filter(|(name, _)| !taken(name))
            .cloned()
            .collect();
        let set = |name: &At<String>| self.env.iter().any(|(own, _)| own.value == name.value);
        let inherited = under
            .unset_env
            .iter()
            .flatten()
            .filter(|name| !set(name))
            .cloned();
        let files = by_name(&under.files, self.files);
        let unset_env = self
            .unset_env
            .clone()
            .unwrap_or_else(|| inherited.collect());
        let env = by_name(&env, self.env);
        Self {
            cwd: self.cwd.or_else(|| under.cwd.clone()),
            runtime: self.runtime.or_else(|| under.runtime.clone()),
            build_inputs: self.build_inputs.or_else(|| under.build_inputs.clone()),
            pass_env: self.pass_env.or_else(|| under.pass_env.clone()),
            secret: self.secret.or_else(|| under.secret.clone()),
            files,
            scratch: self.scratch.or_else(|| under.scratch.clone()),
            prepare: self.prepare.or_else(|| under.prepare.clone()),
            needs: self.needs.or_else(|| under.needs.clone()),
            requires: self.requires.or_else(|| under.requires.clone()),
            build: self.build.or_else(|| under.build.clone()),
            build_timeout: self.build_timeout.or(under.build_timeout),
            command: self.command.or_else(|| under.command.clone()),
            env,
            unset_env: Some(unset_env),
            port: self.port.or(under.port),
            address: self.address.or_else(|| under.address.clone()),
            socket: self.socket.or_else(|| under.socket.clone()),
            ready: self.ready.over(&under.ready),
            stop_signal: self.stop_signal.or_else(|| under.stop_signal.clone()),
            stop_grace: self.stop_grace.or(under.stop_grace),
            probe: self.probe.or_else(|| under.probe.clone()),
        }
    }
}

/// What is said of a folder that is not there.
pub(crate) fn no_folder(cwd: &str) -> String {
    format!("there is no folder {cwd}")
}

/// Lists merged by exact name: a later entry replaces an earlier one.
fn by_name<T: Clone>(
    under: &[(At<String>, T)],
    over: Vec<(At<String>, T)>,
) -> Vec<(At<String>, T)> {
    let mut all = under.to_vec();
    for (name, value) in over {
        match all.iter_mut().find(|(known, _)| known.value == name.value) {
            Some(entry) => *entry = (name, value),
            None => all.push((name, value)),
        }
    }
    all
}

/// Texts with their places.
fn located(texts: Vec<Spanned<String>>) -> Vec<At<String>> {
    texts
        .into_iter()
        .map(|text| {
            let span = text.span();
            At::new(text.into_inner(), span)
        })
        .collect()
}
