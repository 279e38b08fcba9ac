//! Dumps, whole and damaged, and machines as clusters.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rats_domain::codes::Code;
use rats_domain::units::{Mebibytes, Milliwatts};

use super::tree::cluster;
use super::{Found, Machine, dump};
use crate::gpu::{Ancestor, Architecture, Facts, Link, Megahertz, MemoryClock, Mig, PcieLink, PowerRange, Uuid};
use crate::inventory::Inventory;

const TWO: &str = include_str!("two-gpus.xml");

#[test]
fn a_dump_is_read_with_its_units_in_order_of_pci_addresses() {
    let machine = dump::read(TWO.as_bytes(), "tux1").unwrap();
    let [v100, a40] = machine.gpus.as_slice() else { panic!("{machine:?}") };
    assert_eq!((v100.facts.pci.as_str(), a40.facts.pci.as_str()), ("00000000:3b:00.0", "00000000:c1:00.0"));
    assert_eq!(a40.facts.type_id, "a40");
    assert_eq!(a40.facts.memory, Some(Mebibytes(46_068)));
    let sm = [210, 1725, 1740].map(Megahertz).to_vec();
    let low = MemoryClock { mem: Megahertz(405), sm: vec![Megahertz(420)] };
    assert_eq!(a40.facts.clocks, [MemoryClock { mem: Megahertz(7251), sm }, low]);
    let [least, most] = [100_000, 300_000].map(Milliwatts);
    assert_eq!(a40.facts.power, Some(PowerRange { least, most, default: Some(most) }));
    assert_eq!(a40.power_limit, Some(Milliwatts(250_000)));
    assert_eq!(a40.idle.map(|idle| (idle.mean, idle.samples)), Some((Milliwatts(31_250), 1)));
    assert_eq!((a40.persistence, a40.mig), (Some(true), Mig::Unsupported));
    // 97 % load: its power is not idle power. No range: its limit cannot be set.
    assert_eq!((v100.idle, v100.facts.power, v100.persistence), (None, None, Some(false)));
    assert_eq!(machine.warnings[0].code, Code::N16);
}

#[test]
fn a_dump_that_is_cut_anywhere_is_an_error_and_no_panic() {
    for cut in 0..TWO.len() - "</nvidia_smi_log>\n".len() {
        let error = dump::read(&TWO.as_bytes()[..cut], "tux1").unwrap_err();
        assert!(error.0.iter().all(|problem| problem.code == Code::N17), "{cut}: {error}");
    }
}

#[test]
fn every_gpu_that_lacks_what_names_it_is_reported() {
    let damaged = TWO.replace("uuid>", "uid>");
    let error = dump::read(damaged.as_bytes(), "tux1").unwrap_err();
    let places: Vec<_> = error.0.iter().map(|problem| problem.place.as_str()).collect();
    assert_eq!(places, ["line 7", "line 46"], "{error}");
}

#[test]
fn two_kinds_of_gpu_in_a_machine_become_two_nodes_below_it() {
    let machine = dump::read(TWO.as_bytes(), "tux1").unwrap();
    let found = cluster(&[machine], None).unwrap();
    let nodes: Vec<_> = found.cluster.nodes.iter().map(|node| (node.id.as_str(), node.gpus)).collect();
    assert_eq!(nodes, [("tux1-v100", 1), ("tux1-a40", 1)]);
    assert_eq!(found.cluster.switches[0].id, "tux1");
    let idle: Vec<_> = found.cluster.gpu_types.iter().map(|of| (of.id.as_str(), of.idle_w.to_string())).collect();
    assert_eq!(idle, [("a40", "31.25".to_owned()), ("v100", "0".to_owned())]);
    let inventory = Inventory::new(found.inventory).unwrap();
    assert_eq!(inventory.uuid("tux1-a40", 0), Some(Uuid::new("GPU-11111111-0000-0000-0000-000000000001")));
}

/// A machine of V100 GPUs; `links` are NVLinks between positions, in pairs.
fn machine(host: &str, gpus: usize, links: &[(usize, usize)], ancestor: impl Fn(usize, usize) -> Ancestor) -> Machine {
    let pci = |gpu: usize| format!("00000000:{gpu:02x}:00.0");
    let found = |gpu: usize| {
        let ends = links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).filter(|&(from, _)| from == gpu);
        let links = (0..).zip(ends).map(|(number, (_, to))| Link { number, remote_pci: Some(pci(to)) }).collect();
        Found {
            facts: Facts {
                uuid: Uuid::new(format!("GPU-{host}-{gpu}")),
                index: 0,
                name: "Tesla V100-SXM2-32GB".to_owned(),
                type_id: "v100-sxm2".to_owned(),
                pci: pci(gpu),
                architecture: Some(Architecture::Volta),
                memory: Some(Mebibytes(32_510)),
                clocks: Vec::new(),
                max_sm: None,
                power: None,
                pcie: Some(PcieLink { generation: 3, width: 16 }),
                links,
            },
            mig: Mig::Unsupported,
            power_limit: None,
            persistence: None,
            idle: None,
            is_in_fabric: false,
        }
    };
    let pairs = (0..gpus).flat_map(|b| (0..b).map(move |a| (a, b)));
    let ancestors: BTreeMap<_, _> = pairs.map(|(a, b)| ((a, b), ancestor(a, b))).collect();
    Machine {
        host: host.to_owned(),
        driver: None,
        gpus: (0..gpus).map(found).collect(),
        ancestors,
        warnings: Vec::new(),
    }
}

