//! The figures of all rounds, and the table of how far the engines are apart.

use std::fmt;

/// What a run gave.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// Throughput in requests per second, p50 and p99 in ms.
    pub figures: [f64; 3],
    /// The share of the processors that was used meanwhile and not by the server.
    pub beside: f64,
}

/// How far apart the engines may be, in percent: throughput, p50, p99.
const WANTED: [f64; 3] = [5.0, 10.0, 15.0];

#[derive(Default)]
pub struct Table(Vec<(String, Vec<Pair>)>);

struct Pair {
    real: Figures,
    sim: Figures,
}

impl Table {
    pub fn note(&mut self, name: &str, real: Figures, sim: Figures) {
        let pair = Pair { real, sim };
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, pairs)) => pairs.push(pair),
            None => self.0.push((name.to_owned(), vec![pair])),
        }
    }
}

impl fmt::Display for Table {
    /// Markdown: the medians of the rounds of either engine, and how far that of the simulator is above
    /// the real one's; in brackets the range of the real one's rounds around its median.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| what | rps real | sim | apart | p50 real, ms | sim | apart | p99 real, ms | sim | apart | beside | |"
        )?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|")?;
        for (name, pairs) in &self.0 {
            write!(f, "| {name} |")?;
            let mut missed = Vec::new();
            for (n, what) in ["rps", "p50", "p99"].into_iter().enumerate() {
                let real = Spread::of(pairs.iter().map(|pair| pair.real.figures[n]));
                let sim = Spread::of(pairs.iter().map(|pair| pair.sim.figures[n]));
                let apart = (sim.median / real.median - 1.0) * 100.0;
                write!(f, " {:.1} ({:.1} to {:.1}) |", real.median, real.least, real.most)?;
                write!(f, " {:.1} | {apart:+.1} % |", sim.median)?;
                if apart.abs() > WANTED[n] {
                    missed.push(what);
                }
            }
            let beside = Spread::of(pairs.iter().map(|pair| pair.real.beside));
            write!(f, " {:.0} % |", beside.median * 100.0)?;
            let missed =
                if missed.is_empty() { String::new() } else { missed.join(", ") + " missed" };
            writeln!(f, " {missed} |")?;
        }
        Ok(())
    }
}

struct Spread {
    least: f64,
    median: f64,
    most: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let n = values.len();
        Self { least: values[0], median: values[n / 2], most: values[n - 1] }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [rps, p50, p99] = self.figures;
        write!(f, "{rps:.1} rps, p50 {p50:.1} ms, p99 {p99:.1} ms")
    }
}
