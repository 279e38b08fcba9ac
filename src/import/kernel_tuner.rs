//! Kernel Tuner: a cache file of one kernel that was run at several locked SM clocks, with NVML power.
//!
//! `<...>_cache_<device>.json`: `cache` has an entry a configuration. `time` is the mean of `times`, in ms; `nvml_power` in W;
//! `nvml_gr_clock` the locked clock, `core_freq` the one observed, both in MHz.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{ColumnOrigin, Kind, MeasuredPointFile, OriginFile, ProfileFile, SourceFile, WorkloadFile};
use serde_json::{Map, Value};

use super::Imported;
use super::cells::{COUNT, SECONDS, WATTS};
use super::findings::{FileRows, Findings};
use super::input::Input;
use super::names::{mean_and_spread, significant, slug};

/// The tunable parameter that is the clock.
const CLOCK: &str = "nvml_gr_clock";
/// A mean and the mean of its values differ by rounding only.
const MEAN_TOLERANCE: f64 = 1e-4;

struct Cache {
    kernel: String,
    gpu_type: String,
    /// Tunable parameters other than the clock.
    parameters: Vec<String>,
}

/// Points by clock, with the entry that they are from.
type Points = BTreeMap<i64, (String, MeasuredPointFile)>;

pub(super) fn import(inputs: &[Input], imported: &mut Imported) {
    for input in inputs {
        if input.is("json") && input.file_name().contains("cache") {
            file(input, imported);
        } else {
            imported.findings.stranger(&input.name);
        }
    }
}

fn file(input: &Input, imported: &mut Imported) {
    let findings = &mut imported.findings;
    let Some(text) = input.text(findings) else { return };
    let value: Value = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(error) => {
            findings.damage(Code::R01, format!("{}: line {}", input.name, error.line()), format!("{error}."));
            return;
        }
    };
    let Some((cache, entries)) = head(input, &value, findings) else { return };
    findings.files.push(FileRows { path: input.name.clone(), rows: entries.len(), left_out: 0 });
    let mut kernels: BTreeMap<Vec<(String, String)>, Points> = BTreeMap::new();
    for (key, entry) in entries {
        let place = format!("{}: cache[\"{}\"]", input.name, key.escape_debug());
        let read = entry_of(&cache, entry, &place, findings);
        let Some((settings, clock, point)) = read else {
            findings.leave_out(&input.name, 1);
            continue;
        };
        let points = kernels.entry(settings).or_default();
        if let Some((first, _)) = points.get(&clock) {
            findings.damage(Code::D07, place, format!("{clock} MHz with these parameters is entry `{first}` already."));
            findings.leave_out(&input.name, 1);
        } else {
            points.insert(clock, (key.clone(), point));
        }
    }
    for (settings, points) in kernels {
        imported.profiles.push(profile(&cache, input.file_name(), settings, points));
    }
}

fn head<'v>(input: &Input, value: &'v Value, findings: &mut Findings) -> Option<(Cache, &'v Map<String, Value>)> {
    let text = |field: &str| value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let keys = value.get("tune_params_keys").and_then(Value::as_array);
    let keys: Option<Vec<_>> = keys.and_then(|keys| keys.iter().map(|key| key.as_str().map(str::to_owned)).collect());
    let entries = value.get("cache").and_then(Value::as_object);
    let found = (text("device_name"), text("kernel_name"), keys, entries);
    let (Some(device), Some(kernel), Some(mut keys), Some(entries)) = found else {
        let message = "lacks one of device_name, kernel_name, tune_params_keys and cache.";
        findings.damage(Code::D02, input.name.clone(), message);
        return None;
    };
    if !keys.iter().any(|key| key == CLOCK) {
        findings.damage(
            Code::D02,
            input.name.clone(),
            format!("`{CLOCK}` is not among tune_params_keys: no clock was locked."),
        );
        return None;
    }
    if entries.is_empty() {
        findings.damage(Code::D01, input.name.clone(), "has no entry in cache.");
        return None;
    }
    keys.retain(|key| key != CLOCK);
    let gpu_type = slug(&[device.strip_prefix("NVIDIA ").unwrap_or(device)]);
    Some((Cache { kernel: kernel.to_owned(), gpu_type, parameters: keys }, entries))
}

type Entry = (Vec<(String, String)>, i64, MeasuredPointFile);

