//! The simulator's speed beside a bare loop, in one run: a line a round is printed.
//!
//! `cargo bench -p gvl-lab --bench sim`; the README of `benches/` tells what is compared.

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
