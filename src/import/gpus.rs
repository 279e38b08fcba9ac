//! What importers know of GPU types.

use rats_domain::format::{Figure, GpuFile};

/// Types of GPU whose catalogue entry lists what drivers support.
const LISTED: [(&str, &str); 8] = [
    ("v100", include_str!("../../instances/gpus/v100.json")),
    ("a100-sxm-40gb", include_str!("../../instances/gpus/a100-sxm4-40gb.json")),
    ("a100-sxm-80gb", include_str!("../../instances/gpus/a100-sxm4-80gb.json")),
    ("a100-pcie-40gb", include_str!("../../instances/gpus/a100-pcie-40gb.json")),
    ("h100", include_str!("../../instances/gpus/h100.json")),
    ("h100-nvl", include_str!("../../instances/gpus/h100-nvl.json")),
    ("t4", include_str!("../../instances/gpus/t4.json")),
    ("rtx3090", include_str!("../../instances/gpus/rtx3090.json")),
];

/// The power limit that a board ships with, W, for boards on which sweeps of clocks run into it.
pub(super) fn board_limit_w(gpu_type: &str) -> Option<f64> {
    match gpu_type {
        "v100" | "p100" => Some(250.0),
        "rtx6000" => Some(260.0),
        "a40" | "a100-pcie-80gb" => Some(300.0),
        _ => None,
    }
}

/// Power of a GPU that waits for others, as far as it was measured.
pub(super) fn blocked_w(gpu_type: &str) -> Option<Figure> {
    match gpu_type {
        "a40" => Some(Figure::measured(70.38, "Perseus (SOSP 2024): A40 blocked on communication")),
        "a100-pcie-80gb" => Some(Figure::measured(83.64, "Perseus (SOSP 2024): A100 PCIe blocked on communication")),
        "a100-sxm-80gb" => Some(Figure::assumed(83.64, "that of the A100 PCIe in Perseus (SOSP 2024)")),
        _ => None,
    }
}

/// Pairs of memory and SM clock that drivers list for a type of GPU; `None` where no list is known.
pub(super) fn listed_clocks(gpu_type: &str) -> Option<Vec<(i64, i64)>> {
    Some(listed(gpu_type)?.pairs().collect())
}

/// What drivers list for a type of GPU; `None` where no list is known.
pub fn listed(gpu_type: &str) -> Option<GpuFile> {
    let (_, text) = LISTED.iter().find(|(name, _)| *name == gpu_type)?;
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_list_holds_clocks() {
        for (name, _) in LISTED {
            assert!(listed_clocks(name).is_some_and(|clocks| clocks.len() > 20), "{name}");
        }
        assert!(listed_clocks("v100").unwrap().contains(&(877, 1380)));
    }
}
