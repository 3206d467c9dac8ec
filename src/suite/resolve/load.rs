//! Loads and mixes: what is sent and how much of it.

use super::Resolver;
use super::request::merged;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{
    Amount, Arrivals, At, File, Http, Load, LoadKeys, Mix, MixRequest, Pace, Stage, Tls,
};
use crate::suite::schema::{self, Opt};
use crate::suite::written::{DurationText, Entries, Number, Quantity, Spanned};
use crate::tls::{Trust, server_name};

/// More connections than this are a mistyped number.
const MOST_CONNECTIONS: u32 = 100_000;

/// Programs that can make load; `built-in` is hotlap's own.
const GENERATORS: &[&str] = &[
    "built-in",
    "ab",
    "bombardier",
    "autocannon",
    "wrk",
    "wrk2",
    "oha",
    "hey",
    "h2load",
    "k6",
    "vegeta",
];

impl Resolver {
    /// `[defaults.load]`.
    pub(super) fn default_load(&mut self, load: schema::Load) -> LoadKeys {
        if let Some(label) = &load.label {
            self.say(
                Diagnostic::error(code::NO_EFFECT, "loads cannot share `label`", label.span())
                    .help("give each load its own"),
            );
        }
        self.load_keys(load)
    }

    pub(super) fn loads(&mut self, loads: Entries<schema::Load>, under: &LoadKeys) -> Vec<Load> {
        loads
            .0
            .into_iter()
            .map(|(name, mut load)| {
                self.name(&name, "load");
                let label = self.label(load.label.take(), name.get_ref());
                let span = name.span();
                Load {
                    keys: self.load_keys(load).over(under),
                    name: At::new(name.into_inner(), span),
                    label,
                }
            })
            .collect()
    }

    fn load_keys(&mut self, mut load: schema::Load) -> LoadKeys {
        let request = self.request(load.take_request());
        LoadKeys {
            generator: self.generator(load.generator),
            mix: self.mix(load.mix),
            connections: self.connections(load.connections),
            pace: self.pace(
                load.rate,
                load.stages,
                load.search,
                load.duration.as_ref(),
                load.requests.as_ref(),
            ),
            amount: self.amount(load.duration, load.requests),
            arrivals: self.arrivals(load.arrivals),
            timeout: self.positive_duration(load.timeout),
            keep_alive: load
                .keep_alive
                .map(|keep| At::new(*keep.get_ref(), keep.span())),
            http: self.http(load.http),
            streams: self.positive_at(load.streams, "streams"),
            pipelining: self.positive_at(load.pipelining, "pipelining"),
            tls: self.tls(load.tls),
            warmup: self.duration(load.warmup),
            repetitions: self.at_least(load.repetitions, 1, "repetitions"),
            rounds: self.positive_at(load.rounds, "rounds"),
            trial_timeout: self.positive_duration(load.trial_timeout),
            ..request
        }
    }

    pub(super) fn mixes(
        &mut self,
        mixes: Entries<Spanned<Vec<Spanned<schema::MixRequest>>>>,
    ) -> Vec<Mix> {
        mixes
            .0
            .into_iter()
            .map(|(name, requests)| {
                self.name(&name, "mix");
                let span = name.span();
                let requests = requests.into_inner();
                Mix {
                    name: At::new(name.into_inner(), span),
                    requests: requests
                        .into_iter()
                        .map(|request| self.mix_request(request.into_inner()))
                        .collect(),
                }
            })
            .collect()
    }

    fn mix_request(&mut self, mut request: schema::MixRequest) -> MixRequest {
        let keys = self.request(request.take_request());
        if let (Some(path), Some(file)) = (&keys.path, &request.path_file) {
            self.say(
                Diagnostic::error(
                    code::CONFLICT,
                    "paths come from `path` or from `path_file`, not from both",
                    file.span(),
                )
                .label("paths from a file")
                .and(path.span.clone(), "and a path")
                .help("take one of them out"),
            );
        }
        MixRequest {
            keys,
            weight: self.at_least(request.weight, 1, "weight").unwrap_or(1),
            path_file: self.path_file(request.path_file),
        }
    }

    /// A file of paths; each must be one that can be sent.
    fn path_file(&mut self, path: Opt<String>) -> Option<At<File>> {
        let path = path?;
        let span = path.span();
        let file = self.file(path)?;
        // That it can be read has just been seen.
        let content = std::fs::read(self.folder.join(&file.path)).unwrap_or_default();
        let mut paths = 0;
        for (index, line) in content.split(|byte| *byte == b'\n').enumerate() {
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
            let line = line.as_ref();
            if line.is_empty() {
                continue;
            }
            if let Err((message, help)) = super::check_target(line) {
                self.say(
                    Diagnostic::error(
                        code::BAD_REQUEST,
                        format!("line {} of {}: {message}", index + 1, file.path),
                        span.clone(),
                    )
                    .help(help),
                );
                return None;
            }
            paths += 1;
        }
        if paths == 0 {
            let message = format!("there is no path in {}", file.path);
            self.say(
                Diagnostic::error(code::BAD_REQUEST, message, span).help("write one path a line"),
            );
            return None;
        }
        Some(At::new(file, span))
    }

