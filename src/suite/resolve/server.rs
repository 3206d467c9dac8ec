//! Servers: what is started, and what it needs.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{At, Command, ReadyKeys, Requirement, Server, ServerKeys, Template};
use crate::suite::schema::{self, Opt};
use crate::suite::written::{Commands, Entries, Words};
use toml::Spanned;

/// Signals that ask a process to end.
const STOP_SIGNALS: &[&str] = &[
    "SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2",
];

impl Resolver {
    pub(super) fn servers(
        &mut self,
        servers: Entries<schema::Server>,
        under: &ServerKeys,
    ) -> Vec<Server> {
        servers
            .0
            .into_iter()
            .map(|(name, mut server)| {
                self.name(&name, "server");
                let label = self.label(server.label.take(), name.get_ref());
                let keys = self.server_keys(server).over(under);
                let span = name.span();
                Server {
                    name: At::new(name.into_inner(), span),
                    label,
                    keys,
                }
            })
            .collect()
    }

    pub(super) fn server_keys(&mut self, server: schema::Server) -> ServerKeys {
        if let Some(label) = server.label {
            self.say(
                Diagnostic::error(
                    code::NO_EFFECT,
                    "servers cannot share a label",
                    label.span(),
                )
                .help("give each server its own"),
            );
        }
        let (stop_signal, stop_grace) = self.stop(server.stop);
        ServerKeys {
            cwd: self.cwd(server.cwd, false),
            requires: self.requires(server.requires),
            build: self.build(server.build, false),
            build_timeout: self.positive_duration(server.build_timeout),
            command: server.command.map(|command| self.command(command, false)),
            env: self.env(server.env, false),
            unset_env: self.unset_env(server.unset_env),
            port: self.port(server.port),
            address: self.address(server.address),
            ready: self.ready(server.ready, false),
            stop_signal,
            stop_grace,
            probe: server.probe.map(|probe| self.command(probe, false)),
        }
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
        let good = text.parse::<std::net::IpAddr>().is_ok()
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
        Some(address.into_inner())
    }

    pub(super) fn cwd(&mut self, cwd: Opt<String>, value: bool) -> Option<Template> {
        let cwd = self.template(cwd?, value);
        // A folder whose name is rendered is looked for when its cells are known.
        let known = !cwd.value.contains("{{") && !cwd.value.contains("{%");
        if known && !self.folder.join(&cwd.value).is_dir() {
            self.say(
                Diagnostic::error(
                    code::NO_SUCH_FILE,
                    format!("there is no folder {}", cwd.value),
                    cwd.span.clone(),
                )
                .help(format!(
                    "paths start at the suite's folder, {}",
                    self.folder.display()
                )),
            );
        }
        Some(cwd)
    }

    pub(super) fn env(
        &mut self,
        env: Entries<Spanned<String>>,
        value: bool,
    ) -> Vec<(At<String>, Template)> {
        env.0
            .into_iter()
            .map(|(name, text)| {
                self.env_name(&name);
                let span = name.span();
                (At::new(name.into_inner(), span), self.template(text, value))
            })
            .collect()
    }

    pub(super) fn unset_env(
        &mut self,
        names: Option<Vec<Spanned<String>>>,
    ) -> Option<Vec<At<String>>> {
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

    pub(super) fn build(&mut self, build: Opt<Commands>, value: bool) -> Option<At<Vec<Command>>> {
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
                let place = if command.span().is_empty() {
                    span.clone()
                } else {
                    command.span()
                };
                self.command(Spanned::new(place, command.into_inner()), value)
            })
            .collect();
        Some(At::new(commands, span))
    }

    pub(super) fn ready(&mut self, ready: Opt<schema::Ready>, value: bool) -> ReadyKeys {
        let ready = ready.map(Spanned::into_inner).unwrap_or_default();
        ReadyKeys {
            path: ready.path.map(|path| self.request_path(path, value)),
            status: self.status(ready.status),
            timeout: self.positive_duration_at(ready.timeout),
        }
    }

    fn stop(&mut self, stop: Opt<schema::Stop>) -> (Option<String>, Option<std::time::Duration>) {
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

    pub(super) fn requires(
        &mut self,
        requires: Option<Vec<Spanned<String>>>,
    ) -> Option<Vec<At<Requirement>>> {
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
        let mut env: Vec<_> = under
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
        let unset_env = self
            .unset_env
            .clone()
            .unwrap_or_else(|| inherited.collect());
        for (name, text) in self.env {
            match env.iter_mut().find(|(known, _)| known.value == name.value) {
                Some(entry) => *entry = (name, text),
                None => env.push((name, text)),
            }
        }
        Self {
            cwd: self.cwd.or_else(|| under.cwd.clone()),
            requires: self.requires.or_else(|| under.requires.clone()),
            build: self.build.or_else(|| under.build.clone()),
            build_timeout: self.build_timeout.or(under.build_timeout),
            command: self.command.or_else(|| under.command.clone()),
            env,
            unset_env: Some(unset_env),
            port: self.port.or(under.port),
            address: self.address.or_else(|| under.address.clone()),
            ready: ReadyKeys {
                path: self.ready.path.or_else(|| under.ready.path.clone()),
                status: self.ready.status.or_else(|| under.ready.status.clone()),
                timeout: self.ready.timeout.or_else(|| under.ready.timeout.clone()),
            },
            stop_signal: self.stop_signal.or_else(|| under.stop_signal.clone()),
            stop_grace: self.stop_grace.or(under.stop_grace),
            probe: self.probe.or_else(|| under.probe.clone()),
        }
    }
}
