//! What each importer makes of a few rows, by hand.

use flate2::Compression;
use flate2::write::GzEncoder;
use rats_domain::codes::Code;
use rats_domain::format::{Flag, Kind, PairFile};
use std::io::Write as _;

use super::*;

fn codes(imported: &Imported) -> Vec<Code> {
    imported.findings.warnings.iter().map(|warning| warning.code).collect()
}

#[test]
fn a_zeus_epoch_becomes_steps_of_its_batch() {
    let rows = ["cifar100,shufflenetv2,1024,adam,125,9.8,110.5", "cifar100,shufflenetv2,1024,adam,100,19.6,101.5"];
    let imported = import_one(Source::Zeus, "trace/summary_power_a40.csv", table(ZEUS, &rows));
    assert_eq!(imported.findings.damaged, []);
    let profile = &imported.profiles[0];
    assert_eq!(profile.id, "a40-zeus-cifar100-shufflenetv2-b1024-adam");
    // ceil(50000 / 1024) = 49 steps: 19.6 s / 49 = 0.4 s at 100 W, 9.8 s / 49 = 0.2 s at 125 W.
    let times: Vec<_> =
        profile.points.iter().map(|point| (point.power_limit_w.unwrap().to_f64(), point.step_s)).collect();
    assert_eq!(times, [(100.0, Some(0.4)), (125.0, Some(0.2))]);
    assert_eq!(profile.origin.step_s.kind, Kind::Derived);
    // 101.5 W is more than 1 % above 100 W, 110.5 W is below 125 W.
    assert_eq!((&profile.points[0].flags, &profile.points[1].flags), (&vec![Flag::AboveLimit], &vec![]));
    assert_eq!(codes(&imported), [Code::S05]);
}

#[test]
fn a_data_set_of_unknown_size_keeps_the_epoch_as_its_step() {
    let imported = import_one(Source::Zeus, "summary_power_v100.csv", table(ZEUS, &["own,net,32,sgd,200,60.5,150"]));
    let profile = &imported.profiles[0];
    assert_eq!((profile.workload.step.as_str(), profile.points[0].step_s), ("one epoch", Some(60.5)));
    assert_eq!(profile.batch_per_gpu, None);
}

#[test]
fn a_window_on_two_gpus_is_a_gang_with_power_per_gpu() {
    let row = "5.5,__GlobalPowerLimitOptimizer_200,10,1000,2000";
    let imported = import_one(Source::Zeus, "V100+resnet50+gpu0,1.csv", table(ZEUS_WINDOW, &[row]));
    let profile = &imported.profiles[0];
    // 3000 J in 10 s on 2 GPUs: 150 W each.
    assert_eq!((profile.points[0].power_w, profile.gang.unwrap().gpus), (Some(150.0), 2));
}

#[test]
fn a_stage_is_its_forward_and_backward_pass() {
    let rows = ["0,forward,1410,0.05,20", "0,backward,1410,0.15,60", "1,forward,1410,0.1,30", "1,backward,1410,0.1,30"];
    let imported = import_one(Source::Perseus, "gpt3-175b+a100_sxm_bf16.csv", table(STAGE, &rows));
    assert_eq!(imported.findings.damaged, []);
    let ids: Vec<_> = imported.profiles.iter().map(|profile| profile.id.as_str()).collect();
    assert_eq!(ids, ["a100-sxm-80gb-perseus-gpt3-175b-stage0", "a100-sxm-80gb-perseus-gpt3-175b-stage1"]);
    // 80 J in 0.2 s.
    let point = &imported.profiles[0].points[0];
    assert_eq!((point.sm_mhz, point.step_s, point.power_w), (Some(1410), Some(0.2), Some(400.0)));
}

#[test]
fn stages_that_were_measured_once_are_one_profile() {
    let passes =
        |stage: i64, time: &str| [format!("{stage},forward,855,{time},20"), format!("{stage},backward,855,0.1,9")];
    let rows: Vec<_> =
        [(0, "0.1"), (1, "0.1"), (2, "0.2")].iter().flat_map(|&(stage, time)| passes(stage, time)).collect();
    let rows: Vec<_> = rows.iter().map(String::as_str).collect();
    let imported = import_one(Source::Perseus, "bloom+a40_bf16.csv", table(STAGE, &rows));
    let parts: Vec<_> = imported.profiles.iter().map(|profile| profile.workload.part.as_deref().unwrap()).collect();
    assert_eq!(parts, ["each of stages 0 to 1, of 3 counted from 0", "stage 2, of 3 counted from 0"]);
}

