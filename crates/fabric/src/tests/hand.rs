//! Networks whose cuts can be worked out by hand; `docs/topology.md` shows the same numbers.

use super::*;

#[test]
fn a_dgx1_is_two_quads_with_six_links_between() {
    // Across: 0-4 2 links, 1-5 2, 2-6 1, 3-7 1 = 6 x 25 GB/s = 150 GB/s.
    let (network, reduction) = reduced(Kind::NvLink, &dgx1_table(), &figures("V100")).unwrap();
    assert_eq!(reduction.cluster.nodes[0].islands, Some(vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]]));
    assert_eq!(cut(&network, &reduction, "node0 island 0"), gb(150_000));
    assert_eq!(reduction.cluster.nodes[0].island_uplink_gb_s.unwrap().to_string(), "150");
    assert_eq!(reduction.cluster.nodes[0].uplink_gb_s, None);
    assert!((reduction.overstatements[0].ratio() - 1.0).abs() < 1e-12);
}

#[test]
fn pcie_adds_the_link_between_sockets_to_the_cut_of_a_quad() {
    // 150 GB/s of NVLink + PCIe: two switches x 15.75 would carry 31.5, the link between sockets carries 20.8.
    let figures = Figures { pcie: Some(KilobytesPerSecond(15_753_846)), ..figures("V100") };
    let (network, reduction) = reduced(Kind::NvLink, &dgx1_table(), &figures).unwrap();
    assert_eq!(cut(&network, &reduction, "node0 island 1"), gb(170_800));
}

#[test]
fn a_dgx1_is_one_island_where_paths_count() {
    let figures = Figures { joining: crate::islands::Joining::Connected, ..figures("V100") };
    let (_, reduction) = reduced(Kind::NvLink, &dgx1_table(), &figures).unwrap();
    assert_eq!(reduction.cluster.nodes[0].islands, None);
}

/// Four PCIe switches with two GPUs and two adapters each, all links 16 GT/s x 16 = 31.507692 GB/s.
fn dgx_a100() -> String {
    let mut text = "<system version=\"1\">\n".to_owned();
    for cpu in 0..2 {
        writeln!(text, "<cpu numaid=\"{cpu}\">").unwrap();
        for switch in 0..2 {
            let bus = |kind: usize, n: usize| format!("{:04x}:{kind:02x}:00.0", cpu * 16 + switch * 4 + n);
            let link = "link_speed=\"16 GT/s\" link_width=\"16\"";
            writeln!(text, "<pci busid=\"{}\" class=\"0x060400\" {link}>", bus(0, 0)).unwrap();
            for n in 0..2 {
                writeln!(text, "<pci busid=\"{}\" class=\"0x030200\" {link}/>", bus(1, n)).unwrap();
                writeln!(text, "<pci busid=\"{}\" class=\"0x020700\" {link}/>", bus(2, n)).unwrap();
            }
            text.push_str("</pci>\n");
        }
        text.push_str("</cpu>\n");
    }
    text + "</system>\n"
}

#[test]
fn a_dgx_a100_is_one_island_with_the_adapters_as_uplink() {
    // 12 NVLinks x 25 = 300 GB/s a GPU into the NVLink switches. Out: 8 adapters x 200 Gbit/s = 8 x 25 = 200 GB/s, less
    // than 8 x 31.5 of the adapters' PCIe links and than 8 x 31.5 from the GPUs.
    let figures = Figures { nvswitch: Some(gb(300_000)), nic: Some(gb(25_000)), nodes: 2, ..figures("A100") };
    let (network, reduction) = reduced(Kind::NcclXml, &dgx_a100(), &figures).unwrap();
    assert_eq!(network.gpus, 16);
    assert_eq!(reduction.cluster.nodes[0].islands, None);
    assert_eq!(cut(&network, &reduction, "node1"), gb(200_000));
    assert_eq!(reduction.cluster.nodes[1].parent.as_deref(), Some("cluster"));
}

#[test]
fn a_dgx_a100_without_its_nvlink_switches_has_islands_by_pcie_switch() {
    // Two GPUs x 31.5 = 63 into a switch, 31.5 out of it, 20.8 between the sockets but 31.5 + 0 to the switch beside:
    // the cut of one switch is its uplink 31.507692.
    let (network, reduction) = reduced(Kind::NcclXml, &dgx_a100(), &figures("A100")).unwrap();
    assert_eq!(network.file.hosts[0].islands, Some(vec![vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7]]));
    assert_eq!(cut(&network, &reduction, "node0 island 0"), KilobytesPerSecond(31_507_692));
    // Socket against socket: the tree allows 2 x 31.507692, the link between carries 20.8: a factor of 3.03.
    let split = &reduction.overstatements[0];
    assert_eq!((split.allowed, split.carried), (KilobytesPerSecond(63_015_384), gb(20_800)));
    assert!(!reduction.warnings.is_empty());
}

