//! The project's formats as files: reading with every problem named.

use std::path::Path;

use rats_domain::codes::Code;
use rats_domain::format::{GpuFile, PlanFile, Read, read};
use rats_domain::instance::{Instance, ReadInstance};
use rats_domain::problem::{Problem, Problems};
use rats_domain::profile::{Profile, ReadProfile};
pub use rats_system::files::*;

use crate::best_known::BestKnown;

/// Reads an instance; `-` is standard input.
///
/// # Errors
/// Every problem of the file, each with the file in its place.
pub fn read_instance(path: &Path) -> Result<ReadInstance, Problems> {
    instance_of(path, &bytes(path)?)
}

/// Reads an instance from the bytes that a file holds.
///
/// # Errors
/// Every problem of the file, each with the file in its place.
pub fn instance_of(path: &Path, bytes: &[u8]) -> Result<ReadInstance, Problems> {
    let mut read = Instance::read(bytes).map_err(|problems| placed(path, problems))?;
    place_warnings(path, &mut read.warnings);
    Ok(read)
}

/// Reads a plan; `-` is standard input.
///
/// # Errors
/// Every problem of the file, each with the file in its place.
pub fn read_plan(path: &Path) -> Result<Read<PlanFile>, Problems> {
    let mut read = read::<PlanFile>(&bytes(path)?).map_err(|problems| placed(path, problems))?;
    place_warnings(path, &mut read.warnings);
    Ok(read)
}

/// Reads a kind of GPU; `-` is standard input.
///
/// # Errors
/// Every problem of the file, each with the file in its place.
pub fn read_gpu(path: &Path) -> Result<GpuFile, Problems> {
    Ok(read::<GpuFile>(&bytes(path)?).map_err(|problems| placed(path, problems))?.document)
}

/// Reads a profile; `-` is standard input.
///
/// # Errors
/// Every problem of the file, each with the file in its place.
pub fn read_profile(path: &Path) -> Result<ReadProfile, Problems> {
    let mut read = Profile::read(&bytes(path)?).map_err(|problems| placed(path, problems))?;
    place_warnings(path, &mut read.warnings);
    Ok(read)
}

/// Reads a registry of best known values.
///
/// # Errors
/// The file cannot be read or is no registry.
pub fn read_best_known(path: &Path) -> Result<BestKnown, Problems> {
    let line = |error: String| error.split_whitespace().collect::<Vec<_>>().join(" ");
    let wrong = |error: String| Problem::new(Code::R04, path.display().to_string(), format!("{}.", line(error)));
    Ok(BestKnown::parse(&read_text(path)?).map_err(wrong)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_u01_and_names_the_file() {
        let problems = read_instance(Path::new("/no/such/file.json")).unwrap_err();
        assert_eq!(problems.0[0].code, Code::U01);
        assert_eq!(problems.0[0].place, "/no/such/file.json");
    }
}
