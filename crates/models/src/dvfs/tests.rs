//! Planted models are found again, outliers do not matter, what cannot be fitted is refused.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rats_domain::codes::Code;

use super::curve::Curve;
use super::fit::fit;
use super::forms::named;
use super::model::{Model, Setting, fit_all};
use super::scope::{Axis, Place, Sample, Scope};
use super::series::Series;
use super::workload::{Observation, Workload};
use crate::score::Quantity;
use crate::split::Random;

fn clocks(n: u32) -> impl Iterator<Item = f64> {
    (0..n).map(|k| 600.0 + 25.0 * f64::from(k))
}

fn samples(n: u32, value: impl Fn(f64) -> f64) -> Vec<Sample> {
    clocks(n).map(|core| Sample { at: Place { core, mem: 1.0 }, value: value(core) }).collect()
}

fn workload(values: impl Iterator<Item = (i64, f64, f64)>) -> Workload {
    let row = |(at, (clock, time, power))| Observation {
        row: format!("points[{at}]"),
        sm_mhz: Some(clock),
        time: Some(time),
        power: Some(power),
        ..Observation::default()
    };
    Workload {
        id: "w".to_owned(),
        gpu: "g".to_owned(),
        rows: values.enumerate().map(row).collect(),
        ..Workload::default()
    }
}

/// T = 0.1 + 200/f s, P = 50 + 0.1 f W at 12 clocks from 600 MHz on.
fn good() -> Workload {
    workload((0..12).map(|k| 600 + 50 * k).map(|f| (f, 0.1 + 200.0 / f as f64, 50.0 + 0.1 * f as f64)))
}

fn codes(workload: &Workload) -> Vec<(Code, String)> {
    let result = fit_all(std::slice::from_ref(workload), &BTreeMap::new()).remove(0);
    result.err().map_or_else(Vec::new, |problems| problems.0.into_iter().map(|p| (p.code, p.place)).collect())
}

#[test]
fn planted_coefficients_are_found_exactly_without_noise() {
    // T = 0.1 + 200/f: relative to the highest clock, 1175 MHz, a = 200/1175.
    let data = samples(24, |f| 0.1 + 200.0 / f);
    let scope = Scope::of(Axis::Clock, data.iter().map(|s| s.at)).unwrap();
    let found = fit(named("time-linear").unwrap(), &scope, &data, &[]).unwrap();
    assert!((found.coefficients[0] - 0.1).abs() < 1e-9 && (found.coefficients[1] - 200.0 / 1175.0).abs() < 1e-9);
    // The roofline's knee at 900 MHz: the time stands still above it.
    let data = samples(24, |f| 0.05 + 100.0 / f.min(900.0));
    let found = fit(named("time-roofline").unwrap(), &scope, &data, &[]).unwrap();
    assert!((found.shape[0] - 900.0 / 1175.0).abs() < 1e-4 && (found.coefficients[0] - 0.05).abs() < 1e-3);
    // V = 1 + 1.5 max(0, f/1175 - 0.8).
    let power = |f: f64| {
        let x = f / 1175.0;
        60.0 + 100.0 * (1.0 + 1.5 * (x - 0.8).max(0.0)).powi(2) * x
    };
    let data = samples(24, power);
    let found = fit(named("power-knee").unwrap(), &scope, &data, &[]).unwrap();
    assert!((found.shape[0] - 0.8).abs() < 2e-3 && (found.shape[1] - 1.5).abs() < 2e-2, "{found:?}");
    assert!((found.coefficients[0] - 60.0).abs() < 0.2 && (found.coefficients[1] - 100.0).abs() < 0.2);
}

#[test]
fn a_tenth_of_gross_outliers_moves_a_fit_by_less_than_a_percent() {
    let truth = |f: f64| 0.1 + 200.0 / f;
    let mut data = samples(40, truth);
    for at in [3, 14, 25, 36] {
        data[at].value *= 3.0;
    }
    let curve = Curve::fit(Quantity::Time, Axis::Clock, &data, None).unwrap();
    for f in [640.0, 900.0, 1200.0, 1500.0] {
        let said = curve.predict(Place { core: f, mem: 1.0 }).unwrap().value;
        assert!((said / truth(f) - 1.0).abs() < 0.01, "{f}: {said} instead of {}", truth(f));
    }
}

