//! Where commands on models take their measurements from.

use std::path::Path;

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_models::data::Dataset;

/// The profiles that ship, from the root of the repository.
const SHIPPED: &str = "instances/profiles";

/// The rows of a folder of `rats dataset build`, or, if none is named, those of the profiles that ship. What looks suspicious
/// about the latter `rats dataset build` says.
pub(super) fn rows(dataset: Option<&Path>) -> Result<Dataset, Problems> {
    let shipped = Path::new(SHIPPED);
    match dataset {
        Some(folder) => Dataset::read(folder),
        None if shipped.is_dir() => Ok(Dataset::of_profiles(shipped)?.0),
        None => {
            let message = "is not here; name the folder of a data set, as `rats dataset build -o DIR` writes it.";
            Err(Problem::new(Code::U01, SHIPPED, message).into())
        }
    }
}
