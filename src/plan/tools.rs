//! Programs that suites often require: how each tells its version, and the line
//! that installs it on Debian and its kin. A suite's `[tools]` come first.

use crate::spec;
use crate::suite::{self, Suite};

/// A well-known program.
struct Known {
    name: &'static str,
    probe: &'static [&'static str],
    install: &'static str,
}

/// The table.
const KNOWN: &[Known] = &[
    Known {
        name: "node",
        probe: &["node", "--version"],
        install: "apt-get install nodejs",
    },
    Known {
        name: "npm",
        probe: &["npm", "--version"],
        install: "apt-get install npm",
    },
    Known {
        name: "go",
        probe: &["go", "version"],
        install: "apt-get install golang-go",
    },
    Known {
        name: "python3",
        probe: &["python3", "--version"],
        install: "apt-get install python3",
    },
    Known {
        name: "java",
        probe: &["java", "-version"],
        install: "apt-get install default-jre-headless",
    },
    Known {
        name: "nginx",
        probe: &["nginx", "-v"],
        install: "apt-get install nginx-light",
    },
    Known {
        name: "ruby",
        probe: &["ruby", "--version"],
        install: "apt-get install ruby",
    },
    Known {
        name: "php",
        probe: &["php", "--version"],
        install: "apt-get install php-cli",
    },
    Known {
        name: "cargo",
        probe: &["cargo", "--version"],
        install: "apt-get install cargo",
    },
    Known {
        name: "deno",
        probe: &["deno", "--version"],
        install: "npm install --global deno",
    },
    Known {
        name: "bun",
        probe: &["bun", "--version"],
        install: "npm install --global bun",
    },
    Known {
        name: "dotnet",
        probe: &["dotnet", "--version"],
        install: "apt-get install dotnet-sdk-8.0",
    },
];

/// A requirement with what is known of its program: how it tells its version, what installs it.
pub(super) fn requirement(suite: &Suite, requirement: &suite::Requirement) -> spec::Requirement {
    let (name, at_least) = match requirement {
        suite::Requirement::Env(name) => return spec::Requirement::Env { name: name.clone() },
        suite::Requirement::File(path) => return spec::Requirement::File { path: path.clone() },
        suite::Requirement::Tool { name, at_least } => (name, at_least),
    };
    let tool = suite.tools.iter().find(|tool| tool.name == *name);
    let known = known(name);
    let probe = tool
        .and_then(|tool| tool.probe.clone())
        .or_else(|| known.map(|known| known.probe.iter().map(ToString::to_string).collect()))
        .unwrap_or_else(|| vec![name.clone(), "--version".to_owned()]);
    let install = tool
        .and_then(|tool| tool.install.clone())
        .or_else(|| known.map(|known| known.install.to_owned()));
    spec::Requirement::Tool {
        name: name.clone(),
        at_least: at_least.clone(),
        probe,
        install,
    }
}

/// What is known of a program.
fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}
