//! Ensembles of regression trees: the black-box competitor of every model here that has a form.
//!
//! **Idea.** Many small trees, each a list of questions about one feature at a time; their mean (forest) or their sum
//! (boosting) follows any shape the rows show, and nothing beyond them: outside the rows the value stays flat.
//!
//! **Model.** *Extremely randomized trees*: every tree sees all rows, each split takes the best of a random threshold for
//! `features` random features. *Gradient boosting*: every tree fits what the ones before left over (squared error), shrunk
//! by `rate`, on a random `share` of the rows.
//!
//! **Complexity.** `O(trees * features * rows * log rows * depth)` to fit, `O(trees * depth)` to predict a row.
//!
//! **Limits.** No extrapolation; boosting takes no weights. A fitted ensemble is not written to files: it is a pure
//! function of rows, targets, parameters and seed, so keep those and fit again.
//!
//! **References.** P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63 (2006). T. Chen,
//! C. Guestrin, "`XGBoost`: a scalable tree boosting system", KDD 2016. Both by the crate `smartcore`.

use serde::{Deserialize, Serialize};
use smartcore::ensemble::extra_trees_regressor::{ExtraTreesRegressor, ExtraTreesRegressorParameters};
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::xgboost::{XGRegressor, XGRegressorParameters};

type Matrix = DenseMatrix<f64>;

/// A fitted ensemble that turns a row of features into one number.
#[derive(Debug)]
pub struct Trees {
    width: usize,
    ensemble: Ensemble,
}

#[derive(Debug)]
enum Ensemble {
    Forest(ExtraTreesRegressor<f64, f64, Matrix, Vec<f64>>),
    Boosted(XGRegressor<f64, f64, Matrix, Vec<f64>>),
}

/// Which ensemble, how large.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeParams {
    /// Extremely randomized trees.
    Forest {
        /// Number of trees.
        trees: usize,
        /// Fewest rows in a leaf.
        leaf: usize,
        /// Features tried at a split; `None` tries a third of them (at least one).
        features: Option<usize>,
    },
    /// Gradient boosting of squared error.
    Boosted {
        /// Number of trees.
        trees: usize,
        /// Questions on the way to a leaf.
        depth: u16,
        /// Shrinkage of every tree, 0 to 1.
        rate: f64,
        /// Fewest rows in a leaf.
        leaf: usize,
        /// Share of the rows a tree sees, 0 (not included) to 1.
        share: f64,
    },
}

/// Why an ensemble was not fitted or a row not predicted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// No rows or no features.
    #[error("no rows or no features to fit trees to")]
    Empty,
    /// Rows, targets and weights differ in number, or rows in length.
    #[error("row {row} has {found} entries where {expected} are needed")]
    Shape {
        /// Which row, from 0; for targets and weights the number of rows.
        row: usize,
        /// Entries found.
        found: usize,
        /// Entries needed.
        expected: usize,
    },
    /// A feature, target or weight is not finite, or a weight negative.
    #[error("row {row} holds a number that is not finite, or a negative weight")]
    NotFinite {
        /// Which row, from 0.
        row: usize,
    },
    /// The parameters cannot be used; the text says why.
    #[error("{0}")]
    Parameters(String),
}

