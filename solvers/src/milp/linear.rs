//! A mixed-integer linear program, apart from any solver: what the backend solves is what `export` writes.

/// The position of a column in a [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ColumnId(pub usize);

/// A minimization program. The objective of the instance is `scale` x (program's objective) + `constant`.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Name of the instance.
    pub name: String,
    /// Variables.
    pub columns: Vec<Column>,
    /// Constraints.
    pub rows: Vec<Row>,
    /// Part of the objective that no variable changes, in the instance's unit.
    pub constant: f64,
    /// Instance units per unit of the program's objective.
    pub scale: f64,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, unique.
    pub name: String,
    /// Least value, finite.
    pub lower: f64,
    /// Largest value, finite.
    pub upper: f64,
    /// Whether it is integer.
    pub integer: bool,
    /// Its cost in the instance's unit.
    pub cost: f64,
}

/// How a row compares with its right-hand side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// At most.
    AtMost,
    /// Exactly.
    Equal,
}

/// A constraint.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name, unique.
    pub name: String,
    /// Sum of coefficient x variable; a variable appears once.
    pub terms: Vec<(ColumnId, f64)>,
    /// How it compares.
    pub sense: Sense,
    /// Right-hand side.
    pub limit: f64,
}

impl Program {
    /// Adds a variable.
    pub fn column(&mut self, name: String, upper: f64, integer: bool) -> ColumnId {
        self.columns.push(Column { name, lower: 0.0, upper, integer, cost: 0.0 });
        ColumnId(self.columns.len() - 1)
    }

    /// Adds to the cost of a variable, in the instance's unit.
    pub fn add_cost(&mut self, column: ColumnId, cost: f64) {
        self.columns[column.0].cost += cost;
    }

    /// Adds a constraint; terms of one variable are added up, zero terms and empty rows that hold are dropped.
    pub fn row(&mut self, name: String, mut terms: Vec<(ColumnId, f64)>, sense: Sense, limit: f64) {
        terms.sort_by_key(|&(column, _)| column);
        let mut merged: Vec<(ColumnId, f64)> = Vec::with_capacity(terms.len());
        for (column, coefficient) in terms {
            match merged.last_mut() {
                Some(last) if last.0 == column => last.1 += coefficient,
                _ => merged.push((column, coefficient)),
            }
        }
        merged.retain(|&(_, coefficient)| coefficient != 0.0);
        let holds = merged.is_empty() && if sense == Sense::AtMost { limit >= 0.0 } else { limit == 0.0 };
        if !holds {
            self.rows.push(Row { name, terms: merged, sense, limit });
        }
    }

    /// Fixes the scale so that the largest cost becomes about 1000, which suits the solver's tolerances.
    pub fn set_scale(&mut self) {
        let largest = self.columns.iter().map(|column| column.cost.abs()).fold(0.0, f64::max);
        self.scale = if largest > 0.0 { 10f64.powf((largest / 1e3).log10().round()) } else { 1.0 };
    }

    /// Number of non-zero coefficients.
    pub fn nonzeros(&self) -> usize {
        self.rows.iter().map(|row| row.terms.len()).sum()
    }

    /// The program's objective for the instance's.
    pub fn scaled(&self, objective: f64) -> f64 {
        (objective - self.constant) / self.scale
    }

    /// The instance's objective for the program's.
    pub fn objective(&self, value: f64) -> f64 {
        self.scale * value + self.constant
    }
}
