//! `rats dataset`: all measurements in three tidy tables, and what is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use rats_domain::codes::Code;
use rats_domain::pairs::Pairs;
use rats_domain::problem::{Problem, Problems};
use rats_domain::profile::Profile;
use rats_models::data::{Dataset, Group, Table, from_profiles, summary};

use super::{Answer, warn};
use crate::document::json;
use crate::import::{Source, import};
use crate::report::{Align, count, number, printable, table};

/// Of `rats dataset`.
#[derive(Debug, Args)]
pub struct DatasetArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: DatasetCommand,
}

/// What to do with the data set.
#[derive(Debug, Subcommand)]
pub enum DatasetCommand {
    /// Write the tables as CSV and Parquet, with a data dictionary.
    #[command(after_help = "\
Examples:
  rats dataset build -o dataset
  rats dataset build --data public-data -o dataset
  rats dataset build --from ttu=gv100-dvfs-ttu --from csv=my-gpu.csv -o dataset

Without --data and --from the rows come from the profiles that ship, without any other file.")]
    Build(BuildArgs),
    /// Say what is in a data set, by table, source and type of GPU.
    #[command(after_help = "Examples:\n  rats dataset info dataset\n  rats dataset info dataset --markdown")]
    Info(InfoArgs),
}

/// Of `rats dataset build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// A folder of profiles, as `rats import` writes them; may be given more than once.
    #[arg(long, value_name = "DIR", default_value = "instances/profiles")]
    pub profiles: Vec<PathBuf>,
    /// Original files of a source instead of profiles; may be given more than once.
    #[arg(long, value_name = "SOURCE=PATH", conflicts_with = "profiles")]
    pub from: Vec<Original>,
    /// A folder that holds the public data sets under their usual names, instead of profiles.
    #[arg(long, value_name = "DIR", conflicts_with = "profiles")]
    pub data: Option<PathBuf>,
    /// Leave damaged rows out, list them, and write the rest.
    #[arg(long)]
    pub lenient: bool,
    /// The folder to write to.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

/// Of `rats dataset info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The folder of a data set.
    pub folder: PathBuf,
    /// Print a table in Markdown.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Original files of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    source: Source,
    path: PathBuf,
}

impl FromStr for Original {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = text.split_once('=').ok_or("must be SOURCE=PATH, such as ttu=gv100-dvfs-ttu")?;
        let source = Source::ALL.into_iter().find(|source| source.name() == name).ok_or_else(|| {
            let names = Source::ALL.map(Source::name);
            format!("`{name}` is none of {}", names.join(", "))
        })?;
        Ok(Self { source, path: PathBuf::from(path) })
    }
}

pub(super) fn run(args: &DatasetArgs) -> Result<Answer, Problems> {
    match &args.command {
        DatasetCommand::Build(args) => build(args),
        DatasetCommand::Info(args) => info(args),
    }
}

fn build(args: &BuildArgs) -> Result<Answer, Problems> {
    let data = if args.from.is_empty() && args.data.is_none() { of_profiles(args)? } else { of_originals(args)? };
    let paths = data.write(&args.output)?;
    let rows = [(data.points.len(), "point"), (data.pairs.len(), "pair"), (data.gangs.len(), "gang")];
    let rows: Vec<_> = rows.into_iter().map(|(rows, noun)| count(rows, noun)).collect();
    let text = format!("{} written to {} in {}\n", rows.join(", "), args.output.display(), count(paths.len(), "file"));
    Ok(Answer::done(text))
}

fn of_profiles(args: &BuildArgs) -> Result<Dataset, Problems> {
    let mut all = Dataset::default();
    for folder in &args.profiles {
        let (data, warnings) = Dataset::of_profiles(folder)?;
        warn(&warnings);
        all.points.extend(data.points);
        all.pairs.extend(data.pairs);
        all.gangs.extend(data.gangs);
    }
    all.sort();
    Ok(all)
}

