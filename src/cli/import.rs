//! `rats import`: published measurements to profiles, with a report of what was read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use serde::Serialize;

use super::Answer;
use crate::document::{Suspicion, json};
use crate::import::{Findings, Imported, Source, import, import_runs, write};
use crate::report::{Align, count, printable, table};

/// Of `rats import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Whose layout the files have.
    #[arg(value_enum)]
    pub source: SourceOf,
    /// Files, or folders that are searched for files of the source.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The folder to write to, one file a profile.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Leave damaged rows out, list them, and write the rest.
    #[arg(long)]
    pub lenient: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Whose measurements `rats import` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SourceOf {
    /// Zeus (NSDI 2023): training under power limits on V100, P100, A40, RTX 6000.
    Zeus,
    /// Perseus (SOSP 2024): pipeline stages and training at locked clocks on A100 and A40.
    Perseus,
    /// Texas Tech University: applications on a V100 at 117 clocks.
    Ttu,
    /// Gavel (OSDI 2020): throughput on K80, P100, V100 by gang and by neighbor.
    Gavel,
    /// Muri (SIGCOMM 2022): stage times on 1 to 32 V100.
    Muri,
    /// University of Lisbon, gpuPTXModel: kernels on a GTX Titan X by SM and memory clock, time and power.
    UlisboaPtx,
    /// University of Lisbon, gpupowermodel: kernels on four boards by SM and memory clock, power and utilizations.
    UlisboaPower,
    /// Kernel Tuner: caches of kernels at locked clocks, time and power.
    KernelTuner,
    /// MPT training benchmarks: language models on 8 to 512 A100 and H100.
    Mpt,
    /// A plain table of your own.
    Csv,
    /// Runs of `rats execute`: their folders, or their traces.
    Trace,
    /// Clocks and power limits out of `nvidia-smi` dumps, as files of format `rats.gpu/1`.
    Clocks,
}

impl SourceOf {
    /// Whose published files they are; none for clocks, which are no profiles, and for runs of our own.
    pub fn of_profiles(self) -> Option<Source> {
        match self {
            Self::Zeus => Some(Source::Zeus),
            Self::Perseus => Some(Source::Perseus),
            Self::Ttu => Some(Source::Ttu),
            Self::Gavel => Some(Source::Gavel),
            Self::Muri => Some(Source::Muri),
            Self::UlisboaPtx => Some(Source::UlisboaPtx),
            Self::UlisboaPower => Some(Source::UlisboaPower),
            Self::KernelTuner => Some(Source::KernelTuner),
            Self::Mpt => Some(Source::Mpt),
            Self::Csv => Some(Source::Csv),
            Self::Trace | Self::Clocks => None,
        }
    }
}

#[derive(Serialize)]
struct Document {
    source: &'static str,
    files: Vec<FileEntry>,
    unread: Vec<UnreadEntry>,
    profiles: Vec<ProfileEntry>,
    pairs: Vec<PairsEntry>,
    /// What was left out, with `--lenient`.
    damaged: Vec<Suspicion>,
    warnings: Vec<Suspicion>,
    notes: Vec<String>,
    written: Vec<PathBuf>,
}

#[derive(Serialize)]
struct FileEntry {
    path: String,
    rows: usize,
    left_out: usize,
}

#[derive(Serialize)]
struct UnreadEntry {
    path: String,
    why: &'static str,
}

#[derive(Serialize)]
struct ProfileEntry {
    id: String,
    gpu_type: String,
    points: usize,
    scaling: usize,
}

#[derive(Serialize)]
struct PairsEntry {
    id: String,
    gpu_type: String,
    pairs: usize,
}

