//! The simulator's speed against peers, in one run: tables are printed.
//!
//! `cargo bench -p gvl-lab --bench sim`; the README of `benches/` tells what each row means. An
//! argument that is part of a measure's name runs that one alone.

mod bare;
mod ours;

fn main() {
    for _ in 0..3 {
        let ours = ours::customers(3_000_000);
        let bare = bare::customers(3_000_000);
        println!(
            "ours {:.2} M/s  bare {:.2} M/s  ratio {:.2}",
            ours / 1e6,
            bare / 1e6,
            bare / ours
        );
    }
}
