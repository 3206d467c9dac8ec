//! Templates of a report: those that are compiled in and those of users, with the files that they include.
//! A template is checked before a run begins, against all that a view may hold: by a [walk](walk) over every
//! name, and by rendering it with [views](sample) that have everything and nothing.

mod files;
mod names;
mod reference;
mod sample;
mod shape;
mod walk;

pub use reference::template_reference;

use super::ReportError;
use super::markdown::environment;
use super::templates::{self, BUILT_IN};
use super::view::View;
use crate::diagnostic::{Diagnostic, SourceText, Style, render as render_diagnostics};
use minijinja::Environment;
use minijinja::machinery::parse;
use minijinja::value::Serde;
use sample::{Extent, sample};
use serde::Serialize;
use walk::Tree;

/// A report by [`ROWS`](Template::ROWS) is below this many bytes: a comment on GitHub has at most 65 536 characters.
const MOST_BYTES: usize = 65_536;
/// What is tried for [`most_rows`](View::most_rows), one after the other, until the report is small enough.
const ROWS_TO_TRY: [usize; 8] = [200, 100, 50, 25, 12, 6, 3, 1];

/// What a template writes, which decides how values are escaped and what the report is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Markdown of GitHub.
    Markdown,
    /// HTML, and other files with tags.
    Html,
    /// Plain text, in which nothing is escaped.
    Text,
}

impl Kind {
    /// The kind that the name of a template tells, `page.html` or `page.html.j2`; Markdown where it tells none.
    pub fn of(name: &str) -> Self {
        let lower = name.to_ascii_lowercase();
        let plain = [".j2", ".jinja", ".jinja2"]
            .iter()
            .find_map(|ending| lower.strip_suffix(ending))
            .unwrap_or(&lower);
        match plain.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html" | "htm" | "xml" | "svg") => Self::Html,
            Some("txt") => Self::Text,
            _ => Self::Markdown,
        }
    }

    /// The name of the report in the run's folder.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Markdown => "report.md",
            Self::Html => "report.html",
            Self::Text => "report.txt",
        }
    }
}

/// A file of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Source {
    /// The name by which templates include it.
    name: String,
    /// How it is called in messages.
    called: String,
    /// Its content.
    text: String,
}

/// A template with all files that it includes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    kind: Kind,
    /// The file where it begins, then the others.
    sources: Vec<Source>,
}

impl Template {
    /// The name in a view by which a template says that its report is made shorter where it would be too long for
    /// a comment.
    pub const ROWS: &str = "most_rows";

    /// A template of a user, by the name of its file and its text.
    pub fn new(called: &str, text: &str) -> Self {
        Self {
            kind: Kind::of(called),
            sources: vec![Source {
                name: called.to_owned(),
                called: called.to_owned(),
                text: text.to_owned(),
            }],
        }
    }

