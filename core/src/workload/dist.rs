//! Distributions of a duration: constant, exponential, log-normal, or recorded.
//!
//! Every timed step holds one; `ops::cursor` draws from it. A draw is a whole number of
//! nanoseconds, at most 24 hours.

use super::duration;
use crate::clock;
use crate::error::{Error, Mistake};
use crate::random::Stream;
use crate::value::{Node, Value};
use std::sync::Arc;
use std::time::Duration;

/// The most recorded durations in one empirical distribution.
pub const EMPIRICAL_MAX: usize = 100_000;

/// The largest sigma of a log-normal: its mean is then 3,000 times its median already.
pub const SIGMA_MAX: f64 = 4.0;

const EXPECTED: &str = "a duration from 0ns to 24h with a unit, such as \"100ms\", \
     or \"exp(100ms)\", \"lognormal(80ms, 0.5)\" (sigma 0 to 4), { empirical = [\"1ms\", ...] }";

/// How long something takes.
///
/// As text: `"2ms"`, `"exp(100ms)"`, `"lognormal(80ms, 0.5)"`, or a table
/// `{ empirical = ["1ms", "2ms"] }`.
#[derive(Debug, Clone, PartialEq)]
pub enum Dist {
    /// Always the same.
    Constant(Duration),
    /// Exponential: no memory, deviation equal to the mean.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Log-normal: the logarithm is normal; a long tail to the right.
    LogNormal {
        /// Half of the draws are below it.
        median: Duration,
        /// The deviation of the logarithm, 0 to 4.
        sigma: f64,
    },
    /// One of the recorded durations, each as likely as the next; 1 to 100,000 of them.
    Empirical(Arc<[Duration]>),
}

/// Makes an exponential distribution of the given mean.
pub fn exp(mean: Duration) -> Dist {
    Dist::Exponential { mean }
}

/// Makes a log-normal distribution; `sigma` is the deviation of the logarithm, 0 to 4.
pub fn lognormal(median: Duration, sigma: f64) -> Dist {
    Dist::LogNormal { median, sigma }
}

/// Makes a distribution of recorded durations.
///
/// # Errors
/// None, more than 100,000, or one longer than 24 hours.
pub fn empirical(durations: impl IntoIterator<Item = Duration>) -> Result<Dist, Error> {
    let dist = Dist::Empirical(durations.into_iter().take(EMPIRICAL_MAX + 1).collect());
    Node::read_all(&dist.to_value(), "", Dist::read)
}

impl Dist {
    /// Reads the distribution at a place of a document.
    pub fn read(node: &Node<'_>) -> Option<Self> {
        match node.value() {
            Value::Text(text) => node.note(parse(text)),
            Value::Table(_) => {
                let fields = node.table(&["empirical"])?;
                let node = fields.need("empirical", "a list of durations")?;
                let items = node.list("a list of durations")?;
                if items.is_empty() || items.len() > EMPIRICAL_MAX {
                    return node.refuse(format!("1 to {EMPIRICAL_MAX} durations"));
                }
                let durations: Vec<_> = items.iter().map(duration::read).collect();
                Some(Self::Empirical(durations.into_iter().collect::<Option<_>>()?))
            }
            _ => node.refuse(EXPECTED),
        }
    }

    /// Draws one duration. A constant takes nothing from the stream.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> Duration {
        match self {
            Self::Constant(d) => *d,
            Self::Exponential { mean } => of_ns(ns_of(*mean) * stream.exponential()),
            Self::LogNormal { median, sigma } => {
                of_ns(ns_of(*median) * libm::exp(sigma * stream.normal()))
            }
            Self::Empirical(durations) => {
                durations.get(stream.below(durations.len())).copied().unwrap_or_default()
            }
        }
    }

    /// Computes the mean of the draws, with their limit of 24 hours taken into account.
    pub fn mean(&self) -> Duration {
        match self {
            Self::Constant(d) => *d,
            _ => of_ns(self.mean_ns()),
        }
    }

    /// Writes the value that [`Dist::read`] reads back.
    pub fn to_value(&self) -> Value {
        let print = |d: &Duration| duration::print(*d);
        match self {
            Self::Constant(d) => Value::Text(print(d)),
            Self::Exponential { mean } => Value::Text(format!("exp({})", print(mean))),
            Self::LogNormal { median, sigma } => {
                Value::Text(format!("lognormal({}, {sigma})", print(median)))
            }
            Self::Empirical(durations) => {
                let items = durations.iter().map(|d| Value::Text(print(d))).collect();
                Value::table([("empirical", Value::List(items))])
            }
        }
    }

    /// The mean before it is rounded, so that a million of them add up well.
    pub(super) fn mean_ns(&self) -> f64 {
        let cap = ns_of(duration::MAX);
        match self {
            Self::Constant(d) => ns_of(*d),
            Self::Exponential { mean } if mean.is_zero() => 0.0,
            Self::Exponential { mean } => {
                // E[min(X, c)] = m (1 - exp(-c/m)).
                let mean = ns_of(*mean);
                -mean * libm::expm1(-cap / mean)
            }
            Self::LogNormal { median, sigma } if median.is_zero() || *sigma == 0.0 => {
                ns_of(*median)
            }
            Self::LogNormal { median, sigma } => {
                // E[min(X, c)] = E[X; X < c] + c P(X >= c), with z the cap's standard score.
                let median = ns_of(*median);
                let z = libm::log(cap / median) / sigma;
                median * libm::exp(sigma * sigma / 2.0) * below(z - sigma) + cap * below(-z)
            }
            Self::Empirical(durations) => {
                durations.iter().map(|d| ns_of(*d)).sum::<f64>() / durations.len().max(1) as f64
            }
        }
    }

    /// How many recorded durations it holds.
    pub(super) fn samples(&self) -> u64 {
        match self {
            Self::Empirical(durations) => durations.len() as u64,
            _ => 0,
        }
    }
}