/// 4 leaves x 4 spines, 2 uplinks of 12.5 GB/s from each leaf to each spine; 4 hosts of 50 GB/s below each leaf.
fn clos() -> Sketch {
    let mut sketch = Sketch::new(&["rack", "cluster"]);
    let racks: Vec<_> = (0..4).map(|leaf| format!("rack{leaf}")).collect();
    for spine in 0..4 {
        sketch.switch(&format!("spine{spine}"));
    }
    for (leaf, rack) in racks.iter().enumerate() {
        sketch.switch(&format!("leaf{leaf}"));
        let hosts: Vec<_> = (0..4).map(|host| format!("h{leaf}{host}")).collect();
        for host in &hosts {
            sketch.host(host, 8).link(host, &format!("leaf{leaf}"), gb(50_000));
        }
        for spine in 0..8 {
            sketch.link(&format!("leaf{leaf}"), &format!("spine{}", spine / 2), gb(12_500));
        }
        sketch.domain(rack, "rack", &hosts);
    }
    sketch.domain("all", "cluster", &racks);
    sketch
}

#[test]
fn a_leaf_of_a_clos_has_the_sum_of_its_uplinks() {
    // Below: 4 x 50 = 200; up: 8 x 12.5 = 100; the other leaves take 3 x 100. So 100, two to one oversubscribed.
    let network = clos().network();
    let reduction = reduce(&network, Options::default()).unwrap();
    assert_eq!(cut(&network, &reduction, "rack0"), gb(100_000));
    assert_eq!(cut(&network, &reduction, "h00"), gb(50_000));
    // Two leaves against two: 200 allowed; every spine passes 2 x 25 on: 4 x 50 = 200 carried.
    assert!(reduction.overstatements.iter().all(|split| split.allowed == split.carried && split.exhaustive));
    assert!(reduction.warnings.is_empty());
}

#[test]
fn a_leaf_that_lost_an_uplink_has_that_much_less() {
    let mut sketch = clos();
    let lost = sketch.file.links.iter().position(|link| link.a == "leaf2" && link.b == "spine3").unwrap();
    sketch.file.links.remove(lost);
    let network = sketch.network();
    let reduction = reduce(&network, Options::default()).unwrap();
    assert_eq!(cut(&network, &reduction, "rack2"), gb(87_500));
    assert_eq!(cut(&network, &reduction, "rack1"), gb(100_000));
}

/// Two spines with two leaves each and 50 GB/s between the spines; the leaves have uplinks of 100 GB/s.
fn dumbbell() -> Sketch {
    let mut sketch = Sketch::new(&["pod", "cluster"]);
    for spine in ["s0", "s1"] {
        sketch.switch(spine);
    }
    for host in 0..4 {
        sketch.host(&format!("h{host}"), 4).link(&format!("h{host}"), &format!("s{}", host / 2), gb(100_000));
    }
    sketch.link("s0", "s1", gb(50_000));
    sketch
}

#[test]
fn a_narrow_place_between_children_shows_as_overstatement() {
    // Each host reaches its neighbor at 100 GB/s. {h0, h1} against {h2, h3}: 200 allowed, 50 carried, a factor of 4.
    let mut sketch = dumbbell();
    sketch.domain("all", "cluster", &["h0", "h1", "h2", "h3"].map(String::from));
    let network = sketch.network();
    let reduction = reduce(&network, Options::default()).unwrap();
    assert_eq!(cut(&network, &reduction, "h0"), gb(100_000));
    let split = &reduction.overstatements[0];
    assert_eq!((split.allowed, split.carried, split.side.len()), (gb(200_000), gb(50_000), 2));
    // Divided by 4 the hosts keep 25 each.
    let divided = reduce(&network, Options { divide: true }).unwrap();
    assert_eq!(divided.cluster.nodes[0].uplink_gb_s.unwrap().to_string(), "25");
    assert!(divided.warnings.is_empty());
}

#[test]
fn declaring_the_domains_between_removes_the_overstatement() {
    let mut sketch = dumbbell();
    sketch.domain("p0", "pod", &["h0", "h1"].map(String::from));
    sketch.domain("p1", "pod", &["h2", "h3"].map(String::from));
    sketch.domain("all", "cluster", &["p0", "p1"].map(String::from));
    let network = sketch.network();
    let reduction = reduce(&network, Options::default()).unwrap();
    assert_eq!(cut(&network, &reduction, "p1"), gb(50_000));
    assert!(reduction.overstatements.iter().all(|split| split.allowed == split.carried));
}

