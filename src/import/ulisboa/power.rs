//! Micro-benchmarks on GTX Titan X, Titan Xp, Titan V and Tesla K40c: power at every pair of clocks, no times.
//!
//! Kernels have no names: rows with one and the same utilizations are one kernel, numbered as they come.
//! `micros_fixed.csv` repeats the rows at the default clocks.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{
    ColumnOrigin, Flag, Kind, MeasuredPointFile, OriginFile, ProfileFile, SourceFile, WorkloadFile,
};

use super::super::Imported;
use super::super::cells::{COUNT, Cells, WATTS};
use super::super::findings::Findings;
use super::super::input::Input;
use super::super::names::slug;
use super::utilization::{self, Counters};

/// Parts of file and folder names, and the type of GPU; the first that fits.
const GPUS: [(&str, &str); 4] =
    [("titanxp", "titan-xp"), ("titanx", "gtx-titan-x"), ("titanv", "titan-v"), ("k40c", "k40c")];
/// Utilizations of one kernel, profiled twice, differ by no more.
const SAME_UTILIZATION: f64 = 0.01;

struct Row {
    clocks: (i64, i64),
    watts: f64,
    counters: Counters,
}

/// A kernel: its utilizations, and power by SM and memory clock with the line.
struct Kernel {
    counters: Counters,
    powers: BTreeMap<(i64, i64), (u64, f64)>,
}

/// The kernels of a GPU, and the file that they are from.
type Kernels = BTreeMap<&'static str, (String, Vec<Kernel>)>;

pub(in super::super) fn import(inputs: &[Input], imported: &mut Imported) {
    let mut kernels = Kernels::new();
    let mut repeats = Vec::new();
    for input in inputs {
        let name = input.file_name();
        if !input.is("csv") {
            imported.findings.stranger(&input.name);
        } else if name.starts_with("model_") {
            imported.findings.skip(&input.name, "parameters that the authors fitted, no measurement");
        } else if name.starts_with("real_") {
            imported.findings.skip(&input.name, "utilizations without power; give it to `ulisboa-ptx`");
        } else if name == "micros_fixed.csv" {
            repeats.push(input);
        } else if name.contains("_micro") {
            sweep(input, &mut kernels, &mut imported.findings);
        } else {
            imported.findings.stranger(&input.name);
        }
    }
    for input in repeats {
        repeat(input, &mut kernels, &mut imported.findings);
    }
    for (gpu_type, (file, kernels)) in &kernels {
        above_one(gpu_type, file, kernels, &mut imported.findings);
        let profiles = kernels.iter().enumerate().map(|(i, kernel)| profile(gpu_type, file, i + 1, kernel));
        imported.profiles.extend(profiles);
    }
}

fn sweep(input: &Input, kernels: &mut Kernels, findings: &mut Findings) {
    let Some(gpu_type) = gpu_type(input, findings) else { return };
    let Some((name, rows)) = rows(input, findings) else { return };
    let (_, kernels) = kernels.entry(gpu_type).or_insert_with(|| (input.file_name().to_owned(), Vec::new()));
    for (line, row) in rows {
        let position = kernels.iter().position(|kernel| kernel.counters == row.counters).unwrap_or_else(|| {
            kernels.push(Kernel { counters: row.counters, powers: BTreeMap::new() });
            kernels.len() - 1
        });
        let powers = &mut kernels[position].powers;
        if let Some((first, _)) = powers.get(&row.clocks) {
            let (sm, mem) = row.clocks;
            let message = format!("the kernel is at {sm} and {mem} MHz in line {first} already.");
            findings.damage(Code::D07, format!("{name}: line {line}"), message);
            findings.leave_out(&name, 1);
        } else {
            powers.insert(row.clocks, (line, row.watts));
        }
    }
}

/// Compares a file that repeats a sweep at the default clocks with it; only kernels that the sweep lacks are new.
fn repeat(input: &Input, all: &mut Kernels, findings: &mut Findings) {
    let Some(gpu_type) = gpu_type(input, findings) else { return };
    let Some((name, rows)) = rows(input, findings) else { return };
    let (_, kernels) = all.entry(gpu_type).or_insert_with(|| (input.file_name().to_owned(), Vec::new()));
    let (mut equal, mut near) = (0, 0);
    for (line, row) in rows {
        let distance = |kernel: &Kernel| distance(&kernel.counters, &row.counters);
        let nearest = kernels.iter().filter(|kernel| kernel.powers.contains_key(&row.clocks));
        let nearest = nearest.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        match nearest.filter(|kernel| distance(kernel) <= SAME_UTILIZATION) {
            Some(kernel) if kernel.powers[&row.clocks].1.to_bits() == row.watts.to_bits() => {
                equal += 1;
                near += usize::from(kernel.counters != row.counters);
            }
            Some(kernel) => {
                let (first, watts) = kernel.powers[&row.clocks];
                let message =
                    format!("{} W here and {watts} W in line {first} of the sweep, which is kept.", row.watts);
                findings.suspect(Code::S13, format!("{name}: line {line}"), message);
            }
            None => kernels.push(Kernel { counters: row.counters, powers: [(row.clocks, (line, row.watts))].into() }),
        }
    }
    if equal > 0 {
        let message = format!(
            "{equal} rows repeat the sweep, {near} of them with utilizations that differ by at most {SAME_UTILIZATION}."
        );
        findings.suspect(Code::S13, name, message);
    }
}

