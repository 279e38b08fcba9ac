//! `lwf`: shortest service first, on the GPUs with the least work.
//!
//! # Idea
//! Whenever something ends or is released, the waiting jobs are looked at by their remaining service, GPUs times ticks,
//! and every one that fits starts (Ada-SRSF). Small gangs go to the GPUs that were given the least work, wherever these
//! are; gangs of more than kappa GPUs are kept together on the nodes that were given the least (LWF-kappa).
//!
//! # Model
//! Kappa is 1, 2, 4 and 8 in turn; the best valid plan counts. A job takes its requested
//! option; where that cannot end in time any more, the fastest. The paper lets jobs share GPUs and contend for links
//! and asks whether starting another all-reduce pays; here a GPU runs one job (V6), and a gang whose traffic does not
//! fit waits (V8, V9), so work is what a GPU was given so far. Rules V2-V10, V12 and V13 are kept at every step, the
//! budget V11 is looked at in the end; powered intervals by the default rule.
//!
//! # Complexity
//! Per event a question for each waiting job, answered at once while too few GPUs are free; per start a look at the
//! nodes and GPUs of a type.
//!
//! # Limits
//! It does not look at the objective, nor at deadlines before they are near; it may find no schedule where there is one.
//!
//! # References
//! Q. Wang, S. Shi, C. Wang, X. Chu, "Communication contention aware scheduling of multiple deep learning training
//! jobs", 2020.

use std::cmp::Reverse;

use rats_domain::ids::{DomainId, GpuId, JobId, NodeId, OptionId, Table};
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::schedule::{Placement, Schedule};
use rats_domain::solver::{About, Control, Outcome, Request, Solver, Stop};
use rats_domain::units::Ticks;

use crate::dispatch::{MOST_REFUSED, Waits, first_start};
use crate::judged::best_of;
use crate::places::Rooms;
use crate::timetable::Timetable;

/// Values of kappa that are tried.
const KAPPAS: [u32; 4] = [1, 2, 4, 8];

/// Shortest service first on the least loaded GPUs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lwf;

impl Solver for Lwf {
    fn about(&self) -> About {
        About {
            id: "lwf",
            summary: "LWF-kappa (Wang et al. 2020): shortest service first, on the GPUs with the least work.",
            exact: false,
            baseline: false,
        }
    }

    fn solve(&self, instance: &Instance, _request: &Request, control: &dyn Control) -> Outcome {
        // Kappas from the largest gang on make no difference.
        let options = instance.jobs.values().flat_map(|job| job.options.values());
        let largest = options.map(|option| option.gpus.0).max().unwrap_or(0);
        let kappas = KAPPAS.into_iter().take_while(|&kappa| kappa == 1 || kappa / 2 < largest);
        best_of(instance, control, kappas.map(|kappa| schedule(instance, kappa, control)))
    }
}

/// The schedule for one kappa.
fn schedule(instance: &Instance, kappa: u32, control: &dyn Control) -> Result<Schedule, Stop> {
    let mut dispatch = Dispatch::new(instance, kappa);
    let mut now = Some(Ticks::ZERO);
    while let Some(at) = now {
        dispatch.start_all(at, control)?;
        if dispatch.waiting.is_empty() {
            return Ok(dispatch.timetable.into_schedule());
        }
        now = dispatch.next(at);
    }
    Err(Stop::Finished)
}

/// A schedule that grows with time.
struct Dispatch<'a> {
    timetable: Timetable<'a>,
    waits: Waits,
    kappa: u32,
    /// Jobs not started, shortest service first.
    waiting: Vec<JobId>,
    /// Ticks of work that each GPU, and all GPUs of each node, were given.
    gpu_work: Table<GpuId, i64>,
    node_work: Table<NodeId, i64>,
}

