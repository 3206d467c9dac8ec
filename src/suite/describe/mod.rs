//! The JSON Schema of suite files, for editors: made from the types that read
//! the file, and from descriptions of the shapes that serde cannot derive.
//! Draft 7, since that is what editors of TOML understand. A schema rejects only
//! what `hotlap check` rejects too; what needs two tables to be seen, it cannot see.

pub(super) mod figures;
pub(super) mod shapes;

use super::schema::File;
use super::written::{Entries, Spanned, Values};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, RemoveRefSiblings, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use std::borrow::Cow;

/// The JSON Schema (draft 7) of a suite file.
pub fn json_schema() -> Value {
    let mut schema = SchemaSettings::draft07()
        .into_generator()
        .into_root_schema_for::<File>();
    RecursiveTransform(without_null).transform(&mut schema);
    RecursiveTransform(without_machine_words).transform(&mut schema);
    // A reader of draft 7 overlooks what stands beside a `$ref`.
    RemoveRefSiblings::default().transform(&mut schema);
    RecursiveTransform(in_order).transform(&mut schema);
    schema.to_value()
}

/// What people read comes first, and the definitions last.
fn in_order(schema: &mut Schema) {
    const FIRST: [&str; 4] = ["$schema", "title", "description", "type"];
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let place = |key: &str| match key {
        "properties" => FIRST.len() + 1,
        "definitions" => FIRST.len() + 2,
        _ => FIRST
            .iter()
            .position(|first| *first == key)
            .unwrap_or(FIRST.len()),
    };
    let mut pairs: Vec<(String, Value)> = std::mem::take(object).into_iter().collect();
    pairs.sort_by_key(|(key, _)| place(key));
    object.extend(pairs);
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
    if let Some(Value::Array(choices)) = object.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
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
}

/// Widths of numbers are no business of an editor, and a table that may be left out is no default.
fn without_machine_words(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    object.remove("format");
    let says_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Object(table) => table.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    };
    if object.get("default").is_some_and(says_nothing) {
        object.remove("default");
    }
}

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

/// A table whose keys are names. What names may be is said where it is used.
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
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let setting = generator.subschema_for::<S>();
        json_schema!({
            "title": "list of values, or table of settings",
            "anyOf": [
                {
                    "type": "array",
                    "items": {
                        "anyOf": [
                            { "type": "string", "pattern": shapes::NAME },
                            { "type": ["number", "boolean"] }
                        ]
                    },
                    "minItems": 1,
                    "uniqueItems": true
                },
                {
                    "type": "object",
                    "propertyNames": shapes::names(),
                    "additionalProperties": setting,
                    "minProperties": 1
                }
            ]
        })
    }
}
