//! Which files a run's report becomes: the suite's own page with a badge beside it, the index of all suites, and a part
//! of another file between two markers. What the index needs of a run is a comment in the last line
//! of its page, since pages are committed and records are not.

mod index;
mod links;
mod splice;

pub use index::index;
pub use links::{Places, relink};
pub use splice::{SpliceError, check as check_markers, marked_as, splice};

use crate::report::Digest;
use crate::store::{StoreError, write_whole};
use index::INDEX;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const DIGEST: &str = "<!-- hotlap: ";
const DIGEST_END: &str = " -->";
/// The second line of a badge, by which it is known as hotlap's own.
const BADGE: &str = "\n<!-- hotlap: badge -->\n";

/// What was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// The suite's page and the index were written.
    Written {
        /// The suite's page.
        page: PathBuf,
        /// The index.
        index: PathBuf,
    },
    /// The run is not the whole suite; nothing was written.
    NotWhole,
    /// The page shows a later run, which stays.
    Older {
        /// The suite's page.
        page: PathBuf,
        /// The run that it shows.
        shows: String,
    },
}

/// Why a report was not published.
#[derive(Debug)]
pub enum PublishError {
    /// A file could not be read or written.
    File {
        /// Which one.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// A page could not be written.
    Write(StoreError),
    /// A file that stands where ours would be was written by someone else.
    Foreign {
        /// Which one.
        path: PathBuf,
    },
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Write(error) => error.fmt(f),
            Self::Foreign { path } => write!(
                f,
                "{} was not written by hotlap and is left as it is; move it away, or choose another \
                 folder with --out",
                path.display()
            ),
        }
    }
}

impl std::error::Error for PublishError {}

/// The page of a suite: `<out>/<suite>/README.md`, or `README.<profile>.md` beside it.
pub fn page_path(out: &Path, digest: &Digest) -> PathBuf {
    out.join(&digest.suite).join(digest.page_name())
}

/// What the page of the same suite and profile shows now; none where there is no page of ours.
pub fn shown(out: &Path, digest: &Digest) -> Option<Digest> {
    let page = fs::read(page_path(out, digest)).ok()?;
    read_digest(&String::from_utf8_lossy(&page))
}

/// A page: the report, and in its last line what the index needs to know.
pub fn page(report: &str, digest: &Digest) -> String {
    let json = serde_json::to_string(digest).unwrap_or_default();
    // Neither end of a comment may stand in it; JSON has another way to write these.
    let json = json
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace("--", "\\u002d\\u002d");
    format!("{}\n\n{DIGEST}{json}{DIGEST_END}\n", report.trim_end())
}

/// What a page says of its run; none where it is not a page of ours. Only the last line is
/// looked at: a suite file that is shown in the page may hold anything.
pub fn read_digest(page: &str) -> Option<Digest> {
    let last = page.trim_end().lines().next_back()?;
    let json = last.strip_prefix(DIGEST)?.strip_suffix(DIGEST_END)?;
    serde_json::from_str(json).ok()
}

/// The digests of all pages below `<out>/*/`, by suite, the default profile first.
pub fn collect(out: &Path) -> Result<Vec<Digest>, PublishError> {
    let mut digests = Vec::new();
    for folder in entries(out)? {
        // A page that was moved to another folder would lead the index's link astray.
        let own = |digest: &Digest, page: &Path| *page == page_path(out, digest);
        for path in entries(&folder)? {
            let name = path.file_stem().and_then(|name| name.to_str());
            let is_page = name.is_some_and(|name| name.starts_with("README"))
                && path.extension().is_some_and(|extension| extension == "md");
            if !is_page {
                continue;
            }
            let page = fs::read(&path).map_err(|error| in_file(&path, error))?;
            let digest = read_digest(&String::from_utf8_lossy(&page));
            digests.extend(digest.filter(|digest| own(digest, &path)));
        }
    }
    digests.sort_by(|a, b| (&a.suite, &a.profile).cmp(&(&b.suite, &b.profile)));
    Ok(digests)
}

/// What a folder holds; nothing where it is no folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, PublishError> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(in_file(folder, error)),
    };
    listing
        .map(|entry| {
            entry
                .map(|entry| entry.path())
                .map_err(|error| in_file(folder, error))
        })
        .collect()
}

/// What is published of a run.
#[derive(Debug, Clone, Copy)]
pub struct Pages<'a> {
    /// The run's folder, to which links of the report are relative.
    pub folder: &'a Path,
    /// The report, in Markdown.
    pub report: &'a str,
    /// Its plots, by their paths in the folder.
    pub plots: &'a [(&'a str, &'a [u8])],
    /// The badge, an SVG.
    pub badge: &'a [u8],
}

