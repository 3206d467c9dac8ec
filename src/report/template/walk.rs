//! A walk over all of a template, also what a run would not reach: every name must be one of the view, or
//! one that the template itself makes; every filter and every test must be known. Macros are followed
//! with what they are called with, and other files with what they are included in.

use super::super::markdown::environment;
use super::names::{nearest, some_of};
use super::shape::{Fields, Shape};
use super::{Kind, Source};
use crate::diagnostic::Diagnostic;
use minijinja::machinery::Span;
use minijinja::machinery::ast::{Call, CallArg, Expr, Macro, Stmt};
use minijinja::value::ValueKind;
use minijinja::{Environment, context};
use std::collections::BTreeMap;
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
/// Macros and files are followed so far into each other.
const DEEPEST: usize = 12;
/// After so many expressions the walk ends; what is left is seen when the template is tried.
const MOST_STEPS: usize = 200_000;

/// A file of a template, parsed.
pub(super) struct Tree<'t> {
    pub(super) source: &'t Source,
    pub(super) root: Stmt<'t>,
}

/// A name that a template makes.
#[derive(Clone)]
enum Bound<'w, 't> {
    Value(Shape),
    /// A macro, with the file that it stands in.
    Macro(usize, &'w Macro<'t>),
}

/// Every mistake of a template: the number of its file, and what is wrong. The first file is where it begins.
pub(super) fn mistakes(trees: &[Tree<'_>], view: &Shape) -> Vec<(usize, Diagnostic)> {
    let mut walk = Walk {
        trees,
        view,
        env: environment(Kind::Markdown),
        file: 0,
        scopes: vec![BTreeMap::new()],
        found: Vec::new(),
        asking: 0,
        depth: 0,
        steps: 0,
    };
    if let Some(first) = trees.first() {
        walk.statement(&first.root);
    }
    walk.found
}

struct Walk<'w, 't> {
    trees: &'w [Tree<'t>],
    view: &'w Shape,
    env: Environment<'static>,
    /// The file that is walked.
    file: usize,
    /// What the template has made, the innermost last.
    scopes: Vec<BTreeMap<&'t str, Bound<'w, 't>>>,
    found: Vec<(usize, Diagnostic)>,
    /// Above 0 where a template only asks whether a name is there.
    asking: usize,
    depth: usize,
    steps: usize,
}

impl<'w, 't> Walk<'w, 't> {
    fn all(&mut self, statements: &'w [Stmt<'t>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn within(&mut self, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(BTreeMap::new());
        walk(self);
        self.scopes.pop();
    }

    fn bind(&mut self, name: &'t str, bound: Bound<'w, 't>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, bound);
        }
    }

    fn statement(&mut self, statement: &'w Stmt<'t>) {
        match statement {
            Stmt::Template(template) => self.all(&template.children),
            Stmt::EmitExpr(emit) => {
                self.expression(&emit.expr);
            }
            Stmt::EmitRaw(_) => {}
            Stmt::ForLoop(each) => {
                let element = self.expression(&each.iter).element();
                self.within(|walk| {
                    walk.bind("loop", Bound::Value(Shape::Anything));
                    walk.target(&each.target, &element);
                    if let Some(filter) = &each.filter_expr {
                        walk.expression(filter);
                    }
                    walk.all(&each.body);
                });
                self.within(|walk| walk.all(&each.else_body));
            }
            Stmt::IfCond(condition) => {
                self.expression(&condition.expr);
                self.all(&condition.true_body);
                self.all(&condition.false_body);
            }
            Stmt::WithBlock(with) => self.within(|walk| {
                for (target, value) in &with.assignments {
                    let shape = walk.expression(value);
                    walk.target(target, &shape);
                }
                walk.all(&with.body);
            }),
            Stmt::Set(set) => {
                let shape = self.expression(&set.expr);
                self.target(&set.target, &shape);
            }
            Stmt::SetBlock(set) => {
                self.within(|walk| walk.all(&set.body));
                if let Some(filter) = &set.filter {
                    self.expression(filter);
                }
                self.target(&set.target, &Shape::Plain);
            }
            Stmt::AutoEscape(block) => {
                self.expression(&block.enabled);
                self.within(|walk| walk.all(&block.body));
            }
            Stmt::FilterBlock(block) => {
                self.expression(&block.filter);
                self.within(|walk| walk.all(&block.body));
            }
            Stmt::Block(block) => self.within(|walk| walk.all(&block.body)),
            Stmt::Import(import) => {
                self.files(&import.expr);
                self.target(&import.name, &Shape::Anything);
            }
            Stmt::FromImport(import) => self.imports(&import.expr, &import.names),
            Stmt::Extends(extends) => self.files(&extends.name),
            Stmt::Include(include) => self.files(&include.name),
            Stmt::Macro(one) => {
                self.bind(one.name, Bound::Macro(self.file, one));
                let nothing = vec![Shape::Anything; one.args.len()];
                self.body(self.file, one, &nothing);
            }
            Stmt::CallBlock(block) => {
                self.call(&block.call);
                let nothing = vec![Shape::Anything; block.macro_decl.args.len()];
                self.body(self.file, &block.macro_decl, &nothing);
            }
            Stmt::Do(call) => {
                self.call(&call.call);
            }
        }
    }

