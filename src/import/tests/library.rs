//! The profiles that ship, and the full data they were made from, where that is at hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::format::{Flag, PairFile, ProfileFile};
use rats_domain::pairs::Pairs;
use rats_domain::profile::Profile;

use super::*;
use crate::import::{contents, import};

/// The sources of which profiles ship: all with public data.
fn shipped_sources() -> impl Iterator<Item = Source> {
    Source::ALL.into_iter().filter(|source| !source.folders().is_empty())
}

/// The full data of a source, if the environment says where it is; without any damage.
fn full(source: Source) -> Option<Imported> {
    let Some(root) = std::env::var_os("RATS_DATA_DIR") else {
        println!("skipped: RATS_DATA_DIR is not set");
        return None;
    };
    let paths: Vec<_> = source.folders().iter().map(|folder| PathBuf::from(&root).join(folder)).collect();
    let imported = import(source, &paths).unwrap();
    assert_eq!(imported.findings.damaged, []);
    Some(imported)
}

/// Rows of every file read, by the end of its name.
fn rows(imported: &Imported) -> BTreeMap<String, usize> {
    let name = |path: &str| Path::new(path).file_name().unwrap().to_string_lossy().into_owned();
    imported.findings.files.iter().map(|file| (name(&file.path), file.rows)).collect()
}

fn warnings(imported: &Imported, code: Code) -> usize {
    imported.findings.warnings.iter().filter(|warning| warning.code == code).count()
}

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instances/profiles")
}

/// The content of every shipped file of a source, by name.
fn shipped_files(source: Source) -> BTreeMap<String, String> {
    let entries = fs::read_dir(shipped().join(source.name())).unwrap().map(|entry| entry.unwrap());
    entries.map(|e| (e.file_name().into_string().unwrap(), fs::read_to_string(e.path()).unwrap())).collect()
}

#[test]
fn zeus_has_the_rows_its_authors_state() {
    let Some(imported) = full(Source::Zeus) else { return };
    let rows = rows(&imported);
    let traces = ["a40", "p100", "rtx6000", "v100"].map(|gpu| rows[&format!("summary_power_{gpu}.csv")]);
    assert_eq!(traces, [453, 270, 410, 476]);
    assert_eq!(rows["summary_train.csv"], 3759);
    let of = |part: &str| imported.profiles.iter().filter(|profile| profile.id.starts_with(part)).count();
    assert_eq!(["a40-zeus-", "p100-zeus-", "rtx6000-zeus-", "v100-zeus-"].map(of), [59, 45, 52, 74]);
}

#[test]
fn perseus_has_the_rows_its_authors_state() {
    let Some(imported) = full(Source::Perseus) else { return };
    let rows = rows(&imported);
    let stages = ["bloom+a100_sxm", "bloom+a40", "gpt3-175b+a100_sxm", "gpt3-175b+a40"]
        .map(|name| rows[&format!("{name}_bf16.csv")]);
    assert_eq!(stages, [608, 960, 608, 960]);
    assert_eq!(rows["measured_runs.csv.gz"], 5152);
    let sums: usize =
        imported.findings.files.iter().filter(|file| file.path.contains("zeus_")).map(|file| file.rows).sum();
    assert_eq!(sums, 30 + 35 + 48 + 47);
    let points = |id: &str| imported.profiles.iter().find(|profile| profile.id == id).unwrap().points.len();
    assert_eq!(points("a100-sxm-80gb-perseus-bloom-stage0"), 38);
    assert_eq!(points("a40-perseus-gpt3-175b-stage7"), 60);
    // 4 files whose first 7 stages are one measurement, and 11 jobs.
    assert_eq!(imported.profiles.len(), 4 * 2 + 11);
}

