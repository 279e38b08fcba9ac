//! The rules of a valid profile. Every broken one is reported, with code and place.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::codes::Code;
use crate::format::{Document, Figure, GangFile, MeasuredPointFile, ProfileFile, ScalingFile};
use crate::problem::{Problem, Problems};

/// The longest step, s.
const MOST_SECONDS: f64 = 1e9;
/// The most power of one GPU, W.
const MOST_WATTS: f64 = 1e6;
/// The most of anything counted: bytes, samples.
const MOST: f64 = 1e18;
/// The most of anything counted in whole numbers: MHz, GPUs, measurements.
const MOST_WHOLE: i64 = 1 << 31;

#[derive(Default)]
struct Collector {
    problems: Vec<Problem>,
}

/// Checks every rule.
pub(super) fn profile(file: &ProfileFile) -> Result<(), Problems> {
    let mut collector = Collector::default();
    if file.format != ProfileFile::FORMAT {
        collector.problem(Code::R02, "format", format!("expected `{}`.", ProfileFile::FORMAT));
    }
    collector.id("id", &file.id);
    collector.id("gpu_type", &file.gpu_type);
    for (place, text) in [
        ("workload.model", &file.workload.model),
        ("workload.step", &file.workload.step),
        ("source.title", &file.source.title),
    ] {
        if text.trim().is_empty() {
            collector.problem(Code::D13, place, "must not be empty.");
        }
    }
    figures(&mut collector, file);
    counters(&mut collector, "counters", &file.counters);
    if let Some(gang) = &file.gang {
        gang_shape(&mut collector, gang);
    }
    if file.points.is_empty() && file.scaling.is_empty() {
        collector.problem(Code::D14, "points", "there is neither a point nor a scaling measurement.");
    }
    points(&mut collector, &file.points);
    scaling(&mut collector, &file.scaling);
    if file.points.iter().any(|point| point.power_w.is_some()) && file.origin.power_w.is_none() {
        collector.problem(Code::D13, "origin.power_w", "must say how the powers came about.");
    }
    if collector.problems.is_empty() { Ok(()) } else { Err(Problems(collector.problems)) }
}

fn figures(collector: &mut Collector, file: &ProfileFile) {
    let above_zero = f64::MIN_POSITIVE..=MOST;
    for (place, figure, range) in [
        ("batch_per_gpu", &file.batch_per_gpu, above_zero.clone()),
        ("samples_per_epoch", &file.samples_per_epoch, above_zero.clone()),
        ("gradient_bytes", &file.gradient_bytes, 0.0..=MOST),
        ("input_bytes_per_step", &file.input_bytes_per_step, 0.0..=MOST),
        ("overlap", &file.overlap, 0.0..=1.0),
        ("blocked_w", &file.blocked_w, 0.0..=MOST_WATTS),
        ("memory_mib", &file.memory_mib, above_zero),
        ("startup_s", &file.startup_s, 0.0..=MOST_SECONDS),
        ("parameters", &file.parameters, 1.0..=MOST),
        ("sequence_tokens", &file.sequence_tokens, 1.0..=MOST),
        ("micro_batch", &file.micro_batch, f64::MIN_POSITIVE..=MOST),
    ] {
        if let Some(Figure { value, .. }) = figure {
            collector.number(&format!("{place}.value"), *value, range);
        }
    }
}

fn counters(collector: &mut Collector, place: &str, counters: &BTreeMap<String, f64>) {
    for (name, value) in counters {
        if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
            collector.problem(Code::I04, place, format!("`{}` is no name of a counter.", name.escape_debug()));
        }
        collector.number(&format!("{place}.{name}"), *value, 0.0..=MOST);
    }
}

fn gang_shape(collector: &mut Collector, gang: &GangFile) {
    let parts = [("gpus", gang.gpus), ("dp", gang.dp), ("pp", gang.pp), ("tp", gang.tp)];
    for (field, count) in parts {
        collector.whole(&format!("gang.{field}"), count);
    }
    let product = [gang.dp, gang.pp, gang.tp].into_iter().try_fold(1_i64, i64::checked_mul);
    if product != Some(gang.gpus) {
        let message = format!("{} GPUs are not dp {} x pp {} x tp {}.", gang.gpus, gang.dp, gang.pp, gang.tp);
        collector.problem(Code::D11, "gang.gpus", message);
    }
}