    /// A name that is made, or several.
    fn target(&mut self, target: &'w Expr<'t>, shape: &Shape) {
        let parts = match target {
            Expr::Var(var) => return self.bind(var.id, Bound::Value(shape.clone())),
            Expr::List(list) => &list.items,
            Expr::Tuple(tuple) => &tuple.items,
            _ => return,
        };
        for part in parts {
            self.target(part, &shape.element());
        }
    }

    /// The numbers of the files that an expression names; those that are not there are known before.
    fn named_files(&self, name: &Expr<'t>) -> Vec<usize> {
        let wanted = super::files::constants(name).unwrap_or_default();
        let find = |wanted: &String| {
            let is = |tree: &Tree<'_>| tree.source.name == *wanted || tree.source.called == *wanted;
            self.trees.iter().position(is)
        };
        wanted.iter().filter_map(find).collect()
    }

    fn files(&mut self, name: &'w Expr<'t>) {
        for file in self.named_files(name) {
            self.in_file(file);
        }
    }

    /// Walks another file with the names that are there now.
    fn in_file(&mut self, file: usize) {
        let trees = self.trees;
        if self.depth >= DEEPEST {
            return;
        }
        let here = std::mem::replace(&mut self.file, file);
        self.depth += 1;
        self.statement(&trees[file].root);
        self.depth -= 1;
        self.file = here;
    }

    fn imports(&mut self, name: &'w Expr<'t>, wanted: &'w [(Expr<'t>, Option<Expr<'t>>)]) {
        let files = self.named_files(name);
        self.scopes.push(BTreeMap::new());
        for file in files {
            self.in_file(file);
        }
        let made = self.scopes.pop().unwrap_or_default();
        for (name, alias) in wanted {
            let Expr::Var(var) = name else { continue };
            let bound = made.get(var.id).cloned();
            if bound.is_none() {
                let names: Vec<&str> = made.keys().copied().collect();
                let what = format!("the file has no `{}` to import", var.id);
                self.say(name.span(), var.id, &what, &names);
            }
            let bound = bound.unwrap_or(Bound::Value(Shape::Anything));
            match alias {
                Some(Expr::Var(alias)) => self.bind(alias.id, bound),
                _ => self.bind(var.id, bound),
            }
        }
    }

    /// The body of a macro, with what it is called with.
    fn body(&mut self, file: usize, one: &'w Macro<'t>, given: &[Shape]) {
        if self.depth >= DEEPEST {
            return;
        }
        let here = std::mem::replace(&mut self.file, file);
        self.depth += 1;
        self.within(|walk| {
            walk.bind("caller", Bound::Value(Shape::Anything));
            for (arg, shape) in one.args.iter().zip(given) {
                walk.target(arg, shape);
            }
            for default in &one.defaults {
                walk.expression(default);
            }
            walk.all(&one.body);
        });
        self.depth -= 1;
        self.file = here;
    }

    fn call(&mut self, call: &'w Call<'t>) -> Shape {
        let mut places: Vec<Shape> = Vec::new();
        let mut named: Vec<(&str, Shape)> = Vec::new();
        for arg in &call.args {
            match arg {
                CallArg::Pos(value) => places.push(self.expression(value)),
                CallArg::Kwarg(name, value) => {
                    let shape = self.expression(value);
                    named.push((*name, shape));
                }
                CallArg::PosSplat(value) | CallArg::KwargSplat(value) => {
                    self.expression(value);
                }
            }
        }
        match &call.expr {
            Expr::Var(var) => {
                if let Some(Bound::Macro(file, one)) = self.bound(var.id) {
                    let given = |(number, arg): (usize, &Expr<'_>)| {
                        let place = places.get(number).cloned();
                        place.or_else(|| {
                            let Expr::Var(arg) = arg else { return None };
                            let by_name = named.iter().find(|(name, _)| *name == arg.id);
                            by_name.map(|(_, shape)| shape.clone())
                        })
                    };
                    let given: Vec<Shape> = one
                        .args
                        .iter()
                        .enumerate()
                        .map(|pair| given(pair).unwrap_or(Shape::Anything))
                        .collect();
                    self.body(file, one, &given);
                    return Shape::Plain;
                }
                self.expression(&call.expr);
            }
            // A method: what it is of is a value, the method itself is no field.
            Expr::GetAttr(method) => {
                self.expression(&method.expr);
            }
            other => {
                self.expression(other);
            }
        }
        Shape::Anything
    }

