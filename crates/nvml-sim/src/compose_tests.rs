//! Configurations of the shipped catalogue and profiles.

use super::*;
use crate::simulator::Simulator;
use crate::world::World;

fn request() -> Request {
    let types = ["V100", "A100-SXM4-80GB", "A40", "H100", "H200", "RTX3090", "P100", "K80"];
    Request {
        instances: PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../instances")),
        gpus: types.iter().map(|id| ((*id).to_owned(), 2)).collect(),
        workloads: vec![
            ("bloom".into(), vec!["a100-sxm-80gb-perseus-bloom-stage0".into(), "a40-perseus-bloom-stage0".into()]),
            ("resnet50".into(), vec!["v100-zeus-imagenet-resnet50-b256-adadelta".into()]),
        ],
        speedup: 20.0,
        seed: 7,
        slow: Some((3, 1.15)),
        settings_need: Privilege::Anyone,
    }
}

#[test]
fn every_type_of_the_catalogue_that_is_named_can_be_simulated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.json");
    let config = compose(&request()).unwrap();
    fs::write(&path, serde_json::to_vec(&config).unwrap()).unwrap();
    let simulator = Simulator::load(&path).unwrap();
    for gpu in &simulator.config().gpus {
        let kind = &simulator.config().types[&gpu.kind];
        for workload in ["bloom", "resnet50"] {
            let clocks = kind.sm_clocks(kind.default_mem_mhz).unwrap();
            let at = |sm| simulator.truth(&gpu.uuid, workload, sm, kind.default_mem_mhz).unwrap();
            let (low, high) = (at(clocks[0]), at(clocks[clocks.len() - 1]));
            assert!(low.step_s > high.step_s && low.power_mw < high.power_mw, "{} {workload}", gpu.kind);
            assert!(low.power_mw >= kind.idle_mw * 0.95, "{} {workload} {low:?}", gpu.kind);
        }
    }
    assert!((simulator.config().gpus[3].slowness - 1.15).abs() < 1e-9);
    assert_eq!(simulator.marks().unwrap(), []);
}

#[test]
fn a_profile_by_clock_is_met_at_its_points() {
    let mut config = compose(&request()).unwrap();
    (config.power_spread, config.speed_spread) = (0.0, 0.0);
    let gpu = config.gpus.iter().position(|gpu| gpu.kind == "A100-SXM4-80GB").unwrap();
    let (workload, _) = config.workload("bloom").unwrap();
    // The file's line for 885 MHz.
    let at = World::new(config).truth(gpu).at(workload, 885, 1593).unwrap();
    assert!((at.step_s - 0.219_436_757).abs() < 1e-9 && (at.power_mw - 231_789.49).abs() < 1e-3, "{at:?}");
}

#[test]
fn a_profile_by_limit_is_met_under_its_limits() {
    let mut config = compose(&request()).unwrap();
    (config.power_spread, config.speed_spread) = (0.0, 0.0);
    let (workload, _) = config.workload("resnet50").unwrap();
    let world = World::new(config);
    let clocks = world.config.kind(0).clocks[0].sm_mhz.clone();
    // The file's lines. The real board kept its mean power up to 4 W below these limits and was slower by as much; the
    // simulated limit is used up.
    for (limit_mw, step_s) in [(100_000.0, 1.354_879_79), (125_000.0, 1.011_982_02), (150_000.0, 0.828_903_097)] {
        let clock = world.truth(0).highest_within(workload, &clocks, 877, limit_mw);
        let at = world.truth(0).at(workload, clock, 877).unwrap();
        assert!(at.power_mw <= limit_mw && (at.step_s / step_s - 1.0).abs() < 0.04, "{limit_mw} {clock} {at:?}");
    }
}

#[test]
fn points_that_the_limit_held_down_are_continued() {
    let config = compose(&request()).unwrap();
    let truth = &config.workloads["bloom"].types["A40"];
    let last = truth.points.last().unwrap();
    assert_eq!(last.0, 1740);
    assert!(last.2 > 294_000.0, "{last:?}");
}

#[test]
fn generations_follow_the_name() {
    let config = compose(&request()).unwrap();
    let of = |id: &str| config.types[id].architecture;
    assert_eq!([of("K80"), of("P100"), of("V100")], [Architecture::Kepler, Architecture::Pascal, Architecture::Volta]);
    assert_eq!([of("A40"), of("RTX3090"), of("H100"), of("H200")].map(|at| at >= Architecture::Ampere), [true; 4]);
    assert!(!config.types["A100-SXM4-80GB"].averaged_power && config.types["A40"].averaged_power);
}

#[test]
fn what_does_not_exist_is_named() {
    let wrong = |change: fn(&mut Request)| {
        let mut request = request();
        change(&mut request);
        compose(&request).unwrap_err().to_string()
    };
    assert!(wrong(|request| request.gpus[0].0 = "V99".into()).contains("v99.json"));
    assert!(wrong(|request| request.workloads[0].1[0] = "none".into()).contains("no profile `none`"));
    assert!(wrong(|request| request.slow = Some((99, 2.0))).contains("slow GPU 99"));
    assert!(wrong(|request| request.workloads[0].1[0] = "v100-muri-resnet50".into()).contains("muri"));
}
