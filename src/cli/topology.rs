//! `rats topology reduce`: a network as the tree of an instance.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use rats_domain::decimal::Decimal;
use rats_domain::format::{ClusterFile, GpuTypeFile};
use rats_domain::problem::Problems;
use rats_domain::units::KilobytesPerSecond;
use serde::Serialize;

use super::{Answer, warn};
use crate::document::{Suspicion, json};
use crate::io::{STANDARD, bytes, keep_apart, place_warnings, placed, read_gpu, standard_once, write};
use crate::report::{Align, count, number, table};
use rats_fabric::islands::Joining;
use rats_fabric::network::{Area, AreaKind, Network};
use rats_fabric::overstate::Overstatement;
use rats_fabric::source::{self, Figures, Kind};
use rats_fabric::{Options, Reduction, reduce};

/// Of `rats topology`.
#[derive(Debug, Args)]
pub struct TopologyArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: TopologyCommand,
}

/// What to do with a network.
#[derive(Debug, Subcommand)]
pub enum TopologyCommand {
    /// Reduce a network to the `cluster` part of an instance.
    #[command(after_help = "\
Examples:
  rats topology reduce clos.json -o cluster.json
  rats topology reduce ndv4-topo.xml --gpu-type A100 --nodes 16 --nic-gb-s 25 --nvswitch-gb-s 300
  rats topology reduce DGX1Volta.csv --gpu-type V100
  nvidia-smi topo -m | rats topology reduce - --gpu-type A100
  rats topology reduce topology.conf --gpu-type V100 --gpus-per-node 4 --link-gb-s 12.5,50,100

Capacities are per direction. What the program assumes for PCIe and NVLink is listed in docs/topology.md.")]
    Reduce(Box<ReduceArgs>),
}

/// Of `rats topology reduce`.
#[derive(Debug, Args)]
pub struct ReduceArgs {
    /// The description, `-` for standard input.
    pub input: PathBuf,
    /// What it is; guessed from the name and content if not given.
    #[arg(long, value_enum)]
    pub from: Option<From>,
    /// Where to write the cluster, `-` for standard output instead of the summary.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where to write the network that was reduced, as `rats.fabric/1`.
    #[arg(long, value_name = "FILE")]
    pub fabric: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
    /// Divide uplinks so that no split of a domain allows more than its links carry.
    #[arg(long)]
    pub divide: bool,
    /// The kind of GPU, where the description names none.
    #[arg(long, value_name = "ID")]
    pub gpu_type: Option<String>,
    /// A file of format `rats.gpu/1` for its name, memory and idle power.
    #[arg(long, value_name = "FILE", conflicts_with = "gpu_type")]
    pub gpu: Option<PathBuf>,
    /// GPUs of a node, for Slurm.
    #[arg(long, value_name = "N")]
    pub gpus_per_node: Option<i64>,
    /// Number of nodes like the one described, below one network.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub nodes: u16,
    /// One network adapter, where the description gives no speed.
    #[arg(long, value_name = "GB/S", value_parser = rate)]
    pub nic_gb_s: Option<KilobytesPerSecond>,
    /// One PCIe link, where the description gives no speed.
    #[arg(long, value_name = "GB/S", value_parser = rate)]
    pub pcie_gb_s: Option<KilobytesPerSecond>,
    /// Between a socket and the others [default: 20.8].
    #[arg(long, value_name = "GB/S", value_parser = rate)]
    pub socket_gb_s: Option<KilobytesPerSecond>,
    /// Generation of NVLink, 1 to 5.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=5))]
    pub nvlink: Option<u8>,
    /// Each GPU to NVLink switches that the description does not show.
    #[arg(long, value_name = "GB/S", value_parser = rate)]
    pub nvswitch_gb_s: Option<KilobytesPerSecond>,
    /// Uplinks of nodes and of each level of switches below the root, narrow to wide, for Slurm.
    #[arg(long, value_name = "GB/S,...", value_delimiter = ',', value_parser = rate)]
    pub link_gb_s: Vec<KilobytesPerSecond>,
    /// Names of the levels, narrow to wide.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub levels: Vec<String>,
    /// The shared store at the root.
    #[arg(long, value_name = "GB/S", value_parser = rate)]
    pub storage_gb_s: Option<KilobytesPerSecond>,
    /// When NVLink makes GPUs an island.
    #[arg(long, value_enum, default_value_t = Islands::Direct)]
    pub islands: Islands,
}

