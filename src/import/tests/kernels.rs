//! Excerpts and damages of the sets of kernels: Lisbon, Kernel Tuner, MPT, and the counters of TTU.

use rats_domain::codes::Code;
use rats_domain::format::{Flag, Kind};

use super::*;

/// 8 GPUs x 4 x 2 = 64 sequences of 2048 tokens are 131072 tokens; at 65536 tokens/s a step takes 2 s.
const RUN: &str =
    "A100,7b,2048,8,a100_40gb,40,50,120,4,2,64,32,65536,8192,131072,bf16,PURE,FULL_SHARD,True,False,6658859008";

fn codes(imported: &Imported) -> Vec<Code> {
    imported.findings.warnings.iter().map(|warning| warning.code).collect()
}

/// Code and place of every damaged row.
fn damages(imported: &Imported) -> Vec<String> {
    imported.findings.damaged.iter().map(|problem| format!("{} {}", problem.code, problem.place)).collect()
}

#[test]
fn a_kernel_of_unknown_time_unit_is_flagged_relative_and_no_option_of_a_plan() {
    let rows = ["sgemm,810,595,20,80,1600", "sgemm,3505,595,10,100,1000"];
    let imported = import_one(Source::UlisboaPtx, "gtxtitanx_realbenchmarks.csv", table(PTX, &rows));
    assert_eq!(imported.findings.damaged, []);
    let profile = &imported.profiles[0];
    assert_eq!(profile.id, "gtx-titan-x-ulisboa-ptx-real-sgemm");
    assert_eq!((profile.points[1].mem_mhz, profile.points[1].step_s), (Some(3505), Some(10.0)));
    assert!(profile.points.iter().all(|point| point.flags == [Flag::TimeRelative]));
    assert_eq!(rats_domain::profile::Profile::new(profile.clone()).unwrap().operating_points().count(), 0);
}

#[test]
fn two_blocks_of_one_name_stay_apart_and_flagged() {
    let rows = ["fft,810,595,1,80,80", "md5,810,595,1,90,90", "fft,810,595,2,80,160"];
    let imported = import_one(Source::UlisboaPtx, "gtxtitanx_realbenchmarks.csv", table(PTX, &rows));
    assert_eq!((damages(&imported), codes(&imported)), (Vec::<String>::new(), vec![Code::S11]));
    let ids: Vec<_> = imported.profiles.iter().map(|profile| profile.workload.model.as_str()).collect();
    assert_eq!(ids, ["fft-1", "fft-2", "md5"]);
    assert_eq!(imported.profiles[1].points[0].flags, [Flag::TimeRelative, Flag::NameTwice]);
    assert_eq!(imported.profiles[2].points[0].flags, [Flag::TimeRelative]);
}

#[test]
fn applications_get_the_utilizations_of_their_name() {
    let utilizations = format!("{POWER}_CORR,0.5,0.25,0.125\nother,0,0,0\n");
    let files = [
        input("gtxtitanx_realbenchmarks.csv", table(PTX, &["correlation,810,595,1,80,80", "sort,810,595,1,90,90"])),
        input("real_gtxtitanx.csv", utilizations),
    ];
    let imported = import_files(Source::UlisboaPtx, &files);
    let profile = &imported.profiles[0];
    assert_eq!(profile.counters.get("util_dram"), Some(&0.125));
    assert_eq!(profile.origin.counters.as_ref().unwrap().kind, Kind::Assumed);
    assert!(imported.profiles[1].counters.is_empty());
}

#[test]
fn damaged_kernels_are_named_by_line() {
    for (row, place) in [
        ("x,810,595,1,80", "D03 gtxtitanx_microbenchmarks.csv: line 3"),
        ("x,810,595,0,80,0", "D05 gtxtitanx_microbenchmarks.csv: line 3, time"),
        ("x,810,595,1,-80,80", "D05 gtxtitanx_microbenchmarks.csv: line 3, power_w"),
        // 2 x 80 = 160, not 80000: the energy is in mJ or the power in mW.
        ("x,810,595,2,80,160000", "D11 gtxtitanx_microbenchmarks.csv: line 3, energy"),
        ("sgemm,810,595,2,80,160", "D07 gtxtitanx_microbenchmarks.csv: line 3"),
    ] {
        let text = table(PTX, &["sgemm,810,595,1,80,80", row]);
        let imported = import_one(Source::UlisboaPtx, "gtxtitanx_microbenchmarks.csv", text);
        assert!(damages(&imported).contains(&place.to_owned()), "{row}: {:?}", damages(&imported));
        assert_eq!(imported.profiles[0].points.len(), 1);
    }
}