/// Publishes the report of a whole run below `out`: its plots, its suite's page and badge, then the index, made from
/// all pages. A run that is not the whole suite, or older than what the page shows, changes nothing; run ids begin with
/// their time, so the later one is the greater.
pub fn publish(out: &Path, digest: &Digest, pages: Pages<'_>) -> Result<Published, PublishError> {
    if !digest.whole {
        return Ok(Published::NotWhole);
    }
    let page_path = page_path(out, digest);
    let index_path = out.join("README.md");
    let own = page_path.parent().unwrap_or(out).to_owned();
    let badge_path = own.join(digest.badge_name());
    if let Some(page) = read_own(&page_path, |page| read_digest(page).is_some())? {
        let shows = read_digest(&page).map(|shown| shown.run);
        if let Some(shows) = shows.filter(|shows| *shows > digest.run) {
            return Ok(Published::Older {
                page: page_path,
                shows: shows.to_string(),
            });
        }
    }
    // Looked at before the first write, so that a refusal leaves nothing half done.
    read_own(&index_path, |text| text.starts_with(INDEX))?;
    read_own(&badge_path, |text| text.contains(BADGE))?;
    fs::create_dir_all(&own).map_err(|error| in_file(&own, error))?;
    for (path, bytes) in pages.plots {
        let path = own.join(path);
        let folder = path.parent().unwrap_or(&own);
        fs::create_dir_all(folder).map_err(|error| in_file(folder, error))?;
        write_whole(&path, bytes).map_err(PublishError::Write)?;
    }
    let places = Places {
        report: real(pages.folder),
        plots: real(&own),
    };
    let report = relink(pages.report, &places, &real(&own));
    write_whole(&page_path, page(&report, digest).as_bytes()).map_err(PublishError::Write)?;
    write_whole(&badge_path, pages.badge).map_err(PublishError::Write)?;
    write_whole(&index_path, index(&collect(out)?).as_bytes()).map_err(PublishError::Write)?;
    Ok(Published::Written {
        page: page_path,
        index: index_path,
    })
}

/// Where what a run's report names lies: itself in its folder, its plots beside the suite's page where that shows the run,
/// since they are what is committed.
pub fn places(out: &Path, digest: &Digest, folder: &Path) -> Places {
    let page = page_path(out, digest);
    let published = shown(out, digest).is_some_and(|shown| shown.run == digest.run);
    let beside = page.parent().filter(|_| published).unwrap_or(folder);
    Places {
        report: real(folder),
        plots: real(beside),
    }
}

/// A folder from the root, without links on the way.
pub fn real(folder: &Path) -> PathBuf {
    fs::canonicalize(folder)
        .or_else(|_| std::path::absolute(folder))
        .unwrap_or_else(|_| folder.to_owned())
}

/// The text of a file of ours; none where there is none. Another's is an error.
fn read_own(path: &Path, is_ours: fn(&str) -> bool) -> Result<Option<String>, PublishError> {
    let text = match fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(in_file(path, error)),
    };
    if is_ours(&text) || text.trim().is_empty() {
        Ok(Some(text))
    } else {
        Err(PublishError::Foreign {
            path: path.to_path_buf(),
        })
    }
}

