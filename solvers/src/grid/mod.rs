//! A dense incremental state of a plan: what every move costs and whether it keeps the rules, without cloning.
//!
//! # Idea
//! GPUs of one island with the same unavailability are interchangeable (a *cell*, [`crate::cells`]). As long as no cell
//! is overdrawn in any tick, GPUs can be handed out afterwards in order of start: interval graphs are perfect. So the
//! state counts, and a [`Placing`] says how many GPUs of which cells. For each cell and number k the ticks in which at
//! least k GPUs are free are a set of bits; the starts at which a gang fits are an erosion of it, a few words long.
//!
//! # Model
//! Rules V2-V10, V12 and V13, exactly; V11 through [`Grid::energy`]. Nodes that can sleep are powered as `standing`
//! says, which differs from the default rule where that pays. Energy is an exact integer; the other terms are doubles.
//!
//! # Complexity
//! Placing, removing and judging: words of the horizon times cells, plus the ticks of the job times the capacities that
//! it touches. Memory: ticks times capacities, eight bytes each, and a bit per GPU and tick.
//!
//! # Limits
//! Refuses horizons that do not fit [`MOST_BYTES`]. Powered intervals longer than any job asks for are not considered.
//!
//! # References
//! M. C. Golumbic, Algorithmic Graph Theory and Perfect Graphs, 1980. J. Edmonds, Matroids and the greedy algorithm, 1971.

pub mod bits;
mod caps;
mod change;
mod fixed;
mod frame;
mod jobs;
mod load;
mod prices;
mod rooms;
mod schedule;
mod standing;
#[cfg(test)]
mod tests;

pub use self::change::Effect;
pub use self::frame::{Frame, JobFrame, MOST_BYTES, NodeFrame, OptionFrame, Part};
use self::load::{Load, Loads};
pub use self::prices::Prices;
pub use self::rooms::Rooms;
use self::standing::Standing;

/// Where, when and how a job runs, up to interchangeable GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placing {
    /// Position among the job's options in the frame.
    pub option: usize,
    /// First tick.
    pub start: usize,
    /// Cells ascending, with positive numbers of GPUs.
    pub pattern: Vec<(usize, u32)>,
}

/// The state.
#[derive(Clone, Debug)]
pub struct Grid<'f> {
    /// What does not change.
    pub frame: &'f Frame<'f>,
    /// For each cell and k from 1 up, the ticks in which at least k of its GPUs are free.
    levels: Vec<u64>,
    /// The ticks in which each cell can be used at all.
    open: Vec<u64>,
    /// Busy ticks of each node by fixed jobs.
    fixed_busy: Vec<u64>,
    /// Busy ticks of each node.
    busy: Vec<u64>,
    /// Powered ticks of each sleep node; kept where limits on power count it.
    powered: Vec<u64>,
    /// What each node's own power costs.
    standing: Vec<Standing>,
    /// What is left of each capacity in each tick.
    rows: Vec<i64>,
    /// Not more than the least that is left of each capacity in any tick.
    least: Vec<i64>,
    /// What is left of each limit on power in each tick.
    limits: Vec<i64>,
    placings: Vec<Option<Placing>>,
    /// The placed jobs of each node.
    on_node: Vec<Vec<usize>>,
    /// Number of placed jobs that end at each tick.
    ends: Vec<u32>,
    /// No job may end later, whatever its deadline.
    limit: usize,
    makespan: usize,
    energy: i64,
    cost: f64,
    delay: f64,
    prices: Prices,
    load: Load,
    scratch: Scratch,
}

/// Room to work in.
#[derive(Clone, Debug, Default)]
struct Scratch {
    busy: Vec<u64>,
    powered: Vec<u64>,
    /// Ticks in which a node begins or ceases to be powered, one set after another.
    turned: Vec<u64>,
}

