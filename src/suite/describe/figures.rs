//! Tables of metrics: gates, published rows and what a search holds on to, each
//! metric with values in its own unit.

use super::shapes::{Cells, DURATION, SHARE, SIZE, TRANSFER};
use crate::metric::{Direction, Metric, REGISTRY, Unit};
use crate::suite::schema::Limit;
use crate::suite::written::{ByMetric, Quantity, SelectorKey};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// A value in a unit, as a suite writes it.
fn figure(unit: Unit) -> Value {
    match unit {
        Unit::PerSecond | Unit::PerCpuSecond => {
            json!({ "title": "number", "type": "number", "minimum": 0 })
        }
        Unit::Nanoseconds | Unit::CpuSeconds => {
            json!({ "title": "duration", "type": "string", "pattern": DURATION })
        }
        Unit::Bytes => json!({ "title": "size", "type": "string", "pattern": SIZE }),
        Unit::BytesPerSecond => {
            json!({ "title": "size a second", "type": "string", "pattern": TRANSFER })
        }
        Unit::Count => json!({
            "title": "number or share",
            "anyOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": SHARE }
            ]
        }),
    }
}

/// A metric in words.
fn about(metric: &Metric) -> String {
    let better = match metric.direction {
        Direction::Higher => "more is better",
        Direction::Lower => "less is better",
    };
    format!(
        "{}, written like {}; {better}.",
        metric.label,
        metric.unit.example()
    )
}

/// Adds keys to a schema.
fn with(mut schema: Value, more: &Value) -> Value {
    if let (Value::Object(schema), Value::Object(more)) = (&mut schema, more) {
        for (key, value) in more {
            schema.insert(key.clone(), value.clone());
        }
    }
    schema
}

/// A metric's place in the table of a gate or a published row.
trait OfMetric: JsonSchema {
    /// The schema of a value with this unit.
    fn of(unit: Unit, generator: &mut SchemaGenerator) -> Value;
}

impl OfMetric for Limit {
    fn of(unit: Unit, generator: &mut SchemaGenerator) -> Value {
        let schema = match unit {
            Unit::PerSecond | Unit::PerCpuSecond => generator.subschema_for::<LimitOfRate>(),
            Unit::Nanoseconds | Unit::CpuSeconds => generator.subschema_for::<LimitOfDuration>(),
            Unit::Bytes => generator.subschema_for::<LimitOfSize>(),
            Unit::BytesPerSecond => generator.subschema_for::<LimitOfTransfer>(),
            Unit::Count => generator.subschema_for::<LimitOfCount>(),
        };
        schema.to_value()
    }
}

/// Defines the limits of metrics in one unit.
macro_rules! limit {
    ($name:ident, $unit:expr, $($example:tt)+) => {
        struct $name;
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let mut schema = Limit::json_schema(generator);
                for key in ["max", "min"] {
                    if let Some(property) = schema.pointer_mut(&format!("/properties/{key}")) {
                        let about = property.get("description").cloned();
                        let more = json!({ "title": "figure", "description": about, "examples": [$($example)+] });
                        *property = with(figure($unit), &more);
                    }
                }
                schema
            }
        }
    };
}

limit!(LimitOfRate, Unit::PerSecond, 1000);
limit!(LimitOfDuration, Unit::Nanoseconds, "20ms");
limit!(LimitOfSize, Unit::Bytes, "64MiB");
limit!(LimitOfTransfer, Unit::BytesPerSecond, "1.5MB/s");
limit!(LimitOfCount, Unit::Count, 0);

impl OfMetric for Quantity {
    fn of(unit: Unit, _: &mut SchemaGenerator) -> Value {
        figure(unit)
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Figure".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "title": "figure", "type": ["number", "string"] })
    }
}

impl<K: SelectorKey, V: OfMetric> JsonSchema for ByMetric<K, V> {
    fn schema_name() -> Cow<'static, str> {
        K::TABLE.into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = Map::new();
        let selector = Cells::json_schema(generator).to_value();
        properties.insert(
            K::NAME.to_owned(),
            with(
                selector,
                &json!({ "description": K::ABOUT, "examples": [{ "server": "node", "load": "steady" }] }),
            ),
        );
        for metric in REGISTRY {
            let of = V::of(metric.unit, generator);
            let more = json!({ "description": about(metric) });
            properties.insert(metric.name.to_owned(), with(of, &more));
        }
        let mut schema = json_schema!({
            "title": K::TITLE,
            "description": K::ABOUT_TABLE,
            "type": "object",
            "properties": properties,
            "additionalProperties": false
        });
        // One metric at least, beside the selector.
        if K::REQUIRED {
            schema.insert("required".to_owned(), json!([K::NAME]));
            schema.insert("minProperties".to_owned(), 2.into());
        } else {
            schema.insert("minProperties".to_owned(), 1.into());
            schema.insert("if".to_owned(), json!({ "required": [K::NAME] }));
            schema.insert("then".to_owned(), json!({ "minProperties": 2 }));
        }
        schema
    }
}

/// What a search holds on to: metrics that a single step of it has.
pub(in crate::suite) struct Search;

impl JsonSchema for Search {
    fn schema_name() -> Cow<'static, str> {
        "Search".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let of_a_step = |metric: &&Metric| {
            metric.name == "errors"
                || ["latency_", "service_", "response_"]
                    .iter()
                    .any(|family| metric.name.starts_with(family))
        };
        let properties: Map<String, Value> = REGISTRY
            .iter()
            .filter(of_a_step)
            .map(|metric| {
                let more = json!({ "description": about(metric) });
                (metric.name.to_owned(), with(figure(metric.unit), &more))
            })
            .collect();
        json_schema!({
            "title": "table of metrics",
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
            "minProperties": 1
        })
    }
}
