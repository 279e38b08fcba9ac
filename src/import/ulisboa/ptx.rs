//! Kernels and applications on a GTX Titan X: time and power at 16 SM and 2 memory clocks.
//!
//! `<gpu>_realbenchmarks.csv` and `<gpu>_microbenchmarks.csv`: a block of rows a kernel. The unit of the time is not
//! stated: times are kept as they are and flagged as relative. `real_gtxtitanx.csv` of the other set holds component
//! utilizations of applications of the same names, measured by the same authors.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{
    ColumnOrigin, Flag, Kind, MeasuredPointFile, OriginFile, ProfileFile, SourceFile, WorkloadFile,
};

use super::super::Imported;
use super::super::cells::{COUNT, Cells, JOULES, SECONDS, WATTS};
use super::super::findings::Findings;
use super::super::input::Input;
use super::super::names::slug;
use super::super::table::Table;
use super::utilization::{self, Counters};

const COLUMNS: [&str; 6] = ["benchmark", "mem_clock_mhz", "core_clock_mhz", "time", "power_w", "energy"];
/// Ends of file names, and the kind of kernels.
const KINDS: [(&str, &str); 2] = [("_realbenchmarks.csv", "real"), ("_microbenchmarks.csv", "micro")];
/// The energy column must be time x power but for rounding.
const ENERGY_TOLERANCE: f64 = 0.001;
/// Applications that the two sets spell differently.
const ALIASES: [(&str, &str); 3] = [("corr", "correlation"), ("covar", "covariance"), ("gramschm", "gramschmidt")];

struct Row {
    name: String,
    clocks: (i64, i64),
    time: f64,
    watts: f64,
}

/// A run of rows of one name: by memory and SM clock, with the line.
struct Block {
    name: String,
    line: u64,
    rows: BTreeMap<(i64, i64), (u64, f64, f64)>,
}

pub(in super::super) fn import(inputs: &[Input], imported: &mut Imported) {
    let mut utilizations = BTreeMap::new();
    for input in inputs {
        if input.file_name().starts_with("real_") && input.is("csv") {
            utilizations.extend(applications(input, &mut imported.findings));
        }
    }
    for input in inputs {
        let name = input.file_name();
        let kind = KINDS.iter().find_map(|(end, kind)| Some((name.strip_suffix(end)?, *kind)));
        if let Some((gpu, kind)) = kind {
            benchmarks(input, gpu, kind, &utilizations, imported);
        } else if ["clks_", "idle_pows_"].iter().any(|start| name.starts_with(start)) {
            imported.findings.skip(&input.name, "clocks and idle power; see the catalogue of GPUs");
        } else if !(name.starts_with("real_") && input.is("csv")) {
            imported.findings.stranger(&input.name);
        }
    }
}

/// Utilizations by simplified name of the application.
fn applications(input: &Input, findings: &mut Findings) -> BTreeMap<String, Counters> {
    let Some(table) = utilization::table(input, &["application"], findings) else { return BTreeMap::new() };
    let rows = table.each(findings, |cells| {
        let name = cells.text("application");
        let counters = utilization::counters(cells);
        Some((simple(name?), counters?))
    });
    rows.into_iter().map(|(_, row)| row).collect()
}

fn simple(name: &str) -> String {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let alias = ALIASES.iter().find(|(short, _)| *short == name);
    alias.map_or(name, |(_, long)| (*long).to_owned())
}

fn benchmarks(
    input: &Input,
    gpu: &str,
    kind: &str,
    utilizations: &BTreeMap<String, Counters>,
    imported: &mut Imported,
) {
    let findings = &mut imported.findings;
    if gpu != "gtxtitanx" {
        let message = format!("`{}` is not `gtxtitanx`, the only GPU of this set.", gpu.escape_debug());
        findings.damage(Code::D06, input.name.clone(), message);
        return;
    }
    let Some(table) = Table::read(input, &COLUMNS, findings) else { return };
    let blocks = blocks(&table, findings);
    for (position, block) in blocks.iter().enumerate() {
        let same: Vec<_> = blocks.iter().enumerate().filter(|(_, other)| other.name == block.name).collect();
        let number = same.iter().position(|(other, _)| *other == position).map_or(0, |place| place + 1);
        let twice = same.len() > 1;
        if twice && number == 1 {
            let lines: Vec<_> = same.iter().map(|(_, block)| block.line.to_string()).collect();
            let message =
                format!("{} measurements are named `{}`, from lines {}.", same.len(), block.name, lines.join(" and "));
            findings.suspect(Code::S11, table.place(block.line), message);
        }
        let name = if twice { format!("{}-{number}", block.name) } else { block.name.clone() };
        let counters = utilizations.get(&simple(&block.name)).filter(|_| kind == "real");
        imported.profiles.push(profile(&name, input.file_name(), kind, block, twice, counters));
    }
}

