//! Printing: standard output for reports, standard error for mistakes, and what a reader that
//! went away means for the exit status.

use gvl_lab::{Error, ErrorKind, Report, report};
use std::io::{self, Write};
use std::process::ExitCode;

/// How the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Fine,
    /// An experiment failed, or says what cannot be.
    Failed,
    BadInput,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Fine => 0,
            Status::Failed => 1,
            Status::BadInput => 2,
        })
    }
}

/// Prints the reports in a view; a list of documents where JSON has several, nothing of none.
pub fn print_reports(reports: &[Report], view: &str) -> Status {
    if reports.is_empty() {
        return Status::Fine;
    }
    print(&rendered(reports, view))
}

/// The reports in a view, as one document where it is of one.
pub fn rendered(reports: &[Report], view: &str) -> String {
    if view == "trace" {
        return report::view::traces(reports);
    }
    let render = report::view(view).expect("the arguments name known views").render;
    let rendered: Vec<String> = reports.iter().map(render).collect();
    match (view, rendered.as_slice()) {
        ("json", [_, _, ..]) => format!("[\n{}\n]\n", rendered.join(",\n").trim_end()),
        ("csv" | "grants", [first, rest @ ..]) => {
            let records = rest.iter().map(|csv| csv.split_once('\n').map_or("", |(_, r)| r));
            first.clone() + &records.collect::<String>()
        }
        _ => rendered.join("\n"),
    }
}

/// Prints to standard output. A reader that has had enough is no mistake.
pub fn print(text: &str) -> Status {
    let mut out = io::stdout().lock();
    let printed = out
        .write_all(text.as_bytes())
        .and_then(|()| if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") });
    match printed.and_then(|()| out.flush()) {
        Ok(()) => Status::Fine,
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Status::Fine,
        Err(e) => {
            complain(&format!("standard output: {e}"));
            Status::Failed
        }
    }
}

/// Tells an error, a line for each mistake, and what it means for the exit status.
pub fn explain(source: &str, error: &Error) -> Status {
    // What cannot be read is named in its message already.
    let before = if error.kind() == ErrorKind::Unreadable { "" } else { &format!("{source}: ") };
    for line in error.to_string().lines() {
        complain(&format!("{before}{line}"));
    }
    if error.is_invalid() { Status::BadInput } else { Status::Failed }
}

/// Where standard error is closed, there is nobody to tell.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