    /// The built-in template of this name.
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, file, text) = BUILT_IN.iter().find(|(own, _, _)| *own == name)?;
        Some(Self::new(file, text))
    }

    /// The names of the built-in templates.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _, _)| *name)
    }

    /// The name of the report that it makes, in the run's folder.
    pub fn file_name(&self) -> &'static str {
        self.kind.file_name()
    }

    /// The files that it names and that are not there yet, each with whether it may be missing. A name that is only known
    /// when the template is rendered is an error, since all files are read before.
    pub fn wanted(&self) -> Result<Vec<(String, bool)>, ReportError> {
        let mut wanted: Vec<(String, bool)> = Vec::new();
        for source in &self.sources {
            let root = source.parse()?;
            for place in files::named(&root) {
                let Some(names) = place.names else {
                    let span = place.span.start_offset as usize..place.span.end_offset as usize;
                    let mistake = Diagnostic::error(
                        "template-file",
                        "which file this names is only known when it is rendered, and files are read before",
                        span,
                    );
                    let help = "write the name as a text, in quotes";
                    return Err(source.mistakes(&[mistake.help(help)]));
                };
                let single = names.len() == 1;
                for name in names {
                    let there = self.sources.iter().any(|source| source.name == name)
                        || templates::text(&name).is_some()
                        || wanted.iter().any(|(known, _)| *known == name);
                    if !there {
                        // Of several the first that is there is taken.
                        wanted.push((name, place.optional || !single));
                    }
                }
            }
        }
        Ok(wanted)
    }

    /// Adds a file that it names.
    pub fn add(&mut self, name: &str, called: &str, text: &str) {
        self.sources.push(Source {
            name: name.to_owned(),
            called: called.to_owned(),
            text: text.to_owned(),
        });
    }

    /// That nothing in it can fail on the report of any run: it parses, all that it names is there, also
    /// where a run would not reach it, and it renders with everything there and with nothing that may be absent.
    pub fn check(&self) -> Result<(), ReportError> {
        let built_in = self.built_in_sources();
        let sources: Vec<&Source> = self.sources.iter().chain(&built_in).collect();
        let mut trees = Vec::new();
        for source in &sources {
            trees.push(Tree {
                source,
                root: source.parse()?,
            });
        }
        let schema = shape::schema();
        let found = walk::mistakes(&trees, &shape::of_view(&schema));
        if let Some((file, _)) = found.first() {
            let in_file = found.iter().filter(|(of, _)| of == file);
            let mistakes: Vec<Diagnostic> = in_file.map(|(_, mistake)| mistake.clone()).collect();
            return Err(sources[*file].mistakes(&mistakes));
        }
        let env = self.env()?;
        for extent in Extent::ALL {
            self.rendered(&env, &sample(&schema, extent))
                .map_err(|error| self.error(&error, Some(extent)))?;
        }
        Ok(())
    }

    /// The report of a view. One whose template speaks of [`ROWS`](Self::ROWS) is made with fewer of them until it is small
    /// enough for a comment.
    pub(super) fn report(&self, view: &View) -> Result<String, ReportError> {
        let whole = self.render(view)?;
        let short = |source: &Source| source.text.contains(Self::ROWS);
        if !self.sources.iter().any(short) {
            return Ok(whole);
        }
        let mut made = whole;
        for rows in ROWS_TO_TRY {
            if made.len() < MOST_BYTES {
                break;
            }
            let mut fewer = view.clone();
            fewer.most_rows = rows;
            made = self.render(&fewer)?;
        }
        Ok(made)
    }

    /// Renders it with any data.
    pub(super) fn render(&self, view: &impl Serialize) -> Result<String, ReportError> {
        self.rendered(&self.env()?, view)
            .map_err(|error| self.error(&error, None))
    }

    fn rendered(
        &self,
        env: &Environment<'_>,
        view: &impl Serialize,
    ) -> Result<String, minijinja::Error> {
        let name = self.sources.first().map_or("", |source| &source.name);
        env.get_template(name)?.render(Serde(view))
    }

    /// The built-in files that a template may include and that are not its own.
    fn built_in_sources(&self) -> Vec<Source> {
        let own = |file: &str| self.sources.iter().any(|source| source.name == file);
        templates::all()
            .filter(|(file, _)| !own(file))
            .map(|(file, text)| Source {
                name: file.to_owned(),
                called: file.to_owned(),
                text: text.to_owned(),
            })
            .collect()
    }

    fn env(&self) -> Result<Environment<'static>, ReportError> {
        let mut env = environment(self.kind);
        for source in self.sources.iter().chain(&self.built_in_sources()) {
            env.add_template_owned(source.name.clone(), source.text.clone())
                .map_err(|error| source.error(&error, None))?;
        }
        Ok(env)
    }

    /// A mistake that showed when it was rendered, in the file where it is.
    fn error(&self, error: &minijinja::Error, extent: Option<Extent>) -> ReportError {
        // An include wraps the mistake of what it includes.
        let mut inner = error;
        while let Some(deeper) = std::error::Error::source(inner)
            .and_then(|source| source.downcast_ref::<minijinja::Error>())
        {
            inner = deeper;
        }
        let built_in = self.built_in_sources();
        let all = || self.sources.iter().chain(&built_in);
        let named = all().find(|source| Some(source.name.as_str()) == inner.name());
        match named.or_else(|| all().next()) {
            Some(source) => source.error(inner, extent),
            None => ReportError::Serialise(error.to_string()),
        }
    }
}

impl Source {
    fn parse(&self) -> Result<minijinja::machinery::ast::Stmt<'_>, ReportError> {
        parse(&self.text, &self.name, super::markdown::syntax())
            .map_err(|error| self.error(&error, None))
    }

    /// A mistake that minijinja found, shown in its line.
    fn error(&self, error: &minijinja::Error, extent: Option<Extent>) -> ReportError {
        let line = error.line();
        let start = line.map_or(0, |line| {
            let lines = self.text.split_inclusive('\n').take(line - 1);
            lines.map(str::len).sum()
        });
        let width = self.text[start..].lines().next().map_or(0, str::len);
        let place = start..start + width;
        let message = error.detail().map_or_else(
            || error.kind().to_string(),
            |detail| format!("{}: {detail}", error.kind()),
        );
        let mut mistake = Diagnostic::error("template", message, place);
        if let Some(extent) = extent {
            mistake = mistake.help(format!(
                "this is so in {}; ask with `{{% if … %}}` whether it is there",
                extent.words()
            ));
        }
        let help = "docs/templates.md has every name that a template may use";
        self.mistakes(&[mistake.help(help)])
    }

    fn mistakes(&self, mistakes: &[Diagnostic]) -> ReportError {
        let source = SourceText {
            name: self.called.clone(),
            text: self.text.clone(),
        };
        let line = mistakes
            .first()
            .map(|mistake| source.position(mistake.offset()).0);
        ReportError::Template {
            name: self.called.clone(),
            line,
            rendered: render_diagnostics(&source, mistakes, Style::Plain),
        }
    }
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
