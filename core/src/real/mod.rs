//! The real engine: ops x topology x load on the executor's threads, in real time.
//!
//! A server is in this process (`local.rs`) or in worker processes (`workers.rs`, and `worker.rs`
//! inside of them). Called by `run` with a topology, never with a server's name. One thread of its
//! own starts the timed arrivals; a request that ends starts its user's next one on the spot, so
//! that a closed loop without think time never leaves a thread idle for want of a client.

mod burn;
mod clients;
mod handler;
mod local;
mod over;
mod pools;
mod record;
mod refused;
mod run;
mod server;
mod site;
#[cfg(test)]
#[cfg(not(model_check))]
mod tests;
mod waits;
mod worker;
mod workers;

pub use refused::refused;
pub use run::{Options, run};
pub use worker::register;
