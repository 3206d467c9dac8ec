//! Text with places that are filled when a process starts. A spec keeps the
//! port and the scratch folder symbolic, so that the same cell is the same cell
//! whatever port it happens to get.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What is known only when a process starts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Symbol {
    /// The port that the process shall listen on.
    Port,
    /// The process's own empty folder, new in each trial.
    Dir,
    /// The number of CPUs that the server may use.
    Cpus,
    /// Which of several processes of one kind it is, from 1.
    Index,
    /// The program of the process's runtime.
    Runtime,
    /// The folder that a runtime is built into.
    Cache,
    /// The program of a runtime that was just built.
    Bin,
    /// A variable of the caller's environment.
    Env(String),
    /// The port of another process of the same server, by its name and its place among its kind, from 0.
    Ports(String, usize),
    /// The port of a service.
    ServicePort(String),
    /// The number of the request among all of a trial, from 1. Only in a request.
    Counter,
    /// A whole number by chance between these two, another one in each request. Only in a request.
    Random(u64, u64),
}

impl Symbol {
    /// Whether each request has its own value of it.
    pub fn is_of_a_request(&self) -> bool {
        matches!(self, Self::Counter | Self::Random(..))
    }

    /// A symbol by what it is called in a template.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "port" => Self::Port,
            "dir" => Self::Dir,
            "cpus" => Self::Cpus,
            "index" => Self::Index,
            "runtime" => Self::Runtime,
            "cache" => Self::Cache,
            "bin" => Self::Bin,
            "counter" => Self::Counter,
            _ => return Self::compound(name),
        })
    }

    fn compound(name: &str) -> Option<Self> {
        if let Some(variable) = name.strip_prefix("env.") {
            return Some(Self::Env(variable.to_owned()));
        }
        if let Some(bounds) = name.strip_prefix("random(") {
            let (low, high) = bounds.strip_suffix(')')?.split_once(", ")?;
            return Some(Self::Random(low.parse().ok()?, high.parse().ok()?));
        }
        if let Some(rest) = name.strip_prefix("services[\"") {
            return Some(Self::ServicePort(rest.strip_suffix("\"].port")?.to_owned()));
        }
        let (process, at) = name.strip_prefix("ports[\"")?.split_once("\"][")?;
        Some(Self::Ports(
            process.to_owned(),
            at.strip_suffix(']')?.parse().ok()?,
        ))
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port => f.write_str("port"),
            Self::Dir => f.write_str("dir"),
            Self::Cpus => f.write_str("cpus"),
            Self::Index => f.write_str("index"),
            Self::Runtime => f.write_str("runtime"),
            Self::Cache => f.write_str("cache"),
            Self::Bin => f.write_str("bin"),
            Self::Env(name) => write!(f, "env.{name}"),
            Self::Ports(process, at) => write!(f, "ports[\"{process}\"][{at}]"),
            Self::ServicePort(service) => write!(f, "services[\"{service}\"].port"),
            Self::Counter => f.write_str("counter"),
            Self::Random(low, high) => write!(f, "random({low}, {high})"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    Literal(String),
    Symbol(Symbol),
}

/// A text in which some places are symbolic. It is written as a string, a
/// symbol as `{{ port }}`, and reads back to the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Text {
    /// Shared, since the cells of a matrix have most of their texts in common.
    parts: Arc<[Part]>,
}

/// A part of a text of a request, its other symbols filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// The same in each request.
    Text(String),
    /// See [`Symbol::Counter`].
    Counter,
    /// See [`Symbol::Random`].
    Random(u64, u64),
}

/// The values of a process's symbols. What a cell has nothing of is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fill {
    /// The port.
    pub port: u16,
    /// The scratch folder.
    pub dir: String,
    /// The number of CPUs.
    pub cpus: usize,
    /// Its place among its kind, from 1.
    pub index: u32,
    /// The program of its runtime.
    pub runtime: String,
    /// The folder of a runtime.
    pub cache: String,
    /// The program of a runtime that was just built.
    pub bin: String,
    /// The caller's environment.
    pub env: BTreeMap<String, String>,
    /// The ports of each process of the server.
    pub ports: BTreeMap<String, Vec<u16>>,
    /// The port of each service.
    pub services: BTreeMap<String, u16>,
}

