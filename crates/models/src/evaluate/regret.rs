//! Energy regret: what is lost by running at the operating point that a model holds for the best one.
//!
//! # Model
//! With measured time T and power P and predicted t and p at the points of one workload, and a limit s on the slowdown:
//!
//! ```text
//! chosen = argmin t p   over points with t <= (1+s) min t
//! best   = argmin T P   over points with T <= (1+s) min T
//! regret    = max(0, T P (chosen) / T P (best) - 1)
//! violation = max(0, T(chosen) / ((1+s) min T) - 1)
//! ```
//!
//! # Limits
//! A choice that breaks the limit can need less energy than the best one that keeps it. It counts as no regret, never as
//! a negative one, and shows as a violation.

/// Time and power of one operating point, in any units that are the same for all points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimePower {
    /// Time.
    pub time: f64,
    /// Power.
    pub power: f64,
}

/// What a choice costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regret {
    /// Position of the chosen point.
    pub chosen: usize,
    /// Position of the best one.
    pub best: usize,
    /// Share of the best point's energy that is lost.
    pub regret: f64,
    /// Share by which the chosen point exceeds the limit on time.
    pub violation: f64,
}

/// The regret of choosing by `predicted` among points `measured`, one prediction a point; `slowdown` 0.05 is 5 %, `None` no
/// limit. `None` where there is no point.
pub fn regret(measured: &[TimePower], predicted: &[TimePower], slowdown: Option<f64>) -> Option<Regret> {
    let (chosen, best) = (cheapest(predicted, slowdown)?, cheapest(measured, slowdown)?);
    let truth = measured.get(chosen)?;
    let energy = |point: &TimePower| point.time * point.power;
    let violation = slowdown.map_or(0.0, |slowdown| (truth.time / limit(measured, slowdown) - 1.0).max(0.0));
    Some(Regret { chosen, best, regret: (energy(truth) / energy(&measured[best]) - 1.0).max(0.0), violation })
}

/// The point of least energy among those within the slowdown; the first of equals.
pub fn cheapest(points: &[TimePower], slowdown: Option<f64>) -> Option<usize> {
    let most = slowdown.map_or(f64::INFINITY, |slowdown| limit(points, slowdown));
    (0..points.len())
        .filter(|&at| points[at].time <= most)
        .min_by(|&a, &b| (points[a].time * points[a].power).total_cmp(&(points[b].time * points[b].power)))
}

fn limit(points: &[TimePower], slowdown: f64) -> f64 {
    points.iter().map(|point| point.time).fold(f64::INFINITY, f64::min) * (1.0 + slowdown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: &[(f64, f64)]) -> Vec<TimePower> {
        of.iter().map(|&(time, power)| TimePower { time, power }).collect()
    }

    #[test]
    fn regret_is_the_share_of_energy_lost() {
        // Energies: 2000, 1800, 1650. The model says 2000, 1700, 1710: it takes the second, 1800/1650 - 1.
        let measured = points(&[(10.0, 200.0), (12.0, 150.0), (15.0, 110.0)]);
        let predicted = points(&[(10.0, 200.0), (11.0, 170_f64 / 1.1), (15.0, 114.0)]);
        let free = regret(&measured, &predicted, None).unwrap();
        assert_eq!((free.chosen, free.best, free.violation), (1, 2, 0.0));
        assert!((free.regret - 150.0 / 1650.0).abs() < 1e-12);
    }

    #[test]
    fn a_choice_that_is_too_slow_is_a_violation_and_never_a_gain() {
        // At most 11: only the first. The model holds the second for 11 and takes it: 12/11 - 1 too slow.
        let measured = points(&[(10.0, 200.0), (12.0, 150.0)]);
        let predicted = points(&[(10.0, 200.0), (11.0, 160.0)]);
        let under = regret(&measured, &predicted, Some(0.1)).unwrap();
        assert_eq!((under.chosen, under.best, under.regret), (1, 0, 0.0));
        assert!((under.violation - 1.0 / 11.0).abs() < 1e-12);
        assert_eq!(regret(&[], &[], None), None);
    }
}
