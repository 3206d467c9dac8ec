//! Shapes of single values: their patterns, and what people call them. Each is
//! described where it is used, so that an editor shows a key's own words.

use crate::suite::written::{
    CommandList, DurationText, Json, Number, OneOrMany, Repetitions, Scalar, ShareText, SizeText,
    Words,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use std::borrow::Cow;

/// A number before its unit, as [`crate::units`] reads it.
macro_rules! with_unit {
    ($units:literal) => {
        concat!(r"^\s*_*[0-9][0-9_]*(\._*[0-9][0-9_]*)?\s*", $units, r"\s*$")
    };
}

/// The same where it may not be zero.
macro_rules! positive_with_unit {
    ($units:literal) => {
        concat!(
            r"^\s*(?=[0-9_.]*[1-9])_*[0-9][0-9_]*(\._*[0-9][0-9_]*)?\s*",
            $units,
            r"\s*$"
        )
    };
}

/// A duration.
pub(super) const DURATION: &str = with_unit!("(ns|us|µs|ms|s|m|min|h)");
/// A duration that is more than nothing.
pub(in crate::suite) const POSITIVE_DURATION: &str = positive_with_unit!("(ns|us|µs|ms|s|m|min|h)");
/// A size.
pub(super) const SIZE: &str = with_unit!("(B|kB|KB|MB|GB|KiB|MiB|GiB)");
/// A size each second.
pub(super) const TRANSFER: &str =
    r"^\s*_*[0-9][0-9_]*(\._*[0-9][0-9_]*)?\s*(B|kB|KB|MB|GB|KiB|MiB|GiB)/s$";
/// A share.
pub(super) const SHARE: &str = with_unit!("%");
/// A share that is more than nothing.
pub(in crate::suite) const POSITIVE_SHARE: &str = positive_with_unit!("%");
/// A name: the characters that it may have, but for `.` and `..`.
pub(super) const NAME: &str = r"^([a-z0-9_.-]*[a-z0-9_-][a-z0-9_.-]*|\.{3,})$";
/// A text that is seen.
pub(in crate::suite) const LABEL: &str = r"\S";
/// A method of HTTP.
pub(in crate::suite) const METHOD: &str = r"^(?!CONNECT$)[A-Z-]+$";
/// A request target: printable ASCII, and templates.
pub(in crate::suite) const TARGET: &str =
    r#"^(\*|(/|\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\})([!-"$-~]|\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\})*)$"#;
/// An address or a host's name.
pub(in crate::suite) const ADDRESS: &str = r"^[A-Za-z0-9.:-]+$";
/// The name that a certificate has.
pub(in crate::suite) const SERVER_NAME: &str = ADDRESS;
/// Where a server runs: scheme, host and port.
pub(in crate::suite) const ORIGIN: &str =
    r"^(https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\+?[0-9]+)?/?|unix:/.+)$";

/// What the keys of a table of names may be.
pub(in crate::suite) fn names() -> Value {
    json!({ "pattern": NAME })
}

/// What toggles may be called: two axes are there without them.
pub(in crate::suite) fn toggle_names() -> Value {
    json!({ "pattern": NAME, "not": { "enum": ["server", "load"] } })
}

/// What variables of an environment may be called.
pub(in crate::suite) fn variables() -> Value {
    json!({ "pattern": VARIABLE })
}

/// What headers may be called.
pub(in crate::suite) fn headers() -> Value {
    json!({ "pattern": HEADER })
}

/// What headers of a request may be called; two follow from the body.
pub(in crate::suite) fn sent_headers() -> Value {
    json!({
        "pattern": HEADER,
        "not": { "pattern": "^([Cc][Oo][Nn][Tt][Ee][Nn][Tt]-[Ll][Ee][Nn][Gg][Tt][Hh]|[Tt][Rr][Aa][Nn][Ss][Ff][Ee][Rr]-[Ee][Nn][Cc][Oo][Dd][Ii][Nn][Gg])$" }
    })
}

/// What files in a scratch folder may be called: they stay in it.
pub(in crate::suite) fn files() -> Value {
    json!({ "pattern": r"^(?!/)(?!\.\.?(/|$))(?!.*/\.\.(/|$)).*[^/]$" })
}

const VARIABLE: &str = "^[^=]+$";
const HEADER: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";

/// Describes a shape in place.
macro_rules! shape {
    ($type:ty, $name:literal, $schema:tt) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

shape!(DurationText, "Duration", {
    "title": "duration",
    "type": "string",
    "pattern": DURATION
});
shape!(SizeText, "Size", { "title": "size", "type": "string", "pattern": SIZE });
shape!(ShareText, "Share", { "title": "share", "type": "string", "pattern": SHARE });
shape!(Number, "Rate", {
    "title": "number",
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": 100_000_000
});
shape!(Json, "Json", { "title": "any value" });
shape!(Words, "Command", {
    "title": "command",
    "anyOf": [
        { "type": "string", "pattern": r"\S" },
        { "type": "array", "items": { "type": "string" }, "minItems": 1 }
    ]
});
shape!(CommandList, "Commands", {
    "title": "list of commands",
    "anyOf": [
        { "type": "string", "pattern": r"\S" },
        {
            "type": "array",
            "items": {
                "anyOf": [
                    { "type": "string", "pattern": r"\S" },
                    { "type": "array", "items": { "type": "string" }, "minItems": 1 }
                ]
            }
        }
    ]
});
shape!(Repetitions, "Repetitions", {
    "title": "whole number or `\"auto\"`",
    "anyOf": [
        { "type": "integer", "minimum": 1 },
        { "const": "auto" }
    ]
});
shape!(OneOrMany<Scalar>, "Choices", {
    "title": "value, or list of values",
    "anyOf": [
        { "type": ["string", "number", "boolean"] },
        { "type": "array", "items": { "type": ["string", "number", "boolean"] } }
    ]
});

/// Words that stand behind a command; there may be none.
pub(in crate::suite) struct Arguments;
shape!(Arguments, "Arguments", {
    "title": "arguments",
    "anyOf": [
        { "type": "string" },
        { "type": "array", "items": { "type": "string" } }
    ]
});

/// What must be on the machine.
pub(in crate::suite) struct Requirement;
shape!(Requirement, "Requirement", {
    "title": "requirement",
    "type": "string",
    "pattern": r"^\s*(env\s+[^=\s]+|\S*/\S*|(?=\S*[A-Za-z0-9])[A-Za-z0-9._+-]+(\s+>=\s+[0-9]+(\.[0-9]+)*)?)\s*$"
});

/// The name of a variable.
pub(in crate::suite) struct Variable;
shape!(Variable, "Variable", { "title": "name", "type": "string", "pattern": VARIABLE });

/// The name of a header.
pub(in crate::suite) struct Header;
shape!(Header, "Header", { "title": "name", "type": "string", "pattern": HEADER });

/// A name that the suite gives.
pub(in crate::suite) struct Name;
shape!(Name, "Name", { "title": "name", "type": "string", "pattern": NAME });

/// Which cells: names of axes with the values that match.
pub(in crate::suite) struct Cells;
shape!(Cells, "Cells", {
    "title": "selector",
    "type": "object",
    "additionalProperties": {
        "anyOf": [
            { "type": ["string", "number", "boolean"] },
            { "type": "array", "items": { "type": ["string", "number", "boolean"] } }
        ]
    }
});

/// Which cells, and not all of them.
pub(in crate::suite) struct SomeCells;
impl JsonSchema for SomeCells {
    fn schema_name() -> Cow<'static, str> {
        "SomeCells".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Cells::json_schema(generator);
        schema.insert("minProperties".to_owned(), 1.into());
        schema
    }
}

/// A cell: one value of each axis that is named.
pub(in crate::suite) struct Baseline;
shape!(Baseline, "Baseline", {
    "title": "selector",
    "type": "object",
    "additionalProperties": {
        "anyOf": [
            { "type": ["string", "number", "boolean"] },
            { "type": "array", "items": { "type": ["string", "number", "boolean"] }, "maxItems": 1 }
        ]
    }
});