#[test]
fn intervals_hold_nine_tenths_of_new_measurements() {
    // 40 curves with 2 % noise, 24 clocks each; one new measurement between each two.
    let truth = |f: f64| 40.0 + 60.0 * (f / 1000.0).powi(3);
    let mut random = Random::new(7);
    let (mut inside, mut n) = (0, 0);
    for _ in 0..40 {
        let mut noisy = |f: f64| truth(f) * (1.0 + 0.02 * random.normal());
        let data: Vec<Sample> =
            clocks(24).map(|core| Sample { at: Place { core, mem: 1.0 }, value: noisy(core) }).collect();
        let curve = Curve::fit(Quantity::Power, Axis::Clock, &data, None).unwrap();
        for f in clocks(23) {
            let said = curve.predict(Place { core: f + 12.5, mem: 1.0 }).unwrap();
            let new = noisy(f + 12.5);
            (inside, n) = (inside + usize::from((said.low..=said.high).contains(&new)), n + 1);
        }
    }
    let coverage = f64::from(u32::try_from(inside).unwrap()) / f64::from(n);
    assert!((0.86..=0.94).contains(&coverage), "{coverage}");
}

#[test]
fn a_model_says_nothing_far_from_its_measurements_and_marks_what_is_beyond() {
    let workload = good();
    let model = Model::fit(&workload, &Series::new(&workload, None).unwrap(), None).unwrap();
    let at = |mhz| model.predict(Setting { sm_mhz: Some(mhz), ..Setting::default() });
    let said = at(875.0).unwrap();
    // 0.1 + 200/875 s and 50 + 87.5 W.
    assert!((said.time.unwrap().value - 0.328_571).abs() < 1e-4 && (said.power.unwrap().value - 137.5).abs() < 0.05);
    assert!(!said.time.unwrap().extrapolated && at(560.0).unwrap().time.unwrap().extrapolated);
    assert_eq!(at(400.0).unwrap_err().code, Code::M10);
    assert_eq!(model.predict(Setting::default()).unwrap_err().code, Code::M10);
    let limit = Setting { sm_mhz: Some(900.0), power_limit_w: Some(100.0), ..Setting::default() };
    assert_eq!(model.predict(limit).unwrap_err().code, Code::M10);
}

#[test]
fn a_model_comes_back_from_its_file_and_a_damaged_file_is_m11() {
    let workload = good();
    let model = Model::fit(&workload, &Series::new(&workload, None).unwrap(), None).unwrap();
    let text = serde_json::to_string(&model.to_file()).unwrap();
    let (again, warnings) = Model::read(text.as_bytes()).unwrap();
    assert!(warnings.is_empty());
    let setting = Setting { sm_mhz: Some(910.0), ..Setting::default() };
    let (one, two) = (model.predict(setting).unwrap().power.unwrap(), again.predict(setting).unwrap().power.unwrap());
    assert!((one.value - two.value).abs() < 1e-9 && (one.low - two.low).abs() < 1e-9);
    let damages: [fn(&mut rats_domain::format::ModelFile); 6] = [
        |file| (file.time, file.power) = (None, None),
        |file| file.time.as_mut().unwrap().form = "time-cubic".to_owned(),
        |file| file.time.as_mut().unwrap().form = "power-law".to_owned(),
        |file| file.power.as_mut().unwrap().coefficients[0].value = -1.0,
        |file| file.power.as_mut().unwrap().correction.samples[0].core = 0.0,
        |file| file.time.as_mut().unwrap().interval.outer = -1.0,
    ];
    for damage in damages {
        let mut file = model.to_file();
        damage(&mut file);
        assert_eq!(Model::from_file(file).unwrap_err().0[0].code, Code::M11);
    }
}

