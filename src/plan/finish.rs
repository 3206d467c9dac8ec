//! The end of a cell's expansion: what has been laid on becomes the cell, with
//! defaults for what nobody said, and its identity from all of it.

use super::Options;
use super::expand::{Draft, Expansion};
use super::matrix::Names;
use crate::diagnostic::Diagnostic;
use crate::ids::{CellId, VariantId, hex};
use crate::spec::{
    Amount, Build, Cell, Choice, LoadSpec, ProcessSpec, Ready, Request, StopPolicy, Text,
};
use crate::suite::{self, LoadKeys, Profile, Run};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::time::Duration;

impl Expansion<'_> {
    pub(super) fn finish(
        &mut self,
        mut draft: Draft,
        profile: Option<&Profile>,
        run: &Run,
        options: &Options,
    ) -> Cell {
        let names = self.names;
        let work = self.work(&mut draft, profile, run);
        let ready = ready(&mut draft, &work);
        let builds = self.builds(&draft);
        let probe = self.probe();
        let requires = std::mem::take(&mut draft.requires);
        let process = self.process(draft);
        let (variant, id) = ids(
            names,
            &Identity {
                builds: &builds,
                process: &ProcessSpec {
                    port: None,
                    ..process.clone()
                },
                ready: &ready,
                work: &work,
            },
        );
        Cell {
            id,
            variant,
            server: names.server.name.value.clone(),
            server_label: names.server.label.clone(),
            toggles: choices(names),
            load: names.load.name.value.clone(),
            load_label: names.load.label.clone(),
            baseline: None,
            requires,
            builds,
            front: process.role.clone(),
            processes: vec![process],
            trial_timeout: trial_timeout(&names.load.keys, &ready, &work),
            ready,
            work,
            repetitions: repetitions(&names.load.keys, profile, run, options),
            probe,
            skip: None,
        }
    }

    /// What is started.
    fn process(&mut self, mut draft: Draft) -> ProcessSpec {
        let server = self.names.server;
        if draft.command.is_empty() {
            self.mistakes.push(
                Diagnostic::error(
                    suite::MISSING,
                    format!("the server `{}` has no command", server.name.value),
                    server.name.span.clone(),
                )
                .help("add `command = \"…\"`, the line that starts it"),
            );
        }
        draft.command.append(&mut draft.args);
        let keys = &server.keys;
        ProcessSpec {
            role: "server".to_owned(),
            command: draft.command,
            cwd: draft.cwd.unwrap_or_else(|| Text::literal(".")),
            env: draft.env,
            unset_env: draft.unset_env,
            address: keys
                .address
                .clone()
                .unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: keys.port,
            stop: StopPolicy {
                signal: keys
                    .stop_signal
                    .clone()
                    .unwrap_or_else(|| "SIGTERM".to_owned()),
                grace: keys.stop_grace.unwrap_or(Duration::from_secs(5)),
            },
        }
    }

    fn probe(&mut self) -> Option<Vec<String>> {
        let probe = self.names.server.keys.probe.as_ref()?;
        let words = self.command(Some(probe))?;
        Some(
            words
                .iter()
                .map(|word| self.whole(word, &probe.span, "`probe`"))
                .collect(),
        )
    }

    fn builds(&mut self, draft: &Draft) -> Vec<Build> {
        if draft.build.is_empty() {
            return Vec::new();
        }
        let server = self.names.server;
        let keys = &server.keys;
        let name = || server.name.span.clone();
        let commands_span = keys
            .build
            .as_ref()
            .map_or_else(name, |build| build.span.clone());
        let cwd_span = keys.cwd.as_ref().map_or_else(name, |cwd| cwd.span.clone());
        let mut whole = |word: &Text| self.whole(word, &commands_span, "`build`");
        let commands = draft
            .build
            .iter()
            .map(|command| command.iter().map(&mut whole).collect())
            .collect();
        let cwd = draft.cwd.clone().unwrap_or_else(|| Text::literal("."));
        vec![Build {
            cwd: self.whole(&cwd, &cwd_span, "`cwd` of a server with `build`"),
            commands,
            timeout: keys.build_timeout.unwrap_or(Duration::from_mins(15)),
        }]
    }

    fn work(&mut self, draft: &mut Draft, profile: Option<&Profile>, run: &Run) -> LoadSpec {
        let names = self.names;
        let load = &names.load.keys;
        let path = draft.path.take().unwrap_or_else(|| Text::literal("/"));
        if let Some(target) = path.as_literal()
            && let Err((message, help)) = suite::check_target(target)
        {
            let span = load
                .path
                .as_ref()
                .map_or_else(|| names.load.name.span.clone(), |path| path.span.clone());
            self.mistakes.push(
                Diagnostic::error(
                    suite::BAD_REQUEST,
                    format!("the path \"{target}\": {message}"),
                    span,
                )
                .help(help),
            );
        }
        let amount = load
            .amount
            .unwrap_or(suite::Amount::Duration(Duration::from_secs(30)));
        let limit =
            |value, limit: Option<_>| limit.map_or(value, |limit| std::cmp::min(value, limit));
        LoadSpec {
            request: Request {
                method: load.method.clone().unwrap_or_else(|| "GET".to_owned()),
                path,
                headers: std::mem::take(&mut draft.headers),
                body: load.body.as_ref().and_then(|body| match &body.value {
                    suite::Body::Text(text) | suite::Body::Json(text) => Some(text.clone()),
                    suite::Body::File(_) => None,
                }),
            },
            expect: std::mem::take(&mut draft.expect),
            connections: draft.connections.unwrap_or(64),
            amount: match amount {
                suite::Amount::Duration(duration) => Amount::Duration(limit(
                    duration,
                    profile.and_then(|profile| profile.max_duration),
                )),
                suite::Amount::Requests(requests) => Amount::Requests(
                    profile
                        .and_then(|profile| profile.max_requests)
                        .map_or(requests, |most| requests.min(most)),
                ),
            },
            warmup: profile
                .and_then(|profile| profile.warmup)
                .or(load.warmup)
                .or(run.warmup)
                .unwrap_or(Duration::from_secs(5)),
            timeout: profile
                .and_then(|profile| profile.timeout)
                .or(load.timeout)
                .unwrap_or(Duration::from_secs(10)),
            keep_alive: draft.keep_alive.unwrap_or(true),
        }
    }
}

