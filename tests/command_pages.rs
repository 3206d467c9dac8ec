//! What is made from the definitions of the command line: the pages of `docs/commands`, the manual pages, and the
//! completions of shells. `HOTLAP_BLESS=1 cargo test --test command_pages` writes `docs/commands` anew.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its files has failed"
)]
#![expect(clippy::print_stderr, reason = "a test that skips itself says so")]

use hotlap::cli::{command, manual_pages, markdown_pages};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/commands")
}

/// Whether a program is missing, which a strict run does not let pass.
fn lacks(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    if found.is_ok() {
        return false;
    }
    let strict = std::env::var_os("HOTLAP_TEST_STRICT").is_some_and(|value| value == "1");
    assert!(
        !strict,
        "{program} is missing, and HOTLAP_TEST_STRICT=1 lets no test be skipped"
    );
    eprintln!("skipped: {program} is missing");
    true
}

fn hotlap(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hotlap"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A program that reads this text.
fn fed(program: &mut Command, input: &str) -> Output {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

/// The commands that people see.
fn names() -> BTreeSet<String> {
    command()
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .collect()
}

#[test]
fn the_committed_pages_are_those_of_the_commands() {
    let pages = markdown_pages();
    if std::env::var_os("HOTLAP_BLESS").is_some() {
        let _ = fs::remove_dir_all(folder());
        fs::create_dir_all(folder()).unwrap();
        for page in &pages {
            fs::write(folder().join(&page.file_name), &page.text).unwrap();
        }
    }
    let mut made = BTreeSet::new();
    for page in &pages {
        let stored = fs::read_to_string(folder().join(&page.file_name)).unwrap_or_default();
        assert!(
            stored == page.text,
            "docs/commands/{} is out of date: HOTLAP_BLESS=1 cargo test --test command_pages",
            page.file_name
        );
        made.insert(page.file_name.clone());
    }
    let stored: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(stored, made, "a page of a command that is no more");
    let expected: BTreeSet<String> = names()
        .iter()
        .map(|name| format!("{name}.md"))
        .chain(["README.md".to_owned()])
        .collect();
    assert_eq!(made, expected);
}

#[test]
fn each_page_tells_its_options_and_exit_codes() {
    for page in markdown_pages().iter().skip(1) {
        let name = page.file_name.trim_end_matches(".md");
        let definition = command();
        let definition = definition.find_subcommand(name).unwrap();
        for argument in definition.get_arguments() {
            if let Some(long) = argument.get_long()
                && !argument.is_hide_set()
            {
                assert!(page.text.contains(&format!("--{long}")), "{name}: {long}");
            }
        }
        assert!(page.text.contains("\n## Exit codes\n"), "{name}");
        assert!(page.text.contains("\n## Example"), "{name} has no example");
    }
}

#[test]
fn pages_are_printed_and_written() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("new/folder");
    let written = hotlap(&["man", "--markdown", "--out", folder.to_str().unwrap()]);
    assert!(written.status.success(), "{}", text(&written.stderr));
    for page in markdown_pages() {
        assert_eq!(
            fs::read_to_string(folder.join(&page.file_name)).unwrap(),
            page.text
        );
        assert!(text(&written.stderr).contains(&page.file_name));
    }
    for (arguments, file) in [
        (vec!["man"], "hotlap.1"),
        (vec!["man", "run"], "hotlap-run.1"),
        (vec!["man", "clean"], "hotlap-clean.1"),
    ] {
        let printed = hotlap(&arguments);
        assert!(printed.status.success());
        let pages = manual_pages();
        let page = pages.iter().find(|page| page.file_name == file).unwrap();
        assert_eq!(text(&printed.stdout), page.text, "{arguments:?}");
    }
    let refused = hotlap(&["man", "rum"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("there is no command `rum`"));
    // A file stands where the folder should be.
    fs::write(scratch.path().join("file"), "").unwrap();
    let blocked = scratch.path().join("file/below");
    let refused = hotlap(&["man", "--out", blocked.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(4));
}

#[test]
fn manual_pages_render_without_a_warning() {
    if lacks("groff") {
        return;
    }
    let pages = manual_pages();
    assert_eq!(pages.len(), names().len() + 1);
    for page in pages {
        let rendered = fed(
            Command::new("groff").args(["-k", "-man", "-Tutf8", "-ww", "-P-c", "-rLL=100n"]),
            &page.text,
        );
        assert!(rendered.status.success(), "{}", page.file_name);
        let warnings: String = text(&rendered.stderr)
            .lines()
            // A long word at the end of a line is a matter of looks.
            .filter(|line| {
                !line.contains("cannot adjust line") && !line.contains("can't break line")
            })
            .collect();
        assert_eq!(warnings, "", "{}", page.file_name);
        let shown = text(&rendered.stdout);
        for title in ["NAME", "SYNOPSIS", "EXIT CODES"] {
            assert!(
                shown.lines().any(|line| plain(line) == title),
                "{}: {title}\n{shown}",
                page.file_name
            );
        }
    }
}

/// A line as it is read: printers of old print bold letters twice over.
fn plain(line: &str) -> String {
    let mut out: Vec<char> = Vec::new();
    for c in line.chars() {
        if c == '\u{8}' {
            out.pop();
        } else {
            out.push(c);
        }
    }
    out.into_iter().collect()
}

#[test]
fn examples_keep_their_lines_in_the_manual() {
    if lacks("groff") {
        return;
    }
    let pages = manual_pages();
    let page = pages.iter().find(|page| page.file_name == "hotlap-load.1");
    let rendered = fed(
        Command::new("groff").args(["-k", "-man", "-Tutf8", "-P-c", "-rLL=120n"]),
        &page.unwrap().text,
    );
    let shown: Vec<String> = text(&rendered.stdout).lines().map(plain).collect();
    for line in [
        "hotlap load http://127.0.0.1:8080/ -c 256 -d 30s -t 2",
        "hotlap load https://127.0.0.1:8443/ --cacert ca.pem",
        "wrk -t2 -c64 -d30s -H 'A: b' URL         hotlap load -t2 -c64 -d30s -H 'A: b' URL",
    ] {
        assert!(
            shown.iter().any(|shown| shown.trim() == line),
            "{line}\n{shown:#?}"
        );
    }
}

/// What bash would offer where this has been typed, with the last word unfinished.
fn offered(typed: &[&str]) -> Vec<String> {
    let script = text(&hotlap(&["completions", "bash"]).stdout);
    let (last, before) = typed.split_last().unwrap();
    let words: Vec<String> = typed.iter().map(|word| format!("'{word}'")).collect();
    let ask = format!(
        "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={}\ncomplete -p hotlap >/dev/null || exit 1\n_hotlap hotlap '{last}' '{}'\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        words.join(" "),
        typed.len() - 1,
        before.last().unwrap()
    );
    let answer = fed(Command::new("bash").args(["--norc", "-s"]), &ask);
    assert!(answer.status.success(), "{}", text(&answer.stderr));
    assert_eq!(text(&answer.stderr), "", "{typed:?}");
    text(&answer.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    if lacks("bash") {
        return;
    }
    assert_eq!(offered(&["hotlap", "r"]), ["run", "report"]);
    assert_eq!(offered(&["hotlap", "run", "--prof"]), ["--profile"]);
    assert_eq!(
        offered(&["hotlap", "run", "--events", "j"]),
        ["json"],
        "the values of an option"
    );
    assert_eq!(
        offered(&["hotlap", "completions", "z"]),
        ["zsh"],
        "the values of an argument"
    );
    assert_eq!(offered(&["hotlap", "gu"]), [""], "the guard is no command");
}

/// Where there is no terminal, help is wrapped at so many characters.
const WIDTH: usize = 100;

#[test]
fn no_line_that_was_broken_by_hand_is_broken_again() {
    fn look(command: &clap::Command, wide: &mut Vec<String>) {
        let after = command.get_after_help().map(ToString::to_string);
        let lines = after.iter().flat_map(|text| text.lines());
        let too_wide = lines.filter(|line| line.chars().count() > WIDTH);
        wide.extend(too_wide.map(|line| format!("{}: {line}", command.get_name())));
        for inner in command.get_subcommands() {
            look(inner, wide);
        }
    }
    let mut wide = Vec::new();
    look(&command(), &mut wide);
    assert_eq!(wide, Vec::<String>::new());
}

#[test]
fn every_shell_has_completions_of_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let made = hotlap(&["completions", shell]);
        assert!(made.status.success(), "{shell}");
        let script = text(&made.stdout);
        for name in names() {
            assert!(script.contains(&name), "{shell}: {name}");
        }
    }
    assert_eq!(hotlap(&["completions", "tcsh"]).status.code(), Some(2));
}
