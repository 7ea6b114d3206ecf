//! Draws from the exponential and the normal distribution without a logarithm, but for one in a
//! hundred: the ziggurat of Marsaglia and Tsang ("The Ziggurat Method for Generating Random
//! Variables", Journal of Statistical Software 5(8), 2000), with 256 layers.
//!
//! `random` calls it. The tables are worked out once, by `libm`, so that they have the same bits
//! everywhere; the ready crate takes its logarithms from whatever else is linked in.

use std::sync::LazyLock;

const LAYERS: usize = 256;

/// The edges of the layers, from the base up: layer `i` is as wide as `edges[i]`, and whatever is
/// left of `edges[i + 1]` is under the density for certain.
struct Ziggurat {
    edges: [f64; LAYERS + 1],
    /// The density at each edge.
    heights: [f64; LAYERS + 1],
}

/// Where the tail begins, and the area of each layer (their table 1 and section 3).
const EXPONENTIAL_TAIL: f64 = 7.697_117_470_131_05;
const EXPONENTIAL_AREA: f64 = 0.003_949_659_822_581_572;
const NORMAL_TAIL: f64 = 3.654_152_885_361_009;
const NORMAL_AREA: f64 = 0.004_928_673_233_974_655;

static EXPONENTIAL: LazyLock<Ziggurat> = LazyLock::new(|| {
    Ziggurat::new(EXPONENTIAL_TAIL, EXPONENTIAL_AREA, |x| libm::exp(-x), |y| -libm::log(y))
});

static NORMAL: LazyLock<Ziggurat> = LazyLock::new(|| {
    let inverse = |y| libm::sqrt(-2.0 * libm::log(y));
    Ziggurat::new(NORMAL_TAIL, NORMAL_AREA, bell, inverse)
});

impl Ziggurat {
    fn new(
        tail: f64,
        area: f64,
        density: impl Fn(f64) -> f64,
        inverse: impl Fn(f64) -> f64,
    ) -> Self {
        let mut edges = [0.0; LAYERS + 1];
        // The base is a rectangle of the same area as itself and the tail.
        (edges[0], edges[1]) = (area / density(tail), tail);
        for n in 2..LAYERS {
            edges[n] = inverse(area / edges[n - 1] + density(edges[n - 1]));
        }
        let heights = edges.map(density);
        Self { edges, heights }
    }
}

/// Mean 1. `bits` gives 64 random bits.
#[inline]
pub(super) fn exponential(mut bits: impl FnMut() -> u64) -> f64 {
    let table = &*EXPONENTIAL;
    loop {
        let (layer, place) = split(bits());
        let x = place * table.edges[layer];
        if x < table.edges[layer + 1] {
            return x;
        }
        if layer == 0 {
            // Without memory, the tail is the distribution again.
            return EXPONENTIAL_TAIL - libm::log(1.0 - unit(bits()));
        }
        if table.is_under(layer, unit(bits()), libm::exp(-x)) {
            return x;
        }
    }
}

/// Mean 0 and deviation 1.
#[inline]
pub(super) fn normal(mut bits: impl FnMut() -> u64) -> f64 {
    let table = &*NORMAL;
    loop {
        let random = bits();
        let (layer, place) = split(random);
        let x = place * table.edges[layer];
        // A bit that neither the layer nor the place has.
        let sign = if random & (1 << LAYER_BITS) == 0 { 1.0 } else { -1.0 };
        if x < table.edges[layer + 1] {
            return sign * x;
        }
        if layer == 0 {
            return sign * normal_tail(bits);
        }
        if table.is_under(layer, unit(bits()), bell(x)) {
            return sign * x;
        }
    }
}

/// After Marsaglia's "Generating a Variable from the Tail of the Normal Distribution", 1964.
fn normal_tail(mut bits: impl FnMut() -> u64) -> f64 {
    loop {
        let x = -libm::log(1.0 - unit(bits())) / NORMAL_TAIL;
        let y = -libm::log(1.0 - unit(bits()));
        if y + y >= x * x {
            return NORMAL_TAIL + x;
        }
    }
}

impl Ziggurat {
    /// Whether a point at this height of a layer is under the density.
    fn is_under(&self, layer: usize, height: f64, density: f64) -> bool {
        let (low, high) = (self.heights[layer], self.heights[layer + 1]);
        low + (high - low) * height < density
    }
}

fn bell(x: f64) -> f64 {
    libm::exp(-x * x / 2.0)
}

/// How many bits name a layer.
const LAYER_BITS: u32 = LAYERS.ilog2();

/// A layer, and a place in `0.0..1.0`.
#[inline]
fn split(bits: u64) -> (usize, f64) {
    (bits as usize % LAYERS, unit(bits))
}

/// A number in `0.0..1.0` of the upper 53 bits.
#[inline]
pub(super) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn the_layers_end_at_the_top() {
        // The last one has the area that is left, which fixes where the tail has to begin.
        for (table, area) in [(&*EXPONENTIAL, EXPONENTIAL_AREA), (&*NORMAL, NORMAL_AREA)] {
            let top = table.edges[LAYERS - 1];
            let left = top * (1.0 - table.heights[LAYERS - 1]);
            assert!((left - area).abs() < 1e-9, "{left} of {area}");
        }
    }

    /// Kolmogorov and Smirnov's distance of a million draws, which is below 1.95 / sqrt(n) in 99.9 %
    /// of all samples.
    fn check(draw: impl Fn(&mut Stream) -> f64, below: impl Fn(f64) -> f64) {
        const DRAWS: usize = 1_000_000;
        let mut stream = Stream::new(1, "ziggurat", 0);
        let mut draws: Vec<f64> = (0..DRAWS).map(|_| draw(&mut stream)).collect();
        draws.sort_unstable_by(f64::total_cmp);
        let far = draws.iter().enumerate().map(|(n, x)| (below(*x) - n as f64 / 1e6).abs());
        let distance = far.fold(0.0, f64::max);
        assert!(distance < 1.95e-3, "{distance}");
        // The tail: beyond the ziggurat's base.
        let tail = draws.iter().filter(|x| **x > EXPONENTIAL_TAIL).count() as f64;
        let expected = (1.0 - below(EXPONENTIAL_TAIL)) * 1e6;
        assert!((tail - expected).abs() <= 4.0 * libm::sqrt(expected).max(1.0), "{tail}");
    }

    #[test]
    fn draws_are_distributed_as_they_should_be() {
        check(Stream::exponential, |x| 1.0 - libm::exp(-x));
        check(Stream::normal, |x| 0.5 * libm::erfc(-x / core::f64::consts::SQRT_2));
    }
}
