//! `rats discover`: GPUs as the cluster of a scenario and an inventory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::InventoryFile;
use rats_domain::problem::{Problem, Problems};
use rats_domain::units::KilobytesPerSecond;
use rats_system::files::{STANDARD, bytes, can_write, keep_apart, placed, standard_once, write};

use super::{Answer, LibraryArgs, json};
use crate::discover::text::{document, scenario, table};
use crate::discover::{Machine, dump, this_machine, tree};
use crate::inventory::Inventory;

/// Of `rats discover`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rats discover -o cluster.toml --inventory inventory.json
  nvidia-smi -q -x > tux1.xml; rats discover tux1.xml
  rats discover tux1.xml tux2.xml --nic-gb-s 12.5 -o cluster.toml --inventory inventory.json")]
pub struct DiscoverArgs {
    /// Dumps of `nvidia-smi -q -x`, one a machine, `-` for standard input; this machine's NVML if none is given.
    pub dumps: Vec<PathBuf>,
    /// Where to write the beginning of a scenario, `-` for standard output instead of the table.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where to write which GPU is which.
    #[arg(long, value_name = "FILE")]
    pub inventory: Option<PathBuf>,
    /// Name of the machine [default: its host name, or the name of the dump].
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// How long to watch what idle GPUs draw.
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = seconds)]
    pub idle_seconds: f64,
    /// What one machine's network adapters carry together, where there are several machines.
    #[arg(long, value_name = "GB/S", value_parser = rate)]
    pub nic_gb_s: Option<KilobytesPerSecond>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
    /// Which NVML.
    #[command(flatten)]
    pub library: LibraryArgs,
}

/// Looks at this machine or at dumps.
///
/// # Errors
/// There is no NVML, a dump is damaged, or a file cannot be written.
pub fn run(args: &DiscoverArgs) -> Result<Answer, Problems> {
    let inputs = || args.dumps.iter().map(PathBuf::as_path);
    standard_once(inputs())?;
    let files = args.output.iter().chain(&args.inventory).filter(|path| *path != Path::new(STANDARD));
    for path in files {
        keep_apart(path, inputs())?;
        can_write(path)?;
    }
    let machines = machines(args)?;
    let cluster = tree::cluster(&machines, args.nic_gb_s)?;
    // What cannot be told apart cannot be executed on.
    if args.inventory.is_some() {
        Inventory::new(cluster.inventory.clone())?;
    }
    let name = machines.iter().map(|machine| machine.host.as_str()).collect::<Vec<_>>().join("-");
    let scenario = scenario(&name, &cluster)?;
    if let Some(path) = &args.inventory {
        write(path, inventory(&cluster.inventory)?.as_bytes())?;
    }
    let text = match args.output.as_deref() {
        Some(path) if path == Path::new(STANDARD) => scenario,
        output => {
            if let Some(path) = output {
                write(path, scenario.as_bytes())?;
            }
            if args.json { json(&document(&machines, &cluster)?) } else { table(&machines, &cluster) }
        }
    };
    Ok(Answer { text, exit: 0, warnings: cluster.warnings })
}

fn machines(args: &DiscoverArgs) -> Result<Vec<Machine>, Problems> {
    if args.dumps.is_empty() {
        let host = args.host.clone().unwrap_or_else(host_name);
        let gpus = args.library.open().map_err(|error| error.problem("NVML"))?;
        let window = Duration::from_secs_f64(args.idle_seconds);
        return Ok(vec![this_machine(&gpus, &host, window).map_err(|error| error.problem(&host))?]);
    }
    if args.host.is_some() && args.dumps.len() > 1 {
        let message = "--host names one machine, and there are several dumps.";
        return Err(Problem::new(Code::U05, "command line", message).into());
    }
    let (mut machines, mut problems): (Vec<Machine>, Vec<Problem>) = (Vec::new(), Vec::new());
    for path in &args.dumps {
        let host = args.host.clone().unwrap_or_else(|| stem(path));
        match bytes(path).map_err(Problems::from).and_then(|bytes| dump::read(&bytes, &host)) {
            Ok(machine) if machines.iter().any(|other| other.host == machine.host) => {
                let message = format!("two machines would have the name `{host}`.");
                problems.push(Problem::new(Code::U05, path.display().to_string(), message));
            }
            Ok(machine) => machines.push(machine),
            Err(found) => problems.extend(placed(path, found).0),
        }
    }
    if problems.is_empty() { Ok(machines) } else { Err(Problems(problems)) }
}

/// An inventory as it is written, one GPU a line.
fn inventory(file: &InventoryFile) -> Result<String, Problem> {
    let failed = |error: serde_json::Error| Problem::new(Code::U08, "inventory", format!("{error}."));
    let lines: Result<Vec<String>, _> = file.gpus.iter().map(serde_json::to_string).collect();
    let lines = lines.map_err(failed)?;
    Ok(format!("{{\n \"format\": \"{}\",\n \"gpus\": [\n  {}\n ]\n}}\n", file.format, lines.join(",\n  ")))
}

/// `tux1` of `dumps/tux1.xml.gz`.
fn stem(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let stem = name.trim_end_matches(".gz").trim_end_matches(".xml");
    if stem.is_empty() || stem == STANDARD { "machine".to_owned() } else { stem.to_owned() }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn seconds(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=3600.0).contains(value));
    value.ok_or_else(|| "must be 0 to 3600".to_owned())
}

/// A rate in GB/s, above 0 and exact in kB/s.
fn rate(text: &str) -> Result<KilobytesPerSecond, String> {
    const MOST: i64 = 1_000_000_000_000;
    let value = Decimal::parse(text).map_err(|error| error.to_string())?.scaled(6);
    let value = value.and_then(|value| i64::try_from(value).ok()).filter(|value| (1..=MOST).contains(value));
    value.map(KilobytesPerSecond).ok_or_else(|| "must be above 0, at most 1000000, with at most 6 decimals".to_owned())
}