    fn arguments(&mut self, args: &'w [CallArg<'t>]) {
        for arg in args {
            match arg {
                CallArg::Pos(value)
                | CallArg::Kwarg(_, value)
                | CallArg::PosSplat(value)
                | CallArg::KwargSplat(value) => {
                    self.expression(value);
                }
            }
        }
    }

    fn maybe(&mut self, expression: Option<&'w Expr<'t>>) {
        if let Some(expression) = expression {
            self.expression(expression);
        }
    }

    fn expression(&mut self, expression: &'w Expr<'t>) -> Shape {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Shape::Anything;
        }
        match expression {
            Expr::Var(var) => self.name(var.id, var.span()),
            Expr::Const(value) => match value.value.kind() {
                ValueKind::Seq | ValueKind::Map => Shape::Anything,
                _ => Shape::Plain,
            },
            Expr::Slice(slice) => {
                let shape = self.expression(&slice.expr);
                for bound in [&slice.start, &slice.stop, &slice.step] {
                    self.maybe(bound.as_ref());
                }
                shape
            }
            Expr::UnaryOp(op) => {
                self.expression(&op.expr);
                Shape::Plain
            }
            Expr::BinOp(op) => {
                let left = self.expression(&op.left);
                let right = self.expression(&op.right);
                match (left, right) {
                    (Shape::List(one), Shape::List(_)) => Shape::List(one),
                    (Shape::Plain, Shape::Plain) => Shape::Plain,
                    _ => Shape::Anything,
                }
            }
            Expr::Compare(compare) => {
                self.expression(&compare.expr);
                for op in &compare.ops {
                    self.expression(&op.expr);
                }
                Shape::Plain
            }
            Expr::IfExpr(either) => {
                self.expression(&either.test_expr);
                let shape = self.expression(&either.true_expr);
                self.maybe(either.false_expr.as_ref());
                shape
            }
            Expr::Filter(filter) => {
                let asks = matches!(filter.name, "default" | "d");
                let of = match &filter.expr {
                    Some(expression) if asks => self.asked(expression),
                    Some(expression) => self.expression(expression),
                    None => Shape::Plain,
                };
                self.arguments(&filter.args);
                self.known("filter", filter.name, filter.span());
                self.filtered(filter.name, of, &filter.args)
            }
            Expr::Test(test) => {
                if matches!(test.name, "defined" | "undefined") {
                    self.asked(&test.expr);
                } else {
                    self.expression(&test.expr);
                }
                self.arguments(&test.args);
                self.known("test", test.name, test.span());
                Shape::Plain
            }
            Expr::GetAttr(attr) => {
                let of = self.expression(&attr.expr);
                self.field(&of, attr.name, attr.span())
            }
            Expr::GetItem(item) => {
                let of = self.expression(&item.expr);
                self.expression(&item.subscript_expr);
                self.item(&of, &item.subscript_expr)
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                let mut shapes = list.items.iter().map(|item| self.expression(item));
                let first = shapes.next();
                shapes.for_each(drop);
                first.map_or(Shape::Anything, Shape::listed)
            }
            Expr::Tuple(tuple) => {
                for item in &tuple.items {
                    self.expression(item);
                }
                Shape::Anything
            }
            Expr::Map(map) => {
                for part in map.keys.iter().chain(&map.values) {
                    self.expression(part);
                }
                Shape::Anything
            }
        }
    }

    /// An expression of which a template asks whether it is there.
    fn asked(&mut self, expression: &'w Expr<'t>) -> Shape {
        self.asking += 1;
        let shape = self.expression(expression);
        self.asking -= 1;
        shape
    }

    fn bound(&self, name: &str) -> Option<Bound<'w, 't>> {
        let mut scopes = self.scopes.iter().rev();
        scopes.find_map(|scope| scope.get(name)).cloned()
    }

    fn name(&mut self, name: &str, span: Span) -> Shape {
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

    fn field(&mut self, of: &Shape, name: &str, span: Span) -> Shape {
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

    fn item(&mut self, of: &Shape, key: &Expr<'_>) -> Shape {
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
    fn filtered(&mut self, filter: &str, of: Shape, args: &[CallArg<'_>]) -> Shape {
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
    fn known(&mut self, kind: &'static str, name: &str, span: Span) {
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
    fn say(&mut self, span: Span, word: &str, what: &str, names: &[&str]) {
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
