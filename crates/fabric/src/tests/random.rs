//! Random networks against a formula, brute force and no expectation at all.

use proptest::prelude::*;

use super::*;
use crate::flow::Side;
use crate::network::AreaKind;

/// The link of a host, and those of its GPUs.
type Host = (i64, Vec<i64>);

/// The link of a rack, and its hosts.
type Rack = (i64, Vec<Host>);

/// Racks of hosts of GPUs, with the links of each GPU, host and rack in GB/s.
#[derive(Clone, Debug)]
struct Tree {
    racks: Vec<Rack>,
}

fn trees() -> impl Strategy<Value = Tree> {
    let host = (1_i64..40, prop::collection::vec(1_i64..20, 1..4));
    let rack = (1_i64..60, prop::collection::vec(host, 1..4));
    prop::collection::vec(rack, 2..5).prop_map(|racks| Tree { racks })
}

impl Tree {
    fn network(&self) -> Network {
        let mut sketch = Sketch::new(&["rack", "cluster"]);
        sketch.switch("core");
        let mut racks = Vec::new();
        for (r, (uplink, hosts)) in self.racks.iter().enumerate() {
            let mut names = Vec::new();
            sketch.switch(&format!("leaf{r}")).link(&format!("leaf{r}"), "core", gb(uplink * 1000));
            for (h, (uplink, gpus)) in hosts.iter().enumerate() {
                let name = format!("h{r}-{h}");
                let count = i64::try_from(gpus.len()).unwrap();
                sketch.file.hosts.push(crate::host::node(&name, "G", count));
                for (gpu, rate) in gpus.iter().enumerate() {
                    sketch.link(&format!("{name}/{gpu}"), &name, gb(rate * 1000));
                }
                sketch.link(&name, &format!("leaf{r}"), gb(uplink * 1000));
                names.push(name);
            }
            sketch.domain(&format!("r{r}"), "rack", &names);
            racks.push(format!("r{r}"));
        }
        sketch.domain("all", "cluster", &racks);
        sketch.network()
    }

    /// What each link of hosts and racks can be used for: no more than is below and no more than the rest takes.
    fn tight(&self) -> Self {
        let host = |(uplink, gpus): &Host| (*uplink).min(gpus.iter().sum());
        let hosts = |(_, hosts): &Rack| hosts.iter().map(host).sum::<i64>();
        let rack = |rack: &Rack| rack.0.min(hosts(rack));
        let all: i64 = self.racks.iter().map(rack).sum();
        let tight = self.racks.iter().map(|of| {
            let rest = all - rack(of);
            let above = of.0.min(rest);
            let of_hosts = of.1.iter().map(|one| {
                let others = hosts(of) - host(one);
                (host(one).min(others + above), one.1.clone())
            });
            (rack(of).min(rest), of_hosts.collect())
        });
        Self { racks: tight.collect() }
    }

    /// Uplinks of racks and hosts in the order of the areas, without the root.
    fn uplinks(&self) -> Vec<KilobytesPerSecond> {
        let of = |(uplink, hosts): &Rack| {
            std::iter::once(*uplink).chain(hosts.iter().map(|(uplink, _)| *uplink)).collect::<Vec<_>>()
        };
        self.racks.iter().flat_map(of).map(|uplink| gb(uplink * 1000)).collect()
    }
}

/// A network of few vertices: hosts with one or two GPUs, switches, and any links between them.
fn small_networks() -> impl Strategy<Value = Network> {
    let hosts = prop::collection::vec(1_i64..3, 2..5);
    let links = prop::collection::vec((0_usize..16, 0_usize..16, 1_i64..30), 1..24);
    (hosts, 0_usize..4, links).prop_map(|(hosts, switches, links)| {
        let mut sketch = Sketch::new(&["pair", "all"]);
        let mut ends: Vec<String> = Vec::new();
        for (number, &gpus) in hosts.iter().enumerate() {
            sketch.file.hosts.push(crate::host::node(&format!("h{number}"), "G", gpus));
            ends.push(format!("h{number}"));
            ends.extend((0..gpus).map(|gpu| format!("h{number}/{gpu}")));
        }
        for switch in 0..switches {
            sketch.switch(&format!("s{switch}"));
            ends.push(format!("s{switch}"));
        }
        for (a, b, rate) in links {
            let (a, b) = (ends[a % ends.len()].clone(), ends[b % ends.len()].clone());
            if a != b {
                sketch.link(&a, &b, gb(rate * 1000));
            }
        }
        sketch.domain("p", "pair", &["h0", "h1"].map(String::from));
        let rest = (2..hosts.len()).map(|host| format!("h{host}"));
        sketch.domain("top", "all", &std::iter::once("p".to_owned()).chain(rest).collect::<Vec<_>>());
        sketch.network()
    })
}

