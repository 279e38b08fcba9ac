//! What is in a data set: one line a table, source and type of GPU.

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::format::Flag;
use serde::Serialize;

use super::rows::{Dataset, Gang, Pair, Point};

/// A table of the data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// Measured points.
    Points,
    /// Pairs of jobs.
    Pairs,
    /// Gangs.
    Gangs,
}

/// The rows of one source and type of GPU in one table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The table.
    pub table: Table,
    /// Short name of the source.
    pub source: String,
    /// Type of GPU.
    pub gpu: String,
    /// Rows.
    pub rows: usize,
    /// Different workloads; of pairs, different jobs.
    pub workloads: usize,
    /// Different SM clocks, MHz.
    pub sm_mhz: BTreeSet<i64>,
    /// Different memory clocks, MHz.
    pub mem_mhz: BTreeSet<i64>,
    /// Least and greatest power limit, W.
    pub power_limit_w: Option<(f64, f64)>,
    /// Different numbers of GPUs.
    pub gpus: BTreeSet<i64>,
    /// Rows with a time in seconds that can be used.
    pub times: usize,
    /// Rows with a power that can be used.
    pub powers: usize,
    /// Rows with counters.
    pub counters: usize,
    /// Rows by flag.
    pub flags: BTreeMap<&'static str, usize>,
    /// Licences.
    pub licences: BTreeSet<String>,
}

/// All groups, by table, source and GPU.
pub fn summary(data: &Dataset) -> Vec<Group> {
    let mut groups: BTreeMap<(Table, String, String), (Group, BTreeSet<String>)> = BTreeMap::new();
    for row in &data.points {
        let (group, names) = entry(&mut groups, Table::Points, &row.source, &row.gpu);
        names.insert(row.workload.clone());
        point(group, row);
    }
    for row in &data.pairs {
        let (group, names) = entry(&mut groups, Table::Pairs, &row.source, &row.gpu);
        names.extend([row.a.job.clone(), row.b.job.clone()]);
        pair(group, row);
    }
    for row in &data.gangs {
        let (group, names) = entry(&mut groups, Table::Gangs, &row.source, &row.gpu);
        names.insert(row.workload.clone());
        gang(group, row);
    }
    groups.into_values().map(|(group, names)| Group { workloads: names.len(), ..group }).collect()
}

fn entry<'g>(
    groups: &'g mut BTreeMap<(Table, String, String), (Group, BTreeSet<String>)>,
    table: Table,
    source: &str,
    gpu: &str,
) -> &'g mut (Group, BTreeSet<String>) {
    let group = || Group {
        table,
        source: source.to_owned(),
        gpu: gpu.to_owned(),
        rows: 0,
        workloads: 0,
        sm_mhz: BTreeSet::new(),
        mem_mhz: BTreeSet::new(),
        power_limit_w: None,
        gpus: BTreeSet::new(),
        times: 0,
        powers: 0,
        counters: 0,
        flags: BTreeMap::new(),
        licences: BTreeSet::new(),
    };
    groups.entry((table, source.to_owned(), gpu.to_owned())).or_insert_with(|| (group(), BTreeSet::new()))
}

fn point(group: &mut Group, row: &Point) {
    count(group, row.gpus, &row.flags, row.provenance.licence.as_ref());
    group.sm_mhz.extend(row.sm_mhz);
    group.mem_mhz.extend(row.mem_mhz);
    if let Some(limit) = row.power_limit_w {
        let (least, most) = group.power_limit_w.unwrap_or((limit, limit));
        group.power_limit_w = Some((least.min(limit), most.max(limit)));
    }
    group.times += usize::from(row.usable_time().is_some() && !row.has(Flag::TimeRelative));
    group.powers += usize::from(row.usable_power().is_some());
    group.counters += usize::from(!row.counters.is_empty());
}

fn pair(group: &mut Group, row: &Pair) {
    count(group, row.gpus, &row.flags, row.provenance.licence.as_ref());
    group.times += usize::from(row.can_share);
}

fn gang(group: &mut Group, row: &Gang) {
    count(group, row.gpus, &row.flags, row.provenance.licence.as_ref());
    group.times += 1;
    group.powers += usize::from(row.power_w.is_some());
}

fn count(group: &mut Group, gpus: i64, flags: &[Flag], licence: Option<&String>) {
    group.rows += 1;
    group.gpus.insert(gpus);
    group.licences.extend(licence.cloned());
    for flag in flags {
        *group.flags.entry(flag.name()).or_default() += 1;
    }
}
