//! Rows of the data set out of profiles and pairs: the one way from measurements to tables.

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{Flag, MeasuredPointFile, PairFile, PairWorkloadFile, ScalingFile, SourceFile};
use rats_domain::pairs::Pairs;
use rats_domain::problem::Warning;
use rats_domain::profile::Profile;

use super::rows::{Dataset, Gang, Pair, Point, Provenance, Side};

/// Rates of mirrored rows that differ by more, relative to the greater, disagree.
const MIRROR_TOLERANCE: f64 = 1e-6;
/// Fewer pairs may agree by chance.
const LEAST_SERIES: usize = 5;
/// The source of profiles that name none.
const UNNAMED: &str = "unnamed";

/// All rows of profiles and pairs, sorted, and what looked suspicious on the way.
pub fn from_profiles(profiles: &[Profile], pairs: &[Pairs]) -> (Dataset, Vec<Warning>) {
    let mut data = Dataset::default();
    let mut warnings = Vec::new();
    for profile in profiles {
        data.points.extend(profile.points.iter().map(|measured| point(profile, measured)));
        data.gangs.extend(profile.scaling.iter().map(|entry| gang(profile, entry)));
    }
    for file in pairs {
        data.pairs.extend(unordered(file, &mut warnings));
    }
    data.sort();
    repeated(&mut data.pairs, &mut warnings);
    (data, warnings)
}

/// Series of pairs that state the very same rates as a series before them, pair by pair: named and flagged.
fn repeated(pairs: &mut [Pair], warnings: &mut Vec<Warning>) {
    let mut series: BTreeMap<(String, String, String), Vec<usize>> = BTreeMap::new();
    for (position, row) in pairs.iter().enumerate() {
        series.entry((row.source.clone(), row.gpu.clone(), row.series.clone())).or_default().push(position);
    }
    // Rows are sorted, so that two series with the same pairs list them in the same order.
    let mut first: BTreeMap<(String, String, Vec<String>), String> = BTreeMap::new();
    for ((source, gpu, name), rows) in series.into_iter().filter(|(_, rows)| rows.len() >= LEAST_SERIES) {
        let stated = |&position: &usize| {
            let Pair { gpus, consolidated, a, b, .. } = &pairs[position];
            format!("{gpus} {consolidated:?} {} {} {} {}", a.job, b.job, a.shared_rate, b.shared_rate)
        };
        let content: Vec<_> = rows.iter().map(stated).collect();
        if let Some(other) = first.get(&(source.clone(), gpu.clone(), content.clone())) {
            let message = format!("the {} pairs of `{name}` on {gpu} have the rates of `{other}`.", rows.len());
            warnings.push(Warning::new(Code::S13, &source, message));
            for position in rows {
                pairs[position].flags.push(Flag::Repeated);
            }
        } else {
            first.insert((source, gpu, content), name);
        }
    }
}

fn point(profile: &Profile, measured: &MeasuredPointFile) -> Point {
    let source = source_of(&profile.source);
    let unusable = measured.flags.iter().any(|flag| matches!(flag, Flag::TimeUnusable | Flag::PowerUnusable));
    let both = measured.step_s.zip(measured.power_w).filter(|_| !unusable);
    let mut counters = profile.counters.clone();
    counters.extend(measured.counters.clone());
    Point {
        workload: short_name(&profile.id, &profile.gpu_type, &source),
        source,
        gpu: profile.gpu_type.clone(),
        model: profile.workload.model.clone(),
        step: profile.workload.step.clone(),
        batch: profile.batch_per_gpu.as_ref().map(|figure| figure.value),
        gpus: profile.gang.map_or(1, |gang| gang.gpus),
        sm_mhz: measured.sm_mhz,
        mem_mhz: measured.mem_mhz,
        power_limit_w: measured.power_limit_w.map(Decimal::to_f64),
        time_s: measured.step_s,
        power_w: measured.power_w,
        energy_j: both.map(|(time, power)| time * power),
        time_spread: measured.step_s_spread,
        power_spread: measured.power_w_spread,
        samples: measured.samples,
        flags: measured.flags.clone(),
        provenance: provenance(&profile.source),
        counters,
    }
}

