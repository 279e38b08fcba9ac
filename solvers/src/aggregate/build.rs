//! The integer program of the relaxed model: one column for each choice that is left, nodes counted by class.

use std::collections::BTreeSet;

use rats_domain::ids::{JobId, OptionId};

use crate::milp::{ColumnId, Program, Sense};
use crate::relaxation::{NodeClass, Relaxation, RelaxedJob};

/// A choice of a job that was found to be in no better plan.
pub(super) type Excluded = BTreeSet<(JobId, OptionId, usize)>;

/// A program with what its columns mean.
#[derive(Clone, Debug)]
pub(super) struct Built {
    pub program: Program,
    /// Job, option and start of a column.
    pub choices: Vec<(JobId, OptionId, usize, ColumnId)>,
}

/// Builds the program from all choices but the excluded ones.
pub(super) fn build(name: &str, model: &Relaxation, excluded: &Excluded) -> Built {
    let mut build = Build {
        model,
        program: Program { name: name.to_owned(), scale: 1.0, ..Program::default() },
        shared: vec![vec![Vec::new(); model.horizon]; model.rows.len()],
        limits: model.rows.iter().map(|row| row.constant.clone()).collect(),
        energy: Vec::new(),
        active: Vec::new(),
        choices: Vec::new(),
    };
    build.makespan();
    for (at, job) in model.jobs.iter().enumerate() {
        build.job(at, job, excluded);
    }
    for (at, class) in model.classes.iter().enumerate() {
        if class.sleeps() { build.sleeping(at, class) } else { build.always_on(class) }
    }
    build.precedence();
    build.close()
}

struct Build<'m> {
    model: &'m Relaxation,
    program: Program,
    /// Terms of each row and tick.
    shared: Vec<Vec<Vec<(ColumnId, f64)>>>,
    limits: Vec<Vec<f64>>,
    /// Terms of the total energy.
    energy: Vec<(ColumnId, f64)>,
    /// By tick: whether some job ends after it; empty if nothing depends on the makespan.
    active: Vec<ColumnId>,
    choices: Vec<(JobId, OptionId, usize, ColumnId)>,
}

