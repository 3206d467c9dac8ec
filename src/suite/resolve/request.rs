//! Requests: what is sent, byte for byte, and what must come back.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{At, Body, ExpectKeys, LoadKeys, Template};
use crate::suite::schema::{self, Opt};
use crate::suite::template::Place;
use crate::suite::written::{Entries, Json, Spanned};
use std::fmt::Write as _;

impl Resolver {
    /// The keys of a request.
    pub(super) fn request(&mut self, request: schema::Request) -> LoadKeys {
        let template = request
            .template
            .map(|template| At::new(*template.get_ref(), template.span()));
        let headers = self.sent_headers(request.headers, Place::Request);
        let body = self.body(request.body, request.body_file, request.json);
        if let (Some(method), Some(body)) = (&request.method, &body)
            && method.get_ref() == "HEAD"
        {
            self.say(
                Diagnostic::error(
                    code::BAD_REQUEST,
                    "a HEAD request is sent with a body, which HTTP gives no meaning (RFC 9110, section 9.3.2): a server may \
                     refuse it",
                    body.span.clone(),
                )
                .label("this is its body")
                .and(method.span(), "and this its method")
                .help("take the body out, or write method = \"POST\"")
                .as_warning(),
            );
        }
        if template.as_ref().is_some_and(|template| template.value)
            && let Some(Body::Text(text) | Body::Json(text)) = body.as_ref().map(|body| &body.value)
        {
            self.template(
                Spanned::new(text.span.clone(), text.value.clone()),
                Place::Request,
            );
        }
        LoadKeys {
            method: self.method(request.method),
            path: request
                .path
                .map(|path| self.request_path(path, Place::Request)),
            headers,
            body,
            template,
            expect: self.expect(request.expect, Place::Own),
            ..LoadKeys::default()
        }
    }

    fn body(&mut self, text: Opt<String>, file: Opt<String>, json: Opt<Json>) -> Option<At<Body>> {
        let given = [
            ("body", text.as_ref().map(Spanned::span)),
            ("body_file", file.as_ref().map(Spanned::span)),
            ("json", json.as_ref().map(Spanned::span)),
        ];
        let mut given = given
            .into_iter()
            .filter_map(|(key, span)| Some((key, span?)));
        if let (Some((first, first_span)), Some((second, span))) = (given.next(), given.next()) {
            self.say(
                Diagnostic::error(
                    code::CONFLICT,
                    format!("a request has one body, from `{first}` or from `{second}`"),
                    span,
                )
                .label("this is its body")
                .and(first_span, "and so is this")
                .help("take one of them out"),
            );
        }
        if let Some(text) = text {
            let span = text.span();
            return Some(At::new(
                Body::Text(At::new(text.into_inner(), span.clone())),
                span,
            ));
        }
        if let Some(file) = file {
            let span = file.span();
            return self.file(file).map(|file| At::new(Body::File(file), span));
        }
        let json = json?;
        let span = json.span();
        match as_json(&json.into_inner().0) {
            Ok(text) => Some(At::new(Body::Json(At::new(text, span.clone())), span)),
            Err(message) => {
                self.say(
                    Diagnostic::error(code::BAD_VALUE, message, span)
                        .help("write it as a string, or use `body` with the exact text"),
                );
                None
            }
        }
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
    pub(super) fn request_path(&mut self, path: Spanned<String>, place: Place) -> Template {
        let template = self.template(path, place);
        // What stands in `{{ … }}` is looked at again when it is known.
        let mut outside = outside_templates(&template.value);
        if begins_with_a_number(&template.value) {
            let message = "a path begins with `/`, and a number does not";
            let help = format!("write \"/{}\"", template.value);
            let diagnostic = Diagnostic::error(code::BAD_REQUEST, message, template.span.clone());
            self.say(diagnostic.help(help));
            return template;
        }
        if template.value.starts_with("{{") || template.value.starts_with("{%") {
            outside.insert(0, '/');
        }
        if let Err((message, help)) = check_target(&outside) {
            let diagnostic = Diagnostic::error(code::BAD_REQUEST, message, template.span.clone());
            self.say(diagnostic.help(help));
        }
        template
    }

    /// Headers that are sent. What frames a request is not among them; a response may be expected to have it.
    pub(super) fn sent_headers(
        &mut self,
        headers: Entries<Spanned<String>>,
        place: Place,
    ) -> Vec<(At<String>, Template)> {
        for (name, _) in &headers.0 {
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
        }
        self.headers(headers, place)
    }

    fn headers(
        &mut self,
        headers: Entries<Spanned<String>>,
        place: Place,
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
                let span = name.span();
                (At::new(name.into_inner(), span), self.template(text, place))
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

    pub(super) fn expect(&mut self, expect: Opt<schema::Expect>, place: Place) -> ExpectKeys {
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
            .headers(expect.headers, place)
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

/// Whether the first that a text gives is the number of a request, or one by chance.
fn begins_with_a_number(text: &str) -> bool {
    let first = text.strip_prefix("{{");
    let first = first.map(|first| first.trim_start_matches(['-', '+']).trim_start());
    first.is_some_and(|first| {
        ["counter", "random"]
            .iter()
            .any(|name| first.starts_with(name))
    })
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

impl ExpectKeys {
    /// These keys laid over others. A header that one layer wants is no longer unwanted by a
    /// lower one, and the other way round.
    pub(super) fn over(self, under: &Self) -> Self {
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
pub(super) fn merged(
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

/// A value as JSON, keys in the order of the file. What JSON cannot say is an error.
fn as_json(value: &toml::Value) -> Result<String, String> {
    fits_json(value)?;
    serde_json::to_string(value).map_err(|error| format!("this cannot be written as JSON: {error}"))
}

fn fits_json(value: &toml::Value) -> Result<(), String> {
    match value {
        toml::Value::Datetime(_) => Err("JSON has no dates".to_owned()),
        toml::Value::Float(number) if !number.is_finite() => Err(format!("JSON has no {number}")),
        toml::Value::Array(array) => array.iter().try_for_each(fits_json),
        toml::Value::Table(table) => table.values().try_for_each(fits_json),
        _ => Ok(()),
    }
}
