//! A file of a report that is made while it is written: the tables of a run of ten thousand cells are hundreds of megabytes.

use super::{Output, PLOTS, ReportError};
use std::io::{self, Write};
use std::path::Path;

type Make<'r> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + Send + Sync + 'r>;

/// One file of a report, to be written.
pub struct Pending<'r> {
    /// Its path in the run's folder.
    pub file_name: String,
    content: Content<'r>,
}

enum Content<'r> {
    /// Text that is there.
    Whole(Vec<u8>),
    /// Rows that are made one by one.
    Rows(Make<'r>),
}

impl<'r> Pending<'r> {
    pub(super) fn whole(file_name: &str, bytes: Vec<u8>) -> Self {
        Self {
            file_name: file_name.to_owned(),
            content: Content::Whole(bytes),
        }
    }

    pub(super) fn rows(
        file_name: &str,
        make: impl Fn(&mut dyn Write) -> io::Result<()> + Send + Sync + 'r,
    ) -> Self {
        Self {
            file_name: file_name.to_owned(),
            content: Content::Rows(Box::new(make)),
        }
    }

    /// Whether it is an image that a report shows, rather than a report.
    pub fn is_plot(&self) -> bool {
        Path::new(&self.file_name).starts_with(PLOTS)
    }

    /// Writes it.
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        match &self.content {
            Content::Whole(bytes) => to.write_all(bytes),
            Content::Rows(make) => make(to),
        }
    }

    /// It as a whole.
    pub fn output(self) -> Result<Output, ReportError> {
        let bytes = match self.content {
            Content::Whole(bytes) => bytes,
            Content::Rows(make) => {
                let mut bytes = Vec::new();
                make(&mut bytes).map_err(|error| ReportError::Serialise(error.to_string()))?;
                bytes
            }
        };
        Ok(Output {
            file_name: self.file_name,
            bytes,
        })
    }

    /// The text of a file that is a page, and empty for tables.
    pub fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Whole(bytes) => bytes,
            Content::Rows(_) => &[],
        }
    }
}
