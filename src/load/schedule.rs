//! The sends of an open loop: when each request of a load is due, whatever has become of those before it. The schedule is
//! absolute, so that nothing that happens moves what comes later.

use crate::spec::{Amount, Arrivals, LoadSpec, Pace, Stage};
use fastrand::Rng;
use std::time::{Duration, Instant};

/// When the requests of a whole load are due.
///
/// With a rate λ(t) that is constant or goes in a straight line from one stage to the next, Λ(t) = ∫λ is the number of requests due
/// until t. Uniform arrivals are due where Λ reaches n + ½ for n = 0, 1, …, and those of a Poisson process where it reaches the
/// sums of independent exponential times with mean 1 (Çinlar's time change; for a constant rate these are exponential times between
/// two requests).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Schedule {
    pieces: Vec<Piece>,
    arrivals: Arrivals,
    seed: u64,
    /// The number of requests; none where time ends it.
    limit: Option<u64>,
}

/// A part of a schedule in which the rate is a straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    /// When it begins, in seconds.
    begin: f64,
    /// How long it lasts, in seconds; the last piece of a load by number has no end.
    length: f64,
    /// Requests that are due before it.
    before: f64,
    /// Requests per second at its beginning,
    from: f64,
    /// and at its end.
    to: f64,
}

impl Piece {
    fn requests(&self) -> f64 {
        self.length * f64::midpoint(self.from, self.to)
    }

    /// When so many requests of it are due, in seconds from its beginning.
    fn reaches(&self, requests: f64) -> f64 {
        let slope = if self.length.is_finite() {
            (self.to - self.from) / self.length
        } else {
            0.0
        };
        // The root of from·t + slope·t²/2 = requests that stays exact where either coefficient is 0.
        let root = (self.from.powi(2) + 2.0 * slope * requests).max(0.0).sqrt();
        2.0 * requests / (self.from + root)
    }
}

impl Schedule {
    /// That of a load; none where it is a closed loop. Poisson arrivals with the same seed are the same.
    pub(super) fn of(work: &LoadSpec, seed: u64) -> Option<Self> {
        let (pieces, limit) = match (work.pace.as_ref()?, work.amount) {
            (Pace::Search(_), _) => return None,
            (Pace::Stages(stages), _) => (pieces(stages), None),
            (Pace::Rate(rate), Amount::Duration(time)) => {
                (vec![constant(*rate, time.as_secs_f64())], None)
            }
            (Pace::Rate(rate), Amount::Requests(requests)) => {
                (vec![constant(*rate, f64::INFINITY)], Some(requests))
            }
        };
        Some(Self {
            pieces,
            arrivals: work.arrivals,
            seed,
            limit,
        })
    }

    /// When it ends, from its beginning; none where its last request ends it.
    pub(super) fn ends(&self) -> Option<Duration> {
        self.limit.is_none().then(|| self.length())
    }

    /// The same kind of arrivals at the rate with which this one begins, for so long: how it is warmed up.
    pub(super) fn warm_up(&self, time: Duration) -> Self {
        let first = self.pieces.first();
        // A ramp from 0 would warm nothing.
        let rate = first.map_or(1.0, |piece| {
            if piece.from > 0.0 {
                piece.from
            } else {
                piece.to
            }
        });
        Self {
            pieces: vec![constant(rate, time.as_secs_f64())],
            arrivals: self.arrivals,
            seed: !self.seed,
            limit: None,
        }
    }

    /// How long the load is planned to be sent.
    pub(super) fn length(&self) -> Duration {
        let of = |piece: &Piece| match self.limit {
            Some(limit) => piece.reaches(limit as f64),
            None => piece.length,
        };
        let seconds: f64 = self.pieces.iter().map(of).sum();
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// How long each of its stages is; of a load by number there is only one.
    pub(super) fn lengths(&self) -> impl Iterator<Item = Duration> {
        let of = |piece: &Piece| Duration::try_from_secs_f64(piece.length).unwrap_or(Duration::MAX);
        self.pieces.iter().map(of)
    }

    /// The part of one of `threads` threads, if the load begins at `start`: every so manieth request.
    pub(super) fn part(&self, thread: usize, threads: usize, start: Instant) -> Part {
        let mut part = Part {
            schedule: self.clone(),
            start,
            rng: Rng::with_seed(self.seed),
            sum: 0.0,
            seen: 0,
            next: thread as u64,
            step: threads.max(1) as u64,
            piece: 0,
        };
        part.sum = part.exponential();
        part
    }
}

fn constant(rate: f64, length: f64) -> Piece {
    Piece {
        begin: 0.0,
        length,
        before: 0.0,
        from: rate,
        to: rate,
    }
}

/// A ramp begins where the stage before it ended, the first one at 0.
fn pieces(stages: &[Stage]) -> Vec<Piece> {
    let mut all: Vec<Piece> = Vec::new();
    for stage in stages {
        let (begin, before, level) = all.last().map_or((0.0, 0.0, 0.0), |last| {
            (
                last.begin + last.length,
                last.before + last.requests(),
                last.to,
            )
        });
        all.push(Piece {
            begin,
            length: stage.duration.as_secs_f64(),
            before,
            from: if stage.ramp { level } else { stage.rate },
            to: stage.rate,
        });
    }
    all
}

/// When a request is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) at: Instant,
    /// The same from the start of the load.
    pub(super) after: Duration,
    /// The index of the stage that it is of.
    pub(super) stage: usize,
}

