//! Releases, deadlines, limits and prices, drawn so that the witness keeps them.

use rats_domain::check::check_schedule;
use rats_domain::decimal::Decimal;
use rats_domain::evaluate::evaluate;
use rats_domain::format::{InstanceFile, OptionFile, StepFile, StepsFile, UnavailableFile};
use rats_domain::ids::{Id, JobId, NodeId, OptionId};
use rats_domain::instance::Instance;
use rats_domain::random::Random;
use rats_domain::schedule::Schedule;
use rats_domain::units::Ticks;

use super::features::{Cap, Features};
use super::witness::{Witness, fastest};

/// Load at which the horizon is put if the witness would allow a higher one, in thousandths.
const HIGHEST_LOAD: i64 = 790;
/// Share of jobs whose deadline is to leave less than twice the fastest time, percent.
const TIGHT: usize = 40;
/// Caps lie up to this many thousandths above what the witness draws.
const SLACK: i64 = 15;
/// Highest power asked about, W.
const MOST_WATTS: i64 = 900_000_000;

/// The file being made, its witness and where both stand.
pub(super) struct Draft<'a> {
    pub random: &'a mut Random,
    pub features: &'a Features,
    pub instance: &'a Instance,
    pub witness: &'a Witness,
    pub file: InstanceFile,
}

