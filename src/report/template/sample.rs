//! Views that no run gave, made from the schema of the view: one with everything, one in which all that
//! may be absent is, and one without a single cell. A template that renders with each of
//! them will not fail on the report of a run because something is not there.

use super::shape::{entries, items, kind_of, node, properties};
use crate::record::METRICS;
use serde_json::{Map, Value, json};

/// How much of a view is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All that may be there, every list with two entries, every flag set.
    Full,
    /// One entry in each list, and nothing that may be absent; no flag is set.
    Sparse,
    /// Neither entries nor what may be absent; no flag is set.
    Empty,
}

impl Extent {
    /// Each, in the order in which templates are tried.
    pub(super) const ALL: [Self; 3] = [Self::Full, Self::Sparse, Self::Empty];

    /// Such a report, in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Full => "a report in which everything is there",
            Self::Sparse => "a report in which nothing is there that may be absent",
            Self::Empty => "a report without cells, and with nothing that may be absent",
        }
    }
}

/// A view of this extent.
pub(super) fn sample(root: &Value, extent: Extent) -> Value {
    value(root, root, extent)
}

fn value(root: &Value, schema: &Value, extent: Extent) -> Value {
    let example = schema
        .get("examples")
        .and_then(|examples| examples.get(0))
        .cloned();
    let node = node(root, schema);
    if node.optional && extent != Extent::Full {
        return Value::Null;
    }
    if let Some(example) = example {
        return example;
    }
    let schema = node.schema;
    match kind_of(schema) {
        "object" => object(root, schema, extent),
        "array" => list(root, schema, extent),
        "boolean" => json!(extent == Extent::Full),
        "integer" => json!(2),
        "number" => json!(2.5),
        _ => json!("text"),
    }
}

fn object(root: &Value, schema: &Value, extent: Extent) -> Value {
    let fields: Map<String, Value> = match (properties(schema), entries(schema)) {
        (Some(properties), _) => properties
            .iter()
            .map(|(name, of)| (name.clone(), value(root, of, extent)))
            .collect(),
        (None, Some(of)) => METRICS
            .iter()
            .map(|metric| (metric.name.to_owned(), value(root, of, extent)))
            .collect(),
        (None, None) => Map::new(),
    };
    Value::Object(fields)
}

/// A list whose length is fixed has it in every extent.
fn list(root: &Value, schema: &Value, extent: Extent) -> Value {
    let usual = match extent {
        Extent::Full => 2,
        Extent::Sparse => 1,
        Extent::Empty => 0,
    };
    let at_least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0) as usize;
    let Some(of) = items(schema) else {
        return json!([]);
    };
    (0..usual.max(at_least))
        .map(|_| value(root, of, extent))
        .collect()
}