/// The requests of one thread, in the order in which they are due.
#[derive(Debug)]
pub(super) struct Part {
    schedule: Schedule,
    start: Instant,
    rng: Rng,
    /// Of a Poisson process: the sum up to the request with the number `seen`.
    sum: f64,
    seen: u64,
    /// The number of the next request of this thread,
    next: u64,
    /// and how far it is to the one after it.
    step: u64,
    piece: usize,
}

impl Part {
    /// An exponential time with mean 1.
    fn exponential(&mut self) -> f64 {
        // 1 − u is never 0.
        -(1.0 - self.rng.f64()).ln()
    }

    /// How many requests are left, where all are of one stage and need not be drawn to be counted.
    pub(super) fn left(&self) -> Option<u64> {
        let end = match (self.schedule.limit, self.schedule.pieces.as_slice()) {
            (Some(limit), _) => limit,
            // The numbers n with n + ½ < all.
            (None, [only]) if self.schedule.arrivals == Arrivals::Uniform => {
                (only.requests() - 0.5).ceil().max(0.0) as u64
            }
            _ => return None,
        };
        Some(end.saturating_sub(self.next).div_ceil(self.step))
    }

    /// How many requests are due until this one.
    fn until(&mut self, number: u64) -> f64 {
        if self.schedule.arrivals == Arrivals::Uniform {
            return number as f64 + 0.5;
        }
        // Every thread draws all numbers, so that a load is the same however many threads there are.
        while self.seen < number {
            self.sum += self.exponential();
            self.seen += 1;
        }
        self.sum
    }
}

impl Iterator for Part {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        let number = self.next;
        if self.schedule.limit.is_some_and(|limit| number >= limit) {
            return None;
        }
        let requests = self.until(number);
        loop {
            let piece = self.schedule.pieces.get(self.piece)?;
            let within = requests - piece.before;
            if within < piece.requests() {
                let seconds = piece.begin + piece.reaches(within);
                self.next += self.step;
                let after = Duration::try_from_secs_f64(seconds).ok()?;
                return Some(Due {
                    at: self.start + after,
                    after,
                    stage: self.piece,
                });
            }
            self.piece += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paced(pace: Pace, amount: Amount, arrivals: Arrivals) -> Schedule {
        let work = LoadSpec {
            pace: Some(pace),
            amount,
            arrivals,
            ..LoadSpec::default()
        };
        Schedule::of(&work, 7).unwrap()
    }

    fn stage(rate: f64, seconds: u64, ramp: bool) -> Stage {
        Stage {
            rate,
            duration: Duration::from_secs(seconds),
            ramp,
        }
    }

    fn by_time(seconds: u64) -> Amount {
        Amount::Duration(Duration::from_secs(seconds))
    }

    /// Seconds from the start.
    fn times(schedule: &Schedule, threads: usize) -> Vec<f64> {
        let start = Instant::now();
        let parts = (0..threads).flat_map(|thread| schedule.part(thread, threads, start));
        let mut all: Vec<f64> = parts.map(|due| (due.at - start).as_secs_f64()).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn a_uniform_schedule_is_absolute_and_half_a_period_late() {
        let schedule = paced(Pace::Rate(1000.0), by_time(2), Arrivals::Uniform);
        let all = times(&schedule, 1);
        assert_eq!(all.len(), 2000);
        for (n, at) in all.iter().enumerate() {
            assert!((at - (n as f64 + 0.5) / 1000.0).abs() < 1e-8, "{n}: {at}");
        }
        assert_eq!(schedule.length(), Duration::from_secs(2));
    }

    #[test]
    fn threads_share_one_schedule() {
        for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
            let schedule = paced(Pace::Rate(997.0), by_time(3), arrivals);
            assert_eq!(times(&schedule, 1), times(&schedule, 3), "{arrivals:?}");
        }
    }

    #[test]
    fn a_number_of_requests_is_exact() {
        for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
            let schedule = paced(Pace::Rate(50.0), Amount::Requests(1001), arrivals);
            assert_eq!(times(&schedule, 4).len(), 1001, "{arrivals:?}");
            assert_eq!(schedule.length(), Duration::from_millis(20_020));
        }
    }

