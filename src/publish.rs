//! Which files a run's report becomes: the suite's own page, the index of all suites, and a part
//! of another file between two markers. What the index needs of a run is a comment in the last line
//! of its page, since pages are committed and records are not.

use crate::report::{Digest, escape};
use crate::store::{StoreError, write_whole};
use std::fmt::{self, Write as _};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where a spliced report begins.
pub const BEGIN: &str = "<!-- hotlap:begin -->";
/// Where it ends.
pub const END: &str = "<!-- hotlap:end -->";

const DIGEST: &str = "<!-- hotlap: ";
const DIGEST_END: &str = " -->";
/// The first line of an index, by which it is known as hotlap's own.
const INDEX: &str = "<!-- hotlap: index; `hotlap` writes this file anew after each run -->";

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
    /// A marker is missing in the file that takes a report, or they are the wrong way round.
    Markers {
        /// What is missing.
        missing: &'static str,
    },
    /// The report holds a marker itself (a suite file or a description that speaks of them).
    Nested,
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
            Self::Markers { missing } => write!(
                f,
                "there is no line \"{missing}\" where it should be; write \"{BEGIN}\" and below it \"{END}\" where the \
                 report shall stand"
            ),
            Self::Nested => write!(
                f,
                "the report itself holds \"{BEGIN}\" or \"{END}\" (in its description or suite file), so its end \
                 could not be found again"
            ),
        }
    }
}

impl std::error::Error for PublishError {}

/// The page of a suite: `<out>/<suite>/README.md`, or `README.<profile>.md` beside it.
pub fn page_path(out: &Path, digest: &Digest) -> PathBuf {
    out.join(&digest.suite).join(page_name(digest))
}

