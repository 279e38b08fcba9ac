//! A trace written by hand, with numbers that can be checked by hand.

use super::*;
use crate::trace::{Begin, FORMAT, JobRecord, Line, Planned, PlannedJob, Reading, Record, SetRecord, TracePoint};

/// A job with planned and measured time, s, at 200 W.
pub(super) fn measured(name: &str, gpus: &[&str], planned_s: f64, run_s: f64) -> JobMeasured {
    let figures = |run_s: f64| Figures { run_s, energy_j: 200.0 * run_s, power_w: 200.0, ..Figures::default() };
    JobMeasured {
        job: name.to_owned(),
        gpus: gpus.iter().map(|&gpu| gpu.to_owned()).collect(),
        gpu_type: "a".to_owned(),
        workload: None,
        point: TracePoint::default(),
        planned: figures(planned_s),
        measured: figures(run_s),
        stepping_w: None,
        source: EnergySource::Counter,
        counter_check: None,
        clock_share: None,
        throttled_share: 0.0,
        shared_share: 0.0,
        before_deadline_s: None,
        before_due_s: None,
        steps: None,
    }
}

fn planned(name: &str, gpu: &str) -> PlannedJob {
    PlannedJob {
        job: name.to_owned(),
        option: 0,
        point: TracePoint { sm_mhz: Some(1000), ..TracePoint::default() },
        start: 0,
        ticks: 10,
        gpus: vec![gpu.to_owned()],
        power_w: 200.0,
        peak_w: 200.0,
        idle_w: 50.0,
        gpu_type: "a".to_owned(),
        workload: Some("net".to_owned()),
        deadline: Some(11),
        due: None,
        shares: false,
        steps: Some(100),
        step_s: Some(5.0),
        startup_s: Some(20.0),
    }
}

fn job(name: &str, state: JobState, counter: Option<f64>) -> Record {
    Record::Job(JobRecord {
        job: name.to_owned(),
        state,
        attempt: Some(1),
        pid: None,
        counters_j: if matches!(state, JobState::Running | JobState::Done) { vec![counter] } else { Vec::new() },
        steps: (state == JobState::Done).then_some(100),
        problem: None,
    })
}

fn reading(power_w: f64, sm_mhz: i64) -> Reading {
    Reading { power_w: Some(power_w), sm_mhz: Some(sm_mhz), throttle: Some(0), ..Reading::default() }
}

/// Two jobs on two GPUs at a speed-up of 10: one at `t` 1 to 53 by its counter, one at 2 to 75 without a counter.
fn trace() -> Trace {
    let gpus = vec![("n/0".to_owned(), "GPU-0".to_owned()), ("n/1".to_owned(), "GPU-1".to_owned())];
    let begin = Begin {
        format: FORMAT.to_owned(),
        version: "0".to_owned(),
        run: "r".to_owned(),
        pid: 1,
        host: "h".to_owned(),
        plan_s: 0.0,
        speedup: 10.0,
        hz: 0.1,
        gpus,
    };
    let plan = Planned {
        instance: "i".to_owned(),
        instance_sha256: None,
        tick_s: 60,
        origin_s: 0.0,
        jobs: vec![planned("a", "n/0"), planned("b", "n/1")],
        energy_j: 300_000.0,
        run_j: 240_000.0,
    };
    let applied = TracePoint { sm_mhz: Some(1000), ..TracePoint::default() };
    let set = SetRecord {
        gpu: "n/0".to_owned(),
        job: "a".to_owned(),
        requested: applied,
        applied,
        observed_mhz: None,
        took_s: 0.1,
    };
    let mut records = vec![(0.0, Record::Begin(begin)), (0.0, Record::Plan(plan)), (0.5, Record::Set(set))];
    records.push((1.0, job("a", JobState::Running, Some(1000.0))));
    records.push((2.0, job("b", JobState::Running, None)));
    for round in 0..8 {
        let t = 5.0 + 10.0 * f64::from(round);
        records.push((t, Record::Sample { gpus: [reading(210.0, 1000), reading(190.0, 900)].map(Some).to_vec() }));
    }
    records.push((3.0, Record::Progress { job: "a".to_owned(), done: 0, all: Some(100) }));
    records.push((53.0, job("a", JobState::Done, Some(110_200.0))));
    records.push((75.0, job("b", JobState::Done, None)));
    records.sort_by(|a, b| a.0.total_cmp(&b.0));
    let lines = records.into_iter().map(|(t, record)| Line { t, wall: t, record }).collect();
    Trace { lines, is_torn: false }
}

