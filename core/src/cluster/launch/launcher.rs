//! Which program a worker is, as an embedder says it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How workers are started.
///
/// ```
/// use gvl_lab::cluster::Launcher;
///
/// let this_program = Launcher::exec();
/// let this_program_loaded_once = Launcher::fork();
/// let another = Launcher::command("ruby").args(["-r", "gvl_lab/worker"]).env("RACK_ENV", "test");
/// let another_loaded_once = another.clone().preload();
/// ```
#[derive(Debug, Clone)]
pub struct Launcher {
    /// This program, where there is none.
    program: Option<OsString>,
    /// Where this program is, once somebody has looked.
    file: Option<PathBuf>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    preload: bool,
}

impl Launcher {
    /// Runs this program again: `gvl_lab::init(...)` is the first line of its main.
    pub fn exec() -> Self {
        Self {
            program: None,
            file: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            preload: false,
        }
    }

    /// Runs this program again once, as a template that loads the application; workers and their
    /// replacements are forked from it.
    ///
    /// The template may not have threads, and nothing that it opened or drew at random is distinct
    /// in its forks.
    pub fn fork() -> Self {
        Self::exec().preload()
    }

    /// Runs a program that speaks the protocol, found as a shell finds it.
    pub fn command(program: impl AsRef<OsStr>) -> Self {
        Self { program: Some(program.as_ref().to_owned()), ..Self::exec() }
    }

    /// Gives the program an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Gives the program arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets a variable of the program's environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Starts a template that loads the application, and forks workers from it.
    #[must_use]
    pub fn preload(mut self) -> Self {
        self.preload = true;
        self
    }

    pub(super) fn is_this_program(&self) -> bool {
        self.program.is_none()
    }

    pub(super) fn is_preloading(&self) -> bool {
        self.preload
    }

    /// The program's name, for messages.
    pub(super) fn name(&self) -> String {
        match &self.program {
            Some(program) => program.to_string_lossy().into_owned(),
            None => "this program".to_owned(),
        }
    }

    /// Looks where this program is, while that is told rightly: whatever is there when a worker is
    /// started is what it runs, an upgrade too.
    pub(super) fn settled(mut self) -> Self {
        self.file = self.file.or_else(|| this_program().ok());
        self
    }

    /// The command, which `ps` shows under `title` where it is this program.
    ///
    /// # Errors
    /// Nobody knows which file this program is.
    pub(super) fn command_for(&self, title: &str) -> io::Result<Command> {
        let mut command = match &self.program {
            Some(program) => Command::new(program),
            None => {
                let file = self.file.clone().map_or_else(this_program, Ok)?;
                let mut command = Command::new(file);
                command.arg0(title);
                command
            }
        };
        command.args(&self.arguments).envs(self.environment.iter().map(|(k, v)| (k, v)));
        Ok(command)
    }
}

/// The file that this program was started from, or that has its name now.
fn this_program() -> io::Result<PathBuf> {
    let file = std::env::current_exe()?;
    // So the system calls one whose name is gone, or was given to another.
    let was = file.as_os_str().as_bytes().strip_suffix(b" (deleted)");
    let was = was.map(|was| Path::new(OsStr::from_bytes(was)).to_owned());
    Ok(was.filter(|_| !file.exists()).unwrap_or(file))
}