fn gang(profile: &Profile, entry: &ScalingFile) -> Gang {
    let source = source_of(&profile.source);
    let value = |figure: &Option<rats_domain::format::Figure>| figure.as_ref().map(|figure| figure.value);
    let setting = |name: &str| profile.workload.settings.get(name).cloned();
    let truth = |name: &str| setting(name).and_then(|text| text.parse().ok());
    let (batch, sequence_tokens) = (value(&profile.batch_per_gpu), value(&profile.sequence_tokens));
    let tokens = batch.zip(sequence_tokens).map(|(batch, tokens)| batch * tokens * entry.gpus as f64);
    Gang {
        workload: short_name(&profile.id, &profile.gpu_type, &source),
        source,
        gpu: profile.gpu_type.clone(),
        model: profile.workload.model.clone(),
        batch,
        gpus: entry.gpus,
        nodes: entry.nodes,
        consolidated: entry.consolidated,
        time_s: entry.step_s,
        power_w: entry.power_w,
        load_s: entry.stages.map(|stages| stages.load_s),
        compute_s: entry.stages.map(|stages| stages.compute_s),
        network_s: entry.stages.map(|stages| stages.network_s),
        gradient_bytes: value(&profile.gradient_bytes),
        tokens_per_s: tokens.map(|tokens| tokens / entry.step_s),
        parameters: value(&profile.parameters),
        sequence_tokens,
        micro_batch: value(&profile.micro_batch),
        precision: profile.workload.precision.clone(),
        sharding: setting("sharding"),
        recompute: truth("activation_checkpointing"),
        offload: truth("activation_cpu_offload"),
        flags: entry.flags.clone(),
        provenance: provenance(&profile.source),
    }
}

/// The pairs of a file, each once with the job whose name comes first as `a`. The other order must say the same.
fn unordered(file: &Pairs, warnings: &mut Vec<Warning>) -> Vec<Pair> {
    let key =
        |index: usize| (&file.workloads[index].name, file.workloads[index].gpus, file.workloads[index].consolidated);
    let rates: BTreeMap<_, _> = file.pairs.iter().map(|&PairFile(i, j, one, two)| ((i, j), (one, two))).collect();
    let mut done = BTreeSet::new();
    let mut rows = Vec::new();
    for (&(i, j), &(one, two)) in &rates {
        if key(i) > key(j) && rates.contains_key(&(j, i)) {
            continue;
        }
        let (a, b, rate_a, rate_b) = if key(i) <= key(j) { (i, j, one, two) } else { (j, i, two, one) };
        if !done.insert((a, b)) {
            continue;
        }
        let mut row = pair(file, (a, rate_a), (b, rate_b));
        if let Some(&(other_b, other_a)) = rates.get(&(b, a)).filter(|_| a != b)
            && (differ(rate_a, other_a) || differ(rate_b, other_b))
        {
            let (first, second) = (&file.workloads[a].name, &file.workloads[b].name);
            let message = format!(
                "`{first}` next to `{second}` makes {rate_a} and {rate_b} steps/s, in the other order {other_a} and {other_b}."
            );
            warnings.push(Warning::new(Code::S08, &file.id, message));
            row.flags.push(Flag::Disagrees);
        }
        rows.push(row);
    }
    rows
}

fn differ(one: f64, two: f64) -> bool {
    (one - two).abs() > MIRROR_TOLERANCE * one.max(two)
}

fn pair(file: &Pairs, (a, rate_a): (usize, f64), (b, rate_b): (usize, f64)) -> Pair {
    let source = source_of(&file.source);
    let (first, second) = (&file.workloads[a], &file.workloads[b]);
    let series = short_name(&file.id, &file.gpu_type, &source);
    Pair {
        series: series.strip_suffix("-pairs").unwrap_or(&series).to_owned(),
        source,
        gpu: file.gpu_type.clone(),
        gpus: first.gpus,
        consolidated: first.consolidated,
        a: side(first, rate_a),
        b: side(second, rate_b),
        can_share: rate_a > 0.0 && rate_b > 0.0,
        flags: Vec::new(),
        provenance: provenance(&file.source),
    }
}

fn side(workload: &PairWorkloadFile, rate: f64) -> Side {
    Side {
        job: workload.name.clone(),
        model: workload.model.clone().unwrap_or_else(|| workload.name.clone()),
        batch: workload.batch,
        alone_rate: workload.alone,
        shared_rate: rate,
    }
}

fn source_of(source: &SourceFile) -> String {
    source.id.clone().unwrap_or_else(|| UNNAMED.to_owned())
}

/// An id without the GPU type and source that it begins with: `v100-ttu-dgemm` is `dgemm`.
fn short_name(id: &str, gpu: &str, source: &str) -> String {
    let rest = id.strip_prefix(gpu).and_then(|rest| rest.strip_prefix('-')).unwrap_or(id);
    rest.strip_prefix(source).and_then(|rest| rest.strip_prefix('-')).unwrap_or(rest).to_owned()
}

