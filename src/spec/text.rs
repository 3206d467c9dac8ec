//! Text with places that are filled when a process starts. A spec keeps the
//! port and the scratch folder symbolic, so that the same cell is the same cell
//! whatever port it happens to get.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// What is known only when a process starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Symbol {
    /// The port that the process shall listen on.
    Port,
    /// The process's own empty folder, new in each trial.
    Dir,
    /// The number of CPUs that the server may use.
    Cpus,
}

impl Symbol {
    /// Every symbol.
    pub const ALL: [Self; 3] = [Self::Port, Self::Dir, Self::Cpus];

    /// Its name in a suite's templates.
    pub fn name(self) -> &'static str {
        match self {
            Self::Port => "port",
            Self::Dir => "dir",
            Self::Cpus => "cpus",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    Literal(String),
    Symbol(Symbol),
    /// A variable of the caller's environment.
    Env(String),
}

/// A text in which some places are symbolic. It is written as a string, a
/// symbol as `{{ port }}`, and reads back to the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Text {
    parts: Vec<Part>,
}

/// The values of a process's symbols.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// The port.
    pub port: u16,
    /// The scratch folder.
    pub dir: String,
    /// The number of CPUs.
    pub cpus: usize,
    /// The caller's environment.
    pub env: BTreeMap<String, String>,
}

/// Encloses a symbol's name in a rendered template. A noncharacter of Unicode,
/// so no suite means it.
const MARK: char = '\u{fdd0}';
/// How a literal `{{` is written, since `{{` opens a symbol.
const BRACES: &str = "{{ '{{' }}";

impl Part {
    /// A symbol or variable by its name in templates.
    fn named(name: &str) -> Option<Self> {
        if let Some(variable) = name.strip_prefix("env.") {
            return Some(Self::Env(variable.to_owned()));
        }
        let symbol = Symbol::ALL
            .into_iter()
            .find(|symbol| symbol.name() == name)?;
        Some(Self::Symbol(symbol))
    }
}

impl Text {
    /// What a symbol looks like inside a rendered template; [`Text::from_marked`] finds it again.
    pub fn mark(symbol: Symbol) -> String {
        format!("{MARK}{}{MARK}", symbol.name())
    }

    /// What a variable of the caller's environment looks like inside a rendered template. Its
    /// value, which may be a secret, is in no spec and no record.
    pub fn mark_env(name: &str) -> String {
        format!("{MARK}env.{name}{MARK}")
    }

    /// Reads a rendered template with its marks. None where a mark was damaged,
    /// because the template did more with a symbol than to insert it.
    pub fn from_marked(text: &str) -> Option<Self> {
        let pieces: Vec<&str> = text.split(MARK).collect();
        // Between two marks there is a name, outside there is text.
        if pieces.len().is_multiple_of(2) {
            return None;
        }
        let mut this = Self::default();
        for (index, piece) in pieces.into_iter().enumerate() {
            if index % 2 == 0 {
                this.push(piece);
                continue;
            }
            this.parts.push(Part::named(piece)?);
        }
        Some(this)
    }

    /// A text without symbols.
    pub fn literal(text: impl Into<String>) -> Self {
        let mut this = Self::default();
        this.push(&text.into());
        this
    }

    /// The text, where it has no symbols.
    pub fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The variables of the caller's environment that stand in it.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Env(name) => Some(name.as_str()),
            Part::Literal(_) | Part::Symbol(_) => None,
        })
    }

    /// Whether the scratch folder stands in it.
    pub fn uses_dir(&self) -> bool {
        self.parts.contains(&Part::Symbol(Symbol::Dir))
    }

    /// The text with its symbols filled in; a variable that is not set is nothing.
    pub fn fill(&self, fill: &Fill) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Symbol(Symbol::Port) => out.push_str(&fill.port.to_string()),
                Part::Symbol(Symbol::Dir) => out.push_str(&fill.dir),
                Part::Symbol(Symbol::Cpus) => out.push_str(&fill.cpus.to_string()),
                Part::Env(name) => out.push_str(fill.env.get(name).map_or("", String::as_str)),
            }
        }
        out
    }

    fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Literal(last)) => last.push_str(text),
            _ => self.parts.push(Part::Literal(text.to_owned())),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Literal(text) => f.write_str(&text.replace("{{", BRACES))?,
                Part::Symbol(symbol) => write!(f, "{{{{ {} }}}}", symbol.name())?,
                Part::Env(name) => write!(f, "{{{{ env.{name} }}}}")?,
            }
        }
        Ok(())
    }
}

impl From<&str> for Text {
    /// Reads what [`Text`]'s `Display` writes.
    fn from(text: &str) -> Self {
        let mut this = Self::default();
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            this.push(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix(BRACES) {
                this.push("{{");
                rest = after;
                continue;
            }
            let named = rest
                .strip_prefix("{{ ")
                .and_then(|inside| inside.split_once(" }}"))
                .and_then(|(name, after)| Some((Part::named(name)?, after)));
            if let Some((part, after)) = named {
                this.parts.push(part);
                rest = after;
            } else {
                // One brace only: the next one may open a symbol.
                this.push("{");
                rest = &rest[1..];
            }
        }
        this.push(rest);
        this
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
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
        }
    }

    #[test]
    fn symbols_are_filled_when_a_process_starts() {
        let marked = format!(
            "--port={} -d {}/x -w {}",
            Text::mark(Symbol::Port),
            Text::mark(Symbol::Dir),
            Text::mark(Symbol::Cpus)
        );
        let text = Text::from_marked(&marked).unwrap();
        assert_eq!(
            text.to_string(),
            "--port={{ port }} -d {{ dir }}/x -w {{ cpus }}"
        );
        assert_eq!(text.fill(&fill()), "--port=8080 -d /scratch/x -w 2");
        assert_eq!(text.as_literal(), None);
        assert_eq!(
            Text::from_marked(&Text::mark(Symbol::Port).to_uppercase()),
            None
        );
    }

    #[test]
    fn a_variable_is_filled_when_a_process_starts_and_never_written_down() {
        let text = Text::from_marked(&format!("-t {}", Text::mark_env("TOKEN"))).unwrap();
        assert_eq!(text.to_string(), "-t {{ env.TOKEN }}");
        assert_eq!(Text::from("-t {{ env.TOKEN }}"), text);
        assert_eq!(text.fill(&fill()), "-t secret");
        assert_eq!(text.variables().collect::<Vec<_>>(), ["TOKEN"]);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(pieces in prop::collection::vec("[a-z{} ']{0,6}|port", 0..6), symbols in prop::collection::vec(0usize..3, 6)) {
            let mut text = Text::default();
            for (piece, symbol) in pieces.iter().zip(symbols) {
                text.push(piece);
                text.parts.push(Part::Symbol(Symbol::ALL[symbol]));
            }
            prop_assert_eq!(Text::from(text.to_string().as_str()), text);
        }
    }
}
