//! Which other files a template names: what it includes, imports or extends. They are read before a run, so
//! their names must stand in the template as they are.

use minijinja::machinery::Span;
use minijinja::machinery::ast::{Expr, Stmt};

/// The texts of an expression that is one, or a list of them; none where it is something else.
pub(super) fn constants(expression: &Expr<'_>) -> Option<Vec<String>> {
    let text = |expression: &Expr<'_>| match expression {
        Expr::Const(constant) => constant.value.as_str().map(str::to_owned),
        _ => None,
    };
    if let Some(one) = text(expression) {
        return Some(vec![one]);
    }
    match expression {
        Expr::List(list) => list.items.iter().map(text).collect(),
        Expr::Const(constant) => constant
            .value
            .try_iter()
            .ok()?
            .map(|one| one.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    }
}

/// A place that names other files.
pub(super) struct Named {
    /// Their names; none where they are known only when it is rendered.
    pub(super) names: Option<Vec<String>>,
    /// Whether it is no mistake where they are missing.
    pub(super) optional: bool,
    /// Where.
    pub(super) span: Span,
}

/// Every place of a tree that names other files.
pub(super) fn named(statement: &Stmt<'_>) -> Vec<Named> {
    let mut found = Vec::new();
    visit(statement, &mut found);
    found
}

fn visit(statement: &Stmt<'_>, found: &mut Vec<Named>) {
    let mut add = |expression: &Expr<'_>, optional| {
        found.push(Named {
            names: constants(expression),
            optional,
            span: expression.span(),
        });
    };
    let bodies: [&[Stmt<'_>]; 2] = match statement {
        Stmt::Include(include) => {
            add(&include.name, include.ignore_missing);
            return;
        }
        Stmt::Import(import) => {
            add(&import.expr, false);
            return;
        }
        Stmt::FromImport(import) => {
            add(&import.expr, false);
            return;
        }
        Stmt::Extends(extends) => {
            add(&extends.name, false);
            return;
        }
        Stmt::Template(template) => [&template.children, &[]],
        Stmt::ForLoop(each) => [&each.body, &each.else_body],
        Stmt::IfCond(condition) => [&condition.true_body, &condition.false_body],
        Stmt::WithBlock(with) => [&with.body, &[]],
        Stmt::SetBlock(set) => [&set.body, &[]],
        Stmt::AutoEscape(block) => [&block.body, &[]],
        Stmt::FilterBlock(block) => [&block.body, &[]],
        Stmt::Block(block) => [&block.body, &[]],
        Stmt::Macro(one) => [&one.body, &[]],
        Stmt::CallBlock(block) => [&block.macro_decl.body, &[]],
        Stmt::EmitExpr(_) | Stmt::EmitRaw(_) | Stmt::Set(_) | Stmt::Do(_) => return,
    };
    for statement in bodies.into_iter().flatten() {
        visit(statement, found);
    }
}
