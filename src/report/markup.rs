//! Templates whose result is HTML or SVG: everything that they print is escaped, but for what is markup already.

use super::{ReportError, markdown};
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

/// Renders a template that is compiled in. Five characters are escaped, in HTML as in XML, so that no text is markup.
pub(super) fn render(name: &str, text: &str, view: &impl Serialize) -> Result<String, ReportError> {
    let mut env = Environment::new();
    env.set_syntax(markdown::syntax());
    env.set_auto_escape_callback(|_| AutoEscape::Html);
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.template_from_named_str(name, text)
        .and_then(|template| template.render(Serde(view)))
        .map_err(|error| ReportError::in_template(&error, name, text))
}