    #[test]
    fn ramps_go_in_a_straight_line() {
        let stages = vec![
            stage(200.0, 2, true),
            stage(200.0, 1, false),
            stage(0.5, 2, true),
        ];
        let schedule = paced(Pace::Stages(stages), by_time(1), Arrivals::Uniform);
        let all = times(&schedule, 2);
        // 200 in the first ramp, 200 at the level, 200.5 in the second one.
        assert_eq!(all.len(), 600);
        let until = |time: f64| all.iter().filter(|at| **at < time).count();
        // A quarter of the ramp's requests is due in its first half.
        assert_eq!((until(1.0), until(2.0), until(3.0)), (50, 200, 400));
        assert_eq!(until(4.0), 400 + 150);
        assert_eq!(schedule.lengths().count(), 3);
        assert_eq!(schedule.length(), Duration::from_secs(5));
    }

    #[test]
    fn what_is_left_need_not_be_drawn() {
        let start = Instant::now();
        for (rate, seconds) in [(1000.0, 2), (0.3, 1), (3.5, 7), (1.0, 1), (0.5, 1)] {
            let schedule = paced(Pace::Rate(rate), by_time(seconds), Arrivals::Uniform);
            for thread in 0..3 {
                let mut part = schedule.part(thread, 3, start);
                part.next();
                assert_eq!(part.left(), Some(part.count() as u64), "{rate} {seconds}");
            }
        }
        let by_number = paced(Pace::Rate(10.0), Amount::Requests(11), Arrivals::Poisson);
        assert_eq!(by_number.part(1, 3, start).left(), Some(4));
        let drawn = paced(Pace::Rate(10.0), by_time(1), Arrivals::Poisson);
        assert_eq!(drawn.part(0, 1, start).left(), None);
    }

    #[test]
    fn stages_are_told() {
        let stages = vec![stage(10.0, 1, false), stage(20.0, 1, false)];
        let schedule = paced(Pace::Stages(stages), by_time(1), Arrivals::Uniform);
        let start = Instant::now();
        let of = |stage| {
            schedule
                .part(0, 1, start)
                .filter(|due| due.stage == stage)
                .count()
        };
        assert_eq!((of(0), of(1)), (10, 20));
    }

    /// The number of a Poisson process in a second has its mean for its variance, and the times between two have
    /// their mean for their standard deviation.
    #[test]
    fn poisson_arrivals_are_those_of_a_poisson_process() {
        let schedule = paced(Pace::Rate(100.0), by_time(2000), Arrivals::Poisson);
        let all = times(&schedule, 1);
        // 200 000 with a standard deviation of 447.
        assert!(
            (all.len() as f64 - 200_000.0).abs() < 4.0 * 447.2,
            "{}",
            all.len()
        );
        let mut counts = vec![0.0; 2000];
        for at in &all {
            counts[*at as usize] += 1.0;
        }
        let variance = counts.iter().map(|n| (n - 100.0_f64).powi(2)).sum::<f64>() / 2000.0;
        assert!((80.0..120.0).contains(&variance), "{variance}");
        let gaps: Vec<f64> = all.windows(2).map(|two| two[1] - two[0]).collect();
        let long = gaps.iter().filter(|gap| **gap > 0.01).count() as f64 / gaps.len() as f64;
        assert!((long - (-1.0_f64).exp()).abs() < 0.01, "{long}");
    }

    #[test]
    fn a_warm_up_has_the_first_rate() {
        let ramp = paced(
            Pace::Stages(vec![stage(40.0, 2, true)]),
            by_time(1),
            Arrivals::Uniform,
        );
        assert_eq!(times(&ramp.warm_up(Duration::from_secs(2)), 1).len(), 80);
        let level = paced(Pace::Rate(10.0), Amount::Requests(3), Arrivals::Uniform);
        assert_eq!(times(&level.warm_up(Duration::from_secs(2)), 1).len(), 20);
    }
}
