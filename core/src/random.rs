//! Named streams of chance from one seed; the library has no other source of it.
//!
//! Each user, arrival process and request draws from a stream of its own, so that adding one does
//! not move the others. A stream is PCG XSL RR 128/64, which `rand_pcg` documents as portable;
//! logarithms come from `libm` rather than the platform, so that the same seed gives the same bits
//! everywhere. [`Streams`] makes many of one name.

mod ziggurat;

use rand_core::Rng;
use rand_pcg::Pcg64;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream(Pcg64);

/// The streams of one name and seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams {
    name: u64,
    high: u64,
}

impl Streams {
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        // FNV-1a names the stream; splitmix64's finaliser spreads seed and index over the state.
        let name = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self { name, high: mix(seed ^ name) }
    }

    /// The stream of an index.
    #[inline]
    pub(crate) fn at(self, index: u64) -> Stream {
        let low = mix(self.high.wrapping_add(mix(index)));
        let state = (u128::from(self.high) << 64) | u128::from(low);
        Stream(Pcg64::new(state, u128::from(mix(self.name ^ index.rotate_left(32)))))
    }
}

impl Stream {
    /// The stream `index` of those called `name`.
    pub fn new(seed: u64, name: &str, index: u64) -> Self {
        Streams::new(seed, name).at(index)
    }

    /// 64 random bits: the seed of something else.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0.0..1.0`, with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ziggurat::unit(self.0.next_u64())
    }

    /// A draw from the exponential distribution of mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        ziggurat::exponential(|| self.0.next_u64())
    }

    /// A draw from the normal distribution of mean 0 and deviation 1.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        ziggurat::normal(|| self.0.next_u64())
    }

    /// An index below `bound`, which is not nought; the bias is below 2^-32 for small bounds.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }
}

fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_repeats_and_its_neighbours_differ() {
        let draw = |name, index| Stream::new(7, name, index).unit();
        assert_eq!(draw("user", 1), draw("user", 1));
        assert_ne!(draw("user", 1), draw("user", 2));
        assert_ne!(draw("user", 1), draw("request", 1));
    }

    #[test]
    fn exponential_draws_have_mean_one() {
        let mut stream = Stream::new(1, "mean", 0);
        let mean = (0..100_000).map(|_| stream.exponential()).sum::<f64>() / 100_000.0;
        // Four standard errors of 1/sqrt(100,000).
        assert!((mean - 1.0).abs() < 0.0127, "{mean}");
    }
}