#[test]
fn ttu_has_19_applications_without_a_time_of_their_own() {
    let Some(imported) = full(Source::Ttu) else { return };
    let rows = rows(&imported);
    assert_eq!((rows["mean_fp_data_21_apps.csv"], rows["mean_fp_data_HPC_apps.csv"]), (2457, 351));
    assert!(imported.profiles.iter().all(|profile| profile.points.len() == 117));
    let usable = |profile: &&ProfileFile| !profile.points[0].flags.contains(&Flag::TimeUnusable);
    let names: Vec<_> =
        imported.profiles.iter().filter(usable).map(|profile| profile.workload.model.as_str()).collect();
    assert_eq!(names, ["dgemm", "LAMMPS", "LSTM", "NAMD", "stream"]);
    assert_eq!(
        (warnings(&imported, Code::S01), warnings(&imported, Code::S02), warnings(&imported, Code::S03)),
        (1, 1, 1)
    );
}

#[test]
fn gavel_has_the_rows_its_authors_state() {
    let Some(imported) = full(Source::Gavel) else { return };
    let rows = rows(&imported);
    assert_eq!((rows["isolated_throughput.csv"], rows["colocated_throughput.csv.gz"]), (1062, 22704));
    let pairs: Vec<_> = imported.pairs.iter().flat_map(|file| &file.pairs).collect();
    assert_eq!((pairs.len(), pairs.iter().filter(|pair| !pair.can_share()).count()), (22704, 13322));
    let apart = |gpu: &str| {
        let id = format!("{gpu}-gavel-oracle-motivation-pairs");
        let file = imported.pairs.iter().find(|file| file.id == id).unwrap();
        let mirrored = |PairFile(a, b, x, y): &PairFile| a == b || file.pairs.contains(&PairFile(*b, *a, *y, *x));
        assert!(file.pairs.iter().all(mirrored));
        file.pairs.iter().filter(|pair| !pair.can_share()).count()
    };
    assert_eq!(["v100", "p100", "k80"].map(apart), [43, 26, 101]);
}

#[test]
fn muri_has_the_rows_its_authors_state() {
    let Some(imported) = full(Source::Muri) else { return };
    let rows = rows(&imported);
    assert_eq!(rows["cluster_trace.csv"], 400);
    assert_eq!([1, 2, 3, 4].map(|n| rows[&format!("trace{n}.csv.gz")]), [1494, 5755, 992, 2638]);
    assert_eq!([1, 2, 3, 4].map(|n| rows[&format!("job_type_{n}.csv.gz")]), [992; 4]);
    assert_eq!(imported.profiles.len(), 8);
    for profile in &imported.profiles {
        assert_eq!(profile.scaling.iter().map(|gang| gang.gpus).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32]);
    }
}

#[test]
fn the_kernels_of_lisbon_have_the_rows_their_authors_state() {
    let Some(imported) = full(Source::UlisboaPtx) else { return };
    let read = rows(&imported);
    // 25 blocks of 24 names and 140 kernels, 32 pairs of clocks each.
    assert_eq!((read["gtxtitanx_realbenchmarks.csv"], read["gtxtitanx_microbenchmarks.csv"]), (800, 4480));
    assert_eq!((imported.profiles.len(), warnings(&imported, Code::S11)), (165, 1));
    assert!(imported.profiles.iter().all(|profile| profile.points.len() == 32));
    // 16 of the 24 applications have utilizations under their name.
    assert_eq!(imported.profiles.iter().filter(|profile| !profile.counters.is_empty()).count(), 16);

    let Some(imported) = full(Source::UlisboaPower) else { return };
    let points = |gpu: &str| {
        let of = imported.profiles.iter().filter(|profile| profile.gpu_type == gpu);
        of.map(|profile| profile.points.len()).sum::<usize>()
    };
    assert_eq!(["gtx-titan-x", "titan-xp", "titan-v", "k40c"].map(points), [6528, 1608, 1760, 400]);
    // The three files at default clocks only repeat.
    assert_eq!((imported.profiles.len(), warnings(&imported, Code::S13)), (102 + 67 + 110 + 100, 3));
    assert_eq!(warnings(&imported, Code::S12), 1);
}

