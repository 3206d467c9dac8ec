//! Links between documents lead somewhere, and every document is found from the index.

use crate::page::{Page, other_pages, pages, root};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

fn links(text: &str) -> Vec<String> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
        .filter_map(|event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(dest_url.into_string())
            }
            _ => None,
        })
        .collect()
}

/// The anchors of a page's headings, as GitHub makes them: a second one of the same words has a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let slug: String = heading
                    .take()
                    .unwrap()
                    .to_lowercase()
                    .chars()
                    .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
                    .map(|c| if c == ' ' { '-' } else { c })
                    .collect();
                let number = *seen
                    .entry(slug.clone())
                    .and_modify(|number| *number += 1)
                    .or_default();
                found.insert(match number {
                    0 => slug,
                    number => format!("{slug}-{number}"),
                });
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    found
}

/// A path without `..` and `.`.
fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            _ => out.push(part),
        }
    }
    out
}

/// The file that a link leads to, if it is one of the repository.
fn target(page: &Page, link: &str) -> Option<PathBuf> {
    let file = link.split('#').next().unwrap();
    let path = root().join(&page.name);
    if link.starts_with("http") {
        return None;
    }
    Some(if file.is_empty() {
        path
    } else {
        tidy(&path.parent().unwrap().join(file))
    })
}

#[test]
fn every_link_leads_somewhere() {
    let mut followed = 0;
    for page in pages().iter().chain(&other_pages()) {
        for link in links(&page.text) {
            let Some(path) = target(page, &link) else {
                continue;
            };
            assert!(path.starts_with(root()), "{}: {link}", page.name);
            assert!(path.exists(), "{}: {link} is not there", page.name);
            if let Some((_, anchor)) = link.split_once('#') {
                let known = anchors(&fs::read_to_string(&path).unwrap());
                assert!(known.contains(anchor), "{}: {link}: {known:#?}", page.name);
            }
            followed += 1;
        }
    }
    assert!(followed > 100, "{followed}");
}

#[test]
fn every_document_is_in_the_index() {
    let pages = pages();
    let linked = |name: &str| -> BTreeSet<PathBuf> {
        let page = pages.iter().find(|page| page.name == name).unwrap();
        let all = links(&page.text);
        all.iter().filter_map(|link| target(page, link)).collect()
    };
    let mut found = linked("docs/README.md");
    found.extend(linked("docs/commands/README.md"));
    for page in &pages {
        let is_index = ["README.md", "docs/README.md"].contains(&page.name.as_str());
        assert!(
            is_index || found.contains(&root().join(&page.name)),
            "{} is not in docs/README.md",
            page.name
        );
    }
    assert!(
        linked("README.md").contains(&root().join("docs/README.md")),
        "README.md does not lead to the documents"
    );
}

#[test]
fn anchors_are_those_of_github() {
    let known = anchors("# A `b`: c!\n\n## Same\n\n## Same\n\n```sh\n# none\n```\n");
    let expected = ["a-b-c", "same", "same-1"];
    assert_eq!(known, expected.map(str::to_owned).into());
}
