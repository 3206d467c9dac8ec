//! What a cell sends: the request or the mix, how fast and how much of it, and what must come back.

use super::draft::{Layer, LoadDraft, Wish};
use super::expand::Expansion;
use crate::diagnostic::Diagnostic;
use crate::spec::{
    Amount, Arrivals, Expect, FileRef, Http, LoadSpec, MixRequest, Pace, Ready, Request,
    RunSettings, SearchLimit, Stage, Text, Tls,
};
use crate::suite::{self, Body, Repetitions, Run, Setting};
use std::ops::Range;
use std::time::Duration;

type Settings<'s, 'a> = &'s [(Layer<'a>, &'a Setting)];

/// A search may take so long, and its measured phase tried four times.
const SEARCH_TIMEOUT: Duration = Duration::from_mins(30);

impl<'a> Expansion<'_, 'a> {
    pub(super) fn work(&mut self, draft: &LoadDraft<'a>, settings: Settings<'_, 'a>) -> LoadSpec {
        self.layer = Layer::Own;
        let load = &self.names.load.keys;
        let profile = self.common.profile;
        let request = self.request(draft);
        let expect = self.expect(draft);
        let mix = self.mix(settings);
        let pace = draft.pace.map(|pace| self::pace(&pace.what.value));
        let http = draft.http.map_or(Http::One, |http| match http.what.value {
            suite::Http::One => Http::One,
            suite::Http::Two => Http::Two,
        });
        self.fits_together(draft, http);
        let most = if pace.is_some() { 1000 } else { 64 };
        // A profile is said of every load; a toggle, whose name stands in the report, knows better.
        let own = draft
            .connections
            .filter(|connections| !matches!(connections.layer, Layer::Own));
        let connections = own
            .map(|connections| connections.what.value)
            .or(profile.and_then(|profile| profile.connections))
            .or(draft.connections.map(|connections| connections.what.value));
        let written = profile
            .and_then(|profile| profile.warmup)
            .or(load.warmup)
            .or(self.common.run.warmup);
        LoadSpec {
            request,
            expect,
            connections: connections.unwrap_or(most),
            amount: self.amount(),
            warmup: written.unwrap_or_else(|| self.pilots().warmup_window()),
            find_warmup: written.is_none(),
            timeout: profile
                .and_then(|profile| profile.timeout)
                .or(load.timeout)
                .unwrap_or(Duration::from_secs(10)),
            keep_alive: draft.keep_alive.is_none_or(|keep| keep.what.value),
            generator: self
                .common
                .options
                .generator
                .clone()
                .or_else(|| load.generator.as_ref().map(|at| at.value.clone()))
                .filter(|generator| generator != "built-in"),
            mix,
            arrivals: match load.arrivals.as_ref().map(|arrivals| arrivals.value) {
                Some(suite::Arrivals::Poisson) => Arrivals::Poisson,
                Some(suite::Arrivals::Uniform) | None => Arrivals::Uniform,
            },
            pace: self.limited(pace),
            http,
            streams: draft.streams.map_or(1, |streams| streams.what.value),
            pipelining: load.pipelining.as_ref().map_or(1, |at| at.value),
            tls: draft.tls.map_or_else(
                || self.implied(),
                |tls| {
                    Some(Tls {
                        ca: tls.what.value.ca.as_ref().map(file_ref),
                        server_name: tls.what.value.server_name.clone(),
                        insecure: tls.what.value.insecure,
                    })
                },
            ),
            rounds: load.rounds.as_ref().map_or(1, |at| at.value),
        }
    }

    /// A server whose address says that it speaks TLS is spoken to so.
    fn implied(&self) -> Option<Tls> {
        let url = self.names.server.url.as_ref()?;
        url.value.starts_with("https:").then_some(Tls {
            ca: None,
            server_name: None,
            insecure: false,
        })
    }

    /// How long pilots look for a warm-up.
    fn pilots(&self) -> RunSettings {
        super::settings(self.common.run, self.common.options)
    }

    fn amount(&self) -> Amount {
        let profile = self.common.profile;
        let own = self.names.load.keys.amount;
        match own.unwrap_or(suite::Amount::Duration(Duration::from_secs(30))) {
            suite::Amount::Duration(duration) => Amount::Duration(
                profile
                    .and_then(|profile| profile.max_duration)
                    .map_or(duration, |most| duration.min(most)),
            ),
            suite::Amount::Requests(requests) => Amount::Requests(
                profile
                    .and_then(|profile| profile.max_requests)
                    .map_or(requests, |most| requests.min(most)),
            ),
        }
    }

    /// Stages that a profile wants shorter get shorter alike.
    fn limited(&self, pace: Option<Pace>) -> Option<Pace> {
        let most = self.common.profile.and_then(|profile| profile.max_duration);
        match (pace?, most) {
            (Pace::Stages(stages), Some(most)) => {
                let total: Duration = stages.iter().map(|stage| stage.duration).sum();
                let factor = most.as_secs_f64() / total.as_secs_f64();
                let shorter = |stage: Stage| Stage {
                    duration: stage.duration.mul_f64(factor.min(1.0)),
                    ..stage
                };
                Some(Pace::Stages(stages.into_iter().map(shorter).collect()))
            }
            (pace, _) => Some(pace),
        }
    }

    /// The requests of the load's mix, each with the load's keys below and the settings on top.
    fn mix(&mut self, settings: Settings<'_, 'a>) -> Vec<MixRequest> {
        let suite = self.common.suite;
        let load = &self.names.load.keys;
        let Some(name) = &load.mix else {
            return Vec::new();
        };
        let Some(mix) = suite.mixes.iter().find(|mix| mix.name.value == name.value) else {
            return Vec::new();
        };
        mix.requests
            .iter()
            .map(|one| {
                let mut draft = LoadDraft::default();
                self.layer = Layer::Own;
                self.lay_load(&mut draft, load);
                self.lay_load(&mut draft, &one.keys);
                for (layer, setting) in settings {
                    self.layer = *layer;
                    self.lay_load(&mut draft, &setting.load);
                }
                // What toggles disagree on was said of the load itself.
                self.conflicts.clear();
                self.layer = Layer::Own;
                MixRequest {
                    request: self.request(&draft),
                    path_file: one.path_file.as_ref().map(|file| file_ref(&file.value)),
                    weight: one.weight,
                    expect: self.expect(&draft),
                }
            })
            .collect()
    }

    fn request(&mut self, draft: &LoadDraft<'a>) -> Request {
        let path = draft.path.map_or_else(
            || Text::literal("/"),
            |path| self.text(path.what, path.layer),
        );
        // A path that could not be rendered has been complained of.
        let unrendered = draft.path.is_some_and(|path| {
            super::render::is_template(&path.what.value)
                && self.try_text(path.what, path.layer).is_err()
        });
        if let Some(target) = path.as_literal()
            && !unrendered
            && let Err((message, help)) = suite::check_target(target)
        {
            let span = draft
                .path
                .map_or(&self.names.load.name.span, |path| &path.what.span);
            self.mistakes.push(
                Diagnostic::error(
                    suite::BAD_REQUEST,
                    format!("the path \"{target}\": {message}"),
                    span.clone(),
                )
                .help(help),
            );
        }
        let (body, body_file) = self.body(draft);
        let headers = self.request_headers(draft);
        Request {
            method: draft.method.unwrap_or("GET").to_owned(),
            path,
            headers,
            body,
            body_file,
        }
    }

    /// The headers that are wanted, with the type of a body that is written as JSON.
    fn request_headers(&mut self, draft: &LoadDraft<'a>) -> Vec<(String, Text)> {
        let mut headers = self.wanted(&draft.headers);
        let wanted = draft.headers.iter().filter_map(|wish| wish.set);
        for ((_, value), template) in headers.iter().zip(wanted) {
            let literal = value.as_literal().unwrap_or_default();
            if literal.contains(['\r', '\n', '\0']) {
                self.mistakes.push(Diagnostic::error(
                    suite::BAD_REQUEST,
                    "a header's value is one line",
                    template.span.clone(),
                ));
            }
        }
        let is_json = draft
            .body
            .is_some_and(|body| matches!(body.value, Body::Json(_)));
        let named = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if is_json && !named {
            let json = Text::literal("application/json");
            headers.push(("Content-Type".to_owned(), json));
        }
        headers
    }

    fn body(&mut self, draft: &LoadDraft<'a>) -> (Option<Text>, Option<FileRef>) {
        let Some(body) = draft.body else {
            return (None, None);
        };
        match &body.value {
            Body::File(file) => (None, Some(file_ref(file))),
            Body::Text(text) | Body::Json(text) if draft.template => {
                (Some(self.text(text, Layer::Own)), None)
            }
            Body::Text(text) | Body::Json(text) => (Some(Text::literal(&text.value)), None),
        }
    }

    fn expect(&mut self, draft: &LoadDraft<'a>) -> Expect {
        let headers = draft
            .expect_headers
            .iter()
            .filter_map(|wish| {
                let template = wish.set?;
                let text = self.text(template, wish.layer);
                let value = self.whole(&text, &template.span, "`expect.headers`");
                Some((wish.name.to_owned(), value))
            })
            .collect();
        let absent = |wish: &&Wish<'_>| wish.set.is_none();
        Expect {
            status: draft.status.map_or(200, |status| status.what.value),
            body: draft.expect_body.map(|body| body.what.value.clone()),
            contains: draft.contains.map(|text| text.what.value.clone()),
            min_size: draft.min_size.map(|size| size.what.value),
            headers,
            no_headers: draft
                .expect_headers
                .iter()
                .filter(absent)
                .map(|wish| wish.name.to_owned())
                .collect(),
        }
    }

    /// Keys of a load that have a meaning only beside others.
    fn fits_together(&mut self, draft: &LoadDraft<'a>, http: Http) {
        let load = &self.names.load.keys;
        if let (Some(pace), Some(own)) = (draft.pace, &load.pace)
            && !matches!(pace.layer, Layer::Own)
            && !matches!(own.value, suite::Pace::Rate(_))
        {
            self.mistakes.push(
                Diagnostic::error(
                    suite::CONFLICT,
                    "a rate is set for a load that finds or lists its own",
                    pace.what.span.clone(),
                )
                .label("this rate")
                .and(own.span.clone(), "would replace this")
                .help("give the toggle `loads = […]` with those that have a `rate`"),
            );
        }
        if let (Some(body), Some(contains)) = (draft.expect_body, draft.contains)
            && !body.what.value.contains(&contains.what.value)
        {
            self.mistakes.push(
                Diagnostic::error(
                    suite::CONFLICT,
                    "no response can have this body and contain these words",
                    contains.what.span.clone(),
                )
                .label("these words")
                .and(body.what.span.clone(), "are not in this body"),
            );
        }
        if let Some(arrivals) = &load.arrivals
            && draft.pace.is_none()
        {
            self.no_effect(
                "arrivals are spread only in an open loop",
                &arrivals.span,
                "add `rate = …`, `stages` or `search`, or take it out",
            );
        }
        if let Some(streams) = draft.streams
            && http == Http::One
        {
            self.no_effect(
                "only HTTP/2 has streams",
                &streams.what.span,
                "add `http = \"2\"`, or use `pipelining` or more `connections`",
            );
        }
        if let Some(pipelining) = &load.pipelining
            && http == Http::Two
        {
            self.no_effect(
                "HTTP/2 has streams instead of pipelining",
                &pipelining.span,
                "use `streams`",
            );
        }
        let closes = draft.keep_alive.filter(|keep| !keep.what.value);
        let ahead = load
            .pipelining
            .as_ref()
            .filter(|pipelining| pipelining.value > 1)
            .map(|pipelining| &pipelining.span);
        if let (Some(closes), Some(ahead)) = (closes, ahead) {
            self.mistakes.push(
                Diagnostic::error(
                    suite::CONFLICT,
                    "a connection that carries one request has no others in flight",
                    ahead.clone(),
                )
                .label("several at a time")
                .and(closes.what.span.clone(), "one a connection")
                .help("take one of them out"),
            );
        }
        let body_is_text = draft
            .body
            .is_some_and(|body| !matches!(body.value, Body::File(_)));
        if let Some(template) = load.template.as_ref().filter(|template| template.value)
            && !body_is_text
            && load.mix.is_none()
        {
            self.no_effect(
                "there is no body here that could be a template",
                &template.span,
                "add `body = \"…\"` or `json = { … }`",
            );
        }
    }

    fn no_effect(&mut self, message: &str, span: &Range<usize>, help: &str) {
        self.mistakes
            .push(Diagnostic::error(suite::NO_EFFECT, message, span.clone()).help(help));
    }

    /// A load may want fewer trials than the run; a profile or the caller that names
    /// a number wants no cell to have more.
    pub(super) fn repetitions(&self) -> u32 {
        if let Some(repetitions) = self.common.options.repetitions {
            return repetitions;
        }
        let of_run = trials(self.common.run);
        let own = self.names.load.keys.repetitions.unwrap_or(of_run);
        let profile = self.common.profile;
        match profile.and_then(|profile| profile.run.repetitions) {
            Some(Repetitions::Number(most)) => own.min(most),
            Some(Repetitions::Auto) | None => own,
        }
    }

    /// Whether the number of its trials is found: where neither the caller nor the load names one.
    pub(super) fn auto(&self) -> bool {
        self.common.options.repetitions.is_none()
            && self.names.load.keys.repetitions.is_none()
            && self.common.run.repetitions == Some(Repetitions::Auto)
    }

    pub(super) fn trial_timeout(&self, ready: &Ready, work: &LoadSpec) -> Duration {
        let load = &self.names.load.keys;
        let warmup = if work.find_warmup {
            self.pilots().max_warmup
        } else {
            work.warmup
        };
        load.trial_timeout.unwrap_or_else(|| match work.amount {
            _ if matches!(work.pace, Some(Pace::Search(_))) => SEARCH_TIMEOUT + 4 * work.length(),
            Amount::Duration(_) => {
                2 * (ready.timeout + warmup + work.length() * work.rounds) + Duration::from_mins(1)
            }
            Amount::Requests(_) => Duration::from_mins(30),
        })
    }
}

/// The trials that a run asks for; where their number is found, the most there may be.
pub(super) fn trials(run: &Run) -> u32 {
    match run.repetitions {
        Some(Repetitions::Number(number)) => number,
        Some(Repetitions::Auto) => run.max_repetitions.unwrap_or(30),
        None => 10,
    }
}

fn file_ref(file: &suite::File) -> FileRef {
    FileRef {
        path: file.path.clone(),
        sha256: file.sha256.clone(),
    }
}

fn pace(pace: &suite::Pace) -> Pace {
    match pace {
        suite::Pace::Rate(rate) => Pace::Rate(*rate),
        suite::Pace::Stages(stages) => Pace::Stages(
            stages
                .iter()
                .map(|stage| Stage {
                    rate: stage.rate,
                    duration: stage.duration,
                    ramp: stage.ramp,
                })
                .collect(),
        ),
        suite::Pace::Search(limits) => Pace::Search(
            limits
                .iter()
                .map(|(metric, bound)| SearchLimit {
                    metric: metric.name.to_owned(),
                    max: super::figure::bound(*bound),
                })
                .collect(),
        ),
    }
}
