//! What people and programs see of a run while it runs. Three listeners of the
//! same events: a live line with a bar on a terminal, a plain line a trial with its time
//! elsewhere, and JSON lines for programs.

use super::suites::counted;
use super::terminal::{print, say_line, shown};
use crate::record::{End, Outcome, Pilot};
use crate::run::{Event, Live};
use crate::spec::short_commit;
use crate::units::{show_bytes, show_duration, show_number, show_seconds};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the live line is drawn.
const FRAME: Duration = Duration::from_millis(200);

/// Hears events and shows them.
pub(super) struct Listener {
    quiet: bool,
    json: bool,
    display: Option<Display>,
}

impl Listener {
    /// A listener for standard error, `live` where that is a terminal, and with
    /// JSON on standard output where that is asked for.
    pub(super) fn new(quiet: bool, live: bool, json: bool) -> Self {
        Self {
            quiet,
            json,
            display: (live && !quiet).then(Display::new),
        }
    }

    /// Shows what happened.
    pub(super) fn hear(&mut self, event: &Event) {
        if self.json {
            // Every value of an event serialises, and nobody could be told if one did not.
            print(&format!(
                "{}\n",
                serde_json::to_string(event).unwrap_or_default()
            ));
        }
        if self.quiet {
            return;
        }
        if let Some(display) = &mut self.display {
            display.follow(event);
        }
        for line in lines(event) {
            match &self.display {
                Some(display) => display.above(&line),
                None => say_line(&format!("{}  {line}", now_in_utc())),
            }
        }
    }
}

/// When a line of a log was written, in UTC, so that it is the same everywhere and no hour comes twice.
fn now_in_utc() -> jiff::fmt::strtime::Display<'static> {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ")
}

/// An event as lines of a log.
fn lines(event: &Event) -> Vec<String> {
    match event {
        Event::RunStarted {
            run,
            title,
            trials,
            finished,
            estimated,
            pilots,
            folder,
        } => {
            let first = if *pilots > 0 {
                format!(" after {}", counted(*pilots, "pilot"))
            } else {
                String::new()
            };
            let least = if *pilots > 0 { "at least" } else { "about" };
            let kept = if *finished > 0 {
                format!("; {finished} are finished and kept")
            } else {
                String::new()
            };
            let time = show_duration(*estimated);
            vec![
                format!(
                    "{title}: {}{first}, {least} {time}{kept}",
                    counted(*trials, "trial")
                ),
                format!("run {run} in {}", folder.display()),
            ]
        }
        Event::Skipped {
            cell,
            reason,
            install,
        } => {
            let install = install
                .as_ref()
                .map_or_else(String::new, |line| format!(" ({line})"));
            vec![format!("skipped {cell}: {reason}{install}")]
        }
        Event::CheckedOut { revision, commit } => {
            vec![format!("check out: {revision} ({})", short_commit(commit))]
        }
        Event::BuildStarted { commands } => vec![format!("build: {}", commands.join(" && "))],
        Event::BuildKept { commands } => {
            vec![format!("built before: {}", commands.join(" && "))]
        }
        Event::RuntimeAwaited { name } => {
            vec![format!(
                "another run makes the runtime {name}; waiting for it"
            )]
        }
        Event::CeilingStarted { threads } => vec![format!(
            "measuring what the generator itself can send here with {}, once for this machine: about 2 s",
            counted(*threads, "thread")
        )],
        Event::CeilingUnknown { why } => vec![format!(
            "note: what the generator itself can send on this machine: {why}"
        )],
        Event::RoundAdded { round, cells, .. } => {
            vec![format!(
                "round {round} is added: {}",
                counted(*cells, "trial")
            )]
        }
        Event::BudgetSpent { rounds, .. } => vec![format!(
            "another round does not fit into the budget; it ends after {}",
            counted(*rounds as usize, "round")
        )],
        Event::PilotStarted { .. } | Event::TrialStarted { .. } => Vec::new(),
        Event::PilotFinished {
            number,
            pilots,
            pilot,
            ..
        } => vec![pilot_line(*number, *pilots, pilot)],
        Event::WarmUpFound { warmup, left } => vec![format!(
            "every trial without a warm-up of its own is warmed up for {}; about {} left",
            show_duration(*warmup),
            show_duration(*left)
        )],
        Event::LeftBehind { what } => vec![format!("LEFT BEHIND: {what}")],
        Event::Killed { what } => vec![format!("warning: {what}")],
        Event::TrialFinished { .. } => trial_lines(event),
        Event::RunFinished { end } => match end {
            End::Complete => Vec::new(),
            End::Interrupted => vec!["stopped before all trials had run".to_owned()],
            End::Aborted => vec!["given up after a failed trial".to_owned()],
        },
    }
}