#[test]
fn kernel_tuner_and_mpt_have_the_rows_their_authors_state() {
    let Some(imported) = full(Source::KernelTuner) else { return };
    let points: Vec<_> = imported.profiles[0].points.iter().map(|point| (point.sm_mhz, point.power_w)).collect();
    assert_eq!((points.len(), points[0], points[9]), (10, (Some(210), Some(42.002)), (Some(1410), Some(153.408))));
    assert_eq!(imported.findings.warnings, []);

    let Some(imported) = full(Source::Mpt) else { return };
    assert_eq!(rows(&imported)["mpt_training_throughput.csv"], 216);
    let gangs = |gpu: &str| {
        let of = imported.profiles.iter().filter(|profile| profile.gpu_type == gpu);
        of.map(|profile| profile.scaling.len()).sum::<usize>()
    };
    assert_eq!(["h100", "a100-sxm-80gb", "a100-sxm-40gb"].map(gangs), [18 + 52 + 7, 61, 78]);
}

#[test]
fn the_library_is_what_the_importers_write() {
    for source in shipped_sources() {
        let Some(imported) = full(source) else { return };
        let made: BTreeMap<_, _> = contents(&imported).into_iter().collect();
        let shipped = shipped_files(source);
        assert_eq!(made.keys().collect::<Vec<_>>(), shipped.keys().collect::<Vec<_>>());
        for (name, text) in &made {
            assert!(*text == shipped[name], "{name} differs");
        }
    }
}

/// Mean saving of energy, and mean growth of time, in percent, of the best power limit over the highest.
fn best_limit(gpu: &str) -> (f64, f64) {
    let files = shipped_files(Source::Zeus);
    let epochs = files.iter().filter(|(name, _)| name.starts_with(gpu) && !name.contains("zeus-window"));
    let changes: Vec<_> = epochs
        .map(|(_, text)| {
            let profile = Profile::read(text.as_bytes()).unwrap().profile;
            let points: Vec<_> = profile.operating_points().map(|point| (point.step_s, point.power_w)).collect();
            let energy = |point: &(f64, f64)| point.0 * point.1;
            let best = points.iter().min_by(|a, b| energy(a).total_cmp(&energy(b))).unwrap();
            let top = points.last().unwrap();
            (1.0 - energy(best) / energy(top), best.0 / top.0 - 1.0)
        })
        .collect();
    let mean = |sum: f64| (1000.0 * sum / changes.len() as f64).round() / 10.0;
    (mean(changes.iter().map(|change| change.0).sum()), mean(changes.iter().map(|change| change.1).sum()))
}

#[test]
fn the_best_power_limits_save_what_the_traces_of_zeus_say() {
    // Computed from the traces by other means: time_per_epoch x average_power, least over the limits.
    let expected = [("v100", (21.4, 16.5)), ("a40", (16.2, 6.1)), ("rtx6000", (20.1, 16.2)), ("p100", (11.8, 4.7))];
    for (gpu, changes) in expected {
        assert_eq!(best_limit(gpu), changes, "{gpu}");
    }
}

#[test]
fn every_shipped_profile_is_valid_and_named_after_its_file() {
    let mut bytes = 0;
    for source in shipped_sources() {
        for (name, text) in shipped_files(source) {
            bytes += text.len();
            let id = if name.ends_with("-pairs.json") {
                let (pairs, warnings) = Pairs::read(text.as_bytes()).unwrap();
                assert_eq!(warnings, []);
                pairs.id
            } else {
                let read = Profile::read(text.as_bytes()).unwrap();
                assert_eq!(read.warnings, []);
                read.profile.id
            };
            assert_eq!(format!("{id}.json"), name);
        }
    }
    assert!(bytes < 6 << 20, "{bytes} bytes");
}
