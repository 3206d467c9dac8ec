//! The JSON Schema of suite files, for editors: made from the types that read
//! the file, and from this description of the shapes that serde cannot derive.

use super::schema::{File, Limit};
use super::written::{
    ByMetric, CommandList, DurationText, Entries, Json, Number, OneOrMany, Quantity, Repetitions,
    Scalar, SelectorKey, ShareText, SizeText, Spanned, Values, Words,
};
use crate::metric::{Direction, REGISTRY, Unit};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The JSON Schema (draft 2020-12) of a suite file.
pub fn json_schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<File>();
    RecursiveTransform(without_null).transform(&mut schema);
    schema.to_value()
}

/// TOML has no null: what may be left out is left out.
fn without_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
    if object.get("default") == Some(&Value::Null) {
        object.remove("default");
    }
}

/// Describes a shape that stands for itself wherever it is used.
macro_rules! shape {
    ($type:ty, $name:literal, $schema:tt) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

shape!(DurationText, "Duration", {
    "description": "A duration with its unit: ns, us, ms, s, m or h.",
    "type": "string",
    "pattern": r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*(ns|us|µs|ms|s|m|min|h)\s*$"
});
shape!(SizeText, "Size", {
    "description": "A size with its unit: B, KB, MB, GB, KiB, MiB or GiB.",
    "type": "string",
    "pattern": r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*(B|kB|KB|MB|GB|KiB|MiB|GiB)\s*$"
});
shape!(ShareText, "Share", {
    "description": "A share, in per cent.",
    "type": "string",
    "pattern": r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*%\s*$"
});
shape!(Number, "Rate", {
    "description": "A number per second.",
    "type": "number",
    "exclusiveMinimum": 0
});
shape!(Quantity, "Quantity", {
    "description": "A figure: a number, or a string with the unit of its metric.",
    "type": ["number", "string"]
});
shape!(Json, "Json", { "description": "Any value, sent as JSON." });
shape!(Words, "Command", {
    "description": "A command: a string that is split like a shell would, with no shell started, or the arguments.",
    "anyOf": [
        { "type": "string" },
        { "type": "array", "items": { "type": "string" } }
    ]
});
shape!(CommandList, "Commands", {
    "description": "A list of commands; one alone may stand without the list.",
    "anyOf": [
        { "type": "string" },
        {
            "type": "array",
            "items": {
                "anyOf": [
                    { "type": "string" },
                    { "type": "array", "items": { "type": "string" } }
                ]
            }
        }
    ]
});
shape!(Scalar, "Name", {
    "description": "The name of a value; 4 is \"4\".",
    "type": ["string", "number", "boolean"]
});
shape!(OneOrMany<Scalar>, "Choices", {
    "description": "The name of a value, or an array of them: any of them matches.",
    "anyOf": [
        { "type": ["string", "number", "boolean"] },
        { "type": "array", "items": { "type": ["string", "number", "boolean"] } }
    ]
});
shape!(Repetitions, "Repetitions", {
    "description": "A number of trials, or \"auto\".",
    "anyOf": [
        { "type": "integer", "minimum": 1, "maximum": u32::MAX },
        { "const": "auto" }
    ]
});

impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// A table whose keys are names.
impl<T: JsonSchema> JsonSchema for Entries<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("TableOf{}", T::schema_name()).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let of = generator.subschema_for::<T>();
        json_schema!({ "type": "object", "additionalProperties": of })
    }
}

impl<S: JsonSchema> JsonSchema for Values<S> {
    fn schema_name() -> Cow<'static, str> {
        "Values".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let setting = generator.subschema_for::<S>();
        let scalar = generator.subschema_for::<Scalar>();
        json_schema!({
            "description": "Scalars, or a table of settings by name.",
            "anyOf": [
                { "type": "array", "items": scalar, "minItems": 1, "uniqueItems": true },
                { "type": "object", "additionalProperties": setting, "minProperties": 1 }
            ]
        })
    }
}

/// A metric's place in the table of a gate or a published row.
trait OfMetric: JsonSchema {
    /// The schema of a value with this unit.
    fn of(unit: Unit, generator: &mut SchemaGenerator) -> Value;
}

impl OfMetric for Limit {
    fn of(_: Unit, generator: &mut SchemaGenerator) -> Value {
        generator.subschema_for::<Self>().to_value()
    }
}

impl OfMetric for Quantity {
    fn of(unit: Unit, _: &mut SchemaGenerator) -> Value {
        let name = match unit {
            Unit::PerSecond | Unit::PerCpuSecond => "number",
            Unit::Nanoseconds | Unit::Bytes | Unit::BytesPerSecond | Unit::CpuSeconds => "string",
            Unit::Count => return serde_json::json!({ "type": ["number", "string"] }),
        };
        serde_json::json!({ "type": name })
    }
}

impl<K: SelectorKey, V: OfMetric> JsonSchema for ByMetric<K, V> {
    fn schema_name() -> Cow<'static, str> {
        match K::NAME {
            "cells" => "Gate".into(),
            _ => "PublishedRow".into(),
        }
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut selector = generator
            .subschema_for::<super::schema::Selector>()
            .to_value();
        let mut properties = Map::new();
        if let Value::Object(selector) = &mut selector {
            selector.insert("description".to_owned(), K::ABOUT.into());
        }
        properties.insert(K::NAME.to_owned(), selector);
        for metric in REGISTRY {
            let mut of = V::of(metric.unit, generator);
            if let Value::Object(of) = &mut of {
                let better = match metric.direction {
                    Direction::Higher => "more is better",
                    Direction::Lower => "less is better",
                };
                let text = format!(
                    "{}, written like {}; {better}.",
                    metric.label,
                    metric.unit.example()
                );
                of.insert("description".to_owned(), text.into());
            }
            properties.insert(metric.name.to_owned(), of);
        }
        let about = match K::NAME {
            "cells" => "Limits by metric, for some cells or for all.",
            _ => "The published figures of one cell, by metric.",
        };
        json_schema!({
            "description": about,
            "type": "object",
            "properties": properties,
            "additionalProperties": false
        })
    }
}
