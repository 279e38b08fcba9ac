//! Where to measure next: alternately where least was measured and where the fitted model is least sure.
//!
//! # Idea
//! A smooth curve is learned best from evenly spread points; what a form does not know, such as the bend at a power limit,
//! shows where the fitted curve and a straight line between the neighboring measurements disagree. Every other point
//! goes to the middle of the widest gap, the others to the largest disagreement. Before there is a fit all go to gaps.
//!
//! # Model
//! Curves are fitted for each power limit apart if clocks are swept (power saturates at a limit), over SM and memory clock.
//! Disagreement is |ln(fitted/interpolated)|, interpolated in ln(clock) and ln(value), the larger one of time and power,
//! times the square root of the distance to the nearest measured clock. The width of an interval is ln(high/low)/2.
//!
//! # Complexity
//! Two fits for each group of points.
//!
//! # Limits
//! One point at a time. The widest *interval* is no good guide: it lies where neighbors are few, not where the form is
//! wrong, and on measured curves it chose worse points than an even grid (`docs/profiling.md`).
//!
//! # References
//! H. S. Seung, M. Opper, H. Sompolinsky, "Query by committee", 1992 (measuring where two models disagree).

use rats_models::dvfs::curve::Curve;
use rats_models::dvfs::scope::{Axis, Place, Sample};
use rats_models::score::Quantity;

use super::target::Target;

/// Points that a fit needs at least.
const FIT: usize = 4;

/// More than any distance between clocks or limits.
const UNFITTED: f64 = 1e6;

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
    /// Relative half width of the widest interval of all that is not measured; absent while something is not fitted.
    pub half_width: Option<f64>,
}

/// The candidate that tells most; `None` if all are measured.
pub fn next(candidates: &[Target], known: &[Known]) -> Option<Doubt> {
    let mut open: Vec<Target> = candidates.to_vec();
    open.retain(|target| known.iter().all(|known| known.target != *target));
    let (mut best, mut widest) = (None::<(f64, Target)>, Some(0.0_f64));
    let mut groups: Vec<Option<i64>> = open.iter().map(|target| group(*target)).collect();
    groups.sort_unstable();
    groups.dedup();
    for of in groups {
        let inside: Vec<Known> = known.iter().copied().filter(|known| group(known.target) == of).collect();
        let curves = curves(&inside);
        for &target in open.iter().filter(|target| group(**target) == of) {
            let half_width = curves.as_ref().and_then(|curves| half_width(curves, target));
            widest = widest.zip(half_width).map(|(widest, width)| widest.max(width));
            let gap = gap(&inside, target);
            let doubted = curves.as_ref().and_then(|curves| disagreement(curves, &inside, target));
            let urgency = match doubted {
                // What is not fitted comes before what is.
                None => UNFITTED + gap,
                Some(doubted) if known.len() % 2 == 1 => doubted * gap.sqrt(),
                Some(_) => gap,
            };
            if best.is_none_or(|(most, _)| urgency > most) {
                best = Some((urgency, target));
            }
        }
    }
    best.map(|(_, target)| Doubt { target, half_width: widest })
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

/// How far curve and interpolation between the nearest measured clocks are apart; `None` beyond those.
fn disagreement(curves: &[Curve; 2], known: &[Known], target: Target) -> Option<f64> {
    let (_, at) = place(target)?;
    let core = |known: &&Known| place(known.target).map_or(0.0, |(_, at)| at.core);
    let level = || known.iter().filter(|known| known.target.mem_mhz == target.mem_mhz);
    let below = level().filter(|known| core(known) < at.core).max_by(|a, b| core(a).total_cmp(&core(b)))?;
    let above = level().filter(|known| core(known) > at.core).min_by(|a, b| core(a).total_cmp(&core(b)))?;
    let share = (at.core / core(&below)).ln() / (core(&above) / core(&below)).ln();
    let apart = |curve: &Curve, value: fn(&Known) -> f64| {
        let straight = (1.0 - share) * value(below).ln() + share * value(above).ln();
        (curve.value(at).ln() - straight).abs()
    };
    let most = apart(&curves[0], |known| known.step_s).max(apart(&curves[1], |known| known.power_w));
    most.is_finite().then_some(most)
}

/// Distance to the nearest known point, MHz or W; more than any if none is at this memory clock.
fn gap(known: &[Known], target: Target) -> f64 {
    let core = |target: Target| place(target).map_or(1.0, |(_, at)| at.core);
    let near = known.iter().filter(|known| known.target.mem_mhz == target.mem_mhz);
    near.map(|known| (core(target) - core(known.target)).abs()).min_by(f64::total_cmp).unwrap_or(UNFITTED)
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
        // 800 is 400 from 400 and 700 from 1500; 500 and 1400 are 100 from a measured clock.
        let candidates: Vec<Target> = [400, 500, 800, 1400, 1500].map(at).to_vec();
        let doubt = next(&candidates, &[known(400), known(1500)]).unwrap();
        assert_eq!(doubt, Doubt { target: at(800), half_width: None });
    }

    #[test]
    fn with_a_fit_gaps_and_disagreements_take_turns_until_all_is_measured() {
        let candidates: Vec<Target> = (4..=15).map(|step| at(100 * step)).collect();
        // An even number of measured clocks: the middle of the widest gap, 800 to 1500; 1100 and 1200 are 300 from its ends.
        let even: Vec<Known> = [400, 500, 600, 700, 1500, 800].map(known).to_vec();
        let without_800: Vec<Known> = even.iter().copied().filter(|known| known.target != at(800)).collect();
        let doubt = next(&candidates, &even).unwrap();
        assert!(matches!(doubt.target.sm_mhz, Some(1100 | 1200)), "{doubt:?}");
        // An odd number: a straight line over 700 to 1500 misses the bend of power, 50 + 1e-7 f^3, by far most.
        let doubt = next(&candidates, &without_800).unwrap();
        assert!(doubt.target.sm_mhz.is_some_and(|mhz| (900..=1300).contains(&mhz)), "{doubt:?}");
        assert!(doubt.half_width.is_some(), "{doubt:?}");
        let all: Vec<Known> = (4..=15).map(|step| known(100 * step)).collect();
        assert_eq!(next(&candidates, &all), None);
    }
}