impl Build<'_> {
    fn makespan(&mut self) {
        if !self.model.coupled {
            return;
        }
        for tick in 0..self.model.horizon {
            let column = self.program.column(format!("active_t{tick}"), 1.0, true);
            self.program.columns[column.0].lower = f64::from(u8::from(tick < self.model.least_makespan));
            self.program.add_cost(column, self.model.makespan_price);
            if let Some(&before) = self.active.last() {
                let terms = vec![(column, 1.0), (before, -1.0)];
                self.program.row(format!("active_order_t{tick}"), terms, Sense::AtMost, 0.0);
            }
            self.active.push(column);
        }
    }

    fn job(&mut self, at: usize, job: &RelaxedJob, excluded: &Excluded) {
        let first = self.choices.len();
        let mut ends: Vec<(usize, ColumnId)> = Vec::new();
        for option in &job.options {
            for start in option.first..=option.last {
                if excluded.contains(&(job.id, option.id, start)) {
                    continue;
                }
                let end = start + option.ticks;
                let column = self.program.column(format!("x_j{at}_o{}_t{start}", option.id), 1.0, true);
                let price: f64 = self.model.price[start..end].iter().sum();
                self.program.add_cost(column, option.beyond * price + job.delay[end]);
                for &(row, amount) in &option.amounts {
                    for terms in &mut self.shared[row][start..end] {
                        terms.push((column, amount));
                    }
                }
                self.energy.push((column, option.beyond * option.ticks as f64 * self.model.tick_s));
                self.choices.push((job.id, option.id, start, column));
                ends.push((end, column));
            }
        }
        let all = self.choices[first..].iter().map(|&(_, _, _, column)| (column, 1.0)).collect();
        self.program.row(format!("one_j{at}"), all, Sense::Equal, 1.0);
        for tick in self.model.least_makespan..self.active.len() {
            let mut late: Vec<_> =
                ends.iter().filter(|(end, _)| end + job.tail > tick).map(|&(_, column)| (column, 1.0)).collect();
            if !late.is_empty() {
                late.push((self.active[tick], -1.0));
                self.program.row(format!("within_j{at}_t{tick}"), late, Sense::AtMost, 0.0);
            }
        }
    }

    fn sleeping(&mut self, at: usize, class: &NodeClass) {
        let mut before: Option<ColumnId> = None;
        for tick in 0..self.model.horizon {
            let may_wake = tick >= class.wake_ticks;
            let most = if may_wake || class.on_at_start { class.count } else { 0.0 };
            let on = self.program.column(format!("on_k{at}_t{tick}"), most, true);
            self.program.columns[on.0].lower = if class.forced[tick] { class.count } else { 0.0 };
            self.program.add_cost(on, class.idle * self.model.price[tick]);
            self.energy.push((on, class.idle * self.model.tick_s));
            for (row, supply) in &class.supplies {
                self.shared[*row][tick].push((on, -supply[tick]));
            }
            let wake =
                self.program.column(format!("wake_k{at}_t{tick}"), if may_wake { class.count } else { 0.0 }, false);
            self.program.add_cost(wake, class.wake * self.model.wake_price[tick]);
            self.energy.push((wake, class.wake));
            let mut terms = vec![(on, 1.0), (wake, -1.0)];
            terms.extend(before.map(|before| (before, -1.0)));
            let awake = if tick == 0 && class.on_at_start { class.count } else { 0.0 };
            self.program.row(format!("wake_k{at}_t{tick}"), terms, Sense::AtMost, awake);
            if self.model.wake_price[tick] < 0.0 {
                let terms = vec![(wake, 1.0), (on, -1.0)];
                self.program.row(format!("woken_k{at}_t{tick}"), terms, Sense::AtMost, 0.0);
            }
            before = Some(on);
        }
    }

    fn always_on(&mut self, class: &NodeClass) {
        for tick in 0..self.model.horizon {
            for (row, supply) in &class.supplies {
                match self.active.get(tick) {
                    Some(&active) => self.shared[*row][tick].push((active, -class.count * supply[tick])),
                    None => self.limits[*row][tick] += class.count * supply[tick],
                }
            }
            if let Some(&active) = self.active.get(tick) {
                self.program.add_cost(active, class.count * class.idle * self.model.price[tick]);
                self.energy.push((active, class.count * class.idle * self.model.tick_s));
            }
        }
    }

    /// V5: a job has started by a tick only if the one before it has ended by it.
    fn precedence(&mut self) {
        for (at, &(before, after)) in self.model.pairs.iter().enumerate() {
            let of = |job: usize| {
                let job = &self.model.jobs[job];
                let mine = self.choices.iter().filter(|choice| choice.0 == job.id);
                mine.map(|&(_, option, start, column)| {
                    let ticks = job.options.iter().find(|row| row.id == option).map_or(0, |row| row.ticks);
                    (start, start + ticks, column)
                })
            };
            let (before, after): (Vec<_>, Vec<_>) = (of(before).collect(), of(after).collect());
            let ticks: BTreeSet<usize> = after.iter().map(|&(start, _, _)| start).collect();
            for tick in ticks {
                let started = after.iter().filter(|row| row.0 <= tick).map(|row| (row.2, 1.0));
                let ended = before.iter().filter(|row| row.1 <= tick).map(|row| (row.2, -1.0));
                let terms = started.chain(ended).collect();
                self.program.row(format!("after_p{at}_t{tick}"), terms, Sense::AtMost, 0.0);
            }
        }
    }

    fn close(mut self) -> Built {
        for (at, row) in self.model.rows.iter().enumerate() {
            for tick in (0..self.model.horizon).filter(|&tick| row.active[tick]) {
                let terms = std::mem::take(&mut self.shared[at][tick]);
                self.program.row(format!("row{at}_t{tick}"), terms, Sense::AtMost, self.limits[at][tick]);
            }
        }
        if let Some(budget) = self.model.budget.filter(|budget| *budget > 0.0) {
            let terms = self.energy.iter().map(|&(column, energy)| (column, energy / budget)).collect();
            self.program.row("budget".to_owned(), terms, Sense::AtMost, 1.0);
        }
        self.program.set_scale();
        Built { program: self.program, choices: self.choices }
    }
}
