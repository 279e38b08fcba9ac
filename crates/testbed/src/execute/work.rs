//! What each job of a plan is started with: command, steps, environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rats_domain::codes::Code;
use rats_domain::format::{InstanceFile, PointFile};
use rats_domain::ids::{Id, JobId};
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems};
use rats_domain::schedule::Placement;
use serde::Deserialize;

use super::jobs_file::{JobsFile, StartFile, StepsFile};
use crate::process::{Pattern, expand};

/// The line of output that is looked for where nothing else is said.
pub const DEFAULT_PROGRESS: &str = "step {step}/{steps}";

/// Least share of its planned time that a job must take to count as done, where nothing else is said.
pub const DEFAULT_LEAST: f64 = 0.1;

/// What a job is started with under one placement.
#[derive(Clone, Debug)]
pub struct Work {
    /// The command, its placeholders not replaced yet.
    command: String,
    /// What a line of output with the number of the step looks like.
    pub progress: Pattern,
    /// Where it is run.
    pub directory: Option<PathBuf>,
    /// Environment variables beside those of this process.
    pub environment: Vec<(String, String)>,
    /// Least share of its planned time that a job without steps in its output must take to count as done.
    pub least: f64,
    /// What the plan assumes, as far as it says.
    pub assumed: Assumed,
}

/// What lies behind an option, as `physics.options[i]` of a job states it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Assumed {
    /// Steps to be done.
    pub steps: Option<u64>,
    /// Time of one step, s.
    pub step_s: Option<f64>,
    /// Time before the first step, s.
    pub startup_s: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Physics {
    options: Vec<Assumed>,
}

/// Where a gang is and how it is addressed.
#[derive(Clone, Debug)]
pub struct Gang {
    /// UUIDs in tree order, separated by commas.
    pub uuids: String,
    /// Names in the plan, separated by commas.
    pub names: String,
    /// How many there are.
    pub size: usize,
    /// The operating point.
    pub point: PointFile,
    /// A free port for the ranks to meet at.
    pub port: u16,
}

impl Work {
    /// What a job is started with.
    ///
    /// # Errors
    /// X03: there is no command, or the line of output is wrong.
    pub fn of(file: &InstanceFile, jobs: &JobsFile, job: JobId, placement: &Placement) -> Result<Self, Problems> {
        let described = &file.jobs[job.position()];
        let own = jobs.jobs.get(&described.id);
        let layers: Vec<&StartFile> = own.into_iter().chain([&jobs.default]).collect();
        let place = format!("job `{}`", described.id);
        let command = own.and_then(|own| own.command.clone()).or_else(|| described.command.clone());
        let command = command.or_else(|| jobs.default.command.clone()).filter(|command| !command.trim().is_empty());
        let command = command.ok_or_else(|| Problem::new(Code::X03, &place, "has no command."))?;
        let physics = described.physics.clone().and_then(|value| serde_json::from_value::<Physics>(value).ok());
        let option = placement.option.position();
        let mut assumed = physics.and_then(|physics| physics.options.get(option).copied()).unwrap_or_default();
        let steps = layers.iter().find_map(|layer| layer.steps.as_ref()).and_then(|steps| match steps {
            StepsFile::One(steps) => Some(*steps),
            StepsFile::ByOption(steps) => steps.get(option).copied(),
        });
        assumed.steps = steps.or(assumed.steps);
        let progress = layers.iter().find_map(|layer| layer.progress.as_deref()).unwrap_or(DEFAULT_PROGRESS);
        let progress = Pattern::parse(progress)
            .map_err(|error| Problem::new(Code::X04, &place, format!("`progress` is wrong: {error}.")))?;
        let mut environment = jobs.default.environment.clone();
        environment.extend(own.iter().flat_map(|own| own.environment.clone()));
        Ok(Self {
            command,
            progress,
            directory: layers.iter().find_map(|layer| layer.directory.clone()),
            environment: environment.into_iter().collect(),
            least: layers.iter().find_map(|layer| layer.least).unwrap_or(DEFAULT_LEAST),
            assumed,
        })
    }