fn blocks(table: &Table, findings: &mut Findings) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (line, row) in table.each(findings, read) {
        if blocks.last().is_none_or(|block| block.name != row.name) {
            blocks.push(Block { name: row.name.clone(), line, rows: BTreeMap::new() });
        }
        let Some(block) = blocks.last_mut() else { continue };
        if let Some((first, ..)) = block.rows.get(&row.clocks) {
            let (mem, sm) = row.clocks;
            let message = format!("{} at {sm} and {mem} MHz is in line {first} already.", row.name);
            findings.damage(Code::D07, table.place(line), message);
            findings.leave_out(&table.name, 1);
        } else {
            block.rows.insert(row.clocks, (line, row.time, row.watts));
        }
    }
    blocks
}

fn read(cells: &mut Cells<'_, '_>) -> Option<Row> {
    let name = cells.text("benchmark");
    let clocks = ["mem_clock_mhz", "core_clock_mhz"].map(|column| cells.whole(column, COUNT));
    let time = cells.number("time", SECONDS);
    let watts = cells.number("power_w", WATTS);
    let energy = cells.number("energy", JOULES);
    let ([Some(mem), Some(sm)], Some(time), Some(watts), Some(energy)) = (clocks, time, watts, energy) else {
        return None;
    };
    if (time * watts - energy).abs() > ENERGY_TOLERANCE * energy {
        cells.damage(Code::D11, "energy", format!("{energy} is not time x power_w = {}.", time * watts));
        return None;
    }
    Some(Row { name: name?.to_owned(), clocks: (mem, sm), time, watts })
}

fn profile(name: &str, file: &str, kind: &str, block: &Block, twice: bool, counters: Option<&Counters>) -> ProfileFile {
    let mut flags = vec![Flag::TimeRelative];
    if twice {
        flags.push(Flag::NameTwice);
    }
    let points = block.rows.iter().map(|(&(mem, sm), &(_, time, watts))| MeasuredPointFile {
        sm_mhz: Some(sm),
        mem_mhz: Some(mem),
        step_s: Some(time),
        power_w: Some(watts),
        flags: flags.clone(),
        ..MeasuredPointFile::default()
    });
    let joined = "utilizations at the default clocks of the application of this name in gpupowermodel, real_gtxtitanx.csv; \
                  that its input was the same is assumed";
    ProfileFile {
        counters: counters.cloned().unwrap_or_default(),
        points: points.collect(),
        ..ProfileFile::new(
            slug(&["gtx-titan-x", "ulisboa-ptx", kind, name]),
            "gtx-titan-x".to_owned(),
            WorkloadFile {
                model: name.to_owned(),
                step: "one run of the kernel".to_owned(),
                ..WorkloadFile::default()
            },
            source(file),
            OriginFile {
                step_s: ColumnOrigin::new(Kind::Measured, "unit not stated: in proportion within the kernel only"),
                power_w: Some(ColumnOrigin::new(Kind::Measured, "board power")),
                counters: counters.map(|_| ColumnOrigin::new(Kind::Assumed, joined)),
            },
        )
    }
}

fn source(file: &str) -> SourceFile {
    SourceFile {
        id: Some("ulisboa-ptx".to_owned()),
        title: "GPU Static Modeling Using PTX and Deep Structured Learning, IEEE Access 2019".to_owned(),
        authors: Some("J. Guerreiro, A. Ilic, N. Roma, P. Tomas".to_owned()),
        repository: Some("https://github.com/hpc-ulisboa/gpuPTXModel".to_owned()),
        commit: Some("db54a508953880ad3dfb20194a2d5cb39c4af33c".to_owned()),
        path: Some(file.to_owned()),
        licence: Some("BSD-3-Clause".to_owned()),
        hardware: None,
        citation: None,
    }
}
