//! `edl`: earliest deadline first, each job at its cheapest option, squeezed before another server is woken.
//!
//! # Idea
//! Theta-readjustment. A job takes the option of least energy and goes to the GPUs that free first among those of
//! servers that are awake. If it would end too late there, it may be sped up to fit instead, provided that it does not
//! have to run in less than a part theta of its best time. Otherwise a server is woken.
//!
//! # Model
//! Jobs in the order of their deadlines, and once more in that of their releases (as they come online), each with
//! theta = 1, 0.8 and 0.5, the values of the paper; the best valid plan counts. The energy of an option is its mean
//! power times its ticks, as in the paper; sped up it may cost no more than the requested option. A sleep node is awake
//! until the default rule of the model would let it sleep. GPUs are queues: a job is appended, it fills no gap. A job
//! that no awake server can end in time takes the first start of its cheapest option that can anywhere. Rules V2-V10,
//! V12 and V13 are kept at every step, the budget V11 is looked at in the end; powered intervals by the default rule.
//!
//! # Complexity
//! Per job and option tried, a look at the GPUs and at the nodes of its type for each start tried; few starts, since
//! what the queues allow is known.
//!
//! # Limits
//! No backtracking: it may find no schedule where there is one. The power of nodes and idle GPUs counts only in the
//! choice among the runs.
//!
//! # References
//! X. Mei, Q. Wang, X. Chu, H. Liu, Y.-W. Leung, Z. Li, "Energy-aware task scheduling with deadline constraint in
//! DVFS-enabled heterogeneous clusters", IEEE TPDS 2022. Their own set-up is reproduced by `rats edl`.

use rats_domain::format::PowerMode;
use rats_domain::ids::{GpuId, JobId, NodeId, OptionId, Table};
use rats_domain::instance::{Instance, JobOption};
use rats_domain::interval::Interval;
use rats_domain::power::bridges;
use rats_domain::schedule::{Placement, Schedule};
use rats_domain::solver::{About, Control, Outcome, Request, Solver, Stop};
use rats_domain::units::Ticks;

use crate::dispatch::{MOST_REFUSED, Waits, earliest, first_start, in_order};
use crate::judged::best_of;
use crate::places::Rooms;
use crate::timetable::Timetable;

/// Values of theta that are tried, in percent.
const THETAS: [i64; 3] = [100, 80, 50];

/// Earliest deadline first with theta-readjustment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edl;

impl Solver for Edl {
    fn about(&self) -> About {
        About {
            id: "edl",
            summary: "Theta-readjustment (Mei et al. 2022): by deadline, cheapest option, sped up before a node wakes.",
            exact: false,
            baseline: false,
        }
    }

    fn solve(&self, instance: &Instance, _request: &Request, control: &dyn Control) -> Outcome {
        let by_deadline = in_order(instance, |job| (instance.latest_end(job), instance.jobs[job].release));
        let by_release = in_order(instance, |job| (instance.jobs[job].release, instance.latest_end(job)));
        let orders = if by_deadline == by_release { vec![by_deadline] } else { vec![by_deadline, by_release] };
        let runs = orders.iter().flat_map(|order| THETAS.map(|theta| (order, theta)));
        best_of(instance, control, runs.map(|(order, theta)| schedule(instance, order, theta, control)))
    }
}

/// The schedule for one order and one theta in percent.
fn schedule(instance: &Instance, order: &[JobId], theta: i64, control: &dyn Control) -> Result<Schedule, Stop> {
    let mut queues = Queues::new(instance);
    for &job in order {
        if let Some(stop) = control.stop() {
            return Err(stop);
        }
        let placement = queues.place(job, theta).ok_or(Stop::Finished)?;
        queues.append(job, placement);
    }
    Ok(queues.timetable.into_schedule())
}

/// The timetable with what it means to append to it.
struct Queues<'a> {
    timetable: Timetable<'a>,
    waits: Waits,
    /// When each GPU is done with what it was given.
    free: Table<GpuId, Ticks>,
    /// The same for each node; `None` for one that never woke.
    done: Table<NodeId, Option<Ticks>>,
}

impl<'a> Queues<'a> {
    fn new(instance: &'a Instance) -> Self {
        let timetable = Timetable::new(instance);
        let done = instance.cluster.nodes.values().map(|node| node.on_at_start.then_some(Ticks::ZERO));
        let mut queues = Self {
            waits: Waits::with_caps(&timetable),
            done: done.collect(),
            free: Table::filled(Ticks::ZERO, instance.cluster.gpus.len()),
            timetable,
        };
        for (job, placement) in Schedule::fixed_only(instance).placed() {
            queues.note(placement, placement.end(instance, job));
        }
        queues
    }

