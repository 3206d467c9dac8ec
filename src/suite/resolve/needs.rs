//! What is said of several tables at once: who needs whom, and what nobody uses.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{At, ServerKeys, Suite};
use crate::suite::recover::{nearest, there_are};
use std::collections::HashMap;

/// Who needs whom, by names and places.
struct Graph<'a> {
    /// Each name with what it needs itself.
    edges: Vec<(&'a str, Vec<&'a At<String>>)>,
}

/// How far a search has come with a name.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Unseen,
    OnTheWay,
    Done,
}

impl<'a> Graph<'a> {
    /// The circles, each by a name and the steps that lead from it back to itself. One step is in one of
    /// them only.
    fn circles(&self) -> Vec<(&'a str, Vec<&'a At<String>>)> {
        let places: HashMap<&str, usize> = self
            .edges
            .iter()
            .enumerate()
            .map(|(at, (name, _))| (*name, at))
            .collect();
        let mut marks = vec![Mark::Unseen; self.edges.len()];
        let mut found = Vec::new();
        for start in 0..self.edges.len() {
            if marks[start] != Mark::Unseen {
                continue;
            }
            marks[start] = Mark::OnTheWay;
            // Each name on the way, with the number of its needs that were followed.
            let mut way = vec![(start, 0)];
            while let Some((at, followed)) = way.last_mut() {
                let at = *at;
                let Some(need) = self.edges[at].1.get(*followed) else {
                    marks[at] = Mark::Done;
                    way.pop();
                    continue;
                };
                *followed += 1;
                let Some(next) = places.get(need.value.as_str()).copied() else {
                    continue;
                };
                match marks[next] {
                    Mark::Done => {}
                    Mark::Unseen => {
                        marks[next] = Mark::OnTheWay;
                        way.push((next, 0));
                    }
                    Mark::OnTheWay => {
                        let from = way.iter().position(|(name, _)| *name == next);
                        let steps = way[from.unwrap_or(0)..].iter();
                        let steps = steps.map(|(name, followed)| self.edges[*name].1[followed - 1]);
                        found.push((self.edges[next].0, steps.collect()));
                    }
                }
            }
        }
        found
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
        for need in graph.edges.iter().flat_map(|(_, needs)| needs) {
            self.known(need, known, what);
        }
        for (name, way) in graph.circles() {
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
