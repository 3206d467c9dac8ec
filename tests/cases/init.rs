//! `hotlap init` in the repositories that people have: what it finds, that what it writes is right and runs, and that
//! it overwrites nothing.

use crate::kit::{missing, skipped, until, without_node};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A repository in the making.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    /// In a folder that is called so.
    fn new() -> Self {
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for name in ["shop", "locks", "cache", "tmp"] {
            fs::create_dir(project.folder.path().join(name)).unwrap();
        }
        project
    }

    /// The repository's folder.
    fn path(&self) -> PathBuf {
        self.folder.path().join("shop")
    }

    fn file(self, name: &str, text: &str) -> Self {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    fn hotlap(&self, arguments: &[&str]) -> Output {
        let room = |name: &str| self.folder.path().join(name);
        Command::new(env!("CARGO_BIN_EXE_hotlap"))
            .args(arguments)
            .current_dir(self.path())
            .env("HOTLAP_LOCK_DIR", room("locks"))
            .env("HOTLAP_CACHE_DIR", room("cache"))
            .env("TMPDIR", room("tmp"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// What a command says, which must end well.
    #[track_caller]
    fn well(&self, arguments: &[&str]) -> (String, String) {
        let output = self.hotlap(arguments);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{stderr}");
        (stdout, stderr)
    }

    /// The suite that was written, which has neither errors nor warnings.
    #[track_caller]
    fn suite(&self) -> String {
        let (_, said) = self.well(&["check", "suites", "--color", "never"]);
        assert!(
            said.contains("no errors") && !said.contains("warning"),
            "{said}"
        );
        self.read("suites/shop.toml")
    }

    /// Runs the suite in the time that a test has.
    #[track_caller]
    fn runs(&self) -> String {
        let suite = self.read("suites/shop.toml");
        let brief = suite
            .replace("duration = \"15s\"", "duration = \"150ms\"")
            .replace(
                "repetitions = 3, warmup = \"1s\"",
                "repetitions = 1, warmup = \"50ms\"",
            );
        fs::write(self.path().join("suites/shop.toml"), brief).unwrap();
        self.well(&["run", "suites", "--profile", "quick", "--gate"])
            .1
    }

    fn git(self) -> Self {
        let done = Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(self.path())
            .status();
        assert!(done.unwrap().success());
        self
    }
}

/// The lines of a table of a suite.
fn table<'t>(suite: &'t str, name: &str) -> Vec<&'t str> {
    let lines = suite
        .lines()
        .skip_while(|line| *line != format!("[{name}]"));
    lines
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .collect()
}

#[track_caller]
fn has(suite: &str, name: &str, lines: &[&str]) {
    let table = table(suite, name);
    for line in lines {
        assert!(table.contains(line), "{line}\nis not in [{name}]\n{suite}");
    }
}

/// A server of Node without packages.
const PLAIN_NODE: &str = "
const http = require('http');
http.createServer((request, response) => {
  if (request.url === '/items') response.end('[1, 2, 3]');
  else { response.statusCode = 404; response.end(); }
}).listen(process.env.PORT || 3000);
";

#[test]
fn a_server_of_node_is_found_by_its_script_and_runs() {
    let project = Project::new()
        .file(
            "package.json",
            r#"{"name": "@acme/items-api", "scripts": {"start": "MODE=fast node server.js --quiet"}}"#,
        )
        .file("server.js", PLAIN_NODE);
    let (_, said) = project.well(&["init"]);
    for line in [
        "found items-api: `node server.js --quiet`",
        "wrote suites/shop.toml",
        "hotlap run suites/shop.toml --profile quick",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    let suite = project.suite();
    has(
        &suite,
        "servers.items-api",
        &[
            "command = \"node server.js --quiet\"",
            "cwd = \"..\"",
            "requires = [\"node\"]",
            "env.MODE = \"fast\"",
            "# A free port is in PORT, which it seems to read.",
        ],
    );
    assert!(
        !suite.contains("build ="),
        "there is nothing to install\n{suite}"
    );
    has(&suite, "loads.steady", &["path = \"/items\""]);
    // Each line that is a guess is named with its place.
    for (number, line) in suite.lines().enumerate() {
        if let Some((_, look)) = line.split_once("# LOOK: ") {
            let place = format!("suites/shop.toml:{}: {look}", number + 1);
            assert!(said.contains(&place), "{place}\n{said}");
        }
    }
    if without_node() {
        return;
    }
    let said = project.runs();
    assert!(
        said.lines()
            .last()
            .unwrap()
            .contains("its one trial is valid"),
        "{said}"
    );
}

#[test]
fn packages_of_express_and_fastify_are_installed_as_their_lock_has_them() {
    let project = Project::new()
        .file(
            "package.json",
            r#"{"name": "web", "main": "index.js", "dependencies": {"express": "^5"}}"#,
        )
        .file("package-lock.json", "{}")
        .file(
            "index.js",
            "const app = require('express')(); app.get('/', f); app.listen(3000)",
        );
    project.well(&["init"]);
    has(
        &project.suite(),
        "servers.web",
        &[
            "command = \"node index.js\"",
            "requires = [\"node\", \"npm\"]",
            "build = [\"npm ci\"]",
            "build_inputs = [\"package.json\", \"package-lock.json\"]",
            "env.NODE_ENV = \"production\"",
            "port = 3000",
        ],
    );

    let project = Project::new()
        .file(
            "package.json",
            r#"{"name": "fast", "dependencies": {"fastify": "^5"}, "devDependencies": {"typescript": "^5"},
                "scripts": {"start": "fastify start -l info dist/app.js", "build": "tsc"}}"#,
        )
        .file("pnpm-lock.yaml", "")
        .file("src/app.ts", "fastify.get('/things', f)");
    project.well(&["init"]);
    let suite = project.suite();
    has(
        &suite,
        "servers.fast",
        &[
            "command = \"npm run --silent start\"",
            "build = [\"pnpm install --frozen-lockfile\", \"pnpm run build\"]",
            "env.FASTIFY_PORT = \"{{ port }}\"",
        ],
    );
    // Packages that build are left out of an installation for production.
    assert!(
        !suite.contains("NODE_ENV") && !suite.contains("build_inputs"),
        "{suite}"
    );

    // Packages of a workspace have its lock.
    let project = Project::new()
        .file(
            "package.json",
            r#"{"name": "root", "workspaces": ["services/*"]}"#,
        )
        .file("package-lock.json", "{}")
        .file(
            "services/web/package.json",
            r#"{"name": "web", "scripts": {"start": "node ."}, "dependencies": {"koa": "^3"}}"#,
        );
    project.well(&["init"]);
    has(
        &project.suite(),
        "servers.web",
        &[
            "build = [\"npm ci\"]",
            "build_inputs = [\"package.json\", \"../../package-lock.json\"]",
        ],
    );

    // A library is no server.
    let project = Project::new()
        .file("package.json", r#"{"name": "lib", "main": "index.js"}"#)
        .file("index.js", "module.exports = 1");
    let (_, said) = project.well(&["init"]);
    assert!(
        said.contains("nothing that serves was found here"),
        "{said}"
    );
}

#[test]
fn a_server_of_go_is_built_and_runs() {
    let project = Project::new()
        .file("go.mod", "module example.com/acme/shop/v2\n\ngo 1.20\n")
        .file(
            "cmd/api/main.go",
            r#"package main

import ("flag"; "net/http")

func main() {
	addr := flag.String("addr", ":8080", "where to listen")
	flag.Parse()
	http.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("hello")) })
	http.ListenAndServe(*addr, nil)
}
"#,
        )
        .file("cmd/api/main_test.go", "package main\n")
        .file("internal/store/store.go", "package store\n");
    project.well(&["init"]);
    let suite = project.suite();
    has(
        &suite,
        "servers.api",
        &[
            "command = \".hotlap/cmd-api -addr 127.0.0.1:{{ port }}\"",
            "requires = [\"go\"]",
            "build = [\"go build -o .hotlap/cmd-api ./cmd/api\"]",
        ],
    );
    has(&suite, "loads.steady", &["path = \"/hello\""]);
    assert_eq!(suite.matches("[servers.").count(), 1, "{suite}");
    let go = Command::new("go").arg("version").output();
    if !go.is_ok_and(|output| output.status.success()) {
        skipped("there is no go on the PATH");
        return;
    }
    let said = project.runs();
    assert!(
        said.lines()
            .last()
            .unwrap()
            .contains("its one trial is valid"),
        "{said}"
    );
    assert!(project.path().join(".hotlap/cmd-api").is_file());
}

