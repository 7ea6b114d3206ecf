//! The processes of each row, where the run looked at them: before the load, and under it.

use crate::report::Row;

/// The tables, each below its title.
pub(super) fn of(rows: &[Row]) -> String {
    let looked = rows.iter().filter_map(|row| Some((row.title(), row.snapshots.as_ref()?)));
    looked
        .map(|(title, at)| {
            format!("\n{title}, before:\n{}\n{title}, under load:\n{}", at.before, at.under_load)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::snapshot::{Role, Snapshot};
    use crate::measure::Snapshots;
    use crate::report::view::samples::{four_workers, slow_io};

    #[test]
    fn both_moments_of_a_row_that_was_looked_at() {
        let now = Snapshot::of(&[(std::process::id(), Role::Master)]);
        let mut row = four_workers();
        row.snapshots = Some(Snapshots { before: now.clone(), under_load: now });
        let text = of(&[slow_io(), row]);
        for title in ["puma 4x3, before:\n ROLE", "\n\npuma 4x3, under load:\n ROLE"] {
            assert_eq!(text.matches(title).count(), 1, "{text}");
        }
        assert_eq!(text.matches("RSS MiB").count(), 2, "{text}");
        assert!(text.starts_with('\n') && text.ends_with('\n') && !text.ends_with("\n\n"));
        assert_eq!(of(&[slow_io()]), "");
    }
}
