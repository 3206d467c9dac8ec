//! `hotlap man`: the command line as pages, made from its definitions: for `man` in roff, and for
//! `docs/commands` in Markdown.

mod markdown;
mod roff;
mod section;

use super::exit::Exit;
use super::terminal::{print, say_error, say_line};
use clap::{Args, Command};
use section::Section;
use std::path::{Path, PathBuf};

/// Print the manual page of hotlap or of a command, or write all of them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hotlap man run | man -l -
  hotlap man --out ~/.local/share/man/man1
  hotlap man --markdown --out docs/commands")]
pub(super) struct ManArgs {
    /// The command; hotlap itself unless given
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Option<String>,
    /// Write every page to this folder, which is made; pages that are there are replaced
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// In Markdown
    #[arg(long)]
    markdown: bool,
}

/// A page: the name of its file, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Such as `hotlap-run.1` or `run.md`.
    pub file_name: String,
    /// The whole text, with a line break at its end.
    pub text: String,
}

/// The pages of `docs/commands`: an index, and a page for each command.
pub fn markdown_pages() -> Vec<Page> {
    markdown::pages(&built())
}

/// The manual pages (section 1): one of hotlap, and one for each command.
pub fn manual_pages() -> Vec<Page> {
    roff::pages(&built())
}

pub(super) fn main(arguments: &ManArgs) -> Exit {
    let pages = if arguments.markdown {
        markdown_pages()
    } else {
        manual_pages()
    };
    if let Some(folder) = &arguments.out {
        return match write(folder, &pages) {
            Ok(()) => Exit::Fine,
            Err(message) => {
                say_error(&message);
                Exit::Machine
            }
        };
    }
    // The first page is that of hotlap itself; the others follow in the order of the commands.
    let index = match &arguments.command {
        None => Some(0),
        Some(name) => commands(&built())
            .position(|command| command.get_name() == name)
            .map(|position| position + 1),
    };
    if let Some(page) = index.and_then(|index| pages.get(index)) {
        print(&page.text);
        return Exit::Fine;
    }
    let typed = arguments.command.as_deref().unwrap_or_default();
    say_error(&format!(
        "there is no command `{}`; `hotlap --help` lists them",
        typed.escape_debug()
    ));
    Exit::Usage
}

fn write(folder: &Path, pages: &[Page]) -> Result<(), String> {
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
    for page in pages {
        let path = folder.join(&page.file_name);
        std::fs::write(&path, &page.text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        say_line(&path.display().to_string());
    }
    Ok(())
}

/// The command line with its usage lines filled in.
fn built() -> Command {
    let mut command = super::command();
    command.build();
    command
}

/// The commands that people see, in their order.
fn commands(root: &Command) -> impl Iterator<Item = &Command> {
    root.get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

/// What a command says after its options, with the exit codes where it does not tell them itself.
fn sections(command: &Command) -> Vec<Section> {
    let after = command.get_after_help().map(ToString::to_string);
    let mut sections = section::read(after.as_deref().unwrap_or_default());
    if !sections.iter().any(|section| section.title == "Exit codes") {
        sections.extend(section::read(super::exit::help(command.get_name())));
    }
    sections
}