#[test]
fn the_shared_store_counts_as_something_to_talk_to() {
    // h0 reaches h1 over 10 GB/s and the store over 5 GB/s of its own: cut 15. The store reaches both over 5 + 10.
    let mut sketch = Sketch::new(&["cluster"]);
    sketch.host("h0", 1).host("h1", 1).switch("s").switch("t").link("h0", "s", gb(10_000)).link("h1", "s", gb(10_000));
    sketch.link("h0", "t", gb(5_000)).domain("all", "cluster", &["h0", "h1"].map(String::from));
    sketch.file.storage = Some(rats_domain::format::StorageFile { at: "t".to_owned(), gb_s: 40.into() });
    let network = sketch.network();
    let reduction = reduce(&network, Options::default()).unwrap();
    assert_eq!(cut(&network, &reduction, "h0"), gb(15_000));
    assert_eq!(cut(&network, &reduction, "h1"), gb(10_000));
    assert_eq!(reduction.cluster.storage_gb_s.unwrap().to_string(), "5");
}

#[test]
fn a_slurm_tree_of_three_levels() {
    let text = "\
# two pods of two leaves
SwitchName=leaf0 Nodes=n[00-03]
switchname=leaf1 Nodes=n[04-07] # a comment
SwitchName=leaf2 Nodes=n[08-11]
SwitchName=leaf3 Nodes=n12,n[13-15]
SwitchName=pod0 Switches=leaf[0-1] LinkSpeed=100
SwitchName=pod1 Switches=leaf2,leaf3
SwitchName=core \\
    Switches=pod[0-1]
";
    // Uplinks of nodes 12.5, leaves 25 (4 x 12.5 = 50 below), pods 60 of which 2 x 25 = 50 can be used.
    let uplinks = vec![gb(12_500), gb(25_000), gb(60_000)];
    let figures = Figures { gpus_per_node: Some(4), uplinks, ..figures("V100") };
    let (network, reduction) = reduced(Kind::Slurm, text, &figures).unwrap();
    assert_eq!(network.gpus, 64);
    assert_eq!(reduction.cluster.levels, ["switch1", "switch2", "switch3"]);
    assert_eq!(cut(&network, &reduction, "n15"), gb(12_500));
    assert_eq!(cut(&network, &reduction, "leaf3"), gb(25_000));
    assert_eq!(cut(&network, &reduction, "pod1"), gb(50_000));
    let leaf = reduction.cluster.switches.iter().find(|switch| switch.id == "leaf2").unwrap();
    assert_eq!((leaf.parent.as_deref(), leaf.level.as_str()), (Some("pod1"), "switch1"));
    assert!(reduction.overstatements.iter().all(|split| split.allowed == split.carried));
}

const SMI: &str = "\
\t\u{1b}[4mGPU0\tGPU1\tGPU2\tGPU3\tmlx5_0\tCPU Affinity\tNUMA Affinity\u{1b}[0m
GPU0\t X \tNV12\tNV12\tNV12\tPXB\t0-23\t0
GPU1\tNV12\t X \tNV12\tNV12\tPXB\t0-23\t0
GPU2\tNV12\tNV12\t X \tNV12\tSYS\t24-47\t1
GPU3\tNV12\tNV12\tNV12\t X \tSYS\t24-47\t1
mlx5_0\tPXB\tPXB\tSYS\tSYS\t X \t\t

Legend:
  X    = Self
";

#[test]
fn twelve_links_to_every_other_gpu_are_a_switch() {
    // 3 x 12 links are more than the 12 that an A100 has, so they lead to NVLink switches: 12 x 25 = 300 GB/s a GPU.
    let (network, reduction) = reduced(Kind::Smi, SMI, &figures("A100")).unwrap();
    assert_eq!(reduction.cluster.nodes[0].islands, None);
    assert!(network.file.links.iter().all(|link| link.gb_s.to_string() == "300"));
    // In a cluster the one adapter, below the PCIe switch of GPU 0 and 1, is the way out: 25 GB/s.
    let figures = Figures { nodes: 3, nic: Some(gb(25_000)), pcie: Some(gb(31_500)), ..figures("A100") };
    let (network, reduction) = reduced(Kind::Smi, SMI, &figures).unwrap();
    assert_eq!(cut(&network, &reduction, "node2"), gb(25_000));
}
