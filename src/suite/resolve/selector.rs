//! Selectors: which cells are meant, by the names of axes and values.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{At, Combine, Matrix, Selector};
use crate::suite::schema::{self, Opt};
use crate::suite::written::Spanned;

impl Resolver {
    pub(super) fn matrix(&mut self, matrix: schema::Matrix) -> Matrix {
        Matrix {
            combine: self.combine(matrix.combine),
            include: self.selectors(matrix.include, "include"),
            exclude: self.selectors(matrix.exclude, "exclude"),
        }
    }

    fn combine(&mut self, combine: Opt<String>) -> Option<At<Combine>> {
        let span = combine.as_ref()?.span();
        let known = [
            ("all", Combine::All),
            ("one-at-a-time", Combine::OneAtATime),
            ("listed", Combine::Listed),
        ];
        self.one_of(combine, "way to combine", &known)
            .map(|combine| At::new(combine, span))
    }

    fn selectors(
        &mut self,
        selectors: Option<Vec<Spanned<schema::Selector>>>,
        what: &str,
    ) -> Vec<At<Selector>> {
        selectors
            .unwrap_or_default()
            .into_iter()
            .map(|one| self.selector_at(one, what))
            .collect()
    }

    pub(super) fn selector_at(
        &mut self,
        selector: Spanned<schema::Selector>,
        what: &str,
    ) -> At<Selector> {
        let span = selector.span();
        if selector.get_ref().0.is_empty() && what == "exclude" {
            self.say(
                Diagnostic::error(code::BAD_VALUE, "this excludes every cell", span.clone())
                    .help("name an axis and its value: { compression = \"gzip\" }"),
            );
        }
        At::new(self.selector(selector.into_inner(), what), span)
    }

    pub(super) fn selector(&mut self, selector: schema::Selector, what: &str) -> Selector {
        let mut axes = Vec::new();
        for (axis, choices) in selector.0 {
            let span = choices.span();
            let values = choices.into_inner().0;
            if values.len() > 1 && matches!(what, "baseline" | "cell") {
                self.say(Diagnostic::error(
                    code::BAD_VALUE,
                    format!("a {what} has one value of an axis"),
                    span.clone(),
                ));
            }
            let Some(known) = self.axis(&axis) else {
                continue;
            };
            for value in &values {
                let name = &value.get_ref().0;
                if !known.contains(name) {
                    // A value that stands alone has the place of the whole.
                    let place = if value.span().is_empty() {
                        span.clone()
                    } else {
                        value.span()
                    };
                    self.unknown(
                        &format!("value of `{}` called", axis.get_ref()),
                        name,
                        place,
                        &known,
                    );
                }
            }
            axes.push((
                axis.into_inner(),
                values
                    .into_iter()
                    .map(|value| value.into_inner().0)
                    .collect(),
            ));
        }
        Selector { axes }
    }

    /// The values that an axis has.
    fn axis(&mut self, axis: &Spanned<String>) -> Option<Vec<String>> {
        let name = axis.get_ref().as_str();
        match name {
            "server" => return Some(self.servers.clone()),
            "load" => return Some(self.loads.clone()),
            _ => {}
        }
        if let Some((_, values)) = self.toggles.iter().find(|(toggle, _)| toggle == name) {
            return Some(values.clone());
        }
        let known: Vec<String> = ["server", "load"]
            .into_iter()
            .map(str::to_owned)
            .chain(self.toggles.iter().map(|(toggle, _)| toggle.clone()))
            .collect();
        self.unknown("axis", name, axis.span(), &known);
        None
    }
}