fn entry_of(cache: &Cache, entry: &Value, place: &str, findings: &mut Findings) -> Option<Entry> {
    let before = findings.damaged.len();
    let time = number(entry, "time", place, findings);
    let watts = number(entry, "nvml_power", place, findings);
    let clock = entry.get(CLOCK).and_then(Value::as_i64).filter(|clock| COUNT.contains(clock));
    if clock.is_none() {
        let message = format!("{} is no clock in whole MHz.", shown(entry.get(CLOCK)));
        findings.damage(Code::D04, format!("{place}.{CLOCK}"), message);
    }
    let settings: Vec<_> = cache.parameters.iter().map(|key| (key.clone(), shown(entry.get(key)))).collect();
    let times: Vec<_> = entry.get("times").and_then(Value::as_array).into_iter().flatten().collect();
    let times: Vec<f64> = times.into_iter().filter_map(Value::as_f64).collect();
    let (time, watts, clock) = (time? / 1000.0, watts?, clock?);
    let mut damage = |field: &str, message: String| findings.damage(Code::D05, format!("{place}.{field}"), message);
    if !SECONDS.contains(&time) {
        damage("time", format!("{} ms is not above 0.", time * 1000.0));
    }
    if !WATTS.contains(&watts) {
        damage("nvml_power", format!("{watts} W is not above 0."));
    }
    let (mean, spread) = if times.is_empty() { (time * 1000.0, None) } else { mean_and_spread(&times) };
    if (mean / 1000.0 - time).abs() > MEAN_TOLERANCE * time {
        let message = format!("{} ms is not the mean of `times`, {mean}.", time * 1000.0);
        findings.damage(Code::D11, format!("{place}.time"), message);
    }
    let point = MeasuredPointFile {
        sm_mhz: Some(clock),
        step_s: Some(significant(time)),
        power_w: Some(watts),
        step_s_spread: spread,
        samples: i64::try_from(times.len()).ok().filter(|count| *count > 0),
        ..MeasuredPointFile::default()
    };
    (findings.damaged.len() == before).then_some((settings, clock, point))
}

fn number(entry: &Value, field: &str, place: &str, findings: &mut Findings) -> Option<f64> {
    let value = entry.get(field);
    let number = value.and_then(Value::as_f64);
    if number.is_none() {
        findings.damage(Code::D04, format!("{place}.{field}"), format!("{} is not a number.", shown(value)));
    }
    number
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => text.chars().take(40).flat_map(char::escape_debug).collect(),
        Some(value) => value.to_string().chars().take(40).collect(),
    }
}

fn profile(cache: &Cache, file: &str, settings: Vec<(String, String)>, points: Points) -> ProfileFile {
    let values: Vec<_> = settings.iter().map(|(_, value)| value.as_str()).collect();
    let id = slug(&[&[cache.gpu_type.as_str(), "kernel-tuner", &cache.kernel], values.as_slice()].concat());
    ProfileFile {
        points: points.into_values().map(|(_, point)| point).collect(),
        ..ProfileFile::new(
            id,
            cache.gpu_type.clone(),
            WorkloadFile {
                model: cache.kernel.clone(),
                settings: settings.into_iter().collect(),
                step: "one run of the kernel".to_owned(),
                ..WorkloadFile::default()
            },
            source(file),
            OriginFile {
                step_s: ColumnOrigin::new(Kind::Measured, "time, mean of the runs"),
                power_w: Some(ColumnOrigin::new(Kind::Measured, "nvml_power")),
                counters: None,
            },
        )
    }
}

fn source(file: &str) -> SourceFile {
    let citation = "R. Schoonhoven, B. Veenboer, B. van Werkhoven, K. J. Batenburg, \"Going green: optimizing GPUs for energy \
                    efficiency through model-steered auto-tuning\", PMBS 2022";
    SourceFile {
        id: Some("kernel-tuner".to_owned()),
        title: "Kernel Tuner tutorial: energy".to_owned(),
        authors: Some("R. Schoonhoven, B. Veenboer, B. van Werkhoven, K. J. Batenburg".to_owned()),
        repository: Some("https://github.com/KernelTuner/kernel_tuner_tutorial".to_owned()),
        commit: Some("7a74a86467d32260b5da56ac2df5f98638c3520a".to_owned()),
        path: Some(format!("energy/data/{file}")),
        licence: Some("Apache-2.0".to_owned()),
        hardware: None,
        citation: Some(citation.to_owned()),
    }
}