/// A pilot, in the form of a trial's line.
fn pilot_line(number: usize, pilots: usize, pilot: &Pilot) -> String {
    let rate = pilot.per_second.last();
    let rate = rate.map_or_else(String::new, |rate| format!("  {}/s", show_number(*rate, 3)));
    let came = match (&pilot.outcome, pilot.warmup) {
        (Outcome::Failed { step, reason, .. }, _) => {
            format!("FAILED to {}: {reason}", step.verb())
        }
        (_, Some(warmup)) if pilot.settled => {
            format!("settled after {}{rate}", show_duration(warmup))
        }
        (_, warmup) => format!(
            "not settled within {}{rate}",
            show_duration(warmup.unwrap_or_default())
        ),
    };
    let width = pilots.to_string().len();
    format!(
        "pilot {number:>width$}/{pilots} {}  {came}  ({})",
        pilot.cell.names(),
        show_duration(Duration::from_nanos(pilot.took_ns))
    )
}

fn trial_lines(event: &Event) -> Vec<String> {
    let Event::TrialFinished {
        trial,
        number,
        trials,
        outcome,
        requests_per_second,
        latency_p50_ns,
        latency_p99_ns,
        counts,
        rss_peak_bytes,
        warnings,
        took_ns,
        ..
    } = event
    else {
        return Vec::new();
    };
    let width = trials.to_string().len();
    let mut words = vec![format!(
        "[{number:>width$}/{trials}] {} #{}",
        trial.cell.names(),
        trial.repetition
    )];
    match outcome {
        Outcome::Failed { step, reason, .. } => {
            words.push(format!("FAILED to {}: {reason}", step.verb()));
        }
        Outcome::Invalid { .. } | Outcome::Valid => {
            words.extend(requests_per_second.map(|rate| format!("{}/s", show_number(rate, 3))));
            words.extend(latency_p50_ns.map(|ns| format!("p50 {}", show_seconds(ns / 1e9))));
            words.extend(latency_p99_ns.map(|ns| format!("p99 {}", show_seconds(ns / 1e9))));
            words.extend(rss_peak_bytes.map(|rss| format!("RSS {}", show_bytes(rss))));
            let errors = counts.map_or(0, |counts| counts.errors());
            words.extend((errors > 0).then(|| counted(errors as usize, "error")));
        }
    }
    words.push(format!(
        "({})",
        show_duration(Duration::from_nanos(*took_ns))
    ));
    let mut all = vec![words.join("  ")];
    let indent = " ".repeat(2 * width + 4);
    if let Outcome::Invalid { reasons } = outcome {
        all.extend(
            reasons
                .iter()
                .map(|reason| format!("{indent}INVALID: {reason}")),
        );
    }
    if let Outcome::Failed { log_tail, .. } = outcome {
        all.extend(
            log_tail
                .iter()
                .rev()
                .take(5)
                .rev()
                .map(|line| format!("{indent}| {line}")),
        );
    }
    all.extend(
        warnings
            .iter()
            .map(|warning| format!("{indent}note: {warning}")),
    );
    all
}

/// What the live line is about.
struct Current {
    label: String,
    live: Arc<Live>,
    /// The last count of successes and when it was read, for the rate.
    last: (u64, Instant),
    rate: f64,
}

/// A live line and a bar on a terminal, drawn by a thread of its own.
struct Display {
    all: MultiProgress,
    line: ProgressBar,
    bar: ProgressBar,
    current: Arc<Mutex<Option<Current>>>,
    over: Arc<AtomicBool>,
    painter: Option<JoinHandle<()>>,
    /// About when the run is over.
    until: Arc<Mutex<Option<Instant>>>,
}

