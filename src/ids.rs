//! The names by which things are found again: a run, a variant, a cell, a
//! trial. A cell's id carries its names, for people, and a hash of its whole
//! effective configuration, so that two cells that differ in anything are two.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// One invocation: `2026-11-30T190500Z-ab12cd3`, the UTC time and the
    /// revision of the suite's repository (`-dirty` where it had changes).
    RunId
}

text_id! {
    /// A server with one value of each toggle: `node/compression=on/workers=2`.
    VariantId
}

text_id! {
    /// A variant under a load: `node/compression=on@steady#3fa9c1d2e4b5`. What
    /// follows `#` is the start of the SHA-256 of the cell's configuration.
    CellId
}

impl CellId {
    /// The names without the hash: `node/compression=on@steady`.
    pub fn names(&self) -> &str {
        self.0.split('#').next().unwrap_or(&self.0)
    }

    /// The hash alone, twelve hexadecimal digits.
    pub fn hash(&self) -> &str {
        self.0.rsplit('#').next().unwrap_or(&self.0)
    }

    /// A file name for this cell: at most 80 bytes of `[a-z0-9._-]`, unique by
    /// the hash at its end.
    pub fn slug(&self) -> String {
        const LONGEST_NAMES: usize = 66;
        let mut names: String = self
            .names()
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || "._-".contains(c) {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        names.truncate(LONGEST_NAMES);
        format!("{names}-{}", self.hash())
    }
}

/// Bytes as lower-case hexadecimal digits, for the hashes in ids and records.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// One cell run once, in fresh processes. Repetitions count from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialId {
    /// The cell that is measured.
    pub cell: CellId,
    /// Which of the cell's trials this is, from 1.
    pub repetition: u32,
}

impl TrialId {
    /// The folder or file name of this trial's logs.
    pub fn slug(&self) -> String {
        format!("{}.{}", self.cell.slug(), self.repetition)
    }

    /// The trial that is written like this; none where no trial is.
    pub fn parse(text: &str) -> Option<Self> {
        let (cell, repetition) = text.rsplit_once('.')?;
        let trial = Self {
            cell: CellId(cell.to_owned()),
            repetition: repetition.parse().ok()?,
        };
        // As it is written, without zeros or a sign in front.
        let is_canonical = !repetition.starts_with(['0', '+']) || repetition == "0";
        is_canonical.then_some(trial)
    }
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.cell, self.repetition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_read_as_it_is_written() {
        let trial = TrialId {
            cell: CellId("a/v=1.5@l#0123456789ab".to_owned()),
            repetition: 12,
        };
        assert_eq!(TrialId::parse(&trial.to_string()), Some(trial));
        for text in ["", "a@l#0", "a@l#0.", "a@l#0.01", "a@l#0.+1", "a@l#0.x"] {
            assert_eq!(TrialId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_slug_is_a_portable_file_name_and_stays_unique() {
        let long = CellId(format!("{}@l#0123456789ab", "toggle=v/".repeat(60)));
        assert!(long.slug().len() <= 80);
        assert!(long.slug().ends_with("-0123456789ab"));
        assert!(
            long.slug()
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        );
    }
}