fn provenance(source: &SourceFile) -> Provenance {
    Provenance {
        file: source.path.clone(),
        commit: source.commit.clone(),
        repository: source.repository.clone(),
        licence: source.licence.clone(),
    }
}

#[cfg(test)]
mod tests {
    use rats_domain::format::{
        ColumnOrigin, Document as _, Figure, GangFile, Kind, OriginFile, PairsFile, ProfileFile, StagesFile,
        WorkloadFile,
    };

    use super::*;

    fn source() -> SourceFile {
        let text = |text: &str| Some(text.to_owned());
        SourceFile {
            id: text("ttu"),
            title: "t".to_owned(),
            commit: text("0b28"),
            licence: text("MIT"),
            path: text("f.csv"),
            ..SourceFile::default()
        }
    }

    fn profile(change: impl FnOnce(&mut ProfileFile)) -> Profile {
        let workload =
            WorkloadFile { model: "dgemm".to_owned(), step: "one run".to_owned(), ..WorkloadFile::default() };
        let column = ColumnOrigin { kind: Kind::Measured, note: None };
        let origin = OriginFile { step_s: column.clone(), power_w: Some(column), counters: None };
        let mut file = ProfileFile::new("v100-ttu-dgemm".to_owned(), "v100".to_owned(), workload, source(), origin);
        change(&mut file);
        Profile::new(file).unwrap()
    }

    fn measured(clock: i64, flags: &[Flag]) -> MeasuredPointFile {
        MeasuredPointFile {
            sm_mhz: Some(clock),
            step_s: Some(2.0),
            power_w: Some(150.0),
            flags: flags.to_vec(),
            ..MeasuredPointFile::default()
        }
    }

    #[test]
    fn energy_is_power_times_time_where_both_can_be_used() {
        let profile = profile(|file| {
            file.points =
                vec![measured(510, &[]), measured(517, &[Flag::TimeUnusable]), measured(525, &[Flag::TimeRelative])];
        });
        let (data, warnings) = from_profiles(&[profile], &[]);
        assert_eq!(warnings, []);
        let energies: Vec<_> = data.points.iter().map(|point| point.energy_j).collect();
        assert_eq!(energies, [Some(300.0), None, Some(300.0)]);
        let point = &data.points[0];
        assert_eq!((point.source.as_str(), point.workload.as_str(), point.gpus), ("ttu", "dgemm", 1));
        assert_eq!(point.provenance.licence.as_deref(), Some("MIT"));
    }

    #[test]
    fn counters_of_the_profile_hold_at_every_point_unless_measured_there() {
        let profile = profile(|file| {
            file.counters = [("util_l2".to_owned(), 0.5), ("util_int".to_owned(), 0.1)].into();
            file.points = vec![measured(510, &[]), measured(517, &[])];
            file.points[1].counters = [("util_l2".to_owned(), 0.75)].into();
            file.gang = Some(GangFile { gpus: 8, dp: 2, pp: 2, tp: 2 });
        });
        let (data, _) = from_profiles(&[profile], &[]);
        let l2: Vec<_> = data.points.iter().map(|point| (point.counters["util_l2"], point.counters.len())).collect();
        assert_eq!((l2, data.points[0].gpus), (vec![(0.5, 2), (0.75, 2)], 8));
    }

    #[test]
    fn a_gang_keeps_its_stages_and_states_its_tokens() {
        let profile = profile(|file| {
            file.batch_per_gpu = Some(Figure::measured(4.0, "b"));
            file.sequence_tokens = Some(Figure::measured(2048.0, "s"));
            file.workload.settings = [("sharding".to_owned(), "FULL_SHARD".to_owned())].into();
            file.scaling = vec![ScalingFile {
                gpus: 8,
                nodes: Some(1),
                consolidated: None,
                step_s: 0.5,
                power_w: None,
                stages: Some(StagesFile { load_s: 0.1, compute_s: 0.3, network_s: 0.2 }),
                flags: Vec::new(),
            }];
        });
        let (data, _) = from_profiles(&[profile], &[]);
        let gang = &data.gangs[0];
        // 8 GPUs x 4 samples x 2048 tokens in 0.5 s.
        assert_eq!((gang.tokens_per_s, gang.network_s), (Some(131_072.0), Some(0.2)));
        assert_eq!((gang.sharding.as_deref(), gang.recompute), (Some("FULL_SHARD"), None));
    }

