//! A worker's side: the first line of `main`, the serving of tasks, the template.

use super::app::App;

/// Makes this program one that can be a worker: the first line of `main`.
pub fn init(_load: impl FnOnce(&mut App) -> Result<(), Box<dyn std::error::Error>>) {}