/// A kind of description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum From {
    /// `rats.fabric/1`, JSON or TOML.
    Fabric,
    /// A topology file of NCCL.
    NcclXml,
    /// A table of NVLinks: `gpu_i,gpu_j,nvlink_links,pcie_path`.
    Nvlink,
    /// The output of `nvidia-smi topo -m`.
    Smi,
    /// Slurm's topology.conf.
    Slurm,
}

/// When NVLink makes GPUs an island.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Islands {
    /// Every two of them are joined.
    Direct,
    /// A path of NVLinks joins them.
    Connected,
}

/// The answer as a document.
#[derive(Serialize)]
struct Reduced<'r> {
    cluster: &'r ClusterFile,
    domains: Vec<DomainRow>,
    overstatement: Vec<SplitRow>,
    warnings: Vec<Suspicion>,
}

#[derive(Serialize)]
struct DomainRow {
    name: String,
    level: String,
    gpus: usize,
    /// The minimum cut; none for the root.
    cut_gb_s: Option<Decimal>,
}

#[derive(Serialize)]
struct SplitRow {
    domain: String,
    side: Vec<String>,
    allowed_gb_s: Decimal,
    carried_gb_s: Decimal,
    /// Infinite, so null, where nothing is carried.
    ratio: f64,
    exhaustive: bool,
}

pub(super) fn run(args: &TopologyArgs) -> Result<Answer, Problems> {
    let TopologyCommand::Reduce(args) = &args.command;
    let inputs = || args.gpu.iter().chain([&args.input]).map(PathBuf::as_path);
    standard_once(inputs())?;
    for path in args.output.iter().chain(&args.fabric) {
        keep_apart(path, inputs())?;
    }
    let bytes = bytes(&args.input)?;
    let kind = args.from.map_or_else(|| source::guess(&args.input.to_string_lossy(), &bytes), Kind::from);
    let place = |problems: Problems| placed(&args.input, problems);
    let source = source::read(kind, &bytes, &figures(args)?).map_err(place)?;
    if let Some(path) = &args.fabric {
        write(path, json(&source.file).as_bytes())?;
    }
    let network = Network::new(source.file).map_err(place)?;
    let reduction = reduce(&network, Options { divide: args.divide }).map_err(place)?;
    let mut warnings = source.warnings;
    warnings.extend(reduction.warnings.iter().cloned());
    place_warnings(&args.input, &mut warnings);
    warn(&warnings);
    let cluster = json(&reduction.cluster);
    let to_stdout = args.output.as_deref().is_some_and(|path| path == STANDARD);
    if let Some(path) = args.output.as_deref().filter(|_| !to_stdout) {
        write(path, cluster.as_bytes())?;
    }
    if args.json {
        let warnings = warnings.iter().map(Suspicion::from).collect();
        let (domains, overstatement) = (domains(&network, &reduction), splits(&network, &reduction));
        let document = Reduced { cluster: &reduction.cluster, domains, overstatement, warnings };
        return Ok(Answer::done(json(&document)));
    }
    Ok(Answer::done(if to_stdout { cluster } else { text(&network, &reduction, args) }))
}

fn figures(args: &ReduceArgs) -> Result<Figures, Problems> {
    let named = args.gpu_type.clone().map(|id| GpuTypeFile { id, idle_w: 0.into(), memory_mib: None });
    let gpu_type = match &args.gpu {
        None => named,
        Some(path) => {
            let gpu = read_gpu(path)?;
            let (idle_w, memory_mib) = (gpu.idle_w.value, Some(gpu.memory_mib.value));
            Some(GpuTypeFile { id: gpu.id, idle_w, memory_mib })
        }
    };
    Ok(Figures {
        gpu_type,
        gpus_per_node: args.gpus_per_node,
        nodes: usize::from(args.nodes),
        nic: args.nic_gb_s,
        pcie: args.pcie_gb_s,
        socket: args.socket_gb_s,
        nvlink: args.nvlink,
        nvswitch: args.nvswitch_gb_s,
        uplinks: args.link_gb_s.clone(),
        levels: args.levels.clone(),
        storage: args.storage_gb_s,
        joining: match args.islands {
            Islands::Direct => Joining::Direct,
            Islands::Connected => Joining::Connected,
        },
    })
}

