//! Validates the jobs and their options.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

use super::names;
use super::numbers::Collector;
use crate::codes::Code;
use crate::format::{ClusterFile, FixedFile, JobFile, OptionFile};
use crate::ids::{GpuId, GpuTypeId, Id, JobId, OptionId, ResourceId, Table};
use crate::instance::{Cluster, Job, JobOption, MAX_TICK, Placeability};
use crate::problem::Warning;
use crate::schedule::Placement;
use crate::topology::Rank;
use crate::units::{GpuCount, Ticks};

/// More jobs than any plan this is meant for; keeps sums over all jobs in range.
const MAX_JOBS: usize = 1_000_000;

/// What names in jobs can refer to.
struct Known<'c> {
    gpu_types: BTreeMap<&'c str, GpuTypeId>,
    spans: BTreeMap<&'c str, Rank>,
    /// What more there is to judge by if the cluster is sound.
    sound: Option<Sound<'c>>,
}

struct Sound<'c> {
    cluster: &'c Cluster,
    placeability: Placeability<'c>,
    resources: BTreeMap<&'c str, ResourceId>,
    gpus: BTreeMap<String, GpuId>,
}

/// Validates all jobs; the result is meaningful only if no problem was found.
///
/// Without a sound `cluster` the jobs are judged by themselves and by the names in its `file`.
pub(super) fn jobs(
    collector: &mut Collector,
    files: &[JobFile],
    file: &ClusterFile,
    cluster: Option<&Cluster>,
) -> Table<JobId, Job> {
    if files.len() > MAX_JOBS {
        collector.problem(Code::I02, "jobs", format!("{} jobs exceed the limit of {MAX_JOBS}.", files.len()));
    }
    let ids = names(collector, "jobs", files.iter().map(|job| job.id.as_str()));
    let known = Known::new(file, cluster);
    let convert = |(position, job)| known.job(collector, &format!("jobs[{position}]"), job, &ids);
    let jobs: Table<JobId, Job> = files.iter().enumerate().map(convert).collect();
    cycles(collector, &jobs);
    jobs
}

impl<'c> Known<'c> {
    fn new(file: &'c ClusterFile, cluster: Option<&'c Cluster>) -> Self {
        let types = file.gpu_types.iter().enumerate();
        let levels = (0..u16::MAX - Rank::NODE.0).zip(&file.levels);
        let levels = levels.map(|(position, level)| (level.as_str(), Rank::level(position)));
        Self {
            gpu_types: types.map(|(position, kind)| (kind.id.as_str(), GpuTypeId::from_position(position))).collect(),
            spans: [("island", Rank::ISLAND), ("node", Rank::NODE)].into_iter().chain(levels).collect(),
            sound: cluster.map(|cluster| Sound {
                cluster,
                placeability: Placeability::new(cluster),
                resources: cluster.resources.iter().map(|(id, name)| (name.as_str(), id)).collect(),
                gpus: cluster.gpu_names(),
            }),
        }
    }

    fn job(&self, collector: &mut Collector, place: &str, file: &JobFile, ids: &BTreeMap<&str, usize>) -> Job {
        let before = collector.problems.len();
        if file.options.is_empty() {
            collector.problem(Code::I01, format!("{place}.options"), "there must be at least one.");
        }
        let options = file.options.iter().enumerate();
        let options: Vec<_> =
            options.map(|(p, option)| self.option(collector, &format!("{place}.options[{p}]"), option)).collect();
        let sound = self.sound.as_ref().filter(|_| collector.problems.len() == before);
        let mut options: Table<OptionId, JobOption> = options.into_iter().flatten().collect();
        if let Some(sound) = sound {
            sound.placeable(collector, place, &file.id, &mut options);
        }
        let mut after = Vec::new();
        for (position, name) in file.after.iter().enumerate() {
            if let Some(&job) = ids.get(name.as_str()) {
                after.push(JobId::from_position(job));
            } else {
                let message = format!("there is no job `{name}`.");
                collector.problem(Code::I06, format!("{place}.after[{position}]"), message);
            }
        }
        after.sort_unstable();
        after.dedup();
        let count = file.options.len();
        let requested = option_index(collector, &format!("{place}.requested"), file.requested, count);
        let fixed = file.fixed.as_ref().map(|file| {
            let place = format!("{place}.fixed");
            let before = collector.problems.len();
            let option = fixed_numbers(collector, &place, file, count);
            let sound = sound.filter(|_| collector.problems.len() == before);
            sound.map(|sound| sound.fixed(collector, &place, file, (option, &options[option])))
        });
        Job {
            id: file.id.clone(),
            release: collector.ticks(&format!("{place}.release"), file.release),
            deadline: collector.optional(&format!("{place}.deadline"), file.deadline, Collector::ticks),
            due: collector.optional(&format!("{place}.due"), file.due, Collector::ticks),
            weight: collector.weight(&format!("{place}.weight"), file.weight),
            after,
            requested,
            fixed: fixed.flatten(),
            options,
            user: file.user.clone(),
            workload: file.workload.clone(),
            command: file.command.clone(),
        }
    }

