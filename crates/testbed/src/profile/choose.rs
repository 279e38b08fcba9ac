//! Where to measure next: where the fitted model is least sure.
//!
//! # Idea
//! Time and power over the clock (or the power limit) are fitted to what was measured; the candidate with the widest interval
//! tells the most. Before there is a fit, the middle of the widest gap does.
//!
//! # Model
//! Curves are fitted for each power limit apart if clocks are swept (power saturates at a limit), over SM and memory clock.
//! The width of an interval is ln(high/low)/2, its relative half width, the larger one of time and power.
//!
//! # Complexity
//! Two fits for each group of points.
//!
//! # Limits
//! One point at a time. Candidates without a fit are taken by the relative distance to the nearest measured clock.

use rats_models::dvfs::curve::Curve;
use rats_models::dvfs::scope::{Axis, Place, Sample};
use rats_models::score::Quantity;

use super::target::Target;

/// Points that a fit needs at least.
const FIT: usize = 4;

/// What is known of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// Where.
    pub target: Target,
    /// Time of a step, s.
    pub step_s: f64,
    /// Power of a GPU, W.
    pub power_w: f64,
}

/// A point that is worth measuring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubt {
    /// Where.
    pub target: Target,
    /// Relative half width of the widest interval there; absent where nothing is fitted yet.
    pub half_width: Option<f64>,
}

/// The candidate of which least is known; `None` if all are measured.
pub fn next(candidates: &[Target], known: &[Known]) -> Option<Doubt> {
    let mut open: Vec<Target> = candidates.to_vec();
    open.retain(|target| known.iter().all(|known| known.target != *target));
    let mut best: Option<(f64, Doubt)> = None;
    let mut groups: Vec<Option<i64>> = open.iter().map(|target| group(*target)).collect();
    groups.sort_unstable();
    groups.dedup();
    for of in groups {
        let inside: Vec<Known> = known.iter().copied().filter(|known| group(known.target) == of).collect();
        let curves = curves(&inside);
        for &target in open.iter().filter(|target| group(**target) == of) {
            let half_width = curves.as_ref().and_then(|curves| half_width(curves, target));
            // What is not fitted comes before what is.
            let urgency = half_width.unwrap_or_else(|| 1e3 + gap(&inside, target));
            if best.is_none_or(|(most, _)| urgency > most) {
                best = Some((urgency, Doubt { target, half_width }));
            }
        }
    }
    best.map(|(_, doubt)| doubt)
}

/// Points that one curve describes: those of one power limit if clocks are swept.
fn group(target: Target) -> Option<i64> {
    target.sm_mhz.and(target.power_limit_mw)
}

fn place(target: Target) -> Option<(Axis, Place)> {
    let mem = target.mem_mhz.map_or(1.0, |mhz| mhz as f64);
    match (target.sm_mhz, target.power_limit_mw) {
        (Some(mhz), _) => Some((Axis::Clock, Place { core: mhz as f64, mem })),
        (None, Some(mw)) => Some((Axis::Limit, Place { core: mw as f64 / 1e3, mem })),
        (None, None) => None,
    }
}

fn curves(known: &[Known]) -> Option<[Curve; 2]> {
    let axis = known.iter().find_map(|known| place(known.target))?.0;
    let samples = |value: fn(&Known) -> f64| -> Vec<Sample> {
        known.iter().filter_map(|known| Some(Sample { at: place(known.target)?.1, value: value(known) })).collect()
    };
    if known.len() < FIT {
        return None;
    }
    let time = Curve::fit(Quantity::Time, axis, &samples(|known| known.step_s), None)?;
    let power = Curve::fit(Quantity::Power, axis, &samples(|known| known.power_w), None)?;
    Some([time, power])
}

fn half_width(curves: &[Curve; 2], target: Target) -> Option<f64> {
    let (_, at) = place(target)?;
    let width = |curve: &Curve| curve.predict(at).map(|found| (found.high / found.low).ln() / 2.0);
    Some(width(&curves[0])?.max(width(&curves[1])?)).filter(|width| width.is_finite())
}

/// Relative distance to the nearest known point; 1 if none is at this memory clock.
fn gap(known: &[Known], target: Target) -> f64 {
    let core = |target: Target| place(target).map_or(1.0, |(_, at)| at.core);
    let near = known.iter().filter(|known| known.target.mem_mhz == target.mem_mhz);
    near.map(|known| (core(target) / core(known.target)).ln().abs()).min_by(f64::total_cmp).unwrap_or(1e2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sm_mhz: i64) -> Target {
        Target { sm_mhz: Some(sm_mhz), ..Target::default() }
    }

    /// t = 0.1 + 400/f s, P = 50 + 1e-7 f^3 W, in MHz.
    fn known(sm_mhz: i64) -> Known {
        let f = sm_mhz as f64;
        Known { target: at(sm_mhz), step_s: 0.1 + 400.0 / f, power_w: 50.0 + 1e-7 * f.powi(3) }
    }

    #[test]
    fn without_a_fit_the_widest_gap_comes_first() {
        // ln(800/400) = 0.69 from 400 and 0.63 from 1500; 500 and 1400 are nearer to a measured clock.
        let candidates: Vec<Target> = [400, 500, 800, 1400, 1500].map(at).to_vec();
        let doubt = next(&candidates, &[known(400), known(1500)]).unwrap();
        assert_eq!(doubt, Doubt { target: at(800), half_width: None });
    }

    #[test]
    fn with_a_fit_the_widest_interval_comes_first_until_all_is_measured() {
        let candidates: Vec<Target> = (4..=15).map(|step| at(100 * step)).collect();
        // Without noise a fit is exact and every interval nothing; 1 % up and down makes them real.
        let noisy = |(at, mhz): (usize, i64)| {
            let known = known(mhz);
            Known { power_w: known.power_w * if at % 2 == 0 { 1.01 } else { 0.99 }, ..known }
        };
        let few: Vec<Known> = [400, 500, 600, 700, 1500].into_iter().enumerate().map(noisy).collect();
        let doubt = next(&candidates, &few).unwrap();
        assert!(doubt.half_width.is_some_and(|width| width > 1e-3), "{doubt:?}");
        assert!(few.iter().all(|known| known.target != doubt.target));
        let all: Vec<Known> = (4..=15).map(|step| known(100 * step)).collect();
        assert_eq!(next(&candidates, &all), None);
    }
}