fn in_file(path: &Path, error: io::Error) -> PublishError {
    PublishError::File {
        path: path.to_path_buf(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Publishes a report of a run whose folder is where it belongs.
    fn put(out: &Path, digest: &Digest, report: &str) -> Result<Published, PublishError> {
        let folder = out.join(&digest.suite).join("runs").join(&digest.run.0);
        let pages = Pages {
            folder: &folder,
            report,
            plots: &[("plots/quick.x.svg", b"<svg/>")],
            badge: b"<svg>\n<!-- hotlap: badge -->\n</svg>\n",
        };
        publish(out, digest, pages)
    }

    fn digest(suite: &str, profile: Option<&str>, run: &str) -> Digest {
        let digest = serde_json::json!({
            "run": run,
            "suite": suite,
            "title": format!("{suite}: a|b --> <x>"),
            "profile": profile,
            "started": "2026-11-30T19:05:00Z",
            "cells": 5,
            "measured": 3,
            "failed": 1,
            "invalid": 0,
            "skipped": 1,
            "whole": true,
        });
        serde_json::from_value(digest).unwrap()
    }

    #[test]
    fn a_page_tells_its_digest_whatever_its_text_holds() {
        let digest = digest("gzip", None, "2026-1");
        let page = page("# x\n<!-- hotlap: {\"run\":\"fake\"} -->\n", &digest);
        assert_eq!(read_digest(&page), Some(digest));
        let comment = page.trim_end().lines().next_back().unwrap();
        assert_eq!(comment.matches("--").count(), 2);
        assert_eq!(read_digest("# x\n"), None);
        assert_eq!(read_digest(""), None);
    }

    #[test]
    fn the_index_is_made_from_all_pages() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path();
        for (suite, profile) in [("json", None), ("gzip", Some("quick")), ("gzip", None)] {
            let done = put(out, &digest(suite, profile, "2026-1"), "# report\n").unwrap();
            assert!(matches!(done, Published::Written { .. }));
            assert!(out.join(suite).join("plots/quick.x.svg").is_file());
        }
        fs::write(out.join("gzip/README.md.orig"), "other").unwrap();
        fs::write(out.join("gzip/README.notes.md"), "of a person").unwrap();
        let index = fs::read_to_string(out.join("README.md")).unwrap();
        let pages = [
            "](gzip/README.md)",
            "](gzip/README.quick.md)",
            "](json/README.md)",
        ];
        let places: Vec<usize> = pages.iter().map(|page| index.find(page).unwrap()).collect();
        assert!(places.is_sorted(), "{index}");
        for badge in ["gzip/badge.svg", "gzip/badge.quick.svg", "json/badge.svg"] {
            assert!(out.join(badge).is_file(), "{badge}");
        }
        assert_eq!(collect(out).unwrap().len(), 3);
    }

    #[test]
    fn links_of_a_report_lead_on_its_page_where_they_led_in_its_folder() {
        let out = tempfile::tempdir().unwrap();
        let digest = digest("gzip", None, "2026-1");
        let report = "![t](plots/t.svg) [p](../../README.md) [x](https://e.org)";
        put(out.path(), &digest, report).unwrap();
        let page = fs::read_to_string(page_path(out.path(), &digest)).unwrap();
        assert!(
            page.starts_with("![t](plots/t.svg) [p](README.md) [x](https://e.org)\n"),
            "{page}"
        );
        assert_eq!(shown(out.path(), &digest), Some(digest));
    }

    #[test]
    fn a_page_of_an_earlier_version_is_in_the_index() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path();
        fs::create_dir(out.join("old")).unwrap();
        let line = r#"<!-- hotlap: {"run":"2025-1","suite":"old","title":"Old","profile":null,"started":"2025-01-02T03:04:05Z","cells":2,"measured":2,"failed":0,"invalid":0,"skipped":0,"whole":true,"of_later":[1]} -->"#;
        fs::write(out.join("old/README.md"), format!("# Old\n\n{line}\n")).unwrap();
        let index = index(&collect(out).unwrap());
        assert!(
            index.contains(
                "| [Old](old/README.md) | – | [2025\u{2011}01\u{2011}02\u{a0}03:04](old/README.md#how-it-was-measured) | – | – | 2 |"
            ),
            "{index}"
        );
    }

    #[test]
    fn an_older_or_partial_run_replaces_nothing() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path();
        let newer = digest("gzip", None, "2026-11-30T190500Z-a");
        put(out, &newer, "new").unwrap();
        let older = digest("gzip", None, "2026-11-29T190500Z-b");
        assert!(matches!(
            put(out, &older, "old").unwrap(),
            Published::Older { .. }
        ));
        let part = Digest {
            whole: false,
            ..digest("gzip", None, "2026-12-01T190500Z-c")
        };
        assert_eq!(put(out, &part, "part").unwrap(), Published::NotWhole);
        let page = fs::read_to_string(page_path(out, &newer)).unwrap();
        assert!(page.starts_with("new\n"));
        assert!(matches!(
            put(out, &newer, "again").unwrap(),
            Published::Written { .. }
        ));
    }

    #[test]
    fn what_a_person_wrote_is_left_alone() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path();
        fs::write(out.join("README.md"), "# ours\n").unwrap();
        let error = put(out, &digest("gzip", None, "2026-1"), "x").unwrap_err();
        assert!(matches!(&error, PublishError::Foreign { path } if *path == out.join("README.md")));
        assert!(!out.join("gzip").exists());
        assert_eq!(
            fs::read_to_string(out.join("README.md")).unwrap(),
            "# ours\n"
        );
    }
}