    /// Where a job goes: as it is best, else sped up, else on a server that wakes.
    fn place(&self, id: JobId, theta: i64) -> Option<Placement> {
        let instance = self.timetable.instance();
        let job = &instance.jobs[id];
        let energy = |option: OptionId| job.options[option].power.over(job.options[option].ticks, instance.tick);
        let mut options: Vec<OptionId> = job.options.ids().filter(|&option| job.options[option].placeable).collect();
        options.sort_by_key(|&option| (energy(option), job.options[option].ticks, option));
        let best = *options.first()?;
        let ready = job.release.max(self.timetable.earliest_after(id).unwrap_or(Ticks::ZERO));
        let mut found = self.queued(id, best, ready);
        if found.is_none()
            && let Some(start) = self.freed(&job.options[best], ready)
        {
            let least = options.iter().map(|&option| job.options[option].ticks).min()?;
            let slack = self.timetable.latest_end(id) - start;
            if slack >= least && 100 * slack.0 >= theta * job.options[best].ticks.0 {
                let cheap = options[1..].iter().filter(|&&option| energy(option) <= energy(job.requested));
                found = cheap.copied().find_map(|option| self.queued(id, option, ready));
            }
        }
        found.or_else(|| options.into_iter().find_map(|option| self.anywhere(id, option, ready)))
    }

    /// The first start of an option at the ends of the queues of servers that are awake.
    fn queued(&self, id: JobId, option_id: OptionId, ready: Ticks) -> Option<Placement> {
        let option = self.timetable.instance().option(id, option_id);
        let window = self.window(id, option, self.freed(option, ready)?);
        first_start(&self.timetable, (id, option_id), window, &self.waits, |rooms, start| {
            let gangs = self.gangs(rooms, option, ready, start);
            let mut placements = gangs.map(|gpus| Placement { option: option_id, start, gpus }).take(MOST_REFUSED);
            placements.find(|placement| self.timetable.judge(id, placement).is_ok())
        })
    }

    /// The first start of an option on any server.
    fn anywhere(&self, id: JobId, option: OptionId, ready: Ticks) -> Option<Placement> {
        let window = self.window(id, self.timetable.instance().option(id, option), ready);
        let accept = |placement: &Placement| self.timetable.judge(id, placement).is_ok();
        earliest(&self.timetable, (id, option), window, &self.waits, accept)
    }

    fn window(&self, id: JobId, option: &JobOption, from: Ticks) -> Interval {
        Interval::new(from, self.timetable.latest_end(id) - option.ticks + Ticks(1))
    }

    /// When the queues of enough awake GPUs of an option's type end.
    fn freed(&self, option: &JobOption, ready: Ticks) -> Option<Ticks> {
        let cluster = &self.timetable.instance().cluster;
        let of_type = cluster.nodes.iter().filter(|(_, node)| node.gpu_type == option.gpu_type);
        let awake = of_type.filter(|&(id, _)| self.is_awake(id, ready));
        let mut ends: Vec<Ticks> = awake.flat_map(|(id, _)| cluster.gpus_of(id)).map(|gpu| self.free[gpu]).collect();
        let last = option.gpus.0 as usize - 1;
        (last < ends.len()).then(|| (*ends.select_nth_unstable(last).1).max(ready))
    }

    fn is_awake(&self, node: NodeId, at: Ticks) -> bool {
        let instance = self.timetable.instance();
        let bridged = |end: Ticks| at <= end || bridges(&instance.cluster.nodes[node], at - end, instance.tick);
        instance.cluster.nodes[node].power == PowerMode::AlwaysOn || self.done[node].is_some_and(bridged)
    }

