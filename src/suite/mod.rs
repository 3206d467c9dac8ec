//! The suite file: from text to a typed suite, with every mistake of the file
//! found at once. `source` reads the file, `schema` is what may be written,
//! `recover` reads on after a mistake, `resolve` turns what was written into
//! `model`, what it means. `describe` and `reference` say the format to editors and people.

mod code;
mod describe;
mod explanation;
mod model;
mod recover;
mod reference;
mod resolve;
mod schema;
mod source;
mod template;
mod written;

pub use code::CODES;
pub(crate) use code::{
    BAD_REQUEST, BAD_TEMPLATE, BAD_VALUE, CONFLICT, MISSING, NO_CELLS, NO_EFFECT, NO_SUCH_FILE,
    UNKNOWN_NAME,
};
pub use describe::json_schema;
pub use explanation::{Explanation, Part, explain, nearest_code};
pub use model::{
    Amount, Arrivals, At, Body, Bound, Combine, Command, CpuShares, ExpectKeys, File, Gate, Http,
    Limit, Load, LoadKeys, Matrix, Mix, MixRequest, Order, Override, Pace, Process, Profile,
    Published, PublishedRow, ReadyKeys, ReadyWay, Repetitions, Requirement, Run, Runtime, Scope,
    Scratch, Selector, Server, ServerKeys, Service, Setting, Stage, Suite, Template, Tls, Toggle,
    Tool, Value,
};
pub use reference::reference;
pub(crate) use resolve::{check_target, no_folder};
pub use source::{ReadError, read};

use crate::diagnostic::{Diagnostic, Severity, SourceText};
use std::path::Path;

/// A suite with what is to be said of it.
#[derive(Debug)]
pub struct Checked {
    /// The suite; none where it has an error.
    pub suite: Option<Suite>,
    /// Errors and warnings, in the order in which they were found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a suite's text. `folder` is where its paths start, `name` its file's stem.
pub fn check(source: &SourceText, name: &str, folder: &Path) -> Checked {
    let recovered = recover::read(&source.text);
    let mut diagnostics = recovered.diagnostics;
    let (suite, more) = resolve::suite(recovered.file, name, folder);
    // Of a file that is half unread, what seems missing or unknown may stand in the other half.
    let keep = |diagnostic: &Diagnostic| {
        recovered.is_toml || !matches!(diagnostic.code, MISSING | UNKNOWN_NAME | NO_EFFECT)
    };
    diagnostics.extend(more.into_iter().filter(keep));
    // A parser that recovers may stumble twice over one thing.
    let mut said: Vec<Diagnostic> = Vec::new();
    diagnostics.retain(|diagnostic| {
        let is_new = !said.contains(diagnostic);
        if is_new {
            said.push(diagnostic.clone());
        }
        is_new
    });
    let bad = diagnostics
        .iter()
        .any(|diagnostic| diagnostic.severity == Severity::Error);
    Checked {
        suite: (!bad).then_some(suite),
        diagnostics,
    }
}
