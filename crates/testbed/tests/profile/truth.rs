//! The hidden truth is recovered within 1.5 % in time and power.

use rats_domain::format::Flag;
use rats_testbed::profile::record::{Instrument, Taint};

use crate::machine::{Machine, without};

/// Grid, records and nothing tainted.
#[track_caller]
fn recovers(machine: &Machine, words: &[&str], points: usize) {
    let profile = machine.profiled(words);
    let records = machine.records();
    assert!(records.iter().all(|record| record.taints.is_empty()), "{records:#?}");
    assert_eq!(profile.points.len(), points);
    machine.agrees(&records);
}

#[test]
fn of_an_a100_over_sm_clocks() {
    let machine = Machine::of("A100-SXM4-80GB");
    recovers(&machine, &["--sm-mhz", "4points"], 4);
    let profile = machine.profile();
    assert_eq!(profile.gpu_type, "a100-sxm-80gb");
    assert!(profile.source.hardware.unwrap().contains(&machine.uuid(0)));
}

#[test]
fn of_a_v100_over_sm_clocks() {
    recovers(&Machine::of("V100"), &["--sm-mhz", "4points"], 4);
}

#[test]
fn of_an_a40_with_averaged_power_over_sm_and_memory_clocks() {
    recovers(&Machine::of("A40"), &["--sm-mhz", "900,1200", "--mem-mhz", "all"], 2);
}

#[test]
fn of_an_h100_over_a_list_of_clocks() {
    recovers(&Machine::of("H100"), &["--sm-mhz", "705,1005,1305"], 3);
}

#[test]
fn of_a_p100_over_power_limits() {
    // Its clocks cannot be locked; what a limit does to the clock is seen, and is no taint.
    recovers(&Machine::of("P100"), &["--power-limit-w", "3points"], 3);
}

#[test]
fn of_a_hot_gpu_as_far_as_heat_lets_it_and_says_where_not() {
    let machine = Machine::with(&[("A100-SXM4-80GB", 1)], |config| {
        let kind = config.types.get_mut("A100-SXM4-80GB").unwrap();
        kind.thermal.time_constant_s = 5.0;
        config.gpus[0].warmer_c = 30.0;
    });
    let profile = machine.profiled(&["--sm-mhz", "510,900,1410"]);
    let hot: Vec<_> = profile.points.iter().filter(|point| point.flags.contains(&Flag::ThrottledHeat)).collect();
    assert_eq!(hot.iter().map(|point| point.sm_mhz).collect::<Vec<_>>(), [Some(1410)], "{:#?}", profile.points);
    let records = machine.records();
    let cool: Vec<_> = records.iter().filter(|record| record.taints.is_empty()).cloned().collect();
    machine.agrees(&cool);
    // It was tried again, once.
    assert_eq!(records.iter().filter(|record| record.target.sm_mhz == Some(1410)).count(), 2);
}

#[test]
fn of_a_gpu_with_a_low_power_limit_which_it_keeps() {
    let mut machine = Machine::of("A100-SXM4-80GB");
    machine.simulator.update(|state| state.gpus[0].limit_mw = 250_000).unwrap();
    machine.found = machine.simulator.marks().unwrap();
    let profile = machine.profiled(&["--sm-mhz", "510,750,1410"]);
    let flagged: Vec<_> = profile.points.iter().map(|point| point.flags.contains(&Flag::Throttled)).collect();
    assert_eq!(flagged, [false, false, true]);
    machine.agrees(&machine.records());
}

#[test]
fn without_an_energy_counter_or_with_one_that_stands_still() {
    for fault in ["counter_missing", "counter_stuck"] {
        let machine = Machine::of("A100-SXM4-80GB");
        machine.inject(&format!(r#"[{{"kind": "{fault}"}}]"#));
        let profile = machine.profiled(&["--sm-mhz", "510,1005"]);
        assert!(without(&profile, &[Flag::PowerIntegrated]).is_empty());
        assert!(profile.origin.power_w.as_ref().unwrap().note.as_ref().unwrap().contains("no energy counter"));
        let records = machine.records();
        assert!(records.iter().all(|record| record.instrument == Instrument::Integrated && record.taints.is_empty()));
        machine.agrees(&records);
    }
}

#[test]
fn of_clocks_that_are_snapped_or_silently_lower_which_it_names() {
    for fault in [r#"[{"kind": "clock_snapped", "steps": 2}]"#, r#"[{"kind": "silently_lower", "mhz": 60}]"#] {
        let machine = Machine::of("A100-SXM4-80GB");
        machine.inject(fault);
        let profile = machine.profiled(&["--sm-mhz", "510,1005", "--repeats", "0"]);
        assert!(profile.points.iter().all(|point| point.flags == [Flag::ClockMissed]), "{:#?}", profile.points);
        let records = machine.records();
        for record in &records {
            assert_eq!(record.taints, [Taint::ClockMissed]);
            assert_eq!(record.gpus[0].applied.sm_mhz, record.target.sm_mhz);
            assert!(record.gpus[0].sm_mhz < record.target.sm_mhz);
        }
        machine.agrees(&records);
    }
}
