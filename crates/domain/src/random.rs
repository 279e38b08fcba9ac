//! A small seeded source of random numbers, the same on every machine (`SplitMix64`; Steele, Lea and Flood, "Fast
//! Splittable Pseudorandom Number Generators", 2014).

/// A stream of random numbers that a seed determines.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly spread over [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normal, mean 0 and standard deviation 1 (Box and Muller, "A Note on the Generation of Random Normal Deviates",
    /// 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A number below `count`; 0 if `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        // Multiplication instead of the remainder: the bias is below count / 2^64.
        usize::try_from((u128::from(self.bits()) * count as u128) >> 64).unwrap_or(0)
    }

    /// A number of `low..=high`.
    pub fn within(&mut self, low: i64, high: i64) -> i64 {
        let count = usize::try_from(high - low + 1).unwrap_or(0);
        low + i64::try_from(self.below(count)).unwrap_or(0)
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `values`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Puts `values` in random order (R. Durstenfeld, "Algorithm 235", 1964).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_equals_the_published_one() {
        // First outputs of SplitMix64 for seed 1234567 (Vigna's reference code).
        let mut random = Random::new(1_234_567);
        assert_eq!([random.bits(), random.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn numbers_stay_within_their_range() {
        let mut random = Random::new(1);
        let mut seen = [false; 5];
        for _ in 0..200 {
            let value = random.within(-2, 2);
            seen[usize::try_from(value + 2).unwrap()] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut random = Random::new(5);
        let drawn: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = drawn.iter().sum::<f64>() / 20_000.0;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
        // Standard errors: 1/sqrt(20000) = 0.007 and sqrt(2/20000) = 0.01.
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04);
    }
}
