//! What the simulator records: sound for every way of serving, and bounded.

use super::{Conditions, on};
use crate::gvl::{Gvl, Phase};
use crate::load::closed;
use crate::machine::Machine;
use crate::model::{Handlers, Model, apache, pool, puma, uvicorn, webrick};
use crate::timeline::Timeline;
use crate::timeline::tests::assert_sound;
use crate::workload::{Pool, Workload, checkout, cpu, exp, io, ms, native, us};

fn recorded(model: impl Into<Model>, events: usize) -> Timeline {
    let steps = [cpu(exp(ms(3))), checkout("db", [io(exp(ms(4)))]), native(us(500)), cpu(ms(1))];
    let workload = Workload::of(steps).pool(Pool::new("db", 2));
    let load = closed(9).requests(80);
    let topology = model.into().topology();
    let machine = Machine { cores: Some(2), ..Machine::default() };
    let run =
        super::super::run(&topology, &workload, &load, recording(&machine, events), 5, &mut |_| {});
    run.unwrap().timeline.unwrap()
}

#[test]
fn every_way_of_serving_gives_a_sound_timeline() {
    let models: Vec<Model> = vec![
        pool().threads(4).gvl(Gvl::cruby()).into(),
        pool().threads(4).gvl(Gvl::cpython()).into(),
        puma().workers(2).threads(3).into(),
        webrick().into(),
        uvicorn().handlers(Handlers::Async).into(),
        uvicorn().handlers(Handlers::Offloaded).into(),
        apache().workers(2).into(),
    ];
    for model in models {
        let topology = model.topology();
        let timeline = recorded(model, 1_000_000);
        assert_sound(&timeline, topology.gvl.is_exclusive());
        assert_eq!(timeline.dropped, 0);
        let mut served: Vec<_> =
            timeline.tracks.iter().flat_map(|t| &t.requests).map(|r| r.number).collect();
        served.sort_unstable();
        assert_eq!(served, (0..80).collect::<Vec<_>>(), "{}", topology.label);
        // Whoever computes is on a core, and holds the lock for it where there is one.
        let on = timeline.tracks.iter().flat_map(|t| &t.ran).map(|ran| ran.to - ran.from);
        assert!(on.sum::<u64>() > 0);
    }
}

#[test]
fn phases_are_those_of_the_accounts() {
    let workload = Workload::of([cpu(ms(3)), io(exp(ms(4)))]);
    let topology = Model::from(pool().threads(3)).topology();
    let (load, machine) = (closed(3).requests(40), Machine::default());
    let run =
        super::super::run(&topology, &workload, &load, recording(&machine, 10_000), 1, &mut |_| {});
    let run = run.unwrap();
    let timeline = run.timeline.unwrap();
    let spent = |phase: Phase| {
        let spans = timeline.tracks.iter().flat_map(|track| &track.spans);
        spans.filter(|span| span.phase == phase).map(|span| span.to - span.from).sum::<u64>()
    };
    let of_accounts = [run.gvl.hold, run.gvl.wait, run.gvl.blocked].map(crate::clock::nanos);
    assert_eq!([Phase::Holding, Phase::Waiting, Phase::Blocked].map(spent), of_accounts);
    assert_eq!(spent(Phase::Holding) + of_accounts[1] + of_accounts[2], 3 * timeline.end);
}

#[test]
fn a_full_record_ends_early_and_says_so() {
    let (whole, cut) = (recorded(puma().threads(3), 1_000_000), recorded(puma().threads(3), 60));
    assert_sound(&cut, true);
    assert!(cut.end < whole.end && cut.dropped > 0, "{} of {}", cut.end, whole.end);
    for track in &cut.tracks {
        assert_eq!(track.spans.last().map(|span| span.to), Some(cut.end));
    }
    let before = |timeline: &Timeline| {
        let grants = timeline.grants().map(|grant| (grant.span.from, grant.track.number));
        grants.take_while(|(at, _)| *at < cut.end).collect::<Vec<_>>()
    };
    assert_eq!(before(&cut), before(&whole));
}

fn recording(machine: &Machine, events: usize) -> Conditions<'_> {
    Conditions { timeline: Some(events), ..on(machine) }
}