impl<'a> Dispatch<'a> {
    fn new(instance: &'a Instance, kappa: u32) -> Self {
        let timetable = Timetable::new(instance);
        let service = |id: JobId| {
            let job = &instance.jobs[id];
            let option = &job.options[job.requested];
            option.ticks.0 * i64::from(option.gpus.0)
        };
        let mut waiting: Vec<JobId> = instance.jobs.ids().filter(|&job| instance.jobs[job].fixed.is_none()).collect();
        waiting.sort_by_key(|&job| (service(job), instance.jobs[job].release, job));
        let mut dispatch = Self {
            waits: Waits::with_caps(&timetable),
            kappa,
            waiting,
            gpu_work: Table::filled(0, instance.cluster.gpus.len()),
            node_work: Table::filled(0, instance.cluster.nodes.len()),
            timetable,
        };
        for (job, placement) in Schedule::fixed_only(instance).placed() {
            dispatch.note(placement, instance.option(job, placement.option).ticks);
        }
        dispatch
    }

    /// Starts every waiting job that can start now.
    fn start_all(&mut self, now: Ticks, control: &dyn Control) -> Result<(), Stop> {
        let instance = self.timetable.instance();
        let mut idle = self.any_idle(now);
        for job in std::mem::take(&mut self.waiting) {
            if let Some(stop) = control.stop() {
                return Err(stop);
            }
            match if idle && self.is_ready(job, now) { self.place(job, now) } else { None } {
                Some(placement) => {
                    self.note(&placement, instance.option(job, placement.option).ticks);
                    self.timetable.insert(job, placement);
                    idle = self.any_idle(now);
                }
                None => self.waiting.push(job),
            }
        }
        Ok(())
    }

    /// Whether any GPU runs nothing.
    fn any_idle(&self, now: Ticks) -> bool {
        let mut types = self.timetable.instance().cluster.gpu_types.ids();
        types.any(|kind| self.timetable.spare_of_type(kind, Interval::new(now, now + Ticks(1))) > 0)
    }

    fn is_ready(&self, id: JobId, now: Ticks) -> bool {
        let job = &self.timetable.instance().jobs[id];
        let ended = |before: &JobId| {
            let placement = self.timetable.placement(*before);
            placement.is_some_and(|placement| placement.end(self.timetable.instance(), *before) <= now)
        };
        job.release <= now && job.after.iter().all(ended)
    }

    /// The next tick at which a waiting job may become able to start.
    fn next(&self, now: Ticks) -> Option<Ticks> {
        let releases = self.waiting.iter().map(|&job| self.timetable.instance().jobs[job].release);
        releases.filter(|&release| release > now).chain(self.waits.after(&self.timetable, now)).min()
    }

    /// Where a job starts now: with its requested option, or the fastest if that ends too late.
    fn place(&self, id: JobId, now: Ticks) -> Option<Placement> {
        let job = &self.timetable.instance().jobs[id];
        let in_time = |option: &OptionId| {
            job.options[*option].placeable && now + job.options[*option].ticks <= self.timetable.latest_end(id)
        };
        let mut options: Vec<OptionId> = job.options.ids().filter(in_time).collect();
        options.sort_by_key(|&option| (option != job.requested, job.options[option].ticks));
        let window = Interval::new(now, now + Ticks(1));
        // The requested option waits for its GPUs as long as it can end in time.
        let option = *options.first()?;
        first_start(&self.timetable, (id, option), window, &self.waits, |rooms, start| {
            let gangs = self.domains(rooms, job.options[option].gpus.0).into_iter().filter_map(|domain| {
                let mut gpus: Vec<GpuId> = rooms.free_gpus(domain).collect();
                gpus.sort_unstable_by_key(|&gpu| self.key(gpu, job.options[option].gpus.0));
                rooms.gang(domain, gpus.into_iter())
            });
            let mut placements = gangs.map(|gpus| Placement { option, start, gpus }).take(MOST_REFUSED);
            placements.find(|placement| self.timetable.judge(id, placement).is_ok())
        })
    }

    /// The domains that may hold a gang: wide ones first for small gangs, else narrow ones with the least work first.
    fn domains(&self, rooms: &Rooms<'_>, gang: u32) -> Vec<DomainId> {
        let topology = &self.timetable.instance().cluster.topology;
        let mut domains: Vec<DomainId> = rooms.domains().collect();
        if gang <= self.kappa {
            domains.sort_by_key(|&domain| Reverse(topology.domain(domain).rank));
        } else {
            let work = |domain: DomainId| {
                let work: i64 = topology.domain(domain).gpus.iter().map(|&gpu| self.gpu_work[gpu]).sum();
                // Compared per GPU; the least common denominator of node sizes is not needed at this precision.
                1000 * work / i64::try_from(topology.domain(domain).gpus.len()).unwrap_or(i64::MAX)
            };
            domains.sort_by_cached_key(|&domain| (topology.domain(domain).rank, work(domain)));
        }
        domains
    }

