//! Weights of endpoints and choices: shares of a whole that need not add up to one.
//!
//! `endpoint` and `step::choose` read, print and share theirs here; `load` picks endpoints by the
//! shares.

use crate::value::{Node, Value};

/// Whole numbers up to here are printed without a fraction: a float holds them exactly.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// Reads a weight: a finite number above nought.
pub(super) fn read(node: &Node<'_>) -> Option<f64> {
    let weight = match node.value() {
        Value::Int(n) => *n as f64,
        Value::Float(x) => *x,
        _ => f64::NAN,
    };
    if weight > 0.0 && weight.is_finite() {
        return Some(weight);
    }
    node.refuse("a number above 0")
}

/// Writes the value that [`read`] reads back.
pub(super) fn to_value(weight: f64) -> Value {
    if weight.fract() == 0.0 && weight.abs() <= WHOLE_MAX {
        return Value::Int(weight as i64);
    }
    Value::Float(weight)
}

/// Gives each weight's share together with all before it; the last is 1.
pub(crate) fn cumulative(weights: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    // Divided by the largest first: the sum of huge but finite weights would be infinite.
    let largest = weights.clone().fold(f64::MIN_POSITIVE, f64::max);
    let total: f64 = weights.clone().map(|w| w / largest).sum();
    let mut sum = 0.0;
    let mut shares: Vec<f64> = weights
        .map(|w| {
            sum += w / largest;
            sum / total
        })
        .collect();
    if let Some(last) = shares.last_mut() {
        *last = 1.0;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(weights: &[f64], expected: &[f64]) {
        assert_eq!(cumulative(weights.iter().copied()), expected);
    }

    #[test]
    fn shares_add_up_to_one() {
        check(&[1.0, 3.0], &[0.25, 1.0]);
        check(&[f64::MAX, f64::MAX], &[0.5, 1.0]);
        check(&[5e-324], &[1.0]);
        check(&[], &[]);
    }
}
