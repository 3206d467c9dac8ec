//! Runtimes and tools: what servers run on, and what they require.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{At, Runtime, Template, Tool};
use crate::suite::recover::{nearest, there_are};
use crate::suite::schema::{self, Opt};
use crate::suite::template::Place;
use crate::suite::written::{Entries, Spanned, Words};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

/// `NAME-VERSION` of every version of every runtime.
pub(super) fn names(runtimes: &Entries<schema::Runtime>) -> Vec<String> {
    let mut all: Vec<String> = runtimes
        .0
        .iter()
        .flat_map(|(name, runtime)| {
            let versions = runtime.versions.as_ref().map(Spanned::get_ref);
            versions
                .into_iter()
                .flatten()
                .map(move |version| format!("{}-{}", name.get_ref(), version.get_ref()))
        })
        .collect();
    // A version that is there twice is said elsewhere.
    all.dedup();
    all
}

impl Resolver {
    pub(super) fn runtimes(&mut self, runtimes: Entries<schema::Runtime>) -> Vec<Runtime> {
        let runtimes: Vec<Runtime> = runtimes
            .0
            .into_iter()
            .map(|(name, runtime)| self.runtime(name, runtime))
            .collect();
        let mut known: BTreeMap<String, Range<usize>> = BTreeMap::new();
        for runtime in &runtimes {
            for version in &runtime.versions {
                let name = format!("{}-{}", runtime.name.value, version.value);
                match known.entry(name) {
                    Entry::Vacant(free) => {
                        free.insert(version.span.clone());
                    }
                    Entry::Occupied(taken) => self.out.push(
                        Diagnostic::error(
                            code::DUPLICATE,
                            format!("two runtimes are called `{}`", taken.key()),
                            version.span.clone(),
                        )
                        .label("again here")
                        .and(taken.get().clone(), "first here"),
                    ),
                }
            }
        }
        runtimes
    }

    fn runtime(&mut self, name: Spanned<String>, runtime: schema::Runtime) -> Runtime {
        self.name(&name, "runtime");
        let span = name.span();
        let missing = |what: &str, help: &str| {
            Diagnostic::error(
                code::MISSING,
                format!("the runtime `{}` has no {what}", name.get_ref()),
                span.clone(),
            )
            .help(help)
        };
        let versions = self.versions(runtime.versions);
        if versions.is_empty() {
            self.out.push(missing(
                "versions",
                "list them: versions = [\"20.18.0\"]; each is `NAME-VERSION` for servers",
            ));
        }
        let bin = runtime.bin.unwrap_or_default();
        if bin.is_empty() {
            self.out.push(missing(
                "program",
                "say where it is: bin = [\"{{ cache }}/bin/node\"]",
            ));
        }
        Runtime {
            versions,
            requires: self.requires(runtime.requires).unwrap_or_default(),
            build: self.build(runtime.build, Place::Runtime),
            bin: bin
                .into_iter()
                .map(|path| self.template(path, Place::Runtime))
                .collect(),
            probe: runtime
                .probe
                .map(|probe| self.command(probe, Place::RuntimeProbe)),
            name: At::new(name.into_inner(), span),
        }
    }

    fn versions(&mut self, versions: Opt<Vec<Spanned<String>>>) -> Vec<At<String>> {
        let mut all: Vec<At<String>> = Vec::new();
        for version in versions.map(Spanned::into_inner).unwrap_or_default() {
            self.name(&version, "version");
            let at = At::new(version.get_ref().clone(), version.span());
            if let Some(first) = all.iter().find(|known| known.value == at.value) {
                let diagnostic = Diagnostic::error(
                    code::DUPLICATE,
                    format!("the version `{}` is there twice", at.value),
                    at.span,
                );
                self.out.push(
                    diagnostic
                        .label("again here")
                        .and(first.span.clone(), "first here"),
                );
                continue;
            }
            all.push(at);
        }
        all
    }

    /// The runtime of a server: one of those that the suite defines, where it is known already.
    pub(super) fn runtime_name(&mut self, runtime: Opt<String>, place: Place) -> Option<Template> {
        let template = self.template(runtime?, place);
        let known = !template.value.contains("{{") && !template.value.contains("{%");
        if known && !self.runtimes.contains(&template.value) {
            let runtimes: Vec<&str> = self.runtimes.iter().map(String::as_str).collect();
            let diagnostic = Diagnostic::error(
                code::UNKNOWN_NAME,
                format!("there is no runtime `{}`", template.value),
                template.span.clone(),
            );
            let diagnostic = match nearest(&template.value, &runtimes) {
                Some(right) => diagnostic.label(format!("did you mean `{right}`?")),
                None => diagnostic.help(format!(
                    "{}; [runtimes.NAME] with `versions` defines `NAME-VERSION` each",
                    there_are(&runtimes)
                )),
            };
            self.say(diagnostic);
        }
        Some(template)
    }

    pub(super) fn tools(&mut self, tools: Entries<schema::Tool>) -> Vec<Tool> {
        tools
            .0
            .into_iter()
            .map(|(name, tool)| Tool {
                name: name.into_inner(),
                probe: tool.probe.map(|probe| self.plain_words(probe)),
                install: tool.install.map(Spanned::into_inner),
            })
            .collect()
    }

    /// A command without templates.
    fn plain_words(&mut self, words: Spanned<Words>) -> Vec<String> {
        let command = self.split(words);
        command.value.into_iter().map(|word| word.value).collect()
    }
}