impl Fill {
    fn value(&self, symbol: &Symbol) -> String {
        let port = |port: Option<&u16>| port.map_or_else(String::new, ToString::to_string);
        match symbol {
            Symbol::Port => self.port.to_string(),
            Symbol::Dir => self.dir.clone(),
            Symbol::Cpus => self.cpus.to_string(),
            Symbol::Index => self.index.to_string(),
            Symbol::Runtime => self.runtime.clone(),
            Symbol::Cache => self.cache.clone(),
            Symbol::Bin => self.bin.clone(),
            Symbol::Env(name) => self.env.get(name).cloned().unwrap_or_default(),
            Symbol::Ports(process, at) => {
                port(self.ports.get(process).and_then(|ports| ports.get(*at)))
            }
            Symbol::ServicePort(service) => port(self.services.get(service)),
            // Who sends requests takes them from `Text::pieces`; this is what the first could be.
            Symbol::Counter => "1".to_owned(),
            Symbol::Random(low, _) => low.to_string(),
        }
    }
}

/// Encloses a symbol's name in a rendered template. A noncharacter of Unicode,
/// so no suite means it.
const MARK: char = '\u{fdd0}';
/// How a literal `{{` is written, since `{{` opens a symbol.
const BRACES: &str = "{{ '{{' }}";

impl Text {
    /// What a symbol looks like inside a rendered template; [`Text::from_marked`] finds it again.
    /// The value of a variable of the caller, which may be a secret, is in no spec and no record.
    pub fn mark(symbol: &Symbol) -> String {
        format!("{MARK}{symbol}{MARK}")
    }

    /// Reads a rendered template with its marks. None where a mark was damaged,
    /// because the template did more with a symbol than to insert it.
    pub fn from_marked(text: &str) -> Option<Self> {
        let pieces: Vec<&str> = text.split(MARK).collect();
        // Between two marks there is a name, outside there is text.
        if pieces.len().is_multiple_of(2) {
            return None;
        }
        let mut parts = Vec::new();
        for (index, piece) in pieces.into_iter().enumerate() {
            if index % 2 == 0 {
                push(&mut parts, piece);
                continue;
            }
            parts.push(Part::Symbol(Symbol::named(piece)?));
        }
        Some(Self::of(parts))
    }

    /// A text without symbols.
    pub fn literal(text: impl Into<String>) -> Self {
        let mut parts = Vec::new();
        push(&mut parts, &text.into());
        Self::of(parts)
    }

    fn of(parts: Vec<Part>) -> Self {
        Self {
            parts: parts.into(),
        }
    }