#[test]
fn every_kind_of_bad_row_is_named_with_its_row() {
    assert_eq!(codes(&good()), []);
    let row = |at: usize| format!("points[{at}]");
    let damaged = |damage: fn(&mut Vec<Observation>)| {
        let mut workload = good();
        damage(&mut workload.rows);
        codes(&workload)
    };
    assert_eq!(damaged(|rows| rows[2].time = Some(0.0)), [(Code::M03, row(2))]);
    assert_eq!(damaged(|rows| rows[4].power = Some(-3.0)), [(Code::M03, row(4))]);
    assert_eq!(damaged(|rows| rows[4].power = Some(f64::NAN)), [(Code::M03, row(4))]);
    // One row in ms, one in mW.
    assert_eq!(damaged(|rows| rows[1].time = rows[1].time.map(|t| 1e3 * t)), [(Code::M06, row(1))]);
    assert_eq!(damaged(|rows| rows[5].power = rows[5].power.map(|p| 1e3 * p)), [(Code::M06, row(5))]);
    let all_mw = damaged(|rows| rows.iter_mut().for_each(|row| row.power = row.power.map(|p| 1e3 * p)));
    assert_eq!((all_mw.len(), all_mw[0].0), (12, Code::M06));
    assert_eq!(damaged(|rows| rows.truncate(3))[0].0, Code::M01);
    assert_eq!(damaged(Vec::clear), [(Code::M01, "w".to_owned())]);
    assert_eq!(damaged(|rows| rows.iter_mut().for_each(|row| row.sm_mhz = Some(900)))[0].0, Code::M05);
    let one_clock = damaged(|rows| {
        for (row, mhz) in rows.iter_mut().zip(900..) {
            *row = Observation { sm_mhz: Some(mhz), time: Some(1.0), power: Some(90.0), ..row.clone() };
        }
    });
    assert!(one_clock.iter().all(|(code, _)| *code == Code::M02) && one_clock.len() == 2);
    // 0.433 and 0.367 s, 110 and 125 W at 600 MHz.
    let disagreeing = [(Code::M05, "w, time".to_owned()), (Code::M05, "w, power".to_owned())];
    assert_eq!(damaged(|rows| rows[3].sm_mhz = Some(600)), disagreeing);
    assert_eq!(damaged(|rows| rows[3].sm_mhz = None), [(Code::M12, row(3))]);
    assert_eq!(damaged(|rows| rows[3].power_limit_w = Some(200.0)), [(Code::M12, row(3))]);
    assert_eq!(damaged(|rows| rows.iter_mut().for_each(|row| row.power = row.time.map(|t| 9.0 * t)))[..], []);
    let same = damaged(|rows| rows.iter_mut().for_each(|row| row.time = row.power));
    assert_eq!(same, [(Code::M07, "w".to_owned())]);
}

#[test]
fn noise_without_a_curve_is_refused() {
    let mut random = Random::new(3);
    let noisy = (0..12).map(|k| (600 + 50 * k, (0.8 * random.normal()).exp(), 100.0)).collect::<Vec<_>>();
    assert_eq!(codes(&workload(noisy.into_iter())), [(Code::M08, "w, time".to_owned())]);
}

#[test]
fn a_workload_with_the_column_of_another_is_refused() {
    let other = Workload { id: "other".to_owned(), ..good() };
    let results = fit_all(&[good(), other], &BTreeMap::new());
    assert!(results[0].is_ok());
    let problems = &results[1].as_ref().unwrap_err().0;
    assert_eq!(problems.iter().map(|p| (p.code, p.place.as_str())).collect::<Vec<_>>(), [(Code::M07, "other"); 2]);
}

#[test]
fn clocks_and_limits_that_the_card_does_not_have_are_refused() {
    let card: rats_domain::format::GpuFile =
        serde_json::from_str(include_str!("../../../../instances/gpus/v100.json")).unwrap();
    let v100 = |clock: fn(i64) -> i64| {
        workload((0..12).map(|k| 510 + 75 * k).map(move |f| (clock(f), 0.1 + 200.0 / f as f64, 50.0 + 0.1 * f as f64)))
    };
    assert!(Series::new(&v100(|f| f), Some(&card)).is_ok());
    let problems = Series::new(&v100(|f| f + 3), Some(&card)).unwrap_err().0;
    assert!(problems.len() == 12 && problems.iter().all(|problem| problem.code == Code::M04));
}

