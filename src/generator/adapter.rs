//! What every generator has to say of itself.

use super::heard::Heard;
use super::order::Order;
use crate::spec::LoadSpec;
use std::path::Path;

/// A load generator that is a program of its own.
pub(super) trait Adapter: Sync {
    /// Its name in suites.
    fn name(&self) -> &'static str;

    /// The line that installs it.
    fn install(&self) -> &'static str;

    /// Folders beside the PATH where its installer puts it, relative to the home folder.
    fn folders(&self) -> &'static [&'static str] {
        &[]
    }

    /// The argument with which it tells its version.
    fn asks(&self) -> &'static str;

    /// Its name and version, where what `program` said of itself shows that it is this one and no other
    /// program of the same name.
    fn recognise(&self, said: &str, program: &Path) -> Option<String>;

    /// What it cannot do of a load that asks for nothing but 2xx, each in a phrase.
    fn cannot(&self, work: &LoadSpec) -> Vec<&'static str>;

    /// Whether an interim response (1xx) misleads it: it takes it for the answer, or waits for ever.
    fn is_misled_by_interim(&self) -> bool {
        false
    }

    /// How many threads make the load, of the most that it may have.
    fn threads(&self, _order: &Order) -> usize {
        1
    }

    /// The arguments, and the variables that it needs beside the caller's.
    fn command(&self, order: &Order) -> Command;

    /// What it told.
    fn read(&self, said: &Said<'_>, order: &Order) -> Result<Heard, String>;
}

/// How a generator is started.
#[derive(Debug, Default)]
pub(super) struct Command {
    pub(super) arguments: Vec<String>,
    pub(super) env: Vec<(&'static str, String)>,
    /// Files that it reads, in its folder.
    pub(super) files: Vec<(&'static str, String)>,
    /// What is not quite as the suite asks, in a sentence.
    pub(super) notes: Vec<String>,
}

/// What a generator left.
pub(super) struct Said<'a> {
    /// What it printed to standard output.
    pub(super) stdout: &'a str,
    /// The folder that it ran in.
    pub(super) folder: &'a Path,
}
