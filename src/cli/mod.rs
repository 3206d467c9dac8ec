//! The command line: a file per subcommand. Only this module prints and only it
//! decides an exit code. Output for people goes to standard error, results that
//! were asked for go to standard output.

mod baseline;
mod begin;
mod changed;
mod check;
mod clean;
mod compare;
mod completions;
mod doctor;
mod exit;
mod explain;
mod gates;
mod history;
mod init;
mod init_files;
mod list;
mod load;
mod log;
mod man;
mod plan;
mod progress;
mod report;
mod reports;
mod requirements;
mod revisions;
mod run;
mod schema;
mod scratch;
mod sentence;
mod serve;
mod signals;
mod splice;
mod suites;
mod templates;
mod terminal;
mod thin;

pub use exit::Exit;
pub use man::{Page, manual_pages, markdown_pages};

use clap::{CommandFactory as _, Parser, Subcommand};
use std::process::ExitCode;

/// A declarative benchmark-suite runner for HTTP servers.
///
/// A suite is a TOML file that says which servers to start, which toggles to
/// flip and what load to put on them. `hotlap run` does that, watches memory and
/// CPU of every server's processes, and writes reports.
#[derive(Debug, Parser)]
#[command(version, after_help = exit::HELP, arg_required_else_help = true)]
struct Cli {
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = terminal::When::Auto)]
    color: terminal::When,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::InitArgs),
    Run(run::RunArgs),
    Plan(plan::PlanArgs),
    Check(check::CheckArgs),
    Explain(explain::ExplainArgs),
    Report(report::ReportArgs),
    Compare(compare::CompareArgs),
    History(history::HistoryArgs),
    List(list::ListArgs),
    Load(load::LoadArgs),
    Log(log::LogArgs),
    Schema(schema::SchemaArgs),
    Doctor(doctor::DoctorArgs),
    Serve(serve::ServeArgs),
    Clean(clean::CleanArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// The command line as it is defined, for pages, completions and tests.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // A guard has neither threads nor a runtime, and knows no other argument.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == "guard")
    {
        return crate::process::guard_main();
    }
    let cli = Cli::parse();
    cli.color.apply();
    let exit = match cli.command {
        Command::Init(arguments) => init::main(&arguments),
        Command::Run(arguments) => run::main(&arguments),
        Command::Plan(arguments) => plan::main(&arguments),
        Command::Check(arguments) => check::main(&arguments),
        Command::Explain(arguments) => explain::main(&arguments),
        Command::Report(arguments) => report::main(&arguments),
        Command::Compare(arguments) => compare::main(&arguments),
        Command::History(arguments) => history::main(&arguments),
        Command::List(arguments) => list::main(&arguments),
        Command::Load(arguments) => load::main(&arguments),
        Command::Log(arguments) => log::main(&arguments),
        Command::Schema(arguments) => schema::main(&arguments),
        Command::Doctor(arguments) => doctor::main(&arguments),
        Command::Serve(arguments) => serve::main(&arguments),
        Command::Clean(arguments) => clean::main(&arguments),
        Command::Completions(arguments) => completions::main(&arguments),
        Command::Man(arguments) => man::main(&arguments),
    };
    if exit == Exit::Fine && terminal::has_lost() {
        return Exit::Machine.into();
    }
    exit.into()
}
