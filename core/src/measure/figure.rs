//! Figures as sentences and tables show them: few digits, the unit behind.
//!
//! Called by checks, ceilings and views; JSON and CSV carry numbers instead.

use std::time::Duration;

/// Significant digits of a figure in a sentence.
const DIGITS: i32 = 4;

/// A duration in milliseconds.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// A duration as text, such as `17.4 ms`.
pub(crate) fn ms(duration: Duration) -> String {
    format!("{} ms", number(millis(duration)))
}

/// A number with 4 significant digits, all digits before the point, no noughts at the end.
pub(crate) fn number(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { "0".to_owned() } else { "-".to_owned() };
    }
    let decimals = (DIGITS - 1 - x.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{x:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A small number in a sentence: two digits after the point.
pub(crate) fn short(x: f64) -> String {
    format!("{x:.2}")
}

/// A share as percent, such as `12 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A count and its noun, such as `1 user` and `2 users`.
pub(crate) fn count(n: u64, noun: &str) -> String {
    let s = if n == 1 {
        ""
    } else if noun.ends_with("ss") {
        "es"
    } else {
        "s"
    };
    format!("{n} {noun}{s}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        for (x, expected) in
            [(0.0, "0"), (100.0, "100"), (9.3999, "9.4"), (13704.4, "13704"), (0.012345, "0.01235")]
        {
            assert_eq!(number(x), expected);
        }
        assert_eq!(ms(Duration::from_micros(17_400)), "17.4 ms");
        assert_eq!(count(1, "process"), "1 process");
        assert_eq!(count(4, "process"), "4 processes");
    }
}
