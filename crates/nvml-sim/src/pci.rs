//! PCI bus ids as NVML writes them.

/// Domain, bus and device of `00000000:07:00.0`, `0000:07:00.0` or `07:00.0`.
pub fn parse(text: &str) -> Option<(u32, u32, u32)> {
    let text = text.strip_suffix(".0")?;
    let mut parts = text.rsplitn(3, ':').map(|part| u32::from_str_radix(part, 16));
    let device = parts.next()?.ok()?;
    let bus = parts.next()?.ok()?;
    let domain = parts.next().map_or(Ok(0), |domain| domain).ok()?;
    (bus < 256 && device < 32).then_some((domain, bus, device))
}

/// The long form, with a domain of eight digits.
pub fn long((domain, bus, device): (u32, u32, u32)) -> String {
    format!("{domain:08X}:{bus:02X}:{device:02X}.0")
}

/// The short form, with a domain of four digits.
pub fn short((domain, bus, device): (u32, u32, u32)) -> String {
    format!("{domain:04X}:{bus:02X}:{device:02X}.0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_a_bus_id_are_one() {
        for text in ["00000000:C7:00.0", "0000:c7:00.0", "C7:00.0"] {
            assert_eq!(parse(text).map(long).as_deref(), Some("00000000:C7:00.0"));
        }
        assert_eq!(parse("00000000:C7:00.0").map(short).as_deref(), Some("0000:C7:00.0"));
        for text in ["", "C7", "C7:00", "1C7:00.0", "C7:20.0", "x:00.0"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
