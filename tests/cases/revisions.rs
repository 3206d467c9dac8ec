//! Revisions of a repository against each other: what is checked out and built for them, what is compared, and
//! that the caller's repository is afterwards as it was.

use crate::kit::{Outcome, Suite, python, quote, serving, until, without_python};
use hotlap::record::Step;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What a test makes in its repository and is none of it.
const IGNORED: &str = "/reports\n/again\n/cache\n/locks\n/tmp\n/case.toml\n/stderr\nbuilt\nleft\n";

/// The commit of a suite's toggle, and of what lies there.
const TOGGLE: &str = "[toggles.revision]\n\
     values.base = { revision = 'v1', expect.body = 'one False' }\n\
     values.head = { revision = 'worktree', expect.body = 'two True' }";

fn git(at: &Path, words: &[&str]) -> String {
    let identity = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
    ];
    let output = Command::new("git")
        .args(identity)
        .args(words)
        .current_dir(at)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {words:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository whose path has a space, with a server that answers the word of its revision: `one` in `v1` and in the
/// branch `base`, `two` in the working tree. A hook of it would show.
fn repository(body: &str) -> Suite {
    let suite = Suite::within("a repository ");
    let at = suite.path();
    git(at, &["init", "-q", "-b", "main"]);
    fs::create_dir(at.join("app")).unwrap();
    fs::write(at.join(".gitignore"), IGNORED).unwrap();
    fs::write(at.join("app/server.py"), serving(body)).unwrap();
    fs::write(at.join("app/word"), "one\n").unwrap();
    git(at, &["add", "."]);
    git(at, &["commit", "-qm", "one"]);
    git(at, &["tag", "v1"]);
    git(at, &["branch", "base"]);
    fs::write(at.join("app/word"), "two\n").unwrap();
    git(at, &["commit", "-qam", "two"]);
    let hook = at.join(".git/hooks/post-checkout");
    fs::write(
        &hook,
        "#!/bin/sh\ntouch \"$(git rev-parse --git-common-dir)/hooked\"\n",
    )
    .unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(hook, executable).unwrap();
    suite
}

/// The word of its revision, and whether something lies there that git does not track.
const WORD: &str = "open('word').read().strip() + ' ' + str(os.path.exists('left'))";

fn app(suite: Suite, lines: &str) -> Suite {
    let command = [python().unwrap(), "server.py"];
    suite.server("app", &command, &format!("cwd = 'app'\n{lines}"))
}

/// Everything of a repository that a run must leave alone.
fn state(at: &Path) -> Vec<String> {
    let mut all: Vec<String> = [
        &["status", "--porcelain"][..],
        &["rev-parse", "HEAD"],
        &["symbolic-ref", "HEAD"],
        &["for-each-ref"],
        &["worktree", "list"],
        &["stash", "list"],
        &["diff", "--cached"],
        &["reflog"],
    ]
    .iter()
    .map(|words| git(at, words))
    .collect();
    all.push(at.join(".git/hooked").exists().to_string());
    all
}

fn worktrees(at: &Path) -> usize {
    git(at, &["worktree", "list"]).lines().count()
}

/// A run that must not begin: why not.
#[track_caller]
fn refused(suite: Suite) -> String {
    let outcome = suite.run().exits(2);
    assert_eq!(outcome.suite.run_folder(), None, "{}", outcome.stderr);
    assert!(!outcome.suite.path().join("cache/revisions").exists());
    outcome.stderr
}

fn commits(outcome: &Outcome, cell: &str) -> String {
    outcome.cell(cell)["commit"].as_str().unwrap().to_owned()
}

#[test]
fn a_toggle_of_revisions_measures_each_from_its_own_checkout() {
    if without_python() {
        return;
    }
    let suite = app(repository(WORD), "").toml(TOGGLE);
    let suite = suite.setting("baseline", "{ revision = 'base' }");
    fs::write(suite.path().join("app/left"), "").unwrap();
    let before = state(suite.path());
    let outcome = suite.run().exits(0);
    outcome.valid("app/revision=base");
    outcome.valid("app/revision=head");
    let at = outcome.suite.path();
    assert_eq!(state(at), before);
    let (v1, head) = (
        git(at, &["rev-parse", "v1"]),
        git(at, &["rev-parse", "HEAD"]),
    );
    assert_eq!(commits(&outcome, "app/revision=base"), v1);
    assert_eq!(commits(&outcome, "app/revision=head"), head);
    let json = outcome.json();
    assert_eq!(json["revisions"][0]["name"], "v1");
    assert_eq!(json["revisions"][1]["dirty"], false);
    let told = format!("**Revisions**: v1 {}, worktree {}", &v1[..7], &head[..7]);
    assert!(outcome.markdown().contains(&told), "{}", outcome.markdown());
    let ratio = &outcome.cell("app/revision=head")["ratios"]["requests_per_second"]["ratio"];
    assert!(ratio.as_f64().unwrap() > 0.0);
}

#[test]
fn a_suite_is_compared_with_a_revision_that_is_built_apart() {
    if without_python() {
        return;
    }
    let build =
        "build = [['sh', '-c', 'test ! -e built && cat word > built']]\nprobe = 'cat built'";
    let suite = app(repository("open('built').read()"), build);
    // What is put into the cache must not lie in the repository.
    let cache = tempfile::tempdir().unwrap();
    let suite = suite
        .env("HOTLAP_CACHE_DIR", &cache.path().display().to_string())
        .argument("--compare-with")
        .argument("v1");
    let before = state(suite.path());
    let outcome = suite.run().exits(0);
    let at = outcome.suite.path();
    assert_eq!(state(at), before);
    assert_eq!(fs::read_to_string(at.join("app/built")).unwrap(), "two\n");
    assert_eq!(
        fs::read_dir(cache.path().join("revisions"))
            .unwrap()
            .count(),
        0
    );
    let body = |cell: &str| outcome.valid(cell).observed.unwrap().body_sha256.unwrap();
    assert_ne!(body("app/revision=base"), body("app/revision=head"));
    let run = outcome.run();
    assert_eq!(run.selection, ["--compare-with v1"]);
    assert_eq!(run.versions["app/revision=base (server)"], "one");
    assert_eq!(run.versions["app/revision=head (server)"], "two");
    let base = outcome.cell("app/revision=base");
    let v1 = git(at, &["rev-parse", "--short=7", "v1"]);
    assert_eq!(base["toggles"]["revision"]["label"], format!("v1 ({v1})"));
    assert_eq!(outcome.cell("app/revision=head")["baseline"], base["id"]);
    assert_eq!(base["baseline"], serde_json::Value::Null);
    assert!(!at.join("reports/case/README.md").exists());
}

#[test]
fn a_revision_that_only_looks_alike_is_still_another_one() {
    if without_python() {
        return;
    }
    let suite = app(repository("'same'"), "")
        .argument("--compare-with")
        .argument("v1");
    let outcome = suite.run().exits(0);
    let head = outcome.cell("app/revision=head");
    assert_eq!(head["effect"]["kind"], "seen", "{head:#}");
    assert!(!outcome.markdown().contains("No observable effect"));
}

#[test]
fn the_same_revision_twice_shows_chance_and_says_so() {
    if without_python() {
        return;
    }
    let suite = app(repository("'same'"), "")
        .argument("--compare-with")
        .argument("HEAD");
    let outcome = suite.run().exits(0);
    assert!(
        outcome.markdown().contains("are the same revision"),
        "{}",
        outcome.markdown()
    );
    let head = outcome.cell("app/revision=head");
    assert_eq!(head["effect"]["kind"], "same revision");
    assert!(
        head["ratios"]["requests_per_second"]["ratio"]
            .as_f64()
            .is_some()
    );
}

#[test]
fn a_working_tree_with_changes_is_called_dirty() {
    if without_python() {
        return;
    }
    let suite = app(repository("'same'"), "")
        .argument("--compare-with")
        .argument("HEAD");
    fs::write(suite.path().join("app/word"), "three\n").unwrap();
    let outcome = suite.run().exits(0);
    let head = git(outcome.suite.path(), &["rev-parse", "--short=7", "HEAD"]);
    let told = format!("worktree {head}-dirty");
    assert!(outcome.markdown().contains(&told), "{}", outcome.markdown());
    assert!(!outcome.markdown().contains("are the same revision"));
    assert_eq!(outcome.json()["revisions"][1]["dirty"], true);
    assert_eq!(outcome.cell("app/revision=head")["effect"]["kind"], "seen");
    assert_eq!(
        git(outcome.suite.path(), &["status", "--porcelain"]),
        "M app/word"
    );
}

#[test]
fn services_are_those_of_the_working_tree() {
    if without_python() {
        return;
    }
    let own = "open('word').read().strip()";
    let asks = format!(
        "{own} + ' ' + __import__('urllib.request').request.urlopen(\
         'http://127.0.0.1:' + os.environ['WORDS']).read().decode() if 'WORDS' in os.environ else {own}"
    );
    let suite = app(
        repository(&asks),
        "needs = ['words']\nenv.WORDS = '{{ services[\"words\"].port }}'",
    );
    let python = quote(python().unwrap());
    let outcome = suite
        .toml(&format!(
            "[services.words]\ncwd = 'app'\ncommand = [{python}, 'server.py']\n\
             [services.again]\ncwd = 'app'\nscope = 'trial'\ncommand = [{python}, 'server.py']\n\
             [toggles.revision]\n\
             values.base = {{ revision = 'v1', expect.body = 'one two' }}\n\
             values.head = {{ revision = 'worktree', expect.body = 'two two' }}"
        ))
        .run()
        .exits(0);
    outcome.valid("app/revision=base");
    outcome.valid("app/revision=head");
}

#[test]
fn an_interrupted_run_goes_on_with_the_commit_that_it_began_with() {
    if without_python() {
        return;
    }
    let suite = app(repository(WORD), "")
        .setting("repetitions", "4")
        .toml("[toggles.revision]\nvalues.base = { revision = 'base' }\nvalues.head = { revision = 'worktree' }");
    let before = state(suite.path());
    let mut running = suite.spawn();
    running.wait_for_trials(1);
    running.signal("INT");
    let outcome = running.wait().exits(130);
    outcome.nothing_is_left();
    assert_eq!(state(outcome.suite.path()), before, "{}", outcome.stderr);
    git(outcome.suite.path(), &["branch", "-qf", "base", "HEAD"]);
    let outcome = outcome.again(&["--resume"]).exits(0);
    let v1 = git(outcome.suite.path(), &["rev-parse", "v1"]);
    assert_eq!(commits(&outcome, "app/revision=base"), v1);
    let trials = outcome.trials();
    let of_base = trials
        .iter()
        .filter(|trial| trial.trial.cell.names().contains("=base"));
    let mut bodies: Vec<_> = of_base
        .map(|trial| {
            trial
                .observed
                .as_ref()
                .unwrap()
                .body_sha256
                .clone()
                .unwrap()
        })
        .collect();
    assert_eq!(bodies.len(), 4);
    bodies.dedup();
    assert_eq!(bodies.len(), 1);
}

#[test]
fn an_interrupted_build_leaves_no_checkout() {
    if without_python() {
        return;
    }
    let mark = "built-by-this-test";
    let build = format!(
        "build = [['sh', '-c', 'touch \"$0/{mark}\" && exec sleep 600', {}]]",
        "'@'"
    );
    let suite = repository(WORD);
    let build = build.replace('@', &suite.path().join("tmp").display().to_string());
    let suite = app(suite, &build).argument("--compare-with").argument("v1");
    let before = state(suite.path());
    let running = suite.spawn();
    let begun = running.suite.path().join("tmp").join(mark);
    until("the build has begun", || begun.exists());
    assert_eq!(worktrees(running.suite.path()), 2);
    running.signal("INT");
    let outcome = running.wait().exits(130);
    fs::remove_file(begun).unwrap();
    outcome.nothing_is_left();
    assert_eq!(state(outcome.suite.path()), before, "{}", outcome.stderr);
}

#[test]
fn a_build_that_fails_fails_the_trials_of_its_revision_alone() {
    if without_python() {
        return;
    }
    let build = "build = [['grep', '-q', 'two', 'word']]";
    let suite = app(repository(WORD), build)
        .argument("--compare-with")
        .argument("v1");
    let before = state(suite.path());
    let outcome = suite.run().exits(1);
    outcome.failed("app/revision=base", Step::Build);
    outcome.valid("app/revision=head");
    assert_eq!(state(outcome.suite.path()), before);
}

#[test]
fn a_run_does_not_go_on_without_its_commit() {
    if without_python() {
        return;
    }
    let suite = app(repository(WORD), "")
        .setting("repetitions", "50")
        .toml("[toggles.revision]\nvalues.base = { revision = 'side' }\nvalues.head = { revision = 'worktree' }");
    let at = suite.path();
    git(at, &["checkout", "-q", "--detach"]);
    git(at, &["commit", "-q", "--allow-empty", "-m", "side"]);
    git(at, &["branch", "side"]);
    git(at, &["checkout", "-q", "main"]);
    let mut running = suite.spawn();
    running.wait_for_trials(1);
    running.signal("INT");
    let outcome = running.wait().exits(130);
    let at = outcome.suite.path();
    git(at, &["branch", "-qD", "side"]);
    git(at, &["reflog", "expire", "--expire=now", "--all"]);
    git(at, &["gc", "-q", "--prune=now"]);
    let trials = outcome.trials().len();
    let outcome = outcome.again(&["--resume"]).exits(2);
    assert!(
        outcome.stderr.contains("began with the revision side"),
        "{}",
        outcome.stderr
    );
    assert_eq!(outcome.trials().len(), trials);
}

/// A run is killed with its checkout.
fn killed(cache: &Path) -> Outcome {
    let mut running = app(repository(WORD), "")
        .toml(TOGGLE)
        .setting("repetitions", "50")
        .env("HOTLAP_CACHE_DIR", &cache.display().to_string());
    fs::write(running.path().join("app/left"), "").unwrap();
    running = running.setting("baseline", "{ revision = 'base' }");
    let mut running = running.spawn();
    running.wait_for_trials(1);
    running.signal("KILL");
    let outcome = running.wait();
    outcome.nothing_is_left();
    assert_eq!(worktrees(outcome.suite.path()), 2, "git still knows of it");
    outcome
}

#[test]
fn the_next_run_makes_git_forget_what_a_killed_one_checked_out() {
    if without_python() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let outcome = killed(cache.path());
    // A checkout of somebody else that is gone is none of our business.
    let theirs = outcome.suite.path().join("tmp/theirs");
    git(
        outcome.suite.path(),
        &[
            "worktree",
            "add",
            "-q",
            "--detach",
            &theirs.display().to_string(),
        ],
    );
    fs::remove_dir_all(&theirs).unwrap();
    let again = outcome
        .suite
        .hotlap(&["run", "case.toml", "--out", "again", "--repetitions", "1"]);
    assert!(
        again.status.success(),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );
    assert_eq!(worktrees(outcome.suite.path()), 2);
    assert!(git(outcome.suite.path(), &["worktree", "list"]).contains("theirs"));
}

#[test]
fn clean_takes_away_what_a_killed_run_checked_out() {
    if without_python() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let outcome = killed(cache.path());
    let said = |arguments: &[&str]| {
        let clean = outcome.suite.hotlap(arguments);
        let said = String::from_utf8_lossy(&clean.stderr).into_owned();
        assert!(clean.status.success(), "{said}");
        said
    };
    let would = said(&["clean", "--dry-run"]);
    assert!(
        would.contains("a checkout of a revision that nobody uses: "),
        "{would}"
    );
    assert_eq!(worktrees(outcome.suite.path()), 2);
    let did = said(&["clean"]);
    assert!(
        did.contains("checkouts of revisions that nobody uses, taken away: 1"),
        "{did}"
    );
    assert_eq!(worktrees(outcome.suite.path()), 1);
}

#[test]
fn an_unknown_revision_is_refused_where_it_is_written() {
    if without_python() {
        return;
    }
    let toggle = "[toggles.revision]\nvalues.base = { revision = 'nonsense' }\nvalues.head = { revision = 'worktree' }";
    let said = refused(app(repository(WORD), "").toml(toggle));
    assert!(
        said.contains("there is no revision nonsense in the repository"),
        "{said}"
    );
    assert!(
        said.contains("values.base = { revision = 'nonsense' }"),
        "{said}"
    );
    let toggle =
        "[toggles.revision]\nvalues = ['main', 'worktree']\nrevision = '{{ env.BASE_REF }}'";
    let suite = app(repository(WORD), "")
        .toml(toggle)
        .env("BASE_REF", "gone");
    let said = refused(suite);
    assert!(said.contains("there is no revision gone"), "{said}");
    let suite = app(repository(WORD), "")
        .argument("--compare-with")
        .argument("nonsense");
    let said = refused(suite);
    assert!(
        said.contains("--compare-with nonsense: there is no revision nonsense"),
        "{said}"
    );
    for option in ["--compare-with=--upload-pack=x", "--compare-with="] {
        let said = refused(app(repository(WORD), "").argument(option));
        assert!(said.contains("is not a revision"), "{said}");
    }
}

#[test]
fn a_folder_that_is_in_no_such_revision_is_refused() {
    if without_python() {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let command = [python().unwrap(), "server.py"];
    let cwd = format!("cwd = {}", quote(&outside.path().display().to_string()));
    let suite = repository(WORD).server("app", &command, &cwd).toml(TOGGLE);
    let said = refused(suite);
    assert!(said.contains("lies outside of the repository"), "{said}");
    assert!(said.contains("values.base"), "{said}");
    let suite = repository(WORD).server("app", &command, "cwd = 'young'");
    fs::create_dir(suite.path().join("young")).unwrap();
    let said = refused(suite.argument("--compare-with").argument("v1"));
    assert!(
        said.contains("there is no folder young in the revision v1 ("),
        "{said}"
    );
}

#[test]
fn there_must_be_a_repository_and_git() {
    if without_python() {
        return;
    }
    let suite = app(Suite::new(), "")
        .argument("--compare-with")
        .argument("v1");
    fs::create_dir(suite.path().join("app")).unwrap();
    let said = refused(suite);
    assert!(said.contains("is in no git repository"), "{said}");
    let suite = app(repository(WORD), "")
        .toml(TOGGLE)
        .env("PATH", "/nowhere");
    let said = refused(suite);
    assert!(said.contains("git could not be started"), "{said}");
}

#[test]
fn a_suite_with_revisions_of_its_own_is_not_compared_with_another() {
    if without_python() {
        return;
    }
    let named = refused(
        app(repository(WORD), "")
            .toml(TOGGLE)
            .argument("--compare-with")
            .argument("v1"),
    );
    assert!(named.contains("has a toggle `revision` already"), "{named}");
    let other = TOGGLE.replace("toggles.revision", "toggles.which");
    let named = refused(
        app(repository(WORD), "")
            .toml(&other)
            .argument("--compare-with")
            .argument("v1"),
    );
    assert!(named.contains("names revisions itself"), "{named}");
}

#[test]
fn every_cell_of_a_suite_is_compared_with_itself() {
    let suite = repository(WORD);
    let text = "[run]\nbaseline = { mode = 'b' }\n[matrix]\ncombine = 'one-at-a-time'\n\
         [servers.app]\ncwd = 'app'\ncommand = 'true'\n[servers.other]\nurl = 'http://127.0.0.1:1'\n\
         [toggles.mode]\nservers = ['app']\nvalues = ['a', 'b']\nenv.MODE = '{{ value }}'\n\
         [toggles.size]\nservers = ['app']\nvalues = ['s', 'm']\nenv.SIZE = '{{ value }}'\n[loads.x]\npath = '/'\n";
    fs::write(suite.path().join("case.toml"), text).unwrap();
    let output = suite.hotlap(&["plan", "case.toml", "--json", "--compare-with", "v1"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let names = |id: &serde_json::Value| {
        let id = id.as_str().unwrap_or("none#");
        id.split('#').next().unwrap().to_owned()
    };
    let cells = plan[0]["spec"]["cells"].as_array().unwrap();
    let pairs: Vec<(String, String)> = cells
        .iter()
        .map(|cell| (names(&cell["id"]), names(&cell["baseline"])))
        .collect();
    let pair = |cell: &str, baseline: &str| (cell.to_owned(), baseline.to_owned());
    let mut expected = Vec::new();
    for variant in ["mode=a/size=s", "mode=b/size=s", "mode=b/size=m"] {
        let of = |revision: &str| format!("app/{variant}/revision={revision}@x");
        expected.push(pair(&of("base"), "none"));
        expected.push(pair(&of("head"), &of("base")));
    }
    expected.push(pair("other@x", "none"));
    assert_eq!(pairs, expected);
    let tree = suite.hotlap(&["plan", "case.toml", "--compare-with", "nonsense"]);
    assert_eq!(tree.status.code(), Some(2));
}

#[test]
fn a_moving_name_is_another_cell_when_it_has_moved() {
    let suite = repository(WORD);
    let text =
        format!("[servers.app]\ncwd = 'app'\ncommand = 'true'\n{TOGGLE}\n[loads.x]\npath = '/'\n");
    fs::write(
        suite.path().join("case.toml"),
        text.replace("'v1'", "'base'"),
    )
    .unwrap();
    let ids = || -> Vec<String> {
        let output = suite.hotlap(&["plan", "case.toml", "--json"]);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let cells = plan[0]["spec"]["cells"].as_array().unwrap();
        cells
            .iter()
            .map(|cell| cell["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let before = ids();
    git(suite.path(), &["branch", "-qf", "base", "HEAD"]);
    let after = ids();
    assert_ne!(before[0], after[0], "the base is another commit");
    assert_eq!(before[1], after[1], "what lies there is called as before");
}

#[test]
fn a_plan_shows_what_is_no_revision_as_skipped() {
    let suite = repository(WORD);
    let theirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suites/pull-request.toml");
    fs::create_dir(suite.path().join("suites")).unwrap();
    fs::copy(theirs, suite.path().join("suites/pr.toml")).unwrap();
    let output = suite.hotlap(&["plan", "suites/pr.toml"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("there is no revision origin/main"), "{said}");
}
