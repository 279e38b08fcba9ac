//! Draws the file of a random instance, without the limits that depend on a schedule.

use std::collections::BTreeMap;

use rats_domain::decimal::Decimal;
use rats_domain::format::{
    ClusterFile, FixedFile, GpuTypeFile, InstanceFile, JobFile, NodeFile, OptionFile, PointFile, PowerMode, StepFile,
    SwitchFile, TermFile, UnavailableFile,
};
use rats_domain::ids::{Id, OptionId};
use rats_domain::instance::Instance;

use super::{Size, gangs};
use rats_domain::random::Random;

/// What later parts of the file must know of earlier ones.
struct Frame<'r> {
    random: &'r mut Random,
    micro: bool,
    tick_s: i64,
    horizon: i64,
}

/// A random instance file; it need not be valid.
pub(super) fn file(random: &mut Random, size: Size) -> InstanceFile {
    let micro = size == Size::Micro;
    let tick_s = random.pick(&[1, 1, 7, 10, 60]);
    let horizon = if micro { random.within(4, 6) } else { random.within(6, 12) };
    let mut frame = Frame { random, micro, tick_s, horizon };
    let cluster = frame.cluster();
    let jobs = frame.jobs(&cluster);
    let tariff = frame.tariff();
    InstanceFile {
        format: "rats.instance/1".to_owned(),
        name: "random".to_owned(),
        tick_s,
        horizon,
        cluster,
        objective: frame.objective(tariff.is_some()),
        tariff_unit: (tariff.is_some() && frame.random.chance(50)).then(|| "EUR".to_owned()),
        tariff,
        energy_budget_j: None,
        jobs,
    }
}

/// Turns some jobs into fixed ones.
pub(super) fn fix_jobs(random: &mut Random, size: Size, instance: &Instance, file: &mut InstanceFile) {
    for (id, job) in instance.jobs.iter() {
        if !random.chance(if size == Size::Micro { 12 } else { 17 }) {
            continue;
        }
        let position = random.below(job.options.len());
        let option = &job.options[OptionId::from_position(position)];
        let sets = gangs(instance, option.gpu_type, option.gpus.0);
        if sets.is_empty() || !instance.cluster.memory_fits(option) {
            continue;
        }
        let ticks = option.ticks.0;
        let start = if random.chance(60) {
            -random.within(1, ticks) - i64::from(random.chance(10))
        } else {
            random.within(0, (instance.horizon.0 - ticks).clamp(0, 3))
        };
        let set = &sets[random.below(sets.len())];
        let gpus = set.iter().map(|&gpu| instance.cluster.gpu_name(gpu)).collect();
        let in_file = &mut file.jobs[id.position()];
        in_file.fixed = Some(FixedFile { option: i64::try_from(position).unwrap_or(0), start, gpus });
        if random.chance(70) {
            in_file.after.clear();
        }
    }
}

/// A quantity in thousandths.
pub(super) fn milli(value: i64) -> Decimal {
    Decimal::from_scaled(i128::from(value), 3)
}

fn micro(value: i64) -> Decimal {
    Decimal::from_scaled(i128::from(value), 6)
}

