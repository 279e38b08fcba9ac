//! Damaged files, each with the code and the place that must be named.

use rats_domain::codes::Code;

use super::*;

const POWER: &str = "summary_power_v100.csv";
const STAGES: &str = "bloom+a40_bf16.csv";
const GOOD: &str = "cifar100,net,8,adam,100,5,90";

struct Case {
    name: &'static str,
    source: Source,
    file: &'static str,
    text: Vec<u8>,
    code: Code,
    /// What follows the file's name in the place.
    place: &'static str,
}

fn case(name: &'static str, file: (Source, &'static str), text: impl AsRef<[u8]>, found: (Code, &'static str)) -> Case {
    Case { name, source: file.0, file: file.1, text: text.as_ref().to_vec(), code: found.0, place: found.1 }
}

fn files() -> Vec<Case> {
    let zeus = (Source::Zeus, POWER);
    let truncated = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x4c];
    vec![
        case("empty file", zeus, "", (Code::D01, "")),
        case("blank file", zeus, " \n\n", (Code::D01, "")),
        case("comments only", zeus, "# nothing\n", (Code::D01, "")),
        case("header only", zeus, table(ZEUS, &[]), (Code::D01, "")),
        case("missing column", zeus, table(&ZEUS.replace("power_limit", "limit"), &[GOOD]), (Code::D02, ": line 1")),
        case("column twice", zeus, table(&ZEUS.replace("network", "dataset"), &[GOOD]), (Code::D02, ": line 1")),
        case("no header", zeus, table(GOOD, &[GOOD]), (Code::D02, ": line 1")),
        case("not UTF-8", zeus, [ZEUS.as_bytes(), b"\n", b"caf\xe9,net"].concat(), (Code::D09, ": line 2")),
        case("truncated gzip", (Source::Zeus, "summary_power_v100.csv.gz"), truncated, (Code::D08, "")),
        case("gzip in name only", (Source::Zeus, "summary_power_v100.csv.gz"), table(ZEUS, &[GOOD]), (Code::D08, "")),
        case("empty gzip", (Source::Zeus, "summary_power_v100.csv.gz"), "", (Code::D08, "")),
        case("unknown file", (Source::Zeus, "notes.txt"), "hello", (Code::D12, "")),
        case("file of another source", (Source::Muri, POWER), table(ZEUS, &[GOOD]), (Code::D12, "")),
        case("unknown GPU", (Source::Zeus, "summary_power_h100.csv"), table(ZEUS, &[GOOD]), (Code::D06, "")),
        case("unknown GPU of a stage", (Source::Perseus, "bloom+h100_bf16.csv"), table(STAGE, &[]), (Code::D06, "")),
        case("unknown GPU of a window", (Source::Zeus, "H100+m+gpu0.csv"), table(ZEUS_WINDOW, &[]), (Code::D06, "")),
    ]
}

fn zeus() -> Vec<Case> {
    let zeus = (Source::Zeus, POWER);
    let row = |row: &str| table(ZEUS, &[GOOD, row]);
    let train = |row: &str| table(ZEUS_TRAIN, &[row]);
    let window = |rows: &[&str]| table(ZEUS_WINDOW, rows);
    let pair = (Source::Zeus, "V100+resnet50+gpu0,1.csv");
    vec![
        case("too few fields", zeus, row("cifar100,net,8,adam,125,5"), (Code::D03, ": line 3")),
        case("too many fields", zeus, row("cifar100,net,8,adam,125,5,90,1"), (Code::D03, ": line 3")),
        case("quote without an end", zeus, row("cifar100,\"net,8,adam,125,5,90\nx,y"), (Code::D03, ": line 3")),
        case("row cut short", zeus, format!("{ZEUS}\n{GOOD}\ncifar10"), (Code::D03, ": line 3")),
        case("text for a time", zeus, row("cifar100,net,8,adam,125,fast,90"), (Code::D04, ": line 3, time_per_epoch")),
        case("NaN", zeus, row("cifar100,net,8,adam,125,nan,90"), (Code::D04, ": line 3, time_per_epoch")),
        case("infinite power", zeus, row("cifar100,net,8,adam,125,5,inf"), (Code::D04, ": line 3, average_power")),
        case("batch of a half", zeus, row("cifar100,net,8.5,adam,125,5,90"), (Code::D04, ": line 3, batch_size")),
        case("zero time", zeus, row("cifar100,net,8,adam,125,0,90"), (Code::D05, ": line 3, time_per_epoch")),
        case("negative power", zeus, row("cifar100,net,8,adam,125,5,-90"), (Code::D05, ": line 3, average_power")),
        case("absurd power", zeus, row("cifar100,net,8,adam,125,5,9e99"), (Code::D05, ": line 3, average_power")),
        case("zero limit", zeus, row("cifar100,net,8,adam,0,5,90"), (Code::D05, ": line 3, power_limit")),
        case("zero batch", zeus, row("cifar100,net,0,adam,125,5,90"), (Code::D05, ": line 3, batch_size")),
        case("no data set", zeus, row(",net,8,adam,125,5,90"), (Code::D13, ": line 3, dataset")),
        case("no time", zeus, row("cifar100,net,8,adam,125,,90"), (Code::D13, ": line 3, time_per_epoch")),
        case("point twice", zeus, row("cifar100,net,8,adam,100.0,6,91"), (Code::D07, ": line 3")),
        case(
            "epoch 0",
            (Source::Zeus, "summary_train.csv"),
            train("a,b,8,adam,0.1,1,0.5,0"),
            (Code::D05, ": line 2, target_epoch"),
        ),
        case(
            "rate in words",
            (Source::Zeus, "summary_train.csv"),
            train("a,b,8,adam,low,1,0.5,3"),
            (Code::D04, ": line 2, learning_rate"),
        ),
        case("window without a limit", pair, window(&["1,__Optimizer,9,5,5"]), (Code::D04, ": line 2, window_name")),
        case("window without energy", pair, window(&["1,__O_200,9,5,0"]), (Code::D05, ": line 2, gpu1_energy")),
        case("window twice", pair, window(&["1,__O_200,9,5,5", "2,__O_200,9,5,5"]), (Code::D07, ": line 3")),
    ]
}

