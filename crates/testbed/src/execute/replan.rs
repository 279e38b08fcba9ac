//! What is left of an instance, to be planned anew from now on.
//!
//! Jobs that have ended leave; running jobs become `fixed`, as long as they are expected to take; lost GPUs become
//! unavailable; every tick is counted from now. A deadline that cannot be met any more becomes a due time, and the
//! horizon grows where it must: a plan that is late is better than none. An energy budget is not carried over, since what
//! was used of it is not known exactly.

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::check::check;
use rats_domain::codes::Code;
use rats_domain::format::{FixedFile, InstanceFile, JobFile, PlanFile, StepFile, StepsFile, UnavailableFile};
use rats_domain::ids::{Id, JobId};
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems};
use rats_domain::schedule::Placement;
use rats_domain::units::Ticks;

use super::leg::{Leg, policy};
use super::{Request, work};
use crate::engine::{Engine, Moment, State};

/// An instance of what is left.
#[derive(Clone, Debug)]
pub(super) struct Derived {
    instance: Instance,
    /// The same as a document.
    pub file: InstanceFile,
    /// Ticks of the old plan that lie before its tick 0.
    shift: i64,
}

/// What is left of a leg. `expected_s`: time of running jobs from start to end by the pace of their steps, s, by name.
///
/// # Errors
/// What is left is no instance.
pub(super) fn derive(leg: &Leg, now: Moment, expected_s: &BTreeMap<String, f64>) -> Result<Derived, Problems> {
    let instance = leg.engine.instance();
    let shift = now.tick(instance.tick).0.max(0);
    let mut file = leg.file.clone();
    file.name = format!("{}+{shift}", file.name);
    file.energy_budget_j = None;
    let kept: BTreeSet<JobId> = leg
        .engine
        .states()
        .iter()
        .filter(|(_, state)| matches!(state, State::Waiting { .. } | State::Running { .. }))
        .map(|(job, _)| job)
        .collect();
    let names: BTreeSet<&str> = kept.iter().map(|&job| instance.jobs[job].id.as_str()).collect();
    file.jobs = kept.iter().map(|&job| left(leg, job, shift, expected_s)).collect();
    for job in &mut file.jobs {
        job.after.retain(|before| names.contains(before.as_str()));
    }
    file.tariff = file.tariff.map(|steps| shifted(steps, shift));
    move_cluster(leg, &mut file, shift);
    file.horizon = horizon(&file, instance.horizon.0 - shift);
    let instance = Instance::from_file(&file)?.instance;
    Ok(Derived { instance, file, shift })
}

/// A job as it is from now on.
fn left(leg: &Leg, id: JobId, shift: i64, expected_s: &BTreeMap<String, f64>) -> JobFile {
    let mut job = leg.file.jobs[id.position()].clone();
    job.release = (job.release - shift).max(0);
    job.fixed = None;
    let running = match leg.engine.states()[id] {
        State::Running { since, .. } => leg.engine.placement(id).map(|placement| (since, placement)),
        _ => None,
    };
    let shortest = if let Some((since, placement)) = running {
        let since = since.tick(leg.engine.instance().tick).0;
        let mut option = job.options[placement.option.position()].clone();
        let tick_s = Ticks(1).seconds(leg.engine.instance().tick);
        option.ticks = expected(option.ticks, shift - since, expected_s.get(&job.id).map(|time_s| time_s / tick_s));
        let gpus = placement.gpus.iter().map(|&gpu| leg.gpu_name(gpu)).collect();
        let end = since - shift + option.ticks;
        job.fixed = Some(FixedFile { option: 0, start: since - shift, gpus });
        job.options = vec![option];
        keep_physics(&mut job, placement.option.position());
        job.requested = 0;
        job.after = Vec::new();
        end
    } else {
        job.release + job.options.iter().map(|option| option.ticks).min().unwrap_or(1)
    };
    job.due = job.due.map(|due| (due - shift).max(0));
    if let Some(deadline) = job.deadline.map(|deadline| deadline - shift) {
        let holds = deadline >= shortest;
        job.deadline = holds.then_some(deadline);
        if !holds {
            job.due = Some(job.due.unwrap_or(deadline).max(0));
        }
    }
    job
}

/// `physics` states the options in their order.
fn keep_physics(job: &mut JobFile, option: usize) {
    let options =
        job.physics.as_mut().and_then(|physics| physics.get_mut("options")).and_then(|list| list.as_array_mut());
    if let Some(options) = options {
        *options = options.get(option).cloned().into_iter().collect();
    }
}

/// Ticks that a running job is expected to take in all, after `elapsed` of them; `paced`: by the pace of its steps.
fn expected(planned: i64, elapsed: i64, paced: Option<f64>) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a number of ticks")]
    let up = |ticks: f64| ticks.ceil().min(1e9) as i64;
    let guess = match paced {
        Some(ticks) => up(ticks),
        None if elapsed < planned => planned,
        None => up(elapsed as f64 * 1.1),
    };
    guess.max(elapsed + 1)
}

