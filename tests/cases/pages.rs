//! What a run leaves for other people's pages: a part of their README, a badge, the index, and reports by templates of
//! their own. What is wrong with a template or a file is found before anything starts.

use crate::fixture::Behaviour;
use crate::kit::Suite;
use std::fs;

const MARKERS: &str = "# Mine\r\n\r\n<!-- hotlap:begin -->\r\n<!-- hotlap:end -->\r\n\r\nThe end.";

fn suite() -> Suite {
    Suite::new()
        .fixture("one", &Behaviour::good())
        .head("title = 'One & <all>'\ndescription = 'Some words. *What* does it cost?'\n")
}

/// Nothing was started: no run, and the message on standard error.
fn refused(suite: Suite, arguments: &[&str]) -> String {
    let mut suite = suite;
    for word in arguments {
        suite = suite.argument(word);
    }
    let outcome = suite.run().exits(2);
    assert!(outcome.suite.run_folder().is_none(), "{}", outcome.stderr);
    outcome.stderr
}

#[test]
fn format_names_what_is_written_with_a_template_too() {
    let suite = suite().run().exits(0).suite;
    let report = || fs::read_to_string(suite.run_folder().unwrap().join("report.md")).unwrap();
    let whole = report();
    fs::remove_file(suite.run_folder().unwrap().join("report.html")).unwrap();
    let refused = suite.hotlap(&[
        "report",
        "latest",
        "--template",
        "short",
        "--format",
        "html",
    ]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("makes report.md") && said.contains("add md to --format"),
        "{said}"
    );
    assert!(!suite.run_folder().unwrap().join("report.html").exists());
    assert_eq!(report(), whole);
    let both = suite.hotlap(&[
        "report",
        "latest",
        "--template",
        "short",
        "--format",
        "md,html",
    ]);
    assert!(both.status.success());
    assert_ne!(report(), whole);
}

#[test]
fn a_readme_gets_a_short_report_with_links_that_lead_somewhere() {
    let outcome = suite()
        .file("README.md", MARKERS)
        .argument("--splice")
        .argument("README.md")
        .argument("--template")
        .argument("short")
        .run()
        .exits(0);
    let root = outcome.suite.path();
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let (before, after) = MARKERS.split_once("<!-- hotlap:end").unwrap();
    assert!(
        readme.starts_with(before) && readme.ends_with(after),
        "{readme}"
    );
    assert_eq!(readme.matches('\n').count(), readme.matches("\r\n").count());
    assert!(
        readme.contains("[The whole report](reports/case/README.md)"),
        "{readme}"
    );
    assert!(root.join("reports/case/README.md").is_file());
    // The run's own report is the whole one.
    assert!(outcome.markdown().contains("## Throughput and latency"));

    // Again, and nothing changes.
    let again = outcome.suite.hotlap(&[
        "report",
        "latest",
        "--splice",
        "README.md",
        "--template",
        "short",
    ]);
    assert!(again.status.success());
    assert_eq!(fs::read_to_string(root.join("README.md")).unwrap(), readme);

    let index = fs::read_to_string(root.join("reports/README.md")).unwrap();
    let row = index.lines().find(|line| line.starts_with("| [")).unwrap();
    assert!(
        row.starts_with("| [One &amp; &lt;all&gt;](case/README.md)<br>What does it cost? | one: "),
        "{row}"
    );
    assert!(
        row.contains("(case/README.md#how-it-was-measured)"),
        "{row}"
    );
    let page = fs::read_to_string(root.join("reports/case/README.md")).unwrap();
    assert!(page.contains("## How it was measured"));

    let badge = fs::read_to_string(root.join("reports/case/badge.svg")).unwrap();
    let made = outcome
        .suite
        .hotlap(&["report", "latest", "--format", "badge", "--stdout"]);
    assert_eq!(String::from_utf8(made.stdout).unwrap(), badge);
    assert!(badge.contains("req&#x2f;s"), "{badge}");
}

#[test]
fn a_file_that_cannot_take_a_report_is_told_before_anything_starts() {
    for (text, what) in [
        ("# none\n", "there is no line \"<!-- hotlap:begin -->\""),
        (
            "<!-- hotlap:end -->\n<!-- hotlap:begin -->\n",
            "the end of the report in line 1 stands before its beginning in line 2",
        ),
        (
            "<!-- hotlap:begin -->\n<!-- hotlap:end -->\n<!-- hotlap:begin -->\n",
            "the line \"<!-- hotlap:begin -->\" is there twice, in lines 1 and 3",
        ),
    ] {
        let said = refused(suite().file("R.md", text), &["--splice", "R.md"]);
        assert!(said.contains(&format!("R.md: {what}")), "{said}");
    }
    let said = refused(suite(), &["--splice", "absent.md"]);
    assert!(said.contains("cannot read absent.md"), "{said}");
}

#[test]
fn two_suites_need_markers_of_their_own() {
    let second = "[servers.b]\ncommand = 'hotlap serve'\n[loads.x]\nrequests = 1\n";
    let pair = "<!-- hotlap:begin -->\n<!-- hotlap:end -->\n";
    let suite = suite().file("b.toml", second).file("R.md", pair);
    let said = refused(suite, &["b.toml", "--splice", "R.md"]);
    assert!(
        said.contains("the reports of case and b would go between the same two markers"),
        "{said}"
    );
}

#[test]
fn a_run_that_is_not_complete_leaves_the_file_as_it_is() {
    let outcome = suite()
        .server("fails", &["false"], "")
        .setting("repetitions", "2")
        .file("R.md", MARKERS)
        .argument("--fail-fast")
        .argument("--splice")
        .argument("R.md")
        .run()
        .exits(1);
    assert!(
        outcome.stderr.contains("R.md stays as it is"),
        "{}",
        outcome.stderr
    );
    let text = fs::read_to_string(outcome.suite.path().join("R.md")).unwrap();
    assert_eq!(text, MARKERS);
}

#[test]
fn a_template_with_a_mistake_is_refused_before_a_run_and_a_good_one_makes_html() {
    let said = refused(
        suite().file(
            "mine.md",
            "ok\n{% if since %}{{ since.old.rum }}{% endif %}\n",
        ),
        &["--template", "mine.md"],
    );
    assert!(
        said.contains("mine.md:2:28") && said.contains("`run` is there"),
        "{said}"
    );
    let said = refused(
        suite().file("mine.md", "{% include 'sub/row.j2' %}"),
        &["--template", "mine.md"],
    );
    assert!(said.contains("cannot read sub/row.j2"), "{said}");
    let said = refused(
        suite().file("mine.md", "{% include '../secret' %}"),
        &["--template", "mine.md"],
    );
    assert!(said.contains("below its folder"), "{said}");
    let said = refused(suite(), &["--template", "shorter"]);
    assert!(
        said.contains("default, short, leaderboard, pull-request"),
        "{said}"
    );

    let page = "<h1>{{ title }}</h1>\n{% for cell in cells %}{% include 'row.j2' %}{% endfor %}";
    let outcome = suite()
        .file("page.html", page)
        .file(
            "row.j2",
            "<p>{{ cell.title }}: {{ cell.metrics.errors.shown }}</p>\n",
        )
        .argument("--template")
        .argument("page.html")
        .run()
        .exits(0);
    assert_eq!(
        outcome.read("report.html"),
        "<h1>One &amp; &lt;all&gt;</h1>\n<p>one: 0</p>\n"
    );
    assert!(outcome.markdown().contains("## Throughput and latency"));
}