fn perseus() -> Vec<Case> {
    let stage = (Source::Perseus, STAGES);
    let runs = (Source::Perseus, "measured_runs.csv");
    let run = |rows: &[&str]| table(RUNS, rows);
    vec![
        case("unknown pass", stage, table(STAGE, &["0,sideways,855,0.1,20"]), (Code::D06, ": line 2, instruction")),
        case("forward alone", stage, table(STAGE, &["0,forward,855,0.1,20"]), (Code::D10, ": line 2")),
        case(
            "pass twice",
            stage,
            table(STAGE, &["0,forward,855,0.1,20", "0,forward,855,0.1,20", "0,backward,855,1,20"]),
            (Code::D07, ": line 3"),
        ),
        case("negative energy", stage, table(STAGE, &["0,forward,855,0.1,-20"]), (Code::D05, ": line 2, energy")),
        case("negative stage", stage, table(STAGE, &["-1,forward,855,0.1,20"]), (Code::D05, ": line 2, stage")),
        case(
            "unknown method",
            runs,
            run(&["magic,A40,m,p,1,1,1,8,4,0,0,30,9,4,800,200,200"]),
            (Code::D06, ": line 2, method"),
        ),
        case(
            "unknown GPU of a run",
            runs,
            run(&["perseus,H100,m,p,1,1,1,8,4,0,0,30,9,4,800,200,200"]),
            (Code::D06, ": line 2, gpu"),
        ),
        case(
            "rank outside the gang",
            runs,
            run(&["perseus,A40,m,p,1,1,1,8,4,0,1,30,9,4,800,200,200"]),
            (Code::D05, ": line 2, rank"),
        ),
        case("rank missing", runs, run(&["perseus,A40,m,p,1,2,1,8,4,0,0,30,9,4,800,200,200"]), (Code::D10, ": line 2")),
        case(
            "rank twice",
            runs,
            run(&["perseus,A40,m,p,1,1,1,8,4,0,0,30,9,4,800,200,200"; 2]),
            (Code::D07, ": line 3"),
        ),
        case(
            "sum without a limit",
            (Source::Perseus, "zeus_global.csv"),
            table(SUMS, &["m,1,1,2,0,200,5,90"]),
            (Code::D05, ": line 2, power_limit_0"),
        ),
    ]
}

