//! Plots lie where the pages that show them look for them: in the run's folder, beside the suite's page, and from any other
//! file that a report is put into.

use crate::fixture::Behaviour;
use crate::kit::Suite;
use pulldown_cmark::{Event, Parser, Tag};
use std::fs;
use std::path::Path;

/// The images of a page, as files; each of them is there.
fn images(page: &Path) -> usize {
    let text = fs::read_to_string(page).unwrap();
    let folder = page.parent().unwrap();
    let mut found = 0;
    for event in Parser::new(&text) {
        if let Event::Start(Tag::Image { dest_url, .. }) = event {
            let path = folder.join(dest_url.replace("%20", " "));
            let svg = fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(svg.starts_with("<svg"), "{}", path.display());
            found += 1;
        }
    }
    found
}

#[test]
fn images_are_where_pages_look_for_them() {
    let outcome = Suite::new()
        .fixture("good", &Behaviour::good())
        .fixture("other", &Behaviour::good())
        .run()
        .exits(0);
    let suite = &outcome.suite;
    let folder = suite.run_folder().unwrap();
    let own = images(&folder.join("report.md"));
    assert!(own >= 2, "{own}");
    assert_eq!(images(&suite.path().join("reports/case/README.md")), own);
    let run = folder.to_str().unwrap();
    let spliced = suite.path().join("my docs/README.md");
    fs::create_dir(spliced.parent().unwrap()).unwrap();
    fs::write(
        &spliced,
        "# Mine\n<!-- hotlap:begin -->\n<!-- hotlap:end -->\n",
    )
    .unwrap();
    let done = suite.hotlap(&["report", run, "--splice", "my docs/README.md"]);
    assert!(done.status.success());
    assert_eq!(images(&spliced), own);
    // The plots that are committed are those beside the suite's page.
    let text = fs::read_to_string(&spliced).unwrap();
    assert!(
        text.contains("](../reports/case/plots/throughput.svg)"),
        "{text}"
    );
    let once = text.clone();
    assert!(
        suite
            .hotlap(&["report", run, "--splice", "my docs/README.md"])
            .status
            .success()
    );
    assert_eq!(fs::read_to_string(&spliced).unwrap(), once);
    // Where the page shows another run, they are those of the run.
    fs::remove_file(suite.path().join("reports/case/README.md")).unwrap();
    assert!(
        suite
            .hotlap(&["report", run, "--splice", "my docs/README.md"])
            .status
            .success()
    );
    assert_eq!(images(&spliced), own);
    assert!(
        fs::read_to_string(&spliced)
            .unwrap()
            .contains("](../reports/case/runs/")
    );
}

#[test]
fn each_format_is_made_alone_and_the_same_again() {
    let outcome = Suite::new()
        .fixture("good", &Behaviour::good())
        .run()
        .exits(0);
    let folder = outcome.suite.run_folder().unwrap();
    let run = folder.to_str().unwrap();
    let (page, plot) = (
        outcome.read("report.html"),
        outcome.read("plots/throughput.svg"),
    );
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg"));
    fs::remove_file(folder.join("report.html")).unwrap();
    fs::remove_dir_all(folder.join("plots")).unwrap();
    let done = outcome.suite.hotlap(&["report", run, "--format", "html"]);
    assert!(done.status.success());
    assert_eq!(outcome.read("report.html"), page);
    assert!(!folder.join("plots").exists(), "the plots are in the page");
    let done = outcome
        .suite
        .hotlap(&["report", run, "--format", "md", "--stdout"]);
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(said.contains("](plots/throughput.svg)") && !said.contains("<svg"));
    assert!(
        outcome
            .suite
            .hotlap(&["report", run, "--format", "md"])
            .status
            .success()
    );
    assert_eq!(outcome.read("plots/throughput.svg"), plot);
}
