//! `locust`: the summary Locust 2.46 would print for the same answers.
//!
//! Its rules are kept (`SEMANTICS.md`, section 10.1): failures count among the requests and in the
//! percentiles; percentiles, the median too, are of rounded times; requests per second are those up
//! to the last answer, not to the end of the run. Differs from Locust: a time
//! within 0.05 % of the edge between two rounded values may fall to the other one, since the
//! histogram keeps 3 digits.

use crate::measure::figure::millis;
use crate::measure::{EndpointRecording, Histogram};
use crate::report::{Report, Row};
use std::collections::BTreeMap;
use std::time::Duration;

/// The percentiles of Locust's second table, as it heads them.
const PERCENTILES: [(&str, f64); 11] = [
    ("50%", 0.50),
    ("66%", 0.66),
    ("75%", 0.75),
    ("80%", 0.80),
    ("90%", 0.90),
    ("95%", 0.95),
    ("98%", 0.98),
    ("99%", 0.99),
    ("99.9%", 0.999),
    ("99.99%", 0.9999),
    ("100%", 1.0),
];

pub(super) fn render(report: &Report) -> String {
    let sections: Vec<_> = report.rows.iter().map(section).collect();
    sections.join("\n")
}

/// The figures of all endpoints together, by the keys that published ones have here.
pub(crate) fn figures(row: &Row) -> [(&'static str, f64); 6] {
    let entry = Entry::of(&row.overall);
    let whole = |time: Option<Duration>| time.unwrap_or_default().as_millis() as f64;
    let seconds = row.last_answer.as_secs_f64();
    let rate = if seconds > 0.0 { entry.requests as f64 / seconds } else { 0.0 };
    [
        ("requests", entry.requests as f64),
        ("avg_ms", whole(entry.times.mean())),
        ("min_ms", whole(entry.times.min())),
        ("max_ms", whole(entry.times.max())),
        ("median_ms", percentile(&entry.rounded, 0.5) as f64),
        ("throughput_rps", rate),
    ]
}

fn section(row: &Row) -> String {
    let entries: Vec<_> = row.recorded.iter().map(|e| (e.name.as_str(), e)).collect();
    let aggregated = [("Aggregated", &row.overall)];
    let width = entries.iter().chain(&aggregated).map(|(name, _)| name.chars().count());
    let width = width.max().unwrap_or_default();
    let summary = |(name, e): &(&str, &EndpointRecording)| {
        format!("{name:<width$} {}\n", Entry::of(e).summary(row.last_answer))
    };
    let percentiles = |(name, e): &(&str, &EndpointRecording)| {
        format!("{name:<width$} {}\n", Entry::of(e).percentiles())
    };
    let heads: String = PERCENTILES.iter().map(|(head, _)| format!(" {head:>7}")).collect();
    [
        format!("{}\n", row.title()),
        format!(
            "{:<width$} {:>7} {:>15} | {:>7} {:>7} {:>7} {:>7} | {:>8} {:>11}\n",
            "Name", "# reqs", "# fails", "Avg", "Min", "Max", "Med", "req/s", "failures/s"
        ),
        entries.iter().chain(&aggregated).map(summary).collect(),
        "Response time percentiles (approximated)\n".to_owned(),
        format!("{:<width$}{heads} {:>7}\n", "Name", "# reqs"),
        entries.iter().chain(&aggregated).map(percentiles).collect(),
    ]
    .concat()
}

/// What Locust keeps of one endpoint.
struct Entry {
    requests: u64,
    failures: u64,
    /// Successes and failures alike.
    times: Histogram,
    rounded: BTreeMap<u64, u64>,
}

impl Entry {
    fn of(endpoint: &EndpointRecording) -> Self {
        let mut times = endpoint.latency.clone();
        times.merge(&endpoint.failed_latency);
        let mut rounded = BTreeMap::new();
        for (time, n) in times.buckets() {
            *rounded.entry(rounded_ms(time)).or_default() += n;
        }
        Self { requests: endpoint.requests(), failures: endpoint.failures(), times, rounded }
    }

    fn summary(&self, last_answer: Duration) -> String {
        let whole = |time: Option<Duration>| time.unwrap_or_default().as_millis();
        let seconds = last_answer.as_secs_f64();
        let rate = |n: u64| {
            if seconds > 0.0 { n as f64 / seconds } else { 0.0 }
        };
        let fails_pct = 100.0 * self.failures as f64 / self.requests.max(1) as f64;
        format!(
            "{:>7} {:>15} | {:>7} {:>7} {:>7} {:>7} | {:>8.2} {:>11.2}",
            self.requests,
            format!("{}({fails_pct:.2}%)", self.failures),
            whole(self.times.mean()),
            whole(self.times.min()),
            whole(self.times.max()),
            percentile(&self.rounded, 0.5),
            rate(self.requests),
            rate(self.failures),
        )
    }

    fn percentiles(&self) -> String {
        let values = PERCENTILES.map(|(_, p)| format!("{:>7}", percentile(&self.rounded, p)));
        format!("{} {:>7}", values.join(" "), self.requests)
    }
}

/// A time as Locust keeps it for percentiles, in ms: two digits, whole below 100 ms; ties go to the
/// even one, as Python rounds.
fn rounded_ms(time: Duration) -> u64 {
    let ms = millis(time);
    let unit = match ms {
        ..100.0 => 1.0,
        ..1_000.0 => 10.0,
        ..10_000.0 => 100.0,
        _ => 1_000.0,
    };
    ((ms / unit).round_ties_even() * unit) as u64
}

/// The largest rounded time that at most floor(n p) of the n times are below; 0 of none.
fn percentile(rounded: &BTreeMap<u64, u64>, p: f64) -> u64 {
    let n: u64 = rounded.values().sum();
    let allowed = (n as f64 * p) as u64;
    let mut below = n;
    for (time, count) in rounded.iter().rev() {
        below -= count;
        if below <= allowed {
            return *time;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, ms, recording, shape};
    use crate::report::view::samples::{all_failed, report, slow_io};

    #[test]
    fn times_are_rounded_as_locust_does() {
        for (time_us, rounded) in [
            (94_400, 94),
            (99_600, 100),
            (104_900, 100),
            (105_100, 110),
            (985_000, 980),
            (3_052_000, 3_100),
            (9_477_000, 9_500),
            (12_161_000, 12_000),
        ] {
            assert_eq!(rounded_ms(Duration::from_micros(time_us)), rounded, "{time_us}");
        }
    }

    #[test]
    fn a_percentile_is_the_largest_value_with_few_enough_below() {
        let values = BTreeMap::from([(10, 50), (20, 40), (30, 10)]);
        // 50 of 100 are below 20, which floor(100 x 0.5) allows.
        assert_eq!(percentile(&values, 0.5), 20);
        assert_eq!(percentile(&values, 0.49), 10);
        assert_eq!(percentile(&values, 0.9), 30);
        assert_eq!(percentile(&values, 1.0), 30);
        assert_eq!(percentile(&BTreeMap::new(), 0.5), 0);
    }

    #[test]
    fn mean_minimum_and_maximum_are_exact_and_the_median_is_rounded() {
        let mut io = endpoint("io", 56, 9_449);
        io.latency.record(ms(12_161));
        let line = Entry::of(&io).summary(ms(57_000));
        assert_eq!(
            line,
            "     57        0(0.00%) |    9496    9449   12161    9400 |     1.00        0.00"
        );
    }

    #[test]
    fn a_rate_is_of_the_time_to_the_last_answer() {
        // A minute of three threads and 3 s: the last of 57 answers comes at 57.6 s, and Locust
        // printed 0.99, not 0.95 (examples/reference/puma-locust-2026.toml).
        let mut run = recording(60_000, vec![endpoint("io", 57, 9_477)]);
        run.last_answer = ms(57_600);
        let row = Row::of("puma", &shape(0, 3), &[run], &[]);
        assert!(section(&row).contains(" |     0.99        0.00\n"), "{}", section(&row));
    }

    #[test]
    fn failures_count_among_the_requests() {
        let text = render(&report(vec![slow_io(), all_failed()]));
        assert!(text.contains("io             104        4(3.85%) |"), "{text}");
        assert!(text.contains("home           320    320(100.00%) |      55      55      55      55 |     5.33        5.33"), "{text}");
        assert_eq!(text.matches("Aggregated").count(), 4, "{text}");
    }
}
