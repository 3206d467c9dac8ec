//! What a template may name: the fields of the view, their shapes and where they may be absent, all
//! read from the JSON Schema that is derived from its types.

use super::super::view::View;
use crate::record::METRICS;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The shape of a value as far as names are concerned.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// Nothing is known of it.
    Anything,
    /// A text, a number, or yes or no.
    Plain,
    /// Several of one shape.
    List(Rc<Shape>),
    /// Fields with names.
    Fields(Rc<Fields>),
}

/// A value with named fields.
#[derive(Debug)]
pub(super) struct Fields {
    /// Its kind: `CellView`, or `metrics`.
    pub(super) kind: String,
    /// Its fields.
    pub(super) of: BTreeMap<String, Shape>,
}

impl Shape {
    /// What lies in a list; anything, where it is none.
    pub(super) fn element(&self) -> Self {
        match self {
            Self::List(element) => (**element).clone(),
            Self::Plain => Self::Plain,
            Self::Fields(_) | Self::Anything => Self::Anything,
        }
    }

    /// A list of this.
    pub(super) fn listed(self) -> Self {
        Self::List(Rc::new(self))
    }
}

/// The JSON Schema of the view.
pub(super) fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<View>()
        .to_value()
}

/// The shape of the view.
pub(super) fn of_view(schema: &Value) -> Shape {
    shape(schema, schema, "View")
}

/// A node of the schema without its `$ref`, the name of its kind, and whether it may be absent.
pub(super) struct Node<'s> {
    pub(super) schema: &'s Value,
    pub(super) kind: Option<&'s str>,
    pub(super) optional: bool,
}

/// Follows references and takes the alternative of `null` away.
pub(super) fn node<'s>(root: &'s Value, schema: &'s Value) -> Node<'s> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let kind = reference.rsplit('/').next();
        let found = root.pointer(reference.trim_start_matches('#'));
        return Node {
            schema: found.unwrap_or(&Value::Null),
            kind,
            optional: false,
        };
    }
    let is_null = |one: &&Value| one.get("type").and_then(Value::as_str) == Some("null");
    if let Some(any) = schema.get("anyOf").and_then(Value::as_array)
        && let Some(some) = any.iter().find(|one| !is_null(one))
    {
        return Node {
            optional: any.iter().any(|one| is_null(&one)),
            ..node(root, some)
        };
    }
    let types = schema.get("type").and_then(Value::as_array);
    Node {
        schema,
        kind: None,
        optional: types.is_some_and(|types| types.iter().any(|one| one == "null")),
    }
}

/// The type of a node: `object`, `array`, `string`, `number`, `integer` or `boolean`.
pub(super) fn kind_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(one)) => one,
        Some(Value::Array(several)) => several
            .iter()
            .filter_map(Value::as_str)
            .find(|one| *one != "null")
            .unwrap_or_default(),
        _ => "",
    }
}

/// What each entry of a table with names of its own is; in the view these names are those of the metrics.
pub(super) fn entries(schema: &Value) -> Option<&Value> {
    schema
        .get("additionalProperties")
        .filter(|value| value.is_object())
}

/// The named fields of an object, in the order of the type.
pub(super) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// What a list holds. A pair of two texts is a list of texts.
pub(super) fn items(schema: &Value) -> Option<&Value> {
    schema
        .get("items")
        .filter(|items| items.is_object())
        .or_else(|| schema.get("prefixItems")?.as_array()?.first())
}

fn shape(root: &Value, schema: &Value, name: &str) -> Shape {
    let Node { schema, kind, .. } = node(root, schema);
    match kind_of(schema) {
        "array" => items(schema).map_or(Shape::Anything, |of| shape(root, of, name).listed()),
        "object" => {
            let of = match (properties(schema), entries(schema)) {
                (Some(properties), _) => properties
                    .iter()
                    .map(|(name, of)| (name.clone(), shape(root, of, name)))
                    .collect(),
                (None, Some(of)) => {
                    let entry = shape(root, of, name);
                    let named = |metric: &str| (metric.to_owned(), entry.clone());
                    METRICS.iter().map(|metric| named(metric.name)).collect()
                }
                (None, None) => return Shape::Anything,
            };
            let kind = kind.unwrap_or(name).to_owned();
            Shape::Fields(Rc::new(Fields { kind, of }))
        }
        "" => Shape::Anything,
        _ => Shape::Plain,
    }
}
