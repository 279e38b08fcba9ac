//! The catalogue of GPUs: what each kind can be set to and what it draws.
//!
//! `supported_clocks.csv` and `gpu_limits.csv` hold what drivers reported on real boards. What they lack comes from
//! `known.json`, where every figure says whether it was measured elsewhere, published or assumed.

mod runs;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{ClocksFile, Document, GpuFigure, GpuFigureKind, GpuFile, PowerLimitsFile};
use rats_domain::problem::{Problem, Problems, Warning};
use serde::Deserialize;

use self::tables::{Clocks, Limits};
use crate::io::{bytes, placed};

/// What is known of GPUs beyond the tables.
const KNOWN: &str = include_str!("known.json");

/// A catalogue that was imported.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The kinds of GPU, by id.
    pub gpus: Vec<GpuFile>,
    /// Rows of supported clocks.
    pub clock_rows: usize,
    /// Rows of limits.
    pub limit_rows: usize,
    /// Kinds that were left out, and why.
    pub warnings: Vec<Warning>,
}

/// What `known.json` says about one kind; what is absent must be in the tables.
#[derive(Clone, Debug, Deserialize)]
struct Known {
    id: String,
    /// Names that drivers report.
    names: Vec<String>,
    name: Option<String>,
    memory_mib: Option<GpuFigure<i64>>,
    #[serde(default)]
    clocks: Vec<ClocksFile>,
    default_sm_mhz: Option<GpuFigure<i64>>,
    default_mem_mhz: Option<GpuFigure<i64>>,
    power_limit_w: Option<PowerLimitsFile>,
    idle_w: Option<GpuFigure<Decimal>>,
    blocked_w: Option<GpuFigure<Decimal>>,
}

/// Imports a folder with `supported_clocks.csv` and `gpu_limits.csv`.
///
/// # Errors
/// A file that cannot be read, or every damaged row.
pub fn import(folder: &Path) -> Result<Imported, Problems> {
    let (clocks_path, limits_path) = (folder.join("supported_clocks.csv"), folder.join("gpu_limits.csv"));
    let clocks = tables::clocks(&bytes(&clocks_path)?).map_err(|problems| placed(&clocks_path, problems));
    let limits = tables::limits(&bytes(&limits_path)?).map_err(|problems| placed(&limits_path, problems));
    match (clocks, limits) {
        (Ok(clocks), Ok(limits)) => combine(&clocks, &limits),
        (Err(problems), Ok(_)) | (Ok(_), Err(problems)) => Err(problems),
        (Err(Problems(mut one)), Err(Problems(two))) => {
            one.extend(two);
            Err(Problems(one))
        }
    }
}

fn combine(clocks: &[Clocks], limits: &[Limits]) -> Result<Imported, Problems> {
    let known: Vec<Known> =
        serde_json::from_str(KNOWN).map_err(|error| Problem::new(Code::U08, "known.json", format!("{error}.")))?;
    let mut imported = Imported {
        gpus: Vec::new(),
        clock_rows: clocks.iter().map(|of| of.by_memory.values().map(Vec::len).sum::<usize>()).sum(),
        limit_rows: limits.len(),
        warnings: Vec::new(),
    };
    let mut ids: BTreeMap<String, (Option<&Known>, Vec<&str>)> = BTreeMap::new();
    for entry in &known {
        ids.insert(entry.id.clone(), (Some(entry), entry.names.iter().map(String::as_str).collect()));
    }
    let listed = clocks.iter().map(|of| of.gpu.as_str()).chain(limits.iter().map(|of| of.gpu.as_str()));
    for name in listed {
        if !known.iter().any(|entry| entry.names.iter().any(|known| known == name)) {
            ids.entry(short(name)).or_insert((None, vec![name]));
        }
    }
    for (id, (known, names)) in ids {
        let of = Kind { id: &id, known, names: &names, clocks, limits };
        match of.gpu() {
            Ok(gpu) => imported.gpus.push(gpu),
            // What is known in part only needs no word where the tables do not list it.
            Err(missing) if of.listed() => {
                let message = format!("left out: {missing} in the tables.");
                imported.warnings.push(Warning::new(Code::G02, names.join(", "), message));
            }
            Err(_) => {}
        }
    }
    Ok(imported)
}

/// `NVIDIA GeForce RTX 3080` as `RTX-3080`.
fn short(name: &str) -> String {
    let words = name.split_whitespace().filter(|word| !["NVIDIA", "GeForce", "Tesla", "Generation"].contains(word));
    words.collect::<Vec<_>>().join("-").replace('/', "-")
}

/// One kind of GPU with everything there is about it.
struct Kind<'t> {
    id: &'t str,
    known: Option<&'t Known>,
    names: &'t [&'t str],
    clocks: &'t [Clocks],
    limits: &'t [Limits],
}

