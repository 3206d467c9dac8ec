//! Servers and services, and the processes that they are made of.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{At, Process, Scope, Server, ServerKeys, Service};
use crate::suite::recover::{nearest, there_are};
use crate::suite::schema::{self, Opt};
use crate::suite::template::Place;
use crate::suite::written::{Entries, Spanned};

/// More processes of one kind than this are a mistyped number.
const MOST_PROCESSES: u32 = 1000;

impl Resolver {
    /// `[defaults.server]`.
    pub(super) fn default_server(&mut self, mut server: schema::Server) -> ServerKeys {
        let own = [
            ("label", server.label.as_ref().map(Spanned::span)),
            ("front", server.front.as_ref().map(Spanned::span)),
            ("url", server.url.as_ref().map(Spanned::span)),
            (
                "processes",
                server.processes.0.first().map(|(name, _)| name.span()),
            ),
        ];
        for (key, span) in own {
            if let Some(span) = span {
                self.say(
                    Diagnostic::error(
                        code::NO_EFFECT,
                        format!("servers cannot share `{key}`"),
                        span,
                    )
                    .help("give each server its own"),
                );
            }
        }
        self.keys(server.take_common(), Place::Own)
    }

    pub(super) fn servers(
        &mut self,
        servers: Entries<schema::Server>,
        under: &ServerKeys,
    ) -> Vec<Server> {
        servers
            .0
            .into_iter()
            .map(|(name, server)| self.server(name, server, under))
            .collect()
    }

    fn server(
        &mut self,
        name: Spanned<String>,
        mut server: schema::Server,
        under: &ServerKeys,
    ) -> Server {
        self.name(&name, "server");
        let label = self.label(server.label.take(), name.get_ref());
        let own = self.keys(server.take_common(), Place::Own);
        let url = self.url(server.url.take(), &own, &server.processes);
        let keys = own.over(under);
        let front = self.front(server.front, &server.processes, &name);
        let span = name.span();
        Server {
            label,
            keys,
            front,
            url,
            processes: self.processes(server.processes, Place::Own),
            name: At::new(name.into_inner(), span),
        }
    }

    pub(super) fn processes(
        &mut self,
        processes: Entries<schema::Process>,
        place: Place,
    ) -> Vec<Process> {
        processes
            .0
            .into_iter()
            .map(|(name, mut process)| {
                self.name(&name, "process");
                let span = name.span();
                Process {
                    name: At::new(name.into_inner(), span),
                    keys: self.keys(process.take_common(), place),
                    count: self.count(process.count),
                }
            })
            .collect()
    }

    fn count(&mut self, count: Opt<u32>) -> Option<At<u32>> {
        let count = self.positive_at(count, "count")?;
        if count.value > MOST_PROCESSES {
            self.say(Diagnostic::error(
                code::BAD_VALUE,
                format!("more than {MOST_PROCESSES} processes of one kind cannot be meant"),
                count.span,
            ));
            return None;
        }
        Some(count)
    }

    /// The process that is loaded: one of the server's own.
    fn front(
        &mut self,
        front: Opt<String>,
        processes: &Entries<schema::Process>,
        server: &Spanned<String>,
    ) -> Option<At<String>> {
        let names = super::names(processes);
        let Some(front) = front else {
            if names.len() > 1 {
                let known: Vec<&str> = names.iter().map(String::as_str).collect();
                self.say(
                    Diagnostic::error(
                        code::MISSING,
                        format!(
                            "the server `{}` does not say which of its processes is loaded",
                            server.get_ref()
                        ),
                        server.span(),
                    )
                    .help(format!(
                        "add `front = \"{}\"`; {}",
                        known[0],
                        there_are(&known)
                    )),
                );
            }
            return None;
        };
        if names.is_empty() {
            self.say(
                Diagnostic::error(
                    code::NO_EFFECT,
                    "this server has no processes to choose from",
                    front.span(),
                )
                .help("take `front` out, or give it [servers.NAME.processes.NAME] tables"),
            );
            return None;
        }
        self.process_name(&front, &names);
        let span = front.span();
        Some(At::new(front.into_inner(), span))
    }

