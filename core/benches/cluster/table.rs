//! The figures of all rounds, and the table of their ratios.

use super::measure::{Contender, Measure};
use std::fmt;

#[derive(Default)]
pub struct Table {
    /// In the order in which they came: those of a pair by rounds.
    figures: Vec<(Measure, Contender, f64)>,
}

/// What a ratio of ours to a peer's is wanted to be.
#[derive(Clone, Copy)]
enum Wanted {
    AtLeast(f64),
    AtMost(f64),
    /// Shown for what it tells.
    Nothing,
}

fn wanted(measure: Measure, peer: Contender) -> Wanted {
    match (measure, peer) {
        (Measure::OneByOne, Contender::Python("ProcessPoolExecutor")) => Wanted::AtLeast(20.0),
        (Measure::RoundTrip, Contender::Bare) => Wanted::AtMost(1.5),
        (Measure::Large | Measure::LargeAhead, Contender::Bare) => Wanted::AtLeast(0.5),
        _ => Wanted::Nothing,
    }
}

impl Table {
    pub fn note(&mut self, measure: Measure, contender: Contender, figure: f64) {
        self.figures.push((measure, contender, figure));
    }

    fn of(&self, measure: Measure, contender: Contender) -> Vec<f64> {
        let theirs =
            |figure: &&(Measure, Contender, f64)| (figure.0, figure.1) == (measure, contender);
        self.figures.iter().filter(theirs).map(|figure| figure.2).collect()
    }
}

impl fmt::Display for Table {
    /// Markdown. A ratio is that of one round; shown are the median of all rounds, their range, and
    /// the figures of the round that has the median.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | ours | peer | | ours / peer | rounds | wanted |")?;
        writeln!(f, "|---|---:|---|---:|---:|---|---|")?;
        for measure in Measure::ALL {
            let ours = self.of(measure, Contender::Ours);
            for peer in Contender::ALL.into_iter().filter(|c| *c != Contender::Ours) {
                let peers = self.of(measure, peer);
                let mut pairs: Vec<_> = ours.iter().copied().zip(peers).collect();
                pairs.sort_by(|a, b| ratio(*a).total_cmp(&ratio(*b)));
                let (Some(least), Some(most)) = (pairs.first(), pairs.last()) else { continue };
                let median = pairs[pairs.len() / 2];
                writeln!(
                    f,
                    "| {measure} | {} | {peer} | {} | {:.2} | {:.2} to {:.2} | {} |",
                    measure.shown(median.0),
                    measure.shown(median.1),
                    ratio(median),
                    ratio(*least),
                    ratio(*most),
                    wanted(measure, peer).judge(ratio(median)),
                )?;
            }
        }
        Ok(())
    }
}

fn ratio((ours, peer): (f64, f64)) -> f64 {
    ours / peer
}

impl Wanted {
    fn judge(self, ratio: f64) -> String {
        let (text, is_met) = match self {
            Self::AtLeast(least) => (format!("at least {least}"), ratio >= least),
            Self::AtMost(most) => (format!("at most {most}"), ratio <= most),
            Self::Nothing => return "-".to_owned(),
        };
        if is_met { text } else { format!("{text}, missed") }
    }
}
