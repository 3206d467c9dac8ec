//! How many descriptors this process may open. A load of many connections needs
//! one each, and the default soft limit of 1024 is there for old programs only.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fmt;
use std::io;

/// The limits on open descriptors; none is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Nofile {
    /// What holds now.
    pub soft: Option<u64>,
    /// How far it may be raised without privileges.
    pub hard: Option<u64>,
}

/// Why the limit on descriptors cannot be raised.
#[derive(Debug)]
pub enum NofileError {
    /// The hard limit is lower than what is needed.
    Hard {
        /// What is needed.
        needed: u64,
        /// The hard limit.
        hard: u64,
    },
    /// The system refused.
    Refused {
        /// What is needed.
        needed: u64,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for NofileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hard { needed, hard } => write!(
                f,
                "{needed} open descriptors are needed, and the hard limit is {hard}; use fewer connections, or raise it (`ulimit -Hn {needed}` as root, LimitNOFILE= in a systemd unit)"
            ),
            Self::Refused { needed, source } => write!(
                f,
                "{needed} open descriptors are needed, and the limit cannot be raised: {source}"
            ),
        }
    }
}

impl std::error::Error for NofileError {}

/// The limits of this process.
pub fn nofile() -> Nofile {
    let limit = getrlimit(Resource::Nofile);
    Nofile {
        soft: limit.current,
        hard: limit.maximum,
    }
}

/// Sees to it that `needed` descriptors may be open, and returns the soft limit
/// that then holds. It is never lowered.
pub fn raise_nofile(needed: u64) -> Result<Option<u64>, NofileError> {
    let now = nofile();
    if !short(now.soft, needed) {
        return Ok(now.soft);
    }
    if let Some(hard) = now.hard
        && hard < needed
    {
        return Err(NofileError::Hard { needed, hard });
    }
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(needed),
            maximum: now.hard,
        },
    )
    .map_err(|error| NofileError::Refused {
        needed,
        source: error.into(),
    })?;
    Ok(Some(needed))
}

fn short(limit: Option<u64>, needed: u64) -> bool {
    limit.is_some_and(|limit| limit < needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_is_left_as_it_is_and_too_much_names_both_numbers() {
        let now = nofile();
        assert_eq!(raise_nofile(1).unwrap(), now.soft);
        assert_eq!(nofile(), now);
        if let Some(hard) = now.hard {
            let error = raise_nofile(hard + 1).unwrap_err().to_string();
            assert!(error.contains(&hard.to_string()), "{error}");
            assert!(error.contains(&(hard + 1).to_string()), "{error}");
        }
        // One less, and it is raised to where it was.
        if let Some(soft) = now.soft {
            let lowered = Rlimit {
                current: Some(soft - 1),
                maximum: now.hard,
            };
            setrlimit(Resource::Nofile, lowered).unwrap();
            assert_eq!(raise_nofile(soft).unwrap(), Some(soft));
            assert_eq!(nofile(), now);
        }
        assert!(!short(None, u64::MAX));
        assert!(short(Some(10), 11));
    }
}
