//! The reference page of what a template may name, in Markdown: its tables from the types of the view and the
//! registry of metrics alone, so that nothing on it can be out of date.

use super::shape::{entries, items, kind_of, node, properties, schema};
use crate::record::{METRICS, Unit};
use serde_json::Value;
use std::fmt::Write as _;

/// What no type says: how a template is chosen, what escapes, which filters there are.
const RULES: &str = include_str!("rules.md");

/// The reference page, `docs/templates.md`.
pub fn template_reference() -> String {
    let schema = schema();
    let mut page = Page {
        root: &schema,
        out: format!(
            "<!-- Made from the types of the report; `HOTLAP_BLESS=1 cargo test --test templates` writes it anew. -->\n{RULES}"
        ),
        told: Vec::new(),
    };
    page.section("The report", "", &schema);
    page.metrics();
    page.out
}

struct Page<'s> {
    root: &'s Value,
    out: String,
    /// The kinds that have their section.
    told: Vec<&'s str>,
}

impl<'s> Page<'s> {
    /// A table of the fields of one kind, then the sections of the kinds that these are of.
    fn section(&mut self, title: &str, about: &str, schema: &'s Value) {
        let Some(fields) = properties(schema) else {
            return;
        };
        let about = if about.is_empty() { "" } else { about };
        let _ = writeln!(self.out, "\n### {title}\n");
        if !about.is_empty() {
            let _ = writeln!(self.out, "{}\n", line(about));
        }
        self.out
            .push_str("| Name | Is | May be absent | Meaning |\n|:--|:--|:--|:--|\n");
        for (name, of) in fields {
            let found = node(self.root, of);
            let meaning = of.get("description").or(found.schema.get("description"));
            let _ = writeln!(
                self.out,
                "| `{name}` | {} | {} | {} |",
                self.is(of),
                if found.optional { "yes" } else { "" },
                line(meaning.and_then(Value::as_str).unwrap_or_default()).replace('|', "\\|"),
            );
        }
        for of in fields.values() {
            if let Some((kind, schema)) = self.inner(of)
                && !self.told.contains(&kind)
            {
                self.told.push(kind);
                let about = schema.get("description").and_then(Value::as_str);
                self.section(&format!("`{kind}`"), about.unwrap_or_default(), schema);
            }
        }
    }

    /// The kind with fields that a field is, or has in it.
    fn inner(&self, schema: &'s Value) -> Option<(&'s str, &'s Value)> {
        let found = node(self.root, schema);
        if let (Some(kind), Some(_)) = (found.kind, properties(found.schema)) {
            return Some((kind, found.schema));
        }
        let deeper = items(found.schema).or_else(|| entries(found.schema))?;
        self.inner(deeper)
    }

    /// What a field is, in words.
    fn is(&self, schema: &Value) -> String {
        let found = node(self.root, schema);
        if let (Some(kind), Some(_)) = (found.kind, properties(found.schema)) {
            return link(kind);
        }
        match kind_of(found.schema) {
            "array" => match (items(found.schema), found.schema.get("minItems")) {
                (Some(of), Some(length)) => format!("{length} × {}", self.is(of)),
                (Some(of), None) => format!("list of: {}", self.is(of)),
                _ => "list".to_owned(),
            },
            "object" => match entries(found.schema) {
                Some(of) => format!("for each [metric](#metrics): {}", self.is(of)),
                None => "table".to_owned(),
            },
            "string" => "text".to_owned(),
            "boolean" => "true or false".to_owned(),
            "integer" | "number" => "number".to_owned(),
            other => other.to_owned(),
        }
    }

    fn metrics(&mut self) {
        self.out.push_str(
            "\n## Metrics\n\nThe names in `metrics` of a cell and of a trial. `median`, `min`, `max` and `interval` of a figure are in this unit; \
             `shown` and `range` have theirs with them.\n\n| Name | Shown as | Unit |\n|:--|:--|:--|\n",
        );
        for metric in METRICS.iter() {
            let unit = match metric.unit {
                Unit::PerSecond => "1/s",
                Unit::Nanoseconds => "ns",
                Unit::Bytes => "bytes",
                Unit::BytesPerSecond => "bytes/s",
                Unit::Count => "a number",
                Unit::CpuSeconds => "s of CPU time",
                Unit::PerCpuSecond => "1/s of CPU time",
            };
            let _ = writeln!(
                self.out,
                "| `{}` | {} | {unit} |",
                metric.name, metric.label
            );
        }
    }
}

fn link(kind: &str) -> String {
    format!("[{kind}](#{})", kind.to_lowercase())
}

/// A doc comment in one line; what it links to is known to programmers only.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