fn points(collector: &mut Collector, points: &[MeasuredPointFile]) {
    let mut first = BTreeMap::new();
    for (position, point) in points.iter().enumerate() {
        let place = format!("points[{position}]");
        for (field, value) in [("sm_mhz", point.sm_mhz), ("mem_mhz", point.mem_mhz), ("samples", point.samples)] {
            if let Some(value) = value {
                collector.whole(&format!("{place}.{field}"), value);
            }
        }
        for (field, value, range) in [
            ("power_limit_w", point.power_limit_w.map(crate::decimal::Decimal::to_f64), 0.001..=MOST_WATTS),
            ("step_s", point.step_s, f64::MIN_POSITIVE..=MOST_SECONDS),
            ("power_w", point.power_w, f64::MIN_POSITIVE..=MOST_WATTS),
            ("step_s_spread", point.step_s_spread, 0.0..=MOST),
            ("power_w_spread", point.power_w_spread, 0.0..=MOST),
        ] {
            if let Some(value) = value {
                collector.number(&format!("{place}.{field}"), value, range);
            }
        }
        counters(collector, &format!("{place}.counters"), &point.counters);
        if point.power_limit_w.is_some_and(|limit| limit.decimals() > 3) {
            collector.problem(Code::I03, format!("{place}.power_limit_w"), "has more than 3 decimals.");
        }
        if point.step_s.is_none() && point.power_w.is_none() {
            collector.problem(Code::D14, &place, "has neither `step_s` nor `power_w`.");
        }
        let key = (point.sm_mhz, point.mem_mhz, point.power_limit_w.map(|limit| limit.to_string()));
        if let Some(first) = first.get(&key) {
            collector.problem(Code::D07, &place, format!("has the operating point of points[{first}]."));
        } else {
            first.insert(key, position);
        }
    }
}

fn scaling(collector: &mut Collector, scaling: &[ScalingFile]) {
    let mut first = BTreeMap::new();
    for (position, entry) in scaling.iter().enumerate() {
        let place = format!("scaling[{position}]");
        collector.whole(&format!("{place}.gpus"), entry.gpus);
        if let Some(nodes) = entry.nodes {
            collector.whole(&format!("{place}.nodes"), nodes);
        }
        collector.number(&format!("{place}.step_s"), entry.step_s, f64::MIN_POSITIVE..=MOST_SECONDS);
        if let Some(power) = entry.power_w {
            collector.number(&format!("{place}.power_w"), power, f64::MIN_POSITIVE..=MOST_WATTS);
        }
        if let Some(stages) = &entry.stages {
            for (field, value) in
                [("load_s", stages.load_s), ("compute_s", stages.compute_s), ("network_s", stages.network_s)]
            {
                collector.number(&format!("{place}.stages.{field}"), value, 0.0..=MOST_SECONDS);
            }
        }
        let key = (entry.gpus, entry.nodes, entry.consolidated);
        if let Some(first) = first.get(&key) {
            collector.problem(Code::D07, &place, format!("has the gang of scaling[{first}]."));
        } else {
            first.insert(key, position);
        }
    }
}

impl Collector {
    fn problem(&mut self, code: Code, place: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem::new(code, place, message));
    }

    fn id(&mut self, place: &str, id: &str) {
        if id.is_empty() || id.contains('/') || id.chars().any(char::is_control) {
            self.problem(Code::I04, place, format!("`{}` is not a name.", id.escape_debug()));
        }
    }

    fn whole(&mut self, place: &str, value: i64) {
        if !(1..=MOST_WHOLE).contains(&value) {
            self.problem(Code::D05, place, format!("{value} is not between 1 and {MOST_WHOLE}."));
        }
    }

    fn number(&mut self, place: &str, value: f64, range: RangeInclusive<f64>) {
        if !range.contains(&value) {
            let least = if range.start().to_bits() == f64::MIN_POSITIVE.to_bits() {
                "above 0".to_owned()
            } else {
                format!("at least {}", range.start())
            };
            self.problem(Code::D05, place, format!("{value} is not {least} and at most {}.", range.end()));
        }
    }
}