#[test]
fn programs_of_cargo_are_found_in_their_workspace() {
    let project = Project::new()
        .file("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n")
        .file("Cargo.lock", "")
        .file(
            "crates/web/Cargo.toml",
            "[package]\nname = \"shop-web\"\nversion = \"0.1.0\"\n[dependencies]\naxum = \"0.8\"\n",
        )
        .file(
            "crates/web/src/main.rs",
            "let port = std::env::var(\"HTTP_PORT\"); Router::new().route(\"/\", get(f))",
        )
        .file("crates/web/src/bin/admin.rs", "fn main() {}")
        .file(
            "crates/lib/Cargo.toml",
            "[package]\nname = \"lib\"\nversion = \"0.1.0\"\n",
        )
        .file("crates/lib/src/lib.rs", "");
    project.well(&["init"]);
    let suite = project.suite();
    has(
        &suite,
        "servers.shop-web",
        &[
            "command = \"target/release/shop-web\"",
            "cwd = \"..\"",
            "build = [\"cargo build --release --locked --package shop-web --bin shop-web\"]",
            "env.HTTP_PORT = \"{{ port }}\"",
        ],
    );
    has(
        &suite,
        "servers.admin",
        &["command = \"target/release/admin\""],
    );
    assert!(!suite.contains("servers.lib"), "{suite}");
}