impl<'f> Grid<'f> {
    /// A state in which only the fixed jobs run.
    pub fn new(frame: &'f Frame<'f>) -> Self {
        let words = frame.words;
        let mut grid = Self {
            frame,
            levels: Vec::new(),
            open: Vec::new(),
            fixed_busy: vec![0; frame.nodes.len() * words],
            busy: vec![0; frame.nodes.len() * words],
            powered: vec![0; frame.nodes.len() * words],
            standing: vec![Standing::default(); frame.nodes.len()],
            rows: frame.capacities.iter().flat_map(|&capacity| std::iter::repeat_n(capacity, frame.horizon)).collect(),
            least: frame.capacities.clone(),
            limits: frame.limits.concat(),
            placings: vec![None; frame.jobs.len()],
            on_node: vec![Vec::new(); frame.nodes.len()],
            ends: vec![0; frame.horizon + 1],
            limit: frame.horizon,
            makespan: frame.fixed.makespan,
            energy: frame.fixed.energy,
            cost: frame.fixed.cost,
            delay: frame.fixed.delay,
            prices: Prices::new(frame, 0.0),
            load: Load::default(),
            scratch: Scratch::default(),
        };
        let (energy, cost) = grid.always_on(0, grid.makespan);
        grid.energy += energy;
        grid.cost += cost;
        grid.open_cells();
        for (loads, from, to) in &frame.fixed.loads {
            grid.take(loads, *from, *to, 1);
            for node in loads.nodes() {
                bits::insert(&mut grid.fixed_busy[node * words..(node + 1) * words], *from, *to);
            }
        }
        (0..frame.nodes.len()).for_each(|node| grid.refresh(node));
        grid
    }

    /// The placing of a job.
    pub fn placing(&self, job: usize) -> Option<&Placing> {
        self.placings[job].as_ref()
    }

