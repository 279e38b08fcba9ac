//! `rats import`: measured data, as its authors published it, to profiles.
//!
//! An importer is a function from files to [`Imported`]: it reads every row, names every damaged one by file and line,
//! and leaves none out in silence. What it cannot know it marks as derived or assumed.

mod cells;
mod csv;
mod findings;
mod gavel;
pub mod gpus;
mod input;
mod kernel_tuner;
mod mpt;
mod muri;
mod names;
mod perseus;
mod runs;
mod shape;
mod suspicion;
mod table;
#[cfg(test)]
mod tests;
mod ttu;
mod ulisboa;
mod zeus;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::format::{PairsFile, ProfileFile};
use rats_domain::pairs::Pairs;
use rats_domain::problem::{Problem, Problems};
use rats_domain::profile::Profile;

pub use self::findings::{FileRows, Findings, Unread};
pub use self::input::Input;
pub use self::runs::import_runs;
use crate::io;

/// Whose layout the files have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Zeus: training under power limits.
    Zeus,
    /// Perseus: pipeline stages and training at locked clocks.
    Perseus,
    /// Texas Tech University: applications on a V100 at 117 clocks.
    Ttu,
    /// Gavel: throughput by GPU type, gang size and neighbor.
    Gavel,
    /// Muri: stage times of training on 1 to 32 V100.
    Muri,
    /// University of Lisbon, gpuPTXModel: time and power of kernels by SM and memory clock.
    UlisboaPtx,
    /// University of Lisbon, gpupowermodel: power and utilizations of kernels by SM and memory clock.
    UlisboaPower,
    /// Kernel Tuner: cache files of kernels at locked clocks.
    KernelTuner,
    /// MPT training benchmarks: language models on 8 to 512 GPUs.
    Mpt,
    /// The plain table of `docs/formats.md`.
    Csv,
}

/// What came out of the files.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// Profiles, by id.
    pub profiles: Vec<ProfileFile>,
    /// Pairs, by id.
    pub pairs: Vec<PairsFile>,
    /// What was read, what is damaged and what looks suspicious.
    pub findings: Findings,
}

impl Source {
    /// All sources.
    pub const ALL: [Self; 10] = [
        Self::Zeus,
        Self::Perseus,
        Self::Ttu,
        Self::Gavel,
        Self::Muri,
        Self::UlisboaPtx,
        Self::UlisboaPower,
        Self::KernelTuner,
        Self::Mpt,
        Self::Csv,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zeus => "zeus",
            Self::Perseus => "perseus",
            Self::Ttu => "ttu",
            Self::Gavel => "gavel",
            Self::Muri => "muri",
            Self::UlisboaPtx => "ulisboa-ptx",
            Self::UlisboaPower => "ulisboa-power",
            Self::KernelTuner => "kernel-tuner",
            Self::Mpt => "mpt",
            Self::Csv => "csv",
        }
    }

    /// Where a folder with all public data sets under their usual names has this one; `csv` is nowhere.
    pub fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Zeus => &["zeus-nsdi23"],
            Self::Perseus => &["perseus-sosp24"],
            Self::Ttu => &["gv100-dvfs-ttu"],
            Self::Gavel => &["gavel"],
            Self::Muri => &["muri-sigcomm22"],
            Self::UlisboaPtx => &["ulisboa-gpuptxmodel", "ulisboa-gpupowermodel/GTXTitanX/real_gtxtitanx.csv"],
            Self::UlisboaPower => &["ulisboa-gpupowermodel"],
            Self::KernelTuner => &["kernel-tuner-a100"],
            Self::Mpt => &["mpt-training-benchmarks"],
            Self::Csv => &[],
        }
    }
}

/// Reads files and folders of one source.
///
/// # Errors
/// A path cannot be read. Damaged content is no error here but in [`Findings::damaged`].
pub fn import(source: Source, paths: &[PathBuf]) -> Result<Imported, Problems> {
    Ok(import_files(source, &input::collect(paths)?))
}