impl Draft<'_> {
    /// Draws everything but what makes the baseline fail.
    pub fn draw(&mut self) -> Option<()> {
        self.horizon();
        self.releases();
        if self.features.after {
            self.after();
        }
        self.deadlines()?;
        if self.features.due {
            self.due();
        }
        if self.features.unavailable {
            self.unavailable();
        }
        if self.features.tariff {
            self.tariff();
        }
        self.caps()?;
        if self.features.budget {
            self.budget();
        }
        Some(())
    }

    fn jobs(&self) -> impl Iterator<Item = JobId> + use<> {
        (0..self.file.jobs.len()).map(JobId::from_position)
    }

    fn span(&self, job: JobId) -> (i64, i64) {
        let placement = self.witness.schedule.placements[job].as_ref();
        placement.map_or((0, 0), |placement| (placement.start.0, placement.end(self.instance, job).0))
    }

    fn makespan(&self) -> i64 {
        self.jobs().map(|job| self.span(job).1).max().unwrap_or(1)
    }

    /// The end of the witness, or later if the load would be too high.
    fn horizon(&mut self) {
        let work: i64 = self.instance.jobs.values().map(fastest).map(|(ticks, gpus)| ticks * gpus).sum();
        let gpus = i64::try_from(self.instance.cluster.gpus.len()).unwrap_or(1);
        let least = (work * 1000).div_euclid(gpus * HIGHEST_LOAD) + 1;
        self.file.horizon = self.makespan().max(least);
    }

    fn releases(&mut self) {
        if !self.features.releases {
            return;
        }
        for job in self.jobs() {
            let (start, _) = self.span(job);
            let (ticks, _) = fastest(&self.instance.jobs[job]);
            let wait =
                if self.random.chance(60) { self.random.within(0, ticks / 2) } else { self.random.within(0, start) };
            self.file.jobs[job.position()].release = (start - wait).max(0);
        }
    }

    /// A fifth of the jobs wait for one that ended before they start.
    fn after(&mut self) {
        for job in self.jobs() {
            let (start, _) = self.span(job);
            let before: Vec<JobId> = self.jobs().filter(|&other| self.span(other).1 <= start).collect();
            if !before.is_empty() && self.random.chance(30) {
                let id = self.file.jobs[self.random.pick(&before).position()].id.clone();
                self.file.jobs[job.position()].after.push(id);
            }
        }
    }

    fn deadlines(&mut self) -> Option<()> {
        let horizon = self.file.horizon;
        let latest = |draft: &Self, job: JobId| {
            draft.file.jobs[job.position()].release + 2 * fastest(&draft.instance.jobs[job]).0 - 1
        };
        let mut tight: Vec<JobId> = self.jobs().filter(|&job| self.span(job).1 <= latest(self, job)).collect();
        let wanted = (self.file.jobs.len() * TIGHT).div_ceil(100);
        self.random.shuffle(&mut tight);
        // Urgent jobs were placed to be among them.
        tight.sort_by_key(|job| !self.witness.urgent.contains(job));
        tight.truncate(wanted);
        if tight.len() * 100 < self.file.jobs.len() * 30 {
            return None;
        }
        for job in self.jobs() {
            let (_, end) = self.span(job);
            let deadline = if tight.contains(&job) {
                self.random.within(end, latest(self, job).min(horizon).max(end))
            } else if self.random.chance(50) {
                let (ticks, _) = fastest(&self.instance.jobs[job]);
                self.random.within(end, (end + 2 * ticks).min(horizon))
            } else {
                continue;
            };
            self.file.jobs[job.position()].deadline = Some(deadline);
        }
        Some(())
    }

    fn due(&mut self) {
        let only_tardiness = matches!(self.features.objective, [("tardiness", _)]);
        for job in self.jobs() {
            let (_, end) = self.span(job);
            let release = self.file.jobs[job.position()].release;
            let (ticks, _) = fastest(&self.instance.jobs[job]);
            if only_tardiness || self.random.chance(70) {
                // From the soonest possible end to a quarter of the way to the witness's.
                let soonest = release + ticks;
                let due = self.random.within(soonest, soonest + (end - soonest).max(0) / 4);
                self.file.jobs[job.position()].due = Some(due);
                self.file.jobs[job.position()].weight = Decimal::from(self.random.within(1, 5));
            }
        }
    }

    /// Some GPUs are unavailable while the witness does not use them.
    fn unavailable(&mut self) {
        let horizon = self.file.horizon;
        for _ in 0..(self.file.cluster.nodes.len() / 2).max(1) {
            let node = self.random.below(self.file.cluster.nodes.len());
            let index = self.random.within(0, self.file.cluster.nodes[node].gpus - 1);
            let gpu =
                self.instance.cluster.gpus_of(NodeId::from_position(node)).nth(usize::try_from(index).unwrap_or(0));
            let from = self.random.within(0, horizon - 1);
            let to = self.random.within(from + 1, (from + horizon / 3).max(from + 1));
            let busy = self.witness.schedule.placed().any(|(job, placement)| {
                let (start, end) = self.span(job);
                gpu.is_some_and(|gpu| placement.gpus.contains(&gpu)) && start < to && from < end
            });
            if !busy {
                let entry = UnavailableFile { from, to, gpus: Some(vec![index]) };
                self.file.cluster.nodes[node].unavailable.push(entry);
            }
        }
    }

    /// Dear and cheap hours in turn.
    fn tariff(&mut self) {
        let (mut tick, mut steps) = (0, Vec::new());
        while tick < self.file.horizon && steps.len() < 8 {
            let price = if steps.len() % 2 == 0 { self.random.within(180, 360) } else { self.random.within(60, 150) };
            steps.push(StepFile(tick, Decimal::from_scaled(price.into(), 3)));
            tick += self.random.within(self.file.horizon / 5 + 1, self.file.horizon / 3 + 1);
        }
        self.file.tariff = Some(steps);
        self.file.tariff_unit = Some("EUR".to_owned());
    }

    fn caps(&mut self) -> Option<()> {
        let third = (self.makespan() / 3).max(1);
        let from = match self.features.cap {
            Cap::None => vec![],
            Cap::Constant => vec![0],
            Cap::Steps => vec![0, third, 2 * third],
        };
        let mut probe = Probe::new(&self.file, self.witness)?;
        let mut steps = Vec::new();
        for (position, &tick) in from.iter().enumerate() {
            // Each step is found with no limit after it.
            let until = from.get(position + 1).copied();
            let least = probe.least(|file, watts| {
                let mut tried = vec![StepFile(tick, Decimal::from(watts))];
                tried.extend(until.map(|until| StepFile(until, Decimal::from(MOST_WATTS - 1))));
                file.cluster.power_cap_w = Some(StepsFile::Steps(tried));
            })?;
            let watts = rounded(least, self.random.within(0, SLACK));
            probe.file.cluster.power_cap_w = None;
            steps.push(StepFile(tick, Decimal::from(watts)));
        }
        match steps[..] {
            [] => {}
            [StepFile(_, watts)] => self.file.cluster.power_cap_w = Some(StepsFile::Constant(watts)),
            _ => self.file.cluster.power_cap_w = Some(StepsFile::Steps(steps)),
        }
        for node in 0..self.file.cluster.nodes.len() {
            if self.file.cluster.nodes[node].power_cap_w.is_some() {
                let least = probe.least(|file, watts| file.cluster.nodes[node].power_cap_w = Some(constant(watts)))?;
                probe.file.cluster.nodes[node].power_cap_w = None;
                self.file.cluster.nodes[node].power_cap_w =
                    Some(constant(rounded(least, self.random.within(0, SLACK))));
            }
        }
        for switch in 0..self.file.cluster.switches.len() {
            if self.file.cluster.switches[switch].power_cap_w.is_some() {
                let least =
                    probe.least(|file, watts| file.cluster.switches[switch].power_cap_w = Some(constant(watts)))?;
                probe.file.cluster.switches[switch].power_cap_w = None;
                self.file.cluster.switches[switch].power_cap_w =
                    Some(constant(rounded(least, self.random.within(0, SLACK))));
            }
        }
        Some(())
    }

    /// At most 3 % above what the witness takes.
    fn budget(&mut self) {
        let energy = evaluate(self.instance, &self.witness.schedule).terms.energy.0;
        let joules = energy / 1000 * i128::from(1000 + self.random.within(2, 30)) / 1000 + 1;
        self.file.energy_budget_j = Some(Decimal::from_scaled(joules, 0));
    }
}

