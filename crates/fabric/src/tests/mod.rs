//! Networks with known cuts, damaged ones, random ones and real ones.

mod damaged;
mod data;
mod hand;
mod random;

use std::fmt::Write as _;

use rats_domain::format::{Document, FabricFile, GpuTypeFile};
use rats_domain::problem::Problems;
use rats_domain::units::KilobytesPerSecond;

use super::network::Network;
use super::source::{Figures, Kind, read};
use super::{Options, Reduction, reduce};

/// What a user would give for this kind of GPU.
fn figures(gpu_type: &str) -> Figures {
    let gpu_type = Some(GpuTypeFile { id: gpu_type.to_owned(), idle_w: 0.into(), memory_mib: None });
    Figures { gpu_type, nodes: 1, ..Figures::default() }
}

fn reduced(kind: Kind, text: &str, figures: &Figures) -> Result<(Network, Reduction), Problems> {
    let network = Network::new(read(kind, text.as_bytes(), figures)?.file)?;
    let reduction = reduce(&network, Options::default())?;
    Ok((network, reduction))
}

/// GB/s with at most three decimals, exact.
fn gb(thousandths: i64) -> KilobytesPerSecond {
    KilobytesPerSecond(thousandths * 1000)
}

fn cut(network: &Network, reduction: &Reduction, name: &str) -> KilobytesPerSecond {
    reduction.uplinks[network.areas.iter().position(|area| area.name == name).unwrap()]
}

/// A network file from links `a b GB/s count`, hosts with 8 GPUs that reach their host at 100 GB/s each.
struct Sketch {
    file: FabricFile,
}

impl Sketch {
    fn new(levels: &[&str]) -> Self {
        let mut file = super::host::empty(GpuTypeFile { id: "G".to_owned(), idle_w: 0.into(), memory_mib: None });
        file.levels = levels.iter().map(ToString::to_string).collect();
        assert_eq!(file.format, FabricFile::FORMAT);
        Self { file }
    }

    fn host(&mut self, id: &str, gpus: i64) -> &mut Self {
        self.file.hosts.push(super::host::node(id, "G", gpus));
        for gpu in 0..gpus {
            self.link(&format!("{id}/{gpu}"), id, gb(100_000));
        }
        self
    }

    fn switch(&mut self, id: &str) -> &mut Self {
        self.file.switches.push(id.to_owned());
        self
    }

    fn link(&mut self, a: &str, b: &str, rate: KilobytesPerSecond) -> &mut Self {
        self.file.links.push(super::host::link_of(a.to_owned(), b.to_owned(), rate));
        self
    }

    fn domain(&mut self, id: &str, level: &str, members: &[String]) -> &mut Self {
        let (id, level, members) = (id.to_owned(), level.to_owned(), members.to_vec());
        self.file.domains.push(rats_domain::format::DomainFile { id, level, members });
        self
    }

    fn network(&self) -> Network {
        Network::new(self.file.clone()).unwrap()
    }
}

/// The NVLinks of a DGX-1 with V100: a hybrid cube mesh, 6 links a GPU.
const DGX1: [(usize, usize, i64); 16] = [
    (0, 1, 1),
    (0, 2, 1),
    (0, 3, 2),
    (0, 4, 2),
    (1, 2, 2),
    (1, 3, 1),
    (1, 5, 2),
    (2, 3, 2),
    (2, 6, 1),
    (3, 7, 1),
    (4, 5, 1),
    (4, 6, 1),
    (4, 7, 2),
    (5, 6, 2),
    (5, 7, 1),
    (6, 7, 2),
];

/// The table of a DGX-1; PCIe switches hold pairs, sockets hold quads.
fn dgx1_table() -> String {
    let mut table = "gpu_i,gpu_j,nvlink_links,pcie_path\n".to_owned();
    for a in 0..8 {
        for b in (0..8).filter(|&b| b != a) {
            let find = |&&(x, y, _): &&(usize, usize, i64)| (x, y) == (a.min(b), a.max(b));
            let links = DGX1.iter().find(find).map_or(0, |&(_, _, count)| count);
            let path = if a / 2 == b / 2 {
                "PIX"
            } else if a / 4 == b / 4 {
                "PHB"
            } else {
                "SYS"
            };
            writeln!(table, "{a},{b},{links},{path}").unwrap();
        }
    }
    table
}
