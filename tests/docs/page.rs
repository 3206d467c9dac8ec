//! A document: its blocks of code and the pieces that it shows of reports, each with how it is tested.

use std::fs;
use std::path::{Path, PathBuf};

/// What is tested of a page, in its order.
pub(crate) struct Item {
    /// The line of the page, from 1 on.
    pub(crate) line: usize,
    /// What the comment before it says behind `test:`; empty without one.
    pub(crate) way: String,
    /// The words behind the fence, such as `toml fragment`; `piece` of a piece.
    pub(crate) language: String,
    pub(crate) text: String,
}

impl Item {
    /// Its first line, which names it in tables.
    pub(crate) fn head(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }
}

pub(crate) struct Page {
    /// From the repository's root on.
    pub(crate) name: String,
    pub(crate) text: String,
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every page below a folder.
fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

fn read(path: &Path) -> Page {
    Page {
        name: path
            .strip_prefix(root())
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned(),
        text: fs::read_to_string(path).unwrap(),
    }
}

/// `README.md`, and every page of `docs`.
pub(crate) fn pages() -> Vec<Page> {
    let mut paths = vec![root().join("README.md")];
    below(&root().join("docs"), &mut paths);
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// Pages of which links are followed, beside those.
pub(crate) fn other_pages() -> Vec<Page> {
    [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "suites/README.md",
        "benches/README.md",
        "fuzz/README.md",
    ]
    .iter()
    .map(|name| read(&root().join(name)))
    .collect()
}

/// The comment of a line, if it is one.
fn comment(line: &str) -> Option<&str> {
    let inside = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    Some(inside.trim())
}

impl Page {
    pub(crate) fn items(&self) -> Vec<Item> {
        let lines: Vec<&str> = self.text.lines().collect();
        let mut items = Vec::new();
        let mut at = 0;
        let mut way = String::new();
        while at < lines.len() {
            let line = lines[at];
            if let Some(said) = comment(line).and_then(|said| said.strip_prefix("test: ")) {
                said.clone_into(&mut way);
            } else if let Some(language) = line.trim_start().strip_prefix("```") {
                let end = self.end(&lines, at, |line| line.trim() == "```");
                items.push(item(&lines, at, end, &mut way, language));
                at = end;
            } else if !line.trim().is_empty() {
                assert!(way.is_empty(), "{}:{at}: {way} of what?", self.name);
            }
            if way.starts_with("a piece ") {
                let end = self.end(&lines, at, |line| comment(line) == Some("end of the piece"));
                items.push(item(&lines, at, end, &mut way, "piece"));
                at = end;
            }
            at += 1;
        }
        assert!(way.is_empty(), "{}: {way} of what?", self.name);
        items
    }

    fn end(&self, lines: &[&str], at: usize, ends: impl Fn(&str) -> bool) -> usize {
        let found = (at + 1..lines.len()).find(|index| ends(lines[*index]));
        found.unwrap_or_else(|| panic!("{}:{}: what begins here has no end", self.name, at + 1))
    }
}

/// The lines between two, which are not part of it.
fn item(lines: &[&str], begin: usize, end: usize, way: &mut String, language: &str) -> Item {
    let mut text = lines[begin + 1..end].join("\n");
    text.push('\n');
    Item {
        line: begin + 1,
        way: std::mem::take(way),
        language: language.to_owned(),
        text,
    }
}

#[test]
fn comments_go_with_what_follows_them() {
    let page = Page {
        name: "p".to_owned(),
        text: "# T\n\n<!-- test: run exit 2 -->\n```console\n$ a\nb\n```\n\n```sh\nc\n```\n<!-- test: a piece of f -->\n| x |\n<!-- end of the piece -->\nend\n".to_owned(),
    };
    let found: Vec<(usize, String, String, String)> = page
        .items()
        .into_iter()
        .map(|item| (item.line, item.way, item.language, item.text))
        .collect();
    let expected = [
        (4, "run exit 2", "console", "$ a\nb\n"),
        (9, "", "sh", "c\n"),
        (12, "a piece of f", "piece", "| x |\n"),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(line, way, language, text)| {
            (
                *line,
                (*way).to_owned(),
                (*language).to_owned(),
                (*text).to_owned(),
            )
        })
        .collect();
    assert_eq!(found, expected);
}
