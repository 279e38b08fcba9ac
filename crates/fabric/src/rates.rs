//! What links carry: the figures used where an input names a generation instead of a rate.
//!
//! All are line rates after line coding, per direction; packet headers and contention take more. `docs/topology.md` shows the
//! table with its sources. Nothing here was measured.

use rats_domain::units::KilobytesPerSecond;

/// Sockets of a host: one Intel UPI link, 10.4 GT/s x 2 bytes. Assumed where nothing else is given.
pub const SOCKET: KilobytesPerSecond = KilobytesPerSecond(20_800_000);

/// PCIe: transfer rate in tenths of GT/s, numerator and denominator of its line code (PCI-SIG base specifications).
const PCIE: [(i64, i64, i64); 6] =
    [(25, 8, 10), (50, 8, 10), (80, 128, 130), (160, 128, 130), (320, 128, 130), (640, 242, 256)];

/// A PCIe link of this transfer rate and width; `None` for a rate that no generation has.
pub fn pcie(tenths_of_gt_s: i64, width: i64) -> Option<KilobytesPerSecond> {
    let &(rate, payload, coded) = PCIE.iter().find(|(rate, ..)| *rate == tenths_of_gt_s)?;
    // GT/s x 1e6 = kT/s, one bit each; 8 bits make a byte.
    (1..=32).contains(&width).then(|| KilobytesPerSecond(rate * 100_000 * width * payload / (coded * 8)))
}

/// The name of a transfer rate as Linux and NCCL write it: `8 GT/s`, `32.0 GT/s PCIe`.
pub fn transfer_rate(text: &str) -> Option<i64> {
    let number = text.split_whitespace().next()?;
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    let tenth = tenth.get(..1)?.parse::<i64>().ok()?;
    whole.parse::<i64>().ok().filter(|whole| (1..1000).contains(whole))?.checked_mul(10)?.checked_add(tenth)
}

/// A generation of NVLink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvLink {
    /// One link, per direction.
    pub link: KilobytesPerSecond,
    /// The most links that a GPU has.
    pub links: i64,
}

/// NVLink by generation, 1 (P100) to 5 (B200), from NVIDIA's architecture papers.
pub fn nvlink(generation: u8) -> Option<NvLink> {
    let (gb_s, links) = match generation {
        1 => (20, 4),
        2 => (25, 6),
        3 => (25, 12),
        4 => (25, 18),
        5 => (50, 18),
        _ => return None,
    };
    Some(NvLink { link: KilobytesPerSecond(gb_s * 1_000_000), links })
}

/// The NVLink generation of a compute capability (`sm="80"`).
pub fn nvlink_of_sm(sm: i64) -> Option<u8> {
    match sm {
        60 => Some(1),
        70 | 75 => Some(2),
        80 => Some(3),
        90 => Some(4),
        100..=103 => Some(5),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pcie_rates_follow_the_line_code() {
        // 8 GT/s x 16 lanes x 128/130 / 8 = 15.753846 GB/s; 5 GT/s x 8 x 8/10 / 8 = 4 GB/s.
        assert_eq!(pcie(80, 16), Some(KilobytesPerSecond(15_753_846)));
        assert_eq!(pcie(50, 8), Some(KilobytesPerSecond(4_000_000)));
        assert_eq!(pcie(320, 16), Some(KilobytesPerSecond(63_015_384)));
        assert_eq!(pcie(90, 16), None);
        assert_eq!(pcie(80, 0), None);
    }

    #[test]
    fn transfer_rates_are_read_in_both_spellings() {
        assert_eq!(transfer_rate("8 GT/s"), Some(80));
        assert_eq!(transfer_rate("2.5 GT/s PCIe"), Some(25));
        assert_eq!(transfer_rate("32.0 GT/s PCIe"), Some(320));
        assert_eq!(transfer_rate(""), None);
        assert_eq!(transfer_rate("Unknown"), None);
    }
}
