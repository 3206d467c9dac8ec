//! Loads: what is sent, how much of it, and what must come back.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{Amount, At, ExpectKeys, Load, LoadKeys, Template};
use crate::suite::schema::{self, Opt};
use crate::suite::written::Entries;
use std::fmt::Write as _;
use toml::Spanned;

/// More connections than this are a mistyped number.
const MOST_CONNECTIONS: u32 = 100_000;

impl Resolver {
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

    pub(super) fn load_keys(&mut self, load: schema::Load) -> LoadKeys {
        if let Some(label) = load.label {
            self.say(
                Diagnostic::error(code::NO_EFFECT, "loads cannot share a label", label.span())
                    .help("give each load its own"),
            );
        }
        LoadKeys {
            method: self.method(load.method),
            path: load.path.map(|path| self.request_path(path, false)),
            headers: self.headers(load.headers, false),
            body: load.body.map(Spanned::into_inner),
            connections: self.connections(load.connections),
            amount: self.amount(load.duration, load.requests),
            timeout: self.positive_duration(load.timeout),
            keep_alive: load
                .keep_alive
                .map(|keep| At::new(*keep.get_ref(), keep.span())),
            expect: self.expect(load.expect, false),
            warmup: self.duration(load.warmup),
            repetitions: self.at_least(load.repetitions, 1, "repetitions"),
            trial_timeout: self.positive_duration(load.trial_timeout),
        }
    }