#[test]
fn a_procfile_says_what_starts_and_a_dockerfile_is_only_told() {
    let project = Project::new()
        .file(
            "Procfile",
            "worker: python3 work.py\nweb: gunicorn app:app -b 0.0.0.0:${PORT:-8000}\n",
        )
        .file("requirements.txt", "gunicorn\n")
        .file(
            "Dockerfile",
            "FROM python\nCMD [\"old\"]\nENTRYPOINT [\"gunicorn\", \"app:app\"]\n",
        )
        .file("app.py", "@app.route(\"/pages\")\n");
    project.well(&["init"]);
    let suite = project.suite();
    has(
        &suite,
        "servers.shop",
        &[
            "command = \"gunicorn app:app -b 0.0.0.0:{{ port }}\"",
            "requires = [\"gunicorn\"]",
        ],
    );
    has(&suite, "loads.steady", &["path = \"/pages\""]);
    assert!(
        suite.contains("# LOOK: the Dockerfile of this folder ends with ENTRYPOINT [\"gunicorn\", \"app:app\"]."),
        "{suite}"
    );
}

#[test]
fn the_servers_of_a_monorepo_are_one_suite_and_run() {
    let server = |path: &str| PLAIN_NODE.replace("/items", path);
    let project = Project::new()
        .git()
        .file(
            "package.json",
            r#"{"name": "root", "private": true, "workspaces": ["services/*"]}"#,
        )
        .file(
            "services/a/package.json",
            r#"{"name": "api", "scripts": {"start": "node index.js"}}"#,
        )
        .file("services/a/index.js", &server("/a"))
        .file(
            "services/b/package.json",
            r#"{"name": "api", "scripts": {"start": "node index.js"}}"#,
        )
        .file("services/b/index.js", &server("/b"))
        .file(
            "services/b/node_modules/x/package.json",
            r#"{"scripts": {"start": "node x.js"}}"#,
        )
        .file(
            "services/b/tests/package.json",
            r#"{"scripts": {"start": "node x.js"}}"#,
        );
    project.well(&["init"]);
    let suite = project.suite();
    has(&suite, "servers.api", &["cwd = \"../services/a\""]);
    has(
        &suite,
        "servers.services-b-api",
        &["cwd = \"../services/b\""],
    );
    assert_eq!(suite.matches("[servers.").count(), 2, "{suite}");
    // Each is asked for what it answers.
    has(&suite, "loads.steady", &["path = \"/a\""]);
    assert!(
        suite.contains("when = { server = \"services-b-api\" }\nset = { path = \"/b\" }"),
        "{suite}"
    );
    if without_node() {
        return;
    }
    let said = project.runs();
    assert!(
        said.lines()
            .last()
            .unwrap()
            .contains("all 2 trials are valid"),
        "{said}"
    );
}