impl Kind<'_> {
    /// The catalogue entry, or what it lacks.
    fn gpu(&self) -> Result<GpuFile, String> {
        let clocks = self.clocks()?;
        let power_limit_w = self.power_limits()?;
        let idle_w = self.idle()?;
        let top = |clocks: &[ClocksFile]| clocks.iter().map(|entry| entry.mem_mhz).max();
        let default_mem_mhz = self.default(|known| known.default_mem_mhz.clone(), |limits| limits.default_mem);
        let highest = top(&clocks).unwrap_or(0);
        let default_mem_mhz = default_mem_mhz.unwrap_or_else(|| assumed(highest, "the highest memory clock listed"));
        let sm = clocks.iter().flat_map(|entry| entry.sm_mhz.value.iter().map(|run| run.to)).max().unwrap_or(0);
        let default_sm_mhz = self.default(|known| known.default_sm_mhz.clone(), |limits| limits.default_sm);
        let default_sm_mhz = default_sm_mhz
            .unwrap_or_else(|| assumed(sm, "no default is recorded; without a lock the clock rises to the highest"));
        let blocked = self.known.and_then(|known| known.blocked_w.clone());
        Ok(GpuFile {
            format: GpuFile::FORMAT.to_owned(),
            id: self.id.to_owned(),
            name: self.name(),
            memory_mib: self.memory()?,
            clocks,
            default_sm_mhz,
            default_mem_mhz,
            blocked_w: blocked.unwrap_or_else(|| waiting(&idle_w, &power_limit_w)),
            power_limit_w,
            idle_w,
        })
    }

    fn listed(&self) -> bool {
        self.rows().next().is_some() || self.clocks.iter().any(|of| self.names.contains(&of.gpu.as_str()))
    }

    fn name(&self) -> String {
        let listed = self.clocks.iter().map(|of| &of.gpu).find(|name| self.names.contains(&name.as_str()));
        let known = self.known.and_then(|known| known.name.as_ref());
        listed.or(known).map_or_else(|| self.names.join(", "), Clone::clone)
    }

    fn rows(&self) -> impl Iterator<Item = &Limits> {
        self.limits.iter().filter(|of| self.names.contains(&of.gpu.as_str()))
    }

    /// The clocks of the first file that lists them, highest memory clock first.
    fn clocks(&self) -> Result<Vec<ClocksFile>, String> {
        let Some(of) = self.clocks.iter().find(|of| self.names.contains(&of.gpu.as_str())) else {
            let known = self.known.map(|known| known.clocks.clone()).filter(|clocks| !clocks.is_empty());
            return known.ok_or_else(|| "no supported clocks".to_owned());
        };
        if of.by_memory.values().all(|clocks| clocks.len() == 1) {
            return Err("only one clock a memory clock, so the list was shortened,".to_owned());
        }
        let entry = |(&mem_mhz, clocks): (&i64, &Vec<i64>)| ClocksFile {
            mem_mhz,
            sm_mhz: GpuFigure { value: runs::runs(clocks), kind: GpuFigureKind::Measured, source: of.source() },
        };
        Ok(of.by_memory.iter().rev().map(entry).collect())
    }

    fn memory(&self) -> Result<GpuFigure<i64>, String> {
        let row = self.rows().next().map(|row| measured(row.memory_mib, row.source()));
        let known = || self.known.and_then(|known| known.memory_mib.clone());
        row.or_else(known).ok_or_else(|| "no memory size".to_owned())
    }

    fn power_limits(&self) -> Result<PowerLimitsFile, String> {
        let row = self.rows().find_map(|row| {
            let figure = |value| measured(value, row.source());
            let (min, default, max) = row.power_w?;
            Some(PowerLimitsFile { min: figure(min), default: figure(default), max: figure(max) })
        });
        let known = || self.known.and_then(|known| known.power_limit_w.clone());
        row.or_else(known).ok_or_else(|| "no power limits".to_owned())
    }

    /// The lowest draw at capture: some boards were busy, none draws less than idle.
    fn idle(&self) -> Result<GpuFigure<Decimal>, String> {
        let draw = |row: &&Limits| row.draw.and_then(|draw| draw.scaled(3));
        let lowest = self.rows().filter(|row| draw(row).is_some()).min_by_key(draw);
        let boards = self.rows().count();
        let row = lowest.and_then(|row| {
            let source = format!("{}: lowest draw at capture (state {}) of {boards} boards", row.source(), row.state);
            Some(measured(row.draw?, source))
        });
        let known = || self.known.and_then(|known| known.idle_w.clone());
        row.or_else(known).ok_or_else(|| "no idle power".to_owned())
    }

    fn default(
        &self,
        known: impl Fn(&Known) -> Option<GpuFigure<i64>>,
        row: impl Fn(&Limits) -> Option<i64>,
    ) -> Option<GpuFigure<i64>> {
        let measured = self.rows().find_map(|of| Some(measured(row(of)?, of.source())));
        measured.or_else(|| self.known.and_then(known))
    }
}

/// Power while a job waits, where nobody measured it: idle + 10 % of (limit - idle), in mW.
fn waiting(idle: &GpuFigure<Decimal>, limits: &PowerLimitsFile) -> GpuFigure<Decimal> {
    let milliwatts = |watts: Decimal| watts.scaled(3).unwrap_or(0);
    let (idle, limit) = (milliwatts(idle.value), milliwatts(limits.default.value));
    assumed(Decimal::from_scaled(idle + (limit - idle) / 10, 3), "idle + 10 % of (default limit - idle)")
}

fn measured<T>(value: T, source: impl Into<String>) -> GpuFigure<T> {
    GpuFigure { value, kind: GpuFigureKind::Measured, source: source.into() }
}

fn assumed<T>(value: T, source: &str) -> GpuFigure<T> {
    GpuFigure { value, kind: GpuFigureKind::Assumed, source: source.to_owned() }
}