    /// The text, where it has no symbols.
    pub fn as_literal(&self) -> Option<&str> {
        match &*self.parts {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The symbols that stand in it.
    pub fn symbols(&self) -> impl Iterator<Item = &Symbol> {
        self.parts.iter().filter_map(|part| match part {
            Part::Symbol(symbol) => Some(symbol),
            Part::Literal(_) => None,
        })
    }

    /// The variables of the caller's environment that stand in it.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.symbols().filter_map(|symbol| match symbol {
            Symbol::Env(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether the scratch folder stands in it.
    pub fn uses_dir(&self) -> bool {
        self.symbols().any(|symbol| *symbol == Symbol::Dir)
    }

    /// Whether each request that it stands in has another one.
    pub fn varies(&self) -> bool {
        self.symbols().any(Symbol::is_of_a_request)
    }

    /// The text with its symbols filled in, but for those of which each request has its own value.
    pub fn pieces<'t>(&'t self, fill: &'t Fill) -> impl Iterator<Item = Piece> + 't {
        self.parts.iter().map(|part| match part {
            Part::Literal(text) => Piece::Text(text.clone()),
            Part::Symbol(Symbol::Counter) => Piece::Counter,
            Part::Symbol(Symbol::Random(low, high)) => Piece::Random(*low, *high),
            Part::Symbol(symbol) => Piece::Text(fill.value(symbol)),
        })
    }

    /// The text with its symbols filled in; a variable that is not set is nothing.
    pub fn fill(&self, fill: &Fill) -> String {
        let mut out = String::new();
        for part in self.parts.iter() {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Symbol(symbol) => out.push_str(&fill.value(symbol)),
            }
        }
        out
    }
}

/// Puts text behind what is there.
fn push(parts: &mut Vec<Part>, text: &str) {
    if text.is_empty() {
        return;
    }
    match parts.last_mut() {
        Some(Part::Literal(last)) => last.push_str(text),
        _ => parts.push(Part::Literal(text.to_owned())),
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in self.parts.iter() {
            match part {
                Part::Literal(text) if text.contains("{{") => {
                    f.write_str(&text.replace("{{", BRACES))?;
                }
                Part::Literal(text) => f.write_str(text)?,
                Part::Symbol(symbol) => write!(f, "{{{{ {symbol} }}}}")?,
            }
        }
        Ok(())
    }
}

impl From<&str> for Text {
    /// Reads what [`Text`]'s `Display` writes.
    fn from(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            push(&mut parts, &rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix(BRACES) {
                push(&mut parts, "{{");
                rest = after;
                continue;
            }
            let named = rest
                .strip_prefix("{{ ")
                .and_then(|inside| inside.split_once(" }}"))
                .and_then(|(name, after)| Some((Symbol::named(name)?, after)));
            if let Some((symbol, after)) = named {
                parts.push(Part::Symbol(symbol));
                rest = after;
            } else {
                // One brace only: the next one may open a symbol.
                push(&mut parts, "{");
                rest = &rest[1..];
            }
        }
        push(&mut parts, rest);
        Self::of(parts)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &*self.parts {
            [Part::Literal(text)] if !text.contains("{{") => to.serialize_str(text),
            _ => to.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(|text| Self::from(text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill() -> Fill {
        Fill {
            port: 8080,
            dir: "/scratch".to_owned(),
            cpus: 2,
            env: BTreeMap::from([("TOKEN".to_owned(), "secret".to_owned())]),
            ports: BTreeMap::from([("app".to_owned(), vec![8081, 8082])]),
            services: BTreeMap::from([("db".to_owned(), 5432)]),
            ..Fill::default()
        }
    }

    #[test]
    fn symbols_are_filled_when_a_process_starts() {
        let marked = format!(
            "--port={} -d {}/x -w {}",
            Text::mark(&Symbol::Port),
            Text::mark(&Symbol::Dir),
            Text::mark(&Symbol::Cpus)
        );
        let text = Text::from_marked(&marked).unwrap();
        assert_eq!(
            text.to_string(),
            "--port={{ port }} -d {{ dir }}/x -w {{ cpus }}"
        );
        assert_eq!(text.fill(&fill()), "--port=8080 -d /scratch/x -w 2");
        assert_eq!(text.as_literal(), None);
        assert_eq!(
            Text::from_marked(&Text::mark(&Symbol::Port).to_uppercase()),
            None
        );
    }

    #[test]
    fn a_variable_is_filled_when_a_process_starts_and_never_written_down() {
        let text = Text::from_marked(&format!(
            "-t {}",
            Text::mark(&Symbol::Env("TOKEN".to_owned()))
        ))
        .unwrap();
        assert_eq!(text.to_string(), "-t {{ env.TOKEN }}");
        assert_eq!(Text::from("-t {{ env.TOKEN }}"), text);
        assert_eq!(text.fill(&fill()), "-t secret");
        assert_eq!(text.variables().collect::<Vec<_>>(), ["TOKEN"]);
    }

    #[test]
    fn ports_of_others_are_named_by_process_and_service() {
        let marked = format!(
            "{} {} {}",
            Text::mark(&Symbol::Ports("app".to_owned(), 1)),
            Text::mark(&Symbol::Ports("app".to_owned(), 7)),
            Text::mark(&Symbol::ServicePort("db".to_owned()))
        );
        let text = Text::from_marked(&marked).unwrap();
        assert_eq!(text.fill(&fill()), "8082  5432");
        assert_eq!(Text::from(text.to_string().as_str()), text);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(pieces in prop::collection::vec("[a-z{} ']{0,6}|port", 0..6), symbols in prop::collection::vec(0usize..5, 6)) {
            let mut parts = Vec::new();
            for (piece, symbol) in pieces.iter().zip(symbols) {
                push(&mut parts, piece);
                parts.push(Part::Symbol(match symbol {
                    0 => Symbol::Port,
                    1 => Symbol::Runtime,
                    2 => Symbol::Env("A_B".to_owned()),
                    3 => Symbol::Ports("a-b.c".to_owned(), 2),
                    _ => Symbol::ServicePort("db".to_owned()),
                }));
            }
            let text = Text::of(parts);
            prop_assert_eq!(Text::from(text.to_string().as_str()), text);
        }
    }
}
