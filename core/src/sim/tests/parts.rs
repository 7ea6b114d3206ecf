//! Servers put together from parts are those that they are put together as.

use super::*;
use crate::load::closed;
use crate::measure::BacklogUse;
use crate::model::{Dispatch, Handlers, Serving, apache, custom, gunicorn, pitchfork, puma};
use crate::model::{unicorn, uvicorn};
use crate::workload::{Workload, cpu, exp, io, ms};

/// The same topology from parts.
fn from_parts(model: &Model) -> Model {
    let topology = model.topology();
    let Dispatch::Accept(accept) = topology.dispatch else { panic!("{model:?} does not accept") };
    let parts = custom().workers(topology.workers).gvl(topology.gvl).accept(accept);
    let parts = parts.backlog(topology.socket.backlog);
    match topology.serving {
        Serving::Pool { min_threads, max_threads, .. } => {
            parts.threads(max_threads).min_threads(min_threads).into()
        }
        Serving::EventLoop { handlers, offload_threads } => {
            let parts = parts.handlers(handlers);
            if handlers == Handlers::Offloaded {
                parts.offload_threads(offload_threads).into()
            } else {
                parts.into()
            }
        }
    }
}

#[test]
fn a_server_from_the_parts_of_another_is_that_server() {
    let workload = Workload::from([cpu(exp(ms(2))), io(exp(ms(5)))]);
    let load = closed(9).think(exp(ms(2))).requests(500).keep_alive();
    let models: Vec<Model> = vec![
        puma().workers(2).version("6.6.1").into(),
        puma().workers(3).threads(3).into(),
        unicorn().workers(3).into(),
        pitchfork().workers(3).into(),
        gunicorn().workers(2).threads(4).into(),
        apache().workers(2).threads(3).into(),
        uvicorn().workers(2).into(),
        uvicorn().workers(2).handlers(Handlers::Offloaded).offload_threads(3).into(),
    ];
    for model in models {
        let parts = from_parts(&model);
        parts.check().unwrap();
        let figures = |model: &Model| {
            let mut run = run(model.clone(), &workload, &load, &Machine::default(), 1);
            // Whether the backlog is given is told, too.
            run.backlog = run.backlog.map(|backlog| BacklogUse { is_set: true, ..backlog });
            format!("{run:?}")
        };
        // No message with the figures: they are long.
        assert!(figures(&model) == figures(&parts), "{model:?}");
    }
}