    fn generator(&mut self, generator: Opt<String>) -> Option<At<String>> {
        let span = generator.as_ref()?.span();
        let known: Vec<(&str, &str)> = GENERATORS.iter().map(|name| (*name, *name)).collect();
        self.one_of(generator, "load generator", &known)
            .map(|name| At::new(name.to_owned(), span))
    }

    fn mix(&mut self, mix: Opt<String>) -> Option<At<String>> {
        let mix = mix?;
        if !self.mixes.contains(mix.get_ref()) {
            let known = self.mixes.clone();
            self.unknown("mix", mix.get_ref(), mix.span(), &known);
        }
        let span = mix.span();
        Some(At::new(mix.into_inner(), span))
    }

    fn arrivals(&mut self, arrivals: Opt<String>) -> Option<At<Arrivals>> {
        let span = arrivals.as_ref()?.span();
        let known = [
            ("uniform", Arrivals::Uniform),
            ("poisson", Arrivals::Poisson),
        ];
        self.one_of(arrivals, "kind of arrivals", &known)
            .map(|arrivals| At::new(arrivals, span))
    }

    pub(super) fn http(&mut self, http: Opt<String>) -> Option<At<Http>> {
        let span = http.as_ref()?.span();
        let known = [("1.1", Http::One), ("2", Http::Two)];
        self.one_of(http, "version of HTTP here called", &known)
            .map(|http| At::new(http, span))
    }

    pub(super) fn tls(&mut self, tls: Opt<schema::Tls>) -> Option<At<Tls>> {
        let tls = tls?;
        let span = tls.span();
        let tls = tls.into_inner();
        let insecure = tls
            .insecure
            .as_ref()
            .is_some_and(|insecure| *insecure.get_ref());
        if let (true, Some(flag), Some(ca)) = (insecure, &tls.insecure, &tls.ca) {
            self.say(
                Diagnostic::error(
                    code::CONFLICT,
                    "where any certificate will do, none is checked",
                    ca.span(),
                )
                .label("this would be checked")
                .and(flag.span(), "this says that nothing is")
                .help("take `insecure` out to have it checked"),
            );
        }
        let ca = tls.ca.and_then(|ca| self.certificates(ca));
        if let Some(name) = &tls.server_name
            && let Err(error) = server_name(name.get_ref())
        {
            self.say(
                Diagnostic::error(code::BAD_VALUE, error.to_string(), name.span())
                    .help("write the name that stands in the server's certificate: \"localhost\""),
            );
        }
        let tls = Tls {
            ca,
            server_name: tls.server_name.map(Spanned::into_inner),
            insecure,
        };
        Some(At::new(tls, span))
    }

