//! `hotlap completions`: what a shell needs to complete the command line.

use super::exit::Exit;
use super::terminal::print;
use clap::Args;
use clap_complete::Shell;

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hotlap completions bash > ~/.local/share/bash-completion/completions/hotlap
  hotlap completions zsh > ~/.zfunc/_hotlap
  hotlap completions fish > ~/.config/fish/completions/hotlap.fish

The folder must be there. A new shell has them; for zsh the folder must be in `fpath` before
`compinit`.")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

pub(super) fn main(arguments: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut super::command(),
        "hotlap",
        &mut script,
    );
    print(&String::from_utf8_lossy(&script));
    Exit::Fine
}
