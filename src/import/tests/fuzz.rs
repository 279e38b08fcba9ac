//! Noise in place of files: no importer panics, and what it makes is valid or named as damaged.

use proptest::prelude::*;
use rats_domain::profile::Profile;

use super::*;
use crate::import::contents;

/// A file name and a header of every layout.
const LAYOUTS: [(Source, &str, &str); 16] = [
    (Source::Zeus, "summary_power_v100.csv", ZEUS),
    (Source::Zeus, "summary_train.csv", ZEUS_TRAIN),
    (Source::Zeus, "V100+m+gpu0,1.csv", ZEUS_WINDOW),
    (Source::Zeus, "summary_power_v100.csv.gz", ZEUS),
    (Source::Perseus, "bloom+a40_bf16.csv", STAGE),
    (Source::Perseus, "measured_runs.csv", RUNS),
    (Source::Perseus, "zeus_global.csv", SUMS),
    (Source::Ttu, "mean_fp_data_HPC_apps.csv", TTU),
    (Source::Gavel, "isolated_throughput.csv", ALONE),
    (Source::Gavel, "colocated_throughput.csv", PAIRS),
    (Source::Muri, "trace1.csv", MURI),
    (Source::UlisboaPtx, "gtxtitanx_realbenchmarks.csv", PTX),
    (Source::UlisboaPower, "titanx_micro_all.csv", POWER),
    (Source::KernelTuner, "x_cache_y.json", "{\"cache\": "),
    (Source::Mpt, "mpt_training_throughput.csv", MPT),
    (Source::Csv, "mine.csv", CSV),
];

fn holds(source: Source, name: &str, bytes: &[u8]) -> Result<(), TestCaseError> {
    let imported = import_one(source, name, bytes);
    for profile in &imported.profiles {
        prop_assert!(Profile::new(profile.clone()).is_ok());
    }
    let rows: usize = imported.findings.files.iter().map(|file| file.rows).sum();
    let left_out: usize = imported.findings.files.iter().map(|file| file.left_out).sum();
    prop_assert!(left_out <= rows);
    prop_assert!(left_out == 0 || !imported.findings.damaged.is_empty());
    contents(&imported);
    Ok(())
}

/// A field that is often what an importer looks for.
fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop_oneof![Just("1"), Just("2"), Just("0"), Just("0.5"), Just("-1"), Just("1e300"), Just("nan"), Just("")]
            .prop_map(str::to_owned),
        3 => prop_oneof![
            Just("v100"), Just("A40"), Just("forward"), Just("backward"), Just("perseus"), Just("zeus_local"),
            Just("cifar100"), Just("LM (batch size 5)"), Just("__O_200"), Just("true"), Just("2147483648"),
        ]
        .prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
        1 => any::<u32>().prop_map(|number| number.to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for (source, name, header) in LAYOUTS {
            holds(source, name, &bytes)?;
            holds(source, name, &[header.as_bytes(), b"\n", &bytes].concat())?;
        }
    }

    #[test]
    fn rows_of_likely_fields_do_no_harm(fields in prop::collection::vec(field(), 0..120), cut in 0_usize..2000) {
        for (source, name, header) in LAYOUTS {
            let columns = header.split(',').count();
            let rows: Vec<_> = fields.chunks(columns).map(|row| row.join(",")).collect();
            let rows: Vec<_> = rows.iter().map(String::as_str).collect();
            let text = table(header, &rows);
            holds(source, name, text.as_bytes())?;
            // A file that ends too early.
            holds(source, name, &text.as_bytes()[..cut.min(text.len())])?;
        }
    }
}