pub(super) fn run(args: &ImportArgs) -> Result<Answer, Problems> {
    let (name, imported) = match args.source.of_profiles() {
        Some(source) => (source.name(), import(source, &args.paths)?),
        None if args.source == SourceOf::Trace => ("trace", import_runs(&args.paths)?),
        None => return clocks(args),
    };
    if !args.lenient && !imported.findings.damaged.is_empty() {
        return Err(Problems(imported.findings.damaged));
    }
    if imported.profiles.is_empty() && imported.pairs.is_empty() && !imported.findings.damaged.is_empty() {
        return Err(Problems(imported.findings.damaged));
    }
    let written = write(&imported, &args.output)?;
    let text = if args.json { json(&document(name, imported, written)) } else { text(&imported, args, written.len()) };
    Ok(Answer::done(text))
}

/// The catalogue of GPUs is read from one folder.
fn clocks(args: &ImportArgs) -> Result<Answer, Problems> {
    match args.paths.as_slice() {
        [folder] => super::clocks::run(folder, &args.output),
        _ => Err(Problem::new(Code::U05, "command line", "`rats import clocks` takes one folder.").into()),
    }
}

fn document(source: &'static str, imported: Imported, written: Vec<PathBuf>) -> Document {
    let damaged = |problem: &Problem| Suspicion {
        code: problem.code.id(),
        place: problem.place.clone(),
        message: problem.message.clone(),
    };
    let findings = imported.findings;
    Document {
        source,
        files: findings
            .files
            .into_iter()
            .map(|file| FileEntry { path: file.path, rows: file.rows, left_out: file.left_out })
            .collect(),
        unread: findings.unread.into_iter().map(|file| UnreadEntry { path: file.path, why: file.why }).collect(),
        profiles: imported
            .profiles
            .into_iter()
            .map(|file| ProfileEntry {
                id: file.id,
                gpu_type: file.gpu_type,
                points: file.points.len(),
                scaling: file.scaling.len(),
            })
            .collect(),
        pairs: imported
            .pairs
            .into_iter()
            .map(|file| PairsEntry { id: file.id, gpu_type: file.gpu_type, pairs: file.pairs.len() })
            .collect(),
        damaged: findings.damaged.iter().map(damaged).collect(),
        warnings: findings.warnings.iter().map(Suspicion::from).collect(),
        notes: findings.notes,
        written,
    }
}

fn text(imported: &Imported, args: &ImportArgs, written: usize) -> String {
    let findings = &imported.findings;
    let mut rows = vec![["FILE", "ROWS", "LEFT OUT"].map(str::to_owned).to_vec()];
    rows.extend(findings.files.iter().map(|f| vec![f.path.clone(), f.rows.to_string(), f.left_out.to_string()]));
    let mut text = table(&rows, &[Align::Left, Align::Right, Align::Right]);
    // Writing to a string cannot fail.
    text.push_str(&unread(findings));
    if !findings.damaged.is_empty() {
        text.push_str("\nLeft out\n");
        for problem in &findings.damaged {
            let _ = writeln!(text, "  {}", printable(&problem.to_string()));
        }
    }
    if !findings.warnings.is_empty() {
        text.push_str("\nSuspicious\n");
        for warning in &findings.warnings {
            let _ = writeln!(text, "  {}", printable(&warning.to_string()));
        }
    }
    if !findings.notes.is_empty() {
        text.push_str("\nNotes\n");
        for note in &findings.notes {
            let _ = writeln!(text, "  {}", printable(note));
        }
    }
    let points: usize = imported.profiles.iter().map(|file| file.points.len()).sum();
    let (profiles, pairs) = (imported.profiles.len(), imported.pairs.len());
    let folder = args.output.display();
    let _ = writeln!(
        text,
        "\nWrote {} to {folder}: {}, {}, {}.",
        count(written, "file"),
        count(profiles, "profile"),
        count(points, "point"),
        count(pairs, "pair list"),
    );
    text
}

