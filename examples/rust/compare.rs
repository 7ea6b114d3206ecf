//! Compares server models: a page that computes 1 ms and waits 10 ms, under 16 users.
//!
//! Builds the experiment in code, runs it on real threads and reads the report: figures, the
//! ceiling that bounds each row, and what the checks doubt. The same experiment as a file is printed
//! first. Run it with `cargo run -p gvl-lab-examples --bin compare`.

use gvl_lab::load::closed;
use gvl_lab::model::{Handlers, pool, puma, uvicorn};
use gvl_lab::workload::{cpu, io, ms};
use gvl_lab::{Engine, Error, Experiment};

fn main() -> Result<(), Error> {
    let experiment = Experiment::new(puma().threads(3))
        .name("a page: 1 ms of computing, 10 ms of waiting")
        .model(puma().threads(16))
        .model(uvicorn())
        .model(uvicorn().handlers(Handlers::Offloaded))
        .model(pool().threads(16).gvl(gvl_lab::gvl::Gvl::none()))
        .workload([cpu(ms(1)), io(ms(10))])
        .load(closed(16).requests(400));
    println!("{}", experiment.to_toml());

    let report = experiment.run(Engine::Real)?;
    for row in &report.rows {
        let rps = row.throughput_rps.unwrap_or_default();
        let p99 = row.latency_ms.p99.unwrap_or_default();
        print!("{:<24} {rps:>6.0} requests/s, p99 {p99:>5.1} ms", row.title());
        match row.ceiling() {
            Some(bound) => println!(", at most {:.0} ({})", bound.rps, bound.formula),
            None => println!(),
        }
        for warning in &row.warnings {
            println!("    {}: {}", warning.kind, warning.text);
        }
    }
    Ok(())
}
