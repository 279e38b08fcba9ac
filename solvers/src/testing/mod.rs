//! Random small instances and schedules for tests: every feature of the model on and off at random.
//!
//! Limits and times are drawn around a greedy schedule, so that they bind and can mostly be met. An instance may still
//! be infeasible. The same seed gives the same instance for ever.

mod draw;
mod tighten;

use rats_domain::check::check_schedule;
use rats_domain::codes::Code;
use rats_domain::format::{InstanceFile, PowerMode};
use rats_domain::ids::{GpuId, Id, JobId, OptionId};
use rats_domain::instance::Instance;
use rats_domain::interval::{Interval, union};
use rats_domain::schedule::{Placement, Schedule};
use rats_domain::solver::{Outcome, Request, Solver, Unlimited};
use rats_domain::units::Ticks;

use rats_domain::random::Random;

/// How large an instance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// At most 3 jobs, horizon 6 and 4 GPUs; [`leaves`] is at most [`MOST_LEAVES`].
    Micro,
    /// At most 5 jobs, horizon 12 and 6 GPUs.
    Tiny,
}

/// Most schedules (with powered intervals) of a micro instance.
pub const MOST_LEAVES: f64 = 1e6;

/// A random instance.
pub fn random_instance(seed: u64, size: Size) -> Instance {
    random_file(seed, size).1
}

/// A random instance with its file.
pub fn random_file(seed: u64, size: Size) -> (InstanceFile, Instance) {
    let mut random = Random::new(seed.wrapping_mul(2).wrapping_add(u64::from(size == Size::Tiny)));
    loop {
        let mut file = draw::file(&mut random, size);
        file.name = format!("random-{seed}");
        let Some(instance) = read(&file) else { continue };
        draw::fix_jobs(&mut random, size, &instance, &mut file);
        let Some(instance) = read(&file) else { continue };
        let schedule = greedy_schedule(&mut random, &instance);
        tighten::around(&mut random, &instance, &schedule, &mut file);
        let Some(instance) = read(&file) else { continue };
        if size == Size::Tiny || leaves(&instance) <= MOST_LEAVES {
            return (file, instance);
        }
    }
}

/// On how many of the first `seeds` random tiny instances a solver finds a plan; each is complete and keeps every rule.
///
/// # Panics
/// A plan is incomplete or breaks a rule.
pub fn valid_plans(solver: &dyn Solver, seeds: u64) -> usize {
    let is_found = |&seed: &u64| {
        let instance = random_instance(seed, Size::Tiny);
        let outcome = solver.solve(&instance, &Request::default(), &Unlimited);
        let Outcome::Feasible { schedule, .. } = outcome else { return false };
        assert!(schedule.placements.values().all(Option::is_some), "seed {seed}");
        assert_eq!(broken_rules(&instance, &schedule), 0, "seed {seed}");
        true
    };
    (0..seeds).filter(is_found).count()
}

/// The instance of a file; `None` if it is not valid.
pub fn read(file: &InstanceFile) -> Option<Instance> {
    Instance::from_file(file).ok().map(|read| read.instance)
}

/// How many schedules an exhaustive search looks at: placements of all jobs times powered ticks of the nodes for which
/// the default rule may not be the best.
pub fn leaves(instance: &Instance) -> f64 {
    let cluster = &instance.cluster;
    let placements = |job: JobId| -> f64 {
        let options = instance.jobs[job].options.values().filter(|option| option.placeable);
        let of_option = |ticks: Ticks, gangs: usize| {
            let starts = instance.latest_end(job) - ticks - instance.jobs[job].release + Ticks(1);
            starts.0.max(0) as f64 * gangs as f64
        };
        options.map(|option| of_option(option.ticks, gangs(instance, option.gpu_type, option.gpus.0).len())).sum()
    };
    let open = instance.jobs.iter().filter(|(_, job)| job.fixed.is_none());
    let schedules: f64 = open.map(|(job, _)| placements(job).max(1.0)).product();
    let capped = cluster.has_power_caps();
    let open_power = cluster.nodes.values().filter(|node| {
        let unusual = node.wake_ticks > Ticks::ZERO || node.on_at_start;
        node.power == PowerMode::Sleep && (unusual || capped || instance.tariff.is_some())
    });
    schedules * open_power.map(|_| (instance.horizon.0 as f64).exp2()).product::<f64>()
}