    /// The names of spans, narrow to wide; of many the first.
    fn span_names(&self) -> String {
        const SHOWN: usize = 8;
        let by_rank: BTreeMap<Rank, &str> = self.spans.iter().map(|(&name, &rank)| (rank, name)).collect();
        let more = if by_rank.len() > SHOWN { ", ..." } else { "" };
        let shown: Vec<_> = by_rank.into_values().take(SHOWN).map(|name| format!("`{name}`")).collect();
        shown.join(", ") + more
    }

    fn option(&self, collector: &mut Collector, place: &str, file: &OptionFile) -> Option<JobOption> {
        let at = |field: &str| format!("{place}.{field}");
        let gpu_type = self.gpu_types.get(file.gpu_type.as_str());
        if gpu_type.is_none() {
            collector.problem(Code::I06, at("gpu_type"), format!("there is no GPU type `{}`.", file.gpu_type));
        }
        let span = self.spans.get(file.span.as_str());
        if span.is_none() {
            let message = format!("there is no span `{}`: only {}.", file.span, self.span_names());
            collector.problem(Code::I06, at("span"), message);
        }
        let power = collector.watts(&at("power_w"), file.power_w);
        let mut per_gpu = Vec::new();
        for (name, need) in &file.per_gpu {
            let need = collector.thousandths(&at(&format!("per_gpu.{name}")), *need);
            // A resource that no node lists is unlimited everywhere.
            let resource = self.sound.as_ref().and_then(|sound| sound.resources.get(name.as_str()));
            per_gpu.extend(resource.map(|&resource| (resource, need)));
        }
        for (field, clock) in [("sm_mhz", file.point.sm_mhz), ("mem_mhz", file.point.mem_mhz)] {
            if let Some(clock) = clock {
                collector.integer(&at(&format!("point.{field}")), clock, 0);
            }
        }
        if let Some(limit) = file.point.power_limit_w {
            collector.watts(&at("point.power_limit_w"), limit);
        }
        let gpus = collector.integer(&at("gpus"), file.gpus, 1);
        let ticks = Ticks(collector.integer(&at("ticks"), file.ticks, 1));
        let peak = collector.optional(&at("peak_w"), file.peak_w, Collector::watts);
        let ring = collector.gigabytes_per_second(&at("ring_gb_s"), file.ring_gb_s);
        let read = collector.gigabytes_per_second(&at("read_gb_s"), file.read_gb_s);
        let memory = collector.memory(&at("memory_mib"), file.memory_mib.unwrap_or(0));
        Some(JobOption {
            gpu_type: *gpu_type?,
            gpus: GpuCount(u32::try_from(gpus).unwrap_or(u32::MAX)),
            span: *span?,
            point: file.point,
            ticks,
            power,
            peak: peak.unwrap_or(power),
            ring,
            read,
            per_gpu,
            memory,
            placeable: true,
        })
    }
}