#[test]
fn a_run_at_one_limit_is_a_point_and_a_run_that_mixes_clocks_is_none() {
    let rows = [
        "zeus_global,A40,m,p,1,2,1,8,32,0,0,11,9,4.0,800,200,200",
        "zeus_global,A40,m,p,1,2,1,8,32,0,1,11,9,3.9,400,200,200",
        "perseus,A40,m,p,1,2,1,8,32,3,0,11,9,4.0,800,1000,1740",
        "perseus,A40,m,p,1,2,1,8,32,3,1,11,9,4.0,800,1740,1740",
    ];
    let imported = import_one(Source::Perseus, "measured_runs.csv", table(RUNS, &rows));
    assert_eq!(imported.findings.damaged, []);
    assert_eq!((imported.profiles.len(), imported.profiles[0].points.len()), (1, 1));
    let (profile, point) = (&imported.profiles[0], &imported.profiles[0].points[0]);
    // The slower rank ends the iteration; 1200 J / 4 s / 2 GPUs = 150 W; iterations 2 to 11; 8 x 32 samples / 2 GPUs.
    assert_eq!((point.step_s, point.power_w, point.samples), (Some(4.0), Some(150.0), Some(10)));
    assert_eq!(profile.batch_per_gpu.as_ref().map(|figure| figure.value), Some(128.0));
    assert!(imported.findings.notes[0].contains("1 of 2 runs"));
}

#[test]
fn applications_with_one_run_time_column_have_no_usable_time() {
    let mut rows = Vec::new();
    for (application, power, scale) in [("bfs", 50, 1), ("cfd", 60, 1), ("dgemm", 70, 2)] {
        rows.extend((0..6).map(|i| format!("0,{application},{},{},{}", 510 + i * 15, power + i, scale * (40 - i))));
    }
    let rows: Vec<_> = rows.iter().map(String::as_str).collect();
    let imported = import_one(Source::Ttu, "mean_fp_data.csv", table(TTU, &rows));
    assert_eq!(codes(&imported), [Code::S01]);
    let flagged = |id: &str| {
        let profile = imported.profiles.iter().find(|profile| profile.id == id).unwrap();
        profile.points.iter().all(|point| point.flags == [Flag::TimeUnusable])
    };
    assert_eq!(["v100-ttu-bfs", "v100-ttu-cfd", "v100-ttu-dgemm"].map(flagged), [true, true, false]);
}

#[test]
fn gavel_rates_become_times_and_pairs_keep_their_rates() {
    let alone = [
        "oracle,v100,LM (batch size 5),1,4",
        "oracle,v100_unconsolidated,LM (batch size 5),2,5",
        "oracle,v100,A3C,1,0",
    ];
    let pairs = ["oracle,v100,LM (batch size 5),1,A3C,1,3,1.5", "oracle,v100,A3C,1,A3C,1,0,0"];
    let inputs = [
        input("isolated_throughput.csv", table(ALONE, &alone)),
        input("colocated_throughput.csv", table(PAIRS, &pairs)),
    ];
    let imported = import_files(Source::Gavel, &inputs);
    assert_eq!(imported.findings.damaged, []);
    assert_eq!(codes(&imported), [Code::S07]);
    let profile = &imported.profiles[0];
    assert_eq!((profile.points[0].step_s, profile.batch_per_gpu.as_ref().unwrap().value), (Some(0.25), 5.0));
    let gangs: Vec<_> = profile.scaling.iter().map(|gang| (gang.gpus, gang.consolidated, gang.step_s)).collect();
    // Two GPUs make 5 steps a second between them, so each takes 2.5.
    assert_eq!(gangs, [(1, Some(true), 0.25), (2, Some(false), 0.4)]);
    // Workloads by name: A3C is 0, LM is 1; A3C never ran alone.
    let file = &imported.pairs[0];
    assert_eq!(file.pairs, [PairFile(0, 0, 0.0, 0.0), PairFile(1, 0, 3.0, 1.5)]);
    assert_eq!((file.pairs[0].can_share(), file.pairs[1].can_share()), (false, true));
    assert_eq!((file.workloads[0].alone, file.workloads[1].alone), (None, Some(4.0)));
}

