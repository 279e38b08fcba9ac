//! Whole training runs: a plan gives every instruction of every rank a clock or a power limit.
//!
//! A run becomes a point if all its instructions on all ranks have one and the same clock or limit. The others mix
//! operating points in a way that no single point states; they are counted in a note.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{
    ColumnOrigin, Figure, GangFile, Kind, MeasuredPointFile, OriginFile, ProfileFile, WorkloadFile,
};

use super::{GPUS, source};
use crate::import::Imported;
use crate::import::cells::{COUNT, Cells, INDEX, JOULES, SECONDS};
use crate::import::findings::Findings;
use crate::import::gpus;
use crate::import::input::Input;
use crate::import::names::{mean_and_spread, slug};
use crate::import::table::Table;

const COLUMNS: [&str; 16] = [
    "method",
    "gpu",
    "model",
    "partition",
    "dp",
    "pp",
    "tp",
    "microbatch_size",
    "num_microbatches",
    "plan_index",
    "rank",
    "n_iters",
    "mean_iter_time_s",
    "mean_iter_energy_j",
    "min_power_state",
    "max_power_state",
];

/// What sets the operating point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Knob {
    Clock,
    Limit,
}

const METHODS: [(&str, (&str, Knob)); 4] = [
    ("perseus", ("perseus", Knob::Clock)),
    ("envpipe", ("envpipe", Knob::Clock)),
    ("zeus_global", ("zeus_global", Knob::Limit)),
    ("zeus_local", ("zeus_local", Knob::Limit)),
];

/// One job: where it ran, what and in which shape.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    gpu: (&'static str, &'static str),
    model: String,
    shape: GangFile,
    microbatch: i64,
    microbatches: i64,
}

/// One run of a job.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    job: Job,
    method: &'static str,
    knob: Knob,
    plan: i64,
}

struct Row {
    run: Run,
    rank: i64,
    iterations: i64,
    seconds: f64,
    joules: f64,
    states: (i64, i64),
}

/// The ranks of a run, each with its line.
type Ranks = BTreeMap<i64, (u64, Row)>;
/// What was measured at one operating point: time, power of one GPU, iterations.
type Repeats = Vec<(f64, f64, i64)>;

pub(super) fn import(input: &Input, imported: &mut Imported) {
    let findings = &mut imported.findings;
    let Some(table) = Table::read(input, &COLUMNS, findings) else { return };
    let mut runs: BTreeMap<Run, Ranks> = BTreeMap::new();
    for (line, row) in table.each(findings, read) {
        let ranks = runs.entry(row.run.clone()).or_default();
        if let Some((first, _)) = ranks.get(&row.rank) {
            findings.damage(Code::D07, table.place(line), format!("the rank is in line {first} already."));
            findings.leave_out(&table.name, 1);
        } else {
            ranks.insert(row.rank, (line, row));
        }
    }
    let mut jobs: BTreeMap<Job, BTreeMap<(Knob, i64), Repeats>> = BTreeMap::new();
    let (all, mut mixed) = (runs.len(), 0);
    for (run, ranks) in &runs {
        if !complete(&table, run, ranks, findings) {
            continue;
        }
        let states: Vec<_> = ranks.values().flat_map(|(_, row)| [row.states.0, row.states.1]).collect();
        if states.iter().any(|&state| state != states[0]) {
            mixed += 1;
            continue;
        }
        let points = jobs.entry(run.job.clone()).or_default();
        points.entry((run.knob, states[0])).or_default().push(repeat(run, ranks));
    }
    findings.notes.push(format!(
        "{}: {mixed} of {all} runs mix clocks or limits between ranks or instructions: checked, not written.",
        input.name
    ));
    imported.profiles.extend(jobs.iter().map(|(job, points)| profile(job, points)));
}