#[test]
fn time_and_power_under_a_limit_saturate_where_the_workload_does_not_reach_it() {
    // Power 40 + 160 f^3 (f over the highest clock), 180 W at most used: above 180 W nothing changes.
    let clock = |limit: f64| ((limit.min(180.0) - 40.0) / 160.0).powf(1.0 / 3.0);
    let limits = (0..9).map(|k| 100.0 + 25.0 * f64::from(k));
    let rows = limits.enumerate().map(|(at, limit)| Observation {
        row: format!("points[{at}]"),
        power_limit_w: Some(limit),
        time: Some(1.0 + 2.0 / clock(limit)),
        power: Some(limit.min(180.0)),
        ..Observation::default()
    });
    let workload = Workload { id: "w".to_owned(), rows: rows.collect(), ..Workload::default() };
    let model = Model::fit(&workload, &Series::new(&workload, None).unwrap(), None).unwrap();
    let at = |limit| model.predict(Setting { power_limit_w: Some(limit), ..Setting::default() }).unwrap();
    let (low, high) = (at(137.5), at(260.0));
    assert!((low.power.unwrap().value / 137.5 - 1.0).abs() < 0.01);
    assert!((low.time.unwrap().value / (1.0 + 2.0 / clock(137.5)) - 1.0).abs() < 0.01);
    assert!((high.power.unwrap().value / 180.0 - 1.0).abs() < 0.01);
    assert!((high.time.unwrap().value / (1.0 + 2.0 / clock(180.0)) - 1.0).abs() < 0.01);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn predictions_are_positive_and_scale_with_the_unit(t0 in 0.0..1.0, a in 10.0..500.0, noise in 0.0..0.03, seed in 0_u64..1000) {
        let mut random = Random::new(seed);
        let data = samples(12, |f| t0 + a / f);
        let data: Vec<Sample> =
            data.into_iter().map(|s| Sample { value: s.value * (1.0 + noise * random.normal()), ..s }).collect();
        let in_ms: Vec<Sample> = data.iter().map(|s| Sample { value: 1000.0 * s.value, ..*s }).collect();
        let one = Curve::fit(Quantity::Time, Axis::Clock, &data, None).unwrap();
        let two = Curve::fit(Quantity::Time, Axis::Clock, &in_ms, None).unwrap();
        for f in clocks(12) {
            let at = Place { core: f + 5.0, mem: 1.0 };
            let (one, two) = (one.predict(at).unwrap(), two.predict(at).unwrap());
            prop_assert!(one.value > 0.0 && one.low > 0.0 && one.low <= one.value && one.value <= one.high);
            // Shape parameters are sought in finite steps, so the two agree far within the noise and not to the last digit.
            prop_assert!((two.value / one.value / 1000.0 - 1.0).abs() < 1e-2);
        }
    }

    #[test]
    fn the_form_of_time_never_rises_and_that_of_power_never_falls_with_the_clock(seed in 0_u64..1000) {
        let mut random = Random::new(seed);
        let (t, p): (Vec<Sample>, Vec<Sample>) = samples(12, |f| f).into_iter().map(|s| {
            let noise = 1.0 + 0.05 * random.normal();
            (Sample { value: (0.1 + 300.0 / s.value) * noise, ..s }, Sample { value: (40.0 + 0.1 * s.value) * noise, ..s })
        }).unzip();
        let time = Curve::fit(Quantity::Time, Axis::Clock, &t, None).unwrap();
        let power = Curve::fit(Quantity::Power, Axis::Clock, &p, None).unwrap();
        for (low, high) in clocks(11).zip(clocks(12).skip(1)) {
            let at = |core| Place { core, mem: 1.0 };
            prop_assert!(time.fitted.value(&time.scope, at(low)) >= time.fitted.value(&time.scope, at(high)) * (1.0 - 1e-12));
            prop_assert!(power.fitted.value(&power.scope, at(low)) <= power.fitted.value(&power.scope, at(high)) * (1.0 + 1e-12));
        }
    }
}