    /// A process that one of these servers has.
    pub(super) fn process_name(&mut self, name: &Spanned<String>, known: &[String]) {
        if known.contains(name.get_ref()) {
            return;
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let diagnostic = Diagnostic::error(
            code::UNKNOWN_NAME,
            format!("there is no process `{}`", name.get_ref()),
            name.span(),
        );
        self.say(match nearest(name.get_ref(), &known) {
            Some(right) => diagnostic.label(format!("did you mean `{right}`?")),
            None => diagnostic.help(there_are(&known)),
        });
    }

    /// Where a server already runs. Whoever started it decides how.
    fn url(
        &mut self,
        url: Opt<String>,
        own: &ServerKeys,
        processes: &Entries<schema::Process>,
    ) -> Option<At<String>> {
        let url = url?;
        if let Some(path) = url.get_ref().strip_prefix("unix:") {
            self.socket_path(path, url.span());
        }
        if !is_origin(url.get_ref()) {
            self.say(
                Diagnostic::error(
                    code::BAD_VALUE,
                    format!(
                        "\"{}\" is not the address of a server",
                        url.get_ref().escape_debug()
                    ),
                    url.span(),
                )
                .help("write \"http://127.0.0.1:8080\" or \"unix:/run/app.sock\"; the path of requests is a key of the load"),
            );
        }
        let host = url.get_ref().split("://").nth(1).unwrap_or_default();
        let host = host
            .trim_end_matches('/')
            .rsplit_once(':')
            .map_or(host, |(host, _)| host);
        self.not_public(host.trim_matches(['[', ']', '/']), url.span());
        let started = [
            ("command", own.command.as_ref().map(|command| &command.span)),
            ("build", own.build.as_ref().map(|build| &build.span)),
            ("runtime", own.runtime.as_ref().map(|runtime| &runtime.span)),
            ("prepare", own.prepare.as_ref().map(|prepare| &prepare.span)),
            ("env", own.env.first().map(|(name, _)| &name.span)),
            ("cwd", own.cwd.as_ref().map(|cwd| &cwd.span)),
            ("files", own.files.first().map(|(name, _)| &name.span)),
            ("processes", None),
        ];
        let mut said: Vec<(&str, std::ops::Range<usize>)> = started
            .into_iter()
            .filter_map(|(key, span)| Some((key, span?.clone())))
            .collect();
        said.extend(
            processes
                .0
                .first()
                .map(|(name, _)| ("processes", name.span())),
        );
        for (key, span) in said {
            self.say(
                Diagnostic::error(
                    code::CONFLICT,
                    format!("a server that already runs has no `{key}`"),
                    span,
                )
                .label("how it would be started")
                .and(url.span(), "where it already runs")
                .help("take one of them out"),
            );
        }
        let span = url.span();
        Some(At::new(url.into_inner(), span))
    }

    pub(super) fn services(&mut self, services: Entries<schema::Service>) -> Vec<Service> {
        services
            .0
            .into_iter()
            .map(|(name, mut service)| {
                self.name(&name, "service");
                let span = name.span();
                let label = self.label(service.label.take(), name.get_ref());
                let keys = self.keys(service.take_common(), Place::Own);
                if keys.command.is_none() {
                    self.say(
                        Diagnostic::error(
                            code::MISSING,
                            format!("the service `{}` has no command", name.get_ref()),
                            span.clone(),
                        )
                        .help("add `command = \"…\"`, the line that starts it"),
                    );
                }
                let setup = self.build(service.setup, Place::Own);
                Service {
                    label,
                    keys,
                    setup: setup.map(|setup| setup.value).unwrap_or_default(),
                    scope: self.scope_of_service(service.scope),
                    name: At::new(name.into_inner(), span),
                }
            })
            .collect()
    }

    fn scope_of_service(&mut self, scope: Opt<String>) -> Scope {
        let known = [("suite", Scope::Suite), ("trial", Scope::Trial)];
        self.one_of(scope, "scope", &known).unwrap_or(Scope::Suite)
    }
}

/// Whether a text is `http://host[:port]` or the same with `https`.
fn is_origin(text: &str) -> bool {
    if let Some(path) = text.strip_prefix("unix:") {
        return path.starts_with('/') && path.len() > 1;
    }
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    rest.map(|rest| rest.strip_suffix('/').unwrap_or(rest))
        .is_some_and(|rest| {
            let (host, port) = match rest.rsplit_once(':') {
                Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
                _ => (rest, None),
            };
            let bracketed = host
                .strip_prefix('[')
                .and_then(|host| host.strip_suffix(']'));
            let good_host = match bracketed {
                Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
                None => {
                    !host.is_empty()
                        && host
                            .chars()
                            .all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
                }
            };
            good_host && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
        })
}