/// All sets of `size` GPUs of a type, in lexicographic order.
pub fn gangs(instance: &Instance, kind: rats_domain::ids::GpuTypeId, size: u32) -> Vec<Vec<GpuId>> {
    let of_type: Vec<GpuId> =
        instance.cluster.gpus.ids().filter(|&gpu| instance.cluster.type_of(gpu) == kind).collect();
    let mut found = Vec::new();
    subsets(&of_type, size as usize, &mut Vec::new(), &mut found);
    found
}

fn subsets(from: &[GpuId], size: usize, chosen: &mut Vec<GpuId>, found: &mut Vec<Vec<GpuId>>) {
    if size == 0 {
        found.push(chosen.clone());
        return;
    }
    for (position, &gpu) in from.iter().enumerate() {
        chosen.push(gpu);
        subsets(&from[position + 1..], size - 1, chosen, found);
        chosen.pop();
    }
}

/// The first gang by definition: domains narrow to wide, then all sets in file order, the first with which the schedule
/// breaks none of V2, V3, V6-V9, V12 and V13; the schedule must break none of them without the job.
pub fn first_gang(
    instance: &Instance,
    schedule: &Schedule,
    (job, id): (JobId, OptionId),
    start: Ticks,
) -> Option<Vec<GpuId>> {
    let option = instance.option(job, id);
    let topology = &instance.cluster.topology;
    let ignored = [Code::V1, Code::V4, Code::V5, Code::V10, Code::V11];
    let mut schedule = schedule.clone();
    let mut fits = |gpus: &[GpuId]| {
        schedule.placements[job] = Some(Placement { option: id, start, gpus: gpus.to_vec() });
        check_schedule(instance, &schedule)
            .is_ok_and(|report| report.violations.iter().all(|violation| ignored.contains(&violation.code)))
    };
    let sets = gangs(instance, option.gpu_type, option.gpus.0);
    let domains = topology.by_width().iter().filter(|&&domain| topology.domain(domain).rank <= option.span);
    domains.into_iter().find_map(|&domain| {
        let inside = |set: &&Vec<GpuId>| set.iter().all(|gpu| topology.domain(domain).gpus.contains(gpu));
        sets.iter().filter(inside).find(|set| fits(set)).cloned()
    })
}

/// The number of broken rules of a schedule, missing jobs apart.
pub fn broken_rules(instance: &Instance, schedule: &Schedule) -> usize {
    check_schedule(instance, schedule)
        .map_or(usize::MAX, |report| report.violations.iter().filter(|violation| violation.code != Code::V1).count())
}

/// Places jobs in random order, each at the first start at which a random placement breaks no further rule; a job
/// without such a start stays out.
pub fn greedy_schedule(random: &mut Random, instance: &Instance) -> Schedule {
    let mut schedule = Schedule::fixed_only(instance);
    let mut broken = broken_rules(instance, &schedule);
    let mut left: Vec<JobId> = instance.jobs.ids().filter(|&job| instance.jobs[job].fixed.is_none()).collect();
    random.shuffle(&mut left);
    while let Some(position) =
        left.iter().position(|&job| !instance.jobs[job].after.iter().any(|before| left.contains(before)))
    {
        let job = left.remove(position);
        for start in instance.jobs[job].release.0..instance.horizon.0 {
            let mut places = placements_at(instance, job, Ticks(start));
            random.shuffle(&mut places);
            let fits = places.into_iter().take(40).find(|placement| {
                schedule.placements[job] = Some(placement.clone());
                broken_rules(instance, &schedule) <= broken
            });
            schedule.placements[job] = fits;
            if schedule.placements[job].is_some() {
                broken = broken_rules(instance, &schedule);
                break;
            }
        }
    }
    schedule
}