#[test]
fn rows_of_equal_utilizations_are_one_kernel() {
    let rows = "100,975,3505,0.5,0.1,0\n90,937,3505,0.5,0.1,0\n80,975,3505,0.4,0.1,1.02\n";
    let imported = import_one(Source::UlisboaPower, "titanx_micro_all.csv", format!("{POWER}{rows}"));
    assert_eq!(imported.findings.damaged, []);
    let shape: Vec<_> = imported.profiles.iter().map(|profile| (profile.id.as_str(), profile.points.len())).collect();
    assert_eq!(shape, [("gtx-titan-x-ulisboa-power-micro-001", 2), ("gtx-titan-x-ulisboa-power-micro-002", 1)]);
    assert_eq!(imported.profiles[0].counters.get("util_sp_add"), Some(&0.5));
    // Bandwidth above its peak.
    assert_eq!(
        (codes(&imported), &imported.profiles[1].points[0].flags),
        (vec![Code::S12], &vec![Flag::CounterAboveOne])
    );
}

#[test]
fn a_file_that_repeats_the_sweep_adds_nothing_and_disagreement_is_named() {
    let files = [
        input("TitanXp/titanxp_micro_all.csv", format!("{POWER}100,975,3505,0.5,0.1,0\n80,975,3505,0.4,0.1,1\n")),
        input(
            "TitanXp/micros_fixed.csv",
            format!("{POWER}100,975,3505,0.501,0.1,0\n81,975,3505,0.4,0.1,1\n70,975,3505,0,0,0\n"),
        ),
    ];
    let imported = import_files(Source::UlisboaPower, &files);
    assert_eq!((damages(&imported), imported.profiles.len()), (Vec::<String>::new(), 3));
    let messages: Vec<_> = imported.findings.warnings.iter().map(ToString::to_string).collect();
    assert!(messages[0].contains("micros_fixed.csv: line 6: 81 W here and 80 W in line 6"), "{messages:?}");
    assert!(messages[1].contains("1 rows repeat the sweep, 1 of them"), "{messages:?}");
}

#[test]
fn damaged_utilization_files_are_named_by_line() {
    for (name, text, place) in [
        ("titanx_micro.csv", "2\n975,3505\n".to_owned(), "D01 titanx_micro.csv"),
        ("titanx_micro.csv", "975,3505\n2\n2,1\nL2\n".to_owned(), "D02 titanx_micro.csv: line 1"),
        ("titanx_micro.csv", format!("{POWER}9,975,3505,0.5,0.1\n"), "D03 titanx_micro.csv: line 5"),
        ("titanx_micro.csv", format!("{POWER}9,975,3505,0.5,0.1,45\n"), "D05 titanx_micro.csv: line 5, DRAM"),
        ("titanx_micro.csv", format!("{POWER}9,975,3505,0,0,0\n8,975,3505,0,0,0\n"), "D07 titanx_micro.csv: line 6"),
        ("gtx_micro.csv", format!("{POWER}9,975,3505,0,0,0\n"), "D06 gtx_micro.csv"),
    ] {
        let imported = import_one(Source::UlisboaPower, name, text);
        assert!(damages(&imported).contains(&place.to_owned()), "{place}: {:?}", damages(&imported));
    }
}

/// A cache with one entry of these fields.
fn cache(entry: &str) -> String {
    format!(
        r#"{{"device_name": "NVIDIA A100-PCIE-40GB", "kernel_name": "fp32", "tune_params_keys": ["n", "nvml_gr_clock"],
        "cache": {{"4,1410": {{"n": 4, {entry}}}}}}}"#
    )
}

