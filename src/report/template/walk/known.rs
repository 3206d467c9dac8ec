//! What a name, a field, a filter or a test of a template stands for, and the mistake where it is none.

use super::super::names::{nearest, some_of};
use super::super::shape::{Fields, Shape};
use super::{Bound, Walk};
use crate::diagnostic::Diagnostic;
use minijinja::context;
use minijinja::machinery::Span;
use minijinja::machinery::ast::{CallArg, Expr};
use std::ops::Range;

/// What may be called, or is there in certain places, beside the view.
const OWN: [&str; 8] = [
    "range",
    "dict",
    "namespace",
    "debug",
    "loop",
    "self",
    "super",
    "caller",
];

impl<'w, 't> Walk<'w, 't> {
    pub(super) fn bound(&self, name: &str) -> Option<Bound<'w, 't>> {
        let mut scopes = self.scopes.iter().rev();
        scopes.find_map(|scope| scope.get(name)).cloned()
    }

    pub(super) fn name(&mut self, name: &str, span: Span) -> Shape {
        match self.bound(name) {
            Some(Bound::Value(shape)) => return shape,
            Some(Bound::Macro(..)) => return Shape::Anything,
            None => {}
        }
        let Shape::Fields(view) = self.view else {
            return Shape::Anything;
        };
        if let Some(shape) = view.of.get(name) {
            return shape.clone();
        }
        if !OWN.contains(&name) {
            let made = self.scopes.iter().flat_map(|scope| scope.keys().copied());
            let names: Vec<&str> = view.of.keys().map(String::as_str).chain(made).collect();
            self.say(span, name, &format!("there is no `{name}`"), &names);
        }
        Shape::Anything
    }

    pub(super) fn field(&mut self, of: &Shape, name: &str, span: Span) -> Shape {
        match of {
            Shape::Anything => Shape::Anything,
            Shape::Fields(fields) => self.field_of(fields, name, span),
            Shape::Plain => {
                let what = format!("a text or a number has no `{name}`");
                self.say(span, name, &what, &[]);
                Shape::Anything
            }
            Shape::List(_) => {
                let what = format!("a list has no `{name}`; each of its entries may");
                self.say(span, name, &what, &[]);
                Shape::Anything
            }
        }
    }

    fn field_of(&mut self, fields: &Fields, name: &str, span: Span) -> Shape {
        if let Some(shape) = fields.of.get(name) {
            return shape.clone();
        }
        let names: Vec<&str> = fields.of.keys().map(String::as_str).collect();
        let what = format!("{} has no `{name}`", fields.kind);
        self.say(span, name, &what, &names);
        Shape::Anything
    }

    pub(super) fn item(&mut self, of: &Shape, key: &Expr<'_>) -> Shape {
        let Expr::Const(constant) = key else {
            // Which one is not known; all metrics have one shape.
            return match of {
                Shape::Fields(fields) if fields.kind == "metrics" => {
                    let mut any = fields.of.values();
                    any.next().cloned().unwrap_or(Shape::Anything)
                }
                other => other.element(),
            };
        };
        match constant.value.as_str() {
            Some(name) => self.field(of, name, key.span()),
            None => of.element(),
        }
    }

    /// What a filter makes of a value, as far as it has names.
    pub(super) fn filtered(&mut self, filter: &str, of: Shape, args: &[CallArg<'_>]) -> Shape {
        let text = |arg: &Expr<'_>| match arg {
            Expr::Const(constant) => constant
                .value
                .as_str()
                .map(|name| (name.to_owned(), arg.span())),
            _ => None,
        };
        let attribute = args.iter().find_map(|arg| match arg {
            CallArg::Kwarg("attribute", arg) => text(arg),
            CallArg::Pos(arg) if matches!(filter, "selectattr" | "rejectattr" | "groupby") => {
                text(arg)
            }
            _ => None,
        });
        let picked = attribute.map(|(path, span)| {
            let steps = path.split('.');
            steps.fold(of.element(), |of, name| match of {
                Shape::Fields(_) => self.field(&of, name, span),
                other => other.element(),
            })
        });
        match filter {
            "first" | "last" | "min" | "max" => of.element(),
            "sort" | "reverse" | "list" | "unique" | "select" | "reject" | "selectattr"
            | "rejectattr" | "default" | "d" => of,
            "batch" | "slice" => of.listed(),
            "map" => picked.map_or(Shape::Anything, Shape::listed),
            "length" | "count" | "join" | "html" | "code" | "fence" | "upper" | "lower"
            | "replace" | "trim" | "string" | "round" | "cut" | "anchor" => Shape::Plain,
            _ => Shape::Anything,
        }
    }

    /// That a filter or a test is one that there is.
    pub(super) fn known(&mut self, kind: &'static str, name: &str, span: Span) {
        let expression = format!("name is {kind}");
        let there = self
            .env
            .compile_expression(&expression)
            .and_then(|compiled| compiled.eval(context! { name }));
        if there.is_ok_and(|there| !there.is_true()) {
            self.say(span, name, &format!("there is no {kind} `{name}`"), &[]);
        }
    }

    /// A mistake, once for each place.
    pub(super) fn say(&mut self, span: Span, word: &str, what: &str, names: &[&str]) {
        if self.asking > 0 {
            return;
        }
        let text = &self.trees[self.file].source.text;
        let place = place(text, span, word);
        let known = self.found.iter().any(|(file, one)| {
            *file == self.file && one.labels.iter().any(|label| label.span == place)
        });
        if known {
            return;
        }
        let mut mistake = Diagnostic::error("template-name", what, place);
        if let Some(near) = nearest(word, names) {
            mistake = mistake.help(format!("`{near}` is there, and is spelled like it"));
        } else if !names.is_empty() {
            mistake = mistake.help(format!("there are {}", some_of(names)));
        }
        let file = self.file;
        self.found.push((file, mistake));
    }
}

/// The bytes of a word within a span.
fn place(text: &str, span: Span, word: &str) -> Range<usize> {
    let (start, end) = (span.start_offset as usize, span.end_offset as usize);
    let within = text.get(start..end).unwrap_or_default();
    match within.rfind(word) {
        Some(at) => start + at..start + at + word.len(),
        None => start.min(text.len())..end.min(text.len()),
    }
}
