//! A suite at two revisions: what `--compare-with` makes of one.

use super::{At, Setting, Suite, Template, Toggle, Value};

/// The axis that `--compare-with` adds.
const AXIS: &str = "revision";

impl Suite {
    /// Where the suite names revisions itself.
    pub fn revisions(&self) -> impl Iterator<Item = &Template> {
        let of_toggles = self.toggles.iter().flat_map(|toggle| &toggle.values);
        let settings = of_toggles.map(|value| &value.setting);
        let of_overrides = self.overrides.iter().map(|one| &one.set);
        settings
            .chain(of_overrides)
            .filter_map(|setting| setting.revision.as_ref())
    }

    /// The same suite with the axis `revision`: each cell at another revision too (`base`, which people see as
    /// `label`), with which that of the working tree (`head`) is compared. Servers that already run stay as they are.
    /// What hinders it is told in a sentence.
    pub fn compared_with(&self, revision: &str, label: &str) -> Result<Self, String> {
        let name = &self.name;
        if self.toggles.iter().any(|toggle| toggle.name.value == AXIS) {
            return Err(format!(
                "the suite {name} has a toggle `{AXIS}` already; run it without --compare-with, or call it otherwise"
            ));
        }
        if self.revisions().next().is_some() {
            return Err(format!(
                "the suite {name} names revisions itself; run it without --compare-with"
            ));
        }
        if ["{{", "{%", "{#"]
            .iter()
            .any(|mark| revision.contains(mark))
        {
            return Err(format!("\"{revision}\" is not a revision"));
        }
        let started = self.servers.iter().filter(|server| server.url.is_none());
        let servers: Vec<String> = started.map(|server| server.name.value.clone()).collect();
        if servers.is_empty() {
            return Err(format!(
                "every server of the suite {name} runs already (`url`), and is of no revision that could be chosen"
            ));
        }
        let all = servers.len() == self.servers.len();
        let mut suite = self.clone();
        suite.toggles.push(Toggle {
            name: nowhere(AXIS),
            servers: (!all).then_some(servers),
            loads: None,
            values: vec![
                value("base", revision, label),
                value("head", WORKTREE, WORKTREE),
            ],
            is_comparison: true,
        });
        Ok(suite)
    }
}

/// What lies there, as a suite says it.
const WORKTREE: &str = "worktree";

/// A text that stands in no file.
fn nowhere(text: &str) -> At<String> {
    At::new(text.to_owned(), 0..0)
}

fn value(name: &str, revision: &str, label: &str) -> Value {
    Value {
        name: nowhere(name),
        label: label.to_owned(),
        setting: Setting {
            revision: Some(nowhere(revision)),
            ..Setting::default()
        },
    }
}
