//! The document every engine gives, and the views of it.
//!
//! `experiment` makes a [`Row`] of each model's replications and a [`Report`] of all rows; a view
//! sees only a [`Report`]. Nothing here runs or measures.

mod clients;
mod document;
mod endpoint;
mod event_loop;
mod gvl;
mod interval;
mod latency;
mod pool;
mod row;
mod throttled;
pub mod view;
mod warm_up;
mod worker;

pub use clients::{BacklogRow, ClientsRow};
pub use document::{Machine, Report};
pub use endpoint::EndpointRow;
pub use event_loop::{LongPollRow, LoopRow};
pub use gvl::GvlRow;
pub use interval::{Bounds, Intervals};
pub use latency::{Latency, Spread};
pub use pool::PoolRow;
pub use row::{QueueRow, Row};
pub use throttled::ThrottledRow;
pub use view::{VIEWS, View, view};
pub(crate) use view::{locust_figures, siege_figures};
pub use warm_up::WarmUpRow;
pub use worker::WorkerRow;
