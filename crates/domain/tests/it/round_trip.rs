//! What is written and read again is the same.

use proptest::prelude::*;
use rats_domain::check::check_schedule;
use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::evaluate::evaluate;
use rats_domain::format::{InstanceFile, PlanFile, read};
use rats_domain::instance::Instance;

use crate::generate;
use crate::mutation::{base_instance, base_plan};
use crate::support::{Random, instance, plan, report, try_instance};

#[test]
fn a_schedule_survives_its_plan_file() {
    for seed in 0..300 {
        let mut random = Random::new(seed + 90_000);
        let document = generate::instance(&mut random);
        let Ok(instance) = try_instance(&document) else { continue };
        let schedule = report(&instance, &generate::plan(&mut random, &document)).schedule().clone();
        let text = serde_json::to_vec(&schedule.to_plan(&instance)).unwrap();
        let again = rats_domain::check::check(&instance, &read::<PlanFile>(&text).unwrap().document).unwrap();
        assert_eq!(again.schedule(), &schedule, "seed {seed}");
        // Nothing but missing jobs can be wrong with V1 and V2 in a schedule.
        let report = check_schedule(&instance, &schedule).unwrap();
        let complete = schedule.placed().count() == instance.jobs.len();
        assert_eq!(report.evaluation.is_some(), complete, "seed {seed}: {:?}", report.violations);
        assert!(report.violations.iter().all(|violation| violation.code != Code::V2), "seed {seed}");
        assert!(report.warnings.is_empty(), "seed {seed}: {:?}", report.warnings);
    }
}

#[test]
fn an_instance_survives_its_file() {
    let mut documents = vec![(base_instance(), base_plan())];
    for seed in 0..200 {
        let mut random = Random::new(seed + 95_000);
        let document = generate::instance(&mut random);
        let plan = generate::plan(&mut random, &document);
        documents.push((document, plan));
    }
    for (document, plan_document) in documents {
        let Ok(before) = try_instance(&document) else { continue };
        let file: InstanceFile = read(document.to_string().as_bytes()).unwrap().document;
        let text = serde_json::to_string(&file).unwrap();
        let after = Instance::read(text.as_bytes()).unwrap().instance;
        let reread: InstanceFile = read(text.as_bytes()).unwrap().document;
        assert_eq!(text, serde_json::to_string(&reread).unwrap());
        let schedule = report(&before, &plan_document).schedule().clone();
        assert_eq!(evaluate(&before, &schedule), evaluate(&after, &schedule), "{document}");
        let (a, b) = (report(&before, &plan_document), report(&after, &plan_document));
        assert_eq!(a.violations, b.violations, "{document}");
    }
}

#[test]
fn a_plan_file_keeps_its_claims() {
    let mut document = base_plan();
    document["objective"] = 0.1.into();
    let file = plan(&document);
    assert_eq!(plan(&serde_json::to_value(&file).unwrap()), file);
    let warnings = report(&instance(&base_instance()), &document).warnings;
    assert_eq!(warnings.iter().map(|warning| warning.code).collect::<Vec<_>>(), [Code::W2]);
}

#[test]
fn the_hash_is_that_of_the_bytes() {
    assert_eq!(
        rats_domain::instance::sha256_hex(b"abc"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    let mut document = base_plan();
    document["instance_sha256"] = "00".into();
    let warnings = report(&instance(&base_instance()), &document).warnings;
    assert_eq!(warnings.iter().map(|warning| warning.code).collect::<Vec<_>>(), [Code::W1]);
}

proptest! {
    #[test]
    fn a_decimal_survives_printing(value in any::<i64>(), decimals in 0_u32..12) {
        let decimal = Decimal::from_scaled(i128::from(value), decimals);
        prop_assert_eq!(decimal.scaled(decimals), Some(i128::from(value)));
        prop_assert_eq!(Decimal::parse(&decimal.to_string()), Ok(decimal));
        let text = serde_json::to_string(&decimal).unwrap();
        prop_assert_eq!(serde_json::from_str::<Decimal>(&text).unwrap(), decimal);
    }

    #[test]
    fn a_decimal_is_the_number_that_its_text_says(text in "-?(0|[1-9][0-9]{0,14})(\\.[0-9]{1,6})?([eE][+-]?[0-9])?") {
        let decimal = Decimal::parse(&text).unwrap();
        let expected: f64 = text.parse().unwrap();
        prop_assert!((decimal.to_f64() - expected).abs() <= expected.abs() * 1e-15);
        prop_assert_eq!(Decimal::parse(&decimal.to_string()), Ok(decimal));
    }
}
