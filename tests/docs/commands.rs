//! Commands that are shown are understood by this version, in blocks and in running text.

use crate::page::{Page, other_pages, pages};
use clap::error::ErrorKind;
use hotlap::cli::command;
use std::collections::BTreeSet;

/// The separate commands of a line of shell, each in its words.
fn split(line: &str) -> Vec<Vec<String>> {
    let words = shell_words::split(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    let mut is_file = false;
    for word in words {
        if ["|", "&&", "||", ";", "&"].contains(&word.as_str()) {
            commands.push(Vec::new());
        } else if [">", ">>", "2>", "<"].contains(&word.as_str()) {
            is_file = true;
        } else if std::mem::take(&mut is_file) {
            // Where the output goes is no argument.
        } else {
            commands.last_mut().unwrap().push(word);
        }
    }
    commands.retain(|words| !words.is_empty());
    commands
}

/// The commands of a block, with lines that go on put together and without what is printed.
pub(crate) fn lines(language: &str, text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let mut lines: Vec<String> = Vec::new();
    for line in joined.lines() {
        let typed = match language {
            "console" | "text" => line.strip_prefix("$ "),
            // Five fields say when.
            "crontab" => line.splitn(6, ' ').nth(5),
            _ => Some(line),
        };
        let typed = typed.map(str::trim).unwrap_or_default();
        if !typed.is_empty() && !typed.starts_with('#') {
            lines.push(typed.to_owned());
        }
    }
    lines
}

/// The arguments of hotlap in a command, if it is one of hotlap.
fn arguments(words: &[String]) -> Option<&[String]> {
    let is_setting = |word: &String| {
        word.split_once('=')
            .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let start = words.iter().position(|word| !is_setting(word))?;
    let words = &words[start..];
    if words[0] == "hotlap" || words[0].ends_with("/hotlap") {
        return Some(&words[1..]);
    }
    let is_cargo = words.len() > 2 && words[0] == "cargo" && words[1] == "run";
    let behind = words.iter().position(|word| word == "--")?;
    is_cargo.then(|| &words[behind + 1..])
}

/// What is wrong with a command of hotlap.
fn mistake(words: &[String]) -> Option<String> {
    let typed = std::iter::once("hotlap").chain(words.iter().map(String::as_str));
    let error = command().try_get_matches_from(typed).err()?;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        _ => Some(error.to_string()),
    }
}

#[test]
fn every_command_of_a_block_is_understood() {
    let mut understood = 0;
    for page in pages().into_iter().chain(other_pages()) {
        for item in page.items() {
            let language = item.language.as_str();
            if !["sh", "console", "text", "crontab"].contains(&language) {
                continue;
            }
            for line in lines(language, &item.text) {
                for words in split(&line) {
                    let Some(arguments) = arguments(&words) else {
                        continue;
                    };
                    if let Some(mistake) = mistake(arguments) {
                        panic!("{}:{}: {line}\n{mistake}", page.name, item.line);
                    }
                    understood += 1;
                }
            }
        }
    }
    assert!(understood > 60, "{understood}");
}

/// What stands in backquotes in the running text of a page.
fn inline(page: &Page) -> Vec<String> {
    use pulldown_cmark::{Event, Options, Parser};
    Parser::new_ext(&page.text, Options::ENABLE_TABLES)
        .filter_map(|event| match event {
            Event::Code(code) => Some(code.into_string()),
            _ => None,
        })
        .collect()
}

#[test]
fn commands_in_running_text_exist_with_their_options() {
    let root = command();
    let mut found = 0;
    for page in pages().into_iter().chain(other_pages()) {
        for code in inline(&page) {
            let Some(rest) = code.strip_prefix("hotlap ") else {
                continue;
            };
            let words: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
            let name = words[0].as_str();
            // The guard is the runner's own, and no command of people.
            if name == "guard" || name.starts_with('-') {
                continue;
            }
            let known = root
                .find_subcommand(name)
                .unwrap_or_else(|| panic!("{}: there is no `{code}`", page.name));
            let options: BTreeSet<String> = known
                .get_arguments()
                .chain(root.get_arguments())
                .filter_map(|argument| Some(format!("--{}", argument.get_long()?)))
                .collect();
            for word in words.iter().filter(|word| word.starts_with("--")) {
                let option = word.split('=').next().unwrap();
                assert!(
                    options.contains(option) || option == "--help",
                    "{}: `{code}`: {name} has no {option}",
                    page.name
                );
            }
            found += 1;
        }
    }
    assert!(found > 30, "{found}");
}

#[test]
fn a_line_of_shell_is_taken_apart() {
    let words = |line: &str| -> Vec<String> {
        let all = split(line);
        let found: Vec<&[String]> = all.iter().filter_map(|words| arguments(words)).collect();
        found.iter().map(|words| words.join(" ")).collect()
    };
    assert_eq!(
        words("cd x && A=b hotlap run 's t' > file # why"),
        ["run s t"]
    );
    assert_eq!(
        words("cargo run --release -- check suites | head"),
        ["check suites"]
    );
    assert_eq!(words("/usr/local/bin/hotlap list"), ["list"]);
    assert_eq!(words("cargo test"), Vec::<String>::new());
    assert!(mistake(&["run".to_owned(), "--no-such".to_owned()]).is_some());
    assert!(mistake(&["rum".to_owned()]).is_some());
}
