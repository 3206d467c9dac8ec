//! Programs that suites often require: how each tells its version, and the line
//! that installs it on Debian and its kin. A suite's `[tools]` come first.

/// A well-known program.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) probe: &'static [&'static str],
    pub(super) install: &'static str,
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

/// What is known of a program.
pub(super) fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}
