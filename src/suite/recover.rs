//! Reads a file into its mirror, going on after each mistake. TOML's parser
//! recovers by itself; serde stops at the first thing it does not like, so the
//! node at that place is taken out and the rest is read again, until all is read.

use super::code;
use super::schema::File;
use crate::diagnostic::Diagnostic;
use serde::Deserialize as _;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The step of a path that stands for any element of an array.
const ELEMENT: &str = "*";

/// What could be read, and what was wrong with the rest.
pub(super) struct Recovered {
    pub(super) file: File,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Whether the text is TOML at all; if not, what seems missing may only be unread.
    pub(super) is_toml: bool,
}

/// Reads as much of `text` as makes sense.
pub(super) fn read(text: &str) -> Recovered {
    let (mut root, errors) = DeTable::parse_recoverable(text);
    let mut diagnostics: Vec<Diagnostic> = errors
        .iter()
        .map(|error| syntax(text, root.get_ref(), error))
        .collect();
    let is_toml = diagnostics.is_empty();
    // After a broken header the keys below it are read into another table: what
    // is said of them would be noise.
    let broken_header = diagnostics.iter().any(|diagnostic| {
        line_of(text, diagnostic.offset())
            .trim_start()
            .starts_with('[')
    });
    let mut arrays = Vec::new();
    take_arrays(root.get_mut(), &mut Vec::new(), &mut arrays);
    diagnostics.extend(arrays);
    loop {
        match File::deserialize(toml::Deserializer::from(root.clone())) {
            Ok(file) => {
                return Recovered {
                    file,
                    diagnostics,
                    is_toml,
                };
            }
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                let removed = remove(root.get_mut(), &span, &mut Vec::new());
                let on_a_broken_line = diagnostics.iter().any(|other| {
                    other.code == code::SYNTAX
                        && line_start(text, other.offset()) == line_start(text, span.start)
                });
                if !broken_header && !on_a_broken_line {
                    diagnostics.push(shape(&error, span, removed.as_deref()));
                }
                if removed.is_none() {
                    return Recovered {
                        file: File::default(),
                        diagnostics,
                        is_toml: false,
                    };
                }
            }
        }
    }
}

/// Tables by their paths, `*` for any name. serde would take the elements of an array for the
/// fields of a table, in their order.
const TABLES: &[&str] = &[
    "run",
    "run.cpus",
    "defaults",
    "defaults.*",
    "tools.*",
    "runtimes.*",
    "servers.*",
    "servers.*.processes.*",
    "services.*",
    "toggles.*",
    "toggles.*.values.*",
    "toggles.*.processes.*",
    "toggles.*.values.*.processes.*",
    "matrix",
    "loads.*",
    "loads.*.stages.*",
    "mixes.*.*",
    "profiles.*",
    "profiles.*.*",
    "profiles.*.run.cpus",
    "overrides.*.when",
    "overrides.*.set",
    "overrides.*.set.processes.*",
    "gates.*",
    "gates.*.*",
    "published.*",
    "published.*.rows.*",
];
/// Keys that are tables wherever they stand.
const TABLE_KEYS: &[&str] = &["ready", "stop", "expect", "tls"];

/// Takes out arrays that stand where a table should.
fn take_arrays(table: &mut DeTable<'_>, path: &mut Vec<String>, said: &mut Vec<Diagnostic>) {
    let keys: Vec<_> = table.keys().cloned().collect();
    for key in keys {
        path.push(key.get_ref().to_string());
        let is_table = TABLE_KEYS.contains(&key.get_ref().as_ref())
            || TABLES.iter().any(|pattern| matches(pattern, path));
        match table
            .get_mut(&key)
            .map(|value| (value.span(), value.get_mut()))
        {
            Some((span, DeValue::Array(_))) if is_table => {
                said.push(
                    Diagnostic::error(
                        code::WRONG_TYPE,
                        format!("`{}` should be a table, not an array", key.get_ref()),
                        span,
                    )
                    .label("should be a table"),
                );
                table.remove(&key);
            }
            Some((_, DeValue::Table(inner))) => take_arrays(inner, path, said),
            Some((_, DeValue::Array(array))) => {
                for element in array.iter_mut() {
                    if let DeValue::Table(inner) = element.get_mut() {
                        path.push(ELEMENT.to_owned());
                        take_arrays(inner, path, said);
                        path.pop();
                    }
                }
            }
            _ => {}
        }
        path.pop();
    }
}

