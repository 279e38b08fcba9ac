//! Performance profiles: for each solver, the share of runs within a factor of the fastest proof, and within a distance
//! of the best plan.

use std::collections::BTreeMap;

use super::row::Row;
use super::score::References;
use super::statistics::SHIFT_S;

/// Factors at which the profile of time is tabled.
pub const FACTORS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
/// Distances at which the profile of objectives is tabled.
pub const DISTANCES: [f64; 7] = [0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1];
/// Distances and factors are the same within this.
const SAME: f64 = 1e-6;

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Id of the solver.
    pub solver: String,
    /// Where a run comes in, ascending; runs that never do are left out.
    pub steps: Vec<f64>,
    /// Number of runs.
    pub runs: usize,
}

impl Curve {
    fn new(solver: &str, values: impl Iterator<Item = Option<f64>>) -> Self {
        let values: Vec<_> = values.collect();
        let mut steps: Vec<f64> = values.iter().flatten().copied().collect();
        steps.sort_by(f64::total_cmp);
        Self { solver: solver.to_owned(), steps, runs: values.len() }
    }

    /// Share of runs at or below a value.
    pub fn share(&self, at: f64) -> f64 {
        self.steps.partition_point(|&step| step <= at + SAME) as f64 / self.runs.max(1) as f64
    }
}

/// Profile of time to a proof: (t + 1 s) / (fastest t + 1 s), fastest over the solvers on one instance and seed.
pub fn of_time(solvers: &[String], rows: &[&Row]) -> Vec<Curve> {
    let proof = |row: &Row| row.is_proved().then_some(row.wall_s);
    let mut fastest: BTreeMap<_, f64> = BTreeMap::new();
    for row in rows {
        if let Some(time) = proof(row) {
            let best = fastest.entry((row.instance_key(), row.seed)).or_insert(f64::INFINITY);
            *best = best.min(time);
        }
    }
    let factor = |row: &Row| {
        let best = fastest.get(&(row.instance_key(), row.seed))?;
        Some((proof(row)? + SHIFT_S) / (best + SHIFT_S))
    };
    curves(solvers, rows, factor)
}

/// Profile of objectives: gap to the best known plan. Instances without a known plan are left out.
pub fn of_objective(solvers: &[String], rows: &[&Row], references: &References) -> Vec<Curve> {
    let best = |row: &Row| references.get(&row.instance_key())?.objective;
    let rows: Vec<_> = rows.iter().copied().filter(|row| best(row).is_some()).collect();
    curves(solvers, &rows, |row| row.gap_to(best(row)))
}

fn curves(solvers: &[String], rows: &[&Row], value: impl Fn(&Row) -> Option<f64>) -> Vec<Curve> {
    let curve = |solver: &String| {
        let of_solver = rows.iter().filter(|row| row.solver == *solver);
        Curve::new(solver, of_solver.map(|row| value(row)))
    };
    solvers.iter().map(curve).filter(|curve| curve.runs > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::Ending;
    use crate::bench::row::tests::row;

    #[test]
    fn factors_are_to_the_fastest_of_an_instance() {
        let solvers = ["x".to_owned(), "y".to_owned()];
        let proof =
            |instance, solver, wall_s| Row { status: Ending::Optimal, wall_s, ..row(instance, solver, 0, None) };
        let rows = [proof("a", "x", 1.0), proof("a", "y", 3.0), proof("b", "y", 9.0), row("b", "x", 0, Some(5.0))];
        let curves = of_time(&solvers, &rows.iter().collect::<Vec<_>>());
        // On a: 2 s and 4 s with the shift; on b only y has a proof.
        assert_eq!((curves[0].steps.as_slice(), curves[1].steps.as_slice()), ([1.0].as_slice(), [1.0, 2.0].as_slice()));
        let shares: Vec<_> = FACTORS[..2].iter().map(|&at| (curves[0].share(at), curves[1].share(at))).collect();
        assert_eq!(shares, [(0.5, 0.5), (0.5, 1.0)]);
    }
}
