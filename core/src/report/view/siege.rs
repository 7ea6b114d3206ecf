//! `siege`: the summary siege 4.1.7 would print for the same answers.
//!
//! Its arithmetic is kept (`SEMANTICS.md`, section 10.2): hits are all responses but 403, 408 and
//! 5xx, and the time of failed responses counts in the response time though they do not divide it.
//! Differs from siege: longest and shortest are rounded to its 10 ms ticks, where siege may give the
//! tick beside, as its clock's phase is not known; the sum of times is exact, which siege's is on
//! average; a run does not stop after 1024 failures; in process no bytes are transferred, so none
//! are shown.

use crate::measure::EndpointRecording;
use crate::report::{Report, Row};
use std::fmt::Write;
use std::time::Duration;

/// The tick of `times()`, in ms: 100 a second on Linux (`sysconf(_SC_CLK_TCK)`).
const TICK_MS: f64 = 10.0;

pub(super) fn render(report: &Report) -> String {
    let sections: Vec<_> = report.rows.iter().map(section).collect();
    sections.join("\n")
}

/// The figures by the keys that published ones have here; times in ms.
pub(crate) fn figures(row: &Row) -> Vec<(&'static str, f64)> {
    let summary = Summary::of(&row.overall, row.elapsed);
    let mut figures = vec![
        ("requests", summary.transactions as f64),
        ("ok", summary.transactions as f64),
        ("failed", summary.failed as f64),
        ("availability_pct", summary.availability_pct),
        ("concurrency", summary.concurrency),
        ("max_ms", summary.longest_s * 1e3),
    ];
    if summary.transactions > 0 {
        figures.push(("throughput_rps", summary.rate_tps));
        figures.push(("avg_ms", summary.response_time_s * 1e3));
        figures.push(("min_ms", summary.shortest_s * 1e3));
    }
    figures
}

fn section(row: &Row) -> String {
    let summary = Summary::of(&row.overall, row.elapsed);
    let mut text = format!("{}\n", row.title());
    let mut line = |name: &str, value: String, unit: &str| {
        let name = format!("{name}:");
        let line = format!("{name:<25}{value:>12} {unit}");
        writeln!(text, "{}", line.trim_end()).expect("text takes all that is written");
    };
    line("Transactions", summary.transactions.to_string(), "hits");
    line("Availability", format!("{:.2}", summary.availability_pct), "%");
    line("Elapsed time", format!("{:.2}", summary.elapsed_s), "secs");
    line("Data transferred", "-".to_owned(), "(not counted)");
    line("Response time", format!("{:.2}", summary.response_time_s), "secs");
    line("Transaction rate", format!("{:.2}", summary.rate_tps), "trans/sec");
    line("Throughput", "-".to_owned(), "(not counted)");
    line("Concurrency", format!("{:.2}", summary.concurrency), "");
    line("Successful transactions", summary.successful.to_string(), "");
    line("Failed transactions", summary.failed.to_string(), "");
    line("Longest transaction", format!("{:.2}", summary.longest_s), "");
    line("Shortest transaction", format!("{:.2}", summary.shortest_s), "");
    text
}

/// What siege would have counted.
#[derive(Debug, PartialEq)]
struct Summary {
    transactions: u64,
    availability_pct: f64,
    elapsed_s: f64,
    response_time_s: f64,
    rate_tps: f64,
    concurrency: f64,
    successful: u64,
    failed: u64,
    longest_s: f64,
    shortest_s: f64,
}

impl Summary {
    fn of(answers: &EndpointRecording, elapsed: Duration) -> Self {
        let of_status = |counts: fn(u16) -> bool| -> u64 {
            let kinds = answers.failed.iter().filter(|(kind, _)| status(kind).is_some_and(counts));
            answers.ok() + kinds.map(|(_, n)| n).sum::<u64>()
        };
        let transactions = of_status(|code| !matches!(code, 403 | 408 | 500..));
        let successful = of_status(|code| code < 400 || matches!(code, 401 | 407));
        let failed = answers.requests() - transactions;
        let (latency, failures) = (&answers.latency, &answers.failed_latency);
        let time_s = (latency.sum() + failures.sum()).as_secs_f64();
        let longest = latency.max().max(failures.max());
        let shortest = latency.min().into_iter().chain(failures.min()).min();
        let elapsed_s = ticks_s(Some(elapsed));
        Self {
            transactions,
            availability_pct: 100.0 * ratio(transactions as f64, (transactions + failed) as f64),
            elapsed_s,
            response_time_s: ratio(time_s, transactions as f64),
            rate_tps: ratio(transactions as f64, elapsed_s),
            concurrency: ratio(time_s, elapsed_s),
            successful,
            failed,
            longest_s: ticks_s(longest),
            // Without a Successful one siege prints 0 (data.c).
            shortest_s: if successful > 0 { ticks_s(shortest) } else { 0.0 },
        }
    }
}

/// The status code of a kind of failure that had one.
fn status(kind: &str) -> Option<u16> {
    kind.strip_prefix("status ")?.parse().ok()
}

/// A time in whole ticks, in seconds; 0 where there is none.
fn ticks_s(time: Option<Duration>) -> f64 {
    let ms = time.unwrap_or_default().as_secs_f64() * 1e3;
    (ms / TICK_MS).round() * TICK_MS / 1e3
}

/// A quotient, 0 where siege would divide by nought.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, ms};
    use crate::report::view::samples::{all_failed, report};

    #[test]
    fn a_run_of_500s_has_availability_nought() {
        let text = render(&report(vec![all_failed()]));
        assert_eq!(
            text,
            "webrick 0x1\n\
             Transactions:                       0 hits\n\
             Availability:                    0.00 %\n\
             Elapsed time:                   60.00 secs\n\
             Data transferred:                   - (not counted)\n\
             Response time:                   0.00 secs\n\
             Transaction rate:                0.00 trans/sec\n\
             Throughput:                         - (not counted)\n\
             Concurrency:                     0.29\n\
             Successful transactions:            0\n\
             Failed transactions:              320\n\
             Longest transaction:             0.06\n\
             Shortest transaction:            0.00\n"
        );
    }

    #[test]
    fn failed_responses_lengthen_the_response_time() {
        let answers = endpoint("home", 10, 100).failing("status 500", 10).failing("timed out", 10);
        let summary = Summary::of(&answers, ms(2000));
        assert_eq!((summary.transactions, summary.successful, summary.failed), (10, 10, 20));
        // 10 x 100 ms and 20 x 55 ms over 10.
        assert!((summary.response_time_s - 0.21).abs() < 1e-9, "{summary:?}");
        assert!((summary.availability_pct - 100.0 / 3.0).abs() < 1e-9, "{summary:?}");
    }

    #[test]
    fn a_404_is_available_and_not_successful() {
        let answers = endpoint("home", 1, 100).failing("status 404", 2).failing("status 403", 1);
        let summary = Summary::of(&answers, ms(1000));
        assert_eq!((summary.transactions, summary.successful, summary.failed), (3, 1, 1));
    }

    #[test]
    fn times_are_whole_ticks() {
        assert_eq!(ticks_s(Some(ms(1224))), 1.22);
        assert_eq!(ticks_s(Some(ms(4))), 0.0);
    }
}
