//! Pages for `docs/commands`, in Markdown.

use super::section::{Part, Section};
use super::{Page, commands, sections};
use clap::builder::PossibleValue;
use clap::{Arg, Command};
use std::fmt::Write as _;

/// The first line of each page.
const MADE: &str = "<!-- made by `hotlap man --markdown`: change the command, not this page -->\n";

/// The index, and a page for each command.
pub(super) fn pages(root: &Command) -> Vec<Page> {
    let mut pages = vec![Page {
        file_name: "README.md".to_owned(),
        text: index(root),
    }];
    pages.extend(commands(root).map(|command| Page {
        file_name: format!("{}.md", command.get_name()),
        text: page(command),
    }));
    pages
}

// Writing to a String cannot fail, here and below.
fn index(root: &Command) -> String {
    let mut out = format!("{MADE}\n# Commands\n\n{}\n\n", about(root));
    out.push_str("| command | |\n|:--|:--|\n");
    for command in commands(root) {
        let name = command.get_name();
        let about = short(command).replace('|', "\\|");
        let _ = writeln!(out, "| [`hotlap {name}`]({name}.md) | {} |", plain(&about));
    }
    out.push_str("\n## Options of every command\n\n");
    for option in root.get_arguments().filter(|option| option.is_global_set()) {
        item(&mut out, option);
    }
    out.push_str("- `-h, --help`: the help of the command, on the terminal.\n");
    out.push_str("- `-V, --version`, of hotlap itself: the version.\n");
    for section in sections(root) {
        add(&mut out, &section);
    }
    out
}

fn page(command: &Command) -> String {
    let name = command.get_name();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    let mut out = format!(
        "{MADE}\n# hotlap {name}\n\n{}\n\n```text\n{usage}\n```\n",
        about(command)
    );
    options(&mut out, command);
    for section in sections(command) {
        add(&mut out, &section);
    }
    out.push_str("\n[All commands](README.md), with the options that each of them has.\n");
    out
}

/// The whole of what a command says of itself.
fn about(command: &Command) -> String {
    let text = command.get_long_about().or_else(|| command.get_about());
    let text = text.map(ToString::to_string).unwrap_or_default();
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let paragraph = plain(&paragraph.replace('\n', " "));
        if paragraph.ends_with(['.', ':']) {
            paragraph
        } else {
            paragraph + "."
        }
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// Its first line.
fn short(command: &Command) -> String {
    let text = command.get_about().map(ToString::to_string);
    let text = text.unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

/// Arguments first, then options under their headings, in the order in which they were defined.
fn options(out: &mut String, command: &Command) {
    let mut groups: Vec<(&str, Vec<&Arg>)> =
        vec![("Arguments", Vec::new()), ("Options", Vec::new())];
    for argument in command.get_arguments() {
        if argument.is_global_set() || argument.is_hide_set() || argument.get_id() == "help" {
            continue;
        }
        let heading = if argument.is_positional() {
            "Arguments"
        } else {
            argument.get_help_heading().unwrap_or("Options")
        };
        match groups.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, group)) => group.push(argument),
            None => groups.push((heading, vec![argument])),
        }
    }
    for (heading, group) in groups.iter().filter(|(_, group)| !group.is_empty()) {
        let _ = write!(out, "\n## {heading}\n\n");
        for argument in group {
            item(out, argument);
        }
    }
}

fn item(out: &mut String, argument: &Arg) {
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let _ = write!(out, "- `{}`", written(argument));
    let help = plain(&help.replace('\n', " "));
    if !help.is_empty() {
        let _ = write!(out, ": {help}");
    }
    if argument.get_action().takes_values() {
        values(out, argument);
    }
    out.push('\n');
}

/// An argument as it is written: `-c, --connections <N>`.
fn written(argument: &Arg) -> String {
    match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(_)) => format!("-{short}, {argument}"),
        _ => argument.to_string(),
    }
}

/// What an argument may be, and what it is where it is not given.
fn values(out: &mut String, argument: &Arg) {
    let possible: Vec<PossibleValue> = argument.get_possible_values();
    let shown: Vec<String> = possible
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({})", value.get_name(), plain(&help.to_string())),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if !shown.is_empty() {
        let _ = write!(out, ". One of {}", shown.join(", "));
    }
    let default = argument.get_default_values();
    if !default.is_empty() && !argument.is_hide_default_value_set() {
        let words: Vec<_> = default.iter().map(|word| word.to_string_lossy()).collect();
        let _ = write!(out, ". Default: `{}`", words.join(" "));
    }
}

fn add(out: &mut String, section: &Section) {
    let is_shell = section.title.starts_with("Example");
    let _ = write!(out, "\n## {}\n", plain(&section.title));
    for part in &section.parts {
        match part {
            Part::Prose(prose) => {
                let _ = write!(out, "\n{}\n", plain(prose));
            }
            Part::Lines(lines) => {
                let is_command = is_shell && lines.starts_with("hotlap ");
                let language = if is_command { "sh" } else { "text" };
                let _ = write!(out, "\n```{language}\n{lines}\n```\n");
            }
        }
    }
}

/// A text in which Markdown finds nothing to interpret but what stands in backquotes.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for (index, piece) in text.split('`').enumerate() {
        if index > 0 {
            out.push('`');
        }
        if index % 2 == 1 {
            out.push_str(piece);
            continue;
        }
        for c in piece.chars() {
            if matches!(c, '<' | '*' | '[' | ']') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_text_and_code_is_code() {
        assert_eq!(
            plain("a <b> [default: `x<y>`] *"),
            "a \\<b> \\[default: `x<y>`\\] \\*"
        );
    }

    #[test]
    fn an_option_tells_its_values_and_its_default() {
        let option = Arg::new("when")
            .long("when")
            .short('w')
            .value_name("WHEN")
            .value_parser(["now", "then"])
            .default_value("now")
            .help("Which of them");
        let mut command = Command::new("c").arg(option);
        command.build();
        let option = command
            .get_arguments()
            .find(|option| option.get_id() == "when");
        let mut out = String::new();
        item(&mut out, option.unwrap());
        assert_eq!(
            out,
            "- `-w, --when <WHEN>`: Which of them. One of `now`, `then`. Default: `now`\n"
        );
    }
}
