//! What is said of several tables at once: who needs whom, and what nobody uses.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{At, ServerKeys, Suite};
use crate::suite::recover::{nearest, there_are};

/// Who needs whom, by names and places.
struct Graph<'a> {
    /// Each name with what it needs itself.
    edges: Vec<(&'a str, Vec<&'a At<String>>)>,
}

impl<'a> Graph<'a> {
    fn of(&self, name: &str) -> &[&'a At<String>] {
        self.edges
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(&[], |(_, needs)| needs.as_slice())
    }

    /// The steps of a way from `from` back to itself, where there is one.
    fn circle(&self, from: &'a str) -> Option<Vec<&'a At<String>>> {
        let mut seen: Vec<&str> = Vec::new();
        let mut way: Vec<&'a At<String>> = Vec::new();
        self.walk(from, from, &mut seen, &mut way).then_some(way)
    }

    fn walk(
        &self,
        goal: &str,
        at: &str,
        seen: &mut Vec<&'a str>,
        way: &mut Vec<&'a At<String>>,
    ) -> bool {
        for need in self.of(at) {
            way.push(need);
            if need.value == goal {
                return true;
            }
            if !seen.contains(&need.value.as_str()) {
                seen.push(&need.value);
                if self.walk(goal, &need.value, seen, way) {
                    return true;
                }
            }
            way.pop();
        }
        false
    }
}

fn needs(keys: &ServerKeys) -> Vec<&At<String>> {
    keys.needs.iter().flatten().collect()
}

impl Resolver {
    /// That what is needed is there, and that nothing needs itself.
    pub(super) fn needs(&mut self, suite: &Suite) {
        let services = Graph {
            edges: suite
                .services
                .iter()
                .map(|service| (service.name.value.as_str(), needs(&service.keys)))
                .collect(),
        };
        let of_services: Vec<&str> = names(&services);
        self.graph(&services, &of_services, "service");
        for server in &suite.servers {
            let mut edges = vec![];
            if server.processes.is_empty() {
                // A server that is one process has no name among its own.
                edges.push(("", needs(&server.keys)));
            }
            for process in &server.processes {
                edges.push((process.name.value.as_str(), needs(&process.keys)));
            }
            let graph = Graph { edges };
            let mut known = of_services.clone();
            known.extend(
                server
                    .processes
                    .iter()
                    .map(|process| process.name.value.as_str()),
            );
            self.graph(&graph, &known, "process or service");
            // What the server itself needs, its processes inherit: services only.
            if !server.processes.is_empty() {
                for need in needs(&server.keys) {
                    self.known(need, &of_services, "service");
                }
            }
        }
    }

    fn graph(&mut self, graph: &Graph<'_>, known: &[&str], what: &str) {
        let mut told: Vec<&At<String>> = Vec::new();
        for (name, needs) in &graph.edges {
            for need in needs {
                self.known(need, known, what);
            }
            let Some(way) = graph.circle(name) else {
                continue;
            };
            if way
                .iter()
                .any(|step| told.iter().any(|other| other.span == step.span))
            {
                continue;
            }
            let Some((first, rest)) = way.split_first() else {
                continue;
            };
            let names: Vec<&str> = way.iter().map(|step| step.value.as_str()).collect();
            let mut diagnostic = Diagnostic::error(
                code::CYCLE,
                format!("`{name}` needs itself: {name} → {}", names.join(" → ")),
                first.span.clone(),
            )
            .label(format!("`{name}` needs `{}`", first.value));
            let mut before = first;
            for step in rest {
                diagnostic = diagnostic.and(
                    step.span.clone(),
                    format!("`{}` needs `{}`", before.value, step.value),
                );
                before = step;
            }
            self.say(diagnostic.help("take one of these needs out: nothing can start first"));
            told.extend(way);
        }
    }

    fn known(&mut self, need: &At<String>, known: &[&str], what: &str) {
        if known.contains(&need.value.as_str()) {
            return;
        }
        let diagnostic = Diagnostic::error(
            code::UNKNOWN_NAME,
            format!("there is no {what} `{}` to need", need.value),
            need.span.clone(),
        );
        self.say(match nearest(&need.value, known) {
            Some(right) => diagnostic.label(format!("did you mean `{right}`?")),
            None => diagnostic.help(there_are(known)),
        });
    }

    /// Tables that nothing refers to: harmless, and perhaps a name that was mistyped elsewhere.
    pub(super) fn unused(&mut self, suite: &Suite) {
        self.never_started(suite);
        for mix in &suite.mixes {
            let used = suite.loads.iter().any(|load| {
                let name = load.keys.mix.as_ref();
                name.is_some_and(|name| name.value == mix.name.value)
            });
            if !used {
                let key = format!("mix = \"{}\"", mix.name.value);
                self.no_use("no load has this mix", &mix.name, &key);
            }
        }
        for service in &suite.services {
            let name = &service.name.value;
            let of = |keys: &ServerKeys| needs(keys).iter().any(|need| need.value == *name);
            let used = suite.services.iter().any(|other| of(&other.keys))
                || suite.servers.iter().any(|server| {
                    of(&server.keys) || server.processes.iter().any(|process| of(&process.keys))
                });
            if !used {
                let key = format!("needs = [\"{name}\"]");
                self.no_use(
                    "nothing needs this service, so it is not started",
                    &service.name,
                    &key,
                );
            }
        }
    }

    /// Processes that no cell starts: neither loaded in any, nor needed by one that is started.
    fn never_started(&mut self, suite: &Suite) {
        let set = || {
            let of_toggles = suite.toggles.iter().flat_map(|toggle| &toggle.values);
            let overrides = suite.overrides.iter().map(|one| &one.set);
            of_toggles.map(|value| &value.setting).chain(overrides)
        };
        for server in &suite.servers {
            let own = |name: &str| {
                let mut processes = server.processes.iter();
                processes.find(|process| process.name.value == name)
            };
            let first = server.processes.first().map(|process| &process.name);
            let fronts = set().filter_map(|setting| setting.front.as_ref());
            let mut started: Vec<&str> = server
                .front
                .as_ref()
                .or(first)
                .into_iter()
                .chain(fronts)
                .map(|name| name.value.as_str())
                .collect();
            let mut at = 0;
            while let Some(name) = started.get(at).copied() {
                at += 1;
                let settings = set().flat_map(|setting| &setting.processes);
                let keys = settings
                    .filter(|process| process.name.value == name)
                    .map(|process| &process.keys)
                    .chain(own(name).map(|process| &process.keys));
                let more: Vec<&str> = keys
                    .flat_map(needs)
                    .map(|need| need.value.as_str())
                    .collect();
                for need in more {
                    if !started.contains(&need) {
                        started.push(need);
                    }
                }
            }
            for process in &server.processes {
                if !started.contains(&process.name.value.as_str()) {
                    let key = format!("needs = [\"{}\"]", process.name.value);
                    self.no_use(
                        "nothing needs this process, so no cell starts it",
                        &process.name,
                        &key,
                    );
                }
            }
        }
    }

    fn no_use(&mut self, message: &str, name: &At<String>, key: &str) {
        self.say(
            Diagnostic::error(code::NO_EFFECT, message, name.span.clone())
                .as_warning()
                .help(format!("write `{key}` where it is wanted")),
        );
    }
}

fn names<'a>(graph: &Graph<'a>) -> Vec<&'a str> {
    graph.edges.iter().map(|(name, _)| *name).collect()
}
