//! The tables of statistics, computed: Student's quantiles and the tail of chi-squared.
//!
//! `interval` and `imbalance` call it. All functions are `libm`'s, so that a report is the same to the
//! byte everywhere; the platform's logarithms are not.

/// Terms and halvings, at most; each converges long before.
const STEPS_MAX: u32 = 10_000;

/// Gives the value that Student's distribution with so many degrees of freedom, at least 1, is below
/// with probability `p`, 0.5 to 0.9999.
pub(super) fn student_quantile(p: f64, freedom: u64) -> f64 {
    // The CDF grows, so halving finds it, to the last digit.
    let (mut low, mut high) = (0.0, 1.0);
    while student_between(high, freedom) < 2.0 * p - 1.0 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..STEPS_MAX {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if student_between(middle, freedom) < 2.0 * p - 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The probability that Student's t is between `-t` and `t`, a finite sum where the degrees of freedom
/// are whole (Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4).
fn student_between(t: f64, freedom: u64) -> f64 {
    let root = libm::sqrt(freedom as f64);
    let angle = libm::atan(t / root);
    // cos^2 and sin of the angle, of which tan is t / root.
    let cos2 = freedom as f64 / (freedom as f64 + t * t);
    let sin = t / libm::sqrt(freedom as f64 + t * t);
    let is_odd = freedom % 2 == 1;
    if freedom == 1 {
        return angle * std::f64::consts::FRAC_2_PI;
    }
    let mut term = if is_odd { libm::sqrt(cos2) } else { 1.0 };
    let mut sum = term;
    // Odd: cos + 2/3 cos^3 + 2 4/(3 5) cos^5 + ..., even: 1 + 1/2 cos^2 + 1 3/(2 4) cos^4 + ...
    let mut k = if is_odd { 3 } else { 2 };
    while k + 2 <= freedom {
        term *= cos2 * (k - 1) as f64 / k as f64;
        sum += term;
        k += 2;
    }
    if is_odd { std::f64::consts::FRAC_2_PI * (angle + sin * sum) } else { sin * sum }
}

/// Gives the probability that chi-squared with so many degrees of freedom, above 0, is `x` or more:
/// the upper incomplete gamma function, by its series below the mean and by Lentz's continued fraction
/// above it (Abramowitz and Stegun, 6.5.29 and 6.5.31).
pub(super) fn chi_squared_tail(x: f64, freedom: f64) -> f64 {
    let (a, x) = (freedom / 2.0, x / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let scale = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        // As many terms as the sum's width needs, a few of its standard deviations.
        for n in 1..STEPS_MAX * 100 {
            term *= x / (a + f64::from(n));
            sum += term;
            if term < sum * f64::EPSILON {
                break;
            }
        }
        return (1.0 - scale * sum).clamp(0.0, 1.0);
    }
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (f64::MAX, 1.0 / b);
    let mut fraction = d;
    for n in 1..STEPS_MAX * 100 {
        let n = f64::from(n);
        let numerator = -n * (n - a);
        b += 2.0;
        d = 1.0 / nonzero(numerator * d + b);
        c = nonzero(b + numerator / c);
        let step = c * d;
        fraction *= step;
        if (step - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    (scale * fraction).clamp(0.0, 1.0)
}

fn nonzero(x: f64) -> f64 {
    if x.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 97.5th percentiles of the tables, and those of two closed forms.
    #[test]
    fn student_is_that_of_the_tables() {
        for (freedom, expected) in [
            (1, 12.706_204_736_432_1),
            (2, 4.302_652_729_911_28),
            (3, 3.182_446_305_284_26),
            (4, 2.776_445_105_197_79),
            (5, 2.570_581_835_636_31),
            (9, 2.262_157_162_740_99),
            (10, 2.228_138_851_964_94),
            (19, 2.093_024_054_408_26),
            (30, 2.042_272_456_301_24),
            (99, 1.984_216_951_508_68),
            (100, 1.983_971_518_523_55),
            (999, 1.962_341_461_131_06),
        ] {
            let quantile = student_quantile(0.975, freedom);
            assert!((quantile / expected - 1.0).abs() < 1e-10, "{freedom}: {quantile}");
        }
        // tan(pi (p - 1/2)), and (2 p - 1) sqrt(2 / (1 - (2 p - 1)^2)).
        for p in [0.6, 0.9, 0.995] {
            let one = libm::tan(std::f64::consts::PI * (p - 0.5));
            assert!((student_quantile(p, 1) / one - 1.0).abs() < 1e-12, "{p}");
            let x: f64 = 2.0 * p - 1.0;
            let two = x * libm::sqrt(2.0 / (1.0 - x * x));
            assert!((student_quantile(p, 2) / two - 1.0).abs() < 1e-12, "{p}");
        }
    }

    #[test]
    fn chi_squared_is_that_of_the_tables() {
        for (freedom, x) in [
            (1.0, 10.827_566_170_662_7),
            (2.0, 13.815_510_557_964_3),
            (3.0, 16.266_236_196_238_1),
            (5.0, 20.515_005_652_432_9),
            (10.0, 29.588_298_445_074_4),
            (30.0, 59.703_064_304_429_9),
            (100.0, 149.449_252_779_04),
        ] {
            let tail = chi_squared_tail(x, freedom);
            assert!((tail / 0.001 - 1.0).abs() < 1e-8, "{freedom}: {tail}");
        }
        // Two degrees are exponential, four have one term more.
        for x in [0.1, 1.0, 2.9, 3.1, 50.0, 1000.0] {
            let two = libm::exp(-x / 2.0);
            assert!((chi_squared_tail(x, 2.0) - two).abs() <= two * 1e-11 + 1e-15, "{x}");
            let four = two * (1.0 + x / 2.0);
            assert!((chi_squared_tail(x, 4.0) - four).abs() <= four * 1e-11 + 1e-15, "{x}");
        }
        assert_eq!(chi_squared_tail(0.0, 3.0), 1.0);
        assert_eq!(chi_squared_tail(1e9, 3.0), 0.0);
        // A million of them are as good as normal: the median is close below the mean.
        let median = chi_squared_tail(1e6 - 0.67, 1e6);
        assert!((median - 0.5).abs() < 1e-3, "{median}");
    }
}
