//! The data set of the profiles that ship.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::format::Flag;
use rats_models::data::{Dataset, summary};

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../instances/profiles")
}

fn dataset() -> Dataset {
    let (data, warnings) = Dataset::of_profiles(&shipped()).unwrap();
    // Two of Gavel's three series state the same rates, on each of three GPUs.
    assert_eq!(warnings.iter().map(|warning| warning.code).collect::<Vec<_>>(), [Code::S13; 3]);
    data
}

#[test]
fn no_two_rows_are_of_the_same_thing() {
    let data = dataset();
    let point = |row: &rats_models::data::Point| {
        let limit = row.power_limit_w.map(f64::to_bits);
        format!("{} {} {} {} {:?} {:?} {limit:?}", row.source, row.gpu, row.workload, row.gpus, row.sm_mhz, row.mem_mhz)
    };
    assert_eq!(data.points.iter().map(point).collect::<BTreeSet<_>>().len(), data.points.len());
    let pair = |row: &rats_models::data::Pair| {
        format!("{} {} {} {:?} {} | {}", row.series, row.gpu, row.gpus, row.consolidated, row.a.job, row.b.job)
    };
    assert_eq!(data.pairs.iter().map(pair).collect::<BTreeSet<_>>().len(), data.pairs.len());
    assert!(data.pairs.iter().all(|pair| pair.a.job <= pair.b.job));
}

#[test]
fn energy_is_power_times_time_in_every_row() {
    for point in dataset().points {
        let unusable = point.has(Flag::TimeUnusable) || point.has(Flag::PowerUnusable);
        let expected = point.time_s.zip(point.power_w).filter(|_| !unusable).map(|(time, power)| time * power);
        assert_eq!(point.energy_j, expected, "{} {}", point.workload, point.gpu);
    }
}

#[test]
fn pairs_measured_for_motivation_are_351_on_each_gpu() {
    // 26 jobs: 26 x 27 / 2 unordered pairs. Of the 676 ordered ones 43, 26 and 101 cannot share; the mirrors fall together.
    let data = dataset();
    let apart = |gpu: &str| {
        let of: Vec<_> =
            data.pairs.iter().filter(|pair| pair.series == "oracle-motivation" && pair.gpu == gpu).collect();
        (of.len(), of.iter().filter(|pair| !pair.can_share).count())
    };
    assert_eq!(["v100", "p100", "k80"].map(apart), [(351, 23), (351, 14), (351, 53)]);
    assert!(data.pairs.iter().all(|pair| pair.can_share == (pair.a.shared_rate > 0.0 && pair.b.shared_rate > 0.0)));
}

#[test]
fn the_summary_counts_what_can_be_used() {
    let groups = summary(&dataset());
    let of = |source: &str, gpu: &str| groups.iter().find(|group| group.source == source && group.gpu == gpu).unwrap();
    // Times of dgemm, stream, LSTM, LAMMPS and NAMD only: 5 x 117.
    let ttu = of("ttu", "v100");
    assert_eq!((ttu.rows, ttu.workloads, ttu.times, ttu.powers, ttu.counters), (2808, 24, 585, 2808, 2808));
    // The unit of the time is unknown: none is in seconds.
    let ptx = of("ulisboa-ptx", "gtx-titan-x");
    assert_eq!((ptx.rows, ptx.times, ptx.flags["time_relative"], ptx.mem_mhz.len()), (5280, 0, 5280, 2));
}

#[test]
fn a_folder_without_profiles_and_a_damaged_profile_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let code = |folder: &Path| Dataset::of_profiles(folder).unwrap_err().0[0].code;
    assert_eq!(code(folder.path()), Code::D12);
    assert_eq!(code(&folder.path().join("nowhere")), Code::U01);
    std::fs::write(folder.path().join("x.json"), "{").unwrap();
    assert_eq!(code(folder.path()), Code::R01);
}
