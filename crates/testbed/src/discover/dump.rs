//! What `nvidia-smi -q -x` printed on some machine: the same facts without a driver.
//!
//! Read are documents of drivers 430 to 580 (DTD versions 10 to 13), whose names for power differ. A dump shows neither
//! single NVLinks nor the PCIe tree, and one reading of power; it counts as idle power if nothing ran.

use std::collections::BTreeMap;
use std::io::Read as _;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::problem::{Problem, Problems, Warning};
use rats_domain::units::{Mebibytes, Milliwatts};
use roxmltree::{Document, Node, ParsingOptions};

use super::idle;
use super::{Found, Machine};
use crate::gpu::{Architecture, Facts, Megahertz, MemoryClock, Mig, PcieLink, PowerRange, Uuid, type_id};

/// More than any machine prints; guards memory.
const LARGEST: u64 = 64 << 20;

/// Reads a dump, compressed or not.
///
/// # Errors
/// N17 with line and column: it is no such document, or a GPU lacks what makes it one.
pub fn read(bytes: &[u8], host: &str) -> Result<Machine, Problems> {
    let text = text(bytes)?;
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&text, options).map_err(|error| {
        let position = error.pos();
        damaged(format!("line {}, column {}", position.row, position.col), format!("{error}."))
    })?;
    let root = document.root_element();
    if !root.has_tag_name("nvidia_smi_log") {
        return Err(damaged("line 1".to_owned(), "this is no `nvidia_smi_log`.".to_owned()).into());
    }
    let mut machine = Machine {
        host: host.to_owned(),
        driver: value(root, &["driver_version"]).map(str::to_owned),
        gpus: Vec::new(),
        ancestors: BTreeMap::new(),
        warnings: Vec::new(),
    };
    let mut problems = Vec::new();
    for (index, node) in (0..).zip(root.children().filter(|node| node.has_tag_name("gpu"))) {
        match gpu(node, index) {
            Ok((found, is_idle)) => {
                if !is_idle {
                    let message = "it was not idle when the dump was made; its idle power is not known.";
                    machine.warnings.push(Warning::new(Code::N16, format!("{host}: {}", found.facts.uuid), message));
                }
                machine.gpus.push(found);
            }
            Err(problem) => problems.push(problem),
        }
    }
    if machine.gpus.is_empty() && problems.is_empty() {
        problems.push(damaged("line 1".to_owned(), "the dump shows no GPU.".to_owned()));
    }
    machine.gpus.sort_by(|a, b| a.facts.pci.cmp(&b.facts.pci));
    if machine.gpus.len() > 1 && !machine.gpus.iter().all(|found| found.is_in_fabric) {
        let message = "a dump does not show how GPUs are joined on PCIe; `nvidia-smi topo -m` does.";
        machine.warnings.push(Warning::new(Code::T09, host, message));
    }
    if problems.is_empty() { Ok(machine) } else { Err(Problems(problems)) }
}

fn text(bytes: &[u8]) -> Result<String, Problem> {
    let mut text = Vec::new();
    let read = if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(bytes).take(LARGEST).read_to_end(&mut text)
    } else {
        bytes.take(LARGEST).read_to_end(&mut text)
    };
    read.map_err(|error| damaged("dump".to_owned(), format!("{error}.")))?;
    String::from_utf8(text).map_err(|error| damaged("dump".to_owned(), format!("{error}.")))
}

