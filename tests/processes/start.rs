//! What a started process gets, what is kept of what it prints, how its end is
//! told, and the sentences for what cannot be started.

use crate::kit::{Place, alive, program, start, without_python};
use hotlap::process::{CommandError, Exit, Guard, GuardProgram, Launch, StartError, command, tail};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_mins(1);

async fn refusal(launch: &Launch) -> String {
    match Guard::start(&program(), launch).await {
        Err(error @ StartError::Command { .. }) => error.to_string(),
        other => panic!("{other:?} is not a refusal"),
    }
}

async fn output(launch: Launch) -> (Exit, String) {
    let output = command(&program(), launch, LONG).await.unwrap();
    (output.exit, output.text)
}

#[tokio::test]
async fn what_cannot_be_started_is_told_in_a_sentence() {
    let place = Place::new();
    let script = place.path().join("script");
    fs::write(&script, "#!/no/such/shell\n").unwrap();
    let mut launch = place.launch(&["./script"]);
    assert!(
        refusal(&launch)
            .await
            .ends_with("script is not executable; `chmod +x` makes it so")
    );
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    assert!(
        refusal(&launch)
            .await
            .contains("asks for /no/such/shell, which does not exist")
    );
    fs::write(&script, "echo no shebang\n").unwrap();
    assert!(
        refusal(&launch)
            .await
            .contains("nor a script with a #! line")
    );

    launch.command = vec!["no-such-server".into(), "a b".into()];
    launch.env = vec![("PATH".into(), "/usr/local/none:/usr/bin".into())];
    assert_eq!(
        refusal(&launch).await,
        "server `no-such-server 'a b'` could not be started: there is no program `no-such-server` \
         on its PATH; install it, or write its path"
    );
    launch.command = vec!["sh".into()];
    launch.cwd = place.path().join("nowhere");
    assert!(
        refusal(&launch)
            .await
            .contains("nowhere, where it should run, does not exist")
    );
    launch.cwd = place.path().to_owned();
    launch.command = Vec::new();
    assert!(refusal(&launch).await.ends_with("its command is empty"));
    launch.command = vec!["sh".into()];
    launch.stop_signal = "SIGNONSENSE".into();
    assert!(
        refusal(&launch)
            .await
            .contains("`SIGNONSENSE` is not a signal")
    );
    launch.stop_signal = "TERM".into();
    launch.nofile = Some(3);
    assert!(refusal(&launch).await.contains("64 is the least"));
    launch.nofile = None;
    launch.affinity = Some(vec![1_000_000]);
    assert!(
        refusal(&launch)
            .await
            .contains("there is no processor 1000000")
    );
    assert!(
        !launch.ledger.unwrap().exists(),
        "a ledger of nothing is left"
    );
}

#[tokio::test]
async fn a_program_that_is_no_guard_is_named() {
    let place = Place::new();
    let launch = place.launch(&["sh"]);
    for path in ["/bin/true", "/no/such/hotlap"] {
        let program = GuardProgram(path.into());
        let error = Guard::start(&program, &launch)
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(path), "{error}");
    }
}

#[tokio::test]
async fn the_environment_is_exactly_what_was_given() {
    let place = Place::new();
    let mut launch = place.launch(&["/usr/bin/env"]);
    launch.env = vec![("A".into(), "1 = one".into()), ("B".into(), String::new())];
    assert_eq!(
        output(launch.clone()).await,
        (Exit::Code(0), "A=1 = one\nB=\n".to_owned())
    );
    launch.env = (0..1000)
        .map(|n| (format!("V{n}"), "x".repeat(1000)))
        .collect();
    assert_eq!(output(launch.clone()).await.1.lines().count(), 1000);
    launch.env = vec![("HUGE".into(), "x".repeat(4 << 20))];
    assert!(
        refusal(&launch)
            .await
            .contains("too large for the kernel (4194")
    );
}

