//! In which order points are measured.
//!
//! # Idea
//! A sweep that is broken off should have seen all of the range, and time (heat, a neighbor's load) should not be mistaken
//! for the clock. So points come farthest-first, each as far as can be from those before, and are shuffled in blocks
//! that double in size.
//!
//! # Complexity
//! O(n^2).
//!
//! # References
//! T. Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985 (farthest-first traversal).

use rats_domain::random::Random;

use super::target::Target;

/// Points of the first block that is shuffled.
const FIRST_BLOCK: usize = 3;

/// The points in the order in which they are measured.
pub fn order(points: &[Target], seed: u64) -> Vec<Target> {
    let mut ordered = farthest_first(points);
    let (mut from, mut size, mut random) = (0, FIRST_BLOCK, Random::new(seed));
    while from < ordered.len() {
        let to = (from + size).min(ordered.len());
        shuffle(&mut ordered[from..to], &mut random);
        (from, size) = (to, size * 2);
    }
    ordered
}

fn farthest_first(points: &[Target]) -> Vec<Target> {
    let most = |of: fn(&Target) -> Option<i64>| points.iter().filter_map(of).max().unwrap_or(1) as f64;
    let scale = [most(|at| at.sm_mhz), most(|at| at.mem_mhz), most(|at| at.power_limit_mw)];
    let place = |at: &Target| {
        let parts = [at.sm_mhz, at.mem_mhz, at.power_limit_mw];
        std::array::from_fn::<f64, 3, _>(|axis| parts[axis].map_or(1.0, |value| value as f64 / scale[axis]))
    };
    let places: Vec<[f64; 3]> = points.iter().map(place).collect();
    let mut distance = vec![f64::INFINITY; points.len()];
    let mut ordered = Vec::with_capacity(points.len());
    let mut next = points.len().checked_sub(1);
    while let Some(at) = next {
        ordered.push(points[at]);
        for (other, nearest) in places.iter().zip(&mut distance) {
            let squares: f64 = other.iter().zip(&places[at]).map(|(a, b)| (a - b).powi(2)).sum();
            *nearest = nearest.min(squares);
        }
        distance[at] = f64::NEG_INFINITY;
        let farthest = (0..points.len()).max_by(|&a, &b| distance[a].total_cmp(&distance[b]));
        next = farthest.filter(|&at| distance[at] > f64::NEG_INFINITY);
    }
    ordered
}

/// R. Fisher and F. Yates, 1938.
fn shuffle(points: &mut [Target], random: &mut Random) {
    for at in (1..points.len()).rev() {
        let other = usize::try_from(random.bits() % (at as u64 + 1)).unwrap_or(0);
        points.swap(at, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(count: i64) -> Vec<Target> {
        (1..=count).map(|step| Target { sm_mhz: Some(100 * step), ..Target::default() }).collect()
    }

    #[test]
    fn the_first_block_spans_the_range_and_nothing_is_lost() {
        let points = clocks(17);
        let ordered = order(&points, 7);
        let mut block: Vec<i64> = ordered[..3].iter().filter_map(|at| at.sm_mhz).collect();
        block.sort_unstable();
        assert_eq!(block, [100, 900, 1700]);
        let mut all = ordered.clone();
        all.sort_unstable();
        assert_eq!(all, points);
    }

    #[test]
    fn the_seed_decides_the_order() {
        let points = clocks(40);
        assert_eq!(order(&points, 1), order(&points, 1));
        assert_ne!(order(&points, 1), order(&points, 2));
        assert_eq!(order(&[], 1), []);
    }
}