/// The least capacity across all ways to put hosts and switches on either side.
fn brute_force(network: &Network, inside: &[usize]) -> KilobytesPerSecond {
    let file = &network.file;
    let gpus: Vec<String> =
        file.hosts.iter().flat_map(|host| (0..host.gpus).map(move |gpu| format!("{}/{gpu}", host.id))).collect();
    let free: Vec<String> = file.hosts.iter().map(|host| host.id.clone()).chain(file.switches.clone()).collect();
    let least = (0..1_usize << free.len()).map(|bits| {
        let side = |name: &str| match gpus.iter().position(|gpu| gpu == name) {
            Some(gpu) => inside.contains(&gpu),
            None => bits >> free.iter().position(|other| other == name).unwrap() & 1 == 1,
        };
        let crossing = file.links.iter().filter(|link| side(&link.a) != side(&link.b));
        crossing.map(|link| i64::try_from(link.gb_s.scaled(6).unwrap()).unwrap()).sum::<i64>()
    });
    KilobytesPerSecond(least.min().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_tree_comes_back_exactly(tree in trees()) {
        let tight = tree.tight();
        let reduction = reduce(&tree.network(), Options::default()).unwrap();
        prop_assert_eq!(&reduction.uplinks[1..], tight.uplinks());
        // A tree whose links are all usable is its own reduction, and promises nothing that it does not carry.
        let network = tight.network();
        let again = reduce(&network, Options::default()).unwrap();
        prop_assert_eq!(&again.uplinks[1..], tight.uplinks());
        for split in reduction.overstatements.iter().chain(&again.overstatements) {
            let declared = !matches!(network.areas[split.area].kind, AreaKind::Island(..));
            prop_assert!(declared && split.allowed == split.carried);
        }
    }

    #[test]
    fn a_cut_is_the_least_of_all_ways_to_divide(network in small_networks()) {
        let mut flow = network.flow();
        for area in &network.areas[1..] {
            let cut = flow.cut(|gpu| if area.gpus.contains(&gpu) { Side::From } else { Side::To });
            prop_assert_eq!(cut, brute_force(&network, &area.gpus), "{}", area.name);
        }
        if let Ok(reduction) = reduce(&network, Options::default()) {
            for split in &reduction.overstatements {
                prop_assert!(split.carried <= split.allowed);
            }
        }
    }

    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0_usize..5) {
        let kind = [Kind::Fabric, Kind::NcclXml, Kind::NvLink, Kind::Smi, Kind::Slurm][kind];
        let _ = read(kind, &bytes, &figures("V100")).map(|source| Network::new(source.file));
    }

    #[test]
    fn cut_and_patched_inputs_never_panic(at in 0_usize..4000, cut in any::<bool>(), byte in 32_u8..127, which in 0_usize..4) {
        let slurm = "SwitchName=a Nodes=n[1-2],m[01-03]x\nSwitchName=b Nodes=n3\nSwitchName=c Switches=a,b\n";
        let smi = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV2\tPIX\t0-3\t0\nGPU1\tNV2\t X \tSYS\t0-3\t0\nNIC0\tPIX\tSYS\t X\n";
        let xml = r#"<system><cpu><pci busid="1" class="0x0604" link_speed="8 GT/s" link_width="16"><pci busid="2" class="0x030200" link_speed="8 GT/s" link_width="16"><gpu sm="70"><nvlink target="2" count="2"/></gpu></pci><pci busid="3" class="0x0302"/></pci></cpu></system>"#;
        let table = dgx1_table();
        let (kind, text) = [(Kind::Slurm, slurm), (Kind::Smi, smi), (Kind::NcclXml, xml), (Kind::NvLink, &table)][which];
        let mut bytes = text.as_bytes().to_vec();
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        let uplinks = vec![gb(1); 3];
        let figures = Figures { gpus_per_node: Some(2), uplinks, pcie: Some(gb(12_000)), ..figures("V100") };
        if let Ok(source) = read(kind, &bytes, &figures) {
            let _ = Network::new(source.file).map(|network| reduce(&network, Options::default()));
        }
    }
}

#[test]
fn deep_and_wide_inputs_are_refused_not_suffered() {
    let deep = format!("<system>{}{}</system>", "<cpu>".repeat(20_000), "</cpu>".repeat(20_000));
    assert!(read(Kind::NcclXml, deep.as_bytes(), &figures("V100")).is_err());
    let pci = |n: usize| format!("<pci busid=\"{n}\" class=\"0x03\" link_speed=\"8 GT/s\" link_width=\"16\"/>");
    let wide = format!("<system><cpu>{}</cpu></system>", (0..5000).map(pci).collect::<String>());
    assert!(read(Kind::NcclXml, wide.as_bytes(), &figures("V100")).is_err());
}
