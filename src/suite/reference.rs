//! The reference page of the suite format, in Markdown: its tables from the JSON
//! Schema alone, so that nothing on it can be out of date, then the rules that no
//! schema can say.

use super::describe::json_schema;
use crate::metric::{self, Direction, REGISTRY};
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// What no schema says: names, cells, precedence, selectors, templates, units.
const RULES: &str = include_str!("rules.md");

/// So many keys in common make one table the kin of another.
const KIN: usize = 5;

/// The reference page.
pub fn reference() -> String {
    let schema = json_schema();
    let no_keys = Map::new();
    let mut page = Page {
        schema: &schema,
        no_keys: &no_keys,
        out: String::new(),
        shown: Vec::new(),
    };
    page.head();
    page.visit("");
    page.metrics();
    page.out.push_str(RULES);
    page.out
}

struct Page<'a> {
    schema: &'a Value,
    /// The keys of what is no table.
    no_keys: &'a Map<String, Value>,
    out: String,
    /// The tables that have their section, by the names of their definitions; the file's own is empty.
    shown: Vec<&'a str>,
}

impl<'a> Page<'a> {
    fn head(&mut self) {
        self.out.push_str(
            "<!-- Made by `hotlap schema --markdown`. -->\n\
             # The suite file, format 1\n\n\
             A suite is one TOML 1.0 file: servers, what is toggled about them, the loads that are put on them, and how all of it is run. \
             A key that is not on this page is an error, and the error names the nearest key that is. \
             Everything has a default but what starts a server; the shortest suite is a server with a `command` and a load:\n\n\
             ```toml\n[servers.node]\ncommand = \"node index.js\"\n\n[loads.steady]\npath = \"/\"\n```\n\n\
             [The guide](guide.md) builds a longer one step by step. First the keys, table by table in the order of the file; then [the metrics](#metrics), \
             and [the rules](#rules) that hold between tables. In the tables `NAME` stands for a name of your own.\n",
        );
    }

    /// The section of a table, then those of the tables in it.
    fn visit(&mut self, name: &'a str) {
        if self.shown.contains(&name) {
            return;
        }
        // A table with all the keys of another one is told by its difference from it.
        let within = |inner: &&str| {
            let (inner, outer) = (self.keys(inner), self.keys(name));
            inner.len() >= KIN
                && inner.len() < outer.len()
                && shared(inner, outer).len() == inner.len()
        };
        let inner: Vec<&str> = self.references(name).into_iter().filter(within).collect();
        // What all servers share is a server's keys; they have their section where servers do.
        if name == "Defaults" {
            self.section(name);
            return;
        }
        for inner in inner {
            self.visit(inner);
        }
        self.section(name);
        for inner in self.references(name) {
            self.visit(inner);
        }
    }