/// Reads the content of files of one source.
pub fn import_files(source: Source, inputs: &[Input]) -> Imported {
    let mut imported = Imported::default();
    match source {
        Source::Zeus => zeus::import(inputs, &mut imported),
        Source::Perseus => perseus::import(inputs, &mut imported),
        Source::Ttu => ttu::import(inputs, &mut imported),
        Source::Gavel => gavel::import(inputs, &mut imported),
        Source::Muri => muri::import(inputs, &mut imported),
        Source::UlisboaPtx => ulisboa::import_ptx(inputs, &mut imported),
        Source::UlisboaPower => ulisboa::import_power(inputs, &mut imported),
        Source::KernelTuner => kernel_tuner::import(inputs, &mut imported),
        Source::Mpt => mpt::import(inputs, &mut imported),
        Source::Csv => csv::import(inputs, &mut imported),
    }
    strangers(source, inputs, &mut imported.findings);
    finished(imported)
}

/// What every source has in common: suspicion, order, validity.
fn finished(mut imported: Imported) -> Imported {
    suspicion::look(&mut imported);
    imported.profiles.sort_by(|a, b| a.id.cmp(&b.id));
    imported.pairs.sort_by(|a, b| a.id.cmp(&b.id));
    validate(&mut imported);
    imported
}

/// Writes one file a profile into a folder, which is made if need be; returns their paths.
///
/// # Errors
/// The folder or a file cannot be written.
pub fn write(imported: &Imported, folder: &Path) -> Result<Vec<PathBuf>, Problems> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Problem::new(Code::U02, folder.display().to_string(), format!("{error}.")))?;
    let mut paths = Vec::new();
    for (name, text) in contents(imported) {
        let path = folder.join(name);
        io::write(&path, text.as_bytes())?;
        paths.push(path);
    }
    Ok(paths)
}

/// The name and content of every file that [`write()`] writes.
pub fn contents(imported: &Imported) -> Vec<(String, String)> {
    let profiles = imported.profiles.iter().map(|file| (format!("{}.json", file.id), shape::lines(file)));
    let pairs = imported.pairs.iter().map(|file| (format!("{}.json", file.id), shape::lines(file)));
    profiles.chain(pairs).collect()
}

/// Files that were named one by one and do not belong to the source, and sources of which no file was found.
fn strangers(source: Source, inputs: &[Input], findings: &mut Findings) {
    for input in inputs.iter().filter(|input| input.named) {
        if findings.unread.iter().any(|unread| unread.path == input.name && !unread.known) {
            let message = format!("is no file of the source `{}`.", source.name());
            findings.damage(Code::D12, input.name.clone(), message);
        }
    }
    if findings.files.is_empty() && findings.damaged.is_empty() {
        let message = format!("no file of the source `{}` was found.", source.name());
        findings.damage(Code::D12, "paths", message);
    }
}

/// Whatever an importer makes must be valid; two that would have one name cannot both be written.
fn validate(imported: &mut Imported) {
    let findings = &mut imported.findings;
    let mut names = BTreeMap::new();
    let profiles = imported.profiles.iter().map(|file| (&file.id, &file.source, Profile::new(file.clone()).err()));
    let pairs = imported.pairs.iter().map(|file| (&file.id, &file.source, Pairs::new(file.clone()).err()));
    let mut bad = Vec::new();
    for (id, source, problems) in profiles.chain(pairs) {
        let path = source.path.clone().unwrap_or_default();
        for problem in problems.into_iter().flat_map(|problems| problems.0) {
            findings.damage(problem.code, format!("{path}: {id}: {}", problem.place), problem.message);
            bad.push(id.clone());
        }
        if let Some(first) = names.insert(id.clone(), path.clone()) {
            findings.damage(Code::D11, path, format!("the workload would be named `{id}`, as one of {first}."));
            bad.push(id.clone());
        }
    }
    imported.profiles.retain(|file| !bad.contains(&file.id));
    imported.pairs.retain(|file| !bad.contains(&file.id));
}