fn domains(network: &Network, reduction: &Reduction) -> Vec<DomainRow> {
    let row = |(position, area): (usize, &Area)| DomainRow {
        name: area.name.clone(),
        level: match area.kind {
            AreaKind::Domain(domain) => network.file.domains[domain].level.clone(),
            AreaKind::Host(_) => "node".to_owned(),
            AreaKind::Island(..) => "island".to_owned(),
        },
        gpus: area.gpus.len(),
        cut_gb_s: area.parent.map(|_| decimal(reduction.uplinks[position])),
    };
    network.areas.iter().enumerate().map(row).collect()
}

fn splits(network: &Network, reduction: &Reduction) -> Vec<SplitRow> {
    let name = |&area: &usize| network.areas[area].name.clone();
    let rows = reduction.overstatements.iter().map(|split| SplitRow {
        domain: name(&split.area),
        side: split.side.iter().map(name).collect(),
        allowed_gb_s: decimal(split.allowed),
        carried_gb_s: decimal(split.carried),
        ratio: split.ratio(),
        exhaustive: split.exhaustive,
    });
    rows.collect()
}

fn text(network: &Network, reduction: &Reduction, args: &ReduceArgs) -> String {
    let mut rows = vec![
        ["domain", "level", "GPUs", "cut GB/s", "allowed GB/s", "carried GB/s", "ratio"].map(String::from).to_vec(),
    ];
    let splits = splits(network, reduction);
    for row in domains(network, reduction) {
        let split = splits.iter().find(|split| split.domain == row.name);
        let cell = |value: Option<String>| value.unwrap_or_default();
        rows.push(vec![
            row.name,
            row.level,
            row.gpus.to_string(),
            row.cut_gb_s.map_or("-".to_owned(), |cut| cut.to_string()),
            cell(split.map(|split| split.allowed_gb_s.to_string())),
            cell(split.map(|split| split.carried_gb_s.to_string())),
            cell(split.map(|split| number(split.ratio))),
        ]);
    }
    let mut text = table(&rows, &[Align::Left, Align::Left, Align::Right]);
    let worst = reduction.overstatements.iter().map(Overstatement::ratio).fold(1.0, f64::max);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n{} in {}; used at once, uplinks are overstated by at least a factor of {}\n",
        count(network.gpus, "GPU"),
        count(network.file.hosts.len(), "node"),
        number(worst)
    );
    if let Some(path) = &args.output {
        let _ = writeln!(text, "written to {}", path.display());
    }
    text
}

fn decimal(capacity: KilobytesPerSecond) -> Decimal {
    Decimal::from_scaled(i128::from(capacity.0), 6)
}

/// A rate in GB/s, above 0 and exact in kB/s.
fn rate(text: &str) -> Result<KilobytesPerSecond, String> {
    const MOST: i64 = 1_000_000_000_000;
    let value = Decimal::parse(text).map_err(|error| error.to_string())?.scaled(6);
    let value = value.and_then(|value| i64::try_from(value).ok()).filter(|value| (1..=MOST).contains(value));
    value.map(KilobytesPerSecond).ok_or_else(|| "must be above 0, at most 1000000, with at most 6 decimals".to_owned())
}

impl std::convert::From<From> for Kind {
    fn from(kind: From) -> Self {
        match kind {
            From::Fabric => Self::Fabric,
            From::NcclXml => Self::NcclXml,
            From::Nvlink => Self::NvLink,
            From::Smi => Self::Smi,
            From::Slurm => Self::Slurm,
        }
    }
}
