//! Views: a report as text, each in a file of its own.
//!
//! The command and the bindings pick one by name. A view sees only a [`Report`]; adding one is a
//! file and a line in [`VIEWS`].

mod csv;
mod grants;
mod heading;
mod json;
mod locust;
#[cfg(test)]
pub(crate) mod samples;
mod siege;
mod table;
mod trace;

pub use trace::of_all as traces;

use super::Report;
pub(crate) use locust::figures as locust_figures;
pub(crate) use siege::figures as siege_figures;

/// A way to show a report.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Its name, as the command takes it.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub about: &'static str,
    /// Renders a report; the text ends in a newline.
    pub render: fn(&Report) -> String,
}

/// All views, the default first.
pub const VIEWS: &[View] = &[
    View { name: "table", about: "one line a model, with what was doubted", render: table::render },
    View { name: "json", about: "the whole document, for programs", render: json::render },
    View {
        name: "csv",
        about: "a record a model, endpoint and worker, for sheets",
        render: csv::render,
    },
    View {
        name: "locust",
        about: "what Locust would print, rounding included",
        render: locust::render,
    },
    View {
        name: "siege",
        about: "what siege would print, arithmetic included",
        render: siege::render,
    },
    View {
        name: "trace",
        about: "what each thread did, for ui.perfetto.dev; where a timeline was recorded",
        render: trace::render,
    },
    View {
        name: "grants",
        about: "who was given the lock, a record a time; where a timeline was recorded",
        render: grants::render,
    },
];

/// Finds a view by its name.
pub fn view(name: &str) -> Option<&'static View> {
    VIEWS.iter().find(|view| view.name == name)
}

#[cfg(test)]
mod tests {
    use super::samples::{all_failed, four_workers, report, slow_io};
    use super::*;

    #[test]
    fn every_view_has_its_name_once_and_shows_any_report() {
        for one in VIEWS {
            assert_eq!(VIEWS.iter().filter(|other| other.name == one.name).count(), 1);
            for rows in [vec![], vec![slow_io(), all_failed(), four_workers()]] {
                let text = (view(one.name).unwrap().render)(&report(rows));
                assert!(text.is_empty() || text.ends_with('\n'), "{}: {text:?}", one.name);
            }
        }
        assert!(view("none").is_none());
    }
}