fn constant(watts: i64) -> StepsFile {
    StepsFile::Constant(Decimal::from(watts))
}

fn rounded(watts: i64, slack: i64) -> i64 {
    (watts * (1000 + slack) / 1000 + 10).div_euclid(10) * 10
}

/// The witness in a file without other options, to ask often which caps it keeps.
struct Probe {
    file: InstanceFile,
    schedule: Schedule,
}

impl Probe {
    fn new(file: &InstanceFile, witness: &Witness) -> Option<Self> {
        let mut file = file.clone();
        let mut schedule = witness.schedule.clone();
        for (job, placement) in file.jobs.iter_mut().zip(schedule.placements.values_mut()) {
            let placement = placement.as_mut()?;
            let only: OptionFile = job.options[placement.option.position()].clone();
            job.options = vec![only];
            job.requested = 0;
            placement.option = OptionId::from_position(0);
        }
        file.cluster.power_cap_w = None;
        file.cluster.nodes.iter_mut().for_each(|node| node.power_cap_w = None);
        file.cluster.switches.iter_mut().for_each(|switch| switch.power_cap_w = None);
        Some(Self { file, schedule })
    }

    /// The least watts of a cap, put in place by `set`, that the witness keeps.
    fn least(&mut self, set: impl Fn(&mut InstanceFile, i64)) -> Option<i64> {
        let (mut low, mut high) = (0, MOST_WATTS - 2);
        while low < high {
            let watts = low + (high - low) / 2;
            set(&mut self.file, watts);
            let instance = Instance::from_file(&self.file).ok()?.instance;
            let report = check_schedule(&instance, &self.schedule).ok()?;
            if report.violations.is_empty() { high = watts } else { low = watts + 1 }
        }
        Some(low)
    }
}

/// Gives a job whose end the witness reaches before the baseline a deadline between the two; false if there is none.
pub(super) fn spoil_baseline(
    file: &mut InstanceFile,
    witness: (&Instance, &Schedule),
    baseline: &Schedule,
    random: &mut Random,
) -> bool {
    let (instance, schedule) = witness;
    let end = |schedule: &Schedule, job: JobId| {
        schedule.placements[job].as_ref().map_or(Ticks::ZERO, |placement| placement.end(instance, job)).0
    };
    let late: Vec<JobId> = instance.jobs.ids().filter(|&job| end(baseline, job) > end(schedule, job)).collect();
    if late.is_empty() {
        return false;
    }
    let job = random.pick(&late);
    let deadline = random.within(end(schedule, job), end(baseline, job) - 1);
    let slot = &mut file.jobs[job.position()].deadline;
    *slot = Some(slot.map_or(deadline, |old| old.min(deadline)));
    true
}