    #[test]
    fn a_series_that_states_the_rates_of_another_is_named_and_flagged() {
        let rates: Vec<_> = (0..5).map(|i| (i, i, 2.0 + i as f64, 3.0)).collect();
        let series = |id: &str, change: f64| {
            let mut file = pairs(&rates);
            file.workloads =
                (0..5).map(|i| PairWorkloadFile { name: i.to_string(), ..file.workloads[0].clone() }).collect();
            file.id = format!("v100-ttu-{id}-pairs");
            file.pairs[0].2 += change;
            file
        };
        let (data, warnings) = from_profiles(&[], &[series("b", 0.0), series("a", 0.0), series("c", 0.5)]);
        assert_eq!((warnings.len(), warnings[0].code), (1, Code::S13));
        assert_eq!(warnings[0].message, "the 5 pairs of `b` on v100 have the rates of `a`.");
        let flagged =
            |name: &str| data.pairs.iter().filter(|pair| pair.series == name && pair.flags == [Flag::Repeated]).count();
        assert_eq!(["a", "b", "c"].map(flagged), [0, 5, 0]);
    }

    fn pairs(rates: &[(usize, usize, f64, f64)]) -> Pairs {
        let workload = |name: &str, alone| PairWorkloadFile {
            name: name.to_owned(),
            model: None,
            batch: Some(8.0),
            gpus: 1,
            consolidated: Some(true),
            alone,
        };
        let mut workloads = vec![workload("b", Some(4.0)), workload("a", None)];
        workloads.extend(["c", "d", "e"].map(|name| workload(name, None)));
        Pairs::new(PairsFile {
            format: PairsFile::FORMAT.to_owned(),
            id: "v100-ttu-cold-pairs".to_owned(),
            gpu_type: "v100".to_owned(),
            source: source(),
            workloads,
            pairs: rates.iter().map(|&(i, j, one, two)| PairFile(i, j, one, two)).collect(),
        })
        .unwrap()
    }

    #[test]
    fn mirrored_rows_are_one_pair_with_the_first_name_first() {
        let (data, warnings) = from_profiles(&[], &[pairs(&[(0, 1, 2.0, 3.0), (1, 0, 3.0, 2.0), (0, 0, 0.0, 0.0)])]);
        assert_eq!(warnings, []);
        let rows: Vec<_> =
            data.pairs.iter().map(|pair| (pair.a.job.as_str(), pair.b.job.as_str(), pair.can_share)).collect();
        assert_eq!(rows, [("a", "b", true), ("b", "b", false)]);
        let pair = &data.pairs[0];
        assert_eq!((pair.a.shared_rate, pair.b.shared_rate, pair.series.as_str()), (3.0, 2.0, "cold"));
        // 2 steps/s next to a, 4 alone; a never ran alone.
        assert_eq!((pair.b.normalized_rate(), pair.a.normalized_rate()), (Some(0.5), None));
    }

    #[test]
    fn a_pair_in_one_order_only_is_turned_if_need_be() {
        let (data, _) = from_profiles(&[], &[pairs(&[(0, 1, 2.0, 3.0)])]);
        let pair = &data.pairs[0];
        assert_eq!((pair.a.job.as_str(), pair.a.shared_rate, pair.b.shared_rate), ("a", 3.0, 2.0));
    }

    #[test]
    fn mirrored_rows_that_disagree_are_named_and_flagged() {
        let (data, warnings) = from_profiles(&[], &[pairs(&[(0, 1, 2.0, 3.5), (1, 0, 3.0, 2.0)])]);
        assert_eq!((data.pairs.len(), warnings.len()), (1, 1));
        assert_eq!(warnings[0].code, Code::S08);
        assert_eq!(warnings[0].message, "`a` next to `b` makes 3 and 2 steps/s, in the other order 3.5 and 2.");
        // The row with `a` first is kept.
        assert_eq!((data.pairs[0].a.shared_rate, &data.pairs[0].flags), (3.0, &vec![Flag::Disagrees]));
    }

    #[test]
    fn names_lose_the_gpu_and_source_they_begin_with() {
        assert_eq!(short_name("a40-perseus-bloom-stage0", "a40", "perseus"), "bloom-stage0");
        assert_eq!(short_name("a40-net-b32", "a40", "unnamed"), "net-b32");
        assert_eq!(short_name("other", "a40", "zeus"), "other");
    }
}
