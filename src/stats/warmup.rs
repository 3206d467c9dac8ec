//! When a server that is loaded from cold has settled: two neighbouring windows of a pilot are alike.

/// Neighbouring windows that differ by at most this share of their mean are alike.
const ALIKE: f64 = 0.02;

/// The second of the first two neighbouring windows that are alike: their rates differ by at most 2 % of their mean. The
/// warm-up ends where that window begins. `per_second` has the successes a second of each window, all of one length, from
/// the beginning of the load. Windows without any success are alike in nothing.
pub fn settled(per_second: &[f64]) -> Option<usize> {
    let alike = |pair: &[f64]| apart(pair).is_some_and(|apart| apart <= ALIKE);
    per_second.windows(2).position(alike).map(|first| first + 1)
}

/// By which share of their mean the last two windows differ; none where there are no two, or nothing succeeded in them.
pub fn still_apart(per_second: &[f64]) -> Option<f64> {
    apart(per_second.last_chunk::<2>()?)
}

/// By which share of their mean two rates differ.
fn apart(pair: &[f64]) -> Option<f64> {
    let [first, second] = pair else { return None };
    let mean = f64::midpoint(*first, *second);
    (mean > 0.0).then(|| (second - first).abs() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// Seconds of a window.
    const WINDOW: usize = 5;
    /// Windows of a pilot of a minute.
    const WINDOWS: usize = 12;

    fn normal(source: &mut fastrand::Rng) -> f64 {
        let (a, b) = (1.0 - source.f64(), source.f64());
        (-2.0 * a.ln()).sqrt() * (TAU * b).cos()
    }

    /// The warm-up, in seconds, that is found where the server's speed at a second is this share of its last one.
    fn found(speed: impl Fn(f64) -> f64, mut noise: impl FnMut() -> f64) -> Option<usize> {
        let second = |at: usize| 1000.0 * speed(at as f64 + 0.5) * (1.0 + noise());
        let seconds: Vec<f64> = (0..WINDOW * WINDOWS).map(second).collect();
        let mean = |window: &[f64]| window.iter().sum::<f64>() / WINDOW as f64;
        let windows: Vec<f64> = seconds.chunks(WINDOW).map(mean).collect();
        settled(&windows).map(|window| window * WINDOW)
    }

    #[test]
    fn the_warm_up_ends_where_the_second_of_two_windows_that_are_alike_begins() {
        assert_eq!(settled(&[100.0, 102.0]), Some(1));
        assert_eq!(settled(&[100.0, 102.1]), None);
        assert_eq!(settled(&[50.0, 80.0, 100.0, 101.0, 200.0]), Some(3));
        assert_eq!(settled(&[100.0]), None);
        assert_eq!(settled(&[]), None);
    }

    #[test]
    fn what_does_not_answer_has_not_settled() {
        assert_eq!(settled(&[0.0, 0.0, 0.0]), None);
        assert_eq!(settled(&[0.0, 0.0, 70.0, 70.0]), Some(3));
        assert_eq!(still_apart(&[0.0, 0.0]), None);
        assert_eq!(still_apart(&[7.0]), None);
        assert_eq!(still_apart(&[9.0, 90.0, 110.0]), Some(0.2));
    }

    #[test]
    fn a_slow_exponential_warm_up_is_waited_for() {
        // Half its speed at first, and the rest with a time constant of 10 s.
        let slow = |second: f64| 1.0 - 0.5 * (-second / 10.0).exp();
        let warm = found(slow, || 0.0).unwrap();
        // Less than 2 % of its speed is still to come.
        assert!(slow(warm as f64) > 0.96, "{warm}");
        assert!((15..=40).contains(&warm), "{warm}");
    }

    #[test]
    fn a_step_between_two_windows_is_waited_for() {
        // The usual engine: interpreted for 2 s, compiled once, and well from the eighth second on.
        let steps = |second: f64| match second {
            ..2.0 => 0.4,
            ..8.0 => 0.8,
            _ => 1.0,
        };
        assert_eq!(found(steps, || 0.0), Some(15));
    }

    #[test]
    fn a_level_of_two_windows_is_taken_for_the_last_one() {
        // Which is why each trial is judged as well.
        let steps = |second: f64| if second < 12.0 { 0.8 } else { 1.0 };
        assert_eq!(found(steps, || 0.0), Some(5));
    }

    #[test]
    fn a_steady_server_with_noise_settles() {
        // The means of 5 s at a spread of 2 % differ by 1.3 %: with 12 windows nearly every pilot finds two that are alike.
        let mut source = fastrand::Rng::with_seed(7);
        let pilots = 2000;
        let (mut never, mut at_once) = (0, 0);
        for _ in 0..pilots {
            match found(|_| 1.0, || 0.02 * normal(&mut source)) {
                None => never += 1,
                Some(WINDOW) => at_once += 1,
                Some(_) => {}
            }
        }
        assert_eq!(never, 0);
        assert!(at_once * 100 > pilots * 80, "{at_once} of {pilots}");
    }

    #[test]
    fn a_server_that_grows_slower_never_settles() {
        assert_eq!(found(|second| 1.0 / (1.0 + second / 20.0), || 0.0), None);
    }
}
