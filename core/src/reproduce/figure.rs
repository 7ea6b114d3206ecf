//! One published figure and what the runs gave for it.

use crate::measure::nearest_rank;
use crate::report::{Row, locust_figures, siege_figures};
use serde::{Serialize, Serializer};

/// Holds a published figure beside the simulated ones.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// Its key, such as `throughput_rps`.
    pub key: String,
    /// What was published.
    pub published: f64,
    /// The mean of the runs; `None` where they have no such figure.
    pub mean: Option<f64>,
    /// One run in twenty is below it.
    pub p5: Option<f64>,
    /// One run in twenty is above it.
    pub p95: Option<f64>,
    /// How far the mean is above the published figure, in percent; `None` where that is nought.
    pub error_pct: Option<f64>,
    /// What is to be said of it.
    pub verdict: Verdict,
}

/// Says how a published figure fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The mean is within 5 % of it.
    Close,
    /// The mean is within 10 % of it.
    Near,
    /// It is within the range that 90 % of the runs are in.
    InRange,
    /// It is outside of all that.
    Off,
    /// No run can give it.
    Impossible,
    /// The simulation has no such figure.
    Unknown,
}

impl Verdict {
    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Close => "within 5 %",
            Self::Near => "within 10 %",
            Self::InRange => "in range",
            Self::Off => "off",
            Self::Impossible => "impossible",
            Self::Unknown => "-",
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.words())
    }
}

/// The error up to which a mean is close to what was published, in percent.
const CLOSE_PCT: f64 = 5.0;

impl Figure {
    /// Tells whether the mean is more than 5 % off.
    pub fn is_far(&self) -> bool {
        self.error_pct.is_some_and(|error| error.abs() > CLOSE_PCT)
    }

    /// The published figures of a row that was run so often.
    pub(super) fn all(runs: &[&Row]) -> Vec<Self> {
        let published = &runs[0].published;
        let has = |key: &str| published.contains_key(key);
        // Which tool measured it shows in what it publishes.
        let figures = |row: &Row, key: &str| match () {
            () if has("median_ms") => pick(&locust_figures(row), key),
            () if has("availability_pct") => pick(&siege_figures(row), key),
            () if key.ends_with("_rps") => row.throughput_rps,
            () => None,
        };
        let figure = |(key, published): (&String, &f64)| {
            let values = runs.iter().filter_map(|row| figures(row, key)).collect();
            Self::of(key, *published, values, runs[0].is_impossible())
        };
        published.iter().map(figure).collect()
    }

    fn of(key: &str, published: f64, mut values: Vec<f64>, is_impossible: bool) -> Self {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let mean = (n > 0).then(|| values.iter().sum::<f64>() / n as f64);
        let error_pct =
            mean.filter(|_| published != 0.0).map(|mean| (mean / published - 1.0) * 100.0);
        let (p5, p95) = (nearest_rank(&values, 0.05), nearest_rank(&values, 0.95));
        let inside = p5.zip(p95).is_some_and(|(low, high)| low <= published && published <= high);
        let verdict = match error_pct.map(f64::abs) {
            _ if is_impossible && key.ends_with("_rps") => Verdict::Impossible,
            _ if mean.is_none() => Verdict::Unknown,
            Some(error) if error <= CLOSE_PCT => Verdict::Close,
            None if inside => Verdict::Close,
            Some(error) if error <= 10.0 => Verdict::Near,
            _ if inside => Verdict::InRange,
            _ => Verdict::Off,
        };
        Self { key: key.to_owned(), published, mean, p5, p95, error_pct, verdict }
    }

    /// Whether 90 % of the runs surround the published figure, to a tenth of a percent.
    pub fn is_in_range(&self) -> bool {
        let (Some(p5), Some(p95)) = (self.p5, self.p95) else { return false };
        p5 <= self.published * 1.001 && self.published * 0.999 <= p95
    }
}

fn pick(figures: &[(&str, f64)], key: &str) -> Option<f64> {
    figures.iter().find(|(name, _)| *name == key).map(|(_, x)| *x)
}