    fn definition(&self, name: &str) -> &'a Value {
        if name.is_empty() {
            self.schema
        } else {
            &self.schema["definitions"][name]
        }
    }

    fn keys(&self, name: &str) -> &'a Map<String, Value> {
        let keys = self.definition(name)["properties"].as_object();
        keys.unwrap_or(self.no_keys)
    }

    /// The tables that a table's keys refer to, limits of one metric once.
    fn references(&self, name: &str) -> Vec<&'a str> {
        let mut found = Vec::new();
        for property in self.keys(name).values() {
            references(property, &mut found);
        }
        found.dedup();
        found
    }

    fn title(&self, name: &str) -> &'a str {
        match self.definition(name)["title"].as_str() {
            Some(title) if !name.is_empty() => title,
            _ => "The top of the file",
        }
    }

    fn section(&mut self, name: &'a str) {
        let title = self.title(name);
        // Limits differ in their units only.
        let again = self.shown.iter().any(|shown| self.title(shown) == title);
        let base = self.kin(name);
        self.shown.push(name);
        if again {
            return;
        }
        let heading = heading(title);
        let about = self.definition(name)["description"]
            .as_str()
            .unwrap_or_default();
        let about = if name.is_empty() { "" } else { about };
        let _ = write!(self.out, "\n## {heading}\n\n");
        if !about.is_empty() {
            let _ = write!(self.out, "{about}\n\n");
        }
        let keys = self.keys(name);
        let mut rows: Vec<(&String, &Value)> = keys.iter().collect();
        if let Some(base) = base {
            let _ = write!(self.out, "{}\n\n", self.difference(base, keys));
            let known = self.keys(base);
            rows.retain(|(key, property)| known.get(*key) != Some(property));
        }
        let has_metrics = rows.iter().any(|(key, _)| metric::find(key).is_some());
        let shown_metric = rows
            .iter()
            .find(|(key, _)| metric::find(key).is_some())
            .copied();
        rows.retain(|(key, _)| metric::find(key).is_none());
        if !rows.is_empty() || has_metrics {
            self.out
                .push_str("| key | type | default | meaning |\n|:--|:--|:--|:--|\n");
        }
        let required: Vec<&str> = self.definition(name)["required"]
            .as_array()
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        for (key, property) in rows {
            self.row(key, property, required.contains(&key.as_str()));
        }
        if let Some((_, property)) = shown_metric {
            let kind = if references_one(property).is_some() {
                self.kind(property)
            } else {
                "figure".to_owned()
            };
            let _ = writeln!(
                self.out,
                "| any [metric](#metrics) | {kind} | – | One at least. |"
            );
        }
    }

    /// The table shown already that shares the most keys, where that is worth saying.
    fn kin(&self, name: &str) -> Option<&'a str> {
        let keys = self.keys(name);
        if keys.keys().any(|key| metric::find(key).is_some()) {
            return None;
        }
        let mut best: Option<(&'a str, usize)> = None;
        for shown in &self.shown {
            let count = shared(self.keys(shown), keys).len();
            if count >= KIN && best.is_none_or(|(_, most)| count > most) {
                best = Some((shown, count));
            }
        }
        best.map(|(name, _)| name)
    }

    /// "The keys of … except …, and:"
    fn difference(&self, base: &str, keys: &Map<String, Value>) -> String {
        let known = self.keys(base);
        let common = shared(known, keys);
        let missing: Vec<&str> = known
            .keys()
            .map(String::as_str)
            .filter(|key| !common.contains(key))
            .collect();
        let link = self.link(base);
        let more = if common.len() == keys.len() {
            "."
        } else {
            ", and:"
        };
        if missing.is_empty() {
            format!("The keys of {link}{more}")
        } else if missing.len() <= common.len() {
            format!("The keys of {link} but for {}{more}", listed(&missing))
        } else {
            format!("Of the keys of {link}: {}{more}", listed(&common))
        }
    }

    fn link(&self, name: &str) -> String {
        let heading = heading(self.title(name));
        let shown = heading.strip_prefix("A ").map(|rest| format!("a {rest}"));
        format!(
            "[{}](#{})",
            shown.as_ref().unwrap_or(&heading),
            slug(&heading)
        )
    }

    fn row(&mut self, key: &str, property: &Value, required: bool) {
        let text = property["description"].as_str().unwrap_or_default();
        let (meaning, said) = split_default(text);
        let default = match property.get("default") {
            _ if required => "**required**".to_owned(),
            Some(value) => format!("`{}`", toml(value)),
            None => said.unwrap_or("–").to_owned(),
        };
        let example = property["examples"]
            .as_array()
            .and_then(|examples| examples.first())
            .map(|example| format!(" Example: `{key} = {}`", toml(example)))
            .unwrap_or_default();
        let kind = self.kind(property);
        let _ = writeln!(
            self.out,
            "| `{key}` | {kind} | {default} | {meaning}{example} |"
        );
    }

    /// A type in people's words.
    fn kind(&self, schema: &Value) -> String {
        if let Some(name) = references_one(schema) {
            return self.table(name);
        }
        if let Some(words) = schema["enum"].as_array() {
            let words: Vec<String> = words
                .iter()
                .map(|word| format!("`{}`", toml(word)))
                .collect();
            return words.join(", ");
        }
        if let Some(title) = schema["title"].as_str() {
            return title.to_owned();
        }
        match schema["type"].as_str() {
            Some("boolean") => "`true` or `false`".to_owned(),
            Some("integer") => format!("whole number{}", range(schema)),
            Some("string") => "string".to_owned(),
            Some("array") => {
                let of = &schema["items"];
                match references_one(of) {
                    Some(name) => format!("list of tables: {}", self.table(name)),
                    None => format!("list of {}s", self.kind(of)),
                }
            }
            Some("object") => {
                let of = &schema["additionalProperties"];
                let items = &of["items"];
                match references_one(of).or_else(|| references_one(items)) {
                    Some(name) => format!("tables: {}", self.table(name)),
                    None => format!("table of {}s", self.kind(of)),
                }
            }
            _ => "any value".to_owned(),
        }
    }

    /// A link to a table's section; where it has none, in terms of one that has.
    fn table(&self, name: &str) -> String {
        if name != "Common" {
            return self.link(name);
        }
        let (all, keys) = (self.keys("Server"), self.keys(name));
        let missing: Vec<&str> = all
            .keys()
            .map(String::as_str)
            .filter(|key| !keys.contains_key(*key))
            .collect();
        format!("{} but for {}", self.link("Server"), listed(&missing))
    }

    fn metrics(&mut self) {
        self.out.push_str(
            "\n## Metrics\n\nThe figures of a trial, for `[[gates]]`, `[published]` and `search`, in reports and in columns of CSV files, under the same names. \
             `latency_…` is service time in a closed loop and response time in an open one; `service_…` and `response_…` name one of them.\n\n\
             | metric | called | written like | better |\n|:--|:--|:--|:--|\n",
        );
        for metric in REGISTRY {
            let better = match metric.direction {
                Direction::Higher => "more",
                Direction::Lower => "less",
            };
            let _ = writeln!(
                self.out,
                "| `{}` | {} | `{}` | {better} |",
                metric.name,
                metric.label,
                metric.unit.example()
            );
        }
        self.out.push('\n');
    }
}

