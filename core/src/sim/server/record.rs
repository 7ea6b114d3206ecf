//! What the server tells a timeline: who its threads are, and which requests they serve.

use super::request::RequestId;
use super::{Role, Server, pid_of};
use crate::clock::Nanos;
use crate::sim::kernel::Tid;
use crate::timeline::{self, Timeline};

impl Server<'_> {
    /// A thread begins.
    pub(super) fn begins(&mut self, tid: Tid, number: u32, role: Role) {
        let now = self.kernel.now();
        let offloads = self.processes[number as usize].event_loop.is_some();
        if let Some(record) = &mut self.kernel.record {
            let role = match role {
                Role::Thread(_) if offloads => timeline::Role::Offload,
                Role::Thread(_) => timeline::Role::Thread,
                Role::Loop(_) => timeline::Role::Loop,
                Role::Acceptor(_) => timeline::Role::Acceptor,
                Role::Reactor(_) => timeline::Role::Reactor,
            };
            record.begins(tid, number, role, now);
        }
    }

    /// A thread begins with a request.
    pub(super) fn serves(&mut self, tid: Tid, id: RequestId) {
        let now = self.kernel.now();
        if let Some(record) = &mut self.kernel.record {
            let request = self.requests.at(id);
            record.serves(tid, request.number, request.endpoint, now);
        }
    }

    /// A thread has served a request.
    pub(super) fn served(&mut self, tid: Tid, id: RequestId) {
        let now = self.kernel.now();
        if let Some(record) = &mut self.kernel.record {
            record.served(tid, self.requests.at(id).number, now);
        }
    }

    /// The timeline until `end`, where it was recorded.
    pub(super) fn timeline(&mut self, end: Nanos) -> Option<Timeline> {
        let log = self.kernel.record.take()?.into_log();
        let endpoints = self.workload.endpoints.iter().map(|e| e.name.clone()).collect();
        let who = |process| (process, pid_of(process));
        Some(Timeline::of_logs([(log, who)], 0..end, endpoints))
    }
}
