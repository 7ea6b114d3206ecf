//! Durations with units, as text: `"250ns"`, `"1.5s"`, `"2h"`.
//!
//! `dist`, `load` and `model` read theirs here. Arithmetic is whole nanoseconds throughout, so
//! what is printed reads back as the same duration.

use crate::error::Mistake;
use crate::value::Node;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The longest duration a document may give: 24 hours.
pub const MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// What a message says is allowed where a duration stands.
pub const EXPECTED: &str = "a duration from 0ns to 24h with a unit, such as \"100ms\"";

/// Digits after the point, at most: a nanosecond written in seconds needs nine.
const DECIMALS_MAX: usize = 9;

/// The units and their nanoseconds, longest first.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// The units that a fraction is printed in; `90s` reads better than `1.5m`.
const FRACTIONS: [&str; 3] = ["s", "ms", "us"];

/// Makes a duration of nanoseconds.
pub const fn ns(n: u64) -> Duration {
    Duration::from_nanos(n)
}

/// Makes a duration of microseconds.
pub const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// Makes a duration of milliseconds.
pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Makes a duration of seconds.
pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Parses a number with a unit: `ns`, `us` (also `µs`), `ms`, `s`, `m` or `h`.
///
/// ```
/// use gvl_lab::workload::duration::parse;
/// assert_eq!(parse("1.5s").unwrap().as_millis(), 1500);
/// assert!(parse("1.5").is_err());
/// ```
///
/// # Errors
/// A mistake without a field: no unit, a sign, more than nine decimals, a part of a nanosecond,
/// or longer than 24 hours.
pub fn parse(text: &str) -> Result<Duration, Mistake> {
    whole_nanos(text)
        .map(Duration::from_nanos)
        .filter(|duration| *duration <= MAX)
        .ok_or_else(|| Mistake::new("", format!("\"{text}\""), EXPECTED))
}

/// Prints a duration with the fewest digits that read back exactly, in the longest such unit.
///
/// Minutes and hours are printed whole only. Durations beyond 24 hours print too, so that a
/// message can show them, although [`parse`] refuses them.
pub fn print(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    let mut best: Option<String> = None;
    for (unit, size) in UNITS {
        let Some(text) = in_unit(nanos, unit, size) else {
            continue;
        };
        if best.as_ref().is_none_or(|best| digits(&text) < digits(best)) {
            best = Some(text);
        }
    }
    best.expect("every duration is a whole number of nanoseconds")
}

/// Reads the duration at a place of a document.
pub fn read(node: &Node<'_>) -> Option<Duration> {
    node.note(parse(node.text(EXPECTED)?))
}

/// Reads the duration at a place of a document, within bounds; `expected` says which.
pub fn read_within(
    node: &Node<'_>,
    allowed: RangeInclusive<Duration>,
    expected: &str,
) -> Option<Duration> {
    match parse(node.text(expected)?) {
        Ok(duration) if allowed.contains(&duration) => Some(duration),
        _ => node.refuse(expected),
    }
}

fn whole_nanos(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(end);
    let size = nanos_of(unit)?;
    let (whole, decimals) = match number.split_once('.') {
        Some((_, "")) => return None,
        Some((whole, decimals)) if decimals.len() <= DECIMALS_MAX => (whole, decimals),
        Some(_) => return None,
        None => (number, ""),
    };
    let whole = whole.parse::<u64>().ok()?.checked_mul(size)?;
    let part = if decimals.is_empty() { 0 } else { decimals.parse::<u64>().ok()? };
    // Below 10^9 x 3.6x10^12, which needs more than 64 bits.
    let part = u128::from(part) * u128::from(size);
    let scale = 10_u128.pow(decimals.len() as u32);
    if part % scale != 0 {
        return None;
    }
    whole.checked_add(u64::try_from(part / scale).ok()?)
}

fn nanos_of(unit: &str) -> Option<u64> {
    // The micro sign and the Greek letter look alike; keyboards and editors give either.
    let unit = if matches!(unit, "\u{b5}s" | "\u{3bc}s") { "us" } else { unit };
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size)
}

fn in_unit(nanos: u128, unit: &str, size: u64) -> Option<String> {
    let size = u128::from(size);
    let (whole, rest) = (nanos / size, nanos % size);
    if rest == 0 {
        return Some(format!("{whole}{unit}"));
    }
    if whole == 0 || !FRACTIONS.contains(&unit) {
        return None;
    }
    let places = size.ilog10() as usize;
    let decimals = format!("{rest:0places$}");
    Some(format!("{whole}.{}{unit}", decimals.trim_end_matches('0')))
}

fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: Option<u64>) {
        let parsed = parse(text).ok().map(|d| d.as_nanos() as u64);
        assert_eq!(parsed, expected, "{text}");
    }

    fn check_print(nanos: u64, expected: &str) {
        assert_eq!(print(ns(nanos)), expected);
    }

    #[test]
    fn every_unit_is_read() {
        check("250ns", Some(250));
        check("100us", Some(100_000));
        check("100\u{b5}s", Some(100_000));
        check("100\u{3bc}s", Some(100_000));
        check("2ms", Some(2_000_000));
        check("1.5s", Some(1_500_000_000));
        check("1m", Some(60_000_000_000));
        check("24h", Some(86_400_000_000_000));
        check("0.000000001s", Some(1));
        check("0.000000001h", Some(3_600));
        check("0s", Some(0));
    }

    #[test]
    fn what_is_no_exact_duration_is_refused() {
        for text in [
            "",
            "s",
            "5",
            "1.5",
            "-1s",
            "+1s",
            "1.s",
            ".5s",
            "1..5s",
            "1.5.2s",
            "1 s",
            " 1s",
            "1s ",
            "NaN",
            "NaNs",
            "infs",
            "1e3s",
            "1d",
            "1h30m",
            "1.5ns",
            "0.0000000001s",
            "25h",
            "24.000000001h",
            "99999999999999999999s",
            "18446744073709551615h",
            "1_000ms",
            "٣s",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_mistake_says_what_a_duration_looks_like() {
        let mistake = parse("100").unwrap_err();
        assert_eq!(mistake.given, "\"100\"");
        assert_eq!(mistake.expected, EXPECTED);
    }

    #[test]
    fn the_fewest_digits_are_printed() {
        check_print(0, "0s");
        check_print(250, "250ns");
        check_print(1_500, "1.5us");
        check_print(100_000_000, "100ms");
        check_print(1_500_000_000, "1.5s");
        check_print(60_000_000_000, "1m");
        check_print(90_000_000_000, "90s");
        check_print(1_234_567, "1.234567ms");
        check_print(1_000_000_001, "1.000000001s");
        check_print(86_400_000_000_000, "24h");
        print(Duration::MAX);
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(nanos in 0..=86_400_000_000_000_u64, round in 0..13_u32) {
            let scale = 10_u64.pow(round);
            let duration = ns(nanos / scale * scale);
            prop_assert_eq!(parse(&print(duration)).unwrap(), duration);
        }

        #[test]
        fn no_text_panics(text in ".*", number in "[0-9.]{0,30}(ns|us|ms|s|m|h|µs)?") {
            let _ = parse(&text);
            let _ = parse(&number);
        }
    }
}
