//! `json`: the whole document.

use crate::report::Report;

pub(super) fn render(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a tree of plain values serialises");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::samples::{report, slow_io};
    use crate::value::Value;

    #[test]
    fn the_text_is_one_document_in_the_order_of_the_design() {
        let text = render(&report(vec![slow_io()]));
        let Value::Table(fields) = Value::from_json(&text).unwrap() else { panic!("{text}") };
        let keys: Vec<_> = fields.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["experiment", "engine", "seed", "machine", "rows"]);
    }
}
