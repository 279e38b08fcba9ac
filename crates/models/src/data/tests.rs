//! What is written can be read again, from either kind of file, and what is damaged is named.

use rats_domain::format::Flag;
use tempfile::tempdir;

use super::*;

fn sample() -> Dataset {
    let provenance = Provenance {
        file: Some("a, b\"c\".csv".to_owned()),
        commit: Some("0123".to_owned()),
        repository: None,
        licence: Some("MIT".to_owned()),
    };
    let point = |clock: i64, time: f64| Point {
        source: "ttu".to_owned(),
        gpu: "v100".to_owned(),
        workload: "dgemm".to_owned(),
        model: "dgemm".to_owned(),
        step: "one run".to_owned(),
        gpus: 1,
        sm_mhz: Some(clock),
        time_s: Some(time),
        power_w: Some(0.1 + 0.2),
        energy_j: Some(time * (0.1 + 0.2)),
        flags: if clock == 510 { vec![Flag::TimeQuantized, Flag::TimeNoisy] } else { Vec::new() },
        provenance: provenance.clone(),
        counters: [("dram_active".to_owned(), 1.0 / 3.0)].into(),
        ..Point::default()
    };
    let bare = Point {
        source: "z".to_owned(),
        gpus: 1,
        gpu: "k80".to_owned(),
        workload: "w".to_owned(),
        model: "m".to_owned(),
        step: "s".to_owned(),
        ..Point::default()
    };
    Dataset { points: vec![point(510, 1e-300), point(517, 123_456.789), bare], ..pair_and_gang(&provenance) }
}

fn pair_and_gang(provenance: &Provenance) -> Dataset {
    let side = |job: &str, rate| Side {
        job: job.to_owned(),
        model: job.to_owned(),
        batch: Some(32.0),
        alone_rate: Some(2.0),
        shared_rate: rate,
    };
    let pair = Pair {
        source: "gavel".to_owned(),
        series: "oracle-motivation".to_owned(),
        gpu: "v100".to_owned(),
        gpus: 1,
        consolidated: Some(true),
        a: side("A3C", 1.5),
        b: side("LM", 0.0),
        provenance: provenance.clone(),
        ..Pair::default()
    };
    let gang = Gang {
        source: "muri".to_owned(),
        gpu: "v100".to_owned(),
        workload: "bert".to_owned(),
        model: "bert".to_owned(),
        gpus: 8,
        time_s: 1e-7,
        recompute: Some(false),
        provenance: provenance.clone(),
        ..Gang::default()
    };
    Dataset { points: Vec::new(), pairs: vec![pair], gangs: vec![gang] }
}

#[test]
fn parquet_and_csv_say_the_same_to_the_last_bit() {
    let folder = tempdir().unwrap();
    let data = sample();
    data.write(folder.path()).unwrap();
    assert_eq!(Dataset::read(folder.path()).unwrap(), data);
    for table in ["points", "pairs", "gangs"] {
        fs::remove_file(folder.path().join(format!("{table}.parquet"))).unwrap();
    }
    assert_eq!(Dataset::read(folder.path()).unwrap(), data);
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let bytes = |data: &Dataset| {
        let folder = tempdir().unwrap();
        let paths = data.write(folder.path()).unwrap();
        paths.iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>()
    };
    let mut turned = sample();
    turned.points.reverse();
    turned.sort();
    assert_eq!(bytes(&turned), bytes(&sample()));
}

#[test]
fn empty_tables_can_be_written_and_read() {
    let folder = tempdir().unwrap();
    Dataset::default().write(folder.path()).unwrap();
    assert_eq!(Dataset::read(folder.path()).unwrap(), Dataset::default());
}

/// One change of the CSV text: the problem's code and place.
fn damaged(from: &str, to: &str) -> String {
    let text = String::from_utf8(csv_file::write(&sample().points)).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    let problems = csv_file::read::<Point>("points.csv", text.replacen(from, to, 1).as_bytes()).unwrap_err();
    problems.0.iter().map(|problem| format!("{} {}", problem.code, problem.place)).collect::<Vec<_>>().join("; ")
}

#[test]
fn damaged_cells_are_named_by_line_and_column() {
    assert_eq!(damaged("123456.789", "fast"), "D04 points.csv: line 3, time_s");
    assert_eq!(damaged("123456.789", "-1"), "D05 points.csv: line 3, time_s");
    assert_eq!(damaged("123456.789", "NaN"), "D05 points.csv: line 3, time_s");
    assert_eq!(damaged("time_quantized time_noisy", "odd"), "D05 points.csv: line 2, flags");
    assert_eq!(damaged("z,k80", "z,"), "D05 points.csv: line 4, gpu");
    assert_eq!(damaged("z,k80", "z,k80,"), "D03 points.csv: line 4");
    assert_eq!(damaged("time_s", "seconds"), "D02 points.csv; D02 points.csv");
    assert_eq!(damaged("time_s", "gpu"), "D02 points.csv; D02 points.csv");
}

#[test]
fn a_truncated_parquet_file_is_a_problem() {
    let bytes = parquet_file::write(&sample().points).unwrap();
    for length in [0, 4, bytes.len() / 2, bytes.len() - 1] {
        let problems = parquet_file::read::<Point>("points.parquet", bytes[..length].to_vec()).unwrap_err();
        assert_eq!(problems.0[0].code, Code::D15, "{length} bytes");
    }
}

#[test]
fn the_dictionary_has_every_column_with_unit_and_meaning() {
    let text = dictionary(&sample());
    for line in [
        "| `sm_mhz` | whole number | MHz | from 1 to 100000 | locked SM clock | not locked: default |",
        "| `energy_j` | number | J | above 0 to 1e15 | energy of one GPU in one step: always `power_w` x `time_s` | time or power missing or unusable |",
        "| `counter_dram_active` | number |  | from 0 to 1 | DCGM: share of cycles in which the memory interface moved data | not measured |",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let rows: usize = text.lines().filter(|line| line.starts_with("| `")).count();
    let columns = Point::columns().len() + 1 + Pair::columns().len() + Gang::columns().len();
    assert_eq!(rows, columns + Flag::ALL.len());
}