/// Files that were not read, by reason.
fn unread(findings: &Findings) -> String {
    const SHOWN: usize = 3;
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in &findings.unread {
        reasons.entry(file.why).or_default().push(&file.path);
    }
    let mut text = if reasons.is_empty() { String::new() } else { "\nNot read\n".to_owned() };
    for (why, paths) in reasons {
        let more = if paths.len() > SHOWN { ", ..." } else { "" };
        let shown = paths[..paths.len().min(SHOWN)].join(", ");
        let _ = writeln!(text, "  {}, {why}: {shown}{more}", count(paths.len(), "file"));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use rats_domain::codes::Code;

    use super::*;

    const TABLE: &str = "model,gpu_type,sm_mhz,step_s,power_w\nnet,a40,1740,0.1,250\nnet,a40,1000,oops,180\n";

    fn args(folder: &Path, lenient: bool, json: bool) -> ImportArgs {
        let path = folder.join("mine.csv");
        fs::write(&path, TABLE).unwrap();
        ImportArgs { source: SourceOf::Csv, paths: vec![path], output: folder.join("out"), lenient, json }
    }

    #[test]
    fn a_damaged_row_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let problems = run(&args(folder.path(), false, false)).unwrap_err();
        assert_eq!(problems.0.iter().map(|problem| problem.code).collect::<Vec<_>>(), [Code::D04]);
        assert!(problems.0[0].place.ends_with("mine.csv: line 3, step_s"), "{}", problems.0[0].place);
        assert!(!folder.path().join("out").exists());
    }

    #[test]
    fn lenient_writes_the_rest_and_lists_what_it_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let answer = run(&args(folder.path(), true, false)).unwrap();
        assert_eq!(answer.exit, 0);
        assert!(answer.text.contains("Left out\n  [D04]"), "{}", answer.text);
        assert!(answer.text.contains("Wrote 1 file to "), "{}", answer.text);
        let written = fs::read_to_string(folder.path().join("out/a40-net.json")).unwrap();
        assert!(written.contains("\"sm_mhz\": 1740") && !written.contains("1000"));
    }

    #[test]
    fn json_holds_every_row_count_and_every_finding() {
        let folder = tempfile::tempdir().unwrap();
        let answer = run(&args(folder.path(), true, true)).unwrap();
        let document: serde_json::Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(document["files"][0]["rows"], 2);
        assert_eq!(document["files"][0]["left_out"], 1);
        assert_eq!(document["damaged"][0]["code"], "D04");
        assert_eq!(document["profiles"][0]["id"], "a40-net");
    }

    /// Job `a` on one A40 at 1000 MHz: 20 s of start-up, then 100 steps of 5 s at 210 W by the GPU's counter.
    fn run_folder(folder: &Path, last: &str) -> PathBuf {
        let planned =
            r#"{"job":"a","option":0,"point":{"sm_mhz":1000},"start":0,"ticks":10,"gpus":["n/0"],"power_w":200.0,
            "peak_w":200.0,"idle_w":30.0,"gpu_type":"a40","workload":"net"}"#
                .replace('\n', "");
        let state = |state: &str, more: &str| format!(r#""event":"job","job":"a","state":"{state}","attempt":1{more}"#);
        let progress = |done: u32| format!(r#""event":"progress","job":"a","done":{done},"all":100"#);
        let lines = [
            (0.0, r#""event":"begin","format":"rats.trace/1","version":"0","run":"r","pid":1,"host":"h","plan_s":0.0,"speedup":1.0,"hz":1.0,"gpus":[["n/0","GPU-0"]]"#.to_owned()),
            (0.0, format!(r#""event":"plan","instance":"i","tick_s":60,"origin_s":0.0,"jobs":[{planned}],"energy_j":9.0,"run_j":8.0"#)),
            (1.0, r#""event":"set","gpu":"n/0","job":"a","requested":{"sm_mhz":1000},"applied":{"sm_mhz":1005},"took_s":0.1"#.to_owned()),
            (10.0, state("running", r#","counters_j":[1000.0]"#)),
            (30.0, progress(0)),
            (530.0, progress(100)),
            (530.0, state("done", &format!(r#","counters_j":[{}],"steps":100"#, 1000.0 + 520.0 * 210.0))),
        ];
        let run = folder.join("run");
        fs::create_dir_all(&run).unwrap();
        let text: String = lines.map(|(t, what)| format!("{{\"t\":{t},\"wall\":{t},{what}}}\n")).concat();
        fs::write(run.join("trace.jsonl"), text + last).unwrap();
        run
    }

    #[test]
    fn a_run_becomes_the_profiles_that_its_report_writes() {
        let folder = tempfile::tempdir().unwrap();
        let run_dir = run_folder(folder.path(), "{\"t\": 5");
        let output = folder.path().join("out");
        let args =
            ImportArgs { source: SourceOf::Trace, paths: vec![run_dir.clone()], output, lenient: false, json: true };
        let answer = run(&args).unwrap();
        let document: serde_json::Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!((&document["source"], &document["files"][0]["rows"]), (&"trace".into(), &7.into()));
        assert!(document["notes"][0].as_str().unwrap().contains("cut short"), "{}", answer.text);
        let text = fs::read(folder.path().join("out/a40-net-trace.json")).unwrap();
        let profile = rats_domain::profile::Profile::read(&text).unwrap().profile;
        let point = &profile.points[0];
        assert_eq!((profile.points.len(), point.sm_mhz), (1, Some(1005)));
        assert!((point.step_s.unwrap() - 5.0).abs() < 1e-9 && (point.power_w.unwrap() - 210.0).abs() < 1e-9);
        // The other way to the same profile.
        let trace = rats_testbed::trace::read(&run_dir.join("trace.jsonl")).unwrap();
        let source = run_dir.join("trace.jsonl").display().to_string();
        let jobs = rats_testbed::verdict::usable(&trace, &source).unwrap();
        let reported = rats_testbed::verdict::profiles(&jobs, &source);
        assert_eq!(serde_json::from_slice::<rats_domain::format::ProfileFile>(&text).unwrap(), reported[0]);
        // Two runs of a workload are one profile; the same run twice is a mistake.
        let again = run_folder(&folder.path().join("again"), "");
        let output = folder.path().join("both");
        let both =
            |paths| ImportArgs { source: SourceOf::Trace, paths, output: output.clone(), lenient: false, json: false };
        run(&both(vec![run_dir.clone(), again])).unwrap();
        let text = fs::read(output.join("a40-net-trace.json")).unwrap();
        assert_eq!(rats_domain::profile::Profile::read(&text).unwrap().profile.points[0].samples, Some(2));
        assert_eq!(run(&both(vec![run_dir.clone(), run_dir])).unwrap_err().0[0].code, Code::U05);
    }

    #[test]
    fn a_run_without_success_and_a_file_that_is_no_trace_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let run_dir = run_folder(folder.path(), "");
        let path = run_dir.join("trace.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        let args = |path: &Path| ImportArgs {
            source: SourceOf::Trace,
            paths: vec![path.to_owned()],
            output: folder.path().join("out"),
            lenient: false,
            json: false,
        };
        fs::write(&path, text.split_inclusive('\n').take(5).collect::<String>()).unwrap();
        assert_eq!(run(&args(&run_dir)).unwrap_err().0[0].code, Code::D14);
        for broken in ["no line\n", ""] {
            fs::write(&path, broken).unwrap();
            assert_eq!(run(&args(&path)).unwrap_err().0[0].code, Code::X11);
        }
        assert!(!folder.path().join("out").exists());
    }

    #[test]
    fn a_path_that_does_not_exist_is_u01() {
        let folder = tempfile::tempdir().unwrap();
        let mut args = args(folder.path(), true, false);
        args.paths = vec![folder.path().join("none")];
        assert_eq!(run(&args).unwrap_err().0[0].code, Code::U01);
    }
}