#[test]
fn plan_and_measurement_stand_side_by_side() {
    let verdict = Verdict::of(&trace());
    let [a, b] = &verdict.jobs[..] else { panic!("{verdict:?}") };
    // Planned: 20 + 100 x 5 = 520 of 600 s; 200 W x 600 s less 80 s of idling at 50 W.
    assert!((a.facts.planned.run_s - 520.0).abs() < 1e-9);
    assert!((a.facts.planned.energy_j - 116_000.0).abs() < 1e-9);
    // Measured: (53 - 1) x 10 s; the counter moved by 109 200 J, which is 210 W.
    assert_eq!(a.facts.source, EnergySource::Counter);
    assert!((a.facts.measured.run_s - 520.0).abs() < 1e-9);
    assert!((a.facts.measured.energy_j - 109_200.0).abs() < 1e-9);
    assert!(a.facts.counter_check.unwrap().abs() < 1e-9);
    // Its first step began at 30 s, 20 s after its start; 500 s for 100 steps.
    assert!((a.facts.measured.startup_s.unwrap() - 20.0).abs() < 1e-9);
    assert!((a.facts.measured.step_s.unwrap() - 5.0).abs() < 1e-9);
    // Without a counter: 190 W x 730 s.
    assert_eq!(b.facts.source, EnergySource::Power);
    assert!((b.facts.measured.energy_j - 138_700.0).abs() < 1e-9);
    assert!((b.facts.clock_share.unwrap() - 0.9).abs() < 1e-9);
    // Deadlines at 660 s: a ends at 530, b at 750.
    assert_eq!(verdict.total.deadlines, (2, 1));
    assert!((a.facts.before_deadline_s.unwrap() - 130.0).abs() < 1e-9);
    assert!(!verdict.is_good());
    // 60 kJ of the plan are idle GPUs and nodes; all GPUs from 50 to 750 s: 400 W x 700 s.
    assert_eq!(verdict.total.not_measured_j, Some(60_000.0));
    assert!((verdict.total.all_gpus_j.unwrap() - 280_000.0).abs() < 1e-6);
    let difference = verdict.total.measured_j - verdict.total.planned_j;
    assert!((verdict.total.causes_j.sum() - difference).abs() < 1e-6);
}

#[test]
fn what_ran_when_a_run_died_counts_in_the_next_one_only() {
    let mut trace = trace();
    let rerun = trace.lines[..2].to_vec();
    trace.lines.retain(|line| line.t < 60.0);
    trace.lines.extend(rerun);
    let verdict = Verdict::of(&trace);
    assert_eq!(verdict.jobs.len(), 1);
    assert_eq!(verdict.unfinished.get("b"), Some(&JobState::Running));
}

#[test]
fn measurements_become_profiles() {
    let profiles = profiles(&usable(&trace(), "trace.jsonl").unwrap(), "trace.jsonl");
    assert_eq!(profiles.len(), 1);
    let profile = &profiles[0];
    assert_eq!((profile.id.as_str(), profile.workload.model.as_str()), ("a-net-trace", "net"));
    let document = serde_json::to_vec(profile).unwrap();
    let read = rats_domain::profile::Profile::read(&document).unwrap();
    assert_eq!(read.profile.points.len(), 1);
    // Job a: 5 s a step at 210 W. Job b took 7.3 s a step where a took 5: its GPU is slow, so it is left out.
    let point = &profile.points[0];
    assert!((point.step_s.unwrap() - 5.0).abs() < 1e-9);
    assert!((point.power_w.unwrap() - 210.0).abs() < 1e-9);
    assert_eq!((point.sm_mhz, point.samples), (Some(1000), Some(1)));
}

#[test]
fn power_of_a_point_is_that_of_its_steps_without_the_start_up() {
    let mut trace = trace();
    // A start-up at 60 W up to plan time 250, then 210 W; a counter that says the same.
    trace.lines.retain(|line| !matches!(line.record, Record::Progress { .. }));
    trace.lines.push(Line { t: 25.0, wall: 25.0, record: progress(0) });
    trace.lines.push(Line { t: 45.0, wall: 45.0, record: progress(60) });
    trace.lines.sort_by(|a, b| a.t.total_cmp(&b.t));
    let of = |trace: &Trace| usable(trace, "t").unwrap().into_iter().find(|job| job.job == "a").unwrap().stepping_w;
    for line in &mut trace.lines {
        let Record::Sample { gpus } = &mut line.record else { continue };
        gpus[0].as_mut().unwrap().power_w = Some(if line.t < 25.0 { 60.0 } else { 210.0 });
    }
    // Readings at 250, 350, 450 s; the last steps end at 530.
    assert!((of(&trace).unwrap() - 210.0).abs() < 1e-9);
    for line in &mut trace.lines {
        let Record::Sample { gpus } = &mut line.record else { continue };
        gpus[0].as_mut().unwrap().energy_j = Some(1000.0 + 220.0 * 10.0 * line.t);
    }
    assert!((of(&trace).unwrap() - 220.0).abs() < 1e-9);
}

fn progress(done: u64) -> Record {
    Record::Progress { job: "a".to_owned(), done, all: Some(100) }
}

#[test]
fn the_text_says_what_was_missed_and_what_was_not_measured() {
    let text = text(&Verdict::of(&trace()));
    for part in ["1 of 2 held", "60000 J predicted for idle GPUs", "deadline missed", "clock at 90 %", "n/1"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
