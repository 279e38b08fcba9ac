//! What an earlier run of the same directory has done.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use rats_domain::codes::Code;
use rats_domain::instance::sha256_hex;
use rats_domain::problem::{Problem, Problems};
use rats_system::clock::since_epoch;
use rats_system::files::write;
use serde::Serialize;

use super::Request;
use crate::trace::{JobState, Record, TRACE_FILE, read};

/// The past of a run's directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    done: BTreeSet<String>,
    /// When the first run began: plan time 0 lies there, seconds since 1970-01-01.
    origin: Option<f64>,
    instance: Vec<u8>,
    plan: Vec<u8>,
}

impl Past {
    /// Reads the directory of a run, which need not exist.
    ///
    /// # Errors
    /// X17: it belongs to another plan; X11: its trace is damaged; U01.
    pub fn read(request: &Request) -> Result<Self, Problems> {
        let plan = request.plan.schedule().to_plan(&request.instance);
        let mut past = Self { instance: json(&request.file), plan: json(&plan), ..Self::default() };
        for (name, content) in [("instance.json", &past.instance), ("plan.json", &past.plan)] {
            let path = request.run_dir.join(name);
            if path.exists() && sha256_hex(&rats_system::files::bytes(&path)?) != sha256_hex(content) {
                let message = format!("its `{name}` is another one.");
                return Err(Problem::new(Code::X17, request.run_dir.display().to_string(), message).into());
            }
        }
        let trace = request.run_dir.join(TRACE_FILE);
        if fs::metadata(&trace).is_ok_and(|metadata| metadata.is_file()) {
            past.look(&trace)?;
        }
        Ok(past)
    }

    fn look(&mut self, path: &Path) -> Result<(), Problems> {
        let trace = read(path)?;
        let mut states: BTreeMap<String, JobState> = BTreeMap::new();
        for line in trace.lines {
            match line.record {
                Record::Begin(begin) if self.origin.is_none() => {
                    self.origin = Some(line.wall - line.t - begin.plan_s / begin.speedup);
                }
                Record::Job(job) => drop(states.insert(job.job, job.state)),
                _ => {}
            }
        }
        self.done = states.into_iter().filter(|(_, state)| *state == JobState::Done).map(|(job, _)| job).collect();
        Ok(())
    }

    /// Makes the directory and writes down whose it is.
    ///
    /// # Errors
    /// U02.
    pub fn begin(&self, request: &Request) -> Result<(), Problem> {
        let logs = request.run_dir.join("logs");
        let unwritable = |error| Problem::new(Code::U02, logs.display().to_string(), format!("{error}."));
        fs::create_dir_all(&logs).map_err(unwritable)?;
        for (name, content) in [("instance.json", &self.instance), ("plan.json", &self.plan)] {
            let path = request.run_dir.join(name);
            if !path.exists() {
                write(&path, content)?;
            }
        }
        Ok(())
    }

    /// Whether a job is done.
    pub fn is_done(&self, job: &str) -> bool {
        self.done.contains(job)
    }

    /// The jobs that are done.
    pub fn done(&self) -> impl Iterator<Item = &str> {
        self.done.iter().map(String::as_str)
    }

    /// Seconds of plan time that have passed since the first run began.
    pub fn plan_s(&self, speedup: f64) -> f64 {
        self.origin.map_or(0.0, |origin| ((since_epoch().as_secs_f64() - origin) * speedup).max(0.0))
    }
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec_pretty(value).unwrap_or_default()
}
