//! The file of `sweep --parquet`, where the program was built with it.

use gvl_lab::Error;
use gvl_lab::sweep::SweepReport;
use std::path::Path;

/// The file, if one was asked for.
#[cfg(feature = "parquet")]
pub struct Sink<'f>(Option<(&'f Path, std::fs::File)>);

/// No file: arguments that ask for one have been refused.
#[cfg(not(feature = "parquet"))]
pub struct Sink;

#[cfg(feature = "parquet")]
impl<'f> Sink<'f> {
    pub fn open(file: Option<&'f Path>) -> Result<Self, (&'f Path, Error)> {
        let open = |file: &'f Path| match std::fs::File::create(file) {
            Ok(open) => Ok((file, open)),
            Err(why) => Err(told(file, &why)),
        };
        file.map(open).transpose().map(Self)
    }

    pub fn write(self, report: &SweepReport) -> Result<(), (&'f Path, Error)> {
        use std::io::Write;
        let Some((file, mut open)) = self.0 else { return Ok(()) };
        open.write_all(&report.parquet()).map_err(|why| told(file, &why))
    }
}

#[cfg(feature = "parquet")]
fn told<'f>(file: &'f Path, why: &std::io::Error) -> (&'f Path, Error) {
    (file, Error::unreadable(file.display().to_string(), why, "a file that can be written"))
}

#[cfg(not(feature = "parquet"))]
impl Sink {
    pub fn open(_: Option<&Path>) -> Result<Self, (&Path, Error)> {
        Ok(Self)
    }

    pub fn write<'f>(self, _: &SweepReport) -> Result<(), (&'f Path, Error)> {
        Ok(())
    }
}
