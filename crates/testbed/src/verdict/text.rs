//! The verdict for people.

use std::fmt::Write as _;

use super::{JobVerdict, Parts, Verdict};

/// The verdict as tables.
pub fn text(verdict: &Verdict) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = total(&mut text, verdict);
    let _ = jobs(&mut text, verdict);
    let _ = gpus(&mut text, verdict);
    text
}

fn total(text: &mut String, verdict: &Verdict) -> std::fmt::Result {
    let total = &verdict.total;
    writeln!(text, "jobs done              {}", verdict.jobs.len())?;
    for (job, state) in &verdict.unfinished {
        writeln!(text, "  not done: {job} ({})", super::text::word(*state))?;
    }
    if verdict.failures > 0 {
        writeln!(text, "attempts that failed   {}", verdict.failures)?;
    }
    writeln!(
        text,
        "energy of their GPUs   {:.0} J measured, {:.0} J predicted ({})",
        total.measured_j,
        total.planned_j,
        percent(total.measured_j, total.planned_j)
    )?;
    for (name, part) in parts(&total.causes_j) {
        writeln!(text, "  {name:<20} {part:>+10.0} J")?;
    }
    if let Some(all) = total.all_gpus_j {
        writeln!(text, "energy of all GPUs     {all:.0} J from the first to the last reading, idle time included")?;
    }
    if let Some(rest) = total.not_measured_j {
        writeln!(text, "not measured           {rest:.0} J predicted for idle GPUs, nodes and wake-ups")?;
    }
    writeln!(
        text,
        "last end               {:.0} s measured, {:.0} s planned",
        total.measured_end_s, total.planned_end_s
    )?;
    let (with, missed) = total.deadlines;
    if with > 0 {
        writeln!(text, "deadlines              {} of {with} held", with - missed)?;
    }
    if verdict.is_torn {
        writeln!(text, "the last line of the trace was cut short and is left out")?;
    }
    Ok(())
}

fn jobs(text: &mut String, verdict: &Verdict) -> std::fmt::Result {
    if verdict.jobs.is_empty() {
        return Ok(());
    }
    let width = verdict.jobs.iter().map(|job| job.facts.job.chars().count()).max().unwrap_or(3).clamp(3, 30);
    writeln!(
        text,
        "\n{:<width$}  {:>8} {:>8}  {:>9} {:>9} {:>7}  {:>9} {:>9} {:>7}  MOSTLY",
        "JOB", "START", "PLANNED", "TIME s", "PLANNED", "DIFF", "ENERGY J", "PLANNED", "DIFF"
    )?;
    for job in &verdict.jobs {
        let (planned, measured) = (&job.facts.planned, &job.facts.measured);
        let name: String = job.facts.job.chars().take(width).collect();
        writeln!(
            text,
            "{name:<width$}  {:>8.0} {:>8.0}  {:>9.1} {:>9.1} {:>7}  {:>9.0} {:>9.0} {:>7}  {}",
            measured.start_s,
            planned.start_s,
            measured.run_s,
            planned.run_s,
            percent(measured.run_s, planned.run_s),
            measured.energy_j,
            planned.energy_j,
            percent(measured.energy_j, planned.energy_j),
            mostly(job)
        )?;
    }
    Ok(())
}

/// The largest part of a job's difference, if the job differs by more than 2 %.
fn mostly(job: &JobVerdict) -> String {
    let mut notes = Vec::new();
    let off = |measured: f64, planned: f64| (measured / planned - 1.0).abs() > 0.02;
    let (planned, measured) = (&job.facts.planned, &job.facts.measured);
    if off(measured.run_s, planned.run_s) || off(measured.energy_j, planned.energy_j) {
        let largest = parts(&job.causes.energy_j).into_iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        notes.extend(largest.map(|(name, _)| name.to_owned()));
    }
    if job.facts.before_deadline_s.is_some_and(|before| before < 0.0) {
        notes.push("deadline missed".to_owned());
    }
    if let Some(share) = job.facts.clock_share.filter(|&share| share < 0.98) {
        notes.push(format!("clock at {:.0} %", 100.0 * share));
    }
    notes.join(", ")
}

fn gpus(text: &mut String, verdict: &Verdict) -> std::fmt::Result {
    if verdict.gpus.is_empty() {
        return Ok(());
    }
    let width = verdict.gpus.iter().map(|gpu| gpu.gpu.chars().count()).max().unwrap_or(3).max(3);
    writeln!(text, "\n{:<width$}  JOBS  TIME/PLANNED  POWER/PLANNED", "GPU")?;
    for gpu in &verdict.gpus {
        let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
        writeln!(
            text,
            "{:<width$}  {:>4}  {:>12}  {:>13}",
            gpu.gpu,
            gpu.jobs,
            ratio(gpu.time_ratio),
            ratio(gpu.power_ratio)
        )?;
    }
    for slow in &verdict.slow {
        let gpus = slow.gpus.join(" or ");
        writeln!(text, "slow: {gpus} takes {:.1} % longer than others, against its prediction", 100.0 * slow.excess)?;
    }
    Ok(())
}

fn parts(parts: &Parts) -> [(&'static str, f64); 5] {
    [
        ("start-up", parts.startup),
        ("a slow GPU", parts.slow_gpu),
        ("throttling", parts.throttling),
        ("contention", parts.contention),
        ("the model", parts.model),
    ]
}

fn percent(measured: f64, planned: f64) -> String {
    let share = 100.0 * (measured / planned - 1.0);
    if share.is_finite() { format!("{share:+.1} %") } else { "-".to_owned() }
}

/// The word for a state.
pub(super) fn word(state: crate::trace::JobState) -> String {
    let value = serde_json::to_value(state).ok();
    value.and_then(|value| value.as_str().map(|word| word.replace('_', " "))).unwrap_or_default()
}
