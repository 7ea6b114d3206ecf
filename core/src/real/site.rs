//! What handlers need: the programs of the endpoints and the connection pools of one process.

use super::handler::{serve_on_loop, serve_on_thread};
use super::over::Over;
use super::pools::{AsyncPools, ThreadPools};
use super::record::{Record, Serves};
use crate::clock::{self, Nanos};
use crate::executor::Context;
use crate::measure::Served;
use crate::workload::{Cursor, Program, Workload};
use std::sync::Arc;

pub(super) struct Site {
    pub(super) endpoints: Vec<(String, Program)>,
    pub(super) threads: ThreadPools,
    futures: AsyncPools,
    pub(super) over: Over,
    record: Option<Arc<Record>>,
}

/// A request to serve.
pub(super) struct Wanted {
    /// Its number, from 0 in the order of starts.
    pub(super) number: u64,
    pub(super) endpoint: usize,
    pub(super) cursor: Cursor,
    /// When its client leaves, if the server looks whether it has before it begins.
    pub(super) leaves: Option<Nanos>,
}

impl Site {
    pub(super) fn new(workload: &Workload, record: Option<Arc<Record>>) -> Self {
        let names = workload.endpoints.iter().map(|endpoint| endpoint.name.clone());
        Self {
            endpoints: names.zip(workload.programs()).collect(),
            threads: ThreadPools::new(&workload.pools),
            futures: AsyncPools::new(&workload.pools),
            over: Over::default(),
            record,
        }
    }

    pub(super) fn serve_on_thread(&self, cx: &mut Context<'_>, wanted: Wanted) -> Served {
        if wanted.leaves.is_some_and(|at| clock::now() >= at) {
            return Served::dropped();
        }
        let _serves = self.begin(&wanted);
        let program = &self.endpoints[wanted.endpoint].1;
        serve_on_thread(cx, program, wanted.cursor, &self.threads, &self.over)
    }

    pub(super) async fn serve_on_loop(&self, wanted: Wanted) -> Served {
        let _serves = self.begin(&wanted);
        let program = &self.endpoints[wanted.endpoint].1;
        serve_on_loop(program, wanted.cursor, &self.futures, &self.over).await
    }

    /// Serves with every wait keeping the loop.
    pub(super) fn serve_blocking(&self, wanted: Wanted) -> Served {
        let serve = |cx: &mut Context<'_>| self.serve_on_thread(cx, wanted);
        Context::current(serve).expect("a poll holds the GVL")
    }

    fn begin(&self, wanted: &Wanted) -> Serves<'_> {
        Serves::begin(self.record.as_ref(), wanted.number, wanted.endpoint)
    }
}
