//! Templates of one cell, rendered. What is known only when a process starts
//! goes through as a mark.

use super::expand::{Expansion, Layer};
use crate::diagnostic::Diagnostic;
use crate::spec::Text;
use crate::suite::{self, Template};
use minijinja::context;
use std::ops::Range;

impl Expansion<'_> {
    /// Renders a template for this cell.
    pub(super) fn text(&mut self, template: &Template) -> Text {
        let source = &template.value;
        if !["{{", "{%", "{#"].iter().any(|open| source.contains(open)) {
            return Text::literal(source);
        }
        let context = match self.layer {
            Layer::Toggle(_, value) => context! { value, ..self.context.clone() },
            Layer::Own | Layer::Override => self.context.clone(),
        };
        let (message, help) = match self.environment.render_str(source, context) {
            Ok(rendered) => match Text::from_marked(&rendered) {
                Some(text) => return text,
                None => (
                    "what is known only when a process starts was changed".to_owned(),
                    "`port`, `dir`, `cpus` and `env` can be inserted, but not computed with",
                ),
            },
            Err(error) => {
                let detail = error
                    .detail()
                    .map_or_else(|| error.kind().to_string(), str::to_owned);
                let help = if error.kind() == minijinja::ErrorKind::UndefinedError {
                    "a toggle is defined only for the servers and loads that it applies to, and \
                     `env.NAME` only where the variable is set; `| default('…')` gives another value"
                } else {
                    "`port`, `dir`, `cpus` and `env` can be inserted, but not computed with"
                };
                (detail, help)
            }
        };
        self.mistakes.push(
            Diagnostic::error(
                suite::BAD_TEMPLATE,
                format!(
                    "this cannot be rendered for `{}` under `{}`: {message}",
                    self.names.server.name.value, self.names.load.name.value
                ),
                template.span.clone(),
            )
            .help(help),
        );
        Text::default()
    }

    /// A text that must be whole before any process starts.
    pub(super) fn whole(&mut self, text: &Text, span: &Range<usize>, what: &str) -> String {
        if let Some(text) = text.as_literal() {
            return text.to_owned();
        }
        self.mistakes.push(
            Diagnostic::error(
                suite::BAD_TEMPLATE,
                format!("`port`, `dir`, `cpus` and `env` have no value yet in {what}"),
                span.clone(),
            )
            .help("they are known when a trial starts its process"),
        );
        String::new()
    }
}