impl Display {
    fn new() -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let line = all.add(ProgressBar::new_spinner());
        line.set_style(style("{spinner} {wide_msg}"));
        let bar = all.add(ProgressBar::new(0));
        bar.set_style(style("[{bar:30}] {pos}/{len} trials{msg}").progress_chars("=> "));
        let current: Arc<Mutex<Option<Current>>> = Arc::default();
        let until: Arc<Mutex<Option<Instant>>> = Arc::default();
        let over = Arc::new(AtomicBool::new(false));
        let painter = {
            let (line, bar) = (line.clone(), bar.clone());
            let (current, until, over) =
                (Arc::clone(&current), Arc::clone(&until), Arc::clone(&over));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    paint(&line, &bar, &current, &until);
                    std::thread::park_timeout(FRAME);
                }
            })
        };
        Self {
            all,
            line,
            bar,
            current,
            over,
            painter: Some(painter),
            until,
        }
    }

    fn follow(&mut self, event: &Event) {
        let set_left = |left: &Duration| {
            *self.until.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(Instant::now() + *left);
        };
        match event {
            Event::RunStarted {
                trials,
                finished,
                estimated,
                ..
            } => {
                self.bar.set_length(*trials as u64);
                self.bar.set_position(*finished as u64);
                set_left(estimated);
            }
            Event::PilotStarted {
                cell,
                number,
                pilots,
                live,
            } => self.show(Some((format!("pilot {number}/{pilots} {cell}"), live))),
            Event::PilotFinished { left, .. } => {
                self.show(None);
                set_left(left);
            }
            Event::WarmUpFound { left, .. } => set_left(left),
            Event::TrialStarted { trial, live, .. } => {
                let label = format!("{} #{}", trial.cell.names(), trial.repetition);
                self.show(Some((label, live)));
            }
            Event::TrialFinished { number, left, .. } => {
                self.show(None);
                self.bar.set_position(*number as u64);
                set_left(left);
            }
            Event::RoundAdded { trials, .. } | Event::BudgetSpent { trials, .. } => {
                self.bar.set_length(*trials as u64);
            }
            Event::RunFinished { .. }
            | Event::LeftBehind { .. }
            | Event::Killed { .. }
            | Event::Skipped { .. }
            | Event::CheckedOut { .. }
            | Event::BuildStarted { .. }
            | Event::BuildKept { .. }
            | Event::RuntimeAwaited { .. }
            | Event::CeilingStarted { .. }
            | Event::CeilingUnknown { .. } => {}
        }
    }

    /// What the live line is about from now on.
    fn show(&self, what: Option<(String, &Arc<Live>)>) {
        let current = what.map(|(label, live)| Current {
            label,
            live: Arc::clone(live),
            last: (0, Instant::now()),
            rate: 0.0,
        });
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = current;
    }

    /// A line that stays, above the live ones.
    fn above(&self, line: &str) {
        // A terminal that is gone is no reason to stop measuring.
        let _ = self.all.println(shown(line));
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(painter) = self.painter.take() {
            painter.thread().unpark();
            // A painter that failed has nothing more to draw.
            let _ = painter.join();
        }
        self.line.finish_and_clear();
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .tick_chars("|/-\\ ")
}

fn paint(
    line: &ProgressBar,
    bar: &ProgressBar,
    current: &Mutex<Option<Current>>,
    until: &Mutex<Option<Instant>>,
) {
    if let Some(until) = *until.lock().unwrap_or_else(PoisonError::into_inner) {
        let left = until.saturating_duration_since(Instant::now());
        bar.set_message(format!(
            ", about {} left",
            show_duration(Duration::from_secs(left.as_secs()))
        ));
    }
    if let Some(current) = current
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_mut()
    {
        line.set_message(now(current));
    }
    line.tick();
    bar.tick();
}

/// What the trial is doing: its step, the rate, errors and memory.
fn now(current: &mut Current) -> String {
    let mut words = vec![format!("{}: {}", current.label, current.live.step())];
    if let Some(load) = current.live.load() {
        let (before, when) = current.last;
        let done = load.succeeded();
        let passed = when.elapsed();
        if passed >= FRAME {
            current.rate = done.saturating_sub(before) as f64 / passed.as_secs_f64();
            current.last = (done, Instant::now());
        }
        if done > 0 {
            words.push(format!("{}/s", show_number(current.rate, 3)));
            words.push(counted(load.errors() as usize, "error"));
        }
    }
    let (rss, processes) = current.live.memory();
    if rss > 0 {
        words.push(format!(
            "RSS {} in {}",
            show_bytes(rss as f64),
            processes_in_words(processes)
        ));
    }
    words.join("  ")
}

fn processes_in_words(number: u64) -> String {
    if number == 1 {
        "1 process".to_owned()
    } else {
        format!("{number} processes")
    }
}
