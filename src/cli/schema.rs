//! `hotlap schema`: the suite format, for editors and for people.

use super::exit::Exit;
use super::terminal::print;
use crate::suite;
use clap::Args;

/// Print the JSON Schema of suite files, for editors
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  hotlap schema > suite.schema.json\nand at the head of a suite, for editors that know TOML schemas:\n  #:schema ./suite.schema.json"
)]
pub(super) struct SchemaArgs {
    /// The reference page instead, in Markdown
    #[arg(long)]
    markdown: bool,
}

pub(super) fn main(arguments: &SchemaArgs) -> Exit {
    if arguments.markdown {
        print(&suite::reference());
    } else {
        print(&format!("{:#}\n", suite::json_schema()));
    }
    Exit::Fine
}