#[test]
fn nvlink_pairs_are_islands_and_pcie_leads_out_of_them() {
    // 0=1 and 2=3 by two links each; one switch for each pair, one socket.
    let links = [(0, 1), (0, 1), (2, 3), (2, 3)];
    let ancestor = |a: usize, b: usize| if a / 2 == b / 2 { Ancestor::Switch } else { Ancestor::HostBridge };
    let found = cluster(&[machine("tux", 4, &links, ancestor)], None).unwrap();
    let node = &found.cluster.nodes[0];
    assert_eq!(node.islands, Some(vec![vec![0, 1], vec![2, 3]]));
    // Out of a pair leads its PCIe switch: 8 GT/s x 16 lanes x 128/130 / 8 = 15.753846 GB/s.
    assert_eq!(node.island_uplink_gb_s.map(|rate| rate.to_string()), Some("15.753846".to_owned()));
    // Two links of 25 GB/s inside.
    assert_eq!(found.hardware["v100-sxm2"].link.map(|rate| rate.0), Some(50_000_000));
}

#[test]
fn gpus_on_nvlink_switches_are_one_island() {
    let mut machine = machine("dgx", 4, &[], |_, _| Ancestor::System);
    for found in &mut machine.gpus {
        found.facts.architecture = Some(Architecture::Ampere);
        let link = |number| Link { number, remote_pci: Some("00000000:f0:00.0".to_owned()) };
        found.facts.links = (0..12).map(link).collect();
    }
    let found = cluster(&[machine], None).unwrap();
    assert_eq!(found.cluster.nodes[0].islands, None);
    // 12 links x 25 GB/s.
    assert_eq!(found.hardware["v100-sxm2"].link.map(|rate| rate.0), Some(300_000_000));
}

#[test]
fn several_machines_need_the_rate_of_their_network() {
    let machines = [machine("a", 2, &[], |_, _| Ancestor::Switch), machine("b", 2, &[], |_, _| Ancestor::Switch)];
    assert_eq!(cluster(&machines, None).unwrap_err().0[0].code, Code::T09);
    let found = cluster(&machines, Some(rats_domain::units::KilobytesPerSecond(12_500_000))).unwrap();
    let uplinks: Vec<_> = found.cluster.nodes.iter().map(|node| node.uplink_gb_s.unwrap().to_string()).collect();
    assert_eq!(uplinks, ["12.5", "12.5"]);
}

#[test]
fn a_divided_gpu_is_left_out_and_alone_it_is_an_error() {
    let mut one = machine("a", 2, &[], |_, _| Ancestor::Switch);
    one.gpus[1].mig = Mig::On;
    let found = cluster(&[one.clone()], None).unwrap();
    assert_eq!((found.cluster.nodes[0].gpus, found.warnings[0].code), (1, Code::N09));
    one.gpus[0].mig = Mig::On;
    let codes: Vec<_> = cluster(&[one], None).unwrap_err().0.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, [Code::N09, Code::N09, Code::N03]);
}

#[test]
fn dumps_of_real_boards_are_read_whole() {
    let Some(data) = std::env::var_os("RATS_DATA_DIR").map(PathBuf::from) else {
        eprintln!("RATS_DATA_DIR is not set: the dumps of real boards are not read");
        return;
    };
    let raw = data.join("gpu-clocks/raw");
    let (mut read, mut gpus, mut old) = (0, 0, 0);
    for folder in ["nvidia-k8s-test-infra", "telegraf"] {
        for entry in std::fs::read_dir(raw.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if !path.to_string_lossy().ends_with(".xml.gz") {
                continue;
            }
            match dump::read(&std::fs::read(&path).unwrap(), "host") {
                Ok(machine) => {
                    read += 1;
                    gpus += machine.gpus.len();
                }
                // The capture of a GTX 1070 Ti was shortened before it was published and has no PCI address.
                Err(error) => {
                    assert!(path.to_string_lossy().contains("gtx-1070-ti"), "{}: {error}", path.display());
                    old += 1;
                }
            }
        }
    }
    // 19 files; 7 of one test suite with 1 + 8 + 4 + 4 + 8 + 1 + 1 GPUs, 12 of another with one each.
    assert_eq!((read, gpus, old), (18, 38, 1));
}