    /// The option that a job's placing uses.
    pub fn option_of(&self, job: usize) -> Option<&'f OptionFrame> {
        self.placings[job].as_ref().map(|placing| &self.frame.jobs[job].options[placing.option])
    }

    /// The end of a placed job.
    pub fn end_of(&self, job: usize) -> Option<usize> {
        Some(self.placings[job].as_ref()?.start + self.option_of(job)?.ticks)
    }

    /// The total energy, mJ.
    pub fn energy(&self) -> i64 {
        self.energy
    }

    /// The last end.
    pub fn makespan(&self) -> usize {
        self.makespan
    }

    /// The objective.
    pub fn objective(&self) -> f64 {
        let objective = &self.frame.instance.objective;
        let paid = if self.frame.tariff.is_some() { objective.cost * self.cost } else { 0.0 };
        objective.energy * self.energy as f64 / 1e3 + paid + self.delay + self.makespan_value(self.makespan)
    }

    /// The objective, and the pressure on energy if there is any.
    pub fn value(&self) -> f64 {
        self.prices.energy * self.energy as f64
            + self.prices.cost * self.cost
            + self.delay
            + self.makespan_value(self.makespan)
    }

    /// What energy costs.
    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Prices energy anew; decisions to stay powered follow.
    pub fn set_prices(&mut self, prices: Prices) {
        self.prices = prices;
        (0..self.frame.nodes.len()).for_each(|node| self.refresh(node));
    }

    /// The latest end that is allowed whatever the deadline.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Lets no job end later than this; jobs that do are not moved.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// The busy ticks of a node.
    pub fn busy(&self, node: usize) -> &[u64] {
        &self.busy[node * self.frame.words..(node + 1) * self.frame.words]
    }

    /// Whether a node runs no job.
    pub fn is_vacant(&self, node: usize) -> bool {
        bits::is_empty(self.busy(node))
    }

    /// The placed jobs that use a node during `[from, to)`.
    pub fn jobs_on(&self, node: usize, from: usize, to: usize) -> impl Iterator<Item = (usize, &Placing)> {
        let jobs = self.on_node[node].iter().filter_map(|&job| Some((job, self.placings[job].as_ref()?)));
        jobs.filter(move |&(job, placing)| placing.start < to && self.end_of(job).is_some_and(|end| end > from))
    }

    /// The earliest start that placed jobs before it allow.
    pub fn earliest(&self, job: usize) -> usize {
        let frame = &self.frame.jobs[job];
        frame.before.iter().filter_map(|&before| self.end_of(before)).fold(frame.release, usize::max)
    }

    /// The latest end that placed jobs after it allow.
    pub fn latest(&self, job: usize) -> usize {
        let frame = &self.frame.jobs[job];
        let starts = frame.after.iter().filter_map(|&after| self.placings[after].as_ref()).map(|placing| placing.start);
        starts.fold(frame.deadline.min(self.limit), usize::min)
    }

    /// Places a job that is not placed; its cells must have the GPUs free.
    pub fn place(&mut self, job: usize, placing: Placing) {
        let option = &self.frame.jobs[job].options[placing.option];
        let (from, to) = (placing.start, placing.start + option.ticks);
        for &(cell, count) in &placing.pattern {
            self.take_gpus(cell, count as usize, from, to);
        }
        self.occupy(job, option, &placing, 1);
        self.ends[to] += 1;
        self.set_makespan(self.makespan.max(to));
        self.placings[job] = Some(placing);
    }

    /// Removes a job; its placing if it had one.
    pub fn remove(&mut self, job: usize) -> Option<Placing> {
        let placing = self.placings[job].take()?;
        let option = &self.frame.jobs[job].options[placing.option];
        let (from, to) = (placing.start, placing.start + option.ticks);
        for &(cell, count) in &placing.pattern {
            self.give_gpus(cell, count as usize, from, to);
        }
        self.occupy(job, option, &placing, -1);
        self.ends[to] -= 1;
        if to == self.makespan {
            let mut end = to;
            while end > self.frame.fixed.makespan && self.ends[end] == 0 {
                end -= 1;
            }
            self.set_makespan(end);
        }
        Some(placing)
    }

    /// Gives back (true) or takes again the GPUs of a placed job and nothing else: for a quick look at whether others fit.
    pub fn lift(&mut self, job: usize, up: bool) {
        let Some(placing) = self.placings[job].take() else { return };
        let ticks = self.frame.jobs[job].options[placing.option].ticks;
        self.hold(placing.start, ticks, &placing.pattern, !up);
        self.placings[job] = Some(placing);
    }

    /// Takes (true) or gives back GPUs and nothing else.
    pub fn hold(&mut self, start: usize, ticks: usize, pattern: &[(usize, u32)], take: bool) {
        for &(cell, count) in pattern {
            if take {
                self.take_gpus(cell, count as usize, start, start + ticks);
            } else {
                self.give_gpus(cell, count as usize, start, start + ticks);
            }
        }
    }

    /// Whether the GPUs of a pattern are free.
    pub fn has_gpus(&self, start: usize, ticks: usize, pattern: &[(usize, u32)]) -> bool {
        pattern.iter().all(|&(cell, count)| bits::holds(self.level(cell, count as usize), start, start + ticks))
    }

    fn makespan_value(&self, makespan: usize) -> f64 {
        self.frame.instance.objective.makespan * makespan as f64 * self.frame.instance.tick.0 as f64
    }

    /// Energy and cost of the always-on nodes in `[from, to)`.
    fn always_on(&self, from: usize, to: usize) -> (i64, f64) {
        let to = to.min(self.frame.horizon);
        let from = from.min(to);
        let cost = self.frame.tariff.as_ref().map_or(0.0, |tariff| tariff.sum(from, to));
        let energy = self.frame.always_on * i64::try_from(to - from).unwrap_or(i64::MAX);
        (energy, self.frame.always_on as f64 * cost)
    }

    fn set_makespan(&mut self, makespan: usize) {
        let (low, high) = (makespan.min(self.makespan), makespan.max(self.makespan));
        if low < high {
            let (energy, cost) = self.always_on(low, high);
            let grows = makespan > self.makespan;
            self.energy += if grows { energy } else { -energy };
            self.cost += if grows { cost } else { -cost };
            self.makespan = makespan;
        }
    }

    /// Energy, rows, limits and nodes of a job that comes (1) or goes (-1).
    fn occupy(&mut self, job: usize, option: &OptionFrame, placing: &Placing, sign: i64) {
        let (from, to) = (placing.start, placing.start + option.ticks);
        let ticks = i64::try_from(option.ticks).unwrap_or(i64::MAX);
        self.energy += sign * option.energy * ticks;
        if let Some(tariff) = &self.frame.tariff {
            self.cost += sign as f64 * option.energy as f64 * tariff.sum(from, to);
        }
        self.delay += sign as f64 * self.frame.jobs[job].delay(to);
        let mut load = std::mem::take(&mut self.load);
        let loads = load.of(self.frame, option, &placing.pattern);
        self.take(loads, from, to, sign);
        for node in loads.nodes() {
            self.refresh(node);
            if sign > 0 {
                self.on_node[node].push(job);
            } else if let Some(at) = self.on_node[node].iter().position(|&other| other == job) {
                self.on_node[node].swap_remove(at);
            }
        }
        self.load = load;
    }

    /// Takes (1) or gives back (-1) capacities and room below limits.
    fn take(&mut self, loads: &Loads, from: usize, to: usize, sign: i64) {
        let horizon = self.frame.horizon;
        for &(row, demand) in &loads.rows {
            let all = &mut self.rows[row * horizon..(row + 1) * horizon];
            let mut least = i64::MAX;
            for left in &mut all[from..to] {
                least = least.min(*left);
                *left -= sign * demand;
            }
            if sign > 0 {
                self.least[row] = self.least[row].min(least - demand);
            } else if least <= self.least[row] {
                self.least[row] = all.iter().copied().min().unwrap_or(0);
            }
        }
        for &(limit, power) in &loads.limits {
            let all = &mut self.limits[limit * horizon..(limit + 1) * horizon];
            all[from..to].iter_mut().for_each(|left| *left -= sign * power);
        }
    }

    fn open_cells(&mut self) {
        let frame = self.frame;
        for (at, cell) in frame.cells.iter().enumerate() {
            let node = &frame.nodes[frame.node_of(at)];
            let mut open = vec![0; frame.words];
            bits::insert(&mut open, if node.on_at_start { 0 } else { node.ready }, frame.horizon);
            for blocked in &cell.blocked {
                bits::remove(&mut open, frame::position(blocked.from), frame::position(blocked.to).min(frame.horizon));
            }
            for _ in &cell.gpus {
                self.levels.extend_from_slice(&open);
            }
            self.open.append(&mut open);
        }
    }

    /// The ticks in which at least `count` (from 1 to its size) GPUs of a cell are free.
    fn level(&self, cell: usize, count: usize) -> &[u64] {
        let at = (self.frame.first_level[cell] + count - 1) * self.frame.words;
        &self.levels[at..at + self.frame.words]
    }

    fn take_gpus(&mut self, cell: usize, count: usize, from: usize, to: usize) {
        let (size, words) = (self.frame.size(cell), self.frame.words);
        let base = self.frame.first_level[cell] * words;
        for word in from / 64..=(to - 1) / 64 {
            let mask = bits::mask(word, from, to);
            for level in 0..size {
                let above = if level + count < size { self.levels[base + (level + count) * words + word] } else { 0 };
                let bits = &mut self.levels[base + level * words + word];
                *bits = *bits & !mask | above & mask;
            }
        }
    }

    fn give_gpus(&mut self, cell: usize, count: usize, from: usize, to: usize) {
        let (size, words) = (self.frame.size(cell), self.frame.words);
        let base = self.frame.first_level[cell] * words;
        for word in from / 64..=(to - 1) / 64 {
            let mask = bits::mask(word, from, to);
            for level in (0..size).rev() {
                let below = if level >= count { self.levels[base + (level - count) * words + word] } else { u64::MAX };
                let bits = &mut self.levels[base + level * words + word];
                *bits = *bits & !mask | below & mask;
            }
        }
    }

    /// Works out a node's busy ticks and its own power anew.
    fn refresh(&mut self, node: usize) {
        let (frame, words) = (self.frame, self.frame.words);
        let mut busy = std::mem::take(&mut self.scratch.busy);
        busy.clear();
        busy.extend_from_slice(&self.fixed_busy[node * words..(node + 1) * words]);
        for cell in frame.nodes[node].cells.clone() {
            let all_free = self.level(cell, frame.size(cell));
            let open = &self.open[cell * words..(cell + 1) * words];
            for word in 0..words {
                busy[word] |= open[word] & !all_free[word];
            }
        }
        self.busy[node * words..(node + 1) * words].copy_from_slice(&busy);
        let new = standing::standing(frame, &self.prices, &frame.nodes[node], &busy);
        let old = std::mem::replace(&mut self.standing[node], new);
        self.energy += new.energy - old.energy;
        self.cost += new.cost - old.cost;
        if frame.is_limited(node) {
            self.power(node, &busy);
        }
        self.scratch.busy = busy;
    }

    /// Works out a node's powered ticks anew, and what limits lose or gain by that.
    fn power(&mut self, node: usize, busy: &[u64]) {
        let (frame, words) = (self.frame, self.frame.words);
        let mut powered = std::mem::take(&mut self.scratch.powered);
        powered.resize(words, 0);
        standing::powered(frame, &self.prices, &frame.nodes[node], busy, &mut powered);
        let old = &mut self.powered[node * words..(node + 1) * words];
        let power = frame.nodes[node].idle_power;
        for word in 0..words {
            let (on, off) = (powered[word] & !old[word], old[word] & !powered[word]);
            for (mut turned, power) in [(on, power), (off, -power)] {
                while turned != 0 {
                    let tick = word * 64 + turned.trailing_zeros() as usize;
                    for limit in frame.limits_of(node) {
                        self.limits[limit * frame.horizon + tick] -= power;
                    }
                    turned &= turned - 1;
                }
            }
        }
        old.copy_from_slice(&powered);
        self.scratch.powered = powered;
    }
}
