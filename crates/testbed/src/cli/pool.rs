//! `rats pool`: profiles of single GPUs, made one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use rats_domain::format::{ProfileFile, read};
use rats_domain::problem::Problems;
use rats_domain::profile::Profile;
use rats_system::files::{bytes, keep_apart, place_warnings, placed, write};

use super::Answer;
use crate::profile::pool::pool;

/// Of `rats pool`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  for g in 0 1 2 3; do rats profile --gpus $g --id net-$g -o net-$g.json -- ./train & done; wait
  rats pool net-?.json -o a40-net.json

GPUs of a kind differ by some percent. A plan may use any of them, so it is best made from what several do.")]
pub struct PoolArgs {
    /// Profiles of the same workload on GPUs of the same kind.
    #[arg(required = true, value_name = "PROFILE")]
    pub profiles: Vec<PathBuf>,
    /// The profile to write; named after the file.
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
}

/// Pools.
///
/// # Errors
/// A profile cannot be read, Y18, or the file cannot be written.
pub fn run(args: &PoolArgs) -> Result<Answer, Problems> {
    keep_apart(&args.out, args.profiles.iter().map(PathBuf::as_path))?;
    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    for path in &args.profiles {
        let (file, mut more) = profile(path)?;
        place_warnings(path, &mut more);
        warnings.append(&mut more);
        files.push(file);
    }
    let id = args.out.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let pooled = pool(&files, id)?;
    Profile::new(pooled.file.clone())?;
    let mut document = serde_json::to_vec_pretty(&pooled.file).unwrap_or_default();
    document.push(b'\n');
    write(&args.out, &document)?;
    let mut text = String::new();
    for (file, (time, power)) in files.iter().zip(pooled.time.iter().zip(&pooled.power)) {
        let off = |factor: &f64| 100.0 * (factor - 1.0);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: time {:+.1} %, power {:+.1} %", file.id, off(time), off(power));
    }
    let _ = writeln!(text, "{} points in {}", pooled.file.points.len(), args.out.display());
    Ok(Answer { text, exit: 0, warnings })
}

fn profile(path: &Path) -> Result<(ProfileFile, Vec<rats_domain::problem::Warning>), Problems> {
    let read = read::<ProfileFile>(&bytes(path)?).map_err(|problems| placed(path, problems))?;
    Profile::new(read.document.clone()).map_err(|problems| placed(path, problems))?;
    Ok((read.document, read.warnings))
}
