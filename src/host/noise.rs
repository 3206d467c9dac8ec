//! How evenly the processors work: each does the same piece of work again and again, and nothing else is asked of the machine.

use serde::Serialize;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// How long a piece of work takes, about.
const PIECE: Duration = Duration::from_millis(1);
/// How many stretches of time are compared with each other.
const STRETCHES: usize = 10;
/// Turns of the loop before its speed is measured, and while it is.
const WARMUP_TURNS: u64 = 2_000_000;
const TRIES: usize = 15;

/// What the loop showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Noise {
    /// Threads that worked, one for each processor that may be used.
    pub threads: usize,
    /// How long it lasted.
    pub took_ns: u64,
    /// The median of the times of equal pieces of work.
    pub piece_ns: u64,
    /// The coefficient of variation of these times: the standard deviation as a share of the mean.
    pub piece_variation: f64,
    /// The same of the machine's whole speed in ten stretches of equal length.
    pub speed_variation: f64,
    /// How much longer than the median the slowest piece took: the longest time that a thread was kept from working.
    pub longest_pause_ns: u64,
}

/// Works for `time` on every processor that may be used.
pub fn noise(time: Duration) -> Noise {
    let threads = super::effective_cpus();
    let turns = calibrated();
    let began = Instant::now();
    let all: Vec<Vec<Piece>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(move || pieces(turns, began, time)))
            .collect();
        // A thread that does arithmetic does not panic.
        workers
            .into_iter()
            .filter_map(|worker| worker.join().ok())
            .collect()
    });
    told(&all, time)
}

/// When a piece ended, since the beginning, and how long it took.
#[derive(Debug, Clone, Copy)]
struct Piece {
    end_ns: u64,
    took_ns: u64,
}

fn pieces(turns: u64, began: Instant, time: Duration) -> Vec<Piece> {
    let most = time.as_nanos() / (PIECE.as_nanos() / 2);
    // Room for all, so that nothing of it is waited for on the way.
    let mut all = Vec::with_capacity(usize::try_from(most).unwrap_or(0));
    let mut at = began.elapsed();
    while at < time {
        work(turns);
        let now = began.elapsed();
        all.push(Piece {
            end_ns: nanos(now),
            took_ns: nanos(now.saturating_sub(at)),
        });
        at = now;
    }
    all
}

/// A chain of multiplications: no memory, no system call, each needs the one before.
fn work(turns: u64) {
    let mut value = turns | 1;
    for _ in 0..turns {
        value = black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7));
    }
    black_box(value);
}

/// So many turns take about a piece's time, by the quickest of some tries.
fn calibrated() -> u64 {
    work(WARMUP_TURNS);
    let tried = WARMUP_TURNS / 20;
    let quickest = (0..TRIES).map(|_| {
        let began = Instant::now();
        work(tried);
        began.elapsed().as_nanos()
    });
    let quickest = quickest.min().unwrap_or(1).max(1);
    let turns = u128::from(tried) * PIECE.as_nanos() / quickest;
    u64::try_from(turns).unwrap_or(tried).max(1)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What the pieces of all threads tell.
fn told(all: &[Vec<Piece>], time: Duration) -> Noise {
    let mut times: Vec<u64> = all.iter().flatten().map(|piece| piece.took_ns).collect();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or(0);
    let plain: Vec<f64> = times.iter().map(|time| *time as f64).collect();
    let stretch = nanos(time) / STRETCHES as u64;
    // The work that was done in a stretch: whole pieces, and of those that began or ended outside the share inside.
    let speeds: Vec<f64> = (0..STRETCHES as u64)
        .map(|at| at * stretch)
        .map(|from| {
            all.iter()
                .flatten()
                .map(|piece| piece.inside(from, from + stretch))
                .sum()
        })
        .collect();
    Noise {
        threads: all.len(),
        took_ns: nanos(time),
        piece_ns: median,
        piece_variation: variation(&plain),
        speed_variation: variation(&speeds),
        longest_pause_ns: times.last().copied().unwrap_or(0) - median,
    }
}

impl Piece {
    /// The share of it that lies in a stretch.
    fn inside(self, from: u64, to: u64) -> f64 {
        let start = self.end_ns.saturating_sub(self.took_ns);
        let common = self.end_ns.min(to).saturating_sub(start.max(from));
        common as f64 / self.took_ns.max(1) as f64
    }
}

/// The coefficient of variation, with n − 1 degrees of freedom.
fn variation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 || mean <= 0.0 {
        return 0.0;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread whose pieces take these milliseconds, one behind the other.
    fn thread_of(times: &[u64]) -> Vec<Piece> {
        let mut end = 0;
        let piece = |ms: &u64| {
            end += ms * 1_000_000;
            Piece {
                end_ns: end,
                took_ns: ms * 1_000_000,
            }
        };
        times.iter().map(piece).collect()
    }

    #[test]
    fn even_work_has_no_variation_and_no_pause() {
        let noise = told(
            &[thread_of(&[1; 100]), thread_of(&[1; 100])],
            Duration::from_millis(100),
        );
        assert_eq!(
            (noise.threads, noise.piece_ns, noise.longest_pause_ns),
            (2, 1_000_000, 0)
        );
        assert!(noise.piece_variation < 1e-9 && noise.speed_variation < 1e-9);
    }

    #[test]
    fn a_pause_is_seen_in_its_piece_and_in_its_stretch() {
        let mut times = vec![1; 90];
        times[40] = 11;
        let noise = told(&[thread_of(&times)], Duration::from_millis(100));
        assert_eq!(noise.longest_pause_ns, 10_000_000);
        // 89 of 1 ms and one of 11: mean 1.111, deviation 1.054.
        assert!(
            (noise.piece_variation - 0.9487).abs() < 1e-3,
            "{}",
            noise.piece_variation
        );
        // Nine stretches with 10 pieces, one with its 1 ms of the long piece: 10/11 and 0 pieces.
        assert!(noise.speed_variation > 0.3, "{}", noise.speed_variation);
    }

    #[test]
    fn a_machine_that_is_half_as_fast_in_half_of_the_time_varies_by_a_third() {
        let times: Vec<u64> = [vec![1; 50], vec![2; 25]].concat();
        let noise = told(&[thread_of(&times)], Duration::from_millis(100));
        // Speeds 10 and 5 by five stretches each: deviation 2.635, mean 7.5.
        assert!(
            (noise.speed_variation - 0.3514).abs() < 1e-3,
            "{}",
            noise.speed_variation
        );
    }

    #[test]
    fn the_loop_itself_runs_on_every_processor() {
        let noise = noise(Duration::from_millis(60));
        assert_eq!(noise.threads, super::super::effective_cpus());
        assert!(noise.piece_ns > 0);
        assert!(noise.speed_variation.is_finite());
    }
}
