//! What clients and the backlog did, a line of each row below the tables.

use super::share;
use crate::measure::figure;
use crate::report::Row;

/// The lines; nothing where no load has a timeout and no backlog was given or overflowed.
pub(super) fn of(rows: &[Row]) -> String {
    let mut lines = Vec::new();
    for row in rows {
        if let Some(clients) = row.clients {
            let retries = if clients.retries == 1 { "retry" } else { "retries" };
            lines.push(format!(
                "clients of {}: {} {retries}, {} abandoned ({} of the work), {} discarded",
                row.title(),
                clients.retries,
                figure::count(clients.abandoned, "attempt"),
                share(clients.abandoned_share),
                clients.discarded,
            ));
        }
        if let Some(backlog) = row.backlog {
            let drops = figure::count(backlog.drops, "connection");
            lines.push(format!("backlog of {}: {}, {drops} dropped", row.title(), backlog.size));
        }
    }
    let gap = if lines.is_empty() { "" } else { "\n" };
    lines.iter().fold(gap.to_owned(), |text, line| text + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::samples::all_failed;
    use crate::report::{BacklogRow, ClientsRow};

    #[test]
    fn a_line_of_each() {
        let mut row = all_failed();
        assert_eq!(of(&[row.clone()]), "");
        row.clients = Some(ClientsRow {
            retries: 1,
            abandoned: 3,
            abandoned_share: Some(0.25),
            discarded: 2,
        });
        row.backlog = Some(BacklogRow { size: 64, drops: 5 });
        let expected = "\nclients of webrick 0x1: 1 retry, 3 attempts abandoned (25 % of the work), \
                        2 discarded\nbacklog of webrick 0x1: 64, 5 connections dropped\n";
        assert_eq!(of(&[row]), expected);
    }
}
