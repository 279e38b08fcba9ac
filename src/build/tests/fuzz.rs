//! Damaged scenarios are answered, never a panic.

use rats_domain::random::Random;

use super::*;

#[test]
fn damaged_scenarios_never_panic() {
    let values = [
        "0",
        "-1",
        "1e300",
        "nan",
        "inf",
        "\"\"",
        "[]",
        "{}",
        "9223372036854775807",
        "0.0000001",
        "\"cluster\"",
        "true",
        "[[1, 2]]",
        "1e18",
        "2147483648",
        "[0]",
        "[1e9]",
    ];
    let lines: Vec<&str> = SCENARIO.lines().collect();
    let (mut built_some, mut refused) = (0, 0);
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let mut damaged: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        for _ in 0..=random.below(2) {
            let at = random.below(damaged.len());
            match random.below(4) {
                0 => {
                    damaged.remove(at);
                }
                1 => {
                    let other = random.below(damaged.len());
                    damaged.swap(at, other);
                }
                _ => {
                    if let Some((key, _)) = damaged[at].clone().split_once('=') {
                        damaged[at] = format!("{key}= {}", random.pick(&values));
                    }
                }
            }
        }
        match built(&damaged.join("\n")) {
            Ok(_) => built_some += 1,
            Err(problems) => {
                assert!(!problems.0.is_empty());
                refused += 1;
            }
        }
    }
    assert!(built_some > 50 && refused > 200, "{built_some} {refused}");
}