    /// A file with certificates, which are read once to see that there are any.
    fn certificates(&mut self, ca: Spanned<String>) -> Option<File> {
        let span = ca.span();
        let file = self.file(ca)?;
        let path = self.folder.join(&file.path);
        let wrong = match std::fs::read(path) {
            Ok(text) => match Trust::pem(&text) {
                Ok(_) => return Some(file),
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        self.say(
            Diagnostic::error(
                code::BAD_VALUE,
                format!("{} cannot be trusted: {wrong}", file.path),
                span,
            )
            .help("`ca` is a PEM file with the certificate that signed the server's, or with the server's own where it signed itself"),
        );
        None
    }

    /// What makes a load an open loop: a rate, stages of rates, or the search for one.
    fn pace(
        &mut self,
        rate: Opt<Number>,
        stages: Opt<Vec<Spanned<schema::Stage>>>,
        search: Opt<Entries<Spanned<Quantity>>>,
        duration: Option<&Spanned<DurationText>>,
        requests: Option<&Spanned<u64>>,
    ) -> Option<At<Pace>> {
        let stages_span = stages.as_ref().map(Spanned::span);
        let search_span = search.as_ref().map(Spanned::span);
        let rate_span = rate.as_ref().map(Spanned::span);
        let duration_span = duration.map(Spanned::span);
        let requests_span = requests.map(Spanned::span);
        self.not_both(
            &[
                ("rate", rate_span),
                ("stages", stages_span.clone()),
                ("search", search_span.clone()),
            ],
            "the rate of a load comes from",
        );
        for (key, span) in [
            ("duration", duration_span),
            ("requests", requests_span.clone()),
        ] {
            let ends = [("stages", stages_span.clone()), (key, span)];
            self.not_both(&ends, "the length of a load comes from");
        }
        let ends = [("search", search_span), ("requests", requests_span)];
        self.not_both(&ends, "the length of a load comes from");
        let rate = self
            .rate(rate)
            .map(|rate| At::new(Pace::Rate(rate.value), rate.span));
        let stages = stages.and_then(|stages| self.stages(stages));
        let search = search.map(|search| self.search(search));
        rate.or(stages).or(search)
    }

    /// That of several keys only one is there.
    fn not_both(&mut self, keys: &[(&str, Option<std::ops::Range<usize>>)], what: &str) {
        let mut given = keys
            .iter()
            .filter_map(|(key, span)| Some((*key, span.clone()?)));
        if let (Some((first, first_span)), Some((second, span))) = (given.next(), given.next()) {
            self.say(
                Diagnostic::error(
                    code::CONFLICT,
                    format!("{what} `{first}` or from `{second}`, not from both"),
                    span,
                )
                .label("from this")
                .and(first_span, "or from this")
                .help("take one of them out"),
            );
        }
    }

    fn stages(&mut self, stages: Spanned<Vec<Spanned<schema::Stage>>>) -> Option<At<Pace>> {
        let span = stages.span();
        if stages.get_ref().is_empty() {
            self.say(
                Diagnostic::error(
                    code::MISSING,
                    "a load in stages has at least one stage",
                    span,
                )
                .help("write [{ rate = 500, duration = \"30s\" }], or take `stages` out for a closed loop"),
            );
            return None;
        }
        let mut all = Vec::new();
        for stage in stages.into_inner() {
            let place = stage.span();
            let stage = stage.into_inner();
            let missing = stage.rate.is_none() || stage.duration.is_none();
            let rate = self.rate(stage.rate);
            let duration = self.positive_duration(stage.duration);
            if missing {
                self.say(
                    Diagnostic::error(code::MISSING, "a stage has a rate and a duration", place)
                        .help("write { rate = 500, duration = \"30s\" }"),
                );
            }
            if let (Some(rate), Some(duration)) = (rate, duration) {
                all.push(Stage {
                    rate: rate.value,
                    duration,
                    ramp: stage.ramp.is_some_and(Spanned::into_inner),
                });
            }
        }
        Some(At::new(Pace::Stages(all), span))
    }

    fn amount(&mut self, duration: Opt<DurationText>, requests: Opt<u64>) -> Option<Amount> {
        if let (Some(duration), Some(requests)) = (&duration, &requests) {
            self.say(
                Diagnostic::error(
                    code::CONFLICT,
                    "a load ends after a duration or after a number of requests, not both",
                    duration.span(),
                )
                .label("this ends it")
                .and(requests.span(), "and so does this")
                .help("take one of them out"),
            );
        }
        let requests = self.at_least(requests, 1, "requests").map(Amount::Requests);
        self.positive_duration(duration)
            .map(Amount::Duration)
            .or(requests)
    }

    pub(super) fn connections(&mut self, connections: Opt<u32>) -> Option<At<u32>> {
        let span = connections.as_ref()?.span();
        let number = self.at_least(connections, 1, "connections")?;
        if number > MOST_CONNECTIONS {
            self.say(Diagnostic::error(
                code::BAD_VALUE,
                format!(
                    "more than {MOST_CONNECTIONS} connections cannot be opened from one machine"
                ),
                span.clone(),
            ));
            return None;
        }
        Some(At::new(number, span))
    }
}

impl LoadKeys {
    /// These keys laid over others: headers merge by name, the rest is replaced.
    pub(super) fn over(self, under: &Self) -> Self {
        Self {
            method: self.method.or_else(|| under.method.clone()),
            path: self.path.or_else(|| under.path.clone()),
            headers: merged(&under.headers, self.headers),
            body: self.body.or_else(|| under.body.clone()),
            template: self.template.or_else(|| under.template.clone()),
            generator: self.generator.or_else(|| under.generator.clone()),
            mix: self.mix.or_else(|| under.mix.clone()),
            connections: self.connections.or_else(|| under.connections.clone()),
            amount: self.amount.or(under.amount),
            pace: self.pace.or_else(|| under.pace.clone()),
            arrivals: self.arrivals.or_else(|| under.arrivals.clone()),
            timeout: self.timeout.or(under.timeout),
            keep_alive: self.keep_alive.or_else(|| under.keep_alive.clone()),
            http: self.http.or_else(|| under.http.clone()),
            streams: self.streams.or_else(|| under.streams.clone()),
            pipelining: self.pipelining.or_else(|| under.pipelining.clone()),
            tls: self.tls.or_else(|| under.tls.clone()),
            expect: self.expect.over(&under.expect),
            warmup: self.warmup.or(under.warmup),
            repetitions: self.repetitions.or(under.repetitions),
            rounds: self.rounds.or_else(|| under.rounds.clone()),
            trial_timeout: self.trial_timeout.or(under.trial_timeout),
        }
    }
}
