//! What is made before a run: once for what it is made of, whole or not at all.

use crate::fixture::Behaviour;
use crate::kit::{FILES, Suite, python, quote, serving, without_python};
use hotlap::record::Step;
use std::fs;

/// A runtime that is a link to Python, and a file that counts how often it was made.
fn runtime(suite: Suite, more: &str) -> Suite {
    let made = "echo made >> made; mkdir $0/bin && ln -s $1 $0/bin/python && echo $2 > $0/version";
    let python_name = quote(python().unwrap());
    suite.toml(&format!(
        "[runtimes.py]\nversions = ['1', '2']\n\
         build = [['sh', '-c', {}, '{{{{ cache }}}}', {python_name}, '{{{{ version }}}}']]\n\
         bin = ['{{{{ cache }}}}/nowhere', '{{{{ cache }}}}/bin/python']\n\
         probe = '{{{{ bin }}}} --version'\n{more}",
        quote(made)
    ))
}

/// Tells for which version its runtime was made.
fn server() -> String {
    serving("open(os.path.dirname(os.path.dirname(sys.argv[1])) + '/version').read().strip()")
}

#[test]
fn a_runtime_is_made_once_and_found_by_later_runs() {
    if without_python() {
        return;
    }
    let suite = runtime(
        Suite::new(),
        "[servers.app]\ncommand = ['{{ runtime }}', 'server.py', '{{ runtime }}']\nprobe = '{{ runtime }} --version'\n\
         [toggles.version]\nvalues = ['py-1', 'py-2']\nruntime = '{{ value }}'\n\
         [[overrides]]\nwhen = { version = 'py-1' }\nset.expect.body = '1'\n\
         [[overrides]]\nwhen = { version = 'py-2' }\nset.expect.body = '2'",
    );
    let outcome = suite.file("server.py", &server()).run().exits(0);
    let made = || fs::read_to_string(outcome.suite.path().join("made")).unwrap();
    assert_eq!(made(), "made\nmade\n");
    let versions = outcome.run().versions;
    assert!(
        versions["py-1 (runtime)"].starts_with("Python "),
        "{versions:?}"
    );
    assert!(
        versions["app/version=py-2 (server)"].starts_with("Python "),
        "{versions:?}"
    );
    let again = outcome
        .suite
        .hotlap(&["run", "case.toml", "--out", "again"]);
    assert!(
        again.status.success(),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );
    assert_eq!(made(), "made\nmade\n");
    let clean = outcome.suite.hotlap(&["clean", "--caches"]);
    assert!(clean.status.success());
    assert!(
        !outcome
            .suite
            .path()
            .join("cache/runtimes")
            .read_dir()
            .unwrap()
            .any(|entry| entry.unwrap().path().is_dir())
    );
    let anew = outcome.suite.hotlap(&[
        "run",
        "case.toml",
        "--out",
        "anew",
        "--only",
        "version=py-1",
    ]);
    assert!(
        anew.status.success(),
        "{}",
        String::from_utf8_lossy(&anew.stderr)
    );
    assert_eq!(made(), "made\nmade\nmade\n");
}

#[test]
fn a_torn_runtime_is_made_anew_and_one_that_fails_is_a_reason() {
    if without_python() {
        return;
    }
    let servers = "[servers.app]\nruntime = 'py-1'\ncommand = ['{{ runtime }}', 'server.py', '{{ runtime }}']\n\
         [runtimes.bad]\nversions = ['1']\nbuild = [\"sh -c 'echo no network; exit 5'\"]\nbin = ['{{ cache }}/x']\n\
         [runtimes.empty]\nversions = ['1']\nbuild = ['true']\nbin = ['{{ cache }}/x']\n\
         [servers.bad]\nruntime = 'bad-1'\ncommand = '{{ runtime }}'\n\
         [servers.empty]\nruntime = 'empty-1'\ncommand = '{{ runtime }}'";
    let suite = runtime(Suite::new(), servers).file("server.py", &server());
    let outcome = suite.run().exits(1);
    outcome.valid("app");
    let (_, reason, tail) = outcome.failed("bad", Step::Build);
    assert!(
        reason.contains("exited with 5") && tail.contains("no network"),
        "{reason} {tail}"
    );
    let (_, reason, _) = outcome.failed("empty", Step::Build);
    assert!(
        reason.contains("none of its programs is there: {{ cache }}/x"),
        "{reason}"
    );
    // As if the power had gone in the middle.
    let entries = fs::read_dir(outcome.suite.path().join("cache/runtimes")).unwrap();
    let entry = entries
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.is_dir()
                && path
                    .file_name()
                    .unwrap()
                    .to_string_lossy()
                    .starts_with("py-1-")
        })
        .unwrap();
    fs::remove_file(entry.join(".hotlap-made.json")).unwrap();
    fs::write(entry.join("half"), "").unwrap();
    let again =
        outcome
            .suite
            .hotlap(&["run", "case.toml", "--out", "again", "--only", "server=app"]);
    assert!(
        again.status.success(),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );
    assert!(!entry.join("half").exists());
    assert_eq!(
        fs::read_to_string(outcome.suite.path().join("made")).unwrap(),
        "made\nmade\n"
    );
}

