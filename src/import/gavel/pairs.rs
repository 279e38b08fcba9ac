//! Gavel's co-located jobs as `rats.pairs/1`.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{Document, PairFile, PairWorkloadFile, PairsFile};

use super::{
    AMOUNT, COUNT, Cells, GPUS, Imported, Input, Key, Rates, Table, model_and_batch, significant, slug, source,
};

const COLUMNS: [&str; 8] =
    ["source", "gpu", "job1", "scale_factor1", "job2", "scale_factor2", "steps_per_s_job1", "steps_per_s_job2"];

/// Name, GPUs, consolidated.
type Workload = (String, i64, bool);

struct Row {
    source: String,
    gpu_type: &'static str,
    first: Workload,
    second: Workload,
    rates: (f64, f64),
}

/// The rates of a pair, with the line.
type Found = BTreeMap<(Workload, Workload), (u64, (f64, f64))>;

pub(super) fn import(input: &Input, alone: &BTreeMap<Key, Rates>, imported: &mut Imported) {
    let findings = &mut imported.findings;
    let Some(table) = Table::read(input, &COLUMNS, findings) else { return };
    let mut groups: BTreeMap<(String, &str), Found> = BTreeMap::new();
    for (line, row) in table.each(findings, read) {
        let group = groups.entry((row.source, row.gpu_type)).or_default();
        let pair = (row.first, row.second);
        if let Some((first, _)) = group.get(&pair) {
            findings.damage(Code::D07, table.place(line), format!("the pair is in line {first} already."));
            findings.leave_out(&table.name, 1);
        } else {
            group.insert(pair, (line, row.rates));
        }
    }
    for ((source, gpu_type), pairs) in &groups {
        imported.pairs.push(file(source, gpu_type, pairs, alone));
    }
}

fn read(cells: &mut Cells<'_, '_>) -> Option<Row> {
    let source = cells.text("source");
    let gpu = cells.one_of("gpu", &GPUS);
    let jobs = ["job1", "job2"].map(|column| cells.text(column));
    let gpus = ["scale_factor1", "scale_factor2"].map(|column| cells.whole(column, COUNT));
    let rates = ["steps_per_s_job1", "steps_per_s_job2"].map(|column| cells.number(column, AMOUNT));
    let ((gpu_type, consolidated), [Some(first), Some(second)], [Some(gpus), Some(others)]) = (gpu?, jobs, gpus) else {
        return None;
    };
    let [Some(rate), Some(other)] = rates else { return None };
    if (rate > 0.0) != (other > 0.0) {
        cells.damage(Code::D05, "steps_per_s_job1", "one job runs and the other makes 0 steps per second.");
        return None;
    }
    if gpus != others {
        let message = format!("{others} GPUs cannot be shared with a job on {gpus}.");
        cells.damage(Code::D11, "scale_factor2", message);
        return None;
    }
    Some(Row {
        source: source?.to_owned(),
        gpu_type,
        first: (first.to_owned(), gpus, consolidated),
        second: (second.to_owned(), gpus, consolidated),
        rates: (rate, other),
    })
}

fn file(source_name: &str, gpu_type: &'static str, pairs: &Found, alone: &BTreeMap<Key, Rates>) -> PairsFile {
    let mut index = BTreeMap::new();
    for workload in pairs.keys().flat_map(|(first, second)| [first, second]) {
        index.insert(workload, 0);
    }
    for (position, slot) in index.values_mut().enumerate() {
        *slot = position;
    }
    let workload = |(name, gpus, consolidated): &Workload| PairWorkloadFile {
        name: name.clone(),
        model: Some(model_and_batch(name).0),
        batch: model_and_batch(name).1,
        gpus: *gpus,
        consolidated: Some(*consolidated),
        alone: alone
            .get(&(source_name.to_owned(), gpu_type, name.clone()))
            .and_then(|rates| rates.get(&(*gpus, *consolidated)))
            .map(|&(_, rate)| significant(rate))
            .filter(|&rate| rate > 0.0),
    };
    let entries = pairs.iter().map(|((first, second), (_, (rate, other)))| {
        PairFile(index[first], index[second], significant(*rate), significant(*other))
    });
    PairsFile {
        format: PairsFile::FORMAT.to_owned(),
        id: slug(&[gpu_type, "gavel", source_name, "pairs"]),
        gpu_type: gpu_type.to_owned(),
        source: source(&format!("{source_name}_throughputs.json")),
        workloads: index.keys().copied().map(workload).collect(),
        pairs: entries.collect(),
    }
}
