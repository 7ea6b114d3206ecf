//! Worker processes against peers, in one run: a table of ratios is printed.
//!
//! `cargo bench -p gvl-lab --bench cluster`; the README of `benches/` tells what each row means. An
//! argument that is part of a measure's name runs that one alone.

mod bare;
mod measure;
mod ours;
mod procspawn;
mod python;
mod table;

use measure::{Contender, Measure};

/// How often everything is measured, one contender after the other. Machines are faster and slower
/// for seconds on end, so that a ratio is good only within a round.
const ROUNDS: usize = 5;

fn main() {
    gvl_lab::init(ours::load);
    ::procspawn::init();
    bare::echo_if_told();
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = wanted.unwrap_or_default();
    let pythons = python::Pythons::find();
    let mut table = table::Table::default();
    for round in 1..=ROUNDS {
        for measure in Measure::ALL.into_iter().filter(|m| m.name().contains(&wanted)) {
            for contender in Contender::ALL {
                let figure = match contender {
                    Contender::Ours => Some(ours::measure(measure)),
                    Contender::Bare => bare::measure(measure),
                    Contender::Procspawn => procspawn::measure(measure),
                    Contender::Python(pool) => pythons.measure(pool, measure),
                };
                if let Some(figure) = figure {
                    eprintln!("round {round}: {measure}: {contender}: {}", measure.shown(figure));
                    table.note(measure, contender, figure);
                }
            }
        }
    }
    println!("{table}");
}