/// Names the kernels of a GPU that use more of a component than its peak.
fn above_one(gpu_type: &str, file: &str, kernels: &[Kernel], findings: &mut Findings) {
    let most = |kernel: &Kernel| kernel.counters.values().copied().fold(0.0, f64::max);
    let above: Vec<_> = kernels.iter().enumerate().filter(|(_, kernel)| most(kernel) > 1.0).collect();
    if above.is_empty() {
        return;
    }
    let greatest = above.iter().map(|(_, kernel)| most(kernel)).fold(0.0, f64::max);
    let names: Vec<_> = above.iter().map(|(position, _)| format!("micro-{:03}", position + 1)).collect();
    let message = format!("{gpu_type}: utilizations up to {greatest} in {}.", names.join(", "));
    findings.suspect(Code::S12, file, message);
}

fn distance(one: &Counters, other: &Counters) -> f64 {
    let difference =
        |(name, value): (&String, &f64)| other.get(name).map_or(f64::INFINITY, |other| (value - other).abs());
    one.iter().map(difference).fold(0.0, f64::max)
}

fn rows(input: &Input, findings: &mut Findings) -> Option<(String, Vec<(u64, Row)>)> {
    let table = utilization::table(input, &["power_w", "sm_mhz", "mem_mhz"], findings)?;
    let rows = table.each(findings, read);
    Some((table.name, rows))
}

fn read(cells: &mut Cells<'_, '_>) -> Option<Row> {
    let watts = cells.number("power_w", WATTS);
    let clocks = ["sm_mhz", "mem_mhz"].map(|column| cells.whole(column, COUNT));
    let counters = utilization::counters(cells);
    let [Some(sm), Some(mem)] = clocks else { return None };
    Some(Row { clocks: (sm, mem), watts: watts?, counters: counters? })
}

/// The type of GPU that the name of the file or else of its folder tells.
fn gpu_type(input: &Input, findings: &mut Findings) -> Option<&'static str> {
    let path = input.path().to_lowercase();
    let mut parts = path.rsplit(['/', '\\']).take(2);
    let find = |part: &str| GPUS.iter().find(|(name, _)| part.contains(name)).map(|(_, gpu)| *gpu);
    let found = parts.find_map(find);
    if found.is_none() {
        findings.damage(Code::D06, input.name.clone(), "neither file nor folder is named after a known GPU.");
    }
    found
}

fn profile(gpu_type: &str, file: &str, number: usize, kernel: &Kernel) -> ProfileFile {
    let name = format!("micro-{number:03}");
    let above_one = kernel.counters.values().any(|value| *value > 1.0);
    let points = kernel.powers.iter().map(|(&(sm, mem), &(_, watts))| MeasuredPointFile {
        sm_mhz: Some(sm),
        mem_mhz: Some(mem),
        power_w: Some(watts),
        flags: if above_one { vec![Flag::CounterAboveOne] } else { Vec::new() },
        ..MeasuredPointFile::default()
    });
    ProfileFile {
        counters: kernel.counters.clone(),
        points: points.collect(),
        ..ProfileFile::new(
            slug(&[gpu_type, "ulisboa-power", &name]),
            gpu_type.to_owned(),
            WorkloadFile { model: name, step: "one run of the kernel".to_owned(), ..WorkloadFile::default() },
            source(file),
            OriginFile {
                step_s: ColumnOrigin::new(Kind::Measured, "none was published"),
                power_w: Some(ColumnOrigin::new(Kind::Measured, "board power")),
                counters: Some(ColumnOrigin::new(Kind::Measured, "utilizations at the default clocks")),
            },
        )
    }
}

fn source(file: &str) -> SourceFile {
    SourceFile {
        id: Some("ulisboa-power".to_owned()),
        title: "GPGPU Power Modelling for Multi-Domain Voltage-Frequency Scaling, HPCA 2018".to_owned(),
        authors: Some("J. Guerreiro, A. Ilic, N. Roma, P. Tomas".to_owned()),
        repository: Some("https://github.com/hpc-ulisboa/gpupowermodel".to_owned()),
        commit: Some("babdfe88f3e58192fff14d843a2887534378d4cc".to_owned()),
        path: Some(file.to_owned()),
        licence: Some("BSD-3-Clause".to_owned()),
        hardware: None,
        citation: None,
    }
}
