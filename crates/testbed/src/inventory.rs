//! Which real GPU each GPU of a plan is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rats_domain::codes::Code;
use rats_domain::format::{InventoryFile, InventoryGpuFile, read};
use rats_domain::problem::{Problem, Problems, Warning};
use rats_system::files::{bytes, place_warnings, placed};

use crate::gpu::Uuid;

/// An inventory that holds together: every place and every UUID once.
#[derive(Clone, Debug)]
pub struct Inventory {
    gpus: BTreeMap<(String, i64), InventoryGpuFile>,
}

impl Inventory {
    /// Reads `rats.inventory/1`; what looked suspicious comes with it.
    ///
    /// # Errors
    /// It cannot be read or does not hold together.
    pub fn read(path: &Path) -> Result<(Self, Vec<Warning>), Problems> {
        let read = read::<InventoryFile>(&bytes(path)?).map_err(|problems| placed(path, problems))?;
        let mut warnings = read.warnings;
        place_warnings(path, &mut warnings);
        Ok((Self::new(read.document).map_err(|problems| placed(path, problems))?, warnings))
    }

    /// Checks an inventory.
    ///
    /// # Errors
    /// N19 for every place or UUID that appears twice and every index below 0.
    pub fn new(file: InventoryFile) -> Result<Self, Problems> {
        let (mut gpus, mut uuids, mut problems) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        for (position, gpu) in file.gpus.into_iter().enumerate() {
            let mut problem =
                |message: String| problems.push(Problem::new(Code::N19, format!("gpus[{position}]"), message));
            if gpu.index < 0 {
                problem(format!("index {} is below 0.", gpu.index));
            }
            if gpu.uuid.is_empty() {
                problem("the UUID is empty.".to_owned());
            }
            if !uuids.insert(gpu.uuid.clone()) {
                problem(format!("`{}` appears twice.", gpu.uuid));
            }
            let place = (gpu.node.clone(), gpu.index);
            if gpus.contains_key(&place) {
                problem(format!("GPU {} of node `{}` appears twice.", gpu.index, gpu.node));
            }
            gpus.entry(place).or_insert(gpu);
        }
        if problems.is_empty() { Ok(Self { gpus }) } else { Err(Problems(problems)) }
    }

    /// The GPU of this index on a node of the instance.
    pub fn gpu(&self, node: &str, index: i64) -> Option<&InventoryGpuFile> {
        self.gpus.get(&(node.to_owned(), index))
    }

    /// All GPUs, by node and index.
    pub fn gpus(&self) -> impl Iterator<Item = &InventoryGpuFile> {
        self.gpus.values()
    }

    /// The UUID of a GPU of the instance.
    pub fn uuid(&self, node: &str, index: i64) -> Option<Uuid> {
        self.gpu(node, index).map(|gpu| Uuid::new(gpu.uuid.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use rats_domain::format::Document as _;

    use super::*;

    fn gpu(node: &str, index: i64, uuid: &str) -> InventoryGpuFile {
        InventoryGpuFile {
            node: node.to_owned(),
            index,
            uuid: uuid.to_owned(),
            host: "tux1".to_owned(),
            pci: "00000000:3b:00.0".to_owned(),
            gpu_type: "v100".to_owned(),
            name: None,
        }
    }

    fn inventory(gpus: Vec<InventoryGpuFile>) -> Result<Inventory, Problems> {
        Inventory::new(InventoryFile { format: InventoryFile::FORMAT.to_owned(), gpus })
    }

    #[test]
    fn a_place_leads_to_its_uuid() {
        let inventory = inventory(vec![gpu("a", 1, "GPU-1"), gpu("a", 0, "GPU-0")]).unwrap();
        assert_eq!(inventory.uuid("a", 0), Some(Uuid::new("GPU-0")));
        assert_eq!(inventory.uuid("b", 0), None);
    }

    #[test]
    fn every_contradiction_is_named() {
        let found = inventory(vec![gpu("a", 0, "GPU-0"), gpu("a", 0, "GPU-0"), gpu("a", -1, "")]).unwrap_err();
        let places: Vec<_> = found.0.iter().map(|problem| (problem.code, problem.place.as_str())).collect();
        let wrong = [(Code::N19, "gpus[1]"), (Code::N19, "gpus[1]"), (Code::N19, "gpus[2]"), (Code::N19, "gpus[2]")];
        assert_eq!(places, wrong);
    }
}
