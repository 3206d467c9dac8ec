//! Pages for `man`, in roff.

use super::section::{Part, Section};
use super::{Page, commands, sections};
use clap::Command;
use clap_mangen::Man;

/// The page of hotlap, and one for each command.
pub(super) fn pages(root: &Command) -> Vec<Page> {
    let version = root.get_version().unwrap_or_default();
    let mut pages = vec![page("hotlap", root, version)];
    pages.extend(commands(root).map(|command| {
        let name = format!("hotlap-{}", command.get_name());
        page(&name, command, version)
    }));
    pages
}

fn page(name: &str, command: &Command, version: &str) -> Page {
    let man = Man::new(command.clone())
        .title(name)
        .section("1")
        .source(format!("hotlap {version}"))
        .manual("hotlap");
    let mut out = Vec::new();
    // Writing to a Vec cannot fail.
    let _ = man
        .render_title(&mut out)
        .and_then(|()| man.render_name_section(&mut out))
        .and_then(|()| man.render_synopsis_section(&mut out))
        .and_then(|()| man.render_description_section(&mut out))
        .and_then(|()| man.render_options_section(&mut out));
    if command.has_subcommands() {
        let _ = man.render_subcommands_section(&mut out);
    }
    let mut text = String::from_utf8_lossy(&out).into_owned();
    for section in sections(command) {
        add(&mut text, &section);
    }
    Page {
        file_name: format!("{name}.1"),
        text,
    }
}

fn add(text: &mut String, section: &Section) {
    text.push_str(".SH \"");
    text.push_str(&escaped(&section.title.to_uppercase()));
    text.push_str("\"\n");
    for part in &section.parts {
        match part {
            Part::Prose(prose) => {
                text.push_str(".PP\n");
                text.push_str(&escaped(prose));
                text.push('\n');
            }
            Part::Lines(lines) => {
                text.push_str(".PP\n.nf\n");
                for line in lines.lines() {
                    text.push_str(&escaped(line));
                    text.push('\n');
                }
                text.push_str(".fi\n");
            }
        }
    }
}

/// A line that roff takes for nothing but text.
fn escaped(line: &str) -> String {
    let line = line
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('\'', "\\(aq")
        .replace('"', "\\(dq");
    if line.starts_with('.') {
        format!("\\&{line}")
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_a_request() {
        assert_eq!(
            escaped(".SH it's -n \"a\\b\""),
            "\\&.SH it\\(aqs \\-n \\(dqa\\eb\\(dq"
        );
    }
}