#[test]
fn muri_jobs_of_one_kind_are_one_measurement() {
    let rows = [
        "0,1,0,10,vgg16,16,5000,0,107,117,68,0,1",
        "1,1,9,20,vgg16,16,7000,9,107,117,68,0,1",
        "2,8,9,20,vgg16,16,7000,9,214,82,75,66,0",
        "3,8,9,20,vgg16,16,7000,9,214,1,2,3,0",
        "4,8,9,20,vgg16,16,7000,9,214,82,75,66,0",
    ];
    let imported = import_one(Source::Muri, "trace1.csv", table(MURI, &rows));
    assert_eq!(imported.findings.damaged, []);
    let profile = &imported.profiles[0];
    assert_eq!((profile.points.len(), profile.points[0].step_s), (1, Some(0.107)));
    let stages = profile.scaling[1].stages.unwrap();
    assert_eq!((profile.scaling[1].gpus, stages.load_s, stages.network_s), (8, 0.082, 0.066));
    assert_eq!(codes(&imported), [Code::S06]);
}

#[test]
fn a_plain_table_states_its_source_and_kinds_above() {
    let text = format!(
        "# title: Our GPUs\n# licence: CC0-1.0\n# gradient_bytes_kind: derived\n\n{}",
        table(
            &format!("{CSV},color"),
            &["net,a40,1740,,0.1,250,,4e6,0.5,,red", "net,a40,1000,,0.15,180,1,4e6,0.5,,", "net,a40,,,0.12,,4,,,true,"]
        )
    );
    let imported = import_one(Source::Csv, "mine.csv", text);
    assert_eq!(imported.findings.damaged, []);
    // The column `color` is unknown.
    assert_eq!(codes(&imported), [Code::W3]);
    let profile = &imported.profiles[0];
    assert_eq!((profile.id.as_str(), profile.points.len(), profile.scaling[0].gpus), ("a40-net", 2, 4));
    assert_eq!((profile.source.title.as_str(), profile.source.licence.as_deref()), ("Our GPUs", Some("CC0-1.0")));
    let gradient = profile.gradient_bytes.as_ref().unwrap();
    assert_eq!((gradient.value, gradient.kind), (4e6, Kind::Derived));
    assert_eq!(profile.overlap.as_ref().unwrap().kind, Kind::Measured);
}

#[test]
fn a_clock_that_the_power_limit_does_not_allow_is_named() {
    // 1600 MHz is 6.7 % above 1500 MHz, no faster, and at the 300 W of the A40; 1500 MHz is 25 % above 1200 MHz and faster.
    let rows = ["net,a40,1200,,0.12,200,,,,", "net,a40,1500,,0.1,290,,,,", "net,a40,1600,,0.1,296,,,,"];
    let imported = import_one(Source::Csv, "mine.csv", table(CSV, &rows));
    assert_eq!(codes(&imported), [Code::S04]);
    let flags: Vec<_> = imported.profiles[0].points.iter().map(|point| point.flags.len()).collect();
    assert_eq!(flags, [0, 0, 1]);
}

#[test]
fn times_of_few_values_and_times_that_jump_are_named() {
    // 24 times of 3 values; then 12 times that jump by 10 %.
    let steps: Vec<_> = (0..24).map(|i| format!("coarse,x,{},,{},100,,,,", 1000 + i, 3 - i / 8)).collect();
    let jumps: Vec<_> = (0..12).map(|i| format!("rough,x,{},,{},100,,,,", 1000 + i, 10 + i % 2)).collect();
    for (rows, code, flag) in [(steps, Code::S02, Flag::TimeQuantized), (jumps, Code::S03, Flag::TimeNoisy)] {
        let rows: Vec<_> = rows.iter().map(String::as_str).collect();
        let imported = import_one(Source::Csv, "mine.csv", table(CSV, &rows));
        assert_eq!(codes(&imported), [code]);
        assert!(imported.profiles[0].points.iter().all(|point| point.flags == [flag]));
    }
}

#[test]
fn compressed_files_are_unpacked_and_line_breaks_do_not_matter() {
    let text = table(ZEUS, &["cifar100,net,50000,adam,100,2,90"]).replace('\n', "\r\n");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let imported = import_one(Source::Zeus, "summary_power_p100.csv.gz", encoder.finish().unwrap());
    assert_eq!(imported.findings.damaged, []);
    assert_eq!(imported.profiles[0].points[0].step_s, Some(2.0));
}

#[test]
fn damaged_rows_are_counted_and_the_rest_is_kept() {
    let rows = ["cifar100,net,8,adam,100,x,90", "cifar100,net,8,adam,125,2,90", "cifar100,net,8"];
    let imported = import_one(Source::Zeus, "summary_power_p100.csv", table(ZEUS, &rows));
    assert_eq!((imported.findings.files[0].rows, imported.findings.files[0].left_out), (3, 2));
    assert_eq!((imported.findings.damaged.len(), imported.profiles[0].points.len()), (2, 1));
}