fn gpu(node: Node<'_, '_>, index: u32) -> Result<(Found, bool), Problem> {
    let line = node.document().text_pos_at(node.range().start).row;
    let needed = |path: &[&str]| {
        let missing = || damaged(format!("line {line}"), format!("GPU {index} has no `{}`.", path.join("/")));
        value(node, path).ok_or_else(missing)
    };
    let name = needed(&["product_name"])?.to_owned();
    let readings = ["gpu_power_readings", "power_readings"].into_iter().find_map(|tag| child(node, tag));
    let watts = |tags: &[&str]| tags.iter().find_map(|tag| milliwatts(value(readings?, &[tag])?));
    let range = watts(&["min_power_limit"]).zip(watts(&["max_power_limit"]));
    let default = watts(&["default_power_limit"]);
    let link = ["pci", "pci_gpu_link_info"];
    let generation = value(node, &[link[0], link[1], "pcie_gen", "max_link_gen"]).and_then(whole);
    let width = value(node, &[link[0], link[1], "link_widths", "max_link_width"]).and_then(whole);
    let facts = Facts {
        uuid: Uuid::new(needed(&["uuid"])?),
        index,
        type_id: type_id(&name),
        name,
        pci: needed(&["pci", "pci_bus_id"])?.to_lowercase(),
        architecture: value(node, &["product_architecture"]).and_then(Architecture::parse),
        memory: value(node, &["fb_memory_usage", "total"]).and_then(whole).map(|mib| Mebibytes(i64::from(mib))),
        clocks: clocks(node),
        max_sm: value(node, &["max_clocks", "sm_clock"]).and_then(megahertz),
        power: range.map(|(least, most)| PowerRange { least, most, default }),
        pcie: generation.zip(width).map(|(generation, width)| PcieLink { generation, width }),
        links: Vec::new(),
    };
    let is_idle = is_idle(node);
    let draw = watts(&["average_power_draw", "power_draw", "instant_power_draw"]).filter(|_| is_idle);
    let is = |path: &[&str], word: &str| value(node, path).is_some_and(|value| value == word);
    let mig = match value(node, &["mig_mode", "current_mig"]) {
        Some("Enabled") => Mig::On,
        Some("Disabled") => Mig::Off,
        _ => Mig::Unsupported,
    };
    let found = Found {
        facts,
        mig,
        power_limit: watts(&["current_power_limit", "power_limit", "enforced_power_limit"]),
        persistence: value(node, &["persistence_mode"]).map(|mode| mode == "Enabled"),
        idle: draw.and_then(|draw| idle::of(&[draw])),
        is_in_fabric: is(&["fabric", "state"], "Completed"),
    };
    Ok((found, is_idle))
}

/// Nothing ran: no load, and no process that computes.
fn is_idle(node: Node<'_, '_>) -> bool {
    let load = value(node, &["utilization", "gpu_util"]).and_then(whole).unwrap_or(0);
    let processes = child(node, "processes").into_iter().flat_map(|list| list.children());
    let computes = |process: Node<'_, '_>| value(process, &["type"]).is_some_and(|kind| kind.contains('C'));
    load == 0 && !processes.filter(|node| node.has_tag_name("process_info")).any(computes)
}

fn clocks(node: Node<'_, '_>) -> Vec<MemoryClock> {
    let list = child(node, "supported_clocks").into_iter().flat_map(|list| list.children());
    let mut clocks = Vec::new();
    for entry in list.filter(|node| node.has_tag_name("supported_mem_clock")) {
        let Some(mem) = value(entry, &["value"]).and_then(megahertz) else { continue };
        let sm = entry.children().filter(|node| node.has_tag_name("supported_graphics_clock"));
        let mut sm: Vec<Megahertz> = sm.filter_map(|node| megahertz(node.text()?)).collect();
        sm.sort_unstable();
        sm.dedup();
        clocks.push(MemoryClock { mem, sm });
    }
    clocks.sort_by_key(|entry| std::cmp::Reverse(entry.mem));
    clocks
}

fn child<'a, 'input>(node: Node<'a, 'input>, tag: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| child.has_tag_name(tag))
}

/// The text at the end of a path of tags; absent where it says that there is none.
fn value<'a>(node: Node<'a, '_>, path: &[&str]) -> Option<&'a str> {
    let mut at = node;
    for tag in path {
        at = child(at, tag)?;
    }
    at.text().map(str::trim).filter(|text| !text.is_empty() && !["N/A", "[N/A]", "None"].contains(text))
}

/// `81559 MiB`, `16x`, `0 %`.
fn whole(text: &str) -> Option<u32> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn megahertz(text: &str) -> Option<Megahertz> {
    whole(text.strip_suffix(" MHz")?).map(|mhz| Megahertz(mhz.into()))
}

fn milliwatts(text: &str) -> Option<Milliwatts> {
    let watts = Decimal::parse(text.strip_suffix(" W")?).ok()?;
    watts.scaled(3).and_then(|mw| i64::try_from(mw).ok()).map(Milliwatts)
}

fn damaged(place: String, message: String) -> Problem {
    Problem::new(Code::N17, place, message)
}