fn others() -> Vec<Case> {
    let ttu = (Source::Ttu, "mean_fp_data_HPC_apps.csv");
    let alone = (Source::Gavel, "isolated_throughput.csv");
    let pairs = (Source::Gavel, "colocated_throughput.csv");
    let muri = (Source::Muri, "cluster_trace.csv");
    let plain = (Source::Csv, "mine.csv");
    let job = |rows: &[&str]| table(MURI, rows);
    vec![
        case("clock twice", ttu, table(TTU, &["0,bfs,510,50,30", "1,bfs,510,50,30"]), (Code::D07, ": line 3")),
        case("run time of 0", ttu, table(TTU, &["0,bfs,510,50,0"]), (Code::D05, ": line 2, run_time")),
        case("clock with a decimal", ttu, table(TTU, &["0,bfs,510.5,50,1"]), (Code::D04, ": line 2, sm_app_clock")),
        case("unknown GPU of a rate", alone, table(ALONE, &["s,t4,LM,1,4"]), (Code::D06, ": line 2, gpu")),
        case("negative rate", alone, table(ALONE, &["s,v100,LM,1,-4"]), (Code::D05, ": line 2, steps_per_s")),
        case("rate twice", alone, table(ALONE, &["s,v100,LM,1,4", "s,v100,LM,1,5"]), (Code::D07, ": line 3")),
        case(
            "one of a pair runs",
            pairs,
            table(PAIRS, &["s,v100,LM,1,A3C,1,0,4"]),
            (Code::D05, ": line 2, steps_per_s_job1"),
        ),
        case(
            "gangs of a pair differ",
            pairs,
            table(PAIRS, &["s,v100,LM,1,A3C,2,3,4"]),
            (Code::D11, ": line 2, scale_factor2"),
        ),
        case("pair twice", pairs, table(PAIRS, &["s,v100,LM,1,A3C,1,3,4"; 2]), (Code::D07, ": line 3")),
        case("no GPUs", muri, job(&["0,0,0,10,vgg16,16,5,0,107,1,2,3,1"]), (Code::D05, ": line 2, num_gpu")),
        case(
            "times disagree",
            muri,
            job(&["0,1,0,10,vgg16,16,5,0,107,1,2,3,1", "1,1,0,10,vgg16,16,5,0,108,1,2,3,1"]),
            (Code::D11, ": line 3, iteration_time"),
        ),
        case(
            "negative stage time",
            muri,
            job(&["0,1,0,10,vgg16,16,5,0,107,-1,2,3,1"]),
            (Code::D05, ": line 2, resource_time_0"),
        ),
        case("overlap above 1", plain, table(CSV, &["net,a40,,,0.1,,,,1.5,"]), (Code::D05, ": line 2, overlap")),
        case("name with a slash", plain, table(CSV, &["net,a/40,,,0.1,,,,,"]), (Code::I04, ": line 2, gpu_type")),
        case(
            "figures disagree",
            plain,
            table(CSV, &["net,a40,1,,0.1,,,5,,", "net,a40,2,,0.1,,,6,,"]),
            (Code::D11, ": line 3, gradient_bytes"),
        ),
        case("point twice in a plain table", plain, table(CSV, &["net,a40,1,,0.1,,,,,"; 2]), (Code::D07, ": line 3")),
        case("gang twice", plain, table(CSV, &["net,a40,,,0.1,,4,,,true"; 2]), (Code::D07, ": line 3")),
        case(
            "neither true nor false",
            plain,
            table(CSV, &["net,a40,,,0.1,,4,,,maybe"]),
            (Code::D06, ": line 2, consolidated"),
        ),
        case(
            "limit of 4 decimals",
            plain,
            table(CSV, &["net,a40,,100.0001,0.1,,,,,"]),
            (Code::D05, ": line 2, power_limit_w"),
        ),
        case(
            "unknown kind",
            plain,
            format!("# step_s_kind: guessed\n{}", table(CSV, &["net,a40,,,0.1,,,,,"])),
            (Code::D06, ": step_s_kind"),
        ),
        case(
            "two workloads of one name",
            plain,
            table(CSV, &["a b,a40,,,0.1,,,,,", "a-b,a40,,,0.1,,,,,"]),
            (Code::D11, ""),
        ),
        case(
            "lines count below comments",
            plain,
            format!("# a: b\n\n{}", table(CSV, &["net,a40,,,x,,,,,"])),
            (Code::D04, ": line 4, step_s"),
        ),
    ]
}

#[test]
fn every_damage_is_named_with_code_file_and_line() {
    let cases: Vec<_> = [files(), zeus(), perseus(), others()].into_iter().flatten().collect();
    assert!(cases.len() >= 40, "{}", cases.len());
    for case in cases {
        let imported = import_one(case.source, case.file, &case.text);
        let place = format!("{}{}", case.file, case.place);
        let found: Vec<_> =
            imported.findings.damaged.iter().map(|problem| (problem.code, problem.place.as_str())).collect();
        assert!(found.contains(&(case.code, place.as_str())), "{}: {found:?}", case.name);
    }
}

#[test]
fn all_damage_of_a_row_is_named_at_once() {
    let imported = import_one(Source::Zeus, POWER, table(ZEUS, &["cifar100,net,x,adam,y,0,"]));
    let codes: Vec<_> = imported.findings.damaged.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, [Code::D04, Code::D04, Code::D05, Code::D13]);
}

#[test]
fn a_folder_without_a_file_of_the_source_is_named() {
    let imported = import_files(Source::Zeus, &[Input { named: false, ..input("README.md", "hello") }]);
    assert_eq!(imported.findings.damaged.iter().map(|problem| problem.code).collect::<Vec<_>>(), [Code::D12]);
    assert_eq!(imported.findings.unread.len(), 1);
}