    /// Gangs of GPUs whose queues have ended, in each domain those that ended first.
    fn gangs<'r>(
        &'r self,
        rooms: &'r Rooms<'_>,
        option: &JobOption,
        ready: Ticks,
        start: Ticks,
    ) -> impl Iterator<Item = Vec<GpuId>> + 'r {
        let cluster = &self.timetable.instance().cluster;
        let suits = move |gpu: &GpuId| self.free[*gpu] <= start && self.is_awake(cluster.gpus[*gpu].node, ready);
        let sorted = move |gpus: &mut dyn Iterator<Item = GpuId>| {
            let mut gpus: Vec<GpuId> = gpus.filter(suits).collect();
            gpus.sort_unstable_by_key(|&gpu| (self.free[gpu], gpu));
            gpus
        };
        let single = option.gpus.0 == 1;
        let mut one_by_one = Vec::new();
        if single {
            one_by_one = sorted(&mut cluster.gpus.ids().filter(|&gpu| rooms.is_free(gpu)));
        }
        let of_one = one_by_one.into_iter().filter_map(move |gpu| {
            let domain = cluster.topology.of_gpu(gpu);
            rooms.gang(domain, std::iter::once(gpu))
        });
        let of_many = rooms.domains().filter(move |_| !single).filter_map(move |domain| {
            let order = sorted(&mut rooms.free_gpus(domain));
            rooms.gang(domain, order.into_iter())
        });
        of_one.chain(of_many)
    }

    fn append(&mut self, job: JobId, placement: Placement) {
        self.note(&placement, placement.end(self.timetable.instance(), job));
        self.timetable.insert(job, placement);
    }

    fn note(&mut self, placement: &Placement, end: Ticks) {
        let cluster = &self.timetable.instance().cluster;
        for &gpu in &placement.gpus {
            self.free[gpu] = self.free[gpu].max(end);
            let node = cluster.gpus[gpu].node;
            self.done[node] = self.done[node].max(Some(end));
        }
    }
}

#[cfg(test)]
mod tests {
    use rats_domain::evaluate::evaluate;
    use rats_domain::solver::Unlimited;
    use rats_domain::units::Millijoules;

    use super::*;
    use crate::testing::valid_plans;

    #[test]
    fn plans_keep_every_rule_and_are_mostly_found() {
        let found = valid_plans(&Edl, 400);
        assert!(found > 150, "{found}");
    }

    /// Two nodes of one GPU; two jobs with deadline `deadline` that run 10 ticks at 100 W or 6 ticks at 200 W.
    fn two_jobs(deadline: u32) -> Instance {
        let node = |id: &str| {
            format!(r#"{{"id": "{id}", "parent": "s", "gpu_type": "T", "gpus": 1, "power": "sleep", "wake_j": 500}}"#)
        };
        let option = |ticks: u32, watts: u32| {
            format!(r#"{{"gpu_type": "T", "gpus": 1, "span": "node", "ticks": {ticks}, "power_w": {watts}}}"#)
        };
        let job = |id: &str| {
            let options = format!("[{}, {}]", option(6, 200), option(10, 100));
            format!(r#"{{"id": "{id}", "deadline": {deadline}, "options": {options}}}"#)
        };
        let text = format!(
            r#"{{"format": "rats.instance/1", "name": "i", "tick_s": 1, "horizon": 100,
                "cluster": {{"gpu_types": [{{"id": "T"}}], "levels": ["rack"],
                "switches": [{{"id": "s", "level": "rack"}}], "nodes": [{}, {}]}},
                "objective": [{{"term": "energy", "weight": 1}}], "jobs": [{}, {}]}}"#,
            node("n0"),
            node("n1"),
            job("a"),
            job("b"),
        );
        Instance::read(text.as_bytes()).unwrap().instance
    }

    /// Start and length of the second job, and its node.
    fn second(deadline: u32, theta: i64) -> (i64, i64, usize) {
        use rats_domain::ids::Id;
        let instance = two_jobs(deadline);
        let order: Vec<JobId> = instance.jobs.ids().collect();
        let schedule = schedule(&instance, &order, theta, &Unlimited).unwrap();
        let (job, placement) = schedule.placed().last().unwrap();
        (placement.start.0, placement.interval(&instance, job).len().0, placement.gpus[0].position())
    }

    #[test]
    fn a_job_waits_if_it_may_is_sped_up_as_theta_allows_and_else_wakes_a_server() {
        // The first job runs in [0, 10) on n0. With 20 ticks the second fits behind it at its best.
        assert_eq!(second(20, 100), (10, 10, 0));
        // With 17 it has 7 of its best 10 ticks left: theta = 0.5 speeds it up to 6, theta = 0.8 wakes n1.
        assert_eq!(second(17, 50), (10, 6, 0));
        assert_eq!(second(17, 80), (0, 10, 1));
        // With 15 it has 5 left: no option is as fast.
        assert_eq!(second(15, 50), (0, 10, 1));
    }

    #[test]
    fn the_best_theta_counts() {
        // Waking costs 500 J, speeding up 200 J more than the best option: theta = 0.5 wins, 1000 + 1200 + 500 J.
        let instance = two_jobs(17);
        let Outcome::Feasible { schedule, .. } = Edl.solve(&instance, &Request::default(), &Unlimited) else {
            panic!()
        };
        assert_eq!(evaluate(&instance, &schedule).terms.energy, Millijoules(2_700_000));
    }
}