fn read(cells: &mut Cells<'_, '_>) -> Option<Row> {
    let method = cells.one_of("method", &METHODS);
    let gpu = cells.one_of("gpu", &[("A40", GPUS[0].1), ("A100", GPUS[1].1)]);
    let model = cells.text("model");
    let degrees = ["dp", "pp", "tp"].map(|column| cells.whole(column, 1..=1 << 15));
    let microbatch = cells.whole("microbatch_size", COUNT);
    let microbatches = cells.whole("num_microbatches", COUNT);
    let plan = cells.whole("plan_index", INDEX);
    let rank = cells.whole("rank", INDEX);
    let iterations = cells.whole("n_iters", COUNT);
    let seconds = cells.number("mean_iter_time_s", SECONDS);
    let joules = cells.number("mean_iter_energy_j", JOULES);
    let states = ["min_power_state", "max_power_state"].map(|column| cells.whole(column, COUNT));
    let ((method, knob), [Some(dp), Some(pp), Some(tp)], [Some(least), Some(most)]) = (method?, degrees, states) else {
        return None;
    };
    let shape = GangFile { gpus: dp * pp * tp, dp, pp, tp };
    let rank = rank?;
    if rank >= shape.gpus {
        cells.damage(Code::D05, "rank", format!("{rank} is no rank of a gang of {}.", shape.gpus));
        return None;
    }
    let job = Job { gpu: gpu?, model: model?.to_owned(), shape, microbatch: microbatch?, microbatches: microbatches? };
    let run = Run { job, method, knob, plan: plan? };
    Some(Row { run, rank, iterations: iterations?, seconds: seconds?, joules: joules?, states: (least, most) })
}

/// Whether all ranks of a run are there.
fn complete(table: &Table, run: &Run, ranks: &Ranks, findings: &mut Findings) -> bool {
    let present = i64::try_from(ranks.len()).unwrap_or(i64::MAX);
    if present == run.job.shape.gpus {
        return true;
    }
    let line = ranks.values().next().map_or(0, |(line, _)| *line);
    let (Run { method, plan, .. }, model, gpus) = (run, &run.job.model, run.job.shape.gpus);
    let message = format!("plan {plan} of {model} ({method}) has {present} of {gpus} ranks.");
    findings.damage(Code::D10, table.place(line), message);
    findings.leave_out(&table.name, ranks.len());
    false
}

/// An iteration ends with its last rank; its energy is that of all.
fn repeat(run: &Run, ranks: &Ranks) -> (f64, f64, i64) {
    let seconds = ranks.values().map(|(_, row)| row.seconds).fold(0.0, f64::max);
    let joules: f64 = ranks.values().map(|(_, row)| row.joules).sum();
    // The means leave the first iteration out.
    let iterations = ranks.values().map(|(_, row)| row.iterations - 1).min().unwrap_or(0).max(1);
    (seconds, joules / seconds / run.job.shape.gpus as f64, iterations)
}

fn point((knob, state): (Knob, i64), repeats: &Repeats) -> MeasuredPointFile {
    let (step_s, step_s_spread) = mean_and_spread(&repeats.iter().map(|repeat| repeat.0).collect::<Vec<_>>());
    let (power_w, power_w_spread) = mean_and_spread(&repeats.iter().map(|repeat| repeat.1).collect::<Vec<_>>());
    MeasuredPointFile {
        sm_mhz: (knob == Knob::Clock).then_some(state),
        power_limit_w: (knob == Knob::Limit).then(|| state.into()),
        step_s: Some(step_s),
        power_w: Some(power_w),
        step_s_spread,
        power_w_spread,
        samples: Some(repeats.iter().map(|repeat| repeat.2).sum()),
        ..MeasuredPointFile::default()
    }
}

fn profile(job: &Job, points: &BTreeMap<(Knob, i64), Repeats>) -> ProfileFile {
    let ((gpu_type, hardware), GangFile { gpus, dp, pp, tp }) = (job.gpu, job.shape);
    let samples = job.microbatch as f64 * job.microbatches as f64 * dp as f64;
    let batch_note =
        format!("dp {dp} x {} micro-batches of {} in an iteration / {gpus} GPUs", job.microbatches, job.microbatch);
    ProfileFile {
        gang: Some(job.shape),
        batch_per_gpu: Some(Figure::derived(samples / gpus as f64, batch_note)),
        blocked_w: gpus::blocked_w(gpu_type),
        points: points.iter().map(|(&at, repeats)| point(at, repeats)).collect(),
        ..ProfileFile::new(
            slug(&[gpu_type, "perseus", &job.model, &format!("dp{dp}-pp{pp}-tp{tp}")]),
            gpu_type.to_owned(),
            WorkloadFile {
                model: job.model.clone(),
                step: "one training iteration of the gang, communication included".to_owned(),
                ..WorkloadFile::default()
            },
            source("sosp24_data: all *.prof.json and *.sched.json, in one table", hardware),
            OriginFile {
                step_s: ColumnOrigin::new(Kind::Measured, "mean iteration time without the first, slowest rank"),
                power_w: Some(ColumnOrigin::new(
                    Kind::Derived,
                    "energy of all ranks / iteration time / number of GPUs",
                )),
                counters: None,
            },
        )
    }
}
