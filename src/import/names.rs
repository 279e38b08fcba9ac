//! Names of profiles, and numbers without digits that mean nothing.

/// A file name made of parts: lower case, anything but letters, digits and `.` as one `-`.
pub(super) fn slug(parts: &[&str]) -> String {
    let mut name = String::new();
    for character in parts.join("-").chars() {
        if character.is_ascii_alphanumeric() || character == '.' {
            name.push(character.to_ascii_lowercase());
        } else if !name.ends_with('-') && !name.is_empty() {
            name.push('-');
        }
    }
    name.trim_end_matches('-').to_owned()
}

/// A computed number, rounded to 9 significant digits: the rest is noise of the arithmetic.
pub(super) fn significant(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// A counter, rounded to 6 significant digits: more than any counter is good for.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Mean and standard deviation over the mean; the latter from two values on.
pub(super) fn mean_and_spread(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let spread = (values.len() > 1).then(|| significant((squares / (count - 1.0)).sqrt() / mean));
    (significant(mean), spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_nothing_that_a_shell_or_a_file_system_minds() {
        assert_eq!(slug(&["V100", "ResNet-50 (batch size 32)", "bert_base"]), "v100-resnet-50-batch-size-32-bert-base");
        assert_eq!(slug(&["../x", "GPT3-6.7b"]), "..-x-gpt3-6.7b");
    }

    #[test]
    fn spread_is_the_sample_standard_deviation_over_the_mean() {
        // Mean 3, squares 1 + 1 over n - 1 = 1, root 1.41421356.
        assert_eq!(mean_and_spread(&[2.0, 4.0]), (3.0, Some(0.471_404_521)));
        assert_eq!(mean_and_spread(&[2.0]), (2.0, None));
    }
}