#[test]
fn a_cache_gives_seconds_watts_and_spread() {
    let entry = r#""nvml_gr_clock": 1410, "time": 3.0, "times": [2.0, 4.0], "nvml_power": 150.5"#;
    let imported = import_one(Source::KernelTuner, "x_cache_A100.json", cache(entry));
    assert_eq!(imported.findings.damaged, []);
    let profile = &imported.profiles[0];
    assert_eq!(
        (profile.id.as_str(), profile.gpu_type.as_str()),
        ("a100-pcie-40gb-kernel-tuner-fp32-4", "a100-pcie-40gb")
    );
    let point = &profile.points[0];
    assert_eq!(
        (point.sm_mhz, point.step_s, point.power_w, point.samples),
        (Some(1410), Some(0.003), Some(150.5), Some(2))
    );
    // Deviations of 1 and 1 from 3: root of 2 over 3.
    assert_eq!(point.step_s_spread, Some(0.471_404_521));
}

#[test]
fn damaged_caches_are_named_by_entry() {
    let at = |field: &str| format!("x_cache.json: cache[\"4,1410\"]{field}");
    for (entry, code, place) in [
        (r#""nvml_gr_clock": 1410, "time": "InvalidConfig", "nvml_power": 1"#, "D04", at(".time")),
        (r#""nvml_gr_clock": 1410, "time": 3, "nvml_power": 0"#, "D05", at(".nvml_power")),
        (r#""nvml_gr_clock": 1410, "time": 0, "nvml_power": 9"#, "D05", at(".time")),
        (r#""nvml_gr_clock": 0, "time": 3, "nvml_power": 9"#, "D04", at(".nvml_gr_clock")),
        // The mean is in s and the values in ms, or one of them is wrong.
        (r#""nvml_gr_clock": 1410, "time": 0.003, "times": [3, 3], "nvml_power": 9"#, "D11", at(".time")),
        (r#""nvml_gr_clock": 1410, "#, "R01", "x_cache.json: line 2".to_owned()),
    ] {
        let imported = import_one(Source::KernelTuner, "x_cache.json", cache(entry));
        assert!(damages(&imported).contains(&format!("{code} {place}")), "{entry}: {:?}", damages(&imported));
    }
}

#[test]
fn a_training_run_takes_its_tokens_over_their_rate() {
    let twice = RUN.replace(",8,a100", ",16,a100").replace(",64,32,65536,8192,131072", ",128,64,131072,8192,262144");
    let imported = import_one(Source::Mpt, "mpt_training_throughput.csv", table(MPT, &[RUN, &twice]));
    assert_eq!(damages(&imported), Vec::<String>::new());
    let profile = &imported.profiles[0];
    let gangs: Vec<_> = profile.scaling.iter().map(|gang| (gang.gpus, gang.nodes, gang.step_s)).collect();
    assert_eq!(gangs, [(8, Some(1), 2.0), (16, Some(2), 2.0)]);
    assert_eq!(profile.batch_per_gpu.as_ref().map(|figure| figure.value), Some(8.0));
    assert_eq!(profile.workload.settings["sharding"], "FULL_SHARD");
}

#[test]
fn damaged_training_runs_are_named_by_column() {
    for (from, to, place) in [
        ("131072,bf16", "131073,bf16", "D11 mpt_training_throughput.csv: line 2, GlobalBatchSize (T)"),
        (",64,32,", ",65,32,", "D11 mpt_training_throughput.csv: line 2, GlobalBatchSize"),
        // 65536 tokens/s written as thousands.
        (",65536,", ",65.536,", "D11 mpt_training_throughput.csv: line 2, Throughput (T/s/GPU)"),
        (",65536,", ",0,", "D05 mpt_training_throughput.csv: line 2, Throughput (T/s)"),
        ("a100_40gb", "b300", "D06 mpt_training_throughput.csv: line 2, GPU"),
        ("True", "yes", "D06 mpt_training_throughput.csv: line 2, Activation Checkpointing"),
    ] {
        assert!(RUN.contains(from), "{from}");
        let text = table(MPT, &[&RUN.replacen(from, to, 1)]);
        let imported = import_one(Source::Mpt, "mpt_training_throughput.csv", text);
        assert!(damages(&imported).contains(&place.to_owned()), "{to}: {:?}", damages(&imported));
    }
}

#[test]
fn activities_of_applications_are_counters() {
    let header = format!("{TTU},dram_active,sm_active");
    let imported = import_one(Source::Ttu, "mean_fp.csv", table(&header, &["0,bfs,510,50,30,0.25,0"]));
    assert_eq!(imported.profiles[0].points[0].counters, [("dram_active".to_owned(), 0.25)].into());
    let imported = import_one(Source::Ttu, "mean_fp.csv", table(&header, &["0,bfs,510,50,30,25,0"]));
    assert_eq!(damages(&imported), ["D05 mean_fp.csv: line 2, dram_active"]);
}

#[test]
fn values_in_another_unit_are_named_and_not_used() {
    // 300 ms among seconds; 210 W as 210000 mW.
    let rows = ["net,x,1000,,0.4,250,,,,", "net,x,1200,,300,210000,,,,", "net,x,1400,,0.3,290,,,,"];
    let imported = import_one(Source::Csv, "mine.csv", table(CSV, &rows));
    let messages: Vec<_> = imported.findings.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(codes(&imported), [Code::S09, Code::S09]);
    assert_eq!(messages[0], "time 300 at 1200 MHz, where the median is 0.4: not used.");
    assert_eq!(messages[1], "power 210000 at 1200 MHz, where the median is 290: not used.");
    let flags: Vec<_> = imported.profiles[0].points.iter().map(|point| point.flags.clone()).collect();
    assert_eq!(flags, [vec![], vec![Flag::TimeUnusable, Flag::PowerUnusable], vec![]]);
}

#[test]
fn clocks_that_drivers_do_not_list_are_named() {
    // A V100 has 135 to 1380 by 7.5 MHz.
    let rows = ["net,v100,1380,,0.3,250,,,,", "net,v100,1381,,0.3,250,,,,", "other,x,1381,,0.3,250,,,,"];
    let imported = import_one(Source::Csv, "mine.csv", table(CSV, &rows));
    assert_eq!(codes(&imported), [Code::S10]);
    let flags: Vec<_> = imported.profiles[0].points.iter().map(|point| point.flags.clone()).collect();
    assert_eq!(flags, [vec![], vec![Flag::ClockUnlisted]]);
}

#[test]
fn duplicates_that_disagree_are_named_with_both_values() {
    let rows = ["net,x,1000,,0.4,250,,,,", "net,x,1000,,0.5,250,,,,"];
    let imported = import_one(Source::Csv, "mine.csv", table(CSV, &rows));
    assert_eq!(damages(&imported), ["D07 mine.csv: line 3"]);
    assert_eq!(imported.findings.damaged[0].message, "the point is in line 2 already, with 0.4 s and 250 W.");
}

#[test]
fn a_sweep_is_judged_at_each_memory_clock_by_itself() {
    // Times of 1 / clock, 3 times as long at the slow memory clock: no noise, though neighbors by SM clock alternate.
    let times = |mem: i64, factor: f64| {
        (0..12).map(move |i| {
            let clock = 600 + 50 * i;
            let time = factor * 1000.0 / f64::from(clock);
            format!("k,{mem},{clock},{time},100,{}", time * 100.0)
        })
    };
    let rows: Vec<_> = times(810, 3.0).chain(times(3505, 1.0)).collect();
    let rows: Vec<_> = rows.iter().map(String::as_str).collect();
    let imported = import_one(Source::UlisboaPtx, "gtxtitanx_microbenchmarks.csv", table(PTX, &rows));
    assert_eq!((codes(&imported), imported.profiles[0].points.len()), (vec![], 24));
}

#[test]
fn counters_of_ones_own_table_are_kept_by_name() {
    let header = format!("{CSV},counter_sm_active,counter_tensor_active");
    let rows = ["net,x,1000,,0.4,250,,,,,0.5,", "net,x,1200,,0.3,270,,,,,0.75,0.125"];
    let imported = import_one(Source::Csv, "mine.csv", table(&header, &rows));
    assert_eq!((damages(&imported), codes(&imported)), (vec![], vec![]));
    let points = &imported.profiles[0].points;
    assert_eq!(points[0].counters, [("sm_active".to_owned(), 0.5)].into());
    assert_eq!(points[1].counters.get("tensor_active"), Some(&0.125));
    let imported = import_one(Source::Csv, "mine.csv", table(&header, &["net,x,1000,,0.4,250,,,,,-0.5,"]));
    assert_eq!(damages(&imported), ["D05 mine.csv: line 2, counter_sm_active"]);
}