/// A placement of every job without regard to rules other than V2.
pub fn random_schedule(random: &mut Random, instance: &Instance) -> Schedule {
    let mut schedule = Schedule::fixed_only(instance);
    for job in instance.jobs.ids().filter(|&job| instance.jobs[job].fixed.is_none()) {
        schedule.placements[job] = random_placement(random, instance, job);
    }
    schedule
}

/// A placement of a job without regard to rules other than V2; `None` if an option that happens to be drawn has none.
pub fn random_placement(random: &mut Random, instance: &Instance, job: JobId) -> Option<Placement> {
    let position = random.below(instance.jobs[job].options.len());
    let option = OptionId::from_position(position);
    let last = (instance.horizon - instance.option(job, option).ticks).max(Ticks::ZERO).0 + 1;
    let start = Ticks(random.within(0, last));
    let mut places = placements_at(instance, job, start);
    places.retain(|placement| placement.option == option);
    (!places.is_empty()).then(|| places.swap_remove(random.below(places.len())))
}

/// States random powered intervals that cover the busy ticks of some sleep nodes.
pub fn state_power(random: &mut Random, instance: &Instance, schedule: &mut Schedule) {
    for (id, node) in instance.cluster.nodes.iter().filter(|(_, node)| node.power == PowerMode::Sleep) {
        if random.chance(50) {
            continue;
        }
        let on_node = |placement: &Placement| placement.gpus.iter().any(|&gpu| instance.cluster.gpus[gpu].node == id);
        let window = Interval::new(Ticks::ZERO, instance.horizon);
        let busy = schedule.placed().filter(|(_, placement)| on_node(placement));
        let mut powered: Vec<_> =
            busy.map(|(job, placement)| placement.interval(instance, job).intersection(window)).collect();
        for _ in 0..random.below(3) {
            let from = random.within(0, instance.horizon.0 - 1);
            let to = random.within(from + 1, instance.horizon.0);
            powered.push(Interval::new(Ticks(from), Ticks(to)));
        }
        let mut powered = union(powered);
        let least = node.wake_ticks.max(Ticks(1));
        powered.dedup_by(|next, last| {
            let close = next.from - last.to < least;
            if close {
                last.to = next.to;
            }
            close
        });
        schedule.power.insert(id, powered);
    }
}

fn placements_at(instance: &Instance, job: JobId, start: Ticks) -> Vec<Placement> {
    let options = instance.jobs[job].options.iter();
    let sets = options.filter(|(_, option)| instance.cluster.memory_fits(option)).flat_map(|(id, option)| {
        gangs(instance, option.gpu_type, option.gpus.0).into_iter().map(move |gpus| (id, gpus))
    });
    sets.map(|(option, gpus)| Placement { option, start, gpus }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_the_same_instance() {
        for size in [Size::Micro, Size::Tiny] {
            let (a, b) = (random_instance(3, size), random_instance(3, size));
            assert_eq!(format!("{a:?}"), format!("{b:?}"));
        }
    }

    #[test]
    fn sizes_hold_and_most_instances_have_a_greedy_plan() {
        let (mut valid, mut fixed, mut capped, mut stated) = (0, 0, 0, 0);
        for seed in 0..200 {
            let size = if seed % 2 == 0 { Size::Micro } else { Size::Tiny };
            let instance = random_instance(seed, size);
            let most = if size == Size::Micro { (3, 6, 4) } else { (5, 12, 6) };
            assert!(
                instance.jobs.len() <= most.0 && instance.horizon.0 <= most.1 && instance.cluster.gpus.len() <= most.2
            );
            let mut schedule = greedy_schedule(&mut Random::new(seed), &instance);
            let whole = schedule.placements.values().all(Option::is_some);
            valid += usize::from(whole && broken_rules(&instance, &schedule) == 0);
            state_power(&mut Random::new(seed), &instance, &mut schedule);
            stated += usize::from(!schedule.power.is_empty() && broken_rules(&instance, &schedule) == 0);
            fixed += usize::from(instance.jobs.values().any(|job| job.fixed.is_some()));
            capped += usize::from(instance.cluster.power_cap.is_some());
        }
        assert!(valid > 80 && fixed > 10 && capped > 10 && stated > 20, "{valid} {fixed} {capped} {stated}");
    }
}
