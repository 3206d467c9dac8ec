//! The guard's start of its child: which file the command is, what the child
//! inherits (nothing but what the launch says), and a sentence for people when
//! it cannot be started.

use super::launch::Launch;
use rustix::fs::{Access, access};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where programs are looked for when the environment has no PATH, as execvp does.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// The fewest open files with which a guard can do its work.
const LEAST_NOFILE: u64 = 64;

/// The pipes into which a child will print.
pub(super) struct Pipes {
    /// Both streams, or only standard error where standard output has its own.
    pub(super) log: PipeReader,
    /// Standard output alone.
    pub(super) stdout: Option<PipeReader>,
    child_stdout: Stdio,
    child_stderr: Stdio,
}

impl Pipes {
    /// New pipes; reading from them never blocks.
    pub(super) fn new(split: bool) -> io::Result<Self> {
        let (log, write) = io::pipe()?;
        rustix::io::ioctl_fionbio(&log, true)?;
        let (stdout, child_stdout) = if split {
            let (read, write) = io::pipe()?;
            rustix::io::ioctl_fionbio(&read, true)?;
            (Some(read), Stdio::from(write))
        } else {
            (None, Stdio::from(write.try_clone()?))
        };
        Ok(Self {
            log,
            stdout,
            child_stdout,
            child_stderr: Stdio::from(write),
        })
    }

    /// Their inodes: who holds one of them open was started here.
    pub(super) fn inodes(&self) -> Vec<u64> {
        let fds = [
            Some(self.log.as_fd()),
            self.stdout.as_ref().map(AsFd::as_fd),
        ];
        fds.into_iter()
            .flatten()
            .filter_map(|fd| Some(rustix::fs::fstat(fd).ok()?.st_ino))
            .collect()
    }
}

/// Starts the child in a process group of its own and gives back its pid and
/// the pipes to drain; or the sentence that says why it does not run.
pub(super) fn spawn(
    launch: &Launch,
    pipes: Pipes,
) -> Result<(u32, PipeReader, Option<PipeReader>), String> {
    let program = find(launch)?;
    let (name, arguments) = launch.command.split_first().ok_or("its command is empty")?;
    let mut command = Command::new(&program);
    command
        .arg0(name)
        .args(arguments)
        .env_clear()
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.cwd)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(pipes.child_stdout)
        .stderr(pipes.child_stderr);
    limit_files(launch.nofile)?;
    let before = pin(launch.affinity.as_deref())?;
    let child = command.spawn();
    if let Some(before) = before {
        // Only the child is meant to be pinned; a guard that stays pinned is slower, not wrong.
        let _ = sched_setaffinity(None, &before);
    }
    let child = child.map_err(|error| explain(&error, &program, launch))?;
    Ok((child.id(), pipes.log, pipes.stdout))
}

/// The file that the command names.
fn find(launch: &Launch) -> Result<PathBuf, String> {
    let name = match launch.command.first() {
        Some(name) if !name.is_empty() => name,
        _ => return Err("its command is empty".to_owned()),
    };
    let cwd = &launch.cwd;
    match fs::metadata(cwd) {
        Ok(folder) if folder.is_dir() => {}
        Ok(_) => {
            return Err(format!(
                "{}, where it should run, is not a folder",
                cwd.display()
            ));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!(
                "the folder {}, where it should run, does not exist",
                cwd.display()
            ));
        }
        Err(error) => {
            return Err(format!(
                "the folder {}, where it should run: {error}",
                cwd.display()
            ));
        }
    }
    if name.contains('/') {
        let path = cwd.join(name);
        return runnable(&path).map(|()| path);
    }
    let path = launch
        .env
        .iter()
        .rfind(|(key, _)| key == "PATH")
        .map_or(DEFAULT_PATH, |(_, value)| value);
    let mut close = None;
    for folder in path.split(':') {
        let candidate = cwd.join(folder).join(name);
        match runnable(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(why) if candidate.is_file() => close = Some(why),
            Err(_) => {}
        }
    }
    Err(close.unwrap_or_else(|| {
        format!("there is no program `{name}` on its PATH; install it, or write its path")
    }))
}

/// Whether a file can be executed by this user.
fn runnable(path: &Path) -> Result<(), String> {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(file) if file.is_dir() => Err(format!("{shown} is a folder, not a program")),
        Ok(_) if access(path, Access::EXEC_OK).is_ok() => Ok(()),
        Ok(_) => Err(format!("{shown} is not executable; `chmod +x` makes it so")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(format!("the program {shown} does not exist"))
        }
        Err(error) => Err(format!("the program {shown}: {error}")),
    }
}

/// Sets the limit of open files, which the child inherits.
fn limit_files(limit: Option<u64>) -> Result<(), String> {
    let Some(limit) = limit else { return Ok(()) };
    if limit < LEAST_NOFILE {
        return Err(format!(
            "a limit of {limit} open files is too low; {LEAST_NOFILE} is the least"
        ));
    }
    // The hard limit stays as it is: it is for the process itself to use.
    let wanted = Rlimit {
        current: Some(limit),
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    setrlimit(Resource::Nofile, wanted).map_err(|error| {
        let most = getrlimit(Resource::Nofile).maximum;
        let most = most.map_or_else(|| "none".to_owned(), |n| n.to_string());
        format!(
            "the limit of open files cannot be {limit} ({error}); this user's hard limit is {most}"
        )
    })
}

/// Pins this process, and so the child, to processors; gives back what was before.
fn pin(processors: Option<&[usize]>) -> Result<Option<CpuSet>, String> {
    let Some(processors) = processors else {
        return Ok(None);
    };
    let mut set = CpuSet::new();
    for &processor in processors {
        if processor >= CpuSet::MAX_CPU {
            return Err(format!("there is no processor {processor}"));
        }
        set.set(processor);
    }
    let before = sched_getaffinity(None)
        .map_err(|error| format!("its processors cannot be read: {error}"))?;
    sched_setaffinity(None, &set)
        .map_err(|error| format!("it cannot be pinned to processors {processors:?}: {error}"))?;
    Ok(Some(before))
}

/// Why the kernel did not execute a file that is there and executable.
fn explain(error: &io::Error, program: &Path, launch: &Launch) -> String {
    let shown = program.display();
    match error.kind() {
        io::ErrorKind::NotFound => match interpreter(program) {
            Some(interpreter) => format!("{shown} asks for {interpreter}, which does not exist"),
            None => format!("{shown} needs a loader or library folder that does not exist"),
        },
        io::ErrorKind::ArgumentListTooLong => {
            let size: usize = launch.command.iter().map(String::len).sum::<usize>()
                + launch
                    .env
                    .iter()
                    .map(|(k, v)| k.len() + v.len() + 2)
                    .sum::<usize>();
            format!(
                "its arguments and environment are too large for the kernel ({size} bytes in all)"
            )
        }
        io::ErrorKind::InvalidInput => {
            "its arguments or environment hold a zero byte, or a name with `=`".to_owned()
        }
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            format!("{shown} is no program for this machine, nor a script with a #! line")
        }
        _ => format!("{shown} cannot be executed: {error}"),
    }
}

/// What stands behind `#!` in a script, up to the first space.
fn interpreter(program: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(program)
        .ok()?
        .take(256)
        .read_to_end(&mut start)
        .ok()?;
    let line = start.strip_prefix(b"#!")?;
    let line = line.split(|&byte| byte == b'\n').next()?;
    let word = line.trim_ascii().split(|&byte| byte == b' ').next()?;
    Some(OsStr::from_bytes(word).to_string_lossy().into_owned())
}