#[tokio::test]
async fn the_child_inherits_a_clean_slate() {
    if without_python() {
        return;
    }
    let place = Place::new();
    // Python itself ignores SIGPIPE and SIGXFSZ.
    let script = "import os,resource
status=dict(line.split(':',1) for line in open('/proc/self/status'))
ignored=int(status['SigIgn'],16)
print([n for n in range(1,32) if ignored>>(n-1)&1], int(status['SigBlk'],16))
print(os.getpgid(0)==os.getpid(), os.getsid(0)==os.getppid(), os.readlink('/proc/self/fd/0'), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
print(sorted(os.sched_getaffinity(0)), os.getcwd())";
    let mut launch = place.python(script);
    launch.nofile = Some(512);
    launch.affinity = Some(vec![0]);
    let (exit, text) = output(launch).await;
    let cwd = place.path().canonicalize().unwrap();
    assert_eq!(exit, Exit::Code(0), "{text}");
    assert_eq!(
        text,
        format!(
            "[13, 25] 0\nTrue True /dev/null 512\n[0] {}\n",
            cwd.display()
        )
    );
}

#[tokio::test]
async fn what_the_runner_ignores_the_child_does_not() {
    let place = Place::new();
    // As under nohup, in the background of a script, or below a careless parent.
    let script = place.path().join("careless");
    let GuardProgram(hotlap) = program();
    let text = format!(
        "#!/bin/sh\ntrap '' HUP INT QUIT TERM PIPE CHLD USR1 TSTP TTOU\nexec {} guard\n",
        hotlap.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let launch = place.launch(&["grep", "SigIgn", "/proc/self/status"]);
    let output = command(&GuardProgram(script), launch, LONG).await.unwrap();
    let mask = output.text.split_whitespace().last().unwrap();
    let mask = u64::from_str_radix(mask, 16).unwrap();
    assert_eq!(mask & 0x7fff_ffff, 0, "{mask:x}");
}

#[tokio::test]
async fn exit_codes_and_signals_are_told_apart() {
    let place = Place::new();
    for (script, exit, words) in [
        ("exit 0", Exit::Code(0), "exited with 0"),
        (
            "echo cannot load config >&2; exit 3",
            Exit::Code(3),
            "exited with 3",
        ),
        ("kill -9 $$", Exit::Signal(9), "killed by SIGKILL"),
        ("kill -SEGV $$", Exit::Signal(11), "killed by SIGSEGV"),
    ] {
        let guard = start(&place.sh(script)).await;
        let (first, second) = tokio::join!(guard.exited(), guard.exited());
        assert_eq!((first, second, guard.exit_now()), (exit, exit, Some(exit)));
        assert_eq!(exit.to_string(), words);
        if exit == Exit::Code(3) {
            assert_eq!(
                tail(&place.path().join("server.log"), 5),
                ["cannot load config"]
            );
        }
        let stopped = guard.stop().await.unwrap();
        assert_eq!(
            (stopped.exit, stopped.polite, stopped.killed),
            (exit, true, 0)
        );
    }
}

#[tokio::test]
async fn a_flood_of_output_never_blocks_and_is_capped() {
    let place = Place::new();
    let mut launch = place.sh("echo first; seq 1 3000000; echo last >&2");
    launch.log_cap = 100_000;
    let (exit, text) = output(launch).await;
    assert_eq!(exit, Exit::Code(0));
    assert!(text.len() < 100_200, "{} bytes", text.len());
    assert!(text.starts_with("first\n1\n2\n"));
    assert!(text.contains("bytes left out …"));
    assert!(text.ends_with("\n3000000\nlast\n"));
}

#[tokio::test]
async fn both_streams_are_in_order_and_can_be_kept_apart() {
    let place = Place::new();
    let script = "for n in 1 2 3; do echo out $n; echo err $n >&2; done";
    let (_, text) = output(place.sh(script)).await;
    assert_eq!(text, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
    let mut launch = place.sh(script);
    launch.stdout = Some(place.path().join("out.txt"));
    let output = command(&program(), launch, LONG).await.unwrap();
    assert_eq!(output.stdout.unwrap(), "out 1\nout 2\nout 3\n");
    assert_eq!(output.text, "err 1\nerr 2\nerr 3\n");
}

#[tokio::test]
async fn a_child_that_closes_its_output_goes_on() {
    let place = Place::new();
    let launch = place.sh("exec >&- 2>&-; echo $$ > closed; sleep 1000");
    let guard = start(&launch).await;
    place.wait_for("closed");
    assert_eq!(guard.exit_now(), None);
    assert!(alive(guard.leader_pid()));
    assert_eq!(guard.stop().await.unwrap().exit, Exit::Signal(15));
}

#[tokio::test]
async fn a_command_that_hangs_is_killed_with_its_tree() {
    let place = Place::new();
    let began = Instant::now();
    let launch = place.sh("trap '' TERM; echo working; sh -c 'sleep 1000' sh \"$1\" & sleep 1000");
    let error = command(&program(), launch, Duration::from_millis(300))
        .await
        .unwrap_err();
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "no grace is given"
    );
    assert!(
        error
            .to_string()
            .contains("did not end within 300 ms and was killed"),
        "{error}"
    );
    let CommandError::TimedOut { log_tail, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(log_tail, ["working"]);
    assert_eq!(place.marked(), Vec::<u32>::new());
}