    fn amount(&mut self, duration: Opt<String>, requests: Opt<u64>) -> Option<Amount> {
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

    fn method(&mut self, method: Opt<String>) -> Option<String> {
        let method = method?;
        let text = method.get_ref();
        if text.is_empty() || !text.chars().all(|c| c.is_ascii_uppercase() || c == '-') {
            self.say(
                Diagnostic::error(
                    code::BAD_REQUEST,
                    format!("\"{}\" is not a method of HTTP", text.escape_debug()),
                    method.span(),
                )
                .help("methods are in capitals: \"GET\", \"POST\""),
            );
            return None;
        }
        if text == "CONNECT" {
            self.say(Diagnostic::error(
                code::BAD_REQUEST,
                "CONNECT asks for a tunnel, not for a response",
                method.span(),
            ));
            return None;
        }
        Some(method.into_inner())
    }

    /// A request target, sent byte for byte.
    pub(super) fn request_path(&mut self, path: Spanned<String>, value: bool) -> Template {
        let template = self.template(path, value);
        // What stands in `{{ … }}` is looked at again when it is known.
        let mut outside = outside_templates(&template.value);
        if template.value.starts_with("{{") || template.value.starts_with("{%") {
            outside.insert(0, '/');
        }
        if let Err((message, help)) = check_target(&outside) {
            let diagnostic = Diagnostic::error(code::BAD_REQUEST, message, template.span.clone());
            self.say(diagnostic.help(help));
        }
        template
    }

    pub(super) fn headers(
        &mut self,
        headers: Entries<Spanned<String>>,
        value: bool,
    ) -> Vec<(At<String>, Template)> {
        for (index, (name, _)) in headers.0.iter().enumerate() {
            let same = |(other, _): &&(Spanned<String>, Spanned<String>)| {
                other.get_ref().eq_ignore_ascii_case(name.get_ref())
            };
            if let Some((first, _)) = headers.0[..index].iter().find(same) {
                let diagnostic = Diagnostic::error(
                    code::DUPLICATE,
                    format!("the header `{}` is there twice", name.get_ref()),
                    name.span(),
                );
                self.say(
                    diagnostic
                        .label("again here")
                        .and(first.span(), "first here"),
                );
            }
        }
        headers
            .0
            .into_iter()
            .map(|(name, text)| {
                self.header_name(&name);
                if text.get_ref().contains(['\r', '\n', '\0']) {
                    self.say(Diagnostic::error(
                        code::BAD_REQUEST,
                        "a header's value is one line",
                        text.span(),
                    ));
                }
                let framing = ["content-length", "transfer-encoding"];
                if framing.contains(&name.get_ref().to_ascii_lowercase().as_str()) {
                    self.say(
                        Diagnostic::error(
                            code::BAD_REQUEST,
                            format!("`{}` follows from the body", name.get_ref()),
                            name.span(),
                        )
                        .help("take it out; hotlap sends the right one"),
                    );
                }
                let span = name.span();
                (At::new(name.into_inner(), span), self.template(text, value))
            })
            .collect()
    }

    fn header_name(&mut self, name: &Spanned<String>) {
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.get_ref().is_empty() || !name.get_ref().chars().all(token) {
            self.say(Diagnostic::error(
                code::BAD_REQUEST,
                format!("\"{}\" cannot name a header", name.get_ref().escape_debug()),
                name.span(),
            ));
        }
    }

    pub(super) fn expect(&mut self, expect: Opt<schema::Expect>, value: bool) -> ExpectKeys {
        let expect = expect.map(Spanned::into_inner).unwrap_or_default();
        let at = |text: Spanned<String>| {
            let span = text.span();
            At::new(text.into_inner(), span)
        };
        let no_headers: Option<Vec<At<String>>> = expect.no_headers.map(|names| {
            names
                .into_iter()
                .map(|name| {
                    self.header_name(&name);
                    let span = name.span();
                    At::new(name.into_inner().to_ascii_lowercase(), span)
                })
                .collect()
        });
        let headers: Vec<(At<String>, Template)> = self
            .headers(expect.headers, value)
            .into_iter()
            .map(|(name, text)| (At::new(name.value.to_ascii_lowercase(), name.span), text))
            .collect();
        for name in no_headers.iter().flatten() {
            if let Some((wanted, _)) = headers
                .iter()
                .find(|(wanted, _)| wanted.value == name.value)
            {
                self.say(
                    Diagnostic::error(
                        code::CONFLICT,
                        format!("`{}` cannot be both there and not there", name.value),
                        wanted.span.clone(),
                    )
                    .label("wanted here")
                    .and(name.span.clone(), "unwanted here"),
                );
            }
        }
        if let (Some(body), Some(contains)) = (&expect.body, &expect.contains)
            && !body.get_ref().contains(contains.get_ref().as_str())
        {
            self.say(
                Diagnostic::error(
                    code::CONFLICT,
                    "no response can have this body and contain these words",
                    contains.span(),
                )
                .label("these words")
                .and(body.span(), "are not in this body"),
            );
        }
        ExpectKeys {
            status: self.status(expect.status),
            body: expect.body.map(at),
            contains: expect.contains.map(at),
            min_size: self.bytes(expect.min_size),
            headers,
            no_headers,
        }
    }
}

/// The text without its templates; each leaves a letter.
fn outside_templates(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{").into_iter().chain(rest.find("{%")).min() {
        out.push_str(&rest[..at]);
        let close = if rest[at..].starts_with("{{") {
            "}}"
        } else {
            "%}"
        };
        let Some(length) = rest[at..].find(close) else {
            return out;
        };
        out.push('x');
        rest = &rest[at + length + 2..];
    }
    out.push_str(rest);
    out
}

/// Whether a text can be sent as a request target as it is; if not, why, and what could.
pub(crate) fn check_target(target: &str) -> Result<(), (String, String)> {
    if !target.starts_with('/') && target != "*" {
        return Err((
            "a path begins with `/`".to_owned(),
            format!("write \"/{}\"", target.trim_start()),
        ));
    }
    let sendable = |c: char| c.is_ascii_graphic() && c != '#';
    if target.chars().all(sendable) {
        return Ok(());
    }
    if target.contains('#') {
        return Err((
            "what follows `#` is never sent".to_owned(),
            "take it out, or write %23 where you mean the character".to_owned(),
        ));
    }
    let mut encoded = String::new();
    for c in target.chars() {
        if sendable(c) {
            encoded.push(c);
        } else {
            for byte in c.to_string().bytes() {
                // Writing to a String cannot fail.
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    Err((
        "a path is sent byte for byte, so spaces and other than ASCII must be encoded".to_owned(),
        format!("write \"{encoded}\""),
    ))
}

impl LoadKeys {
    /// These keys laid over others: headers merge by name, the rest is replaced.
    pub(super) fn over(self, under: &Self) -> Self {
        Self {
            method: self.method.or_else(|| under.method.clone()),
            path: self.path.or_else(|| under.path.clone()),
            headers: merged(&under.headers, self.headers),
            body: self.body.or_else(|| under.body.clone()),
            connections: self.connections.or_else(|| under.connections.clone()),
            amount: self.amount.or(under.amount),
            timeout: self.timeout.or(under.timeout),
            keep_alive: self.keep_alive.or_else(|| under.keep_alive.clone()),
            expect: self.expect.over(&under.expect),
            warmup: self.warmup.or(under.warmup),
            repetitions: self.repetitions.or(under.repetitions),
            trial_timeout: self.trial_timeout.or(under.trial_timeout),
        }
    }
}

impl ExpectKeys {
    /// These keys laid over others. A header that one layer wants is no longer unwanted by a
    /// lower one, and the other way round.
    fn over(self, under: &Self) -> Self {
        let unwanted = |name: &At<String>| {
            self.no_headers
                .iter()
                .flatten()
                .any(|other| other.value == name.value)
        };
        let below: Vec<_> = under
            .headers
            .iter()
            .filter(|(name, _)| !unwanted(name))
            .cloned()
            .collect();
        let wanted =
            |name: &At<String>| self.headers.iter().any(|(own, _)| own.value == name.value);
        let inherited = under
            .no_headers
            .iter()
            .flatten()
            .filter(|name| !wanted(name))
            .cloned();
        let no_headers = self
            .no_headers
            .clone()
            .unwrap_or_else(|| inherited.collect());
        Self {
            status: self.status.or_else(|| under.status.clone()),
            body: self.body.or_else(|| under.body.clone()),
            contains: self.contains.or_else(|| under.contains.clone()),
            min_size: self.min_size.or_else(|| under.min_size.clone()),
            headers: merged(&below, self.headers),
            no_headers: Some(no_headers),
        }
    }
}

/// Header lists merged: a later one replaces an earlier one of the same name.
fn merged(
    under: &[(At<String>, Template)],
    over: Vec<(At<String>, Template)>,
) -> Vec<(At<String>, Template)> {
    let mut all = under.to_vec();
    for (name, text) in over {
        let same = |known: &(At<String>, Template)| known.0.value.eq_ignore_ascii_case(&name.value);
        match all.iter_mut().find(|known| same(known)) {
            Some(entry) => *entry = (name, text),
            None => all.push((name, text)),
        }
    }
    all
}