/// The diagnostic for text that is not TOML.
fn syntax(text: &str, root: &DeTable<'_>, error: &toml::de::Error) -> Diagnostic {
    let mut span = error.span().unwrap_or(0..0);
    if span.is_empty() {
        // An empty place cannot be underlined: take the character before it.
        let start = text[..span.start].trim_end().char_indices().next_back();
        let first = text.chars().next().map_or(0, char::len_utf8);
        span = start.map_or(0..first, |(at, c)| at..at + c.len_utf8());
    }
    let diagnostic = Diagnostic::error(code::SYNTAX, error.message().to_owned(), span.clone());
    if error.message() != "duplicate key" {
        return diagnostic;
    }
    let name = text[span.clone()].to_owned();
    let mut diagnostic = diagnostic
        .label("again here")
        .saying(format!("`{name}` is defined twice"));
    if let Some(first) = first_definition(text, root, &name, span.start) {
        diagnostic = diagnostic.and(first, "first defined here");
    }
    diagnostic.help("keep one of them, or give them different names")
}

/// Where a key or a table that is defined again was defined first.
fn first_definition(
    text: &str,
    root: &DeTable<'_>,
    name: &str,
    again: usize,
) -> Option<Range<usize>> {
    let header = line_of(text, again).trim();
    if header.starts_with('[') {
        let at = text[..line_start(text, again)].find(header)?;
        return Some(at..at + header.len());
    }
    let mut found: Option<Range<usize>> = None;
    each_key(root, &mut |key, span| {
        let later = found.as_ref().is_none_or(|best| best.start < span.start);
        if key == name && span.start < again && later {
            found = Some(span);
        }
    });
    found
}

fn each_key(table: &DeTable<'_>, visit: &mut impl FnMut(&str, Range<usize>)) {
    for (key, value) in table {
        visit(key.get_ref(), key.span());
        if let DeValue::Table(inner) = value.get_ref() {
            each_key(inner, visit);
        }
    }
}

/// The diagnostic for TOML that is not a suite. `path` leads to the node that was taken out.
fn shape(error: &toml::de::Error, span: Range<usize>, path: Option<&[String]>) -> Diagnostic {
    let message = error.message();
    let Some(rest) = message.strip_prefix("unknown field `") else {
        return wrong_type(message, span);
    };
    let key = rest.split('`').next().unwrap_or(rest);
    let expected: Vec<&str> = rest.split('`').skip(2).step_by(2).collect();
    let table = path
        .and_then(|path| path.split_last())
        .map_or(&[][..], |(_, table)| table);
    let place = if table.is_empty() {
        "a suite".to_owned()
    } else {
        let names: Vec<&str> = table
            .iter()
            .map(String::as_str)
            .filter(|step| *step != ELEMENT)
            .collect();
        format!("[{}]", names.join("."))
    };
    if matches!(key, "hosts" | "host" | "limits") {
        return Diagnostic::error(
            code::RESERVED,
            format!("`{key}` is reserved for later formats"),
            span,
        );
    }
    let diagnostic = Diagnostic::error(
        code::UNKNOWN_KEY,
        format!("{place} has no key `{key}`"),
        span,
    );
    match nearest(key, &expected) {
        Some(right) => diagnostic.label(format!("did you mean `{right}`?")),
        None => diagnostic
            .label("not a key of this table")
            .help(format!("{place} may have {}", list(&expected))),
    }
}

