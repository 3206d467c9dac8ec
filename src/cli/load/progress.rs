//! The line that changes while a load runs: time left, requests so far, the rate now, errors.

use super::shown::whole as count;
use crate::load::{LoadPhase, Progress};
use crate::spec::Amount;
use crate::units::{show_duration, show_number};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the line is drawn.
const FRAME: Duration = Duration::from_millis(200);
/// The rate is that of about the last second.
const RATE_OVER: Duration = Duration::from_secs(1);

/// What the line is made of beside the counts.
pub(super) struct Live {
    wanted: bool,
    amount: Amount,
    warmup: Duration,
    /// The phase, and when it began.
    phase: Arc<Mutex<Option<(LoadPhase, Instant)>>>,
}

impl Live {
    /// A line that is drawn where it is `wanted`.
    pub(super) fn new(wanted: bool, amount: Amount, warmup: Duration) -> Self {
        Self {
            wanted,
            amount,
            warmup,
            phase: Arc::default(),
        }
    }

    /// Hears the phases of the load.
    pub(super) fn follow(&self) -> impl Fn(LoadPhase, Instant) + Send + Sync + 'static {
        let heard = Arc::clone(&self.phase);
        move |phase, at| {
            *heard.lock().unwrap_or_else(PoisonError::into_inner) = Some((phase, at));
        }
    }

    /// Draws until the painter is dropped.
    pub(super) fn show(self, progress: Arc<Progress>) -> Painter {
        let over = Arc::new(AtomicBool::new(false));
        let thread = self.wanted.then(|| {
            let over = Arc::clone(&over);
            std::thread::spawn(move || self.paint(&progress, &over))
        });
        Painter { over, thread }
    }

    fn paint(&self, progress: &Progress, over: &AtomicBool) {
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        line.set_style(
            ProgressStyle::with_template("{spinner} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner())
                .tick_chars("|/-\\ "),
        );
        let mut rate = Rate::default();
        while !over.load(Ordering::Relaxed) {
            let phase = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
            let (now, done) = (Instant::now(), (progress.succeeded(), progress.errors()));
            let rate = rate.at(now, done.0);
            line.set_message(words(phase, now, self.amount, self.warmup, done, rate));
            line.tick();
            std::thread::park_timeout(FRAME);
        }
        line.finish_and_clear();
    }
}

/// Draws the line as long as it lives.
pub(super) struct Painter {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Painter {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // One that failed has nothing more to draw.
            let _ = thread.join();
        }
    }
}

/// The rate of the last second, from counts that are read now and then.
#[derive(Default)]
struct Rate(VecDeque<(Instant, u64)>);

impl Rate {
    /// Per second at an instant at which so many were done; none before a second look.
    fn at(&mut self, now: Instant, done: u64) -> Option<f64> {
        self.0.push_back((now, done));
        // The oldest that is kept is at least as old as the time that is looked back.
        while self.0.get(1).is_some_and(|(at, _)| now - *at >= RATE_OVER) {
            self.0.pop_front();
        }
        let (then, before) = self.0.front()?;
        let passed = (now - *then).as_secs_f64();
        (passed > 0.0).then(|| done.saturating_sub(*before) as f64 / passed)
    }
}

/// The line at an instant: what matters most stands first, since narrow terminals cut the end off.
fn words(
    phase: Option<(LoadPhase, Instant)>,
    now: Instant,
    amount: Amount,
    warmup: Duration,
    (succeeded, errors): (u64, u64),
    rate: Option<f64>,
) -> String {
    let Some((phase, began)) = phase else {
        return "connecting".to_owned();
    };
    let passed = now.saturating_duration_since(began);
    let left = |whole: Duration| show_left(whole.saturating_sub(passed));
    let done = succeeded + errors;
    let first = match (phase, amount) {
        (LoadPhase::WarmUp, _) => return format!("warming up, {} left", left(warmup)),
        (LoadPhase::Measure, Amount::Duration(time)) => {
            format!("{} left  {} requests", left(time), count(done))
        }
        (LoadPhase::Measure, Amount::Requests(all)) => {
            let still = rate
                .filter(|rate| *rate > 0.0)
                .map_or_else(String::new, |rate| {
                    let seconds = all.saturating_sub(done) as f64 / rate;
                    format!(
                        "about {} left  ",
                        show_left(Duration::from_secs_f64(seconds))
                    )
                });
            format!("{still}{} of {}", count(done), count(all))
        }
        (LoadPhase::Drain | LoadPhase::Done, _) => {
            format!("waiting for the last responses  {} requests", count(done))
        }
    };
    let rate = rate.map_or_else(String::new, |rate| format!("  {}/s", show_number(rate, 3)));
    let s = if errors == 1 { "" } else { "s" };
    format!("{first}{rate}  {} error{s}", count(errors))
}

/// Whole seconds, rounded up, so that nothing is over before its time.
fn show_left(left: Duration) -> String {
    let seconds = left.as_millis().div_ceil(1000) as u64;
    match seconds {
        0..=99 => format!("{seconds} s"),
        _ => show_duration(Duration::from_secs(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_second() {
        let start = Instant::now();
        let mut rate = Rate::default();
        assert_eq!(rate.at(start, 0), None);
        for frame in 1..=10 {
            rate.at(start + FRAME * frame, 100 * u64::from(frame));
        }
        let now = rate.at(start + FRAME * 15, 1000).unwrap();
        assert!(now.abs() < 1e-9, "{now}");
        assert!(rate.0.len() < 8, "{}", rate.0.len());
    }

    #[test]
    fn the_line_says_what_is_left_first() {
        let began = Instant::now();
        let at = |phase, amount, passed, done, rate| {
            words(
                Some((phase, began)),
                began + Duration::from_millis(passed),
                amount,
                Duration::from_secs(2),
                done,
                rate,
            )
            .replace('\u{a0}', " ")
        };
        let ten = Amount::Duration(Duration::from_secs(10));
        let measure = LoadPhase::Measure;
        assert_eq!(
            at(LoadPhase::WarmUp, ten, 500, (0, 0), None),
            "warming up, 2 s left"
        );
        assert_eq!(
            at(measure, ten, 2500, (12_345, 1), Some(4938.2)),
            "8 s left  12 346 requests  4 940/s  1 error"
        );
        let many = Amount::Requests(20_000);
        assert_eq!(
            at(measure, many, 2500, (10_000, 0), Some(4000.0)),
            "about 3 s left  10 000 of 20 000  4 000/s  0 errors"
        );
        assert_eq!(
            words(None, began, ten, Duration::ZERO, (0, 0), None),
            "connecting"
        );
    }
}
