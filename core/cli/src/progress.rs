//! A progress bar on a terminal, nothing in a pipe.

use gvl_lab::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// How finely the bar moves.
const PARTS: u64 = 1000;

/// The bar of one experiment; indicatif draws on standard error if that is a terminal.
pub struct Bar(ProgressBar);

impl Bar {
    pub fn new(name: &str) -> Self {
        let bar = ProgressBar::new(PARTS);
        let style = ProgressStyle::with_template("{prefix} {wide_bar} {percent:>3}% {msg}")
            .expect("the template is well formed");
        bar.set_style(style);
        bar.set_prefix(name.to_owned());
        Self(bar)
    }

    pub fn show(&self, progress: &Progress<'_>) {
        self.advance(progress.done);
        self.0.set_message(progress.model.to_owned());
    }
}

impl Bar {
    /// From 0 to 1; a bar that is ahead stays there.
    pub fn advance(&self, done: f64) {
        let position = (done * PARTS as f64) as u64;
        self.0.set_position(position.max(self.0.position()));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