fn of_originals(args: &BuildArgs) -> Result<Dataset, Problems> {
    let mut paths: BTreeMap<Source, Vec<PathBuf>> = BTreeMap::new();
    if let Some(data) = &args.data {
        for source in Source::ALL {
            let found = source.folders().iter().map(|folder| data.join(folder)).filter(|path| path.exists());
            let found: Vec<_> = found.collect();
            if !found.is_empty() {
                paths.insert(source, found);
            }
        }
    }
    for original in &args.from {
        paths.entry(original.source).or_default().push(original.path.clone());
    }
    if paths.is_empty() {
        let place = args.data.as_ref().map_or_else(String::new, |data| data.display().to_string());
        let folders: Vec<_> = Source::ALL.iter().flat_map(|source| source.folders()).copied().collect();
        return Err(Problem::new(Code::D12, place, format!("holds none of {}.", folders.join(", "))).into());
    }
    let (mut profiles, mut pairs, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for (source, paths) in paths {
        let imported = import(source, &paths)?;
        warn(&imported.findings.warnings);
        problems.extend(imported.findings.damaged);
        // Importers leave only what is valid.
        profiles.extend(imported.profiles.into_iter().filter_map(|file| Profile::new(file).ok()));
        pairs.extend(imported.pairs.into_iter().filter_map(|file| Pairs::new(file).ok()));
    }
    if !problems.is_empty() && (!args.lenient || profiles.is_empty() && pairs.is_empty()) {
        return Err(Problems(problems));
    }
    for problem in &problems {
        super::say(&format!("left out {}\n", printable(&problem.to_string())));
    }
    let (data, warnings) = from_profiles(&profiles, &pairs);
    warn(&warnings);
    Ok(data)
}

fn info(args: &InfoArgs) -> Result<Answer, Problems> {
    let groups = summary(&Dataset::read(&args.folder)?);
    if args.json {
        return Ok(Answer::done(json(&groups)));
    }
    let head = [
        "TABLE",
        "SOURCE",
        "GPU",
        "ROWS",
        "WORKLOADS",
        "SM MHZ",
        "MEM MHZ",
        "LIMIT W",
        "GPUS",
        "TIMES",
        "POWERS",
        "COUNTERS",
        "FLAGS",
        "LICENCE",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(groups.iter().map(row));
    let text = if args.markdown { markdown(&rows) } else { table(&rows, &aligns()) };
    Ok(Answer::done(text))
}

fn aligns() -> Vec<Align> {
    let (left, right) = ([Align::Left; 3], [Align::Right; 9]);
    left.into_iter().chain(right).chain([Align::Left]).collect()
}

fn row(group: &Group) -> Vec<String> {
    let name = match group.table {
        Table::Points => "points",
        Table::Pairs => "pairs",
        Table::Gangs => "gangs",
    };
    let flags: Vec<_> = group.flags.iter().map(|(flag, rows)| format!("{flag} {rows}")).collect();
    let licences: Vec<_> = group.licences.iter().map(String::as_str).collect();
    let limits = group
        .power_limit_w
        .map_or_else(|| "-".to_owned(), |(least, most)| format!("{}-{}", number(least), number(most)));
    vec![
        name.to_owned(),
        group.source.clone(),
        group.gpu.clone(),
        group.rows.to_string(),
        group.workloads.to_string(),
        range(&group.sm_mhz),
        range(&group.mem_mhz),
        limits,
        range(&group.gpus),
        group.times.to_string(),
        group.powers.to_string(),
        group.counters.to_string(),
        if flags.is_empty() { "-".to_owned() } else { flags.join(", ") },
        if licences.is_empty() { "-".to_owned() } else { licences.join(", ") },
    ]
}

/// `595-1164 (16)`: least, greatest and number of values.
fn range(values: &BTreeSet<i64>) -> String {
    match (values.first(), values.last()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least}-{most} ({})", values.len()),
        _ => "-".to_owned(),
    }
}

fn markdown(rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut lines: Vec<_> = rows.iter().map(|row| line(row)).collect();
    let columns = rows.first().map_or(0, Vec::len);
    lines.insert(lines.len().min(1), format!("|{}\n", "---|".repeat(columns)));
    lines.concat()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    const TABLE: &str = "# id: mine\n# licence: CC0-1.0\nmodel,gpu_type,sm_mhz,step_s,power_w\nnet,a40,1740,0.1,250\n";

    fn shipped() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("instances/profiles")
    }

    fn args(output: &Path) -> BuildArgs {
        BuildArgs { profiles: vec![shipped()], from: Vec::new(), data: None, lenient: false, output: output.to_owned() }
    }

    fn told(folder: &Path, markdown: bool, as_json: bool) -> String {
        info(&InfoArgs { folder: folder.to_owned(), markdown, json: as_json }).unwrap().text
    }

    #[test]
    fn a_fresh_clone_builds_the_data_set_and_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let answer = build(&args(folder.path())).unwrap();
        assert!(answer.text.starts_with("20821 points, 11883 pairs, 1319 gangs written to "), "{}", answer.text);
        let data = Dataset::read(folder.path()).unwrap();
        let sum =
            |gpu: &str| data.points.iter().filter(|point| point.source == "ulisboa-power" && point.gpu == gpu).count();
        assert_eq!(["gtx-titan-x", "titan-xp", "titan-v", "k40c"].map(sum), [6528, 1608, 1760, 400]);
        for point in &data.points {
            let provenance = &point.provenance;
            assert!(provenance.licence.is_some() && provenance.commit.is_some() && provenance.file.is_some());
        }
        assert!(told(folder.path(), true, false).contains("| points | ttu | v100 | 2808 | 24 | 510-1380 (117) |"));
    }

    #[test]
    fn the_page_on_the_data_set_shows_the_summary_of_today() {
        let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/dataset.md")).unwrap();
        let (data, _) = Dataset::of_profiles(&shipped()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        data.write(folder.path()).unwrap();
        assert!(page.contains(&told(folder.path(), true, false)), "write the table of docs/dataset.md again");
    }

    #[test]
    fn originals_give_the_rows_of_the_profiles_that_ship() {
        let Some(data) = std::env::var_os("RATS_DATA_DIR") else {
            println!("skipped: RATS_DATA_DIR is not set");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let originals = of_originals(&BuildArgs { data: Some(data.into()), ..args(folder.path()) }).unwrap();
        assert!(originals == Dataset::of_profiles(&shipped()).unwrap().0);
    }

    #[test]
    fn ones_own_table_becomes_a_data_set_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.csv");
        fs::write(&path, TABLE).unwrap();
        let output = folder.path().join("out");
        let from = vec![format!("csv={}", path.display()).parse().unwrap()];
        build(&BuildArgs { from, ..args(&output) }).unwrap();
        let data = Dataset::read(&output).unwrap();
        let point = &data.points[0];
        assert_eq!((point.source.as_str(), point.workload.as_str(), point.energy_j), ("mine", "net", Some(25.0)));
        assert_eq!(point.provenance.licence.as_deref(), Some("CC0-1.0"));
        assert!(told(&output, false, false).contains("mine"));
        assert!(told(&output, false, true).contains("\"rows\": 1"));
    }

    #[test]
    fn damaged_originals_write_nothing_unless_asked_to_leave_rows_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.csv");
        fs::write(&path, format!("{TABLE}net,a40,1000,0,180\n")).unwrap();
        let output = folder.path().join("out");
        let from = || vec![format!("csv={}", path.display()).parse().unwrap()];
        let problems = build(&BuildArgs { from: from(), ..args(&output) }).unwrap_err();
        assert_eq!((problems.0[0].code, output.exists()), (Code::D05, false));
        build(&BuildArgs { from: from(), lenient: true, ..args(&output) }).unwrap();
        assert_eq!(Dataset::read(&output).unwrap().points.len(), 1);
    }

    #[test]
    fn a_folder_without_data_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().to_owned();
        let data = build(&BuildArgs { data: Some(empty.clone()), ..args(&empty) }).unwrap_err();
        let profiles = build(&BuildArgs { profiles: vec![empty.clone()], ..args(&empty) }).unwrap_err();
        assert_eq!((data.0[0].code, profiles.0[0].code), (Code::D12, Code::D12));
        let info = info(&InfoArgs { folder: empty, markdown: false, json: false }).unwrap_err();
        assert_eq!(info.0[0].code, Code::U01);
        assert!("ttu".parse::<Original>().is_err() && "nobody=x".parse::<Original>().is_err());
    }
}
