//! The files of `--trace`: made before anything runs, written when all has.

use crate::output;
use gvl_lab::{Error, Report};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The files, still empty.
pub struct Traces(Vec<(PathBuf, File)>);

impl Traces {
    /// Makes the files.
    ///
    /// # Errors
    /// One that cannot be made.
    pub fn create(paths: &[PathBuf]) -> Result<Self, Error> {
        let create = |path: &PathBuf| match File::create(path) {
            Ok(file) => Ok((path.clone(), file)),
            Err(why) => Err(refused(path, &why)),
        };
        paths.iter().map(create).collect::<Result<_, _>>().map(Self)
    }

    /// Writes the timelines, and tells on standard error what is missing of them.
    ///
    /// # Errors
    /// A file that takes no more.
    pub fn write(self, reports: &[Report]) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        for row in reports.iter().flat_map(|report| &report.rows) {
            let note = row.timeline.as_ref().and_then(|timeline| timeline.note());
            note.into_iter().for_each(|note| output::complain(&format!("{}: {note}", row.title())));
        }
        for (path, mut file) in self.0 {
            let is_csv = path.extension().is_some_and(|extension| extension == "csv");
            let text = output::rendered(reports, if is_csv { "grants" } else { "trace" });
            file.write_all(text.as_bytes()).map_err(|why| refused(&path, &why))?;
        }
        Ok(())
    }
}

fn refused(path: &Path, why: &std::io::Error) -> Error {
    Error::unreadable(path.display().to_string(), why, "a file that can be written")
}
