//! Every kind of mistake has a suite that makes it, in `tests/diagnostics`, and
//! a snapshot of what a person is shown for it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its files has failed"
)]

use hotlap::diagnostic::{SourceText, Style, render};
use hotlap::plan::{Options, PlanError, spec};
use hotlap::suite::{CODES, check};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let mut all: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    all.sort();
    all
}

/// What is said of a suite, as text and as codes.
fn said_of(path: &Path) -> (String, BTreeSet<&'static str>) {
    let source = SourceText {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        text: fs::read_to_string(path).unwrap(),
    };
    // The folder shows in a message, so it must not be this machine's.
    let checked = check(&source, "fixture", Path::new("."));
    let mut diagnostics = checked.diagnostics;
    if let Some(suite) = checked.suite
        && let Err(PlanError::Suite(more)) = spec(&suite, &Options::default())
    {
        diagnostics.extend(more);
    }
    let codes = diagnostics
        .iter()
        .map(|diagnostic| diagnostic.code)
        .collect();
    (render(&source, &diagnostics, Style::Plain), codes)
}

#[test]
fn what_is_shown_for_each_mistake() {
    for path in fixtures() {
        let (text, codes) = said_of(&path);
        assert!(!codes.is_empty(), "{} has no mistake", path.display());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        insta::with_settings!({
            snapshot_path => "diagnostics",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(name, text);
        });
    }
}

#[test]
fn every_code_has_a_fixture_of_its_name() {
    for (code, meaning) in CODES {
        assert!(
            meaning.trim().ends_with('.'),
            "{code} has no meaning: {meaning}"
        );
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/diagnostics")
            .join(format!("{code}.toml"));
        assert!(path.exists(), "no fixture for {code}");
        let (_, codes) = said_of(&path);
        assert!(codes.contains(code), "{} shows {codes:?}", path.display());
    }
}

#[test]
fn a_mistake_points_at_its_line_and_column() {
    let source = SourceText {
        name: "s.toml".to_owned(),
        text: "[servers.a]\ncommand = \"true\"\n[loads.x]\n  conections = 5\n".to_owned(),
    };
    let checked = check(&source, "s", Path::new("."));
    assert!(checked.suite.is_none());
    let shown = render(&source, &checked.diagnostics, Style::Plain);
    assert!(shown.contains("s.toml:4:3"), "{shown}");
    assert!(shown.contains("did you mean `connections`?"), "{shown}");
}
