//! Python's pools of processes, each run by `pools.py` in an interpreter of its own.

use super::measure::Measure;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/cluster/pools.py");

/// Interpreters, as far as there are any.
pub struct Pythons {
    plain: Option<PathBuf>,
    /// With the package `loky`.
    with_loky: Option<PathBuf>,
}

impl Pythons {
    /// Looks for `python3`, and makes an environment with loky in the target folder; says what
    /// cannot be had, and why.
    pub fn find() -> Self {
        let plain = PathBuf::from("python3");
        if let Err(why) = succeed(Command::new(&plain).arg("--version")) {
            println!("no rows of Python: {why}");
            return Self { plain: None, with_loky: None };
        }
        let with_loky =
            environment(&plain).inspect_err(|why| println!("no rows of loky: {why}")).ok();
        Self { plain: Some(plain), with_loky }
    }

    /// A figure of one of the pools that `pools.py` knows.
    pub fn measure(&self, pool: &str, measure: Measure) -> Option<f64> {
        let python = if pool == "loky" { &self.with_loky } else { &self.plain };
        let how = match measure {
            Measure::OneByOne => "one_by_one",
            Measure::RoundTrip => "round_trip",
            Measure::Large => "large",
            Measure::LargeAhead => "large_ahead",
        };
        let printed = succeed(Command::new(python.as_ref()?).args([SCRIPT, pool, how]));
        let printed = printed.unwrap_or_else(|why| panic!("{pool}: {why}"));
        Some(printed.trim().parse().expect("the script prints a number"))
    }
}

/// The interpreter of an environment that has loky.
fn environment(plain: &Path) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python with loky");
    let python = folder.join("bin/python3");
    let has_loky = || succeed(Command::new(&python).args(["-c", "import loky"]));
    if has_loky().is_err() {
        succeed(Command::new(plain).args(["-m", "venv", "--clear"]).arg(&folder))?;
        succeed(Command::new(&python).args(["-m", "pip", "install", "--quiet", "loky"]))?;
        has_loky()?;
    }
    Ok(python)
}

/// What the command prints.
fn succeed(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    Err(format!("{:?}: {}: {last}", command.get_program(), output.status))
}
