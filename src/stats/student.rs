//! Student's t-test of two groups of values with a common variance.
//!
//! Sources: Student, *The probable error of a mean*, Biometrika 6 (1908); the tail of its distribution by the regularised
//! incomplete beta function, *NIST Digital Library of Mathematical Functions*, 8.17.22 (continued fraction, evaluated by
//! Lentz's method).

/// The mean of values; 0 of none.
pub(super) fn mean(values: &[f64]) -> f64 {
    match values.len() {
        0 => 0.0,
        n => values.iter().sum::<f64>() / n as f64,
    }
}

/// The two-sided p that two groups have the same mean. `taken_off` is what is taken off the number of values where a
/// variance is made of their squares: 1 is right; 0 is what Apache Otava does. 1 where there is nothing to judge by: fewer
/// than three values, or no difference and no spread.
pub(super) fn t_test(left: &[f64], right: &[f64], taken_off: usize) -> f64 {
    let (n, m) = (left.len(), right.len());
    if n == 0 || m == 0 || n + m < 3 {
        return 1.0;
    }
    let freedom = n + m - 2;
    let weighed = |values: &[f64]| {
        let own = mean(values);
        let squares: f64 = values.iter().map(|value| (value - own).powi(2)).sum();
        match values.len() {
            0 | 1 => 0.0,
            n => squares / (n - taken_off) as f64 * (n - 1) as f64,
        }
    };
    let variance = (weighed(left) + weighed(right)) / freedom as f64;
    let error = (variance * (1.0 / n as f64 + 1.0 / m as f64)).sqrt();
    let difference = mean(left) - mean(right);
    if difference == 0.0 {
        return 1.0;
    }
    tail((difference / error).abs(), freedom)
}

/// How probable a |t| is that is at least as large as this, with so many degrees of freedom.
fn tail(t: f64, freedom: usize) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    let nu = freedom as f64;
    incomplete_beta(nu / (nu + t * t), freedom)
}

/// The regularised incomplete beta function of x for a = `freedom` / 2 and b = 1/2.
fn incomplete_beta(x: f64, freedom: usize) -> f64 {
    let (a, b) = (freedom as f64 / 2.0, 0.5);
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = x.powf(a) * (1.0 - x).powf(b) / beta(freedom);
    // The fraction converges fast on this side only.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// B(`freedom` / 2, 1/2), by Γ(z + 1) = z Γ(z) from Γ(1/2) = √π and Γ(1) = 1.
fn beta(freedom: usize) -> f64 {
    use std::f64::consts::PI;
    // B(1/2, 1/2) = π and B(1, 1/2) = 2; a step of 1 in a multiplies by a / (a + 1/2).
    let (first, mut value) = if freedom % 2 == 1 { (1, PI) } else { (2, 2.0) };
    for twice in (first..freedom).step_by(2) {
        let a = twice as f64 / 2.0;
        value *= a / (a + 0.5);
    }
    value
}

/// The continued fraction of the incomplete beta function.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const STEPS: u32 = 500;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = below;
    for step in 1..=STEPS {
        let step = f64::from(step);
        let twice = 2.0 * step;
        let even = step * (b - step) * x / ((a + twice - 1.0) * (a + twice));
        let odd = -(a + step) * (a + b + step) * x / ((a + twice) * (a + twice + 1.0));
        let mut by = 1.0;
        for term in [even, odd] {
            below = 1.0 / away_from_zero(1.0 + term * below);
            above = away_from_zero(1.0 + term / above);
            by = below * above;
            value *= by;
        }
        if (by - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of t tables: the two-sided p of t with so many degrees of freedom.
    #[test]
    fn tails_are_those_of_the_tables() {
        for (t, freedom, p) in [
            (12.706_204_736, 1, 0.05),
            (4.302_652_73, 2, 0.05),
            (2.570_581_836, 5, 0.05),
            (3.169_272_673, 10, 0.01),
            (2.750_0, 30, 0.01),
            (3.659_6, 29, 0.001),
            (3.390_49, 100, 0.001),
        ] {
            let got = tail(t, freedom);
            assert!((got / p - 1.0).abs() < 1e-3, "{t} {freedom}: {got}");
        }
        assert!((tail(0.0, 7) - 1.0).abs() < 1e-12);
        assert!(tail(f64::INFINITY, 7).abs() < 1e-300);
    }

    #[test]
    fn what_cannot_be_judged_has_no_difference() {
        assert!((t_test(&[1.0], &[2.0], 1) - 1.0).abs() < 1e-12);
        assert!((t_test(&[2.0, 2.0], &[2.0], 1) - 1.0).abs() < 1e-12);
        assert!(t_test(&[2.0, 2.0], &[3.0], 1) < 1e-12);
    }
}