#[test]
fn a_build_is_kept_until_something_of_it_changes() {
    let suite = Suite::new();
    fs::create_dir(suite.path().join("app")).unwrap();
    let count = suite.path().join("count").display().to_string();
    let build = format!("build = [['sh', '-c', 'echo x >> {count}; cp source made']]\ncwd = 'app'");
    let outcome = suite
        .file("app/source", "one")
        .fixture_with("app", &Behaviour::good(), &build)
        .run()
        .exits(0);
    assert!(
        outcome.stderr.contains("build: sh -c"),
        "{}",
        outcome.stderr
    );
    let run = |folder: &str| {
        let output = outcome.suite.hotlap(&["run", "case.toml", "--out", folder]);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let built = || fs::read_to_string(&count).unwrap().lines().count();
    let said = run("again");
    assert!(said.contains("built before: sh -c"), "{said}");
    assert_eq!(built(), 1);
    fs::write(outcome.suite.path().join("app/source"), "another").unwrap();
    run("changed");
    assert_eq!(built(), 2);
    let made = outcome.suite.path().join("app/made");
    assert_eq!(fs::read_to_string(&made).unwrap(), "another");
    fs::remove_file(made).unwrap();
    run("lost");
    assert_eq!(built(), 3);
}

#[test]
fn builds_that_differ_in_one_folder_have_a_copy_each() {
    if without_python() {
        return;
    }
    let suite = Suite::new();
    fs::create_dir(suite.path().join("app")).unwrap();
    let outcome = suite
        .file("app/serve.py", FILES)
        .file("app/page", "one")
        .toml(&format!(
            "[servers.app]\ncwd = 'app'\ncommand = [{}, 'serve.py']\nready.path = '/mode'\nbuild_inputs = ['serve.py']\n\
             [toggles.mode]\n\
             values.fast = {{ build = [\"sh -c 'printf fast > mode'\"], expect.body = 'fast' }}\n\
             values.small = {{ build = [\"sh -c 'printf small > mode'\"], expect.body = 'small' }}",
            quote(python().unwrap())
        ))
        .load("l", "path = '/mode'\nduration = '150ms'")
        .run()
        .exits(0);
    outcome.valid("app/mode=fast");
    outcome.valid("app/mode=small");
    let app = outcome.suite.path().join("app");
    assert!(!app.join("mode").exists());
    let run = |arguments: &[&str]| {
        let all = [&["run", "case.toml", "--out"], arguments].concat();
        let output = outcome.suite.hotlap(&all);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        said
    };
    let said = run(&["again"]);
    assert_eq!(said.matches("built before: ").count(), 2, "{said}");
    // Sources that are no input of the build are run from the copy too.
    fs::write(app.join("page"), "another").unwrap();
    let said = run(&["changed"]);
    assert_eq!(said.matches("Z  build: ").count(), 2, "{said}");
    assert!(!app.join("mode").exists());
    // Alone it is built in place, where the last build lies, whichever that was.
    for (out, only, word) in [
        ("fast", "mode=fast", "build: "),
        ("same", "mode=fast", "built before: "),
        ("small", "mode=small", "build: "),
        ("fast-again", "mode=fast", "build: "),
    ] {
        let said = run(&[out, "--only", only]);
        assert!(said.contains(&format!("Z  {word}")), "{out}: {said}");
    }
}

#[test]
fn a_folder_that_another_suite_built_otherwise_is_built_again() {
    if without_python() {
        return;
    }
    let suite = Suite::new();
    fs::create_dir(suite.path().join("app")).unwrap();
    let server = |mode: &str| {
        format!(
            "[servers.app]\ncwd = 'app'\ncommand = [{}, 'serve.py']\nready.path = '/mode'\n\
             build = [\"sh -c 'printf {mode} > mode'\"]\n\
             [loads.l]\npath = '/mode'\nduration = '150ms'\nconnections = 2\nexpect.body = '{mode}'\n\
             [run]\nrepetitions = 1\nwarmup = '50ms'\nrest = '0s'\n",
            quote(python().unwrap())
        )
    };
    let suite = suite
        .file("app/serve.py", FILES)
        .file("fast.toml", &server("fast"))
        .file("small.toml", &server("small"));
    for (at, name) in ["fast", "small", "fast"].into_iter().enumerate() {
        let out = format!("out-{at}");
        let output = suite.hotlap(&["run", &format!("{name}.toml"), "--out", &out]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        assert!(said.contains("build: sh -c"), "{said}");
    }
}
