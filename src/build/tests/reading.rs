//! What scenarios say, and what is said of bad ones.

use super::*;

#[test]
fn a_scenario_becomes_an_instance() {
    let built = built(SCENARIO).unwrap();
    let instance = &built.instance;
    assert_eq!((instance.horizon.0, instance.cluster.nodes.len(), instance.cluster.gpus.len()), (120, 2, 8));
    let [bert, resnet] = [0, 1].map(|position| &built.file.jobs[position]);
    // 700 s are 2.33 ticks, released at 3; 35999 s are 119.99 ticks.
    assert_eq!((resnet.release, resnet.deadline, resnet.due), (3, Some(119), Some(90)));
    let fastest = bert.options.iter().map(|option| option.ticks).min().unwrap();
    assert_eq!(bert.deadline, Some(fastest * 3 / 2));
    let asked = &bert.options[usize::try_from(bert.requested).unwrap()];
    assert_eq!((asked.gpus, asked.point.power_limit_w.unwrap().to_string().as_str()), (2, "250"));
    for (job, report) in built.file.jobs.iter().zip(&built.jobs) {
        let unplaceable: usize = report.unplaceable.values().sum();
        assert_eq!(report.combinations, report.starved + unplaceable + report.pruned + report.options);
        assert_eq!(report.options, job.options.len());
        assert!(report.pruned > 0);
    }
    assert_eq!(built.warnings, []);
}

#[test]
fn margins_lengthen_what_is_run() {
    let ticks = |margin: &str| {
        let text = SCENARIO.replace("margin = 0.1", margin);
        let built = built(&text).unwrap();
        built.instance.jobs.values().map(|job| job.options[job.requested].ticks.0).collect::<Vec<_>>()
    };
    let (without, with) = (ticks(""), ticks("margin = 1"));
    for (without, with) in without.iter().zip(&with) {
        assert!((2 * without - 1..=2 * without).contains(with), "{without} {with}");
    }
}

#[test]
fn what_cannot_be_placed_goes_and_is_counted() {
    // Four GPUs of 12 cores each are more than the 40 of a node: V7 leaves only spans wider than it.
    let text = SCENARIO
        .replace("spans = [\"node\", \"cluster\"]", "per_gpu = { cpu_cores = 12 }\nspans = [\"node\", \"cluster\"]");
    let built = built(&text).unwrap();
    assert!(built.jobs[1].unplaceable[&rats_domain::codes::Code::V7] > 0);
    assert!(built.file.jobs[1].options.iter().all(|option| option.span == "cluster"));
}

#[test]
fn large_batches_are_a_warning() {
    let built = built(&SCENARIO.replace("count = 2", "count = 4").replace("gpus = [2, 4]", "gpus = [2, 16]")).unwrap();
    let said: Vec<_> = built.warnings.iter().map(ToString::to_string).collect();
    let expected =
        "[W6] jobs[0].gpus: 16 GPUs make 16 times the batch that `v100-bert-base-squad-b24` was measured with.";
    assert_eq!(said, [expected]);
}

#[test]
fn every_mistake_is_named_with_its_place() {
    for (from, to, expected) in [
        ("tick_s = 300", "tick_s = = 300", "[B01] line 4, column 10:"),
        ("tick_s = 300", "", "[R04] "),
        ("tick_s = 300", "tick_s = \"x\"", "[R04] tick_s:"),
        ("tick_s = 300", "tick_s = 0", "[B04] tick_s:"),
        ("rats.scenario/1", "rats.scenario/2", "[R02] format:"),
        ("horizon_s = 36000", "", "[B02] horizon:"),
        ("horizon_s = 36000", "horizon_s = 36000\nhorizon = 120", "[B03] horizon:"),
        ("margin = 0.1", "margin = -1", "[B04] margin:"),
        ("margin = 0.1", "margin = nan", "[R04] margin:"),
        ("epochs = 4", "epochs = 4\ndeadline_s = inf", "[R04] jobs[0].deadline_s:"),
        ("epochs = 4", "epochs = 4\nfill = {mhz = nan}", "[R04] jobs[0].fill.mhz:"),
        ("epochs = 4", "steps = 0.5", "[B04] jobs[0].steps:"),
        ("stretches = [1, 2]", "stretches = [1, 0.5]", "[B04] stretches[1]:"),
        ("stretches = [1, 2]", "stretches = []", "[B02] stretches:"),
        ("catalogue = [\"v100\"]", "catalogue = [\"v1000\"]", "[B05] catalogue[0]:"),
        ("count = 2", "count = 0", "[B04] groups[0].count:"),
        ("uplink_gb_s = 0.917", "uplink_gb_s = -1", "[I02] cluster.nodes[0].uplink_gb_s:"),
        ("gpu_type = \"v100\"", "gpu_type = \"x\"", "[I06] cluster.nodes[0].gpu_type:"),
        ("squad-b24", "squad-b25", "[B05] jobs[0].profiles[0]:"),
        ("gpus = [2, 4]", "gpus = []", "[B02] jobs[0].gpus:"),
        ("gpus = [2, 4]", "gpus = [2, 0]", "[B04] jobs[0].gpus[1]:"),
        ("gpus = [2, 4]", "gpus = [9]", "[B07] jobs[0]:"),
        ("epochs = 4", "epochs = 4\nsteps = 7", "[B03] jobs[0]:"),
        ("epochs = 4", "", "[B02] jobs[0]:"),
        ("epochs = 4", "steps_table = [[2, 100]]", "[B02] jobs[0].steps_table:"),
        ("epochs = 4", "epochs = 4\noverlap = 1.5", "[B04] jobs[0].overlap:"),
        ("epochs = 4", "epochs = 4\npoints = [{ sm_mhz = 7 }]", "[B05] jobs[0].points:"),
        ("deadline_s = 35999", "deadline_s = 35999\ndeadline = 4", "[B03] jobs[1].deadline_s:"),
        ("cpu_cores = 4 }", "cpu_cores = 0.0001 }", "[B04] jobs[0].per_gpu.cpu_cores:"),
        ("spans = [\"node\"", "spans = [\"rack\"", "[B05] jobs[1].spans[0]:"),
        ("after = [\"bert\"]", "after = [\"nobody\"]", "[I06] jobs[1].after[0]:"),
        ("term = \"energy\"", "term = \"joy\"", "[I13] objective[0]"),
    ] {
        assert!(SCENARIO.contains(from), "{from}");
        let problems = built(&SCENARIO.replacen(from, to, 1)).unwrap_err();
        let said: Vec<_> = problems.0.iter().map(ToString::to_string).collect();
        assert!(said.iter().any(|line| line.starts_with(expected)), "{to}: {said:?}");
    }
}

#[test]
fn all_mistakes_are_named_at_once() {
    let text = SCENARIO.replace("squad-b24", "squad-b25").replace("spans = [\"node\"", "spans = [\"rack\"");
    assert_eq!(built(&text).unwrap_err().0.len(), 2);
}

#[test]
fn unknown_fields_are_a_warning() {
    let read = Scenario::read(&SCENARIO.replace("margin = 0.1", "margins = 0.1")).unwrap();
    assert_eq!(read.warnings[0].to_string(), "[W3] margins: unknown field, ignored.");
}