impl Sound<'_> {
    /// Marks options that have no placement; a job must have another.
    fn placeable(&self, collector: &mut Collector, place: &str, id: &str, options: &mut Table<OptionId, JobOption>) {
        let obstacles: Vec<_> = options.values().map(|option| self.placeability.obstacle(option)).collect();
        let none_left = obstacles.iter().all(Option::is_some);
        for ((position, option), obstacle) in options.values_mut().enumerate().zip(&obstacles) {
            let Some(rule) = obstacle else { continue };
            option.placeable = false;
            if !none_left {
                let message = format!("cannot run even alone on the empty cluster, by rule {rule}.");
                collector.warnings.push(Warning::new(Code::W4, format!("{place}.options[{position}]"), message));
            }
        }
        if none_left && !obstacles.is_empty() {
            let rules: BTreeSet<_> = obstacles.into_iter().flatten().collect();
            let rules: Vec<_> = rules.into_iter().map(Code::id).collect();
            let message =
                format!("job `{id}` cannot run on the empty cluster with any option, by rule {}.", rules.join(", "));
            collector.problem(Code::I15, format!("{place}.options"), message);
        }
    }

    /// The placement of a fixed job, which must not break V2.
    fn fixed(
        &self,
        collector: &mut Collector,
        place: &str,
        file: &FixedFile,
        (id, option): (OptionId, &JobOption),
    ) -> Placement {
        let gpu_place = format!("{place}.gpus");
        let mut gpus = Vec::new();
        for name in &file.gpus {
            match self.gpus.get(name) {
                Some(&gpu) => gpus.push(gpu),
                None => collector.problem(Code::I17, &gpu_place, format!("there is no GPU `{name}`.")),
            }
        }
        gpus.sort_unstable();
        if gpus.windows(2).any(|pair| pair[0] == pair[1]) {
            collector.problem(Code::I17, &gpu_place, "a GPU is named twice.");
        }
        if file.gpus.len() != option.gpus.0 as usize {
            let message = format!("{} GPUs for a gang of {}.", file.gpus.len(), option.gpus);
            collector.problem(Code::I17, &gpu_place, message);
        }
        if let Some(&gpu) = gpus.iter().find(|&&gpu| self.cluster.type_of(gpu) != option.gpu_type) {
            let kind = &self.cluster.gpu_types[option.gpu_type].id;
            let message = format!("`{}` is not of type `{kind}`.", self.cluster.gpu_name(gpu));
            collector.problem(Code::I17, &gpu_place, message);
        }
        if !self.cluster.memory_fits(option) {
            collector.problem(Code::I17, place, "the option needs more memory than its GPU type has.");
        }
        Placement { option: id, start: Ticks(file.start), gpus }
    }
}

/// Judges what of a fixed job can be judged without a cluster; returns its option.
fn fixed_numbers(collector: &mut Collector, place: &str, file: &FixedFile, options: usize) -> OptionId {
    if !(-MAX_TICK..=MAX_TICK).contains(&file.start) {
        let message = format!("{} is not between {} and {MAX_TICK}.", file.start, -MAX_TICK);
        collector.problem(Code::I02, format!("{place}.start"), message);
    }
    option_index(collector, &format!("{place}.option"), file.option, options)
}

fn option_index(collector: &mut Collector, place: &str, index: i64, count: usize) -> OptionId {
    match usize::try_from(index) {
        Ok(position) if position < count => OptionId::from_position(position),
        _ => {
            if count > 0 {
                let message = format!("there is no option {index}; the job has {count}, counted from 0.");
                collector.problem(Code::I16, place, message);
            }
            OptionId::from_position(0)
        }
    }
}

fn cycles(collector: &mut Collector, jobs: &Table<JobId, Job>) {
    let mut graph = DiGraph::<JobId, ()>::new();
    let vertices: Vec<_> = jobs.ids().map(|job| graph.add_node(job)).collect();
    for (id, job) in jobs.iter() {
        for before in &job.after {
            graph.add_edge(vertices[before.position()], vertices[id.position()], ());
        }
    }
    for component in tarjan_scc(&graph) {
        if component.len() > 1 || graph.contains_edge(component[0], component[0]) {
            let mut ids: Vec<_> = component.iter().map(|&v| jobs[graph[v]].id.as_str()).collect();
            ids.sort_unstable();
            collector.problem(Code::I14, "jobs", format!("`after` of `{}` forms a cycle.", ids.join("`, `")));
        }
    }
}
