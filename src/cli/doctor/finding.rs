//! A finding: what was seen, what it does to figures, and what can be done about it.

use serde::Serialize;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    /// As it should be.
    Ok,
    /// The machine does not tell.
    Unknown,
    /// Worth knowing; figures of one run compare all the same.
    Note,
    /// Figures are likely to show it.
    Warning,
    /// Nothing can be measured so.
    CannotMeasure,
}

impl Level {
    /// As people read it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::CannotMeasure => "cannot",
        }
    }
}

/// One line of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was looked at, in a word or two. One name each.
    pub(super) name: String,
    pub(super) level: Level,
    /// What was seen.
    pub(super) seen: String,
    /// What it does to figures.
    pub(super) effect: Option<String>,
    /// What to do.
    pub(super) remedy: Option<String>,
    /// A command that does it.
    pub(super) command: Option<String>,
}

impl Finding {
    pub(super) fn new(name: &str, level: Level, seen: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            level,
            seen: seen.into(),
            effect: None,
            remedy: None,
            command: None,
        }
    }

    pub(super) fn ok(name: &str, seen: impl Into<String>) -> Self {
        Self::new(name, Level::Ok, seen)
    }

    pub(super) fn unknown(name: &str, seen: impl Into<String>) -> Self {
        Self::new(name, Level::Unknown, seen)
    }

    pub(super) fn note(name: &str, seen: impl Into<String>) -> Self {
        Self::new(name, Level::Note, seen)
    }

    pub(super) fn warning(name: &str, seen: impl Into<String>) -> Self {
        Self::new(name, Level::Warning, seen)
    }

    pub(super) fn cannot(name: &str, seen: impl Into<String>) -> Self {
        Self::new(name, Level::CannotMeasure, seen)
    }

    /// What it does to figures.
    pub(super) fn so(mut self, effect: impl Into<String>) -> Self {
        self.effect = Some(effect.into());
        self
    }

    /// What to do.
    pub(super) fn then(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The command that does it.
    pub(super) fn by(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }
}