/// The keys that two tables have alike.
fn shared<'k>(one: &'k Map<String, Value>, other: &Map<String, Value>) -> Vec<&'k str> {
    one.iter()
        .filter(|(key, property)| other.get(*key) == Some(property))
        .map(|(key, _)| key.as_str())
        .collect()
}

fn listed(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    match keys.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => keys.join(""),
    }
}

/// The definition that a schema is, beside its annotations.
fn references_one(schema: &Value) -> Option<&str> {
    let target = schema
        .get("$ref")
        .or_else(|| schema.pointer("/allOf/0/$ref"))?;
    target.as_str()?.strip_prefix("#/definitions/")
}

/// Every definition that a schema refers to, in order.
fn references<'v>(schema: &'v Value, found: &mut Vec<&'v str>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(target)) = object.get("$ref") {
                found.extend(target.strip_prefix("#/definitions/"));
            }
            for value in object.values() {
                references(value, found);
            }
        }
        Value::Array(list) => {
            for value in list {
                references(value, found);
            }
        }
        _ => {}
    }
}

/// A section's heading: a table's header and a key as code, words as words.
fn heading(title: &str) -> String {
    if title.contains(' ') {
        let mut letters = title.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect()
    } else {
        format!("`{title}`")
    }
}

/// The anchor that a heading has where the page is shown.
fn slug(heading: &str) -> String {
    heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| {
            if c == ' ' {
                '-'
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}

fn range(schema: &Value) -> String {
    match (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) if least > 0 => format!(", at least {least}"),
        _ => String::new(),
    }
}

/// Takes "Default: …" out of a description, whose default is no single value.
fn split_default(text: &str) -> (&str, Option<&str>) {
    match text.split_once("Default: ") {
        Some((meaning, default)) => (meaning.trim_end(), Some(default.trim_end_matches('.'))),
        None => (text, None),
    }
}

/// A value as a suite writes it, on one line.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(list) => {
            let list: Vec<String> = list.iter().map(toml).collect();
            format!("[{}]", list.join(", "))
        }
        Value::Object(table) if table.is_empty() => "{}".to_owned(),
        Value::Object(table) => {
            let pairs: Vec<String> = table
                .iter()
                .map(|(key, value)| format!("{} = {}", toml_key(key), toml(value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        // A string, a number and a truth value are the same in JSON.
        other => other.to_string(),
    }
}

fn toml_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        Value::from(key).to_string()
    }
}