impl Trees {
    /// Fits an ensemble to `rows` (equal length, finite) and one target a row; same input and `seed`, same ensemble.
    ///
    /// # Errors
    /// [`TreeError`] for empty, ragged or non-finite data, weights with boosting, and parameters out of range.
    pub fn fit(
        rows: &[Vec<f64>],
        targets: &[f64],
        weights: Option<&[f64]>,
        params: TreeParams,
        seed: u64,
    ) -> Result<Self, TreeError> {
        let width = check(rows, targets, weights)?;
        let x = matrix(rows)?;
        let y = targets.to_vec();
        let ensemble = match params {
            TreeParams::Forest { trees, leaf, features } => {
                let parameters = ExtraTreesRegressorParameters::default()
                    .with_n_trees(trees)
                    .with_min_samples_leaf(leaf.max(1))
                    .with_m(features.unwrap_or(width / 3).clamp(1, width))
                    .with_seed(seed);
                Ensemble::Forest(
                    match weights {
                        Some(weights) => ExtraTreesRegressor::fit_with_weights(&x, &y, weights, parameters),
                        None => ExtraTreesRegressor::fit(&x, &y, parameters),
                    }
                    .map_err(unusable)?,
                )
            }
            TreeParams::Boosted { trees, depth, rate, leaf, share } => {
                if weights.is_some() {
                    return Err(TreeError::Parameters("boosting takes no weights; use a forest".into()));
                }
                let parameters = XGRegressorParameters::default()
                    .with_n_estimators(trees)
                    .with_max_depth(depth)
                    .with_learning_rate(rate)
                    .with_min_child_weight(leaf)
                    .with_subsample(share)
                    .with_base_score(targets.iter().sum::<f64>() / targets.len() as f64)
                    .with_seed(seed);
                Ensemble::Boosted(XGRegressor::fit(&x, &y, parameters).map_err(unusable)?)
            }
        };
        Ok(Self { width, ensemble })
    }

    /// One number a row.
    ///
    /// # Errors
    /// [`TreeError::Shape`] and [`TreeError::NotFinite`] for rows other than those fitted.
    pub fn predict(&self, rows: &[Vec<f64>]) -> Result<Vec<f64>, TreeError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        check_rows(rows, self.width)?;
        let x = matrix(rows)?;
        match &self.ensemble {
            Ensemble::Forest(forest) => forest.predict(&x),
            Ensemble::Boosted(boosted) => boosted.predict(&x),
        }
        .map_err(unusable)
    }
}

fn check(rows: &[Vec<f64>], targets: &[f64], weights: Option<&[f64]>) -> Result<usize, TreeError> {
    let width = rows.first().map_or(0, Vec::len);
    if width == 0 {
        return Err(TreeError::Empty);
    }
    check_rows(rows, width)?;
    for column in [Some(targets), weights].into_iter().flatten() {
        if column.len() != rows.len() {
            return Err(TreeError::Shape { row: rows.len(), found: column.len(), expected: rows.len() });
        }
        if let Some(row) = column.iter().position(|value| !value.is_finite()) {
            return Err(TreeError::NotFinite { row });
        }
    }
    match weights.and_then(|weights| weights.iter().position(|weight| *weight < 0.0)) {
        Some(row) => Err(TreeError::NotFinite { row }),
        None => Ok(width),
    }
}

fn check_rows(rows: &[Vec<f64>], width: usize) -> Result<(), TreeError> {
    for (row, values) in rows.iter().enumerate() {
        if values.len() != width {
            return Err(TreeError::Shape { row, found: values.len(), expected: width });
        }
        if values.iter().any(|value| !value.is_finite()) {
            return Err(TreeError::NotFinite { row });
        }
    }
    Ok(())
}

fn matrix(rows: &[Vec<f64>]) -> Result<Matrix, TreeError> {
    DenseMatrix::from_2d_vec(&rows.to_vec()).map_err(unusable)
}

