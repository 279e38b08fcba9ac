//! The builder against `instances/demo/build.py`, which computes the same formulas in exact fractions.

use std::collections::BTreeSet;
use std::path::Path;

use rats_domain::format::{InstanceFile, OptionFile};
use rats_domain::profile::Profile;

use super::*;

const SCENARIO: &str = include_str!("../../../instances/demo/v100-jobs.toml");

/// What two options must share to be the same: profiles hold nine digits of what the script has in full.
fn key(option: &OptionFile) -> (i64, String, String, i64, i64, i64, i64) {
    let limit = option.point.power_limit_w.map(|limit| limit.to_string()).unwrap_or_default();
    let near = |value: f64, unit: f64| crate::build::physics::whole((value / unit).round());
    let peak = option.peak_w.unwrap_or(option.power_w).to_f64();
    let rates = near(option.ring_gb_s.to_f64(), 1e-4) * 1_000_000 + near(option.read_gb_s.to_f64(), 1e-4);
    // A gang of one lies within its GPU, whatever the span.
    let span = if option.gpus == 1 { String::new() } else { option.span.clone() };
    (option.gpus, span, limit, option.ticks, near(option.power_w.to_f64(), 0.1), near(peak, 0.1), rates)
}

#[test]
fn options_equal_those_of_the_exact_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut library = Library::new();
    for entry in std::fs::read_dir(root.join("instances/profiles/zeus")).unwrap() {
        let profile = Profile::read(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap().profile;
        library.insert(profile.id.clone(), profile);
    }
    let text = std::fs::read_to_string(root.join("instances/demo/testbed.json")).unwrap();
    let expected: InstanceFile = serde_json::from_str(&text).unwrap();
    let built = built_from(SCENARIO, &library).unwrap();
    assert_eq!(built.file.jobs.len(), 6);
    for job in &built.file.jobs {
        let other = expected.jobs.iter().find(|other| other.id == job.id).unwrap();
        let keys = |options: &[OptionFile]| options.iter().map(key).collect::<BTreeSet<_>>();
        assert_eq!(keys(&job.options), keys(&other.options), "{}", job.id);
        let asked = |job: &rats_domain::format::JobFile| key(&job.options[usize::try_from(job.requested).unwrap()]);
        assert_eq!(asked(job), asked(other), "{}", job.id);
    }
}
