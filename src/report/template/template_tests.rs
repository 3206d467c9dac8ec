//! What a template may name, and what is refused before a run.

use super::*;

/// What is said of a template that is refused.
fn refused(template: &Template) -> String {
    match template.check() {
        Err(ReportError::Template { rendered, .. }) => rendered,
        other => panic!("{other:?}"),
    }
}

fn of(text: &str) -> Template {
    Template::new("mine.md.j2", text)
}

#[test]
fn each_built_in_template_fits_every_report() {
    for name in Template::names() {
        let template = Template::built_in(name).unwrap();
        assert_eq!(template.wanted().unwrap(), Vec::new());
        if let Err(error) = template.check() {
            panic!("{name}: {error}");
        }
    }
    assert_eq!(Template::built_in("shorter"), None);
    let compare = Template::new(
        "x.md.j2",
        "{% if since %}{% include 'templates/compare.md.j2' %}{% endif %}",
    );
    compare.check().unwrap();
}

#[test]
fn a_name_that_is_not_there_is_found_wherever_it_stands() {
    for (text, line, what, near) in [
        (
            "a\n{{ tittle }}",
            2,
            "there is no `tittle`",
            "`title` is there",
        ),
        (
            "{% for cell in cells %}\n{{ cell.titel }}{% endfor %}",
            2,
            "CellView has no `titel`",
            "`title` is there",
        ),
        (
            "{% if title == 'never' %}\n\n{{ since.old.rum }}{% endif %}",
            3,
            "SideView has no `rum`",
            "`run` is there",
        ),
        (
            "{% for c in cells %}{{ c.metrics.latency_p98.shown }}{% endfor %}",
            1,
            "metrics has no `latency_p98`",
            "`latency_p9",
        ),
        (
            "{% macro m(x) %}{{ x.subjet }}{% endmacro %}\n{% for f in findings %}{{ m(f) }}{% endfor %}",
            1,
            "Finding has no `subjet`",
            "`subject` is there",
        ),
        (
            "{% set first = cells|first %}{% if first %}{{ first['idd'] }}{% endif %}",
            1,
            "CellView has no `idd`",
            "`id` is there",
        ),
        (
            "{{ cells|map(attribute='titles')|join }}",
            1,
            "CellView has no `titles`",
            "`title` is there",
        ),
        (
            "{{ title.length }}",
            1,
            "a text or a number has no `length`",
            "",
        ),
        ("{{ cells.title }}", 1, "a list has no `title`", ""),
        ("{{ title|shout }}", 1, "there is no filter `shout`", ""),
        ("{{ title is shiny }}", 1, "there is no test `shiny`", ""),
        ("{% for %}", 1, "syntax error", ""),
        (
            "{% for a in cells %}{% endfor %}{{ a.title }}",
            1,
            "there is no `a`",
            "",
        ),
    ] {
        let said = refused(&of(text));
        assert!(said.contains(what) && said.contains(near), "{text}: {said}");
        assert!(
            said.contains(&format!("mine.md.j2:{line}:")),
            "{text}: {said}"
        );
    }
}

#[test]
fn every_mistake_is_told_once_and_at_its_place() {
    let text = "{% macro m(x) %}{{ x.no }}{% endmacro %}{% for c in cells %}{{ m(c) }}{{ m(c) }}{{ c.neither }}{% endfor %}";
    let said = refused(&of(text));
    assert_eq!(said.matches("error[").count(), 2, "{said}");
    assert!(said.contains("^^\n") || said.contains("^^ "), "{said}");
    assert!(said.contains("^^^^^^^"), "{said}");
}

#[test]
fn what_may_be_absent_must_be_asked_for() {
    let said = refused(&of("x\n{{ since.old.run }}"));
    assert!(
        said.contains("mine.md.j2:2:") && said.contains("may be absent"),
        "{said}"
    );
    let said = refused(&of("{{ cells[0].title }}"));
    assert!(said.contains("without cells"), "{said}");
    for text in [
        "{% if since %}{{ since.old.run }}{% endif %}",
        "{{ profile }}",
        "{% for c in cells %}{{ c.peak_requests }}{{ c.metrics['errors'].median }}{% endfor %}",
        "{% for what, why in banners %}{{ what }}: {{ why }}{% endfor %}",
        "{% for c in cells|sort(attribute='title') %}{{ loop.index }} {{ c.names|join }}{% endfor %}",
        "{{ unheard_of|default('x') }}{% if cells.none is defined %}{% endif %}",
        "{% set ns = namespace(n=0) %}{% for c in cells %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
        "{{ started[:10] }}",
    ] {
        if let Err(error) = of(text).check() {
            panic!("{text}: {error}");
        }
    }
}

#[test]
fn other_files_are_followed() {
    let mut template = of("{% for c in cells %}{% include 'row.j2' %}{% endfor %}");
    assert_eq!(template.wanted().unwrap(), [("row.j2".to_owned(), false)]);
    template.add("row.j2", "folder/row.j2", "\n{{ c.titel }}");
    assert_eq!(template.wanted().unwrap(), Vec::new());
    let said = refused(&template);
    assert!(said.contains("folder/row.j2:2:6"), "{said}");

    let mut template =
        of("{% from 'm.j2' import row, rwo %}{% for c in cells %}{{ row(c) }}{% endfor %}");
    template.add(
        "m.j2",
        "m.j2",
        "{% macro row(x) %}{{ x.nmes }}{% endmacro %}",
    );
    let said = refused(&template);
    // One file is shown at a time.
    assert!(
        said.contains("the file has no `rwo`") || said.contains("has no `nmes`"),
        "{said}"
    );

    let optional =
        of("{% include 'a.j2' ignore missing %}{% include ['b.j2', 'c.j2'] ignore missing %}");
    let wanted = optional.wanted().unwrap();
    assert!(wanted.len() == 3 && wanted.iter().all(|(_, optional)| *optional));
    let error = of("{% include title %}").wanted().unwrap_err().to_string();
    assert!(error.contains("only known when it is rendered"), "{error}");

    let mut round = of("{% include 'a.j2' %}");
    round.add("a.j2", "a.j2", "{% include 'a.j2' %}");
    assert!(refused(&round).contains("a.j2"));
}

#[test]
fn the_ending_decides_what_is_escaped() {
    #[derive(Serialize)]
    struct Data {
        x: &'static str,
        none: Option<u8>,
    }
    let data = Data {
        x: "<a> & *b* | c",
        none: None,
    };
    let made = |name: &str| {
        let mut template = Template::new(name, "{% include 'p.md' %} {{ none }}");
        // What is included is escaped as what includes it.
        template.add("p.md", "p.md", "{{ x }}");
        template.render(&data).unwrap()
    };
    assert_eq!(made("a.html.j2"), "&lt;a&gt; &amp; *b* | c –");
    assert_eq!(made("a.txt"), "<a> & *b* | c –");
    assert_eq!(made("a.md.j2"), "&lt;a&gt; &amp; \\*b\\* \\| c –");
    assert_eq!(made("a"), made("a.md"));
    assert_eq!(Template::new("x.HTML.j2", "").file_name(), "report.html");
    assert_eq!(Template::new("x.j2", "").file_name(), "report.md");
}