    /// What makes a GPU come before another.
    fn key(&self, gpu: GpuId, gang: u32) -> (i64, NodeId, i64, GpuId) {
        let node = self.timetable.instance().cluster.gpus[gpu].node;
        if gang <= self.kappa {
            (self.gpu_work[gpu], node, 0, gpu)
        } else {
            (self.node_work[node], node, self.gpu_work[gpu], gpu)
        }
    }

    fn note(&mut self, placement: &Placement, ticks: Ticks) {
        for &gpu in &placement.gpus {
            self.gpu_work[gpu] += ticks.0;
            self.node_work[self.timetable.instance().cluster.gpus[gpu].node] += ticks.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use rats_domain::solver::Unlimited;

    use super::*;
    use crate::testing::valid_plans;

    #[test]
    fn plans_keep_every_rule_and_are_often_found() {
        let found = valid_plans(&Lwf, 400);
        assert!(found > 120, "{found}");
    }

    /// Jobs of (release, GPUs, ticks) on two nodes of 2 GPUs: their starts and GPUs.
    fn planned(kappa: u32, jobs: &[(u32, u32, u32)]) -> Vec<(i64, String)> {
        let node = |id: &str| format!(r#"{{"id": "{id}", "parent": "s", "gpu_type": "T", "gpus": 2}}"#);
        let job = |(number, &(release, gpus, ticks)): (usize, &(u32, u32, u32))| {
            let option =
                format!(r#"{{"gpu_type": "T", "gpus": {gpus}, "span": "rack", "ticks": {ticks}, "power_w": 9}}"#);
            format!(r#"{{"id": "j{number}", "release": {release}, "options": [{option}]}}"#)
        };
        let jobs: Vec<String> = jobs.iter().enumerate().map(job).collect();
        let text = format!(
            r#"{{"format": "rats.instance/1", "name": "i", "tick_s": 1, "horizon": 100,
                "cluster": {{"gpu_types": [{{"id": "T"}}], "levels": ["rack"],
                "switches": [{{"id": "s", "level": "rack"}}], "nodes": [{}, {}]}},
                "objective": [{{"term": "completion", "weight": 1}}], "jobs": [{}]}}"#,
            node("n0"),
            node("n1"),
            jobs.join(", "),
        );
        let instance = Instance::read(text.as_bytes()).unwrap().instance;
        let plan = schedule(&instance, kappa, &Unlimited).unwrap().to_plan(&instance);
        plan.assignments.iter().map(|found| (found.start, found.gpus.join(" "))).collect()
    }

    #[test]
    fn the_shortest_service_goes_first_when_gpus_are_free() {
        // Services 4 x 5 = 20 and 4 x 3 = 12: the later one of the file goes first. A job of service 1 that is released
        // at 2 does not interrupt it, but overtakes the longer one that waits.
        let found = planned(1, &[(0, 4, 5), (0, 4, 3), (2, 1, 1)]);
        assert_eq!(found.iter().map(|(start, _)| *start).collect::<Vec<_>>(), [4, 0, 3]);
    }

    #[test]
    fn small_gangs_spread_to_idle_gpus_and_large_ones_stay_together() {
        // j0 takes n0/0 for 2 ticks; at 3 the GPU with the least work is n0/1 before n1.
        // A gang of 2 at tick 3: kappa = 1 keeps it on the node with less work, n1; kappa = 2 takes the two idlest GPUs.
        assert_eq!(planned(1, &[(0, 1, 2), (3, 2, 2)])[1], (3, "n1/0 n1/1".to_owned()));
        assert_eq!(planned(2, &[(0, 1, 2), (3, 2, 2)])[1], (3, "n0/1 n1/0".to_owned()));
    }
}
