//! What handlers need: the programs of the endpoints and the connection pools of one process.

use super::handler::{serve_on_loop, serve_on_thread};
use super::over::Over;
use super::pools::{AsyncPools, ThreadPools};
use crate::executor::Context;
use crate::measure::Served;
use crate::workload::{Cursor, Program, Workload};

pub(super) struct Site {
    pub(super) endpoints: Vec<(String, Program)>,
    pub(super) threads: ThreadPools,
    futures: AsyncPools,
    pub(super) over: Over,
}

impl Site {
    pub(super) fn new(workload: &Workload) -> Self {
        let names = workload.endpoints.iter().map(|endpoint| endpoint.name.clone());
        Self {
            endpoints: names.zip(workload.programs()).collect(),
            threads: ThreadPools::new(&workload.pools),
            futures: AsyncPools::new(&workload.pools),
            over: Over::default(),
        }
    }

    pub(super) fn serve_on_thread(
        &self,
        cx: &mut Context<'_>,
        endpoint: usize,
        cursor: Cursor,
    ) -> Served {
        serve_on_thread(cx, &self.endpoints[endpoint].1, cursor, &self.threads, &self.over)
    }

    pub(super) async fn serve_on_loop(&self, endpoint: usize, cursor: Cursor) -> Served {
        serve_on_loop(&self.endpoints[endpoint].1, cursor, &self.futures, &self.over).await
    }

    /// Serves with every wait keeping the loop.
    pub(super) fn serve_blocking(&self, endpoint: usize, cursor: Cursor) -> Served {
        let serve = |cx: &mut Context<'_>| self.serve_on_thread(cx, endpoint, cursor);
        Context::current(serve).expect("a poll holds the GVL")
    }
}
