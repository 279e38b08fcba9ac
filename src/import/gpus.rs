//! What importers know of GPU types.

use rats_domain::format::Figure;

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
