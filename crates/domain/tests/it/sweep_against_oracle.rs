//! The event sweep of checker and evaluation agrees with the oracle that looks at every tick.

use std::collections::BTreeSet;

use rats_domain::check::Violation;
use rats_domain::codes::Code;
use rats_domain::evaluate::evaluate;
use rats_domain::format::PowerMode;
use rats_domain::instance::Instance;
use rats_domain::oracle::{Finding, judge};

use crate::generate;
use crate::support::{Random, close, report, try_instance};

/// A violation as the oracle states it; `None` for what the oracle does not judge.
fn finding(instance: &Instance, violation: &Violation) -> Option<Finding> {
    let interval = violation.tick.zip(violation.end);
    match violation.code {
        Code::V1 | Code::V2 => None,
        Code::V3 | Code::V4 | Code::V5 => Some((violation.code, violation.job.clone(), None)),
        Code::V12 => Some((violation.code, violation.job.clone(), interval)),
        Code::V13 => {
            let name = violation.place.as_deref();
            let sleeps =
                |node: &&rats_domain::instance::Node| node.power == PowerMode::Sleep && Some(&*node.id) == name;
            instance.cluster.nodes.values().find(sleeps).map(|node| (Code::V13, Some(node.id.clone()), None))
        }
        code => Some((code, violation.place.clone(), interval)),
    }
}

#[test]
fn violations_terms_and_split_agree_with_the_oracle() {
    let (mut instances, mut plans) = (0, 0);
    let mut seen: BTreeSet<Code> = BTreeSet::new();
    for seed in 0..1200 {
        let mut random = Random::new(seed);
        let document = generate::instance(&mut random);
        let Ok(instance) = try_instance(&document) else { continue };
        instances += 1;
        for _ in 0..4 {
            plans += 1;
            let plan = generate::plan(&mut random, &document);
            let report = report(&instance, &plan);
            seen.extend(report.violations.iter().map(|violation| violation.code));
            let context = || format!("seed {seed}\n{document}\n{plan}\n{:#?}", report.violations);
            let verdict = judge(&instance, report.schedule());
            let findings: BTreeSet<_> =
                report.violations.iter().filter_map(|violation| finding(&instance, violation)).collect();
            assert_eq!(findings, verdict.findings, "{}", context());
            let evaluation = evaluate(&instance, report.schedule());
            let (terms, expected) = (evaluation.terms, verdict.terms);
            assert_eq!((terms.energy, terms.makespan), (expected.energy, expected.makespan), "{}", context());
            assert_eq!(evaluation.split, verdict.split, "{}", context());
            let pairs = [
                (terms.cost.unwrap_or(0.0), expected.cost.unwrap_or(0.0)),
                (terms.completion, expected.completion),
                (terms.tardiness, expected.tardiness),
                (evaluation.objective, instance.objective.value(&expected, instance.tick)),
            ];
            assert_eq!(terms.cost.is_some(), expected.cost.is_some(), "{}", context());
            assert!(pairs.iter().all(|&(a, b)| close(a, b)), "{pairs:?}\n{}", context());
            let whole = report.violations.iter().all(|violation| !matches!(violation.code, Code::V1 | Code::V2));
            assert_eq!(report.evaluation.as_ref(), Some(&evaluation).filter(|_| whole), "{}", context());
        }
    }
    assert!(instances > 700, "only {instances} of the random instances are valid");
    let rules = Code::ALL.iter().filter(|code| code.family() == rats_domain::codes::Family::Rule);
    let unseen: Vec<_> = rules.filter(|code| !seen.contains(code)).collect();
    assert!(unseen.is_empty(), "{plans} plans never break {unseen:?}");
}
