//! The command under test: built once, run in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use tempfile::TempDir;

/// The binary, which the first test builds; cargo finds it fresh where `tests/run` did already.
static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let build = escargot::CargoBuild::new().package("gvl-lab-cli").bin("gvl-lab");
    build.run().expect("the command builds").path().to_owned()
});

/// A folder with files to run the command on.
pub struct Folder(TempDir);

/// How a run ended.
#[derive(Debug)]
pub struct Ran {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Folder {
    pub fn new() -> Self {
        Self(TempDir::new().expect("a folder for the test"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A folder with one file.
    pub fn with(name: &str, text: impl AsRef<[u8]>) -> Self {
        let folder = Self::new();
        folder.write(name, text);
        folder
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), text).expect("a file for the test");
    }

    /// The command, in this folder, without a terminal.
    pub fn command(&self, args: &[&str]) -> Command {
        self.within(Command::new(&*BINARY), args)
    }

    /// Runs the command.
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output())
    }

    /// Runs the command with 256 MiB of addresses at most: whoever allocates in proportion to what
    /// a file says will not get it.
    pub fn run_in_little_memory(&self, args: &[&str]) -> Ran {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -v 262144 && exec \"$0\" \"$@\""]).arg(&*BINARY);
        Ran::of(self.within(shell, args).output())
    }

    /// Runs the command under a terminal, as `script` makes one; `None` where there is no `script`.
    pub fn run_on_terminal(&self, args: &[&str]) -> Option<Ran> {
        let line = format!("'{}' {}", BINARY.display(), args.join(" "));
        let script = self.within(Command::new("script"), &["-qec", &line, "/dev/null"]).output();
        script.ok().map(|output| Ran::of(Ok(output)))
    }

    fn within(&self, mut command: Command, args: &[&str]) -> Command {
        command.args(args).current_dir(self.path()).stdin(Stdio::null());
        command.env_remove("RUST_BACKTRACE").env_remove("CLICOLOR_FORCE").env("TERM", "xterm");
        command
    }
}

impl Ran {
    fn of(output: std::io::Result<Output>) -> Self {
        let output = output.expect("the command starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("what is printed is text");
        Self { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The lines on standard error.
    pub fn complaints(&self) -> Vec<&str> {
        self.err.lines().collect()
    }
}

/// An experiment that takes a moment: 40 requests of a millisecond on two threads.
pub const SHORT: &str = r#"
name = "short"
[workload]
steps = [{ cpu = "100us" }, { io = "exp(1ms)" }]
[load]
closed = { users = 4, requests = 40 }
[[model]]
puma = { threads = 2 }
"#;

/// One that computes beside one that waits, on two models.
pub const TWO_ENDPOINTS: &str = r#"
name = "two endpoints"
[workload]
[[workload.endpoint]]
name = "io"
users = 3
steps = [{ io = "2ms" }]
[[workload.endpoint]]
name = "cpu"
users = 1
steps = [{ cpu = "1ms" }]
[load]
closed = { users = 4, requests = 40 }
[[model]]
puma = { threads = 2 }
[[model]]
uvicorn = { handlers = "async" }
"#;
