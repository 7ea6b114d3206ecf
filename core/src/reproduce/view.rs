//! How reproductions are shown: a table with the causes below it.

use super::{Figure, Reproduction};
use crate::measure::figure::number;
use crate::value::Value;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;
use std::fmt::Write;

const HEADINGS: [&str; 7] =
    ["row", "figure", "published", "simulated", "p5..p95", "error", "verdict"];

#[derive(Serialize)]
struct Document<'a> {
    experiments: &'a [Reproduction],
    not_simulated: &'a Value,
}

impl Reproduction {
    /// Renders tables in Markdown, a line a figure, with the causes below; the text ends in a newline.
    pub fn table(all: &[Self]) -> String {
        let sections: Vec<_> = all.iter().map(Self::section).collect();
        sections.join("\n")
    }

    /// Renders one JSON document, with what was not simulated beside; the text ends in a newline.
    pub fn json(all: &[Self], not_simulated: &Value) -> String {
        let document = Document { experiments: all, not_simulated };
        serde_json::to_string_pretty(&document).expect("figures are plain data") + "\n"
    }

    fn section(&self) -> String {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(HEADINGS);
        for row in &self.rows {
            for figure in &row.figures {
                let mut cells = vec![row.title()];
                cells.extend(cells_of(figure));
                table.add_row(cells);
            }
        }
        for n in 2..6 {
            if let Some(column) = table.column_mut(n) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut text =
            format!("{}\n({} runs)\n\n{}\n", self.experiment, self.runs, table.trim_fmt());
        let causes: Vec<_> =
            self.rows.iter().filter_map(|row| Some((row, row.cause.as_ref()?))).collect();
        for (n, (row, cause)) in causes.into_iter().enumerate() {
            let gap = if n == 0 { "\n" } else { "" };
            writeln!(text, "{gap}{}: {cause}", row.title())
                .expect("text takes all that is written");
        }
        text
    }
}

fn cells_of(figure: &Figure) -> [String; 6] {
    let maybe = |x: Option<f64>| x.map_or("-".to_owned(), number);
    let range = figure.p5.zip(figure.p95);
    [
        figure.key.clone(),
        number(figure.published),
        maybe(figure.mean),
        range.map_or("-".to_owned(), |(low, high)| format!("{}..{}", number(low), number(high))),
        figure.error_pct.map_or("-".to_owned(), |error| format!("{error:+.1} %")),
        figure.verdict.words().to_owned(),
    ]
}