fn page_name(digest: &Digest) -> String {
    match &digest.profile {
        None => "README.md".to_owned(),
        Some(profile) => format!("README.{profile}.md"),
    }
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

/// The index: a row a suite and profile, with links to their pages.
pub fn index(digests: &[Digest]) -> String {
    let mut out = format!("{INDEX}\n# Benchmarks\n\n");
    // A folder of suites without any gate has no column of them.
    let gated = digests.iter().any(|digest| digest.gates > 0);
    let (head, rule) = if gated {
        (" Gates |", ":--|")
    } else {
        ("", "")
    };
    let _ = writeln!(
        out,
        "| Suite | Profile | Newest run | Cells | Without figures |{head}\n|:--|:--|:--|--:|:--|{rule}",
    );
    for digest in digests {
        let profile = digest.profile.as_deref().unwrap_or("default");
        let link = format!("{}/{}", encode(&digest.suite), encode(&page_name(digest)));
        let gates = if gated {
            format!(" {} |", gates(digest))
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "| [{}]({link}) | {} | {} | {} | {} |{gates}",
            escape(&digest.title),
            escape(profile),
            escape(&when(digest)),
            digest.cells,
            without_figures(digest),
        );
    }
    out
}

/// `2026-11-30 19:05`, in UTC.
fn when(digest: &Digest) -> String {
    let minutes = digest.started.get(..16).unwrap_or(&digest.started);
    minutes.replace('T', " ")
}

fn without_figures(digest: &Digest) -> String {
    let counts = [
        (digest.failed, "failed"),
        (digest.invalid, "invalid"),
        (digest.skipped, "skipped"),
    ];
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}

/// What became of the gates of a suite.
fn gates(digest: &Digest) -> String {
    match (digest.gates, digest.gates_fell) {
        (0, _) => "–".to_owned(),
        (all, 0) => format!("{all} held"),
        (all, fell) => format!("**{fell} of {all} fell**"),
    }
}

/// A part of a path as a link holds it.
fn encode(part: &str) -> String {
    let mut out = String::new();
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The way from one folder to another as a link writes it; both are absolute. `.` is the folder itself.
pub fn way(from: &Path, to: &Path) -> String {
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[common..].iter().map(|_| "..".to_owned());
    let down = to[common..]
        .iter()
        .map(|part| encode(&part.as_os_str().to_string_lossy()));
    let parts: Vec<String> = up.chain(down).collect();
    if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    }
}

/// Publishes the report of a whole run below `out`: its plots, by their paths from the page on, its suite's page, then the
/// index, made from all pages. A run that is not the whole suite, or older than what the page shows, changes nothing;
/// run ids begin with their time, so the later one is the greater.
pub fn publish(
    out: &Path,
    digest: &Digest,
    report: &str,
    plots: &[(&str, &[u8])],
) -> Result<Published, PublishError> {
    if !digest.whole {
        return Ok(Published::NotWhole);
    }
    let page_path = page_path(out, digest);
    let index_path = out.join("README.md");
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
    let folder = page_path.parent().unwrap_or(out);
    fs::create_dir_all(folder).map_err(|error| in_file(folder, error))?;
    for (path, bytes) in plots {
        let path = folder.join(path);
        let folder = path.parent().unwrap_or(folder);
        fs::create_dir_all(folder).map_err(|error| in_file(folder, error))?;
        write_whole(&path, bytes).map_err(PublishError::Write)?;
    }
    write_whole(&page_path, page(report, digest).as_bytes()).map_err(PublishError::Write)?;
    write_whole(&index_path, index(&collect(out)?).as_bytes()).map_err(PublishError::Write)?;
    Ok(Published::Written {
        page: page_path,
        index: index_path,
    })
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

/// `target` with `report` between its two markers, in place of what stood there. The markers
/// stay, so it can be done again.
pub fn splice(target: &str, report: &str) -> Result<String, PublishError> {
    if report.contains(BEGIN) || report.contains(END) {
        return Err(PublishError::Nested);
    }
    let begin = target
        .find(BEGIN)
        .ok_or(PublishError::Markers { missing: BEGIN })?
        + BEGIN.len();
    let end = target[begin..]
        .find(END)
        .ok_or(PublishError::Markers { missing: END })?
        + begin;
    let (before, after) = (&target[..begin], &target[end..]);
    Ok(format!("{before}\n\n{}\n\n{after}", report.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let plots: &[(&str, &[u8])] = &[("plots/quick.x.svg", b"<svg/>")];
            let done =
                publish(out, &digest(suite, profile, "2026-1"), "# report\n", plots).unwrap();
            assert!(matches!(done, Published::Written { .. }));
            assert!(out.join(suite).join("plots/quick.x.svg").is_file());
        }
        fs::write(out.join("gzip/README.md.orig"), "other").unwrap();
        fs::write(out.join("gzip/README.notes.md"), "of a person").unwrap();
        let index = fs::read_to_string(out.join("README.md")).unwrap();
        let rows: Vec<&str> = index
            .lines()
            .filter(|line| line.starts_with("| ["))
            .collect();
        assert_eq!(
            rows,
            [
                "| [gzip: a\\|b --&gt; &lt;x&gt;](gzip/README.md) | default | 2026-11-30 19:05 | 5 | 1 failed, 1 skipped |",
                "| [gzip: a\\|b --&gt; &lt;x&gt;](gzip/README.quick.md) | quick | 2026-11-30 19:05 | 5 | 1 failed, 1 skipped |",
                "| [json: a\\|b --&gt; &lt;x&gt;](json/README.md) | default | 2026-11-30 19:05 | 5 | 1 failed, 1 skipped |",
            ]
        );
        assert_eq!(collect(out).unwrap().len(), 3);
    }

    #[test]
    fn the_index_has_gates_where_a_suite_has_some() {
        let plain = digest("json", None, "2026-1");
        assert!(!index(std::slice::from_ref(&plain)).contains("Gates"));
        let gated = |fell| Digest {
            gates: 7,
            gates_fell: fell,
            ..digest("gzip", None, "2026-1")
        };
        let index = index(&[gated(0), gated(2), plain]);
        let ends: Vec<&str> = index
            .lines()
            .filter(|line| line.starts_with("| ["))
            .filter_map(|line| line.rsplit(" | ").next())
            .collect();
        assert_eq!(ends, ["7 held |", "**2 of 7 fell** |", "– |"]);
        assert!(index.contains("| Without figures | Gates |\n|:--|:--|:--|--:|:--|:--|\n"));
    }

    #[test]
    fn an_older_or_partial_run_replaces_nothing() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path();
        let newer = digest("gzip", None, "2026-11-30T190500Z-a");
        publish(out, &newer, "new", &[]).unwrap();
        let older = digest("gzip", None, "2026-11-29T190500Z-b");
        assert!(matches!(
            publish(out, &older, "old", &[]).unwrap(),
            Published::Older { .. }
        ));
        let part = Digest {
            whole: false,
            ..digest("gzip", None, "2026-12-01T190500Z-c")
        };
        assert_eq!(
            publish(out, &part, "part", &[]).unwrap(),
            Published::NotWhole
        );
        let page = fs::read_to_string(page_path(out, &newer)).unwrap();
        assert!(page.starts_with("new\n"));
        assert!(matches!(
            publish(out, &newer, "again", &[]).unwrap(),
            Published::Written { .. }
        ));
    }

    #[test]
    fn what_a_person_wrote_is_left_alone() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path();
        fs::write(out.join("README.md"), "# ours\n").unwrap();
        let error = publish(out, &digest("gzip", None, "2026-1"), "x", &[]).unwrap_err();
        assert!(matches!(&error, PublishError::Foreign { path } if *path == out.join("README.md")));
        assert!(!out.join("gzip").exists());
        assert_eq!(
            fs::read_to_string(out.join("README.md")).unwrap(),
            "# ours\n"
        );
    }

    #[test]
    fn a_way_leads_from_folder_to_folder() {
        let between = |from: &str, to: &str| way(Path::new(from), Path::new(to));
        assert_eq!(between("/a", "/a/reports/x y/plots"), "reports/x%20y/plots");
        assert_eq!(between("/a/docs", "/a/reports"), "../reports");
        assert_eq!(between("/a", "/a"), ".");
    }

    #[test]
    fn a_report_is_spliced_between_markers_again_and_again() {
        let target = format!("# Mine\n\n{BEGIN}\nold\n{END}\n\nThe end.\n");
        let once = splice(&target, "# New\n").unwrap();
        assert_eq!(
            once,
            format!("# Mine\n\n{BEGIN}\n\n# New\n\n{END}\n\nThe end.\n")
        );
        assert_eq!(splice(&once, "# New\n").unwrap(), once);
    }

    #[test]
    fn a_splice_without_its_markers_is_an_error() {
        for (target, missing) in [
            (END.to_owned(), BEGIN),
            (BEGIN.to_owned(), END),
            (format!("{END}{BEGIN}"), END),
        ] {
            let error = splice(&target, "x").unwrap_err();
            assert!(error.to_string().contains(missing), "{error}");
        }
        let nested = splice(&format!("{BEGIN}{END}"), END).unwrap_err();
        assert!(matches!(nested, PublishError::Nested));
    }
}
