//! temp
pub mod duration;