#[test]
fn where_nothing_serves_the_suite_runs_what_hotlap_brings_along() {
    let project = Project::new();
    let (_, said) = project.well(&["init", "."]);
    assert!(
        said.contains("nothing that serves was found here"),
        "{said}"
    );
    has(
        &project.suite(),
        "servers.demo",
        &["command = \"hotlap serve\""],
    );
    let said = project.runs();
    assert!(
        said.lines()
            .last()
            .unwrap()
            .contains("its one trial is valid"),
        "{said}"
    );
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let project = Project::new()
        .git()
        .file(
            "suites/ours.toml",
            "[servers.a]\ncommand = \"hotlap serve\"\n[loads.l]\n",
        )
        .file(".gitignore", "node_modules/\n/reports/**/logs/")
        .file(".github/workflows/hotlap.yml", "ours: true\n")
        .file("deploy/hotlap-shop.timer", "ours\n");
    let all = ["init", "--ci", "github", "--systemd", "--cron"];
    let (line, said) = project.well(&all);
    for left in [
        "left as it is: suites has 1 suite already, so no other is written",
        "left as it is: .github/workflows/hotlap.yml exists",
        "left as it is: deploy/hotlap-shop.timer exists",
        "wrote deploy/hotlap-shop.service",
        "added to .gitignore: 11 lines",
        "added to .gitattributes: 2 lines",
    ] {
        assert!(said.contains(left), "{left}\n{said}");
    }
    assert!(line.contains("17 3 * * * cd /"), "{line}");
    assert_eq!(project.read(".github/workflows/hotlap.yml"), "ours: true\n");
    assert_eq!(project.read("deploy/hotlap-shop.timer"), "ours\n");
    assert_eq!(
        fs::read_dir(project.path().join("suites")).unwrap().count(),
        1
    );
    let ignored = project.read(".gitignore");
    assert!(
        ignored.starts_with("node_modules/\n/reports/**/logs/\n\n# hotlap"),
        "{ignored}"
    );
    assert!(
        project
            .read(".gitattributes")
            .contains("reports/**/history*.csv merge=union\n")
    );
    // Once more, and nothing is new.
    let before = (ignored, project.read(".gitattributes"));
    let (_, said) = project.well(&all);
    assert!(!said.contains("wrote") && !said.contains("added"), "{said}");
    assert_eq!(
        before,
        (project.read(".gitignore"), project.read(".gitattributes"))
    );

    let none = project.hotlap(&["init", "nowhere"]);
    assert_eq!(none.status.code(), Some(2));
    let said = String::from_utf8(none.stderr).unwrap();
    assert!(said.contains("there is no folder nowhere"), "{said}");
}