fn move_cluster(leg: &Leg, file: &mut InstanceFile, shift: i64) {
    let instance = leg.engine.instance();
    let move_steps = |steps: &mut Option<StepsFile>| {
        if let Some(StepsFile::Steps(list)) = steps {
            *list = shifted(std::mem::take(list), shift);
        }
    };
    move_steps(&mut file.cluster.power_cap_w);
    move_steps(&mut file.cluster.foreign_w);
    for switch in &mut file.cluster.switches {
        move_steps(&mut switch.power_cap_w);
    }
    for (position, node) in file.cluster.nodes.iter_mut().enumerate() {
        move_steps(&mut node.power_cap_w);
        node.unavailable = node.unavailable.iter().filter_map(|entry| moved(entry, shift)).collect();
        let lost = leg.engine.lost().map(|gpu| &instance.cluster.gpus[gpu]);
        let lost: Vec<i64> =
            lost.filter(|gpu| gpu.node.position() == position).map(|gpu| i64::from(gpu.index)).collect();
        if !lost.is_empty() {
            node.unavailable.push(UnavailableFile { from: 0, to: 1 << 30, gpus: Some(lost) });
        }
        node.on_at_start = true;
    }
}

/// Steps counted from `shift` on; those before it become one at 0.
fn shifted(steps: Vec<StepFile>, shift: i64) -> Vec<StepFile> {
    let mut moved: Vec<StepFile> = Vec::new();
    for mut step in steps {
        step.0 -= shift;
        if step.0 <= 0 {
            step.0 = 0;
            moved.clear();
        }
        moved.push(step);
    }
    moved
}

fn moved(entry: &UnavailableFile, shift: i64) -> Option<UnavailableFile> {
    let (from, to) = ((entry.from - shift).max(0), entry.to - shift);
    (from < to).then(|| UnavailableFile { from, to, gpus: entry.gpus.clone() })
}

/// A horizon that leaves room for all that is left, one after the other.
fn horizon(file: &InstanceFile, left: i64) -> i64 {
    let longest = |job: &JobFile| job.options.iter().map(|option| option.ticks).max().unwrap_or(1);
    let latest = file.jobs.iter().map(|job| job.release).max().unwrap_or(0);
    let needed: i64 = latest + file.jobs.iter().map(longest).sum::<i64>();
    left.max(needed).max(1)
}

impl Derived {
    /// The leg that carries out a plan for it.
    ///
    /// # Errors
    /// The plan breaks a rule, or a job cannot be started as it says.
    pub fn adopt(self, old: &Leg, plan: &PlanFile, request: &Request) -> Result<Leg, Problems> {
        let checked = check(&self.instance, plan)?.into_checked().map_err(|violations| {
            let problem = |violation: rats_domain::check::Violation| {
                Problem::new(Code::U06, "new plan", format!("{}: {}.", violation.code, violation.message))
            };
            Problems(violations.into_iter().map(problem).collect())
        })?;
        let placed: Vec<(JobId, Placement)> = checked
            .schedule()
            .placed()
            .filter(|(job, _)| self.instance.jobs[*job].fixed.is_none())
            .map(|(job, placement)| (job, placement.clone()))
            .collect();
        let mut jobs = request.jobs.clone();
        jobs.jobs.retain(|name, _| self.instance.job_named(name).is_some());
        let work = work::all(&self.instance, &self.file, &jobs, &placed)?;
        let mut engine = Engine::new(self.instance, checked, policy(request));
        let length = engine.instance().tick;
        for job in engine.instance().jobs.ids().collect::<Vec<_>>() {
            let Some(before) = old.engine.instance().job_named(&engine.instance().jobs[job].id) else { continue };
            let state = match old.engine.states()[before] {
                State::Running { since, attempt } => {
                    State::Running { since: since - Moment::of(Ticks(self.shift), length), attempt }
                }
                other => other,
            };
            engine.restore(job, state);
        }
        for gpu in old.engine.lost() {
            engine.quarantine(gpu);
        }
        engine.set_replans(true);
        let origin_s = old.origin_s + Ticks(self.shift).seconds(length);
        Ok(Leg { engine, file: self.file, work, origin_s })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_running_job_ends_by_the_pace_of_its_steps() {
        // By its pace, as planned, a tenth more than so far, and never before the next tick.
        assert_eq!(expected(10, 4, Some(12.1)), 13);
        assert_eq!(expected(10, 4, None), 10);
        assert_eq!(expected(10, 20, None), 22);
        assert_eq!(expected(10, 20, Some(12.0)), 21);
    }

    #[test]
    fn the_option_that_stays_keeps_what_it_is_made_of() {
        let option = json!({"gpu_type": "a", "gpus": 1, "span": "island", "ticks": 1, "power_w": 1});
        let physics = json!({"profiles": ["p"], "options": [{"steps": 1}, {"steps": 2}]});
        let job = json!({"id": "j", "options": [option.clone(), option], "physics": physics});
        let mut job: JobFile = serde_json::from_value(job).unwrap();
        keep_physics(&mut job, 1);
        assert_eq!(job.physics, Some(json!({"profiles": ["p"], "options": [{"steps": 2}]})));
    }
}