/// A wrong type, in the words of TOML instead of Rust's.
fn wrong_type(message: &str, span: Range<usize>) -> Diagnostic {
    let (found, wanted) = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.rsplit_once(", expected "))
        .unwrap_or((message, ""));
    let (wanted, help) = match wanted {
        "u16" => ("a whole number from 0 to 65535", None),
        "u32" => ("a whole number from 0 to 4294967295", None),
        "u64" => ("a whole number, not negative", None),
        "a string" if !found.starts_with("sequence") => ("a string", Some("put it in quotes")),
        "a boolean" => ("true or false", None),
        "a sequence" => ("an array", Some("put it in brackets: [\"…\"]")),
        "a map" => ("a table", None),
        other if other.starts_with("struct ") => ("a table", None),
        other => (other, None),
    };
    let found = found
        .replace("sequence", "an array")
        .replace("map", "a table")
        .replace("floating point", "the number")
        .replace("integer", "the number")
        .replace(" as i128", "")
        .replace("boolean", "the truth value")
        .replace("string \"", "the string \"");
    let message = if wanted.is_empty() {
        found
    } else {
        format!("this should be {wanted}, not {found}")
    };
    let diagnostic = Diagnostic::error(code::WRONG_TYPE, message, span);
    let diagnostic = if wanted.is_empty() {
        diagnostic
    } else {
        diagnostic.label(format!("should be {wanted}"))
    };
    match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

/// Whether a path is that of a pattern, in which `*` is any name.
fn matches(pattern: &str, path: &[String]) -> bool {
    let pattern: Vec<&str> = pattern.split('.').filter(|step| !step.is_empty()).collect();
    pattern.len() == path.len()
        && pattern
            .iter()
            .zip(path)
            .all(|(want, have)| *want == "*" || want == have)
}

/// The known word that is closest to a mistyped one, where one is close.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    // One letter in three may be wrong; of a word of one letter nothing is left to go by.
    let length = word.chars().count();
    let limit = length.div_ceil(3).min(length.saturating_sub(1));
    known
        .iter()
        .map(|candidate| {
            let plain = |text: &str| text.to_lowercase().replace('-', "_");
            (
                strsim::damerau_levenshtein(&plain(word), &plain(candidate)),
                *candidate,
            )
        })
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, candidate)| (*distance, !candidate.starts_with(word)))
        .map(|(_, candidate)| candidate)
}

/// "there are `a` and `b`", for help.
pub(super) fn there_are(words: &[&str]) -> String {
    match words {
        [] => "there is none".to_owned(),
        [one] => format!("there is only `{one}`"),
        several => format!("there are {}", list(several)),
    }
}

/// `a`, `b` and `c`.
pub(super) fn list(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [one] => format!("`{one}`"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|word| format!("`{word}`")).collect();
            format!("{} and `{last}`", first.join(", "))
        }
    }
}

/// Takes out the entry or element whose key or value lies at `span`; the path that led to it.
fn remove(
    table: &mut DeTable<'_>,
    span: &Range<usize>,
    path: &mut Vec<String>,
) -> Option<Vec<String>> {
    let here = table
        .iter()
        .find(|(key, value)| key.span() == *span || value.span() == *span)
        .map(|(key, _)| key.clone());
    if let Some(key) = here {
        path.push(key.get_ref().to_string());
        table.remove(&key);
        return Some(path.clone());
    }
    let keys: Vec<_> = table.keys().cloned().collect();
    for key in keys {
        path.push(key.get_ref().to_string());
        if let Some(value) = table.get_mut(&key)
            && let Some(found) = remove_inside(value, span, path)
        {
            return Some(found);
        }
        path.pop();
    }
    None
}

fn remove_inside(
    value: &mut Spanned<DeValue<'_>>,
    span: &Range<usize>,
    path: &mut Vec<String>,
) -> Option<Vec<String>> {
    match value.get_mut() {
        DeValue::Table(table) => remove(table, span, path),
        DeValue::Array(array) => {
            for index in 0..array.len() {
                path.push(ELEMENT.to_owned());
                if array.get(index)?.span() == *span {
                    let others = array.clone().into_iter().enumerate();
                    *array = others
                        .filter(|(at, _)| *at != index)
                        .map(|(_, one)| one)
                        .collect();
                    return Some(path.clone());
                }
                if let Some(found) = remove_inside(array.get_mut(index)?, span, path) {
                    return Some(found);
                }
                path.pop();
            }
            None
        }
        _ => None,
    }
}

fn line_start(text: &str, offset: usize) -> usize {
    let offset = text.floor_char_boundary(offset.min(text.len()));
    text[..offset].rfind('\n').map_or(0, |at| at + 1)
}

fn line_of(text: &str, offset: usize) -> &str {
    text[line_start(text, offset)..]
        .lines()
        .next()
        .unwrap_or("")
}
