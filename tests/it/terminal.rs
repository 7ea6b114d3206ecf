//! Progress: a bar on a terminal, nothing in a pipe.

use crate::command::{Folder, SHORT};

#[test]
fn a_terminal_has_a_bar_and_a_pipe_has_none() {
    let folder = Folder::with("x.toml", SHORT);
    let piped = folder.run(&["run", "x.toml"]);
    assert_eq!((piped.status, piped.err.as_str()), (Some(0), ""));
    let Some(shown) = folder.run_on_terminal(&["run", "x.toml"]) else {
        println!("skipped: no `script` to make a terminal with");
        return;
    };
    assert_eq!(shown.status, Some(0), "{shown:?}");
    assert!(shown.out.contains('\x1b') && shown.out.contains("% puma"), "{:?}", shown.out);
    // The bar is gone before the report comes.
    let report = shown.out.split("% puma").last().unwrap_or_default();
    assert!(report.contains("ok/requests"), "{report:?}");
}