#[expect(clippy::needless_pass_by_value, reason = "the form map_err takes")]
fn unusable(failure: smartcore::error::Failed) -> TreeError {
    TreeError::Parameters(failure.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOREST: TreeParams = TreeParams::Forest { trees: 50, leaf: 1, features: Some(2) };
    const BOOSTED: TreeParams = TreeParams::Boosted { trees: 100, depth: 2, rate: 0.3, leaf: 1, share: 1.0 };

    /// A step at 5 in the first feature; the second says nothing.
    fn step() -> (Vec<Vec<f64>>, Vec<f64>) {
        (0..10).map(|i| (vec![f64::from(i), f64::from(i % 2)], if i < 5 { 1.0 } else { 3.0 })).unzip()
    }

    #[test]
    fn both_ensembles_learn_a_step() {
        let (rows, targets) = step();
        for params in [FOREST, BOOSTED] {
            let trees = Trees::fit(&rows, &targets, None, params, 1).unwrap();
            let low_high = trees.predict(&[vec![1.0, 0.0], vec![8.0, 1.0]]).unwrap();
            assert!((low_high[0] - 1.0).abs() < 0.05 && (low_high[1] - 3.0).abs() < 0.05, "{params:?} {low_high:?}");
        }
    }

    #[test]
    fn outside_the_rows_the_value_stays_flat() {
        let (rows, targets) = step();
        let trees = Trees::fit(&rows, &targets, None, BOOSTED, 1).unwrap();
        let edge_far = trees.predict(&[vec![9.0, 0.0], vec![1e6, 0.0]]).unwrap();
        assert!((edge_far[0] - edge_far[1]).abs() < 1e-12);
    }

    #[test]
    fn same_seed_same_ensemble_and_another_seed_another() {
        let (rows, _) = step();
        let targets: Vec<f64> = (0..10).map(|i| f64::from(i * i % 7)).collect();
        let probe = vec![vec![3.4, 0.0], vec![6.6, 1.0]];
        let sampled = TreeParams::Boosted { trees: 20, depth: 3, rate: 0.3, leaf: 1, share: 0.5 };
        for params in [FOREST, sampled] {
            let of = |seed| Trees::fit(&rows, &targets, None, params, seed).unwrap().predict(&probe).unwrap();
            assert_eq!(of(7), of(7));
            assert_ne!(of(7), of(8));
        }
    }

    #[test]
    fn a_weight_of_zero_takes_a_row_out() {
        // Two targets at one place: the mean is 2, with the second row switched off it is 1.
        let rows = vec![vec![0.0], vec![0.0]];
        let fit = |weights: &[f64]| {
            Trees::fit(&rows, &[1.0, 3.0], Some(weights), FOREST, 1).unwrap().predict(&[vec![0.0]]).unwrap()[0]
        };
        assert!((fit(&[1.0, 1.0]) - 2.0).abs() < 1e-12);
        assert!((fit(&[1.0, 0.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn damaged_data_is_refused() {
        let (rows, targets) = step();
        let fit =
            |rows: &[Vec<f64>], targets: &[f64], weights, params| Trees::fit(rows, targets, weights, params, 1).err();
        assert_eq!(fit(&[], &[], None, FOREST), Some(TreeError::Empty));
        assert_eq!(fit(&[vec![]], &[1.0], None, FOREST), Some(TreeError::Empty));
        let short = fit(&rows, &targets[..9], None, FOREST);
        assert_eq!(short, Some(TreeError::Shape { row: 10, found: 9, expected: 10 }));
        let mut ragged = rows.clone();
        ragged[3].pop();
        assert_eq!(fit(&ragged, &targets, None, FOREST), Some(TreeError::Shape { row: 3, found: 1, expected: 2 }));
        let mut holed = rows.clone();
        holed[4][0] = f64::NAN;
        assert_eq!(fit(&holed, &targets, None, BOOSTED), Some(TreeError::NotFinite { row: 4 }));
        let negative = vec![-1.0; 10];
        assert_eq!(fit(&rows, &targets, Some(&negative), FOREST), Some(TreeError::NotFinite { row: 0 }));
        assert!(matches!(fit(&rows, &targets, Some(&[1.0; 10]), BOOSTED), Some(TreeError::Parameters(_))));
        let none = TreeParams::Boosted { trees: 5, depth: 2, rate: 0.3, leaf: 1, share: 0.0 };
        assert!(matches!(fit(&rows, &targets, None, none), Some(TreeError::Parameters(_))));
        let trees = Trees::fit(&rows, &targets, None, FOREST, 1).unwrap();
        assert_eq!(trees.predict(&[vec![1.0]]).err(), Some(TreeError::Shape { row: 0, found: 1, expected: 2 }));
        assert_eq!(trees.predict(&[]).unwrap(), Vec::<f64>::new());
    }
}