impl Frame<'_> {
    fn cluster(&mut self) -> ClusterFile {
        let types = self.random.pick(&[1, 1, 2]);
        let gpu_types: Vec<_> = (0..types).map(|position| self.gpu_type(position)).collect();
        let node_count = self.random.pick(&[1, 2, 2, 3]);
        let most = if self.micro { 4 } else { 6 };
        let mut sizes = vec![1; node_count];
        for _ in 0..self.random.below(most - node_count + 1) {
            let node = self.random.below(node_count);
            sizes[node] += 1;
        }
        let (levels, switches) =
            if node_count > 1 || self.random.chance(30) { self.tree() } else { Default::default() };
        let nodes = sizes.iter().enumerate().map(|(position, &gpus)| self.node(position, gpus, &gpu_types, &switches));
        let nodes = nodes.collect();
        let storage_gb_s = self.random.chance(45).then(|| self.capacity());
        ClusterFile { gpu_types, levels, switches, nodes, storage_gb_s, power_cap_w: None, foreign_w: None }
    }

    fn gpu_type(&mut self, position: usize) -> GpuTypeFile {
        let idle_w = if self.random.chance(85) { self.watts(5, 60) } else { 0 };
        GpuTypeFile {
            id: format!("T{position}"),
            idle_w: milli(idle_w),
            memory_mib: self.random.chance(80).then(|| self.random.pick(&[1000, 2000, 4000])),
        }
    }

    fn tree(&mut self) -> (Vec<String>, Vec<SwitchFile>) {
        let all: [&[&str]; 4] = [&["rack"], &["rack", "cluster"], &["rack", "cluster"], &["rack", "row", "cluster"]];
        let levels: Vec<String> = self.random.pick(&all).iter().map(|&level| level.to_owned()).collect();
        let root = if self.random.chance(85) { levels.len() - 1 } else { self.random.below(levels.len()) };
        let switch = |id: String, level: usize, parent: Option<String>, uplink_gb_s| SwitchFile {
            id,
            level: levels[level].clone(),
            parent,
            uplink_gb_s,
            power_cap_w: None,
        };
        let mut ranks = vec![root];
        let mut switches = vec![switch("root".to_owned(), root, None, None)];
        for position in 0..self.random.pick(&[0, 1, 2, 2]) {
            let wide: Vec<usize> = (0..switches.len()).filter(|&at| ranks[at] > 0).collect();
            if wide.is_empty() {
                break;
            }
            let parent = self.random.pick(&wide);
            let rank = self.random.below(ranks[parent]);
            let uplink = self.random.chance(45).then(|| self.capacity());
            switches.push(switch(format!("s{position}"), rank, Some(switches[parent].id.clone()), uplink));
            ranks.push(rank);
        }
        self.random.shuffle(&mut switches);
        (levels, switches)
    }

    fn node(&mut self, position: usize, gpus: i64, types: &[GpuTypeFile], switches: &[SwitchFile]) -> NodeFile {
        let kind = &types[self.random.below(types.len())];
        let parent = (!switches.is_empty()).then(|| switches[self.random.below(switches.len())].id.clone());
        let base = if self.random.chance(80) { self.watts(0, 150) } else { 0 };
        let idle = kind.idle_w.scaled(3).and_then(|idle| i64::try_from(idle).ok()).unwrap_or(0);
        // Wake-ups worth about a whole number of idle ticks, so that the default rule is met on both sides.
        let wake = (base + gpus * idle) * self.random.within(0, 4) * self.tick_s;
        let wake = if self.random.chance(75) { wake + self.random.pick(&[0, 0, 0, -1, 1, 1234]) } else { 0 };
        let wake_ticks: &[i64] = if self.micro { &[0, 1, 1, 1, 2, 3] } else { &[0, 1, 1, 2, 2, 3] };
        NodeFile {
            id: format!("n{position}"),
            uplink_gb_s: (parent.is_some() && self.random.chance(40)).then(|| self.capacity()),
            parent,
            gpu_type: kind.id.clone(),
            gpus,
            islands: self.random.chance(40).then(|| self.islands(gpus)),
            island_uplink_gb_s: self.random.chance(30).then(|| self.capacity()),
            base_w: milli(base),
            power: if self.random.chance(75) { PowerMode::Sleep } else { PowerMode::AlwaysOn },
            wake_j: milli(wake.max(0)),
            wake_ticks: if self.random.chance(35) { self.random.pick(wake_ticks) } else { 0 },
            on_at_start: self.random.chance(28),
            resources: self.resources(),
            unavailable: if self.random.chance(20) { self.unavailable(gpus) } else { Vec::new() },
            power_cap_w: None,
        }
    }

    fn islands(&mut self, gpus: i64) -> Vec<Vec<i64>> {
        let mut left: Vec<i64> = (0..gpus).collect();
        self.random.shuffle(&mut left);
        let mut islands = Vec::new();
        while !left.is_empty() {
            let size = 1 + self.random.below(left.len().min(2));
            islands.push(left.split_off(left.len() - size));
        }
        islands
    }

    fn resources(&mut self) -> BTreeMap<String, Decimal> {
        let all = [("cpu_cores", 30, [1000, 1500, 2500, 4125]), ("ram_gib", 16, [2000, 4000, 6500, 4000])];
        let mut listed = BTreeMap::new();
        for (name, percent, values) in all {
            if self.random.chance(percent) {
                listed.insert(name.to_owned(), milli(self.random.pick(&values)));
            }
        }
        listed
    }

    fn unavailable(&mut self, gpus: i64) -> Vec<UnavailableFile> {
        let entry = |random: &mut Random| {
            let from = random.within(0, self.horizon - 1);
            let to = from + random.within(1, 3);
            let mut indices: Vec<i64> = (0..gpus).collect();
            random.shuffle(&mut indices);
            indices.truncate(1 + random.below(indices.len()));
            UnavailableFile { from, to, gpus: random.chance(50).then_some(indices) }
        };
        (0..self.random.within(1, 2)).map(|_| entry(self.random)).collect()
    }

    fn jobs(&mut self, cluster: &ClusterFile) -> Vec<JobFile> {
        let count = if self.micro { self.random.pick(&[1, 2, 3, 3]) } else { self.random.pick(&[1, 2, 3, 3, 4, 4, 5]) };
        let count = if self.random.chance(2) { 0 } else { count };
        let mut jobs: Vec<_> = (0..count).map(|position| self.job(position, cluster)).collect();
        if self.random.chance(50) {
            self.random.shuffle(&mut jobs);
        }
        jobs
    }

    fn job(&mut self, position: usize, cluster: &ClusterFile) -> JobFile {
        let options: Vec<_> =
            (0..self.random.within(1, if self.micro { 2 } else { 3 })).map(|_| self.option(cluster)).collect();
        let mut after: Vec<usize> = (0..position).collect();
        self.random.shuffle(&mut after);
        after.truncate(if self.random.chance(35) { self.random.pick(&[1, 2]) } else { 0 });
        let requested = if self.random.chance(40) { self.random.below(options.len()) } else { 0 };
        JobFile {
            id: format!("j{position}"),
            release: if self.random.chance(35) { self.random.within(0, if self.micro { 2 } else { 3 }) } else { 0 },
            deadline: None,
            due: None,
            weight: milli(if self.random.chance(40) { self.random.pick(&[0, 2000, 500, 1250, 3000]) } else { 1000 }),
            after: after.into_iter().map(|before| format!("j{before}")).collect(),
            options,
            requested: i64::try_from(requested).unwrap_or(0),
            fixed: None,
            user: None,
            workload: None,
            command: None,
            physics: None,
        }
    }

    fn option(&mut self, cluster: &ClusterFile) -> OptionFile {
        let node = self.random.below(cluster.nodes.len());
        let gpu_type = cluster.nodes[node].gpu_type.clone();
        let there: i64 = cluster.nodes.iter().filter(|node| node.gpu_type == gpu_type).map(|node| node.gpus).sum();
        let gpus = self.random.pick(&[1, 1, 1, 2, 2, 3]).min(there) + i64::from(self.random.chance(5));
        let mut spans = vec!["island", "node"];
        spans.extend(cluster.levels.iter().map(String::as_str));
        let span = if self.random.chance(50) { self.random.pick(&spans) } else { spans[spans.len() - 1] };
        let power = self.watts(40 * gpus, 250 * gpus);
        let peak = power + self.random.pick(&[0, 1, 17_350, 40_000, -11_003]);
        let ring = self.random.chance(if gpus > 1 { 60 } else { 5 });
        let ticks: &[i64] = if self.micro { &[1, 1, 2, 2, 3] } else { &[1, 2, 2, 3, 3, 4] };
        let sm_mhz = self.random.chance(70).then(|| self.random.pick(&[900, 1200, 1410]));
        OptionFile {
            gpu_type,
            gpus,
            span: span.to_owned(),
            point: PointFile { sm_mhz, ..PointFile::default() },
            ticks: self.random.pick(ticks),
            power_w: milli(power),
            peak_w: self.random.chance(40).then(|| milli(peak)),
            ring_gb_s: micro(if ring { self.rate() } else { 0 }),
            read_gb_s: micro(if self.random.chance(55) { self.rate() } else { 0 }),
            per_gpu: self.needs(),
            memory_mib: self.random.chance(30).then(|| self.random.pick(&[500, 1000, 1000, 2000, 2001])),
        }
    }

    fn needs(&mut self) -> BTreeMap<String, Decimal> {
        let all = [("cpu_cores", [1000, 1500, 2000, 625]), ("ram_gib", [1000, 2000, 3250, 1000]), ("nvme", [1000; 4])];
        let mut listed = BTreeMap::new();
        for (name, values) in all {
            if self.random.chance(40) {
                listed.insert(name.to_owned(), milli(self.random.pick(&values)));
            }
        }
        listed
    }

    fn tariff(&mut self) -> Option<Vec<StepFile>> {
        if !self.random.chance(45) {
            return None;
        }
        let mut ticks: Vec<i64> = (1..=self.horizon).collect();
        self.random.shuffle(&mut ticks);
        ticks.truncate(self.random.below(4));
        ticks.push(0);
        ticks.sort_unstable();
        Some(ticks.into_iter().map(|tick| StepFile(tick, self.price())).collect())
    }

    fn price(&mut self) -> Decimal {
        let paid = [0, 100_000, 250_000, 1_000_000, 1_500_000, 123_456, 1];
        let earned = [-100_000, -50_000, -1, -1_000_000];
        micro(if self.random.chance(15) { self.random.pick(&earned) } else { self.random.pick(&paid) })
    }

    fn objective(&mut self, tariff: bool) -> Vec<TermFile> {
        let term = |term: &str, weight: i64| TermFile { term: term.to_owned(), weight: milli(weight) };
        if self.random.chance(30) {
            return vec![term("energy", 1000)];
        }
        let all = ["energy", "makespan", "completion", "tardiness", "cost", "cost"];
        let names = if tariff { &all[..] } else { &all[..4] };
        let weights = [0, 1000, 500, 2000, 10_000, 1];
        let mut terms: Vec<_> = (0..self.random.within(1, 4))
            .map(|_| {
                let name = self.random.pick(names);
                let weights: &[i64] = if name == "cost" { &[1000, 1_000_000, 100_000] } else { &weights };
                term(name, self.random.pick(weights))
            })
            .collect();
        if terms.iter().all(|term| term.weight == milli(0)) {
            terms[0].weight = milli(1000);
        }
        terms
    }

    /// A power in mW, mostly in whole watts.
    fn watts(&mut self, low: i64, high: i64) -> i64 {
        match self.random.below(10) {
            0..6 => self.random.within(low, high) * 1000,
            6..8 => self.random.within(low * 10, high * 10) * 100,
            _ => self.random.within(low * 1000, high * 1000),
        }
    }

    /// A rate in kB/s, mostly a multiple of a round number, so that sums meet limits exactly.
    fn rate(&mut self) -> i64 {
        match self.random.below(10) {
            0..6 => self.random.within(1, 8) * 100_000,
            6..8 => self.random.within(1, 9),
            _ => self.random.within(1, 900_000),
        }
    }

    fn capacity(&mut self) -> Decimal {
        let more = self.random.pick(&[0, 1, 1]);
        micro(self.rate() + more * self.rate())
    }
}
