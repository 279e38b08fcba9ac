//! Keeping the timetable's sums up to date, and small questions about them.

use rats_domain::format::PowerMode;
use rats_domain::ids::{GpuId, GpuTypeId, JobId, NodeId, OptionId};
use rats_domain::interval::Interval;
use rats_domain::objective::Terms;
use rats_domain::power::{default_intervals, wakes};
use rats_domain::schedule::Placement;
use rats_domain::units::{GpuCount, Milliwatts, Ticks};

use super::change::Change;
use super::spent::Spent;
use super::{Effect, Load, Timetable};

impl Timetable<'_> {
    /// The earliest start at which all placed predecessors of a job have ended; `None` without any.
    pub fn earliest_after(&self, job: JobId) -> Option<Ticks> {
        let before = self.instance.jobs[job].after.iter();
        before.filter_map(|&id| self.placement(id).map(|placement| placement.end(self.instance, id))).max()
    }

    /// The latest end at which no placed successor of a job has started and its window is kept.
    pub fn latest_end(&self, job: JobId) -> Ticks {
        let starts = self.successors[job].iter().filter_map(|&next| self.placement(next)).map(|next| next.start);
        starts.min().map_or(self.instance.latest_end(job), |start| start.min(self.instance.latest_end(job)))
    }

    /// The jobs that wait for a job.
    pub fn successors(&self, job: JobId) -> &[JobId] {
        &self.successors[job]
    }

    /// Jobs on a GPU over time.
    pub fn gpu_load(&self, gpu: GpuId) -> &Load {
        &self.gpus[gpu]
    }

    /// Busy GPUs of a type over time.
    pub fn busy_of_type(&self, kind: GpuTypeId) -> &Load {
        &self.types[kind]
    }

    /// The most GPUs of a type that are free throughout `interval`, availability and rules apart.
    pub fn spare_of_type(&self, kind: GpuTypeId, interval: Interval) -> i64 {
        self.type_sizes[kind] - self.types[kind].highest(interval)
    }

    /// Until when fewer than `count` GPUs of a type are free, if `interval` meets such a time.
    pub fn crowded_until(&self, kind: GpuTypeId, count: GpuCount, interval: Interval) -> Option<Ticks> {
        self.types[kind].above_until(interval, self.type_sizes[kind] - i64::from(count.0))
    }

    /// Busy GPUs of a node over time.
    pub fn busy_of_node(&self, node: NodeId) -> &Load {
        &self.nodes[node].busy
    }

    /// Powered intervals of a node; for an always-on node up to the makespan.
    pub fn powered(&self, node: NodeId) -> Vec<Interval> {
        match self.instance.cluster.nodes[node].power {
            PowerMode::Sleep => self.nodes[node].powered.clone(),
            PowerMode::AlwaysOn if self.makespan() == Ticks::ZERO => Vec::new(),
            PowerMode::AlwaysOn => vec![Interval::new(Ticks::ZERO, self.makespan())],
        }
    }

    /// Whether a node is powered in a tick anyway; an always-on node counts as powered for ever.
    pub fn is_powered(&self, node: NodeId, at: Ticks) -> bool {
        let powered = &self.nodes[node].powered;
        let after = powered.partition_point(|interval| interval.from <= at);
        self.instance.cluster.nodes[node].power == PowerMode::AlwaysOn || (after > 0 && at < powered[after - 1].to)
    }

    /// The ends of all placed jobs, in order.
    pub fn ends(&self) -> impl Iterator<Item = Ticks> + '_ {
        self.ends.keys().copied()
    }

    /// The first end of a placed job after `after`.
    pub fn next_end(&self, after: Ticks) -> Option<Ticks> {
        self.ends.range(after + Ticks(1)..).next().map(|(&end, _)| end)
    }

    /// The ticks at which a power cap or foreign power changes.
    pub fn cap_changes(&self) -> impl Iterator<Item = Ticks> + '_ {
        self.caps.changes()
    }

    /// Whether any power cap exists.
    pub fn has_caps(&self) -> bool {
        !self.caps.is_empty()
    }

    /// The ticks at which the number of busy GPUs of a type changes.
    pub fn changes_of_type(&self, kind: GpuTypeId) -> impl Iterator<Item = Ticks> + '_ {
        self.types[kind].changes()
    }

    /// What a gang would add wherever it runs: its energy less that of idle GPUs, and its end; not what its nodes need.
    pub fn effect_of_gang(&self, job: JobId, id: OptionId, start: Ticks) -> Effect {
        let option = self.instance.option(job, id);
        let idle = self.instance.cluster.gpu_types[option.gpu_type].idle.times(option.gpus);
        let end = start + option.ticks;
        let interval = Interval::new(start.max(Ticks::ZERO), end);
        let longer = Interval::new(self.makespan(), self.makespan().max(end));
        let mut spent = self.meter.draw(option.power - idle, interval);
        spent += self.meter.draw(self.always_on, longer);
        self.effect_of_spent(job, end, spent, longer.len())
    }

    pub(super) fn effect_of(&self, job: JobId, placement: &Placement, change: &Change) -> Effect {
        self.effect_of_spent(job, placement.end(self.instance, job), change.spent, change.longer.len())
    }

    fn effect_of_spent(&self, id: JobId, end: Ticks, spent: Spent, longer: Ticks) -> Effect {
        let job = &self.instance.jobs[id];
        let completion = job.weight * end.0 as f64;
        let tardiness = job.due.map_or(0.0, |due| job.weight * (end - due).0.max(0) as f64);
        let terms = self.terms(spent, longer, completion, tardiness);
        Effect { objective: self.instance.objective.value(&terms, self.instance.tick), energy: spent.energy }
    }

    pub(super) fn terms(&self, spent: Spent, makespan: Ticks, completion: f64, tardiness: f64) -> Terms {
        let cost = self.instance.tariff.is_some().then(|| spent.cost());
        Terms { energy: spent.energy, cost, makespan, completion, tardiness }
    }

    /// Counts a job's occupancy in all loads but power, or with sign -1 takes it off.
    pub(super) fn count(&mut self, job: JobId, placement: &Placement, interval: Interval, sign: i64) {
        let end = placement.end(self.instance, job);
        if sign > 0 {
            *self.ends.entry(end).or_default() += 1;
        } else if let Some(count) = self.ends.get_mut(&end) {
            *count -= 1;
            if *count == 0 {
                self.ends.remove(&end);
            }
        }
        let option = self.instance.option(job, placement.option);
        self.add_loads(option, &placement.gpus, interval, sign);
        for &gpu in &placement.gpus {
            self.count_gpu(gpu, interval, sign);
        }
    }

    /// A GPU is busy once, however many jobs run on it.
    fn count_gpu(&mut self, gpu: GpuId, interval: Interval, sign: i64) {
        if sign < 0 {
            self.gpus[gpu].add(interval, sign);
        }
        let node = self.instance.cluster.gpus[gpu].node;
        let kind = self.instance.cluster.nodes[node].gpu_type;
        for (part, _) in self.gpus[gpu].segments(interval).filter(|&(_, jobs)| jobs == 0) {
            self.nodes[node].busy.add(part, sign);
            self.types[kind].add(part, sign);
        }
        if sign > 0 {
            self.gpus[gpu].add(interval, sign);
        }
    }

    /// Works out the powered intervals of these GPUs' nodes anew where the default rule holds.
    pub(super) fn reset_powered_of(&mut self, gpus: &[GpuId]) {
        let instance = self.instance;
        let all = &instance.cluster.gpus;
        for part in gpus.chunk_by(|&a, &b| all[a].node == all[b].node) {
            self.reset_powered(all[part[0]].node);
        }
    }

    pub(super) fn reset_powered(&mut self, id: NodeId) {
        let node = &self.instance.cluster.nodes[id];
        if node.power == PowerMode::Sleep && !self.schedule.power.contains_key(&id) {
            self.nodes[id].powered = default_intervals(node, &self.nodes[id].busy.positive(), self.instance.tick);
        }
    }

    /// Takes a sleep node's idle power and wake-ups into account, or with sign -1 off.
    pub(super) fn account_standing(&mut self, id: NodeId, sign: i64) {
        let node = &self.instance.cluster.nodes[id];
        let idle = self.instance.cluster.gpu_types[node.gpu_type].idle;
        let mut parts = Vec::new();
        let mut spent = Spent::default();
        for &powered in &self.nodes[id].powered {
            parts.push((powered, node.idle.0));
            parts.extend(self.nodes[id].busy.segments(powered).map(|(part, busy)| (part, -idle.0 * busy)));
        }
        for &(interval, power) in &parts {
            spent += self.meter.draw(Milliwatts(power), interval);
        }
        for at in wakes(node, &self.nodes[id].powered) {
            spent += self.meter.burst(node.wake, at);
        }
        self.spent += if sign < 0 { -spent } else { spent };
        self.caps.move_idle(id, &parts, sign);
    }
}
