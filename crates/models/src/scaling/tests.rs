//! Scaling against numbers worked out by hand.

use super::*;

/// A gang whose step takes 0.1 s plus 0.02 s x 2 (g-1)/g inside a node of 8 and four times that across.
fn gang(workload: &str, gpus: i64, scale: f64) -> Gang {
    let g = f64::from(u32::try_from(gpus).unwrap());
    let ring = 0.02 * 2.0 * (g - 1.0) / g * if gpus > 8 { 4.0 } else { 1.0 };
    Gang {
        workload: workload.to_owned(),
        gpus,
        time_s: scale * (0.1 + ring),
        gradient_bytes: Some(1e8 * scale),
        ..Gang::default()
    }
}

fn gangs() -> Vec<Gang> {
    [("x", 1.0), ("y", 3.0), ("z", 0.5)]
        .iter()
        .flat_map(|&(name, scale)| [1, 2, 4, 8, 16, 32].map(|gpus| gang(name, gpus, scale)))
        .collect()
}

fn codes(result: Result<ScalingModel, Problems>) -> Vec<Code> {
    result.unwrap_err().0.iter().map(|problem| problem.code).collect()
}

#[test]
fn a_planted_cluster_is_predicted_and_its_bandwidth_found() {
    let model = ScalingModel::train(&gangs()).unwrap();
    // 64 GPUs across nodes: 0.1 + 0.16 x 63/64 = 0.2575.
    let far = model.predict("x", Placement { gpus: 64, across_nodes: true }).unwrap();
    assert!((far.step_s / 0.2575 - 1.0).abs() < 0.02, "{far:?}");
    assert!(far.low_s < far.step_s && far.step_s < far.high_s);
    // 1e8 bytes in 0.02 s: 5 GB/s, a quarter of it across.
    let (near, across) = model.bandwidth_gb_s().unwrap();
    assert!((near / 5.0 - 1.0).abs() < 0.1 && (across / 1.25 - 1.0).abs() < 0.1, "{near} {across}");
    let new = model.predict_new("new", 0.2, Some(2e8), Placement { gpus: 8, across_nodes: false }).unwrap();
    // 0.2 + 0.04 x 1.75.
    assert!((new.step_s / 0.27 - 1.0).abs() < 0.03, "{new:?}");
}

#[test]
fn a_written_model_answers_the_same() {
    let model = ScalingModel::train(&gangs()).unwrap();
    let read = ScalingModel::from_json("m", &model.to_json()).unwrap();
    for at in [Placement { gpus: 3, across_nodes: false }, Placement { gpus: 64, across_nodes: true }] {
        let (read, model) = (read.predict("y", at).unwrap(), model.predict("y", at).unwrap());
        assert!((read.step_s - model.step_s).abs() < 1e-12 && (read.high_s - model.high_s).abs() < 1e-12);
    }
    let damage =
        |from: &str, to: &str| ScalingModel::from_json("m", &model.to_json().replace(from, to)).unwrap_err().code;
    assert_eq!(damage("rats.scaling/1", "rats.plan/1"), Code::M47);
    assert_eq!(damage("\"overlap\":", "\"overlap\":-1e-3,\"x\":"), Code::M47);
    assert_eq!(ScalingModel::from_json("m", "{").unwrap_err().code, Code::M47);
}

#[test]
fn what_was_not_measured_is_not_answered() {
    let model = ScalingModel::train(&gangs()).unwrap();
    let code = |name: &str, gpus, across_nodes| model.predict(name, Placement { gpus, across_nodes }).unwrap_err().code;
    assert_eq!(code("unknown", 2, false), Code::M52);
    assert_eq!(code("x", 0, false), Code::M53);
    assert_eq!(code("x", 129, true), Code::M53);
    let near: Vec<Gang> = gangs().into_iter().filter(|gang| gang.gpus <= 8).collect();
    let model = ScalingModel::train(&near).unwrap();
    assert_eq!(model.predict("x", Placement { gpus: 8, across_nodes: true }).unwrap_err().code, Code::M53);
}

#[test]
fn gangs_that_cannot_be_are_refused_with_their_row() {
    assert_eq!(codes(ScalingModel::train(&[])), [Code::M50]);
    assert_eq!(codes(ScalingModel::train(&[gang("x", 4, 1.0)])), [Code::M50]);
    let mut damaged = gangs();
    damaged[1].time_s = 0.0;
    damaged[2].nodes = Some(5);
    damaged[7].gpus = 0;
    damaged.push(gang("z", 32, 1.0));
    let problems = ScalingModel::train(&damaged).unwrap_err().0;
    assert_eq!(problems.iter().map(|p| p.code).collect::<Vec<_>>(), [Code::M51, Code::M51, Code::M51, Code::M54]);
    assert!(problems[0].place.contains("gangs[1]") && problems[3].place.contains("gangs[18]"), "{problems:?}");
}
