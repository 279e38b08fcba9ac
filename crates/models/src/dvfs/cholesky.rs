//! Cholesky's factor of a symmetric positive definite matrix.

/// The lower triangle L of `K = L L'`, by rows.
#[derive(Clone, Debug)]
pub struct Cholesky {
    rows: Vec<Vec<f64>>,
}

impl Cholesky {
    /// Of the `n` x `n` matrix with these entries (the lower triangle is asked for); `None` where it is not positive
    /// definite.
    pub fn new(n: usize, entry: impl Fn(usize, usize) -> f64) -> Option<Self> {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(n);
        for i in 0..n {
            let mut row: Vec<f64> = Vec::with_capacity(i + 1);
            for (j, other) in rows.iter().enumerate() {
                row.push((entry(i, j) - dot(&row, &other[..j])) / other[j]);
            }
            row.push(pivot(entry(i, i) - dot(&row, &row))?);
            rows.push(row);
        }
        Some(Self { rows })
    }

    /// `L^-1 b`.
    pub fn half_solve(&self, b: &[f64]) -> Vec<f64> {
        let mut found: Vec<f64> = Vec::with_capacity(b.len());
        for (i, (row, value)) in self.rows.iter().zip(b).enumerate() {
            found.push((value - dot(&row[..i], &found)) / row[i]);
        }
        found
    }

    /// `K^-1 b`.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut found = self.half_solve(b);
        for i in (0..self.rows.len()).rev() {
            found[i] /= self.rows[i][i];
            let (before, at) = found.split_at_mut(i);
            for (value, factor) in before.iter_mut().zip(&self.rows[i]) {
                *value -= factor * at[0];
            }
        }
        found
    }

    /// The diagonal of `K^-1`: the squared columns of `L^-1`.
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        let n = self.rows.len();
        let mut column = Vec::with_capacity(n);
        let squares = |j: usize| {
            column.clear();
            for i in j..n {
                let known = dot(&self.rows[i][j..i], &column);
                column.push((f64::from(i == j) - known) / self.rows[i][i]);
            }
            dot(&column, &column)
        };
        (0..n).map(squares).collect()
    }
}

/// The scalar product of equally long lists, in eight sums that do not wait for each other.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (left, right) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = left.remainder().iter().zip(right.remainder()).map(|(x, y)| x * y).sum();
    for (xs, ys) in left.zip(right) {
        for (sum, (x, y)) in sums.iter_mut().zip(xs.iter().zip(ys)) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn pivot(rest: f64) -> Option<f64> {
    (rest > 1e-12).then(|| rest.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_system_is_solved_by_hand() {
        // K = [[4, 2], [2, 5]], det 16: K^-1 = [[5, -2], [-2, 4]] / 16; K x = (8, 9) has x = (22, 20) / 16.
        let k = [[4.0, 2.0], [2.0, 5.0]];
        let factor = Cholesky::new(2, |i, j| k[i][j]).unwrap();
        let close = |found: Vec<f64>, expected: [f64; 2]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        };
        close(factor.solve(&[8.0, 9.0]), [1.375, 1.25]);
        close(factor.inverse_diagonal(), [0.3125, 0.25]);
        close(factor.half_solve(&[8.0, 9.0]), [4.0, 2.5]);
        assert!(Cholesky::new(2, |_, _| 1.0).is_none());
    }

    #[test]
    fn a_matrix_of_many_rows_times_its_inverse_is_one() {
        // 19 rows: two blocks of eight and a rest. K e_j solved for gives the j-th entry of the diagonal of the inverse.
        let factor = Cholesky::new(19, |i, j| if i == j { 2.0 } else { 1.0 / (1.0 + (i + 2 * j) as f64) }).unwrap();
        for (j, found) in factor.inverse_diagonal().into_iter().enumerate() {
            let unit: Vec<f64> = (0..19).map(|i| f64::from(i == j)).collect();
            assert!((factor.solve(&unit)[j] - found).abs() < 1e-12);
        }
    }
}