impl From<Duration> for Dist {
    fn from(duration: Duration) -> Self {
        Self::Constant(duration)
    }
}

fn parse(text: &str) -> Result<Dist, Mistake> {
    let dist = match arguments(text) {
        None => duration::parse(text).ok().map(Dist::Constant),
        Some(("exp", mean)) => duration::parse(mean).ok().map(exp),
        Some(("lognormal", arguments)) => parse_lognormal(arguments),
        Some(_) => None,
    };
    dist.ok_or_else(|| Mistake::new("", format!("\"{text}\""), EXPECTED))
}

fn parse_lognormal(arguments: &str) -> Option<Dist> {
    let (median, sigma) = arguments.split_once(',')?;
    let median = duration::parse(median.trim()).ok()?;
    let sigma: f64 = sigma.trim().parse().ok()?;
    (0.0..=SIGMA_MAX).contains(&sigma).then(|| lognormal(median, sigma))
}

/// Splits `name(arguments)`.
fn arguments(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('(')?;
    Some((name.trim(), rest.strip_suffix(')')?.trim()))
}

fn ns_of(duration: Duration) -> f64 {
    // No duration of a workload is longer than a day.
    clock::nanos(duration) as f64
}

fn of_ns(ns: f64) -> Duration {
    // To the nearest; no draw is negative.
    Duration::from_nanos((ns + 0.5) as u64).min(duration::MAX)
}

/// The probability that a standard normal is below `z`.
fn below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / core::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::duration::{ms, secs};

    fn check(text: &str, expected: Option<Dist>) {
        assert_eq!(parse(text).ok(), expected, "{text}");
    }

    /// Within four standard errors, given the deviation of one draw.
    fn check_mean(dist: &Dist, deviation_ns: f64) {
        const DRAWS: u32 = 100_000;
        let mut stream = Stream::new(3, "dist", 0);
        let sum: f64 = (0..DRAWS).map(|_| ns_of(dist.draw(&mut stream))).sum();
        let off = (sum / f64::from(DRAWS) - ns_of(dist.mean())).abs();
        assert!(off < 4.0 * deviation_ns / f64::from(DRAWS).sqrt(), "{dist:?} is off by {off} ns");
    }

    #[test]
    fn text_is_read() {
        check("2ms", Some(ms(2).into()));
        check("exp(100ms)", Some(exp(ms(100))));
        check("exp( 100ms )", Some(exp(ms(100))));
        check("lognormal(80ms, 0.5)", Some(lognormal(ms(80), 0.5)));
        check("lognormal(80ms,4)", Some(lognormal(ms(80), 4.0)));
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for text in [
            "",
            "exp",
            "exp()",
            "exp(1)",
            "exp(1ms",
            "exp(1ms))",
            "(1ms)",
            "normal(1ms)",
            "lognormal(1ms)",
            "lognormal(1ms, 4.1)",
            "lognormal(1ms, -0.1)",
            "lognormal(1ms, NaN)",
            "lognormal(1ms, inf)",
            "lognormal(1ms, 0.5, 1)",
            "exp(25h)",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn means_are_those_of_the_draws() {
        check_mean(&exp(ms(1)), 1e6);
        check_mean(&lognormal(ms(1), 0.5), 1e6);
        check_mean(&empirical([ms(1), ms(2), ms(6)]).unwrap(), 3e6);
        check_mean(&ms(5).into(), 1.0);
        assert_eq!(exp(ms(100)).mean(), ms(100));
    }

    #[test]
    fn means_know_of_the_limit_of_a_day() {
        check_mean(&exp(secs(80_000)), 4e13);
        check_mean(&lognormal(secs(3_600), 4.0), 4e13);
        assert!(lognormal(duration::MAX, 4.0).mean() < duration::MAX);
        assert_eq!(lognormal(Duration::ZERO, 4.0).mean(), Duration::ZERO);
        assert_eq!(exp(Duration::ZERO).mean(), Duration::ZERO);
    }

    #[test]
    fn recorded_durations_are_one_to_a_hundred_thousand() {
        let error = empirical([]).unwrap_err().to_string();
        assert_eq!(error, "empirical: a list of 0 is not allowed, expected 1 to 100000 durations");
        assert!(empirical(std::iter::repeat(ms(1))).is_err());
        let error = empirical([ms(1), secs(100_000)]).unwrap_err().to_string();
        assert!(error.starts_with("empirical[1]: \"100000s\" is not allowed"), "{error}");
    }
}