/// A suite that names a path of its own knows what it answers; else the load's own path is
/// asked for, and any answer shows that the server is there.
fn ready(draft: &mut Draft, work: &LoadSpec) -> Ready {
    Ready {
        status: draft
            .ready_status
            .or(draft.ready_path.is_some().then_some(200)),
        path: draft
            .ready_path
            .take()
            .unwrap_or_else(|| work.request.path.clone()),
        timeout: draft.ready_timeout.unwrap_or(Duration::from_secs(30)),
    }
}

fn choices(names: &Names<'_>) -> Vec<Choice> {
    names
        .toggles
        .iter()
        .map(|(toggle, value)| Choice {
            toggle: toggle.name.value.clone(),
            value: value.name.value.clone(),
            label: value.label.clone(),
        })
        .collect()
}

/// A load may want fewer trials than the run; a profile or the caller that names
/// a number wants no cell to have more.
fn repetitions(load: &LoadKeys, profile: Option<&Profile>, run: &Run, options: &Options) -> u32 {
    if let Some(repetitions) = options.repetitions {
        return repetitions;
    }
    let of_run = trials(run);
    let own = load.repetitions.unwrap_or(of_run);
    match profile.and_then(|profile| profile.run.repetitions) {
        Some(suite::Repetitions::Number(most)) => own.min(most),
        Some(suite::Repetitions::Auto) | None => own,
    }
}

/// The trials that a run asks for; where their number is found, the most there may be.
pub(super) fn trials(run: &Run) -> u32 {
    match run.repetitions {
        Some(suite::Repetitions::Number(number)) => number,
        Some(suite::Repetitions::Auto) => run.max_repetitions.unwrap_or(30),
        None => 10,
    }
}

fn trial_timeout(load: &LoadKeys, ready: &Ready, work: &LoadSpec) -> Duration {
    load.trial_timeout.unwrap_or(match work.amount {
        Amount::Duration(duration) => {
            2 * (ready.timeout + work.warmup + duration) + Duration::from_mins(1)
        }
        Amount::Requests(_) => Duration::from_mins(30),
    })
}

/// Everything that could change a figure. Its hash tells two cells apart.
#[derive(Serialize)]
struct Identity<'a> {
    builds: &'a [Build],
    process: &'a ProcessSpec,
    ready: &'a Ready,
    work: &'a LoadSpec,
}

fn ids(names: &Names<'_>, identity: &Identity<'_>) -> (VariantId, CellId) {
    let mut variant = names.server.name.value.clone();
    for (toggle, value) in &names.toggles {
        // Writing to a String cannot fail.
        let _ = write!(variant, "/{}={}", toggle.name.value, value.name.value);
    }
    let text = serde_json::to_vec(identity).unwrap_or_default();
    let hash = hex(&Sha256::digest(&text)[..6]);
    let id = CellId(format!("{variant}@{}#{hash}", names.load.name.value));
    (VariantId(variant), id)
}
