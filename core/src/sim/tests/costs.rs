//! What a worker needs beside what requests ask for: one request at a time, so that the times add up.

use super::*;
use crate::load::closed;
use crate::model::{apache, custom, pool, puma, unicorn, uvicorn};
use crate::workload::{cpu, ms};

/// The latency of each of four requests of one user, all of which have the same.
fn latency(model: Model, load: &Load) -> Duration {
    let (receive, answer) = (Some(ms(1)), Some(ms(2)));
    let machine = Machine { receive, answer, ..Machine::ideal(8) };
    let run = run(model, &Workload::from([cpu(ms(10))]), load, &machine, 1);
    let latency = run.overall("all").latency;
    assert_eq!((latency.count(), latency.min()), (4, latency.max()));
    latency.max().expect("there are four")
}

#[test]
fn a_worker_takes_in_and_answers() {
    let one = closed(1).requests(4);
    for load in [&one, &one.clone().keep_alive()] {
        for model in [
            Model::from(puma().workers(2).threads(2)),
            puma().workers(2).threads(2).version("7.0.3").into(),
            unicorn().workers(2).into(),
            apache().workers(2).threads(2).into(),
            uvicorn().workers(2).into(),
        ] {
            let told = latency(model.clone(), load);
            assert_eq!(told, ms(13), "{model:?}");
        }
    }
}

#[test]
fn who_has_no_connection_has_no_cost_of_it() {
    let load = closed(1).requests(4);
    assert_eq!(latency(pool().into(), &load), ms(10));
    assert_eq!(latency(puma().into(), &load), ms(10));
    // A master reads for them.
    assert_eq!(latency(pool().workers(2).into(), &load), ms(12));
    assert_eq!(latency(custom().workers(2).into(), &load), ms(12));
}
