//! A walk over all of a template, also what a run would not reach: every name must be one of the view, or
//! one that the template itself makes; every filter and every test must be known. Macros are followed
//! with what they are called with, and other files with what they are included in.

mod known;

use super::super::markdown::environment;
use super::shape::Shape;
use super::{Kind, Source};
use crate::diagnostic::Diagnostic;
use minijinja::Environment;
use minijinja::machinery::ast::{Call, CallArg, Expr, Macro, Stmt};
use minijinja::value::ValueKind;
use std::collections::BTreeMap;

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
}