    /// The command with its placeholders replaced, and the environment of the job.
    ///
    /// # Errors
    /// X03: a placeholder has no value.
    pub fn ready(&self, job: &str, attempt: u32, gang: &Gang) -> Result<(String, Vec<(String, String)>), Problem> {
        let mut values = BTreeMap::from([
            ("job", job.to_owned()),
            ("attempt", attempt.to_string()),
            ("gang", gang.size.to_string()),
            ("gpus", gang.uuids.clone()),
            ("port", gang.port.to_string()),
        ]);
        values.extend(self.assumed.steps.map(|steps| ("steps", steps.to_string())));
        values.extend(gang.point.sm_mhz.map(|mhz| ("sm_mhz", mhz.to_string())));
        values.extend(gang.point.mem_mhz.map(|mhz| ("mem_mhz", mhz.to_string())));
        values.extend(gang.point.power_limit_w.map(|limit| ("power_limit_w", limit.to_string())));
        let command = expand(&self.command, &values).map_err(|name| {
            let message = format!("the command uses `{{{name}}}`, which has no value here.");
            Problem::new(Code::X03, format!("job `{job}`"), message)
        })?;
        let mut environment = self.environment.clone();
        let mut set = |name: &str, value: String| environment.push((name.to_owned(), value));
        set("CUDA_VISIBLE_DEVICES", gang.uuids.clone());
        set("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned());
        set("RATS_GPUS", gang.names.clone());
        for (name, value) in &values {
            match *name {
                "job" | "gpus" | "port" => {}
                name => set(&format!("RATS_{}", name.to_uppercase()), value.clone()),
            }
        }
        if gang.size > 1 {
            set("MASTER_ADDR", "127.0.0.1".to_owned());
            set("MASTER_PORT", gang.port.to_string());
            set("WORLD_SIZE", gang.size.to_string());
        }
        Ok((command, environment))
    }
}

/// The work of every placed job of a plan.
///
/// # Errors
/// X03 and X04 for every job without a command, with a wrong line of output or a placeholder without a value.
pub fn all(
    instance: &Instance,
    file: &InstanceFile,
    jobs: &JobsFile,
    placed: &[(JobId, Placement)],
) -> Result<BTreeMap<JobId, Work>, Problems> {
    let (mut all, mut problems) = (BTreeMap::new(), Vec::new());
    for (job, placement) in placed {
        let option = instance.option(*job, placement.option);
        let gang = Gang {
            uuids: "GPU-0".to_owned(),
            names: String::new(),
            size: option.gpus.0 as usize,
            point: option.point,
            port: 1,
        };
        let work = Work::of(file, jobs, *job, placement);
        match work.and_then(|work| Ok(work.ready(&instance.jobs[*job].id, 1, &gang).map(|_| work)?)) {
            Ok(work) => drop(all.insert(*job, work)),
            Err(found) => problems.extend(found.0),
        }
    }
    let unknown = jobs
        .jobs
        .keys()
        .filter(|name| instance.job_named(name).is_none() && file.jobs.iter().all(|job| job.id != **name));
    let unknown = unknown.map(|name| Problem::new(Code::X04, format!("jobs.{name}"), "is no job of the instance."));
    problems.extend(unknown);
    if problems.is_empty() { Ok(all) } else { Err(Problems(problems)) }
}

#[cfg(test)]
mod tests {
    use rats_domain::ids::{GpuId, OptionId};
    use rats_domain::units::Ticks;
    use serde_json::json;

    use super::*;

    fn file(command: Option<&str>) -> InstanceFile {
        let option = json!({"gpu_type": "a", "gpus": 2, "span": "node", "ticks": 10, "power_w": 200});
        let mut job = json!({"id": "a b", "options": [option.clone(), option],
            "physics": {"options": [{"steps": 100}, {"steps": 50, "step_s": 0.5}]}});
        if let Some(command) = command {
            job["command"] = json!(command);
        }
        serde_json::from_value(json!({
            "format": "rats.instance/1", "name": "x", "tick_s": 60, "horizon": 100,
            "cluster": {"gpu_types": [{"id": "a"}], "nodes": [{"id": "n", "gpu_type": "a", "gpus": 2}]},
            "objective": [{"term": "energy", "weight": 1}], "jobs": [job]
        }))
        .unwrap()
    }

    fn placement() -> Placement {
        let gpus = [0, 1].map(GpuId::from_position).to_vec();
        Placement { option: OptionId::from_position(1), start: Ticks(0), gpus }
    }

    fn gang() -> Gang {
        let point = PointFile { sm_mhz: Some(1200), ..PointFile::default() };
        Gang { uuids: "GPU-1,GPU-0".to_owned(), names: "n/0,n/1".to_owned(), size: 2, point, port: 29_500 }
    }

    #[test]
    fn a_command_gets_its_steps_and_a_gang_its_meeting_point() {
        let file = file(Some("train --job {job} --steps {steps} --clock {sm_mhz}"));
        let work = Work::of(&file, &JobsFile::default(), JobId::from_position(0), &placement()).unwrap();
        assert_eq!(work.assumed, Assumed { steps: Some(50), step_s: Some(0.5), startup_s: None });
        let (command, environment) = work.ready("a b", 2, &gang()).unwrap();
        assert_eq!(command, "train --job 'a b' --steps 50 --clock 1200");
        let expected = [
            ("CUDA_VISIBLE_DEVICES", "GPU-1,GPU-0"),
            ("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
            ("RATS_GPUS", "n/0,n/1"),
            ("RATS_ATTEMPT", "2"),
            ("RATS_GANG", "2"),
            ("RATS_SM_MHZ", "1200"),
            ("RATS_STEPS", "50"),
            ("MASTER_ADDR", "127.0.0.1"),
            ("MASTER_PORT", "29500"),
            ("WORLD_SIZE", "2"),
        ];
        let found: Vec<_> = environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_jobs_file_comes_first_and_what_is_missing_is_named() {
        let jobs: JobsFile = serde_json::from_value(json!({
            "format": "rats.jobs/1", "default": {"command": "sleep 1", "steps": 7}, "jobs": {"a b": {"command": "own {steps}"}}
        }))
        .unwrap();
        let job = JobId::from_position(0);
        let work = Work::of(&file(Some("instance")), &jobs, job, &placement()).unwrap();
        assert_eq!(work.ready("a b", 1, &gang()).unwrap().0, "own 7");
        let without = Work::of(&file(None), &JobsFile::default(), job, &placement()).unwrap_err();
        assert_eq!(without.0[0].code, Code::X03);
        let work = Work::of(&file(Some("train {mem_mhz}")), &JobsFile::default(), job, &placement()).unwrap();
        assert_eq!(work.ready("a b", 1, &gang()).unwrap_err().code, Code::X03);
    }
}