/// All names in a folder, the deepest too.
fn names(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            all.extend(names(&path));
        }
        all.push(path);
    }
    all.sort();
    all
}

#[test]
fn all_that_stands_in_the_way_is_told_and_nothing_is_written() {
    let project = Project::new()
        .git()
        .file("suites", "a file")
        .file(".gitignore/x", "")
        .file(".github/workflows", "a file");
    std::os::unix::fs::symlink("nowhere", project.path().join("deploy")).unwrap();
    let before = names(&project.path());
    let output = project.hotlap(&["init", "--ci", "github", "--systemd", "--cron"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    for line in [
        "nothing was written",
        "suites is a file, and a folder is needed there; move it away",
        ".gitignore is a folder, and a file is needed there; move it away",
        ".github/workflows is a file, and a folder is needed there",
        "deploy is a link that leads to no folder, and a folder is needed there",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    assert_eq!(said.matches("deploy is").count(), 1, "{said}");
    assert!(output.stdout.is_empty(), "no line for a crontab either");
    assert_eq!(names(&project.path()), before);
}

#[test]
fn a_link_in_the_place_of_a_file_is_there_and_is_not_followed() {
    let project = Project::new().file("deploy/README.md", "");
    let link = |name: &str| {
        let path = project.path().join(name);
        std::os::unix::fs::symlink(project.folder.path().join("elsewhere"), path).unwrap();
    };
    link("deploy/hotlap-shop.timer");
    link(".gitignore");
    let (_, said) = project.well(&["init", "--systemd"]);
    assert!(
        said.contains("left as it is: deploy/hotlap-shop.timer exists"),
        "{said}"
    );
    assert!(
        said.contains("left as it is: .gitignore is a link"),
        "{said}"
    );
    assert!(
        said.contains("wrote") || said.contains("added to .gitattributes"),
        "{said}"
    );
    assert!(!project.folder.path().join("elsewhere").exists());
}

#[test]
fn a_folder_whose_name_has_a_line_end_is_refused() {
    let project = Project::new();
    let name = "shop\n* * * * * rm";
    fs::create_dir(project.path().join(name)).unwrap();
    for arguments in [&["init", name][..], &["init", name, "--cron", "--systemd"]] {
        let output = project.hotlap(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("has a line end") && said.contains("rename it"),
            "{said}"
        );
        assert!(output.stdout.is_empty());
    }
    assert!(names(&project.path().join(name)).is_empty());
}

#[test]
fn a_program_of_cargo_with_a_space_is_one_word() {
    let project = Project::new()
        .file(
            "Cargo.toml",
            "[package]\nname = \"shop\"\nversion = \"0.1.0\"\n[dependencies]\naxum = \"0.8\"\n[[bin]]\nname = \"my server\"\npath = \"src/main.rs\"\n",
        )
        .file("src/main.rs", "std::env::var(\"PORT\")");
    project.well(&["init"]);
    has(
        &project.suite(),
        "servers.my-server",
        &[
            "command = \"'target/release/my server'\"",
            "build = [\"cargo build --release --package shop --bin 'my server'\"]",
        ],
    );
}

/// The lines that a step of a workflow runs.
fn script(workflow: &str, nth: usize) -> String {
    let (_, after) = workflow
        .match_indices("- name: summary\n")
        .nth(nth)
        .map(|(at, _)| workflow.split_at(at))
        .unwrap();
    let (_, run) = after.split_once("run: |\n").unwrap();
    let lines = run
        .lines()
        .take_while(|line| line.starts_with("          "));
    lines.map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_summary_of_a_job_has_no_image_and_no_link_to_a_file() {
    let project = Project::new().git();
    let (_, said) = project.well(&["init", "--ci", "github"]);
    let workflow = project.read(".github/workflows/hotlap.yml");
    let line = workflow
        .lines()
        .position(|line| line.contains("HOTLAP_REPOSITORY: \"\""))
        .unwrap()
        + 1;
    let place = format!(".github/workflows/hotlap.yml:{line}, HOTLAP_REPOSITORY");
    assert!(said.contains(&place), "{place}\n{said}");
    project.runs();
    // A suite without a run, as after a build that failed.
    fs::create_dir_all(project.path().join("reports/empty")).unwrap();
    for nth in 0..2 {
        let summary = project.folder.path().join(format!("summary-{nth}"));
        let program = Path::new(env!("CARGO_BIN_EXE_hotlap")).parent().unwrap();
        let done = Command::new("bash")
            .args(["-e", "-c", &script(&workflow, nth)])
            .current_dir(project.path())
            .env(
                "PATH",
                format!("{}:{}", program.display(), std::env::var("PATH").unwrap()),
            )
            .env("RUNNER_TEMP", project.path())
            .env("GITHUB_STEP_SUMMARY", &summary)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        let text = fs::read_to_string(summary).unwrap();
        assert!(text.contains("### ") && text.contains("| "), "{text}");
        assert!(!text.contains("]("), "neither images nor links\n{text}");
    }
}

#[test]
fn what_git_ignores_of_runs_is_not_their_report() {
    let project = Project::new().git();
    project.well(&["init"]);
    project.runs();
    let listed = Command::new("git")
        .args(["status", "--porcelain", "--untracked-files=all"])
        .current_dir(project.path())
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for kept in ["report.md", "summary.csv", "trials.csv", "README.quick.md"] {
        assert!(listed.contains(kept), "{kept}\n{listed}");
    }
    for left_out in ["run.json", "trials.jsonl", "samples.csv", "/logs/", ".lock"] {
        assert!(!listed.contains(left_out), "{left_out}\n{listed}");
    }
    let merged = Command::new("git")
        .args(["check-attr", "merge", "reports/shop/history.csv"])
        .current_dir(project.path())
        .output()
        .unwrap();
    assert!(
        String::from_utf8(merged.stdout)
            .unwrap()
            .ends_with("merge: union\n")
    );
}

/// A program is not there, said aloud.
fn without(program: &str, arguments: &[&str]) -> bool {
    let there = Command::new(program)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success());
    !there && missing(&format!("there is no {program} on the PATH"))
}

#[test]
fn the_workflow_is_what_github_takes() {
    let project = Project::new()
        .git()
        .file(
            "services/api/package.json",
            r#"{"name": "api", "scripts": {"start": "node index.js"}}"#,
        )
        .file("services/b/go.mod", "module b\n")
        .file("services/b/main.go", "package main\n// ListenAndServe\n");
    // GitHub reads workflows at the top alone, wherever the part is that was meant.
    project.well(&["init", "services", "--ci", "github"]);
    let path = project.path().join(".github/workflows/hotlap.yml");
    let text = fs::read_to_string(&path).unwrap();
    for line in [
        "working-directory: \"services\"",
        "go-version-file: \"services/b/go.mod\"",
        "--compare-with \"$BASE\"",
        "path: \"services/reports\"",
        "Runners that are shared are noisy",
        "GITHUB_STEP_SUMMARY",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(
        !text.contains('@') || !text.contains("@SET_UP@") && !text.contains("@INSIDE@"),
        "{text}"
    );
    if without("check-jsonschema", &["--version"]) {
        return;
    }
    let checked = Command::new("check-jsonschema")
        .args(["--builtin-schema", "vendor.github-workflows"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stdout)
    );
    // The schema would have told.
    fs::write(&path, text.replace("runs-on:", "runs_on:")).unwrap();
    let checked = Command::new("check-jsonschema")
        .args(["--builtin-schema", "vendor.github-workflows"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(!checked.status.success());
}

#[test]
fn systemd_takes_the_units() {
    let project = Project::new();
    let (_, said) = project.well(&["init", "--systemd"]);
    assert!(said.contains("sudo systemctl link "), "{said}");
    if without("systemd-analyze", &["--version"]) {
        return;
    }
    let verify = || {
        Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .args(["service", "timer"].map(|ending| format!("deploy/hotlap-shop.{ending}")))
            .current_dir(project.path())
            .output()
            .unwrap()
    };
    let output = verify();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && !said.contains("hotlap-shop"),
        "{said}"
    );
    let service = project.path().join("deploy/hotlap-shop.service");
    let text = fs::read_to_string(&service).unwrap();
    fs::write(&service, text.replace("ExecStart=/", "ExecStart=no/such/")).unwrap();
    assert!(!verify().status.success());
}

/// Whether cron can be started apart from this machine's own: its tables and its pid file in folders of its own.
fn without_a_cron_apart() -> bool {
    if without("sh", &["-c", "command -v cron"]) {
        return true;
    }
    let apart = Command::new("unshare")
        .args(["--mount", "--", "mount", "-t", "tmpfs", "none", "/run"])
        .output();
    !apart.is_ok_and(|output| output.status.success())
        && skipped(
            "cron cannot be started apart from this machine's own: no mounts of one's own here",
        )
}

#[test]
fn the_line_runs_under_cron() {
    if without_a_cron_apart() {
        return;
    }
    let project = Project::new().git();
    let (lines, said) = project.well(&["init", "--cron"]);
    assert!(said.contains("`crontab -e`"), "{said}");
    let line = lines.lines().last().unwrap();
    let command = line.strip_prefix("17 3 * * * ").unwrap();
    // In this test it runs at once, for a moment, and its mail is a file.
    let suite = project
        .suite()
        .replace("duration = \"15s\"", "duration = \"100ms\"")
        + "\n[run]\nrepetitions = 2\nwarmup = \"50ms\"\nrest = \"0s\"\ncooldown = \"0s\"\n";
    fs::write(project.path().join("suites/shop.toml"), suite).unwrap();
    let mail = project.folder.path().join("mail");
    let room = |name: &str| project.folder.path().join(name).display().to_string();
    let table = format!(
        "HOTLAP_LOCK_DIR={}\nHOTLAP_CACHE_DIR={}\n@reboot ({command}) >{} 2>&1; echo done >{}\n",
        room("locks"),
        room("cache"),
        mail.display(),
        room("done"),
    );
    fs::write(project.folder.path().join("table"), table).unwrap();
    // Mounts and processes of its own: nobody else's table is read, no pid file is met, and all ends with the first.
    let script = "set -e
mount -t tmpfs none /run
mount -t tmpfs none /etc/cron.d
mount --bind /dev/null /etc/crontab
mount -t tmpfs none /var/spool/cron
mkdir -m 1730 /var/spool/cron/crontabs
install -m 600 \"$1\" /var/spool/cron/crontabs/root
exec cron -f";
    let log = fs::File::create(project.folder.path().join("cron.log")).unwrap();
    let mut cron = Command::new("unshare")
        .args([
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "--",
            "sh",
            "-c",
            script,
            "cron",
        ])
        .arg(project.folder.path().join("table"))
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    let ended = Path::new(&room("done")).to_owned();
    until("cron has run the line", || {
        let log = fs::read_to_string(project.folder.path().join("cron.log")).unwrap_or_default();
        assert!(cron.try_wait().unwrap().is_none(), "cron ended: {log}");
        ended.exists()
    });
    cron.kill().unwrap();
    cron.wait().unwrap();
    let mail = fs::read_to_string(mail).unwrap();
    let last = mail.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("shop: all 2 trials are valid; report: /"),
        "{mail}"
    );
    assert!(
        mail.contains("it has not been run yet, so it is run"),
        "{mail}"
    );
    assert!(!mail.contains(['\r', '\u{1b}']), "{mail:?}");
    let report = Path::new(last.rsplit("report: ").next().unwrap());
    assert!(report.is_file(), "{last}");
}
